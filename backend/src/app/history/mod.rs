//! Reading what happened, how things were, and going back to it.

mod export;
mod revert;
mod then;

use std::collections::HashMap;

use serde_json::Value;
use shared::model::id::ProjectId;
use shared::sentence;
use shared::wire::api::history::{EntryDocuments, HistoryEntry, HistoryItem, HistoryPage, RevisionDetail};

pub use export::{Line, lines};
pub use revert::{revert_flag, revert_revision};
pub use then::{Moment, flag_at, flag_diff, segment_at};

use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::history::{EntryRow, Filter, Revision};
use crate::store::{begin_bounded, begin_filtered};

/// Entries of one revision in a list.
const ENTRIES_SHOWN: i64 = 20;
/// Lines of one entry in a list.
const LINES_SHOWN: usize = 10;
/// Entries with documents on a page.
const DOCUMENTS_SHOWN: i64 = 50;

/// What happened in a project, newest first.
pub async fn list(
    state: &AppState,
    project: ProjectId,
    filter: &Filter,
    before: Option<u64>,
    limit: usize,
) -> Result<HistoryPage, AppError> {
    let mut tx = begin_filtered(&state.pool).await?;
    let wanted = i64::try_from(limit).unwrap_or(100);
    // One more than asked for tells whether there is a next page.
    let mut found = store::history::list(&mut tx, project, filter, before, wanted + 1).await.map_err(too_much)?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let numbers: Vec<u64> = found.iter().map(|revision| revision.revision).collect();
    let mut entries: HashMap<u64, Vec<HistoryEntry>> = HashMap::new();
    for row in store::history::list_entries(&mut tx, &numbers, filter, ENTRIES_SHOWN).await? {
        entries.entry(number(&row)).or_default().push(entry_of(&row, LINES_SHOWN));
    }
    let totals: HashMap<u64, u64> = store::history::count_entries(&mut tx, &numbers).await?.into_iter().collect();
    let next = numbers.last().filter(|_| has_more).map(ToString::to_string);
    let item = |revision: Revision| {
        let number = revision.revision;
        let total = totals.get(&number).copied().unwrap_or(0);
        item_of(revision, entries.remove(&number).unwrap_or_default(), total)
    };
    Ok(HistoryPage { items: found.into_iter().map(item).collect(), next })
}

/// One revision with documents before and after; `from` is the first entry that is shown.
pub async fn detail(
    state: &AppState,
    project: ProjectId,
    revision: u64,
    from: u32,
) -> Result<RevisionDetail, AppError> {
    let mut tx = begin_bounded(&state.pool).await?;
    let found = store::history::find(&mut tx, project, revision).await?;
    let found = found.ok_or_else(|| AppError::not_found("revision", revision))?;
    let from = i32::try_from(from).unwrap_or(i32::MAX);
    let mut rows = store::history::list_entries_from(&mut tx, revision, from, DOCUMENTS_SHOWN + 1).await?;
    let shown = usize::try_from(DOCUMENTS_SHOWN).unwrap_or(50);
    let next = rows.get(shown).map(|row| row.ordinal.to_string());
    rows.truncate(shown);
    let total = store::history::count_entries(&mut tx, &[revision]).await?.first().map_or(0, |(_, count)| *count);
    Ok(RevisionDetail {
        item: item_of(found, Vec::new(), total),
        documents: rows.into_iter().map(documents_of).collect(),
        next,
    })
}

/// A statement that took too long was asked for too much.
pub(super) fn too_much(error: store::StoreError) -> AppError {
    if error.took_too_long() {
        let message = "takes more than 10 s to search; ask for a shorter time (from, to), a flag or a person";
        return AppError::field("q", message);
    }
    error.into()
}

fn item_of(revision: Revision, entries: Vec<HistoryEntry>, entries_total: u64) -> HistoryItem {
    HistoryItem {
        revision: revision.revision,
        at: revision.at.into(),
        who: revision.who,
        who_id: revision.who_id,
        via: revision.via,
        note: revision.note,
        break_glass: revision.break_glass,
        changeset: revision.reviewed,
        entries,
        entries_total,
    }
}

fn entry_of(row: &EntryRow, lines_max: usize) -> HistoryEntry {
    let mut sentences = sentence::entry(&row.entity, row.before.as_ref(), row.after.as_ref());
    if sentences.len() > lines_max {
        let more = sentences.len() + 1 - lines_max;
        sentences.truncate(lines_max - 1);
        sentences.push(format!("~ and {more} more changes"));
    }
    HistoryEntry {
        entity: row.entity.clone(),
        key: row.entity_key.clone(),
        // Keys of environments were parsed when they were made.
        environment: row.environment.as_deref().and_then(|key| key.parse().ok()),
        sentences,
    }
}

fn documents_of(row: EntryRow) -> EntryDocuments {
    let entry = entry_of(&row, usize::MAX);
    EntryDocuments { entry, before: seen(&row.entity, row.before), after: seen(&row.entity, row.after) }
}

/// A document as members of a project may see it: what only the bucket had is of all projects.
fn seen(entity: &str, document: Option<Value>) -> Option<Value> {
    let mut document = document?;
    if entity == "restored"
        && let Some(fields) = document.as_object_mut()
    {
        fields.remove("only_published");
    }
    Some(document)
}

fn number(row: &EntryRow) -> u64 {
    u64::try_from(row.revision).unwrap_or(0)
}

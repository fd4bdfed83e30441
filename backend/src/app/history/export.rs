//! All of the history, entry by entry, for files. Read in small pieces, so that memory does not grow with what there is.

use std::collections::VecDeque;

use futures::Stream;
use futures::stream::try_unfold;
use serde::Serialize;
use shared::model::changeset::Via;
use shared::model::id::ProjectId;
use shared::model::timestamp::Timestamp;
use shared::wire::api::history::EntryDocuments;

use crate::app::history::{documents_of, too_much};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::begin_filtered;
use crate::store::history::{Filter, Revision};

/// Revisions that are looked up at once.
const REVISIONS_AT_ONCE: i64 = 200;
/// Entries with documents that are held at once.
const ENTRIES_AT_ONCE: i64 = 50;

/// One entry with what is known of its revision; a line of the file.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The revision's number.
    pub revision: u64,
    /// When it was applied.
    pub at: Timestamp,
    /// Who asked for it.
    pub who: Option<String>,
    /// Through what.
    pub via: Via,
    /// Why.
    pub note: String,
    /// Why the policy was passed over, when it was.
    pub break_glass: Option<String>,
    /// What it touched.
    #[serde(flatten)]
    pub documents: EntryDocuments,
}

struct Reading {
    state: AppState,
    project: ProjectId,
    filter: Filter,
    before: Option<u64>,
    revisions: VecDeque<Revision>,
    /// The next entry of the first of them.
    from: i32,
    is_last: bool,
}

/// All that a filter finds, newest first, in pieces of at most 50 lines.
pub fn lines(
    state: AppState,
    project: ProjectId,
    filter: Filter,
) -> impl Stream<Item = Result<Vec<Line>, AppError>> + Send {
    let reading = Reading { state, project, filter, before: None, revisions: VecDeque::new(), from: 0, is_last: false };
    try_unfold(reading, |mut reading| async move { Ok(reading.next().await?.map(|lines| (lines, reading))) })
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Vec<Line>>, AppError> {
        loop {
            if self.revisions.is_empty() {
                if self.is_last {
                    return Ok(None);
                }
                self.look_up().await?;
                continue;
            }
            let lines = self.entries().await?;
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
        }
    }

    async fn look_up(&mut self) -> Result<(), AppError> {
        let mut tx = begin_filtered(&self.state.pool).await?;
        let found = store::history::list(&mut tx, self.project, &self.filter, self.before, REVISIONS_AT_ONCE).await;
        let found = found.map_err(too_much)?;
        self.is_last = i64::try_from(found.len()).unwrap_or(0) < REVISIONS_AT_ONCE;
        self.before = found.last().map(|revision| revision.revision);
        self.revisions = found.into();
        Ok(())
    }

    /// The next entries of the first revision; it is done when there are no more.
    async fn entries(&mut self) -> Result<Vec<Line>, AppError> {
        let Some(revision) = self.revisions.front().cloned() else { return Ok(Vec::new()) };
        let mut db = self.state.pool.acquire().await?;
        let rows = store::history::list_entries_from(&mut db, revision.revision, self.from, ENTRIES_AT_ONCE).await?;
        match rows.last() {
            Some(last) if i64::try_from(rows.len()).unwrap_or(0) == ENTRIES_AT_ONCE => self.from = last.ordinal + 1,
            _ => {
                self.revisions.pop_front();
                self.from = 0;
            }
        }
        let is_wanted = |entity: &str, key: &str| {
            let thing = self.filter.thing.as_ref();
            thing.is_none_or(|thing| thing.key == key && thing.entities.contains(&entity))
        };
        let rows = rows.into_iter().filter(|row| is_wanted(&row.entity, &row.entity_key));
        Ok(rows
            .map(|row| Line {
                revision: revision.revision,
                at: revision.at.into(),
                who: revision.who.clone(),
                via: revision.via,
                note: revision.note.clone(),
                break_glass: revision.break_glass.clone(),
                documents: documents_of(row),
            })
            .collect())
    }
}

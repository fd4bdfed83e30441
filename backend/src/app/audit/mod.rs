//! Reading the audit log: what people and programs did, changesets and events together.

mod verify;

use futures::Stream;
use futures::stream::try_unfold;
use shared::model::changeset::Via;
use shared::model::id::UserId;
use shared::wire::api::history::{AuditItem, AuditPage};
use time::OffsetDateTime;

pub use verify::{Fault, Verified, Walked, verify};

use crate::app::history::too_much;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::audit::list::{After, Filter, Row};
use crate::store::begin_filtered;

/// What changesets are called.
const CHANGESET: &str = "changeset.applied";
/// Things of a changeset that are named.
const NAMED: usize = 3;
/// Items of a file that are held at once.
const ITEMS_AT_ONCE: usize = 500;

/// What happened, newest first.
pub async fn list(
    state: &AppState,
    filter: &Filter,
    after: Option<After>,
    limit: usize,
) -> Result<AuditPage, AppError> {
    let mut tx = begin_filtered(&state.pool).await?;
    // One more than asked for tells whether there is a next page.
    let most = i64::try_from(limit).unwrap_or(100) + 1;
    let mut rows: Vec<(After, Row)> = Vec::new();
    let events = store::audit::list::events(&mut tx, filter, after, most).await.map_err(too_much)?;
    rows.extend(events.into_iter().map(|row| (place(&row, 1), row)));
    if filter.kind.as_deref().is_none_or(|kind| kind == CHANGESET || kind == "changeset") {
        let changesets = store::audit::list::changesets(&mut tx, filter, after, most).await.map_err(too_much)?;
        rows.extend(changesets.into_iter().map(|row| (place(&row, 0), row)));
    }
    rows.sort_by_key(|(place, _)| std::cmp::Reverse((place.at, place.source, place.number)));
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|(place, _)| write_after(*place));
    Ok(AuditPage { items: rows.into_iter().map(|(place, row)| item(place, row)).collect(), next })
}

/// All that a filter finds, newest first, in pieces, for files.
pub fn items(state: AppState, filter: Filter) -> impl Stream<Item = Result<Vec<AuditItem>, AppError>> + Send {
    try_unfold((state, filter, None, false), |(state, filter, after, is_last)| async move {
        if is_last {
            return Ok(None);
        }
        let page = list(&state, &filter, after, ITEMS_AT_ONCE).await?;
        let after = page.next.as_deref().map(parse_after).transpose()?;
        Ok(Some((page.items, (state, filter, after, after.is_none()))))
    })
}

/// Where a page begins, from the text of the page before.
pub fn parse_after(text: &str) -> Result<After, AppError> {
    let parse = || {
        let mut parts = text.split('~');
        let micros: i64 = parts.next()?.parse().ok()?;
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000).ok()?;
        let (source, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(After { at, source, number })
    };
    parse().ok_or_else(|| AppError::field("after", format!("'{text}' is not a page; use `next` of the page before")))
}

fn write_after(after: After) -> String {
    format!("{}~{}~{}", after.at.unix_timestamp_nanos() / 1_000, after.source, after.number)
}

fn place(row: &Row, source: i32) -> After {
    After { at: row.at, source, number: row.number }
}

fn item(place: After, row: Row) -> AuditItem {
    let has_more = row.subjects.len() > NAMED;
    let mut subject = row.subjects.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if has_more {
        subject.push_str(" and more");
    }
    let is_changeset = place.source == 0;
    AuditItem {
        at: row.at.into(),
        kind: row.kind,
        who: row.who,
        who_id: row.who_id.map(UserId::from),
        via: row.via.parse().unwrap_or(Via::System),
        project: row.project,
        subject,
        revision: if is_changeset { u64::try_from(row.number).ok() } else { None },
        note: row.note,
        break_glass: row.break_glass,
        detail: row.detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_page_begins_survives_a_round_trip() {
        let at = OffsetDateTime::from_unix_timestamp_nanos(1_700_000_000_123_456_000).expect("a time");
        let after = After { at, source: 1, number: 7 };
        assert_eq!(parse_after(&write_after(after)).expect("a place"), after);
        for bad in ["", "1", "1~0", "1~0~2~3", "x~0~1", "9999999999999999999~0~1"] {
            assert!(parse_after(bad).is_err(), "{bad}");
        }
    }
}

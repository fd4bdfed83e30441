//! Freezes: when they hold, and what people do with them. Writing one is a change like others (`changeset/freeze.rs`).

use jiff::tz::TimeZone;
use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::freeze::{Freeze, FreezeWindow};
use shared::model::id::FreezeId;
use shared::model::local::Weekday;
use shared::model::timestamp::Timestamp;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::freeze::{FreezeDetail, FreezeList, FreezeSpan, FrozenEnvironment, SaveFreeze, Span};
use time::{Date, Duration, OffsetDateTime, PrimitiveDateTime};

use crate::app::changeset;
use crate::app::zone;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::freeze::StoredFreeze;

/// The time that is shown without another being asked for.
const SHOWN: Duration = Duration::days(30);
/// The longest time that is shown at once, and how far ahead the next time of a freeze is looked for.
const SHOWN_MAX: Duration = Duration::days(366);
/// No weekly freeze holds for longer without a pause: six days, and what a change of clocks may add.
const WEEKLY_MAX: Duration = Duration::days(8);

/// Moments from the first to before the second.
pub type Frozen = (OffsetDateTime, OffsetDateTime);

/// Makes a freeze.
pub async fn create(state: &AppState, who: &InProject, body: SaveFreeze) -> Result<ChangesetDetail, AppError> {
    changeset::submit(state, who, vec![Change::CreateFreeze(body.freeze)], &body.note).await
}

/// Replaces a freeze.
pub async fn update(
    state: &AppState,
    who: &InProject,
    id: FreezeId,
    version: u64,
    body: SaveFreeze,
) -> Result<ChangesetDetail, AppError> {
    let change = Change::UpdateFreeze { id, version, freeze: body.freeze };
    changeset::submit(state, who, vec![change], &body.note).await
}

/// Removes a freeze, which ends it where it holds.
pub async fn delete(
    state: &AppState,
    who: &InProject,
    id: FreezeId,
    version: u64,
) -> Result<ChangesetDetail, AppError> {
    changeset::submit(state, who, vec![Change::DeleteFreeze { id, version }], &Note::default()).await
}

/// The freezes of a project, and when each environment is frozen from a moment (now) to another (30 days later).
pub async fn list(
    state: &AppState,
    who: &InProject,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<FreezeList, AppError> {
    let now = state.clock.now();
    let from = from.map_or(now, OffsetDateTime::from);
    let to = to.map_or(from + SHOWN, OffsetDateTime::from);
    if from >= to || to - from > SHOWN_MAX {
        let message = format!("must be after from, and at most {} days", SHOWN_MAX.whole_days());
        return Err(AppError::field("to", message));
    }
    let mut db = state.pool.acquire().await?;
    let freezes = store::freeze::list(&mut db, who.id()).await?;
    let environments = store::environment::list(&mut db, who.id()).await?;
    drop(db);
    let mut items = freezes.iter().map(|stored| detail(stored, now)).collect::<Result<Vec<_>, _>>()?;
    items.sort_by(|a, b| (&a.freeze.name, a.id).cmp(&(&b.freeze.name, b.id)));
    let environments = environments.iter().map(|environment| {
        Ok(FrozenEnvironment {
            environment: environment.key.parse().map_err(AppError::internal)?,
            spans: spans_in(&freezes, &environment.key, from, to)?,
        })
    });
    let environments = environments.collect::<Result<_, AppError>>()?;
    Ok(FreezeList { items, from: from.into(), to: to.into(), environments })
}

/// True when a freeze is about this environment.
pub fn concerns(freeze: &Freeze, environment: &str) -> bool {
    freeze.environments.is_empty() || freeze.environments.iter().any(|key| key.as_str() == environment)
}

/// The freeze that holds in an environment at a moment and ends last, with its end.
pub fn holding<'f>(
    freezes: &'f [StoredFreeze],
    environment: &str,
    at: OffsetDateTime,
) -> Result<Option<(&'f StoredFreeze, OffsetDateTime)>, AppError> {
    let mut longest: Option<(&StoredFreeze, OffsetDateTime)> = None;
    for stored in freezes.iter().filter(|stored| concerns(&stored.freeze, environment)) {
        if let Some(end) = end(&stored.freeze, at)?
            && longest.is_none_or(|(_, known)| end > known)
        {
            longest = Some((stored, end));
        }
    }
    Ok(longest)
}

/// When a freeze that holds at a moment ends; `None` when it does not hold.
pub fn end(freeze: &Freeze, at: OffsetDateTime) -> Result<Option<OffsetDateTime>, AppError> {
    let spans = spans(freeze, at, at + longest(freeze))?;
    Ok(spans.first().filter(|(from, _)| *from <= at).map(|(_, to)| *to))
}

/// When a freeze holds from a moment to before another: in order, cut at both, and neither overlapping nor touching.
pub fn spans(freeze: &Freeze, from: OffsetDateTime, to: OffsetDateTime) -> Result<Vec<Frozen>, AppError> {
    let zone = zone::find(&freeze.zone, "zone")?;
    let mut found = match &freeze.window {
        FreezeWindow::Once { from, to } => vec![between(&zone, from.get(), to.get())?],
        FreezeWindow::Weekly { weekdays, from: begin, to: end } => {
            let days = days(&zone, from, to)?;
            let starting = days.filter(|day| weekdays.contains(&weekday(*day)));
            let spans = starting.map(|day| {
                let last = if begin < end { day } else { day.next_day().unwrap_or(day) };
                let (first, last) = (PrimitiveDateTime::new(day, begin.get()), PrimitiveDateTime::new(last, end.get()));
                between(&zone, first, last)
            });
            spans.collect::<Result<_, _>>()?
        }
    };
    found.sort_unstable();
    let mut merged: Vec<Frozen> = Vec::new();
    for (start, end) in found.into_iter().map(|(start, end)| (start.max(from), end.min(to))) {
        match merged.last_mut() {
            _ if start >= end => {}
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    Ok(merged)
}

/// How far ahead of a moment at which a freeze holds its end may lie.
fn longest(freeze: &Freeze) -> Duration {
    match freeze.window {
        FreezeWindow::Once { .. } => SHOWN_MAX + Duration::days(2),
        FreezeWindow::Weekly { .. } => WEEKLY_MAX,
    }
}

/// From the first moment that clocks show one time to the last at which they show another.
fn between(zone: &TimeZone, from: PrimitiveDateTime, to: PrimitiveDateTime) -> Result<Frozen, AppError> {
    Ok((zone::read(zone, from)?.first(), zone::read(zone, to)?.last()))
}

/// The days on which a weekly freeze may begin that holds between two moments.
fn days(zone: &TimeZone, from: OffsetDateTime, to: OffsetDateTime) -> Result<impl Iterator<Item = Date>, AppError> {
    // One that crosses midnight began the day before; another day is for clocks that are moved there.
    let first = zone::local(zone, from)?.date() - Duration::days(2);
    let last = zone::local(zone, to)?.date();
    Ok(std::iter::successors(Some(first), |day| day.next_day()).take_while(move |day| *day <= last))
}

fn weekday(day: Date) -> Weekday {
    Weekday::ALL[usize::from(day.weekday().number_days_from_monday())]
}

fn detail(stored: &StoredFreeze, now: OffsetDateTime) -> Result<FreezeDetail, AppError> {
    let next = spans(&stored.freeze, now, now + SHOWN_MAX)?.first().copied();
    let is_active = next.is_some_and(|(from, _)| from <= now);
    Ok(FreezeDetail {
        id: stored.id,
        freeze: stored.freeze.clone(),
        version: stored.version,
        changed_at: stored.changed_at.into(),
        changed_by: stored.changed_by.clone(),
        next: next.map(|(from, to)| Span { from: from.into(), to: to.into() }),
        is_active,
    })
}

fn spans_in(
    freezes: &[StoredFreeze],
    environment: &str,
    from: OffsetDateTime,
    to: OffsetDateTime,
) -> Result<Vec<FreezeSpan>, AppError> {
    let mut found = Vec::new();
    for stored in freezes.iter().filter(|stored| concerns(&stored.freeze, environment)) {
        let spans = spans(&stored.freeze, from, to)?;
        let span = |(from, to): Frozen| FreezeSpan { freeze: stored.id, from: from.into(), to: to.into() };
        found.extend(spans.into_iter().map(span));
    }
    found.sort_by_key(|span| (span.from, span.to, span.freeze));
    Ok(found)
}

//! Reading counts: series for charts, totals, top flags, errors, and shares beside what is configured.
//!
//! Everything is read in one moment of the database: roll-ups and what is not rolled up yet agree there, so sums are exact
//! at every time. Which table holds what is decided in `cover`, where buckets begin in `bucket`.

mod bucket;
mod cover;
mod error;
mod flag;
mod live;
mod series;
mod share;
mod summary;

use std::collections::{BTreeMap, HashMap};

pub use error::errors;
pub use flag::top_flags;
pub use live::{flag_minutes, watch};
pub use series::{Ask, series};
pub use share::shares;
use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId};
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{CountGap, LossCause};
use sqlx::{Postgres, Transaction};
pub use summary::summary;
use time::OffsetDateTime;
use uuid::Uuid;

use self::bucket::{minute_of, moment};
use self::cover::{DAY, Grain, Kept, Piece};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::StoreError;
use crate::store::count::{BucketSum, EvaluationFilter, Labelled, Named, Span, Spans};
use crate::store::environment::Environment;

/// Without a beginning, this many minutes are read.
const MINUTES_USUAL: u32 = 24 * 60;
/// The longest time that is read at once, in minutes: more than is kept by default.
const MINUTES_MAX: i64 = 2_000 * DAY;

/// The time that is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    /// First moment.
    pub from: Option<OffsetDateTime>,
    /// One past the last; now when absent.
    pub to: Option<OffsetDateTime>,
    /// Instead of `from`: so many minutes before the end.
    pub last_minutes: Option<u32>,
}

/// Whole minutes `[from, to)`, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    from: i64,
    to: i64,
}

impl Range {
    /// The whole minutes that hold it.
    fn period(self, now: OffsetDateTime) -> Result<Period, AppError> {
        let to = match self.to {
            Some(to) => minute_of(to + time::Duration::MINUTE - time::Duration::NANOSECOND),
            // The current minute is counting and belongs to it.
            None => minute_of(now) + 1,
        };
        let from = match (self.from, self.last_minutes) {
            (Some(_), Some(_)) => {
                return Err(AppError::field("last_minutes", "says the same as from; leave one of them out"));
            }
            (Some(from), None) => minute_of(from),
            (None, minutes) => to - i64::from(minutes.unwrap_or(MINUTES_USUAL)),
        };
        let field = if self.last_minutes.is_some() { "last_minutes" } else { "from" };
        if from >= to {
            return Err(AppError::field(field, "leaves no time before the end (to); make it earlier"));
        }
        if to - from > MINUTES_MAX {
            let message = format!("makes {} days; at most {} are read at once", (to - from) / DAY, MINUTES_MAX / DAY);
            return Err(AppError::field(field, message));
        }
        Ok(Period { from, to })
    }
}

/// What is added up.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// Evaluations, series by series.
    Evaluations(EvaluationFilter<'a>),
    /// Evaluations of all flags of an environment.
    Totals { reason: Option<&'a str>, mode: Option<&'a str> },
    /// Requests.
    Requests(Option<SdkKeyId>),
    /// Evaluations of flags that nobody knows.
    Unknown,
}

/// Sums of each bucket by label.
type Sums = BTreeMap<String, Vec<u64>>;

/// One moment of the database, and which environments are looked at.
struct Reading {
    tx: Transaction<'static, Postgres>,
    project: ProjectId,
    environments: Vec<Environment>,
}

impl Reading {
    /// Begins to read an environment of a project, or all of them.
    async fn begin(
        state: &AppState,
        project: ProjectId,
        environment: Option<&EnvironmentKey>,
    ) -> Result<Self, AppError> {
        let mut tx = store::count::begin(&state.pool).await?;
        let mut environments = store::environment::list(&mut tx, project).await?;
        if let Some(key) = environment {
            environments.retain(|known| known.key == key.as_str());
            if environments.is_empty() {
                return Err(AppError::not_found("environment", key));
            }
        }
        Ok(Self { tx, project, environments })
    }

    fn environment_ids(&self) -> Vec<EnvironmentId> {
        self.environments.iter().map(|environment| environment.id).collect()
    }

    /// What is kept how finely, with what is due within a period.
    async fn kept(&mut self, period: Period) -> Result<Kept, AppError> {
        let horizons = store::count::horizons(&mut self.tx).await?;
        let mut kept = Kept {
            minutes_from: minute_of(horizons.minutes_from),
            hours_from: minute_of(horizons.hours_from),
            ..Kept::default()
        };
        // Edges may move by a day.
        let (from, to) = (moment(period.from - 2 * DAY), moment(period.to + 2 * DAY));
        for due in store::count::list_due(&mut self.tx, from, to).await? {
            let due_of = if due.grain == "day" { &mut kept.due_days } else { &mut kept.due_hours };
            due_of.insert(minute_of(due.period));
        }
        Ok(kept)
    }

    /// The series of a source, with their labels.
    async fn choose(&mut self, source: Source<'_>, by: &str) -> Result<Vec<Labelled>, AppError> {
        let environments = self.environment_ids();
        let db = &mut *self.tx;
        let chosen = match source {
            Source::Evaluations(filter) => store::count::list_evaluations(db, &environments, filter, by).await,
            Source::Totals { reason, mode } => store::count::list_totals(db, &environments, reason, mode, by).await,
            Source::Requests(key) => store::count::list_requests(db, &environments, key, by).await,
            Source::Unknown => store::count::list_unknown(db, &environments).await,
        };
        chosen.map_err(too_much)
    }

    /// Sums of series by label, between edges that are honoured by what is kept. What was never counted has no line.
    async fn add_up(&mut self, chosen: &[Labelled], edges: &[i64], kept: &Kept) -> Result<Sums, AppError> {
        let mut sums = Sums::new();
        let names: Vec<&str> = chosen.iter().map(|series| series.label.as_str()).collect();
        let ids: Vec<i64> = chosen.iter().flat_map(|series| series.ids.iter().copied()).collect();
        let labels = chosen.iter().zip(0..).flat_map(|(series, number)| std::iter::repeat_n(number, series.ids.len()));
        let labels: Vec<i32> = labels.collect();
        if ids.is_empty() {
            return Ok(sums);
        }
        let moments: Vec<OffsetDateTime> = edges.iter().copied().map(moment).collect();
        for spans in spans_of(&kept.cover(edges)) {
            let found = store::count::add_up(&mut self.tx, &ids, &labels, &moments, &spans).await.map_err(too_much)?;
            for BucketSum { bucket, label, count } in found {
                let Some(name) = usize::try_from(label).ok().and_then(|label| names.get(label)) else { continue };
                let buckets = sums.entry((*name).to_owned()).or_insert_with(|| vec![0; edges.len().saturating_sub(1)]);
                let at = usize::try_from(bucket).unwrap_or(0).wrapping_sub(1);
                if let Some(sum) = buckets.get_mut(at) {
                    *sum += u64::try_from(count).unwrap_or(0);
                }
            }
        }
        Ok(sums)
    }

    /// Both at once.
    async fn sums(&mut self, source: Source<'_>, by: &str, edges: &[i64], kept: &Kept) -> Result<Sums, AppError> {
        let chosen = self.choose(source, by).await?;
        self.add_up(&chosen, edges, kept).await
    }

    /// What may be missing from a period.
    async fn gaps(&mut self, from: i64, to: i64) -> Result<Vec<CountGap>, AppError> {
        let losses = store::count::list_losses(&mut self.tx, moment(from), moment(to)).await?;
        let gaps = losses.into_iter().map(|loss| CountGap {
            process: loss.process.into(),
            edge: loss.edge_name,
            from: loss.from_at.into(),
            to: loss.to_at.into(),
            lost_max: u64::try_from(loss.lost_max).unwrap_or(0),
            is_final: loss.is_final,
            cause: match loss.cause.as_str() {
                "silent" => LossCause::Silent,
                "let_go" => LossCause::LetGo,
                _ => LossCause::Killed,
            },
        });
        Ok(gaps.collect())
    }

    /// Names of flags by their ids.
    async fn flag_names(&mut self, ids: &[Uuid]) -> Result<HashMap<Uuid, Named>, AppError> {
        let named = store::count::list_flag_names(&mut self.tx, self.project, ids).await?;
        Ok(named.into_iter().map(|named| (named.id, named)).collect())
    }
}

/// The pieces, as many in one query as it has room for.
fn spans_of(pieces: &[Piece]) -> Vec<Spans> {
    let mut all = vec![Spans::NONE];
    for piece in pieces {
        let span = Span { from: moment(piece.from), to: moment(piece.to) };
        let last = all.len() - 1;
        let room = match piece.grain {
            Grain::Minute => all[last].minutes.iter_mut().find(|slot| slot.is_empty()),
            Grain::Hour => all[last].hours.iter_mut().find(|slot| slot.is_empty()),
            Grain::Day => Some(&mut all[last].days).filter(|slot| slot.is_empty()),
        };
        if let Some(slot) = room {
            *slot = span;
            continue;
        }
        let mut next = Spans::NONE;
        match piece.grain {
            Grain::Minute => next.minutes[0] = span,
            Grain::Hour => next.hours[0] = span,
            Grain::Day => next.days = span,
        }
        all.push(next);
    }
    all
}

/// A statement that took too long was asked for too much.
fn too_much(error: StoreError) -> AppError {
    let is_cancelled = matches!(&error, StoreError::Database(sqlx::Error::Database(cause))
        if cause.code().as_deref() == Some("57014"));
    if is_cancelled {
        return AppError::field("from", "takes more than 10 s to add up; ask for a shorter time or a longer interval");
    }
    error.into()
}

fn total(sums: &Sums) -> u64 {
    sums.values().flatten().sum()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn every_piece_is_read_once_however_many_there_are() {
        let grains = [Grain::Minute, Grain::Hour, Grain::Day, Grain::Hour, Grain::Minute, Grain::Hour, Grain::Day];
        let pieces: Vec<Piece> =
            grains.into_iter().zip(0..).map(|(grain, at)| Piece { grain, from: at, to: at + 1 }).collect();
        let spans = spans_of(&pieces);
        assert_eq!(spans.len(), 2);
        let held = |spans: &Spans| {
            let all = spans.minutes.into_iter().chain(spans.hours).chain([spans.days]);
            all.filter(|span| !span.is_empty()).map(|span| minute_of(span.from)).collect::<Vec<_>>()
        };
        assert_eq!((held(&spans[0]), held(&spans[1])), (vec![0, 4, 1, 3, 2], vec![5, 6]));
    }

    #[test]
    fn a_range_is_whole_minutes_and_includes_the_one_that_counts() {
        let now = datetime!(2026-05-01 10:00:30 UTC);
        let period = |range: Range| range.period(now).map(|period| (moment(period.from), moment(period.to))).ok();
        let usual = (datetime!(2026-04-30 10:01 UTC), datetime!(2026-05-01 10:01 UTC));
        assert_eq!(period(Range::default()), Some(usual));
        let hour = Range { last_minutes: Some(60), ..Range::default() };
        assert_eq!(period(hour), Some((datetime!(2026-05-01 09:01 UTC), datetime!(2026-05-01 10:01 UTC))));
        let (from, to) = (Some(datetime!(2026-05-01 9:00:59 UTC)), Some(datetime!(2026-05-01 09:02 UTC)));
        let exact = Range { from, to, last_minutes: None };
        assert_eq!(period(exact), Some((datetime!(2026-05-01 09:00 UTC), datetime!(2026-05-01 09:02 UTC))));
        for bad in [
            Range { from, to, last_minutes: Some(1) },
            Range { last_minutes: Some(0), ..Range::default() },
            Range { from: to, to: from, last_minutes: None },
            Range { from: Some(datetime!(2000-01-01 0:00 UTC)), ..Range::default() },
        ] {
            assert!(bad.period(now).is_err(), "{bad:?}");
        }
    }
}

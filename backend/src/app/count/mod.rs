//! Reading counts: series for charts, totals, top flags, errors, shares beside what is configured, unknown flags, losses.
//!
//! Everything is read in one moment of the database: roll-ups and what is not rolled up yet agree there, so sums are exact
//! at every time. Which table holds what is decided in `cover`, where buckets begin in `bucket`.

mod bucket;
mod cover;
mod error;
mod flag;
mod live;
mod loss;
mod series;
mod share;
mod summary;
mod unknown;

use std::collections::{BTreeMap, HashMap};

pub use error::errors;
pub use flag::top_flags;
pub use live::{flag_minutes, watch};
pub use loss::losses;
pub use series::{Ask, series};
pub use share::shares;
use shared::model::id::{EnvironmentId, ProjectId, SdkKeyId};
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{CountGap, LossCause};
use sqlx::{Postgres, Transaction};
pub use summary::summary;
use time::OffsetDateTime;
pub use unknown::unknown_flags;
use uuid::Uuid;

use self::cover::{Grain, Kept, Piece};
use crate::app::range::{DAY, Period, minute_of, moment, too_much};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::{BucketSum, EvaluationFilter, Labelled, Named, Span, Spans};
use crate::store::environment::Environment;

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
        Ok(Self { tx, environments })
    }

    /// Begins to read what belongs to no project.
    async fn begin_everywhere(state: &AppState) -> Result<Self, AppError> {
        Ok(Self { tx: store::count::begin(&state.pool).await?, environments: Vec::new() })
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
        let losses = store::count::list_gaps(&mut self.tx, moment(from), moment(to)).await?;
        let gaps = losses.into_iter().map(|loss| CountGap {
            process: loss.process,
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
    async fn flag_names(&mut self, project: ProjectId, ids: &[Uuid]) -> Result<HashMap<Uuid, Named>, AppError> {
        let named = store::count::list_flag_names(&mut self.tx, project, ids).await?;
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

fn total(sums: &Sums) -> u64 {
    sums.values().flatten().sum()
}

#[cfg(test)]
mod tests {
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
}

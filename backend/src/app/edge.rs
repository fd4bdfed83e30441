//! Edges and how far a revision has come.

use shared::model::id::{ProcessId, ProjectId};
use shared::model::key::EnvironmentKey;
use shared::wire::api::edge::{EdgeList, ReceiptDetail};
use shared::wire::api::insight::{EdgeHistory, EdgePoint};
use time::Duration;

use crate::app::range::{Length, Range, moment};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::edge::Sampled;

/// The most points of a history.
const POINTS_MAX: i64 = 1_440;
/// Widths of a point, in minutes; the smallest that gives few enough points is taken.
const INTERVALS: [i32; 4] = [1, 5, 15, 60];

/// All edges.
pub async fn list(state: &AppState) -> Result<EdgeList, AppError> {
    let newest = store::state::list_revisions(&mut *state.pool.acquire().await?).await?.into_iter().collect();
    Ok(EdgeList { items: state.live.edges(&newest, state.clock.now()) })
}

/// An edge that is silent for good counts no more. One that is heard again counts again.
pub async fn dismiss(state: &AppState, process: ProcessId) -> Result<(), AppError> {
    let now = state.clock.now();
    if let Some(name) = state.live.heard_lately(process, now) {
        return Err(AppError::field("process", format!("{name} was heard within the last seconds; stop it first")));
    }
    let known = store::edge::dismiss(&mut *state.pool.acquire().await?, process, now).await?;
    let followed = state.live.forget(process);
    if known || followed { Ok(()) } else { Err(AppError::not_found("edge", process)) }
}

/// How far a revision of an environment has come; without one, the newest.
pub async fn receipt(
    state: &AppState,
    project: ProjectId,
    environment: &EnvironmentKey,
    revision: Option<u64>,
) -> Result<ReceiptDetail, AppError> {
    let environments = store::environment::list(&mut *state.pool.acquire().await?, project).await?;
    let found = environments.iter().find(|known| known.key == environment.as_str());
    let found = found.ok_or_else(|| AppError::not_found("environment", environment))?;
    let newest = u64::try_from(found.revision).unwrap_or(0);
    Ok(state.live.receipt_detail(found.id, revision.unwrap_or(newest)))
}

/// How an edge was, minute by minute or in wider intervals; in the last hour when absent.
pub async fn history(state: &AppState, process: ProcessId, range: Range) -> Result<EdgeHistory, AppError> {
    let period = range.period(state.clock.now(), Length::EDGE_HISTORY)?;
    let (from, to, minutes) = (moment(period.from), moment(period.to), period.to - period.from);
    let width = INTERVALS.into_iter().find(|width| minutes <= POINTS_MAX * i64::from(*width)).unwrap_or(60);
    let count = minutes.div_euclid(i64::from(width)) + i64::from(minutes % i64::from(width) != 0);
    let mut db = state.pool.acquire().await?;
    let name = store::edge::name(&mut db, process).await?;
    let name = name.ok_or_else(|| AppError::not_found("edge", process))?;
    // One interval more, as a rate needs what was counted before.
    let interval = Duration::minutes(i64::from(width));
    let samples = store::edge::list_samples(&mut db, process, from - interval, to, width).await?;
    let mut points = vec![None; usize::try_from(count).unwrap_or(0)];
    let mut before: Option<&Sampled> = None;
    for sample in &samples {
        if let Some(point) = usize::try_from(sample.slot - 1).ok().and_then(|at| points.get_mut(at)) {
            *point = Some(point_of(sample, before));
        }
        before = Some(sample);
    }
    let to = from + interval * i32::try_from(count).unwrap_or(i32::MAX);
    let interval_seconds = u32::try_from(interval.whole_seconds()).unwrap_or(u32::MAX);
    Ok(EdgeHistory { process, name, from: from.into(), to: to.into(), interval_seconds, points })
}

/// A rate is what was counted since the interval just before; after a gap nobody knows when it was.
fn point_of(sample: &Sampled, before: Option<&Sampled>) -> EdgePoint {
    let rate = before.filter(|before| before.slot + 1 == sample.slot).map(|before| {
        let seconds = (sample.last_minute - before.last_minute).as_seconds_f64();
        unsigned(sample.counted - before.counted) as f64 / seconds.max(1.0)
    });
    EdgePoint {
        memory_bytes: unsigned(sample.memory_bytes),
        unsent: unsigned(sample.unsent),
        revisions_behind: unsigned(sample.revisions_behind),
        lag_ms: sample.lag_ms.map(unsigned),
        evaluations_per_second: rate,
    }
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

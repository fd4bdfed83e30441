//! The flags evaluated most.

use std::cmp::Reverse;
use std::collections::HashMap;

use shared::model::id::ProjectId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{TOP_FLAGS_MAX, TopFlag, TopFlags};
use uuid::Uuid;

use crate::app::count::bucket::moment;
use crate::app::count::cover::Kept;
use crate::app::count::{Range, Reading, stored, too_much};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::FlagSum;

/// Flags listed when nobody says how many.
const FLAGS_USUAL: u32 = 20;

/// The flags of an environment, or of the project, evaluated most; at most `limit`.
pub async fn top_flags(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
    range: Range,
    limit: Option<u32>,
) -> Result<TopFlags, AppError> {
    let limit = limit.unwrap_or(FLAGS_USUAL);
    if !(1..=TOP_FLAGS_MAX).contains(&limit) {
        return Err(AppError::field("limit", format!("{limit} flags; ask for 1 to {TOP_FLAGS_MAX}")));
    }
    let period = range.period(state.clock.now())?;
    let mut reading = Reading::begin(state, project, environment).await?;
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let sums = reading.flag_sums(&edges, &kept).await?;
    let total = sums.iter().map(|sum| count(sum.total)).sum();
    let evaluated = u64::try_from(sums.len()).unwrap_or(0);
    let top: Vec<FlagSum> = sums.into_iter().take(usize::try_from(limit).unwrap_or(0)).collect();
    let ids: Vec<Uuid> = top.iter().map(|sum| sum.flag_id).collect();
    let names = reading.flag_names(&ids).await?;
    let environments = reading.environment_ids();
    let last = store::count::last_evaluated(&mut reading.tx, &environments, &ids).await?;
    let last: HashMap<Uuid, _> = last.into_iter().collect();
    let flags = top.into_iter().map(|sum| TopFlag {
        id: sum.flag_id.into(),
        flag: names.get(&sum.flag_id).and_then(|named| named.key.parse().ok()),
        name: names.get(&sum.flag_id).map(|named| named.name.clone()),
        total: count(sum.total),
        single: count(sum.single),
        bulk: count(sum.total - sum.single),
        errors: count(sum.errors),
        last_evaluated_at: last.get(&sum.flag_id).map(|at| (*at).into()),
    });
    Ok(TopFlags {
        from: moment(edges[0]).into(),
        to: moment(edges[edges.len() - 1]).into(),
        flags: flags.collect(),
        evaluated,
        total,
        gaps: reading.gaps(edges[0], edges[edges.len() - 1]).await?,
    })
}

impl Reading {
    /// Sums of every flag that was evaluated, the biggest first.
    pub(super) async fn flag_sums(&mut self, edges: &[i64], kept: &Kept) -> Result<Vec<FlagSum>, AppError> {
        let environments = self.environment_ids();
        let mut sums: HashMap<Uuid, FlagSum> = HashMap::new();
        for piece in kept.cover(edges) {
            let found = store::count::list_flags(&mut self.tx, &environments, stored(piece)).await.map_err(too_much)?;
            for more in found {
                sums.entry(more.flag_id)
                    .and_modify(|sum| {
                        sum.total += more.total;
                        sum.single += more.single;
                        sum.errors += more.errors;
                    })
                    .or_insert(more);
            }
        }
        let mut sums: Vec<FlagSum> = sums.into_values().collect();
        sums.sort_by_key(|sum| (Reverse(sum.total), sum.flag_id));
        Ok(sums)
    }
}

fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

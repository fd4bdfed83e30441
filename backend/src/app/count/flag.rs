//! The flags evaluated most.

use std::cmp::Reverse;
use std::collections::HashMap;

use shared::model::id::ProjectId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{TOP_FLAGS_MAX, TopFlag, TopFlags};
use uuid::Uuid;

use crate::app::count::cover::Kept;
use crate::app::count::{Reading, Source};
use crate::app::range::{Length, Range, moment};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::EvaluationFilter;

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
    let period = range.period(state.clock.now(), Length::COUNTS)?;
    let mut reading = Reading::begin(state, project, environment).await?;
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let sums = reading.flag_sums(&edges, &kept).await?;
    let total = sums.iter().map(|sum| sum.total).sum();
    let evaluated = u64::try_from(sums.len()).unwrap_or(0);
    let top: Vec<FlagSum> = sums.into_iter().take(usize::try_from(limit).unwrap_or(0)).collect();
    let ids: Vec<Uuid> = top.iter().map(|sum| sum.flag).collect();
    let names = reading.flag_names(project, &ids).await?;
    let environments = reading.environment_ids();
    let last = store::count::last_evaluated(&mut reading.tx, &environments, &ids).await?;
    let last: HashMap<Uuid, _> = last.into_iter().collect();
    let flags = top.into_iter().map(|sum| TopFlag {
        id: sum.flag.into(),
        flag: names.get(&sum.flag).and_then(|named| named.key.parse().ok()),
        name: names.get(&sum.flag).map(|named| named.name.clone()),
        total: sum.total,
        single: sum.single,
        bulk: sum.total - sum.single,
        errors: sum.errors,
        last_evaluated_at: last.get(&sum.flag).map(|at| (*at).into()),
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

/// How often a flag was evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlagSum {
    pub(super) flag: Uuid,
    pub(super) total: u64,
    single: u64,
    errors: u64,
}

impl Reading {
    /// Sums of every flag that was evaluated, the biggest first.
    pub(super) async fn flag_sums(&mut self, edges: &[i64], kept: &Kept) -> Result<Vec<FlagSum>, AppError> {
        let mut sums: HashMap<Uuid, FlagSum> = HashMap::new();
        let all = Source::Evaluations(EvaluationFilter::default());
        for (label, counts) in self.sums(all, "use", edges, kept).await? {
            let mut parts = label.split('\t');
            let Some(flag) = parts.next().and_then(|id| id.parse().ok()) else { continue };
            let count = counts.iter().sum::<u64>();
            let sum = sums.entry(flag).or_insert(FlagSum { flag, total: 0, single: 0, errors: 0 });
            sum.total += count;
            sum.single += if parts.next() == Some("single") { count } else { 0 };
            sum.errors += if parts.next().is_some() { count } else { 0 };
        }
        let mut sums: Vec<FlagSum> = sums.into_values().collect();
        sums.sort_by_key(|sum| (Reverse(sum.total), sum.flag));
        Ok(sums)
    }
}

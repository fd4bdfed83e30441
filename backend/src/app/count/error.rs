//! Evaluations that could not be answered.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::model::id::ProjectId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{CountErrors, FlagErrors};
use uuid::Uuid;

use crate::app::count::bucket::moment;
use crate::app::count::{Range, Reading, stored, too_much};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::FlagError;

/// The most rows listed.
const ERRORS_MAX: usize = 200;

/// Errors of an environment, or of the project, by flag and code.
pub async fn errors(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
    range: Range,
) -> Result<CountErrors, AppError> {
    let period = range.period(state.clock.now())?;
    let mut reading = Reading::begin(state, project, environment).await?;
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let environments = reading.environment_ids();
    let mut sums: BTreeMap<(Uuid, String), FlagError> = BTreeMap::new();
    for piece in kept.cover(&edges) {
        let found = store::count::list_errors(&mut reading.tx, &environments, stored(piece)).await.map_err(too_much)?;
        for more in found {
            sums.entry((more.flag_id, more.place.clone()))
                .and_modify(|sum| {
                    sum.count += more.count;
                    sum.first_at = sum.first_at.min(more.first_at);
                    sum.last_at = sum.last_at.max(more.last_at);
                })
                .or_insert(more);
        }
    }
    let mut sums: Vec<FlagError> = sums.into_values().collect();
    sums.sort_by_key(|sum| Reverse(sum.count));
    let count = |sum: &FlagError| u64::try_from(sum.count).unwrap_or(0);
    let total = sums.iter().map(count).sum();
    sums.truncate(ERRORS_MAX);
    let ids: Vec<Uuid> = sums.iter().map(|sum| sum.flag_id).collect();
    let names = reading.flag_names(&ids).await?;
    let errors = sums.iter().map(|sum| FlagErrors {
        id: sum.flag_id.into(),
        flag: names.get(&sum.flag_id).and_then(|named| named.key.parse().ok()),
        code: sum.place.strip_prefix("error ").unwrap_or(&sum.place).into(),
        count: count(sum),
        first_at: sum.first_at.into(),
        last_at: sum.last_at.into(),
    });
    Ok(CountErrors {
        from: moment(edges[0]).into(),
        to: moment(edges[edges.len() - 1]).into(),
        errors: errors.collect(),
        total,
        gaps: reading.gaps(edges[0], edges[edges.len() - 1]).await?,
    })
}

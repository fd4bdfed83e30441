//! Evaluations that could not be answered.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::model::id::ProjectId;
use shared::model::key::EnvironmentKey;
use shared::wire::api::count::{CountErrors, FlagErrors};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::app::count::Reading;
use crate::app::range::{Length, Range, moment};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::{ErrorSeries, Labelled};

/// The most rows listed.
const ERRORS_MAX: usize = 200;

/// One kind of error of one flag, of all environments that are looked at.
struct FlagError {
    flag: Uuid,
    place: String,
    count: u64,
    first_at: OffsetDateTime,
    last_at: OffsetDateTime,
}

/// Errors of an environment, or of the project, by flag and code.
pub async fn errors(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
    range: Range,
) -> Result<CountErrors, AppError> {
    let period = range.period(state.clock.now(), Length::COUNTS)?;
    let mut reading = Reading::begin(state, project, environment).await?;
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let environments = reading.environment_ids();
    let series = store::count::list_errors(&mut reading.tx, &environments).await?;
    let label = |of: &ErrorSeries| format!("{}\t{}", of.flag_id, of.place);
    let chosen: Vec<Labelled> = series.iter().map(|of| Labelled { label: label(of), ids: vec![of.id] }).collect();
    let counts = reading.add_up(&chosen, &edges, &kept).await?;
    let mut sums: BTreeMap<String, FlagError> = BTreeMap::new();
    for of in series {
        let label = label(&of);
        let Some(count) = counts.get(&label).map(|counts| counts.iter().sum()) else { continue };
        let ErrorSeries { flag_id: flag, place, first_at, last_at, .. } = of;
        sums.entry(label)
            .and_modify(|sum| {
                sum.first_at = sum.first_at.min(first_at);
                sum.last_at = sum.last_at.max(last_at);
            })
            .or_insert(FlagError { flag, place, count, first_at, last_at });
    }
    let mut sums: Vec<FlagError> = sums.into_values().collect();
    sums.sort_by_key(|sum| Reverse(sum.count));
    let total = sums.iter().map(|sum| sum.count).sum();
    sums.truncate(ERRORS_MAX);
    let ids: Vec<Uuid> = sums.iter().map(|sum| sum.flag).collect();
    let names = reading.flag_names(project, &ids).await?;
    let errors = sums.iter().map(|sum| FlagErrors {
        id: sum.flag.into(),
        flag: names.get(&sum.flag).and_then(|named| named.key.parse().ok()),
        code: sum.place.strip_prefix("error ").unwrap_or(&sum.place).into(),
        count: sum.count,
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

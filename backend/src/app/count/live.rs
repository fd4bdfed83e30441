//! Flags whose counts somebody watches as they come in.

use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::event::{Event, FlagMinutes, VariantMinute};
use time::Duration;
use uuid::Uuid;

use crate::app;
use crate::app::count::Reading;
use crate::app::range::{minute_of, moment};
use crate::error::AppError;
use crate::live::{Audience, LiveEvent, WatchedFlag, Watching};
use crate::state::AppState;
use crate::store;

/// Minutes told besides the current one, which edges go on adding to.
const MINUTES_BEFORE: i64 = 1;

/// Watches a flag in an environment for as long as the answer is kept; absent when too many others are watched, and its
/// counts are only there to be asked for.
pub async fn watch(
    state: &AppState,
    project: ProjectId,
    environment: &EnvironmentKey,
    flag: &FlagKey,
) -> Result<Option<Watching>, AppError> {
    let mut reading = Reading::begin(state, project, Some(environment)).await?;
    let found = app::flag::find(&mut reading.tx, project, flag).await?;
    let watched = WatchedFlag { environment: reading.environments[0].id, flag: found.id };
    Ok(state.live.watch(watched, flag.clone()))
}

/// What was counted of watched flags within the last two minutes, by one query.
pub async fn flag_minutes(state: &AppState, watched: &[(WatchedFlag, FlagKey)]) -> Result<Vec<LiveEvent>, AppError> {
    let from = moment(minute_of(state.clock.now()) - MINUTES_BEFORE);
    let ids: Vec<(Uuid, Uuid)> = watched.iter().map(|(at, _)| (at.environment.uuid(), at.flag.uuid())).collect();
    let mut db = state.pool.acquire().await?;
    let found = store::count::list_minutes(&mut db, &ids, from).await?;
    let events = watched.iter().map(|(at, key)| {
        let own = found.iter().filter(|count| {
            count.environment_id == at.environment.uuid()
                && count.flag_id == at.flag.uuid()
                // A clock that runs ahead: told once its minute has come.
                && count.minute <= from + Duration::minutes(MINUTES_BEFORE)
        });
        let minutes = own.map(|count| VariantMinute {
            minute: count.minute.into(),
            variant: Some(count.variant.clone()).filter(|key| !key.is_empty()),
            count: u64::try_from(count.count).unwrap_or(0),
        });
        let minutes = minutes.collect();
        let told = FlagMinutes { environment: at.environment, flag: key.clone(), from: from.into(), minutes };
        LiveEvent { audience: Some(Audience::Watching(*at)), event: Event::FlagCounts(told) }
    });
    Ok(events.collect())
}

//! Flags that applications ask for and nobody has.

use std::collections::HashMap;

use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::timestamp::Timestamp;
use shared::wire::api::insight::{UnknownFlag, UnknownFlags, UnknownStatus};
use time::Duration;
use uuid::Uuid;

use crate::app::experiment::too_much;
use crate::app::range;
use crate::app::shown::count;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::unknown::FlagName;

/// The most lines.
const LIST_MAX: i64 = 200;
/// The most flags that are compared with.
const FLAGS_MAX: i64 = 20_000;
/// The longest time that is added up.
pub(super) const RANGE_MAX: Duration = Duration::days(1_826);

/// What became of one key, and the flag that is nearest.
type Found = (UnknownStatus, Option<String>);

/// Lists unknown flags of one environment or of all, the most asked for first; of the last 24 hours when absent.
pub async fn list(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<UnknownFlags, AppError> {
    let (from, to) = range::read(state.clock.now(), from, to, Duration::DAY, RANGE_MAX)?;
    let mut tx = store::experiment::begin(&state.pool).await?;
    let mut environments = store::environment::list(&mut tx, project).await?;
    if let Some(key) = environment {
        environments.retain(|known| known.key == key.as_str());
        if environments.is_empty() {
            return Err(AppError::not_found("environment", key));
        }
    }
    let ids: Vec<_> = environments.iter().map(|environment| environment.id).collect();
    let (from, to) = store::unknown::round(&mut tx, from, to).await?;
    let listed = store::unknown::list(&mut tx, &ids, from, to, LIST_MAX).await.map_err(too_much)?;
    let flags = store::unknown::list_flag_names(&mut tx, project, FLAGS_MAX).await?;
    let keys = store::sdk_key::list(&mut tx, project, None).await?;
    tx.commit().await?;

    let asked: Vec<(String, Uuid)> =
        listed.items.iter().map(|item| (item.flag_key.clone(), item.environment_id.uuid())).collect();
    // Some hundred keys against some thousand flags keep a thread busy for a while.
    let found = tokio::task::spawn_blocking(move || compare(&asked, &flags)).await.map_err(AppError::internal)?;
    let mut items = Vec::with_capacity(listed.items.len());
    for (item, (status, nearest)) in listed.items.into_iter().zip(found) {
        let Some(environment) = environments.iter().find(|known| known.id == item.environment_id) else { continue };
        let key = keys.iter().find(|key| key.id == item.key_id);
        let sentence = sentence(status, &item.flag_key, nearest.as_deref(), &environment.key);
        items.push(UnknownFlag {
            key: item.flag_key,
            environment: environment.key.parse().map_err(AppError::internal)?,
            sdk_key: item.key_id,
            sdk_key_name: key.map(|key| key.name.clone()).unwrap_or_default(),
            sdk_key_hint: key.map(|key| key.hint.clone()).unwrap_or_default(),
            count: u64::try_from(item.count).unwrap_or(0),
            first_at: item.first_at.into(),
            last_at: item.last_at.into(),
            status,
            nearest: nearest.and_then(|key| key.parse::<FlagKey>().ok()),
            sentence,
        });
    }
    Ok(UnknownFlags {
        from: from.into(),
        to: to.into(),
        items,
        total: u64::try_from(listed.total).unwrap_or(0),
        is_cut: listed.rows > LIST_MAX,
    })
}

fn compare(asked: &[(String, Uuid)], flags: &[FlagName]) -> Vec<Found> {
    let lower: Vec<String> = flags.iter().map(|flag| flag.key.to_lowercase()).collect();
    let mut nearest: HashMap<&str, Option<String>> = HashMap::new();
    let found = asked.iter().map(|(key, environment)| {
        if key.is_empty() {
            return (UnknownStatus::Others, None);
        }
        match flags.iter().find(|flag| flag.key == *key) {
            Some(flag) if flag.is_archived => (UnknownStatus::Archived, None),
            Some(flag) if flag.environments.contains(environment) => (UnknownStatus::Exists, None),
            Some(_) => (UnknownStatus::ElsewhereOnly, None),
            None => {
                let near = nearest.entry(key).or_insert_with(|| nearest_of(&key.to_lowercase(), flags, &lower));
                (UnknownStatus::Unknown, near.clone())
            }
        }
    });
    found.collect()
}

/// The flag whose key differs least, in at most a third of the letters; case never counts.
fn nearest_of(key: &str, flags: &[FlagName], lower: &[String]) -> Option<String> {
    let length = key.len();
    let most = length / 3;
    let near = flags.iter().zip(lower).filter(|(flag, _)| !flag.is_archived).filter_map(|(flag, other)| {
        if other.len().abs_diff(length) > most {
            return None;
        }
        // Two letters that changed places are one mistake.
        let distance = strsim::osa_distance(key, other);
        (distance <= most).then_some((distance, &flag.key))
    });
    near.min().map(|(_, key)| key.clone())
}

fn sentence(status: UnknownStatus, key: &str, nearest: Option<&str>, environment: &str) -> String {
    match (status, nearest) {
        (UnknownStatus::Others, _) => {
            format!("no flag's key, or more than {} different ones; look at what the application sends", count(1_000))
        }
        (UnknownStatus::Exists, _) => {
            format!("{key} is in {environment} by now, or a client key asks for it and only servers may see it")
        }
        (UnknownStatus::ElsewhereOnly, _) => format!("{key} has no config in {environment} yet"),
        (UnknownStatus::Archived, _) => format!("{key} was archived; the application still asks for it"),
        (UnknownStatus::Unknown, Some(near)) => format!("no flag is called {key}; did they mean {near}?"),
        (UnknownStatus::Unknown, None) => format!("no flag is called {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_flag_differs_in_a_third_of_the_letters_at_most() {
        let here = Uuid::from_u128(1);
        let flag = |key: &str, is_archived| FlagName { key: key.into(), is_archived, environments: vec![here] };
        let flags = [flag("checkout", false), flag("checkup", true), flag("ab", false), flag("search", false)];
        let ask = |key: &str| compare(&[(key.into(), here)], &flags).remove(0);
        let near = |key: &str| (UnknownStatus::Unknown, Some(String::from(key)));
        assert_eq!(ask("chekout"), near("checkout"));
        assert_eq!(ask("Checkotu"), near("checkout"));
        assert_eq!(ask("serach"), near("search"));
        assert_eq!(ask("ba"), (UnknownStatus::Unknown, None), "two letters are too few to be near to anything");
        assert_eq!(ask("payments"), (UnknownStatus::Unknown, None));
        assert_eq!(ask("checkup"), (UnknownStatus::Archived, None));
        assert_eq!(ask("checkout"), (UnknownStatus::Exists, None));
        let elsewhere = compare(&[("checkout".into(), Uuid::from_u128(2)), (String::new(), here)], &flags);
        assert_eq!(elsewhere, [(UnknownStatus::ElsewhereOnly, None), (UnknownStatus::Others, None)]);
    }
}

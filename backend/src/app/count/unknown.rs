//! Flags that applications ask for and nobody has.

use std::cmp::Reverse;
use std::collections::HashMap;

use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::insight::{UnknownFlag, UnknownFlags, UnknownStatus};
use uuid::Uuid;

use crate::app::count::Reading;
use crate::app::range::{Length, Range, moment, too_much};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::{FlagName, Labelled};

/// The most lines.
const LIST_MAX: usize = 200;
/// The most flags that are compared with.
const FLAGS_MAX: i64 = 20_000;

/// What became of one key, and the flag that is nearest.
type Found = (UnknownStatus, Option<String>);

/// Lists unknown flags of one environment or of all, the most asked for first.
pub async fn unknown_flags(
    state: &AppState,
    project: ProjectId,
    environment: Option<&EnvironmentKey>,
    range: Range,
) -> Result<UnknownFlags, AppError> {
    let period = range.period(state.clock.now(), Length::COUNTS)?;
    let mut reading = Reading::begin(state, project, environment).await?;
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let (from, to) = (moment(edges[0]), moment(edges[edges.len() - 1]));
    let ids = reading.environment_ids();
    let series = store::count::list_unknown_series(&mut reading.tx, &ids, from).await.map_err(too_much)?;
    let chosen: Vec<Labelled> =
        series.iter().map(|of| Labelled { label: of.id.to_string(), ids: vec![of.id] }).collect();
    let sums = reading.add_up(&chosen, &edges, &kept).await?;
    let count_of = |id: i64| sums.get(&id.to_string()).map(|counts| counts.iter().sum::<u64>());
    let mut asked: Vec<_> = series.into_iter().filter_map(|of| Some((count_of(of.id)?, of))).collect();
    // Stable: of the same count, by their keys.
    asked.sort_by_key(|(count, _)| Reverse(*count));
    let (total, is_cut) = (asked.iter().map(|(count, _)| count).sum(), asked.len() > LIST_MAX);
    asked.truncate(LIST_MAX);
    let flags = store::count::list_flags_to_compare(&mut reading.tx, project, FLAGS_MAX).await?;
    let keys = store::sdk_key::list(&mut reading.tx, project, None).await?;
    let Reading { tx, environments } = reading;
    tx.commit().await?;

    let wanted: Vec<(String, Uuid)> =
        asked.iter().map(|(_, of)| (of.flag_key.clone(), of.environment_id.uuid())).collect();
    // Some hundred keys against some thousand flags keep a thread busy for a while.
    let found = tokio::task::spawn_blocking(move || compare(&wanted, &flags)).await.map_err(AppError::internal)?;
    let mut items = Vec::with_capacity(asked.len());
    for ((count, of), (status, nearest)) in asked.into_iter().zip(found) {
        let Some(environment) = environments.iter().find(|known| known.id == of.environment_id) else { continue };
        let key = keys.iter().find(|key| key.id == of.key_id);
        let sentence = sentence(status, &of.flag_key, nearest.as_deref(), &environment.key);
        items.push(UnknownFlag {
            key: of.flag_key,
            environment: environment.key.parse().map_err(AppError::internal)?,
            sdk_key: of.key_id,
            sdk_key_name: key.map(|key| key.name.clone()).unwrap_or_default(),
            sdk_key_hint: key.map(|key| key.hint.clone()).unwrap_or_default(),
            count,
            first_at: of.first_at.into(),
            last_at: of.last_at.into(),
            status,
            nearest: nearest.and_then(|key| key.parse::<FlagKey>().ok()),
            sentence,
        });
    }
    Ok(UnknownFlags { from: from.into(), to: to.into(), items, total, is_cut })
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
            "what can be no flag's key, and what came while an edge held 100 others or this list 1,000; look at what the \
             application sends"
                .into()
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

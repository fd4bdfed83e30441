//! Variants of a flag with everything that names them.

use shared::model::flag::FlagConfig;
use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::rule::Serve;
use shared::sentence;
use shared::wire::api::variant::{VariantDetail, VariantList, VariantNeed, VariantUse};

use crate::app::flag::find_any;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::reference::Node;

/// The most flags that are told to need a variant.
const NEEDS_MAX: usize = 100;

/// The variants of a flag, each with the places that name it.
pub async fn variants(state: &AppState, project: ProjectId, key: &FlagKey) -> Result<VariantList, AppError> {
    let mut db = state.pool.acquire().await?;
    let flag = find_any(&mut db, project, key).await?;
    let environments = store::environment::list(&mut db, project).await?;
    let configs = store::config::list_readable(&mut db, &[flag.id]).await?;
    let children: Vec<Node> = store::reference::list_children(&mut db, &[flag.id]).await?;
    let needing = store::reference::list_configs(&mut db, project, &children).await?;
    let mut items = Vec::with_capacity(flag.definition.variants.len());
    for variant in flag.definition.variants {
        let (mut uses, mut needed_by) = (Vec::new(), Vec::new());
        for environment in &environments {
            let place: EnvironmentKey = environment.key.parse().map_err(AppError::internal)?;
            for config in configs.iter().filter(|config| config.environment_id == environment.id) {
                uses.extend(places(&config.config, &variant.key).into_iter().map(|(path, words)| VariantUse {
                    environment: place.clone(),
                    path,
                    place: words,
                }));
            }
            let here = needing.iter().filter(|config| config.environment_id == environment.id);
            let names = |config: &FlagConfig| {
                config.prerequisites.iter().any(|p| p.flag == *key && p.variants.contains(&variant.key))
            };
            needed_by.extend(
                here.filter(|found| names(&found.config))
                    .map(|found| VariantNeed { flag: found.definition.key.clone(), environment: place.clone() }),
            );
        }
        needed_by.truncate(NEEDS_MAX);
        items.push(VariantDetail { variant, uses, needed_by });
    }
    Ok(VariantList { items, value_type: flag.definition.value_type, version: flag.version })
}

/// Where a config names a variant: path and words.
fn places(config: &FlagConfig, variant: &VariantKey) -> Vec<(String, String)> {
    let mut places = Vec::new();
    for (index, target) in config.targets.iter().enumerate().filter(|(_, target)| target.variant == *variant) {
        let keys = match target.keys.len() {
            1 => "1 named key".to_owned(),
            count => format!("{count} named keys"),
        };
        places.push((format!("targets[{index}].variant"), keys));
    }
    for (index, rule) in config.rules.iter().enumerate() {
        let Some(share) = share(&rule.serve, variant) else { continue };
        let name = if rule.name.is_empty() { String::new() } else { format!(" {}", rule.name) };
        let paused = if rule.paused { " (paused)" } else { "" };
        places.push((format!("rules[{index}].serve"), format!("rule {}{name}{share}{paused}", index + 1)));
    }
    if let Some(share) = share(&config.default_serve, variant) {
        places.push(("default_serve".into(), format!("default{share}")));
    }
    if config.off_variant.as_ref() == Some(variant) {
        places.push(("off_variant".into(), "off variant".into()));
    }
    places
}

/// What comes behind a place that serves the variant: its share, where it is one.
fn share(serve: &Serve, variant: &VariantKey) -> Option<String> {
    match serve {
        Serve::Variant(served) => (served == variant).then(String::new),
        Serve::Split(split) => {
            let owned = split.ranges.iter().filter(|range| range.variant == *variant);
            let buckets: u64 = owned.map(|range| u64::from(range.end.saturating_sub(range.start))).sum();
            (buckets > 0).then(|| format!(", {}", sentence::share(split, buckets)))
        }
    }
}

//! Variants of a flag with everything that names them.

use std::collections::BTreeMap;

use shared::model::flag::{FlagConfig, FlagDefinition};
use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::rule::Serve;
use shared::model::variant::Variant;
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

/// The variants that are wanted, and behind them those that go once others have taken their places. Fails when a
/// replacement is none.
pub(super) fn with_replaced(
    flag: &FlagDefinition,
    wanted: Option<Vec<Variant>>,
    replacement: &BTreeMap<VariantKey, VariantKey>,
) -> Result<Vec<Variant>, AppError> {
    let has = |variants: &[Variant], key: &VariantKey| variants.iter().any(|variant| variant.key == *key);
    let is_gone = |variant: &&Variant| replacement.contains_key(&variant.key);
    let mut variants =
        wanted.unwrap_or_else(|| flag.variants.iter().filter(|variant| !is_gone(variant)).cloned().collect());
    for (gone, with) in replacement {
        let message = if !has(&flag.variants, gone) {
            format!("'{gone}' is not a variant of {}", flag.key)
        } else if has(&variants, gone) {
            format!("'{gone}' has a replacement, so leave it out of the variants")
        } else if !has(&variants, with) {
            format!("'{with}' is not among the variants; choose one that is")
        } else {
            continue;
        };
        return Err(AppError::field(format!("replacement.{gone}"), message));
    }
    FlagDefinition { variants: variants.clone(), ..flag.clone() }.validate().map_err(AppError::Invalid)?;
    variants.extend(flag.variants.iter().filter(is_gone).cloned());
    Ok(variants)
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

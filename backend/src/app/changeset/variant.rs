//! Taking variants away without leaving anybody with none.

use std::collections::{BTreeMap, BTreeSet};

use shared::model::flag::FlagConfig;
use shared::model::id::FlagId;
use shared::model::key::{FlagKey, VariantKey};
use shared::model::rule::Serve;
use shared::model::split;
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::Draft;
use crate::app::changeset::flag::described;
use crate::error::AppError;
use crate::store;
use crate::store::reference::Node;

impl Draft {
    pub(super) async fn replace_variant(
        &mut self,
        db: &mut PgConnection,
        key: &FlagKey,
        expected: u64,
        (from, to): (&VariantKey, &VariantKey),
    ) -> Result<(), AppError> {
        let before = self.flag(db, key).await?;
        check_version("flag", expected, before.version)?;
        for (field, variant) in [("variant", from), ("with", to)] {
            if !before.definition.variants.iter().any(|known| known.key == *variant) {
                return Err(AppError::field(field, format!("'{variant}' is not a variant of {key}")));
            }
        }
        if from == to {
            return Err(AppError::field("with", format!("'{to}' is the variant that goes; choose another one")));
        }
        let mut after = before.clone();
        after.definition.variants.retain(|variant| variant.key != *from);
        after.definition.validate().map_err(AppError::Invalid)?;
        store::flag::update(db, &after, self.author.user, self.at).await?;
        let entity = ("flag", before.id.uuid(), key.as_str());
        self.record(None, entity, Some(&described(&before)), Some(&described(&after)))?;
        for stored in store::config::list(db, &[before.id]).await? {
            let replaced = replaced(&stored.config, from, to);
            if replaced != stored.config {
                self.write_config(db, &after, stored.environment_id, Some(&stored.config), &replaced).await?;
            }
        }
        self.replace_in_prerequisites(db, (before.id, key), from, to).await?;
        self.narrower.push(before.id);
        self.flags.insert(before.id);
        Ok(())
    }

    /// Flags that need the variant need the other one from now on.
    async fn replace_in_prerequisites(
        &mut self,
        db: &mut PgConnection,
        (parent, parent_key): (FlagId, &FlagKey),
        from: &VariantKey,
        to: &VariantKey,
    ) -> Result<(), AppError> {
        let children = store::reference::list_children(db, &[parent]).await?;
        let places: BTreeSet<_> = children
            .into_iter()
            .filter_map(
                |node| if let Node::Config(flag, environment) = node { Some((flag, environment)) } else { None },
            )
            .collect();
        let ids: BTreeSet<FlagId> = places.iter().map(|(flag, _)| *flag).collect();
        let ids: Vec<FlagId> = ids.into_iter().collect();
        let flags: BTreeMap<FlagId, _> =
            store::flag::list_by_id(db, self.project, &ids).await?.into_iter().map(|flag| (flag.id, flag)).collect();
        for stored in store::config::list(db, &ids).await? {
            let Some(flag) = flags.get(&stored.flag_id) else { continue };
            if !places.contains(&(stored.flag_id, stored.environment_id)) {
                continue;
            }
            let mut config = stored.config.clone();
            for prerequisite in config.prerequisites.iter_mut().filter(|needed| needed.flag == *parent_key) {
                let was: Vec<VariantKey> = std::mem::take(&mut prerequisite.variants);
                for variant in was {
                    let variant = if variant == *from { to.clone() } else { variant };
                    if !prerequisite.variants.contains(&variant) {
                        prerequisite.variants.push(variant);
                    }
                }
            }
            if config != stored.config {
                self.write_config(db, flag, stored.environment_id, Some(&stored.config), &config).await?;
                self.flags.insert(stored.flag_id);
            }
        }
        Ok(())
    }
}

/// The config with another variant wherever one was named; ranges keep their buckets.
fn replaced(config: &FlagConfig, from: &VariantKey, to: &VariantKey) -> FlagConfig {
    let mut config = config.clone();
    let rename = |variant: &mut VariantKey| {
        if variant == from {
            *variant = to.clone();
        }
    };
    let rename_in = |serve: &mut Serve| match serve {
        Serve::Variant(variant) => rename(variant),
        Serve::Split(split) => split.ranges = split::rename(&split.ranges, from, to),
    };
    config.off_variant.iter_mut().for_each(rename);
    config.targets.iter_mut().for_each(|target| rename(&mut target.variant));
    config.rules.iter_mut().for_each(|rule| rename_in(&mut rule.serve));
    rename_in(&mut config.default_serve);
    config
}

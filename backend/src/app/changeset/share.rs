//! Writing other shares into a config as it stands.

use shared::model::flag::FlagConfig;
use shared::model::id::RuleId;
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::problem::Problems;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, BucketRange, Share, Split, reallocate};
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::Draft;
use crate::error::AppError;
use crate::store;

/// A division of users: of a flag, in an environment, by a rule or of everyone else.
pub(super) type Place<'a> = (&'a FlagKey, &'a EnvironmentKey, Option<RuleId>);

impl Draft {
    pub(super) async fn set_share(
        &mut self,
        db: &mut PgConnection,
        place: Place<'_>,
        expected: Option<u64>,
        shares: &[Share],
    ) -> Result<(), AppError> {
        let (key, environment, rule) = place;
        let environment = self.environment(environment.as_str())?.id;
        let flag = self.flag(db, key).await?;
        let stored = store::config::list(db, &[flag.id]).await?.into_iter().find(|c| c.environment_id == environment);
        check_version("flag config", expected.unwrap_or_else(|| version(&stored)), version(&stored))?;
        let Some(stored) = stored else {
            return Err(AppError::not_found("config of flag", key));
        };
        let config = with_shares(key, stored.config.clone(), rule, shares)?;
        self.write_config(db, &flag, environment, Some(&stored.config), &config).await?;
        self.flags.insert(flag.id);
        Ok(())
    }
}

fn version(stored: &Option<store::config::StoredConfig>) -> u64 {
    stored.as_ref().map_or(0, |stored| stored.version)
}

/// The config with other shares for one rule, or for everyone else.
fn with_shares(
    flag: &FlagKey,
    mut config: FlagConfig,
    rule: Option<RuleId>,
    shares: &[Share],
) -> Result<FlagConfig, AppError> {
    let serve = match rule {
        None => &mut config.default_serve,
        Some(id) => {
            let found = config.rules.iter_mut().find(|rule| rule.id == id);
            &mut found.ok_or_else(|| AppError::field("rule", format!("'{id}' is not a rule of {flag} there")))?.serve
        }
    };
    // What served one variant becomes a division whose every bucket was that variant's.
    let before = match &*serve {
        Serve::Split(split) => split.clone(),
        Serve::Variant(variant) => Split {
            bucket_by: "targetingKey".into(),
            algorithm: Default::default(),
            seed: flag.to_string(),
            total: BUCKETS,
            ranges: vec![BucketRange { start: 0, end: BUCKETS, variant: variant.clone() }],
        },
    };
    check_shares(before.total, shares)?;
    let wanted: Vec<(VariantKey, u32)> = shares.iter().map(|share| (share.variant.clone(), share.buckets)).collect();
    let ranges = reallocate(before.total, &before.ranges, &wanted);
    *serve = Serve::Split(Split { ranges, ..before });
    Ok(config)
}

fn check_shares(total: u32, shares: &[Share]) -> Result<(), AppError> {
    let mut problems = Problems::default();
    let sum: u64 = shares.iter().map(|share| u64::from(share.buckets)).sum();
    if sum > u64::from(total) {
        problems.add("shares", format!("{sum} of {total} buckets; shares are all of them together at most"));
    }
    for (index, share) in shares.iter().enumerate() {
        if shares[..index].iter().any(|known| known.variant == share.variant) {
            problems.add(format_args!("shares[{index}].variant"), format!("'{}' is there twice", share.variant));
        }
    }
    problems.into_result().map_err(AppError::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(variant: &str, buckets: u32) -> Share {
        Share { variant: variant.parse().expect("a key"), buckets }
    }

    fn shares_of(config: &FlagConfig) -> (u32, u32) {
        let Serve::Split(split) = &config.default_serve else { return (0, 0) };
        let of = |key: &str| split.share(&key.parse().expect("a key"));
        (of("on"), of("off"))
    }

    #[test]
    fn raising_a_share_step_by_step_only_adds_users_and_more_than_all_is_refused() {
        let flag: FlagKey = "checkout".parse().expect("a key");
        let config: FlagConfig =
            serde_json::from_str(r#"{"enabled":true,"default_serve":{"variant":"off"}}"#).expect("a config");
        let first = with_shares(&flag, config, None, &[share("on", 1_000), share("off", 99_000)]).expect("a step");
        assert_eq!(shares_of(&first), (1_000, 99_000));
        let second = with_shares(&flag, first.clone(), None, &[share("on", 50_000), share("off", 50_000)]);
        let second = second.expect("a step");
        let (Serve::Split(before), Serve::Split(after)) = (&first.default_serve, &second.default_serve) else {
            panic!("two splits")
        };
        let moved = shared::model::split::movement(BUCKETS, &before.ranges, &after.ranges);
        assert_eq!((moved.len(), moved[0].buckets), (1, 49_000));
        for bad in [vec![share("on", 150_000)], vec![share("on", 1), share("on", 2)]] {
            assert!(with_shares(&flag, second.clone(), None, &bad).is_err(), "{bad:?}");
        }
    }
}

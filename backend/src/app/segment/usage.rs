//! Who uses a segment, and what a change of it would do.

use std::collections::{BTreeSet, HashMap, HashSet};

use shared::model::id::{EnvironmentId, ProjectId};
use shared::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use shared::model::rule::Rule;
use shared::model::segment::SegmentDefinition;
use shared::sentence;
use shared::wire::api::segment::{
    SegmentEffect, SegmentEnvironment, SegmentRule, SegmentUse, SegmentUses, UpdateSegment,
};
use sqlx::PgConnection;

use crate::app::changeset::{Protection, check_name};
use crate::app::segment::{find, parsed};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::segment::{Segment, Using};

/// The most flags of one answer.
const FLAGS_MAX: i64 = 200;

/// Who uses a segment: a page of flags after one of a key.
pub async fn uses(
    state: &AppState,
    project: ProjectId,
    key: &SegmentKey,
    after: Option<&FlagKey>,
) -> Result<SegmentUses, AppError> {
    let mut db = state.pool.acquire().await?;
    let segment = find(&mut db, project, key).await?;
    uses_of(&mut db, project, &segment, after).await
}

/// What a change of a segment would do, and to whom.
pub async fn effect(
    state: &AppState,
    project: ProjectId,
    key: SegmentKey,
    body: UpdateSegment,
) -> Result<SegmentEffect, AppError> {
    check_name(&body.name)?;
    let UpdateSegment { name, excluded, included, conditions, .. } = body;
    let after = SegmentDefinition { key, excluded, included, conditions };
    after.validate().map_err(AppError::Invalid)?;
    let mut db = state.pool.acquire().await?;
    let segment = find(&mut db, project, &after.key).await?;
    let before = &segment.definition;
    let mut changes = sentence::segment_changes(before, &after);
    if segment.name != name.trim() {
        changes.push(format!("~ Name: {} → {}", sentence::value(&segment.name), sentence::value(name.trim())));
    }
    let uses = if *before == after { None } else { Some(uses_of(&mut db, project, &segment, None).await?) };
    let nobody = SegmentUses { items: vec![], next: None, flags: 0, segments: vec![], environments: vec![] };
    Ok(SegmentEffect {
        changes,
        included_added: only_in(&after.included, &before.included),
        included_removed: only_in(&before.included, &after.included),
        excluded_added: only_in(&after.excluded, &before.excluded),
        excluded_removed: only_in(&before.excluded, &after.excluded),
        uses: uses.unwrap_or(nobody),
        version: segment.version,
    })
}

async fn uses_of(
    db: &mut PgConnection,
    project: ProjectId,
    segment: &Segment,
    after: Option<&FlagKey>,
) -> Result<SegmentUses, AppError> {
    let through = store::segment::list_using_segments(db, project, segment.id).await?;
    let through: BTreeSet<SegmentKey> = parsed::<SegmentKey>(&through)?.into_iter().collect();
    let (counts, flags) = store::segment::count_using(db, project, segment.id).await?;
    let counts: HashMap<EnvironmentId, u64> = counts.into_iter().collect();
    let after = after.map(FlagKey::as_str);
    let (using, next) = store::segment::list_using(db, project, segment.id, after, FLAGS_MAX).await?;
    let known = store::environment::list(db, project).await?;
    let protection = Protection::find(db, project).await?;
    let mut names: HashMap<EnvironmentId, EnvironmentKey> = HashMap::new();
    let mut environments = Vec::new();
    for environment in known {
        let key: EnvironmentKey = environment.key.parse().map_err(AppError::internal)?;
        names.insert(environment.id, key.clone());
        if let Some(flags) = counts.get(&environment.id) {
            let is_protected = protection.policy(environment.id).is_some();
            environments.push(SegmentEnvironment { environment: key, flags: *flags, is_protected });
        }
    }
    let mut items = Vec::with_capacity(using.len());
    for Using { flag, name, environment_id, config, is_killed } in using {
        let Some(environment) = names.get(&environment_id) else { continue };
        let rules = rules_of(&config.rules, &segment.definition.key, &through);
        items.push(SegmentUse {
            flag: flag.parse().map_err(AppError::internal)?,
            name,
            environment: environment.clone(),
            enabled: config.enabled,
            is_killed,
            sentence: told(&rules),
            rules,
        });
    }
    let next = next.map(|key| key.parse()).transpose().map_err(AppError::internal)?;
    Ok(SegmentUses { items, next, flags, segments: through.into_iter().collect(), environments })
}

/// The rules that name a segment, or one that uses it.
fn rules_of(rules: &[Rule], segment: &SegmentKey, through: &BTreeSet<SegmentKey>) -> Vec<SegmentRule> {
    let using = rules.iter().enumerate().filter_map(|(at, rule)| {
        let mut named = Vec::new();
        rule.conditions.collect_segments(&mut named);
        let is_named = named.contains(segment);
        let other = named.into_iter().find(|key| through.contains(key));
        (is_named || other.is_some()).then(|| SegmentRule {
            id: rule.id,
            number: at as u64 + 1,
            name: rule.name.clone(),
            paused: rule.paused,
            through: other.filter(|_| !is_named),
        })
    });
    using.collect()
}

/// `rule 2 Beta, through vip; rule 4, paused`.
fn told(rules: &[SegmentRule]) -> String {
    let rule = |rule: &SegmentRule| {
        let name = if rule.name.is_empty() { String::new() } else { format!(" {}", sentence::value(&rule.name)) };
        let through = rule.through.as_ref().map_or_else(String::new, |key| format!(", through {key}"));
        format!("rule {}{name}{through}{}", rule.number, if rule.paused { ", paused" } else { "" })
    };
    rules.iter().map(rule).collect::<Vec<_>>().join("; ")
}

/// How many keys a list has that another has not.
fn only_in(list: &[String], other: &[String]) -> u64 {
    let other: HashSet<&String> = other.iter().collect();
    list.iter().collect::<HashSet<_>>().difference(&other).count() as u64
}

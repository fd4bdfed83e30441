//! Flags that may go, with reasons in words; and how one flag is used.

use std::collections::HashMap;

use shared::model::flag::FlagKind;
use shared::model::id::{EnvironmentId, FlagId, ProjectId};
use shared::model::key::FlagKey;
use shared::model::lifetime::Lifetime;
use shared::sentence;
use shared::wire::api::flag::FlagOwner;
use shared::wire::api::insight::{
    EnvironmentUsage, FlagActivity, FlagUsage, StaleFlag, StaleFlags, StaleKind, StaleReason,
};
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::environment::Environment;
use crate::store::stale::{Answered, FlagAge};

/// The most flags listed.
const LIST_MAX: usize = 500;
/// Nobody asked for so long: unused. Younger flags, and counts that reach back less far, say nothing.
const UNUSED_AFTER: Duration = Duration::days(30);
/// The same answer to everyone for so long: the flag decides nothing any more.
const SAME_AFTER: Duration = Duration::days(14);

/// What is known of all flags of a project.
struct Usage {
    now: OffsetDateTime,
    environments: Vec<Environment>,
    answered: HashMap<FlagId, Vec<Answered>>,
    since: Option<OffsetDateTime>,
}

/// Flags of a project that may go.
pub async fn list(state: &AppState, project: ProjectId) -> Result<StaleFlags, AppError> {
    let (usage, flags) = read(state, &mut *state.pool.acquire().await?, project, None).await?;
    let total_flags = flags.len();
    let mut stale: Vec<(OffsetDateTime, StaleFlag)> = Vec::new();
    for flag in flags {
        let found = usage.of(&flag)?;
        if !found.reasons.is_empty() {
            let kind = kind_of(&flag.kind)?;
            let key = flag.key.parse().map_err(AppError::internal)?;
            let owner = flag.owner_id.zip(flag.owner_name).map(|(id, name)| FlagOwner { id: id.into(), name });
            let version = u64::try_from(flag.version).unwrap_or(0);
            stale.push((flag.created_at, StaleFlag { key, name: flag.name, kind, owner, version, usage: found }));
        }
    }
    stale.sort_by_key(|(created_at, flag)| (std::cmp::Reverse(flag.usage.reasons.len()), *created_at));
    Ok(StaleFlags {
        total: stale.len() as u64,
        flags: total_flags as u64,
        items: stale.into_iter().take(LIST_MAX).map(|(_, flag)| flag).collect(),
        counting_since: usage.since.map(Into::into),
    })
}

/// How one flag is used.
pub async fn usage(state: &AppState, project: ProjectId, key: &FlagKey) -> Result<FlagUsage, AppError> {
    let (usage, flags) = read(state, &mut *state.pool.acquire().await?, project, Some(key)).await?;
    usage.of(flags.first().ok_or_else(|| AppError::not_found("flag", key))?)
}

/// Ids of all flags of a project that may go, for a list.
pub(super) async fn list_ids(
    state: &AppState,
    db: &mut PgConnection,
    project: ProjectId,
) -> Result<Vec<FlagId>, AppError> {
    let (usage, flags) = read(state, db, project, None).await?;
    let mut ids = Vec::new();
    for flag in flags {
        if !usage.of(&flag)?.reasons.is_empty() {
            ids.push(flag.id);
        }
    }
    Ok(ids)
}

/// Four queries, however many flags there are.
async fn read(
    state: &AppState,
    db: &mut PgConnection,
    project: ProjectId,
    key: Option<&FlagKey>,
) -> Result<(Usage, Vec<FlagAge>), AppError> {
    let environments = store::environment::list(db, project).await?;
    let last = environments.last().ok_or_else(|| AppError::internal("a project without environments"))?.id;
    let ids: Vec<EnvironmentId> = environments.iter().map(|environment| environment.id).collect();
    let flags = store::stale::list_flags(db, project, key.map(FlagKey::as_str), last).await?;
    let only = if key.is_some() { flags.first().map(|flag| flag.id) } else { None };
    let mut answered: HashMap<FlagId, Vec<Answered>> = HashMap::new();
    for answer in store::stale::list_answered(db, &ids, only).await? {
        answered.entry(answer.flag_id).or_default().push(answer);
    }
    let since = store::stale::counting_since(db, &ids).await?;
    Ok((Usage { now: state.clock.now(), environments, answered, since }, flags))
}

impl Usage {
    fn of(&self, flag: &FlagAge) -> Result<FlagUsage, AppError> {
        let answered = self.answered.get(&flag.id).map_or(&[][..], Vec::as_slice);
        let kind = kind_of(&flag.kind)?;
        let activity = self.activity(flag, answered);
        let mut reasons = Vec::new();
        if activity == FlagActivity::Unused {
            reasons.push(self.not_evaluated(flag, answered));
        }
        // Those that are there to stay answer the same for years.
        if let Some(days) = flag.lifetime().days(kind) {
            reasons.extend(self.same_for_everyone(flag, answered));
            reasons.extend(self.past_lifetime(flag, kind, days));
        }
        let mut environments = Vec::with_capacity(self.environments.len());
        for environment in &self.environments {
            let here = || answered.iter().filter(|answer| answer.environment_id == environment.id);
            environments.push(EnvironmentUsage {
                environment: environment.key.parse().map_err(AppError::internal)?,
                evaluated_at: here().filter_map(|answer| answer.evaluated_at).max().map(Into::into),
                sent_in_bulk_at: here().filter_map(|answer| answer.sent_in_bulk_at).max().map(Into::into),
            });
        }
        let sentence = match activity {
            FlagActivity::Evaluated => "evaluated within 30 days",
            FlagActivity::SentInBulk => "sent to browsers, use unknown",
            FlagActivity::Unused => "nobody asked for it within 30 days",
            FlagActivity::TooEarly => "too early to tell: 30 days of counting are needed",
        };
        Ok(FlagUsage { created_at: flag.created_at.into(), activity, sentence: sentence.into(), environments, reasons })
    }

    fn activity(&self, flag: &FlagAge, answered: &[Answered]) -> FlagActivity {
        let begin = self.now - UNUSED_AFTER;
        let is_recent = |at: Option<OffsetDateTime>| at.is_some_and(|at| at >= begin);
        if answered.iter().any(|answer| is_recent(answer.evaluated_at)) {
            FlagActivity::Evaluated
        } else if answered.iter().any(|answer| is_recent(answer.sent_in_bulk_at)) {
            FlagActivity::SentInBulk
        } else if flag.created_at >= begin || self.since.is_none_or(|since| since >= begin) {
            FlagActivity::TooEarly
        } else {
            FlagActivity::Unused
        }
    }

    fn not_evaluated(&self, flag: &FlagAge, answered: &[Answered]) -> StaleReason {
        let last = answered.iter().filter_map(|answer| answer.evaluated_at.max(answer.sent_in_bulk_at)).max();
        let days = whole_days(self.now - last.unwrap_or(flag.created_at));
        let sentence = match last {
            Some(_) => format!("nobody asked for it for {days} days"),
            None => format!("nobody ever asked for it; it is {days} days old"),
        };
        StaleReason { kind: StaleKind::NotEvaluated, days, sentence }
    }

    /// Both must say so: a config that can give one answer only, and counts that hold no other.
    fn same_for_everyone(&self, flag: &FlagAge, answered: &[Answered]) -> Option<StaleReason> {
        let is_fixed = !flag.is_killed && matches!(flag.shape.as_deref(), Some("on" | "off"));
        let last = self.environments.last().filter(|_| is_fixed)?;
        // An error answers the application's own default, which is no variant of the flag's.
        let here: Vec<&Answered> =
            answered.iter().filter(|answer| answer.environment_id == last.id && !answer.is_error).collect();
        let last_at = |answer: &Answered| answer.evaluated_at.max(answer.sent_in_bulk_at);
        let now_given = here.iter().max_by_key(|answer| last_at(answer))?;
        // Somebody must still get it: an answer that nobody was given for long says nothing of the others.
        last_at(now_given).filter(|at| *at >= self.now - SAME_AFTER)?;
        let others = here.iter().filter(|answer| answer.variant != now_given.variant);
        let since = others.filter_map(|answer| last_at(answer)).max().max(Some(now_given.first_at))?;
        let length = self.now - since;
        let days = whole_days(length);
        let sentence = match now_given.variant.as_str() {
            "" => format!("the code's own default to everyone in {} for {days} days", last.key),
            variant => format!("the same answer ({variant}) to everyone in {} for {days} days", last.key),
        };
        (length >= SAME_AFTER).then_some(StaleReason { kind: StaleKind::SameForEveryone, days, sentence })
    }

    fn past_lifetime(&self, flag: &FlagAge, kind: FlagKind, meant: u32) -> Option<StaleReason> {
        let age = self.now - flag.created_at;
        let days = whole_days(age);
        let article = if matches!(kind, FlagKind::Experiment | FlagKind::Operational) { "an" } else { "a" };
        let sentence = match flag.lifetime() {
            Lifetime::Usual => format!(
                "{article} {} flag usually goes after {meant} days; this one is {days} days old",
                sentence::kind(kind)
            ),
            _ => format!("it was meant to go after {meant} days; it is {days} days old"),
        };
        (age > Duration::days(i64::from(meant))).then_some(StaleReason {
            kind: StaleKind::PastLifetime,
            days,
            sentence,
        })
    }
}

fn whole_days(length: Duration) -> u32 {
    u32::try_from(length.whole_days()).unwrap_or(0)
}

fn kind_of(text: &str) -> Result<FlagKind, AppError> {
    serde_json::from_value(text.into()).map_err(AppError::internal)
}

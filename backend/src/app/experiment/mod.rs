//! What an experiment says: the users of one split by variant, and what they did.

mod read;
mod sentence;

use shared::model::flag::{FlagConfig, FlagKind};
use shared::model::id::{MetricId, ProjectId};
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::rule::Serve;
use shared::model::split::Split;
use shared::model::timestamp::Timestamp;
use shared::wire::api::experiment::{
    ExperimentPlace, ExperimentResult, ExperimentVariant, RESULT_METRICS_MAX, RatioResult,
};
use shared::wire::api::metric::MetricDetail;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime, Time, UtcOffset};

use crate::app;
use crate::app::range::{Length, Range, ceil_minute, minute_of, moment, too_much};
use crate::error::AppError;
use crate::state::AppState;
use crate::statistics::ratio::{self, Cell};
use crate::statistics::{self, NotYet};
use crate::store;
use crate::store::experiment::{self as stored, Scope, Units};

/// What somebody wants to see of an experiment.
#[derive(Debug)]
pub struct Question {
    /// Where.
    pub environment: EnvironmentKey,
    /// From when on; since the split last changed when absent.
    pub from: Option<Timestamp>,
    /// Until when; now when absent.
    pub to: Option<Timestamp>,
    /// What to compare with.
    pub control: Option<VariantKey>,
    /// Which split; that with most users when absent.
    pub place: Option<String>,
    /// Which metrics; the first by name when empty.
    pub metrics: Vec<MetricId>,
}

/// A split of the config with its place.
struct Placed<'c> {
    place: String,
    name: &'c str,
    rule: Option<String>,
    split: &'c Split,
}

/// Reads the results of one split.
pub async fn result(
    state: &AppState,
    project: ProjectId,
    key: &FlagKey,
    question: &Question,
) -> Result<ExperimentResult, AppError> {
    let mut tx = store::begin_bounded(&state.pool).await?;
    let flag = app::flag::find(&mut tx, project, key).await?;
    if flag.definition.kind != FlagKind::Experiment {
        let message = format!("{key} is no experiment, so nobody's exposure is kept; make it one first");
        return Err(AppError::field("flag", message));
    }
    let environments = store::environment::list(&mut tx, project).await?;
    let environment = environments.iter().find(|known| known.key == question.environment.as_str());
    let environment = environment.ok_or_else(|| AppError::not_found("environment", &question.environment))?.id;
    let configs = store::config::list_readable(&mut tx, &[flag.id]).await?;
    let config = configs.iter().find(|config| config.environment_id == environment).map(|stored| &stored.config);
    let config = config.ok_or_else(|| no_split(key, &question.environment))?;
    let metrics = chosen_metrics(&mut tx, project, &question.metrics).await?;

    let exposed = stored::list_places(&mut tx, environment, flag.id).await.map_err(too_much)?;
    let mut splits: Vec<(Placed<'_>, u64)> = splits(config)
        .into_iter()
        .map(|split| {
            let units = exposed.iter().find(|(place, _)| *place == split.place).map_or(0, |(_, units)| *units);
            (split, u64::try_from(units).unwrap_or(0))
        })
        .collect();
    // Stable, so that of two without users the first rule wins.
    splits.sort_by_key(|(_, units)| std::cmp::Reverse(*units));
    let at = chosen_place(&splits, question, key)?;
    let (placed, _) = splits.remove(at);

    let change = stored::last_change(&mut tx, environment, flag.id, placed.rule.as_deref()).await.map_err(too_much)?;
    let since = change.map_or(flag.created_at, |change| change.applied_at);
    let (from, to) = period(state, question, since)?;
    let scope = Scope { environment, flag: flag.id, place: &placed.place, from, to };
    let units = stored::count_units(&mut tx, scope).await.map_err(too_much)?;
    let variants = variants(placed.split, &units);
    let control = control(placed.split, config, question.control.as_ref())?;
    let metrics = read::metrics(&mut tx, scope, &variants, &control, metrics).await?;

    let total: u64 = variants.iter().map(|variant| variant.units).sum();
    let others = number(units.variants.iter().map(|found| found.units).sum::<i64>()).saturating_sub(total);
    let mut result = ExperimentResult {
        flag: key.clone(),
        environment: question.environment.clone(),
        place: placed.place.clone(),
        other_places: splits
            .into_iter()
            .map(|(placed, exposed)| ExperimentPlace { place: placed.place, name: placed.name.to_owned(), exposed })
            .collect(),
        from: from.into(),
        to: to.into(),
        since: sentence::since(question.from.is_some(), change.map(|change| number(change.revision))),
        bucket_by: placed.split.bucket_by.clone(),
        units: total,
        in_several_variants: number(units.several),
        exposed_before: number(units.before),
        in_other_variants: others,
        ratio: ratio_of(placed.split, &variants),
        control,
        variants,
        metrics,
        confidence: statistics::CONFIDENCE,
        warnings: Vec::new(),
    };
    let mixed = change.filter(|change| from < change.applied_at).map(|change| number(change.revision));
    result.warnings = sentence::warnings(&result, mixed);
    Ok(result)
}

async fn chosen_metrics(
    db: &mut PgConnection,
    project: ProjectId,
    asked: &[MetricId],
) -> Result<Vec<MetricDetail>, AppError> {
    if asked.len() > RESULT_METRICS_MAX {
        let message = format!("{} metrics; ask for at most {RESULT_METRICS_MAX} at once", asked.len());
        return Err(AppError::field("metric", message));
    }
    let known = store::metric::list(db, project, None).await?;
    if asked.is_empty() {
        return known.into_iter().take(RESULT_METRICS_MAX).map(app::metric::detail).collect();
    }
    let find = |id: &MetricId| {
        let found = known.iter().find(|metric| metric.id == *id).cloned();
        app::metric::detail(found.ok_or_else(|| AppError::not_found("metric", id))?)
    };
    asked.iter().map(find).collect()
}

fn splits(config: &FlagConfig) -> Vec<Placed<'_>> {
    let rules = config.rules.iter().map(|rule| (Some(rule.id.to_string()), rule.name.as_str(), &rule.serve));
    let all = rules.chain(std::iter::once((None, "", &config.default_serve)));
    let splits = all.filter_map(|(rule, name, serve)| match serve {
        Serve::Split(split) if !split.ranges.is_empty() => {
            let place = rule.as_ref().map_or_else(|| "default".into(), |id| format!("rule {id}"));
            Some(Placed { place, name, rule, split })
        }
        _ => None,
    });
    splits.collect()
}

fn chosen_place(splits: &[(Placed<'_>, u64)], question: &Question, key: &FlagKey) -> Result<usize, AppError> {
    if splits.is_empty() {
        return Err(no_split(key, &question.environment));
    }
    let Some(asked) = &question.place else { return Ok(0) };
    splits.iter().position(|(split, _)| split.place == *asked).ok_or_else(|| {
        let known: Vec<&str> = splits.iter().map(|(split, _)| split.place.as_str()).collect();
        let message =
            format!("'{asked}' is no split of {key} in {}; it has {}", question.environment, known.join(", "));
        AppError::field("place", message)
    })
}

fn no_split(key: &FlagKey, environment: &EnvironmentKey) -> AppError {
    let message = format!("{key} divides nobody in {environment}; give a rule or the default a split there");
    AppError::field("environment", message)
}

/// The minute in which the split changed belongs to both divisions, so it is left out.
fn period(
    state: &AppState,
    question: &Question,
    since: OffsetDateTime,
) -> Result<(OffsetDateTime, OffsetDateTime), AppError> {
    let now = state.clock.now();
    let days = state.config.counts.units_days;
    let kept_from = now.to_offset(UtcOffset::UTC).replace_time(Time::MIDNIGHT) - Duration::days(days.into());
    if let Some(from) = question.from {
        if OffsetDateTime::from(from) < kept_from {
            let message = format!(
                "{from} lies before what is kept of users, which is {days} days (counts.units_days); ask for {} or later",
                Timestamp::from(kept_from)
            );
            return Err(AppError::field("from", message));
        }
        let range = Range { from: question.from, to: question.to, last_minutes: None };
        let period = range.period(now, Length::EXPERIMENT)?;
        return Ok((moment(period.from), moment(period.to)));
    }
    let to = question.to.map_or_else(|| minute_of(now) + 1, |to| ceil_minute(to.into()));
    let from = ceil_minute(since).max(to - Length::EXPERIMENT.most).max(minute_of(kept_from));
    if question.to.is_some() && from >= to {
        let message =
            format!("the split changed later, at {}; leave it out or name `from` too", Timestamp::from(since));
        return Err(AppError::field("to", message));
    }
    Ok((moment(from), moment(to.max(from))))
}

/// The variants of a split in its order, with their users.
fn variants(split: &Split, units: &Units) -> Vec<ExperimentVariant> {
    let covered = f64::from(split.covered().max(1));
    let mut variants: Vec<ExperimentVariant> = Vec::new();
    for range in &split.ranges {
        if variants.iter().all(|known| known.variant != range.variant) {
            let found = units.variants.iter().find(|found| found.variant == range.variant.as_str());
            variants.push(ExperimentVariant {
                variant: range.variant.clone(),
                configured_share: f64::from(split.share(&range.variant)) / covered,
                units: found.map_or(0, |found| number(found.units)),
            });
        }
    }
    variants
}

fn control(split: &Split, config: &FlagConfig, asked: Option<&VariantKey>) -> Result<VariantKey, AppError> {
    let is_in_split = |key: &&VariantKey| split.ranges.iter().any(|range| range.variant == **key);
    if let Some(asked) = asked {
        return Some(asked).filter(is_in_split).cloned().ok_or_else(|| {
            let message = format!("'{asked}' is not in the split, so nobody can be compared with it; name one of it");
            AppError::field("control", message)
        });
    }
    let off = config.off_variant.as_ref().filter(is_in_split);
    let control = off.or_else(|| split.ranges.first().map(|range| &range.variant)).cloned();
    control.ok_or_else(|| AppError::internal("a split without ranges"))
}

fn ratio_of(split: &Split, variants: &[ExperimentVariant]) -> RatioResult {
    let cell =
        |variant: &ExperimentVariant| Cell { units: variant.units, weight: u64::from(split.share(&variant.variant)) };
    let found: Result<_, NotYet> = ratio::check(&variants.iter().map(cell).collect::<Vec<_>>());
    let told = found.ok();
    RatioResult {
        is_mismatch: told.is_some_and(ratio::Ratio::is_mismatch),
        always_valid_p: told.map(|ratio| ratio.always_valid_p),
        single_look_p: told.map(|ratio| ratio.single_look_p),
        chi_square: told.map(|ratio| ratio.chi_square),
        sentence: sentence::ratio(&found, variants),
    }
}

/// Counts are never negative.
fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

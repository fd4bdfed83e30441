//! What each place of a flag answered, beside what its split says.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shared::evaluation::Reason;
use shared::model::flag::FlagConfig;
use shared::model::id::ProjectId;
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::rule::Serve;
use shared::model::split::Split;
use shared::wire::api::count::{FlagShares, PlaceShares, VariantShare};

use crate::app;
use crate::app::count::{Reading, Source, Sums};
use crate::app::range::{Length, Range, moment};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::EvaluationFilter;

/// Answers of one place, by reason and variant.
type Answers = BTreeMap<(String, String), u64>;

/// Shares of a flag in an environment. Only evaluations of the flag alone: what is sent to browsers together with all
/// others was used by nobody yet.
pub async fn shares(
    state: &AppState,
    project: ProjectId,
    flag: &FlagKey,
    environment: Option<&EnvironmentKey>,
    range: Range,
) -> Result<FlagShares, AppError> {
    let environment = environment
        .ok_or_else(|| AppError::field("environment", "name one: each environment has shares of its own"))?;
    let period = range.period(state.clock.now(), Length::COUNTS)?;
    let mut reading = Reading::begin(state, project, Some(environment)).await?;
    let flag = app::flag::find(&mut reading.tx, project, flag).await?;
    let here = &reading.environments[0];
    let (id, name) = (here.id, here.name.clone());
    let configs = store::config::list_readable(&mut reading.tx, &[flag.id]).await?;
    let config = configs.into_iter().find(|stored| stored.environment_id == id).map(|stored| stored.config);
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let ids = [flag.id.uuid()];
    let filter = EvaluationFilter { flags: &ids, mode: Some("single"), ..EvaluationFilter::default() };
    let mut places = by_place(reading.sums(Source::Evaluations(filter), "answer", &edges, &kept).await?);

    let all = places.values().flatten().map(|((_, variant), count)| (variant.clone(), *count));
    let (total, variants) = variant_shares(all, None);
    let mut shown = config.iter().flat_map(places_of).collect::<Vec<_>>();
    for place in &mut shown {
        place.fill(places.remove(&place.shares.place).unwrap_or_default());
    }
    // Off, killed and blocked are places of every config, but only worth a line once they answered.
    shown.retain(|place| place.split.is_some() || place.is_always_shown || place.shares.total > 0);
    let of_before = places.into_iter().map(|(place, answers)| {
        let mut gone = Place::of(place.clone(), None);
        gone.shares.is_current = !place.starts_with("rule ");
        gone.fill(answers);
        gone
    });
    let places: Vec<Place> = shown.into_iter().chain(of_before).collect();
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let when = when(range, first, last);
    Ok(FlagShares {
        from: moment(first).into(),
        to: moment(last).into(),
        sentence: sentence(&name, &when, total, &variants, &places),
        total,
        variants,
        places: places.into_iter().map(|place| place.shares).collect(),
        gaps: reading.gaps(first, last).await?,
    })
}

/// A place with the split it has now.
struct Place {
    shares: PlaceShares,
    split: Option<Split>,
    is_always_shown: bool,
}

impl Place {
    fn of(place: String, serve: Option<&Serve>) -> Self {
        let split = match serve {
            Some(Serve::Split(split)) => Some(split.clone()),
            _ => None,
        };
        let shares = PlaceShares {
            place,
            rule: None,
            name: None,
            is_current: true,
            is_split: split.is_some(),
            total: 0,
            variants: Vec::new(),
        };
        Self { shares, split, is_always_shown: serve.is_some() }
    }

    /// Takes over what was answered. Beside a split stands what a split answered, not what was served before it was one;
    /// older edges told no reason.
    fn fill(&mut self, answers: Answers) {
        let is_meant = |reason: &str| self.split.is_none() || reason.is_empty() || reason == Reason::Split.as_str();
        let counts =
            answers.into_iter().filter(|((reason, _), _)| is_meant(reason)).map(|((_, variant), n)| (variant, n));
        let (total, variants) = variant_shares(counts, self.split.as_ref());
        self.shares.total = total;
        self.shares.variants = variants;
    }
}

/// The places of a config in the order in which they are looked at.
fn places_of(config: &FlagConfig) -> Vec<Place> {
    let mut places: Vec<Place> =
        ["killed", "off", "blocked"].into_iter().map(|place| Place::of(place.into(), None)).collect();
    let mut targets = Place::of("target".into(), None);
    targets.is_always_shown = !config.targets.is_empty();
    places.push(targets);
    for rule in &config.rules {
        let mut place = Place::of(format!("rule {}", rule.id), Some(&rule.serve));
        place.shares.rule = Some(rule.id);
        place.shares.name = Some(rule.name.clone()).filter(|name| !name.is_empty());
        places.push(place);
    }
    places.push(Place::of("default".into(), Some(&config.default_serve)));
    places
}

fn by_place(sums: Sums) -> BTreeMap<String, Answers> {
    let mut places: BTreeMap<String, Answers> = BTreeMap::new();
    for (label, counts) in sums {
        let mut parts = label.splitn(3, '\t').map(str::to_owned);
        let (place, reason, variant) = (parts.next(), parts.next(), parts.next());
        let answers = places.entry(place.unwrap_or_default()).or_default();
        *answers.entry((reason.unwrap_or_default(), variant.unwrap_or_default())).or_default() +=
            counts.iter().sum::<u64>();
    }
    places
}

/// Variants with their parts, the most frequent first, those included that the split has and nobody got yet.
fn variant_shares(counts: impl Iterator<Item = (String, u64)>, split: Option<&Split>) -> (u64, Vec<VariantShare>) {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (variant, count) in counts {
        *sums.entry(variant).or_default() += count;
    }
    for range in split.iter().flat_map(|split| &split.ranges) {
        sums.entry(range.variant.to_string()).or_default();
    }
    let total: u64 = sums.values().sum();
    let mut shares: Vec<VariantShare> = sums
        .into_iter()
        .map(|(variant, count)| VariantShare {
            configured: split.and_then(|split| configured(split, &variant)),
            variant: Some(variant).filter(|key| !key.is_empty()),
            count,
            share: (total > 0).then(|| count as f64 / total as f64),
        })
        .collect();
    shares.sort_by_key(|share| Reverse(share.count));
    (total, shares)
}

/// The part of a variant among those to whom the split applies at all.
fn configured(split: &Split, variant: &str) -> Option<f64> {
    let covered = split.covered();
    let owned = variant.parse::<VariantKey>().map_or(0, |variant| split.share(&variant));
    (covered > 0).then(|| f64::from(owned) / f64::from(covered))
}

/// `In production on was answered in 10.02 % of 1.2 M evaluations, last 24 h; the split says 10 %.`
fn sentence(environment: &str, when: &str, total: u64, variants: &[VariantShare], places: &[Place]) -> String {
    let environment = environment.to_lowercase();
    if total == 0 {
        return format!("In {environment} it was not evaluated, {when}.");
    }
    // The split that decided most says what was meant.
    let split = places.iter().filter(|place| place.split.is_some() && place.shares.total > 0);
    let split = split.max_by_key(|place| place.shares.total);
    let told = match split {
        Some(place) => telling(&place.shares.variants),
        None => telling(variants),
    };
    let Some(told) = told else {
        return format!("In {environment} it was evaluated {} times, {when}.", compact(total));
    };
    let variant = told.variant.as_deref().unwrap_or("the code default");
    let share = percent(told.share.unwrap_or(0.0));
    let (of, by, says) = match split {
        None => (total, String::new(), String::new()),
        Some(place) => {
            let by = match (&place.shares.rule, &place.shares.name) {
                (None, _) => String::new(),
                (Some(_), Some(name)) => format!(" by {name}"),
                (Some(_), None) => " by a rule".into(),
            };
            let says = format!("; the split says {}", percent(told.configured.unwrap_or(0.0)));
            (place.shares.total, by, says)
        }
    };
    format!("In {environment} {variant} was answered{by} in {share} of {} evaluations, {when}{says}.", compact(of))
}

/// The variant worth telling of: `on`, or the most frequent.
fn telling(variants: &[VariantShare]) -> Option<&VariantShare> {
    variants.iter().find(|share| share.variant.as_deref() == Some("on")).or_else(|| variants.first())
}

fn when(range: Range, from: i64, to: i64) -> String {
    if range.to.is_some() || range.from.is_some() {
        let text = |at: i64| shared::model::timestamp::Timestamp::from(moment(at)).to_string();
        return format!("{} to {}", text(from), text(to));
    }
    match to - from {
        minutes if minutes % (24 * 60) == 0 && minutes > 24 * 60 => format!("last {} d", minutes / (24 * 60)),
        minutes if minutes % 60 == 0 => format!("last {} h", minutes / 60),
        minutes => format!("last {minutes} min"),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn compact(number: u64) -> String {
    let (value, unit) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (number as f64 / 1e3, "k"),
        1_000_000..1_000_000_000 => (number as f64 / 1e6, "M"),
        _ => (number as f64 / 1e9, "G"),
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn split_place(on: u64, off: u64) -> Place {
        let serve: Serve =
            serde_json::from_value(json!({ "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": [
            { "start": 0, "end": 10_000, "variant": "on" }, { "start": 10_000, "end": 100_000, "variant": "off" },
        ] } }))
            .expect("a serve");
        let mut place = Place::of("default".into(), Some(&serve));
        let split = |variant: &str| ("SPLIT".to_owned(), variant.to_owned());
        place.fill(Answers::from([(split("on"), on), (split("off"), off), (("DEFAULT".into(), "on".into()), 77)]));
        place
    }

    #[test]
    fn the_sentence_names_what_was_answered_and_what_the_split_says() {
        let place = split_place(120_240, 1_079_760);
        let variants = place.shares.variants.clone();
        let of = |environment, when, total, places: &[Place]| sentence(environment, when, total, &variants, places);
        assert_eq!(
            of("Production", "last 24 h", 1_200_000, std::slice::from_ref(&place)),
            "In production on was answered in 10.02 % of 1.2 M evaluations, last 24 h; the split says 10 %."
        );
        assert_eq!(of("Production", "last 24 h", 0, &[]), "In production it was not evaluated, last 24 h.");
        assert_eq!(
            of("Staging", "last 1 h", 1_200_000, &[]),
            "In staging on was answered in 10.02 % of 1.2 M evaluations, last 1 h."
        );
        let mut rule = split_place(1, 3);
        rule.shares.rule = Some(uuid::Uuid::nil().into());
        rule.shares.name = Some("Beta".into());
        assert_eq!(
            of("Production", "last 7 d", 4, &[rule]),
            "In production on was answered by Beta in 25 % of 4 evaluations, last 7 d; the split says 10 %."
        );
    }

    #[test]
    fn only_answers_of_a_split_stand_beside_it_and_a_share_nobody_got_is_zero() {
        let place = split_place(0, 4);
        assert_eq!(place.shares.total, 4);
        let on = place.shares.variants.iter().find(|share| share.variant.as_deref() == Some("on")).expect("on");
        assert_eq!((on.count, on.share, on.configured), (0, Some(0.0), Some(0.1)));
    }
}

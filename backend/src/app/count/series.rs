//! Counts over time, split by one property.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use shared::evaluation::Reason;
use shared::model::id::{FlagId, ProjectId, SdkKeyId};
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::count::{CountBy, CountLine, CountSeries, Counted, Interval, LINES_MAX, OtherLines};
use shared::wire::count::Mode;
use time::Duration;
use uuid::Uuid;

use crate::app;
use crate::app::count::bucket;
use crate::app::count::cover::Kept;
use crate::app::count::{Reading, Source, Sums, total};
use crate::app::range::{Length, Range, moment};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::EvaluationFilter;

/// An edge tells what it counted within this; a bucket that ended before is complete, gaps apart.
const COUNTED_WITHIN: Duration = Duration::seconds(15);

/// What to add up.
#[derive(Clone, Debug)]
pub struct Ask {
    /// One environment; all of the project when absent.
    pub environment: Option<EnvironmentKey>,
    /// One flag; all when absent.
    pub flag: Option<FlagKey>,
    /// What lines are told apart by.
    pub by: CountBy,
    /// Only this place.
    pub place: Option<String>,
    /// Only this variant; empty for none.
    pub variant: Option<String>,
    /// Only this reason.
    pub reason: Option<Reason>,
    /// Only this mode.
    pub mode: Option<Mode>,
    /// Only requests with this key.
    pub sdk_key: Option<SdkKeyId>,
    /// When.
    pub range: Range,
    /// Width of a bucket.
    pub interval: Option<Interval>,
    /// Name of the zone whose hours and days are meant; UTC when absent.
    pub zone: Option<String>,
}

/// Which series can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Evaluations,
    Totals,
    Requests,
}

/// Adds up; what cannot be combined is refused by name.
pub async fn series(state: &AppState, project: ProjectId, ask: Ask) -> Result<CountSeries, AppError> {
    let kind = ask.kind()?;
    let now = state.clock.now();
    let period = ask.range.period(now, Length::COUNTS)?;
    let zone_name = ask.zone.as_deref().unwrap_or("UTC");
    let zone = if zone_name == "UTC" { TimeZone::UTC } else { bucket::zone(zone_name)? };
    let is_of_all = kind == Kind::Evaluations && ask.flag.is_none();
    let interval = ask.interval.unwrap_or_else(|| bucket::usual_interval(period.from, period.to, is_of_all));
    let asked = bucket::edges(period.from, period.to, interval, &zone)?;

    let mut reading = Reading::begin(state, project, ask.environment.as_ref()).await?;
    let flag = match &ask.flag {
        Some(key) => Some(app::flag::find(&mut reading.tx, project, key).await?.id),
        None => None,
    };
    let kept = reading.kept(period).await?;
    let (edges, edges_exact) = kept.honour(&asked);
    let flags: Vec<Uuid> = flag.iter().map(|id| id.uuid()).collect();
    let (mut shown, rest) = match kind {
        Kind::Evaluations if ask.is_by_flag_alone() => by_flag(&mut reading, &ask, &edges, &kept).await?,
        Kind::Evaluations => {
            let source = Source::Evaluations(ask.filter(&flags));
            biggest(reading.sums(source, by_text(ask.by), &edges, &kept).await?)
        }
        Kind::Totals => {
            let source = Source::Totals { reason: ask.reason.map(Reason::as_str), mode: ask.mode.map(mode_text) };
            biggest(reading.sums(source, by_text(ask.by), &edges, &kept).await?)
        }
        Kind::Requests => biggest(reading.sums(Source::Requests(ask.sdk_key), by_text(ask.by), &edges, &kept).await?),
    };
    name_lines(&mut reading, project, ask.by, flag, &mut shown).await?;
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let total = shown.iter().map(|line| line.total).sum::<u64>() + rest.as_ref().map_or(0, |rest| rest.total);
    let still = edges.windows(2).find(|bucket| moment(bucket[1]) > now - COUNTED_WITHIN);
    Ok(CountSeries {
        from: moment(first).into(),
        to: moment(last).into(),
        interval,
        zone: zone_name.into(),
        by: ask.by,
        counted: if kind == Kind::Requests { Counted::Requests } else { Counted::Evaluations },
        buckets: edges[..edges.len() - 1].iter().map(|edge| moment(*edge).into()).collect(),
        counting_from: still.map(|bucket| moment(bucket[0]).into()),
        edges_exact,
        series: shown,
        other: rest,
        total,
        gaps: reading.gaps(first, last).await?,
    })
}

impl Ask {
    /// Which series answer this, or why none can.
    fn kind(&self) -> Result<Kind, AppError> {
        let is_of_keys = self.by == CountBy::SdkKey || self.sdk_key.is_some();
        let by_series =
            [("flag", self.flag.is_some()), ("place", self.place.is_some()), ("variant", self.variant.is_some())];
        let by_outcome = [("reason", self.reason.is_some()), ("mode", self.mode.is_some())];
        let first = |fields: &[(&'static str, bool)]| fields.iter().find(|(_, is_set)| *is_set).map(|(name, _)| *name);
        if is_of_keys {
            if let Some(field) = first(&by_series).or_else(|| first(&by_outcome)) {
                let message = format!("requests are counted by SDK key alone; leave {field} out, or sdk_key");
                return Err(AppError::field(field, message));
            }
            return match self.by {
                CountBy::SdkKey | CountBy::Environment | CountBy::None => Ok(Kind::Requests),
                _ => Err(AppError::field("by", "requests of an SDK key can be told by sdk_key, environment or none")),
            };
        }
        match self.by {
            CountBy::Edge => match first(&by_series) {
                Some(field) => {
                    let message = format!("an edge counts all flags together; leave {field} out, or by=edge");
                    Err(AppError::field(field, message))
                }
                None => Ok(Kind::Totals),
            },
            CountBy::Rule if self.flag.is_none() => {
                Err(AppError::field("flag", "name one: rules belong to a flag, so by=rule needs it"))
            }
            CountBy::Variant | CountBy::Place | CountBy::Rule | CountBy::Flag => Ok(Kind::Evaluations),
            _ if first(&by_series).is_some() => Ok(Kind::Evaluations),
            _ => Ok(Kind::Totals),
        }
    }

    /// All flags apart, which has a shorter way: the biggest first, and then only these.
    fn is_by_flag_alone(&self) -> bool {
        self.by == CountBy::Flag && self.flag.is_none() && self.place.is_none() && self.variant.is_none()
    }

    fn filter<'a>(&'a self, flags: &'a [Uuid]) -> EvaluationFilter<'a> {
        EvaluationFilter {
            flags,
            place: self.place.as_deref(),
            variant: self.variant.as_deref(),
            reason: self.reason.map(Reason::as_str),
            mode: self.mode.map(mode_text),
        }
    }
}

/// The biggest flags over the whole time, then these alone bucket by bucket; the rest is what the totals have more.
async fn by_flag(
    reading: &mut Reading,
    ask: &Ask,
    edges: &[i64],
    kept: &Kept,
) -> Result<(Vec<CountLine>, Option<OtherLines>), AppError> {
    let ends = [edges[0], edges[edges.len() - 1]];
    let mut chosen = reading.choose(Source::Evaluations(ask.filter(&[])), "flag").await?;
    let whole = reading.add_up(&chosen, &ends, kept).await?;
    let (all, lines) = (total(&whole), whole.len());
    let (top, _) = biggest(whole);
    let shown: HashSet<&str> = top.iter().filter_map(|line| line.key.as_deref()).collect();
    chosen.retain(|series| shown.contains(series.label.as_str()));
    let (shown, _) = biggest(reading.add_up(&chosen, edges, kept).await?);
    if lines <= shown.len() {
        return Ok((shown, None));
    }
    let source = Source::Totals { reason: ask.reason.map(Reason::as_str), mode: ask.mode.map(mode_text) };
    let everything = reading.sums(source, "none", edges, kept).await?;
    let mut counts = everything.into_values().next().unwrap_or_else(|| vec![0; edges.len() - 1]);
    for line in &shown {
        counts.iter_mut().zip(&line.counts).for_each(|(rest, count)| *rest = rest.saturating_sub(*count));
    }
    let total = all - shown.iter().map(|line| line.total).sum::<u64>().min(all);
    let lines = u64::try_from(lines - shown.len()).unwrap_or(0);
    Ok((shown, Some(OtherLines { lines, counts, total })))
}

/// The biggest lines, by their labels, and the rest added up.
fn biggest(sums: Sums) -> (Vec<CountLine>, Option<OtherLines>) {
    let mut lines: Vec<CountLine> = sums
        .into_iter()
        .map(|(label, counts)| CountLine {
            key: Some(label).filter(|label| !label.is_empty()),
            id: None,
            name: None,
            total: counts.iter().sum(),
            counts,
        })
        .collect();
    // Labels are in order already, and equal totals keep it.
    lines.sort_by_key(|line| Reverse(line.total));
    if lines.len() <= LINES_MAX {
        return (lines, None);
    }
    let rest = lines.split_off(LINES_MAX);
    let mut counts = vec![0; rest[0].counts.len()];
    for line in &rest {
        counts.iter_mut().zip(&line.counts).for_each(|(sum, count)| *sum += count);
    }
    let total = rest.iter().map(|line| line.total).sum();
    (lines, Some(OtherLines { lines: u64::try_from(rest.len()).unwrap_or(0), counts, total }))
}

/// Puts names to the labels that were counted.
async fn name_lines(
    reading: &mut Reading,
    project: ProjectId,
    by: CountBy,
    flag: Option<FlagId>,
    lines: &mut [CountLine],
) -> Result<(), AppError> {
    if matches!(by, CountBy::Place | CountBy::Rule) {
        return name_places(reading, flag, lines).await;
    }
    let ids: Vec<Uuid> = lines.iter().filter_map(|line| line.key.as_deref()?.parse().ok()).collect();
    let db = &mut *reading.tx;
    let named = match by {
        CountBy::Flag => store::count::list_flag_names(db, project, &ids).await?,
        CountBy::SdkKey => store::count::list_key_names(db, project, &ids).await?,
        CountBy::Edge => store::count::list_edge_names(db, &ids).await?,
        CountBy::Environment => {
            let named = reading.environments.iter().map(|known| store::count::Named {
                id: known.id.uuid(),
                key: known.key.clone(),
                name: known.name.clone(),
            });
            named.collect()
        }
        _ => return Ok(()),
    };
    let named: HashMap<Uuid, _> = named.into_iter().map(|named| (named.id, named)).collect();
    for line in lines {
        line.id = line.key.take().and_then(|label| label.parse().ok());
        let known = line.id.and_then(|id| named.get(&id));
        line.key = known.map(|known| known.key.clone());
        line.name = known.filter(|_| by != CountBy::Edge).map(|known| known.name.clone());
    }
    Ok(())
}

async fn name_places(reading: &mut Reading, flag: Option<FlagId>, lines: &mut [CountLine]) -> Result<(), AppError> {
    let mut names: HashMap<Uuid, String> = HashMap::new();
    if let Some(flag) = flag {
        let is_read = |id| reading.environments.iter().any(|known| known.id == id);
        for stored in store::config::list_readable(&mut reading.tx, &[flag]).await? {
            if is_read(stored.environment_id) {
                names.extend(stored.config.rules.into_iter().map(|rule| (rule.id.uuid(), rule.name)));
            }
        }
    }
    for line in lines {
        line.id = line.key.as_deref().and_then(|place| place.strip_prefix("rule ")?.parse().ok());
        line.name = line.id.and_then(|id| names.get(&id)).filter(|name| !name.is_empty()).cloned();
    }
    Ok(())
}

fn by_text(by: CountBy) -> &'static str {
    match by {
        CountBy::None => "none",
        CountBy::Variant => "variant",
        CountBy::Place => "place",
        CountBy::Rule => "rule",
        CountBy::Reason => "reason",
        CountBy::Mode => "mode",
        CountBy::Environment => "environment",
        CountBy::Flag => "flag",
        CountBy::Edge => "edge",
        CountBy::SdkKey => "sdk_key",
    }
}

fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::Single => "single",
        Mode::Bulk => "bulk",
    }
}

//! What history can be asked for.

use serde::Deserialize;
use shared::model::changeset::Via;
use shared::model::id::{ProjectId, UserId};
use shared::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use shared::model::timestamp::Timestamp;
use time::OffsetDateTime;
use utoipa::IntoParams;

use crate::app::history::Moment;
use crate::error::AppError;
use crate::http::file::FileFormat;
use crate::state::AppState;
use crate::store;
use crate::store::history::{Filter, Thing};

/// The most items on a page.
const LIMIT_MAX: usize = 100;
/// Items on a page when no number is given.
const LIMIT: usize = 50;
/// The longest text to search for, in characters.
const TEXT_CHARS_MAX: usize = 200;
/// The longest word for a kind, in characters.
const KIND_CHARS_MAX: usize = 60;

/// Which revisions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct HistoryQuery {
    /// Only what touched this flag.
    #[param(value_type = Option<String>)]
    flag: Option<FlagKey>,
    /// Only what touched this segment.
    #[param(value_type = Option<String>)]
    segment: Option<SegmentKey>,
    /// Only what touched this environment.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// Only what this person asked for, by id.
    actor: Option<UserId>,
    /// Only what came to be through this.
    via: Option<Via>,
    /// Only what touched something of this kind: `flag`, `config`, `kill`, `segment`, `sdk_key`, `policy` …
    kind: Option<String>,
    /// First moment.
    from: Option<Timestamp>,
    /// One past the last moment.
    to: Option<Timestamp>,
    /// Part of a note, a reason or a key, in any case; at most 200 characters.
    q: Option<String>,
    /// `next` of the page before.
    after: Option<u64>,
    /// 1 to 100; 50 when absent. Files hold everything.
    limit: Option<usize>,
    /// `json`, or a file: `csv` or `jsonl`.
    format: Option<FileFormat>,
}

/// What was asked for.
#[derive(Debug)]
pub struct Asked {
    /// Which.
    pub filter: Filter,
    /// Where the page begins.
    pub before: Option<u64>,
    /// How many.
    pub limit: usize,
    /// As what.
    pub format: FileFormat,
}

impl HistoryQuery {
    pub(super) async fn read(self, state: &AppState, project: ProjectId) -> Result<Asked, AppError> {
        let thing = match (self.flag, self.segment) {
            (Some(_), Some(_)) => {
                return Err(AppError::field("segment", "nothing is both a flag and a segment; leave one of them out"));
            }
            (Some(flag), None) => Some(Thing { key: flag.to_string(), entities: &["flag", "config", "kill"] }),
            (None, Some(segment)) => Some(Thing { key: segment.to_string(), entities: &["segment"] }),
            (None, None) => None,
        };
        let environment = match &self.environment {
            None => None,
            Some(key) => {
                let known = store::environment::list(&mut *state.pool.acquire().await?, project).await?;
                let found = known.into_iter().find(|environment| environment.key == key.as_str());
                Some(found.ok_or_else(|| AppError::not_found("environment", key))?.id.uuid())
            }
        };
        check_time(self.from, self.to)?;
        let filter = Filter {
            thing,
            environment,
            actor: self.actor,
            via: self.via,
            kind: bounded("kind", self.kind, KIND_CHARS_MAX)?,
            from: self.from.map(OffsetDateTime::from),
            to: self.to.map(OffsetDateTime::from),
            text: bounded("q", self.q, TEXT_CHARS_MAX)?,
        };
        Ok(Asked {
            filter,
            before: self.after,
            limit: check_limit(self.limit)?,
            format: self.format.unwrap_or_default(),
        })
    }
}

/// Where the entries of a revision begin.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FromQuery {
    /// `next` of the page before.
    pub(super) after: Option<u32>,
}

/// When something is looked at: one of both.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct MomentQuery {
    /// Right after this revision.
    revision: Option<u64>,
    /// At this time.
    at: Option<Timestamp>,
}

impl MomentQuery {
    pub(super) fn moment(&self) -> Result<Moment, AppError> {
        match (self.revision, self.at) {
            (Some(revision), None) => Ok(Moment::Revision(revision)),
            (None, Some(at)) => Ok(Moment::At(at.into())),
            _ => Err(AppError::field("revision", "say when: either revision or at")),
        }
    }
}

/// Between which revisions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct BetweenQuery {
    /// The one.
    pub(super) from: u64,
    /// The other.
    pub(super) to: u64,
}

/// A number of items on a page.
pub(in crate::http) fn check_limit(limit: Option<usize>) -> Result<usize, AppError> {
    let limit = limit.unwrap_or(LIMIT);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(AppError::field("limit", format!("{limit} is not 1 to {LIMIT_MAX}")))
}

/// A time that does not end before it begins.
pub(in crate::http) fn check_time(from: Option<Timestamp>, to: Option<Timestamp>) -> Result<(), AppError> {
    match (from, to) {
        (Some(from), Some(to)) if from >= to => {
            Err(AppError::field("from", "leaves no time before the end (to); make it earlier"))
        }
        _ => Ok(()),
    }
}

/// A word or text to look for; nothing when it is empty.
pub(in crate::http) fn bounded(field: &str, text: Option<String>, most: usize) -> Result<Option<String>, AppError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.chars().count() > most || text.contains('\0') {
        return Err(AppError::field(field, format!("at most {most} characters are looked for, without U+0000")));
    }
    Ok(Some(text))
}

//! Counts: what was evaluated, how often, and with which answers. Every answer is also there as CSV.

mod table;

use std::borrow::Borrow;

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use shared::evaluation::Reason;
use shared::model::id::SdkKeyId;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::model::timestamp::Timestamp;
use shared::wire::api::count::{CountBy, CountErrors, CountSeries, CountSummary, FlagShares, Interval, TopFlags};
use shared::wire::count::Mode;
use utoipa::IntoParams;

use crate::app;
use crate::app::count::Ask;
use crate::app::range::Range;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::csv::{Format, answer, day};
use crate::http::input::{Path, Query};
use crate::state::AppState;

/// What to add up, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    /// Key of an environment; all of the project when absent.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// Key of a flag; all when absent.
    #[param(value_type = Option<String>)]
    flag: Option<FlagKey>,
    /// What lines are told apart by; one line when absent. `rule` needs a flag; `edge` goes with no flag, place or variant;
    /// `sdk_key` counts requests and goes with none of these, nor with reason or mode.
    by: Option<CountBy>,
    /// Only this place: `off`, `killed`, `blocked`, `target`, `rule <id>`, `default` or `error <code>`.
    place: Option<String>,
    /// Only this variant; empty for answers without one.
    variant: Option<String>,
    /// Only this reason.
    reason: Option<Reason>,
    /// Only flags asked for alone, or together with all others.
    mode: Option<Mode>,
    /// Only requests with this SDK key, by its id.
    #[param(value_type = Option<String>)]
    sdk_key: Option<SdkKeyId>,
    /// First moment; 24 hours before `to` when absent.
    from: Option<Timestamp>,
    /// One past the last moment; now when absent, with the current minute.
    to: Option<Timestamp>,
    /// Instead of `from`: so many minutes before `to`.
    last_minutes: Option<u32>,
    /// Width of a bucket; when absent, one that makes at most 300 buckets, or 60 where the series of all
    /// flags are added up. At most 1,440 are answered.
    interval: Option<Interval>,
    /// Name of the zone whose hours and days are meant, such as `Europe/Berlin`; UTC when absent.
    zone: Option<String>,
    /// JSON when absent.
    format: Option<Format>,
}

/// Where and when to look.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RangeQuery {
    /// Key of an environment; all of the project when absent, which shares of a flag do not allow.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// First moment; 24 hours before `to` when absent.
    from: Option<Timestamp>,
    /// One past the last moment; now when absent, with the current minute.
    to: Option<Timestamp>,
    /// Instead of `from`: so many minutes before `to`.
    last_minutes: Option<u32>,
    /// JSON when absent.
    format: Option<Format>,
}

/// Where and when to look, and for how many.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct TopQuery {
    /// Key of an environment; all of the project when absent.
    #[param(value_type = Option<String>)]
    environment: Option<EnvironmentKey>,
    /// First moment; 24 hours before `to` when absent.
    from: Option<Timestamp>,
    /// One past the last moment; now when absent, with the current minute.
    to: Option<Timestamp>,
    /// Instead of `from`: so many minutes before `to`.
    last_minutes: Option<u32>,
    /// How many flags, 1 to 100; 20 when absent.
    limit: Option<u32>,
    /// JSON when absent.
    format: Option<Format>,
}

/// Reads counts over time: evaluations, or requests of SDK keys.
///
/// Buckets in which nothing was counted are 0. Sums are exact at every moment, whatever is rolled up.
#[utoipa::path(get, path = "/api/v1/projects/{project}/counts", tag = "counts",
               params(("project" = String, Path), SeriesQuery),
               responses((status = 200, content((CountSeries = "application/json"), (String = "text/csv")))))]
pub async fn get_counts(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<SeriesQuery>,
) -> Result<Response, AppError> {
    let (environment, flag) =
        (key_text(query.environment.as_ref()).to_owned(), key_text(query.flag.as_ref()).to_owned());
    let ask = Ask {
        environment: query.environment,
        flag: query.flag,
        by: query.by.unwrap_or(CountBy::None),
        place: query.place,
        variant: query.variant,
        reason: query.reason,
        mode: query.mode,
        sdk_key: query.sdk_key,
        range: Range { from: query.from, to: query.to, last_minutes: query.last_minutes },
        interval: query.interval,
        zone: query.zone,
    };
    let read = app::count::series(&state, who.id(), ask).await?;
    answer(query.format, &["counts", &who.project.key, &environment, &flag, &day(read.from)], read)
}

/// Reads totals of a project and each environment, compared with the time before, with the flags evaluated most.
#[utoipa::path(get, path = "/api/v1/projects/{project}/counts/summary", tag = "counts",
               params(("project" = String, Path), RangeQuery),
               responses((status = 200, content((CountSummary = "application/json"), (String = "text/csv")))))]
pub async fn get_count_summary(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<RangeQuery>,
) -> Result<Response, AppError> {
    let read = app::count::summary(&state, who.id(), query.environment.as_ref(), query.range()).await?;
    let environment = key_text(query.environment.as_ref());
    answer(query.format, &["summary", &who.project.key, environment, &day(read.from)], read)
}

/// Reads the flags evaluated most.
#[utoipa::path(get, path = "/api/v1/projects/{project}/counts/flags", tag = "counts",
               params(("project" = String, Path), TopQuery),
               responses((status = 200, content((TopFlags = "application/json"), (String = "text/csv")))))]
pub async fn get_top_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<TopQuery>,
) -> Result<Response, AppError> {
    let range = Range { from: query.from, to: query.to, last_minutes: query.last_minutes };
    let read = app::count::top_flags(&state, who.id(), query.environment.as_ref(), range, query.limit).await?;
    let environment = key_text(query.environment.as_ref());
    answer(query.format, &["flags", &who.project.key, environment, &day(read.from)], read)
}

/// Reads evaluations that could not be answered, by flag and error code.
#[utoipa::path(get, path = "/api/v1/projects/{project}/counts/errors", tag = "counts",
               params(("project" = String, Path), RangeQuery),
               responses((status = 200, content((CountErrors = "application/json"), (String = "text/csv")))))]
pub async fn get_count_errors(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<RangeQuery>,
) -> Result<Response, AppError> {
    let read = app::count::errors(&state, who.id(), query.environment.as_ref(), query.range()).await?;
    let environment = key_text(query.environment.as_ref());
    answer(query.format, &["errors", &who.project.key, environment, &day(read.from)], read)
}

/// Reads what each place of a flag answered, beside what its split says. Only evaluations of the flag alone are counted.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/shares", tag = "counts",
               params(("project" = String, Path), ("flag" = String, Path), RangeQuery),
               responses((status = 200, content((FlagShares = "application/json"), (String = "text/csv")))))]
pub async fn get_flag_shares(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
    Query(query): Query<RangeQuery>,
) -> Result<Response, AppError> {
    let read = app::count::shares(&state, who.id(), &flag, query.environment.as_ref(), query.range()).await?;
    let environment = key_text(query.environment.as_ref());
    answer(query.format, &["shares", &who.project.key, environment, flag.as_str(), &day(read.from)], read)
}

impl RangeQuery {
    fn range(&self) -> Range {
        Range { from: self.from, to: self.to, last_minutes: self.last_minutes }
    }
}

fn key_text<K: Borrow<str>>(key: Option<&K>) -> &str {
    key.map_or("", Borrow::borrow)
}

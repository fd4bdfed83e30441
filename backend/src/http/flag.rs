//! Flags and their configs.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use shared::model::flag::FlagKind;
use shared::model::key::{EnvironmentKey, FlagKey};
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::flag::{CreateFlag, FlagDetail, FlagPage, SaveConfig, UpdateFlag};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanEditFlags, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path, Query};
use crate::state::AppState;
use crate::store;
use crate::store::flag::Filter;

/// The most flags on a page.
const LIMIT_MAX: usize = 100;
/// The longest text to search for, in characters.
const TEXT_CHARS_MAX: usize = 200;

/// Which flags to list, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FlagQuery {
    /// Part of the key or name, in any case.
    q: Option<String>,
    /// Has this tag.
    tag: Option<String>,
    /// `release`, `experiment`, `operational`, `kill_switch` or `permission`.
    kind: Option<FlagKind>,
    /// `on`, `part`, `off` or `killed` in `env`.
    state: Option<String>,
    /// Where `state` is looked at.
    env: Option<EnvironmentKey>,
    /// `changed` (the newest change first) or `key`.
    sort: Option<Sort>,
    /// `next` of the page before.
    after: Option<String>,
    /// 1 to 100; 100 when absent.
    limit: Option<usize>,
}

/// Order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// The newest change first.
    #[default]
    Changed,
    /// By key.
    Key,
}

/// Lists flags with their states in all environments.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags", tag = "flags",
               params(("project" = String, Path), FlagQuery), responses((status = 200, body = FlagPage)))]
pub async fn list_flags(
    State(state): State<AppState>,
    CanView(who): CanView,
    Query(query): Query<FlagQuery>,
) -> Result<Json<FlagPage>, AppError> {
    let by_key = query.sort.unwrap_or_default() == Sort::Key;
    let limit = query.limit.unwrap_or(LIMIT_MAX);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(AppError::field("limit", format!("{limit} is not 1 to {LIMIT_MAX}")));
    }
    let after = query.after.as_deref().map(|text| app::flag::parse_after(text, by_key)).transpose()?;
    let filter = filter(&state, who.id(), query).await?;
    app::flag::list(&state, who.id(), &filter, after.as_ref(), by_key, limit).await.map(Json)
}

/// Makes a flag with a config in every environment.
#[utoipa::path(post, path = "/api/v1/projects/{project}/flags", tag = "flags", params(("project" = String, Path)),
               request_body = CreateFlag, responses((status = 201, body = ChangesetDetail)))]
pub async fn create_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Body(body): Body<CreateFlag>,
) -> Result<(StatusCode, Json<ChangesetDetail>), AppError> {
    let done = app::flag::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(done)))
}

/// Reads a flag with its configs in all environments.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path)),
               responses((status = 200, body = FlagDetail)))]
pub async fn get_flag(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
) -> Result<Json<FlagDetail>, AppError> {
    app::flag::detail(&state, who.id(), &flag).await.map(Json)
}

/// Changes what is the same in every environment. `If-Match` carries the flag's version.
#[utoipa::path(patch, path = "/api/v1/projects/{project}/flags/{flag}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("If-Match" = String, Header)),
               request_body = UpdateFlag, responses((status = 200, body = ChangesetDetail)))]
pub async fn update_flag(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag)): Path<(String, FlagKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<UpdateFlag>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::update(&state, &who, flag, version, body).await.map(Json)
}

/// Replaces a flag's config in one environment. `If-Match` carries the config's version; 0 where there is none.
#[utoipa::path(put, path = "/api/v1/projects/{project}/flags/{flag}/environments/{environment}", tag = "flags",
               params(("project" = String, Path), ("flag" = String, Path), ("environment" = String, Path),
                      ("If-Match" = String, Header)),
               request_body = SaveConfig, responses((status = 200, body = ChangesetDetail)))]
pub async fn save_config(
    State(state): State<AppState>,
    CanEditFlags(who): CanEditFlags,
    Path((_, flag, environment)): Path<(String, FlagKey, EnvironmentKey)>,
    IfMatch(version): IfMatch,
    Body(body): Body<SaveConfig>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::flag::save_config(&state, &who, (flag, environment), version, body).await.map(Json)
}

async fn filter(state: &AppState, project: shared::model::id::ProjectId, query: FlagQuery) -> Result<Filter, AppError> {
    let text = query.q.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    for (field, value) in [("q", &text), ("tag", &query.tag)] {
        if value.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX || text.contains('\0')) {
            return Err(AppError::field(field, format!("at most {TEXT_CHARS_MAX} characters and no U+0000")));
        }
    }
    let known = match (query.state, query.env) {
        (None, _) => None,
        (Some(_), None) => return Err(AppError::field("env", "state is looked at in an environment; name it in env")),
        (Some(wanted), Some(key)) => {
            if !matches!(wanted.as_str(), "on" | "part" | "off" | "killed") {
                return Err(AppError::field("state", format!("'{wanted}' is not on, part, off or killed")));
            }
            let environments = store::environment::list(&mut *state.pool.acquire().await?, project).await?;
            let found = environments.iter().find(|environment| environment.key == key.as_str());
            Some((found.ok_or_else(|| AppError::not_found("environment", &key))?.id, wanted))
        }
    };
    Ok(Filter { text, tag: query.tag, kind: query.kind, state: known })
}

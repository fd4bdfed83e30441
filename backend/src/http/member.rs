//! Members of a project.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use shared::model::id::UserId;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::member::{CandidateList, MemberList, SaveMember};
use utoipa::IntoParams;

use crate::app;
use crate::auth::permission::{CanManageMembers, CanView};
use crate::error::AppError;
use crate::http::input::{Body, IfMatch, Path, Query};
use crate::state::AppState;

/// Whom to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CandidateQuery {
    /// Part of the name or e-mail, in any case; at most 200 characters.
    #[serde(default)]
    search: String,
}

/// Lists the members of a project with their roles.
#[utoipa::path(get, path = "/api/v1/projects/{project}/members", tag = "members",
               params(("project" = String, Path)), responses((status = 200, body = MemberList)))]
pub async fn list_members(State(state): State<AppState>, CanView(who): CanView) -> Result<Json<MemberList>, AppError> {
    app::member::list(&state, &who).await.map(Json)
}

/// Makes somebody a member (`If-Match: "0"`), or gives them other roles. Where they would approve or pass over the policy
/// in a protected environment and could not before, it waits for those who approve there.
#[utoipa::path(put, path = "/api/v1/projects/{project}/members/{person}", tag = "members",
               params(("project" = String, Path), ("person" = UserId, Path), ("if-match" = String, Header)),
               request_body = SaveMember, responses((status = 200, body = ChangesetDetail)))]
pub async fn save_member(
    State(state): State<AppState>,
    CanManageMembers(who): CanManageMembers,
    Path((_, person)): Path<(String, UserId)>,
    IfMatch(version): IfMatch,
    Body(body): Body<SaveMember>,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::member::save(&state, &who, person, version, body).await.map(Json)
}

/// Ends a membership. The last who manages members cannot go.
#[utoipa::path(delete, path = "/api/v1/projects/{project}/members/{person}", tag = "members",
               params(("project" = String, Path), ("person" = UserId, Path), ("if-match" = String, Header)),
               responses((status = 200, body = ChangesetDetail)))]
pub async fn remove_member(
    State(state): State<AppState>,
    CanManageMembers(who): CanManageMembers,
    Path((_, person)): Path<(String, UserId)>,
    IfMatch(version): IfMatch,
) -> Result<Json<ChangesetDetail>, AppError> {
    app::member::remove(&state, &who, person, version).await.map(Json)
}

/// Lists people who could become members, by part of their name or e-mail.
#[utoipa::path(get, path = "/api/v1/projects/{project}/candidates", tag = "members",
               params(("project" = String, Path), CandidateQuery), responses((status = 200, body = CandidateList)))]
pub async fn list_candidates(
    State(state): State<AppState>,
    CanManageMembers(who): CanManageMembers,
    Query(query): Query<CandidateQuery>,
) -> Result<Json<CandidateList>, AppError> {
    app::member::candidates(&state, who.id(), &query.search).await.map(Json)
}

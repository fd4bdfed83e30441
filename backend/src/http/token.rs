//! API tokens.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use shared::model::id::TokenId;
use shared::wire::api::token::{CreateToken, CreatedToken, TokenList, TokenSummary};

use crate::app;
use crate::auth::permission::{CanManageInstallation, SignedInPerson};
use crate::error::AppError;
use crate::http::input::{Body, Path};
use crate::state::AppState;

/// Lists one's own tokens, without their secrets.
#[utoipa::path(get, path = "/api/v1/account/tokens", tag = "tokens", responses((status = 200, body = TokenList)))]
pub async fn list_own_tokens(State(state): State<AppState>, who: SignedInPerson) -> Result<Json<TokenList>, AppError> {
    app::token::list_own(&state, &who).await.map(Json)
}

/// Makes a token. Its secret is in this answer and nowhere else.
#[utoipa::path(post, path = "/api/v1/account/tokens", tag = "tokens", request_body = CreateToken,
               responses((status = 201, body = CreatedToken)))]
pub async fn create_token(
    State(state): State<AppState>,
    who: SignedInPerson,
    Body(body): Body<CreateToken>,
) -> Result<(StatusCode, Json<CreatedToken>), AppError> {
    let created = app::token::create(&state, &who, body).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes a token of one's own for good.
#[utoipa::path(delete, path = "/api/v1/account/tokens/{token}", tag = "tokens", params(("token" = TokenId, Path)),
               responses((status = 200, body = TokenSummary)))]
pub async fn revoke_own_token(
    State(state): State<AppState>,
    who: SignedInPerson,
    Path(token): Path<TokenId>,
) -> Result<Json<TokenSummary>, AppError> {
    app::token::revoke_own(&state, &who, token).await.map(Json)
}

/// Lists everybody's tokens, without their secrets.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "tokens", responses((status = 200, body = TokenList)))]
pub async fn list_tokens(State(state): State<AppState>, _: CanManageInstallation) -> Result<Json<TokenList>, AppError> {
    app::token::list_all(&state).await.map(Json)
}

/// Revokes anybody's token for good.
#[utoipa::path(delete, path = "/api/v1/tokens/{token}", tag = "tokens", params(("token" = TokenId, Path)),
               responses((status = 200, body = TokenSummary)))]
pub async fn revoke_token(
    State(state): State<AppState>,
    CanManageInstallation(actor): CanManageInstallation,
    Path(token): Path<TokenId>,
) -> Result<Json<TokenSummary>, AppError> {
    app::token::revoke(&state, &actor, token).await.map(Json)
}

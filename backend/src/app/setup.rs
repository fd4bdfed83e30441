//! First run: the first person and project. Possible once, with the code that the backend prints.

use shared::model::id::UserId;
use shared::wire::api::project::CreateProject;
use shared::wire::api::setup::Setup;
use sqlx::PgConnection;

use crate::app::changeset::{self, check_name};
use crate::app::session::Started;
use crate::app::{project, session};
use crate::auth::password;
use crate::auth::permission::Actor;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::user::User;

/// Whether nobody exists yet.
pub async fn is_open(state: &AppState) -> Result<bool, AppError> {
    Ok(!store::user::any(&mut *state.pool.acquire().await?).await?)
}

/// Makes the first admin and project, and signs the admin in.
pub async fn run(state: &AppState, body: Setup, agent: &str) -> Result<Started, AppError> {
    if !is_open(state).await? {
        return Err(AppError::SetupClosed("somebody exists already; sign in"));
    }
    if state.setup_code.as_deref() != Some(body.code.trim()) {
        return Err(AppError::SetupClosed("the code is not the one that the backend printed at its start"));
    }
    let new = CreateProject { key: body.project_key, name: body.project_name, environments: body.environments };
    let user = new_admin(state, &body.name, &body.email, body.password).await?;
    let author = Actor::person(user.id, user.name.clone());
    let mut tx = state.pool.begin().await?;
    insert_first(state, &mut tx, &user).await?;
    let done = project::create_in(state, &mut tx, &author, new).await?;
    tx.commit().await?;
    changeset::note_commit(state, &done);
    session::start(state, &user, agent).await
}

/// Makes the first admin; refused once anybody exists.
pub async fn create_admin(state: &AppState, name: &str, email: &str, password: String) -> Result<User, AppError> {
    let user = new_admin(state, name, email, password).await?;
    let mut tx = state.pool.begin().await?;
    insert_first(state, &mut tx, &user).await?;
    tx.commit().await?;
    Ok(user)
}

async fn new_admin(state: &AppState, name: &str, email: &str, password: String) -> Result<User, AppError> {
    check_name(name)?;
    let email = email.trim().to_lowercase();
    check_email(&email)?;
    Ok(User {
        id: state.clock.id::<UserId>(),
        email,
        name: name.trim().to_owned(),
        password_hash: password::hash(password).await?,
        is_admin: true,
    })
}

async fn insert_first(state: &AppState, tx: &mut PgConnection, user: &User) -> Result<(), AppError> {
    store::user::lock(tx).await?;
    if store::user::any(tx).await? {
        return Err(AppError::SetupClosed("somebody exists already; sign in"));
    }
    store::user::insert(tx, user, state.clock.now()).await?;
    Ok(())
}

pub(super) fn check_email(email: &str) -> Result<(), AppError> {
    let is_email = email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
    if !is_email || email.len() > session::EMAIL_BYTES_MAX || email.contains(['\0', ' ']) {
        return Err(AppError::field("email", format!("'{email}' is not an e-mail address such as ana@example.com")));
    }
    Ok(())
}

//! Who belongs to a project, and with which roles. What members may do is a rule like any other: it is written by
//! changesets, so that nobody becomes an approver of a protected environment without those who approve there.

use std::collections::HashMap;

use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::id::{ProjectId, UserId};
use shared::model::key::{EnvironmentKey, RoleKey};
use shared::model::permission::Permission;
use shared::wire::api::changeset::ChangesetDetail;
use shared::wire::api::member::{CandidateList, MemberDetail, MemberList, SaveMember};
use shared::wire::api::session::UserSummary;
use sqlx::PgConnection;

use crate::app::changeset;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::member::Member;

/// The most people that a search answers.
const CANDIDATES_MAX: usize = 20;
/// The longest text to search for, in characters.
const SEARCH_CHARS_MAX: usize = 200;

/// The members of a project.
pub async fn list(state: &AppState, who: &InProject) -> Result<MemberList, AppError> {
    let mut db = state.pool.acquire().await?;
    let can_manage = who.permissions.in_project(Permission::ManageMembers);
    Ok(MemberList { items: list_all(&mut db, who.id()).await?, can_manage })
}

/// Makes somebody a member, or gives them other roles; where they would approve in a protected environment, others have
/// to agree first.
pub async fn save(
    state: &AppState,
    who: &InProject,
    person: UserId,
    version: u64,
    body: SaveMember,
) -> Result<ChangesetDetail, AppError> {
    let SaveMember { role, environments, note } = body;
    let change = Change::SetMember { person, version, role: Some(role), environments };
    changeset::submit(state, who, vec![change], &note).await
}

/// Ends a membership.
pub async fn remove(
    state: &AppState,
    who: &InProject,
    person: UserId,
    version: u64,
) -> Result<ChangesetDetail, AppError> {
    let change = Change::SetMember { person, version, role: None, environments: Default::default() };
    changeset::submit(state, who, vec![change], &Note::default()).await
}

/// People who are no members yet and have this in their name or e-mail.
pub async fn candidates(state: &AppState, project: ProjectId, search: &str) -> Result<CandidateList, AppError> {
    let search = search.trim();
    if search.chars().count() > SEARCH_CHARS_MAX || search.contains('\0') {
        return Err(AppError::field("search", format!("at most {SEARCH_CHARS_MAX} characters can be searched for")));
    }
    let limit = i64::try_from(CANDIDATES_MAX + 1).unwrap_or(i64::MAX);
    let mut db = state.pool.acquire().await?;
    let mut found = store::member::list_candidates(&mut db, project, search, limit).await?;
    let has_more = found.len() > CANDIDATES_MAX;
    found.truncate(CANDIDATES_MAX);
    let items = found.into_iter().map(|one| UserSummary { id: one.id, name: one.name, email: one.email }).collect();
    Ok(CandidateList { items, has_more })
}

async fn list_all(db: &mut PgConnection, project: ProjectId) -> Result<Vec<MemberDetail>, AppError> {
    let mut others: HashMap<UserId, Vec<(EnvironmentKey, RoleKey)>> = HashMap::new();
    for own in store::member::list_environment_roles(db, project).await? {
        let place = own.environment.parse().map_err(AppError::internal)?;
        others.entry(own.user_id).or_default().push((place, own.role.parse().map_err(AppError::internal)?));
    }
    let members = store::member::list(db, project).await?;
    members.into_iter().map(|member| detail(&mut others, member)).collect()
}

fn detail(
    others: &mut HashMap<UserId, Vec<(EnvironmentKey, RoleKey)>>,
    member: Member,
) -> Result<MemberDetail, AppError> {
    let environments = others.remove(&member.user_id).unwrap_or_default();
    Ok(MemberDetail {
        person: UserSummary { id: member.user_id, name: member.user_name, email: member.user_email },
        role: member.role.parse().map_err(AppError::internal)?,
        environments: environments.into_iter().collect(),
        version: u64::try_from(member.version).unwrap_or(0),
        last_seen_at: member.last_seen_at.map(Into::into),
        disabled: member.disabled_at.is_some(),
    })
}

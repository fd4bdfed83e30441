//! Changesets that were ever looked at, as lists.

use serde_json::Value;
use shared::model::id::{ChangesetId, EnvironmentId, ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::{StoreError, unsigned};

/// Which changesets to list, and for whom.
#[derive(Clone, Debug)]
pub struct ListFilter {
    /// Who reads; drafts of others are none of theirs.
    pub me: UserId,
    /// Where their approval counts.
    pub approves_in: Vec<EnvironmentId>,
    /// In one of these states; in any when empty.
    pub states: Vec<String>,
    /// Only those that they wrote a part of.
    pub is_mine: bool,
    /// Only those that wait for their approval.
    pub is_waiting: bool,
    /// Only those that change something there.
    pub environment: Option<EnvironmentId>,
    /// Only older ones.
    pub after: Option<ChangesetId>,
}

/// A changeset in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its id.
    pub id: ChangesetId,
    /// Where it stands.
    pub state: String,
    /// Who began it.
    pub author: UserId,
    /// Their name.
    pub author_name: String,
    /// Why.
    pub note: String,
    /// The first three changes.
    pub first: Vec<Value>,
    /// How many changes there are.
    pub changes: u64,
    /// Of all that an approval signs.
    pub digest: Vec<u8>,
    /// When it was begun.
    pub created_at: OffsetDateTime,
    /// Its number, once it is applied.
    pub revision: Option<u64>,
    /// When it was applied.
    pub applied_at: Option<OffsetDateTime>,
    /// Why it is suspended or was rejected.
    pub problem: Option<String>,
    /// Why the policy was passed over, when it was.
    pub break_glass: Option<String>,
    /// Environments that it changes.
    pub environments: Vec<EnvironmentId>,
    /// Who wrote any part of it.
    pub editors: Vec<UserId>,
    /// Whether it waits for the reader's approval.
    pub waits_for_me: bool,
}

/// How many changesets there are, by tab.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Those that wait for the reader's approval.
    pub waiting: u64,
    /// Those that the reader wrote a part of and that are not ended.
    pub mine: u64,
    /// Those that somebody asked for and that are not ended.
    pub open: u64,
    /// Those that are ended.
    pub done: u64,
}

/// Changesets of a project, the newest first.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    filter: &ListFilter,
    limit: i64,
) -> Result<Vec<Listed>, StoreError> {
    let approves_in: Vec<Uuid> = filter.approves_in.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select looked_at.id, looked_at.state, looked_at.author_id as "author_id!", users.name as author_name,
                  looked_at.note, jsonb_path_query_array(looked_at.changes, '$[0 to 2]') as "first!",
                  jsonb_array_length(looked_at.changes)::bigint as "changes!", looked_at.digest as "digest!",
                  looked_at.created_at as "created_at!", looked_at.revision, looked_at.applied_at, looked_at.problem,
                  looked_at.break_glass,
                  array(select environment_id from changeset_environments where changeset_id = looked_at.id)
                      as "environments!",
                  array(select user_id from changeset_editors where changeset_id = looked_at.id) as "editors!",
                  looked_at.waits as "waits!"
           from (select changesets.*,
                        exists (select from changeset_editors
                                where changeset_id = changesets.id and user_id = $2) as is_mine,
                        changesets.state = 'in_review'
                            and not exists (select from changeset_editors
                                            where changeset_id = changesets.id and user_id = $2)
                            and not exists (select from approvals
                                            where changeset_id = changesets.id and user_id = $2
                                              and approvals.digest = changesets.digest)
                            and exists (select from changeset_environments
                                        where changeset_id = changesets.id and environment_id = any ($3)) as waits
                 from changesets
                 where changesets.project_id = $1 and changesets.changes is not null) looked_at
           join users on users.id = looked_at.author_id
           where ($4::uuid is null or looked_at.id < $4)
             and (cardinality($5::text[]) = 0 or looked_at.state = any ($5))
             and (looked_at.is_mine or (not $6 and looked_at.state <> 'draft'))
             and (looked_at.waits or not $7)
             and ($8::uuid is null or exists (select from changeset_environments
                                              where changeset_id = looked_at.id and environment_id = $8))
           order by looked_at.id desc
           limit $9"#,
        project.uuid(),
        filter.me.uuid(),
        &approves_in,
        filter.after.map(ChangesetId::uuid),
        &filter.states,
        filter.is_mine,
        filter.is_waiting,
        filter.environment.map(EnvironmentId::uuid),
        limit,
    )
    .fetch_all(db)
    .await?;
    let listed = rows.into_iter().map(|row| Listed {
        id: row.id.into(),
        state: row.state,
        author: row.author_id.into(),
        author_name: row.author_name,
        note: row.note,
        first: row.first.as_array().cloned().unwrap_or_default(),
        changes: unsigned(row.changes),
        digest: row.digest,
        created_at: row.created_at,
        revision: row.revision.map(unsigned),
        applied_at: row.applied_at,
        problem: row.problem,
        break_glass: row.break_glass,
        environments: row.environments.into_iter().map(EnvironmentId::from).collect(),
        editors: row.editors.into_iter().map(UserId::from).collect(),
        waits_for_me: row.waits,
    });
    Ok(listed.collect())
}

/// How many changesets there are for a reader.
pub async fn count(db: &mut PgConnection, project: ProjectId, filter: &ListFilter) -> Result<Counts, StoreError> {
    let approves_in: Vec<Uuid> = filter.approves_in.iter().map(|id| id.uuid()).collect();
    let row = sqlx::query!(
        r#"select count(*) filter (where looked_at.waits) as "waiting!",
                  count(*) filter (where looked_at.is_mine and not looked_at.is_done) as "mine!",
                  count(*) filter (where not looked_at.is_done and looked_at.state <> 'draft') as "open!",
                  count(*) filter (where looked_at.is_done) as "done!"
           from (select changesets.state,
                        changesets.state in ('applied', 'rejected', 'cancelled') as is_done,
                        exists (select from changeset_editors
                                where changeset_id = changesets.id and user_id = $2) as is_mine,
                        changesets.state = 'in_review'
                            and not exists (select from changeset_editors
                                            where changeset_id = changesets.id and user_id = $2)
                            and not exists (select from approvals
                                            where changeset_id = changesets.id and user_id = $2
                                              and approvals.digest = changesets.digest)
                            and exists (select from changeset_environments
                                        where changeset_id = changesets.id and environment_id = any ($3)) as waits
                 from changesets
                 where changesets.project_id = $1 and changesets.changes is not null) looked_at"#,
        project.uuid(),
        filter.me.uuid(),
        &approves_in,
    )
    .fetch_one(db)
    .await?;
    Ok(Counts {
        waiting: unsigned(row.waiting),
        mine: unsigned(row.mine),
        open: unsigned(row.open),
        done: unsigned(row.done),
    })
}

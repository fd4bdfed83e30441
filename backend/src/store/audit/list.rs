//! Reading the audit log: events and applied changesets, each newest first, to be merged by time.

use serde_json::Value;
use shared::model::id::{ProjectId, UserId};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// What a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of one project alone.
    pub project: Option<ProjectId>,
    /// Only what this person did.
    pub actor: Option<UserId>,
    /// `token.created`, or `token` for all about tokens; changesets are `changeset.applied`.
    pub kind: Option<String>,
    /// Only what names this environment.
    pub environment: Option<String>,
    /// First moment.
    pub from: Option<OffsetDateTime>,
    /// One past the last moment.
    pub to: Option<OffsetDateTime>,
    /// Part of a name, a note or a reason, in any case.
    pub text: Option<String>,
}

/// Where a page begins: after this item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Its moment.
    pub at: OffsetDateTime,
    /// 1 for an event, 0 for a changeset: events of the same moment come first.
    pub source: i32,
    /// Its number.
    pub number: i64,
}

/// An event or a changeset.
#[derive(Clone, Debug)]
pub struct Row {
    /// The event's number, or the revision.
    pub number: i64,
    /// When.
    pub at: OffsetDateTime,
    /// Who.
    pub who: Option<String>,
    /// The same person's id.
    pub who_id: Option<Uuid>,
    /// Through what.
    pub via: String,
    /// The project's key.
    pub project: Option<String>,
    /// What happened.
    pub kind: String,
    /// To what; of a changeset the first things it touched, at most 4.
    pub subjects: Vec<String>,
    /// Of an event: what else there is to know.
    pub detail: Option<Value>,
    /// Of a changeset: why.
    pub note: Option<String>,
    /// Of a changeset: why the policy was passed over.
    pub break_glass: Option<String>,
}

/// Events after a place, newest first.
pub async fn events(
    db: &mut PgConnection,
    filter: &Filter,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Row>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select events.number, events.at, users.name as "who?", events.actor_id as who_id, events.via,
                  projects.key as "project?", events.kind, array[events.subject] as "subjects!",
                  events.detail as "detail?", null as note, null as break_glass
           from audit_events events
           left join users on users.id = events.actor_id
           left join projects on projects.id = events.project_id
           where ($1::uuid is null or events.project_id = $1)
             and ($2::timestamptz is null or events.at <= $2 and (events.at, 1, events.number) < ($2, $3::int, $4::bigint))
             and ($5::uuid is null or events.actor_id = $5)
             and ($6::text is null or events.kind = $6 or starts_with(events.kind, $6 || '.'))
             and ($7::text is null or events.detail ->> 'environment' = $7)
             and ($8::timestamptz is null or events.at >= $8)
             and ($9::timestamptz is null or events.at < $9)
             and ($10::text is null or strpos(lower(events.subject), lower($10)) > 0
                    or strpos(events.kind, lower($10)) > 0)
           order by events.at desc, events.number desc
           limit $11"#,
        filter.project.map(ProjectId::uuid),
        after.map(|after| after.at),
        after.map(|after| after.source),
        after.map(|after| after.number),
        filter.actor.map(UserId::uuid),
        filter.kind,
        filter.environment,
        filter.from,
        filter.to,
        filter.text,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Applied changesets after a place, newest first.
pub async fn changesets(
    db: &mut PgConnection,
    filter: &Filter,
    after: Option<After>,
    limit: i64,
) -> Result<Vec<Row>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select changesets.revision as "number!", changesets.applied_at as "at!", users.name as "who?",
                  changesets.author_id as who_id, changesets.via, projects.key as "project?",
                  'changeset.applied' as "kind!",
                  array(select concat_ws(' in ', concat_ws(' ', entries.entity, nullif(entries.entity_key, '')),
                                         environments.key)
                        from revision_entries entries
                        left join environments on environments.id = entries.environment_id
                        where entries.revision = changesets.revision
                        order by entries.ordinal
                        limit 4) as "subjects!",
                  null::jsonb as detail, changesets.note as "note?", changesets.break_glass
           from changesets
           left join users on users.id = changesets.author_id
           left join projects on projects.id = changesets.project_id
           where changesets.revision is not null and changesets.applied_at is not null
             and ($1::uuid is null or changesets.project_id = $1)
             and ($2::timestamptz is null or changesets.applied_at <= $2
                    and (changesets.applied_at, 0, changesets.revision) < ($2, $3::int, $4::bigint))
             and ($5::uuid is null or changesets.author_id = $5)
             and ($6::text is null or exists (select from revision_entries entries
                    join environments on environments.id = entries.environment_id
                    where entries.revision = changesets.revision and environments.key = $6))
             and ($7::timestamptz is null or changesets.applied_at >= $7)
             and ($8::timestamptz is null or changesets.applied_at < $8)
             and ($9::text is null or strpos(lower(changesets.note), lower($9)) > 0
                    or strpos(lower(changesets.break_glass), lower($9)) > 0
                    or exists (select from revision_entries entries where entries.revision = changesets.revision
                               and strpos(lower(entries.entity_key), lower($9)) > 0))
           order by changesets.applied_at desc, changesets.revision desc
           limit $10"#,
        filter.project.map(ProjectId::uuid),
        after.map(|after| after.at),
        after.map(|after| after.source),
        after.map(|after| after.number),
        filter.actor.map(UserId::uuid),
        filter.environment,
        filter.from,
        filter.to,
        filter.text,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

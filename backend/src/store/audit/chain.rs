//! The chains of hashes over history and audit log. The database makes links when transactions commit (see the
//! migration); here they are read, with what they would have to be today.

use sqlx::PgConnection;

use crate::store::StoreError;

/// A link beside what it hashes; either may be missing.
#[derive(Clone, Debug)]
pub struct Link {
    /// The revision, or the position of the event.
    pub at: i64,
    /// The event's number; the revision again.
    pub number: i64,
    /// Whether what it hashes is there.
    pub is_there: bool,
    /// The hashes in the link, one after the other; absent when there is no link.
    pub parts: Option<Vec<u8>>,
    /// The link itself.
    pub chain: Option<Vec<u8>>,
    /// The hashes as they come out today.
    pub now: Option<Vec<u8>>,
}

/// From which revision on the chain holds; nothing before the first.
pub async fn first_revision(db: &mut PgConnection) -> Result<Option<i64>, StoreError> {
    Ok(sqlx::query_scalar!("select min(revision) from history_chain").fetch_one(db).await?)
}

/// From which event on the chain holds; nothing before the first.
pub async fn first_event(db: &mut PgConnection) -> Result<Option<i64>, StoreError> {
    Ok(sqlx::query_scalar!("select min(number) from audit_chain").fetch_one(db).await?)
}

/// The newest revision, or link of one.
pub async fn newest_revision(db: &mut PgConnection) -> Result<i64, StoreError> {
    let newest = sqlx::query_scalar!(r#"select revision as "revision!" from counter"#).fetch_optional(db).await?;
    Ok(newest.unwrap_or(0))
}

/// Revisions with their links after one, in order; changesets and links are matched, so that what is missing on either
/// side is seen.
pub async fn list_revisions(db: &mut PgConnection, after: i64, limit: i64) -> Result<Vec<Link>, StoreError> {
    let links = sqlx::query_as!(
        Link,
        r#"select coalesce(links.revision, written.revision) as "at!",
                  coalesce(links.revision, written.revision) as "number!", written.revision is not null as "is_there!",
                  links.parts as "parts?", links.chain as "chain?", revision_parts(written.revision) as now
           from (select revision, parts, chain from history_chain
                 where revision > $1 order by revision limit $2) links
           full join (select revision from changesets
                      where revision > $1 and revision >= (select min(revision) from history_chain)
                      order by revision limit $2) written on written.revision = links.revision
           order by 1
           limit $2"#,
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(links)
}

/// Links of events after a position, in order.
pub async fn list_events(db: &mut PgConnection, after: i64, limit: i64) -> Result<Vec<Link>, StoreError> {
    let links = sqlx::query_as!(
        Link,
        r#"select links.position as at, links.number, events.number is not null as "is_there!",
                  links.part as "parts?", links.chain as "chain?", audit_part(events.number) as now
           from audit_chain links
           left join audit_events events on events.number = links.number
           where links.position > $1
           order by links.position
           limit $2"#,
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(links)
}

/// An event that the chain should know and does not.
pub async fn find_unchained_event(db: &mut PgConnection) -> Result<Option<i64>, StoreError> {
    let number = sqlx::query_scalar!(
        "select number from audit_events
         where not exists (select from audit_chain where audit_chain.number = audit_events.number)
         order by number
         limit 1",
    )
    .fetch_optional(db)
    .await?;
    Ok(number)
}

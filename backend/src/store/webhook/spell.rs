//! Which edges were said to be late or silent, so that each spell is told once, whoever leads.

use shared::model::id::ProcessId;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::StoreError;

/// A spell that was told.
#[derive(Clone, Debug)]
pub struct Spell {
    /// Which edge.
    pub process: ProcessId,
    /// Its display name.
    pub name: String,
    /// `late` or `silent`.
    pub kind: String,
    /// Where it is late.
    pub environment_id: Option<Uuid>,
    /// Since when.
    pub since: OffsetDateTime,
}

/// The most spells at once; more edges are not followed.
const SPELLS_MAX: i64 = 1_000;

/// Spells that go on.
pub async fn list(db: &mut PgConnection) -> Result<Vec<Spell>, StoreError> {
    let spells = sqlx::query_as!(
        Spell,
        "select process, name, kind, environment_id, since from edge_spells order by process limit $1",
        SPELLS_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(spells)
}

/// Begins a spell, or makes lateness silence; false when that was told already.
pub async fn begin(db: &mut PgConnection, spell: &Spell) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "insert into edge_spells (process, name, kind, environment_id, since)
         values ($1, $2, $3, $4, $5)
         on conflict (process) do update
         set kind = excluded.kind, environment_id = excluded.environment_id, since = excluded.since
         where edge_spells.kind = 'late' and excluded.kind = 'silent'",
        spell.process.uuid(),
        spell.name,
        spell.kind,
        spell.environment_id,
        spell.since,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Ends a spell; false when it was ended already.
pub async fn end(db: &mut PgConnection, process: ProcessId) -> Result<bool, StoreError> {
    let done = sqlx::query!("delete from edge_spells where process = $1", process.uuid()).execute(db).await?;
    Ok(done.rows_affected() > 0)
}

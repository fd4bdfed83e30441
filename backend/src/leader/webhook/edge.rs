//! Says when an edge is late or silent, and when it is back; each spell once, since it is a row.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use shared::model::id::{EnvironmentId, ProcessId, ProjectId};
use shared::model::timestamp::Timestamp;
use shared::model::webhook::EventType;
use shared::wire::api::edge::EdgeDetail;
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::error::{AppError, chain};
use crate::state::AppState;
use crate::store;
use crate::store::webhook::NewNote;
use crate::store::webhook::spell::Spell;

/// How often edges are looked at.
const TICK: Duration = Duration::from_secs(1);
/// An edge that lacks a revision for longer is late.
const LATE_AFTER: time::Duration = time::Duration::seconds(10);
/// An edge not heard for longer is silent.
const SILENT_AFTER: time::Duration = time::Duration::seconds(30);

/// Looks at edges for as long as this backend leads.
pub(super) async fn watch(state: AppState) {
    let mut watch = Watch::new(state.clock.now());
    loop {
        tokio::time::sleep(TICK).await;
        if let Err(error) = watch.look(&state).await {
            tracing::warn!(error = %chain(&error), "edges that are late or silent are not told");
        }
    }
}

/// How an edge is.
enum Seen {
    /// It has what it lacked at the last look.
    Fine,
    /// It lacks something, but not for long, as far as this leader knows.
    Behind,
    /// It lacks something for too long.
    Late(Spell),
    /// It was not heard, but this leader has not listened for long.
    Unheard,
    /// It was not heard for too long.
    Silent(Spell),
}

/// What is known of edges from one look to the next.
#[derive(Debug)]
pub struct Watch {
    /// Nobody could be heard before.
    since: OffsetDateTime,
    /// The revision that an edge lacks in an environment, and since when.
    lacking: HashMap<(ProcessId, EnvironmentId), (u64, OffsetDateTime)>,
}

impl Watch {
    /// Knows nothing yet.
    pub fn new(since: OffsetDateTime) -> Self {
        Self { since, lacking: HashMap::new() }
    }

    /// Begins and ends spells, with a note for each.
    pub async fn look(&mut self, state: &AppState) -> Result<(), AppError> {
        let now = state.clock.now();
        let mut db = state.pool.acquire().await?;
        let newest: HashMap<EnvironmentId, u64> = store::state::list_revisions(&mut db).await?.into_iter().collect();
        let spells = store::webhook::spell::list(&mut db).await?;
        drop(db);
        // What is known of receipts alone has no version, and is known of its heartbeat soon.
        let edges: Vec<EdgeDetail> =
            state.live.edges(&newest, now).into_iter().filter(|edge| !edge.version.is_empty()).collect();
        for edge in &edges {
            let told = spells.iter().find(|spell| spell.process == edge.process);
            match (self.seen(edge, &newest, now), told) {
                (Seen::Late(spell), None) => begin(state, &spell).await?,
                (Seen::Silent(spell), told) if told.is_none_or(|told| told.kind == "late") => {
                    begin(state, &spell).await?;
                }
                (Seen::Fine, Some(told)) => end(state, told, now).await?,
                // Silence that ended is told, even when the edge is late now.
                (Seen::Behind | Seen::Late(_), Some(told)) if told.kind == "silent" => end(state, told, now).await?,
                _ => {}
            }
        }
        self.lacking.retain(|(process, _), _| edges.iter().any(|edge| edge.process == *process));
        // One that said goodbye or was dismissed is not back.
        for told in spells.iter().filter(|told| !edges.iter().any(|edge| edge.process == told.process)) {
            if now - self.since > SILENT_AFTER {
                store::webhook::spell::end(&mut *state.pool.acquire().await?, told.process).await?;
            }
        }
        Ok(())
    }

    /// How an edge is now.
    fn seen(&mut self, edge: &EdgeDetail, newest: &HashMap<EnvironmentId, u64>, now: OffsetDateTime) -> Seen {
        let heard_at = OffsetDateTime::from(edge.last_heard_at);
        let spell = |kind: &str, environment: Option<EnvironmentId>, since| Spell {
            process: edge.process,
            name: edge.name.clone(),
            kind: kind.into(),
            environment_id: environment.map(EnvironmentId::uuid),
            since,
        };
        if now - heard_at > SILENT_AFTER {
            self.lacking.retain(|(process, _), _| *process != edge.process);
            let is_known = now - self.since > SILENT_AFTER;
            return if is_known { Seen::Silent(spell("silent", None, heard_at)) } else { Seen::Unheard };
        }
        let mut stuck: Option<(EnvironmentId, OffsetDateTime)> = None;
        for (environment, revision) in newest {
            let has = edge.environments.iter().find(|at| at.environment == *environment).map_or(0, |at| at.revision);
            let key = (edge.process, *environment);
            if has >= *revision {
                self.lacking.remove(&key);
                continue;
            }
            let (lacks, since) = self.lacking.entry(key).or_insert((*revision, now));
            if has >= *lacks {
                // It goes on, if behind; it has not lacked the newest for as long.
                (*lacks, *since) = (*revision, now);
            } else if stuck.is_none_or(|(_, first)| *since < first) {
                stuck = Some((*environment, *since));
            }
        }
        match stuck {
            None => Seen::Fine,
            Some((environment, since)) if now - since > LATE_AFTER => {
                Seen::Late(spell("late", Some(environment), since))
            }
            Some(_) => Seen::Behind,
        }
    }
}

async fn begin(state: &AppState, spell: &Spell) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    if store::webhook::spell::begin(&mut tx, spell).await? {
        let kind = if spell.kind == "silent" { EventType::EdgeSilent } else { EventType::EdgeLate };
        note(&mut tx, spell, kind, state.clock.now()).await?;
    }
    tx.commit().await?;
    Ok(())
}

async fn end(state: &AppState, spell: &Spell, now: OffsetDateTime) -> Result<(), AppError> {
    let mut tx = state.pool.begin().await?;
    if store::webhook::spell::end(&mut tx, spell.process).await? {
        note(&mut tx, spell, EventType::EdgeBack, now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// An edge that is late concerns the project of the environment, one that is silent all of them.
async fn note(db: &mut PgConnection, spell: &Spell, kind: EventType, at: OffsetDateTime) -> Result<(), AppError> {
    let environment = spell.environment_id.map(EnvironmentId::from);
    let project: Option<ProjectId> = match environment {
        Some(environment) => store::environment::project_of(db, environment).await?,
        None => None,
    };
    let mut data = json!({ "edge": spell.name, "process": spell.process, "since": Timestamp::from(spell.since) });
    if kind == EventType::EdgeBack {
        data["was"] = spell.kind.as_str().into();
    }
    let environments = environment.as_slice();
    store::webhook::note(db, &NewNote { at, project, kind, environments, data }).await?;
    Ok(())
}

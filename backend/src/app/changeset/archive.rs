//! Taking flags out of service, putting them back, and removing them for good.

use serde_json::Value;
use shared::model::id::FlagId;
use shared::model::key::FlagKey;
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::{Draft, located};
use crate::app::changeset::flag::described;
use crate::error::AppError;
use crate::store;
use crate::store::flag::Flag;
use crate::store::reference::Node;

impl Draft {
    pub(super) async fn archive_flag(
        &mut self,
        db: &mut PgConnection,
        key: &FlagKey,
        expected: u64,
    ) -> Result<(), AppError> {
        let before = self.flag(db, key).await?;
        check_version("flag", expected, before.version)?;
        // What it reached until now may be needed no more.
        let nodes: Vec<Node> =
            self.environments.iter().map(|environment| Node::Config(before.id, environment.id)).collect();
        let reached = store::reference::list_reached(db, &nodes).await?;
        self.reached.extend(reached.into_iter().filter_map(|node| match node {
            Node::Segment(segment) => Some(segment),
            Node::Config(..) => None,
        }));
        store::flag::archive(db, before.id, self.author.user, self.at).await?;
        self.saved.retain(|saved| !matches!(saved.node, Node::Config(flag, _) if flag == before.id));
        self.archived.push((before.id, key.clone()));
        self.flags.insert(before.id);
        let after = Flag { archived_at: Some(self.at), ..before.clone() };
        self.record_flag(&before, Some(&after))
    }

    pub(super) async fn restore_flag(
        &mut self,
        db: &mut PgConnection,
        key: &FlagKey,
        expected: u64,
    ) -> Result<(), AppError> {
        let before = self.archived_flag(db, key).await?;
        check_version("flag", expected, before.version)?;
        store::flag::restore(db, before.id, self.author.user, self.at).await?;
        self.archived.retain(|(flag, _)| *flag != before.id);
        let mut problems = Vec::new();
        for stored in store::config::list(db, &[before.id]).await? {
            let node = Node::Config(before.id, stored.environment_id);
            let known = self.environments.iter().find(|known| known.id == stored.environment_id);
            let mut place = format!("environments.{}", known.map_or("?", |known| &known.key));
            if !self.is_single {
                place = format!("flags[{key}].{place}");
            }
            problems.extend(located(&place, stored.config.validate(&before.definition)));
            // Nothing is known of what it referred to: what it needs may be gone, or need it by now.
            self.refer(db, node, place, None, (&stored.config).into()).await?;
        }
        if !problems.is_empty() {
            return Err(AppError::Invalid(problems));
        }
        self.flags.insert(before.id);
        self.record_flag(&before, Some(&Flag { archived_at: None, ..before.clone() }))
    }

    pub(super) async fn delete_flag(
        &mut self,
        db: &mut PgConnection,
        key: &FlagKey,
        expected: u64,
    ) -> Result<(), AppError> {
        let before = self.archived_flag(db, key).await?;
        check_version("flag", expected, before.version)?;
        store::flag::delete(db, before.id).await?;
        self.record_flag(&before, None)
    }

    /// Fails when a flag that is archived is needed by one that is not; what it needs itself is no matter.
    pub(super) async fn check_archived(&self, db: &mut PgConnection) -> Result<(), AppError> {
        let flags: Vec<FlagId> = self.archived.iter().map(|(flag, _)| *flag).collect();
        let found = if flags.is_empty() { Vec::new() } else { store::reference::list_needing(db, &flags).await? };
        let Some((needed, _, _)) = found.first() else { return Ok(()) };
        let key = self.archived.iter().find(|(flag, _)| flag == needed).map(|(_, key)| key.to_string());
        let users: Vec<String> = found
            .iter()
            .filter(|(flag, _, _)| flag == needed)
            .map(|(_, user, places)| format!("flag '{user}' ({places})"))
            .collect();
        Err(AppError::InUse { thing: format!("flag '{}'", key.unwrap_or_default()), users: users.join(", ") })
    }

    async fn archived_flag(&self, db: &mut PgConnection, key: &FlagKey) -> Result<Flag, AppError> {
        let found = store::flag::find_any(db, self.project, key.as_str()).await?;
        found.filter(|flag| flag.archived_at.is_some()).ok_or_else(|| AppError::not_found("archived flag", key))
    }

    /// Notes a flag for history, without its configs, which stay as they are.
    fn record_flag(&mut self, before: &Flag, after: Option<&Flag>) -> Result<(), AppError> {
        let after: Option<Value> = after.map(described);
        let entity = ("flag", before.id.uuid(), before.definition.key.as_str());
        self.record(None, entity, Some(&described(before)), after.as_ref())
    }
}

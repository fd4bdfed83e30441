//! Writing freezes of environments.

use std::collections::BTreeSet;

use serde_json::Value;
use shared::model::freeze::{FREEZES_MAX, Freeze};
use shared::model::id::{EnvironmentId, FreezeId};
use shared::model::permission::Permission;
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::{Draft, invalid_at};
use crate::app::freeze::{concerns, spans};
use crate::app::zone;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::freeze::StoredFreeze;

impl Draft {
    pub(super) async fn create_freeze(
        &mut self,
        state: &AppState,
        db: &mut PgConnection,
        freeze: Freeze,
    ) -> Result<(), AppError> {
        self.check_freeze(&freeze)?;
        let known = store::freeze::list(db, self.project).await?.len();
        if known >= FREEZES_MAX {
            let message = format!("a project has at most {FREEZES_MAX} freezes; remove one first");
            return Err(AppError::field("freeze", message));
        }
        if spans(&freeze, self.at, self.at + time::Duration::days(3_660))?.is_empty() {
            let message = "is over already, or in no time of the coming ten years; choose another time";
            return Err(AppError::field("freeze.window", message));
        }
        let id: FreezeId = state.clock.id();
        store::freeze::save(db, self.project, id, &freeze, 1, self.author.user, self.at).await?;
        self.govern_freeze(&[&freeze]);
        self.record(None, ("freeze", id.uuid(), &freeze.name), None::<&Value>, Some(&freeze))
    }

    pub(super) async fn update_freeze(
        &mut self,
        db: &mut PgConnection,
        id: FreezeId,
        expected: u64,
        freeze: Freeze,
    ) -> Result<(), AppError> {
        self.check_freeze(&freeze)?;
        let before = self.freeze(db, id, expected).await?;
        store::freeze::save(db, self.project, id, &freeze, expected + 1, self.author.user, self.at).await?;
        self.govern_freeze(&[&before.freeze, &freeze]);
        self.record(None, ("freeze", id.uuid(), &freeze.name), Some(&before.freeze), Some(&freeze))
    }

    pub(super) async fn delete_freeze(
        &mut self,
        db: &mut PgConnection,
        id: FreezeId,
        expected: u64,
    ) -> Result<(), AppError> {
        let before = self.freeze(db, id, expected).await?;
        store::freeze::delete(db, self.project, id).await?;
        self.govern_freeze(&[&before.freeze]);
        self.record(None, ("freeze", id.uuid(), &before.freeze.name), Some(&before.freeze), None::<&Value>)
    }

    async fn freeze(&self, db: &mut PgConnection, id: FreezeId, expected: u64) -> Result<StoredFreeze, AppError> {
        let found = store::freeze::list(db, self.project).await?.into_iter().find(|stored| stored.id == id);
        let found = found.ok_or_else(|| AppError::not_found("freeze", id))?;
        check_version("freeze", expected, found.version)?;
        Ok(found)
    }

    fn check_freeze(&self, freeze: &Freeze) -> Result<(), AppError> {
        freeze.validate().map_err(|problems| invalid_at("freeze", problems))?;
        zone::find(&freeze.zone, "freeze.zone")?;
        for (index, key) in freeze.environments.iter().enumerate() {
            if self.environment(key.as_str()).is_err() {
                let message = format!("'{key}' is not an environment of this project");
                return Err(AppError::field(format!("freeze.environments[{index}]"), message));
            }
        }
        Ok(())
    }

    /// A freeze is a rule of each environment it is about, and of each it was about.
    fn govern_freeze(&mut self, freezes: &[&Freeze]) {
        let is_about = |key: &str| freezes.iter().any(|freeze| concerns(freeze, key));
        let about: BTreeSet<EnvironmentId> =
            self.environments.iter().filter(|e| is_about(&e.key)).map(|e| e.id).collect();
        for environment in &about {
            self.require(Permission::ManageEnvironments, Some(*environment));
        }
        self.governed.extend(about);
    }
}

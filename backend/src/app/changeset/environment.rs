//! Writing environments.

use serde_json::json;
use shared::model::environment::{ENVIRONMENTS_MAX, HUES};
use shared::model::id::EnvironmentId;
use shared::wire::api::environment::CreateEnvironment;
use sqlx::PgConnection;

use crate::app::changeset::draft::{Draft, check_name};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::environment::Environment;

impl Draft {
    pub(super) async fn create_environment(
        &mut self,
        state: &AppState,
        db: &mut PgConnection,
        new: CreateEnvironment,
    ) -> Result<(), AppError> {
        check_name(&new.name)?;
        let known = self.environments.len();
        if known >= ENVIRONMENTS_MAX {
            let message = format!("a project has at most {ENVIRONMENTS_MAX} environments");
            return Err(AppError::field("key", message));
        }
        let next = u8::try_from(known % usize::from(HUES)).unwrap_or(0) + 1;
        let hue = new.hue.unwrap_or(next);
        if !(1..=HUES).contains(&hue) {
            return Err(AppError::field("hue", format!("{hue} is not a hue; choose 1 to {HUES}")));
        }
        let id: EnvironmentId = state.clock.id();
        let name = new.name.trim();
        let inserted = store::environment::insert(db, self.project, id, &new.key, name, hue, self.at).await;
        let unit_key = inserted.map_err(|error| {
            if error.is_conflict("environments_key_unique") {
                AppError::Exists { noun: "environment", key: new.key.to_string() }
            } else {
                error.into()
            }
        })?;
        let after = json!({ "key": new.key, "name": name, "hue": hue });
        self.record(Some(id), ("environment", id.uuid(), new.key.as_str()), None::<&()>, Some(&after))?;
        self.environments.push(Environment {
            id,
            key: new.key.to_string(),
            name: name.to_owned(),
            hue: i16::from(hue),
            revision: 0,
            state_bytes: 0,
            unit_key,
        });
        self.touched.insert(id);
        Ok(())
    }
}

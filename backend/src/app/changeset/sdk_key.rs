//! Writing SDK keys. History never holds a hash.

use serde_json::json;
use shared::model::id::SdkKeyId;
use shared::model::sdk_key::SdkKeyDefinition;
use shared::wire::state::{Entity, StateKey};
use sqlx::PgConnection;

use crate::app::changeset::draft::Draft;
use crate::app::sdk_key::kind_of;
use crate::auth::sdk_key::hex;
use crate::error::AppError;
use crate::store;
use crate::store::sdk_key::SdkKey;

impl Draft {
    pub(super) async fn create_sdk_key(&mut self, db: &mut PgConnection, key: SdkKey) -> Result<(), AppError> {
        if store::sdk_key::count(db, self.project).await? >= store::sdk_key::LIST_MAX {
            let message = format!("a project has at most {} keys, revoked ones included", store::sdk_key::LIST_MAX);
            return Err(AppError::field("name", message));
        }
        store::sdk_key::insert(db, &key, self.author.user).await?;
        self.write_sdk_key(&key)
    }

    pub(super) async fn revoke_sdk_key(&mut self, db: &mut PgConnection, id: SdkKeyId) -> Result<(), AppError> {
        store::sdk_key::revoke(db, id, self.at).await?;
        let key = store::sdk_key::list(db, self.project, Some(id)).await?.pop();
        self.write_sdk_key(&key.ok_or_else(|| AppError::not_found("SDK key", id))?)
    }

    fn write_sdk_key(&mut self, key: &SdkKey) -> Result<(), AppError> {
        let definition = SdkKeyDefinition {
            hash: hex(&key.hash),
            kind: kind_of(&key.kind)?,
            origins: key.origins.clone(),
            expires_at: key.expires_at.map(Into::into),
            revoked: key.revoked_at.is_some(),
        };
        let body = serde_json::to_string(&definition).map_err(AppError::internal)?;
        let state_key = StateKey { environment: key.environment_id, entity: Entity::SdkKey(key.id) };
        self.bodies.push((state_key, body));
        let after =
            json!({ "name": key.name, "hint": key.hint, "origins": key.origins, "revoked": definition.revoked });
        self.record(Some(key.environment_id), ("sdk_key", key.id.uuid(), &key.name), None::<&()>, Some(&after))
    }
}

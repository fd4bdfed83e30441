//! Writing SDK keys. History never holds a hash.

use serde_json::{Value, json};
use shared::model::id::SdkKeyId;
use shared::model::sdk_key::SdkKeyDefinition;
use shared::model::timestamp::Timestamp;
use shared::wire::api::sdk_key::UpdateSdkKey;
use shared::wire::state::{Entity, StateKey};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::app::changeset::draft::{Draft, check_name};
use crate::app::sdk_key::{check_origins, kind_of};
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
        self.write_sdk_key(None, &key)
    }

    pub(super) async fn update_sdk_key(
        &mut self,
        db: &mut PgConnection,
        id: SdkKeyId,
        update: UpdateSdkKey,
    ) -> Result<(), AppError> {
        let before = self.sdk_key(db, id).await?;
        if before.revoked_at.is_some() {
            return Err(revoked(&before));
        }
        let mut key = before.clone();
        if let Some(name) = update.name {
            check_name(&name)?;
            key.name = name.trim().to_owned();
        }
        if let Some(origins) = update.origins {
            check_origins(kind_of(&key.kind)?, &origins)?;
            key.origins = origins.iter().map(ToString::to_string).collect();
        }
        if let Some(expires_at) = update.expires_at {
            key.expires_at = expires_at.map(OffsetDateTime::from);
            if key.expires_at.is_some_and(|at| at <= self.at) {
                let message = "the time has passed already; choose a later one, or revoke the key";
                return Err(AppError::field("expires_at", message));
            }
        }
        store::sdk_key::update(db, id, &key.name, &key.origins, key.expires_at).await?;
        self.write_sdk_key(Some(&before), &key)
    }

    /// Both keys are written in one changeset, so that no edge ever knows of an end without a successor.
    pub(super) async fn rotate_sdk_key(
        &mut self,
        db: &mut PgConnection,
        new: SdkKey,
        old_ends_at: OffsetDateTime,
    ) -> Result<(), AppError> {
        let id = new.replaces.map(SdkKeyId::from).ok_or_else(|| AppError::internal("a rotation names the old key"))?;
        let before = self.sdk_key(db, id).await?;
        if before.revoked_at.is_some() {
            return Err(revoked(&before));
        }
        if before.expires_at.is_some_and(|at| at <= self.at) {
            let message = format!("'{}' has expired; make a new key", before.name);
            return Err(AppError::conflict("key_expired", message));
        }
        if let Some(newer) = before.replaced_by {
            let newer = self.sdk_key(db, newer.into()).await?;
            if newer.revoked_at.is_none() {
                let message = format!("{} takes over from '{}' already; rotate that one", newer.hint, before.name);
                return Err(AppError::conflict("key_replaced", message));
            }
        }
        self.create_sdk_key(db, new).await?;
        let mut old = before.clone();
        old.expires_at = Some(before.expires_at.map_or(old_ends_at, |at| at.min(old_ends_at)));
        store::sdk_key::update(db, id, &old.name, &old.origins, old.expires_at).await?;
        self.write_sdk_key(Some(&before), &old)
    }

    pub(super) async fn revoke_sdk_key(&mut self, db: &mut PgConnection, id: SdkKeyId) -> Result<(), AppError> {
        let before = self.sdk_key(db, id).await?;
        store::sdk_key::revoke(db, id, self.at).await?;
        let key = self.sdk_key(db, id).await?;
        self.write_sdk_key(Some(&before), &key)
    }

    async fn sdk_key(&self, db: &mut PgConnection, id: SdkKeyId) -> Result<SdkKey, AppError> {
        let found = store::sdk_key::list(db, self.project, Some(id)).await?.pop();
        found.ok_or_else(|| AppError::not_found("SDK key", id))
    }

    fn write_sdk_key(&mut self, before: Option<&SdkKey>, key: &SdkKey) -> Result<(), AppError> {
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
        let (before, after) = (before.map(described), described(key));
        self.record(Some(key.environment_id), ("sdk_key", key.id.uuid(), &key.name), before.as_ref(), Some(&after))
    }
}

/// A key as history keeps it.
fn described(key: &SdkKey) -> Value {
    let mut described = json!({
        "name": key.name, "hint": key.hint, "origins": key.origins, "revoked": key.revoked_at.is_some(),
    });
    if let Some(at) = key.expires_at {
        described["expires_at"] = json!(Timestamp::from(at));
    }
    if let Some(old) = key.replaces {
        described["replaces"] = json!(old);
    }
    described
}

fn revoked(key: &SdkKey) -> AppError {
    AppError::conflict("key_revoked", format!("'{}' was revoked for good; make a new key", key.name))
}

//! Roles that people made, beside the built-in ones.

use shared::model::key::RoleKey;
use shared::model::permission::{BuiltInRole, Permission, PermissionSet};
use sqlx::PgConnection;

use crate::store::StoreError;

/// What a role allows; `None` when there is no such role.
pub async fn permissions(db: &mut PgConnection, role: &RoleKey) -> Result<Option<PermissionSet>, StoreError> {
    if let Some(role) = BuiltInRole::find(role.as_str()) {
        return Ok(Some(role.permissions()));
    }
    let stored =
        sqlx::query_scalar!("select permissions from roles where key = $1", role.as_str()).fetch_optional(db).await?;
    Ok(stored.map(|texts| texts.iter().filter_map(|text| text.parse::<Permission>().ok()).collect()))
}

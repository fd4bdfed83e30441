//! Writing flags and their configs.

use serde_json::{Value, json};
use shared::model::change::{FlagChange, NewFlag};
use shared::model::flag::{DESCRIPTION_CHARS_MAX, FlagConfig};
use shared::model::id::EnvironmentId;
use shared::model::key::{EnvironmentKey, FlagKey};
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::{Draft, check_name, invalid_at, located};
use crate::app::changeset::reference::References;
use crate::app::flag::shape_text;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::config::NewConfig;
use crate::store::flag::Flag;
use crate::store::reference::Node;

/// The most tags of a flag.
const TAGS_MAX: usize = 20;
/// The longest tag, in characters.
const TAG_CHARS_MAX: usize = 50;

impl Draft {
    pub(super) async fn create_flag(
        &mut self,
        state: &AppState,
        db: &mut PgConnection,
        new: NewFlag,
    ) -> Result<(), AppError> {
        new.definition.validate().map_err(|problems| invalid_at("definition", problems))?;
        check_texts(&new.name, &new.description, &new.tags)?;
        let flag = Flag {
            id: state.clock.id(),
            definition: new.definition,
            name: new.name.trim().to_owned(),
            description: new.description,
            tags: new.tags,
            version: 1,
            created_at: self.at,
            created_by: self.author.name.clone(),
            changed_at: self.at,
            changed_by: self.author.name.clone(),
        };
        let key = flag.definition.key.clone();
        store::flag::insert(db, self.project, &flag, self.author.user).await.map_err(|error| {
            if error.is_conflict("flags_key_unique") {
                AppError::Exists { noun: "flag", key: key.to_string() }
            } else {
                error.into()
            }
        })?;
        self.record(None, ("flag", flag.id.uuid(), key.as_str()), None::<&Value>, Some(&described(&flag)))?;
        for (environment, config) in &new.configs {
            let environment = self.environment(environment.as_str())?.id;
            self.write_config(db, &flag, environment, None, config).await?;
        }
        self.flags.insert(flag.id);
        Ok(())
    }

    pub(super) async fn update_flag(
        &mut self,
        db: &mut PgConnection,
        key: &FlagKey,
        expected: u64,
        update: FlagChange,
    ) -> Result<(), AppError> {
        let before = self.flag(db, key).await?;
        check_version("flag", expected, before.version)?;
        let mut after = before.clone();
        after.name = update.name.map_or(after.name, |name| name.trim().to_owned());
        after.description = update.description.unwrap_or(after.description);
        after.tags = update.tags.unwrap_or(after.tags);
        after.definition.kind = update.kind.unwrap_or(after.definition.kind);
        after.definition.client_visible = update.client_visible.unwrap_or(after.definition.client_visible);
        after.definition.variants = update.variants.unwrap_or(after.definition.variants);
        check_texts(&after.name, &after.description, &after.tags)?;
        after.definition.validate().map_err(AppError::Invalid)?;
        let mut problems = Vec::new();
        for stored in store::config::list(db, &[before.id]).await? {
            let environment = self.environments.iter().find(|e| e.id == stored.environment_id);
            let path = format!("environments.{}", environment.map_or("?", |e| e.key.as_str()));
            problems.extend(located(&path, stored.config.validate(&after.definition)));
        }
        if !problems.is_empty() {
            return Err(AppError::Invalid(problems));
        }
        store::flag::update(db, &after, self.author.user, self.at).await?;
        if before.definition.variants.iter().any(|was| !after.definition.variants.iter().any(|v| v.key == was.key)) {
            self.narrower.push(before.id);
        }
        self.record(
            None,
            ("flag", before.id.uuid(), key.as_str()),
            Some(&described(&before)),
            Some(&described(&after)),
        )?;
        self.flags.insert(before.id);
        Ok(())
    }

    pub(super) async fn save_config(
        &mut self,
        db: &mut PgConnection,
        key: &FlagKey,
        environment: &EnvironmentKey,
        expected: u64,
        config: FlagConfig,
    ) -> Result<(), AppError> {
        let environment = self.environment(environment.as_str())?.id;
        let flag = self.flag(db, key).await?;
        let stored = store::config::list(db, &[flag.id]).await?.into_iter().find(|c| c.environment_id == environment);
        check_version("flag config", expected, stored.as_ref().map_or(0, |config| config.version))?;
        self.write_config(db, &flag, environment, stored.map(|stored| stored.config).as_ref(), &config).await?;
        self.flags.insert(flag.id);
        Ok(())
    }

    pub(super) async fn write_config(
        &mut self,
        db: &mut PgConnection,
        flag: &Flag,
        environment: EnvironmentId,
        before: Option<&FlagConfig>,
        config: &FlagConfig,
    ) -> Result<(), AppError> {
        config.validate(&flag.definition).map_err(|problems| invalid_at("config", problems))?;
        let shape = shape_text(config);
        let note = self.note.clone();
        let new = NewConfig { flag: flag.id, environment, config, shape, note: note.as_str() };
        store::config::save(db, new, self.author.user, self.at).await?;
        let node = Node::Config(flag.id, environment);
        self.refer(db, node, "config", before.map(References::from), config.into()).await?;
        self.record(Some(environment), ("config", flag.id.uuid(), flag.definition.key.as_str()), before, Some(config))
    }

    pub(super) async fn flag(&self, db: &mut PgConnection, key: &FlagKey) -> Result<Flag, AppError> {
        let found = store::flag::find(db, self.project, key.as_str()).await?;
        found.ok_or_else(|| AppError::not_found("flag", key))
    }
}

fn check_texts(name: &str, description: &str, tags: &[String]) -> Result<(), AppError> {
    check_name(name)?;
    if description.chars().count() > DESCRIPTION_CHARS_MAX || description.contains('\0') {
        let message = format!("a description has at most {DESCRIPTION_CHARS_MAX} characters");
        return Err(AppError::field("description", message));
    }
    if tags.len() > TAGS_MAX {
        return Err(AppError::field("tags", format!("{} tags; at most {TAGS_MAX} are allowed", tags.len())));
    }
    for (index, tag) in tags.iter().enumerate() {
        let length = tag.chars().count();
        if length == 0 || length > TAG_CHARS_MAX || tag.contains('\0') || tag.trim() != tag {
            let message = format!("'{tag}': a tag has 1 to {TAG_CHARS_MAX} characters without blanks around it");
            return Err(AppError::field(format!("tags[{index}]"), message));
        }
        if tags[..index].contains(tag) {
            return Err(AppError::field(format!("tags[{index}]"), format!("'{tag}' is there twice")));
        }
    }
    Ok(())
}

/// A flag as history keeps it: what decides its answers, and what people wrote about it.
fn described(flag: &Flag) -> Value {
    json!({
        "definition": flag.definition, "name": flag.name, "description": flag.description, "tags": flag.tags,
    })
}

//! Writing segments.

use serde_json::{Value, json};
use shared::model::key::SegmentKey;
use shared::model::segment::SegmentDefinition;
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::{Draft, check_name, invalid_at};
use crate::app::changeset::render::check_segment_size;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::reference::Node;
use crate::store::segment::Segment;

impl Draft {
    pub(super) async fn create_segment(
        &mut self,
        state: &AppState,
        db: &mut PgConnection,
        definition: SegmentDefinition,
        name: String,
    ) -> Result<(), AppError> {
        check_name(&name)?;
        definition.validate().map_err(|problems| invalid_at("definition", problems))?;
        if store::segment::count(db, self.project).await? >= store::segment::LIST_MAX {
            let message = format!("a project has at most {} segments; remove one first", store::segment::LIST_MAX);
            return Err(AppError::field("definition", message));
        }
        check_segment_size(&definition)?;
        let id = state.clock.id();
        let author = self.author.user;
        store::segment::insert(db, self.project, id, &definition, name.trim(), author, self.at).await.map_err(
            |error| {
                if error.is_conflict("segments_key_unique") {
                    AppError::Exists { noun: "segment", key: definition.key.to_string() }
                } else {
                    error.into()
                }
            },
        )?;
        self.refer(db, Node::Segment(id), "definition", None, (&definition).into()).await?;
        let entity = ("segment", id.uuid(), definition.key.as_str());
        self.record(None, entity, None::<&Value>, Some(&described(&definition, name.trim())))
    }

    pub(super) async fn update_segment(
        &mut self,
        db: &mut PgConnection,
        expected: u64,
        definition: SegmentDefinition,
        name: String,
    ) -> Result<(), AppError> {
        check_name(&name)?;
        definition.validate().map_err(AppError::Invalid)?;
        check_segment_size(&definition)?;
        let before = self.segment(db, &definition.key).await?;
        check_version("segment", expected, before.version)?;
        store::segment::update(db, before.id, &definition, name.trim(), self.author.user, self.at).await?;
        let referred = Some((&before.definition).into());
        self.refer(db, Node::Segment(before.id), "", referred, (&definition).into()).await?;
        let entity = ("segment", before.id.uuid(), definition.key.as_str());
        let was = described(&before.definition, &before.name);
        self.record(None, entity, Some(&was), Some(&described(&definition, name.trim())))?;
        self.segments.insert(before.id);
        Ok(())
    }

    pub(super) async fn delete_segment(&mut self, db: &mut PgConnection, key: &SegmentKey) -> Result<(), AppError> {
        let before = self.segment(db, key).await?;
        let flags = before.used_by.iter().map(|user| format!("flag '{user}'"));
        let users: Vec<String> =
            flags.chain(before.used_by_segments.iter().map(|user| format!("segment '{user}'"))).collect();
        if !users.is_empty() {
            return Err(AppError::InUse { thing: format!("segment '{key}'"), users: users.join(", ") });
        }
        store::segment::delete(db, before.id).await?;
        self.saved.retain(|saved| saved.node != Node::Segment(before.id));
        let entity = ("segment", before.id.uuid(), key.as_str());
        self.record(None, entity, Some(&described(&before.definition, &before.name)), None::<&Value>)
    }

    async fn segment(&self, db: &mut PgConnection, key: &SegmentKey) -> Result<Segment, AppError> {
        let found = store::segment::find(db, self.project, key.as_str()).await?;
        found.ok_or_else(|| AppError::not_found("segment", key))
    }
}

/// A segment as history keeps it.
fn described(definition: &SegmentDefinition, name: &str) -> Value {
    json!({ "definition": definition, "name": name })
}

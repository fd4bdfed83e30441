//! What a file would change that no answer depends on: attributes and metrics.

use serde::Serialize;
use shared::model::attribute::Attribute;
use shared::model::id::MetricId;
use shared::sentence;
use shared::wire::api::import::{ImportAction, ImportNoun};
use shared::wire::api::metric::{CreateMetric, METRICS_MAX, MetricKind};
use sqlx::PgConnection;

use crate::app::attribute;
use crate::app::exchange::current::file_metric;
use crate::app::exchange::diff::Comparison;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::metric::Metric;

/// What is to be done.
#[derive(Default, Serialize)]
pub(super) struct Register {
    attributes: Vec<Attribute>,
    /// With the version that is replaced.
    changed_attributes: Vec<(u64, Attribute)>,
    removed_attributes: Vec<String>,
    metrics: Vec<CreateMetric>,
    changed_metrics: Vec<(MetricId, CreateMetric)>,
    removed_metrics: Vec<(MetricId, String)>,
}

impl Register {
    pub(super) fn len(&self) -> usize {
        let attributes = self.attributes.len() + self.changed_attributes.len() + self.removed_attributes.len();
        attributes + self.metrics.len() + self.changed_metrics.len() + self.removed_metrics.len()
    }

    /// Does it, in a transaction of the caller.
    pub(super) async fn apply(self, state: &AppState, tx: &mut PgConnection, who: &InProject) -> Result<(), AppError> {
        // What goes first makes room for what comes.
        for name in &self.removed_attributes {
            attribute::delete_in(state, tx, who, name).await?;
        }
        for (version, attribute) in &self.changed_attributes {
            attribute::update_in(state, tx, who, attribute, *version).await?;
        }
        for attribute in &self.attributes {
            attribute::create_in(state, tx, who, attribute).await?;
        }
        for (id, _) in &self.removed_metrics {
            store::metric::delete(tx, who.id(), *id).await?;
        }
        for (id, metric) in &self.changed_metrics {
            let CreateMetric { event, kind, .. } = metric;
            store::metric::update(tx, who.id(), *id, None, Some(event.as_str()), Some(kind.as_str())).await?;
        }
        for metric in self.metrics {
            let metric = Metric {
                id: state.clock.id(),
                name: metric.name.trim().to_owned(),
                event: metric.event.into(),
                kind: metric.kind.as_str().into(),
                created_at: state.clock.now(),
                created_by: who.actor.name.clone(),
            };
            let most = i64::try_from(METRICS_MAX).unwrap_or(i64::MAX);
            if !store::metric::insert(tx, who.id(), &metric, who.actor.user, most).await? {
                return Err(AppError::field("metrics", format!("a project has at most {METRICS_MAX} metrics")));
            }
        }
        Ok(())
    }
}

/// Notes what happens to attributes and metrics.
pub(super) fn compare(comparison: &mut Comparison<'_>) -> Result<Register, AppError> {
    let mut register = Register::default();
    attributes(comparison, &mut register);
    metrics(comparison, &mut register)?;
    Ok(register)
}

fn attributes(comparison: &mut Comparison<'_>, register: &mut Register) {
    let (file, current) = (comparison.file, comparison.current);
    for attribute in &file.attributes {
        let name = attribute.name.as_str();
        let Some(known) = current.attributes.iter().find(|known| known.attribute.name == name) else {
            let told = vec![format!("+ Type: {}", attribute.value_type)];
            comparison.item(ImportAction::Create, ImportNoun::Attribute, name, told);
            register.attributes.push(attribute.clone());
            continue;
        };
        let (before, mut told) = (&known.attribute, Vec::new());
        if before.value_type != attribute.value_type {
            told.push(format!("~ Type: {} → {}", before.value_type, attribute.value_type));
        }
        if before.suggestions != attribute.suggestions {
            told.push("~ Suggested values changed".into());
        }
        if before.description != attribute.description {
            told.push("~ Description changed".into());
        }
        if !told.is_empty() {
            register.changed_attributes.push((known.version, attribute.clone()));
        }
        comparison.item(ImportAction::Change, ImportNoun::Attribute, name, told);
    }
    if !comparison.remove {
        return;
    }
    for known in &current.attributes {
        let name = &known.attribute.name;
        if !file.attributes.iter().any(|attribute| attribute.name == *name) {
            comparison.item(ImportAction::Remove, ImportNoun::Attribute, name, Vec::new());
            register.removed_attributes.push(name.clone());
        }
    }
}

fn metrics(comparison: &mut Comparison<'_>, register: &mut Register) -> Result<(), AppError> {
    let (file, current) = (comparison.file, comparison.current);
    for metric in &file.metrics {
        let name = metric.name.trim();
        let Some(known) = current.metrics.iter().find(|known| known.name == name) else {
            let told = vec![format!("+ {} of {}", word(metric.kind), sentence::value(metric.event.as_str()))];
            comparison.item(ImportAction::Create, ImportNoun::Metric, name, told);
            register.metrics.push(metric.clone());
            continue;
        };
        let (before, mut told) = (file_metric(known)?, Vec::new());
        if before.event != metric.event {
            told.push(format!("~ Event: {} → {}", before.event, metric.event));
        }
        if before.kind != metric.kind {
            told.push(format!("~ Kind: {} → {}", word(before.kind), word(metric.kind)));
        }
        if !told.is_empty() {
            register.changed_metrics.push((known.id, metric.clone()));
        }
        comparison.item(ImportAction::Change, ImportNoun::Metric, name, told);
    }
    if comparison.remove {
        for known in &current.metrics {
            if !file.metrics.iter().any(|metric| metric.name.trim() == known.name) {
                comparison.item(ImportAction::Remove, ImportNoun::Metric, &known.name, Vec::new());
                register.removed_metrics.push((known.id, known.name.clone()));
            }
        }
    }
    Ok(())
}

fn word(kind: MetricKind) -> &'static str {
    kind.as_str()
}

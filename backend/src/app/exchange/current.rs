//! What a project holds now.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shared::model::flag::FlagConfig;
use shared::model::id::{EnvironmentId, FlagId};
use shared::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use shared::model::policy::Policy;
use shared::wire::api::metric::CreateMetric;
use shared::wire::project_file::{
    FILE_BYTES_MAX, FORMAT, FileEnvironment, FileFlag, FileProject, FileProtection, FileSegment, KIND, ProjectFile,
};

use crate::app::metric;
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::attribute::Registered;
use crate::store::environment::Environment;
use crate::store::exchange::{WholeFlag, WholeSegment};
use crate::store::metric::Metric;
use crate::store::project::Project;

/// So many flags are read at once.
const FLAGS_AT_ONCE: i64 = 500;
/// A project whose environments hold more in all is not read into memory. A file is the smaller the more its environments
/// have in common, so this is not the limit of the file itself.
const STATE_BYTES_MAX: i64 = 4 * FILE_BYTES_MAX as i64;

/// See the module.
pub(super) struct Current {
    pub(super) project: Project,
    /// In promotion order.
    pub(super) environments: Vec<Environment>,
    pub(super) policies: HashMap<EnvironmentId, Policy>,
    pub(super) segments: BTreeMap<SegmentKey, WholeSegment>,
    pub(super) flags: BTreeMap<FlagKey, CurrentFlag>,
    /// Keys of archived flags.
    pub(super) archived: BTreeSet<String>,
    /// By name.
    pub(super) attributes: Vec<Registered>,
    /// By name.
    pub(super) metrics: Vec<Metric>,
}

/// A flag with its configs and their versions.
pub(super) struct CurrentFlag {
    pub(super) flag: WholeFlag,
    pub(super) configs: BTreeMap<EnvironmentKey, (FlagConfig, u64)>,
}

impl Current {
    pub(super) async fn load(state: &AppState, who: &InProject) -> Result<Self, AppError> {
        let project = who.id();
        let mut tx = state.pool.begin_with("begin isolation level repeatable read read only").await?;
        let environments = store::environment::list(&mut tx, project).await?;
        let bytes: i64 = environments.iter().map(|environment| environment.state_bytes).sum();
        if bytes > STATE_BYTES_MAX {
            let message = format!(
                "{bytes} bytes in all environments; at most {STATE_BYTES_MAX} fit into a file, archive flags first"
            );
            return Err(AppError::field("project", message));
        }
        let mut keys: HashMap<EnvironmentId, EnvironmentKey> = HashMap::new();
        for environment in &environments {
            keys.insert(environment.id, environment.key.parse().map_err(AppError::internal)?);
        }
        let mut flags: BTreeMap<FlagKey, CurrentFlag> = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = store::exchange::list_flags(&mut tx, project, after.as_deref(), FLAGS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.definition.key.to_string());
            let ids: Vec<FlagId> = page.iter().map(|flag| flag.id).collect();
            let mut configs: HashMap<FlagId, BTreeMap<EnvironmentKey, (FlagConfig, u64)>> = HashMap::new();
            for stored in store::config::list(&mut tx, &ids).await? {
                let Some(key) = keys.get(&stored.environment_id) else { continue };
                configs.entry(stored.flag_id).or_default().insert(key.clone(), (stored.config, stored.version));
            }
            flags.extend(page.into_iter().map(|flag| {
                let configs = configs.remove(&flag.id).unwrap_or_default();
                (flag.definition.key.clone(), CurrentFlag { flag, configs })
            }));
        }
        let segments = store::exchange::list_segments(&mut tx, project).await?;
        let policies = store::policy::list(&mut tx, project).await?;
        let current = Self {
            project: who.project.clone(),
            environments,
            policies: policies.into_iter().filter_map(|stored| Some((stored.environment_id, stored.policy?))).collect(),
            segments: segments.into_iter().map(|segment| (segment.definition.key.clone(), segment)).collect(),
            flags,
            archived: store::exchange::list_archived(&mut tx, project).await?.into_iter().collect(),
            attributes: store::attribute::list(&mut tx, project, None).await?,
            metrics: store::metric::list(&mut tx, project, None).await?,
        };
        tx.commit().await?;
        Ok(current)
    }

    pub(super) fn into_file(self) -> Result<ProjectFile, AppError> {
        let environments = self.environments.iter().map(|environment| {
            Ok::<_, AppError>(FileEnvironment {
                key: environment.key.parse().map_err(AppError::internal)?,
                name: environment.name.clone(),
                hue: u8::try_from(environment.hue).unwrap_or(1),
                protection: self.policies.get(&environment.id).map(protection),
            })
        });
        let flag = |CurrentFlag { flag, configs }: CurrentFlag| FileFlag {
            definition: flag.definition,
            name: flag.name,
            description: flag.description,
            tags: flag.tags,
            lifetime: flag.lifetime,
            environments: configs.into_iter().map(|(key, (config, _))| (key, config)).collect(),
        };
        let segment = |WholeSegment { definition, name, .. }| FileSegment { definition, name };
        Ok(ProjectFile {
            kind: KIND.into(),
            format: FORMAT,
            project: FileProject {
                key: self.project.key.parse().map_err(AppError::internal)?,
                name: self.project.name.clone(),
            },
            environments: environments.collect::<Result<_, _>>()?,
            segments: self.segments.into_values().map(segment).collect(),
            flags: self.flags.into_values().map(flag).collect(),
            attributes: self.attributes.into_iter().map(|registered| registered.attribute).collect(),
            metrics: self.metrics.into_iter().map(|metric| file_metric(&metric)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether others have to agree before an environment changes. One that an import makes is not protected.
    pub(super) fn is_protected(&self, key: &EnvironmentKey) -> bool {
        let found = self.environments.iter().find(|environment| environment.key == key.as_str());
        found.is_some_and(|environment| self.policies.contains_key(&environment.id))
    }
}

/// A policy without the people it names.
pub(super) fn protection(policy: &Policy) -> FileProtection {
    FileProtection {
        approvals: policy.approvals,
        roles: policy.roles.clone(),
        names_people: !policy.people.is_empty(),
        note_required: policy.note_required,
    }
}

pub(super) fn file_metric(known: &Metric) -> Result<CreateMetric, AppError> {
    let detail = metric::detail(known.clone())?;
    Ok(CreateMetric { name: detail.name, event: detail.event, kind: detail.kind })
}

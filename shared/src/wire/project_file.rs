//! A project as one JSON file: what people move to another installation, keep under version control, or edit elsewhere.
//!
//! It holds what people decided: environments, flags with their configs, segments, attributes, metrics. It holds no
//! people, keys, secrets, kills, counts or history, and nothing that differs between two exports of the same project.
//! Everything is in an order of its own: environments as they are promoted, the rest by key or name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::compare::shown;
use crate::model::attribute::Attribute;
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::key::{EnvironmentKey, ProjectKey, RoleKey};
use crate::model::lifetime::Lifetime;
use crate::model::segment::SegmentDefinition;
use crate::wire::api::metric::CreateMetric;

/// What every file says it is.
pub const KIND: &str = "fluxgate-project";
/// The format that this version writes, and the newest it reads.
pub const FORMAT: u32 = 1;
/// The largest file, in bytes, written or read.
pub const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A project with all that people decided in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectFile {
    /// `fluxgate-project`.
    pub kind: String,
    /// 1; a newer one is refused.
    pub format: u32,
    /// Where it came from; an import changes neither key nor name.
    pub project: FileProject,
    /// In promotion order.
    pub environments: Vec<FileEnvironment>,
    /// By key.
    pub segments: Vec<FileSegment>,
    /// By key; archived ones are left out.
    pub flags: Vec<FileFlag>,
    /// By name.
    pub attributes: Vec<Attribute>,
    /// By name.
    pub metrics: Vec<CreateMetric>,
}

/// The project itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileProject {
    /// Names it in addresses.
    pub key: ProjectKey,
    /// For people.
    pub name: String,
}

/// An environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileEnvironment {
    /// Names it inside its project.
    pub key: EnvironmentKey,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// One of eight hues, 1 to 8.
    pub hue: u8,
    /// What a change needed there; absent where it needed nobody. An import tells of it and never changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<FileProtection>,
}

/// The policy of a protected environment, as far as it means something elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileProtection {
    /// How many people had to agree.
    pub approvals: u32,
    /// Roles whose people could agree.
    #[serde(default)]
    pub roles: Vec<RoleKey>,
    /// Whether it named people, who are not in the file.
    #[serde(default)]
    pub names_people: bool,
    /// Whether a changeset had to say why.
    #[serde(default)]
    pub note_required: bool,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileSegment {
    /// Who is in it.
    pub definition: SegmentDefinition,
    /// For people; 1 to 100 characters.
    pub name: String,
}

/// A flag with its configs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileFlag {
    /// What decides its answers.
    pub definition: FlagDefinition,
    /// For people; 1 to 100 characters.
    pub name: String,
    /// For people; at most 2,000 characters.
    #[serde(default)]
    pub description: String,
    /// At most 20 words of 1 to 50 characters.
    #[serde(default)]
    pub tags: Vec<String>,
    /// How long it is meant to be there.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// How it is set up, by environment; where absent it does not exist.
    #[serde(default)]
    pub environments: BTreeMap<EnvironmentKey, FlagConfig>,
}

/// Why a file is none that this version reads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeadError {
    /// JSON of another kind.
    #[error("'{0}' is not \"{KIND}\"; make a file with fluxgate-backend export")]
    Kind(String),
    /// Written by a newer version, or by none.
    #[error("{0} is not a format that this version reads; it reads 1 to {FORMAT}")]
    Format(u64),
}

/// The part that tells what a file is, in any version.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Head {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    format: u64,
}

impl Head {
    /// Fails for what is no file of a project, or a newer one. To be asked before the rest is read, so that a newer file is
    /// told for what it is and not by a field that this version does not know.
    pub fn check(&self) -> Result<(), HeadError> {
        if self.kind != KIND {
            return Err(HeadError::Kind(shown(&self.kind)));
        }
        if !(1..=u64::from(FORMAT)).contains(&self.format) {
            return Err(HeadError::Format(self.format));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_can_be_told_of_any_version() {
        let check = |json: &str| serde_json::from_str::<Head>(json).expect("JSON").check();
        assert_eq!(check(r#"{"kind":"fluxgate-project","format":1,"flags":[]}"#), Ok(()));
        assert_eq!(check(r#"{"kind":"fluxgate-project","format":2,"news":1}"#), Err(HeadError::Format(2)));
        assert_eq!(check(r#"{"kind":"fluxgate-bundle","format":1}"#), Err(HeadError::Kind("fluxgate-bundle".into())));
        assert_eq!(check("{}"), Err(HeadError::Kind(String::new())));
    }
}

//! Flags and their configs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::merge::Conflict;
use crate::model::changeset::Note;
use crate::model::flag::{FlagConfig, FlagDefinition, FlagKind};
use crate::model::id::FlagId;
use crate::model::key::{EnvironmentKey, FlagKey, VariantKey};
use crate::model::rule::Serve;
use crate::model::timestamp::Timestamp;
use crate::model::variant::{ValueType, Variant};

/// Makes a flag with a config in every environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateFlag {
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
    /// How it starts, by environment; off where absent.
    #[serde(default)]
    pub start: BTreeMap<EnvironmentKey, StartState>,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// How a new flag starts in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StartState {
    /// Whether it is on.
    pub enabled: bool,
    /// Buckets of 100,000 that get `variant`, the rest gets the off variant; everyone when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u32>,
    /// What is served while on; the first variant when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<VariantKey>,
}

/// Changes what is the same in every environment; absent fields stay. `If-Match` carries the flag's version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateFlag {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Replaces all tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FlagKind>,
    /// Whether client keys may see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_visible: Option<bool>,
    /// Replaces all variants; those still served cannot go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<Variant>>,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// Replaces a flag's config in one environment. `If-Match` carries the config's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SaveConfig {
    /// The whole config.
    pub config: FlagConfig,
    /// Why; may be empty.
    #[serde(default)]
    pub note: Note,
}

/// Turns a flag off at once, whatever its config says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KillFlag {
    /// Where; at least one.
    pub environments: Vec<EnvironmentKey>,
    /// Why; 1 to 500 characters.
    pub reason: String,
    /// When it comes back by itself; only by hand when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// A flag that is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KillDetail {
    /// Why.
    pub reason: String,
    /// When it comes back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Since when.
    pub killed_at: Timestamp,
    /// Who did it.
    pub killed_by: String,
}

/// A page of flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagPage {
    /// In the order asked for.
    pub items: Vec<FlagSummary>,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// All flags that match.
    pub matching: u64,
    /// All flags of the project that are not archived.
    pub total: u64,
}

/// A flag in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagSummary {
    /// What applications send.
    pub key: FlagKey,
    /// For people.
    pub name: String,
    /// Type of its values.
    pub value_type: ValueType,
    /// What it is for.
    pub kind: FlagKind,
    /// Words of people.
    pub tags: Vec<String>,
    /// Last change of anything about it.
    pub changed_at: Timestamp,
    /// Who made it.
    pub changed_by: String,
    /// One per environment, in promotion order.
    pub states: Vec<FlagState>,
}

/// How a flag stands in one environment, in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagState {
    /// Where.
    pub environment: EnvironmentKey,
    /// What most users get, as a shape.
    pub shape: StateShape,
    /// The same in at most 18 characters: "10 % on".
    pub brief: String,
    /// The same as a sentence.
    pub sentence: String,
    /// Version of the config, for `If-Match`.
    pub version: u64,
}

/// What most users get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum StateShape {
    /// The same variant for everyone.
    On,
    /// Depends on who asks.
    Part,
    /// Off.
    Off,
    /// Killed.
    Killed,
}

impl StateShape {
    /// The shape of a config.
    pub fn of(config: &FlagConfig, is_killed: bool) -> Self {
        let is_divided = match &config.default_serve {
            Serve::Variant(_) => false,
            Serve::Split(split) => split.ranges.iter().any(|range| range.variant != split.ranges[0].variant),
        };
        let depends = is_divided
            || !config.prerequisites.is_empty()
            || !config.targets.is_empty()
            || config.rules.iter().any(|rule| !rule.paused);
        match (is_killed, config.enabled) {
            (true, _) => Self::Killed,
            (false, false) => Self::Off,
            (false, true) if depends => Self::Part,
            (false, true) => Self::On,
        }
    }
}

/// A flag with everything about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagDetail {
    /// Its id, as in counts.
    pub id: FlagId,
    /// What decides its answers.
    pub definition: FlagDefinition,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Words of people.
    pub tags: Vec<String>,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// For `If-Match` of the flag itself.
    pub version: u64,
    /// One per environment, in promotion order.
    pub environments: Vec<FlagEnvironment>,
}

/// A flag in one environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagEnvironment {
    /// Where.
    pub environment: EnvironmentKey,
    /// How it is set up.
    pub config: FlagConfig,
    /// For `If-Match` of the config.
    pub version: u64,
    /// The last changeset that changed its answers here.
    pub revision: u64,
    /// Set while it is killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<KillDetail>,
    /// When the config last changed.
    pub changed_at: Timestamp,
    /// Who changed it.
    pub changed_by: String,
    /// What they said of it.
    pub note: String,
}

/// What a save that came second needs to be put together with the one that came first. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfigMerge {
    /// The config that both began with.
    pub base: FlagConfig,
    /// The config as it is now.
    pub theirs: FlagConfig,
    /// Both edits, and theirs where they differ; save it with `theirs_version` in `If-Match` once the conflicts are decided.
    pub merged: FlagConfig,
    /// What both changed, each otherwise; empty when the two edits fit together.
    pub conflicts: Vec<Conflict>,
    /// The config's version now.
    pub theirs_version: u64,
    /// The revision that made it so.
    pub theirs_revision: u64,
    /// Who saved it.
    pub by: String,
}

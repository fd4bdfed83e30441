//! One thing that a changeset does, as it is sent, signed and stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::flag::{FlagConfig, FlagDefinition, FlagKind};
use crate::model::freeze::Freeze;
use crate::model::id::{FreezeId, RuleId, UserId};
use crate::model::key::{EnvironmentKey, FlagKey, RoleKey, SegmentKey, VariantKey};
use crate::model::lifetime::Lifetime;
use crate::model::policy::Policy;
use crate::model::segment::SegmentDefinition;
use crate::model::split::Share;
use crate::model::variant::Variant;

/// The most things that one changeset may touch; larger imports are applied in slices.
pub const CHANGES_MAX: usize = 1_000;

/// One thing that a changeset does. A `version` is that of the thing as its author saw it, 0 where there was none; when it
/// is another one by the time the changeset is applied, nothing is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Change {
    /// Makes a flag, with a config where one is given.
    CreateFlag(NewFlag),
    /// Changes what is the same in every environment.
    UpdateFlag {
        /// Which.
        flag: FlagKey,
        /// Of the flag.
        version: u64,
        /// What changes.
        update: FlagChange,
    },
    /// Replaces a flag's config in one environment.
    SaveConfig {
        /// Which.
        flag: FlagKey,
        /// Where.
        environment: EnvironmentKey,
        /// Of the config.
        version: u64,
        /// The whole config.
        config: FlagConfig,
    },
    /// Takes a variant away; whatever served it, or needed it of this flag, has another one from then on, everywhere.
    ReplaceVariant {
        /// Which.
        flag: FlagKey,
        /// Of the flag.
        version: u64,
        /// The variant that goes.
        variant: VariantKey,
        /// What takes its place.
        with: VariantKey,
    },
    /// Takes a flag out of service; applications then get `FLAG_NOT_FOUND` and use their own default.
    ArchiveFlag {
        /// Which.
        flag: FlagKey,
        /// Of the flag.
        version: u64,
    },
    /// Puts an archived flag back into service, as it was.
    RestoreFlag {
        /// Which.
        flag: FlagKey,
        /// Of the flag.
        version: u64,
    },
    /// Removes an archived flag for good; its key is free again.
    DeleteFlag {
        /// Which.
        flag: FlagKey,
        /// Of the flag.
        version: u64,
    },
    /// Gives users other shares of a flag's variants, computed from the config as it stands when it is applied, so that the
    /// fewest of them move.
    SetShare {
        /// Which.
        flag: FlagKey,
        /// Where.
        environment: EnvironmentKey,
        /// The rule whose users are divided; everyone else when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<RuleId>,
        /// Of the config; whichever there is when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<u64>,
        /// What each variant gets; those not named get nothing, and the rest of the buckets belong to nobody.
        shares: Vec<Share>,
    },
    /// Makes a segment.
    CreateSegment {
        /// Who is in it.
        definition: SegmentDefinition,
        /// For people; 1 to 100 characters.
        name: String,
    },
    /// Replaces who is in a segment.
    UpdateSegment {
        /// Of the segment.
        version: u64,
        /// Who is in it.
        definition: SegmentDefinition,
        /// For people; 1 to 100 characters.
        name: String,
    },
    /// Removes a segment that no config and no other segment names.
    DeleteSegment {
        /// Which.
        segment: SegmentKey,
    },
    /// Protects an environment, changes what that needs, or ends it.
    SetPolicy {
        /// Where.
        environment: EnvironmentKey,
        /// Of the policy.
        version: u64,
        /// What a changeset needs from then on; nothing when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Policy>,
    },
    /// Freezes environments at certain times.
    CreateFreeze(Freeze),
    /// Changes a freeze.
    UpdateFreeze {
        /// Which.
        id: FreezeId,
        /// Of the freeze.
        version: u64,
        /// All of it.
        freeze: Freeze,
    },
    /// Removes a freeze.
    DeleteFreeze {
        /// Which.
        id: FreezeId,
        /// Of the freeze.
        version: u64,
    },
    /// Makes somebody a member, gives them other roles, or takes them out.
    SetMember {
        /// Who.
        person: UserId,
        /// Of the membership.
        version: u64,
        /// Their role in the project; no member when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<RoleKey>,
        /// Other roles, by environment.
        #[serde(default)]
        environments: BTreeMap<EnvironmentKey, RoleKey>,
    },
}

/// A flag to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewFlag {
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
    /// Whom to ask about it; its author when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// How long it is meant to be there.
    #[serde(default)]
    pub lifetime: Lifetime,
    /// How it starts, by environment; where absent it does not exist yet.
    #[serde(default)]
    pub configs: BTreeMap<EnvironmentKey, FlagConfig>,
}

/// What changes of a flag; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FlagChange {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Replaces all tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Whom to ask about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// How long it is meant to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FlagKind>,
    /// Whether client keys may see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_visible: Option<bool>,
    /// Replaces all variants; those still served cannot go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<Variant>>,
}

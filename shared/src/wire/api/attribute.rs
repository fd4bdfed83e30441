//! Context attributes: those that are registered, and those that rules name without.

use serde::{Deserialize, Serialize};

use crate::model::attribute::{Attribute, AttributeType};
use crate::model::id::AttributeId;
use crate::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use crate::model::timestamp::Timestamp;

/// Changes a registered attribute; its name stays. `If-Match` carries its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateAttribute {
    /// What its values are.
    #[serde(rename = "type")]
    pub value_type: AttributeType,
    /// Values that forms offer; at most 50 of at most 1,000 bytes.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// For people; at most 2,000 characters.
    #[serde(default)]
    pub description: String,
}

/// A registered attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttributeDetail {
    /// Its id.
    pub id: AttributeId,
    /// What people registered.
    pub attribute: Attribute,
    /// For `If-Match`.
    pub version: u64,
    /// Last change.
    pub changed_at: Timestamp,
    /// Who made it.
    pub changed_by: String,
    /// How many flags look at it, in any environment.
    pub flags: u64,
    /// How many segments look at it.
    pub segments: u64,
    /// Another name that is so near that one of the two may be a slip, in words; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<NearName>,
}

/// A name that rules or segments look at and nobody registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnregisteredAttribute {
    /// As the rules name it.
    pub name: String,
    /// How many flags look at it, in any environment.
    pub flags: u64,
    /// How many segments look at it.
    pub segments: u64,
    /// Another name that is so near that one of the two may be a slip, in words; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<NearName>,
}

/// A name near another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NearName {
    /// The other name.
    pub name: String,
    /// `contry looks like country`.
    pub sentence: String,
}

/// The attributes of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttributeList {
    /// Registered ones by name; at most 500.
    pub items: Vec<AttributeDetail>,
    /// Names that are used and not registered, the most used first; at most 200.
    pub unregistered: Vec<UnregisteredAttribute>,
    /// Whether there are more of the latter.
    pub is_cut: bool,
}

/// Who looks at an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttributeUses {
    /// The name.
    pub name: String,
    /// The registered attribute, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered: Option<AttributeDetail>,
    /// Flags with a rule or split that looks at it, by key; at most 200.
    pub flags: Vec<AttributeFlag>,
    /// Segments with a condition that looks at it, by key; at most 200.
    pub segments: Vec<SegmentKey>,
    /// Whether there are more of either.
    pub is_cut: bool,
}

/// A flag that looks at an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttributeFlag {
    /// The flag.
    pub flag: FlagKey,
    /// Its name.
    pub name: String,
    /// Where, in promotion order.
    pub environments: Vec<EnvironmentKey>,
}

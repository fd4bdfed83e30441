//! Variants of a flag, and what would be left without an answer if one of them went.

use serde::{Deserialize, Serialize};

use crate::model::key::{EnvironmentKey, FlagKey};
use crate::model::variant::{ValueType, Variant};

/// The variants of a flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantList {
    /// In their order.
    pub items: Vec<VariantDetail>,
    /// Type of all values.
    pub value_type: ValueType,
    /// For `If-Match` of the flag.
    pub version: u64,
}

/// A variant with everything that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantDetail {
    /// Key and value.
    pub variant: Variant,
    /// Where the flag itself names it, in promotion order.
    pub uses: Vec<VariantUse>,
    /// Flags that need the flag to answer it, at most 100.
    pub needed_by: Vec<VariantNeed>,
}

/// A place of a flag's config that names a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantUse {
    /// Where.
    pub environment: EnvironmentKey,
    /// Path inside the config, as `rules[2].serve`.
    pub path: String,
    /// The same in words: `rule 3 Beta, 50 %`.
    pub place: String,
}

/// A flag that needs another one to answer a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VariantNeed {
    /// Who needs it.
    pub flag: FlagKey,
    /// Where.
    pub environment: EnvironmentKey,
}

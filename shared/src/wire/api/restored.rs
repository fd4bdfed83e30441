//! What only the bucket had when a restored database met it.

use serde::{Deserialize, Serialize};

use crate::model::timestamp::Timestamp;

/// The times at which a restored database met the bucket; at most 100.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RestoredList {
    /// Newest first.
    pub items: Vec<RestoredDetail>,
}

/// A time at which a restored database met the bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RestoredDetail {
    /// The revision that says so in the history.
    pub revision: u64,
    /// When.
    pub at: Timestamp,
    /// What edges hold and the database did not know, at most 1,000.
    pub only_published: Vec<OnlyPublished>,
    /// How much of it there was.
    pub only_published_total: u64,
    /// How much of it nobody confirmed yet; edges keep it until then.
    pub waiting: u64,
}

/// Something that edges hold and the database did not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OnlyPublished {
    /// Its key in the bucket.
    pub key: String,
    /// What it is, as `flag checkout`, as far as it can be read.
    pub what: String,
}

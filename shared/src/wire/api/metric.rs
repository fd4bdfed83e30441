//! Metrics: what experiments are judged by.

use serde::{Deserialize, Serialize};

use crate::model::id::MetricId;
use crate::model::key::EventName;
use crate::model::timestamp::Timestamp;

/// The most metrics of a project.
pub const METRICS_MAX: usize = 100;

/// How events become a number for each user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum MetricKind {
    /// Whether a user caused the event at all.
    Conversion,
    /// The sum of the values that came with a user's events; 0 for users without any.
    Numeric,
}

impl MetricKind {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversion => "conversion",
            Self::Numeric => "numeric",
        }
    }

    /// The kind of a word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Conversion, Self::Numeric].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Makes a metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateMetric {
    /// For people; 1 to 100 characters, no other metric of the project has it.
    pub name: String,
    /// What applications send to `POST /track` of an edge.
    pub event: EventName,
    /// How it is read.
    pub kind: MetricKind,
}

/// Changes a metric; absent fields stay. Results are always computed anew, so a change reaches back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdateMetric {
    /// For people; 1 to 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What applications send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventName>,
    /// How it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MetricKind>,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetricDetail {
    /// Its id.
    pub id: MetricId,
    /// For people.
    pub name: String,
    /// What applications send.
    pub event: EventName,
    /// How it is read.
    pub kind: MetricKind,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
}

/// The metrics of a project; at most 100.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetricList {
    /// By name.
    pub items: Vec<MetricDetail>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written() {
        for kind in [MetricKind::Conversion, MetricKind::Numeric] {
            assert_eq!(MetricKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).expect("JSON"), kind.as_str());
        }
        assert_eq!(MetricKind::parse("median"), None);
    }
}

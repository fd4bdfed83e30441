//! What other systems can be told, and how far a telling has come.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::changeset::UnknownWord;

/// What happened, as webhooks name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum EventType {
    /// A flag was made.
    #[serde(rename = "flag.created")]
    FlagCreated,
    /// A flag or one of its configs changed.
    #[serde(rename = "flag.changed")]
    FlagChanged,
    /// A flag was archived.
    #[serde(rename = "flag.archived")]
    FlagArchived,
    /// A flag was killed somewhere.
    #[serde(rename = "flag.killed")]
    FlagKilled,
    /// A kill was lifted, by hand or at its time.
    #[serde(rename = "flag.restored")]
    FlagRestored,
    /// A segment was made, changed or removed.
    #[serde(rename = "segment.changed")]
    SegmentChanged,
    /// A changeset waits for others to agree.
    #[serde(rename = "changeset.requested")]
    ChangesetRequested,
    /// Enough people agreed.
    #[serde(rename = "changeset.approved")]
    ChangesetApproved,
    /// Somebody who could have agreed did not.
    #[serde(rename = "changeset.rejected")]
    ChangesetRejected,
    /// A changeset has its revision; each one is told so, besides what it did to single things.
    #[serde(rename = "changeset.applied")]
    ChangesetApplied,
    /// A changeset could not be applied, or somebody stopped it.
    #[serde(rename = "changeset.suspended")]
    ChangesetSuspended,
    /// An environment was made, or what its changes need did change.
    #[serde(rename = "environment.changed")]
    EnvironmentChanged,
    /// An SDK key was made.
    #[serde(rename = "sdk_key.created")]
    SdkKeyCreated,
    /// An SDK key was revoked.
    #[serde(rename = "sdk_key.revoked")]
    SdkKeyRevoked,
    /// An edge lacks a revision for more than 10 s.
    #[serde(rename = "edge.late")]
    EdgeLate,
    /// An edge was not heard for more than 30 s.
    #[serde(rename = "edge.silent")]
    EdgeSilent,
    /// An edge that was late or silent is neither any more.
    #[serde(rename = "edge.back")]
    EdgeBack,
    /// Somebody pressed "Send test"; sent whatever the filter says.
    #[serde(rename = "webhook.test")]
    WebhookTest,
}

impl EventType {
    const ALL: [(Self, &'static str); 18] = [
        (Self::FlagCreated, "flag.created"),
        (Self::FlagChanged, "flag.changed"),
        (Self::FlagArchived, "flag.archived"),
        (Self::FlagKilled, "flag.killed"),
        (Self::FlagRestored, "flag.restored"),
        (Self::SegmentChanged, "segment.changed"),
        (Self::ChangesetRequested, "changeset.requested"),
        (Self::ChangesetApproved, "changeset.approved"),
        (Self::ChangesetRejected, "changeset.rejected"),
        (Self::ChangesetApplied, "changeset.applied"),
        (Self::ChangesetSuspended, "changeset.suspended"),
        (Self::EnvironmentChanged, "environment.changed"),
        (Self::SdkKeyCreated, "sdk_key.created"),
        (Self::SdkKeyRevoked, "sdk_key.revoked"),
        (Self::EdgeLate, "edge.late"),
        (Self::EdgeSilent, "edge.silent"),
        (Self::EdgeBack, "edge.back"),
        (Self::WebhookTest, "webhook.test"),
    ];

    /// The type as text.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(kind, _)| *kind == self).map_or("webhook.test", |(_, text)| text)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EventType {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|(_, known)| *known == text).map(|(kind, _)| kind);
        found.ok_or_else(|| UnknownWord::new("the type of an event", text))
    }
}

/// How far a delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DeliveryState {
    /// It is sent at its time.
    Pending,
    /// The receiver accepted it.
    Delivered,
    /// It is sent no more.
    Failed,
}

impl DeliveryState {
    /// The state of a word.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "pending" => Some(Self::Pending),
            "delivered" => Some(Self::Delivered),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_survives_a_round_trip_and_reads_as_in_json() {
        for (kind, text) in EventType::ALL {
            assert_eq!((kind.as_str(), text.parse()), (text, Ok(kind)));
            assert_eq!(serde_json::to_value(kind).expect("JSON"), text);
        }
        assert!("flag.exploded".parse::<EventType>().is_err());
    }

    #[test]
    fn a_state_is_read_as_it_is_written() {
        for state in [DeliveryState::Pending, DeliveryState::Delivered, DeliveryState::Failed] {
            let text = serde_json::to_value(state).expect("JSON");
            assert_eq!(DeliveryState::parse(text.as_str().expect("a text")), Some(state));
        }
        assert_eq!(DeliveryState::parse("lost"), None);
    }
}

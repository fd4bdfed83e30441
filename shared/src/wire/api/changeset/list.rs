//! Changesets that people look at, as a list.

use serde::{Deserialize, Serialize};

use crate::model::changeset::ChangesetState;
use crate::model::id::ChangesetId;
use crate::model::key::EnvironmentKey;
use crate::model::timestamp::Timestamp;
use crate::wire::api::changeset::PersonName;

/// Changesets that were ever looked at, the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetPage {
    /// Those of this page.
    pub items: Vec<ChangesetSummary>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ChangesetId>,
    /// How many there are in all.
    pub counts: ChangesetCounts,
}

/// How many changesets there are, by tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetCounts {
    /// Those in review that wait for the reader's approval.
    pub waiting: u64,
    /// Those that the reader wrote a part of and that are not ended, drafts included.
    pub mine: u64,
    /// Those that somebody asked for and that are not ended.
    pub open: u64,
    /// Those that are applied, rejected or taken back.
    pub done: u64,
}

/// A changeset in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangesetSummary {
    /// Its id.
    pub id: ChangesetId,
    /// Where it stands.
    pub state: ChangesetState,
    /// What it changes, as `checkout in production`; the first three.
    pub subjects: Vec<String>,
    /// How many changes there are.
    pub changes: u64,
    /// Environments whose answers or rules it changes, in promotion order.
    pub environments: Vec<EnvironmentKey>,
    /// Who began it.
    pub author: PersonName,
    /// Why.
    pub note: String,
    /// When it was begun.
    pub created_at: Timestamp,
    /// How far it is, by protected environment; empty once it is ended.
    pub approvals: Vec<EnvironmentApprovals>,
    /// Whether it waits for the reader's approval.
    pub waits_for_me: bool,
    /// Its number, once it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// When it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<Timestamp>,
    /// Why it is suspended or was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why the policy was passed over, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass: Option<String>,
}

/// How far a changeset is in a protected environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EnvironmentApprovals {
    /// Where.
    pub environment: EnvironmentKey,
    /// How many people must agree.
    pub needed: u32,
    /// How many did whose approval counts now.
    pub given: u32,
}

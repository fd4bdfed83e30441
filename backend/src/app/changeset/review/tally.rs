//! Counting approvals, under the policies and roles of the moment.

use shared::model::id::{EnvironmentId, UserId};
use shared::model::policy::Policy;

use crate::app::changeset::Protection;
use crate::store::changeset::Changeset;
use crate::store::review::Approval;

/// How far a protected environment is from what its policy wants.
#[derive(Clone, Debug)]
pub(in crate::app) struct Tally {
    /// How many approvals it needs.
    pub(in crate::app) needed: u32,
    /// Whose approvals count.
    pub(in crate::app) given: Vec<UserId>,
}

impl Tally {
    /// How many approvals are missing.
    pub(in crate::app) fn missing(&self) -> u32 {
        self.needed.saturating_sub(u32::try_from(self.given.len()).unwrap_or(u32::MAX))
    }
}

impl Changeset {
    /// Whether they wrote any part of it, and so cannot agree to it.
    pub(in crate::app) fn is_written_by(&self, person: UserId) -> bool {
        self.author == person || self.editors.contains(&person)
    }
}

impl Protection {
    /// Counts the approvals of a changeset's content as it is, for each protected environment of these.
    pub(in crate::app) fn tally(
        &self,
        environments: &[EnvironmentId],
        waiting: &Changeset,
        approvals: &[Approval],
    ) -> Vec<Tally> {
        let is_valid = |approval: &&Approval| {
            approval.changeset == waiting.id
                && approval.digest == waiting.digest
                && !waiting.is_written_by(approval.user)
        };
        let approved: Vec<UserId> = approvals.iter().filter(is_valid).map(|approval| approval.user).collect();
        let of = |environment: EnvironmentId, policy: &Policy| {
            let approvers = self.approvers(environment);
            let given = approved.iter().filter(|user| approvers.iter().any(|a| a.id == **user)).copied().collect();
            Tally { needed: policy.approvals, given }
        };
        environments.iter().filter_map(|id| Some(of(*id, self.policy(*id)?))).collect()
    }
}

/// The protected environments of these in which somebody's approval counts.
pub(in crate::app) fn counts_in(
    protection: &Protection,
    environments: &[EnvironmentId],
    person: UserId,
) -> Vec<EnvironmentId> {
    let counts = |id: &&EnvironmentId| protection.approvers(**id).iter().any(|approver| approver.id == person);
    environments.iter().filter(counts).copied().collect()
}

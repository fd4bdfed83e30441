//! Policies: who must agree before a changeset may touch a protected environment.

use serde::{Deserialize, Serialize};

use crate::model::id::UserId;
use crate::model::key::RoleKey;
use crate::model::problem::{FieldProblem, Problems};

/// The most people who must agree.
pub const APPROVALS_MAX: u32 = 10;
/// The most people and the most roles that a policy names.
pub const APPROVERS_MAX: usize = 50;

/// What a changeset needs before it may touch an environment. An environment with a policy is protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Policy {
    /// How many people must agree; 1 to 10. The author and who else edited the changeset do not count.
    pub approvals: u32,
    /// Only these people and those with `roles` may agree; at most 50. With neither, everyone who may approve there.
    #[serde(default)]
    pub people: Vec<UserId>,
    /// Only people with these roles and `people` may agree; at most 50.
    #[serde(default)]
    pub roles: Vec<RoleKey>,
    /// Whether a changeset must say why.
    #[serde(default)]
    pub note_required: bool,
}

impl Policy {
    /// What is wrong with the policy, each problem with its place. Whether enough people could agree is for the caller to
    /// check.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        if !(1..=APPROVALS_MAX).contains(&self.approvals) {
            let message = format!("{} approvals; choose 1 to {APPROVALS_MAX}", self.approvals);
            problems.add("approvals", message);
        }
        for (field, count) in [("people", self.people.len()), ("roles", self.roles.len())] {
            if count > APPROVERS_MAX {
                problems.add(field, format!("{count} of them; at most {APPROVERS_MAX} are allowed"));
            }
        }
        problems.into_result()
    }

    /// Whether somebody with this role, who may approve in the environment, is among those whose approval counts.
    pub fn accepts(&self, person: UserId, role: &str) -> bool {
        let is_open = self.people.is_empty() && self.roles.is_empty();
        is_open || self.people.contains(&person) || self.roles.iter().any(|named| named.as_str() == role)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_policy_names_whose_approval_counts_or_takes_everyones() {
        let ben = UserId::from(Uuid::from_u128(1));
        let chen = UserId::from(Uuid::from_u128(2));
        let open = Policy { approvals: 1, people: Vec::new(), roles: Vec::new(), note_required: false };
        assert!(open.accepts(ben, "approver"));
        let lead: RoleKey = "lead".parse().expect("a key");
        let named = Policy { people: vec![ben], roles: vec![lead], ..open.clone() };
        assert!(named.accepts(ben, "approver") && named.accepts(chen, "lead"));
        assert!(!named.accepts(chen, "approver"));
        let nobody = Policy { approvals: 0, ..open };
        assert_eq!(nobody.validate().expect_err("too few")[0].field, "approvals");
    }
}

//! Writing policies of environments.

use shared::model::id::EnvironmentId;
use shared::model::key::EnvironmentKey;
use shared::model::permission::Permission;
use shared::model::policy::Policy;
use sqlx::PgConnection;

use crate::app::changeset::check_version;
use crate::app::changeset::draft::{Draft, invalid_at};
use crate::app::changeset::protection::Protection;
use crate::error::AppError;
use crate::store;

impl Draft {
    pub(super) async fn set_policy(
        &mut self,
        db: &mut PgConnection,
        key: &EnvironmentKey,
        expected: u64,
        policy: Option<Policy>,
    ) -> Result<(), AppError> {
        if let Some(policy) = &policy {
            policy.validate().map_err(|problems| invalid_at("policy", problems))?;
        }
        let environment = self.environment(key.as_str())?.id;
        let stored = store::policy::list(db, self.project).await?.into_iter().find(|p| p.environment_id == environment);
        check_version("policy", expected, stored.as_ref().map_or(0, |stored| stored.version))?;
        store::policy::save(db, environment, policy.as_ref(), expected, Some(self.author.user), self.at).await?;
        let before = stored.and_then(|stored| stored.policy);
        self.record(Some(environment), ("policy", environment.uuid(), key.as_str()), before.as_ref(), policy.as_ref())?;
        self.governed.insert(environment);
        self.require(Permission::ManageEnvironments, Some(environment));
        if policy.is_some() {
            self.checked_policies.insert(environment);
        }
        Ok(())
    }

    /// Fails when a policy that was just written could never be met, whoever asks. Members may have been written after it,
    /// so this comes last.
    pub(super) async fn check_policies(&self, db: &mut PgConnection) -> Result<(), AppError> {
        if self.checked_policies.is_empty() {
            return Ok(());
        }
        let protection = Protection::find(db, self.project).await?;
        for environment in &self.checked_policies {
            self.check_policy(&protection, *environment)?;
        }
        Ok(())
    }

    fn check_policy(&self, protection: &Protection, id: EnvironmentId) -> Result<(), AppError> {
        let Some(policy) = protection.policy(id) else { return Ok(()) };
        let approvers = protection.approvers(id);
        // Who asks cannot agree; it may be somebody whose approval would not count anyway.
        let others = protection
            .editors(id)
            .map(|editor| approvers.iter().filter(|approver| approver.id != editor).count())
            .max()
            .unwrap_or(0);
        if others >= usize::try_from(policy.approvals).unwrap_or(usize::MAX) {
            return Ok(());
        }
        let key = self.environments.iter().find(|e| e.id == id).map_or("?", |e| e.key.as_str());
        let names: Vec<&str> = approvers.iter().map(|approver| approver.name.as_str()).collect();
        let who = if names.is_empty() { "nobody may".to_owned() } else { format!("only {} may", names.join(", ")) };
        let message = format!(
            "{} approvals can never be reached in {key}: {who} approve there, and nobody approves what they wrote; \
             make more members approvers first",
            policy.approvals
        );
        Err(AppError::field("policy.approvals", message))
    }
}

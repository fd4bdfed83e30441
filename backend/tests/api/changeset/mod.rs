//! The life of a changeset: who has to agree, to what, and that nothing gets past them.

mod approve;
mod dry_run;
mod escape;
mod merge;
mod model;
mod policy;
mod race;
mod step;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flag::{boolean, on};
use crate::support::{Answer, App, Person};

pub(crate) const CHANGESETS: &str = "/projects/shop/changesets";

/// `shop` with a flag that is off everywhere, and a protected production.
pub(crate) struct Shop {
    pub(crate) app: App,
    /// Admin of the installation and of the project; wrote the policy.
    pub(crate) ana: Person,
    /// An approver.
    pub(crate) ben: Person,
    /// Another one.
    pub(crate) chen: Person,
    /// An editor.
    pub(crate) eve: Person,
}

impl Shop {
    /// Production needs one approval.
    pub(crate) async fn start() -> Self {
        Self::with_policy(json!({ "approvals": 1 })).await
    }

    pub(crate) async fn with_policy(policy: Value) -> Self {
        let app = App::start().await;
        let ana = app.ana().await;
        let ben = app.member("Ben", Some("approver")).await;
        let chen = app.member("Chen", Some("approver")).await;
        let eve = app.member("Eve", Some("editor")).await;
        ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
        let shop = Self { app, ana, ben, chen, eve };
        let done = ask(&shop.ana, vec![set_policy(0, &policy)]).await.expect(201);
        assert_eq!(done.body["state"], "applied", "nobody has to agree to the first policy");
        shop
    }

    /// What edges hold of an environment.
    pub(crate) async fn state_of(&self, environment: &str) -> Vec<(String, String)> {
        sqlx::query_as(
            "select state.key, state.value from state
             join environments on environments.id = state.environment_id
             where environments.key = $1
             order by state.key",
        )
        .bind(environment)
        .fetch_all(&self.app.state.pool)
        .await
        .expect("state")
    }

    /// The id of somebody by their name.
    pub(crate) async fn id_of(&self, name: &str) -> Uuid {
        let found = sqlx::query_scalar("select id from users where name = $1").bind(name);
        found.fetch_one(&self.app.state.pool).await.expect("somebody")
    }

    /// Runs a statement that stands for what other parts of the product do.
    pub(crate) async fn execute(&self, statement: &'static str) {
        let done = sqlx::query(statement).execute(&self.app.state.pool).await.expect("a statement");
        assert!(done.rows_affected() > 0, "{statement}");
    }
}

/// Turns `checkout` on in an environment.
pub(crate) fn turn_on(environment: &str, version: u64) -> Value {
    json!({ "kind": "save_config", "flag": "checkout", "environment": environment, "version": version, "config": on() })
}

/// Sets the policy of production.
pub(crate) fn set_policy(version: u64, policy: &Value) -> Value {
    json!({ "kind": "set_policy", "environment": "production", "version": version, "policy": policy })
}

pub(crate) async fn ask(person: &Person, changes: Vec<Value>) -> Answer {
    person.post(CHANGESETS, json!({ "changes": changes, "note": "because" })).await
}

/// Asks for something that has to wait; answers its path.
pub(crate) async fn request(person: &Person, changes: Vec<Value>) -> String {
    let asked = ask(person, changes).await.expect(201);
    assert_eq!((&asked.body["state"], asked.body.get("revision")), (&json!("in_review"), None), "{}", asked.body);
    format!("{CHANGESETS}/{}", asked.body["id"].as_str().expect("an id"))
}

/// Reads a changeset and approves what was read.
pub(crate) async fn approve(person: &Person, path: &str) -> Answer {
    let seen = person.get(path).await.expect(200).body;
    person.post(&format!("{path}/approve"), json!({ "digest": seen["digest"] })).await
}

/// The same, as it stands afterwards.
pub(crate) async fn approved(person: &Person, path: &str) -> Value {
    approve(person, path).await.expect(200).body
}

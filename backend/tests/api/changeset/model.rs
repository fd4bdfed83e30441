//! All writes in any order, by people whose roles change, on two replicas: whatever happens, nothing is applied in production
//! that its policy did not allow, edges must hold what the documents give, and numbers have no gap.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sqlx::PgPool;
use time::Duration;

use super::{CHANGESETS, Shop, set_policy, turn_on};
use crate::flag::boolean;
use crate::support::Person;

/// How many histories are tried; each has a database of its own.
const CASES: u32 = 6;
const PEOPLE: [&str; 4] = ["Ana", "Ben", "Chen", "Eve"];
const ENVIRONMENTS: [&str; 3] = ["development", "staging", "production"];

/// One thing that somebody does. Numbers choose among what there is at that moment.
#[derive(Clone, Debug)]
enum Step {
    Save {
        by: usize,
        environment: usize,
        share: u32,
        draft: bool,
    },
    Several {
        by: usize,
        share: u32,
    },
    Rename {
        by: usize,
    },
    CreateFlag {
        by: usize,
    },
    Segment {
        by: usize,
    },
    Policy {
        by: usize,
        approvals: u32,
    },
    Approve {
        by: usize,
        which: usize,
    },
    /// By everybody at once, on both replicas.
    ApproveAtOnce {
        which: usize,
    },
    Edit {
        by: usize,
        which: usize,
        share: u32,
    },
    /// An edit while somebody approves what was there before.
    EditBesideApproval {
        by: usize,
        approver: usize,
        which: usize,
        share: u32,
    },
    End {
        by: usize,
        which: usize,
        verb: usize,
    },
    BreakGlass {
        by: usize,
        which: usize,
    },
    Kill {
        by: usize,
        restore: bool,
    },
    Role {
        of: usize,
        role: usize,
    },
    Disable {
        of: usize,
        back: bool,
    },
    Wait {
        hours: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (by, which, share) = (0..PEOPLE.len(), 0..8_usize, 0..4_u32);
    prop_oneof![
        6 => (by.clone(), 0..3_usize, share.clone(), proptest::bool::weighted(0.2))
            .prop_map(|(by, environment, share, draft)| Step::Save { by, environment, share, draft }),
        2 => (by.clone(), share.clone()).prop_map(|(by, share)| Step::Several { by, share }),
        1 => by.clone().prop_map(|by| Step::Rename { by }),
        1 => by.clone().prop_map(|by| Step::CreateFlag { by }),
        2 => by.clone().prop_map(|by| Step::Segment { by }),
        2 => (by.clone(), 0..4_u32).prop_map(|(by, approvals)| Step::Policy { by, approvals }),
        9 => (by.clone(), which.clone()).prop_map(|(by, which)| Step::Approve { by, which }),
        2 => which.clone().prop_map(|which| Step::ApproveAtOnce { which }),
        2 => (by.clone(), which.clone(), share.clone()).prop_map(|(by, which, share)| Step::Edit { by, which, share }),
        2 => (by.clone(), by.clone(), which.clone(), share)
            .prop_map(|(by, approver, which, share)| Step::EditBesideApproval { by, approver, which, share }),
        3 => (by.clone(), which.clone(), 0..4_usize).prop_map(|(by, which, verb)| Step::End { by, which, verb }),
        1 => (by.clone(), which).prop_map(|(by, which)| Step::BreakGlass { by, which }),
        1 => (by.clone(), any::<bool>()).prop_map(|(by, restore)| Step::Kill { by, restore }),
        2 => (1..PEOPLE.len(), 0..4_usize).prop_map(|(of, role)| Step::Role { of, role }),
        1 => (1..PEOPLE.len(), any::<bool>()).prop_map(|(of, back)| Step::Disable { of, back }),
        1 => (1..4_i64).prop_map(|hours| Step::Wait { hours }),
    ]
}

#[test]
fn whatever_people_do_production_changes_only_as_its_policy_allows() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut runner =
        TestRunner::new(Config { cases: CASES, max_shrink_iters: 20, failure_persistence: None, ..Config::default() });
    let steps = proptest::collection::vec(step(), 25..50);
    let tried = runner.run(&steps, |steps| {
        runtime.block_on(history(steps));
        Ok(())
    });
    tried.expect("no history breaks the rules");
}

async fn history(steps: Vec<Step>) {
    let mut world = World::start().await;
    for step in steps {
        let said = format!("{step:?}");
        let before = world.judged().await;
        world.take(step).await;
        world.check(&before, &said).await;
    }
    assert!(world.answers.values().sum::<u32>() > 0, "something was asked");
}

struct World {
    shop: Shop,
    /// Everybody on the one replica and on the other.
    people: Vec<[Person; 2]>,
    flags: u32,
    answers: BTreeMap<u16, u32>,
}

/// What decides about the next revision, as it stands before a step.
#[derive(Debug)]
struct Judged {
    revision: i64,
    /// How many approvals production needs; `None` when it is not protected.
    needed: Option<i64>,
    production: BTreeMap<String, Value>,
}

impl World {
    async fn start() -> Self {
        let shop = Shop::start().await;
        let staff = json!({ "definition": { "key": "staff", "included": ["ana"] }, "name": "Staff" });
        shop.ana.post("/projects/shop/segments", staff).await.expect(201);
        let replica = shop.app.replica().await;
        let all = [&shop.ana, &shop.ben, &shop.chen, &shop.eve];
        let people = all.map(|person| [person.clone(), person.at(replica)]).to_vec();
        Self { shop, people, flags: 0, answers: BTreeMap::new() }
    }

    fn pool(&self) -> &PgPool {
        &self.shop.app.state.pool
    }

    async fn judged(&self) -> Judged {
        let revision =
            sqlx::query_scalar("select revision from counter").fetch_one(self.pool()).await.expect("a number");
        let needed = sqlx::query_scalar("select (document ->> 'approvals')::bigint from policies");
        let needed = needed.fetch_optional(self.pool()).await.expect("a policy").flatten();
        Judged { revision, needed, production: self.production().await }
    }

    /// What edges must hold of production but the row of the environment, without revisions.
    async fn production(&self) -> BTreeMap<String, Value> {
        let rows: Vec<(String, Value)> = sqlx::query_as(
            "select state.key, state.value::jsonb - 'revision' - 'killed' from state
             join environments on environments.id = state.environment_id
             where environments.key = 'production' and state.key not like '%.environment'",
        )
        .fetch_all(self.pool())
        .await
        .expect("state");
        rows.into_iter().collect()
    }

    /// The config of `checkout` with a share and maybe a segment, on the version that there is.
    async fn config(&self, environment: &str, share: u32) -> Value {
        let version: Option<i64> = sqlx::query_scalar(
            "select flag_configs.version from flag_configs
             join flags on flags.id = flag_configs.flag_id and flags.key = 'checkout'
             join environments on environments.id = flag_configs.environment_id and environments.key = $1",
        )
        .bind(environment)
        .fetch_optional(self.pool())
        .await
        .expect("a config");
        let mut change = turn_on(environment, u64::try_from(version.unwrap_or(0)).expect("a version"));
        let cut = share * 20_000 + 1;
        change["config"]["default_serve"] = json!({ "split": { "bucket_by": "targetingKey", "seed": "s", "ranges": [
            { "start": 0, "end": cut, "variant": "on" }, { "start": cut, "end": 100_000, "variant": "off" }] } });
        if share % 2 == 1 {
            change["config"]["rules"] = json!([{ "id": uuid::Uuid::nil(), "serve": { "variant": "on" },
                "conditions": { "all": [{ "operator": "in_segment", "values": ["staff"] }] } }]);
        }
        change
    }

    /// A changeset that was ever asked for: an open one more often than not.
    async fn pick(&self, which: usize) -> Option<(String, String, i64)> {
        let all: Vec<(uuid::Uuid, String, i64)> = sqlx::query_as(
            "select id, encode(digest, 'hex'), version from changesets where changes is not null
             order by state in ('applied', 'rejected', 'cancelled'), id desc limit 8",
        )
        .fetch_all(self.pool())
        .await
        .expect("changesets");
        let (id, digest, version) = all.get(which % all.len().max(1))?.clone();
        Some((format!("{CHANGESETS}/{id}"), digest, version))
    }

    fn person(&self, at: usize) -> &Person {
        // Whoever acts does it now on the one replica, now on the other.
        &self.people[at][self.answers.values().sum::<u32>() as usize % 2]
    }

    async fn post(&mut self, by: usize, path: &str, body: Value) {
        let answer = self.person(by).post(path, body).await;
        self.heard(answer.status, &answer.body);
    }

    fn heard(&mut self, status: u16, body: &Value) {
        assert!(status < 500, "{status}: {body}");
        *self.answers.entry(status).or_default() += 1;
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Save { by, environment, share, draft } => {
                let change = self.config(ENVIRONMENTS[environment], share).await;
                self.post(by, CHANGESETS, json!({ "changes": [change], "draft": draft })).await;
            }
            Step::Several { by, share } => {
                let changes = [self.config("staging", share).await, self.config("production", share).await];
                self.post(by, CHANGESETS, json!({ "changes": changes })).await;
            }
            Step::Rename { by } => {
                let version = self.version("flags").await;
                let answer =
                    self.person(by).patch("/projects/shop/flags/checkout", version, json!({ "name": "New" })).await;
                self.heard(answer.status, &answer.body);
            }
            Step::CreateFlag { by } => {
                self.flags += 1;
                let new = boolean(&format!("flag-{}", self.flags));
                self.post(by, "/projects/shop/flags", new).await;
            }
            Step::Segment { by } => {
                let version = self.version("segments").await;
                let body = json!({ "name": "Staff", "included": [format!("u{version}")] });
                let answer = self.person(by).put("/projects/shop/segments/staff", version, body).await;
                self.heard(answer.status, &answer.body);
            }
            Step::Policy { by, approvals } => {
                let version = self.version("policies").await;
                let policy = if approvals == 0 { Value::Null } else { json!({ "approvals": approvals }) };
                self.post(by, CHANGESETS, json!({ "changes": [set_policy(version, &policy)] })).await;
            }
            Step::Approve { by, which } => {
                let Some((path, digest, _)) = self.pick(which).await else { return };
                self.post(by, &format!("{path}/approve"), json!({ "digest": digest })).await;
            }
            Step::ApproveAtOnce { which } => {
                let Some((path, digest, _)) = self.pick(which).await else { return };
                let path = format!("{path}/approve");
                let all = self
                    .people
                    .iter()
                    .enumerate()
                    .map(|(at, person)| person[at % 2].post(&path, json!({ "digest": digest })));
                for answer in futures::future::join_all(all).await {
                    self.heard(answer.status, &answer.body);
                }
            }
            Step::Edit { by, which, share } => {
                let Some((path, _, version)) = self.pick(which).await else { return };
                let change = self.config("production", share).await;
                let body = json!({ "changes": [change] });
                let answer = self.person(by).put(&path, u64::try_from(version).expect("a version"), body).await;
                self.heard(answer.status, &answer.body);
            }
            Step::EditBesideApproval { by, approver, which, share } => {
                let Some((path, digest, version)) = self.pick(which).await else { return };
                let body = json!({ "changes": [self.config("production", share).await] });
                let approve_path = format!("{path}/approve");
                let edit = self.people[by][0].put(&path, u64::try_from(version).expect("a version"), body);
                let approve = self.people[approver][1].post(&approve_path, json!({ "digest": digest }));
                let (edited, approved) = futures::join!(edit, approve);
                self.heard(edited.status, &edited.body);
                self.heard(approved.status, &approved.body);
            }
            Step::End { by, which, verb } => {
                let Some((path, _, _)) = self.pick(which).await else { return };
                let verb = ["submit", "cancel", "apply", "reject"][verb];
                self.post(by, &format!("{path}/{verb}"), json!({ "reason": "no" })).await;
            }
            Step::BreakGlass { by, which } => {
                let Some((path, _, _)) = self.pick(which).await else { return };
                self.post(by, &format!("{path}/break-glass"), json!({ "reason": "it burns" })).await;
            }
            Step::Kill { by, restore } => {
                let flag = "/projects/shop/flags/checkout";
                let kill = json!({ "environments": ["production"], "reason": "it burns" });
                let lift = format!("{flag}/environments/production/restore");
                let (path, body) = if restore { (lift, json!({})) } else { (format!("{flag}/kill"), kill) };
                self.post(by, &path, body).await;
            }
            Step::Role { of, role } => {
                let role = ["viewer", "editor", "approver", "admin"][role];
                self.set(
                    "update members set role = $2 where user_id = (select id from users where name = $1)",
                    of,
                    role,
                )
                .await;
            }
            Step::Disable { of, back } => {
                let at = if back { "" } else { "now" };
                let statement =
                    "update users set disabled_at = case $2 when '' then null else now() end where name = $1";
                self.set(statement, of, at).await;
            }
            Step::Wait { hours } => self.shop.app.state.clock.advance(Duration::hours(hours)),
        }
    }

    async fn set(&self, statement: &'static str, of: usize, to: &str) {
        sqlx::query(statement).bind(PEOPLE[of]).bind(to).execute(self.pool()).await.expect("a person");
    }

    async fn version(&self, table: &'static str) -> u64 {
        let statement = match table {
            "flags" => "select version from flags where key = 'checkout'",
            "segments" => "select version from segments",
            _ => "select version from policies",
        };
        let version: i64 = sqlx::query_scalar(statement).fetch_one(self.pool()).await.expect("a version");
        u64::try_from(version).expect("a version")
    }

    async fn check(&self, before: &Judged, step: &str) {
        self.check_numbers(step).await;
        self.check_rendering(step).await;
        let rows: Vec<(i64, bool)> =
            sqlx::query_as(NEW_IN_PRODUCTION).bind(before.revision).fetch_all(self.pool()).await.expect("revisions");
        let Some(needed) = before.needed else { return };
        for (approvals, is_broken) in &rows {
            assert!(*is_broken || *approvals >= needed, "{step}: {rows:?} where {needed} are needed");
        }
        let now = self.production().await;
        assert!(now == before.production || !rows.is_empty(), "{step}: production changed without a changeset");
    }

    async fn check_numbers(&self, step: &str) {
        let (count, first, last): (i64, i64, i64) =
            sqlx::query_as("select count(*), min(revision), max(revision) from changesets where revision is not null")
                .fetch_one(self.pool())
                .await
                .expect("numbers");
        assert_eq!(count, last - first + 1, "{step}: numbers have a gap");
    }

    /// What edges must hold is what the documents give, in every environment.
    async fn check_rendering(&self, step: &str) {
        let wrong: Vec<String> = sqlx::query_scalar(
            "select environments.key || ': ' || flags.key from flag_configs
             join flags on flags.id = flag_configs.flag_id
             join environments on environments.id = flag_configs.environment_id
             left join kills on kills.flag_id = flags.id and kills.environment_id = environments.id
             left join state on state.environment_id = environments.id
                  and state.key = environments.id || '.flag.' || flags.id
             where state.value is null
                or state.value::jsonb #> '{body,config}' <> flag_configs.document
                or state.value::jsonb #> '{body,flag}' <> flags.document
                or (state.value::jsonb ->> 'killed')::boolean <> (kills.flag_id is not null)
                or (state.value::jsonb ->> 'revision')::bigint <> state.revision",
        )
        .fetch_all(self.pool())
        .await
        .expect("a comparison");
        assert_eq!(wrong, Vec::<String>::new(), "{step}");
    }
}

/// Changesets above a revision that changed production or its rules: how many valid approvals each has for the content that
/// was applied, and whether somebody passed over the policy.
const NEW_IN_PRODUCTION: &str = "
select (select count(*) from approvals
        join members on members.user_id = approvals.user_id and members.project_id = changesets.project_id
        join users on users.id = approvals.user_id and users.disabled_at is null
        where approvals.changeset_id = changesets.id and approvals.digest = changesets.digest
          and members.role in ('approver', 'admin')
          and approvals.user_id <> changesets.author_id
          and not exists (select from changeset_editors
                          where changeset_id = changesets.id and user_id = approvals.user_id)),
       changesets.break_glass is not null
from changesets
where changesets.revision > $1
  and (exists (select from revision_entries
               join environments on environments.id = revision_entries.environment_id
               where revision_entries.revision = changesets.revision and environments.key = 'production'
                 and revision_entries.entity in ('config', 'policy')
                 and revision_entries.before is distinct from revision_entries.after)
       or exists (select from state
                  join environments on environments.id = state.environment_id and environments.key = 'production'
                  where state.revision = changesets.revision and state.key not like '%.environment'
                    and not exists (select from revision_entries
                                    where revision_entries.revision = changesets.revision
                                      and revision_entries.entity = 'kill')))
order by changesets.revision";

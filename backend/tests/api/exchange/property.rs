//! Projects made by chance come back as they went out, whatever they were before.

use backend::app::exchange;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{export, file, import, plan};
use crate::support::App;

const CASES: u64 = 3;
/// Each project becomes so many others, one after the other.
const STEPS: usize = 4;
const FLAGS: usize = 8;
const SEGMENTS: usize = 5;
const ENVIRONMENTS: [&str; 3] = ["development", "staging", "production"];
const TEXTS: [&str; 6] = ["pro", "10.0", "ΟΔΟΣ", "say \"hi\"", "a\u{1}b", "2027-01-01T00:00:00Z"];

struct Chance(StdRng);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0.random_range(0..most)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len())]
    }

    /// Of an order made by chance only later ones are referred to, so that nothing needs itself.
    fn after(&mut self, order: &[usize], at: usize, present: &[bool]) -> Vec<usize> {
        let place = order.iter().position(|other| *other == at).expect("a place");
        let later: Vec<usize> = order[place + 1..].iter().copied().filter(|other| present[*other]).collect();
        let count = if later.is_empty() { 0 } else { self.below(3.min(later.len() + 1)) };
        let mut chosen: Vec<usize> = (0..count).map(|_| later[self.below(later.len())]).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }

    fn conditions(&mut self, segments: &[String]) -> Value {
        let leaf = if segments.is_empty() || self.one_in(2) {
            json!({ "attribute": "plan", "operator": "equals", "values": [self.text()], "negate": self.one_in(2) })
        } else {
            json!({ "operator": "in_segment", "values": segments })
        };
        if self.one_in(3) { json!({ "any": [leaf, { "all": [] }] }) } else { json!({ "all": [leaf] }) }
    }

    fn serve(&mut self, variants: &[String]) -> Value {
        let first = &variants[self.below(variants.len())];
        if self.one_in(2) {
            return json!({ "variant": first });
        }
        let second = &variants[self.below(variants.len())];
        let cut = 1 + self.below(99_998);
        json!({ "split": { "bucket_by": "targetingKey", "seed": self.text(), "ranges": [
            { "start": 0, "end": cut, "variant": first }, { "start": cut, "end": 100_000, "variant": second } ] } })
    }

    /// With all flags and segments that there ever are, or without some.
    fn project(&mut self, is_full: bool) -> Value {
        let present: Vec<bool> = (0..SEGMENTS).map(|_| is_full || !self.one_in(4)).collect();
        let order = self.order(SEGMENTS);
        let mut segments = Vec::new();
        for at in (0..SEGMENTS).filter(|at| present[*at]) {
            let uses: Vec<String> = self.after(&order, at, &present).iter().map(|n| format!("s{n}")).collect();
            segments.push(json!({ "definition": {
                "key": format!("s{at}"), "excluded": [self.text()], "included": [self.text()],
                "conditions": self.conditions(&uses),
            }, "name": self.text() }));
        }
        let known: Vec<String> = (0..SEGMENTS).filter(|at| present[*at]).map(|n| format!("s{n}")).collect();
        let there: Vec<bool> = (0..FLAGS).map(|_| is_full || !self.one_in(4)).collect();
        let variants: Vec<Vec<String>> = (0..FLAGS).map(|_| self.variants()).collect();
        let mut flags: Vec<Value> = (0..FLAGS).filter(|at| there[*at]).map(|at| self.flag(at, &variants[at])).collect();
        for environment in ENVIRONMENTS {
            let order = self.order(FLAGS);
            for (index, at) in (0..FLAGS).filter(|at| there[*at]).enumerate() {
                let parents = self.after(&order, at, &there);
                let config = self.config(&variants, at, &parents, &known);
                flags[index]["environments"][environment] = config;
            }
        }
        let mut made = file(json!(flags), json!(segments));
        if self.one_in(2) {
            made["attributes"] =
                json!([{ "name": "plan", "type": "text", "suggestions": [self.text()], "description": "" }]);
            made["metrics"] = json!([{ "name": "Sales", "event": "buy", "kind": if self.one_in(2) { "numeric" } else { "conversion" } }]);
        }
        made
    }

    fn variants(&mut self) -> Vec<String> {
        let mut variants: Vec<String> = (0..4).filter(|_| self.one_in(2)).map(|n| format!("v{n}")).collect();
        variants.push("last".into());
        variants
    }

    fn flag(&mut self, at: usize, variants: &[String]) -> Value {
        let variants: Vec<Value> = variants.iter().map(|key| json!({ "key": key, "value": self.text() })).collect();
        json!({
            "definition": { "key": format!("f{at}"), "value_type": "string", "variants": variants,
                            "kind": if self.one_in(2) { "release" } else { "operational" },
                            "client_visible": self.one_in(2) },
            "name": self.text(), "description": self.text(), "tags": ["x"],
            "lifetime": if self.one_in(2) { json!("permanent") } else { json!({ "days": 1 + self.below(3_650) }) },
            "environments": {},
        })
    }

    fn config(&mut self, variants: &[Vec<String>], at: usize, parents: &[usize], segments: &[String]) -> Value {
        let needed: Vec<Value> = parents
            .iter()
            .map(|parent| {
                let of = &variants[*parent];
                json!({ "flag": format!("f{parent}"), "variants": [of[self.below(of.len())]] })
            })
            .collect();
        let used: Vec<String> = segments.iter().filter(|_| self.one_in(2)).cloned().collect();
        let rule = json!({ "id": Uuid::from_u128(self.0.random()), "name": self.text(), "paused": self.one_in(3),
                           "conditions": self.conditions(&used), "serve": self.serve(&variants[at]) });
        json!({
            "enabled": self.one_in(2), "off_variant": variants[at][0], "prerequisites": needed,
            "targets": [{ "variant": variants[at][0], "keys": [self.text()] }], "rules": [rule],
            "default_serve": self.serve(&variants[at]),
        })
    }
}

/// The parts of a file that an import decides.
fn parts(file: &Value) -> Value {
    json!([file["flags"], file["segments"], file["attributes"], file["metrics"]])
}

/// What is left of archived flags would be in the way of flags of their keys.
async fn delete_archived(app: &App) {
    let archived: Vec<(String, i64)> =
        sqlx::query_as("select key, version from flags where archived_at is not null order by key")
            .fetch_all(&app.state.pool)
            .await
            .expect("flags");
    let delete = |(key, version): &(String, i64)| {
        let change = json!({ "kind": "delete_flag", "flag": key, "version": version });
        serde_json::from_value(change).expect("a change")
    };
    if !archived.is_empty() {
        app.apply(archived.iter().map(delete).collect()).await.expect("deleted");
    }
}

#[tokio::test]
async fn whatever_a_project_was_it_becomes_what_the_file_says() {
    for seed in 0..CASES {
        let app = App::start().await;
        let ana = app.ana().await;
        let mut chance = Chance(StdRng::seed_from_u64(seed));
        for step in 0..STEPS {
            let wanted = chance.project(false);
            let done = import(&ana, &wanted, true).await;
            assert_eq!(done.status, 200, "seed {seed}, step {step}: {}", done.body);
            assert_eq!(done.body["problem"], Value::Null, "seed {seed}, step {step}");
            let now = export(&ana).await;
            let planned = plan(&ana, &wanted, true).await.expect(200).body;
            assert_eq!((&planned["items"], &planned["slices"]), (&json!([]), &json!(0)), "seed {seed}, step {step}");
            let again = plan(&ana, &now, true).await.expect(200).body;
            assert_eq!((&again["items"], &again["notes"]), (&json!([]), &json!([])), "seed {seed}, step {step}");
            delete_archived(&app).await;
        }
        let last = export(&ana).await;
        let other = App::start().await;
        let there = other.ana().await;
        import(&there, &last, false).await.expect(200);
        assert_eq!(parts(&export(&there).await), parts(&last), "seed {seed}");
    }
}

#[tokio::test]
async fn the_changes_of_an_import_are_right_wherever_they_are_cut_into_slices() {
    for seed in 0..CASES {
        let app = App::start().await;
        let ana = app.ana().await;
        let mut chance = Chance(StdRng::seed_from_u64(1_000 + seed));
        for step in 0..STEPS {
            let wanted = chance.project(true);
            let file = serde_json::from_value(wanted.clone()).expect("a file");
            let who = app.in_shop().await;
            let slices = exchange::changes(&app.state, &who, file, false).await.expect("a plan");
            for change in slices.into_iter().flatten() {
                let told = format!("seed {seed}, step {step}: {change:?}");
                app.apply(vec![change]).await.unwrap_or_else(|error| panic!("{told}: {error}"));
            }
            let planned = plan(&ana, &wanted, false).await.expect(200).body;
            assert_eq!(planned["slices"], 0, "seed {seed}, step {step}: {}", planned["items"]);
        }
    }
}

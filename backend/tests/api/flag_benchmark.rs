//! How fast the list of flags and a toggle are at 10,000 flags × 3 environments. Printed, not judged: run it alone,
//! on a machine that does nothing else: `cargo test --release -p backend --test api flag_benchmark:: -- --ignored
//! --nocapture`.

use std::time::Instant;

use serde_json::json;

use crate::flag::boolean;
use crate::ingest::run;
use crate::support::{Answer, App};

const FLAGS: u64 = 10_000;
const ROUNDS: usize = 60;

/// Every flag looks like this one, in all environments.
async fn many(app: &App) -> crate::support::Person {
    let ana = app.ana().await;
    let mut new = boolean("flag-0");
    new["start"] = json!({ "staging": { "enabled": true, "share": 25_000 }, "development": { "enabled": true } });
    new["description"] = json!("A description of the usual length, which says what the flag is for and whom to ask.");
    new["tags"] = json!(["web"]);
    ana.post("/projects/shop/flags", new).await.expect(201);
    let pool = &app.state.pool;
    run(
        pool,
        &format!(
            "insert into flags (id, project_id, key, name, description, tags, kind, format, document, version, created_at,
                                created_by, changed_at, changed_by, owner_id)
             select gen_random_uuid(), project_id, 'team-' || n % 50 || '/feature-' || n, 'Feature ' || n || ' of team ' || n % 50,
                    description, case when n % 3 = 0 then tags else array['api', 'team-' || n % 50] end, kind, format,
                    jsonb_set(document, '{{key}}', to_jsonb('team-' || n % 50 || '/feature-' || n)), 1,
                    created_at - n * interval '1 minute', created_by, changed_at - n * interval '1 second', changed_by, owner_id
             from flags cross join generate_series(1, {FLAGS} - 1) as n"
        ),
    )
    .await;
    run(
        pool,
        "insert into flag_configs (flag_id, environment_id, enabled, shape, format, document, version, note, changed_at,
                                   changed_by)
         select flags.id, source.environment_id, source.enabled, source.shape, source.format, source.document, 1, '',
                source.changed_at, source.changed_by
         from flags
         cross join flag_configs source
         join flags original on original.id = source.flag_id
         where original.key = 'flag-0' and flags.key <> 'flag-0'",
    )
    .await;
    run(
        pool,
        "insert into state (environment_id, key, revision, killed, deleted, bytes, value)
         select flag_configs.environment_id, flag_configs.environment_id || '.flag.' || flags.id, source.revision, false,
                false, source.bytes, replace(source.value, 'flag-0', flags.key)
         from flag_configs
         join flags on flags.id = flag_configs.flag_id and flags.key <> 'flag-0'
         join state source on source.environment_id = flag_configs.environment_id and source.key like '%.flag.%'",
    )
    .await;
    run(
        pool,
        "insert into kills (flag_id, environment_id, reason, killed_at, killed_by)
         select flags.id, environments.id, 'incident', now(), flags.created_by
         from flags cross join environments
         where environments.key = 'production' and right(flags.key, 3) = '123'",
    )
    .await;
    run(pool, "vacuum analyze").await;
    ana
}

#[expect(clippy::print_stdout, reason = "what a benchmark measured is what it is for")]
async fn measured(what: &str, mut ask: impl AsyncFnMut(usize) -> Answer) {
    let mut took = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let began = Instant::now();
        let answer = ask(round).await;
        took.push(began.elapsed().as_secs_f64() * 1_000.0);
        answer.expect(200);
    }
    took.sort_by(f64::total_cmp);
    println!("{what:44} {:7.1} ms p50, {:7.1} ms p95", took[ROUNDS / 2], took[ROUNDS * 95 / 100]);
}

#[tokio::test]
#[ignore = "a benchmark: it prints and judges nothing"]
async fn ten_thousand_flags_in_three_environments() {
    let app = App::start().await;
    let ana = many(&app).await;
    let list = "/projects/shop/flags";
    let page = ana.get(list).await.expect(200).body;
    assert_eq!((&page["total"], page["items"].as_array().map(Vec::len)), (&json!(FLAGS), Some(100)));
    let ask = async |query: &str| ana.get(&format!("{list}?{query}")).await;
    measured("first page", async |_| ask("").await).await;
    let next = page["next"].as_str().expect("a next page").to_owned();
    measured("second page", async |_| ask(&format!("after={next}")).await).await;
    measured("by name, from the end", async |_| ask("sort=name&order=desc").await).await;
    measured("search for a key", async |round| ask(&format!("q=team-7/feature-{}", round * 50 + 7)).await).await;
    measured("search for the beginning of a word", async |_| ask("q=feat").await).await;
    measured("search for two words", async |_| ask("q=usual%20team").await).await;
    measured("search for what nothing has", async |_| ask("q=zzzz").await).await;
    measured("part in staging, a tag", async |_| ask("state=part:staging&tag=web").await).await;
    measured("killed in production", async |_| ask("state=killed:production").await).await;
    measured("differs from another environment", async |_| ask("state=differs:staging:production").await).await;
    measured("never evaluated", async |_| ask("state=never_evaluated").await).await;
    measured("tags", async |_| ana.get("/projects/shop/tags").await).await;
    measured("compare, what differs", async |_| {
        ana.get("/projects/shop/compare?from=staging&to=production&differs=true").await
    })
    .await;
    let path = "/projects/shop/flags/team-7%2Ffeature-7/environments/production";
    let config =
        |on: bool| json!({ "config": { "enabled": on, "off_variant": "off", "default_serve": { "variant": "on" } } });
    measured("toggle", async |round| ana.put(path, round as u64 + 1, config(round % 2 == 0)).await).await;
}

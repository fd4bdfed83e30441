//! What counting costs: the work of requests with and without it, in turns in one process, on as many threads as the edge
//! has, so that cells are shared by cores as they are in service.
//!
//! `cargo run --release -p edge --example counting -- 14`, where 14 is the CPU time of a whole request over HTTP in
//! microseconds, as the README has it. Prints CPU time per request, medians over rounds in which the variants take turns.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use edge::app::App;
use edge::count::unit;
use edge::sdk_key::Credential;
use edge::{bundle, config, feed};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::evaluation::{Context, Query, Reason, Unit, evaluate_flag};
use shared::wire::bundle::Bundle;
use shared::wire::count::Mode;
use shared::wire::state::{Entity, StateKey};
use uuid::Uuid;

const KEY: &str = "fg_srv_example";
const FLAGS: u128 = 1_000;
const USERS: usize = 10_000;
const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(200);

/// How much of it is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    Off,
    Counts,
    Exposures,
}

/// An environment in which every second flag divides its users; of these, every second is an experiment.
fn app() -> App {
    let id = Uuid::from_u128(0xe1);
    let hash: String = Sha256::digest(KEY).iter().map(|byte| format!("{byte:02x}")).collect();
    let key = |entity| StateKey { environment: id.into(), entity }.to_string();
    let value = |body: Value| json!({"format": 1, "revision": 1, "body": body});
    let mut values = serde_json::Map::new();
    let named = json!({"project": "shop", "key": "production", "unit_key": id});
    values.insert(key(Entity::Environment), value(named));
    values.insert(key(Entity::SdkKey(id.into())), value(json!({"hash": hash, "kind": "server"})));
    let half = json!({"split": {"bucket_by": "targetingKey", "seed": "s", "ranges": [
        {"start": 0, "end": 50_000, "variant": "on"}, {"start": 50_000, "end": 100_000, "variant": "off"}]}});
    for number in 0..FLAGS {
        let serve = if number % 2 == 0 { half.clone() } else { json!({"variant": "on"}) };
        let kind = if number % 4 == 0 { "experiment" } else { "release" };
        let rule = json!({"id": Uuid::from_u128(number), "serve": {"variant": "off"},
                          "conditions": {"attribute": "plan", "operator": "equals", "values": ["enterprise"]}});
        let variants = json!([{"key": "on", "value": "true"}, {"key": "off", "value": "false"}]);
        let body = json!({
            "flag": {"key": format!("flag-{number:05}"), "value_type": "boolean", "variants": variants, "kind": kind,
                     "client_visible": false},
            "config": {"enabled": true, "rules": [rule], "default_serve": serve},
        });
        values.insert(key(Entity::Flag(Uuid::from_u128(number).into())), value(body));
    }
    let bundle =
        json!({"kind": "fluxgate-bundle", "format": 1, "exported_at": "2026-12-01T10:00:00Z", "values": values});
    let bundle = Bundle::parse(bundle.to_string().as_bytes()).expect("a bundle");
    let app = App::new(&config::Cache { assignment_max_capacity: 10_000_000 });
    feed::answer_from(&app, &bundle::records(bundle));
    app
}

/// What stands between the last byte of a request and its answer, without writing that.
fn request(app: &App, headers: &HeaderMap, flag: &str, body: &str, counting: Counting) {
    let snapshot = app.snapshot.load();
    let credential = Credential::of(headers);
    let opened = credential.open(&snapshot).expect("the key opens");
    let context: Context<'_> = serde_json::from_str(body).expect("a context");
    let entry = opened.environment.flag(flag).expect("the flag");
    let query = Query { context: &context, now_ms: 0, asker: opened.key.kind };
    let outcome = evaluate_flag(opened.environment, &entry.flag.flag, entry.is_killed, &query);
    black_box(&outcome);
    if counting == Counting::Off {
        return;
    }
    opened.key.requests.add();
    entry.flag.cells.add(&outcome, Mode::Single);
    opened.environment.stats.add(outcome.reason);
    if counting == Counting::Exposures
        && entry.flag.is_experiment
        && outcome.reason == Reason::Split
        && let Some(unit_key) = &opened.environment.unit_key
        && let Some(Unit { attribute, key }) = entry.flag.flag.unit(outcome.place, &context)
        && let Some(variant) = outcome.variant_index
        && let Some(exposure) =
            app.counters.expose(&entry.flag.cells, outcome.place, variant, unit(unit_key, attribute, &key))
    {
        app.metrics.exposed(exposure);
    }
}

/// CPU time of one request in nanoseconds, over one round.
fn round(app: &App, flags: &[String], bodies: &[String], counting: Counting) -> f64 {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (done, stops) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (done, stops) = (&done, &stops);
            scope.spawn(move || {
                let mut headers = HeaderMap::new();
                headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {KEY}")).expect("text"));
                let mut at = thread * 7_919;
                while !stops.load(Ordering::Relaxed) {
                    for _ in 0..100 {
                        request(app, &headers, &flags[at % flags.len()], &bodies[at % bodies.len()], counting);
                        at += 1;
                    }
                    done.fetch_add(100, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(ROUND);
        stops.store(true, Ordering::Relaxed);
    });
    began.elapsed().as_nanos() as f64 * threads as f64 / done.load(Ordering::Relaxed) as f64
}

fn main() {
    let whole_us: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(14.0);
    let app = app();
    let flags: Vec<String> = (0..FLAGS).map(|number| format!("flag-{number:05}")).collect();
    let bodies: Vec<String> = (0..USERS)
        .map(|user| {
            format!(
                r#"{{"targetingKey":"user-{user}","email":"someone@example.com","plan":"pro","country":"DE","age":37,
                "version":"2.14.3","beta":true,"device":"phone","company":"c-1138","locale":"de-DE"}}"#
            )
        })
        .collect();
    let variants = [Counting::Off, Counting::Counts, Counting::Exposures];
    let mut measured = variants.map(|_| Vec::with_capacity(ROUNDS));
    for turn in 0..ROUNDS {
        for at in 0..variants.len() {
            // Another one begins each time, so that none always follows the same.
            let at = (at + turn) % variants.len();
            measured[at].push(round(&app, &flags, &bodies, variants[at]));
            // As the sender does every few seconds.
            app.counters.harvest(0, &mut edge::count::Accumulator::default());
        }
    }
    let medians = measured.map(|mut rounds| {
        rounds.sort_by(f64::total_cmp);
        rounds[rounds.len() / 2]
    });
    for (name, ns) in ["without counting", "with counts", "with counts and exposures"].iter().zip(medians) {
        let more = ns - medians[0];
        let share = more / (whole_us * 1e3) * 100.0;
        println!("{name:26} {ns:8.0} ns a request, {more:+6.0} ns, {share:+5.2} % of a request of {whole_us} µs");
    }
}

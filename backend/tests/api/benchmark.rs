//! What ingest costs and how large counts become. Printed, not judged: run it alone, on a machine that does nothing else:
//! `cargo test -p backend --test api benchmark:: -- --ignored --nocapture`.

use std::time::Instant;

use backend::leader::ingest::Ingester;
use backend::leader::{partition, rollup};
use shared::evaluation::Reason;
use shared::model::id::{EnvironmentId, FlagId, ProcessId};
use shared::wire::count::{CountBatch, ENTRIES_MAX, EvaluationCount};
use sqlx::PgPool;
use uuid::Uuid;

use crate::ingest::{batch, connect, evaluated, minute_of, number, run};
use crate::support::{App, new_id};

/// Flags with three series each.
const FLAGS: u64 = 10_000;
const ROWS: u64 = 1_000_000;
const ROUNDS: u64 = 7;

/// A full batch of distinct series, as one edge would send it.
fn full(process: ProcessId, sequence: u64, environment: EnvironmentId, minute: i64, first: u64) -> CountBatch {
    let evaluations = (0..ENTRIES_MAX as u64).map(|at| {
        let series = first + at;
        let flag = FlagId::from(Uuid::from_u128(u128::from(series / 3)));
        EvaluationCount {
            place: format!("rule {}", Uuid::from_u128(u128::from(series / 3) << 64)),
            variant: Some(format!("variant-{}", series % 3)),
            reason: Some(Reason::Split),
            ..evaluated(environment, flag, minute, 7)
        }
    });
    CountBatch { evaluations: evaluations.collect(), ..batch(process, sequence) }
}

/// The median of what each round took, in milliseconds, with the slowest.
#[expect(clippy::print_stdout, reason = "what a benchmark measured is what it is for")]
fn told(what: &str, mut took: Vec<f64>) {
    took.sort_by(f64::total_cmp);
    println!("{what:48} {:7.1} ms median, {:7.1} ms slowest", took[took.len() / 2], took[took.len() - 1]);
}

#[tokio::test]
#[ignore = "a benchmark: it prints and judges nothing"]
async fn ten_thousand_entries_into_a_million_rows() {
    let app = App::start().await;
    let pool = &app.state.pool;
    let (now, environment, process) = (app.state.clock.now(), EnvironmentId::from(new_id()), ProcessId::from(new_id()));
    let mut client = connect(&app).await;
    partition::keep(&mut client, now).await.expect("partitions");
    let mut ingester = Ingester::connect(&app.state.config.database.url).await.expect("an ingester");
    let minute = minute_of(now);
    let series = FLAGS * 3;
    let mut sequence = 0;
    let mut add = async |ingester: &mut Ingester, minute, first| {
        sequence += 1;
        let sent = full(process, sequence, environment, minute, first);
        let began = Instant::now();
        ingester.add(&[sent], now, 1).await.expect("added");
        began.elapsed().as_secs_f64() * 1_000.0
    };
    let mut took = Vec::new();
    for part in 0..series / ENTRIES_MAX as u64 {
        took.push(add(&mut ingester, minute - 60, part * ENTRIES_MAX as u64).await);
    }
    told("series that did not exist", took);
    run(
        pool,
        &format!(
            "insert into minute_counts (series, minute, count)
             select id, to_timestamp(({minute}::bigint - 5 - at) * 60), 5
             from generate_series(1, {ROWS} / {series}) as at, evaluation_series
             order by at, id
             on conflict do nothing"
        ),
    )
    .await;
    // As autovacuum leaves them.
    run(pool, "vacuum analyze minute_counts").await;
    run(pool, "vacuum analyze evaluation_series").await;
    println!("{} minute rows are there", number(pool, "select count(*) from minute_counts").await);
    let (mut new_minute, mut same_minute, mut restarted) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let first = round % 3 * ENTRIES_MAX as u64;
        new_minute.push(add(&mut ingester, minute - 4 + (round / 3) as i64, first).await);
        same_minute.push(add(&mut ingester, minute - 4 + (round / 3) as i64, first).await);
        let mut fresh = Ingester::connect(&app.state.config.database.url).await.expect("an ingester");
        restarted.push(add(&mut fresh, minute - 4 + (round / 3) as i64, first).await);
    }
    told("known series, the first of a minute", new_minute);
    told("known series, the same minute again", same_minute);
    told("the same by a leader that just began", restarted);
    sizes(pool, &mut client, now).await;
}

/// Bytes of a row with its indexes, and what follows for days.
#[expect(clippy::print_stdout, reason = "what a benchmark measured is what it is for")]
async fn sizes(pool: &PgPool, client: &mut tokio_postgres::Client, now: time::OffsetDateTime) {
    rollup::pass(client, now + time::Duration::days(2)).await.expect("a pass");
    run(pool, "vacuum full evaluation_series").await;
    run(pool, "vacuum full hour_counts").await;
    let bytes = async |tables: &str, rows: &str| {
        let size = format!(
            "select sum(pg_total_relation_size(oid))::bigint from pg_class where relkind = 'r' and relname like '{tables}'"
        );
        let rows = number(pool, &format!("select count(*) from {rows}")).await;
        number(pool, &size).await as f64 / rows as f64
    };
    let minute = bytes("minute_counts_2%", "minute_counts").await;
    let hour = bytes("hour_counts", "hour_counts").await;
    let series = bytes("evaluation_series", "evaluation_series").await;
    println!("\nbytes per row with indexes: minute {minute:.0}, hour {hour:.0}, series {series:.0}");
    println!(
        "flags | edges | series | minute rows a day | of them per edge | hour rows a day | GB of 7 days of minutes | GB of 90 days of hours"
    );
    for flags in [1_000_u64, 10_000] {
        for edges in [1_u64, 10, 100] {
            // What counts flags is the same for any number of edges; each edge adds its own sums (reason × mode, 4 used).
            let (of_flags, of_edges) = (flags * 3, edges * 4);
            let (minutes, hours) = ((of_flags + of_edges) * 1_440, (of_flags + of_edges) * 24);
            println!(
                "{flags} | {edges} | {} | {minutes} | {} | {hours} | {:.2} | {:.2}",
                of_flags + of_edges,
                of_edges * 1_440,
                minutes as f64 * 7.0 * minute / 1e9,
                hours as f64 * 90.0 * hour / 1e9,
            );
        }
    }
}

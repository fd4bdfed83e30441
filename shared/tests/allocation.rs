//! Answering allocates nothing.

mod support;

use std::alloc::System;

use shared::compare::moment::Moment;
use shared::evaluation::{Context, Query, State, evaluate};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::generate::Generator;
use support::vectors::{FILES, read};

#[global_allocator]
static ALLOCATIONS: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One test in a binary of its own: whatever else ran would be counted too.
#[test]
fn no_answer_allocates() {
    for (name, text) in FILES {
        let file = read(name, text);
        for case in &file.cases {
            let state = State::compile(&file.environments[&case.environment]);
            let context: Context<'_> = serde_json::from_str(case.context.get()).expect("a context");
            let now = case.now.as_deref().unwrap_or("2027-01-01T00:00:00Z");
            let now_ms = Moment::parse(now).expect("a time").unix_ms();
            assert_free(&state, &case.flag, &Query { context: &context, now_ms, asker: case.asker }, &case.name);
        }
    }
    for seed in 0..200 {
        let mut generator = Generator::new(seed);
        let state = State::compile(&generator.state());
        for _ in 0..20 {
            let json = generator.context();
            let context: Context<'_> = serde_json::from_str(&json).expect("a context");
            let query = generator.query(&context);
            for flag in 0..6 {
                assert_free(&state, &format!("f{flag}"), &query, &json);
            }
        }
    }
}

fn assert_free(state: &State, flag: &str, query: &Query<'_>, what: &str) {
    // The first use of a pattern on a thread makes room for its search.
    evaluate(state, flag, query);
    let region = Region::new(ALLOCATIONS);
    let outcome = evaluate(state, flag, query);
    let change = region.change();
    assert_eq!(change.allocations + change.reallocations, 0, "{what}: {outcome:?}");
}

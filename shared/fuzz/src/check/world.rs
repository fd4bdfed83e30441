//! A state, and what must hold for every answer that it gives.

use std::collections::BTreeMap;

use shared::evaluation::{
    ConditionTrace, Context, Environment, ErrorCode, Outcome, Place, Query, Reason, SegmentTrace, State, StateDocument,
    StateFlag, Trace, evaluate, explain,
};
use shared::model::key::FlagKey;
use shared::model::sdk_key::SdkKeyKind;

use super::reference::{Answer, Reference};
use super::said::Never;

/// The first of the times at which flags are asked: 2027-01-01.
pub const NOW_MS: i64 = 1_798_761_600_000;

/// A state with its documents.
pub struct World<'d> {
    flags: BTreeMap<&'d str, &'d StateFlag>,
    state: State,
    reference: Reference<'d>,
    /// The times at which flags are asked.
    times_ms: [i64; 2],
}

impl<'d> World<'d> {
    /// Compiles a document.
    pub fn new(document: &'d StateDocument) -> Self {
        let flags: BTreeMap<_, _> = document.flags.iter().map(|flag| (flag.flag.key.as_str(), flag)).collect();
        let state = State::compile(document);
        let compiled = flags.keys().filter_map(|key| state.flag(key));
        let boundary = compiled.filter_map(|(flag, _)| flag.next_boundary_ms(NOW_MS)).min();
        assert!(boundary.is_none_or(|at| at > NOW_MS), "a boundary lies ahead");
        let times_ms = [NOW_MS, boundary.unwrap_or(i64::MAX)];
        Self { flags, state, reference: Reference::new(document), times_ms }
    }

    /// Whether every flag compiled, segments included: then no context can make an answer unreadable.
    pub fn is_readable(&self) -> bool {
        let context = Context::default();
        let query = self.query(&context, NOW_MS, SdkKeyKind::Server);
        let outcomes = self.flags.keys().map(|key| evaluate(&self.state, key, &query));
        outcomes.into_iter().all(|outcome| !matches!(outcome.place, Place::Error(ErrorCode::ParseError)))
    }

    /// Asks every flag about a context: as a server and as a client, now and when the first condition on the time
    /// turns. What warnings rule out does not happen.
    pub fn ask(&self, context: &Context<'_>, ruled_out: &[(FlagKey, Never)]) {
        for now_ms in self.times_ms {
            let answers = self.reference.answers(context, now_ms);
            for (key, flag) in &self.flags {
                let outcome = self.outcome(key, &self.query(context, now_ms, SdkKeyKind::Server));
                let answer = answers[key];
                assert_eq!(Answer::from(outcome), answer, "{key} about {context:?}");
                self.check_outcome(key, flag, &outcome);
                let mut warned = ruled_out.iter().filter(|(warned, _)| warned.as_str() == *key);
                let refuted = warned.find(|(_, never)| never.is_refuted_by(&outcome));
                assert!(refuted.is_none(), "{refuted:?}, and yet {outcome:?} about {context:?}");
                let seen = self.outcome(key, &self.query(context, now_ms, SdkKeyKind::Client));
                if flag.flag.client_visible {
                    let is_visible = |parent: &&str| self.flags.get(parent).is_some_and(|f| f.flag.client_visible);
                    let expected = Outcome { blocked_by: answer.blocked_by.filter(is_visible), ..outcome };
                    assert_eq!(seen, expected, "{key} for a client");
                } else {
                    assert_eq!(seen.place, Place::Error(ErrorCode::FlagNotFound), "{key} for a client");
                }
            }
        }
        self.check_boundary(context);
    }

    fn query<'q>(&self, context: &'q Context<'q>, now_ms: i64, asker: SdkKeyKind) -> Query<'q> {
        Query { context, now_ms, asker }
    }

    /// The answer, which is the same when asked again and when explained.
    fn outcome(&self, key: &str, query: &Query<'_>) -> Outcome<'_> {
        let outcome = evaluate(&self.state, key, query);
        assert_eq!(evaluate(&self.state, key, query), outcome, "{key} asked again");
        let (explained, trace) = explain(&self.state, key, query);
        assert_eq!(explained, outcome, "{key} explained");
        let Some(trace) = trace else {
            assert_eq!(outcome.place, Place::Error(ErrorCode::FlagNotFound), "{key} has no trace");
            return outcome;
        };
        assert_eq!(trace.flag.as_str(), key);
        self.check_trace(&trace, &outcome, query);
        serde_json::to_string(&trace).expect("a trace as JSON");
        outcome
    }

    fn check_outcome(&self, key: &str, flag: &StateFlag, outcome: &Outcome<'_>) {
        let Outcome { value, variant, variant_index, reason, error, place, blocked_by } = *outcome;
        assert_eq!(reason == Reason::Error, error.is_some(), "{key}");
        assert_eq!(error.map(|(code, _)| Place::Error(code)), Some(place).filter(|_| error.is_some()), "{key}");
        assert!(error.is_none_or(|(_, detail)| !detail.is_empty()), "{key} says what is wrong");
        assert!(blocked_by.is_none() || place == Place::Blocked, "{key}");
        let found =
            variant.map(|key| flag.flag.variants.iter().position(|v| v.key.as_str() == key).expect("a variant"));
        assert_eq!(variant_index, found.map(|at| at as u16), "{key}");
        let json = found.map(|at| flag.flag.value_type.json(&flag.flag.variants[at].value).expect("a value"));
        assert_eq!(value, json.as_deref(), "{key}");
        assert!(value.is_none_or(|json| serde_json::from_str::<serde_json::Value>(json).is_ok()), "{key}");
        let (compiled, is_killed) = self.state.flag(key).expect("a flag");
        assert_eq!(is_killed, flag.killed, "{key}");
        let may_be_unreadable = matches!(place, Place::Error(ErrorCode::ParseError) | Place::Killed);
        let known: Vec<_> = compiled.variants().map(|variant| variant.as_str()).collect();
        let variants: Vec<_> = flag.flag.variants.iter().map(|variant| variant.key.as_str()).collect();
        assert!(known == variants || (known.is_empty() && may_be_unreadable), "{key}");
    }

    fn check_trace(&self, trace: &Trace, outcome: &Outcome<'_>, query: &Query<'_>) {
        assert_eq!(trace.outcome, outcome.into());
        for (at, rule) in trace.rules.iter().enumerate() {
            let is_last = at + 1 == trace.rules.len();
            assert_eq!(rule.applied, is_last && outcome.place == Place::Rule(rule.index), "rule {}", rule.index);
            let holds = check_condition(&rule.conditions);
            assert!(holds || !(rule.applied || rule.split.is_some()), "rule {}", rule.index);
        }
        assert!(!matches!(outcome.place, Place::Rule(_)) || trace.rules.last().is_some_and(|rule| rule.applied));
        for prerequisite in &trace.prerequisites {
            // What another flag needs is what that flag answers by itself.
            let own = evaluate(&self.state, prerequisite.flag.as_str(), &Query { asker: SdkKeyKind::Server, ..*query });
            let has_answered = matches!(own.place, Place::Target | Place::Rule(_) | Place::Default);
            assert_eq!(prerequisite.variant.as_deref(), own.variant.filter(|_| has_answered), "{}", prerequisite.flag);
            let is_wanted = |variant: &str| prerequisite.wanted.iter().any(|wanted| wanted.as_str() == variant);
            assert_eq!(prerequisite.is_satisfied, prerequisite.variant.as_deref().is_some_and(is_wanted));
        }
    }

    /// Between now and the first boundary no answer changes.
    fn check_boundary(&self, context: &Context<'_>) {
        let [now_ms, boundary_ms] = self.times_ms;
        for key in self.flags.keys() {
            let answer = |at_ms| evaluate(&self.state, key, &self.query(context, at_ms, SdkKeyKind::Server));
            assert_eq!(answer(now_ms), answer(boundary_ms - 1), "{key} before {boundary_ms}");
        }
    }
}

/// Whether it holds, which follows from its members.
fn check_condition(condition: &ConditionTrace) -> bool {
    match condition {
        ConditionTrace::All { members, holds } => {
            let stopped = members.iter().position(|member| !check_condition(member));
            assert!(stopped.is_none_or(|at| at + 1 == members.len()), "it ends at the first that fails");
            assert_eq!(*holds, stopped.is_none());
            *holds
        }
        ConditionTrace::Any { members, holds } => {
            let stopped = members.iter().position(check_condition);
            assert!(stopped.is_none_or(|at| at + 1 == members.len()), "it ends at the first that holds");
            assert_eq!(*holds, stopped.is_some());
            *holds
        }
        ConditionTrace::Comparison { is_readable, holds, .. } => {
            assert!(*is_readable || !holds, "what cannot be read does not hold");
            *holds
        }
        ConditionTrace::Segments { negate, segments, holds } => {
            let stopped = segments.iter().position(check_segment);
            assert!(stopped.is_none_or(|at| at + 1 == segments.len()), "it ends at the first that it is in");
            assert_eq!(*holds, stopped.is_some() != *negate);
            *holds
        }
    }
}

fn check_segment(segment: &SegmentTrace) -> bool {
    if let Some(conditions) = &segment.conditions {
        assert_eq!(check_condition(conditions), segment.is_in);
    }
    segment.is_in
}

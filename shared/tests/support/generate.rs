//! Environments and contexts made by chance, the same from the same seed on every platform.

use serde_json::{Value, json};
use shared::evaluation::{Context, Query, State, StateDocument, evaluate};
use shared::model::condition::Operator;
use shared::model::sdk_key::SdkKeyKind;

use super::vectors::place_text;

/// What the values of attributes and conditions are drawn from, so that they meet now and then.
const TEXTS: &[&str] = &[
    "pro",
    "Pro",
    "PRO",
    "free",
    "team",
    "",
    "true",
    "10",
    "10.0",
    "9.5",
    "1e1",
    "-3",
    "1.2.3",
    "v1.2",
    "2.0.0-rc.1",
    "1.2.3+7",
    "10.0.0.7",
    "::1",
    "2001:db8::1",
    "::ffff:10.0.0.7",
    "2027-01-01T00:00:00Z",
    "2026-12-31T23:00:00-01:00",
    "someone@example.com",
    "ΟΔΟΣ",
    "οδος",
    "İstanbul",
    "straße",
    "😀",
    "u-1",
    "u-2",
    "18446744073709551615",
];
const NUMBERS: &[&str] = &[
    "0",
    "-0.0",
    "1",
    "10",
    "10.0",
    "1e1",
    "9.5",
    "-3",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "1e300",
    "1798761600000",
    "0.1",
];
const ATTRIBUTES: &[&str] =
    &["targetingKey", "bucketingKey", "plan", "age", "version", "email", "ip", "at", "user.plan", "user", "tags", "$x"];
pub const FLAGS: usize = 6;
const SEGMENTS: usize = 4;

/// A source of chance with a seed (splitmix64).
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }

    /// An environment of up to six flags `f0`…`f5` and four segments `s0`…`s3`, some of them broken or in cycles.
    pub fn state(&mut self) -> StateDocument {
        let flags: Vec<Value> = (0..FLAGS).map(|at| self.flag(at)).collect();
        let segments: Vec<Value> = (0..SEGMENTS).map(|at| self.segment(at)).collect();
        serde_json::from_value(json!({"flags": flags, "segments": segments})).expect("a state")
    }

    fn segment(&mut self, at: usize) -> Value {
        // Mostly segments of a higher number, so that cycles are there but rare.
        json!({
            "key": format!("s{at}"),
            "excluded": self.some(2, |g| json!(g.pick(TEXTS))),
            "included": self.some(2, |g| json!(g.pick(TEXTS))),
            "conditions": self.tree(2, Some(at)),
        })
    }

    fn flag(&mut self, at: usize) -> Value {
        let is_boolean = self.one_in(2);
        let variants = if is_boolean {
            json!([{"key": "on", "value": "true"}, {"key": "off", "value": "false"}])
        } else {
            json!([{"key": "on", "value": "blue"}, {"key": "off", "value": "\"green\""}, {"key": "third", "value": ""}])
        };
        let prerequisites = self.some(1, |g| {
            let near = if g.one_in(4) { FLAGS } else { 2 };
            let parent = (at + 1 + g.below(near)) % FLAGS;
            json!({"flag": format!("f{parent}"), "variants": [g.variant(false)]})
        });
        let rules = self.some(4, |g| {
            json!({
                "id": format!("00000000-0000-0000-0000-{:012}", g.below(1_000_000_000)),
                "paused": g.one_in(8),
                "conditions": g.tree(3, None),
                "serve": g.serve(is_boolean, false),
            })
        });
        let targets = self.some(2, |g| json!({"variant": g.variant(is_boolean), "keys": [g.pick(TEXTS)]}));
        json!({
            "flag": {
                "key": format!("f{at}"), "value_type": if is_boolean { "boolean" } else { "string" },
                "kind": "release", "client_visible": self.one_in(2), "variants": variants,
            },
            "config": {
                "enabled": !self.one_in(10),
                "off_variant": if self.one_in(3) { Value::Null } else { json!(self.variant(is_boolean)) },
                "prerequisites": prerequisites, "targets": targets, "rules": rules,
                "default_serve": self.serve(is_boolean, true),
            },
            "killed": self.one_in(12),
        })
    }

    fn some(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> Value) -> Vec<Value> {
        let count = self.below(most + 1);
        (0..count).map(|_| make(self)).collect()
    }

    fn variant(&mut self, is_boolean: bool) -> &'static str {
        if is_boolean { self.pick(&["on", "off"]) } else { self.pick(&["on", "off", "third"]) }
    }

    fn serve(&mut self, is_boolean: bool, is_whole: bool) -> Value {
        if self.one_in(2) {
            return json!({"variant": self.variant(is_boolean)});
        }
        let cut = self.below(100_000);
        let mut ranges = Vec::new();
        if cut > 0 {
            ranges.push(json!({"start": 0, "end": cut, "variant": self.variant(is_boolean)}));
        }
        if is_whole || self.one_in(2) || cut == 0 {
            ranges.push(json!({"start": cut, "end": 100_000, "variant": self.variant(is_boolean)}));
        }
        let bucket_by = if self.one_in(4) { self.pick(&ATTRIBUTES[..11]) } else { "targetingKey" };
        json!({"split": {"bucket_by": bucket_by, "seed": format!("s{}", self.below(5)), "ranges": ranges}})
    }

    fn tree(&mut self, depth: usize, segment: Option<usize>) -> Value {
        if depth == 0 || self.one_in(3) {
            return self.leaf(segment);
        }
        let name = self.pick(&["all", "any"]);
        let members = self.some(3, |g| g.tree(depth - 1, segment));
        json!({name: members})
    }

    pub fn leaf(&mut self, segment: Option<usize>) -> Value {
        let operator = Operator::ALL[self.below(Operator::ALL.len())].as_str();
        let mut leaf = json!({"operator": operator, "negate": self.one_in(3)});
        if operator != "in_segment" {
            let takes_now = matches!(operator, "before" | "after") && self.one_in(3);
            leaf["attribute"] = json!(if takes_now { "$now" } else { self.pick(&ATTRIBUTES[..11]) });
        }
        if operator != "exists" {
            let count = 1 + self.below(3);
            leaf["values"] = (0..count).map(|_| self.value(operator, segment)).collect();
        }
        if matches!(operator, "equals" | "contains" | "starts_with" | "ends_with") {
            leaf["ignore_case"] = json!(self.one_in(3));
        }
        leaf
    }

    fn value(&mut self, operator: &str, segment: Option<usize>) -> String {
        if self.one_in(60) && operator != "in_segment" {
            return self.pick(TEXTS).to_owned();
        }
        let value = match operator {
            "matches" => self.pick(&["^pro$", "(?i)pro", "[0-9]+", "@example\\.com$", "", "ß|Σ"]),
            "less" | "less_or_equal" | "greater" | "greater_or_equal" => self.pick(NUMBERS),
            "semver_in" => self.pick(&["^1.2", "~1", ">=1 <2", ">1.2.3, <=2.0.0", "1.2.3", "<2"]),
            operator if operator.starts_with("semver") => self.pick(&["1.2.3", "v1.2", "2.0.0-rc.1", "10.0.0"]),
            "before" | "after" => self.pick(&["2027-01-01T00:00:00Z", "2026-12-31T12:00:00", "1798761600000"]),
            "in_network" => self.pick(&["10.0.0.0/8", "0.0.0.0/0", "::/0", "::1", "2001:db8::/32"]),
            "in_segment" => {
                let from = segment.map_or(0, |at| if self.one_in(6) { 0 } else { at + 1 });
                return format!("s{}", from + self.below(SEGMENTS + 1 - from.min(SEGMENTS)));
            }
            _ => self.pick(TEXTS),
        };
        value.to_owned()
    }

    /// A context as JSON text.
    pub fn context(&mut self) -> String {
        let count = self.below(9);
        let fields: Vec<String> = (0..count)
            .map(|_| {
                let name = self.pick(ATTRIBUTES);
                format!("{}:{}", json!(name), self.json(2))
            })
            .collect();
        let key = if self.one_in(8) { self.json(1) } else { json!(format!("u-{}", self.below(1_000))).to_string() };
        let key = if self.one_in(10) { String::new() } else { format!("\"targetingKey\":{key}") };
        let all: Vec<String> = fields.into_iter().chain([key]).filter(|field| !field.is_empty()).collect();
        format!("{{{}}}", all.join(","))
    }

    fn json(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0..=3 => json!(self.pick(TEXTS)).to_string(),
            4 | 5 => self.pick(NUMBERS).to_owned(),
            6 => self.pick(&["true", "false", "null"]).to_owned(),
            7 | 8 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.json(depth - 1)).collect();
                format!("[{}]", items.join(","))
            }
            _ => format!("{{\"plan\":{},\"x\":{}}}", self.json(depth - 1), self.json(depth - 1)),
        }
    }

    /// A question about a context, at one of a few times.
    pub fn query<'c>(&mut self, context: &'c Context<'_>) -> Query<'c> {
        let now_ms = 1_798_761_600_000 + [-1, 0, 1, 86_400_000][self.below(4)];
        let asker = if self.one_in(4) { SdkKeyKind::Client } else { SdkKeyKind::Server };
        Query { context, now_ms, asker }
    }
}

/// A number for the answers to a hundred contexts in each of as many environments, equal wherever the engine is.
pub fn digest(environments: u64) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0]) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for seed in 0..environments {
        let mut generator = Generator::new(seed);
        let state = State::compile(&generator.state());
        for _ in 0..100 {
            let json = generator.context();
            let context: Context<'_> = serde_json::from_str(&json).expect("a context");
            let query = generator.query(&context);
            let outcome = evaluate(&state, &format!("f{}", generator.below(FLAGS)), &query);
            let place = place_text(outcome.place);
            for text in [outcome.value, outcome.variant, Some(&place), outcome.error.map(|e| e.1), outcome.blocked_by] {
                add(text.unwrap_or("-"));
            }
        }
    }
    digest
}

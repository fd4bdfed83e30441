//! The one table of questions and right answers, with what each client makes of them where that differs.

use serde_json::{Value, json};

use super::flag::{LARGEST, TEXT, object};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// `@openfeature/ofrep-provider`.
    Node,
    /// `openfeature-provider-ofrep` for Python.
    Python,
    /// `open-feature-ofrep` for Rust.
    Rust,
    /// `@openfeature/ofrep-web-provider`: it holds the bulk answer.
    Web,
}

/// What an application sees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) value: Value,
    pub(super) variant: Option<&'static str>,
    pub(super) reason: &'static str,
    pub(super) error: Option<&'static str>,
    /// A flag that stands in the way, told as metadata.
    pub(super) blocked_by: Option<&'static str>,
}

/// A question with its right answer.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) flag: &'static str,
    value_type: &'static str,
    fallback: Value,
    pub(super) context: Value,
    right: Answer,
    others: Vec<(Client, Answer)>,
}

impl Case {
    fn new(flag: &'static str, value_type: &'static str, fallback: Value, right: Answer) -> Self {
        let context = json!({ "targetingKey": "u1" });
        Self { flag, value_type, fallback, context, right, others: Vec::new() }
    }

    fn with(mut self, context: Value) -> Self {
        self.context = context;
        self
    }

    /// This client answers otherwise, for a reason of its own that stands beside it in the table.
    fn but(mut self, client: Client, answer: Answer) -> Self {
        self.others.push((client, answer));
        self
    }

    /// The question as a command for a script.
    pub(super) fn question(&self) -> Value {
        json!({ "do": "ask", "flag": self.flag, "type": self.value_type, "fallback": self.fallback, "context": self.context })
    }

    /// What is wrong with what a client told, if anything.
    pub(super) fn mismatch(&self, client: Client, told: &Value, metadata: &Value) -> Option<String> {
        let other = self.others.iter().find(|(who, _)| *who == client);
        let answer = other.map_or(&self.right, |(_, answer)| answer);
        let mut wanted = json!({
            "value": answer.value, "variant": answer.variant, "reason": answer.reason, "error": answer.error,
            "metadata": {}
        });
        let is_told = match client {
            // Items of a bulk answer have no metadata of their own, lest every change touch them all.
            Client::Web => answer.error == Some("FLAG_NOT_FOUND"),
            _ => answer.error.is_none(),
        };
        if is_told {
            wanted["metadata"] = metadata.clone();
        }
        if answer.error.is_none() {
            if let Some(parent) = answer.blocked_by {
                wanted["metadata"]["blockedBy"] = parent.into();
            }
            if client == Client::Rust {
                // It looks at neither: every success is STATIC and has no metadata.
                wanted["reason"] = "STATIC".into();
                wanted["metadata"] = json!({});
            }
        }
        let mut shown = told.clone();
        // For people, and each client's own.
        let message = shown.as_object_mut().and_then(|fields| fields.remove("message"));
        (!is_same(&shown, &wanted))
            .then(|| format!("{client:?} {}\n  told {shown} {message:?}\n  not  {wanted}", self.question()))
    }
}

/// Equal as JSON has it: 10 and 10.0 are one number. Which of the two came is what typed clients look at themselves.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

fn serves(value: impl Into<Value>, variant: &'static str, reason: &'static str) -> Answer {
    Answer { value: value.into(), variant: Some(variant), reason, error: None, blocked_by: None }
}

fn fails(fallback: impl Into<Value>, error: &'static str) -> Answer {
    Answer { value: fallback.into(), variant: None, reason: "ERROR", error: Some(error), blocked_by: None }
}

/// Every question for a server client that holds a valid key.
pub(super) fn server_cases() -> Vec<Case> {
    let hidden = Case::new("server-only", "boolean", json!(false), serves(true, "on", "STATIC"));
    [types(), reasons(), other_types(), unknown_flags(), vec![hidden]].concat()
}

/// Every question for a web client that holds a valid key.
pub(super) fn web_cases() -> Vec<Case> {
    let hidden = Case::new("server-only", "boolean", json!(false), fails(false, "FLAG_NOT_FOUND"));
    [types(), reasons(), other_types(), unknown_flags(), vec![hidden]].concat()
}

fn types() -> Vec<Case> {
    vec![
        Case::new("types/boolean", "boolean", json!(false), serves(true, "on", "STATIC")),
        Case::new("types/string", "string", json!("none"), serves(TEXT, "only", "STATIC")),
        Case::new("types/integer", "integer", json!(0), serves(LARGEST, "only", "STATIC")),
        Case::new("types/float", "float", json!(0.5), serves(10.0, "only", "STATIC")),
        Case::new("types/object", "object", json!({}), serves(object(), "only", "STATIC")),
    ]
}

fn reasons() -> Vec<Case> {
    let asks = |flag, right| Case::new(flag, "boolean", json!(true), right);
    let blocked = Answer { blocked_by: Some("off/with-variant"), ..serves(false, "off", "DISABLED") };
    let code_default = Answer { variant: None, ..serves(true, "", "DISABLED") };
    vec![
        asks("reason/rule", serves(false, "off", "DEFAULT")),
        asks("reason/rule", serves(true, "on", "TARGETING_MATCH")).with(json!({ "targetingKey": "u1", "plan": "pro" })),
        asks("reason/rule", serves(true, "on", "TARGETING_MATCH")).with(json!({ "plan": "pro" })),
        asks("reason/target", serves(false, "off", "TARGETING_MATCH")).with(json!({ "targetingKey": "qa-1" })),
        asks("reason/split", serves(true, "on", "SPLIT")),
        asks("reason/split", fails(true, "TARGETING_KEY_MISSING"))
            .with(json!({}))
            // It takes every 400 for this.
            .but(Client::Rust, fails(true, "INVALID_CONTEXT")),
        asks("off/with-variant", serves(false, "off", "DISABLED")),
        asks("off/blocked", blocked),
        // An answer without a value means "use the code's default". The released server clients do not know that yet;
        // all of them end at the code's default, by way of an error.
        asks("off/with-nothing", code_default)
            .but(Client::Node, fails(true, "GENERAL"))
            .but(Client::Python, fails(true, "GENERAL"))
            .but(Client::Rust, fails(true, "PARSE_ERROR")),
    ]
}

/// Asked for as something else than they are.
fn other_types() -> Vec<Case> {
    vec![
        Case::new("types/boolean", "string", json!("none"), fails("none", "TYPE_MISMATCH"))
            .but(Client::Rust, fails("none", "PARSE_ERROR")),
        Case::new("types/string", "boolean", json!(true), fails(true, "TYPE_MISMATCH"))
            .but(Client::Rust, fails(true, "PARSE_ERROR")),
        Case::new("types/object", "integer", json!(7), fails(7, "TYPE_MISMATCH"))
            .but(Client::Rust, fails(7, "PARSE_ERROR")),
        // Python alone tells an integer from a float both ways; JavaScript has one type of number.
        Case::new("types/integer", "float", json!(0.5), fails(0.5, "TYPE_MISMATCH"))
            .but(Client::Node, serves(LARGEST, "only", "STATIC"))
            .but(Client::Web, serves(LARGEST, "only", "STATIC"))
            .but(Client::Rust, serves(LARGEST, "only", "STATIC")),
        Case::new("types/float", "integer", json!(7), fails(7, "TYPE_MISMATCH"))
            .but(Client::Node, serves(10.0, "only", "STATIC"))
            .but(Client::Web, serves(10.0, "only", "STATIC"))
            .but(Client::Rust, fails(7, "PARSE_ERROR")),
    ]
}

fn unknown_flags() -> Vec<Case> {
    let unknown = |flag| Case::new(flag, "boolean", json!(true), fails(true, "FLAG_NOT_FOUND"));
    // It looks flags up in an object of JavaScript, where these are there and have no value.
    let inherited = Answer { variant: None, ..serves(true, "", "DEFAULT") };
    let plain = ["missing", "no/such/flag", "größer", "😀", "a b", "100%25", "types/boolean/"].map(unknown);
    let of_objects = ["toString", "__proto__"].map(|flag| unknown(flag).but(Client::Web, inherited.clone()));
    [plain.to_vec(), of_objects.to_vec()].concat()
}

/// What a client tells whose key is not accepted.
pub(super) fn refused() -> Case {
    Case::new("types/boolean", "boolean", json!(false), fails(false, "GENERAL"))
}

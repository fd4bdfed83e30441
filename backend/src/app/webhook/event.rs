//! What is sent of an event: one JSON text, never longer than a receiver takes.

use serde_json::{Map, Value, json};
use shared::model::timestamp::Timestamp;
use shared::model::webhook::EventType;
use time::OffsetDateTime;

use crate::error::AppError;

/// The longest body, in bytes; receivers may refuse 20 kB.
pub const BODY_BYTES_MAX: usize = 19_000;
/// The longest text inside, in characters.
const TEXT_CHARS_MAX: usize = 1_000;
/// The longest key or name inside, in characters, when everything else had to go.
const SHORT_CHARS_MAX: usize = 200;

/// Members that hold lists, in the order in which they are cut.
const LISTS: [&str; 3] = ["sentences", "flags", "environments"];

/// The text that is signed and sent. Long texts are cut; when that is not enough lists are, and `cut` says so.
pub fn body(kind: EventType, at: OffsetDateTime, data: Map<String, Value>) -> Result<String, AppError> {
    let mut data = data;
    shorten(&mut data, TEXT_CHARS_MAX);
    let mut text = written(kind, at, &data)?;
    for list in LISTS {
        let Some(Value::Array(items)) = data.get(list).cloned().filter(|_| text.len() > BODY_BYTES_MAX) else {
            continue;
        };
        let mut kept = items.len();
        while text.len() > BODY_BYTES_MAX && kept > 0 {
            kept /= 2;
            data.insert(list.into(), Value::from(items[..kept].to_vec()));
            data.insert("cut".into(), Value::from(true));
            text = written(kind, at, &data)?;
        }
    }
    if text.len() > BODY_BYTES_MAX {
        // Nothing of ours is that long; a note of another part of the product may be.
        data.retain(|_, value| !value.is_array() && !value.is_object());
        shorten(&mut data, SHORT_CHARS_MAX);
        data.insert("cut".into(), Value::from(true));
        text = written(kind, at, &data)?;
    }
    if text.len() > BODY_BYTES_MAX {
        written(kind, at, &Map::from_iter([("cut".into(), json!(true))]))
    } else {
        Ok(text)
    }
}

fn written(kind: EventType, at: OffsetDateTime, data: &Map<String, Value>) -> Result<String, AppError> {
    let body = json!({ "type": kind, "timestamp": Timestamp::from(at), "data": data });
    serde_json::to_string(&body).map_err(AppError::internal)
}

fn shorten(data: &mut Map<String, Value>, most: usize) {
    for value in data.values_mut() {
        if let Value::String(text) = value
            && text.chars().nth(most).is_some()
        {
            *text = text.chars().take(most - 1).chain(['…']).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(data: Value) -> (usize, Value) {
        let Value::Object(data) = data else { panic!("an object") };
        let text = body(EventType::FlagChanged, OffsetDateTime::UNIX_EPOCH, data).expect("a body");
        (text.len(), serde_json::from_str(&text).expect("JSON"))
    }

    #[test]
    fn a_body_has_type_time_and_data() {
        let (_, body) = said(json!({ "flag": "checkout" }));
        assert_eq!(
            body,
            json!({ "type": "flag.changed", "timestamp": "1970-01-01T00:00:00Z", "data": { "flag": "checkout" } })
        );
    }

    #[test]
    fn a_body_is_never_too_long_and_says_when_something_was_cut() {
        // Each of these characters takes six bytes in JSON.
        let control = "\u{1}".repeat(2_000);
        let (length, body) = said(json!({ "note": control, "flag": "checkout" }));
        assert!(length < BODY_BYTES_MAX && body["data"]["note"].as_str().expect("a note").ends_with('…'));
        let (length, body) = said(json!({ "note": control, "sentences": vec!["a sentence of some length"; 5_000] }));
        assert!(length < BODY_BYTES_MAX && body["data"]["cut"] == true, "{length}");
        assert!(!body["data"]["sentences"].as_array().expect("sentences").is_empty());
        let (length, body) = said(json!({ "flag": "checkout", "other": { "deep": control.repeat(9) } }));
        assert!(length < BODY_BYTES_MAX && body["data"] == json!({ "flag": "checkout", "cut": true }), "{body}");
        let many: Map<String, Value> = (0..9_000).map(|n| (format!("key{n}"), json!(n))).collect();
        assert_eq!(said(Value::Object(many)).1["data"], json!({ "cut": true }));
    }
}

//! What a change is about, in two or three words.

use serde_json::Value;

/// `checkout in production`, `segment staff`, `policy of production`. Reads the document, so that also one of a newer
/// version has a name.
pub(super) fn subject(change: &Value) -> String {
    let text = |path: &str| change.pointer(path).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or_default();
    let environment = text("/environment");
    match kind {
        "create_flag" => format!("new flag {}", text("/definition/key").unwrap_or("?")),
        "create_segment" => format!("new segment {}", text("/definition/key").unwrap_or("?")),
        "update_segment" => format!("segment {}", text("/definition/key").unwrap_or("?")),
        "delete_segment" => format!("removal of segment {}", text("/segment").unwrap_or("?")),
        "set_policy" => format!("policy of {}", environment.unwrap_or("?")),
        "set_member" => "roles of a person".into(),
        "create_freeze" => format!("new freeze {}", text("/name").unwrap_or("?")),
        "update_freeze" => format!("freeze {}", text("/freeze/name").unwrap_or("?")),
        "delete_freeze" => "removal of a freeze".into(),
        _ => match (text("/flag").or(text("/segment")), environment) {
            (Some(key), Some(environment)) => format!("{key} in {environment}"),
            (Some(key), None) => key.to_owned(),
            (None, Some(environment)) => format!("{} in {environment}", kind.replace('_', " ")),
            (None, None) => kind.replace('_', " "),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_change_has_a_name_also_one_of_a_newer_version() {
        let cases = [
            (
                json!({ "kind": "save_config", "flag": "checkout", "environment": "production" }),
                "checkout in production",
            ),
            (json!({ "kind": "create_flag", "definition": { "key": "checkout" } }), "new flag checkout"),
            (json!({ "kind": "set_policy", "environment": "production" }), "policy of production"),
            (json!({ "kind": "add_freeze", "environment": "production" }), "add freeze in production"),
            (json!({ "kind": "something" }), "something"),
        ];
        for (change, name) in cases {
            assert_eq!(subject(&change), name);
        }
    }
}

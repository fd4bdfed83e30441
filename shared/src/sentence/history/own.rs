//! Things with sentences of their own.

use serde_json::Value;

use crate::model::policy::Policy;
use crate::sentence::history::fields::{field_changes, label};
use crate::sentence::history::{read, whole};
use crate::sentence::shown::{plural, value};

/// Whether a flag went out of service, or came back. Absent in documents of before there was such a thing.
pub(super) fn archived(before: &Value, after: &Value) -> Option<String> {
    let is_archived = |flag: &Value| flag["archived"].as_bool().unwrap_or(false);
    match (is_archived(before), is_archived(after)) {
        (false, true) => Some("− Archived".into()),
        (true, false) => Some("+ Restored".into()),
        _ => None,
    }
}

/// Whether a flag got another owner. History keeps an id, which tells nobody anything.
pub(super) fn owner(before: &Value, after: &Value) -> Option<String> {
    let owner = |flag: &Value| flag.get("owner").filter(|owner| !owner.is_null()).cloned();
    match (owner(before), owner(after)) {
        (before, after) if before == after => None,
        (Some(_), None) => Some("− Owner removed".into()),
        _ => Some("~ Another owner".into()),
    }
}

/// Whether a flag is to be there for another time.
pub(super) fn lifetime(before: &Value, after: &Value) -> Option<String> {
    let text = |flag: &Value| match &flag["lifetime"] {
        Value::Null => "usual for its kind".to_owned(),
        Value::String(text) if text == "usual" => "usual for its kind".to_owned(),
        Value::String(text) => value(text),
        other => other["days"].as_u64().map_or_else(|| "?".into(), |days| format!("{days} days")),
    };
    let (was, now) = (text(before), text(after));
    (was != now).then(|| format!("~ Lifetime: {was} → {now}"))
}

/// A kill, or its end.
pub(super) fn kill(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    match (before, after) {
        (None, None) => Vec::new(),
        (_, None) => vec!["+ Kill lifted".into()],
        (None, Some(after)) => vec![format!("− Killed: {}", reason(after))],
        (Some(before), Some(after)) if before == after => vec![format!("− Killed again: {}", reason(after))],
        (Some(before), Some(after)) => field_changes(before, after, &[]),
    }
}

fn reason(kill: &Value) -> String {
    let reason = text(kill, "reason").map_or_else(|| "no reason given".into(), value);
    match text(kill, "until") {
        Some(until) => format!("{reason}, until {}", value(until)),
        None => reason,
    }
}

/// An SDK key; history never holds one of before.
pub(super) fn sdk_key(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    match (before, after) {
        (None, Some(after)) => {
            let hint = text(after, "hint").map(|hint| format!(" (…{})", value(hint))).unwrap_or_default();
            let is_revoked = after["revoked"].as_bool().unwrap_or(false);
            vec![if is_revoked { format!("− SDK key revoked{hint}") } else { format!("+ SDK key made{hint}") }]
        }
        (before, after) => whole(before, after, "SDK key"),
    }
}

/// The database was older than what had been published.
pub(super) fn restored(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let number = |document: Option<&Value>| document.and_then(|document| document["revision"].as_u64());
    let mut lines = match (number(before), number(after)) {
        (Some(was), Some(now)) => vec![format!("~ The database stood at r{was}; revisions go on at r{now}")],
        _ => vec!["~ The database was older than what had been published".into()],
    };
    let total = after.and_then(|after| after["only_published_total"].as_u64()).unwrap_or(0);
    if total > 0 {
        let count = usize::try_from(total).unwrap_or(usize::MAX);
        lines.push(format!(
            "~ {} that the database does not know, until somebody confirms",
            plural(count, "published value")
        ));
    }
    lines
}

/// What only the bucket had is gone.
pub(super) fn restored_confirmed(after: Option<&Value>) -> Vec<String> {
    let deleted = after.and_then(|after| after["deleted"].as_u64()).unwrap_or(0);
    let count = usize::try_from(deleted).unwrap_or(usize::MAX);
    vec![format!("− {} that the database did not know", plural(count, "published value"))]
}

/// What protects an environment.
pub(super) fn policy(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let policy = |document: Option<&Value>| document.and_then(read::<Policy>);
    match (before, after) {
        (None, Some(_)) => match policy(after) {
            Some(policy) => vec![format!("+ Protected: {} needed", plural(approvals(&policy), "approval"))],
            None => vec!["+ Protected".into()],
        },
        (Some(_), None) => vec!["− No longer protected".into()],
        (Some(old), Some(new)) => field_changes(old, new, &[]),
        (None, None) => Vec::new(),
    }
}

fn approvals(policy: &Policy) -> usize {
    usize::try_from(policy.approvals).unwrap_or(usize::MAX)
}

/// Who is a member, and with which roles.
pub(super) fn member(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    match (before, after) {
        (None, Some(after)) => {
            let role = text(after, "role").map_or_else(|| "member".into(), value);
            vec![format!("+ Joined as {role}")]
        }
        (Some(_), None) => vec!["− Left the project".into()],
        (before, after) => whole(before, after, &label("member")),
    }
}

fn text<'v>(document: &'v Value, field: &str) -> Option<&'v str> {
    document.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kills_are_told_with_their_reason() {
        let killed = json!({ "reason": "payments fail", "until": null });
        let later = json!({ "reason": "payments fail", "until": "2026-05-01T10:00:00Z" });
        assert_eq!(kill(None, Some(&killed)), ["− Killed: payments fail"]);
        assert_eq!(kill(None, Some(&later)), ["− Killed: payments fail, until 2026-05-01T10:00:00Z"]);
        assert_eq!(kill(Some(&killed), Some(&later)), ["+ Until: 2026-05-01T10:00:00Z"]);
        assert_eq!(kill(Some(&killed), None), ["+ Kill lifted"]);
    }

    #[test]
    fn rules_and_people_are_told() {
        let two = json!({ "approvals": 2, "people": [], "roles": [], "note_required": false });
        let one = json!({ "approvals": 1, "people": [], "roles": ["lead"], "note_required": true });
        assert_eq!(policy(None, Some(&two)), ["+ Protected: 2 approvals needed"]);
        assert_eq!(policy(Some(&two), None), ["− No longer protected"]);
        let told = ["~ Approvals: 2 → 1", "~ Note required: no → yes", "+ Roles: lead"];
        assert_eq!(policy(Some(&two), Some(&one)), told);
        let editor = json!({ "role": "editor", "environments": { "production": "viewer" } });
        let admin = json!({ "role": "admin", "environments": {} });
        assert_eq!(member(None, Some(&editor)), ["+ Joined as editor"]);
        let told = ["− Environments production: viewer", "~ Role: editor → admin"];
        assert_eq!(member(Some(&editor), Some(&admin)), told);
        assert_eq!(member(Some(&admin), None), ["− Left the project"]);
    }

    #[test]
    fn keys_and_restored_databases_are_told() {
        let made = json!({ "name": "web", "hint": "a1b2", "revoked": false });
        let gone = json!({ "name": "web", "hint": "a1b2", "revoked": true });
        assert_eq!(sdk_key(None, Some(&made)), ["+ SDK key made (…a1b2)"]);
        assert_eq!(sdk_key(None, Some(&gone)), ["− SDK key revoked (…a1b2)"]);
        let (was, now) = (json!({ "revision": 3 }), json!({ "revision": 54, "only_published_total": 1 }));
        let told = [
            "~ The database stood at r3; revisions go on at r54",
            "~ 1 published value that the database does not know, until somebody confirms",
        ];
        assert_eq!(restored(Some(&was), Some(&now)), told);
    }
}

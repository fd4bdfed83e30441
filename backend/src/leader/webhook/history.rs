//! What a changeset did, as webhooks tell it: one event for each flag, segment, key and environment it touched, then one
//! for itself. Which parts changed is said, never how: targets and conditions may name users.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use shared::model::webhook::EventType;
use uuid::Uuid;

use crate::leader::webhook::outbox::Event;
use crate::store::webhook::outbox::{Applied, ENTRIES_MAX, Touched};

/// Sentences of one event.
const SENTENCES_MAX: usize = 50;

/// Events of changesets, in their order. One that touched more than 100 things is told as itself alone.
pub(super) fn events(applied: &[Applied], touched: &[Touched], keys: &[(Uuid, String)]) -> Vec<Event> {
    let mut events = Vec::new();
    for changeset in applied.iter().filter(|changeset| changeset.project_id.is_some()) {
        let entries: Vec<&Touched> = touched.iter().filter(|entry| entry.revision == changeset.revision).collect();
        if changeset.entries <= ENTRIES_MAX {
            let told = things(&entries);
            events.extend(told.iter().enumerate().map(|(at, thing)| thing.event(changeset, at, keys)));
        }
        events.push(whole(changeset, &entries));
    }
    events
}

/// A thing with all that a changeset did to it.
struct Thing<'a> {
    kind: EventType,
    /// Under which name the receiver finds the key.
    noun: &'static str,
    entries: Vec<&'a Touched>,
}

fn things<'a>(entries: &[&'a Touched]) -> Vec<Thing<'a>> {
    let mut things: Vec<Thing<'a>> = Vec::new();
    for entry in entries {
        let Some((noun, kind)) = classified(entry) else { continue };
        let is_same = |thing: &&mut Thing| {
            let known = thing.entries[0];
            // A kill is an event of its own, as are two keys of one name.
            thing.noun == noun
                && (entry.entity_id, &entry.entity_key) == (known.entity_id, &known.entity_key)
                && (entry.entity == "kill") == (known.entity == "kill")
        };
        match things.iter_mut().find(is_same) {
            Some(thing) => {
                thing.entries.push(entry);
                // That it was made or archived says more than that its configs changed.
                if kind != EventType::FlagChanged {
                    thing.kind = kind;
                }
            }
            None => things.push(Thing { kind, noun, entries: vec![entry] }),
        }
    }
    things
}

/// What a receiver is told of; `None` for what concerns nobody else, such as members.
fn classified(entry: &Touched) -> Option<(&'static str, EventType)> {
    Some(match entry.entity.as_str() {
        "flag" if entry.is_new => ("flag", EventType::FlagCreated),
        "flag" if entry.is_ended && entry.parts.iter().any(|part| part.starts_with("archived")) => {
            ("flag", EventType::FlagArchived)
        }
        "flag" | "config" => ("flag", EventType::FlagChanged),
        "kill" if entry.is_gone => ("flag", EventType::FlagRestored),
        "kill" => ("flag", EventType::FlagKilled),
        "segment" => ("segment", EventType::SegmentChanged),
        "environment" | "policy" => ("environment", EventType::EnvironmentChanged),
        "sdk_key" if entry.is_ended => ("sdk_key", EventType::SdkKeyRevoked),
        "sdk_key" => ("sdk_key", EventType::SdkKeyCreated),
        _ => return None,
    })
}

impl Thing<'_> {
    fn event(&self, changeset: &Applied, at: usize, keys: &[(Uuid, String)]) -> Event {
        let mut data = common(changeset);
        data.insert(self.noun.into(), self.entries[0].entity_key.as_str().into());
        let sentences: Vec<String> = self.entries.iter().map(|entry| sentence(entry, keys)).collect();
        if sentences.len() > SENTENCES_MAX {
            data.insert("cut".into(), true.into());
        }
        data.insert("sentences".into(), sentences.into_iter().take(SENTENCES_MAX).collect());
        Event {
            key: format!("r{}.{at}", changeset.revision),
            project: changeset.project_id,
            revision: Some(changeset.revision),
            at: changeset.applied_at,
            kind: self.kind,
            environments: places(&self.entries),
            data,
        }
    }
}

/// A changeset as a whole.
fn whole(changeset: &Applied, entries: &[&Touched]) -> Event {
    let mut data = common(changeset);
    let mut flags: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| matches!(entry.entity.as_str(), "flag" | "config" | "kill")) {
        if !flags.contains(&entry.entity_key.as_str()) {
            flags.push(&entry.entity_key);
        }
    }
    data.insert("flags".into(), flags.into());
    data.insert("things".into(), changeset.entries.into());
    if changeset.entries > ENTRIES_MAX {
        data.insert("cut".into(), true.into());
    }
    Event {
        key: format!("r{}.applied", changeset.revision),
        project: changeset.project_id,
        revision: Some(changeset.revision),
        at: changeset.applied_at,
        kind: EventType::ChangesetApplied,
        // Beyond what was read there may be anything.
        environments: if changeset.entries > ENTRIES_MAX { Vec::new() } else { places(entries) },
        data,
    }
}

fn common(changeset: &Applied) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("revision".into(), changeset.revision.into());
    data.insert("changeset".into(), json!(changeset.id));
    data.insert("by".into(), json!(changeset.author));
    data.insert("via".into(), changeset.via.as_str().into());
    if !changeset.note.is_empty() {
        data.insert("note".into(), changeset.note.as_str().into());
    }
    if let Some(reason) = &changeset.break_glass {
        data.insert("break_glass".into(), reason.as_str().into());
    }
    data
}

/// Where it happened; empty, which means everywhere, as soon as one part is the same in every environment.
fn places(entries: &[&Touched]) -> Vec<Uuid> {
    // A flag that is made says nothing of where; its configs do.
    let telling: Vec<&&Touched> = entries.iter().filter(|e| !(e.entity == "flag" && e.is_new)).collect();
    let telling = if telling.is_empty() { entries.iter().collect() } else { telling };
    let mut places = Vec::new();
    for entry in telling {
        match entry.environment_id {
            None => return Vec::new(),
            Some(place) if !places.contains(&place) => places.push(place),
            Some(_) => {}
        }
    }
    places
}

fn sentence(entry: &Touched, keys: &[(Uuid, String)]) -> String {
    let noun = match entry.entity.as_str() {
        "flag" => "Flag",
        "segment" => "Segment",
        "environment" => "Environment",
        "policy" => "Policy",
        "sdk_key" => "SDK key",
        "kill" => "Kill",
        _ => "Config",
    };
    let switched = |part: &str| entry.parts.iter().any(|changed| changed == part);
    let on = if entry.is_enabled == Some(true) { "on" } else { "off" };
    let parts: Vec<String> =
        entry.parts.iter().filter(|part| *part != "enabled").map(|part| part.replace('_', " ")).collect();
    let mut text = match entry.entity.as_str() {
        "kill" if entry.is_gone => "Kill lifted".into(),
        "kill" => "Killed".into(),
        "config" if entry.is_new => format!("Set up, turned {on}"),
        "config" if switched("enabled") => format!("Turned {on}"),
        _ if entry.is_new => format!("{noun} created"),
        _ if entry.is_gone => format!("{noun} removed"),
        _ => format!("{noun} changed"),
    };
    if !entry.is_new && !entry.is_gone && entry.entity != "kill" && !parts.is_empty() {
        text = format!("{text}: {}", parts.join(", "));
    }
    if let Some((_, place)) = keys.iter().find(|(id, _)| Some(*id) == entry.environment_id) {
        // Writing to a text never fails.
        write!(text, " in {place}").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    const PROJECT: Uuid = Uuid::from_u128(1);
    const STAGING: Uuid = Uuid::from_u128(2);

    fn applied(entries: i64) -> Applied {
        Applied {
            revision: 7,
            id: Uuid::from_u128(9),
            project_id: Some(PROJECT),
            author: Some("Ana".into()),
            via: "person".into(),
            note: "why".into(),
            break_glass: None,
            applied_at: OffsetDateTime::UNIX_EPOCH,
            entries,
        }
    }

    fn entry(entity: &str, environment: Option<Uuid>, parts: &[&str]) -> Touched {
        Touched {
            revision: 7,
            environment_id: environment,
            entity: entity.into(),
            entity_id: Some(Uuid::from_u128(5)),
            entity_key: "checkout".into(),
            is_new: false,
            is_gone: false,
            is_ended: false,
            parts: parts.iter().map(|part| (*part).into()).collect(),
            is_enabled: Some(true),
        }
    }

    fn told(entries: Vec<Touched>) -> Vec<(EventType, Vec<Uuid>, Value)> {
        let count = i64::try_from(entries.len()).expect("a count");
        let keys = [(STAGING, "staging".to_owned())];
        let events = events(&[applied(count)], &entries, &keys);
        events.into_iter().map(|event| (event.kind, event.environments, Value::Object(event.data))).collect()
    }

    #[test]
    fn a_flag_made_with_a_config_is_one_event_and_the_changeset_another() {
        let flag = Touched { is_new: true, ..entry("flag", None, &["name"]) };
        let config = Touched { is_new: true, ..entry("config", Some(STAGING), &["enabled", "rules"]) };
        let told = told(vec![flag, config]);
        assert_eq!(told.len(), 2);
        let (kind, environments, data) = &told[0];
        assert_eq!((*kind, environments.as_slice()), (EventType::FlagCreated, [STAGING].as_slice()));
        assert_eq!(data["sentences"], json!(["Flag created", "Set up, turned on in staging"]));
        assert_eq!((&data["by"], &data["note"], &data["revision"]), (&json!("Ana"), &json!("why"), &json!(7)));
        assert_eq!((told[1].0, &told[1].2["flags"]), (EventType::ChangesetApplied, &json!(["checkout"])));
    }

    #[test]
    fn parts_are_named_without_what_is_in_them() {
        let told = told(vec![entry("config", Some(STAGING), &["enabled", "targets", "default_serve"])]);
        assert_eq!(told[0].2["sentences"], json!(["Turned on: targets, default serve in staging"]));
    }

    #[test]
    fn what_is_the_same_in_every_environment_names_none() {
        let told = told(vec![entry("flag", None, &["definition"]), entry("config", Some(STAGING), &["rules"])]);
        assert_eq!((told[0].0, told[0].1.len()), (EventType::FlagChanged, 0));
    }

    #[test]
    fn each_kind_of_thing_has_its_type() {
        let kind = |entry: Touched| told(vec![entry])[0].0;
        let gone = |entity| Touched { is_gone: true, ..entry(entity, Some(STAGING), &[]) };
        let ended = |entity, part| Touched { is_ended: true, ..entry(entity, None, &[part]) };
        assert_eq!(kind(entry("kill", Some(STAGING), &["reason"])), EventType::FlagKilled);
        assert_eq!(kind(gone("kill")), EventType::FlagRestored);
        assert_eq!(kind(ended("flag", "archived")), EventType::FlagArchived);
        assert_eq!(kind(ended("flag", "name")), EventType::FlagChanged);
        assert_eq!(kind(gone("segment")), EventType::SegmentChanged);
        assert_eq!(kind(entry("policy", Some(STAGING), &[])), EventType::EnvironmentChanged);
        assert_eq!(kind(ended("sdk_key", "revoked")), EventType::SdkKeyRevoked);
        assert_eq!(kind(entry("sdk_key", None, &[])), EventType::SdkKeyCreated);
        assert_eq!(kind(entry("member", None, &["role"])), EventType::ChangesetApplied);
    }

    #[test]
    fn a_changeset_of_more_than_a_hundred_things_is_told_as_itself_alone() {
        let events = events(&[applied(101)], &[entry("config", Some(STAGING), &["rules"])], &[]);
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].kind, events[0].environments.len()), (EventType::ChangesetApplied, 0));
        assert_eq!((&events[0].data["things"], &events[0].data["cut"]), (&json!(101), &json!(true)));
    }
}

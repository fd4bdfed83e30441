//! What counting asks a compiled flag beside its answers: why each place answers, and whom its splits are about.

use std::borrow::Cow;

use crate::evaluation::attribute::Attribute;
use crate::evaluation::bucketing::named;
use crate::evaluation::context::Context;
use crate::evaluation::flag::{Flag, Serve};
use crate::evaluation::outcome::{Place, Reason};
use crate::evaluation::split::Split;

/// Whom a split is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// Name of the attribute that the split goes by.
    pub attribute: &'a str,
    /// The key in it, as text.
    pub key: Cow<'a, str>,
}

impl Flag {
    /// Why a place answers; all answers of a place have the same reason.
    pub fn reason(&self, place: Place) -> Reason {
        match place {
            Place::Off | Place::Killed | Place::Blocked => Reason::Disabled,
            Place::Target => Reason::TargetingMatch,
            Place::Error(_) => Reason::Error,
            Place::Default | Place::Rule(_) if self.split(place).is_some() => Reason::Split,
            Place::Rule(_) => Reason::TargetingMatch,
            Place::Default if self.answers.as_ref().is_ok_and(|answers| answers.is_static) => Reason::Static,
            Place::Default => Reason::Default,
        }
    }

    /// Whom the split at a place is about; `None` without a split, or when the key is missing, empty, or neither a text
    /// nor a whole number (which few imported splits divide all the same).
    pub fn unit<'a>(&'a self, place: Place, context: &'a Context<'_>) -> Option<Unit<'a>> {
        let split = self.split(place)?;
        let key = named(split.bucket_by.of(context))?.into_cow();
        Some(Unit { attribute: split.bucket_by.name(), key })
    }

    /// Names of the attributes that its splits go by, one for each split.
    pub fn split_attributes(&self) -> impl Iterator<Item = &str> {
        let rules = self.answers.iter().filter_map(|answers| answers.rules.as_ref().ok());
        let rules = rules.flat_map(|rules| rules.list.iter().map(|rule| &rule.serve));
        let all = self.answers.iter().map(|answers| &answers.default_serve).chain(rules);
        all.filter_map(split_of).map(|split| split.bucket_by.name())
    }

    fn split(&self, place: Place) -> Option<&Split> {
        let answers = self.answers.as_ref().ok()?;
        match place {
            Place::Default => split_of(&answers.default_serve),
            Place::Rule(index) => {
                let list = &answers.rules.as_ref().ok()?.list;
                let at = list.binary_search_by_key(&index, |rule| rule.index).ok()?;
                split_of(&list[at].serve)
            }
            _ => None,
        }
    }
}

fn split_of(serve: &Serve) -> Option<&Split> {
    match serve {
        Serve::Variant(_) => None,
        Serve::Split(split) => Some(split),
    }
}

/// The key in an attribute as text; `None` when it is missing, empty, or neither a text nor a whole number.
pub fn key_in<'c>(context: &'c Context<'_>, attribute: &str) -> Option<Cow<'c, str>> {
    Some(named(Attribute::new(attribute).of(context))?.into_cow())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::evaluation::{ErrorCode, SegmentLookup};

    fn flag(config: serde_json::Value) -> Flag {
        let definition = json!({
            "key": "a", "value_type": "boolean", "kind": "experiment", "client_visible": false,
            "variants": [{"key": "on", "value": "true"}, {"key": "off", "value": "false"}],
        });
        let definition = serde_json::from_value(definition).expect("a definition");
        Flag::compile(&definition, &serde_json::from_value(config).expect("a config"), |_| SegmentLookup::Missing)
    }

    fn split(by: &str) -> serde_json::Value {
        json!({"split": {"bucket_by": by, "seed": "s", "ranges": [{"start": 0, "end": 100_000, "variant": "on"}]}})
    }

    #[test]
    fn every_place_has_one_reason() {
        let id = |n: u32| format!("00000000-0000-0000-0000-{n:012}");
        let rules = json!([
            {"id": id(1), "paused": true, "serve": {"variant": "on"}},
            {"id": id(2), "serve": {"variant": "on"}},
            {"id": id(3), "serve": split("company.id")},
        ]);
        let ruled = flag(json!({"enabled": true, "rules": rules, "default_serve": {"variant": "on"}}));
        for (place, reason) in [
            (Place::Off, Reason::Disabled),
            (Place::Killed, Reason::Disabled),
            (Place::Blocked, Reason::Disabled),
            (Place::Target, Reason::TargetingMatch),
            (Place::Rule(1), Reason::TargetingMatch),
            (Place::Rule(2), Reason::Split),
            (Place::Default, Reason::Default),
            (Place::Error(ErrorCode::General), Reason::Error),
        ] {
            assert_eq!(ruled.reason(place), reason, "{place:?}");
        }
        assert_eq!(ruled.split_attributes().collect::<Vec<_>>(), ["company.id"]);
        let plain = flag(json!({"enabled": true, "default_serve": {"variant": "on"}}));
        assert_eq!(plain.reason(Place::Default), Reason::Static);
        let half = flag(json!({"enabled": true, "default_serve": split("targetingKey")}));
        assert_eq!(half.reason(Place::Default), Reason::Split);
    }

    #[test]
    fn a_unit_is_the_attribute_and_the_text_of_its_key() {
        let flag = flag(json!({"enabled": true, "default_serve": split("company.id")}));
        let unit = |json: &str| {
            let context: Context<'_> = serde_json::from_str(json).expect("a context");
            let unit = flag.unit(Place::Default, &context)?;
            assert_eq!(key_in(&context, unit.attribute).as_ref(), Some(&unit.key));
            Some((unit.attribute.to_owned(), unit.key.into_owned()))
        };
        let of = |key: &str| Some(("company.id".to_owned(), key.to_owned()));
        assert_eq!(unit(r#"{"company":{"id":"c-1"}}"#), of("c-1"));
        assert_eq!(unit(r#"{"company.id":42.0}"#), of("42"));
        for none in ["{}", r#"{"company":{"id":""}}"#, r#"{"company":{"id":1.5}}"#, r#"{"company":{"id":true}}"#] {
            assert_eq!(unit(none), None, "{none}");
        }
        let context = serde_json::from_str(r#"{"company.id":"c"}"#).expect("a context");
        assert_eq!(flag.unit(Place::Off, &context), None);
        assert_eq!(flag.unit(Place::Rule(0), &context), None);
    }
}

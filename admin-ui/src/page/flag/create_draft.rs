//! What is typed to make a flag, and how it becomes a request.

use std::collections::BTreeMap;

use leptos::prelude::*;
use shared::model::changeset::Note;
use shared::model::flag::{FlagConfig, FlagDefinition, FlagKind, NAME_CHARS_MAX};
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::problem::FieldProblem;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, Split, reallocate};
use shared::model::variant::{ValueType, Variant};
use shared::wire::api::flag::{CreateFlag, StartState};

use super::split::parse_share;
use crate::api::client::sentence;

/// One row of the variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantDraft {
    /// Stays while it is edited.
    pub id: u32,
    /// Its key.
    pub key: String,
    /// Its value as typed.
    pub value: String,
}

/// How the flag starts in one environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Off.
    #[default]
    Off,
    /// On for everyone.
    Everyone,
    /// On for a share, as typed.
    Share(String),
}

/// The form.
#[derive(Clone, Copy)]
pub struct CreateDraft {
    /// For people.
    pub name: RwSignal<String>,
    /// As typed; `None` follows the name.
    pub key: RwSignal<Option<String>>,
    /// Of all values.
    pub value_type: RwSignal<ValueType>,
    /// Of flags that are not boolean.
    pub variants: RwSignal<Vec<VariantDraft>>,
    /// What it is for.
    pub kind: RwSignal<FlagKind>,
    /// For people.
    pub tags: RwSignal<Vec<String>>,
    /// For people.
    pub description: RwSignal<String>,
    /// Whether client keys may see it.
    pub client_visible: RwSignal<bool>,
    /// Off where absent.
    pub start: RwSignal<BTreeMap<EnvironmentKey, Start>>,
    /// Errors of empty fields appear once the person has tried to go on.
    pub is_checked: RwSignal<bool>,
}

impl CreateDraft {
    /// A boolean release flag that is off everywhere.
    pub fn new() -> Self {
        Self {
            name: RwSignal::default(),
            key: RwSignal::default(),
            value_type: RwSignal::new(ValueType::Boolean),
            variants: RwSignal::new(example_variants(ValueType::String)),
            kind: RwSignal::new(FlagKind::Release),
            tags: RwSignal::default(),
            description: RwSignal::default(),
            client_visible: RwSignal::new(false),
            start: RwSignal::default(),
            is_checked: RwSignal::new(false),
        }
    }

    /// The key as it would be sent; tracked.
    pub fn key_text(self) -> String {
        self.key.get().unwrap_or_else(|| self.name.with(|name| propose_key(name)))
    }

    /// Why the key is none; tracked.
    pub fn key_error(self) -> Option<String> {
        let text = self.key_text();
        if text.is_empty() {
            return self.is_checked.get().then(|| "Give the flag a key; applications ask for it by this.".into());
        }
        text.parse::<FlagKey>().err().map(|_| format!("Use another key: {}.", FlagKey::RULE))
    }

    /// Why the name is none; tracked.
    pub fn name_error(self) -> Option<String> {
        let length = self.name.with(|name| name.trim().chars().count());
        match length {
            0 if self.is_checked.get() => Some("Give the flag a name.".into()),
            0..=NAME_CHARS_MAX => None,
            _ => Some(format!("Use at most {NAME_CHARS_MAX} characters; there are {length}.")),
        }
    }

    /// The definition; tracked. Errors name the variant rows.
    pub fn definition(self) -> Result<FlagDefinition, Vec<FieldProblem>> {
        let mut problems = Vec::new();
        let value_type = self.value_type.get();
        let variants = self.variants();
        let mut parsed = Vec::new();
        for (at, draft) in variants.iter().enumerate() {
            match draft.key.trim().parse::<VariantKey>() {
                Ok(key) => parsed.push(Variant { key, value: draft.value.clone() }),
                Err(_) => problems.push(FieldProblem {
                    field: format!("variants[{at}].key"),
                    message: format!("Use another key: {}.", VariantKey::RULE),
                }),
            }
        }
        // The key has its own field and error; for the preview any key will do.
        let key = self.key_text().parse::<FlagKey>().or_else(|_| "new-flag".parse());
        let (Ok(key), true) = (key, problems.is_empty()) else { return Err(problems) };
        let definition = FlagDefinition {
            key,
            value_type,
            variants: parsed,
            kind: self.kind.get(),
            client_visible: self.client_visible.get(),
        };
        definition.validate().map(|()| definition).map_err(|problems| {
            let told = |problem: FieldProblem| FieldProblem { message: sentence(&problem.message), ..problem };
            problems.into_iter().map(told).collect()
        })
    }

    /// The variants as they would be sent; tracked.
    pub fn variants(self) -> Vec<VariantDraft> {
        match self.value_type.get() {
            ValueType::Boolean => {
                let variant = |id, key: &str, value: &str| VariantDraft { id, key: key.into(), value: value.into() };
                vec![variant(0, "on", "true"), variant(1, "off", "false")]
            }
            _ => self.variants.get(),
        }
    }

    /// How it starts in an environment; tracked.
    pub fn start_in(self, environment: &EnvironmentKey) -> Start {
        self.start.with(|start| start.get(environment).cloned().unwrap_or_default())
    }

    /// The config it would get there, for the preview; `None` while something is wrong; tracked.
    pub fn preview(self, environment: &EnvironmentKey) -> Option<(FlagDefinition, FlagConfig)> {
        let definition = self.definition().ok()?;
        let first = definition.variants.first()?.key.clone();
        // The backend does the same.
        let off = definition.variants.last().map(|variant| variant.key.clone());
        let (enabled, default_serve) = match self.start_in(environment) {
            Start::Off => (false, Serve::Variant(first)),
            Start::Everyone => (true, Serve::Variant(first)),
            Start::Share(text) => {
                let share = parse_share(&text).ok()?;
                let shares = [(first, share), (off.clone()?, BUCKETS - share)];
                let ranges = reallocate(BUCKETS, &[], &shares);
                let seed = "preview".into();
                (
                    true,
                    Serve::Split(Split {
                        bucket_by: "targetingKey".into(),
                        algorithm: Default::default(),
                        seed,
                        total: BUCKETS,
                        ranges,
                    }),
                )
            }
        };
        let config = FlagConfig {
            enabled,
            off_variant: off,
            prerequisites: vec![],
            targets: vec![],
            rules: vec![],
            default_serve,
        };
        Some((definition, config))
    }

    /// The request; `None` while something is wrong.
    pub fn parse(self, environments: &[EnvironmentKey]) -> Option<CreateFlag> {
        if self.name_error().is_some() || self.key_error().is_some() {
            return None;
        }
        let definition = self.definition().ok()?;
        let mut start = BTreeMap::new();
        for environment in environments {
            let state = match self.start_in(environment) {
                Start::Off => continue,
                Start::Everyone => StartState { enabled: true, share: None, variant: None },
                Start::Share(text) => {
                    StartState { enabled: true, share: Some(parse_share(&text).ok()?), variant: None }
                }
            };
            start.insert(environment.clone(), state);
        }
        Some(CreateFlag {
            definition,
            name: self.name.get_untracked().trim().into(),
            description: self.description.get_untracked().trim().into(),
            tags: self.tags.get_untracked(),
            owner: None,
            lifetime: Default::default(),
            start,
            note: Note::default(),
        })
    }
}

/// Two variants to begin with.
pub fn example_variants(value_type: ValueType) -> Vec<VariantDraft> {
    let pairs = match value_type {
        ValueType::Boolean => [("on", "true"), ("off", "false")],
        ValueType::String => [("new", "new"), ("off", "")],
        ValueType::Integer => [("high", "100"), ("off", "0")],
        ValueType::Float => [("high", "1.0"), ("off", "0.0")],
        ValueType::Object => [("new", "{}"), ("off", "{}")],
    };
    (0..).zip(pairs).map(|(id, (key, value))| VariantDraft { id, key: key.into(), value: value.into() }).collect()
}

/// A name as a key: `New checkout` → `new-checkout`.
pub fn propose_key(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let mut key = String::new();
    for c in lower.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '/') => key.push(c),
            _ if !key.is_empty() && !key.ends_with('-') => key.push('-'),
            _ => {}
        }
    }
    key.trim_end_matches(['-', '/']).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_proposes_a_key_that_is_one() {
        for (name, key) in [("New checkout", "new-checkout"), ("Checkout / theme", "checkout-/-theme"), ("  ", "")] {
            assert_eq!(propose_key(name), key);
            assert_eq!(key.is_empty(), key.parse::<FlagKey>().is_err(), "{key}");
        }
    }
}

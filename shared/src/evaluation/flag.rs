//! Compiled flags: keys become positions, segments are linked, values are written as JSON once.

use hashbrown::HashMap;

use crate::evaluation::attribute::{Attribute, Names};
use crate::evaluation::condition::{Condition, Subject};
use crate::evaluation::outcome::{Broken, ErrorCode, Outcome, Place, Reason};
use crate::evaluation::segment::{Linked, SegmentLookup, link};
use crate::evaluation::split::Split;
use crate::model::flag::{FlagConfig, FlagDefinition};
use crate::model::id::RuleId;
use crate::model::key::{FlagKey, SegmentKey, VariantKey};
use crate::model::problem::first_of;
use crate::model::rule::Serve as ServeDocument;

/// A flag in one environment, ready to answer. One that could not be compiled answers an error.
#[derive(Debug)]
pub struct Flag {
    /// What applications send.
    pub key: FlagKey,
    /// Whether client keys may see it.
    pub client_visible: bool,
    pub(super) answers: Result<Answers, Broken>,
    segments: Box<[SegmentKey]>,
}

#[derive(Debug)]
pub(super) struct Answers {
    pub(super) enabled: bool,
    pub(super) off: Option<u16>,
    pub(super) prerequisites: Box<[Prerequisite]>,
    pub(super) targets: HashMap<Box<str>, u16>,
    /// Or why they cannot be told: a segment that is missing or unreadable takes down nothing before them.
    pub(super) rules: Result<Rules, Broken>,
    pub(super) default_serve: Serve,
    /// No targets, prerequisites or rules that are not paused: the same answer for everybody.
    pub(super) is_static: bool,
    variants: Box<[Variant]>,
}

#[derive(Debug)]
pub(super) struct Prerequisite {
    pub(super) flag: FlagKey,
    pub(super) variants: Box<[VariantKey]>,
}

#[derive(Debug)]
pub(super) struct Rules {
    pub(super) list: Box<[Rule]>,
    pub(super) attributes: Box<[Attribute]>,
    pub(super) segments: Box<[Linked]>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: RuleId,
    /// Position in the config, paused rules counted.
    pub(super) index: u16,
    pub(super) conditions: Condition,
    pub(super) serve: Serve,
}

#[derive(Debug)]
pub(super) enum Serve {
    Variant(u16),
    Split(Box<Split>),
}

#[derive(Debug)]
struct Variant {
    key: VariantKey,
    json: Box<str>,
}

impl Flag {
    /// Compiles a flag of one environment; `segment` finds the segments it names.
    pub fn compile(
        definition: &FlagDefinition,
        config: &FlagConfig,
        segment: impl FnMut(&SegmentKey) -> SegmentLookup,
    ) -> Self {
        let mut segments = Vec::new();
        let answers = definition
            .validate()
            .and_then(|()| config.validate(definition))
            .map_err(|problems| (ErrorCode::ParseError, first_of(&problems)))
            .and_then(|()| Answers::compile(definition, config, segment, &mut segments));
        Self {
            key: definition.key.clone(),
            client_visible: definition.client_visible,
            answers,
            segments: segments.into(),
        }
    }

    /// A flag whose document this version cannot read; it answers [`ErrorCode::General`].
    pub fn unreadable(key: FlagKey, client_visible: bool, reason: &str) -> Self {
        Self { key, client_visible, answers: Err((ErrorCode::General, reason.into())), segments: Box::default() }
    }

    /// Keys of its variants by position; empty when it could not be compiled.
    pub fn variants(&self) -> impl Iterator<Item = &VariantKey> {
        self.answers.iter().flat_map(|answers| answers.variants.iter().map(|variant| &variant.key))
    }

    /// The segments it reaches, those that do not exist included; when one of them changes, compile the flag anew.
    pub fn segments(&self) -> &[SegmentKey] {
        &self.segments
    }

    /// The flags it needs.
    pub fn prerequisites(&self) -> impl Iterator<Item = &FlagKey> {
        self.answers.iter().flat_map(|answers| answers.prerequisites.iter().map(|prerequisite| &prerequisite.flag))
    }

    /// The first time after `now_ms` at which a condition on `$now` of it or of a segment it reaches may turn; both in
    /// milliseconds since 1970. Those of its prerequisites are their own.
    pub fn next_boundary_ms(&self, now_ms: i64) -> Option<i64> {
        let rules = self.answers.as_ref().ok()?.rules.as_ref().ok()?;
        let own = rules.list.iter().map(|rule| &rule.conditions);
        let trees = own.chain(rules.segments.iter().filter_map(|linked| linked.segment.conditions.as_ref()));
        trees.filter_map(|tree| next_boundary(tree, now_ms)).min()
    }
}

fn next_boundary(condition: &Condition, now_ms: i64) -> Option<i64> {
    match condition {
        Condition::All(members) | Condition::Any(members) => {
            members.iter().filter_map(|member| next_boundary(member, now_ms)).min()
        }
        Condition::Leaf(leaf) => match &leaf.subject {
            Subject::Now(bound) => Some(bound.boundary_ms()).filter(|at| *at > now_ms),
            _ => None,
        },
    }
}

impl Answers {
    fn compile(
        definition: &FlagDefinition,
        config: &FlagConfig,
        segment: impl FnMut(&SegmentKey) -> SegmentLookup,
        reached: &mut Vec<SegmentKey>,
    ) -> Result<Self, Broken> {
        let wrong = |reason: Box<str>| (ErrorCode::ParseError, reason);
        let position =
            |key: &VariantKey| definition.variants.iter().position(|v| v.key == *key).map_or(0, |at| at as u16);
        let variants = definition.variants.iter().map(|variant| {
            let json = definition.value_type.json(&variant.value).map_err(|error| wrong(error.to_string().into()))?;
            Ok(Variant { key: variant.key.clone(), json: json.into() })
        });
        let prerequisites = config.prerequisites.iter().map(|prerequisite| Prerequisite {
            flag: prerequisite.flag.clone(),
            variants: prerequisite.variants.clone().into(),
        });
        let targets: HashMap<Box<str>, u16> = config
            .targets
            .iter()
            .flat_map(|target| target.keys.iter().map(|key| (key.as_str().into(), position(&target.variant))))
            .collect();
        let (keys, segments) = link(config.active_segments(), segment);
        let rules = segments.and_then(|segments| {
            let at = |key: &str| keys.iter().position(|known| known.as_str() == key).and_then(|at| at.try_into().ok());
            Rules::compile(config, segments, &at, position).map_err(wrong)
        });
        *reached = keys;
        let has_rules = config.rules.iter().any(|rule| !rule.paused);
        Ok(Self {
            enabled: config.enabled,
            off: config.off_variant.as_ref().map(position),
            is_static: targets.is_empty() && config.prerequisites.is_empty() && !has_rules,
            prerequisites: prerequisites.collect(),
            targets,
            rules,
            default_serve: Serve::compile(&config.default_serve, position),
            variants: variants.collect::<Result<_, _>>()?,
        })
    }

    #[inline]
    pub(super) fn outcome(&self, variant: Option<u16>, reason: Reason, place: Place) -> Outcome<'_> {
        let found = variant.and_then(|at| self.variants.get(usize::from(at)));
        Outcome {
            value: found.map(|variant| &*variant.json),
            variant: found.map(|variant| variant.key.as_str()),
            variant_index: variant,
            reason,
            error: None,
            place,
            blocked_by: None,
        }
    }

    pub(super) fn variant(&self, at: u16) -> Option<&VariantKey> {
        self.variants.get(usize::from(at)).map(|variant| &variant.key)
    }
}

impl Rules {
    fn compile(
        config: &FlagConfig,
        segments: Box<[Linked]>,
        segment: &impl Fn(&str) -> Option<u8>,
        position: impl Fn(&VariantKey) -> u16,
    ) -> Result<Self, Box<str>> {
        let mut names = Names::default();
        let active = config.rules.iter().enumerate().filter(|(_, rule)| !rule.paused);
        let list = active.map(|(index, rule)| {
            Ok(Rule {
                id: rule.id,
                index: index as u16,
                conditions: Condition::compile(&rule.conditions, &mut names, segment)?,
                serve: Serve::compile(&rule.serve, &position),
            })
        });
        let list = list.collect::<Result<_, Box<str>>>()?;
        Ok(Self { list, attributes: names.into_attributes(), segments })
    }
}

impl Serve {
    fn compile(serve: &ServeDocument, position: impl Fn(&VariantKey) -> u16) -> Self {
        match serve {
            ServeDocument::Variant(variant) => Self::Variant(position(variant)),
            ServeDocument::Split(split) => Self::Split(Box::new(Split::compile(split, position))),
        }
    }
}

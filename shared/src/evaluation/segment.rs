//! Compiled segments, and how a flag links the ones it reaches.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::evaluation::attribute::{Attribute, Names};
use crate::evaluation::condition::Condition;
use crate::evaluation::outcome::{Broken, ErrorCode};
use crate::model::flag::SEGMENTS_MAX;
use crate::model::key::SegmentKey;
use crate::model::problem::first_of;
use crate::model::segment::SegmentDefinition;

/// A segment, ready to be asked. It knows the segments it uses only by key: each flag links those it reaches.
#[derive(Debug)]
pub struct Segment {
    pub(super) key: SegmentKey,
    pub(super) excluded: HashSet<Box<str>>,
    pub(super) included: HashSet<Box<str>>,
    /// Absent when the document has no conditions: then only the included keys are in it.
    pub(super) conditions: Option<Condition>,
    pub(super) attributes: Box<[Attribute]>,
    /// Segments its conditions use, by their positions there.
    uses: Box<[SegmentKey]>,
}

/// What the environment knows of a segment that a flag names.
#[derive(Clone, Debug)]
pub enum SegmentLookup {
    /// It can be asked.
    Ready(Arc<Segment>),
    /// It was written by a newer version and no older form is known.
    Unreadable,
    /// It can be read but not compiled, for this reason.
    Broken(Box<str>),
    /// There is none of this key.
    Missing,
}

/// A segment as one flag reaches it.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) segment: Arc<Segment>,
    /// Positions in the flag's list of the segments that this one uses.
    pub(super) uses: Box<[u8]>,
}

impl Segment {
    /// Compiles a segment, or says what is wrong with it.
    pub fn compile(definition: &SegmentDefinition) -> Result<Self, Box<str>> {
        definition.validate().map_err(|problems| first_of(&problems))?;
        let texts = |keys: &[String]| keys.iter().map(|key| key.as_str().into()).collect();
        let uses = definition.segments();
        let position = |key: &str| uses.iter().position(|used| used.as_str() == key).and_then(|at| at.try_into().ok());
        let mut names = Names::default();
        let has_conditions = !definition.conditions.leaves().is_empty();
        let conditions = Condition::compile(&definition.conditions, &mut names, &position)?;
        Ok(Self {
            key: definition.key.clone(),
            excluded: texts(&definition.excluded),
            included: texts(&definition.included),
            conditions: has_conditions.then_some(conditions),
            attributes: names.into_attributes(),
            uses: uses.into(),
        })
    }
}

/// Finds all segments reachable from `direct`, which come first and in their order. With an error, also the keys that
/// were found to be reached so far.
pub(super) fn link(
    direct: Vec<SegmentKey>,
    mut segment: impl FnMut(&SegmentKey) -> SegmentLookup,
) -> (Vec<SegmentKey>, Result<Box<[Linked]>, Broken>) {
    let mut keys = direct;
    let mut positions: HashMap<SegmentKey, usize> =
        keys.iter().cloned().enumerate().map(|(at, key)| (key, at)).collect();
    let mut found: Vec<Arc<Segment>> = Vec::new();
    let mut broken = None;
    while let Some(key) = keys.get(found.len()).filter(|_| broken.is_none()) {
        match segment(key) {
            SegmentLookup::Ready(ready) => {
                for used in &ready.uses {
                    if !positions.contains_key(used) {
                        positions.insert(used.clone(), keys.len());
                        keys.push(used.clone());
                    }
                }
                found.push(ready);
            }
            SegmentLookup::Unreadable => {
                broken = Some((ErrorCode::General, format!("segment '{key}' was written by a newer version").into()));
            }
            SegmentLookup::Broken(reason) => {
                broken = Some((ErrorCode::ParseError, format!("segment '{key}': {reason}").into()));
            }
            SegmentLookup::Missing => {
                broken = Some((ErrorCode::ParseError, format!("segment '{key}' does not exist here").into()));
            }
        }
        if keys.len() > SEGMENTS_MAX {
            let message = format!("it reaches more than {SEGMENTS_MAX} segments").into();
            broken = broken.or(Some((ErrorCode::ParseError, message)));
        }
    }
    if let Some(broken) = broken {
        return (keys, Err(broken));
    }
    let position = |used: &SegmentKey| positions.get(used).and_then(|at| u8::try_from(*at).ok());
    let linked: Box<[Linked]> = found
        .into_iter()
        .map(|segment| Linked { uses: segment.uses.iter().filter_map(position).collect(), segment })
        .collect();
    match cycle(&linked) {
        Some(key) => (keys, Err((ErrorCode::ParseError, format!("segment '{key}' uses itself").into()))),
        None => (keys, Ok(linked)),
    }
}

/// A segment that uses itself, directly or through others: the one left when all that use nothing left are taken away.
fn cycle(linked: &[Linked]) -> Option<&SegmentKey> {
    let mut is_safe = vec![false; linked.len()];
    loop {
        let next =
            (0..linked.len()).find(|&at| !is_safe[at] && linked[at].uses.iter().all(|&u| is_safe[usize::from(u)]));
        match next {
            Some(at) => is_safe[at] = true,
            None => return is_safe.iter().position(|safe| !safe).map(|at| &linked[at].segment.key),
        }
    }
}

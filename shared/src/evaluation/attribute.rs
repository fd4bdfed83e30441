//! Names of attributes, and their values in one context.

use crate::evaluation::context::{Context, Value};

/// Values found are remembered for this many names of a flag or segment; further ones are looked up every time.
const REMEMBERED: usize = 8;

/// An attribute's name: the whole literal key, or else a dotted path.
#[derive(Debug)]
pub(super) struct Attribute {
    literal: Box<str>,
    path: Box<[Box<str>]>,
}

impl Attribute {
    pub(super) fn new(name: &str) -> Self {
        let path = if name.contains('.') { name.split('.').map(Box::from).collect() } else { Box::default() };
        Self { literal: name.into(), path }
    }

    pub(super) fn name(&self) -> &str {
        &self.literal
    }

    pub(super) fn of<'c, 'a>(&self, context: &'c Context<'a>) -> Option<&'c Value<'a>> {
        if let Some(value) = context.get(&self.literal) {
            return Some(value);
        }
        let (first, rest) = self.path.split_first()?;
        rest.iter().try_fold(context.get(first)?, |value, name| match value {
            Value::Object(fields) => fields.get(name),
            _ => None,
        })
    }
}

/// The attributes of one flag or segment, each name once, and what one context says of them.
pub(super) struct Attributes<'f, 'c, 'a> {
    names: &'f [Attribute],
    context: &'c Context<'a>,
    found: [Option<Option<&'c Value<'a>>>; REMEMBERED],
}

impl<'f, 'c, 'a> Attributes<'f, 'c, 'a> {
    pub(super) fn new(names: &'f [Attribute], context: &'c Context<'a>) -> Self {
        Self { names, context, found: [None; REMEMBERED] }
    }

    /// The value of the attribute at a position; `None` when it is absent.
    pub(super) fn value(&mut self, at: u32) -> Option<&'c Value<'a>> {
        let at = at as usize;
        let look_up = || self.names.get(at).and_then(|name| name.of(self.context));
        match self.found.get(at) {
            Some(Some(known)) => *known,
            Some(None) => {
                let value = look_up();
                self.found[at] = Some(value);
                value
            }
            None => look_up(),
        }
    }

    pub(super) fn name(&self, at: u32) -> &'f str {
        self.names.get(at as usize).map_or("", Attribute::name)
    }
}

/// Gives every name a position while a flag or segment is compiled.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<Attribute>,
    positions: hashbrown::HashMap<Box<str>, u32>,
}

impl Names {
    pub(super) fn position(&mut self, name: &str) -> u32 {
        if let Some(&at) = self.positions.get(name) {
            return at;
        }
        let at = self.names.len() as u32;
        self.names.push(Attribute::new(name));
        self.positions.insert(name.into(), at);
        at
    }

    pub(super) fn into_attributes(self) -> Box<[Attribute]> {
        self.names.into()
    }
}

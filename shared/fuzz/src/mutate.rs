//! Changes to JSON that leave it JSON: a node becomes another of the same name, a text one that means something.
//!
//! An input is documents parted by NUL bytes. Half of all changes are left to the fuzzer, which knows nothing of this.

use std::sync::LazyLock;

use serde_json::{Number, Value};

/// What the dictionary holds, each word without the quotes around it.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let entries = include_str!("../json.dict").lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    entries.map(|entry| entry.replace("\\\"", "\"").replace("\\\\", "\\").trim_matches('"').to_owned()).collect()
});
/// Numbers at the edges of what is stored, parted by blanks.
const NUMBERS: &str = "0 -0.0 1 -1 10.0 9.5 99999 100000 4294967295 9007199254740993 9223372036854775807 \
    18446744073709551615 -9223372036854775808 1e300 5e-324 1798761600000";
/// Letters that fold, join or end in unusual ways.
const LETTERS: &[char] = &['a', 'Z', '0', '.', '-', '+', ':', '/', '$', ' ', 'ß', 'ẞ', 'Σ', 'ς', 'İ', '\u{212a}', '😀'];
/// Long enough to leave every list that is walked.
const COPIES_MAX: usize = 24;

/// An input with one to three changes; `None` when it is not JSON, grew too long, or the fuzzer should change it.
pub fn mutated(data: &[u8], size_max: usize, seed: u32) -> Option<Vec<u8>> {
    let mut chance = Chance(seed.into());
    if chance.one_in(2) {
        return None;
    }
    let mut documents = read(data)?;
    let before = documents.clone();
    for _ in 0..=chance.below(3) {
        chance.change(&mut documents, &before);
    }
    written(&documents, size_max)
}

/// An input in which one node was replaced by a node of another.
pub fn crossed(data: &[u8], other: &[u8], size_max: usize, seed: u32) -> Option<Vec<u8>> {
    let mut chance = Chance(seed.into());
    let (mut documents, donors) = (read(data)?, read(other)?);
    chance.replace(&mut documents, &donors);
    written(&documents, size_max)
}

/// Copies an input to where the fuzzer wants it, and says how long it is.
pub fn put(bytes: &[u8], out: &mut [u8]) -> usize {
    let size = bytes.len().min(out.len());
    out[..size].copy_from_slice(&bytes[..size]);
    size
}

fn read(data: &[u8]) -> Option<Vec<Value>> {
    data.split(|byte| *byte == 0).map(|part| serde_json::from_slice(part).ok()).collect()
}

fn written(documents: &[Value], size_max: usize) -> Option<Vec<u8>> {
    let parts: Vec<String> = documents.iter().map(Value::to_string).collect();
    Some(parts.join("\0").into_bytes()).filter(|bytes| bytes.len() <= size_max)
}

/// Every node with the name of the field that it is, or is an element of.
fn nodes(documents: &[Value]) -> Vec<(&str, &Value)> {
    fn add<'v>(name: &'v str, value: &'v Value, found: &mut Vec<(&'v str, &'v Value)>) {
        found.push((name, value));
        match value {
            Value::Array(items) => items.iter().for_each(|item| add(name, item, found)),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| add(name, field, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    documents.iter().for_each(|document| add("", document, &mut found));
    found
}

/// The node at a position of [`nodes`].
fn node_at<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node_at(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|field| node_at(field, left)),
        _ => None,
    }
}

/// A source of chance with a seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % most.max(1) as u64) as usize
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<'t, T>(&mut self, list: &'t [T]) -> Option<&'t T> {
        list.get(self.below(list.len()))
    }

    fn change(&mut self, documents: &mut [Value], donors: &[Value]) {
        if self.one_in(3) {
            return self.replace(documents, donors);
        }
        let mut at = self.below(nodes(documents).len());
        if let Some(node) = documents.iter_mut().find_map(|document| node_at(document, &mut at)) {
            self.change_node(node, donors);
        }
    }

    /// Puts a node of the donors in the place of one with the same name.
    fn replace(&mut self, documents: &mut [Value], donors: &[Value]) {
        let known = nodes(documents);
        let mut at = self.below(known.len());
        let Some((name, _)) = known.get(at) else { return };
        let alike: Vec<Value> = nodes(donors).into_iter().filter(|(n, _)| n == name).map(|(_, v)| v.clone()).collect();
        let Some(donor) = self.pick(&alike) else { return };
        if let Some(node) = documents.iter_mut().find_map(|document| node_at(document, &mut at)) {
            *node = donor.clone();
        }
    }

    fn change_node(&mut self, node: &mut Value, donors: &[Value]) {
        match node {
            Value::Null => *node = Value::from(self.word()),
            Value::Bool(boolean) => *boolean = !*boolean,
            Value::Number(number) => *number = self.number(number),
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => self.change_list(items),
            Value::Object(fields) => {
                let names: Vec<String> = fields.keys().cloned().collect();
                let name = self.pick(&names).cloned();
                match self.below(3) {
                    0 => drop(name.and_then(|name| fields.remove(&name))),
                    1 => {
                        let known = nodes(donors);
                        let value = self.pick(&known).map(|(_, value)| (*value).clone()).unwrap_or_default();
                        fields.insert(self.word(), value);
                    }
                    _ => {
                        let value = name.and_then(|name| fields.remove(&name)).unwrap_or_default();
                        fields.insert(self.word(), value);
                    }
                }
            }
        }
    }

    fn change_list(&mut self, items: &mut Vec<Value>) {
        let at = self.below(items.len());
        let Some(item) = items.get(at).cloned() else { return items.push(Value::from(self.word())) };
        match self.below(4) {
            0 => drop(items.remove(at)),
            1 => items.insert(self.below(items.len()), item),
            2 => {
                let to = self.below(items.len());
                items.swap(at, to);
            }
            _ => {
                for copy in 0..self.below(COPIES_MAX) {
                    items.push(item.as_str().map_or_else(|| item.clone(), |text| Value::from(format!("{text}{copy}"))));
                }
            }
        }
    }

    fn number(&mut self, number: &Number) -> Number {
        let near = number.as_i64().map(|integer| integer.wrapping_add(self.below(3) as i64 - 1));
        let known: Vec<&str> = NUMBERS.split(' ').collect();
        let known = self.pick(&known).and_then(|text| text.parse().ok());
        match (self.below(3), near, known) {
            (0, Some(near), _) => near.into(),
            (1, _, Some(known)) => known,
            _ => self.below(100_001).into(),
        }
    }

    fn word(&mut self) -> String {
        self.pick(&WORDS).cloned().unwrap_or_default()
    }

    fn text(&mut self, text: &str) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        let at = self.below(chars.len() + 1);
        match self.below(8) {
            0 => chars.truncate(at),
            1 => drop(chars.drain(..at)),
            2 => return text.to_uppercase(),
            3 => return text.repeat(1 + self.below(COPIES_MAX)),
            4 => chars.insert(at, self.pick(LETTERS).copied().unwrap_or_default()),
            5 => return format!("{}{}", text, self.word()),
            _ => return self.word(),
        }
        chars.into_iter().collect()
    }
}

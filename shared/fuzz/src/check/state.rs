//! A state as JSON and contexts, parted by NUL bytes, which no JSON holds.

use shared::evaluation::{Context, StateDocument};
use shared::model::reach::Documents;

use super::said;
use super::world::{NOW_MS, World};

/// More contexts are not asked about: the state is what takes time.
const CONTEXTS_MAX: usize = 4;

/// Compiles the state and asks it about the contexts; `false` when there is no state to ask.
pub fn check(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let mut parts = text.split('\0');
    let Ok(document) = serde_json::from_str::<StateDocument>(parts.next().unwrap_or_default()) else { return false };
    let written = serde_json::to_string(&document).expect("JSON");
    assert_eq!(serde_json::from_str::<StateDocument>(&written).expect("the same"), document);
    said::check_sentences(&document);
    let world = World::new(&document);
    let documents = documents_of(&document);
    check_reach(&documents, &world);
    let ruled_out = said::ruled_out(&documents, NOW_MS);
    let contexts: Vec<&str> = parts.take(CONTEXTS_MAX).collect();
    for json in if contexts.is_empty() { vec!["{}"] } else { contexts } {
        if let Ok(context) = serde_json::from_str::<Context<'_>>(json) {
            world.ask(&context, &ruled_out);
        }
    }
    true
}

fn documents_of(document: &StateDocument) -> Documents {
    let flags = document.flags.iter().map(|f| (f.flag.key.clone(), (f.flag.clone(), f.config.clone())));
    let segments = document.segments.iter().map(|segment| (segment.key.clone(), segment.clone()));
    Documents { flags: flags.collect(), segments: segments.collect() }
}

/// What may be saved compiles.
fn check_reach(documents: &Documents, world: &World<'_>) {
    match documents.validate() {
        Ok(()) => assert!(world.is_readable(), "what may be saved answers"),
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|problem| !problem.field.is_empty() && !problem.message.is_empty()));
        }
    }
}

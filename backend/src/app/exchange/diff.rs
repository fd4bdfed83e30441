//! What a file would change, and by which changes in which order.

use std::collections::{BTreeMap, BTreeSet};

use shared::model::change::{CHANGES_MAX, Change};
use shared::model::condition::Condition;
use shared::model::key::{EnvironmentKey, FlagKey, SegmentKey};
use shared::model::segment::SegmentDefinition;
use shared::sentence;
use shared::wire::api::environment::CreateEnvironment;
use shared::wire::api::import::{ITEMS_MAX, ImportAction, ImportItem, ImportNoun, ImportPlan, SENTENCES_MAX};
use shared::wire::project_file::ProjectFile;

use crate::app::exchange::current::{Current, protection};
use crate::app::exchange::flags;
use crate::app::exchange::order::order;
use crate::app::exchange::register::{self, Register};
use crate::error::AppError;

/// The most bytes of changes in one slice, as JSON; a changeset that waits is one row.
const SLICE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The most sentences on what stays as it is.
const NOTES_MAX: usize = 50;

/// What is to be done, and what it looks like.
pub(super) struct Planned {
    pub(super) plan: ImportPlan,
    /// Made before all else.
    pub(super) environments: Vec<CreateEnvironment>,
    /// Changesets in their order: those that wait for nobody first.
    pub(super) slices: Vec<Vec<Change>>,
    /// What no answer depends on.
    pub(super) register: Register,
}

/// A comparison under way.
pub(super) struct Comparison<'a> {
    pub(super) file: &'a ProjectFile,
    pub(super) current: &'a Current,
    pub(super) remove: bool,
    /// Changes that touch no protected environment and need none that does, in their order.
    pub(super) free: Vec<Change>,
    /// The others, in theirs.
    pub(super) waiting: Vec<Change>,
    /// Protected environments that are touched.
    pub(super) waits: BTreeSet<EnvironmentKey>,
    items: Vec<ImportItem>,
    counts: [u64; 3],
    unchanged: u64,
    notes: Vec<String>,
}

impl Comparison<'_> {
    /// Notes what happens to a thing; nothing when nothing about it changes.
    pub(super) fn item(&mut self, action: ImportAction, noun: ImportNoun, key: &str, changes: Vec<String>) {
        if action == ImportAction::Change && changes.is_empty() {
            self.unchanged += 1;
            return;
        }
        self.counts[action as usize] += 1;
        if self.items.len() < ITEMS_MAX {
            let mut changes = changes;
            if changes.len() > SENTENCES_MAX {
                let more = changes.len() - SENTENCES_MAX + 1;
                changes.truncate(SENTENCES_MAX - 1);
                changes.push(format!("~ and {more} more"));
            }
            self.items.push(ImportItem { action, noun, key: key.to_owned(), changes });
        }
    }

    /// Notes what differs and stays.
    pub(super) fn note(&mut self, sentence: String) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(sentence);
        }
    }

    /// A change that waits where it touches protected environments.
    pub(super) fn change(&mut self, change: Change, touched: &BTreeSet<EnvironmentKey>) {
        if touched.is_empty() {
            self.free.push(change);
        } else {
            self.waits.extend(touched.iter().cloned());
            self.waiting.push(change);
        }
    }
}

/// Compares a file that was checked with what there is.
pub(super) fn compare(file: &ProjectFile, current: &Current, remove: bool) -> Result<Planned, AppError> {
    let mut comparison = Comparison {
        file,
        current,
        remove,
        free: Vec::new(),
        waiting: Vec::new(),
        waits: BTreeSet::new(),
        items: Vec::new(),
        counts: [0; 3],
        unchanged: 0,
        notes: Vec::new(),
    };
    let environments = self::environments(&mut comparison);
    segments(&mut comparison);
    flags::compare(&mut comparison);
    removed(&mut comparison);
    let register = register::compare(&mut comparison)?;
    let Comparison { free, waiting, waits, items, counts, unchanged, notes, .. } = comparison;
    let mut slices = sliced(free)?;
    slices.extend(sliced(waiting)?);
    let in_order = current.environments.iter().filter_map(|environment| environment.key.parse().ok());
    let plan = ImportPlan {
        digest: String::new(),
        is_cut: counts.iter().sum::<u64>() > items.len() as u64,
        items,
        created: counts[ImportAction::Create as usize],
        changed: counts[ImportAction::Change as usize],
        removed: counts[ImportAction::Remove as usize],
        unchanged,
        slices: slices.len() as u64,
        waits: in_order.filter(|key| waits.contains(key)).collect(),
        notes,
    };
    Ok(Planned { plan, environments, slices, register })
}

/// Environments to be made; those that exist stay as they are, whatever the file says of them.
fn environments(comparison: &mut Comparison<'_>) -> Vec<CreateEnvironment> {
    let (file, current) = (comparison.file, comparison.current);
    let mut new = Vec::new();
    for environment in &file.environments {
        let key = &environment.key;
        let Some(known) = current.environments.iter().find(|known| known.key == key.as_str()) else {
            comparison.item(ImportAction::Create, ImportNoun::Environment, key.as_str(), Vec::new());
            if environment.protection.is_some() {
                comparison.note(format!("{key} was protected where the file comes from; protect it here by hand"));
            }
            let (name, hue) = (environment.name.clone(), Some(environment.hue));
            new.push(CreateEnvironment { key: key.clone(), name, hue });
            continue;
        };
        comparison.item(ImportAction::Change, ImportNoun::Environment, key.as_str(), Vec::new());
        if known.name != environment.name.trim() || known.hue != i16::from(environment.hue) {
            comparison.note(format!("the name and hue of {key} stay as they are here"));
        }
        if current.policies.get(&known.id).map(protection) != environment.protection {
            comparison.note(format!("{key} stays protected as it is here; an import changes no policy"));
        }
    }
    for known in &current.environments {
        if !file.environments.iter().any(|environment| environment.key.as_str() == known.key) {
            comparison.note(format!("{} is not in the file and stays as it is", known.key));
        }
    }
    let shared = |key: &&str| current.environments.iter().any(|known| known.key == **key);
    let theirs: Vec<&str> = file.environments.iter().map(|e| e.key.as_str()).filter(shared).collect();
    let ours = current.environments.iter().map(|known| known.key.as_str());
    let ours: Vec<&str> = ours.filter(|key| theirs.contains(key)).collect();
    if ours != theirs {
        comparison.note("environments stay in the order that they have here".into());
    }
    if current.project.name != file.project.name {
        comparison.note(format!(
            "the project stays {} ({})",
            current.project.key,
            sentence::value(&current.project.name)
        ));
    }
    new
}

fn segments(comparison: &mut Comparison<'_>) {
    let (file, current) = (comparison.file, comparison.current);
    let mut needs: BTreeMap<&SegmentKey, Vec<&SegmentKey>> = BTreeMap::new();
    let here = current.segments.values().map(|known| &known.definition);
    let uses: BTreeMap<&SegmentKey, Vec<SegmentKey>> = here
        .chain(file.segments.iter().map(|segment| &segment.definition))
        .map(|definition| (&definition.key, definition.segments()))
        .collect();
    for (key, used) in &uses {
        needs.insert(key, used.iter().collect());
    }
    let places = protected_places(current);
    let none = BTreeSet::new();
    let by_key: BTreeMap<&SegmentKey, _> = file.segments.iter().map(|s| (&s.definition.key, s)).collect();
    for key in order(&needs) {
        let Some(segment) = by_key.get(key) else { continue };
        let (definition, name) = (segment.definition.clone(), segment.name.trim().to_owned());
        let Some(known) = current.segments.get(key) else {
            let mut told = vec![format!("+ Name: {}", sentence::value(&name))];
            let empty = bare(&definition);
            told.extend(sentence::segment_changes(&empty, &definition));
            comparison.item(ImportAction::Create, ImportNoun::Segment, key.as_str(), told);
            comparison.free.push(Change::CreateSegment { definition, name });
            continue;
        };
        let mut told = sentence::segment_changes(&known.definition, &definition);
        let decides = known.definition != definition;
        told.extend(renamed(&known.name, &name));
        if !told.is_empty() {
            let touched = if decides { places.get(key).unwrap_or(&none) } else { &none };
            let change = Change::UpdateSegment { version: known.version, definition, name };
            comparison.change(change, touched);
        }
        comparison.item(ImportAction::Change, ImportNoun::Segment, key.as_str(), told);
    }
}

/// In which protected environments a flag reaches each segment, by name or through other segments.
fn protected_places(current: &Current) -> BTreeMap<SegmentKey, BTreeSet<EnvironmentKey>> {
    let mut places: BTreeMap<SegmentKey, BTreeSet<EnvironmentKey>> = BTreeMap::new();
    for known in current.flags.values() {
        for (environment, (config, _)) in &known.configs {
            if !current.is_protected(environment) {
                continue;
            }
            let mut open = config.segments();
            while let Some(key) = open.pop() {
                let used = current.segments.get(&key).map(|known| known.definition.segments());
                if places.entry(key).or_default().insert(environment.clone()) {
                    open.extend(used.unwrap_or_default());
                }
            }
        }
    }
    places
}

/// What the file does not hold: it goes when that was asked for, flags before the segments that they used.
fn removed(comparison: &mut Comparison<'_>) {
    let (file, current) = (comparison.file, comparison.current);
    let kept: BTreeSet<&SegmentKey> = file.segments.iter().map(|segment| &segment.definition.key).collect();
    let gone: BTreeMap<SegmentKey, Vec<SegmentKey>> = current
        .segments
        .iter()
        .filter(|(key, _)| !kept.contains(key))
        .map(|(key, known)| (key.clone(), known.definition.segments()))
        .collect();
    if !comparison.remove {
        let kept: BTreeSet<&FlagKey> = file.flags.iter().map(|flag| &flag.definition.key).collect();
        let flags = current.flags.keys().filter(|key| !kept.contains(key)).count();
        for (count, noun) in [(flags, "flag"), (gone.len(), "segment")] {
            match count {
                0 => {}
                1 => comparison.note(format!("1 {noun} is not in the file and stays")),
                _ => comparison.note(format!("{count} {noun}s are not in the file and stay")),
            }
        }
        return;
    }
    flags::remove(comparison);
    let is_waiting = !comparison.waiting.is_empty();
    for segment in order(&gone).into_iter().rev() {
        comparison.item(ImportAction::Remove, ImportNoun::Segment, segment.as_str(), Vec::new());
        let change = Change::DeleteSegment { segment };
        // Whoever used it may do so until what waits is applied.
        if is_waiting { comparison.waiting.push(change) } else { comparison.free.push(change) }
    }
}

/// A segment of this key that nobody is in.
fn bare(definition: &SegmentDefinition) -> SegmentDefinition {
    SegmentDefinition {
        key: definition.key.clone(),
        excluded: Vec::new(),
        included: Vec::new(),
        conditions: Condition::default(),
    }
}

/// The sentence of another name, when it is one.
pub(super) fn renamed(before: &str, after: &str) -> Option<String> {
    (before != after).then(|| format!("~ Name: {} → {}", sentence::value(before), sentence::value(after)))
}

/// Changes in their order, cut where a changeset would hold too many or too large ones.
fn sliced(changes: Vec<Change>) -> Result<Vec<Vec<Change>>, AppError> {
    let mut slices: Vec<Vec<Change>> = Vec::new();
    let mut left = 0;
    for change in changes {
        let bytes = serde_json::to_vec(&change).map_err(AppError::internal)?.len();
        match slices.last_mut().filter(|slice| slice.len() < CHANGES_MAX && bytes <= left) {
            Some(slice) => {
                left -= bytes;
                slice.push(change);
            }
            None => {
                left = SLICE_BYTES_MAX.saturating_sub(bytes);
                slices.push(vec![change]);
            }
        }
    }
    Ok(slices)
}

//! The two lists of keys of a segment: edited, replaced, read, asked.

use std::collections::HashSet;

use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::condition::VALUES_MAX;
use shared::model::id::ProjectId;
use shared::model::key::SegmentKey;
use shared::model::segment::SegmentDefinition;
use shared::sentence;
use shared::wire::api::segment::{EditKeys, EditedKeys, KeyList, Membership, SegmentKeys, SegmentMembership};

use crate::app::changeset;
use crate::app::segment::{find, find_version};
use crate::auth::permission::InProject;
use crate::error::AppError;
use crate::state::AppState;
use crate::store::segment::Segment;

/// Adds keys to a list and removes others, all or nothing.
pub async fn edit_keys(
    state: &AppState,
    who: &InProject,
    key: &SegmentKey,
    version: u64,
    body: EditKeys,
) -> Result<EditedKeys, AppError> {
    let EditKeys { list, add, remove, note } = body;
    for (field, keys) in [("add", &add), ("remove", &remove)] {
        if keys.len() > VALUES_MAX {
            let message = format!("{} keys; at most {VALUES_MAX} are allowed at once", keys.len());
            return Err(AppError::field(field, message));
        }
    }
    let removed: HashSet<&str> = remove.iter().map(String::as_str).collect();
    if let Some(at) = add.iter().position(|key| removed.contains(key.as_str())) {
        let message = format!("{} is to be added and removed; name it once", sentence::value(&add[at]));
        return Err(AppError::field(format!("add[{at}]"), message));
    }
    let segment = find_version(&mut *state.pool.acquire().await?, who.id(), key, version).await?;
    let before = keys_of(&segment.definition, list);
    let mut after: Vec<String> = before.iter().filter(|key| !removed.contains(key.as_str())).cloned().collect();
    let mut known: HashSet<&str> = before.iter().map(String::as_str).collect();
    let not_there = removed.difference(&known).count();
    after.extend(add.iter().filter(|key| known.insert(key)).cloned());
    let asked = Asked { added: add.len(), not_there };
    save(state, who, segment, list, after, asked, &note).await
}

/// Replaces a list whole; a key that is named twice is kept once.
pub async fn replace_keys(
    state: &AppState,
    who: &InProject,
    key: &SegmentKey,
    list: KeyList,
    version: u64,
    keys: Vec<String>,
    note: &Note,
) -> Result<EditedKeys, AppError> {
    let segment = find_version(&mut *state.pool.acquire().await?, who.id(), key, version).await?;
    let asked = Asked { added: keys.len(), not_there: 0 };
    let mut known = HashSet::new();
    let after = keys.iter().filter(|key| known.insert(key.as_str())).cloned().collect();
    save(state, who, segment, list, after, asked, note).await
}

/// A list of keys; with `text`, those that hold it, in any case.
pub async fn list_keys(
    state: &AppState,
    project: ProjectId,
    key: &SegmentKey,
    list: KeyList,
    text: Option<&str>,
) -> Result<SegmentKeys, AppError> {
    let segment = find(&mut *state.pool.acquire().await?, project, key).await?;
    let keys = keys_of(&segment.definition, list);
    let wanted = text.map(str::to_lowercase);
    let matches = |key: &&String| wanted.as_ref().is_none_or(|text| key.to_lowercase().contains(text.as_str()));
    Ok(SegmentKeys {
        segment: segment.definition.key.clone(),
        list,
        version: segment.version,
        total: count(keys.len()),
        keys: keys.iter().filter(matches).cloned().collect(),
    })
}

/// Whether the person of a key is in a segment, as far as the key alone tells.
pub async fn contains(
    state: &AppState,
    project: ProjectId,
    segment: &SegmentKey,
    key: String,
) -> Result<SegmentMembership, AppError> {
    let definition = find(&mut *state.pool.acquire().await?, project, segment).await?.definition;
    let (shown, segment) = (sentence::value(&key), &definition.key);
    let has_conditions = !definition.conditions.leaves().is_empty();
    let (membership, sentence) = if definition.excluded.contains(&key) {
        (Membership::Excluded, format!("{shown} is excluded, so never in {segment}"))
    } else if definition.included.contains(&key) {
        (Membership::Included, format!("{shown} is in {segment}, by name"))
    } else if has_conditions {
        let conditions = sentence::condition(&definition.conditions);
        (Membership::Depends, format!("{shown} is in neither list; it is in {segment} if {conditions}"))
    } else {
        (Membership::Outside, format!("{shown} is not in {segment}: it is in neither list and there are no conditions"))
    };
    Ok(SegmentMembership { key, membership, sentence })
}

/// What was asked for beside what comes out.
struct Asked {
    added: usize,
    not_there: usize,
}

async fn save(
    state: &AppState,
    who: &InProject,
    segment: Segment,
    list: KeyList,
    after: Vec<String>,
    asked: Asked,
    note: &Note,
) -> Result<EditedKeys, AppError> {
    if after.len() > VALUES_MAX {
        let message = format!("{} keys in all; at most {VALUES_MAX} are allowed in a list", after.len());
        return Err(AppError::field(list.as_str(), message));
    }
    let before = keys_of(&segment.definition, list);
    let other = match list {
        KeyList::Included => &segment.definition.excluded,
        KeyList::Excluded => &segment.definition.included,
    };
    let (was, is): (HashSet<&String>, HashSet<&String>) = (before.iter().collect(), after.iter().collect());
    let added = is.difference(&was).count();
    let mut edited = EditedKeys {
        changeset: None,
        added: count(added),
        already_there: count(asked.added - added.min(asked.added)),
        removed: count(was.difference(&is).count()),
        not_there: count(asked.not_there),
        total: count(after.len()),
        in_both: count(other.iter().collect::<HashSet<_>>().intersection(&is).count()),
    };
    if *before != after {
        let mut definition = segment.definition;
        match list {
            KeyList::Included => definition.included = after,
            KeyList::Excluded => definition.excluded = after,
        }
        let change = Change::UpdateSegment { version: segment.version, definition, name: segment.name };
        edited.changeset = Some(changeset::submit(state, who, vec![change], note).await?);
    }
    Ok(edited)
}

fn keys_of(definition: &SegmentDefinition, list: KeyList) -> &Vec<String> {
    match list {
        KeyList::Included => &definition.included,
        KeyList::Excluded => &definition.excluded,
    }
}

fn count(count: usize) -> u64 {
    count as u64
}

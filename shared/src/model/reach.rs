//! What a flag or segment reaches: that all of it exists, that nothing reaches itself, and that there is not too much.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::model::condition::{Condition, Operator};
use crate::model::flag::{FlagConfig, FlagDefinition, PREREQUISITES_MAX, SEGMENTS_MAX};
use crate::model::key::{FlagKey, SegmentKey};
use crate::model::problem::{FieldProblem, Problems};
use crate::model::segment::SegmentDefinition;

/// So many steps of a way are told before its end.
const WAY_SHOWN: usize = 8;

/// The documents of one environment, as far as a check needs them.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// Flags that have a config there, by key.
    pub flags: BTreeMap<FlagKey, (FlagDefinition, FlagConfig)>,
    /// Segments by key.
    pub segments: BTreeMap<SegmentKey, SegmentDefinition>,
}

/// All that one flag or segment reaches, whether it exists or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Through prerequisites.
    pub flags: BTreeSet<FlagKey>,
    /// Through conditions of the flag, its prerequisites, and of segments.
    pub segments: BTreeSet<SegmentKey>,
}

impl Documents {
    /// What is wrong with everything, each problem with its place: `flags[checkout].rules[2].…`,
    /// `segments[staff].conditions.…`.
    pub fn validate(&self) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        for (key, (definition, config)) in &self.flags {
            problems.add_at(&format!("flags[{key}]"), definition.validate());
            problems.add_at(&format!("flags[{key}]"), config.validate(definition));
            problems.add_at(&format!("flags[{key}]"), self.check_flag(key, config));
        }
        for (key, definition) in &self.segments {
            problems.add_at(&format!("segments[{key}]"), definition.validate());
            problems.add_at(&format!("segments[{key}]"), self.check_segment(definition));
        }
        problems.into_result()
    }

    /// What is wrong with what a config of `flag` refers to.
    pub fn check_flag(&self, flag: &FlagKey, config: &FlagConfig) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        for (index, prerequisite) in config.prerequisites.iter().enumerate() {
            let path = format!("prerequisites[{index}]");
            let parent = &prerequisite.flag;
            let Some((definition, _)) = self.flags.get(parent) else {
                let message = format!(
                    "flag '{parent}' has no config in this environment; remove it here or save one there first"
                );
                problems.add(format_args!("{path}.flag"), message);
                continue;
            };
            for (at, variant) in prerequisite.variants.iter().enumerate() {
                if !definition.variants.iter().any(|v| v.key == *variant) {
                    let known: Vec<&str> = definition.variants.iter().map(|v| v.key.as_str()).collect();
                    let message = format!("'{variant}' is not a variant of {parent}; it has {}", known.join(", "));
                    problems.add(format_args!("{path}.variants[{at}]"), message);
                }
            }
            if parent == flag {
                problems.add(format_args!("{path}.flag"), "a flag cannot be a prerequisite of itself; remove it");
            } else if let Some(way) = self.way_of_flags(parent, flag) {
                let message = format!("'{flag}' would need itself: {flag} needs {}", told(&way, "needs"));
                problems.add(format_args!("{path}.flag"), message);
            }
        }
        for (index, rule) in config.rules.iter().enumerate() {
            self.check_segments_exist(&rule.conditions, &format!("rules[{index}].conditions"), &mut problems);
        }
        let reach = self.reach_of_flag(config);
        if reach.flags.len() > PREREQUISITES_MAX {
            let message = format!("reaches {} flags; at most {PREREQUISITES_MAX} are allowed", reach.flags.len());
            problems.add("prerequisites", message);
        }
        if reach.segments.len() > SEGMENTS_MAX {
            let message = format!("reaches {} segments; at most {SEGMENTS_MAX} are allowed", reach.segments.len());
            problems.add("rules", message);
        }
        problems.into_result()
    }

    /// What is wrong with what a segment refers to.
    pub fn check_segment(&self, segment: &SegmentDefinition) -> Result<(), Vec<FieldProblem>> {
        let mut problems = Problems::default();
        self.check_segments_exist(&segment.conditions, "conditions", &mut problems);
        for used in segment.segments() {
            if used != segment.key
                && let Some(way) = self.way_of_segments(&used, &segment.key)
            {
                let key = &segment.key;
                let message = format!("'{key}' would use itself: {key} uses {}", told(&way, "uses"));
                problems.add("conditions", message);
            }
        }
        let mut reach = Reach::default();
        self.add_segments(segment.segments(), &mut reach);
        if reach.segments.len() > SEGMENTS_MAX {
            let message = format!("reaches {} segments; at most {SEGMENTS_MAX} are allowed", reach.segments.len());
            problems.add("conditions", message);
        }
        problems.into_result()
    }

    /// All that a config reaches.
    pub fn reach_of_flag(&self, config: &FlagConfig) -> Reach {
        let mut reach = Reach::default();
        let mut open: Vec<&FlagConfig> = vec![config];
        while let Some(config) = open.pop() {
            self.add_segments(config.segments(), &mut reach);
            for prerequisite in &config.prerequisites {
                if reach.flags.insert(prerequisite.flag.clone()) {
                    open.extend(self.flags.get(&prerequisite.flag).map(|(_, config)| config));
                }
            }
        }
        reach
    }

    fn add_segments(&self, first: Vec<SegmentKey>, reach: &mut Reach) {
        let mut open = first;
        while let Some(key) = open.pop() {
            if let Some(segment) = self.segments.get(&key) {
                open.extend(segment.segments().into_iter().filter(|used| !reach.segments.contains(used)));
            }
            reach.segments.insert(key);
        }
    }

    fn check_segments_exist(&self, conditions: &Condition, path: &str, problems: &mut Problems) {
        for (path, leaf) in conditions.located_leaves(path) {
            if leaf.operator != Operator::InSegment {
                continue;
            }
            for (at, value) in leaf.values.iter().enumerate() {
                if value.parse::<SegmentKey>().is_ok_and(|key| !self.segments.contains_key(&key)) {
                    let message = format!("there is no segment '{value}'; remove it or create the segment first");
                    problems.add(format_args!("{path}.values[{at}]"), message);
                }
            }
        }
    }

    /// The keys from one flag to another through prerequisites, both included.
    fn way_of_flags(&self, from: &FlagKey, to: &FlagKey) -> Option<Vec<String>> {
        way(from, to, |key| {
            let config = self.flags.get(key).map(|(_, config)| config);
            config.into_iter().flat_map(|config| &config.prerequisites).map(|needed| needed.flag.clone()).collect()
        })
    }

    fn way_of_segments(&self, from: &SegmentKey, to: &SegmentKey) -> Option<Vec<String>> {
        way(from, to, |key| self.segments.get(key).map(SegmentDefinition::segments).unwrap_or_default())
    }
}

/// A way in words: `b, which needs c, which needs a`; of a long one the beginning and the end.
fn told(way: &[String], verb: &str) -> String {
    let between = format!(", which {verb} ");
    match way {
        [first @ .., last] if first.len() > WAY_SHOWN => {
            let left_out = first.len() - WAY_SHOWN;
            format!("{}, and so on through {left_out} more, until {last}", first[..WAY_SHOWN].join(&between))
        }
        _ => way.join(&between),
    }
}

/// A shortest way through a graph that may hold cycles, both ends included.
fn way<K: Clone + Eq + std::hash::Hash + ToString>(
    from: &K,
    to: &K,
    next: impl Fn(&K) -> Vec<K>,
) -> Option<Vec<String>> {
    // In the order in which they are met, each with the position of the one that leads to it.
    let mut met = vec![(from.clone(), 0)];
    let mut seen = HashSet::from([from.clone()]);
    let mut at = 0;
    while let Some((key, _)) = met.get(at) {
        if key == to {
            let steps = std::iter::successors(Some(at), |&at| (at > 0).then(|| met[at].1));
            let mut way: Vec<String> = steps.map(|at| met[at].0.to_string()).collect();
            way.reverse();
            return Some(way);
        }
        let unseen = next(key).into_iter().filter(|key| seen.insert(key.clone()));
        met.extend(unseen.map(|key| (key, at)));
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boolean flags of an environment, each with the flags it needs to be on.
    fn flags(list: &[(&str, &[&str])]) -> Documents {
        let mut documents = Documents::default();
        for (key, parents) in list {
            let parents: Vec<String> =
                parents.iter().map(|parent| format!(r#"{{"flag":"{parent}","variants":["on"]}}"#)).collect();
            let definition = format!(
                r#"{{"key":"{key}","value_type":"boolean","kind":"release","client_visible":false,
                    "variants":[{{"key":"on","value":"true"}},{{"key":"off","value":"false"}}]}}"#
            );
            let config = format!(
                r#"{{"enabled":true,"prerequisites":[{}],"default_serve":{{"variant":"on"}}}}"#,
                parents.join(",")
            );
            let definition = serde_json::from_str(&definition).expect("a definition");
            let config = serde_json::from_str(&config).expect("a config");
            documents.flags.insert(key.parse().expect("a key"), (definition, config));
        }
        documents
    }

    /// Segments, each with the segments it uses.
    fn segments(list: &[(&str, &[&str])]) -> BTreeMap<SegmentKey, SegmentDefinition> {
        let segment = |(key, uses): &(&str, &[&str])| {
            let json = serde_json::json!({"key": key, "conditions": {"operator": "in_segment", "values": uses}});
            let conditions = if uses.is_empty() { serde_json::json!({"key": key}) } else { json };
            (key.parse().expect("a key"), serde_json::from_value(conditions).expect("a segment"))
        };
        list.iter().map(segment).collect()
    }

    fn problems_of(documents: &Documents) -> Vec<String> {
        let found = documents.validate().err().unwrap_or_default();
        found.into_iter().map(|problem| format!("{}: {}", problem.field, problem.message)).collect()
    }

    #[test]
    fn two_that_share_a_parent_are_no_cycle() {
        let mut documents = flags(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]);
        documents.segments = segments(&[("w", &["x", "y"]), ("x", &["z"]), ("y", &["z"]), ("z", &[])]);
        assert_eq!(problems_of(&documents), [""; 0]);
        let reach = documents.reach_of_flag(&documents.flags["a"].1);
        assert_eq!(reach.flags.len(), 3);
    }

    #[test]
    fn who_would_need_itself_is_told_the_way() {
        let mut documents = flags(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
        documents.segments = segments(&[("x", &["y"]), ("y", &["x"])]);
        let found = problems_of(&documents);
        let first = "flags[a].prerequisites[0].flag: 'a' would need itself: a needs b, which needs c, which needs a";
        assert_eq!(found[0], first);
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(found[3], "segments[x].conditions: 'x' would use itself: x uses y, which uses x");
    }

    #[test]
    fn a_long_way_is_told_by_its_beginning_and_end() {
        let keys: Vec<String> = (0..30).map(|n| format!("f{n:02}")).collect();
        let parents: Vec<[&str; 1]> = (0..30).map(|n| [keys[(n + 1) % 30].as_str()]).collect();
        let list: Vec<(&str, &[&str])> =
            keys.iter().zip(&parents).map(|(key, p)| (key.as_str(), p.as_slice())).collect();
        let found = problems_of(&flags(&list));
        let end = "which needs f08, and so on through 21 more, until f00";
        assert!(found[0].ends_with(end), "{}", found[0]);
    }

    #[test]
    fn what_does_not_exist_is_named_with_its_place() {
        let mut documents = flags(&[("a", &["nope"]), ("b", &["a"])]);
        let config = &mut documents.flags.get_mut("b").expect("a flag").1;
        config.prerequisites[0].variants = vec!["blue".parse().expect("a key")];
        documents.segments = segments(&[("x", &["gone"])]);
        let found = problems_of(&documents);
        assert!(found[0].starts_with("flags[a].prerequisites[0].flag: flag 'nope' has no config"), "{found:?}");
        assert!(
            found[1].starts_with("flags[b].prerequisites[0].variants[0]: 'blue' is not a variant of a"),
            "{found:?}"
        );
        assert!(found[2].starts_with("segments[x].conditions.values[0]: there is no segment 'gone'"), "{found:?}");
    }

    #[test]
    fn a_long_chain_is_refused_where_it_becomes_too_long() {
        let keys: Vec<String> = (0..=PREREQUISITES_MAX + 1).map(|n| format!("f{n:03}")).collect();
        let parents: Vec<Vec<&str>> =
            (0..keys.len()).map(|n| keys[n + 1..].first().into_iter().map(String::as_str).collect()).collect();
        let list: Vec<(&str, &[&str])> =
            keys.iter().zip(&parents).map(|(key, p)| (key.as_str(), p.as_slice())).collect();
        let found = problems_of(&flags(&list));
        assert_eq!(found, ["flags[f000].prerequisites: reaches 65 flags; at most 64 are allowed"]);
    }
}

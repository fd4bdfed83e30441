//! What is said about documents: sentences are one visible line, and no answer refutes a warning.

use shared::evaluation::{Outcome, Place, StateDocument};
use shared::lint::{self, Subject, Warning, WarningKind};
use shared::model::key::FlagKey;
use shared::model::reach::Documents;
use shared::sentence;

/// What a warning says of a flag.
#[derive(Clone, Debug)]
pub enum Never {
    /// No answer comes from this rule.
    Rule(u16),
    /// No answer comes from the default, nor is it asked in vain.
    Default,
    /// The flag is blocked whenever it is on.
    Open,
    /// No answer is the variant at this position.
    Variant(u16),
}

impl Never {
    /// Whether an answer shows that the warning is wrong.
    pub fn is_refuted_by(&self, outcome: &Outcome<'_>) -> bool {
        let place = outcome.place;
        match self {
            Self::Rule(at) => place == Place::Rule(*at),
            Self::Default => matches!(place, Place::Default | Place::Error(_)),
            Self::Open => matches!(place, Place::Target | Place::Rule(_) | Place::Default),
            Self::Variant(at) => outcome.variant_index == Some(*at),
        }
    }
}

/// What the warnings about these documents rule out from a time on. They are proved only for documents that validate.
pub fn ruled_out(documents: &Documents, now_ms: i64) -> Vec<(FlagKey, Never)> {
    let mut warnings = lint::environment(documents, now_ms);
    for (definition, _) in documents.flags.values() {
        let unused = lint::unused_variants(definition, &[documents]).into_iter();
        warnings.extend(unused.map(|warning| (Subject::Flag(definition.key.clone()), warning)));
    }
    let unused = lint::unused_segments(&[documents]).into_iter();
    warnings.extend(unused.map(|(key, warning)| (Subject::Segment(key), warning)));
    assert!(warnings.iter().all(|(_, warning)| !warning.message.is_empty()));
    if documents.validate().is_err() {
        return Vec::new();
    }
    let never = |(subject, Warning { field, kind, .. })| {
        let Subject::Flag(flag) = subject else { return None };
        let at = |list: &str| field.strip_prefix(list)?.strip_prefix('[')?.split(']').next()?.parse().ok();
        let never = match (kind, at("rules")) {
            (WarningKind::NeverApplies | WarningKind::NeverReached, Some(at)) => Never::Rule(at),
            (WarningKind::NeverReached, None) => Never::Default,
            (WarningKind::NeverMet, _) => Never::Open,
            (WarningKind::UnusedVariant, _) => Never::Variant(at("variants")?),
            _ => return None,
        };
        Some((flag, never))
    };
    warnings.into_iter().filter_map(never).collect()
}

/// Says everything there is to say about documents, and about the way from each to the next.
pub fn check_sentences(document: &StateDocument) {
    for state in &document.flags {
        let config = &state.config;
        let brief = sentence::brief(config, state.killed);
        assert!(!brief.is_empty() && brief.chars().count() <= sentence::BRIEF_CHARS_MAX, "{brief}");
        check_line(&brief);
        check_line(&sentence::config(&state.flag, config, state.killed));
        check_line(&sentence::prerequisites(&config.prerequisites));
        for rule in &config.rules {
            let conditions = sentence::condition(&rule.conditions);
            assert!(!conditions.is_empty() || rule.conditions.leaves().is_empty());
            check_line(&conditions);
            check_line(&sentence::serve(&rule.serve));
        }
    }
    for pair in document.flags.windows(2) {
        let [old, new] = pair else { continue };
        check_changes(&sentence::changes(&old.config, &new.config), old.config != new.config);
        check_changes(&sentence::definition_changes(&old.flag, &new.flag), old.flag != new.flag);
    }
    for pair in document.segments.windows(2) {
        let [old, new] = pair else { continue };
        check_changes(&sentence::segment_changes(old, new), old != new);
    }
}

fn check_changes(lines: &[String], is_changed: bool) {
    assert_eq!(!lines.is_empty(), is_changed);
    lines.iter().for_each(|line| check_line(line));
}

fn check_line(line: &str) {
    assert!(line.chars().count() <= sentence::SENTENCE_CHARS_MAX, "{line}");
    assert!(!line.contains(char::is_control), "{line:?}");
}

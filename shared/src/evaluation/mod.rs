//! Decides what a flag answers. Pure, total, and without allocation: the same rule cannot answer differently on
//! the edge, in the backend and in the browser.
//!
//! [`Flag::compile`] turns a definition and its config into the form that [`evaluate`] walks.

mod bucketing;
mod compile;
mod condition;
mod context;
mod outcome;

pub use bucketing::bucket;
pub use compile::{Flag, Segment, SegmentLookup};
pub use context::{Context, Number, Value};
pub use outcome::{ErrorCode, Outcome, Place, Reason};

use bucketing::BucketingKey;
use compile::{Answers, Serve};
use condition::Memo;

/// What `flag` answers for `context`. `killed` comes from the kill of this flag, independent of its config.
///
/// The order is: broken, killed or off, targets, rules, default.
pub fn evaluate<'f>(flag: &'f Flag, killed: bool, context: &Context<'_>) -> Outcome<'f> {
    let answers = match &flag.answers {
        Ok(answers) => answers,
        Err((code, detail)) => return Outcome::error(*code, detail),
    };
    if killed {
        return answers.outcome(answers.off, Reason::Disabled, Place::Killed);
    }
    if !answers.enabled {
        return answers.outcome(answers.off, Reason::Disabled, Place::Off);
    }
    if !answers.targets.is_empty()
        && let Some(key) = BucketingKey::of(context.targeting_key())
        && let Some(&variant) = answers.targets.get(key.as_str())
    {
        return answers.outcome(Some(variant), Reason::TargetingMatch, Place::Target);
    }
    let rules = match &answers.rules {
        Ok(rules) => rules,
        Err((code, detail)) => return Outcome::error(*code, detail),
    };
    let mut memo = Memo::new();
    for rule in rules {
        if !rule.conditions.holds(context, &answers.segments, &mut memo) {
            continue;
        }
        let place = Place::Rule(rule.index);
        match &rule.serve {
            Serve::Variant(variant) => return answers.outcome(Some(*variant), Reason::TargetingMatch, place),
            Serve::Split(split) => {
                if let Some(variant) = split.key(context).and_then(|key| split.owner(split.bucket(&key))) {
                    return answers.outcome(Some(variant), Reason::Split, place);
                }
            }
        }
    }
    serve_default(answers, context)
}

fn serve_default<'f>(answers: &'f Answers, context: &Context<'_>) -> Outcome<'f> {
    let split = match &answers.default_serve {
        Serve::Variant(variant) => {
            let reason = if answers.is_static { Reason::Static } else { Reason::Default };
            return answers.outcome(Some(*variant), reason, Place::Default);
        }
        Serve::Split(split) => split,
    };
    match split.key(context) {
        Some(key) => answers.outcome(split.owner(split.bucket(&key)), Reason::Split, Place::Default),
        None if split.buckets_by_targeting_key() => Outcome::error(
            ErrorCode::TargetingKeyMissing,
            "the flag splits users by targetingKey, which is missing or is neither a text nor a whole number; send it as a text",
        ),
        None => Outcome::error(ErrorCode::InvalidContext, split.missing_detail()),
    }
}

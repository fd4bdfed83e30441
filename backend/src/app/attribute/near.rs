//! Names that are so near each other that one of them may be a slip.

use shared::sentence;
use shared::wire::api::attribute::NearName;

/// The first of the names nearest to a name: one that differs only in case, `_` and `-`, else one that differs in at most a
/// third of its letters.
pub(super) fn near(name: &str, names: &[&str]) -> Option<NearName> {
    let (plain, lower) = (plain(name), name.to_lowercase());
    let length = lower.chars().count();
    let most = length / 3;
    let distances = names.iter().filter(|other| **other != name).filter_map(|other| {
        if self::plain(other) == plain && !plain.is_empty() {
            return Some((0, *other));
        }
        let other_lower = other.to_lowercase();
        let is_far = other_lower.chars().count().abs_diff(length) > most;
        // Two letters that changed places are one mistake.
        let distance = if is_far { usize::MAX } else { strsim::osa_distance(&lower, &other_lower) };
        (distance <= most).then_some((distance, *other))
    });
    // Of those as near, the first: `min_by_key` keeps it.
    let (distance, other) = distances.min_by_key(|(distance, _)| *distance)?;
    let (shown, beside) = (sentence::value(name), sentence::value(other));
    let sentence = match distance {
        0 => format!("{shown} and {beside} differ only in case or in how their words are joined"),
        _ => format!("{shown} looks like {beside}"),
    };
    Some(NearName { name: other.to_owned(), sentence })
}

/// The name without what joins words and without case.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(name: &str, names: &[&str]) -> Option<String> {
        near(name, names).map(|near| near.sentence)
    }

    #[test]
    fn a_slip_is_told_in_words_and_a_short_name_is_near_to_nothing() {
        let names = ["country", "appVersion", "plan", "contry", "ip"];
        assert_eq!(sentence("contry", &names).as_deref(), Some("contry looks like country"));
        assert_eq!(sentence("plna", &names).as_deref(), Some("plna looks like plan"));
        let joined = "app_version and appVersion differ only in case or in how their words are joined";
        assert_eq!(sentence("app_version", &names).as_deref(), Some(joined));
        assert_eq!(sentence("id", &names), None);
        assert_eq!(sentence("email", &names), None);
        assert_eq!(sentence("plan", &["plan"]), None, "a name is not near itself");
    }
}

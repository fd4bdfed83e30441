//! Sentences from `shared`, with keys and values set in the code font and kept from translation.

use leptos::prelude::*;
use shared::model::condition::Condition;
use shared::model::flag::FlagConfig;
use shared::model::rule::Serve;

/// A sentence; the given words in it are keys and values.
#[component]
pub fn Sentence(#[prop(into)] text: Signal<String>, #[prop(into)] words: Signal<Vec<String>>) -> impl IntoView {
    let parts = move || {
        text.with(|text| words.with(|words| cut(text, words))).into_iter().map(|(part, is_word)| {
            if is_word { view! { <span class="word" translate="no">{part}</span> }.into_any() } else { part.into_any() }
        })
    };
    view! { <span class="sentence">{move || parts().collect_view()}</span> }
}

/// Keys and values that a serve names.
pub fn words_of_serve(serve: &Serve) -> Vec<String> {
    match serve {
        Serve::Variant(variant) => vec![variant.to_string()],
        Serve::Split(split) => {
            let mut words: Vec<String> = split.ranges.iter().map(|range| range.variant.to_string()).collect();
            words.push(split.bucket_by.clone());
            words.sort();
            words.dedup();
            words
        }
    }
}

/// Keys and values that a condition names.
pub fn words_of_condition(condition: &Condition) -> Vec<String> {
    match condition {
        Condition::All(members) | Condition::Any(members) => members.iter().flat_map(words_of_condition).collect(),
        // A sentence names at most four values.
        Condition::Leaf(leaf) => {
            [leaf.attribute.clone()].into_iter().chain(leaf.values.iter().take(4).cloned()).collect()
        }
    }
}

/// Keys and values that a config names.
pub fn words_of_config(config: &FlagConfig) -> Vec<String> {
    let mut words = words_of_serve(&config.default_serve);
    words.extend(config.off_variant.iter().map(ToString::to_string));
    for rule in &config.rules {
        words.extend(words_of_condition(&rule.conditions));
        words.extend(words_of_serve(&rule.serve));
    }
    words.sort();
    words.dedup();
    words
}

/// Cuts a text at the given words, where they stand as whole words; longer words win.
fn cut(text: &str, words: &[String]) -> Vec<(String, bool)> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    let mut rest = text;
    let mut before = None::<char>;
    let mut push = |part: &str, is_word: bool| match parts.last_mut() {
        Some((last, false)) if !is_word => last.push_str(part),
        _ => parts.push((part.into(), is_word)),
    };
    while let Some(first) = rest.chars().next() {
        let begins = before.is_none_or(|c| !is_inside(c));
        let found = words.iter().filter(|word| begins && !word.is_empty() && rest.starts_with(word.as_str()));
        let found = found.filter(|word| rest[word.len()..].chars().next().is_none_or(|c| !is_inside(c)));
        let found = found.max_by_key(|word| word.len());
        let length = found.map_or(first.len_utf8(), |word| word.len());
        push(&rest[..length], found.is_some());
        before = rest[..length].chars().next_back();
        rest = &rest[length..];
    }
    parts
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_marked_and_nothing_is_lost() {
        let words = ["plan", "pro", "on"].map(String::from);
        let parts = cut("plan is pro or pro-max → on.", &words);
        let marked: Vec<&str> = parts.iter().filter(|(_, is_word)| *is_word).map(|(part, _)| part.as_str()).collect();
        assert_eq!(marked, ["plan", "pro", "on"]);
        assert_eq!(parts.iter().map(|(part, _)| part.as_str()).collect::<String>(), "plan is pro or pro-max → on.");
    }
}

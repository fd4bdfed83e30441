//! Cuts code out of the repository's documents, so that what they show is what tests run.

/// The code in the first fence of `language` below `heading`, and above the next heading of its level or a higher one.
pub fn cut(document: &str, heading: &str, language: &str) -> Option<String> {
    let mut inside = None;
    let mut code: Option<Vec<&str>> = None;
    let mut is_fenced = false;
    for line in document.lines() {
        let fence = line.strip_prefix("```");
        match &mut code {
            Some(lines) if fence.is_some() => return Some(lines.iter().flat_map(|line| [line, "\n"]).collect()),
            Some(lines) => lines.push(line),
            None if fence == Some(language) && inside.is_some() && !is_fenced => code = Some(Vec::new()),
            None if fence.is_some() => is_fenced = !is_fenced,
            None if !is_fenced => inside = level(line, heading, inside),
            None => {}
        }
    }
    None
}

/// The level of `heading` while the document is inside it.
fn level(line: &str, heading: &str, inside: Option<usize>) -> Option<usize> {
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    match inside {
        _ if depth == 0 || !text.starts_with(' ') => inside,
        Some(outer) if depth > outer => inside,
        _ => (text.trim() == heading).then_some(depth),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# A\n```js\n# B\nfirst\n```\n## B\ntext\n```sh\n## C\n```\n### Below\n```js\n\tone\n\n# two\n```\n```js\nlater\n```\n## C\n```py\nthree\n```\n";

    #[test]
    fn a_snippet_is_found_by_heading_and_language_and_kept_as_it_is() {
        assert_eq!(cut(DOCUMENT, "B", "js").as_deref(), Some("\tone\n\n# two\n"));
        assert_eq!(cut(DOCUMENT, "A", "js").as_deref(), Some("# B\nfirst\n"));
        assert_eq!(cut(DOCUMENT, "C", "py").as_deref(), Some("three\n"));
    }

    #[test]
    fn what_stands_under_another_heading_or_in_another_language_is_not_taken() {
        assert_eq!(cut(DOCUMENT, "B", "py"), None);
        assert_eq!(cut(DOCUMENT, "C", "js"), None);
        assert_eq!(cut(DOCUMENT, "D", "js"), None);
    }
}

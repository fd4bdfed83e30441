//! Prometheus's text format, version 0.0.4.

use std::fmt::{Display, Write};

/// Room for a usual answer.
const CAPACITY: usize = 16 * 1024;

/// The text while it is written.
#[derive(Debug)]
pub(super) struct Text(String);

impl Default for Text {
    fn default() -> Self {
        Self(String::with_capacity(CAPACITY))
    }
}

impl Text {
    /// Begins a figure; its samples follow. `help` is one line without a backslash.
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One value.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"");
            self.escaped(text);
            self.0.push('"');
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{after} {value}");
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                other => self.0.push(other),
            }
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_of_any_text_stays_one_label() {
        let mut out = Text::default();
        out.head("a", "gauge", "An example.");
        out.sample("a", &[("b", "c\"d\\e\nf"), ("g", "")], 1.5);
        out.sample("a", &[], 2);
        let text = "# HELP a An example.\n# TYPE a gauge\na{b=\"c\\\"d\\\\e\\nf\",g=\"\"} 1.5\na 2\n";
        assert_eq!(out.finish(), text);
    }
}

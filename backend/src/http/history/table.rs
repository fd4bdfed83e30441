//! History as a table: one row per entry.

use crate::app::history::Line;
use crate::http::csv::{text, text_or_empty};
use crate::http::file::Row;

impl Row for Line {
    const COLUMNS: &'static [&'static str] =
        &["revision", "at", "who", "via", "entity", "key", "environment", "changes", "note", "break_glass"];

    fn fields(&self) -> Vec<String> {
        let entry = &self.documents.entry;
        vec![
            self.revision.to_string(),
            self.at.to_string(),
            text_or_empty(self.who.as_ref()),
            self.via.as_str().into(),
            text(&entry.entity),
            text(&entry.key),
            text_or_empty(entry.environment.as_ref()),
            text(entry.sentences.join("\n")),
            text(&self.note),
            text_or_empty(self.break_glass.as_ref()),
        ]
    }
}

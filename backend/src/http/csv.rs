//! The same answers as tables: RFC 4180 with a header row, safe to open in a spreadsheet. All of them are made here, and
//! lists that people send as tables are read here.

use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use csv::{ByteRecord, ReaderBuilder, Terminator, WriterBuilder};
use serde::{Deserialize, Serialize};
use shared::model::condition::{VALUE_BYTES_MAX, VALUES_MAX};
use shared::model::problem::Problems;
use shared::model::timestamp::Timestamp;
use utoipa::ToSchema;

use crate::error::AppError;

/// Texts that begin so are formulas to a spreadsheet.
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];
/// The header of a column of keys.
pub const KEY_COLUMN: &str = "key";

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As JSON.
    #[default]
    Json,
    /// As CSV: a table with a header row, as a file.
    Csv,
}

/// An answer that is a table, too.
pub trait Table {
    /// Names of the columns.
    fn columns(&self) -> Vec<&'static str>;
    /// The rows, each as long as the columns; their fields are made by [`text`], [`text_or_empty`] and [`number`].
    fn rows(&self) -> Vec<Vec<String>>;
}

/// The answer in the format asked for, JSON when absent; the file is called after the parts of `name`.
pub fn answer<T: Serialize + Table>(format: Option<Format>, name: &[&str], answer: T) -> Result<Response, AppError> {
    if format.unwrap_or_default() == Format::Json {
        return Ok(Json(answer).into_response());
    }
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(answer.columns()).map_err(AppError::internal)?;
    for row in answer.rows() {
        writer.write_record(row).map_err(AppError::internal)?;
    }
    let bytes = writer.into_inner().map_err(|error| AppError::internal(error.to_string()))?;
    let disposition = format!("attachment; filename=\"{}\"", file_name(name, "csv"));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8; header=present")),
        (CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(AppError::internal)?),
    ];
    Ok((headers, bytes).into_response())
}

/// A text that no spreadsheet takes for a formula.
pub fn text(text: impl ToString) -> String {
    let text = text.to_string();
    if text.starts_with(FORMULA) { format!("'{text}") } else { text }
}

/// The same for a text that [`keys`] reads back as it was: what would read as written by this is marked, too.
pub fn key(key: &str) -> String {
    if key.trim_start_matches('\'').starts_with(FORMULA) { format!("'{key}") } else { key.to_owned() }
}

/// The first column of a table as keys: one per line, `key` in the first row being a header. Lines may end as on any
/// system, begin with a byte order mark, and quote what holds commas; empty ones are left out. What is wrong is told
/// with its line.
pub fn keys(bytes: &[u8]) -> Result<Vec<String>, AppError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let (mut problems, mut found, mut record) = (Problems::default(), Vec::new(), ByteRecord::new());
    let (mut count, mut line, mut is_first) = (0, Line { number: 1, at: 0 }, true);
    while reader.read_byte_record(&mut record).map_err(|error| AppError::BadRequest(error.to_string()))? {
        line.move_to(bytes, record.position().map_or(0, csv::Position::byte));
        let place = format!("line {}", line.number);
        let first = record.get(0).unwrap_or_default();
        let is_header = std::mem::take(&mut is_first) && first == KEY_COLUMN.as_bytes();
        if first.is_empty() || is_header {
            continue;
        }
        count += 1;
        match std::str::from_utf8(first) {
            Err(_) => problems.add(place, "is not UTF-8; save the file as UTF-8"),
            Ok(_) if first.len() > VALUE_BYTES_MAX => {
                problems.add(place, format!("{} bytes; at most {VALUE_BYTES_MAX} are allowed for a key", first.len()));
            }
            Ok(key) if key.contains(['\r', '\n']) => {
                problems.add(place, "a quote is opened here and closed on another line; close it on its own");
            }
            Ok(key) if key.contains('\0') => problems.add(place, "holds the character U+0000, which is not allowed"),
            Ok(_) if count > VALUES_MAX => {}
            Ok(key) => {
                let is_marked = key.starts_with('\'') && key.trim_start_matches('\'').starts_with(FORMULA);
                found.push(if is_marked { key[1..].to_owned() } else { key.to_owned() });
            }
        }
    }
    problems.into_result().map_err(AppError::Invalid)?;
    if count > VALUES_MAX {
        return Err(AppError::field("", format!("{count} keys; at most {VALUES_MAX} are allowed in a list")));
    }
    Ok(found)
}

/// The line that a byte stands in. A reader's own count is that before it has taken the rest of an end of a line.
struct Line {
    number: u64,
    at: usize,
}

impl Line {
    /// Goes on to the first byte from there that ends no line.
    fn move_to(&mut self, bytes: &[u8], byte: u64) {
        let byte = usize::try_from(byte).unwrap_or(bytes.len());
        while let Some(here) = bytes.get(self.at) {
            let ends_line = *here == b'\n' || (*here == b'\r' && bytes.get(self.at + 1) != Some(&b'\n'));
            if self.at >= byte && !matches!(here, b'\r' | b'\n') {
                return;
            }
            self.number += u64::from(ends_line);
            self.at += 1;
        }
    }
}

/// Such a text, or nothing.
pub fn text_or_empty(value: Option<impl ToString>) -> String {
    value.map(text).unwrap_or_default()
}

/// A number or a time, or nothing.
pub fn number(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// The day of a moment in UTC, for the name of a file.
pub fn day(at: Timestamp) -> String {
    at.to_string().split('T').next().unwrap_or_default().to_owned()
}

/// `counts-shop-production-checkout-2026-05-01.csv`; parts that are empty are left out.
pub(super) fn file_name(parts: &[&str], extension: &str) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    let name = parts.join("-").replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "-");
    format!("{name}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas_and_names_no_paths() {
        for (written, safe) in
            [("=1+1", "'=1+1"), ("-1", "'-1"), ("@x", "'@x"), ("\tx", "'\tx"), ("on", "on"), ("", "")]
        {
            assert_eq!(text(written), safe);
            assert_eq!(text_or_empty(Some(written)), safe);
        }
        assert_eq!((number(Some(-1.5)), number(None::<u64>)), ("-1.5".into(), String::new()));
        let day = day(Timestamp::from_unix_ms(0).expect("a time"));
        assert_eq!(
            file_name(&["counts", "shop", "", "a/b:c \"d\"", &day], "csv"),
            "counts-shop-a-b-c--d--1970-01-01.csv"
        );
    }

    #[test]
    fn keys_are_read_as_they_were_written_whatever_they_look_like() {
        for key in ["u-42", "=1+1", "'=1+1", "''-1", "'", "it's", "-", "a,b", "\"", "ΟΔΟΣ", "key"] {
            let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
            for row in [KEY_COLUMN, &super::key(key)] {
                writer.write_record([row]).expect("a row");
            }
            let bytes = writer.into_inner().expect("bytes");
            assert_eq!(keys(&bytes).expect(key), [key]);
        }
    }

    #[test]
    fn keys_may_come_from_any_system_and_what_is_wrong_is_told_with_its_line() {
        let mixed = "\u{feff}key,name\r\nu-1,Ana\r\n\r\n\"Kovač, Ben\"\nu-3\n";
        assert_eq!(keys(mixed.as_bytes()).expect("keys"), ["u-1", "Kovač, Ben", "u-3"]);
        let long = "x".repeat(1_001);
        let wrong = [b"u-1\n\xff\n".as_slice(), long.as_bytes(), b"\nu\0\n\"open\nu-4\n"].concat();
        let Err(AppError::Invalid(problems)) = keys(&wrong) else { panic!("wrong keys are refused") };
        let places: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(places, ["line 2", "line 3", "line 4", "line 5"]);
        let many = "u\n".repeat(10_001);
        let Err(AppError::Invalid(problems)) = keys(many.as_bytes()) else { panic!("too many are refused") };
        assert_eq!(problems[0].message, "10001 keys; at most 10000 are allowed in a list");
    }
}

//! The same answers as tables: RFC 4180 with a header row, safe to open in a spreadsheet. All of them are made here.

use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use csv::{Terminator, WriterBuilder};
use serde::{Deserialize, Serialize};
use shared::model::timestamp::Timestamp;
use utoipa::ToSchema;

use crate::error::AppError;

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
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text }
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
}

//! Tables for spreadsheets: RFC 4180, with a header row and a name that tells what is in them.

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::error::AppError;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As JSON.
    #[default]
    Json,
    /// As CSV.
    Csv,
}

/// A table as a file to keep; `name` is made of keys, so it needs no quoting.
pub fn table(name: &str, header: &[&str], rows: &[Vec<String>]) -> Result<Response, AppError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(AppError::internal)?;
    for row in rows {
        writer.write_record(row).map_err(AppError::internal)?;
    }
    let bytes = writer.into_inner().map_err(|error| AppError::internal(error.to_string()))?;
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{}.csv\"", name.replace(['/', ':', ' '], "-"))),
    ];
    Ok((headers, bytes).into_response())
}

/// A text that no spreadsheet takes for a formula.
pub fn text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text.to_owned() }
}

/// A number, or nothing.
pub fn number(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_formula() {
        for (given, shown) in [("=1+1", "'=1+1"), ("@a", "'@a"), ("plain", "plain"), ("-2", "'-2"), ("", "")] {
            assert_eq!(text(given), shown);
        }
    }
}

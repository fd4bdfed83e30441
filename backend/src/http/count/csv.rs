//! The same answers as tables: RFC 4180 with a header row, safe to open in a spreadsheet.

use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use csv::{Terminator, WriterBuilder};
use serde::Serialize;
use shared::model::timestamp::Timestamp;
use shared::wire::api::count::{
    CountBy, CountErrors, CountLine, CountSeries, CountSummary, CountTotals, FlagShares, TopFlags,
};

use crate::error::AppError;
use crate::http::count::CountFormat;

/// Something that is a table, too.
pub(super) trait Table {
    /// When it is from, for the name of the file.
    fn begins_at(&self) -> Timestamp;
    /// Names of the columns.
    fn columns(&self) -> Vec<&'static str>;
    /// The rows, each as long as the columns.
    fn rows(&self) -> Vec<Vec<String>>;
}

/// The answer in the format asked for; as a file it is named by `parts` and the day.
pub(super) fn answer<T: Serialize + Table>(
    format: CountFormat,
    parts: &[String],
    answer: T,
) -> Result<Response, AppError> {
    if format == CountFormat::Json {
        return Ok(Json(answer).into_response());
    }
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(answer.columns()).map_err(AppError::internal)?;
    for row in answer.rows() {
        writer.write_record(row).map_err(AppError::internal)?;
    }
    let bytes = writer.into_inner().map_err(|error| AppError::internal(error.to_string()))?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8; header=present"));
    let disposition = format!("attachment; filename=\"{}\"", file_name(parts, answer.begins_at()));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(AppError::internal)?);
    Ok(response)
}

/// `counts-shop-production-checkout-2026-05-01.csv`
fn file_name(parts: &[String], from: Timestamp) -> String {
    let day = from.to_string();
    let day = day.split('T').next().unwrap_or_default().to_owned();
    let parts: Vec<&str> =
        parts.iter().map(String::as_str).chain([day.as_str()]).filter(|part| !part.is_empty()).collect();
    let name = parts.join("-").replace(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c), "-");
    format!("{name}.csv")
}

/// A text that no spreadsheet takes for a formula.
fn text(value: impl AsRef<str>) -> String {
    let value = value.as_ref();
    if value.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{value}") } else { value.to_owned() }
}

fn optional(value: Option<&impl ToString>) -> String {
    value.map(|value| text(value.to_string())).unwrap_or_default()
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

impl Table for CountSeries {
    fn begins_at(&self) -> Timestamp {
        self.from
    }

    fn columns(&self) -> Vec<&'static str> {
        let by = match self.by {
            CountBy::None => "all",
            CountBy::Variant => "variant",
            CountBy::Place | CountBy::Rule => "place",
            CountBy::Reason => "reason",
            CountBy::Mode => "mode",
            CountBy::Environment => "environment",
            CountBy::Flag => "flag",
            CountBy::Edge => "edge",
            CountBy::SdkKey => "sdk_key",
        };
        vec!["from", "to", by, "id", "name", "count"]
    }

    /// One row for each bucket of each line, empty ones included; further lines together stand as `(other)`.
    fn rows(&self) -> Vec<Vec<String>> {
        let ends = self.buckets.iter().skip(1).copied().chain([self.to]);
        let buckets: Vec<(Timestamp, Timestamp)> = self.buckets.iter().copied().zip(ends).collect();
        let row = |at: usize, names: [String; 3], count: u64| {
            let (from, to) = buckets[at];
            let mut row = vec![from.to_string(), to.to_string()];
            row.extend(names);
            row.push(count.to_string());
            row
        };
        let names =
            |line: &CountLine| [optional(line.key.as_ref()), optional(line.id.as_ref()), optional(line.name.as_ref())];
        let mut rows = Vec::new();
        for at in 0..buckets.len() {
            for line in &self.series {
                rows.push(row(at, names(line), line.counts.get(at).copied().unwrap_or(0)));
            }
            if let Some(other) = &self.other {
                let names = ["(other)".into(), String::new(), String::new()];
                rows.push(row(at, names, other.counts.get(at).copied().unwrap_or(0)));
            }
        }
        rows
    }
}

impl Table for CountSummary {
    fn begins_at(&self) -> Timestamp {
        self.from
    }

    fn columns(&self) -> Vec<&'static str> {
        vec![
            "environment",
            "evaluations",
            "errors",
            "requests",
            "unknown",
            "evaluations_before",
            "errors_before",
            "requests_before",
            "unknown_before",
        ]
    }

    /// One row for each environment.
    fn rows(&self) -> Vec<Vec<String>> {
        let figures = |totals: &CountTotals| [totals.evaluations, totals.errors, totals.requests, totals.unknown];
        let row = |line: &shared::wire::api::count::EnvironmentTotals| {
            let mut row = vec![text(line.environment.as_str())];
            row.extend(figures(&line.totals).iter().chain(&figures(&line.before)).map(u64::to_string));
            row
        };
        self.environments.iter().map(row).collect()
    }
}

impl Table for TopFlags {
    fn begins_at(&self) -> Timestamp {
        self.from
    }

    fn columns(&self) -> Vec<&'static str> {
        vec!["flag", "id", "name", "total", "single", "bulk", "errors", "last_evaluated_at"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |line: &shared::wire::api::count::TopFlag| {
            let mut row = vec![optional(line.flag.as_ref()), line.id.to_string(), optional(line.name.as_ref())];
            row.extend([line.total, line.single, line.bulk, line.errors].map(|count| count.to_string()));
            row.push(optional(line.last_evaluated_at.as_ref()));
            row
        };
        self.flags.iter().map(row).collect()
    }
}

impl Table for CountErrors {
    fn begins_at(&self) -> Timestamp {
        self.from
    }

    fn columns(&self) -> Vec<&'static str> {
        vec!["flag", "id", "code", "count", "first_at", "last_at"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |line: &shared::wire::api::count::FlagErrors| {
            let (first, last) = (line.first_at.to_string(), line.last_at.to_string());
            let flag = optional(line.flag.as_ref());
            vec![flag, line.id.to_string(), text(&line.code), line.count.to_string(), first, last]
        };
        self.errors.iter().map(row).collect()
    }
}

impl Table for FlagShares {
    fn begins_at(&self) -> Timestamp {
        self.from
    }

    fn columns(&self) -> Vec<&'static str> {
        vec!["place", "name", "is_current", "variant", "count", "share", "configured"]
    }

    /// One row for each variant of each place.
    fn rows(&self) -> Vec<Vec<String>> {
        let places = self.places.iter().flat_map(|place| place.variants.iter().map(move |share| (place, share)));
        let row =
            |(place, share): (&shared::wire::api::count::PlaceShares, &shared::wire::api::count::VariantShare)| {
                vec![
                    text(&place.place),
                    optional(place.name.as_ref()),
                    place.is_current.to_string(),
                    optional(share.variant.as_ref()),
                    share.count.to_string(),
                    number(share.share),
                    number(share.configured),
                ]
            };
        places.map(row).collect()
    }
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
        }
        let parts = ["counts", "shop", "", "a/b:c \"d\""].map(String::from);
        let from = Timestamp::from_unix_ms(0).expect("a time");
        assert_eq!(file_name(&parts, from), "counts-shop-a-b-c--d--1970-01-01.csv");
    }
}

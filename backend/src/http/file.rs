//! Long answers as files, written while they are read, so that memory does not grow with them.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use csv::{Terminator, WriterBuilder};
use futures::{Stream, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{AppError, chain};
use crate::http::csv::file_name;

/// How a list is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// As JSON, page by page.
    #[default]
    Json,
    /// As a CSV file with a header row: all of it.
    Csv,
    /// As a file with one JSON object per line: all of it.
    Jsonl,
}

/// Something that is a row of a table, too.
pub trait Row {
    /// Names of the columns.
    const COLUMNS: &'static [&'static str];
    /// One field for each of them, safe to open in a spreadsheet.
    fn fields(&self) -> Vec<String>;
}

/// A file of what a stream brings, called after the parts of `name`. What fails before the first piece is answered as
/// usual; what fails later breaks the answer off, so that nobody takes a part for the whole.
pub async fn file<T: Row + Serialize>(
    format: FileFormat,
    name: &[&str],
    pieces: impl Stream<Item = Result<Vec<T>, AppError>> + Send + 'static,
) -> Result<Response, AppError> {
    let is_csv = format == FileFormat::Csv;
    let mut pieces = Box::pin(pieces);
    let first = pieces.next().await.transpose()?.unwrap_or_default();
    let mut head = if is_csv { written(|rows| rows.write_record(T::COLUMNS))? } else { Vec::new() };
    head.extend(piece(is_csv, &first)?);
    let rest = pieces.map(move |found| found.and_then(|items| piece(is_csv, &items)));
    let all = futures::stream::once(async { Ok(head) }).chain(rest);
    let all = all.map_ok(Bytes::from).inspect_err(|error| {
        tracing::error!(error = %chain(error), "a file breaks off");
    });
    let (content, extension) =
        if is_csv { ("text/csv; charset=utf-8; header=present", "csv") } else { ("application/jsonl", "jsonl") };
    let disposition = format!("attachment; filename=\"{}\"", file_name(name, extension));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content)),
        (CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(AppError::internal)?),
    ];
    Ok((headers, Body::from_stream(all)).into_response())
}

fn piece<T: Row + Serialize>(is_csv: bool, items: &[T]) -> Result<Vec<u8>, AppError> {
    if is_csv {
        return written(|rows| items.iter().try_for_each(|item| rows.write_record(item.fields())));
    }
    let mut lines = Vec::new();
    for item in items {
        serde_json::to_writer(&mut lines, item).map_err(AppError::internal)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn written(write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>) -> Result<Vec<u8>, AppError> {
    let mut rows = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    write(&mut rows).map_err(AppError::internal)?;
    rows.into_inner().map_err(|error| AppError::internal(error.to_string()))
}

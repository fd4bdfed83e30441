//! The tables of series, described once, since they differ in their columns alone.

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::sums::{SeriesKey, Sums};

/// A table of series, with what tells them apart, in the order of its unique constraint.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, &'static str)],
}

/// In the order in which they are locked.
pub(super) const TABLES: [Table; 5] = [
    Table {
        name: "evaluation_series",
        columns: &[
            ("environment_id", "uuid"),
            ("flag_id", "uuid"),
            ("place", "text"),
            ("variant", "text"),
            ("reason", "text"),
            ("mode", "text"),
        ],
    },
    Table { name: "request_series", columns: &[("key_id", "uuid"), ("environment_id", "uuid")] },
    Table {
        name: "edge_series",
        columns: &[("environment_id", "uuid"), ("process", "uuid"), ("reason", "text"), ("mode", "text")],
    },
    Table { name: "unknown_series", columns: &[("environment_id", "uuid"), ("key_id", "uuid"), ("flag_key", "text")] },
    Table { name: "event_series", columns: &[("environment_id", "uuid"), ("event", "text")] },
];
/// Where the table of unknown flags stands.
pub(super) const UNKNOWN: usize = 3;
/// Where the table of events stands.
pub(super) const EVENTS: usize = 4;

enum Value<'a> {
    Id(Uuid),
    Text(&'a str),
}

/// A parameter of a statement.
pub(super) type Parameter = Box<dyn ToSql + Sync + Send>;

/// Where the table of a series stands.
pub(super) fn table_of(key: &SeriesKey) -> usize {
    match key {
        SeriesKey::Evaluation { .. } => 0,
        SeriesKey::Request { .. } => 1,
        SeriesKey::Edge { .. } => 2,
        SeriesKey::Unknown { .. } => UNKNOWN,
        SeriesKey::Event { .. } => EVENTS,
    }
}

/// What stands in the columns of its table.
fn row(key: &SeriesKey) -> Vec<Value<'_>> {
    match key {
        SeriesKey::Evaluation { environment, flag, place, variant, reason, mode } => vec![
            Value::Id(environment.uuid()),
            Value::Id(flag.uuid()),
            Value::Text(place),
            Value::Text(variant),
            Value::Text(reason),
            Value::Text(mode),
        ],
        SeriesKey::Request { environment, key } => vec![Value::Id(key.uuid()), Value::Id(environment.uuid())],
        SeriesKey::Edge { environment, process, reason, mode } => {
            vec![Value::Id(environment.uuid()), Value::Id(process.uuid()), Value::Text(reason), Value::Text(mode)]
        }
        SeriesKey::Unknown { environment, key, flag } => {
            vec![Value::Id(environment.uuid()), Value::Id(key.uuid()), Value::Text(flag)]
        }
        SeriesKey::Event { environment, event } => vec![Value::Id(environment.uuid()), Value::Text(event)],
    }
}

/// An order of its own, the same for everybody: locks are taken in it.
pub(super) fn sort_key(key: &SeriesKey) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(100);
    for value in row(key) {
        match value {
            Value::Id(id) => bytes.extend_from_slice(id.as_bytes()),
            Value::Text(text) => {
                bytes.extend_from_slice(text.as_bytes());
                bytes.push(0);
            }
        }
    }
    bytes
}

/// The columns of these series as arrays.
pub(super) fn values(sums: &Sums, columns: usize, wanted: &[usize]) -> Vec<Parameter> {
    let mut ids: Vec<Vec<Uuid>> = (0..columns).map(|_| Vec::new()).collect();
    let mut texts: Vec<Vec<String>> = (0..columns).map(|_| Vec::new()).collect();
    for at in wanted {
        for (column, value) in row(&sums.series[*at]).into_iter().enumerate() {
            match value {
                Value::Id(id) => ids[column].push(id),
                Value::Text(text) => texts[column].push(text.to_owned()),
            }
        }
    }
    let columns = ids.into_iter().zip(texts);
    columns.map(|(ids, texts)| if ids.is_empty() { Box::new(texts) as Parameter } else { Box::new(ids) }).collect()
}

/// Parameters as a statement takes them.
pub(super) fn references(parameters: &[Parameter]) -> Vec<&(dyn ToSql + Sync)> {
    parameters.iter().map(|parameter| &**parameter as &(dyn ToSql + Sync)).collect()
}

/// The columns, for a list.
pub(super) fn names(columns: &[(&str, &str)]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Parameters that hold the columns, from this number on.
pub(super) fn arrays(columns: &[(&str, &str)], first: usize) -> String {
    let arrays = columns.iter().enumerate().map(|(at, (_, kind))| format!("${}::{kind}[]", first + at));
    arrays.collect::<Vec<_>>().join(", ")
}

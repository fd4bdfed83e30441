//! What a list of flags is asked by, parsed once for the list and for views that people save.

use serde::Deserialize;
use shared::model::flag::FlagKind;
use shared::model::id::{EnvironmentId, UserId};
use shared::model::key::EnvironmentKey;
use shared::model::variant::ValueType;
use time::OffsetDateTime;
use utoipa::IntoParams;

use crate::error::AppError;
use crate::store::environment::Environment;
use crate::store::flag as stored;
use crate::store::flag::{Cursor, Filter};

/// The most flags on a page.
const LIMIT_MAX: usize = 100;
/// The longest text to search for, in characters.
const TEXT_CHARS_MAX: usize = 200;
/// The most things that are asked of a flag's states.
const STATES_MAX: usize = 20;

/// Which flags to list, and how. Everything that is set must be met.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FlagQuery {
    /// Part of the key or name, or beginnings of words of key, name, tags and description, in any case.
    pub q: Option<String>,
    /// Has these tags, separated by commas.
    pub tag: Option<String>,
    /// `release`, `experiment`, `operational`, `kill_switch` or `permission`.
    pub kind: Option<FlagKind>,
    /// `boolean`, `string`, `integer`, `float` or `object`.
    pub r#type: Option<ValueType>,
    /// `me`, or the id of a person.
    pub owner: Option<String>,
    /// Separated by commas: `on`, `part`, `off`, `killed` (several for one environment: any of them), `waiting` for people
    /// or for its time, `never_evaluated`, each with `:` and an environment or else in `env`; `differs:production:staging`;
    /// `archived`.
    pub state: Option<String>,
    /// Where `state` is looked at, where it does not say so itself.
    pub env: Option<EnvironmentKey>,
    /// `over`: should be gone by now.
    pub lifetime: Option<LifetimeFilter>,
    /// `true`: may go, for whatever reason.
    pub stale: Option<bool>,
    /// `changed` (the newest change first), `created` (the newest first), `key`, `name`, or `relevance`, which is what is
    /// taken when absent and something is searched for.
    pub sort: Option<Sort>,
    /// `asc` or `desc`, where it should be the other way round.
    pub order: Option<Order>,
    /// `next` of the page before.
    pub after: Option<String>,
    /// 1 to 100; 100 when absent.
    pub limit: Option<usize>,
}

/// Which lifetimes to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LifetimeFilter {
    /// Those that are over.
    Over,
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Last change, the newest first.
    Changed,
    /// When it was made, the newest first.
    Created,
    /// Key.
    Key,
    /// Name.
    Name,
    /// How well it fits the search: the very key, its beginning, the beginning of a word, anything else.
    Relevance,
}

/// Which way round a list is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The smallest or oldest first.
    Asc,
    /// The largest or newest first.
    Desc,
}

/// A query that is understood.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Which flags.
    pub filter: Filter,
    /// In which order.
    pub order: stored::Order,
    /// From where.
    pub after: Option<Cursor>,
    /// How many.
    pub limit: usize,
    /// Whether only stale ones, which is for the caller to find out.
    pub is_stale: bool,
}

/// Parses a query of somebody in a project with these environments.
pub fn parse(
    query: &FlagQuery,
    environments: &[Environment],
    me: UserId,
    now: OffsetDateTime,
) -> Result<Parsed, AppError> {
    let limit = query.limit.unwrap_or(LIMIT_MAX);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(AppError::field("limit", format!("{limit} is not 1 to {LIMIT_MAX}")));
    }
    for (field, value) in [("q", &query.q), ("tag", &query.tag), ("state", &query.state)] {
        if value.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX * 5 || text.contains('\0')) {
            return Err(AppError::field(field, format!("at most {} characters and no U+0000", TEXT_CHARS_MAX * 5)));
        }
    }
    let text = query.q.as_ref().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX) {
        return Err(AppError::field("q", format!("at most {TEXT_CHARS_MAX} characters and no U+0000")));
    }
    let order = order(query, text.is_some());
    let after = query.after.as_deref().map(|after| parse_cursor(after, order.sort)).transpose()?;
    let owner = match query.owner.as_deref() {
        None => None,
        Some("me") => Some(me),
        Some(id) => {
            Some(id.parse().map_err(|_| AppError::field("owner", format!("'{id}' is not me or the id of a person")))?)
        }
    };
    let tags = query.tag.iter().flat_map(|tags| tags.split(',')).map(str::trim).filter(|tag| !tag.is_empty());
    let mut filter = Filter {
        text,
        tags: tags.map(str::to_owned).collect(),
        kind: query.kind,
        value_type: query.r#type,
        owner,
        ended_by: query.lifetime.map(|LifetimeFilter::Over| now),
        ..Filter::default()
    };
    let states = query.state.iter().flat_map(|states| states.split(',')).map(str::trim).filter(|word| !word.is_empty());
    for (index, state) in states.enumerate() {
        if index == STATES_MAX {
            return Err(AppError::field("state", format!("at most {STATES_MAX} are allowed")));
        }
        add_state(&mut filter, state, query.env.as_ref(), environments)?;
    }
    Ok(Parsed { filter, order, after, limit, is_stale: query.stale.unwrap_or_default() })
}

/// Where the next page begins, as text.
pub(super) fn cursor_text(cursor: &Cursor, sort: stored::Sort) -> String {
    match sort {
        stored::Sort::Changed | stored::Sort::Created => {
            format!("{}~{}", cursor.at.unix_timestamp_nanos() / 1_000, cursor.id)
        }
        _ => format!("{}~{}", cursor.text, cursor.id),
    }
}

/// The other way round.
fn parse_cursor(text: &str, sort: stored::Sort) -> Result<Cursor, AppError> {
    let parse = || {
        let (value, id) = text.rsplit_once('~').filter(|_| !text.contains('\0'))?;
        let id = id.parse().ok()?;
        let epoch = OffsetDateTime::UNIX_EPOCH;
        Some(match sort {
            stored::Sort::Changed | stored::Sort::Created => {
                let nanos = i128::from(value.parse::<i64>().ok()?) * 1_000;
                Cursor { id, at: OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()?, text: String::new() }
            }
            _ => Cursor { id, at: epoch, text: value.to_owned() },
        })
    };
    parse().ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        AppError::field("after", format!("'{shown}' is not a page of this list; use `next` of the page before"))
    })
}

fn order(query: &FlagQuery, is_search: bool) -> stored::Order {
    let sort = match query.sort {
        Some(Sort::Changed) => stored::Sort::Changed,
        Some(Sort::Created) => stored::Sort::Created,
        Some(Sort::Key) => stored::Sort::Key,
        Some(Sort::Name) => stored::Sort::Name,
        Some(Sort::Relevance) if is_search => stored::Sort::Relevance,
        None if is_search => stored::Sort::Relevance,
        Some(Sort::Relevance) => stored::Sort::Key,
        None => stored::Sort::Changed,
    };
    let is_usually_ascending = !matches!(sort, stored::Sort::Changed | stored::Sort::Created);
    stored::Order { sort, is_ascending: query.order.map_or(is_usually_ascending, |order| order == Order::Asc) }
}

fn add_state(
    filter: &mut Filter,
    text: &str,
    usual: Option<&EnvironmentKey>,
    environments: &[Environment],
) -> Result<(), AppError> {
    let find = |key: &str| -> Result<EnvironmentId, AppError> {
        let found = environments.iter().find(|environment| environment.key == key);
        Ok(found.ok_or_else(|| AppError::not_found("environment", key))?.id)
    };
    let mut parts = text.split(':');
    let word = parts.next().unwrap_or_default();
    let place = parts.next().or(usual.map(EnvironmentKey::as_str));
    let needed = || {
        let message = format!("{word} is looked at in an environment; name it as {word}:production, or in env");
        place.ok_or_else(|| AppError::field("env", message))
    };
    match word {
        "on" | "part" | "off" | "killed" => {
            let state = (find(needed()?)?, word.to_owned());
            if !filter.states.contains(&state) {
                filter.states.push(state);
            }
        }
        "differs" => {
            let message = "name two environments, as in differs:production:staging";
            let other = parts.next().ok_or_else(|| AppError::field("state", message))?;
            filter.differs = Some((find(needed()?)?, find(other)?));
        }
        "waiting" => {
            place.map(find).transpose()?;
            filter.waiting = Some(place.map(str::parse).transpose().map_err(AppError::internal)?);
        }
        "never_evaluated" => match place {
            Some(key) => filter.never_evaluated.push(find(key)?),
            None => filter.never_evaluated = environments.iter().map(|environment| environment.id).collect(),
        },
        "archived" => filter.is_archived = true,
        _ => {
            let message = "choose on, part, off, killed, differs, waiting, never_evaluated or archived";
            let shown: String = word.chars().take(60).collect();
            return Err(AppError::field("state", format!("'{shown}' is not a state; {message}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_cursor_survives_a_round_trip_in_every_order() {
        let id = Uuid::from_u128(7).into();
        let at = OffsetDateTime::UNIX_EPOCH + time::Duration::microseconds(1_764_000_000_000_001);
        for sort in [stored::Sort::Changed, stored::Sort::Created] {
            let cursor = Cursor { id, at, text: String::new() };
            let read = parse_cursor(&cursor_text(&cursor, sort), sort).expect("a cursor");
            assert_eq!((read.id, read.at, read.text), (id, at, String::new()));
        }
        for sort in [stored::Sort::Key, stored::Sort::Name, stored::Sort::Relevance] {
            let cursor = Cursor { id, at: OffsetDateTime::UNIX_EPOCH, text: "a ~ b/c".into() };
            let read = parse_cursor(&cursor_text(&cursor, sort), sort).expect("a cursor");
            assert_eq!((read.id, read.at, read.text), (id, OffsetDateTime::UNIX_EPOCH, "a ~ b/c".into()));
        }
    }
}

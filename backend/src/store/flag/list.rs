//! Lists of flags: which, in which order, from where. One statement finds the ids of a page and how many match; the flags
//! are read by their ids. With 10,000 flags the whole project is looked at each time: no index serves every filter.

use shared::model::flag::FlagKind;
use shared::model::id::{ChangesetId, EnvironmentId, FlagId, ProjectId, UserId};
use shared::model::key::EnvironmentKey;
use shared::model::variant::ValueType;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::store::flag::kind_text;
use crate::store::{StoreError, unsigned, write_document};

/// The most words of a search that are looked for.
const WORDS_MAX: usize = 10;
/// The most tags of a project that are listed.
const TAGS_MAX: i64 = 1_000;

/// Which flags a list shows: those that meet everything that is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Part of the key or name, or beginnings of words of key, name, tags and description, in any case.
    pub text: Option<String>,
    /// Has all of these tags.
    pub tags: Vec<String>,
    /// Is of this kind.
    pub kind: Option<FlagKind>,
    /// Has values of this type.
    pub value_type: Option<ValueType>,
    /// Is this person's.
    pub owner: Option<UserId>,
    /// Archived flags instead of the others.
    pub is_archived: bool,
    /// Stands like one of these (`on`, `part`, `off` or `killed`) in every environment that is named.
    pub states: Vec<(EnvironmentId, String)>,
    /// Is set up in one environment otherwise than in the other.
    pub differs: Option<(EnvironmentId, EnvironmentId)>,
    /// A changeset that waits names it: anywhere, or in this environment.
    pub waiting: Option<Option<EnvironmentKey>>,
    /// Nobody ever asked for it in these.
    pub never_evaluated: Vec<EnvironmentId>,
    /// Should be gone by this moment.
    pub ended_by: Option<OffsetDateTime>,
    /// Is one of these.
    pub only: Option<Vec<FlagId>>,
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Last change.
    #[default]
    Changed,
    /// When it was made.
    Created,
    /// Key.
    Key,
    /// Name, in any case.
    Name,
    /// How well it fits the search: the very key, the beginning of the key, the beginning of a word, anything else.
    Relevance,
}

/// What a list is sorted by, and which way round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// By what.
    pub sort: Sort,
    /// The smallest or oldest first.
    pub is_ascending: bool,
}

/// Where a page begins: after this flag. Of a list by time it has the time, else the text.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// The flag.
    pub id: FlagId,
    /// Its time.
    pub at: OffsetDateTime,
    /// Its text.
    pub text: String,
}

/// The flags of a page.
#[derive(Clone, Debug)]
pub struct Found {
    /// In the order of the list.
    pub ids: Vec<FlagId>,
    /// Where the next page begins, when there is one.
    pub next: Option<Cursor>,
    /// All that match, on whatever page.
    pub matching: u64,
}

/// Finds a page of at most `limit` flags.
pub async fn list(
    db: &mut PgConnection,
    project: ProjectId,
    filter: &Filter,
    order: Order,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Found, StoreError> {
    let columns = Columns::new(filter)?;
    let sort = match order.sort {
        Sort::Changed => "changed",
        Sort::Created => "created",
        Sort::Key => "key",
        Sort::Name => "name",
        Sort::Relevance => "relevance",
    };
    let rows = sqlx::query!(
        r#"with wanted as materialized (
               select to_tsquery('simple', $3) as words
           ), matched as materialized (
               select flags.id,
                      case $17::text when 'changed' then flags.changed_at when 'created' then flags.created_at
                                     else to_timestamp(0) end as at,
                      case $17
                          when 'key' then flags.key
                          when 'name' then lower(flags.name)
                          when 'relevance' then
                              case when lower(flags.key) = lower($2) then '0'
                                   when starts_with(lower(flags.key), lower($2)) then '1'
                                   when flags.words @@ wanted.words then '2'
                                   else '3' end || flags.key
                          else '' end collate "C" as text
               from flags
               cross join wanted
               where flags.project_id = $1 and (flags.archived_at is not null) = $4
                 and ($2::text is null or strpos(lower(flags.key), lower($2)) > 0
                      or strpos(lower(flags.name), lower($2)) > 0 or flags.words @@ wanted.words)
                 and (cardinality($5::text[]) = 0 or flags.tags @> $5)
                 and ($6::text is null or flags.kind = $6)
                 and ($7::text is null or flags.value_type = $7)
                 and ($8::uuid is null or flags.owner_id = $8)
                 and (cardinality($9::uuid[]) = 0 or flags.id in (
                      select flag_configs.flag_id
                      from flag_configs
                      left join kills on kills.flag_id = flag_configs.flag_id
                           and kills.environment_id = flag_configs.environment_id
                      join unnest($9, $10::text[]) as pair (environment_id, state)
                           on pair.environment_id = flag_configs.environment_id
                           and pair.state = case when kills.flag_id is not null then 'killed' else flag_configs.shape end
                      group by flag_configs.flag_id
                      having count(*) = (select count(distinct environment_id) from unnest($9) as environment_id)))
                 and ($11::uuid is null or flags.id in (
                      select coalesce(here.flag_id, there.flag_id)
                      from (select * from flag_configs where environment_id = $11) as here
                      full join (select * from flag_configs where environment_id = $12) as there
                           on there.flag_id = here.flag_id
                      where here.document is distinct from there.document))
                 and ($13::text is null or flags.key in (
                      select flag_key from changeset_flags
                      where project_id = $1 and ($13 = '' or environment_key in ('', $13))))
                 and (cardinality($14::uuid[]) = 0 or flags.id not in (
                      select flag_id from evaluation_series where environment_id = any ($14)))
                 and ($15::timestamptz is null
                      or flags.created_at + interval '1 day' * coalesce(nullif(flags.lifetime_days, 0),
                             case when flags.lifetime_days is null
                                  then ($21::int[])[array_position($20::text[], flags.kind)] end) <= $15)
                 and ($16::uuid[] is null or flags.id = any ($16))
           ), page as (
               select * from matched
               where $22::uuid is null
                  or case when $18 then (at, text, id) > ($23::timestamptz, $24::text, $22)
                          else (at, text, id) < ($23, $24, $22) end
               order by case when $18 then at end, case when $18 then text end, case when $18 then id end,
                        at desc, text desc, id desc
               limit $19
           )
           select counted.matching as "matching!", page.id as "id?", page.at as "at?", page.text as "text?"
           from (select count(*) as matching from matched) as counted
           left join page on true
           order by case when $18 then at end, case when $18 then text end, case when $18 then id end,
                    at desc, text desc, id desc"#,
        project.uuid(),
        columns.text,
        columns.words,
        filter.is_archived,
        &filter.tags,
        columns.kind,
        columns.value_type,
        filter.owner.map(UserId::uuid),
        &columns.state_environments,
        &columns.states,
        filter.differs.map(|(here, _)| here.uuid()),
        filter.differs.map(|(_, there)| there.uuid()),
        columns.waiting,
        &columns.never_evaluated,
        filter.ended_by,
        columns.only.as_deref(),
        sort,
        order.is_ascending,
        // One more than asked for tells whether there is a next page.
        i64::try_from(limit).unwrap_or(100) + 1,
        &columns.kinds,
        &columns.usual_days,
        after.map(|after| after.id.uuid()),
        after.map(|after| after.at),
        after.map(|after| after.text.as_str()),
    )
    .fetch_all(db)
    .await?;
    let matching = rows.first().map_or(0, |row| unsigned(row.matching));
    let cursors = rows.into_iter().filter_map(|row| Some(Cursor { id: row.id?.into(), at: row.at?, text: row.text? }));
    let mut cursors: Vec<Cursor> = cursors.collect();
    let has_next = cursors.len() > limit;
    cursors.truncate(limit);
    let next = cursors.last().filter(|_| has_next).cloned();
    Ok(Found { ids: cursors.into_iter().map(|cursor| cursor.id).collect(), next, matching })
}

/// How many flags of a project are not archived.
pub async fn count(db: &mut PgConnection, project: ProjectId) -> Result<u64, StoreError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from flags where project_id = $1 and archived_at is null"#,
        project.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(unsigned(count))
}

/// The tags of flags that are not archived, with how many have each; the most used first.
pub async fn list_tags(db: &mut PgConnection, project: ProjectId) -> Result<Vec<(String, u64)>, StoreError> {
    let rows = sqlx::query!(
        r#"select tag as "tag!", count(*) as "count!"
           from flags
           cross join unnest(flags.tags) as tag
           where flags.project_id = $1 and flags.archived_at is null
           group by tag
           order by count(*) desc, tag
           limit $2"#,
        project.uuid(),
        TAGS_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.tag, unsigned(row.count))).collect())
}

/// A changeset that waits and names a flag.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The flag's key.
    pub flag: String,
    /// Which changeset.
    pub changeset: ChangesetId,
    /// Where; empty for what is the same everywhere.
    pub environment: String,
}

/// Changesets that wait and name any of these flags.
pub async fn list_waiting(
    db: &mut PgConnection,
    project: ProjectId,
    flags: &[String],
) -> Result<Vec<Waiting>, StoreError> {
    let rows = sqlx::query_as!(
        Waiting,
        "select flag_key as flag, changeset_id as changeset, environment_key as environment
         from changeset_flags
         where project_id = $1 and flag_key = any ($2)
         order by changeset_id, environment_key
         limit 1000",
        project.uuid(),
        flags,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// A filter as it stands in columns.
struct Columns<'f> {
    text: Option<&'f str>,
    words: Option<String>,
    kind: Option<String>,
    value_type: Option<String>,
    state_environments: Vec<Uuid>,
    states: Vec<String>,
    waiting: Option<&'f str>,
    never_evaluated: Vec<Uuid>,
    only: Option<Vec<Uuid>>,
    kinds: Vec<String>,
    usual_days: Vec<i32>,
}

impl<'f> Columns<'f> {
    fn new(filter: &'f Filter) -> Result<Self, StoreError> {
        let usual = FlagKind::ALL.into_iter().filter_map(|kind| Some((kind, kind.usual_days()?)));
        let value_type = filter.value_type.map(|value_type| write_document(&value_type)).transpose()?;
        Ok(Self {
            text: filter.text.as_deref(),
            words: filter.text.as_deref().map(words),
            kind: filter.kind.map(kind_text).transpose()?,
            value_type: value_type.map(|word| word.as_str().unwrap_or_default().to_owned()),
            state_environments: filter.states.iter().map(|(environment, _)| environment.uuid()).collect(),
            states: filter.states.iter().map(|(_, state)| state.clone()).collect(),
            waiting: filter.waiting.as_ref().map(|place| place.as_ref().map_or("", EnvironmentKey::as_str)),
            never_evaluated: filter.never_evaluated.iter().map(|id| id.uuid()).collect(),
            only: filter.only.as_ref().map(|ids| ids.iter().map(|id| id.uuid()).collect()),
            kinds: usual.clone().map(|(kind, _)| kind_text(kind)).collect::<Result<_, _>>()?,
            usual_days: usual.map(|(_, days)| i32::try_from(days).unwrap_or(i32::MAX)).collect(),
        })
    }
}

/// A search for beginnings of words, all of them, in the language of `to_tsquery`.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(WORDS_MAX);
    words.map(|word| format!("{word}:*")).collect::<Vec<_>>().join(" & ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_made_of_letters_and_digits_alone() {
        assert_eq!(words(" pay-Prov/10 "), "pay:* & Prov:* & 10:*");
        assert_eq!(words("'; drop & | ! ( <->"), "drop:*");
        assert_eq!(words("!?"), "");
    }
}

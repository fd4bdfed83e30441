//! Exposures and what users did, added up.

use shared::model::id::{EnvironmentId, FlagId};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::store::StoreError;

/// Where and when to look.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Where.
    pub environment: EnvironmentId,
    /// The experiment.
    pub flag: FlagId,
    /// The split: `default` or `rule <id>`.
    pub place: &'a str,
    /// Users whose first exposure to the flag is earlier are left out.
    pub from: OffsetDateTime,
    /// One past the last minute.
    pub to: OffsetDateTime,
}

/// Users of one variant.
#[derive(Clone, Debug)]
pub struct VariantUnits {
    /// The variant's key.
    pub variant: String,
    /// Users that were given this variant alone.
    pub units: i64,
}

/// Users by what they were given.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Those in exactly one variant.
    pub variants: Vec<VariantUnits>,
    /// Those in several.
    pub several: i64,
    /// Those who came before.
    pub before: i64,
}

/// What users of one variant did.
#[derive(Clone, Debug)]
pub struct VariantEvents {
    /// The name of the event.
    pub event: String,
    /// The variant's key.
    pub variant: String,
    /// Users who did it.
    pub active: i64,
    /// The sum of all values.
    pub sum: f64,
    /// The sum of the squared distances of their sums from the mean of those sums.
    pub squares: f64,
}

/// A change of a split.
#[derive(Clone, Copy, Debug)]
pub struct SplitChange {
    /// The changeset.
    pub revision: i64,
    /// When it was applied.
    pub applied_at: OffsetDateTime,
}

/// How many users each place of a flag ever gave a variant by a split; who was given several is counted with each.
pub async fn list_places(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
) -> Result<Vec<(String, i64)>, StoreError> {
    let rows = sqlx::query!(
        r#"select evaluation_series.place, count(*) as "units!"
           from evaluation_series
           join exposures on exposures.series = evaluation_series.id
           where evaluation_series.environment_id = $1 and evaluation_series.flag_id = $2
             and evaluation_series.reason = 'SPLIT' and evaluation_series.mode = 'single'
           group by evaluation_series.place"#,
        environment.uuid(),
        flag.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.place, row.units)).collect())
}

/// The last changeset that changed the split of the default (`rule` absent) or of a rule.
pub async fn last_change(
    db: &mut PgConnection,
    environment: EnvironmentId,
    flag: FlagId,
    rule: Option<&str>,
) -> Result<Option<SplitChange>, StoreError> {
    let change = sqlx::query_as!(
        SplitChange,
        r#"select entries.revision, changesets.applied_at as "applied_at!"
         from (select revision,
                      case when $3::text is null then before #> '{default_serve,split}'
                           else jsonb_path_query_first(before, '$.rules[*] ? (@.id == $id).serve.split',
                                                       jsonb_build_object('id', $3::text)) end as split_before,
                      case when $3::text is null then after #> '{default_serve,split}'
                           else jsonb_path_query_first(after, '$.rules[*] ? (@.id == $id).serve.split',
                                                       jsonb_build_object('id', $3::text)) end as split_after
               from revision_entries
               where entity_id = $1 and environment_id = $2 and entity = 'config') entries
         join changesets on changesets.revision = entries.revision
         where entries.split_before is distinct from entries.split_after
         order by entries.revision desc
         limit 1"#,
        flag.uuid(),
        environment.uuid(),
        rule,
    )
    .fetch_optional(db)
    .await?;
    Ok(change)
}

/// Counts users of a split by variant.
pub async fn count_units(db: &mut PgConnection, scope: Scope<'_>) -> Result<Units, StoreError> {
    // Numbers instead of names, as a million of them are compared.
    let rows = sqlx::query!(
        r#"with places as (
               select id, variant as name, place = $3 as is_here, dense_rank() over (order by variant) as variant
               from evaluation_series
               where environment_id = $1 and flag_id = $2 and reason = 'SPLIT' and mode = 'single'),
           units as (
               select exposures.unit, min(exposures.minute) as first_at, min(places.variant) as variant,
                      min(places.variant) <> max(places.variant) as is_several
               from places
               join exposures on exposures.series = places.id
               where exposures.minute < $5
               group by exposures.unit
               having bool_or(places.is_here)),
           counted as (
               select case when first_at < $4 then 'before' when is_several then 'several' else 'one' end as met,
                      case when first_at < $4 or is_several then 0 else variant end as variant, count(*) as units
               from units
               group by 1, 2)
           select met as "met!", units as "units!",
                  coalesce((select min(name) from places where places.variant = counted.variant), '') as "variant!"
           from counted
           order by 1, 3"#,
        scope.environment.uuid(),
        scope.flag.uuid(),
        scope.place,
        scope.from,
        scope.to,
    )
    .fetch_all(db)
    .await?;
    let mut units = Units::default();
    for row in rows {
        match row.met.as_str() {
            "before" => units.before = row.units,
            "several" => units.several = row.units,
            _ => units.variants.push(VariantUnits { variant: row.variant, units: row.units }),
        }
    }
    Ok(units)
}

/// Adds up what the users of [`count_units`] did from the minute of their first exposure on.
pub async fn sum_events(
    db: &mut PgConnection,
    scope: Scope<'_>,
    events: &[String],
) -> Result<Vec<VariantEvents>, StoreError> {
    let series = sqlx::query!(
        "select id, event from event_series where environment_id = $1 and event = any ($2)",
        scope.environment.uuid(),
        events,
    )
    .fetch_all(&mut *db)
    .await?;
    let ids: Vec<i64> = series.iter().map(|series| series.id).collect();
    // Who counts is a column and no `having`, of which the planner supposes that it leaves next to nobody: it would then look
    // a million users up one by one.
    let rows = sqlx::query!(
        r#"with places as (
               select id, variant as name, place = $3 as is_here, dense_rank() over (order by variant) as variant
               from evaluation_series
               where environment_id = $1 and flag_id = $2 and reason = 'SPLIT' and mode = 'single'),
           units as materialized (
               select exposures.unit, min(exposures.minute) as first_at, min(places.variant) as variant,
                      bool_or(places.is_here) and min(exposures.minute) >= $4
                      and min(places.variant) = max(places.variant) as is_counted
               from places
               join exposures on exposures.series = places.id
               where exposures.minute < $5
               group by exposures.unit),
           acts as (
               select unit_events.series, unit_events.unit, units.variant, sum(unit_events.sum) as total
               from units
               join unit_events on unit_events.unit = units.unit and unit_events.minute >= units.first_at
               where units.is_counted and unit_events.series = any ($6)
                 and unit_events.minute >= $4 and unit_events.minute < $5
               group by unit_events.series, unit_events.unit, units.variant),
           sums as (
               select series, variant, count(*) as active, sum(total) as sum,
                      -- Not by squares, which lose their digits where values are large and alike.
                      var_pop(total) * count(*) as squares
               from acts
               group by series, variant)
           select series, active as "active!", sum as "sum!", squares as "squares!",
                  (select min(name) from places where places.variant = sums.variant) as "variant!"
           from sums
           order by 1, 5"#,
        scope.environment.uuid(),
        scope.flag.uuid(),
        scope.place,
        scope.from,
        scope.to,
        &ids,
    )
    .fetch_all(db)
    .await?;
    let sums = rows.into_iter().filter_map(|row| {
        let event = series.iter().find(|series| series.id == row.series)?.event.clone();
        let (active, sum, squares) = (row.active, row.sum, row.squares);
        Some(VariantEvents { event, variant: row.variant, active, sum, squares })
    });
    Ok(sums.collect())
}

//! The ids of series: out of memory where they are known, else out of the database, where missing ones are made.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use time::OffsetDateTime;
use tokio_postgres::Transaction;
use uuid::Uuid;

use super::minute_at;
use super::sums::{SeriesKey, Sums};
use super::table::{EVENTS, Parameter, TABLES, Table, UNKNOWN, arrays, names, references, sort_key, table_of, values};

/// Series kept in memory, some 25 MB; with more in use they are looked up again and again.
const KNOWN_MAX: usize = 100_000;
/// Different unknown flags of an SDK key that are told apart; further ones are counted together.
const UNKNOWN_MAX: usize = 1_000;
/// Names of events in an environment that no metric reads; further ones are let go of. Those that a metric reads always
/// have a place, so that nobody's made-up names cost an experiment its events.
const EVENTS_MAX: usize = 1_000;

/// A series as the database has it; minutes since 1970.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: i64,
    first: i64,
    last: i64,
}

/// Series seen before. What it holds was committed.
#[derive(Debug, Default)]
pub(super) struct SeriesCache {
    generation: i64,
    known: HashMap<Arc<SeriesKey>, Known>,
}

/// What a transaction learned of series, to be remembered once it is committed.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// By the place of a series in the sums; absent for events that are let go of, and for what was folded.
    pub(super) ids: Vec<Option<i64>>,
    learned: Vec<(Arc<SeriesKey>, Known)>,
}

impl Known {
    fn spans(self, (first, last): (i64, i64)) -> bool {
        self.first <= first && last <= self.last
    }
}

impl SeriesCache {
    /// Forgets everything when series were removed since.
    pub(super) fn follow(&mut self, generation: i64) {
        if self.generation != generation {
            self.known.clear();
            self.generation = generation;
        }
    }

    /// Remembers what is committed.
    pub(super) fn remember(&mut self, resolved: Resolved) {
        if self.known.len() + resolved.learned.len() > KNOWN_MAX {
            self.known.clear();
        }
        self.known.extend(resolved.learned.into_iter().take(KNOWN_MAX));
    }
}

/// Finds or makes every series, and moves its first and last minute where they changed. Some are folded into others when
/// there would be too many.
pub(super) async fn resolve(
    tx: &Transaction<'_>,
    cache: &SeriesCache,
    sums: &mut Sums,
) -> Result<Resolved, tokio_postgres::Error> {
    let cached: Vec<Option<Known>> = sums.series.iter().map(|key| cache.known.get(key).copied()).collect();
    // What the cache does not hold, or holds otherwise.
    let mut found: HashMap<usize, Known> = HashMap::new();
    let mut missing: [Vec<usize>; 5] = Default::default();
    for (at, _) in cached.iter().enumerate().filter(|(_, known)| known.is_none()) {
        missing[table_of(&sums.series[at])].push(at);
    }
    for (table, missing) in missing.iter_mut().enumerate() {
        find(tx, table, sums, missing, &mut found).await?;
    }
    limit_unknown(tx, sums, &mut missing[UNKNOWN], &mut found).await?;
    limit_events(tx, sums, &mut missing[EVENTS]).await?;
    for (table, missing) in missing.iter_mut().enumerate() {
        make(tx, table, sums, missing, &mut found).await?;
    }
    // Only now, since those that came to stand for others have their minutes, too.
    for (at, known) in cached.iter().enumerate() {
        if let Some(known) = known.filter(|known| !known.spans(sums.spans[at])) {
            found.insert(at, known);
        }
    }
    move_spans(tx, sums, &mut found).await?;
    let mut ids: Vec<Option<i64>> = cached.iter().map(|known| known.map(|known| known.id)).collect();
    ids.resize(sums.series.len(), None);
    for (at, known) in &found {
        ids[*at] = Some(known.id);
    }
    let learned = found.into_iter().map(|(at, known)| (sums.series[at].clone(), known)).collect();
    Ok(Resolved { ids, learned })
}

/// Takes those that exist out of what is missing.
async fn find(
    tx: &Transaction<'_>,
    table: usize,
    sums: &Sums,
    missing: &mut Vec<usize>,
    found: &mut HashMap<usize, Known>,
) -> Result<(), tokio_postgres::Error> {
    if missing.is_empty() {
        return Ok(());
    }
    let Table { name, columns } = &TABLES[table];
    let (names, arrays) = (names(columns), arrays(columns, 2));
    let statement = format!(
        "select wanted.at, id, first_at, last_at
         from unnest($1::bigint[], {arrays}) as wanted (at, {names})
         join {name} using ({names})"
    );
    let mut parameters: Vec<Parameter> = vec![Box::new(missing.iter().map(|at| *at as i64).collect::<Vec<i64>>())];
    parameters.extend(values(sums, columns.len(), missing));
    for row in tx.query(&statement, &references(&parameters)).await? {
        let at = usize::try_from(row.get::<_, i64>(0)).unwrap_or(usize::MAX);
        found.insert(at, Known { id: row.get(1), first: minute_of(row.get(2)), last: minute_of(row.get(3)) });
    }
    missing.retain(|at| !found.contains_key(at));
    Ok(())
}

/// Makes what is missing, in the order of the unique index.
async fn make(
    tx: &Transaction<'_>,
    table: usize,
    sums: &Sums,
    missing: &mut Vec<usize>,
    found: &mut HashMap<usize, Known>,
) -> Result<(), tokio_postgres::Error> {
    if missing.is_empty() {
        return Ok(());
    }
    let Table { name, columns } = &TABLES[table];
    missing.sort_by_cached_key(|at| sort_key(&sums.series[*at]));
    let wanted = i64::try_from(missing.len()).unwrap_or(i64::MAX);
    let ids = tx.query("select nextval('count_series_ids') from generate_series(1, $1::bigint)", &[&wanted]).await?;
    let ids: Vec<i64> = ids.iter().map(|row| row.get(0)).collect();
    let (names, arrays) = (names(columns), arrays(columns, 4));
    let statement = format!(
        "insert into {name} (id, first_at, last_at, {names})
         select id, first_at, last_at, {names}
         from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], {arrays})
             as wanted (id, first_at, last_at, {names})
         on conflict ({names}) do nothing"
    );
    let firsts: Vec<OffsetDateTime> = missing.iter().map(|at| minute_at(sums.spans[*at].0)).collect();
    let lasts: Vec<OffsetDateTime> = missing.iter().map(|at| minute_at(sums.spans[*at].1)).collect();
    let mut parameters: Vec<Parameter> = vec![Box::new(ids.clone()), Box::new(firsts), Box::new(lasts)];
    parameters.extend(values(sums, columns.len(), missing));
    let made = tx.execute(&statement, &references(&parameters)).await?;
    if usize::try_from(made) == Ok(missing.len()) {
        for (at, id) in missing.drain(..).zip(ids) {
            let (first, last) = sums.spans[at];
            found.insert(at, Known { id, first, last });
        }
        return Ok(());
    }
    // A backend of the previous release made one meanwhile.
    find(tx, table, sums, missing, found).await
}

/// Moves the first and last minute of those that were counted outside of them.
async fn move_spans(
    tx: &Transaction<'_>,
    sums: &Sums,
    found: &mut HashMap<usize, Known>,
) -> Result<(), tokio_postgres::Error> {
    let mut moved: [Vec<(i64, i64, i64)>; 5] = Default::default();
    for (at, known) in found.iter_mut() {
        let (first, last) = sums.spans[*at];
        if !known.spans((first, last)) {
            known.first = known.first.min(first);
            known.last = known.last.max(last);
            moved[table_of(&sums.series[*at])].push((known.id, known.first, known.last));
        }
    }
    for (table, mut moved) in TABLES.iter().zip(moved).filter(|(_, moved)| !moved.is_empty()) {
        moved.sort_unstable();
        let statement = format!(
            "update {name} as series
             set first_at = least(series.first_at, moved.first_at), last_at = greatest(series.last_at, moved.last_at)
             from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as moved (id, first_at, last_at)
             where series.id = moved.id",
            name = table.name
        );
        let ids: Vec<i64> = moved.iter().map(|(id, ..)| *id).collect();
        let firsts: Vec<OffsetDateTime> = moved.iter().map(|(_, first, _)| minute_at(*first)).collect();
        let lasts: Vec<OffsetDateTime> = moved.iter().map(|(.., last)| minute_at(*last)).collect();
        tx.execute(&statement, &[&ids, &firsts, &lasts]).await?;
    }
    Ok(())
}

/// Folds unknown flags beyond what an SDK key may have into "all others".
async fn limit_unknown(
    tx: &Transaction<'_>,
    sums: &mut Sums,
    missing: &mut Vec<usize>,
    found: &mut HashMap<usize, Known>,
) -> Result<(), tokio_postgres::Error> {
    let mut held: HashMap<(Uuid, Uuid), usize> = HashMap::new();
    for at in missing.iter() {
        if let SeriesKey::Unknown { environment, key, .. } = &*sums.series[*at] {
            held.insert((environment.uuid(), key.uuid()), 0);
        }
    }
    if held.is_empty() {
        return Ok(());
    }
    let (environments, keys): (Vec<Uuid>, Vec<Uuid>) = held.keys().copied().unzip();
    let statement = "
select environment_id, key_id, count(*)
from unknown_series
join unnest($1::uuid[], $2::uuid[]) as wanted (environment_id, key_id) using (environment_id, key_id)
where flag_key <> ''
group by environment_id, key_id";
    for row in tx.query(statement, &[&environments, &keys]).await? {
        held.insert((row.get(0), row.get(1)), usize::try_from(row.get::<_, i64>(2)).unwrap_or(usize::MAX));
    }
    let mut folds = Vec::new();
    missing.sort_by_cached_key(|at| sort_key(&sums.series[*at]));
    missing.retain(|at| {
        let SeriesKey::Unknown { environment, key, flag } = &*sums.series[*at] else { return true };
        let held = held.entry((environment.uuid(), key.uuid())).or_default();
        *held += usize::from(!flag.is_empty());
        let has_room = flag.is_empty() || *held <= UNKNOWN_MAX;
        if !has_room {
            folds.push((*at, SeriesKey::Unknown { environment: *environment, key: *key, flag: String::new() }));
        }
        has_room
    });
    let before = sums.series.len();
    sums.fold(folds);
    let mut others: Vec<usize> = (before..sums.series.len()).collect();
    find(tx, UNKNOWN, sums, &mut others, found).await?;
    missing.extend(others);
    Ok(())
}

/// Lets go of names of events beyond what an environment may have.
async fn limit_events(
    tx: &Transaction<'_>,
    sums: &mut Sums,
    missing: &mut Vec<usize>,
) -> Result<(), tokio_postgres::Error> {
    let environments = missing.iter().filter_map(|at| match &*sums.series[*at] {
        SeriesKey::Event { environment, .. } => Some((environment.uuid(), 0)),
        _ => None,
    });
    let mut held: HashMap<Uuid, usize> = environments.collect();
    if held.is_empty() {
        return Ok(());
    }
    let environments: Vec<Uuid> = held.keys().copied().collect();
    let statement =
        "select environment_id, count(*) from event_series where environment_id = any($1) group by environment_id";
    for row in tx.query(statement, &[&environments]).await? {
        held.insert(row.get(0), usize::try_from(row.get::<_, i64>(1)).unwrap_or(usize::MAX));
    }
    let read = "
select environments.id, metrics.event
from environments
join metrics on metrics.project_id = environments.project_id
where environments.id = any($1)";
    let read = tx.query(read, &[&environments]).await?;
    let read: HashSet<(Uuid, String)> = read.iter().map(|row| (row.get(0), row.get(1))).collect();
    missing.sort_by_cached_key(|at| sort_key(&sums.series[*at]));
    let mut refused = HashSet::new();
    missing.retain(|at| {
        let SeriesKey::Event { environment, event } = &*sums.series[*at] else { return true };
        if read.contains(&(environment.uuid(), event.clone())) {
            return true;
        }
        let held = held.entry(environment.uuid()).or_default();
        *held += 1;
        let has_room = *held <= EVENTS_MAX;
        if !has_room {
            refused.insert(*at);
        }
        has_room
    });
    if !refused.is_empty() {
        tracing::warn!(
            names = refused.len(),
            "environments have {EVENTS_MAX} names of events; further ones are let go of"
        );
    }
    let before = sums.events.len();
    sums.events.retain(|(series, ..), _| !refused.contains(series));
    sums.events_refused += (before - sums.events.len()) as u64;
    Ok(())
}

fn minute_of(at: OffsetDateTime) -> i64 {
    at.unix_timestamp().div_euclid(60)
}

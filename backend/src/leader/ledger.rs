//! What edges counted and did not arrive: at most how much, from when to when, and whether it may still come.
//!
//! An edge says in heartbeats how many evaluations it counted since it began; `count_processes` knows how many of them
//! were added. The difference is no loss while the edge lives. Once it does not, it is one, and so may be what it counted
//! after its last heartbeat: its highest rate for the time in which the next one would have come.

use std::collections::{BTreeMap, HashMap};

use serde::de::DeserializeOwned;
use shared::model::id::ProcessId;
use shared::wire::edge::{HEARTBEAT_SECONDS, InheritedCounts};
use time::{Duration, OffsetDateTime};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::state::AppState;

/// An edge not heard for this long is written down.
const SILENT: Duration = Duration::seconds(60);
/// Edges that left are judged this long, and whenever counts of them arrive later.
const JUDGED: Duration = Duration::DAY;
/// As many are judged at once, those heard last.
const EDGES_MAX: i64 = 5_000;
/// The time in which two heartbeats come and an edge gathers once more, by default: so long it may have counted unheard.
const TAIL_SECONDS: u64 = 2 * HEARTBEAT_SECONDS + 5;

const EDGES: &str = "
select process, name, edges.last_heard_at, edges.gone_at, departure, goodbye_counted, counted_per_second_max,
    least((heartbeat ->> 'counted')::numeric, 9e18)::bigint as counted,
    least(coalesce((heartbeat ->> 'lost')::numeric, 0), 9e18)::bigint as lost,
    (heartbeat -> 'predecessors')::text as predecessors, (heartbeat -> 'inherited')::text as inherited,
    coalesce(received, 0) as received, last_at,
    coalesce(is_complete, not exists (select from count_batches where count_batches.process = edges.process))
        as is_complete
from edges
left join count_processes using (process)
where gone_at is null or gone_at > $1 or last_at > $1
    or exists (select from count_losses where count_losses.process = edges.process and not is_final)
order by last_heard_at desc
limit $2";
const REMOVE: &str = "
delete from count_losses
where process = any($1::uuid[])
    and not exists (
        select from unnest($2::uuid[], $3::text[]) as kept (process, cause)
        where kept.process = count_losses.process and kept.cause = count_losses.cause
    )";
/// When it began stays, since late counts move what is known of it.
const KEEP: &str = "
insert into count_losses (process, cause, edge_name, from_at, to_at, lost_max, is_final)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::bigint[], $7::boolean[])
on conflict (process, cause) do update
set edge_name = excluded.edge_name, to_at = excluded.to_at, lost_max = excluded.lost_max, is_final = excluded.is_final
where (count_losses.lost_max, count_losses.is_final) is distinct from (excluded.lost_max, excluded.is_final)";
const TOTAL: &str = "select least(coalesce(sum(lost_max), 0), 9e18)::bigint from count_losses";

/// An edge as it was last heard, with what was added of it.
#[derive(Clone, Debug)]
struct Judged {
    process: Uuid,
    name: String,
    last_heard_at: OffsetDateTime,
    gone_at: Option<OffsetDateTime>,
    departure: Option<String>,
    goodbye_counted: Option<i64>,
    counted_per_second_max: f64,
    counted: i64,
    lost: i64,
    received: i64,
    last_batch_at: Option<OffsetDateTime>,
    is_complete: bool,
}

/// What the process that took over a folder says of one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Successor {
    heard_at: OffsetDateTime,
    /// Counts of the earlier one still wait to be confirmed.
    waits: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Loss {
    process: Uuid,
    cause: &'static str,
    edge_name: String,
    from_at: OffsetDateTime,
    to_at: OffsetDateTime,
    lost_max: i64,
    is_final: bool,
}

/// Brings the ledger up to date. Silence counts from when this backend began to listen.
pub(super) async fn keep(
    state: &AppState,
    client: &mut Client,
    leading_since: OffsetDateTime,
) -> Result<(), tokio_postgres::Error> {
    let lost_max = pass(client, state.clock.now(), leading_since).await?;
    state.metrics.evaluations_lost_max.set(lost_max);
    Ok(())
}

/// One pass; answers how many evaluations were lost in all, at most.
pub async fn pass(
    client: &mut Client,
    now: OffsetDateTime,
    leading_since: OffsetDateTime,
) -> Result<i64, tokio_postgres::Error> {
    let tx = client.transaction().await?;
    let rows = tx.query(EDGES, &[&(now - JUDGED), &EDGES_MAX]).await?;
    let successors = successors(&rows);
    let edges: Vec<Judged> = rows.iter().map(judged_from_row).collect();
    let mut losses: Vec<Loss> = Vec::new();
    for edge in &edges {
        losses.extend(missing(edge, successors.get(&edge.process).copied(), now, leading_since));
        losses.extend(let_go(edge));
    }
    let considered: Vec<Uuid> = edges.iter().map(|edge| edge.process).collect();
    let processes: Vec<Uuid> = losses.iter().map(|loss| loss.process).collect();
    let causes: Vec<&str> = losses.iter().map(|loss| loss.cause).collect();
    tx.execute(REMOVE, &[&considered, &processes, &causes]).await?;
    let names: Vec<&str> = losses.iter().map(|loss| loss.edge_name.as_str()).collect();
    let from: Vec<OffsetDateTime> = losses.iter().map(|loss| loss.from_at).collect();
    let to: Vec<OffsetDateTime> = losses.iter().map(|loss| loss.to_at).collect();
    let lost: Vec<i64> = losses.iter().map(|loss| loss.lost_max).collect();
    let is_final: Vec<bool> = losses.iter().map(|loss| loss.is_final).collect();
    tx.execute(KEEP, &[&processes, &causes, &names, &from, &to, &lost, &is_final]).await?;
    let total = tx.query_one(TOTAL, &[]).await?.get(0);
    tx.commit().await?;
    Ok(total)
}

/// What an edge that counts no more, or is not heard, counted and did not arrive.
fn missing(
    edge: &Judged,
    successor: Option<Successor>,
    now: OffsetDateTime,
    leading_since: OffsetDateTime,
) -> Option<Loss> {
    if !edge.is_complete {
        return None;
    }
    let silent_for = now - edge.last_heard_at.max(leading_since);
    let waits = successor.is_some_and(|successor| successor.waits);
    let (cause, is_final, has_tail) = match (edge.gone_at, edge.departure.as_deref()) {
        // It counted nothing after its goodbye, and its spool waits for whoever takes over its folder.
        (Some(_), Some("goodbye")) if successor.is_none() || waits => ("silent", false, false),
        (Some(_), Some("goodbye")) => ("killed", true, false),
        // Until its successor is written down nobody knows what it found.
        (Some(_), Some("replaced")) => ("killed", successor.is_some() && !waits, true),
        (Some(_), Some("dismissed")) => ("silent", true, true),
        (None, _) if silent_for > SILENT && successor.is_none() => ("silent", false, true),
        _ => return None,
    };
    let counted = if has_tail { edge.counted } else { edge.goodbye_counted.unwrap_or(edge.counted) };
    let unheard = (edge.counted_per_second_max * TAIL_SECONDS as f64).ceil() as i64;
    let tail = if has_tail { unheard } else { 0 };
    let lost_max = counted.saturating_sub(edge.lost).saturating_sub(edge.received).max(0).saturating_add(tail);
    let ended_at =
        if has_tail { edge.last_heard_at + Duration::seconds(TAIL_SECONDS.cast_signed()) } else { edge.gone_at? };
    (lost_max > 0).then(|| loss(edge, cause, ended_at, lost_max, is_final))
}

/// What an edge had to let go of, as it says itself.
fn let_go(edge: &Judged) -> Option<Loss> {
    (edge.lost > 0).then(|| loss(edge, "let_go", edge.last_heard_at, edge.lost, true))
}

fn loss(edge: &Judged, cause: &'static str, to_at: OffsetDateTime, lost_max: i64, is_final: bool) -> Loss {
    // Everything before its last batch is here, unless that came later, from whoever took over.
    let from_at = edge.last_batch_at.unwrap_or(edge.last_heard_at).min(edge.last_heard_at).min(to_at);
    Loss { process: edge.process, cause, edge_name: edge.name.clone(), from_at, to_at, lost_max, is_final }
}

/// Who took over from whom: of several, the one heard last.
fn successors(rows: &[Row]) -> HashMap<Uuid, Successor> {
    let said = rows.iter().map(|row| {
        let inherited: Vec<InheritedCounts> = list(row.get("inherited"));
        (row.get("last_heard_at"), list(row.get("predecessors")), inherited)
    });
    successors_of(said)
}

fn successors_of(
    said: impl Iterator<Item = (OffsetDateTime, Vec<ProcessId>, Vec<InheritedCounts>)>,
) -> HashMap<Uuid, Successor> {
    let mut successors: HashMap<Uuid, Successor> = HashMap::new();
    for (heard_at, predecessors, inherited) in said {
        let unsent: BTreeMap<ProcessId, u64> = inherited.iter().map(|one| (one.process, one.unsent)).collect();
        for process in predecessors {
            let waits = unsent.get(&process).is_some_and(|unsent| *unsent > 0);
            let successor = successors.entry(process.uuid()).or_insert(Successor { heard_at, waits });
            if successor.heard_at < heard_at {
                *successor = Successor { heard_at, waits };
            }
        }
    }
    successors
}

/// A list out of a heartbeat; absent when it is empty.
fn list<T: DeserializeOwned>(text: Option<&str>) -> Vec<T> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn judged_from_row(row: &Row) -> Judged {
    Judged {
        process: row.get("process"),
        name: row.get("name"),
        last_heard_at: row.get("last_heard_at"),
        gone_at: row.get("gone_at"),
        departure: row.get("departure"),
        goodbye_counted: row.get("goodbye_counted"),
        counted_per_second_max: row.get("counted_per_second_max"),
        counted: row.get("counted"),
        lost: row.get("lost"),
        received: row.get("received"),
        last_batch_at: row.get("last_at"),
        is_complete: row.get("is_complete"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEARD: OffsetDateTime = time::macros::datetime!(2026-12-01 10:04:00 UTC);

    fn edge() -> Judged {
        Judged {
            process: Uuid::from_u128(1),
            name: "edge-3".into(),
            last_heard_at: HEARD,
            gone_at: None,
            departure: None,
            goodbye_counted: None,
            counted_per_second_max: 100.0,
            counted: 5_000,
            lost: 0,
            received: 4_700,
            last_batch_at: Some(HEARD - Duration::seconds(3)),
            is_complete: true,
        }
    }

    fn left(departure: &str) -> Judged {
        Judged { gone_at: Some(HEARD + Duration::seconds(30)), departure: Some(departure.into()), ..edge() }
    }

    fn judge(edge: &Judged, successor: Option<bool>) -> Option<(&'static str, i64, bool)> {
        let successor = successor.map(|waits| Successor { heard_at: HEARD, waits });
        let loss = missing(edge, successor, HEARD + Duration::HOUR, HEARD - Duration::HOUR)?;
        Some((loss.cause, loss.lost_max, loss.is_final))
    }

    #[test]
    fn a_killed_edge_lost_what_did_not_arrive_and_what_it_may_have_counted_unheard() {
        let killed = left("replaced");
        assert_eq!(judge(&killed, Some(true)), Some(("killed", 300 + 900, false)), "its spool may still be sent");
        assert_eq!(judge(&killed, Some(false)), Some(("killed", 300 + 900, true)));
        assert_eq!(judge(&killed, None), Some(("killed", 300 + 900, false)), "its successor is not written down yet");
        let arrived = Judged { received: 5_200, ..killed.clone() };
        assert_eq!(judge(&arrived, Some(false)), Some(("killed", 900, true)), "what came later makes it smaller");
        let idle = Judged { received: 5_000, counted_per_second_max: 0.0, ..killed.clone() };
        assert_eq!(judge(&idle, Some(false)), None);
        let let_go_of = Judged { lost: 300, ..killed };
        assert_eq!(judge(&let_go_of, Some(false)), Some(("killed", 900, true)), "its own entry says that");
        assert_eq!(
            let_go(&let_go_of).map(|loss| (loss.cause, loss.lost_max, loss.is_final)),
            Some(("let_go", 300, true))
        );
    }

    #[test]
    fn an_edge_that_said_goodbye_lost_nothing_when_all_it_said_arrived() {
        let left = Judged { goodbye_counted: Some(5_100), ..left("goodbye") };
        let all = Judged { received: 5_100, ..left.clone() };
        assert_eq!(judge(&all, None), None);
        assert_eq!(judge(&left, None), Some(("silent", 400, false)), "its spool waits for a successor");
        assert_eq!(judge(&left, Some(true)), Some(("silent", 400, false)));
        assert_eq!(judge(&left, Some(false)), Some(("killed", 400, true)), "the successor has no spool of it");
    }

    #[test]
    fn a_silent_edge_may_come_back_until_somebody_dismisses_it() {
        assert_eq!(judge(&edge(), None), Some(("silent", 1_200, false)));
        assert_eq!(judge(&left("dismissed"), None), Some(("silent", 1_200, true)));
        let soon = HEARD + Duration::seconds(59);
        assert_eq!(missing(&edge(), None, soon, HEARD - Duration::HOUR), None);
        let late = HEARD + Duration::HOUR;
        assert_eq!(missing(&edge(), None, late, late - Duration::seconds(59)), None, "nobody listened before");
    }

    #[test]
    fn nothing_is_said_of_an_edge_whose_first_batches_were_not_summed_up() {
        assert_eq!(judge(&Judged { is_complete: false, ..left("replaced") }, Some(false)), None);
    }

    #[test]
    fn the_time_of_a_loss_is_from_the_last_batch_to_where_the_next_heartbeats_would_have_been() {
        let loss = missing(&edge(), None, HEARD + Duration::HOUR, HEARD).expect("a loss");
        assert_eq!((loss.from_at, loss.to_at), (HEARD - Duration::seconds(3), HEARD + Duration::seconds(9)));
        let later = Judged { last_batch_at: Some(HEARD + Duration::MINUTE), ..edge() };
        assert_eq!(missing(&later, None, HEARD + Duration::HOUR, HEARD).expect("a loss").from_at, HEARD);
    }

    #[test]
    fn of_several_successors_the_one_heard_last_knows_whether_counts_wait() {
        let old = ProcessId::from(Uuid::from_u128(1));
        let waiting = vec![InheritedCounts { process: old, unsent: 7 }];
        let said = [(HEARD + Duration::SECOND, vec![old], vec![]), (HEARD, vec![old], waiting)];
        assert!(!successors_of(said.into_iter())[&old.uuid()].waits);
    }
}

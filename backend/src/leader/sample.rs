//! How each edge was, once a minute, for the history of the fleet.

use std::collections::HashMap;

use time::OffsetDateTime;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::error::AppError;
use crate::state::AppState;
use crate::store;

const INSERT: &str = "
insert into edge_samples (process, minute, edge_name, memory_bytes, counted, unsent, revisions_behind, lag_ms)
select process, $8, edge_name, memory_bytes, counted, unsent, revisions_behind, lag_ms
from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
    as edges (process, edge_name, memory_bytes, counted, unsent, revisions_behind, lag_ms)
on conflict (process, minute) do nothing";

/// Writes down the minute that just ended.
pub async fn take(state: &AppState, client: &Client, minute: OffsetDateTime) -> Result<(), AppError> {
    let newest: HashMap<_, _> = {
        let mut db = state.pool.acquire().await?;
        store::state::list_revisions(&mut db).await?.into_iter().collect()
    };
    let samples = state.live.samples(&newest, minute + time::Duration::MINUTE);
    if samples.is_empty() {
        return Ok(());
    }
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let processes: Vec<Uuid> = samples.iter().map(|sample| sample.process.uuid()).collect();
    let names: Vec<&str> = samples.iter().map(|sample| sample.name.as_str()).collect();
    let memory: Vec<i64> = samples.iter().map(|sample| signed(sample.memory_bytes)).collect();
    let counted: Vec<i64> = samples.iter().map(|sample| signed(sample.counted)).collect();
    let unsent: Vec<i64> = samples.iter().map(|sample| signed(sample.unsent)).collect();
    let behind: Vec<i64> = samples.iter().map(|sample| signed(sample.revisions_behind)).collect();
    let lags: Vec<Option<i64>> = samples.iter().map(|sample| sample.lag_ms.map(signed)).collect();
    client
        .execute(INSERT, &[&processes, &names, &memory, &counted, &unsent, &behind, &lags, &minute])
        .await
        .map_err(AppError::internal)?;
    Ok(())
}

//! Tells other systems what happened: makes deliveries of it ([`outbox`]), sends them ([`attempt`]) and watches edges
//! ([`edge`]).
//!
//! A delivery is made once per webhook and event, whatever crashes; it is sent at least once, always under the same id. To
//! one webhook one is under way at a time, oldest first, so events arrive in order as long as nothing fails. One that
//! failed waits for its retry while later ones go on: a receiver that was away for an hour would otherwise wait for the
//! longest retry. When it asks for a pause, all of them wait, and order is kept.

pub mod attempt;
pub mod edge;
mod history;
pub mod outbox;
pub mod retry;
pub mod send;
pub mod sign;
pub mod upkeep;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;
use shared::model::id::WebhookId;
use tokio::task::{Id, JoinSet};

use crate::error::{AppError, chain};
use crate::leader::webhook::send::Sender;
use crate::state::AppState;
use crate::store;
use crate::store::webhook::attempt::Due;

/// Something is sent at most this late.
const TICK: Duration = Duration::from_millis(500);
/// Deliveries under way at once.
const SLOTS: usize = 8;
/// Of these, at most so many to receivers whose last answer was a failure.
const TROUBLED_SLOTS: usize = 4;

/// Works for as long as this backend leads.
pub(super) async fn run(state: AppState) {
    let sender = Arc::new(Sender::new(&state.config.webhooks));
    tokio::join!(drive(state.clone(), sender), edge::watch(state));
}

/// Makes deliveries and sends what is due, for ever.
pub async fn drive(state: AppState, sender: Arc<Sender>) {
    let mut tasks = JoinSet::new();
    let mut under_way: HashMap<Id, (WebhookId, bool)> = HashMap::new();
    loop {
        if let Err(error) = begin(&state, &sender, &mut tasks, &mut under_way).await {
            tracing::warn!(error = %chain(&error), "webhooks wait");
        }
        tokio::select! {
            Some(ended) = tasks.join_next_with_id() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => {
                        tracing::error!(error = %chain(&error), "a delivery's task failed");
                        error.id()
                    }
                };
                under_way.remove(&id);
            }
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// Begins what is due, as far as there are slots.
async fn begin(
    state: &AppState,
    sender: &Arc<Sender>,
    tasks: &mut JoinSet<()>,
    under_way: &mut HashMap<Id, (WebhookId, bool)>,
) -> Result<(), AppError> {
    while outbox::fan_out(state).await? {}
    let busy: Vec<(WebhookId, bool)> = under_way.values().copied().collect();
    for due in list_due(state, &busy).await? {
        let (state, sender, webhook) = (state.clone(), sender.clone(), (due.webhook_id, due.is_troubled));
        let task = tasks.spawn(async move {
            if let Err(error) = attempt::run(&state, &sender, &due).await {
                // It is still due, and is sent again with the same id.
                tracing::warn!(error = %chain(&error), delivery.id = %due.id, "an attempt was not written down");
            }
        });
        under_way.insert(task.id(), webhook);
    }
    Ok(())
}

/// Makes deliveries of all that happened and sends what is due, until nothing is. Returns how often it sent.
pub async fn pass(state: &AppState, sender: &Sender) -> Result<usize, AppError> {
    while outbox::fan_out(state).await? {}
    let mut sent = 0;
    loop {
        let due = list_due(state, &[]).await?;
        if due.is_empty() {
            return Ok(sent);
        }
        sent += due.len();
        try_join_all(due.iter().map(|due| attempt::run(state, sender, due))).await?;
    }
}

/// What is due, as far as there are slots beside those under way, of which each says whether its receiver is troubled.
async fn list_due(state: &AppState, busy: &[(WebhookId, bool)]) -> Result<Vec<Due>, AppError> {
    let slots = SLOTS.saturating_sub(busy.len());
    if slots == 0 {
        return Ok(Vec::new());
    }
    let troubled = TROUBLED_SLOTS.saturating_sub(busy.iter().filter(|(_, is_troubled)| *is_troubled).count());
    let busy: Vec<WebhookId> = busy.iter().map(|(webhook, _)| *webhook).collect();
    let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut db = state.pool.acquire().await?;
    let now = state.clock.now();
    Ok(store::webhook::attempt::list_due(&mut db, &busy, signed(slots), signed(troubled), now).await?)
}

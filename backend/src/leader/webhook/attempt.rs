//! One time a delivery is sent, and what becomes of it then.

use std::time::Instant;

use shared::model::webhook::EventType;
use time::OffsetDateTime;
use url::Url;

use crate::app::webhook::{self, message_id, secret};
use crate::error::{AppError, chain};
use crate::leader::webhook::send::{Answer, Sender};
use crate::leader::webhook::{retry, sign};
use crate::metrics::DeliveryResult;
use crate::state::AppState;
use crate::store;
use crate::store::webhook::attempt::{Attempt, Due, Next};

/// A receiver that took none of so many events in a row, whatever the retries, is left alone.
const FAILED_IN_ROW_MAX: i32 = 3;

/// What came of sending.
#[derive(Debug)]
pub struct Sent {
    attempt: Attempt,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    Accepted,
    /// The receiver wants nothing more, ever.
    Gone,
    /// It has too much to do.
    Throttled(Option<time::Duration>),
    Failed,
}

/// Sends a delivery and writes down what came of it.
pub async fn run(state: &AppState, sender: &Sender, due: &Due) -> Result<(), AppError> {
    let sent = send(state, sender, due).await;
    write_down(state, due, &sent).await
}

/// Sends a delivery. Whoever stops before it is written down has it sent again, with the same id.
pub async fn send(state: &AppState, sender: &Sender, due: &Due) -> Sent {
    let (at, began) = (state.clock.now(), Instant::now());
    let answer = exchange(state, sender, due, at).await;
    let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
    match answer {
        Ok(answer) => {
            let (outcome, problem) = judge(&answer);
            let (status, response) = (Some(i32::from(answer.status)), Some(answer.body));
            Sent { attempt: Attempt { at, duration_ms, status, problem, response }, outcome }
        }
        Err(problem) => {
            let attempt = Attempt { at, duration_ms, status: None, problem: Some(problem), response: None };
            Sent { attempt, outcome: Outcome::Failed }
        }
    }
}

async fn exchange(state: &AppState, sender: &Sender, due: &Due, at: OffsetDateTime) -> Result<Answer, String> {
    let mut sealed = vec![&due.secret];
    sealed.extend(due.previous_secret.as_ref().filter(|_| due.previous_until.is_some_and(|until| at < until)));
    let opened = sealed.into_iter().map(|sealed| secret::open(&state.config.auth, due.webhook_id, sealed));
    let secrets: Vec<Vec<u8>> = opened
        .collect::<Option<_>>()
        .ok_or("the secret was encrypted under another auth.secret; rotate it, and give the receiver the new one")?;
    let url = Url::parse(&due.url).map_err(|error| error.to_string())?;
    let (id, timestamp) = (message_id(due.id), at.unix_timestamp());
    let headers = [
        ("webhook-signature", sign::signatures(&secrets, &id, timestamp, &due.body)),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-id", id),
    ];
    sender.post(&url, &headers, due.body.clone(), at).await.map_err(|error| chain(&error))
}

fn judge(answer: &Answer) -> (Outcome, Option<String>) {
    let status = answer.status;
    match status {
        200..=299 => (Outcome::Accepted, None),
        300..=399 => (Outcome::Failed, Some(format!("answered {status}; redirects are not followed"))),
        410 => (Outcome::Gone, Some("answered 410: it wants nothing more".into())),
        429 | 502..=504 => {
            (Outcome::Throttled(answer.retry_after), Some(format!("answered {status}: it has too much to do")))
        }
        _ => (Outcome::Failed, Some(format!("answered {status}"))),
    }
}

/// Writes down what came of sending, and what that means for the delivery and its webhook.
pub async fn write_down(state: &AppState, due: &Due, sent: &Sent) -> Result<(), AppError> {
    let Sent { attempt, outcome } = sent;
    let now = state.clock.now();
    let is_test = due.kind == EventType::WebhookTest.as_str();
    let failures = usize::try_from(due.failures).unwrap_or(usize::MAX).saturating_add(1);
    let retry_at = if is_test { None } else { retry::next(due.id, failures, now) };
    let paused_until = match outcome {
        Outcome::Throttled(after) if !is_test => Some(retry::pause(*after, retry_at, now)),
        _ => None,
    };
    let next = match (outcome, retry_at) {
        (Outcome::Accepted, _) => Next::Delivered,
        (Outcome::Gone, _) | (_, None) => Next::GiveUp,
        // Never before the receiver wants it.
        (Outcome::Throttled(Some(_)), Some(at)) => Next::Retry(at.max(paused_until.unwrap_or(at))),
        (_, Some(at)) => Next::Retry(at),
    };
    let mut tx = state.pool.begin().await?;
    if !store::webhook::attempt::record(&mut tx, due, attempt, next, now).await? {
        // Another leader was first, or somebody switched the webhook off.
        return Ok(());
    }
    let webhook = (due.webhook_id, due.url.as_str());
    let problem = attempt.problem.as_deref().unwrap_or_default();
    if next == Next::Delivered {
        store::webhook::note_success(&mut tx, due.webhook_id).await?;
    } else {
        let is_final = next == Next::GiveUp && !is_test;
        let in_row = store::webhook::note_failure(&mut tx, due.webhook_id, is_final, paused_until).await?;
        if matches!(outcome, Outcome::Gone) {
            webhook::disable(state, &mut tx, due.project_id, webhook, "the receiver answered 410 Gone").await?;
        } else if is_final && in_row >= FAILED_IN_ROW_MAX {
            let reason = format!("{in_row} events in a row failed with all their retries; the last one: {problem}");
            webhook::disable(state, &mut tx, due.project_id, webhook, &reason).await?;
        }
    }
    tx.commit().await?;
    state.metrics.webhook_delivery(match next {
        Next::Delivered => DeliveryResult::Delivered,
        Next::Retry(_) => DeliveryResult::Failed,
        Next::GiveUp => DeliveryResult::GivenUp,
    });
    Ok(())
}

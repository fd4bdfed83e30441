//! What edges would answer from table `state` as it stands.

use serde_json::json;
use shared::evaluation::{Context, Query, State, StateDocument, StateFlag, evaluate};
use shared::model::sdk_key::SdkKeyKind;
use shared::wire::state::{Envelope, FlagBody};

use super::App;

impl App {
    /// What a flag answers in an environment of `shop` to so many people, `u-0` and on, each as `on SPLIT`, with the
    /// code for an error.
    pub(crate) async fn answers(&self, environment: &str, flag: &str, people: usize) -> Vec<String> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "select state.key, state.value from state
             join environments on environments.id = state.environment_id
             where environments.key = $1 and not state.deleted",
        )
        .bind(environment)
        .fetch_all(&self.state.pool)
        .await
        .expect("state");
        let mut document = StateDocument::default();
        for (key, value) in rows {
            let envelope: Envelope = serde_json::from_str(&value).expect("an envelope");
            let body = envelope.body.expect("a body");
            if key.contains(".flag.") {
                let FlagBody { flag, config } = serde_json::from_str(body.get()).expect("a flag");
                document.flags.push(StateFlag { flag, config, killed: envelope.killed });
            } else if key.contains(".segment.") {
                document.segments.push(serde_json::from_str(body.get()).expect("a segment"));
            }
        }
        let state = State::compile(&document);
        let answer = |person: usize| {
            let text = json!({ "targetingKey": format!("u-{person}") }).to_string();
            let context: Context<'_> = serde_json::from_str(&text).expect("a context");
            let outcome = evaluate(&state, flag, &Query { context: &context, now_ms: 0, asker: SdkKeyKind::Server });
            match outcome.error {
                Some((code, _)) => code.to_string(),
                None => format!("{} {}", outcome.variant.unwrap_or("code default"), outcome.reason.as_str()),
            }
        };
        (0..people).map(answer).collect()
    }

    /// Makes an environment need the approval of somebody else; Ben is the one who could give it.
    pub(crate) async fn protect_with_ben(&self, environment: &str) {
        self.member("Ben", Some("approver")).await;
        sqlx::query(
            "insert into policies (environment_id, format, document, version, changed_at, changed_by)
             select environments.id, 1, '{\"approvals\": 1}', 1, now(), users.id
             from environments cross join users
             where environments.key = $1 and users.name = 'Ana'",
        )
        .bind(environment)
        .execute(&self.state.pool)
        .await
        .expect("a policy");
    }
}

//! Decides kept answers again, from what each flag was set to at the revision that the answer names.

use serde_json::{Value, json};
use shared::evaluation::{Context, Query, State, StateDocument, evaluate};
use shared::model::sdk_key::SdkKeyKind;

use crate::load::{Sample, plan_of};
use crate::storm::{self, Storm};

/// How many answers were checked, and what is wrong with those that differ.
pub(crate) fn answers(storm: &Storm, samples: &[Sample]) -> (usize, Vec<String>) {
    let wrong = samples.iter().filter_map(|sample| check(storm, sample).err()).collect();
    (samples.len(), wrong)
}

fn check(storm: &Storm, Sample { flag, user, body }: &Sample) -> Result<(), String> {
    let revision = body["metadata"]["version"].as_str().and_then(|text| text.parse().ok()).ok_or("no version")?;
    let config = storm.config_at(*flag, revision).ok_or_else(|| format!("no config at {revision}: {body}"))?;
    let document = json!({"flags": [{"flag": storm::definition(*flag), "config": config}]});
    let document: StateDocument = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let context = json!({"targetingKey": format!("user-{user}"), "plan": plan_of(*user)}).to_string();
    let context: Context<'_> = serde_json::from_str(&context).map_err(|error| error.to_string())?;
    let query = Query { context: &context, now_ms: 0, asker: SdkKeyKind::Server };
    let state = State::compile(&document);
    let outcome = evaluate(&state, &storm::key(*flag), &query);
    let expected = json!({
        "value": outcome.value.and_then(|value| serde_json::from_str::<Value>(value).ok()),
        "variant": outcome.variant, "reason": outcome.reason.as_str(),
    });
    let answered = json!({"value": body["value"], "variant": body["variant"], "reason": body["reason"]});
    if answered == expected { Ok(()) } else { Err(format!("{body}, but {expected}")) }
}

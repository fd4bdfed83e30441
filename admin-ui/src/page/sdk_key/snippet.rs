//! How an application asks an edge, in its own language.

use leptos::prelude::*;

use crate::component::snippet::Snippet;
use crate::component::tabs::Tabs;

/// The address of an edge is not known to the UI; everyone reaches theirs by another name.
const CURL: &str = r#"curl -s $FLUXGATE_EDGE_URL/evaluate \
  -H "Authorization: Bearer $FLUXGATE_SDK_KEY" \
  -d '{"flagKey": "checkout", "context": {"targetingKey": "u-42"}}'"#;

const JS: &str = r#"// npm install @openfeature/server-sdk @openfeature/ofrep-provider
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";

await OpenFeature.setProviderAndWait(new OFREPProvider({
  baseUrl: process.env.FLUXGATE_EDGE_URL,
  headers: [["Authorization", `Bearer ${process.env.FLUXGATE_SDK_KEY}`]],
}));
const client = OpenFeature.getClient();
const isOn = await client.getBooleanValue("checkout", false, { targetingKey: "u-42" });"#;

const RUST: &str = r#"// cargo add reqwest --features json && cargo add serde_json
let answer: serde_json::Value = reqwest::Client::new()
    .post(format!("{}/ofrep/v1/evaluate/flags/checkout", std::env::var("FLUXGATE_EDGE_URL")?))
    .bearer_auth(std::env::var("FLUXGATE_SDK_KEY")?)
    .json(&serde_json::json!({ "context": { "targetingKey": "u-42" } }))
    .send().await?
    .json().await?;
let is_on = answer["value"].as_bool().unwrap_or(false);"#;

/// Tabs of code; a secret that is known stands in the variable that the code reads.
#[component]
pub fn Snippets(secret: Option<String>) -> impl IntoView {
    let export = secret.map(|secret| format!("export FLUXGATE_SDK_KEY={secret}\n")).unwrap_or_default();
    let shell = format!("export FLUXGATE_EDGE_URL=http://127.0.0.1:8081   # one of your edges\n{export}");
    let panel = move |at: usize| {
        let code = match at {
            0 => format!("{shell}{CURL}"),
            1 => JS.into(),
            _ => RUST.into(),
        };
        view! { <Snippet code=code/> }.into_any()
    };
    view! { <Tabs label="Code" names=vec!["curl", "JS server", "Rust"] panel=Callback::new(panel)/> }
}

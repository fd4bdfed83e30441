//! What edges hold, as documents.

use serde_json::{Value, json};
use shared::evaluation::StateDocument;

use super::App;

impl App {
    /// What edges of an environment of `shop` hold, read from table `state`.
    pub(crate) async fn published(&self, environment: &str) -> StateDocument {
        let id = self.environment(environment).await;
        let values: Vec<String> =
            sqlx::query_scalar("select value from state where environment_id = $1 and not deleted order by key")
                .bind(id.uuid())
                .fetch_all(&self.state.pool)
                .await
                .expect("state");
        let mut document = StateDocument::default();
        for value in values {
            let value: Value = serde_json::from_str(&value).expect("JSON");
            let (body, killed) = (&value["body"], value["killed"].as_bool().expect("a state"));
            if body.get("config").is_some() {
                let mut flag = body.clone();
                flag["killed"] = json!(killed);
                document.flags.push(serde_json::from_value(flag).expect("a flag"));
            } else if let Ok(segment) = serde_json::from_value(body.clone()) {
                document.segments.push(segment);
            }
        }
        document
    }
}

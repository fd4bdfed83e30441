//! The demo project: what a new installation shows, so that nobody starts in front of an empty page.

use serde_json::{Value, json};
use shared::model::changeset::Note;
use shared::model::flag::{FlagConfig, FlagKind};
use shared::model::sdk_key::SdkKeyKind;
use shared::wire::api::environment::CreateEnvironment;
use shared::wire::api::flag::{CreateFlag, SaveConfig};
use shared::wire::api::metric::CreateMetric;
use shared::wire::api::project::CreateProject;
use shared::wire::api::sdk_key::CreateSdkKey;
use shared::wire::api::segment::CreateSegment;

use crate::app::{changeset, flag, metric, project, sdk_key, segment, setup};
use crate::auth::password;
use crate::auth::permission::{Actor, InProject};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::user::User;

const PROJECT: &str = "shop";
/// Who approves, as the first part of their e-mail.
const APPROVER: &str = "ben";
const ENVIRONMENTS: [(&str, &str, u8); 3] =
    [("development", "Development", 7), ("staging", "Staging", 3), ("production", "Production", 4)];

/// What was made, with what is said only once.
#[derive(Debug)]
pub struct Demo {
    /// E-mail of the second person, who approves; the password is the first one's.
    pub approver: String,
    /// One server key per environment.
    pub sdk_keys: Vec<(&'static str, String)>,
}

/// Fills an empty database: two people, a project whose production is protected, and a change of Ana's that waits for Ben.
/// `None` when somebody exists already.
pub async fn create(state: &AppState, email: &str, password: String) -> Result<Option<Demo>, AppError> {
    if !setup::is_open(state).await? {
        return Ok(None);
    }
    let user = setup::create_admin(state, "Ana Kovač", email, password.clone()).await?;
    let actor = Actor::person(user.id, user.name);
    let environments = ENVIRONMENTS.map(|(key, name, hue)| json!({ "key": key, "name": name, "hue": hue }));
    let environments: Vec<CreateEnvironment> = read(json!(environments))?;
    let new =
        CreateProject { key: PROJECT.parse().map_err(AppError::internal)?, name: "Acme shop".into(), environments };
    project::create(state, &actor, new).await?;
    let found = InProject::find(&mut *state.pool.acquire().await?, PROJECT, actor, true).await?;
    let ana = found.ok_or_else(|| AppError::not_found("project", PROJECT))?;
    let staff: CreateSegment = read(json!({
        "definition": {
            "key": "staff",
            "included": ["ana", "ben", "chen"],
            "conditions": { "all": [{ "attribute": "company", "operator": "equals", "values": ["acme"] }] }
        },
        "name": "Staff",
        "note": "Everyone who works here"
    }))?;
    segment::create(state, &ana, staff).await?;
    for new in flags()? {
        flag::create(state, &ana, new).await?;
    }
    for (key, environment, config, note) in configs()? {
        set_up(state, &ana, key, environment, config, note).await?;
    }
    for new in metrics()? {
        metric::create(state, &ana.actor, ana.id(), new).await?;
    }
    let mut secrets = Vec::new();
    for (environment, name, _) in ENVIRONMENTS {
        let new = CreateSdkKey {
            environment: environment.parse().map_err(AppError::internal)?,
            name: format!("{name} servers"),
            kind: SdkKeyKind::Server,
            origins: Vec::new(),
            expires_at: None,
        };
        secrets.push((environment, sdk_key::create(state, &ana, new).await?.secret));
    }
    let approver = protect(state, &ana, email, password).await?;
    Ok(Some(Demo { approver, sdk_keys: secrets }))
}

/// Makes Ben an approver, protects production, and lets Ana ask for a change there; answers Ben's e-mail.
async fn protect(state: &AppState, ana: &InProject, email: &str, password: String) -> Result<String, AppError> {
    let host = email.split_once('@').map_or("example.com", |(_, host)| host);
    let approver = [APPROVER, "chen"].map(|name| format!("{name}@{host}")).into_iter().find(|own| own != email);
    let approver = approver.unwrap_or_default();
    let ben = User {
        id: state.clock.id(),
        email: approver.to_lowercase(),
        name: "Ben Okafor".into(),
        password_hash: password::hash(password).await?,
        is_admin: false,
    };
    store::user::insert(&mut *state.pool.acquire().await?, &ben, state.clock.now()).await?;
    let changes = json!([
        { "kind": "set_member", "person": ben.id, "version": 0, "role": "approver" },
        { "kind": "set_policy", "environment": "production", "version": 0, "policy": { "approvals": 1 } },
    ]);
    let note = |text: &str| Note::try_from(text.to_owned()).map_err(AppError::internal);
    changeset::submit(state, ana, read(changes)?, &note("two people for what customers see")?).await?;
    let (_, _, mut checkout, _) = configs()?.swap_remove(0);
    checkout.default_serve = read(share("checkout-5c07", 20_000))?;
    let place = (read(json!("checkout"))?, read(json!("production"))?);
    let body = SaveConfig { config: checkout, note: note("conversion holds, next step")? };
    flag::save_config(state, ana, place, 2, body).await?;
    Ok(approver)
}

/// What the experiment is judged by; the demo's shop tells of purchases.
fn metrics() -> Result<Vec<CreateMetric>, AppError> {
    read(json!([
        { "name": "Purchases", "event": "purchase", "kind": "conversion" },
        { "name": "Basket value", "event": "purchase", "kind": "numeric" },
    ]))
}

async fn set_up(
    state: &AppState,
    who: &InProject,
    key: &str,
    environment: &str,
    config: FlagConfig,
    note: &str,
) -> Result<(), AppError> {
    let place = (key.parse().map_err(AppError::internal)?, environment.parse().map_err(AppError::internal)?);
    let note = Note::try_from(note.to_owned()).map_err(AppError::internal)?;
    flag::save_config(state, who, place, 1, SaveConfig { config, note }).await?;
    Ok(())
}

/// A dozen flags of every type and kind.
fn flags() -> Result<Vec<CreateFlag>, AppError> {
    let everywhere = json!({ "development": { "enabled": true }, "staging": { "enabled": true }, "production": { "enabled": true } });
    let before_production = json!({ "development": { "enabled": true }, "staging": { "enabled": true } });
    let development = json!({ "development": { "enabled": true } });
    let boolean = |key: &str, name: &str, kind: FlagKind, tags: &[&str], start: &Value| {
        json!({
            "definition": {
                "key": key, "value_type": "boolean", "kind": kind, "client_visible": tags.contains(&"web"),
                "variants": [{ "key": "on", "value": "true" }, { "key": "off", "value": "false" }]
            },
            "name": name, "tags": tags, "start": start, "note": "demo"
        })
    };
    let typed = |key: &str, name: &str, value_type: &str, kind: FlagKind, variants: &[(&str, &str)], start: &Value| {
        let variants: Vec<Value> = variants.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
        json!({
            "definition": {
                "key": key, "value_type": value_type, "kind": kind, "client_visible": true, "variants": variants
            },
            "name": name, "tags": ["web"], "start": start, "note": "demo"
        })
    };
    let all = json!([
        boolean("checkout", "New checkout", FlagKind::Release, &["web", "payments"], &before_production),
        boolean("new-payments", "New payment provider", FlagKind::KillSwitch, &["payments"], &everywhere),
        boolean("search-v2", "Search with synonyms", FlagKind::Release, &["web", "search"], &before_production),
        boolean("recommendations", "Recommendations on product pages", FlagKind::Operational, &["web"], &everywhere),
        boolean("dark-mode", "Dark mode", FlagKind::Release, &["web"], &everywhere),
        boolean("export/csv", "Export of orders as CSV", FlagKind::Permission, &["back-office"], &before_production),
        boolean("maintenance-banner", "Banner before maintenance", FlagKind::Operational, &["web"], &json!({})),
        boolean("gift-cards", "Gift cards", FlagKind::Release, &["payments"], &development),
        typed(
            "checkout/theme",
            "Theme of the checkout button",
            "string",
            FlagKind::Experiment,
            &[("blue", "#1d5fc2"), ("green", "#17693b"), ("control", "#1b1c1f")],
            &before_production
        ),
        typed(
            "cart/items-max",
            "Most items in a cart",
            "integer",
            FlagKind::Operational,
            &[("large", "200"), ("normal", "50")],
            &everywhere
        ),
        typed(
            "search/boost",
            "Weight of popular products",
            "float",
            FlagKind::Operational,
            &[("strong", "2.5"), ("none", "1.0")],
            &everywhere
        ),
        typed(
            "shipping-options",
            "Shipping options on offer",
            "object",
            FlagKind::Release,
            &[
                ("three", r#"{"standard":true,"express":true,"pickup":true}"#),
                ("two", r#"{"standard":true,"express":true}"#)
            ],
            &before_production
        ),
    ]);
    read(all)
}

/// What some of them answer in production.
fn configs() -> Result<Vec<(&'static str, &'static str, FlagConfig, &'static str)>, AppError> {
    let checkout = json!({
        "enabled": true, "off_variant": "off",
        "targets": [{ "variant": "on", "keys": ["qa-1", "qa-2"] }],
        "rules": [
            { "id": "0192a000-0000-7000-8000-000000000001", "name": "Staff",
              "conditions": { "all": [{ "operator": "in_segment", "values": ["staff"] }] }, "serve": { "variant": "on" } },
            { "id": "0192a000-0000-7000-8000-000000000002", "name": "Beta",
              "conditions": { "all": [
                  { "attribute": "plan", "operator": "equals", "values": ["pro", "team"] },
                  { "attribute": "country", "operator": "equals", "values": ["DE"], "negate": true } ] },
              "serve": share("beta-a91f", 50_000) }
        ],
        "default_serve": share("checkout-5c07", 10_000)
    });
    let search = json!({ "enabled": true, "off_variant": "off", "default_serve": share("search-77d2", 25_000) });
    let theme = json!({
        "enabled": true, "off_variant": "control",
        "default_serve": { "split": { "bucket_by": "targetingKey", "seed": "theme-e4b1", "ranges": [
            { "start": 0, "end": 30_000, "variant": "blue" }, { "start": 30_000, "end": 60_000, "variant": "green" },
            { "start": 60_000, "end": 100_000, "variant": "control" }
        ] } }
    });
    let export = json!({
        "enabled": true, "off_variant": "off",
        "rules": [{ "id": "0192a000-0000-7000-8000-000000000003", "name": "Paying customers",
            "conditions": { "any": [
                { "attribute": "plan", "operator": "equals", "values": ["team", "enterprise"] },
                { "operator": "in_segment", "values": ["staff"] } ] },
            "serve": { "variant": "on" } }],
        "default_serve": { "variant": "off" }
    });
    Ok(vec![
        ("checkout", "production", read(checkout)?, "10 % for everyone, half of beta"),
        ("search-v2", "production", read(search)?, "a quarter until latency is known"),
        ("checkout/theme", "production", read(theme)?, "which colour sells more?"),
        ("export/csv", "production", read(export)?, "part of the team plan"),
    ])
}

/// A share of users that get `on`.
fn share(seed: &str, on: u32) -> Value {
    json!({ "split": { "bucket_by": "targetingKey", "seed": seed, "ranges": [
        { "start": 0, "end": on, "variant": "on" }, { "start": on, "end": 100_000, "variant": "off" }
    ] } })
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, AppError> {
    serde_json::from_value(value).map_err(AppError::internal)
}

#[cfg(test)]
mod tests {
    use shared::model::flag::FlagDefinition;

    use super::*;

    #[test]
    fn every_demo_config_fits_its_flag() {
        let flags: Vec<FlagDefinition> = flags().expect("flags").into_iter().map(|new| new.definition).collect();
        assert_eq!(flags.len(), 12);
        for flag in &flags {
            flag.validate().expect("a valid flag");
        }
        for (key, _, config, _) in configs().expect("configs") {
            let flag = flags.iter().find(|flag| flag.key.as_str() == key).expect("a flag of the demo");
            config.validate(flag).expect("a valid config");
        }
    }
}

//! Every route × every role, in the own and in a foreign project. A new route fails until its row exists.

use std::collections::BTreeSet;

use backend::http::router::api;
use reqwest::Method;
use serde_json::{Value, json};
use shared::model::permission::{BuiltInRole, Permission, PermissionSet};

use crate::flag::{boolean, on};
use crate::support::{App, Person};

/// Who may: everybody, everybody signed in, people alone, who sees the project, who has a permission in it, or an admin of
/// the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    SignedIn,
    Person,
    Viewer,
    May(Permission),
    /// Any of what people ask for in a changeset.
    MayPropose,
    /// Managing some environment: which ones a freeze is about stands in the body.
    MayFreeze,
    InstallationAdmin,
}

/// A program that may everything, in one environment.
const STAGING_ALONE: &str = "a token for staging alone";

/// What people ask for in a changeset.
const PROPOSES: [Permission; 3] = [Permission::Edit, Permission::ManageEnvironments, Permission::ManageMembers];

/// One row per route: method, path, who may, and a body where one is needed to get past the door.
fn table() -> Vec<(&'static str, &'static str, Needs, Option<Value>)> {
    use Needs::{InstallationAdmin, May, MayFreeze, MayPropose, Nothing, Person, SignedIn, Viewer};
    use Permission::{Approve, BreakGlass, Edit, Kill, ManageEnvironments, ManageKeys, ManageMembers, ManageWebhooks};
    vec![
        ("get", "/setup", Nothing, None),
        ("post", "/setup", Nothing, Some(json!({}))),
        ("get", "/session", Person, None),
        ("post", "/session", Nothing, Some(json!({}))),
        ("delete", "/session", Person, None),
        ("get", "/account", Person, None),
        ("patch", "/account", Person, Some(json!({}))),
        ("post", "/account/password", Person, Some(json!({}))),
        ("get", "/account/sessions", Person, None),
        ("delete", "/account/sessions/{session}", Person, None),
        ("post", "/account/sign-out-others", Person, None),
        ("get", "/account/tokens", Person, None),
        ("post", "/account/tokens", Person, Some(json!({}))),
        ("delete", "/account/tokens/{token}", Person, None),
        ("get", "/tokens", InstallationAdmin, None),
        ("delete", "/tokens/{token}", InstallationAdmin, None),
        ("post", "/password-reset/check", Nothing, Some(json!({}))),
        ("post", "/password-reset", Nothing, Some(json!({}))),
        ("post", "/invitation/check", Nothing, Some(json!({}))),
        ("post", "/invitation", Nothing, Some(json!({}))),
        ("get", "/invites", InstallationAdmin, None),
        ("post", "/invites", InstallationAdmin, Some(json!({}))),
        ("delete", "/invites/{invite}", InstallationAdmin, None),
        ("get", "/users", InstallationAdmin, None),
        ("patch", "/users/{user}", InstallationAdmin, Some(json!({}))),
        ("post", "/users/{user}/reset-link", InstallationAdmin, None),
        ("get", "/roles", SignedIn, None),
        ("post", "/roles", InstallationAdmin, Some(json!({}))),
        ("get", "/roles/{role}", InstallationAdmin, None),
        ("patch", "/roles/{role}", InstallationAdmin, Some(json!({}))),
        ("delete", "/roles/{role}", InstallationAdmin, None),
        ("get", "/projects", SignedIn, None),
        ("post", "/projects", InstallationAdmin, Some(json!({}))),
        ("get", "/projects/{project}", Viewer, None),
        ("patch", "/projects/{project}", May(ManageEnvironments), Some(json!({}))),
        ("patch", "/projects/{project}/environments/{environment}", May(ManageEnvironments), Some(json!({}))),
        ("get", "/projects/{project}/members", Viewer, None),
        ("put", "/projects/{project}/members/{person}", May(ManageMembers), Some(json!({}))),
        ("delete", "/projects/{project}/members/{person}", May(ManageMembers), None),
        ("get", "/projects/{project}/candidates", May(ManageMembers), None),
        ("post", "/projects/{project}/environments", May(ManageEnvironments), Some(json!({}))),
        ("get", "/projects/{project}/environments/{environment}/receipt", Viewer, None),
        ("get", "/projects/{project}/flags", Viewer, None),
        ("post", "/projects/{project}/flags", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}", Viewer, None),
        ("patch", "/projects/{project}/flags/{flag}", May(Edit), Some(json!({}))),
        (
            "put",
            "/projects/{project}/flags/{flag}/environments/{environment}",
            May(Edit),
            Some(json!({ "config": on() })),
        ),
        ("delete", "/projects/{project}/flags/{flag}", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/flags/{flag}/archive", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/flags/{flag}/unarchive", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/flags/{flag}/copy", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}/variants", Viewer, None),
        ("get", "/projects/{project}/tags", Viewer, None),
        ("post", "/projects/{project}/flag-actions", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/compare", Viewer, None),
        ("post", "/projects/{project}/promote", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/views", Viewer, None),
        ("post", "/projects/{project}/views", Viewer, Some(json!({}))),
        ("patch", "/projects/{project}/views/{view}", Viewer, Some(json!({}))),
        ("delete", "/projects/{project}/views/{view}", Viewer, None),
        ("post", "/projects/{project}/flags/{flag}/kill", May(Kill), Some(json!({}))),
        ("post", "/projects/{project}/flags/{flag}/environments/{environment}/restore", May(Kill), Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}/prerequisites", Viewer, None),
        ("get", "/projects/{project}/changesets", Viewer, None),
        ("post", "/projects/{project}/changesets", MayPropose, Some(json!({}))),
        ("post", "/projects/{project}/changesets/dry-run", MayPropose, Some(json!({}))),
        ("get", "/projects/{project}/changesets/{changeset}", Viewer, None),
        ("put", "/projects/{project}/changesets/{changeset}", MayPropose, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/submit", MayPropose, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/approve", May(Approve), Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/reject", May(Approve), Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/cancel", Viewer, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/apply", MayPropose, Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/break-glass", May(BreakGlass), Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/comments", Viewer, Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}/shares", Viewer, None),
        ("get", "/projects/{project}/counts", Viewer, None),
        ("get", "/projects/{project}/counts/summary", Viewer, None),
        ("get", "/projects/{project}/counts/flags", Viewer, None),
        ("get", "/projects/{project}/counts/errors", Viewer, None),
        ("get", "/projects/{project}/counts/unknown", Viewer, None),
        ("get", "/projects/{project}/stale-flags", Viewer, None),
        ("get", "/projects/{project}/flags/{flag}/usage", Viewer, None),
        ("get", "/projects/{project}/flags/{flag}/experiment", Viewer, None),
        ("get", "/projects/{project}/metrics", Viewer, None),
        ("post", "/projects/{project}/metrics", May(Edit), Some(json!({}))),
        ("patch", "/projects/{project}/metrics/{metric}", May(Edit), Some(json!({}))),
        ("delete", "/projects/{project}/metrics/{metric}", May(Edit), None),
        ("get", "/counts/losses", SignedIn, None),
        ("get", "/projects/{project}/segments", Viewer, None),
        ("post", "/projects/{project}/segments", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/segments/{segment}", Viewer, None),
        ("put", "/projects/{project}/segments/{segment}", May(Edit), Some(json!({}))),
        ("patch", "/projects/{project}/segments/{segment}", May(Edit), Some(json!({ "name": "Staff" }))),
        ("delete", "/projects/{project}/segments/{segment}", May(Edit), None),
        ("get", "/projects/{project}/segments/{segment}/uses", Viewer, None),
        ("post", "/projects/{project}/segments/{segment}/effect", Viewer, Some(json!({}))),
        ("post", "/projects/{project}/segments/{segment}/keys", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/segments/{segment}/keys/{list}", Viewer, None),
        ("put", "/projects/{project}/segments/{segment}/keys/{list}", May(Edit), Some(json!([]))),
        ("get", "/projects/{project}/segments/{segment}/contains", Viewer, None),
        ("get", "/projects/{project}/export", Viewer, None),
        ("post", "/projects/{project}/import/plan", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/import", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/attributes", Viewer, None),
        ("post", "/projects/{project}/attributes", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/attributes/{attribute}", Viewer, None),
        ("put", "/projects/{project}/attributes/{attribute}", May(Edit), Some(json!({ "type": "text" }))),
        ("delete", "/projects/{project}/attributes/{attribute}", May(Edit), None),
        ("get", "/projects/{project}/freezes", Viewer, None),
        ("post", "/projects/{project}/freezes", MayFreeze, Some(json!({}))),
        ("put", "/projects/{project}/freezes/{freeze}", MayFreeze, Some(json!({}))),
        ("delete", "/projects/{project}/freezes/{freeze}", MayFreeze, None),
        ("get", "/projects/{project}/plans", Viewer, None),
        ("post", "/projects/{project}/plans", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/plans/{changeset}", Viewer, None),
        ("post", "/projects/{project}/changesets/{changeset}/pause", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/resume", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/next", May(Edit), Some(json!({}))),
        ("post", "/projects/{project}/changesets/{changeset}/stop", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/keys", Viewer, None),
        ("post", "/projects/{project}/keys", May(ManageKeys), Some(json!({}))),
        ("post", "/projects/{project}/keys/{key}/revoke", May(ManageKeys), Some(json!({}))),
        ("get", "/projects/{project}/history", Viewer, None),
        ("get", "/projects/{project}/history/{revision}", Viewer, None),
        ("post", "/projects/{project}/history/{revision}/revert", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/flags/{flag}/at", Viewer, None),
        ("get", "/projects/{project}/flags/{flag}/diff", Viewer, None),
        ("post", "/projects/{project}/flags/{flag}/revert", May(Edit), Some(json!({}))),
        ("get", "/projects/{project}/segments/{segment}/at", Viewer, None),
        ("get", "/projects/{project}/audit", May(ManageMembers), None),
        ("get", "/audit", InstallationAdmin, None),
        ("get", "/restored", InstallationAdmin, None),
        ("post", "/restored/{revision}/confirm", InstallationAdmin, None),
        ("patch", "/projects/{project}/keys/{key}", May(ManageKeys), Some(json!({}))),
        ("post", "/projects/{project}/keys/{key}/rotate", May(ManageKeys), Some(json!({}))),
        ("get", "/projects/{project}/webhooks", May(ManageWebhooks), None),
        ("post", "/projects/{project}/webhooks", May(ManageWebhooks), Some(json!({}))),
        ("get", "/projects/{project}/webhooks/{webhook}", May(ManageWebhooks), None),
        ("patch", "/projects/{project}/webhooks/{webhook}", May(ManageWebhooks), Some(json!({}))),
        ("delete", "/projects/{project}/webhooks/{webhook}", May(ManageWebhooks), None),
        ("post", "/projects/{project}/webhooks/{webhook}/rotate", May(ManageWebhooks), Some(json!({}))),
        ("post", "/projects/{project}/webhooks/{webhook}/test", May(ManageWebhooks), Some(json!({}))),
        ("get", "/projects/{project}/webhooks/{webhook}/deliveries", May(ManageWebhooks), None),
        ("get", "/projects/{project}/webhooks/{webhook}/deliveries/{delivery}", May(ManageWebhooks), None),
        (
            "post",
            "/projects/{project}/webhooks/{webhook}/deliveries/{delivery}/send-again",
            May(ManageWebhooks),
            Some(json!({})),
        ),
        ("get", "/edges", SignedIn, None),
        ("delete", "/edges/{process}", InstallationAdmin, None),
        ("get", "/edges/{process}/history", SignedIn, None),
        ("get", "/events", SignedIn, None),
    ]
}

#[test]
fn every_route_has_its_row() {
    let described: Value = serde_json::to_value(api().into_openapi()).expect("JSON");
    let mut routes = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            routes.insert(format!("{method} {}", path.trim_start_matches("/api/v1")));
        }
    }
    let rows: BTreeSet<String> = table().iter().map(|(method, path, _, _)| format!("{method} {path}")).collect();
    assert_eq!(routes, rows);
}

/// Somebody who tries every route.
struct Caller {
    name: String,
    person: Person,
    is_signed_in: bool,
    is_program: bool,
    /// What they may do in the project; absent for somebody whose it is not to see.
    may: Option<PermissionSet>,
    is_installation_admin: bool,
}

impl Caller {
    fn person(name: &str, person: Person, may: Option<PermissionSet>) -> Self {
        let (is_signed_in, is_program, is_installation_admin) = (true, false, false);
        Self { name: name.into(), person, is_signed_in, is_program, may, is_installation_admin }
    }

    /// What is said at the door.
    fn expected(&self, needs: Needs, in_project: bool) -> &'static str {
        let past = "past the door";
        match needs {
            Needs::Nothing => past,
            _ if !self.is_signed_in => "signed_out",
            Needs::SignedIn => past,
            Needs::Person | Needs::InstallationAdmin if self.is_program => "people_only",
            Needs::Person => past,
            Needs::InstallationAdmin if self.is_installation_admin => past,
            Needs::InstallationAdmin => "forbidden",
            Needs::Viewer | Needs::May(_) | Needs::MayPropose | Needs::MayFreeze
                if self.may.is_none() && in_project =>
            {
                "not_found"
            }
            Needs::Viewer => past,
            Needs::May(permission) if self.may.as_ref().is_some_and(|may| may.has(permission)) => past,
            Needs::MayPropose if self.may.as_ref().is_some_and(|may| PROPOSES.iter().any(|p| may.has(*p))) => past,
            Needs::MayFreeze if self.name == STAGING_ALONE => past,
            Needs::MayFreeze if self.may.as_ref().is_some_and(|may| may.has(Permission::ManageEnvironments)) => past,
            Needs::May(_) | Needs::MayPropose | Needs::MayFreeze => "forbidden",
        }
    }
}

async fn people(app: &App, ana: &Person) -> Vec<Caller> {
    let mut callers = Vec::new();
    let nobody = Caller::person("nobody", app.nobody(), None);
    callers.push(Caller { is_signed_in: false, ..nobody });
    callers.push(Caller::person("a member of nothing", app.member("Sam", None).await, None));
    let foreign = app.member("Fay", None).await;
    let else_where = json!({ "key": "blog", "name": "Blog", "environments": [{ "key": "live", "name": "Live" }] });
    ana.post("/projects", else_where).await.expect(201);
    app.join("Fay", "blog", "admin").await;
    callers.push(Caller::person("the admin of another project", foreign, None));
    for role in BuiltInRole::ALL {
        let person = app.member(role.name(), Some(role.as_str())).await;
        callers.push(Caller::person(role.as_str(), person, Some(role.permissions())));
    }
    for permission in Permission::ALL {
        let key = format!("only-{}", permission.as_str().replace('_', "-"));
        let new = json!({ "key": key, "name": key, "permissions": [permission] });
        ana.post("/roles", new).await.expect(201);
        let person = app.member(&key, Some(&key)).await;
        callers.push(Caller::person(&key, person, Some([permission].into_iter().collect())));
    }
    callers
}

/// Programs with the token of somebody who may do everything in the project, and with tokens of others.
async fn programs(app: &App, ana: &Person) -> Vec<Caller> {
    let ada = app.member("Ada", Some("admin")).await;
    let vic = app.member("Vic", Some("viewer")).await;
    let mut callers = Vec::new();
    let mut add = |name: String, person: Person, may: Option<PermissionSet>| {
        callers.push(Caller { is_program: true, ..Caller::person(&name, person, may) });
    };
    add(
        "a token to read".into(),
        app.program(&ada, json!({ "permissions": [] })).await,
        Some(PermissionSet::default()),
    );
    for permission in Permission::ALL.into_iter().filter(|permission| !permission.governs()) {
        let program = app.program(&ada, json!({ "permissions": [permission] })).await;
        add(format!("a token to {permission}"), program, Some([permission].into_iter().collect()));
    }
    let all: PermissionSet = Permission::ALL.into_iter().filter(|permission| !permission.governs()).collect();
    let whole = json!({ "permissions": all });
    add(
        "a viewer's token for everything".into(),
        app.program(&vic, whole.clone()).await,
        Some(PermissionSet::default()),
    );
    add("an installation admin's token".into(), app.program(ana, whole).await, Some(all.clone()));
    let other = json!({ "permissions": all, "project": "blog" });
    add("a token for another project".into(), app.program(ana, other).await, None);
    let staging = json!({ "permissions": all, "project": "shop", "environments": ["staging"] });
    let in_environment =
        [Permission::Edit, Permission::Kill, Permission::ManageKeys].into_iter().collect::<PermissionSet>();
    add(STAGING_ALONE.into(), app.program(&ada, staging).await, Some(in_environment));
    callers
}

#[tokio::test]
async fn every_role_may_what_the_table_says_and_nothing_else() {
    let app = App::start().await;
    let ana = app.ana().await;
    ana.post("/projects/shop/flags", boolean("checkout")).await.expect(201);
    let mut callers = people(&app, &ana).await;
    callers.extend(programs(&app, &ana).await);
    let maker = Caller::person("who made the project", ana, Some(PermissionSet::all()));
    callers.push(Caller { is_installation_admin: true, ..maker });
    let ida = app.member("Ida", None).await;
    let sql = "update users set is_admin = true where name = 'Ida'";
    sqlx::query(sql).execute(&app.state.pool).await.expect("an admin");
    let may = Permission::ALL.into_iter().filter(|permission| !permission.governs()).collect();
    let admin = Caller::person("an admin of the installation", ida, Some(may));
    callers.push(Caller { is_installation_admin: true, ..admin });
    for (method, path, needs, body) in table() {
        // These two end or never end what the next rows need.
        if (method, path) == ("delete", "/session") || path == "/events" {
            continue;
        }
        for caller in &callers {
            let path = filled(path);
            let verb: Method = method.to_uppercase().parse().expect("a method");
            let answer = caller.person.send(verb, &path, body.clone(), &[("if-match", "\"999\"")]).await;
            let expected = caller.expected(needs, path.starts_with("/projects/"));
            let code = answer.code();
            let is_refused = matches!(code, "signed_out" | "forbidden" | "people_only")
                || (code == "not_found" && answer.body["detail"] == "project 'shop' does not exist");
            let got = if is_refused { code } else { "past the door" };
            assert_eq!(got, expected, "{method} {path} as {}: {} {}", caller.name, answer.status, answer.body);
        }
    }
}

/// A path of things that mostly do not exist: who gets so far is past the door.
fn filled(path: &str) -> String {
    let mut path = path.replace("{project}", "shop").replace("{flag}", "checkout");
    for name in ["{environment}", "{segment}", "{role}"] {
        path = path.replace(name, if name == "{environment}" { "staging" } else { "none" });
    }
    while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
        path.replace_range(from..=to, "00000000-0000-0000-0000-000000000000");
    }
    path
}

#[tokio::test]
async fn a_foreign_project_does_not_exist_and_is_not_listed() {
    let app = App::start().await;
    app.ana().await;
    let sam = app.member("Sam", None).await;
    assert_eq!(sam.get("/projects").await.expect(200).body["items"], json!([]));
    let foreign = sam.get("/projects/shop").await.expect(404).body;
    let absent = sam.get("/projects/shoq").await.expect(404).body;
    assert_eq!(foreign["code"], absent["code"]);
}

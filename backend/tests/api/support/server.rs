//! The app as a person or a script sees it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::new_id;
use backend::app;
use backend::app::changeset;
use backend::auth::permission::{Actor, InProject};
use backend::bus;
use backend::config::{Auth, Config, Counts, Database, Log, Nats, Server, Webhooks};
use backend::error::AppError;
use backend::http::router::router;
use backend::state::AppState;
use backend::store::user::User;
use backend::{leader, live, store};
use reqwest::Method;
use serde_json::{Value, json};
use shared::model::change::Change;
use shared::model::changeset::Note;
use shared::model::id::{EnvironmentId, ProjectId};
use shared::model::timestamp::Timestamp;
use shared::wire::api::changeset::ChangesetDetail;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, PgPool};
use time::Duration;
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

/// The password of everybody in tests.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A running backend on a database of its own.
pub(crate) struct App {
    pub(crate) state: AppState,
    pub(crate) address: SocketAddr,
    _stop: DropGuard,
}

/// Somebody signed in; `None` in the cookie is nobody.
#[derive(Clone)]
pub(crate) struct Person {
    client: reqwest::Client,
    address: SocketAddr,
    cookie: Option<String>,
    /// What a program sends instead of a cookie.
    token: Option<String>,
}

/// What the backend answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    /// Null when it is no JSON.
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl App {
    /// An app without leader: what it writes stays in the database.
    pub(crate) async fn start() -> Self {
        Self::start_with("nats://127.0.0.1:1", |_| ()).await
    }

    /// An app with settings or a setup code of the test's own.
    pub(crate) async fn start_with(nats: &str, change: impl FnOnce(&mut AppState)) -> Self {
        Self::start_on(new_database().await, nats, change).await
    }

    async fn start_on(url: String, nats: &str, change: impl FnOnce(&mut AppState)) -> Self {
        let pool = store::pool::options().max_connections(8).connect(&url).await.expect("the test's database");
        let config = Config {
            server: Server::default(),
            database: Database { url },
            nats: Nats { url: nats.into(), user: None, password: None },
            auth: Auth { secret: "5a".repeat(32) },
            counts: Counts::default(),
            webhooks: Webhooks::default(),
            log: Log::default(),
        };
        let stop = CancellationToken::new();
        let mut state = AppState::new(config, pool, stop.clone()).expect("a state");
        change(&mut state);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server = axum::serve(listener, router(state.clone()));
        tokio::spawn(async move { server.await });
        Self { state, address, _stop: stop.drop_guard() }
    }

    /// The same with a leader that publishes and ingests.
    pub(crate) async fn start_leading(nats: &str) -> Self {
        Self::start_with(nats, |_| ()).await.lead().await
    }

    /// Ends everything and copies its database, as a backup does; answers the copy's address.
    pub(crate) async fn stop_and_copy(self) -> String {
        let url = self.state.config.database.url.clone();
        let (base, name) = url.rsplit_once('/').expect("a URL with a database");
        let copy = format!("test_{}", new_id().simple());
        drop(self);
        // Whatever its tasks still hold: a database that is in use cannot be copied.
        let ended = format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'");
        let mut db = PgConnection::connect_with(&server()).await.expect("PostgreSQL");
        for _ in 0..100 {
            sqlx::raw_sql(sqlx::AssertSqlSafe(ended.clone())).execute(&mut db).await.expect("ends");
            let sql = format!("create database {copy} template {name}");
            if sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut db).await.is_ok() {
                return format!("{base}/{copy}");
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the database stays in use");
    }

    /// A leading app on a database that is there.
    pub(crate) async fn start_leading_on(url: String, nats: &str) -> Self {
        Self::start_on(url, nats, |_| ()).await.lead().await
    }

    /// Ana, who is there already, signed in.
    pub(crate) async fn ana_again(&self) -> Person {
        let mut db = self.state.pool.acquire().await.expect("a connection");
        let ana = store::user::find_by_email(&mut db, "ana@example.com").await.expect("a search").expect("Ana");
        drop(db);
        self.sign_in(&ana).await
    }

    async fn lead(self) -> Self {
        let bus = bus::connect(&self.state.config.nats).await.expect("a client");
        tokio::spawn(live::listen(self.state.clone(), bus.clone(), self.state.stopping.clone()));
        tokio::spawn(leader::run(self.state.clone(), bus, self.state.stopping.clone()));
        self
    }

    /// A second backend on the same database; stops with the first.
    pub(crate) async fn replica(&self) -> SocketAddr {
        let config = Config::clone(&self.state.config);
        let stopping = self.state.stopping.clone();
        let mut state = AppState::new(config, self.state.pool.clone(), stopping).expect("a state");
        state.clock = self.state.clock.clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server = axum::serve(listener, router(state));
        tokio::spawn(async move { server.await });
        address
    }

    /// Nobody.
    pub(crate) fn nobody(&self) -> Person {
        Person { client: reqwest::Client::new(), address: self.address, cookie: None, token: None }
    }

    /// An admin of everything, with the project `shop` (development, staging, production).
    pub(crate) async fn ana(&self) -> Person {
        let ana = self.user("Ana", true).await;
        let environments = json!([
            { "key": "development", "name": "Development" },
            { "key": "staging", "name": "Staging" },
            { "key": "production", "name": "Production" },
        ]);
        let shop = json!({ "key": "shop", "name": "Acme shop", "environments": environments });
        let actor = Actor::person(ana.id, ana.name.clone());
        let body = serde_json::from_value(shop).expect("a project");
        app::project::create(&self.state, &actor, body).await.expect("the project shop");
        self.sign_in(&ana).await
    }

    /// A member of a project, with a role; without one, of nothing.
    pub(crate) async fn member(&self, name: &str, role: Option<&str>) -> Person {
        let user = self.user(name, false).await;
        if let Some(role) = role {
            sqlx::query(
                "insert into members (project_id, user_id, role) select id, $1, $2 from projects where key = 'shop'",
            )
            .bind(user.id.uuid())
            .bind(role)
            .execute(&self.state.pool)
            .await
            .expect("a member");
        }
        self.sign_in(&user).await
    }

    /// Makes somebody a member of another project, without asking anybody.
    pub(crate) async fn join(&self, name: &str, project: &str, role: &str) {
        sqlx::query(
            "insert into members (project_id, user_id, role)
             select projects.id, users.id, $3 from projects, users where projects.key = $2 and users.name = $1",
        )
        .bind(name)
        .bind(project)
        .bind(role)
        .execute(&self.state.pool)
        .await
        .expect("a member");
    }

    /// A program with a token of somebody's; `scope` is what it may do.
    pub(crate) async fn program(&self, owner: &Person, scope: Value) -> Person {
        let mut new =
            json!({ "name": "ci", "expires_at": Timestamp::from(self.state.clock.now() + Duration::days(30)) });
        let fields = scope.as_object().expect("an object").clone();
        new.as_object_mut().expect("an object").extend(fields);
        let made = owner.post("/account/tokens", new).await.expect(201);
        self.bearer(made.body["secret"].as_str().expect("a secret"))
    }

    /// A program that sends this as its token.
    pub(crate) fn bearer(&self, token: &str) -> Person {
        Person { token: Some(token.to_owned()), ..self.nobody() }
    }

    /// Another session of somebody who is there.
    pub(crate) async fn again(&self, name: &str) -> Person {
        let id = self.id_of(name).await;
        let user = store::user::find(&mut self.state.pool.acquire().await.expect("a connection"), id.into()).await;
        self.sign_in(&user.expect("a user").expect("somebody who is not disabled")).await
    }

    /// Protects an environment of `shop`, without asking anybody.
    pub(crate) async fn protect(&self, environment: &str, roles: &[&str]) {
        let policy = json!({ "approvals": 1, "people": [], "roles": roles, "note_required": true });
        sqlx::query(
            "insert into policies (environment_id, format, document, version, changed_at, changed_by)
             select environments.id, 1, $2, 1, now(), users.id from environments, users
             where environments.key = $1 and users.name = 'Ana'",
        )
        .bind(environment)
        .bind(policy)
        .execute(&self.state.pool)
        .await
        .expect("a policy");
    }

    /// The id of a person.
    pub(crate) async fn id_of(&self, name: &str) -> Uuid {
        let id = sqlx::query_scalar::<_, Uuid>("select id from users where name = $1").bind(name);
        id.fetch_one(&self.state.pool).await.expect("a person")
    }

    /// What the audit log holds of these kinds, oldest first: kind, subject and detail.
    pub(crate) async fn audited(&self, kind_begins: &str) -> Vec<(String, String, Value)> {
        sqlx::query_as("select kind, subject, detail from audit_events where starts_with(kind, $1) order by number")
            .bind(kind_begins)
            .fetch_all(&self.state.pool)
            .await
            .expect("the audit log")
    }

    /// Applies changes of Ana's to `shop` in one changeset.
    pub(crate) async fn apply(&self, changes: Vec<Change>) -> Result<ChangesetDetail, AppError> {
        changeset::submit(&self.state, &self.in_shop().await, changes, &Note::default()).await
    }

    /// Ana in `shop`.
    pub(crate) async fn in_shop(&self) -> InProject {
        let (user, name) = sqlx::query_as::<_, (Uuid, String)>("select id, name from users where name = 'Ana'")
            .fetch_one(&self.state.pool)
            .await
            .expect("Ana");
        let mut db = self.state.pool.acquire().await.expect("a connection");
        let found = InProject::find(&mut db, "shop", Actor::person(user.into(), name), true).await.expect("a project");
        drop(db);
        found.expect("shop")
    }

    /// Signs in as a person would.
    pub(crate) async fn sign_in_with(&self, email: &str, password: &str) -> Person {
        let mut person = self.nobody();
        let answer = person.post("/session", json!({ "email": email, "password": password })).await;
        let cookie = answer.headers.get("set-cookie").and_then(|value| value.to_str().ok());
        let cookie = cookie.and_then(|text| text.split(';').next()).expect("a cookie");
        person.cookie = Some(cookie.to_owned());
        person
    }

    /// The id of `shop`.
    pub(crate) async fn project(&self) -> ProjectId {
        let id = sqlx::query_scalar::<_, Uuid>("select id from projects where key = 'shop'");
        id.fetch_one(&self.state.pool).await.expect("shop").into()
    }

    /// The id of an environment of `shop`.
    pub(crate) async fn environment(&self, key: &str) -> EnvironmentId {
        let id = sqlx::query_scalar::<_, Uuid>("select id from environments where key = $1").bind(key);
        id.fetch_one(&self.state.pool).await.expect("an environment").into()
    }

    /// Somebody who exists, signed in.
    pub(crate) async fn signed_in(&self, email: &str) -> Person {
        let mut db = self.state.pool.acquire().await.expect("a connection");
        let user = store::user::find_by_email(&mut db, email).await.expect("a query").expect("a person");
        drop(db);
        self.sign_in(&user).await
    }

    /// The newest number.
    pub(crate) async fn revision(&self) -> u64 {
        let mut db = self.state.pool.acquire().await.expect("a connection");
        store::changeset::current_revision(&mut db).await.expect("a counter")
    }

    async fn user(&self, name: &str, is_admin: bool) -> User {
        let user = User {
            id: self.state.clock.id(),
            email: format!("{}@example.com", name.to_lowercase()),
            name: name.into(),
            password_hash: password_hash().await,
            is_admin,
        };
        let mut db = self.state.pool.acquire().await.expect("a connection");
        store::user::insert(&mut db, &user, self.state.clock.now()).await.expect("a user");
        user
    }

    async fn sign_in(&self, user: &User) -> Person {
        let started = app::session::start(&self.state, user, "").await.expect("a session");
        let cookie = Some(format!("fluxgate_session={}", started.token));
        Person { client: reqwest::Client::new(), address: self.address, cookie, token: None }
    }
}

impl Person {
    /// The same person at another backend.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// The same browser with the cookie that an answer sets.
    pub(crate) fn with_cookie_of(&self, answer: &Answer) -> Self {
        let cookie = answer.headers["set-cookie"].to_str().expect("text").split(';').next().map(str::to_owned);
        Self { cookie, ..self.clone() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body), &[]).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None, &[]).await
    }

    /// A write on a version that was seen.
    pub(crate) async fn put(&self, path: &str, version: u64, body: Value) -> Answer {
        self.send(Method::PUT, path, Some(body), &[("if-match", &format!("\"{version}\""))]).await
    }

    pub(crate) async fn patch(&self, path: &str, version: u64, body: Value) -> Answer {
        self.send(Method::PATCH, path, Some(body), &[("if-match", &format!("\"{version}\""))]).await
    }

    /// A body that is no JSON, on a version that was seen.
    pub(crate) async fn put_text(&self, path: &str, version: u64, kind: &str, body: impl Into<Vec<u8>>) -> Answer {
        let request = self.client.put(format!("http://{}/api/v1{path}", self.address));
        let request = request.header("if-match", format!("\"{version}\"")).header("content-type", kind);
        let request = request.header("cookie", self.cookie.clone().unwrap_or_default()).body(body.into());
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status, headers, body, text }
    }

    /// A body of any size that says it is JSON.
    pub(crate) async fn post_bytes(&self, path: &str, body: Vec<u8>) -> Answer {
        let request = self.client.post(format!("http://{}/api/v1{path}", self.address));
        let request = request.header("content-type", "application/json").body(body);
        let request = request.header("cookie", self.cookie.clone().unwrap_or_default());
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status, headers, body, text }
    }

    /// The event stream as it comes in.
    pub(crate) async fn stream(&self, path: &str) -> reqwest::Response {
        let mut request = self.client.get(format!("http://{}/api/v1{path}", self.address));
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        request.send().await.expect("an answer")
    }

    /// Any request, below `/api/v1`.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.client.request(method, format!("http://{}/api/v1{path}", self.address));
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Answer { status, headers, body, text }
    }
}

impl Answer {
    /// The answer when its status is this one.
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    /// The stable code of a problem.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// The fields that a problem names.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let errors = self.body["errors"].as_array();
        errors.map(|list| list.iter().filter_map(|e| e["field"].as_str()).collect()).unwrap_or_default()
    }
}

/// A copy of a database that was migrated once for all tests.
async fn new_database() -> String {
    static TEMPLATE: OnceCell<Arc<str>> = OnceCell::const_new();
    let template = TEMPLATE.get_or_init(|| async {
        let name = format!("template_{}", new_id().simple());
        create_database(&format!("create database {name}")).await;
        let pool = PgPool::connect_with(server().database(&name)).await.expect("the template");
        store::migration::run(&pool).await.expect("migrations");
        pool.close().await;
        Arc::from(name)
    });
    let template = template.await;
    let name = format!("test_{}", new_id().simple());
    create_database(&format!("create database {name} template {template}")).await;
    let url = server_url();
    let (base, _) = url.rsplit_once('/').expect("a URL with a database");
    format!("{base}/{name}")
}

async fn create_database(statement: &str) {
    let mut db = PgConnection::connect_with(&server()).await.expect("PostgreSQL; run `cargo xtask test`");
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut db).await.expect("a database");
}

fn server() -> PgConnectOptions {
    server_url().parse().expect("a database URL")
}

fn server_url() -> String {
    std::env::var("FLUXGATE_TEST_POSTGRES_URL").expect("FLUXGATE_TEST_POSTGRES_URL; run `cargo xtask test`")
}

async fn password_hash() -> String {
    static HASH: OnceCell<String> = OnceCell::const_new();
    let hash = HASH.get_or_init(|| async { backend::auth::password::hash(PASSWORD.into()).await.expect("a hash") });
    hash.await.clone()
}

//! The app as a person or a script sees it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::new_id;
use backend::app;
use backend::app::changeset;
use backend::auth::permission::{Actor, InProject};
use backend::bus;
use backend::config::{Auth, Config, Counts, Database, Log, Nats, Server};
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
use shared::wire::api::changeset::ChangesetDetail;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool};
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
        let url = new_database().await;
        let pool = PgPoolOptions::new().max_connections(8).connect(&url).await.expect("the test's database");
        let config = Config {
            server: Server::default(),
            database: Database { url },
            nats: Nats { url: nats.into(), user: None, password: None },
            auth: Auth { secret: "5a".repeat(32) },
            counts: Counts::default(),
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
        let app = Self::start_with(nats, |_| ()).await;
        let bus = bus::connect(&app.state.config.nats).await.expect("a client");
        tokio::spawn(live::listen(app.state.clone(), bus.clone(), app.state.stopping.clone()));
        tokio::spawn(leader::run(app.state.clone(), bus, app.state.stopping.clone()));
        app
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
        Person { client: reqwest::Client::new(), address: self.address, cookie: None }
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

    /// The same person, signed in anew: sessions end when tests move the clock far.
    pub(crate) async fn again(&self, name: &str) -> Person {
        let mut db = self.state.pool.acquire().await.expect("a connection");
        let found = store::user::find_by_email(&mut db, &format!("{}@example.com", name.to_lowercase())).await;
        self.sign_in(&found.expect("people").expect("somebody")).await
    }

    /// Applies changes of Ana's to `shop` in one changeset.
    pub(crate) async fn apply(&self, changes: Vec<Change>) -> Result<ChangesetDetail, AppError> {
        let (user, name) = sqlx::query_as::<_, (Uuid, String)>("select id, name from users where name = 'Ana'")
            .fetch_one(&self.state.pool)
            .await
            .expect("Ana");
        let mut db = self.state.pool.acquire().await.expect("a connection");
        let found = InProject::find(&mut db, "shop", Actor::person(user.into(), name), true).await.expect("a project");
        drop(db);
        changeset::submit(&self.state, &found.expect("shop"), changes, &Note::default()).await
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
        let started = app::session::start(&self.state, user).await.expect("a session");
        let cookie = Some(format!("fluxgate_session={}", started.token));
        Person { client: reqwest::Client::new(), address: self.address, cookie }
    }
}

impl Person {
    /// The same person at another backend.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
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

    /// The event stream as it comes in.
    pub(crate) async fn stream(&self, path: &str) -> reqwest::Response {
        let cookie = self.cookie.clone().unwrap_or_default();
        let request = self.client.get(format!("http://{}/api/v1{path}", self.address)).header("cookie", cookie);
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

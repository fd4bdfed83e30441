//! A collector of traces: takes OTLP over HTTP, and decodes it with OpenTelemetry's own messages.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::serve::Listener;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::nats::free_port;
use super::wait_for;

/// What came, in order.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) spans: Vec<Span>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) headers: Vec<HeaderMap>,
    pub(crate) bytes: Vec<u8>,
}

/// How a collector behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It takes what it gets.
    Well,
    /// It answers 503.
    Refusing,
    /// It never answers.
    Silent,
}

pub(crate) struct Collector {
    pub(crate) port: u16,
    received: Arc<Mutex<Received>>,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

type Shared = (Arc<Mutex<Received>>, Mood);

impl Collector {
    /// Nobody listens yet.
    pub(crate) fn down() -> Self {
        Self { port: free_port(), received: Arc::default(), running: None }
    }

    pub(crate) async fn start() -> Self {
        let mut collector = Self::down();
        collector.go(Mood::Well).await;
        collector
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Listens, on the same port each time.
    pub(crate) async fn go(&mut self, mood: Mood) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.expect("the port is free");
        self.serve(listener, mood);
    }

    /// Listens behind TLS, as `localhost`, with a certificate that it signed itself; hands out that certificate as PEM.
    pub(crate) async fn go_behind_tls(&mut self) -> String {
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let settings = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let settings = settings.expect("protocols").with_no_client_auth();
        let settings = settings.with_single_cert(vec![signed.cert.der().clone()], key).expect("they belong together");
        let tcp = TcpListener::bind(("127.0.0.1", self.port)).await.expect("the port is free");
        self.serve(TlsListener { tcp, acceptor: TlsAcceptor::from(Arc::new(settings)) }, Mood::Well);
        signed.cert.pem()
    }

    fn serve<L: Listener<Addr: std::fmt::Debug>>(&mut self, listener: L, mood: Mood) {
        let router = Router::new().route("/v1/traces", post(take)).with_state((Arc::clone(&self.received), mood));
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let serving =
            async move { axum::serve(listener, router).with_graceful_shutdown(stopped).await.expect("served") };
        self.running = Some((stop, tokio::spawn(serving)));
    }

    /// Ends, and its connections with it.
    pub(crate) async fn stop(&mut self) {
        let (stop, serving) = self.running.take().expect("it runs");
        stop.cancel();
        serving.await.expect("it ends");
    }

    /// As if nothing had come yet.
    pub(crate) fn forget(&self) {
        *self.received.lock().unwrap_or_else(PoisonError::into_inner) = Received::default();
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Received) -> T) -> T {
        look(&self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for a span, and hands it out.
    pub(crate) async fn wait_for(&self, what: &str, accept: impl Fn(&Span) -> bool) -> Span {
        wait_for(what, async || self.look(|received| received.spans.iter().find(|span| accept(span)).cloned())).await
    }
}

/// Accepts those who come through the handshake.
struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.tcp).await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

async fn take(State((received, mood)): State<Shared>, headers: HeaderMap, body: Bytes) -> (StatusCode, Vec<u8>) {
    match mood {
        Mood::Well => {}
        Mood::Refusing => return (StatusCode::SERVICE_UNAVAILABLE, Vec::new()),
        Mood::Silent => std::future::pending().await,
    }
    let request = ExportTraceServiceRequest::decode(body.clone()).expect("OTLP");
    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
    received.headers.push(headers);
    received.bytes.extend_from_slice(&body);
    for of_resource in request.resource_spans {
        received.resources.extend(of_resource.resource);
        received.spans.extend(of_resource.scope_spans.into_iter().flat_map(|of_scope| of_scope.spans));
    }
    (StatusCode::OK, Vec::new())
}

/// Attributes as text, by name.
pub(crate) fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &AnyValue| match value {
        AnyValue::StringValue(text) => text.clone(),
        AnyValue::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let value = |attribute: &KeyValue| attribute.value.as_ref().and_then(|value| value.value.as_ref()).map(text);
    attributes.iter().map(|attribute| (attribute.key.clone(), value(attribute).expect("a value"))).collect()
}

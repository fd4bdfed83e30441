//! Another system that is told what happened.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// How it answers one request.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    /// It answers only then.
    pub(crate) wait: Option<Arc<Notify>>,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

/// What it received.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// Answers as told, else 204, and keeps what it received.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    received: UnboundedReceiver<Received>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

/// Speaks TLS with whoever trusts it.
struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            if let Ok((stream, address)) = self.tcp.accept().await
                && let Ok(stream) = self.acceptor.accept(stream).await
            {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

type Shared = (UnboundedSender<Received>, Arc<Mutex<VecDeque<Reply>>>);

impl Receiver {
    pub(crate) async fn start() -> Self {
        Self::serve(TcpListener::bind("127.0.0.1:0").await.expect("a free port"))
    }

    /// Behind TLS, as `localhost`, with a certificate that it signed itself, which is handed out.
    pub(crate) async fn start_behind_tls() -> (Self, CertificateDer<'static>) {
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let settings = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let settings = settings.expect("protocols").with_no_client_auth();
        let settings = settings.with_single_cert(vec![signed.cert.der().clone()], key).expect("they belong together");
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        (Self::serve(TlsListener { tcp, acceptor: TlsAcceptor::from(Arc::new(settings)) }), signed.cert.der().clone())
    }

    fn serve<L: Listener<Addr = SocketAddr>>(listener: L) -> Self {
        let (sender, received) = unbounded_channel();
        let replies: Arc<Mutex<VecDeque<Reply>>> = Arc::default();
        let address = listener.local_addr().expect("an address");
        let router = Router::new().fallback(answer).with_state((sender, replies.clone()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, received, replies }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?from=fluxgate", self.address)
    }

    /// The next requests are answered so, each by one reply.
    pub(crate) fn reply(&self, replies: impl IntoIterator<Item = Reply>) {
        self.replies.lock().expect("replies").extend(replies);
    }

    /// What came since the last call, without waiting.
    pub(crate) fn received(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }

    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(std::time::Duration::from_secs(20), self.received.recv());
        next.await.expect("a request within 20 s").expect("a request")
    }
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().expect("a text")
    }

    pub(crate) fn kind(&self) -> &str {
        self.body["type"].as_str().expect("a type")
    }

    /// Whether one of its signatures is of this secret.
    pub(crate) fn is_signed_by(&self, secret: &str) -> bool {
        let secret = STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret).expect("a key");
        mac.update(
            format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.text).as_bytes(),
        );
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.header("webhook-signature").split(' ').any(|signature| signature == expected)
    }
}

async fn answer(State((sender, replies)): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    let body = serde_json::from_str(&text).expect("JSON");
    let reply = replies.lock().expect("replies").pop_front().unwrap_or_else(|| Reply::status(204));
    if sender.send(Received { headers, text, body }).is_err() {
        return StatusCode::GONE.into_response();
    }
    if let Some(wait) = &reply.wait {
        wait.notified().await;
    }
    let mut response = (StatusCode::from_u16(reply.status).expect("a status"), reply.body).into_response();
    for (name, value) in reply.headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(&value).expect("a value"));
    }
    response
}

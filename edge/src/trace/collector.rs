//! One connection to the collector: OTLP over HTTP, as protobuf.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prost::Message;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use crate::config::Endpoint;
use crate::trace::TraceError;
use crate::trace::otlp::Answer;

/// How long one batch may take, connecting included.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most that is read of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Why a batch was not taken.
#[derive(Debug, Error)]
pub(super) enum CollectorError {
    #[error("the collector cannot be reached")]
    Connect(#[source] io::Error),
    #[error("the connection to the collector failed")]
    Http(#[from] hyper::Error),
    #[error("the collector answered {0}")]
    Status(StatusCode),
    #[error("the collector's answer cannot be read")]
    Answer(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the collector did not answer within {} s", TIMEOUT.as_secs())]
    Late,
}

/// Where spans go.
pub(super) struct Collector {
    endpoint: Endpoint,
    headers: HeaderMap,
    tls: Option<TlsConnector>,
    /// Kept between batches while the collector keeps it.
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Collector {
    /// `headers` go with every batch.
    pub(super) fn new(endpoint: Endpoint, mut headers: HeaderMap) -> Result<Self, TraceError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("fluxgate-edge/", env!("CARGO_PKG_VERSION"))));
        let tls = if endpoint.is_https { Some(tls()?) } else { None };
        headers.insert(HOST, endpoint.authority.clone());
        Ok(Self { endpoint, headers, tls, connection: None })
    }

    /// Sends one batch. Returns how many of its spans were refused.
    pub(super) async fn send(&mut self, batch: Bytes) -> Result<u64, CollectorError> {
        timeout(TIMEOUT, self.post(batch)).await.unwrap_or(Err(CollectorError::Late))
    }

    async fn post(&mut self, batch: Bytes) -> Result<u64, CollectorError> {
        // One that was kept may have ended unseen, so it may fail once.
        let kept = match self.connection.take() {
            Some(connection) if !connection.is_closed() => self.exchange(connection, batch.clone()).await.ok(),
            _ => None,
        };
        let response = match kept {
            Some(response) => response,
            None => {
                let connection = self.connect().await?;
                self.exchange(connection, batch).await?
            }
        };
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(CollectorError::Answer)?.to_bytes();
        if !status.is_success() {
            return Err(CollectorError::Status(status));
        }
        let answer = Answer::decode(body).map_err(|error| CollectorError::Answer(error.into()))?;
        let refused = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(refused).unwrap_or(0))
    }

    async fn exchange(
        &mut self,
        mut connection: SendRequest<Full<Bytes>>,
        batch: Bytes,
    ) -> Result<Response<Incoming>, hyper::Error> {
        let mut request = Request::new(Full::new(batch));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.path.clone();
        *request.headers_mut() = self.headers.clone();
        connection.ready().await?;
        let response = connection.send_request(request).await?;
        self.connection = Some(connection);
        Ok(response)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, CollectorError> {
        let Endpoint { host, port, .. } = &self.endpoint;
        let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(CollectorError::Connect)?;
        let Some(tls) = &self.tls else { return Ok(handshake(stream).await?) };
        let name =
            ServerName::try_from(host.clone()).map_err(|error| CollectorError::Connect(io::Error::other(error)))?;
        let stream = tls.connect(name, stream).await.map_err(CollectorError::Connect)?;
        Ok(handshake(stream).await?)
    }
}

async fn handshake<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the connection, whose errors the sender hears of too.
    tokio::spawn(connection);
    Ok(sender)
}

fn tls() -> Result<TlsConnector, TraceError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(TraceError::NoRoots);
    }
    let provider = Arc::new(crypto::ring::default_provider());
    // Fails only for a provider without ciphers.
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| TraceError::NoRoots)?;
    Ok(TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
}

//! One HTTP request to where a webhook says, and to nowhere else: the addresses of its name are checked, and the one that
//! is connected to is one of these, so a name that leads elsewhere a moment later changes nothing. Redirects are answers
//! like others, proxies are not used, and no more of an answer is read than is kept.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use url::{Host, Url};

use crate::app::webhook::address;
use crate::config::Webhooks;

/// The longest an attempt takes, in all.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest a connection to one of several addresses takes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;
/// Bytes kept of an answer.
const RESPONSE_BYTES_MAX: usize = 2 * 1024;
/// Who calls.
const AGENT: &str = concat!("FluxGate/", env!("CARGO_PKG_VERSION"));

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// How long the receiver wants to be left alone.
    pub retry_after: Option<time::Duration>,
    /// The beginning of its body.
    pub body: String,
}

/// Why nothing was answered. Nothing here says what a private network looks like.
#[derive(Debug, Error)]
pub enum SendError {
    /// The URL is none that may be sent to.
    #[error("the URL cannot be sent to")]
    Url,
    /// Its name has no address.
    #[error("the name of the host cannot be looked up")]
    Lookup,
    /// Its name leads where nothing may be sent.
    #[error("the host has an address that is not on the public internet; private networks need webhooks.allow_private")]
    Private,
    /// Nobody is there.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// There are no certificates to check the receiver's by.
    #[error("this backend has no root certificates to check the receiver's by; install ca-certificates")]
    NoRoots,
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// `http://` is not allowed any more.
    #[error("http:// needs the setting webhooks.allow_http")]
    Http,
    /// The answer is no HTTP, or ended early.
    #[error("the answer cannot be read: {0}")]
    Answer(#[from] hyper::Error),
}

/// Sends what webhooks send.
pub struct Sender {
    tls: Option<TlsConnector>,
    settings: Webhooks,
    timeout: Duration,
}

impl Sender {
    /// Trusts what the machine trusts.
    pub fn new(settings: &Webhooks) -> Self {
        Self::trusting(settings, rustls_native_certs::load_native_certs().certs)
    }

    /// Trusts these certificates alone.
    pub fn trusting(settings: &Webhooks, certificates: Vec<CertificateDer<'static>>) -> Self {
        Self { tls: tls(certificates), settings: settings.clone(), timeout: TIMEOUT }
    }

    /// The same with another limit for an attempt.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Posts a JSON body and waits for the answer.
    pub async fn post(
        &self,
        url: &Url,
        headers: &[(&'static str, String)],
        body: String,
        now: OffsetDateTime,
    ) -> Result<Answer, SendError> {
        // What was allowed when the webhook was made may not be any more.
        if url.scheme() != "https" && !self.settings.allow_http {
            return Err(SendError::Http);
        }
        let request = request(url, headers, body)?;
        let deadline = Instant::now() + self.timeout;
        let exchanged = tokio::time::timeout_at(deadline, self.exchange(url, request)).await;
        let Exchange { response, connection } = exchanged.map_err(|_| SendError::Timeout(self.timeout))??;
        let (status, retry_after) = (response.status().as_u16(), response.headers().get(RETRY_AFTER).cloned());
        let body = beginning(response, deadline).await;
        drop(connection);
        Ok(Answer { status, retry_after: retry_after.and_then(|value| wait(&value, now)), body })
    }

    async fn exchange(&self, url: &Url, request: Request<Full<Bytes>>) -> Result<Exchange, SendError> {
        let stream = connect(&self.addresses(url).await?).await.map_err(SendError::Connect)?;
        if url.scheme() != "https" {
            return over(stream, request).await;
        }
        let tls = self.tls.as_ref().ok_or(SendError::NoRoots)?;
        let host = url.host_str().ok_or(SendError::Url)?.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| SendError::Url)?;
        over(tls.connect(name, stream).await.map_err(SendError::Connect)?, request).await
    }

    /// Where the URL leads, once every address of it was found to be allowed.
    async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, SendError> {
        let port = url.port_or_known_default().ok_or(SendError::Url)?;
        let addresses: Vec<SocketAddr> = match url.host().ok_or(SendError::Url)? {
            Host::Ipv4(address) => vec![(IpAddr::from(address), port).into()],
            Host::Ipv6(address) => vec![(IpAddr::from(address), port).into()],
            Host::Domain(name) => tokio::net::lookup_host((name, port)).await.map_err(|_| SendError::Lookup)?.collect(),
        };
        if addresses.is_empty() {
            return Err(SendError::Lookup);
        }
        if !self.settings.allow_private && !addresses.iter().all(|at| address::is_public(at.ip())) {
            return Err(SendError::Private);
        }
        Ok(addresses)
    }
}

async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut problem = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses.iter().take(ADDRESSES_MAX) {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => problem = error,
            Err(_) => problem = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(problem)
}

/// An answer whose body is still to be read. The connection ends when this is dropped.
struct Exchange {
    response: Response<Incoming>,
    connection: JoinSet<Result<(), hyper::Error>>,
}

async fn over<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Exchange, SendError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, driven) = http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = JoinSet::new();
    connection.spawn(driven);
    let response = sender.send_request(request).await?;
    Ok(Exchange { response, connection })
}

fn request(url: &Url, headers: &[(&'static str, String)], body: String) -> Result<Request<Full<Bytes>>, SendError> {
    let authority = match (url.host_str().ok_or(SendError::Url)?, url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let mut request = Request::post(target)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, AGENT)
        .header(CONNECTION, "close");
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).map_err(|_| SendError::Url)?;
        request = request.header(HeaderName::from_static(name), value);
    }
    request.body(Full::from(body)).map_err(|_| SendError::Url)
}

/// What of a body is kept, as text that PostgreSQL takes. A body that breaks off or takes too long says as much as came.
async fn beginning(response: Response<Incoming>, deadline: Instant) -> String {
    let mut body = response.into_body();
    let mut kept = Vec::new();
    while kept.len() < RESPONSE_BYTES_MAX {
        let Ok(Some(Ok(frame))) = tokio::time::timeout_at(deadline, body.frame()).await else { break };
        if let Ok(data) = frame.into_data() {
            kept.extend_from_slice(&data[..data.len().min(RESPONSE_BYTES_MAX - kept.len())]);
        }
    }
    String::from_utf8_lossy(&kept).replace('\0', "\u{fffd}")
}

/// `Retry-After` in seconds or as a date.
fn wait(value: &HeaderValue, now: OffsetDateTime) -> Option<time::Duration> {
    let text = value.to_str().ok()?.trim();
    match text.parse::<u32>() {
        Ok(seconds) => Some(time::Duration::seconds(seconds.into())),
        Err(_) => Some((OffsetDateTime::parse(text, &Rfc2822).ok()? - now).max(time::Duration::ZERO)),
    }
}

fn tls(certificates: Vec<CertificateDer<'static>>) -> Option<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return None;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
    // Fails only for a provider without ciphers.
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    Some(TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds_and_as_a_date() {
        let now = datetime!(2026-12-01 12:00 UTC);
        let read = |text: &'static str| wait(&HeaderValue::from_static(text), now);
        assert_eq!(read("120"), Some(time::Duration::minutes(2)));
        assert_eq!(read("Tue, 01 Dec 2026 12:00:30 GMT"), Some(time::Duration::seconds(30)));
        assert_eq!(read("Tue, 01 Dec 2026 11:00:00 GMT"), Some(time::Duration::ZERO));
        assert_eq!(read("soon"), None);
    }

    #[tokio::test]
    async fn a_name_that_leads_to_a_private_address_is_refused_before_anything_is_sent() {
        let sender = Sender::trusting(&Webhooks { allow_http: true, allow_private: false }, Vec::new());
        for url in ["http://localhost/", "http://127.0.0.1/", "http://0x7f.1/", "http://[::ffff:10.0.0.1]/"] {
            let url = Url::parse(url).expect("a URL");
            let refused = sender.post(&url, &[], String::new(), OffsetDateTime::UNIX_EPOCH).await;
            assert!(matches!(refused, Err(SendError::Private)), "{url}: {refused:?}");
        }
        let sender = Sender::trusting(&Webhooks::default(), Vec::new());
        let url = Url::parse("http://example.com/").expect("a URL");
        let refused = sender.post(&url, &[], String::new(), OffsetDateTime::UNIX_EPOCH).await;
        assert!(matches!(refused, Err(SendError::Http)), "{refused:?}");
    }
}

//! Takes connections and answers requests.
//!
//! One thread accepts; each of the workers, one per core granted, is a single-threaded runtime that serves its
//! connections to their end, which saves wake-ups. The hot endpoints go on hyper directly, the rest through a router.

mod answer;
mod body;
mod bulk;
mod connection;
mod cors;
mod descriptor;
mod docs;
mod etag;
mod evaluate;
mod health;
mod log;
pub mod openapi;
mod receive;
mod request;
mod service;
mod stream;
mod track;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, warn};

use crate::app::App;
use crate::bus::Bus;
use crate::config;
use crate::trace::Tracer;
use log::RequestLog;

/// How long requests that were begun may take once the edge is told to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);
/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long to wait before accepting again when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a handler can reach.
pub struct HttpState {
    /// Answers and metrics.
    pub app: Arc<App>,
    /// For the connection's state; none in an edge that is offline.
    pub bus: Option<Bus>,
    /// Room for event streams.
    streams: Arc<Semaphore>,
    /// The edge is told to stop.
    stop: CancellationToken,
    /// Decides who gets a span; none while traces are off.
    tracer: Option<Tracer>,
    /// Lines about requests.
    log: RequestLog,
}

/// Why no requests can be taken.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Somebody else listens there.
    #[error(
        "the address {0} (EDGE_SERVER__LISTEN) is taken by another program; \
         choose another, for example EDGE_SERVER__LISTEN=127.0.0.1:8082"
    )]
    Taken(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {0} (EDGE_SERVER__LISTEN): {1}; for example EDGE_SERVER__LISTEN=127.0.0.1:8081")]
    Other(SocketAddr, #[source] io::Error),
    /// No thread could be started.
    #[error("a worker thread could not be started")]
    Thread(#[source] io::Error),
}

struct Connection {
    stream: std::net::TcpStream,
    _permit: OwnedSemaphorePermit,
}

/// A listening server whose workers stand ready.
pub struct Server {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    workers: Vec<(mpsc::UnboundedSender<Connection>, JoinHandle<()>)>,
}

impl Server {
    /// Binds the address and starts the workers; an edge that is offline has no bus.
    pub async fn bind(
        settings: &config::Server,
        app: Arc<App>,
        bus: Option<Bus>,
        tracer: Option<Tracer>,
        stop: CancellationToken,
    ) -> Result<Self, ListenError> {
        let address = settings.listen;
        let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => ListenError::Taken(address),
            _ => ListenError::Other(address, error),
        })?;
        let connections = descriptor::connections(settings.connections_max);
        // Whoever asks for one answer must find room beside those who stay.
        let streams = (settings.streams_max as usize).min(connections - connections / 4);
        let streams = Arc::new(Semaphore::new(streams));
        let state = Arc::new(HttpState { app, bus, streams, stop: stop.clone(), tracer, log: RequestLog::default() });
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let head_timeout = Duration::from_secs(settings.header_timeout_seconds);
        let mut workers = Vec::with_capacity(count);
        for number in 0..count {
            // Bounded by the permits.
            let (sender, connections) = mpsc::unbounded_channel();
            let (state, stop) = (Arc::clone(&state), stop.clone());
            let worker = move || work(connections, state, head_timeout, stop);
            let thread = std::thread::Builder::new().name(format!("http-{number}")).spawn(worker);
            workers.push((sender, thread.map_err(ListenError::Thread)?));
        }
        let permits = Arc::new(Semaphore::new(connections));
        Ok(Self { listener, permits, workers })
    }

    /// The address in fact listened on.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts until `stop`, then waits for requests that were begun.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, permits, workers } = self;
        let mut turn = 0;
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = accept(&listener, &permits) => accepted,
            };
            match accepted {
                Ok(connection) => {
                    turn = (turn + 1) % workers.len();
                    // Fails only when the worker is gone, and with it the process.
                    let _ = workers[turn].0.send(connection);
                }
                Err(error) => {
                    warn!(%error, "a connection could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        let (senders, threads): (Vec<_>, Vec<_>) = workers.into_iter().unzip();
        drop(senders);
        let drained = tokio::task::spawn_blocking(move || {
            threads.into_iter().map(JoinHandle::join).filter(Result::is_err).count() == 0
        });
        if !drained.await.unwrap_or(false) {
            error!("a worker thread ended badly");
        }
    }
}

async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> io::Result<Connection> {
    // The semaphore is never closed.
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    // The worker registers it with its own runtime.
    Ok(Connection { stream: stream.into_std()?, _permit: permit })
}

fn work(
    mut connections: mpsc::UnboundedReceiver<Connection>,
    state: Arc<HttpState>,
    head_timeout: Duration,
    stop: CancellationToken,
) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return error!(%error, "a worker has no runtime"),
    };
    let router = health::router(Arc::clone(&state));
    let mut http = http1::Builder::new();
    // Without `pipeline_flush`: it keeps answers back while anything unread lies behind them, and loses them, and the
    // refusal, when that cannot be read.
    http.timer(TokioTimer::new()).header_read_timeout(head_timeout).max_header_size(HEAD_BYTES_MAX);
    runtime.block_on(async move {
        let tracker = TaskTracker::new();
        while let Some(connection) = connections.recv().await {
            tracker.spawn(serve(http.clone(), connection, Arc::clone(&state), router.clone(), stop.clone()));
        }
        tracker.close();
        if timeout(DRAIN_TIMEOUT, tracker.wait()).await.is_err() {
            warn!(connections = tracker.len(), "requests that took too long are cut off");
        }
    });
}

/// Counted as open for as long as it lives.
struct OpenConnection(Arc<App>);

impl OpenConnection {
    fn count(app: &Arc<App>) -> Self {
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(app))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(
    http: http1::Builder,
    connection: Connection,
    state: Arc<HttpState>,
    router: Router,
    stop: CancellationToken,
) {
    let Connection { stream, _permit } = connection;
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return debug!(%error, "a connection was lost before it was served"),
    };
    let _open = OpenConnection::count(&state.app);
    let service = service_fn(|request| service::serve(&state, &router, request));
    connection::serve(http, stream, service, stop).await;
}

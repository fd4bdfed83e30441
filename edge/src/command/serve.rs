//! Serving: reads the settings and starts an edge.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use shared::model::id::ProcessId;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::app::App;
use crate::bus::Bus;
use crate::command::Failure;
use crate::config::{self, Config};
use crate::count::{Sender, Spool};
use crate::disk::{Folder, Record};
use crate::feed::Feed;
use crate::http::Server;
use crate::report::{RECEIPTS_MAX, Reporter};
use crate::trace::Tracer;
use crate::{bundle, clock, feed, telemetry};

#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// File of settings; edge.toml in the working folder when it exists.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, over file and environment, as server.listen=127.0.0.1:8081; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A state bundle to start from; the same as --set storage.bundle=FILE.
    #[arg(long, value_name = "FILE")]
    bundle: Option<String>,
    /// Answers from the bundle alone, without NATS; the same as --set nats.offline=true.
    #[arg(long)]
    offline: bool,
}

/// Serves until SIGTERM or SIGINT.
pub(super) fn start(arguments: &ServeArguments) -> Result<(), Failure> {
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let config = Config::read(arguments.config.as_deref(), variables, &arguments.overrides())?;
    telemetry::start(&config.log);
    // Before anything is touched: a bundle that was asked for by name and cannot be read stops the start.
    let bundle = match &config.storage.bundle {
        Some(path) => {
            let bundle = bundle::read(path)?;
            info!(path = %path.display(), exported_at = %bundle.exported_at, values = bundle.values.len(), "read a bundle");
            bundle::records(bundle)
        }
        None => Vec::new(),
    };
    // Requests have threads of their own; everything else fits on this one.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if config.nats.offline {
        runtime.block_on(serve_offline(&config, bundle))
    } else {
        runtime.block_on(serve(config, bundle))
    }
}

impl ServeArguments {
    /// All settings of the command line, the later wins.
    fn overrides(&self) -> Vec<String> {
        let bundle = self.bundle.iter().map(|path| format!("storage.bundle={path}"));
        let offline = self.offline.then(|| "nats.offline=true".to_owned());
        self.set.iter().cloned().chain(bundle).chain(offline).collect()
    }
}

/// The signals that end the process, caught from here on.
struct End {
    terminate: Signal,
    interrupt: Signal,
}

impl End {
    fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits to be told to stop; then makes readiness fail, and returns when the grace for requests is over.
    async fn come(&mut self, app: &App, settings: &config::Server) {
        let grace = tokio::select! {
            _ = self.terminate.recv() => Duration::from_secs(settings.shutdown_grace_seconds),
            // A person at a terminal, with no balancer in front.
            _ = self.interrupt.recv() => Duration::ZERO,
        };
        info!(grace_seconds = grace.as_secs(), "told to stop; readiness fails, requests are still answered");
        app.begin_to_stop();
        // Balancers learn of a failed readiness only after a while (Kubernetes' endpoints lag by seconds): whoever
        // closes the door before them turns their requests away.
        tokio::select! {
            () = tokio::time::sleep(grace) => {}
            _ = self.terminate.recv() => info!("told to stop again; the grace ends here"),
            _ = self.interrupt.recv() => info!("interrupted; the grace ends here"),
        }
    }
}

/// Answers from the bundle for good: no NATS, nothing on disk. Cells count on, of a fixed number, and nobody reads them;
/// what would grow, exposures and events, is not gathered.
async fn serve_offline(config: &Config, bundle: Vec<Record>) -> Result<(), Failure> {
    let app = Arc::new(App::default());
    feed::answer_from(&app, &bundle);
    drop(bundle);
    if app.snapshot.load().environments.is_empty() {
        return Err(
            "the bundle (EDGE_STORAGE__BUNDLE) holds no environment to answer from; export one that does".into()
        );
    }
    for key in &app.snapshot.load().unreadable {
        warn!(key, "this version cannot read a value of the bundle; what it is about answers an error");
    }
    let stop_http = CancellationToken::new();
    let (tracer, traces) = trace(config, clock::new_process_id(), &app)?;
    let server = Server::bind(&config.server, Arc::clone(&app), None, tracer, stop_http.clone()).await?;
    let mut end = End::new()?;
    let serving = begin(server, &stop_http)?;
    info!("answering from the bundle alone");
    end.come(&app, &config.server).await;
    stop_http.cancel();
    serving.await?;
    traces.end().await?;
    info!("stopped");
    Ok(())
}

/// The whole start and the whole end, in order.
async fn serve(config: Config, bundle: Vec<Record>) -> Result<(), Failure> {
    let folder = Folder::open(&config.storage.dir)?;
    let process = clock::new_process_id();
    let predecessors = folder.processes();
    let name = config.server.name.clone();
    info!(process.id = %process, name, version = env!("CARGO_PKG_VERSION"), "starting");

    let app = Arc::new(App::new(&config.cache));
    let bus = Bus::connect(&config.nats, &format!("fluxgate-edge {name}")).await?;
    let stop_http = CancellationToken::new();
    let (tracer, traces) = trace(&config, process, &app)?;
    let server = Server::bind(&config.server, Arc::clone(&app), Some(bus.clone()), tracer, stop_http.clone()).await?;

    let (receipt_sender, receipts) = mpsc::channel(RECEIPTS_MAX);
    let stop_feed = CancellationToken::new();
    let feed = Feed::start(Arc::clone(&app), bus.clone(), folder.clone(), &bundle, receipt_sender, stop_feed.clone());
    drop(bundle);
    let feed = tokio::spawn(feed.run());

    let stop_counts = CancellationToken::new();
    let spool = Spool::open(&folder, process);
    let interval = Duration::from_secs(config.counts.interval_seconds);
    let sender = Sender::new(Arc::clone(&app), bus.clone(), folder.clone(), interval, spool).await?;
    let counts = tokio::spawn(sender.run(stop_counts.clone()));

    let stop_reports = CancellationToken::new();
    let reporter = Reporter { app: Arc::clone(&app), bus, folder, process, name, predecessors, receipts };
    let reports = tokio::spawn(reporter.run(stop_reports.clone()));

    let mut end = End::new()?;
    let serving = begin(server, &stop_http)?;
    end.come(&app, &config.server).await;
    // Requests end before the last counts are gathered, counts before the goodbye that lets others forget this process.
    stop_http.cancel();
    serving.await?;
    stop_counts.cancel();
    counts.await?;
    traces.end().await?;
    stop_reports.cancel();
    reports.await?;
    stop_feed.cancel();
    feed.await?;
    info!("stopped");
    Ok(())
}

/// The task that sends spans to a collector, where there is one.
struct Traces {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Traces {
    /// Sends what is left, within the exporter's own bounds.
    async fn end(self) -> Result<(), JoinError> {
        self.stop.cancel();
        match self.task {
            Some(task) => task.await,
            None => Ok(()),
        }
    }
}

/// Begins to export spans, where the settings name a collector.
fn trace(config: &Config, process: ProcessId, app: &Arc<App>) -> Result<(Option<Tracer>, Traces), Failure> {
    let (tracer, exporter) = Tracer::new(&config.traces, process, Arc::clone(app))?.unzip();
    let stop = CancellationToken::new();
    let task = exporter.map(|exporter| tokio::spawn(exporter.run(stop.clone())));
    Ok((tracer, Traces { stop, task }))
}

/// Takes requests from here on, and says where.
fn begin(server: Server, stop: &CancellationToken) -> Result<JoinHandle<()>, Failure> {
    let address = server.address()?;
    let serving = tokio::spawn(server.run(stop.clone()));
    announce(&format!("fluxgate-edge listens on http://{address}"));
    Ok(serving)
}

/// Says on standard output what scripts wait for; logs go to standard error.
fn announce(line: &str) {
    use std::io::Write;
    // Nobody reading is no reason to stop.
    let _ = writeln!(std::io::stdout(), "{line}");
}

//! Reads the settings and starts an edge.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use clap::Parser;
use edge::app::App;
use edge::bus::Bus;
use edge::config::Config;
use edge::count::{Sender, Spool};
use edge::disk::Folder;
use edge::feed::Feed;
use edge::http::Server;
use edge::report::{RECEIPTS_MAX, Reporter};
use edge::{clock, telemetry};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Answers feature flags from memory, whether or not anything behind it is alive.
#[derive(Parser)]
#[command(name = "fluxgate-edge", version, about)]
struct Arguments {
    /// File of settings; edge.toml in the working folder when it exists.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, over file and environment, as server.listen=127.0.0.1:8081; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Requests have threads of their own; everything else fits on this one.
    let started = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = started.map_err(Into::into).and_then(|runtime| runtime.block_on(run(arguments)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&*error);
            ExitCode::FAILURE
        }
    }
}

/// The whole start and the whole end, in order.
async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let config = Config::read(arguments.config.as_deref(), variables, &arguments.set)?;
    telemetry::start(&config.log);

    let folder = Folder::open(&config.storage.dir)?;
    let process = clock::new_process_id();
    let predecessor = folder.last_process();
    let name = config.server.name.clone();
    info!(process.id = %process, name, version = env!("CARGO_PKG_VERSION"), "starting");

    let app = Arc::new(App::default());
    let bus = Bus::connect(&config.nats, &format!("fluxgate-edge {name}")).await?;
    let stop_http = CancellationToken::new();
    let server = Server::bind(&config.server, Arc::clone(&app), bus.clone(), stop_http.clone()).await?;
    let address = server.address()?;

    let (receipt_sender, receipts) = mpsc::channel(RECEIPTS_MAX);
    let stop_feed = CancellationToken::new();
    let feed = Feed::start(Arc::clone(&app), bus.clone(), folder.clone(), receipt_sender, stop_feed.clone());
    let feed = tokio::spawn(feed.run());

    let own_unsent = Arc::new(AtomicU64::new(0));
    let stop_counts = CancellationToken::new();
    let spool = Spool::open(&folder, process);
    let interval = Duration::from_secs(config.counts.interval_seconds);
    let sender = Sender::new(Arc::clone(&app), bus.clone(), folder.clone(), interval, spool, Arc::clone(&own_unsent));
    let counts = tokio::spawn(sender.run(stop_counts.clone()));

    let stop_reports = CancellationToken::new();
    let reporter = Reporter { app: Arc::clone(&app), bus, folder, process, name, predecessor, own_unsent, receipts };
    let reports = tokio::spawn(reporter.run(stop_reports.clone()));

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let serving = tokio::spawn(server.run(stop_http.clone()));
    announce(&format!("fluxgate-edge listens on http://{address}"));

    tokio::select! {
        _ = terminate.recv() => info!("told to stop"),
        _ = interrupt.recv() => info!("interrupted"),
    }
    app.begin_to_stop();
    // Requests end before the last counts are gathered, counts before the goodbye that lets others forget this process.
    stop_http.cancel();
    serving.await?;
    stop_counts.cancel();
    counts.await?;
    stop_reports.cancel();
    reports.await?;
    stop_feed.cancel();
    feed.await?;
    info!("stopped");
    Ok(())
}

/// Says on standard output what scripts wait for; logs go to standard error.
fn announce(line: &str) {
    use std::io::Write;
    // Nobody reading is no reason to stop.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints an error with all its causes, once.
fn report(error: &dyn std::error::Error) {
    use std::io::Write;
    let mut text = format!("fluxgate-edge: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    let _ = writeln!(std::io::stderr(), "{text}");
}

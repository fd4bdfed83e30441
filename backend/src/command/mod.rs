//! The subcommands of the binary.

mod create_admin;
mod create_demo;
mod exchange;
mod export_bundle;
mod serve;
mod unprotect;
mod verify_audit;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use crate::app::bundle::Selection;
use crate::config::Config;
use crate::error::chain;
use crate::state::AppState;
use crate::{store, telemetry};

/// Connections that requests share.
const CONNECTIONS_MAX: u32 = 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// FluxGate's backend: admin API, web UI, publisher and ingest.
#[derive(Debug, Parser)]
#[command(name = "fluxgate-backend", version)]
pub struct Arguments {
    /// Settings; variables such as BACKEND_DATABASE__URL win over it.
    #[arg(long, default_value = "backend.toml")]
    config: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Migrates the database and serves.
    Serve,
    /// Migrates the database.
    Migrate,
    /// Fills an empty database with a demo project and prints one line of JSON.
    CreateDemo {
        /// E-mail of the admin.
        #[arg(long)]
        email: String,
        /// Password of the admin; 12 to 200 characters.
        #[arg(long, env = "FLUXGATE_DEMO_PASSWORD", hide_env_values = true)]
        password: String,
    },
    /// Makes the first admin of an empty database.
    CreateAdmin {
        /// Name of the admin.
        #[arg(long)]
        name: String,
        /// E-mail of the admin.
        #[arg(long)]
        email: String,
        /// Password of the admin; 12 to 200 characters.
        #[arg(long, env = "FLUXGATE_ADMIN_PASSWORD", hide_env_values = true)]
        password: String,
    },
    /// Writes a project as one JSON file, without people, keys and counts.
    Export {
        /// Its key.
        #[arg(long, value_name = "KEY")]
        project: String,
        /// The file, replaced whole; standard output when left out.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Says what a file would change in a project, and with --apply does it.
    Import {
        /// The project's key.
        #[arg(long, value_name = "KEY")]
        project: String,
        /// The file.
        file: PathBuf,
        /// Do it, after saying what; what touches a protected environment waits for others to agree.
        #[arg(long, requires = "as_email")]
        apply: bool,
        /// Archive flags and delete segments, attributes and metrics that the file does not hold.
        #[arg(long)]
        remove: bool,
        /// E-mail of the person who imports, with what they may do; whoever reads history sees them as its author.
        #[arg(long = "as", value_name = "EMAIL")]
        as_email: Option<String>,
        /// Why.
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Checks that nobody changed the history or the audit log afterwards, and prints their heads.
    VerifyAudit {
        /// A head that was printed before and kept elsewhere; fails when it is in neither chain.
        #[arg(long = "head", value_name = "HEX")]
        heads: Vec<String>,
    },
    /// Ends the protection of an environment without approval; the reason stays in its history.
    Unprotect {
        /// Key of the project.
        #[arg(long, value_name = "KEY")]
        project: String,
        /// Key of the environment.
        #[arg(long, value_name = "KEY")]
        environment: String,
        /// Why; 1 to 2,000 characters.
        #[arg(long)]
        reason: String,
    },
    /// Writes all that edges must hold to a file, for edges without a backend; it holds hashes of SDK keys.
    ExportBundle {
        /// One project alone.
        #[arg(long, value_name = "KEY")]
        project: Option<String>,
        /// One environment of the project alone.
        #[arg(long, value_name = "KEY", requires = "project")]
        environment: Option<String>,
        /// The file, replaced whole and readable by its owner alone; standard output when left out.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Runs a subcommand; a failure is printed with all its causes.
pub fn run(arguments: Arguments) -> ExitCode {
    let done = Config::load(&arguments.config).map_err(Failure::from).and_then(|config| {
        telemetry::start(&config.log);
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(dispatch(arguments.command, config))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fluxgate-backend: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(command: Command, config: Config) -> Result<(), Failure> {
    match command {
        Command::Serve => serve::run(config).await,
        Command::Migrate => Ok(store::migration::run(&connect(&config).await?).await?),
        Command::CreateDemo { email, password } => {
            create_demo::run(&offline_state(config).await?, &email, password).await
        }
        Command::CreateAdmin { name, email, password } => {
            create_admin::run(&offline_state(config).await?, &name, &email, password).await
        }
        Command::Export { project, output } => {
            // It only reads, so it migrates nothing.
            let pool = connect(&config).await?;
            let state = AppState::new(config, pool, CancellationToken::new())?;
            exchange::export(&state, &project, output.as_deref()).await
        }
        Command::Import { project, file, apply, remove, as_email, note } => {
            let order = exchange::Order { project, file, apply, remove, as_email, note };
            exchange::import(&offline_state(config).await?, order).await
        }
        Command::VerifyAudit { heads } => verify_audit::run(&reading_state(config).await?, &heads).await,
        Command::Unprotect { project, environment, reason } => {
            unprotect::run(&offline_state(config).await?, &project, &environment, &reason).await
        }
        Command::ExportBundle { project, environment, output } => {
            let state = reading_state(config).await?;
            export_bundle::run(&state, &Selection { project, environment }, output.as_deref()).await
        }
    }
}

/// A migrated database and nothing else, for commands that write and end.
async fn offline_state(config: Config) -> Result<AppState, Failure> {
    let pool = connect(&config).await?;
    store::migration::run(&pool).await?;
    Ok(AppState::new(config, pool, CancellationToken::new())?)
}

/// A database as it is, for commands that only read and so migrate nothing.
async fn reading_state(config: Config) -> Result<AppState, Failure> {
    let pool = connect(&config).await?;
    Ok(AppState::new(config, pool, CancellationToken::new())?)
}

async fn connect(config: &Config) -> Result<PgPool, Failure> {
    Ok(store::pool::options().max_connections(CONNECTIONS_MAX).connect_lazy(&config.database.url)?)
}

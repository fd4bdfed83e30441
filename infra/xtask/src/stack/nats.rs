//! nats-server with the settings of `infra/nats/server.conf`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::cargo;
use crate::checkout;
use crate::stack::{Launch, Ready, Service};

/// The passwords of the two roles.
#[derive(Clone, Debug)]
pub struct Passwords {
    /// Of the user `backend`, who may do everything.
    pub backend: String,
    /// Of the user `edge`, who may read the bucket and publish counts and receipts.
    pub edge: String,
}

/// The server that is installed: the system's own first, it is the oldest that must do.
pub fn program() -> Option<PathBuf> {
    let system = PathBuf::from("/usr/sbin/nats-server");
    if system.is_file() { Some(system) } else { cargo::find("nats-server") }
}

/// A server on 127.0.0.1 with its store in `store`.
pub fn service(program: &Path, port: u16, store: PathBuf, passwords: &Passwords, log: PathBuf) -> Service {
    let mut arguments: Vec<OsString> = vec!["-c".into(), checkout::nats_conf().into()];
    arguments.extend(["-a", "127.0.0.1", "-p", &port.to_string(), "-sd"].map(OsString::from));
    arguments.push(store.clone().into());
    let launch = Launch {
        program: program.to_path_buf(),
        arguments,
        variables: BTreeMap::from([
            ("FLUXGATE_NATS_BACKEND_PASSWORD".to_owned(), passwords.backend.clone().into()),
            ("FLUXGATE_NATS_EDGE_PASSWORD".to_owned(), passwords.edge.clone().into()),
        ]),
        user: None,
        stop_signal: Signal::TERM,
    };
    Service::new("nats", url(port), launch, Ready::Nats { port }, store, log)
}

/// The address of a server on this machine, without user and password.
pub fn url(port: u16) -> String {
    format!("nats://127.0.0.1:{port}")
}

//! Asking whether a part answers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::stack::postgres;

/// The longest one question may take.
const LIMIT: Duration = Duration::from_secs(2);
/// The most of an answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// How to see that a part answers.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A query succeeds.
    Postgres {
        /// Where PostgreSQL's programs lie.
        programs: PathBuf,
        /// A database's address.
        url: String,
    },
    /// The server introduces itself.
    Nats {
        /// On 127.0.0.1.
        port: u16,
    },
    /// `GET /livez` says that it runs, `GET /readyz` that it can do its work.
    Http {
        /// On 127.0.0.1.
        port: u16,
    },
    /// It answers nobody: that it runs is all there is to see.
    Running,
}

impl Ready {
    /// The port on 127.0.0.1 that is asked.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Self::Nats { port } | Self::Http { port } => Some(*port),
            Self::Postgres { url, .. } => {
                let (place, _database) = url.rsplit_once('@')?.1.split_once('/')?;
                place.rsplit_once(':')?.1.parse().ok()
            }
            Self::Running => None,
        }
    }

    /// An error unless it runs and listens.
    pub fn is_live(&self) -> Result<()> {
        self.ask("/livez")
    }

    /// An error, with what it said, unless it can do its work.
    pub fn is_ready(&self) -> Result<()> {
        self.ask("/readyz")
    }

    fn ask(&self, path: &str) -> Result<()> {
        match self {
            Self::Postgres { programs, url } => postgres::query(programs, url, "select 1").map(drop),
            Self::Nats { port } => {
                let mut greeting = [0; 5];
                let mut stream = connect(*port)?;
                stream.read_exact(&mut greeting).context("waiting for the greeting")?;
                if &greeting == b"INFO " { Ok(()) } else { Err(Error::new("this is no NATS server")) }
            }
            Self::Http { port } => match get(*port, path)? {
                (200, _) => Ok(()),
                (status, body) => Err(Error::new(format!("{path} says {status} {}", body.trim()))),
            },
            Self::Running => Ok(()),
        }
    }
}

/// Status and body of a `GET` at 127.0.0.1.
pub fn get(port: u16, path: &str) -> Result<(u16, String)> {
    let mut stream = connect(port)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).context(format_args!("asking for {path}"))?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).context(format_args!("reading {path}"))?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| Error::new(format!("port {port} does not speak HTTP")))?;
    Ok((status, body.to_owned()))
}

fn connect(port: u16) -> Result<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, LIMIT).context(format_args!("connecting to {address}"))?;
    stream.set_read_timeout(Some(LIMIT)).context("setting a time limit")?;
    stream.set_write_timeout(Some(LIMIT)).context("setting a time limit")?;
    Ok(stream)
}

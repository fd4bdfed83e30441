//! Ports on this machine: finding free ones, naming who holds a taken one.

use std::collections::HashSet;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::stack::secret;

/// Below the ports that the system gives to outgoing connections, so that a stopped part finds its port free again.
const FIRST: u16 = 20_000;
const LAST: u16 = 31_999;

/// Ports given out by this process. A part may be stopped for a while and wants its own port back.
static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// A port nobody listens at and that this process did not give out before.
pub fn free() -> Result<u16> {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let given = given.get_or_insert_default();
    for _ in 0..1000 {
        let random = u16::from_str_radix(&secret::hex(2)?, 16).unwrap_or_default();
        let port = FIRST + random % (LAST - FIRST + 1);
        if is_free(port) && given.insert(port) {
            return Ok(port);
        }
    }
    Err(Error::new(format!("no free port between {FIRST} and {LAST}")))
}

/// Whether one could listen there.
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The process that listens at a port, as text for a person.
pub fn holder(port: u16) -> String {
    let sockets = listening_at(port);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit())) {
        let files = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let links = files.filter_map(|file| fs::read_link(file.path()).ok());
        if links.into_iter().any(|link| sockets.contains(link.to_string_lossy().as_ref())) {
            let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let words: String = words.trim().chars().take(120).collect();
            return format!("process {} ({words})", process.file_name().to_string_lossy());
        }
    }
    "a process of another user".to_owned()
}

/// The sockets that listen at a port, named as the links in `/proc/<pid>/fd` name them.
fn listening_at(port: u16) -> HashSet<String> {
    let mut sockets = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, local, _, "0A", _, _, _, _, _, inode, ..] = fields[..] else { continue };
            if local.rsplit_once(':').and_then(|(_, hex)| u16::from_str_radix(hex, 16).ok()) == Some(port) {
                sockets.insert(format!("socket:[{inode}]"));
            }
        }
    }
    sockets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_names_its_holder() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert!(!is_free(port));
        assert!(holder(port).starts_with(&format!("process {} ", std::process::id())), "{}", holder(port));
    }

    #[test]
    fn a_port_is_given_out_once() {
        let ports: HashSet<_> = (0..50).map(|_| free().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
    }
}

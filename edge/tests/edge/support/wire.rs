//! HTTP written and read by hand, byte for byte, since clients tidy up what they send.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::edge::Edge;
use super::publisher::SERVER_KEY;

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// One connection.
pub(crate) struct Wire {
    stream: TcpStream,
    /// Read from the stream and not yet part of a reply.
    rest: Vec<u8>,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// A header's value; its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The body as JSON, which it must be.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Whether the connection ends after it.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

impl Wire {
    pub(crate) fn to(edge: &Edge) -> Self {
        Self::to_address(edge.address.trim_start_matches("http://"))
    }

    pub(crate) fn to_address(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream.set_write_timeout(Some(DEADLINE)).expect("a deadline");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, rest: Vec::new() }
    }

    /// Sends bytes; whether the other side still takes them.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Says that nothing more will come, and goes on listening.
    pub(crate) fn shut_write(&self) {
        self.stream.shutdown(Shutdown::Write).expect("shut");
    }

    /// The next answer, whose length its head must tell; `None` when the connection ends instead.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        self.reply_of(true)
    }

    /// The next answer to a `HEAD`, which has no body whatever its head says.
    pub(crate) fn reply_to_head(&mut self) -> Option<Reply> {
        self.reply_of(false)
    }

    fn reply_of(&mut self, has_body: bool) -> Option<Reply> {
        let end = loop {
            match self.rest.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None if self.read_more() => {}
                None if self.rest.is_empty() => return None,
                None => panic!("half an answer: {:?}", String::from_utf8_lossy(&self.rest)),
            }
        };
        let head = String::from_utf8(self.rest.drain(..end).collect()).expect("a head of text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut reply = Reply { status, head, body: Vec::new() };
        // An interim answer has none.
        if has_body && status >= 200 && status != 204 && status != 304 {
            let length: usize = reply.header("content-length").expect("a length").parse().expect("a number");
            while self.rest.len() < length {
                assert!(self.read_more(), "the answer ends early: {reply:?}");
            }
            reply.body = self.rest.drain(..length).collect();
        }
        Some(reply)
    }

    /// Waits until the other side closes, without another byte.
    pub(crate) fn closes_silently(&mut self) -> bool {
        !self.read_more()
    }

    fn read_more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.rest.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("neither bytes nor an end within {DEADLINE:?}: {error}"),
        }
    }
}

/// The head of a `POST` with the server key and without the empty line; more header lines may follow.
pub(crate) fn post(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: edge\r\nx-api-key: {SERVER_KEY}\r\n")
}

/// A whole `POST` with a body.
pub(crate) fn post_body(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [format!("{}content-length: {}\r\n\r\n", post(path), body.len()).as_bytes(), body].concat()
}

/// All answers to some bytes on a connection of their own, which the last answer must end.
pub(crate) fn exchange(edge: &Edge, bytes: impl AsRef<[u8]>) -> Vec<Reply> {
    let mut wire = Wire::to(edge);
    wire.send(bytes);
    std::iter::from_fn(|| wire.reply()).collect()
}

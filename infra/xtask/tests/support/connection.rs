//! A connection to an edge that is kept, with the little of HTTP that an edge's answers need.

use std::io::{self, Write};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    /// To an address such as `127.0.0.1:8081`.
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: Vec::new(), answer: Vec::new() })
    }

    /// Asks `/evaluate`. The body of a 200; anything else is an error.
    pub(crate) async fn evaluate(&mut self, key: &str, body: &str) -> io::Result<&[u8]> {
        self.request.clear();
        write!(
            self.request,
            "POST /evaluate HTTP/1.1\r\nhost: edge\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(end) = self.answer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.answer[..end]).map_err(io::Error::other)?;
            let length = head.split("\r\n").find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let length: usize = length.ok_or_else(|| io::Error::other("an answer without a length"))?;
            if self.answer.len() < end + 4 + length {
                continue;
            }
            if !head.starts_with("HTTP/1.1 200 ") {
                return Err(io::Error::other(String::from_utf8_lossy(&self.answer).into_owned()));
            }
            return Ok(&self.answer[end + 4..end + 4 + length]);
        }
    }
}

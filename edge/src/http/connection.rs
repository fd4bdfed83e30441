//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::http::service::AnswerBody;

/// How long a client may take to hear the last answer.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
/// The most bytes that are taken in from it meanwhile.
const LINGER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Serves requests until either side has enough, or `stop`.
pub(super) async fn serve<S>(http: http1::Builder, stream: TcpStream, service: S, stop: CancellationToken)
where
    S: HttpService<Incoming, ResBody = AnswerBody, Error = Infallible> + Unpin,
    S::Future: Future<Output = std::result::Result<Response<AnswerBody>, Infallible>>,
{
    let io = Io { stream, saw_end: false };
    let mut serving = http.serve_connection(TokioIo::new(io), service);
    let ended = tokio::select! {
        biased;
        ended = &mut serving => ended,
        () = stop.cancelled() => {
            Pin::new(&mut serving).graceful_shutdown();
            (&mut serving).await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection ended");
    }
    let stream = serving.into_parts().io.into_inner().stream;
    // A client that is slow to hear it loses the answer, nothing else.
    let _ = timeout(LINGER_TIMEOUT, linger(stream)).await;
}

/// Closes this side and takes in what the client still sends. The kernel would answer bytes that nobody read with a
/// reset, and a reset overtakes the answer that says what was wrong with them.
async fn linger(mut stream: TcpStream) -> Result<()> {
    stream.shutdown().await?;
    let mut buffer = [0; 4 * 1024];
    let mut taken = 0;
    while taken < LINGER_BYTES_MAX {
        match stream.read(&mut buffer).await? {
            0 => break,
            count => taken += count,
        }
    }
    Ok(())
}

/// A stream whose end is told one turn late. A client may shut its side right after the request; told of both at once,
/// hyper takes it for gone and drops the request, while one turn is enough to answer it.
struct Io {
    stream: TcpStream,
    saw_end: bool,
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let (room, filled) = (buffer.remaining(), buffer.filled().len());
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() == filled && room > 0 && !self.saw_end {
            self.saw_end = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }
}

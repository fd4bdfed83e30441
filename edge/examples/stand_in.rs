//! The least a server on hyper does: reads a request's body and sends a constant answer. Threads and sockets are set up
//! as the edge's are, so the difference in CPU time is what FluxGate adds.
//!
//! `cargo run --release -p edge --example stand_in -- 127.0.0.1:8099`

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::mpsc;

const ANSWER: &str = r#"{"flagKey":"flag-00001","value":true,"variant":"on","reason":"TARGETING_MATCH","metadata":{"flagSetId":"shop/production","version":"7"}}"#;

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8099".into());
    let listener = TcpListener::bind(address)?;
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..count).map(|_| worker()).collect();
    for (turn, stream) in listener.incoming().enumerate() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        workers[turn % count].send(stream).map_err(std::io::Error::other)?;
    }
    Ok(())
}

fn worker() -> mpsc::UnboundedSender<std::net::TcpStream> {
    let (sender, mut streams) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(std::time::Duration::from_secs(60)).pipeline_flush(true);
        let http = Arc::new(http);
        runtime.block_on(async move {
            while let Some(stream) = streams.recv().await {
                let stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
                let http = Arc::clone(&http);
                tokio::spawn(async move {
                    // A client that goes away ends its connection, nothing else.
                    let _ = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
                });
            }
        });
    });
    sender
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // A body that breaks off gets the same answer.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

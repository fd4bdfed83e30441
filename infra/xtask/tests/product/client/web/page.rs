//! A page of a web origin of its own, with the web client in it, open in a real browser.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use xtask::stack::port;

use crate::browser::driver::Browser;
use crate::client::script::node_folder;
use crate::support::PATIENCE;

/// How long a browser may take to say what it wants.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// The most bytes of a request's line.
const LINE_BYTES_MAX: u64 = 8 * 1024;
const HTML: &str = "<!doctype html><meta charset=\"utf-8\"><title>An application</title><script type=\"module\" src=\"/page.js\"></script>";

/// An open page.
pub(crate) struct Page {
    browser: Browser,
    site: Site,
}

impl Page {
    /// Opens a page that answers commands.
    pub(crate) async fn open() -> Self {
        let site = Site::start(bundle(node_folder().path(), "web-page.mjs", &[]).await).await;
        let browser = Browser::start().await;
        browser.go(&site.origin).await;
        Self { browser, site }
    }

    /// Lets the client in the page answer a command; one that fails is `Err`.
    pub(crate) async fn call(&mut self, command: &Value) -> Result<Value, String> {
        let script = "tell(arguments[0]).then(arguments[arguments.length - 1])";
        let mut answer = self.browser.run_async(script, vec![command.clone()]).await;
        match answer["failed"].as_str() {
            Some(failed) => Err(failed.to_owned()),
            None => Ok(answer["answer"].take()),
        }
    }

    /// Loads the page anew: nothing stays but what the browser keeps for its origin.
    pub(crate) async fn reload(&self) {
        self.browser.go(&self.site.origin).await;
    }

    /// The page's web origin.
    pub(crate) fn origin(&self) -> &str {
        &self.site.origin
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
    }
}

/// Makes one script for a browser of a script and all it imports; `variables` are what its bundler knows.
pub(crate) async fn bundle(folder: &Path, script: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new("node");
    command.arg("node_modules/esbuild/bin/esbuild").args([script, "--bundle", "--format=esm"]);
    for (name, value) in variables {
        command.arg(format!("--define:{name}={}", Value::from(*value)));
    }
    command.current_dir(folder).kill_on_drop(true).stdin(Stdio::null());
    let output = timeout(PATIENCE, command.output()).await.expect("a bundler that ends").expect("a bundler");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Serves one page and its script; ends when dropped.
pub(crate) struct Site {
    pub(crate) origin: String,
    served: JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.served.abort();
    }
}

impl Site {
    pub(crate) async fn start(script: String) -> Self {
        let port = port::free().expect("a free port");
        let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port");
        let script = Arc::new(script);
        let served = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A browser opens connections before it needs them.
                tokio::spawn(timeout(REQUEST_LIMIT, answer(stream, Arc::clone(&script))));
            }
        });
        Self { origin: format!("http://127.0.0.1:{port}"), served }
    }
}

async fn answer(mut stream: TcpStream, script: Arc<String>) -> std::io::Result<()> {
    let mut line = String::new();
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(tokio::io::AsyncReadExt::take(reader, LINE_BYTES_MAX));
    reader.read_line(&mut line).await?;
    // The rest of the head says nothing we need, and is read lest closing cuts the answer off.
    let mut rest = String::new();
    while reader.read_line(&mut rest).await? > 2 {
        rest.clear();
    }
    let (status, kind, body) = match line.split(' ').nth(1) {
        Some("/") => ("200 OK", "text/html", HTML),
        Some("/page.js") => ("200 OK", "text/javascript", script.as_str()),
        _ => ("404 Not Found", "text/plain", ""),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    writer.write_all(head.as_bytes()).await?;
    writer.write_all(body.as_bytes()).await?;
    writer.shutdown().await
}

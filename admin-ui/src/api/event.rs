//! The event stream, read with `fetch`: `EventSource` hides the status, so a 401 could not open the sign-in dialog.

use futures::future::{Either, select};
use gloo_net::http::Request;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Reflect, Uint8Array};
use shared::wire::api::event::Event;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, ReadableStreamDefaultReader};

use crate::api::client;
use crate::route::Query;

/// The backend sends a comment every 15 s; a stream that is silent for longer is dead.
const SILENCE_MS: u32 = 40_000;
/// Longest line that is taken; longer ones mean that this is no event stream.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nobody is signed in.
    Unauthorized,
    /// What is asked for is not there; asking for the same again is no use.
    Refused,
    /// Lost, or never there; worth another try.
    Lost,
}

/// A flag in an environment, whose counts are told as they come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Key of its project.
    pub project: String,
    /// Key of the environment.
    pub environment: String,
    /// Its key.
    pub flag: String,
}

/// Reads the stream until it ends; `opened` is called once it is there, `heard` for every sign of life.
pub async fn read(watched: Option<&Watched>, opened: impl Fn(), heard: impl Fn(Option<Event>) -> bool) -> End {
    let Ok(controller) = AbortController::new() else { return End::Lost };
    let end = read_with(&controller, watched, opened, heard).await;
    controller.abort();
    end
}

async fn read_with(
    controller: &AbortController,
    watched: Option<&Watched>,
    opened: impl Fn(),
    heard: impl Fn(Option<Event>) -> bool,
) -> End {
    let query = Query::default()
        .with("project", watched.map(|watched| watched.project.as_str()))
        .with("environment", watched.map(|watched| watched.environment.as_str()))
        .with("flag", watched.map(|watched| watched.flag.as_str()));
    let request = Request::get(&format!("{}{query}", client::path(&["events"])))
        .header("Accept", "text/event-stream")
        .abort_signal(Some(&controller.signal()));
    let Ok(response) = request.send().await else { return End::Lost };
    if response.status() == 401 {
        return End::Unauthorized;
    }
    if (400..500).contains(&response.status()) {
        return End::Refused;
    }
    let Some(body) = response.body().filter(|_| response.ok()) else { return End::Lost };
    let Ok(reader) = body.get_reader().dyn_into::<ReadableStreamDefaultReader>() else { return End::Lost };
    opened();
    let mut lines = Lines::default();
    while let Some(bytes) = chunk(&reader).await {
        if !heard(None) {
            return End::Lost;
        }
        let Some(events) = lines.take(&bytes) else { return End::Lost };
        for event in events {
            heard(Some(event));
        }
    }
    End::Lost
}

/// The next bytes; `None` at the end, on failure, and after too long a silence.
async fn chunk(reader: &ReadableStreamDefaultReader) -> Option<Vec<u8>> {
    let read = JsFuture::from(reader.read());
    let result = match select(read, TimeoutFuture::new(SILENCE_MS)).await {
        Either::Left((result, _)) => result.ok()?,
        Either::Right(_) => return None,
    };
    let is_done = Reflect::get(&result, &JsValue::from_str("done")).ok()?.is_truthy();
    let value = Reflect::get(&result, &JsValue::from_str("value")).ok()?;
    if is_done { None } else { Some(value.dyn_into::<Uint8Array>().ok()?.to_vec()) }
}

/// Puts chunks together to lines, and lines to events.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    data: String,
}

impl Lines {
    /// The events that are complete with these bytes; `None` when this is no event stream.
    fn take(&mut self, bytes: &[u8]) -> Option<Vec<Event>> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                // An event of a newer backend that this page does not know means: ask for everything again.
                let data = std::mem::take(&mut self.data);
                if !data.is_empty() {
                    events.push(serde_json::from_str(&data).unwrap_or(Event::Resync));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        (self.rest.len() <= LINE_BYTES_MAX && self.data.len() <= LINE_BYTES_MAX).then_some(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_any_cut_of_the_stream() {
        let text = ": hello\n\ndata: {\"type\":\"resync\"}\n\ndata:{\"type\":\"edges\"}\r\n\r\n";
        for cut in 0..text.len() {
            let mut lines = Lines::default();
            let mut events = lines.take(&text.as_bytes()[..cut]).expect("a stream");
            events.extend(lines.take(&text.as_bytes()[cut..]).expect("a stream"));
            assert_eq!(events, [Event::Resync, Event::Edges], "cut at {cut}");
        }
    }

    #[test]
    fn an_unknown_event_asks_for_everything_again() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"data: {\"type\":\"moon\"}\n\n").expect("a stream"), [Event::Resync]);
    }
}

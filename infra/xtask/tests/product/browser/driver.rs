//! A real browser that finds things as assistive technology does: by role and accessible name.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities;
use thirtyfour::common::log::LoggingPrefsLogLevel;
use thirtyfour::prelude::*;
use xtask::stack::port;

use crate::support::PATIENCE;

/// As root in a container, without a network, and quiet.
const ARGUMENTS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1440,900",
];
const MARK: &str = "data-test-mark";
/// Kept as it is, under its own licence beside it.
const AXE: &str = include_str!("axe.min.js");

/// Chromium behind its driver; both end when dropped.
pub(crate) struct Browser {
    driver: WebDriver,
    process: Driver,
}

struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // Its browsers are its children and end with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let port = port::free().expect("a free port");
        let child = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver; run `cargo xtask setup`");
        let mut process = Driver(child);
        let mut wanted = DesiredCapabilities::chrome();
        for argument in ARGUMENTS {
            wanted.add_arg(argument).expect("an argument");
        }
        wanted.set_browser_log_level(LoggingPrefsLogLevel::All).expect("a level");
        let end = Instant::now() + PATIENCE;
        let driver = loop {
            // Whoever answers once the child has ended is somebody else.
            let ended = process.0.try_wait().expect("a state");
            assert!(ended.is_none(), "chromedriver ended: {ended:?}");
            match WebDriver::new(format!("http://127.0.0.1:{port}"), wanted.clone()).await {
                Ok(driver) => break driver,
                Err(error) => assert!(Instant::now() < end, "no browser: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        for domain in ["DOM.enable", "Accessibility.enable"] {
            driver.cdp().send_raw(domain, json!({})).await.expect("a domain");
        }
        Self { driver, process }
    }

    pub(crate) async fn go(&self, url: &str) {
        self.driver.goto(url).await.expect("a page");
    }

    pub(crate) async fn address(&self) -> String {
        self.driver.current_url().await.expect("an address").to_string()
    }

    /// Waits for the one thing of this role whose name holds this text.
    pub(crate) async fn find(&self, role: &str, name: &str) -> WebElement {
        let end = Instant::now() + PATIENCE;
        loop {
            let names = match self.marked(role, name).await {
                Ok(Some(element)) => return element,
                Ok(None) => self.names(role).await,
                Err(error) => vec![error],
            };
            if Instant::now() >= end {
                let text = self.text().await;
                panic!("no {role} \"{name}\" among {names:?} on {}:\n{text}", self.address().await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn press(&self, role: &str, name: &str) {
        let end = Instant::now() + PATIENCE;
        // What moves into view or is drawn anew meanwhile is looked for again.
        while let Err(error) = self.find(role, name).await.click().await {
            assert!(Instant::now() < end, "{role} \"{name}\" cannot be pressed: {error}");
        }
    }

    pub(crate) async fn fill(&self, name: &str, text: &str) {
        let field = self.find("textbox", name).await;
        field.click().await.expect("a click");
        field.send_keys(Key::Control + "a").await.expect("keys");
        field.send_keys(text).await.expect("keys");
    }

    /// Waits until the page shows this text.
    pub(crate) async fn wait_for_text(&self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let shown = self.text().await;
            if shown.contains(text) {
                return;
            }
            assert!(Instant::now() < end, "\"{text}\" is not on {}:\n{shown}", self.address().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What the page shows.
    pub(crate) async fn text(&self) -> String {
        let text = self.run("return document.body ? document.body.innerText : ''").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// What must hold on every screen: nothing serious or critical for axe in light and dark, nothing wider than a phone.
    pub(crate) async fn check_screen(&self, name: &str) {
        for theme in ["light", "dark"] {
            self.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
            let found = self.axe().await;
            assert!(found.is_empty(), "{name} in {theme}: {found:#?}");
        }
        self.run("delete document.documentElement.dataset.theme").await;
        let narrow = json!({ "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": false });
        self.driver.cdp().send_raw("Emulation.setDeviceMetricsOverride", narrow).await.expect("a phone");
        let wide = self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth").await;
        self.driver.cdp().send_raw("Emulation.clearDeviceMetricsOverride", json!({})).await.expect("a screen");
        assert_eq!(wide, json!(0), "{name} scrolls sideways at 360 px");
    }

    /// Errors the page logged, content security included. That nobody is signed in yet is an answer, not an error.
    pub(crate) async fn errors(&self) -> Vec<String> {
        let log = self.driver.browser_log().await.expect("a log");
        let errors = log.into_iter().filter(|entry| entry.level == "SEVERE").map(|entry| entry.message);
        errors.filter(|message| !message.contains("/api/v1/session - Failed to load resource")).collect()
    }

    pub(crate) async fn end(self) {
        self.driver.quit().await.expect("the end of the browser");
        drop(self.process);
    }

    async fn axe(&self) -> Vec<String> {
        self.run(AXE).await;
        let script = "const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ['violations'] }).then(
                result => done(result.violations.filter(v => v.impact === 'serious' || v.impact === 'critical')
                    .map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | '))),
                error => done(['axe failed: ' + error]))";
        serde_json::from_value(self.run_async(script, Vec::new()).await).expect("a list")
    }

    /// Runs a script that calls its last argument with a result.
    pub(crate) async fn run_async(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.driver.execute_async(script, arguments).await.expect("a result").json().clone()
    }

    async fn run(&self, script: &str) -> Value {
        self.driver.execute(script, Vec::new()).await.map(|found| found.json().clone()).unwrap_or(Value::Null)
    }

    async fn names(&self, role: &str) -> Vec<String> {
        let nodes = self.nodes(role).await.unwrap_or_default();
        nodes.iter().map(|node| node["name"]["value"].as_str().unwrap_or_default().to_owned()).collect()
    }

    async fn nodes(&self, role: &str) -> Result<Vec<Value>, String> {
        let document = self.driver.cdp().send_raw("DOM.getDocument", json!({})).await.map_err(|e| e.to_string())?;
        let query = json!({ "nodeId": document["root"]["nodeId"], "role": role });
        let found = self.driver.cdp().send_raw("Accessibility.queryAXTree", query).await;
        let found = found.map_err(|error| error.to_string())?;
        Ok(found["nodes"].as_array().cloned().unwrap_or_default())
    }

    /// The first thing of a role and name; marked in the page so that WebDriver finds the same.
    async fn marked(&self, role: &str, name: &str) -> Result<Option<WebElement>, String> {
        let nodes = self.nodes(role).await?;
        let named = |exact: bool| {
            nodes.iter().find(|node| {
                let found = node["name"]["value"].as_str().unwrap_or_default();
                let is_shown = node["ignored"] != json!(true);
                is_shown && if exact { found == name } else { found.contains(name) }
            })
        };
        let Some(node) = named(true).or_else(|| named(false)) else { return Ok(None) };
        let backend = json!({ "backendNodeIds": [node["backendDOMNodeId"]] });
        let pushed = self.driver.cdp().send_raw("DOM.pushNodesByBackendIdsToFrontend", backend).await;
        let pushed = pushed.map_err(|error| error.to_string())?;
        let mark = format!("{}", node["backendDOMNodeId"]);
        let set = json!({ "nodeId": pushed["nodeIds"][0], "name": MARK, "value": mark });
        self.driver.cdp().send_raw("DOM.setAttributeValue", set).await.map_err(|error| error.to_string())?;
        let element = self.driver.find(By::Css(format!("[{MARK}=\"{mark}\"]"))).await;
        element.map(Some).map_err(|error| error.to_string())
    }
}

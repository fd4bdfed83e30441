//! Where a web page comes from, as its browser says it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The most characters of an origin.
const CHARS_MAX: usize = 300;

/// Scheme, host and port of web pages, as `https://shop.example` or `http://localhost:5173`; as browsers write it in the
/// header `Origin`, so that it can be compared byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
pub struct WebOrigin(Box<str>);

/// Why a text is not an origin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is no web origin: {rule}; write it as https://shop.example or http://localhost:5173")]
pub struct WebOriginError {
    text: String,
    rule: &'static str,
}

impl WebOrigin {
    /// The origin as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WebOrigin {
    type Err = WebOriginError;

    fn from_str(text: &str) -> Result<Self, WebOriginError> {
        parse(text.trim()).map(|origin| Self(origin.into())).map_err(|rule| {
            let text = text.chars().take(60).collect();
            WebOriginError { text, rule }
        })
    }
}

/// The origin as browsers write it: in lower case, without the scheme's own port. A slash at the end, as an address bar
/// gives it, is taken off.
fn parse(text: &str) -> Result<String, &'static str> {
    if text.len() > CHARS_MAX {
        return Err("it is longer than 300 characters");
    }
    let text = text.to_ascii_lowercase();
    let (scheme, rest) = text.split_once("://").ok_or("it does not begin with a scheme and ://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme {
        return Err("its scheme is not one");
    }
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '?', '#', '@']) {
        return Err("it has more than scheme, host and port");
    }
    let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    let is_name = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_address && !is_name {
        return Err("its host is not one (names beyond ASCII are written as xn--…, and there is no wildcard)");
    }
    let port: Option<u16> =
        port.map(|port| port.parse().map_err(|_| "its port is no number up to 65535")).transpose()?;
    let own = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    Ok(match port.filter(|port| Some(*port) != own) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

impl TryFrom<String> for WebOrigin {
    type Error = WebOriginError;

    fn try_from(text: String) -> Result<Self, WebOriginError> {
        text.parse()
    }
}

impl From<WebOrigin> for String {
    fn from(origin: WebOrigin) -> Self {
        origin.0.into()
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_becomes_what_browsers_send() {
        for (typed, sent) in [
            ("https://shop.example", "https://shop.example"),
            (" HTTPS://Shop.Example:443/ ", "https://shop.example"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
            ("capacitor://localhost", "capacitor://localhost"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(typed.parse::<WebOrigin>().map(|origin| origin.to_string()).as_deref(), Ok(sent));
        }
    }

    #[test]
    fn what_no_browser_sends_is_refused_with_the_reason() {
        for (typed, reason) in [
            ("", "scheme and ://"),
            ("*", "scheme and ://"),
            ("null", "scheme and ://"),
            ("shop.example", "scheme and ://"),
            ("1://a", "scheme is not one"),
            ("https://", "host"),
            ("https://*.shop.example", "wildcard"),
            ("https://bücher.example", "xn--"),
            ("https://shop.example/cart", "more than scheme"),
            ("https://ana@shop.example", "more than scheme"),
            ("https://shop.example?x", "more than scheme"),
            ("https://shop.example:70000", "port"),
            ("https://shop.example:", "port"),
            ("https://[::1", "host"),
            (&format!("https://{}", "a".repeat(300)), "300"),
        ] {
            let error = typed.parse::<WebOrigin>().expect_err("refused").to_string();
            assert!(error.contains(reason) && error.contains("https://shop.example"), "{typed}: {error}");
        }
    }
}

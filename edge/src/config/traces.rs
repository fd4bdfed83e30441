//! Where traces go, and how many.

use std::fmt;
use std::path::PathBuf;

use hyper::Uri;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::config::setting::{Setting, secret};

/// Where OTLP is spoken over HTTP on a collector.
const PATH: &str = "/v1/traces";
/// The most pairs of a list.
const PAIRS_MAX: usize = 64;

/// Where traces go, and how many.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traces {
    /// Base address of a collector that takes OTLP over HTTP, as `http://collector:4318`; `/v1/traces` is added.
    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` says when absent; without either, or when empty, there are no traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The part of requests without a `traceparent` that get a span, 0 to 1. Others do as their caller.
    pub sample_ratio: f64,
    /// Headers for the collector, as `name=value,name=value`, values percent-encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<String>,
    /// A file holding them, in place of `headers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_file: Option<PathBuf>,
    /// Attributes of this process, as `name=value,name=value`; what `OTEL_RESOURCE_ATTRIBUTES` says when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_attributes: Option<String>,
    /// Whether spans name the targeting key that was asked with. It may be a person.
    pub targeting_key: bool,
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            endpoint: None,
            sample_ratio: 0.01,
            headers: None,
            headers_file: None,
            resource_attributes: None,
            targeting_key: false,
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Traces");
        shown.field("endpoint", &self.endpoint).field("sample_ratio", &self.sample_ratio).finish_non_exhaustive()
    }
}

/// The collector's address in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name or address.
    pub host: String,
    /// 80 or 443 when the address names none.
    pub port: u16,
    /// Both, as the address has them.
    pub authority: HeaderValue,
    /// With what is added to it.
    pub path: Uri,
    /// Through TLS.
    pub is_https: bool,
}

impl Traces {
    /// The collector's address; none when traces are off.
    pub fn collector(&self) -> Result<Option<Endpoint>, ConfigError> {
        let Some(text) = self.endpoint.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let found = Endpoint::parse(text).map(Some);
        found.ok_or_else(|| invalid("traces.endpoint", &format!("'{text}' is not an http or https address")))
    }

    /// The headers for the collector.
    pub fn header_map(&self) -> Result<HeaderMap, ConfigError> {
        let list = self.headers.as_deref().unwrap_or_default();
        // Never shows a value: it may be a secret.
        let pairs = pairs(list).map_err(|problem| invalid("traces.headers", &problem))?;
        let mut headers = HeaderMap::with_capacity(pairs.len());
        for (name, value) in pairs {
            let parsed = HeaderName::try_from(&name).ok().zip(HeaderValue::try_from(value).ok());
            let Some((parsed, mut value)) = parsed else {
                return Err(invalid("traces.headers", &format!("'{name}' or its value cannot be a header")));
            };
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        Ok(headers)
    }

    /// Attributes of this process.
    pub fn attributes(&self) -> Result<Vec<(String, String)>, ConfigError> {
        let list = self.resource_attributes.as_deref().unwrap_or_default();
        pairs(list).map_err(|problem| invalid("traces.resource_attributes", &problem))
    }

    /// Reads the secret and checks everything.
    pub(super) fn check(&mut self) -> Result<(), ConfigError> {
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return Err(invalid("traces.sample_ratio", "use 0 to 1"));
        }
        secret("traces.headers", "traces.headers_file", &mut self.headers, &mut self.headers_file)?;
        self.collector()?;
        self.header_map()?;
        self.attributes().map(drop)
    }
}

impl Endpoint {
    fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_https = match uri.scheme_str()? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let authority = uri.authority()?;
        // A name with a user in it, or a query, would be left out in silence.
        if authority.as_str().contains('@') || uri.query().is_some() || authority.host().is_empty() {
            return None;
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let path = format!("{}{PATH}", uri.path().trim_end_matches('/')).parse().ok()?;
        Some(Self { host, port, authority: HeaderValue::from_str(authority.as_str()).ok()?, path, is_https })
    }
}

/// Reads `name=value,name=value` with percent-encoded values, as OpenTelemetry's variables have it.
fn pairs(list: &str) -> Result<Vec<(String, String)>, String> {
    let items: Vec<&str> = list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    if items.len() > PAIRS_MAX {
        return Err(format!("there are {} pairs; use at most {PAIRS_MAX}", items.len()));
    }
    let pair = |item: &str| {
        let (name, value) = item.split_once('=').filter(|(name, _)| !name.trim().is_empty())?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned()))
    };
    let numbered = items.iter().enumerate();
    numbered.map(|(at, item)| pair(item).ok_or_else(|| format!("pair {} is not name=value", at + 1))).collect()
}

fn invalid(path: &str, problem: &str) -> ConfigError {
    Setting::of(path)
        .map_or_else(|| ConfigError::Unknown(path.into(), String::new()), |setting| setting.invalid(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn an_address_is_taken_apart_and_the_path_added() {
        let endpoint = |text| Endpoint::parse(text).map(|found| (found.host, found.port, found.path.to_string()));
        let expected = |host: &str, port, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(endpoint("http://collector:4318"), expected("collector", 4318, "/v1/traces"));
        assert_eq!(endpoint("https://otlp.example/base/"), expected("otlp.example", 443, "/base/v1/traces"));
        assert_eq!(endpoint("http://[::1]:4318/"), expected("::1", 4318, "/v1/traces"));
        for bad in ["collector:4318", "grpc://collector", "http://", "http://a:b@c", "http://c?x=1", "/v1/traces"] {
            assert_eq!(endpoint(bad), None, "{bad}");
        }
    }

    #[test]
    fn pairs_are_read_as_opentelemetry_writes_them() {
        let read = pairs(" a=1, b = two%20words ,c=x=y,").expect("pairs");
        let read: Vec<_> = read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(read, [("a", "1"), ("b", "two words"), ("c", "x=y")]);
        assert!(pairs("").expect("none").is_empty());
        assert_eq!(pairs("a=1,secret"), Err("pair 2 is not name=value".into()));
        assert!(pairs(&"a=1,".repeat(65)).is_err());
    }

    #[test]
    fn a_bad_header_is_named_without_its_value() {
        let traces = Traces { headers: Some("x y=hidden".into()), ..Traces::default() };
        let error = traces.header_map().expect_err("refused").to_string();
        assert!(
            error.contains("EDGE_TRACES__HEADERS") && error.contains("x y") && !error.contains("hidden"),
            "{error}"
        );
    }

    #[test]
    fn traces_go_where_opentelemetry_says_unless_the_edge_is_told_otherwise() {
        let otel = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        let read = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Config::read(None, variables, &[])
        };
        assert_eq!(read(&[]).expect("settings").traces.collector().expect("none"), None);
        let host = |variables: &[_]| {
            let collector = read(variables).expect("settings").traces.collector().expect("an address");
            collector.map(|endpoint| endpoint.host)
        };
        assert_eq!(host(&[otel]).as_deref(), Some("collector"));
        assert_eq!(host(&[otel, ("EDGE_TRACES__ENDPOINT", "https://own")]).as_deref(), Some("own"));
        assert_eq!(host(&[otel, ("EDGE_TRACES__ENDPOINT", "")]), None, "empty is off");
        for (name, value) in [
            ("EDGE_TRACES__ENDPOINT", "collector:4318"),
            ("EDGE_TRACES__SAMPLE_RATIO", "1.5"),
            ("EDGE_TRACES__SAMPLE_RATIO", "NaN"),
            ("EDGE_TRACES__TARGETING_KEY", "yes"),
            ("EDGE_TRACES__HEADERS", "key"),
            ("EDGE_TRACES__RESOURCE_ATTRIBUTES", "x"),
        ] {
            let error = read(&[(name, value)]).expect_err("refused").to_string();
            assert!(error.contains(name) && error.contains("for example"), "{error}");
        }
    }
}

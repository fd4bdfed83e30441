//! `[webhooks]`: where webhooks may send. Whoever may make one chooses what this backend connects to.

use serde::Deserialize;

use crate::config::yes_or_no;

/// `[webhooks]`: both are false unless somebody runs receivers on a network of their own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Webhooks {
    /// Whether `http://` will do. Everybody on the way can then read events, though not forge them.
    #[serde(deserialize_with = "yes_or_no")]
    pub allow_http: bool,
    /// Whether addresses of private networks, loopback and the like may be called, for tests and intranets. With it,
    /// whoever manages webhooks can reach whatever this backend can.
    #[serde(deserialize_with = "yes_or_no")]
    pub allow_private: bool,
}

#[cfg(test)]
mod tests {
    use figment::Figment;
    use figment::providers::{Format, Toml};

    use super::*;

    #[test]
    fn nothing_but_public_https_is_allowed_unless_said_as_truth_or_text() {
        let read =
            |toml: &str| Figment::from(Toml::string(toml)).extract::<Webhooks>().map_err(|error| error.to_string());
        let settings = read("").expect("settings");
        assert!(!settings.allow_http && !settings.allow_private);
        let settings = read("allow_http = true\nallow_private = \"true\"").expect("settings");
        assert!(settings.allow_http && settings.allow_private);
        let error = read("allow_private = \"perhaps\"").expect_err("no truth");
        assert!(error.contains("'perhaps' is neither true nor false"), "{error}");
        assert!(read("allow_privat = true").is_err());
    }
}

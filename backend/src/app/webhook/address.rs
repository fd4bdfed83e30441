//! Where a webhook may send: what its URL may be, and which addresses are on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use shared::wire::api::webhook::URL_BYTES_MAX;
use url::{Host, Url};

use crate::config::Webhooks;
use crate::error::AppError;

/// Reads a URL as it is sent to, or says what is wrong with it. A name is looked up each time something is sent, and its
/// addresses are checked then; addresses themselves are checked here, too.
pub fn parse(text: &str, settings: &Webhooks) -> Result<Url, AppError> {
    let wrong = |message: String| Err(AppError::field("url", message));
    if text.len() > URL_BYTES_MAX {
        return wrong(format!("has {} bytes; at most {URL_BYTES_MAX} are allowed", text.len()));
    }
    let url = match Url::parse(text.trim()) {
        Ok(url) => url,
        Err(error) => return wrong(format!("is no URL ({error}); write it as https://example.com/hooks")),
    };
    match url.scheme() {
        "https" => {}
        "http" if settings.allow_http => {}
        "http" => return wrong("must begin with https://; http:// needs the setting webhooks.allow_http".into()),
        other => return wrong(format!("begins with {other}:; it must begin with https://")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("holds a user or password; what receivers check is the signature".into());
    }
    if url.fragment().is_some() {
        return wrong("has a fragment (#…), which is never sent; leave it out".into());
    }
    if let Some(problem) = refused(&url, settings) {
        return wrong(problem);
    }
    Ok(url)
}

/// Why a URL's host is refused without looking it up.
fn refused(url: &Url, settings: &Webhooks) -> Option<String> {
    if settings.allow_private {
        return None;
    }
    let is_public = match url.host()? {
        Host::Ipv4(address) => is_public_v4(address),
        Host::Ipv6(address) => is_public_v6(address),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            !(name == "localhost" || name.ends_with(".localhost"))
        }
    };
    let host = url.host_str().unwrap_or_default();
    (!is_public).then(|| format!("{host} is not on the public internet; private networks need webhooks.allow_private"))
}

/// Whether an address is one of the public internet: nothing of a machine, a network or a provider of its own.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        // This network, loopback, private networks, link-local with the metadata of clouds.
        (0 | 10 | 127, _, _) | (172, 16..=31, _) | (192, 168, _) | (169, 254, _)
        // Between a provider and its customers; protocol assignments; benchmarks.
        | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _)
        // Documentation; the old way from IPv4 to IPv6.
        | (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99)
        // Multicast, reserved, broadcast.
        | (224..=255, _, _)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    // Networks that reach IPv4 through a translator give every name such an address.
    if [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let ([g1, g2], [h1, h2]) = (g.to_be_bytes(), h.to_be_bytes());
        return is_public_v4(Ipv4Addr::new(g1, g2, h1, h2));
    }
    // Only 2000::/3 is given out; in it, protocol assignments and Teredo (2001::/23), documentation and 6to4 are not.
    let is_special = (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || a == 0x2002 || (a == 0x3fff && b < 0x1000);
    (0x2000..=0x3fff).contains(&a) && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, settings: &Webhooks) -> Option<String> {
        parse(text, settings).err().map(|error| error.to_string())
    }

    #[test]
    fn addresses_off_the_public_internet_are_refused_however_they_are_written() {
        let settings = Webhooks { allow_http: true, allow_private: false };
        for host in [
            "127.0.0.1",
            "0x7f.1",
            "2130706433",
            "017700000001",
            "10.0.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "[::1]",
            "[::]",
            "[::ffff:10.0.0.1]",
            "[::ffff:7f00:1]",
            "[::127.0.0.1]",
            "[fe80::1]",
            "[fc00::1]",
            "[fdff::1]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[2002:7f00:1::]",
            "[2001:0:53aa:64c::1]",
            "[64:ff9b::a00:1]",
            "[3fff::1]",
        ] {
            let found = problem(&format!("http://{host}/hook"), &settings);
            assert!(
                found.as_ref().is_some_and(|text| text.contains("not on the public internet")),
                "{host}: {found:?}"
            );
            let allowed = Webhooks { allow_private: true, ..settings.clone() };
            assert_eq!(problem(&format!("http://{host}/hook"), &allowed), None, "{host}");
        }
    }

    #[test]
    fn public_addresses_and_names_are_allowed() {
        let settings = Webhooks::default();
        for host in [
            "example.com",
            "localhost.example.com",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "[2606:4700::1111]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::808:808]",
        ] {
            assert_eq!(problem(&format!("https://{host}:8443/hook?a=b"), &settings), None, "{host}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said() {
        let long = format!("https://example.com/{}", "a".repeat(URL_BYTES_MAX));
        for (text, expected) in [
            ("http://example.com", "webhooks.allow_http"),
            ("ftp://example.com", "begins with ftp:"),
            ("example.com/hook", "is no URL"),
            ("https://", "is no URL"),
            ("https://user:word@example.com", "user or password"),
            ("https://example.com/#top", "fragment"),
            (long.as_str(), "at most 2000 are allowed"),
        ] {
            let found = problem(text, &Webhooks::default()).expect(text);
            assert!(found.contains(expected), "{found}");
        }
    }
}

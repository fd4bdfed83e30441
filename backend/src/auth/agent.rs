//! Browsers in a few words, so that people recognise their sessions.

/// The longest description, in characters.
const CHARS_MAX: usize = 60;

/// What shows in a user agent, and what people call it. Browsers name those they descend from, so the youngest comes first.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];

/// Where a browser runs; what is built upon another comes first.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// A user agent as "Firefox 141 on Linux"; its beginning when it is none that is known.
pub fn describe(user_agent: &str) -> String {
    let browser = BROWSERS.into_iter().find_map(|(mark, name)| {
        let (_, version) = user_agent.split_once(mark)?;
        let major: String = version.chars().take_while(char::is_ascii_digit).take(4).collect();
        Some(format!("{name} {major}").trim_end().to_owned())
    });
    let system = SYSTEMS.into_iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| name);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser,
        (None, _) => user_agent.chars().filter(|c| !c.is_control()).take(CHARS_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_told_by_name_and_system() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0";
        assert_eq!(describe(firefox), "Firefox 141 on Linux");
        let edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 \
                    Safari/537.36 Edg/139.0.0.0";
        assert_eq!(describe(edge), "Edge 139 on Windows");
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/18.5 Mobile/15E148 Safari/604.1";
        assert_eq!(describe(safari), "Safari 18 on iPhone");
        assert_eq!(describe("curl/8.5.0"), "curl/8.5.0");
        assert_eq!(describe(&"x".repeat(500)).len(), CHARS_MAX);
    }
}

use super::*;

fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::read(None, variables, &[])
}

fn error(variables: &[(&str, &str)]) -> String {
    read(variables).expect_err("refused").to_string()
}

#[test]
fn variables_without_a_section_are_not_read() {
    let config = read(&[("EDGE_PORT", "tcp://10.0.0.1:80"), ("EDGE_SERVER__NAME", "12")]).expect("settings");
    assert_eq!(config.server.name, "12");
}

#[test]
fn an_unknown_or_invalid_setting_is_named_with_an_example() {
    let unknown = error(&[("EDGE_SERVER__LISTN", "127.0.0.1:1")]);
    assert!(unknown.contains("EDGE_SERVER__LISTN") && unknown.contains("EDGE_SERVER__LISTEN="), "{unknown}");
    let invalid = error(&[("EDGE_SERVER__LISTEN", "8081")]);
    assert!(invalid.contains("EDGE_SERVER__LISTEN=127.0.0.1:8081"), "{invalid}");
    let zero = error(&[("EDGE_COUNTS__INTERVAL_SECONDS", "0")]);
    assert!(zero.contains("EDGE_COUNTS__INTERVAL_SECONDS") && zero.contains("1 to 60"), "{zero}");
    let large = error(&[("EDGE_CACHE__ASSIGNMENT_MAX_CAPACITY", "10000001")]);
    assert!(large.contains("EDGE_CACHE__ASSIGNMENT_MAX_CAPACITY=10000") && large.contains("0 to 10000000"), "{large}");
    assert!(error(&[("EDGE_LOG__FILTER", "info,loud")]).contains("'loud' is not a level"));
    assert!(error(&[("EDGE_LOG__FORMAT", "xml")]).contains("EDGE_LOG__FORMAT=json"));
}

#[test]
fn a_file_is_overridden_by_variables_and_these_by_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("edge.toml");
    let toml = "[server]\nname = \"file\"\n[log]\nfilter = \"debug\"\n[nats]\nurl = \"nats://file:1\"\n";
    std::fs::write(&file, toml).expect("a file");
    let variables =
        [("EDGE_SERVER__NAME", "variable"), ("EDGE_LOG__FILTER", "warn")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let config = Config::read(Some(&file), variables, &["server.name=flag".into()]).expect("settings");
    assert_eq!((config.server.name.as_str(), config.log.filter.as_str()), ("flag", "warn"));
    assert_eq!(config.nats.url, "nats://file:1");
    std::fs::write(&file, "[server]\nnaem = \"x\"\n").expect("a file");
    let error = Config::read(Some(&file), [], &[]).expect_err("refused").to_string();
    assert!(error.contains("naem") && error.contains("EDGE_SERVER__"), "{error}");
}

#[test]
fn a_secret_may_lie_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    std::fs::write(&file, "secret\n").expect("a file");
    let path = file.to_str().expect("a path");
    let config = read(&[("EDGE_NATS__USER", "edge"), ("EDGE_NATS__PASSWORD_FILE", path)]).expect("settings");
    assert_eq!(config.nats.password.as_deref(), Some("secret"));
    let error = error(&[("EDGE_NATS__USER", "edge"), ("EDGE_NATS__PASSWORD_FILE", "/nowhere")]);
    assert!(error.contains("EDGE_NATS__PASSWORD_FILE") && error.contains("/nowhere"), "{error}");
}

#[test]
fn an_offline_edge_needs_a_bundle() {
    let offline = ("EDGE_NATS__OFFLINE", "true");
    let missing = error(&[offline]);
    assert!(missing.contains("nats.offline") && missing.contains("EDGE_STORAGE__BUNDLE="), "{missing}");
    let config = read(&[offline, ("EDGE_STORAGE__BUNDLE", "/bundle.json")]).expect("settings");
    assert!(config.nats.offline);
    assert_eq!(config.storage.bundle.as_deref(), Some(Path::new("/bundle.json")));
    assert!(error(&[("EDGE_STORAGE__BUNDLE", "")]).contains("name the file"));
    assert!(error(&[("EDGE_NATS__OFFLINE", "1")]).contains("'1' is not true or false"));
}

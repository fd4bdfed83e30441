//! `fluxgate-edge evaluate`: an answer and the way to it, in words.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use shared::evaluation::bucket;
use shared::model::id::EnvironmentId;
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::bundle::Draft;
use crate::support::publisher::{FlagBody, boolean};

/// A boolean flag with a config of the test's own.
fn flag(key: &str, config: Value) -> FlagBody {
    let mut flag = boolean(key, true);
    if let (Some(known), Value::Object(config)) = (flag.1["config"].as_object_mut(), config) {
        known.extend(config);
    }
    flag
}

fn draft() -> Draft {
    let id = |at: u128| Uuid::from_u128(at);
    let split = json!({"split": {"bucket_by": "targetingKey", "seed": "checkout", "ranges": [
        {"start": 0, "end": 10_000, "variant": "on"}, {"start": 10_000, "end": 100_000, "variant": "off"},
    ]}});
    let staff = json!({"id": id(1), "name": "Staff", "serve": {"variant": "on"},
        "conditions": {"operator": "in_segment", "values": ["staff"]}});
    let late = json!({"id": id(2), "name": "Launch", "serve": {"variant": "on"},
        "conditions": {"attribute": "$now", "operator": "after", "values": ["2027-06-01T00:00:00Z"]}});
    let flags = [
        flag("checkout", json!({"rules": [staff, late], "default_serve": split})),
        flag("new-cart", json!({"enabled": false})),
        flag("pay-later", json!({"prerequisites": [{"flag": "new-cart", "variants": ["on"]}]})),
        flag(
            "broken",
            json!({"rules": [{"id": id(3), "serve": {"variant": "on"},
            "conditions": {"operator": "in_segment", "values": ["nowhere"]}}]}),
        ),
    ];
    let mut flags = flags;
    flags[0].1["flag"]["client_visible"] = json!(true);
    let conditions = json!({"attribute": "email", "operator": "ends_with", "values": ["@acme.com"]});
    Draft::of(7, &flags).segment(6, json!({"key": "staff", "included": ["u-7"], "conditions": conditions}))
}

fn evaluate(folder: &TempDir, draft: &Draft, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(folder.path(), draft).args(arguments).output().expect("the edge runs");
    said(output)
}

fn command(folder: &Path, draft: &Draft) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxgate-edge"));
    command.env_clear().current_dir(folder).arg("evaluate").arg("--bundle").arg(draft.write(folder));
    command
}

fn said(Output { status, stdout, stderr }: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_split_is_told_with_what_was_hashed_and_every_condition_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = r#"{"targetingKey":"u-42","email":"ana@example.com"}"#;
    let arguments = ["--flag", "checkout", "--context", context, "--at", "2027-01-01T00:00:00Z"];
    let (code, out, err) = evaluate(&folder, &draft(), &arguments);
    let at = bucket("checkout", "u-42");
    let (value, variant, range) =
        if at < 10_000 { ("true", "on", "0 to 9999") } else { ("false", "off", "10000 to 99999") };
    let expected = format!(
        "checkout in shop/production, revision 7, asked by a server at 2027-01-01T00:00:00Z\n\n\
         value      {value}\nvariant    {variant}\nreason     SPLIT\n\n\
         · the flag is on\n\
         ✗ rule 1, Staff: in segment staff\n\
         \u{20} ✗ in segment staff\n\
         \u{20}   ✗ staff: email ends with @acme.com\n\
         \u{20}     ✗ email ends with @acme.com: it is \"ana@example.com\"\n\
         ✗ rule 2, Launch: the time is after 2027-06-01T00:00:00Z\n\
         \u{20} ✗ the time is after 2027-06-01T00:00:00Z: it is 2027-01-01T00:00:00Z\n\
         ✓ everyone else is divided by targetingKey: “checkout:u-42” is bucket {at}, and {range} gets {variant}\n"
    );
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), expected.as_str(), ""));
    assert!(!folder.path().join("edge-data").exists(), "nothing is started");
}

#[test]
fn a_prerequisite_and_a_segment_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, _) = evaluate(&folder, &draft(), &["--flag", "pay-later"]);
    assert_eq!(code, Some(0));
    for line in ["value      false", "reason     DISABLED", "blocked by new-cart"] {
        assert!(out.lines().any(|told| told == line), "{line}: {out}");
    }
    assert!(out.contains("✗ needs new-cart to answer on: it is off\n  · the flag is off\n· so it is blocked"), "{out}");

    let (_, out, _) = evaluate(&folder, &draft(), &["--flag", "checkout", "--context", r#"{"targetingKey":"u-7"}"#]);
    assert!(out.contains("✓ rule 1, Staff: in segment staff\n  ✓ in segment staff\n"), "{out}");
    assert!(
        out.contains("✓ staff includes the targeting key\n  · serves on\n· 1 rule not looked at any more"),
        "{out}"
    );
}

#[test]
fn an_error_of_the_evaluation_exits_with_1_and_names_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = |arguments: &[&str]| {
        let (code, out, _) = evaluate(&folder, &draft(), arguments);
        assert_eq!(code, Some(1), "{out}");
        out
    };
    let missing = error(&["--flag", "checkout"]);
    assert!(missing.contains("error      TARGETING_KEY_MISSING"), "{missing}");
    let broken = error(&["--flag", "broken"]);
    assert!(broken.contains("error      PARSE_ERROR") && broken.contains("nowhere"), "{broken}");
    let unknown = error(&["--flag", "chekcout"]);
    assert!(unknown.contains("FLAG_NOT_FOUND") && unknown.contains("the nearest: checkout"), "{unknown}");
    let stranger = error(&["--flag", "zzzzzzzzzzzzzzzz"]);
    assert!(stranger.contains("nor one like it among its 4"), "{stranger}");
    let hidden = error(&["--flag", "new-cart", "--as", "client"]);
    assert!(hidden.contains("FLAG_NOT_FOUND") && hidden.contains("not client_visible"), "{hidden}");
    let seen =
        evaluate(&folder, &draft(), &["--flag", "checkout", "--as", "client", "--context", r#"{"targetingKey":"u"}"#]);
    assert_eq!(seen.0, Some(0), "{seen:?}");
}

#[test]
fn json_holds_the_answer_and_the_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = |arguments: &[&str]| {
        let (_, out, _) = evaluate(&folder, &draft(), arguments);
        serde_json::from_str::<Value>(&out).expect("JSON")
    };
    let at = "2027-01-01T00:00:00Z";
    let told = json(&["--flag", "checkout", "--context", r#"{"targetingKey":"u-42"}"#, "--json", "--at", at]);
    assert_eq!(told["environment"], json!("shop/production"));
    assert_eq!((&told["revision"], &told["at"], &told["asker"]), (&json!(7), &json!(at), &json!("server")));
    assert!(told["outcome"]["value"].is_boolean(), "a value is a value, not a text that holds it: {told}");
    assert_eq!(told["outcome"], told["trace"]["outcome"]);
    assert_eq!(told["trace"]["default_split"]["bucket"], json!(bucket("checkout", "u-42")));
    let unknown = json(&["--flag", "nowhere", "--json"]);
    assert_eq!((&unknown["outcome"]["error_code"], &unknown["trace"]), (&json!("FLAG_NOT_FOUND"), &Value::Null));
}

#[test]
fn a_context_comes_from_the_command_line_a_file_or_standard_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let context = r#"{"targetingKey":"u-7"}"#;
    std::fs::write(folder.path().join("context.json"), context).expect("a file");
    let (code, out, _) = evaluate(&folder, &draft(), &["--flag", "checkout", "--context", "@context.json"]);
    assert!(code == Some(0) && out.contains("staff includes the targeting key"), "{out}");

    let mut piped = command(folder.path(), &draft());
    piped.args(["--flag", "checkout", "--context", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("the edge runs");
    child.stdin.take().expect("a pipe").write_all(context.as_bytes()).expect("written");
    let (code, out, _) = said(child.wait_with_output().expect("its end"));
    assert!(code == Some(0) && out.contains("staff includes the targeting key"), "{out}");
}

#[test]
fn what_cannot_be_evaluated_exits_with_2_and_names_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let staging: EnvironmentId = Uuid::from_u128(0xe2).into();
    let two = draft().environment(staging, "staging", 7);
    let refused = |draft: &Draft, arguments: &[&str]| {
        let (code, out, err) = evaluate(&folder, draft, arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        err
    };
    let several = refused(&two, &["--flag", "checkout"]);
    assert!(several.contains("shop/production, shop/staging"), "{several}");
    let unknown = refused(&two, &["--flag", "checkout", "--environment", "shop/test"]);
    assert!(unknown.contains("shop/test") && unknown.contains("shop/production, shop/staging"), "{unknown}");
    for (name, value) in [("--context", "{"), ("--context", "[]"), ("--context", "@gone.json"), ("--at", "soon")] {
        let said = refused(&draft(), &["--flag", "checkout", name, value]);
        assert!(said.contains(name), "{said}");
    }
    let said = refused(&draft(), &["--flag", "checkout", "--as", "nobody"]);
    assert!(said.contains("client"), "{said}");
    let (code, _, err) = said_of_missing_bundle(&folder);
    assert!(code == Some(2) && err.contains("gone.json"), "{err}");
    let chosen = evaluate(&folder, &two, &["--flag", "new-cart", "--environment", "shop/production"]);
    assert_eq!(chosen.0, Some(0), "{chosen:?}");
}

fn said_of_missing_bundle(folder: &TempDir) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxgate-edge"));
    let arguments = ["evaluate", "--bundle", "gone.json", "--flag", "checkout"];
    said(command.current_dir(folder.path()).args(arguments).output().expect("the edge runs"))
}

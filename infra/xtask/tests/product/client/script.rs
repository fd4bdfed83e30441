//! A client of another language: a process that is told what to ask, line by line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use xtask::clients::sources;
use xtask::stack::scratch::Scratch;

use crate::support::PATIENCE;

/// Where `cargo xtask test` put what the clients need.
pub(super) fn prepared() -> PathBuf {
    std::env::var_os("FLUXGATE_TEST_CLIENTS_DIR")
        .map(PathBuf::from)
        .expect("FLUXGATE_TEST_CLIENTS_DIR; run `cargo xtask test`")
}

/// A folder in which Node.js finds the fetched packages and our scripts.
pub(super) fn node_folder() -> Scratch {
    let scratch = Scratch::new().expect("a folder");
    std::os::unix::fs::symlink(prepared().join("node/node_modules"), scratch.path().join("node_modules"))
        .expect("a link to the packages");
    for entry in fs::read_dir(sources().join("node")).expect("the scripts") {
        let file = entry.expect("a script").path();
        if file.extension().is_some_and(|extension| extension == "mjs") {
            fs::copy(&file, scratch.path().join(file.file_name().expect("a name"))).expect("a copy");
        }
    }
    scratch
}

/// A running client. It ends with its stdin, and so with this.
pub(super) struct Script {
    process: Child,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    /// What it wrote on stderr lies here, and with Node.js its scripts.
    folder: Scratch,
}

impl Script {
    pub(super) fn node(script: &str) -> Self {
        let folder = node_folder();
        let script = folder.path().join(script);
        Self::start(Path::new("node"), Some(&script), folder)
    }

    pub(super) fn python(script: &str) -> Self {
        let script = sources().join("python").join(script);
        Self::start(&prepared().join("python/bin/python"), Some(&script), Scratch::new().expect("a folder"))
    }

    pub(super) fn rust(program: &str) -> Self {
        let program = prepared().join("rust/debug").join(program);
        Self::start(&program, None, Scratch::new().expect("a folder"))
    }

    fn start(program: &Path, script: Option<&Path>, folder: Scratch) -> Self {
        let errors = fs::File::create(folder.path().join("stderr")).expect("a file");
        let mut command = Command::new(program);
        command.args(script).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let stdin = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        Self { process, stdin, answers, folder }
    }

    /// Sends a command and returns its answer; one that fails is `Err`.
    pub(super) async fn call(&mut self, command: &Value) -> Result<Value, String> {
        let line = format!("{command}\n");
        let asked = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.answers.next_line().await
        };
        let told = timeout(PATIENCE, asked).await;
        let Ok(Ok(Some(line))) = told else {
            let state = self.process.try_wait();
            let errors = fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
            panic!("no answer to {command}: {told:?}, process {state:?}\n{errors}");
        };
        let mut answer: Value = serde_json::from_str(&line).expect("an answer in JSON");
        match answer["failed"].as_str() {
            Some(failed) => Err(failed.to_owned()),
            None => Ok(answer["answer"].take()),
        }
    }

    /// Points it at an edge, with these headers.
    pub(super) async fn connect(&mut self, edge: &str, headers: &Value) {
        let command = json!({ "do": "connect", "edge": edge, "headers": headers });
        self.call(&command).await.expect("a provider that is ready");
    }
}

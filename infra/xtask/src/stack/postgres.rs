//! PostgreSQL: clusters of our own, reached over TCP on 127.0.0.1 with passwords only.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::cargo;
use crate::error::{Context, Error, Result};
use crate::stack::scratch::{is_root, make};
use crate::stack::{Launch, Ready, Service, secret};

/// The cluster's superuser.
pub const ADMIN: &str = "postgres";
/// Where Debian keeps PostgreSQL's programs, one folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// A cluster and how it is run.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Where PostgreSQL's programs lie.
    pub programs: PathBuf,
    /// The cluster's folder.
    pub folder: PathBuf,
    /// The superuser's password.
    pub password: String,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// Whether a commit outlives a crash of the machine; a throw-away cluster is faster without.
    pub is_durable: bool,
}

impl Cluster {
    /// The superuser's address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{ADMIN}:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// Makes the cluster unless it is there. One that was interrupted on the way is made anew.
    pub fn create(&self) -> Result<()> {
        if self.folder.join("PG_VERSION").is_file() {
            return Ok(());
        }
        let part = self.folder.with_extension("new");
        let word = self.folder.with_extension("word");
        if part.exists() {
            fs::remove_dir_all(&part).context(format_args!("removing {}", part.display()))?;
        }
        make(&part, 0o700)?;
        secret::write(&word, &self.password)?;
        let mut command = cargo::program(self.programs.join("initdb"));
        command.arg("-D").arg(&part).arg("--pwfile").arg(&word).args(["-U", ADMIN, "--auth=scram-sha-256"]);
        command.args(["--encoding=UTF8", "--locale=C.UTF-8"]).current_dir("/");
        if !self.is_durable {
            command.arg("--no-sync");
        }
        if let Some((user, group)) = account()? {
            command.uid(user).gid(group);
            for path in [&part, &word] {
                chown(path, Some(user), Some(group)).context(format_args!("giving {} to {ADMIN}", path.display()))?;
            }
        }
        let made = cargo::output(&mut command);
        let _ = fs::remove_file(&word);
        made?;
        fs::rename(&part, &self.folder).context(format_args!("naming {}", self.folder.display()))
    }

    /// The server over this cluster.
    pub fn service(&self, log: PathBuf) -> Result<Service> {
        let mut settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", self.port),
            // A socket's path may have 107 bytes, a checkout's path has any number.
            "unix_socket_directories=".to_owned(),
            "max_connections=300".to_owned(),
        ];
        if !self.is_durable {
            settings.extend(["fsync=off", "synchronous_commit=off", "full_page_writes=off"].map(str::to_owned));
        }
        let mut arguments = vec![OsString::from("-D"), self.folder.clone().into()];
        arguments.extend(settings.into_iter().flat_map(|setting| [OsString::from("-c"), setting.into()]));
        let launch = Launch {
            program: self.programs.join("postgres"),
            arguments,
            variables: BTreeMap::from([("LC_ALL".to_owned(), "C.UTF-8".into())]),
            user: account()?,
            // "Fast": rolls back what is open; TERM would wait for every client to leave.
            stop_signal: Signal::INT,
        };
        let ready = Ready::Postgres { programs: self.programs.clone(), url: self.url("postgres") };
        Ok(Service::new("postgres", self.url("postgres"), launch, ready, self.folder.clone(), log))
    }
}

/// Where the programs lie that can run the cluster in `folder`: those it was made with, where they are still installed;
/// any for one that is yet to be made.
pub fn programs_for(folder: &Path) -> Option<PathBuf> {
    of_version(folder, Path::new(DEBIAN)).or_else(programs)
}

fn of_version(cluster: &Path, debian: &Path) -> Option<PathBuf> {
    let version = fs::read_to_string(cluster.join("PG_VERSION")).ok()?;
    let folder = debian.join(version.trim()).join("bin");
    folder.join("postgres").is_file().then_some(folder)
}

/// Where PostgreSQL's programs lie, if anywhere: Debian keeps them out of `PATH`, one folder per version.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path());
    let version_of = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut debian: Vec<_> = versions.filter(|folder| folder.join("bin/initdb").is_file()).collect();
    debian.sort_by_key(version_of);
    match debian.pop() {
        Some(folder) => Some(folder.join("bin")),
        None => cargo::find("initdb").and_then(|file| file.parent().map(Path::to_path_buf)),
    }
}

/// The user to run as: PostgreSQL refuses to run as root.
pub fn account() -> Result<Option<(u32, u32)>> {
    if !is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").context("reading /etc/passwd")?;
    let find = || {
        let mut fields = users.lines().find_map(|line| line.strip_prefix("postgres:"))?.split(':').skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    match find() {
        Some(account) => Ok(Some(account)),
        None => Err(Error::new("there is no user postgres, and PostgreSQL refuses to run as root")),
    }
}

/// Runs SQL and returns the rows as lines, columns parted by `|`.
pub fn query(programs: &Path, url: &str, sql: &str) -> Result<String> {
    let (address, password) = without_password(url)?;
    let mut command = cargo::program(programs.join("psql"));
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", "-d", &address]);
    command.env("PGPASSWORD", password).env("PGCONNECT_TIMEOUT", "2").current_dir("/");
    pipe(&mut command, sql)
}

/// Makes a role that owns a database of the same name; what is there stays, its password becomes `password`.
pub fn create_database(programs: &Path, admin_url: &str, name: &str, password: &str) -> Result<()> {
    let there = |table, column| {
        query(programs, admin_url, &format!("select 1 from {table} where {column} = '{name}'"))
            .map(|rows| !rows.trim().is_empty())
    };
    let verb = if there("pg_roles", "rolname")? { "alter" } else { "create" };
    query(programs, admin_url, &format!("{verb} role {name} login password '{password}'"))?;
    if !there("pg_database", "datname")? {
        query(programs, admin_url, &format!("create database {name} owner {name}"))?;
    }
    Ok(())
}

/// An address whose password (and database) is replaced.
pub fn url_for(url: &str, user: &str, password: &str, database: &str) -> Result<String> {
    let place = url.rsplit_once('@').and_then(|(_, rest)| rest.split_once('/'));
    let (host, _) = place.ok_or_else(|| Error::new("a PostgreSQL URL looks like postgres://user:word@host:port/db"))?;
    Ok(format!("postgres://{user}:{password}@{host}/{database}"))
}

/// Keeps the password out of the list of processes.
fn without_password(url: &str) -> Result<(String, String)> {
    let parts = url.strip_prefix("postgres://").and_then(|rest| {
        let (credentials, place) = rest.rsplit_once('@')?;
        let (user, password) = credentials.split_once(':')?;
        Some((format!("postgres://{user}@{place}"), password.to_owned()))
    });
    parts.ok_or_else(|| Error::new("a PostgreSQL URL looks like postgres://user:word@host:port/db"))
}

fn pipe(command: &mut Command, text: &str) -> Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("running psql")?;
    if let Some(mut stdin) = child.stdin.take() {
        // psql that cannot connect closes its end early; its own words say why.
        let _ = stdin.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().context("running psql")?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::new(format!("psql: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::scratch::Scratch;

    #[test]
    fn a_cluster_is_run_by_the_version_it_was_made_with() {
        let scratch = Scratch::new().expect("a folder");
        let (cluster, debian) = (scratch.folder("cluster").expect("one"), scratch.folder("debian").expect("two"));
        for version in ["15", "17"] {
            let folder = scratch.folder(&format!("debian/{version}/bin")).expect("a folder");
            fs::write(folder.join("postgres"), "").expect("a program");
        }
        assert_eq!(of_version(&cluster, &debian), None);
        fs::write(cluster.join("PG_VERSION"), "15\n").expect("a version");
        assert_eq!(of_version(&cluster, &debian), Some(debian.join("15/bin")));
        fs::write(cluster.join("PG_VERSION"), "16\n").expect("a version");
        assert_eq!(of_version(&cluster, &debian), None);
    }

    #[test]
    fn a_password_is_taken_out_of_an_address() {
        let (address, password) = without_password("postgres://me:pw-1@127.0.0.1:5/db").expect("an address");
        assert_eq!((address.as_str(), password.as_str()), ("postgres://me@127.0.0.1:5/db", "pw-1"));
        assert!(without_password("127.0.0.1").is_err());
    }

    #[test]
    fn an_address_is_given_another_user_and_database() {
        let url = url_for("postgres://me:pw-1@127.0.0.1:5/db", "you", "pw-2", "other").expect("an address");
        assert_eq!(url, "postgres://you:pw-2@127.0.0.1:5/other");
    }
}

//! Starting, stopping, killing: what every fault test stands on.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use xtask::stack::scratch::Scratch;
use xtask::stack::{Identity, Service, nats, port, postgres, secret};

fn cluster(scratch: &Scratch) -> (postgres::Cluster, Service) {
    let cluster = postgres::Cluster {
        programs: postgres::programs().expect("PostgreSQL is installed"),
        folder: scratch.path().join("postgres"),
        password: secret::password().expect("a password"),
        port: port::free().expect("a port"),
        is_durable: false,
    };
    cluster.create().expect("a cluster");
    let service = cluster.service(scratch.path().join("postgres.log")).expect("a service");
    (cluster, service)
}

#[test]
fn postgres_keeps_its_rows_when_stopped_and_its_server_can_be_killed() {
    let scratch = Scratch::new().expect("a folder");
    let (cluster, mut server) = cluster(&scratch);
    server.start().expect("start");
    let query = |sql: &str| postgres::query(&cluster.programs, &cluster.url("postgres"), sql);
    query("create table note (text text); insert into note values ('kept')").expect("a row");
    server.restart().expect("restart");
    assert_eq!(query("select text from note").expect("rows").trim(), "kept");

    let before = server.identity().expect("a process");
    server.kill().expect("kill");
    assert!(!before.is_alive() && !server.is_running());
    query("select 1").expect_err("nobody answers");
    server.start().expect("start after a kill");
    assert_eq!(query("select text from note").expect("rows").trim(), "kept");
}

#[test]
fn a_role_and_its_database_can_be_made_twice() {
    let scratch = Scratch::new().expect("a folder");
    let (cluster, mut server) = cluster(&scratch);
    server.start().expect("start");
    let admin = cluster.url("postgres");
    for word in ["pw-one", "pw-two"] {
        postgres::create_database(&cluster.programs, &admin, "fluxgate", word).expect("a database");
        let url = postgres::url_for(&admin, "fluxgate", word, "fluxgate").expect("an address");
        let owner = postgres::query(&cluster.programs, &url, "create table if not exists t (); select current_user");
        assert_eq!(owner.expect("rows").trim(), "fluxgate");
        postgres::query(&cluster.programs, &url.replace(word, "pw-bad"), "select 1").expect_err("another password");
    }
}

#[test]
fn a_start_that_fails_shows_the_end_of_the_log() {
    let scratch = Scratch::new().expect("a folder");
    let (cluster, mut server) = cluster(&scratch);
    std::fs::remove_file(cluster.folder.join("global/pg_control")).expect("a damaged cluster");
    let error = server.start().expect_err("it cannot be read");
    assert!(error.to_string().contains("could not find the database system"), "{error}");
    assert!(!server.is_running());
}

#[test]
fn a_start_on_a_taken_port_names_who_has_it_and_takes_no_foreign_answer() {
    let scratch = Scratch::new().expect("a folder");
    let (cluster, mut server) = cluster(&scratch);
    server.start().expect("start");
    let password = secret::password().expect("a password");
    let other = postgres::Cluster { folder: scratch.path().join("other"), password, ..cluster };
    other.create().expect("a cluster");
    let mut twin = other.service(scratch.path().join("twin.log")).expect("a service");
    let error = twin.start().expect_err("the port is taken");
    let text = error.to_string();
    assert!(text.contains(&format!("port {} is taken by process ", other.port)), "{text}");
    assert!(!twin.is_running());
}

#[test]
fn a_deleted_store_is_empty_and_works() {
    let scratch = Scratch::new().expect("a folder");
    let passwords = nats::Passwords { backend: "pw-b".to_owned(), edge: "pw-e".to_owned() };
    let store = scratch.folder("nats").expect("a folder");
    let program = nats::program().expect("nats-server is installed");
    let log = scratch.path().join("nats.log");
    let mut server = nats::service(&program, port::free().expect("a port"), store, &passwords, log);
    server.start().expect("start");
    server.delete_data().expect_err("it runs");
    server.stop().expect("stop");
    server.delete_data().expect("delete");
    assert_eq!(server.data().read_dir().expect("the folder").count(), 0);
    server.start().expect("start");
}

/// A process that ends without dropping anything: a stand-in for a crashed test or a killed `cargo xtask`.
#[test]
fn a_server_ends_with_the_process_that_started_it_however_that_ended() {
    const ROLE: &str = "FLUXGATE_TEST_ABANDON";
    if let Some(note) = std::env::var_os(ROLE) {
        let scratch = Scratch::new().expect("a folder");
        let (_cluster, mut server) = cluster(&scratch);
        server.start().expect("start");
        let pid = server.identity().expect("a process").pid();
        std::fs::write(note, format!("{pid} {}", scratch.path().display())).expect("a note");
        std::process::abort();
    }
    let scratch = Scratch::new().expect("a folder");
    let note = scratch.path().join("note");
    let name = "lifecycle::a_server_ends_with_the_process_that_started_it_however_that_ended";
    let own = std::env::current_exe().expect("this program");
    let status = Command::new(own).args([name, "--exact"]).env(ROLE, &note).output().expect("a child").status;
    assert!(!status.success());
    let text = std::fs::read_to_string(&note).expect("the child's note");
    let (pid, left) = text.split_once(' ').expect("two words");
    let end = Instant::now() + Duration::from_secs(10);
    // Ended is enough: whoever inherits it need not have collected it yet.
    let server = Identity::of(pid.parse().expect("a number"));
    while server.is_some_and(|server| server.is_alive()) {
        assert!(Instant::now() < end, "PostgreSQL {pid} outlived its starter");
        sleep(Duration::from_millis(50));
    }
    std::fs::remove_dir_all(left).expect("what the child left");
}

//! Whoever changes what happened is found out.

use backend::app::audit::{Verified, verify};
use sqlx::AssertSqlSafe;

use crate::history::audit::event;
use crate::history::{off, save, told};
use crate::support::{App, Person};

/// Ten revisions and five events.
async fn chained() -> (App, Person) {
    let (app, ana, _) = told().await;
    for version in 2..8 {
        let config = if version % 2 == 0 { off() } else { crate::flag::on() };
        save(&ana, version, config, &format!("note {version}")).await;
    }
    for name in ["a", "b", "c", "d", "e"] {
        event(&app, "token.created", name, true).await;
    }
    (app, ana)
}

async fn walk(app: &App) -> Verified {
    verify(&app.state.pool, &[]).await.expect("a walk")
}

/// What somebody with the database's password does.
async fn tamper(app: &App, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&app.state.pool).await.expect("a change");
}

#[tokio::test]
async fn what_nobody_changed_holds_and_has_a_head_to_keep_elsewhere() {
    let (app, ana) = chained().await;
    let found = walk(&app).await;
    assert_eq!((&found.history.fault, &found.audit.fault), (&None, &None));
    assert_eq!((found.history.first, found.audit.links), (Some(1), 6));
    assert_eq!(found.history.links, u64::try_from(found.history.last.expect("links")).expect("a number"));
    let heads = [found.history.head.clone().expect("a head"), found.audit.head.clone().expect("a head")];
    save(&ana, 8, off(), "later").await;
    event(&app, "token.created", "f", true).await;
    let later = verify(&app.state.pool, &heads).await.expect("a walk");
    assert_eq!(later.history.seen, heads[..1]);
    assert_eq!(later.audit.seen, heads[1..]);
    assert_ne!(later.history.head, found.history.head);
}

#[tokio::test]
async fn every_change_of_the_history_is_named() {
    let cases = [
        ("update revision_entries set before = '{}' where revision = 5 and ordinal = 0", 5, "its entries"),
        ("update revision_entries set entity_key = 'other' where revision = 5", 5, "its entries"),
        ("update changesets set note = 'harmless' where revision = 5", 5, "its changeset"),
        ("update changesets set author_id = null where revision = 7", 7, "its changeset"),
        ("delete from revision_entries where revision = 6", 6, "its entries"),
        ("delete from revision_entries where revision = 6; delete from changesets where revision = 6", 6, "it is gone"),
        (
            "delete from revision_entries where revision = 6; delete from changesets where revision = 6;
             delete from history_chain where revision = 6",
            7,
            "does not follow from 5",
        ),
        ("delete from history_chain where revision = 6", 6, "it has no link"),
        (
            "insert into approvals select id, author_id, 'x', 'fine', now() from changesets where revision = 5",
            5,
            "its approvals",
        ),
        // Contents of two revisions exchanged.
        (
            "update revision_entries set revision = revision + 1000 where revision in (7, 8);
             update revision_entries set revision = 8 where revision = 1007;
             update revision_entries set revision = 7 where revision = 1008",
            7,
            "its entries",
        ),
        // Hashes made anew for one revision, but not for those after it.
        (
            "update changesets set note = 'harmless' where revision = 5;
             update history_chain set parts = revision_parts(5) where revision = 5",
            5,
            "does not follow",
        ),
        (
            "update changesets set note = 'harmless' where revision = 5;
             update history_chain set parts = revision_parts(5),
                 chain = sha256((select chain from history_chain where revision = 4) || revision_parts(5))
                 where revision = 5",
            6,
            "does not follow",
        ),
    ];
    for (sql, at, what) in cases {
        let (app, _) = chained().await;
        let sql = format!(
            "begin; alter table revision_entries drop constraint revision_entries_revision_fkey; {sql}; commit"
        );
        tamper(&app, sql.clone()).await;
        let fault = walk(&app).await.history.fault.unwrap_or_else(|| panic!("a fault: {sql}"));
        assert_eq!(fault.at, at, "{sql}: {}", fault.what);
        assert!(fault.what.contains(what), "{sql}: {}", fault.what);
    }
}

#[tokio::test]
async fn a_revision_put_into_the_middle_is_named() {
    let put = "insert into changesets (id, note, revision, applied_at)
               values (gen_random_uuid(), 'never was', 50, now())";
    let cases = [
        // It is linked behind the last one, where its number says otherwise.
        (put.to_owned(), "it does not follow"),
        (format!("set session_replication_role = replica; {put}; reset session_replication_role"), "it has no link"),
    ];
    for (sql, what) in cases {
        let (app, ana) = chained().await;
        // Numbers jump, as in a database that was restored.
        tamper(&app, "update counter set revision = 100".into()).await;
        save(&ana, 8, off(), "after the jump").await;
        assert_eq!(walk(&app).await.history.fault, None);
        tamper(&app, sql).await;
        let fault = walk(&app).await.history.fault.expect("a fault");
        assert_eq!(fault.at, 50);
        assert!(fault.what.contains(what), "{}", fault.what);
    }
}

#[tokio::test]
async fn rows_taken_from_the_end_are_missed() {
    let (app, _) = chained().await;
    let last = walk(&app).await.history.last.expect("links");
    let sql = format!(
        "delete from revision_entries where revision = {last}; delete from changesets where revision = {last};
         delete from history_chain where revision = {last}"
    );
    tamper(&app, sql).await;
    let fault = walk(&app).await.history.fault.expect("a fault");
    assert_eq!((fault.at, fault.what.as_str()), (last, "it is gone, and its link too"));
}

#[tokio::test]
async fn every_change_of_the_audit_log_is_named() {
    let cases = [
        ("update audit_events set subject = 'x' where number = 3", 3, "it was changed"),
        ("update audit_events set detail = '{}' where number = 2", 2, "it was changed"),
        ("delete from audit_events where number = 4", 4, "it is gone"),
        ("delete from audit_events where number = 4; delete from audit_chain where number = 4", 5, "a link is gone"),
        (
            "alter table audit_events disable trigger all;
             insert into audit_events (at, via, kind, subject, detail) values (now(), 'person', 'a.b', 'x', '{}')",
            7,
            "it has no link",
        ),
        (
            "update audit_chain set number = number + 100 where number in (2, 3);
             update audit_chain set number = 3 where number = 102; update audit_chain set number = 2 where number = 103",
            3,
            "it was changed",
        ),
    ];
    for (sql, at, what) in cases {
        let (app, _) = chained().await;
        tamper(&app, sql.into()).await;
        let fault = walk(&app).await.audit.fault.unwrap_or_else(|| panic!("a fault: {sql}"));
        assert_eq!(fault.at, at, "{sql}: {}", fault.what);
        assert!(fault.what.contains(what), "{sql}: {}", fault.what);
    }
}

#[tokio::test]
async fn what_was_there_before_the_chain_is_not_in_it_and_an_older_version_beside_is() {
    let (app, _) = chained().await;
    // As after an upgrade: nothing was chained so far.
    tamper(&app, "delete from history_chain".into()).await;
    assert_eq!(walk(&app).await.history.first, None);
    // What the release before writes: it knows nothing of chains.
    let sql = "begin; update counter set revision = revision + 1;
               insert into changesets (id, note, revision, applied_at)
               select gen_random_uuid(), 'by an older version', revision, now() from counter;
               insert into revision_entries (revision, ordinal, entity, entity_key, after)
               select revision, 0, 'flag', 'x', '{}' from counter; commit";
    tamper(&app, sql.into()).await;
    tamper(&app, sql.into()).await;
    let found = walk(&app).await.history;
    assert_eq!((found.links, found.fault), (2, None));
    tamper(&app, format!("update revision_entries set after = '[]' where revision = {}", found.last.expect("links")))
        .await;
    assert!(walk(&app).await.history.fault.is_some());
}

/// Run with `--ignored --nocapture`: what links cost while the counter is held.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_a_link_costs() {
    let (app, _) = chained().await;
    for entries in [1, 100, 1_000] {
        let mut times = Vec::new();
        for _ in 0..9 {
            let mut tx = app.state.pool.begin().await.expect("a transaction");
            let sql = format!(
                "update counter set revision = revision + 1;
                 insert into changesets (id, note, revision, applied_at)
                 select gen_random_uuid(), 'x', revision, now() from counter;
                 insert into revision_entries (revision, ordinal, entity, entity_key, before, after)
                 select counter.revision, n, 'config', 'flag-' || n, document, document || '{{\"enabled\": false}}'
                 from counter, generate_series(1, {entries}) n,
                      (select jsonb_build_object('enabled', true, 'rules',
                              (select jsonb_agg(md5(g::text)) from generate_series(1, 50) g)) as document) documents"
            );
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *tx).await.expect("a changeset");
            let began = std::time::Instant::now();
            tx.commit().await.expect("a commit");
            times.push(began.elapsed());
        }
        times.sort();
        println!("{entries} entries of 2 kB before and after: commit with its link {:?}", times[4]);
    }
    assert_eq!(walk(&app).await.history.fault, None);
}

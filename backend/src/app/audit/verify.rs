//! Walks the chains of hashes and names the first row that does not fit.

use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

use crate::auth::sdk_key::hex;
use crate::error::AppError;
use crate::store::audit::chain::{self, Link};

/// Links that are held at once.
const LINKS_AT_ONCE: i64 = 500;
/// Bytes of a hash.
const HASH_BYTES: usize = 32;
/// What the hashes of a revision are of, in their order.
const PARTS: [&str; 3] = [
    "its changeset was changed (who, when, through what, the note or the reason)",
    "its approvals were changed",
    "its entries were changed (what it touched, before or after)",
];

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Of the history.
    pub history: Walked,
    /// Of the audit log.
    pub audit: Walked,
}

/// One chain, as far as it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// From which revision or event on it holds; absent when nothing is chained yet.
    pub first: Option<i64>,
    /// The last one that holds.
    pub last: Option<i64>,
    /// How many hold.
    pub links: u64,
    /// The last link in hex: kept elsewhere, it proves later that nothing before it was written anew.
    pub head: Option<String>,
    /// The first row that does not fit.
    pub fault: Option<Fault>,
    /// Which of the heads that were given it came by.
    pub seen: Vec<String>,
}

/// A row that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The revision, or the event's number.
    pub at: i64,
    /// What differs.
    pub what: String,
}

/// Walks both chains. `heads` are links in hex that somebody kept: [`Walked::seen`] says which were found.
pub async fn verify(pool: &PgPool, heads: &[String]) -> Result<Verified, AppError> {
    let mut db = pool.acquire().await?;
    Ok(Verified { history: history(&mut db, heads).await?, audit: audit(&mut db, heads).await? })
}

async fn history(db: &mut PgConnection, heads: &[String]) -> Result<Walked, AppError> {
    // Read before the walk: what is committed meanwhile is none of it.
    let newest = chain::newest_revision(db).await?;
    let mut walk = Walk::new(heads, chain::first_revision(db).await?);
    let Some(first) = walk.walked.first else { return Ok(walk.walked) };
    let mut after = first - 1;
    loop {
        let links = chain::list_revisions(db, after, LINKS_AT_ONCE).await?;
        let Some(last) = links.last() else { break };
        after = last.at;
        for link in &links {
            if let Err(what) = walk.step(link, |at| PARTS.get(at).copied().unwrap_or("it was changed")) {
                return Ok(walk.stopped(link.number, what));
            }
        }
    }
    match walk.walked.last {
        Some(last) if last < newest => Ok(walk.stopped(last + 1, "it is gone, and its link too".into())),
        _ => Ok(walk.walked),
    }
}

async fn audit(db: &mut PgConnection, heads: &[String]) -> Result<Walked, AppError> {
    let mut walk = Walk::new(heads, chain::first_event(db).await?);
    let mut after = 0;
    loop {
        let links = chain::list_events(db, after, LINKS_AT_ONCE).await?;
        let Some(last) = links.last() else { break };
        for link in &links {
            after += 1;
            if link.at != after {
                return Ok(walk.stopped(link.number, format!("a link is gone before it (position {after})")));
            }
            if let Err(what) = walk.step(link, |_| "it was changed") {
                return Ok(walk.stopped(link.number, what));
            }
        }
        after = last.at;
    }
    match chain::find_unchained_event(db).await? {
        Some(number) => Ok(walk.stopped(number, unchained())),
        None => Ok(walk.walked),
    }
}

struct Walk<'a> {
    heads: &'a [String],
    before: Vec<u8>,
    walked: Walked,
}

impl<'a> Walk<'a> {
    fn new(heads: &'a [String], first: Option<i64>) -> Self {
        Self { heads, before: Vec::new(), walked: Walked { first, ..Walked::default() } }
    }

    /// Goes on by one link, or says what does not fit; `part` names what a hash is of.
    fn step(&mut self, link: &Link, part: impl Fn(usize) -> &'static str) -> Result<(), String> {
        let (Some(parts), Some(chain)) = (&link.parts, &link.chain) else { return Err(unchained()) };
        if !link.is_there {
            return Err("it is gone; its link is still there".into());
        }
        let now = link.now.as_deref().unwrap_or_default();
        let differs = parts.chunks(HASH_BYTES).zip(now.chunks(HASH_BYTES)).position(|(then, now)| then != now);
        if let Some(at) = differs {
            return Err(part(at).into());
        }
        let expected = Sha256::new().chain_update(&self.before).chain_update(parts).finalize();
        if expected.as_slice() != chain.as_slice() {
            return Err(self.broken(link));
        }
        self.before.clone_from(chain);
        let head = hex(chain);
        if self.heads.contains(&head) {
            self.walked.seen.push(head.clone());
        }
        self.walked.head = Some(head);
        self.walked.last = Some(link.number);
        self.walked.links += 1;
        Ok(())
    }

    /// A link that does not follow. Numbers jump when a restored database goes on, so a gap alone is no fault.
    fn broken(&self, link: &Link) -> String {
        match self.walked.last {
            Some(last) if last + 1 < link.at => {
                format!("it does not follow from {last}: what stood between them was taken out, or it was put in")
            }
            Some(last) => format!("it does not follow from {last}: they were written anew, exchanged or put in"),
            None => "the first of the chain is gone, or was written anew".into(),
        }
    }

    fn stopped(mut self, at: i64, what: String) -> Walked {
        self.walked.fault = Some(Fault { at, what });
        self.walked
    }
}

fn unchained() -> String {
    "it has no link: it was written past the chain, or its link was taken out".into()
}

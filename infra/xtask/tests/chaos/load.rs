//! Applications that go on asking, whatever happens to the edge, and know how many answers they got.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{sleep, sleep_until};

use crate::connection::Connection;

/// Connections that ask at the same time, each waiting for its answer.
pub(crate) const CONNECTIONS: u64 = 16;
/// Wait before an edge that is gone is tried again.
const RETRY: Duration = Duration::from_millis(5);

pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    /// Asks one flag for many users, so many times a second in all.
    pub(crate) fn start(edge: &str, key: &str, flag: &'static str, per_second: f64) -> Self {
        let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let address = edge.trim_start_matches("http://").to_owned();
        let interval = Duration::from_secs_f64(CONNECTIONS as f64 / per_second);
        let tasks = (0..CONNECTIONS).map(|number| {
            let asker = Asker {
                address: address.clone(),
                key: key.to_owned(),
                flag,
                number,
                interval,
                is_over: Arc::clone(&is_over),
                answered: Arc::clone(&answered),
            };
            tokio::spawn(asker.ask())
        });
        let tasks = tasks.collect();
        Self { is_over, answered, tasks }
    }

    /// Stops asking; how many answers there were.
    pub(crate) async fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("every answer was a 200");
        }
        self.answered.load(Ordering::Relaxed)
    }
}

struct Asker {
    address: String,
    key: String,
    flag: &'static str,
    number: u64,
    interval: Duration,
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
}

impl Asker {
    async fn ask(self) {
        let mut connection = None;
        let mut due = Instant::now();
        for turn in 0_u64.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            sleep_until(due.into()).await;
            // What an edge that was away did not answer is not made up for.
            due = (due + self.interval).max(Instant::now() - self.interval);
            let open = match connection.as_mut() {
                Some(open) => open,
                None => match Connection::open(&self.address).await {
                    Ok(opened) => connection.insert(opened),
                    Err(_) => {
                        sleep(RETRY).await;
                        continue;
                    }
                },
            };
            let user = turn * CONNECTIONS + self.number;
            let body = format!("{{\"flagKey\":\"{}\",\"context\":{{\"targetingKey\":\"user-{user}\"}}}}", self.flag);
            match open.evaluate(&self.key, &body).await {
                Ok(_) => drop(self.answered.fetch_add(1, Ordering::Relaxed)),
                // An edge on its way out answers 503 or nothing, and counts neither.
                Err(_) => connection = None,
            }
        }
    }
}

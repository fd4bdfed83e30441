//! What was counted on edges and did not arrive.

use shared::model::timestamp::Timestamp;
use shared::wire::api::insight::{CountLoss, CountLosses};
use time::Duration;

use crate::app::experiment::too_much;
use crate::app::range;
use crate::app::shown::{about, count};
use crate::app::unknown::RANGE_MAX;
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::loss::Loss;

/// The most gaps.
const LIST_MAX: i64 = 500;

/// Gaps of a time, of the last 24 hours when absent, beside what did arrive.
pub async fn list(state: &AppState, from: Option<Timestamp>, to: Option<Timestamp>) -> Result<CountLosses, AppError> {
    let (from, to) = range::read(state.clock.now(), from, to, Duration::DAY, RANGE_MAX)?;
    let mut tx = store::experiment::begin(&state.pool).await?;
    let (from, to) = store::unknown::round(&mut tx, from, to).await?;
    let listed = store::loss::list(&mut tx, from, to, LIST_MAX).await?;
    let evaluations = store::loss::sum_evaluations(&mut tx, from, to).await.map_err(too_much)?;
    tx.commit().await?;
    let (gaps, lost_max, evaluations) = (number(listed.rows), number(listed.lost_max), number(evaluations));
    Ok(CountLosses {
        from: from.into(),
        to: to.into(),
        items: listed.items.into_iter().map(detail).collect(),
        lost_max,
        evaluations,
        sentence: match gaps {
            0 => format!("no gap in {} evaluations", about(evaluations)),
            1 => format!("1 gap, at most {} of {}", count(lost_max), about(evaluations + lost_max)),
            gaps => format!("{} gaps, at most {} of {}", count(gaps), count(lost_max), about(evaluations + lost_max)),
        },
    })
}

fn detail(loss: Loss) -> CountLoss {
    let edge = &loss.edge_name;
    let most = count(number(loss.lost_max));
    let sentence = match loss.cause.as_str() {
        "killed" if loss.is_final => format!("{edge} was ended hard; at most {most} evaluations are lost"),
        "killed" => {
            format!("{edge} was ended hard; at most {most} evaluations are lost, its successor still sends some")
        }
        "silent" if loss.is_final => {
            format!("{edge} fell silent and was dismissed; at most {most} evaluations are lost")
        }
        "silent" => format!("{edge} is silent; at most {most} evaluations arrive when it is back"),
        "let_go" => format!("{edge} had no room left while nobody took its counts; {most} evaluations are lost"),
        other => format!("{edge} lost at most {most} evaluations ({other})"),
    };
    CountLoss {
        edge: loss.edge_name,
        process: loss.process,
        cause: loss.cause,
        sentence,
        from: loss.from_at.into(),
        to: loss.to_at.into(),
        lost_max: number(loss.lost_max),
        is_final: loss.is_final,
    }
}

fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

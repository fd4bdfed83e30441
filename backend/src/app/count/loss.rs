//! What was counted on edges and did not arrive.

use shared::wire::api::insight::{CountLoss, CountLosses};

use crate::app::count::{Reading, total};
use crate::app::range::{Length, Range, moment};
use crate::app::shown::{about, count};
use crate::error::AppError;
use crate::state::AppState;
use crate::store;
use crate::store::count::Loss;

/// The most gaps.
const LIST_MAX: i64 = 500;

/// Gaps of a time, beside what did arrive.
pub async fn losses(state: &AppState, range: Range) -> Result<CountLosses, AppError> {
    let period = range.period(state.clock.now(), Length::COUNTS)?;
    let mut reading = Reading::begin_everywhere(state).await?;
    let kept = reading.kept(period).await?;
    let (edges, _) = kept.honour(&[period.from, period.to]);
    let (from, to) = (moment(edges[0]), moment(edges[edges.len() - 1]));
    let listed = store::count::list_losses(&mut reading.tx, from, to, LIST_MAX).await?;
    let counted = store::count::list_all_totals(&mut reading.tx, from).await?;
    let evaluations = total(&reading.add_up(&[counted], &edges, &kept).await?);
    let (gaps, lost_max) = (number(listed.rows), number(listed.lost_max));
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

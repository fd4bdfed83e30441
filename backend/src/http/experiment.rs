//! What experiments say.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use shared::model::key::{EnvironmentKey, FlagKey, VariantKey};
use shared::model::timestamp::Timestamp;
use shared::wire::api::experiment::{ExperimentResult, MetricVariant, Verdict};
use utoipa::IntoParams;

use crate::app;
use crate::app::experiment::Question;
use crate::auth::permission::CanView;
use crate::error::AppError;
use crate::http::csv::{Format, Table, answer, number, text};
use crate::http::input::{Path, Query};
use crate::state::AppState;

/// What to see of an experiment.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ExperimentQuery {
    /// Where.
    environment: EnvironmentKey,
    /// Users whose first exposure is before this minute are left out; the last change of the split when absent.
    from: Option<Timestamp>,
    /// What is later is left out; now when absent.
    to: Option<Timestamp>,
    /// The variant to compare with; the off variant where the split has it, else its first one, when absent.
    control: Option<VariantKey>,
    /// `default` or `rule <id>`; the split with most users when absent.
    place: Option<String>,
    /// Ids of metrics, separated by commas, at most 10; the first 10 by name when absent.
    metric: Option<String>,
    /// `json` or `csv`.
    format: Option<Format>,
}

/// Reads the results of one split of an experiment: users by variant, each metric with intervals that are safe to look at
/// any time, and whether users were divided as the split says.
#[utoipa::path(get, path = "/api/v1/projects/{project}/flags/{flag}/experiment", tag = "experiments",
               params(("project" = String, Path), ("flag" = String, Path), ExperimentQuery),
               responses((status = 200, content((ExperimentResult = "application/json"), (String = "text/csv")))))]
pub async fn get_experiment(
    State(state): State<AppState>,
    CanView(who): CanView,
    Path((_, flag)): Path<(String, FlagKey)>,
    Query(query): Query<ExperimentQuery>,
) -> Result<Response, AppError> {
    let ids = query.metric.as_deref().unwrap_or_default().split(',').filter(|id| !id.is_empty());
    let metrics = ids.map(|id| {
        let message = || format!("'{id}' is not the id of a metric; separate several by commas");
        id.trim().parse().map_err(|_| AppError::field("metric", message()))
    });
    let question = Question {
        environment: query.environment,
        from: query.from,
        to: query.to,
        control: query.control,
        place: query.place,
        metrics: metrics.collect::<Result<_, _>>()?,
    };
    let result = app::experiment::result(&state, who.id(), &flag, &question).await?;
    let name = [result.flag.to_string(), "in".into(), result.environment.to_string(), "experiment".into()];
    answer(query.format, &name.each_ref().map(String::as_str), result)
}

const HEADER: [&str; 21] = [
    "metric",
    "event",
    "kind",
    "variant",
    "is_control",
    "configured_share",
    "units",
    "active",
    "estimate",
    "sum",
    "deviation",
    "difference",
    "always_valid_low",
    "always_valid_high",
    "always_valid_p",
    "single_look_low",
    "single_look_high",
    "single_look_p",
    "lift",
    "verdict",
    "sentence",
];

impl Table for ExperimentResult {
    fn columns(&self) -> Vec<&'static str> {
        HEADER.to_vec()
    }

    /// One row for each variant of each metric; without metrics, one for each variant.
    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for found in &self.metrics {
            let metric = &found.metric;
            let head = [text(&metric.name), text(metric.event.as_str()), metric.kind.as_str().to_owned()];
            for line in &found.variants {
                let share = self.variants.iter().find(|variant| variant.variant == line.variant);
                let share = number(share.map(|variant| variant.configured_share));
                rows.push(row(&head, line, line.variant == self.control, share));
            }
        }
        if self.metrics.is_empty() {
            for variant in &self.variants {
                let mut row = vec![String::new(); HEADER.len()];
                row[3] = text(variant.variant.as_str());
                row[4] = (variant.variant == self.control).to_string();
                row[5] = variant.configured_share.to_string();
                row[6] = variant.units.to_string();
                rows.push(row);
            }
        }
        rows
    }
}

fn row(head: &[String; 3], line: &MetricVariant, is_control: bool, share: String) -> Vec<String> {
    let compared = line.comparison.as_ref();
    let verdict = compared.map(|found| match found.verdict {
        Verdict::More => "more",
        Verdict::Less => "less",
        Verdict::Open => "open",
    });
    let mut row = head.to_vec();
    row.extend([
        text(line.variant.as_str()),
        is_control.to_string(),
        share,
        line.units.to_string(),
        line.active.to_string(),
        number(line.estimate),
        number(line.sum),
        number(line.deviation),
        number(compared.map(|found| found.difference)),
        number(compared.map(|found| found.always_valid.low)),
        number(compared.map(|found| found.always_valid.high)),
        number(compared.map(|found| found.always_valid_p)),
        number(compared.map(|found| found.single_look.low)),
        number(compared.map(|found| found.single_look.high)),
        number(compared.map(|found| found.single_look_p)),
        number(compared.and_then(|found| found.lift).map(|lift| lift.value)),
        number(verdict),
        text(&line.sentence),
    ]);
    row
}

//! Counts as tables.

use shared::model::timestamp::Timestamp;
use shared::wire::api::count::{
    CountBy, CountErrors, CountLine, CountSeries, CountSummary, CountTotals, EnvironmentTotals, FlagErrors, FlagShares,
    PlaceShares, TopFlag, TopFlags, VariantShare,
};

use crate::http::csv::{Table, number, text, text_or_empty};

impl Table for CountSeries {
    fn columns(&self) -> Vec<&'static str> {
        let by = match self.by {
            CountBy::None => "all",
            CountBy::Variant => "variant",
            CountBy::Place | CountBy::Rule => "place",
            CountBy::Reason => "reason",
            CountBy::Mode => "mode",
            CountBy::Environment => "environment",
            CountBy::Flag => "flag",
            CountBy::Edge => "edge",
            CountBy::SdkKey => "sdk_key",
        };
        vec!["from", "to", by, "id", "name", "count"]
    }

    /// One row for each bucket of each line, empty ones included; further lines together stand as `(other)`.
    fn rows(&self) -> Vec<Vec<String>> {
        let ends = self.buckets.iter().skip(1).copied().chain([self.to]);
        let buckets: Vec<(Timestamp, Timestamp)> = self.buckets.iter().copied().zip(ends).collect();
        let row = |at: usize, names: [String; 3], count: u64| {
            let (from, to) = buckets[at];
            let mut row = vec![from.to_string(), to.to_string()];
            row.extend(names);
            row.push(count.to_string());
            row
        };
        let names = |line: &CountLine| {
            [text_or_empty(line.key.as_ref()), text_or_empty(line.id.as_ref()), text_or_empty(line.name.as_ref())]
        };
        let mut rows = Vec::new();
        for at in 0..buckets.len() {
            for line in &self.series {
                rows.push(row(at, names(line), line.counts.get(at).copied().unwrap_or(0)));
            }
            if let Some(other) = &self.other {
                let names = ["(other)".into(), String::new(), String::new()];
                rows.push(row(at, names, other.counts.get(at).copied().unwrap_or(0)));
            }
        }
        rows
    }
}

impl Table for CountSummary {
    fn columns(&self) -> Vec<&'static str> {
        vec![
            "environment",
            "evaluations",
            "errors",
            "requests",
            "unknown",
            "evaluations_before",
            "errors_before",
            "requests_before",
            "unknown_before",
        ]
    }

    /// One row for each environment.
    fn rows(&self) -> Vec<Vec<String>> {
        let figures = |totals: &CountTotals| [totals.evaluations, totals.errors, totals.requests, totals.unknown];
        let row = |line: &EnvironmentTotals| {
            let mut row = vec![text(line.environment.as_str())];
            row.extend(figures(&line.totals).iter().chain(&figures(&line.before)).map(u64::to_string));
            row
        };
        self.environments.iter().map(row).collect()
    }
}

impl Table for TopFlags {
    fn columns(&self) -> Vec<&'static str> {
        vec!["flag", "id", "name", "total", "single", "bulk", "errors", "last_evaluated_at"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |line: &TopFlag| {
            let mut row =
                vec![text_or_empty(line.flag.as_ref()), line.id.to_string(), text_or_empty(line.name.as_ref())];
            row.extend([line.total, line.single, line.bulk, line.errors].map(|count| count.to_string()));
            row.push(text_or_empty(line.last_evaluated_at.as_ref()));
            row
        };
        self.flags.iter().map(row).collect()
    }
}

impl Table for CountErrors {
    fn columns(&self) -> Vec<&'static str> {
        vec!["flag", "id", "code", "count", "first_at", "last_at"]
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |line: &FlagErrors| {
            let (first, last) = (line.first_at.to_string(), line.last_at.to_string());
            let flag = text_or_empty(line.flag.as_ref());
            vec![flag, line.id.to_string(), text(&line.code), line.count.to_string(), first, last]
        };
        self.errors.iter().map(row).collect()
    }
}

impl Table for FlagShares {
    fn columns(&self) -> Vec<&'static str> {
        vec!["place", "name", "is_current", "variant", "count", "share", "configured"]
    }

    /// One row for each variant of each place.
    fn rows(&self) -> Vec<Vec<String>> {
        let places = self.places.iter().flat_map(|place| place.variants.iter().map(move |share| (place, share)));
        let row = |(place, share): (&PlaceShares, &VariantShare)| {
            vec![
                text(&place.place),
                text_or_empty(place.name.as_ref()),
                place.is_current.to_string(),
                text_or_empty(share.variant.as_ref()),
                share.count.to_string(),
                number(share.share),
                number(share.configured),
            ]
        };
        places.map(row).collect()
    }
}

//! What users get: one variant, or a split.

use leptos::prelude::*;
use shared::model::key::VariantKey;
use shared::model::rule::Serve;
use shared::model::split::{Algorithm, BUCKETS, BucketRange, Split};
use shared::sentence;

use super::draft::Editing;
use super::split::SplitEditor;
use super::targeting::variant_options;
use super::words;
use crate::clock;
use crate::component::allocation::{AllocationBar, Segment};
use crate::component::field::{Choice, Choices, SelectField};

/// Attribute that splits are divided by unless somebody chooses another.
const BUCKET_BY: &str = "targetingKey";

/// The allocation bar of a split; nothing for one variant.
#[component]
pub fn ServeBar(serve: Serve) -> impl IntoView {
    let editing = Editing::get();
    match serve {
        Serve::Variant(_) => ().into_any(),
        Serve::Split(split) => {
            let segments = editing.definition.with_untracked(|definition| segments(&definition.variants, &split));
            view! { <AllocationBar segments=segments/> }.into_any()
        }
    }
}

/// Segments of the bar: variants in the order of their buckets, then what goes on.
pub(super) fn segments(variants: &[shared::model::variant::Variant], split: &Split) -> Vec<Segment> {
    let mut owners: Vec<&VariantKey> = Vec::new();
    for range in &split.ranges {
        if !owners.contains(&&range.variant) {
            owners.push(&range.variant);
        }
    }
    let mut segments: Vec<Segment> = owners
        .into_iter()
        .map(|variant| Segment {
            text: format!("{variant} {}", sentence::percent(split.share(variant))),
            hue: words::hue(variants, variant.as_str()),
            size: split.share(variant),
        })
        .collect();
    let rest = BUCKETS.saturating_sub(split.covered());
    if rest > 0 {
        segments.push(Segment {
            text: format!("{} go on to what follows", sentence::percent(rest)),
            hue: 0,
            size: rest,
        });
    }
    segments
}

/// Chooses between one variant and a split.
#[component]
pub fn ServeEditor(
    #[prop(into)] value: Signal<Serve>,
    /// What was served when the draft was begun; new shares move as few users as possible from there.
    base: Option<Serve>,
    #[prop(into)] on_change: Callback<Serve>,
    /// A default must cover everyone.
    is_default: bool,
) -> impl IntoView {
    let editing = Editing::get();
    let kind = Memo::new(move |_| matches!(value.get(), Serve::Split(_)));
    let chosen = Signal::derive(move || if kind.get() { "split" } else { "variant" }.to_owned());
    let base = StoredValue::new(base);
    let choose = move |chosen: String| {
        let now = value.get_untracked();
        let next = match (chosen.as_str(), now) {
            ("split", Serve::Variant(variant)) => {
                Serve::Split(base_split(base.get_value()).unwrap_or_else(|| new_split(variant)))
            }
            ("variant", Serve::Split(split)) => {
                match split.ranges.into_iter().max_by_key(|range| range.end - range.start) {
                    Some(range) => Serve::Variant(range.variant),
                    None => return,
                }
            }
            (_, same) => same,
        };
        on_change.run(next);
    };
    let variant = Signal::derive(move || match value.get() {
        Serve::Variant(variant) => variant.to_string(),
        Serve::Split(_) => String::new(),
    });
    let set_variant = move |key: String| {
        if let Ok(variant) = key.parse() {
            on_change.run(Serve::Variant(variant));
        }
    };
    view! {
        <div class="stack">
            <Choices label="Serve" value=chosen on_change=choose
                options=vec![Choice::new("variant", "one variant"), Choice::new("split", "shares of users")]/>
            {move || {
                if kind.get() {
                    view! { <SplitEditor value=value base=base.get_value() on_change=on_change is_default=is_default/> }.into_any()
                } else {
                    view! {
                        <SelectField label="Variant" is_code=true options=Signal::derive(move || variant_options(editing))
                            value=variant on_change=set_variant/>
                    }
                    .into_any()
                }
            }}
        </div>
    }
}

/// Going back to a split that was there keeps every user's variant.
fn base_split(base: Option<Serve>) -> Option<Split> {
    match base? {
        Serve::Split(split) => Some(split),
        Serve::Variant(_) => None,
    }
}

/// Everyone keeps the variant that was served; shares are changed from there.
fn new_split(variant: VariantKey) -> Split {
    let ranges = vec![BucketRange { start: 0, end: BUCKETS, variant }];
    Split {
        bucket_by: BUCKET_BY.into(),
        algorithm: Algorithm::Murmur3,
        seed: clock::new_seed(),
        total: BUCKETS,
        ranges,
    }
}

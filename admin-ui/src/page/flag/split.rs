//! Shares of users per variant, changed so that as few users as possible move.

use std::collections::BTreeMap;

use leptos::prelude::*;
use shared::model::key::VariantKey;
use shared::model::rule::Serve;
use shared::model::split::{BUCKETS, BucketRange, Split, reallocate};
use shared::sentence;

use super::draft::Editing;
use super::effect::{self, exact_percent};
use super::serve::segments;
use super::targeting::variants;
use super::words;
use crate::component::allocation::AllocationBar;
use crate::component::button::{Button, ButtonKind};
use crate::component::field::TextField;

/// A typed share as buckets: `33.333` → 33,333.
pub fn parse_share(text: &str) -> Result<u32, String> {
    let text = text.trim().trim_end_matches('%').trim_end().replace(',', ".");
    let wrong = || "Write a share such as 10 or 0.5; the smallest is 0.001.".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 6 || !is_digits(whole) || !is_digits(part) || part.len() > 3 {
        return Err(wrong());
    }
    let buckets = format!("{whole}{part:0<3}").parse::<u32>().map_err(|_| wrong())?;
    if buckets > BUCKETS { Err("A share is at most 100 %.".into()) } else { Ok(buckets) }
}

/// Who gets what is left over.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rest {
    Variant(VariantKey),
    /// The rule does not apply to them.
    GoesOn,
}

/// One field per variant; one of them, or "what follows", gets the rest.
#[component]
pub fn SplitEditor(
    #[prop(into)] value: Signal<Serve>,
    base: Option<Serve>,
    on_change: Callback<Serve>,
    is_default: bool,
) -> impl IntoView {
    let editing = Editing::get();
    let Some(first) = untrack(|| split_of(value)) else { return ().into_any() };
    let start = StoredValue::new(base_ranges(base.as_ref(), &first));
    let base = StoredValue::new(base);
    let rest = RwSignal::new(first_rest(editing, &first, is_default));
    let texts = RwSignal::new(
        untrack(|| variants(editing))
            .into_iter()
            .map(|variant| (variant.clone(), sentence::percent(first.share(&variant)).replace(" %", "")))
            .collect::<BTreeMap<_, _>>(),
    );
    // What the fields say; `Err` while they say nothing that could be saved.
    let shares = Memo::new(move |_| {
        let all = variants(editing);
        texts.with(|texts| rest.with(|rest| read_shares(&all, texts, rest)))
    });
    let write = move || {
        let (Some(split), Ok(shares)) = (untrack(|| split_of(value)), shares.get_untracked()) else { return };
        let ranges = start.with_value(|start| reallocate(BUCKETS, start, &shares));
        on_change.run(Serve::Split(Split { ranges, ..split }));
    };
    let give_rest = move |to: Rest| {
        // The one that had the rest keeps what it showed.
        if let (Ok(shares), Rest::Variant(had)) = (shares.get_untracked(), rest.get_untracked()) {
            let share = shares.iter().find(|(variant, _)| *variant == had).map_or(0, |(_, share)| *share);
            texts.update(|texts| drop(texts.insert(had, sentence::percent(share).replace(" %", ""))));
        }
        rest.set(to);
        write();
    };
    let row = move |variant: VariantKey| {
        let set = {
            let variant = variant.clone();
            move |text: String| {
                texts.update(|texts| drop(texts.insert(variant.clone(), text)));
                write();
            }
        };
        view! { <Row variant=variant start=start shares=shares texts=texts rest=rest on_text=set on_rest=give_rest/> }
    };
    let bucket_by = Signal::derive(move || split_of(value).map(|split| split.bucket_by).unwrap_or_default());
    let set_bucket_by = move |text: String| {
        if let Some(split) = untrack(|| split_of(value)) {
            on_change.run(Serve::Split(Split { bucket_by: text.trim().into(), ..split }));
        }
    };
    let bar = Signal::derive(move || {
        let split = split_of(value);
        editing.definition.with(|d| split.map(|split| segments(&d.variants, &split)).unwrap_or_default())
    });
    let effect = move || match base.get_value() {
        Some(base) => effect::serve(&base, &value.get(), "of users"),
        None => Vec::new(),
    };
    view! {
        <AllocationBar segments=bar/>
        <fieldset>
            <legend class="hidden">"Shares"</legend>
            <For each=move || variants(editing) key=Clone::clone let(variant)>{row(variant)}</For>
            {(!is_default).then(|| {
                let goes_on = move || match shares.get() {
                    Ok(shares) => BUCKETS - shares.iter().map(|(_, share)| share).sum::<u32>().min(BUCKETS),
                    Err(_) => 0,
                };
                view! {
                    <div class="split-row">
                        <span class="split-name"><span class="swatch" data-hue="0"></span>"what follows"</span>
                        <span>{move || exact_percent(goes_on())}</span>
                        <span></span>
                        <RestButton name="what follows".to_owned() is_rest=Signal::derive(move || rest.get() == Rest::GoesOn)
                            on_press=move || give_rest(Rest::GoesOn)/>
                    </div>
                }
            })}
        </fieldset>
        <p class="field-error" role="alert" hidden=move || shares.with(Result::is_ok)>{move || shares.get().err()}</p>
        <TextField label="Divided by" hint="Users with the same value get the same variant." is_code=true
            value=bucket_by on_input=set_bucket_by/>
        <ul class="effect" aria-live="polite">
            {move || effect().into_iter().map(|line| view! { <li>{line}</li> }).collect_view()}
        </ul>
    }
    .into_any()
}

#[component]
fn Row(
    variant: VariantKey,
    start: StoredValue<Vec<BucketRange>>,
    shares: Memo<Result<Vec<(VariantKey, u32)>, String>>,
    texts: RwSignal<BTreeMap<VariantKey, String>>,
    rest: RwSignal<Rest>,
    #[prop(into)] on_text: Callback<String>,
    #[prop(into)] on_rest: Callback<Rest>,
) -> impl IntoView {
    let editing = Editing::get();
    let name = variant.to_string();
    let hue = {
        let name = name.clone();
        move || editing.definition.with(|definition| words::hue(&definition.variants, &name)).to_string()
    };
    let is_rest = {
        let variant = variant.clone();
        Memo::new(move |_| rest.with(|rest| *rest == Rest::Variant(variant.clone())))
    };
    let share = {
        let variant = variant.clone();
        move || match shares.get() {
            Ok(shares) => shares.iter().find(|(other, _)| *other == variant).map_or(0, |(_, share)| *share),
            Err(_) => 0,
        }
    };
    let was =
        start.with_value(|start| start.iter().filter(|r| r.variant == variant).map(|r| r.end - r.start).sum::<u32>());
    let text = {
        let variant = variant.clone();
        Signal::derive(move || texts.with(|texts| texts.get(&variant).cloned().unwrap_or_default()))
    };
    let error = Signal::derive(move || if is_rest.get() { None } else { text.with(|text| parse_share(text).err()) });
    let label = format!("Share of {name}");
    let rest_name = name.clone();
    view! {
        <div class="split-row">
            <span class="split-name" translate="no"><span class="swatch" data-hue=hue></span>{name}</span>
            {move || {
                let (share, label) = (share.clone(), label.clone());
                if is_rest.get() {
                    view! { <output aria-label=label>{move || exact_percent(share())}</output> }.into_any()
                } else {
                    view! {
                        <TextField label=label hide_label=true inputmode="decimal" unit="%" value=text on_input=on_text error=error/>
                    }
                    .into_any()
                }
            }}
            <span class="muted">{format!("was {}", sentence::percent(was))}</span>
            <RestButton name=rest_name is_rest=is_rest on_press=move || on_rest.run(Rest::Variant(variant.clone()))/>
        </div>
    }
}

/// Marks who gets the rest, or gives it.
#[component]
fn RestButton(
    name: String,
    #[prop(into)] is_rest: Signal<bool>,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    move || {
        let name = name.clone();
        if is_rest.get() {
            view! { <span class="muted">"gets the rest"</span> }.into_any()
        } else {
            view! {
                <Button kind=ButtonKind::Quiet on_press=on_press>"Rest here"<span class="hidden">{format!(": {name}")}</span></Button>
            }
            .into_any()
        }
    }
}

fn split_of(value: Signal<Serve>) -> Option<Split> {
    match value.get() {
        Serve::Split(split) => Some(split),
        Serve::Variant(_) => None,
    }
}

/// Shares are always worked out from what was saved: keys typed on the way to a number must not move anybody.
fn base_ranges(base: Option<&Serve>, now: &Split) -> Vec<BucketRange> {
    match base {
        Some(Serve::Split(split)) if split.seed == now.seed => split.ranges.clone(),
        Some(Serve::Variant(variant)) => vec![BucketRange { start: 0, end: BUCKETS, variant: variant.clone() }],
        _ => now.ranges.clone(),
    }
}

fn first_rest(editing: Editing, split: &Split, is_default: bool) -> Rest {
    if !is_default && split.covered() < BUCKETS {
        return Rest::GoesOn;
    }
    let off = editing.definition.with_untracked(|definition| words::off_variant(&definition.variants));
    off.map_or(Rest::GoesOn, Rest::Variant)
}

fn read_shares(
    all: &[VariantKey],
    texts: &BTreeMap<VariantKey, String>,
    rest: &Rest,
) -> Result<Vec<(VariantKey, u32)>, String> {
    let mut shares = Vec::new();
    let mut sum = 0_u32;
    for variant in all.iter().filter(|variant| *rest != Rest::Variant((*variant).clone())) {
        let share = parse_share(texts.get(variant).map_or("0", String::as_str))?;
        sum = sum.saturating_add(share);
        shares.push((variant.clone(), share));
    }
    if sum > BUCKETS {
        return Err(format!("The shares make {}; at most 100 % can be given out.", sentence::percent(sum)));
    }
    if let Rest::Variant(variant) = rest {
        shares.push((variant.clone(), BUCKETS - sum));
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_share_is_read_to_the_last_bucket() {
        let read = ["10", "0.5", "33.333", "10,5", "100", "0.001", "12 %"].map(|text| parse_share(text).ok());
        assert_eq!(read, [10_000, 500, 33_333, 10_500, 100_000, 1, 12_000].map(Some));
        for bad in ["", "ten", "-1", "0.0001", "100.001", "1e2", "1.2.3"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_rest_goes_where_it_is_marked() {
        let (on, off): (VariantKey, VariantKey) = ("on".parse().expect("a key"), "off".parse().expect("a key"));
        let all = [on.clone(), off.clone()];
        let texts = BTreeMap::from([(on.clone(), "10".to_owned()), (off.clone(), "90".to_owned())]);
        let rest = Rest::Variant(off.clone());
        assert_eq!(read_shares(&all, &texts, &rest), Ok(vec![(on.clone(), 10_000), (off.clone(), 90_000)]));
        assert_eq!(read_shares(&all, &texts, &Rest::GoesOn), Ok(vec![(on.clone(), 10_000), (off.clone(), 90_000)]));
        let too_much = BTreeMap::from([(on, "60".to_owned()), (off, "60".to_owned())]);
        assert!(read_shares(&all, &too_much, &Rest::GoesOn).is_err());
    }
}

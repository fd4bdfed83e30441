//! The cells that answering adds to: one flag's by place, variant and mode.

use std::sync::atomic::{AtomicU64, Ordering};

use shared::evaluation::{ErrorCode, Flag, Outcome, Place, Reason};
use shared::model::id::{EnvironmentId, FlagId, RuleId};
use shared::model::key::VariantKey;
use shared::wire::count::Mode;
use xxhash_rust::xxh3::xxh3_64;

use crate::count::accumulator::{Accumulator, EvaluationKey, ExposureKey};

/// Places that every flag has, before those of its rules.
const FIXED_PLACES: usize = 5;
const MODES: usize = 2;

/// What the places and variants of a flag are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Paused ones included.
    rules: Box<[RuleId]>,
    variants: Box<[VariantKey]>,
    /// Why the default answers, and then each rule.
    reasons: Box<[Reason]>,
}

impl Shape {
    /// The shape of a compiled flag whose config has these rules, paused ones included.
    pub fn of(flag: &Flag, rules: Box<[RuleId]>) -> Self {
        // A config has at most 200 rules.
        let places = [Place::Default].into_iter().chain((0..rules.len()).map(|at| Place::Rule(at as u16)));
        let reasons = places.map(|place| flag.reason(place)).collect();
        Self { rules, variants: flag.variants().cloned().collect(), reasons }
    }
}

/// One cell per place, variant and mode of one flag in one environment.
///
/// The same cells serve the flag before and after it is compiled anew, as long as its rules, its variants and the reasons
/// of its places stay.
#[derive(Debug)]
pub struct Cells {
    environment: EnvironmentId,
    flag: FlagId,
    shape: Shape,
    /// By place, then variant (none first), then mode; after all places one per error code and mode.
    cells: Box<[AtomicU64]>,
}

impl Cells {
    pub(super) fn new(environment: EnvironmentId, flag: FlagId, shape: Shape) -> Self {
        let places = FIXED_PLACES + shape.rules.len();
        let len = (places * (shape.variants.len() + 1) + ErrorCode::ALL.len()) * MODES;
        let cells = std::iter::repeat_with(AtomicU64::default).take(len).collect();
        Self { environment, flag, shape, cells }
    }

    /// Whether these cells fit a flag of this shape.
    pub fn fit(&self, shape: &Shape) -> bool {
        self.shape == *shape
    }

    /// Counts one answer. Call it while holding the snapshot that gave the answer: cells are gathered until no snapshot
    /// uses them, and not a moment longer.
    #[inline]
    pub fn add(&self, outcome: &Outcome<'_>, mode: Mode) {
        if let Some(cell) = self.cells.get(self.index(outcome, mode)) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn index(&self, outcome: &Outcome<'_>, mode: Mode) -> usize {
        let width = self.shape.variants.len() + 1;
        let place = match outcome.place {
            Place::Off => 0,
            Place::Killed => 1,
            Place::Target => 2,
            Place::Default => 3,
            Place::Blocked => 4,
            Place::Rule(index) => FIXED_PLACES + usize::from(index),
            Place::Error(code) => {
                return ((FIXED_PLACES + self.shape.rules.len()) * width + position(code)) * MODES + mode as usize;
            }
        };
        let variant = outcome.variant_index.map_or(0, |index| usize::from(index) + 1);
        (place * width + variant) * MODES + mode as usize
    }

    /// What a cell counts.
    fn meaning(&self, index: usize, minute: i64) -> EvaluationKey {
        let Shape { rules, variants, reasons } = &self.shape;
        let mode = if index.is_multiple_of(MODES) { Mode::Single } else { Mode::Bulk };
        let slot = index / MODES;
        let width = variants.len() + 1;
        let errors_from = (FIXED_PLACES + rules.len()) * width;
        let (place, reason) = if slot >= errors_from {
            (format!("error {}", ErrorCode::ALL[slot - errors_from]), Reason::Error)
        } else {
            match slot / width {
                0 => ("off".into(), Reason::Disabled),
                1 => ("killed".into(), Reason::Disabled),
                2 => ("target".into(), Reason::TargetingMatch),
                3 => (DEFAULT.into(), reasons[0]),
                4 => ("blocked".into(), Reason::Disabled),
                rule => (rule_text(rules[rule - FIXED_PLACES]), reasons[rule - FIXED_PLACES + 1]),
            }
        };
        let variant = (slot % width).checked_sub(1).filter(|_| slot < errors_from).map(|at| variants[at].to_string());
        let (environment, flag) = (self.environment, self.flag);
        EvaluationKey { minute, environment, flag, place, variant, reason: Some(reason), mode }
    }

    pub(super) fn drain(&self, minute: i64, into: &mut Accumulator) -> u64 {
        let mut total = 0;
        for (index, cell) in self.cells.iter().enumerate() {
            if cell.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let count = cell.swap(0, Ordering::Relaxed);
            into.add(self.meaning(index, minute), count);
            total += count;
        }
        total
    }

    pub(super) fn sum(&self) -> u64 {
        self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }

    /// What an exposure is about; `None` for a place without a split, or a variant that is not there.
    pub(super) fn exposure(&self, place: Place, variant: u16, minute: i64) -> Option<ExposureKey> {
        let place = match place {
            Place::Default => DEFAULT.into(),
            Place::Rule(index) => rule_text(*self.shape.rules.get(usize::from(index))?),
            _ => return None,
        };
        let variant = self.shape.variants.get(usize::from(variant))?.clone();
        Some(ExposureKey { minute, environment: self.environment, flag: self.flag, place, variant })
    }

    /// Stands for a unit that a place gave a variant, the same after the flag was compiled anew; never 0.
    pub(super) fn fingerprint(&self, place: Place, variant: u16, unit: u64) -> u64 {
        let rule = match place {
            Place::Rule(index) => self.shape.rules.get(usize::from(index)).copied(),
            _ => None,
        };
        let variant = self.shape.variants.get(usize::from(variant)).map_or(0, |key| xxh3_64(key.as_str().as_bytes()));
        let mut bytes = [0; 64];
        let (ids, numbers) = bytes.split_at_mut(48);
        let all = [self.environment.uuid(), self.flag.uuid(), rule.map(RuleId::uuid).unwrap_or_default()];
        for (room, id) in ids.as_chunks_mut::<16>().0.iter_mut().zip(all) {
            *room = *id.as_bytes();
        }
        for (room, number) in numbers.as_chunks_mut::<8>().0.iter_mut().zip([variant, unit]) {
            *room = number.to_le_bytes();
        }
        xxh3_64(&bytes).max(1)
    }
}

const DEFAULT: &str = "default";

fn rule_text(id: RuleId) -> String {
    format!("rule {id}")
}

fn position(code: ErrorCode) -> usize {
    ErrorCode::ALL.iter().position(|known| *known == code).unwrap_or(ErrorCode::ALL.len() - 1)
}

#[cfg(test)]
pub(super) mod tests {
    use uuid::Uuid;

    use super::*;

    pub(in crate::count) fn outcome(place: Place, variant_index: Option<u16>) -> Outcome<'static> {
        Outcome {
            value: None,
            variant: None,
            variant_index,
            reason: Reason::Static,
            error: None,
            place,
            blocked_by: None,
        }
    }

    /// Cells of a flag with the variants `on` and `off`, one rule and these reasons of its default and its rule.
    pub(in crate::count) fn cells(reasons: [Reason; 2]) -> Cells {
        let (environment, flag, rule) = (1, 2, 3);
        let variants: Box<[VariantKey]> = ["on", "off"].map(|key| key.parse().expect("a key")).into();
        let shape = Shape { rules: [Uuid::from_u128(rule).into()].into(), variants, reasons: reasons.into() };
        Cells::new(Uuid::from_u128(environment).into(), Uuid::from_u128(flag).into(), shape)
    }

    #[test]
    fn every_place_variant_and_mode_has_a_cell_of_its_own() {
        let cells = cells([Reason::Split, Reason::TargetingMatch]);
        let mut places = vec![Place::Off, Place::Killed, Place::Target, Place::Default, Place::Blocked, Place::Rule(0)];
        places.extend(ErrorCode::ALL.map(Place::Error));
        let mut seen = Vec::new();
        for place in places {
            for variant in [None, Some(0), Some(1)] {
                for mode in [Mode::Single, Mode::Bulk] {
                    let index = cells.index(&outcome(place, variant), mode);
                    let found = cells.meaning(index, 7);
                    assert_eq!((found.mode, found.minute), (mode, 7));
                    if matches!(place, Place::Error(_)) {
                        assert_eq!((found.variant, found.reason), (None, Some(Reason::Error)));
                    } else {
                        let expected = variant.map(|at| ["on", "off"][usize::from(at)]);
                        assert_eq!(found.variant.as_deref(), expected, "{}", found.place);
                        seen.push(index);
                    }
                }
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..36).collect::<Vec<_>>());
        let rule = cells.meaning(30, 7);
        assert_eq!(rule.place, "rule 00000000-0000-0000-0000-000000000003");
        assert_eq!(rule.reason, Some(Reason::TargetingMatch));
        assert_eq!(cells.meaning(18, 7).reason, Some(Reason::Split));
        assert_eq!(cells.meaning(36, 7).place, "error FLAG_NOT_FOUND");
    }

    #[test]
    fn a_cell_goes_on_beyond_31_and_32_bits() {
        let cells = cells([Reason::Static; 2]);
        let on = outcome(Place::Default, Some(0));
        for full in [i32::MAX as u64, u64::from(u32::MAX)] {
            cells.cells[cells.index(&on, Mode::Single)].store(full, Ordering::Relaxed);
            cells.add(&on, Mode::Single);
            let mut into = Accumulator::default();
            assert_eq!((cells.drain(1, &mut into), into.total()), (full + 1, full + 1));
        }
    }

    #[test]
    fn cells_stay_while_rules_variants_and_reasons_stay() {
        let cells = cells([Reason::Split, Reason::TargetingMatch]);
        let shape = cells.shape.clone();
        assert!(cells.fit(&shape));
        assert!(!cells.fit(&Shape { reasons: [Reason::Split, Reason::Split].into(), ..shape.clone() }));
        let turned = shape.variants.iter().rev().cloned().collect();
        assert!(!cells.fit(&Shape { variants: turned, ..shape.clone() }));
        assert!(!cells.fit(&Shape { rules: Box::default(), ..shape }));
    }

    #[test]
    fn a_fingerprint_outlives_a_new_order_of_variants_and_tells_all_else_apart() {
        let cells = cells([Reason::Split; 2]);
        let turned = Cells::new(
            cells.environment,
            cells.flag,
            Shape { variants: cells.shape.variants.iter().rev().cloned().collect(), ..cells.shape.clone() },
        );
        let of = cells.fingerprint(Place::Default, 0, 9);
        assert_eq!(turned.fingerprint(Place::Default, 1, 9), of);
        for other in [
            cells.fingerprint(Place::Default, 1, 9),
            cells.fingerprint(Place::Rule(0), 0, 9),
            cells.fingerprint(Place::Default, 0, 8),
            Cells::new(Uuid::nil().into(), cells.flag, cells.shape.clone()).fingerprint(Place::Default, 0, 9),
            Cells::new(cells.environment, Uuid::nil().into(), cells.shape.clone()).fingerprint(Place::Default, 0, 9),
        ] {
            assert_ne!(other, of);
        }
    }
}

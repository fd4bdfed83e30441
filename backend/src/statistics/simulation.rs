//! A thousand experiments looked at every day, by dice that fall the same way each time.

use crate::statistics::ratio::{self, Cell};
use crate::statistics::{Mean, Proportion, comparison};

const EXPERIMENTS: u64 = 1_000;
const DAYS: usize = 14;

/// SplitMix64: good enough for this, and quick without optimisation.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below 1, and never 0.
    fn share(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// A sum of money: lognormal, a few spend most.
    fn money(&mut self) -> f64 {
        ((-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()).exp()
    }
}

/// The two are the same but for what floating point makes of it.
pub(crate) fn assert_near(found: f64, expected: f64) {
    let tolerance = 1e-14_f64.max(expected.abs() * 1e-8);
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

/// Users of one variant that come each day.
#[derive(Clone, Copy)]
struct Traffic {
    daily: u64,
    /// Share of them that converts, up to three days later.
    rate: f64,
    /// What those who convert spend, as a multiple.
    value: f64,
}

/// One variant as it fills, day by day.
struct Arm {
    traffic: Traffic,
    units: u64,
    converted: u64,
    later: [u64; DAYS + 3],
    active: u64,
    sum: f64,
    squares: f64,
}

impl Arm {
    fn new(traffic: Traffic) -> Self {
        Self { traffic, units: 0, converted: 0, later: [0; DAYS + 3], active: 0, sum: 0.0, squares: 0.0 }
    }

    fn live(&mut self, day: usize, dice: &mut Dice) {
        self.units += self.traffic.daily;
        for _ in 0..self.traffic.daily {
            if dice.share() < self.traffic.rate {
                self.later[day + (dice.bits() % 3) as usize] += 1;
                let value = self.traffic.value * dice.money();
                self.active += 1;
                self.sum += value;
                self.squares += value * value;
            }
        }
        self.converted += self.later[day];
    }

    fn proportion(&self) -> Proportion {
        Proportion { units: self.units, converted: self.converted }
    }

    fn mean(&self) -> Mean {
        let about_mean = self.squares - self.sum * self.sum / self.active.max(1) as f64;
        Mean { units: self.units, active: self.active, sum: self.sum, squares: about_mean }
    }
}

/// Of all experiments, those in which any day's always-valid interval excluded 0: by rates, by means.
fn found_by_looking_daily(one: Traffic, base: Traffic, seed: u64) -> (u64, u64) {
    let mut dice = Dice(seed);
    let (mut by_rate, mut by_mean) = (0, 0);
    for _ in 0..EXPERIMENTS {
        let (mut one, mut base) = (Arm::new(one), Arm::new(base));
        let (mut rate_differs, mut mean_differs) = (false, false);
        for day in 0..DAYS {
            one.live(day, &mut dice);
            base.live(day, &mut dice);
            let rates = comparison::of_rates(one.proportion(), base.proportion());
            let means = comparison::of_means(one.mean(), base.mean());
            rate_differs |= rates.is_ok_and(|found| found.always_valid.excludes_zero());
            mean_differs |= means.is_ok_and(|found| found.always_valid.excludes_zero());
        }
        by_rate += u64::from(rate_differs);
        by_mean += u64::from(mean_differs);
    }
    println!("{by_rate} by rate, {by_mean} by mean of {EXPERIMENTS}");
    (by_rate, by_mean)
}

#[test]
fn looking_every_day_at_a_thousand_experiments_without_effect_misleads_in_at_most_five_percent() {
    for (seed, traffic) in [
        (1, Traffic { daily: 100, rate: 0.12, value: 20.0 }),
        (2, Traffic { daily: 100, rate: 0.015, value: 20.0 }),
        (3, Traffic { daily: 20, rate: 0.5, value: 1.0 }),
    ] {
        let (by_rate, by_mean) = found_by_looking_daily(traffic, traffic, seed);
        assert!(by_rate * 20 <= EXPERIMENTS, "{by_rate} by rate");
        assert!(by_mean * 20 <= EXPERIMENTS, "{by_mean} by mean");
    }
    let (few, many) = (Traffic { daily: 20, rate: 0.1, value: 5.0 }, Traffic { daily: 180, rate: 0.1, value: 5.0 });
    let (by_rate, by_mean) = found_by_looking_daily(few, many, 4);
    assert!(by_rate * 20 <= EXPERIMENTS && by_mean * 20 <= EXPERIMENTS, "uneven shares: {by_rate}, {by_mean}");
}

/// A day of a user who came on the first: what they spent so far, and now and then more of it.
fn spend(totals: &mut [f64], dice: &mut Dice) {
    for total in totals {
        if dice.share() < 0.1 {
            *total += dice.money();
        }
    }
}

fn mean_of(totals: &[f64]) -> Mean {
    let spenders = totals.iter().filter(|total| **total > 0.0);
    let (active, sum) = (spenders.clone().count(), totals.iter().sum::<f64>());
    let mean = sum / active.max(1) as f64;
    let squares = spenders.map(|total| (total - mean) * (total - mean)).sum();
    Mean { units: totals.len() as u64, active: active as u64, sum, squares }
}

#[test]
fn the_same_users_who_spend_more_every_day_do_not_mislead_either() {
    let mut dice = Dice(10);
    let mut misled = 0;
    for _ in 0..EXPERIMENTS {
        let (mut one, mut base) = ([0.0; 400], [0.0; 400]);
        let mut differs = false;
        for _ in 0..DAYS {
            spend(&mut one, &mut dice);
            spend(&mut base, &mut dice);
            differs |= comparison::of_means(mean_of(&one), mean_of(&base))
                .is_ok_and(|found| found.always_valid.excludes_zero());
        }
        misled += u64::from(differs);
    }
    println!("{misled} of {EXPERIMENTS}");
    assert!(misled * 20 <= EXPERIMENTS, "{misled}");
}

#[test]
fn planted_effects_are_found() {
    let base = Traffic { daily: 200, rate: 0.10, value: 10.0 };
    let (by_rate, _) = found_by_looking_daily(Traffic { rate: 0.15, ..base }, base, 5);
    assert!(by_rate * 10 >= EXPERIMENTS * 9, "{by_rate} by rate");
    let base = Traffic { daily: 200, rate: 0.5, value: 10.0 };
    let (_, by_mean) = found_by_looking_daily(Traffic { value: 16.0, ..base }, base, 6);
    assert!(by_mean * 10 >= EXPERIMENTS * 9, "{by_mean} by mean");
}

/// Of all experiments, those flagged on any day, where the first of two variants gets `actual` of the users.
fn flagged_by_looking_daily(actual: f64, weights: [u64; 2], seed: u64) -> u64 {
    let mut dice = Dice(seed);
    let mut flagged = 0;
    for _ in 0..EXPERIMENTS {
        let mut units = [0, 0];
        let mut is_flagged = false;
        for _ in 0..DAYS {
            for _ in 0..500 {
                units[usize::from(dice.share() >= actual)] += 1;
            }
            let cells: Vec<Cell> =
                units.iter().zip(weights).map(|(units, weight)| Cell { units: *units, weight }).collect();
            is_flagged |= ratio::check(&cells).is_ok_and(|found| found.is_mismatch());
        }
        flagged += u64::from(is_flagged);
    }
    println!("{flagged} of {EXPERIMENTS} flagged");
    flagged
}

#[test]
fn a_planted_ratio_mismatch_is_flagged_and_chance_is_not() {
    let mismatch = flagged_by_looking_daily(0.545, [50_000, 50_000], 7);
    assert!(mismatch * 100 >= EXPERIMENTS * 99, "{mismatch}");
    for (seed, actual, weights) in [(8, 0.5, [50_000, 50_000]), (9, 0.1, [10_000, 90_000])] {
        let flagged = flagged_by_looking_daily(actual, weights, seed);
        assert!(flagged * 100 <= EXPERIMENTS, "{flagged}");
    }
}

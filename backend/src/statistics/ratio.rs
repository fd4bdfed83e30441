//! Sample ratio: were users divided as the split says? When not, something loses users of one variant, and no
//! comparison can be trusted.
//!
//! Two numbers: Pearson's chi-square, which everybody knows, and the p value of the sequential multinomial test of
//! Lindon and Malek ("Anytime-valid inference for multinomial count data", 2022), which stays right however often
//! somebody looks. The flag is raised by the second alone, so without a mismatch at most one experiment in a thousand
//! is ever flagged, on any of its days.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::gamma::ln_gamma;

use crate::statistics::NotYet;

/// A mismatch is told below this always-valid p value.
pub const MISMATCH_BELOW: f64 = 0.001;
/// Users from which the check says something; the chi-square needs some in every cell.
pub const UNITS_MIN: u64 = 100;
/// How sure the prior of the sequential test is of the configured shares, in users. Small, so that a gross mismatch is
/// seen within the first hundreds of users; it costs fine ones little.
const CONCENTRATION: f64 = 100.0;

/// One variant: how many users it has, and how many buckets the split gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Users.
    pub units: u64,
    /// Its buckets; more than 0.
    pub weight: u64,
}

/// What the check found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Pearson's statistic.
    pub chi_square: f64,
    /// Its p value for one look.
    pub single_look_p: f64,
    /// The p value that holds on all days at once.
    pub always_valid_p: f64,
}

impl Ratio {
    /// Whether users were divided otherwise than configured.
    pub fn is_mismatch(self) -> bool {
        self.always_valid_p < MISMATCH_BELOW
    }
}

/// Checks users against configured shares.
pub fn check(cells: &[Cell]) -> Result<Ratio, NotYet> {
    let cells: Vec<Cell> = cells.iter().copied().filter(|cell| cell.weight > 0).collect();
    if cells.len() < 2 {
        return Err(NotYet::OneVariant);
    }
    let units = cells.iter().fold(0, |units: u64, cell| units.saturating_add(cell.units));
    if units < UNITS_MIN {
        return Err(NotYet::FewInAll { units });
    }
    let weights: f64 = cells.iter().map(|cell| cell.weight as f64).sum();
    let total = units as f64;
    let mut chi_square = 0.0;
    let mut evidence = ln_gamma(CONCENTRATION) - ln_gamma(CONCENTRATION + total);
    for cell in &cells {
        let (share, found) = (cell.weight as f64 / weights, cell.units as f64);
        let expected = share * total;
        chi_square += (found - expected) * (found - expected) / expected;
        let prior = CONCENTRATION * share;
        evidence += ln_gamma(prior + found) - ln_gamma(prior) - found * share.ln();
    }
    let distribution = ChiSquared::new(cells.len() as f64 - 1.0).map_err(|_| NotYet::BeyondNumbers)?;
    let found =
        Ratio { chi_square, single_look_p: distribution.sf(chi_square), always_valid_p: (-evidence).exp().min(1.0) };
    let is_finite = chi_square.is_finite() && found.single_look_p.is_finite() && found.always_valid_p.is_finite();
    if is_finite { Ok(found) } else { Err(NotYet::BeyondNumbers) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulation::assert_near;

    fn cells(found: &[(u64, u64)]) -> Vec<Cell> {
        found.iter().map(|(units, weight)| Cell { units: *units, weight: *weight }).collect()
    }

    #[test]
    fn it_is_pearsons_chi_square_and_the_sequential_multinomial_test() {
        // scipy.stats.chisquare(observed, shares * sum(observed)); a = 100 * shares;
        // exp(-(gammaln(100) - gammaln(100 + n) + sum(gammaln(a + o) - gammaln(a) - o * log(shares))))
        for (found, chi_square, once, always) in [
            (vec![(4_210, 42_900), (5_604, 57_100)], 1.765_204_340_461_849_5e-5, 0.996_647_750_944_230_4, 1.0),
            (vec![(5_000, 50_000), (5_000, 50_000)], 0.0, 1.0, 1.0),
            (vec![(5_200, 1), (4_800, 1)], 16.0, 6.334_248_366_623_988e-5, 0.003_647_864_278_686_347_2),
            (vec![(900, 80), (50, 10), (50, 10)], 62.5, 2.681_003_867_781_806_2e-14, 3.873_250_404_067_999e-14),
            (vec![(0, 1), (1_000, 1)], 1_000.0, 1.795_832_784_800_736_3e-219, 2.200_228_800_133_67e-243),
            (
                vec![(10, 1), (0, 1), (100, 98)],
                73.673_469_387_755_1,
                1.004_637_514_165_579_5e-16,
                0.000_189_673_303_630_149_98,
            ),
        ] {
            let ratio = check(&cells(&found)).expect("enough users");
            assert_near(ratio.chi_square, chi_square);
            // However small, so by their logarithms.
            assert_near(ratio.single_look_p.ln(), f64::ln(once));
            assert_near(ratio.always_valid_p.ln(), f64::ln(always));
            assert_eq!(ratio.is_mismatch(), always < 0.001);
        }
    }

    #[test]
    fn what_cannot_be_told_yet_says_why() {
        assert_eq!(check(&cells(&[(500, 1)])), Err(NotYet::OneVariant));
        assert_eq!(check(&cells(&[(500, 1), (0, 0)])), Err(NotYet::OneVariant));
        assert_eq!(check(&cells(&[(50, 1), (49, 1)])), Err(NotYet::FewInAll { units: 99 }));
        let most = check(&cells(&[(1 << 60, 1), (1 << 60, 1)])).expect("a great many users");
        assert!(!most.is_mismatch() && most.always_valid_p.is_finite());
    }
}

use super::*;
use crate::statistics::simulation::assert_near;

fn proportion(converted: u64, units: u64) -> Proportion {
    Proportion { units, converted }
}

fn mean(mean: f64, deviation: f64, units: u64) -> Mean {
    let count = units as f64;
    Mean { units, active: units, sum: mean * count, squares: deviation * deviation * (count - 1.0) }
}

#[test]
fn two_rates_have_newcombes_interval_and_the_pooled_z_test() {
    // statsmodels.stats.proportion: confint_proportions_2indep(*row, method="newcomb", compare="diff") and
    // proportions_ztest([row[0], row[2]], [row[1], row[3]])[1]
    for (row, low, high, p) in [
        ([509, 4_210, 639, 5_604], -0.005_931_967_420_503_333, 0.019_872_334_787_576_464, 0.294_121_267_605_200_74),
        ([150, 1_000, 100, 1_000], 0.021_046_197_045_332_313, 0.079_032_138_168_784_65, 0.000_723_232_716_430_195_3),
        ([0, 500, 12, 480], -0.043_184_717_857_012_51, -0.011_908_519_765_324_343, 0.000_374_570_874_024_717_3),
        (
            [70_000_000, 1_000_000_000, 69_000_000, 1_000_000_000],
            0.000_977_709_862_595_766,
            0.001_022_290_147_540_596_4,
            0.0,
        ),
    ] {
        let found = of_rates(proportion(row[0], row[1]), proportion(row[2], row[3])).expect("enough users");
        assert_near(found.single_look.low, low);
        assert_near(found.single_look.high, high);
        assert_near(found.single_look_p, p);
        assert!(found.always_valid.low < low && high < found.always_valid.high, "looking daily has its price");
    }
}

#[test]
fn two_means_are_compared_as_welch_does() {
    // scipy.stats.ttest_ind_from_stats(*row, equal_var=False).pvalue; its degrees of freedom; scipy.stats.t.ppf(0.975, df)
    for ((one, s1, n1), (base, s2, n2), p, degrees, low, high) in [
        (
            (12.5, 30.0, 2_000),
            (11.0, 25.0, 2_100),
            0.082_854_161_430_750_3,
            3_895.003_560_457_532,
            -0.195_208_987_738_754_5,
            3.195_208_987_738_755,
        ),
        (
            (1.0, 2.0, 100),
            (1.2, 9.0, 5_000),
            0.399_900_331_016_682_4,
            194.795_711_389_377_17,
            -0.667_544_387_917_578_2,
            0.267_544_387_917_578_23,
        ),
        ((5.0, 1.0, 150), (5.0, 1.0, 150), 1.0, 298.0, -0.227_240_043_755_882_9, 0.227_240_043_755_882_9),
        (
            (100.25, 7.0, 400_000),
            (100.2, 7.1, 390_000),
            0.001_625_919_637_876_53,
            788_767.417_999_237_5,
            0.018_901_529_765_569_2,
            0.081_098_470_234_425_12,
        ),
        (
            (1e9, 3e8, 5_000),
            (1.01e9, 3e8, 5_000),
            0.095_612_027_459_053_14,
            9_998.0,
            -21_761_207.724_141_02,
            1_761_207.724_141_021,
        ),
    ] {
        let found = of_means(mean(one, s1, n1), mean(base, s2, n2)).expect("enough users");
        assert_near(found.single_look_p, p);
        assert_near(found.degrees_of_freedom.expect("Welch's"), degrees);
        assert_near(found.single_look.low, low);
        assert_near(found.single_look.high, high);
    }
}

#[test]
fn the_always_valid_interval_is_the_difference_and_so_many_standard_errors() {
    let found = of_means(mean(12.5, 30.0, 2_500), mean(11.0, 25.0, 2_500)).expect("enough users");
    // 1.5 ± 3.0352089903762534 * sqrt(30**2/2500 + 25**2/2500)
    let half = 3.035_208_990_376_253_4 * 0.781_024_967_590_665_4;
    assert_near(found.always_valid.low, 1.5 - half);
    assert_near(found.always_valid.high, 1.5 + half);
    assert!(!found.always_valid.excludes_zero() && found.always_valid_p > 0.05);
}

#[test]
fn a_lift_is_the_ratio_and_is_left_out_where_the_control_may_be_nothing() {
    let lift = of_rates(proportion(150, 1_000), proportion(100, 1_000)).expect("enough users").lift.expect("a lift");
    assert_near(lift.value, 0.5);
    // a, b = 151/1002, 101/1002; va, vb = a*(1-a)/1002, b*(1-b)/1002
    // .5 ± scipy.stats.norm.ppf(.975) * sqrt(va + 1.5**2 * vb) / .1
    assert_near(lift.single_look.low, 0.143_274_869_528_871_7);
    assert_near(lift.single_look.high, 0.856_725_130_471_128_3);
    assert!(lift.always_valid.low < lift.single_look.low);
    let none = of_rates(proportion(30, 500), proportion(0, 500)).expect("enough users");
    assert_eq!(none.lift, None);
    let below = of_means(mean(3.0, 1.0, 500), mean(-3.0, 1.0, 500)).expect("enough users");
    assert_eq!(below.lift, None);
}

#[test]
fn what_cannot_be_told_yet_says_why() {
    let enough = proportion(100, 1_000);
    assert_eq!(of_rates(proportion(9, 99), enough), Err(NotYet::FewUnits { units: 99 }));
    assert_eq!(of_rates(enough, proportion(0, 0)), Err(NotYet::FewUnits { units: 0 }));
    assert_eq!(of_rates(proportion(4, 1_000), proportion(5, 1_000)), Err(NotYet::FewActive { active: 9 }));
    let all = of_rates(proportion(1_000, 1_000), proportion(991, 1_000));
    assert_eq!(all, Err(NotYet::FewInactive { inactive: 9 }));
    let same = Mean { units: 1_000, active: 1_000, sum: 5_000.0, squares: 0.0 };
    assert_eq!(of_means(same, same), Err(NotYet::NoVariance));
    let tiny = mean(1e-300, 1e-300, 1_000);
    assert_eq!(of_means(tiny, tiny), Err(NotYet::NoVariance));
    let idle = Mean { units: 1_000, active: 3, sum: 5.0, squares: 0.0 };
    assert_eq!(of_means(idle, idle), Err(NotYet::FewActive { active: 6 }));
    let huge = mean(1e200, 1e200, 1_000);
    assert_eq!(of_means(huge, huge), Err(NotYet::BeyondNumbers));
}

#[test]
fn no_input_gives_a_number_that_is_none() {
    let counts = [0, 1, 99, 100, 101, 5_000, u64::from(u32::MAX), 1 << 52];
    let values = [0.0, -0.0, 1e-320, 1e-160, 1.0, -7.5, 1e15, 1e160, f64::MAX, f64::INFINITY, f64::NAN];
    for units in counts {
        for other in counts {
            for converted in counts.into_iter().filter(|count| *count <= units) {
                for base in counts.into_iter().filter(|count| *count <= other) {
                    check(of_rates(proportion(converted, units), proportion(base, other)));
                }
            }
            for sum in values {
                for squares in values {
                    let one = Mean { units, active: units / 2, sum, squares };
                    check(of_means(one, Mean { units: other, active: other, sum: 3.0, squares: 1.0 }));
                }
            }
        }
    }
}

fn check(found: Result<Comparison, NotYet>) {
    let Ok(found) = found else { return };
    let lift = found.lift.map(|lift| (lift.always_valid, lift.single_look));
    for interval in [found.always_valid, found.single_look].into_iter().chain(lift.into_iter().flat_map(|l| [l.0, l.1]))
    {
        assert!(interval.is_finite() && interval.low <= interval.high, "{found:?}");
    }
    for p in [found.always_valid_p, found.single_look_p] {
        assert!((0.0..=1.0).contains(&p), "{found:?}");
    }
    assert_eq!(found.always_valid.excludes_zero(), found.always_valid_p < 0.05, "{found:?}");
}

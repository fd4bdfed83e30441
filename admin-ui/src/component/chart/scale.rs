//! Where things stand in the drawing, in percent of its height.

/// The smallest of 1, 2, 5 × 10ⁿ that is not below the highest count, so that the axis ends at a round number.
pub(super) fn round_top(highest: u64) -> u64 {
    let mut step: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            match step.checked_mul(factor) {
                Some(top) if top >= highest => return top,
                Some(_) => {}
                None => return u64::MAX,
            }
        }
        step = step.saturating_mul(10);
    }
}

/// An outline in steps between two rows of heights, for a drawing one unit wide per bucket and 100 high.
pub(super) fn steps(lower: &[f64], upper: &[f64]) -> String {
    let mut path = String::new();
    for (at, height) in upper.iter().enumerate() {
        let y = 100.0 - height;
        path += &if at == 0 { format!("M0 {y:.2}") } else { format!("V{y:.2}") };
        path += &format!("H{}", at + 1);
    }
    for (at, height) in lower.iter().enumerate().rev() {
        path += &format!("V{:.2}H{at}", 100.0 - height);
    }
    path + "Z"
}

/// Moves places apart so that each is at least `gap` below the one before; the order stays.
pub(super) fn apart(places: &mut [f64], gap: f64) {
    for at in 1..places.len() {
        places[at] = places[at].max(places[at - 1] + gap);
    }
    let mut limit = 100.0;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_a_round_number() {
        assert_eq!([0, 1, 3, 402, 4_000, 5_001].map(round_top), [1, 1, 5, 500, 5_000, 10_000]);
    }

    #[test]
    fn an_outline_goes_up_along_the_top_and_back_along_the_bottom() {
        assert_eq!(steps(&[0.0, 0.0], &[50.0, 100.0]), "M0 50.00H1V0.00H2V100.00H1V100.00H0Z");
    }

    #[test]
    fn labels_do_not_overlap() {
        let mut places = [10.0, 12.0, 95.0, 97.0];
        apart(&mut places, 12.0);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 11.9), "{places:?}");
        assert!(places[3] <= 100.0);
    }
}

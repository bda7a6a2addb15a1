//! Smooth noise in space and time, for sources that flicker: a hash at the integer points, blended between.

/// A value in [−1, 1] at (x, y, z, t), the same for the same seed; one feature per unit along each of the four.
pub fn noise(at: [f64; 4], seed: u64) -> f64 {
    let cell = at.map(f64::floor);
    let t: [f64; 4] = std::array::from_fn(|a| fade(at[a] - cell[a]));
    let mut values: [f64; 16] = std::array::from_fn(|corner| {
        let key = (0..4).fold(seed, |key, a| mix(key ^ (cell[a] as i64 + (corner >> a & 1) as i64) as u64));
        (key >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    });
    // Halve the corners axis by axis.
    for (axis, t) in t.into_iter().enumerate().rev() {
        for i in 0..1 << axis {
            values[i] += t * (values[i + (1 << axis)] - values[i]);
        }
    }
    values[0]
}

/// From 0 to 1 with flat ends, twice differentiable.
fn fade(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// splitmix64's scrambler.
pub(super) fn mix(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_bounded_centred_smooth_and_depends_on_its_seed() {
        let samples: Vec<f64> =
            (0..4000).map(|i| noise([i as f64 * 0.37, -1.3 * i as f64, 0.11 * i as f64, 2.7], 5)).collect();
        assert!(samples.iter().all(|v| v.abs() <= 1.0));
        assert!(samples.iter().sum::<f64>().abs() < 0.05 * samples.len() as f64);
        let near = |h: f64| (noise([1.5 + h, 0.2, 0.3, 0.4], 5) - noise([1.5, 0.2, 0.3, 0.4], 5)).abs();
        assert!(near(1e-6) < 1e-5);
        assert_eq!(noise([0.1; 4], 1), noise([0.1; 4], 1));
        assert!(noise([0.1; 4], 1) != noise([0.1; 4], 2));
    }
}

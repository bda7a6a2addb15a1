//! What tests share; each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

pub use bathtub_bench::worlds::{face_samples, fixed, still_air, with_velocity};
use bathtub_engine::grid::FaceField;

/// Largest difference between two face fields.
pub fn largest_difference(a: &FaceField, b: &FaceField) -> f64 {
    let pairs = a.axes.iter().flatten().zip(b.axes.iter().flatten());
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Random numbers in [−1, 1), the same for the same seed (splitmix64).
pub fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

//! From light to pixels: sRGB, tone curve, dithering, the colour of heat, and noise.

use glam::Vec3A;
use std::sync::LazyLock;

/// Weights of red, green and blue in perceived brightness.
pub const LUMINANCE: Vec3A = Vec3A::new(0.2126, 0.7152, 0.0722);

/// A colour as given in the settings → linear light.
pub fn linear(srgb: [f32; 3]) -> Vec3A {
    let channel = |c: f32| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    Vec3A::from(srgb.map(channel))
}

/// Linear light, 0 to 1 → sRGB, 0 to 1.
pub fn srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// A filmic curve: nearly straight in the darks, a long shoulder towards white, so that bright smoke keeps its form.
/// Highlights lose some saturation on the way, as on film.
pub fn tone_map(light: Vec3A) -> Vec3A {
    let light = light.max(Vec3A::ZERO);
    let luminance = light.dot(LUMINANCE);
    let bleached = light.lerp(Vec3A::splat(luminance), 0.35 * luminance / (1.0 + luminance));
    let curve = |x: f32| x * (1.0 + x * 0.09) / (0.82 + 0.55 * x + 0.09 * x * x + 0.02 / (x + 0.1));
    Vec3A::new(curve(bleached.x), curve(bleached.y), curve(bleached.z)).min(Vec3A::ONE)
}

/// The final bytes: half a level of noise, the same in every frame, hides the steps of smooth gradients.
pub fn to_bytes(light: Vec3A, x: u32, y: u32) -> [u8; 3] {
    let noise = hash01(x, y, 0x5eed) + hash01(x, y, 0xd17e) - 1.0;
    tone_map(light).to_array().map(|c| (srgb_level(c) + 0.5 + 0.5 * noise).clamp(0.0, 255.0) as u8)
}

/// Steps of the table of sRGB: between two of them the curve is straight but for a hundredth of a level.
const STEPS: usize = 4096;

/// Linear light, 0 to 1 → sRGB, 0 to 255, by a table.
fn srgb_level(linear: f32) -> f32 {
    static LEVELS: LazyLock<Vec<f32>> =
        LazyLock::new(|| (0..=STEPS + 1).map(|n| 255.0 * srgb(n as f32 / STEPS as f32)).collect());
    let at = linear * STEPS as f32;
    let n = (at as usize).min(STEPS);
    LEVELS[n] + (at - n as f32) * (LEVELS[n + 1] - LEVELS[n])
}

/// Light of a body at `kelvin`: Planck's law at a red, a green and a blue wavelength, relative to red at 1500 K.
pub fn heat(kelvin: f32) -> Vec3A {
    const WAVELENGTHS: [f32; 3] = [610e-9, 550e-9, 465e-9];
    const SECOND_CONSTANT: f32 = 0.014_387_77; // h c / k, m K
    let planck = |wavelength: f32, kelvin: f32| {
        1.0 / ((wavelength / 610e-9).powi(5) * (SECOND_CONSTANT / (wavelength * kelvin)).exp_m1())
    };
    Vec3A::from(WAVELENGTHS.map(|w| planck(w, kelvin.max(300.0)) / planck(610e-9, 1500.0)))
}

/// A number in [0, 1) that looks random in each of its arguments.
pub fn hash01(x: u32, y: u32, z: u32) -> f32 {
    let mut h = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77) ^ z.wrapping_mul(0xc2b2_ae3d);
    for _ in 0..2 {
        h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
        h ^= h >> 12;
    }
    (h >> 8) as f32 / (1 << 24) as f32
}

/// Powers of the inverse of the plastic number, the root of x³ = x + 1: steps that fill a square evenly.
const EVEN_STEPS: [f32; 2] = [0.754_877_7, 0.569_840_3];

/// A number in [0, 1) for a pixel, unlike those of its neighbours, so that errors cancel over a few pixels.
pub fn even_noise(x: u32, y: u32) -> f32 {
    (EVEN_STEPS[0] * x as f32 + EVEN_STEPS[1] * y as f32).fract()
}

/// Point `n` of a sequence that fills the unit square evenly, shifted by a pixel's own offset.
pub fn even_point(n: u32, offset: [f32; 2]) -> [f32; 2] {
    std::array::from_fn(|a| (offset[a] + EVEN_STEPS[a] * n as f32).fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tone_curve_rises_from_black_to_white() {
        let mut last = -1.0;
        for n in 0..400 {
            let y = tone_map(Vec3A::splat(n as f32 * 0.05)).y;
            assert!(y >= last && y <= 1.0);
            last = y;
        }
        assert_eq!(tone_map(Vec3A::ZERO), Vec3A::ZERO);
        assert!(last > 0.97);
    }

    #[test]
    fn srgb_and_linear_are_inverse() {
        for c in [0.0, 0.02, 0.2, 0.5, 1.0] {
            assert!((srgb(linear([c; 3]).x) - c).abs() < 1e-5);
        }
    }

    #[test]
    fn the_table_is_the_curve() {
        for n in 0..=100_000 {
            let linear = n as f32 / 1e5;
            assert!((srgb_level(linear) - 255.0 * srgb(linear)).abs() < 0.01, "{linear}");
        }
    }

    #[test]
    fn hotter_is_brighter_and_bluer() {
        let (dull, bright) = (heat(900.0), heat(1800.0));
        assert!(bright.x > dull.x && dull.x > dull.y && dull.y > dull.z);
        assert!(bright.z / bright.x > dull.z / dull.x);
    }

    #[test]
    fn noise_is_even() {
        let mean = (0..10_000).map(|n| hash01(n % 100, n / 100, 3)).sum::<f32>() / 1e4;
        assert!((mean - 0.5).abs() < 0.01);
    }
}

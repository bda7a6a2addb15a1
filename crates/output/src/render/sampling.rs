//! Rays where they matter: one for every pixel, and the rest where pixels differ from their neighbours.

use super::colour::{srgb, to_bytes, tone_map};
use super::settings::RenderSettings;
use crate::picture::Image;
use glam::Vec3A;
use rayon::prelude::*;

/// Pixels that differ by more than this part of white, in any colour, from one beside them get all their rays: about what noise and dithering hide.
const DIFFERENT: f32 = 0.025;

/// A pixel of which two rays show the same, but for this part of white, needs no more.
const SAME: f32 = 0.03;

/// A picture that is not yet one of bytes: light of every pixel, and how far away what it shows is.
pub struct Sampled {
    size: [u32; 2],
    pixels: Vec<(Vec3A, f32)>,
}

/// A picture of light that `look` finds along a ray through a pixel, by its number.
pub fn sampled(
    [width, height]: [u32; 2],
    settings: &RenderSettings,
    look: impl Fn(u32, u32, u32) -> (Vec3A, f32) + Sync,
) -> Sampled {
    let (across, samples) = (width as usize, settings.rays());
    let place = |n: usize| ((n % across) as u32, (n / across) as u32);
    let count = across * height as usize;
    let each =
        |f: &(dyn Fn(usize) -> (Vec3A, f32) + Sync)| (0..count).into_par_iter().with_min_len(across).map(f).collect();
    let first: Vec<(Vec3A, f32)> = each(&|n| {
        let (x, y) = place(n);
        look(x, y, 0)
    });
    let display = |light: Vec3A| Vec3A::from(tone_map(light * settings.exposure).to_array().map(srgb));
    let shown: Vec<Vec3A> = first.par_iter().map(|(light, _)| display(*light)).collect();
    let is_even = |n: usize| {
        let (x, y) = place(n);
        let beside = [(x > 0, -1), (x + 1 < width, 1), (y > 0, -(across as isize)), (y + 1 < height, across as isize)];
        let alike = |step: isize| (shown[n] - shown[(n as isize + step) as usize]).abs().max_element() < DIFFERENT;
        beside.into_iter().all(|(is_there, step)| !is_there || alike(step))
    };
    let pixels = each(&|n| {
        if samples == 1 || is_even(n) {
            return first[n];
        }
        let (x, y) = place(n);
        let (mut light, mut nearest) = first[n];
        // From the other side of the pixel: if that shows the same, its neighbours are what differs.
        let (mut lowest, mut highest) = (shown[n], shown[n]);
        for (taken, sample) in (1..samples).rev().enumerate() {
            let (more, far) = look(x, y, sample);
            (light, nearest) = (light + more, nearest.min(far));
            let seen = display(more);
            (lowest, highest) = (lowest.min(seen), highest.max(seen));
            if taken == 0 && (highest - lowest).max_element() < SAME && samples > 2 {
                return (0.5 * light, nearest);
            }
        }
        (light / samples as f32, nearest)
    });
    Sampled { size: [width, height], pixels }
}

impl Sampled {
    /// Change the light of every pixel.
    pub fn draw(&mut self, change: impl Fn(u32, u32, Vec3A, f32) -> Vec3A + Sync) {
        let width = self.size[0] as usize;
        self.pixels.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, (light, nearest)) in row.iter_mut().enumerate() {
                *light = change(x as u32, y as u32, *light, *nearest);
            }
        });
    }

    /// The picture.
    pub fn bytes(&self, exposure: f32) -> Image {
        let [width, height] = self.size;
        let mut image = Image::new(width, height);
        let rows = image.pixels.par_chunks_mut(3 * width as usize).zip(self.pixels.par_chunks(width as usize));
        rows.enumerate().for_each(|(y, (row, pixels))| {
            for (x, (bytes, (light, _))) in row.chunks_exact_mut(3).zip(pixels).enumerate() {
                bytes.copy_from_slice(&to_bytes(*light * exposure, x as u32, y as u32));
            }
        });
        image
    }
}

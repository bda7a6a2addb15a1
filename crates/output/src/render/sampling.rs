//! Rays where they matter: one for every second pixel of every second row, one for those between that these do not agree on, and the rest where pixels
//! differ from their neighbours. Of those between, the middles of four come first, then those beside them, for which they speak as well.

use super::colour::{to_bytes, tone_map};
use super::effort::Effort;
use super::motion::{Moving, blurred};
use super::settings::RenderSettings;
use crate::picture::Image;
use glam::Vec3A;
use rayon::prelude::*;

/// Edge of a tile, pixels.
const TILE: usize = 16;

/// What a ray through a pixel shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub light: Vec3A,
    /// How far away, m.
    pub distance: f32,
    /// What is met first, and which part of a pattern is seen through it, as numbers; nothing if what is beside it tells too little.
    pub thing: Option<(u32, u32)>,
}

/// A picture that is not yet one of bytes.
pub struct Sampled {
    size: [u32; 2],
    pixels: Vec<Seen>,
}

/// A picture of what `look` finds along a ray through a pixel, by its number.
pub fn sampled(
    [width, height]: [u32; 2],
    settings: &RenderSettings,
    look: impl Fn(u32, u32, u32) -> Seen + Sync,
) -> Sampled {
    let (across, samples) = (width as usize, settings.rays());
    let effort = Effort::of(settings.quality);
    let Effort { different, same, .. } = effort;
    let place = |n: usize| ((n % across) as u32, (n / across) as u32);
    let display = displayed(settings);
    let mut pixels = one_each([width, height], 2, &effort, &display, |x, y| look(x, y, 0));
    let shown: Vec<Vec3A> = pixels.par_iter().map(|seen| display(seen.light)).collect();
    let is_even = |n: usize| {
        let (x, y) = place(n);
        let beside = [(x > 0, -1), (x + 1 < width, 1), (y > 0, -(across as isize)), (y + 1 < height, across as isize)];
        let alike = |step: isize| (shown[n] - shown[(n as isize + step) as usize]).abs().max_element() < different;
        beside.into_iter().all(|(is_there, step)| !is_there || alike(step))
    };
    let refine = |n: usize, seen: &mut Seen| {
        if is_even(n) {
            return;
        }
        let (x, y) = place(n);
        // From the other side of the pixel: if that shows the same, its neighbours are what differs.
        let (mut lowest, mut highest) = (shown[n], shown[n]);
        for (taken, sample) in (1..samples).rev().enumerate() {
            let more = look(x, y, sample);
            (seen.light, seen.distance) = (seen.light + more.light, seen.distance.min(more.distance));
            let shown = display(more.light);
            (lowest, highest) = (lowest.min(shown), highest.max(shown));
            if taken == 0 && (highest - lowest).max_element() < same && samples > 2 {
                seen.light *= 0.5;
                return;
            }
        }
        seen.light /= samples as f32;
    };
    if samples > 1 {
        by_tiles(&mut pixels, across, |x, y, seen| refine(x + across * y, seen));
    }
    Sampled { size: [width, height], pixels }
}

/// A picture of what `look` finds through a pixel; pixels between some that agree, at first `apart` from each other, are not looked at.
pub fn smooth(
    size: [u32; 2],
    apart: usize,
    settings: &RenderSettings,
    look: impl Fn(u32, u32) -> Seen + Sync,
) -> Sampled {
    let effort = Effort::of(settings.quality);
    Sampled { size, pixels: one_each(size, apart, &effort, &displayed(settings), look) }
}

/// How light is shown; roots are near enough to sRGB where only differences count.
fn displayed(settings: &RenderSettings) -> impl Fn(Vec3A) -> Vec3A + Sync {
    |light| Vec3A::from(tone_map(light * settings.exposure).to_array().map(f32::sqrt))
}

/// What one ray through each pixel shows; those between some that agree are not sent. The first are `apart` pixels from each other, a power of two.
fn one_each(
    [width, height]: [u32; 2],
    apart: usize,
    effort: &Effort,
    display: &(impl Fn(Vec3A) -> Vec3A + Sync),
    look: impl Fn(u32, u32) -> Seen + Sync,
) -> Vec<Seen> {
    let sparse = |apart: usize| [width, height].map(|n| (n as usize).div_ceil(apart));
    let mut known = in_tiles(sparse(apart), |x, y| look((apart * x) as u32, (apart * y) as u32));
    let mut apart = apart;
    while apart > 1 {
        let corners = Known::new(known, sparse(apart), display);
        apart /= 2;
        // Places count in steps of half the distance between what is known.
        let size = sparse(apart);
        let look = |x: usize, y: usize| look((apart * x) as u32, (apart * y) as u32);
        let middle = |i: usize, j: usize| {
            let around = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[right, down]| corners.at(i + right, j + down));
            between(around, effort.agreed).unwrap_or_else(|| look(2 * i + 1, 2 * j + 1))
        };
        let middles = size.map(|n| n / 2);
        let middles = Known::new(in_tiles(middles, middle), middles, display);
        known = in_tiles(size, |x, y| {
            let [i, j] = [x / 2, y / 2];
            let (of_corners, of_middles) = match (x % 2, y % 2) {
                (0, 0) => return corners.seen[i + corners.size[0] * j],
                (1, 1) => return middles.seen[i + middles.size[0] * j],
                (1, _) => {
                    ([corners.at(i, j), corners.at(i + 1, j)], [middles.at(i, j.wrapping_sub(1)), middles.at(i, j)])
                }
                _ => ([corners.at(i, j), corners.at(i, j + 1)], [middles.at(i.wrapping_sub(1), j), middles.at(i, j)]),
            };
            let along = || between(nearer(of_corners, of_middles), effort.along);
            between(of_corners, effort.agreed).or_else(along).unwrap_or_else(|| look(x, y))
        });
    }
    known
}

/// Some of a picture's pixels, in rows, and how they are shown.
struct Known {
    size: [usize; 2],
    seen: Vec<Seen>,
    shown: Vec<Vec3A>,
}

impl Known {
    fn new(seen: Vec<Seen>, size: [usize; 2], display: &(impl Fn(Vec3A) -> Vec3A + Sync)) -> Self {
        let shown = seen.par_iter().map(|seen| display(seen.light)).collect();
        Self { size, seen, shown }
    }

    /// The one in a column and a row, if there is one.
    fn at(&self, column: usize, row: usize) -> Option<(Seen, Vec3A)> {
        let [columns, rows] = self.size;
        (column < columns && row < rows)
            .then(|| (self.seen[column + columns * row], self.shown[column + columns * row]))
    }
}

/// That of two pairs whose pixels are more alike: edges and lines go on along it.
fn nearer(one: [Option<(Seen, Vec3A)>; 2], other: [Option<(Seen, Vec3A)>; 2]) -> [Option<(Seen, Vec3A)>; 2] {
    let difference = |pair: [Option<(Seen, Vec3A)>; 2]| match pair {
        [Some((_, a)), Some((_, b))] => (a - b).abs().max_element(),
        _ => f32::INFINITY,
    };
    if difference(one) <= difference(other) { one } else { other }
}

/// The mean of pixels of one thing that look alike but for `agreed`; nothing if one of them is not there.
fn between<const N: usize>(around: [Option<(Seen, Vec3A)>; N], agreed: f32) -> Option<Seen> {
    let thing = around[0]?.0.thing?;
    let (mut mean, mut low, mut high) = (Seen::default(), Vec3A::INFINITY, Vec3A::NEG_INFINITY);
    for one in around {
        let (seen, shown) = one.filter(|(seen, _)| seen.thing == Some(thing))?;
        (mean.light, mean.distance) = (mean.light + seen.light, mean.distance + seen.distance);
        (low, high) = (low.min(shown), high.max(shown));
    }
    let part = 1.0 / N as f32;
    let is_alike = (high - low).max_element() < agreed;
    is_alike.then(|| Seen { light: part * mean.light, distance: part * mean.distance, thing: Some(thing) })
}

/// A value for every pixel, row after row.
fn in_tiles<T: Copy + Default + Send>([width, height]: [usize; 2], find: impl Fn(usize, usize) -> T + Sync) -> Vec<T> {
    let mut all = vec![T::default(); width * height];
    by_tiles(&mut all, width, |x, y, value| *value = find(x, y));
    all
}

/// Change every pixel of rows of this width, tile by tile: rays beside each other, above as well, meet what is still in the cache.
fn by_tiles<T: Send>(all: &mut [T], width: usize, change: impl Fn(usize, usize, &mut T) + Sync) {
    all.par_chunks_mut(TILE * width.max(1)).enumerate().for_each(|(n, rows)| {
        for left in (0..width).step_by(TILE) {
            for (y, row) in (TILE * n..).zip(rows.chunks_exact_mut(width)) {
                let tile = row[left..].iter_mut().take(TILE).enumerate();
                tile.for_each(|(x, value)| change(left + x, y, value));
            }
        }
    });
}

impl Sampled {
    /// Spread everything along its way, which `moving` tells of a pixel.
    pub fn blur(&mut self, moving: impl Fn(u32, u32) -> Moving + Sync) {
        let moving = in_tiles(self.size.map(|n| n as usize), |x, y| moving(x as u32, y as u32));
        let light: Vec<Vec3A> = self.pixels.iter().map(|seen| seen.light).collect();
        let light = blurred(self.size, &light, &moving);
        self.pixels.iter_mut().zip(light).for_each(|(seen, light)| seen.light = light);
    }

    /// Change the light of every pixel.
    pub fn draw(&mut self, change: impl Fn(u32, u32, &Seen) -> Vec3A + Sync) {
        let width = self.size[0] as usize;
        self.pixels.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, seen) in row.iter_mut().enumerate() {
                seen.light = change(x as u32, y as u32, seen);
            }
        });
    }

    /// The picture.
    pub fn bytes(&self, exposure: f32) -> Image {
        let [width, height] = self.size;
        let mut image = Image::new(width, height);
        let rows = image.pixels.par_chunks_mut(3 * width as usize).zip(self.pixels.par_chunks(width as usize));
        rows.enumerate().for_each(|(y, (row, pixels))| {
            for (x, (bytes, seen)) in row.chunks_exact_mut(3).zip(pixels).enumerate() {
                bytes.copy_from_slice(&to_bytes(seen.light * exposure, x as u32, y as u32));
            }
        });
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SIZE: [u32; 2] = [41, 30];

    /// Waves beside a pattern of which every pixel counts, and a thing one pixel wide between.
    fn scene(x: u32, y: u32) -> Seen {
        let (u, v) = (x as f32 / 10.0, y as f32 / 10.0);
        let (light, thing) = match x {
            20 => (Vec3A::X, Some((2, 0))),
            0..20 => (Vec3A::splat(0.3 + 0.02 * (u + v).sin()), Some((1, 0))),
            _ => (Vec3A::splat(0.4 + 0.004 * ((x * 7 + y * 3) % 5) as f32), None),
        };
        Seen { light, distance: 1.0 + u, thing }
    }

    #[test]
    fn what_is_between_agrees_with_what_a_ray_would_show() {
        let rays = AtomicUsize::new(0);
        let settings = RenderSettings { samples: Some(1), ..Default::default() };
        let picture = sampled(SIZE, &settings, |x, y, _| {
            rays.fetch_add(1, Ordering::Relaxed);
            scene(x, y)
        });
        for (n, seen) in picture.pixels.iter().enumerate() {
            let (x, y) = (n as u32 % SIZE[0], n as u32 / SIZE[0]);
            let traced = scene(x, y);
            // Of a wave a sin s, what is between two points h apart along s is wrong by at most a h²/8, here with h = 0.2 twice.
            let bound = if x < 20 { 0.02 * 0.2 * 0.2 / 8.0 * 2.0 + 1e-6 } else { 0.0 };
            assert!((seen.light - traced.light).abs().max_element() <= bound, "{x} {y}");
            assert_eq!(seen.thing, traced.thing);
        }
        let (rays, all) = (rays.into_inner(), (SIZE[0] * SIZE[1]) as usize);
        assert!(rays < 7 * all / 10, "{rays} of {all}");
    }

    #[test]
    fn an_edge_goes_on_between_two_that_agree() {
        let rays = AtomicUsize::new(0);
        let settings = RenderSettings { samples: Some(1), ..Default::default() };
        let edge = |x: u32| Vec3A::splat(if x < 21 { 0.2 } else { 0.6 });
        let picture = sampled(SIZE, &settings, |x, _, _| {
            rays.fetch_add(usize::from(x == 21), Ordering::Relaxed);
            Seen { light: edge(x), distance: 1.0, thing: Some((1, 0)) }
        });
        for (n, seen) in picture.pixels.iter().enumerate() {
            assert_eq!(seen.light, edge(n as u32 % SIZE[0]), "{n}");
        }
        // Beside the edge are the middles, in every second row, and the first row has none above.
        assert_eq!(rays.into_inner(), SIZE[1] as usize / 2 + 1);
    }
}

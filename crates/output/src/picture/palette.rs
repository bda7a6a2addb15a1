//! The 255 colours that stand for all colours of an animation.
//!
//! Median cut over a histogram, then a few rounds of moving each colour to the mean of those it stands for.

use rayon::prelude::*;

/// Bits per channel of the histogram and of the table of nearest colours.
const BITS: usize = 6;
const CELLS: usize = 1 << (3 * BITS);
const ROUNDS: usize = 6;
/// One is left for transparency.
const COLOURS: usize = 255;
/// How much differences in red, green and blue are seen.
const WEIGHTS: [f32; 3] = [0.6, 1.0, 0.4];

/// How often each colour occurs.
#[derive(Debug)]
pub struct Histogram {
    counts: Vec<u32>,
}

/// A set of colours and the way to the nearest.
#[derive(Debug)]
pub struct Palette {
    /// At most 255.
    pub colours: Vec<[u8; 3]>,
    nearest: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Colour {
    rgb: [f32; 3],
    weight: f32,
}

impl Histogram {
    pub fn new() -> Self {
        Self { counts: vec![0; CELLS] }
    }

    /// Count some of a picture's pixels.
    pub fn add(&mut self, pixels: &[u8]) {
        for pixel in pixels.chunks_exact(3).step_by(3) {
            self.counts[cell([pixel[0], pixel[1], pixel[2]])] += 1;
        }
    }

    pub fn palette(&self) -> Palette {
        // Rare colours count for more than their number, or small bright details would vanish.
        let occurring = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        let used: Vec<Colour> =
            occurring.map(|(c, &n)| Colour { rgb: colour_of(c), weight: (n as f32).powf(0.6) }).collect();
        let mut centres = median_cut(used.clone());
        for _ in 0..ROUNDS {
            improve(&mut centres, &used);
        }
        let nearest =
            (0..CELLS).into_par_iter().with_min_len(1024).map(|c| nearest(&centres, colour_of(c)) as u8).collect();
        Palette { colours: centres.iter().map(|c| c.map(|v| v.round() as u8)).collect(), nearest }
    }
}

impl Palette {
    pub fn nearest(&self, rgb: [u8; 3]) -> u8 {
        self.nearest[cell(rgb)]
    }
}

fn cell(rgb: [u8; 3]) -> usize {
    rgb.iter().fold(0, |n, &c| n << BITS | usize::from(c) >> (8 - BITS))
}

/// The middle of a cell of the histogram.
fn colour_of(cell: usize) -> [f32; 3] {
    [2, 1, 0].map(|channel| {
        let level = cell >> (channel * BITS) & ((1 << BITS) - 1);
        (level as f32 + 0.5) * (256 >> BITS) as f32
    })
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|c| WEIGHTS[c] * (a[c] - b[c]) * (a[c] - b[c])).sum()
}

fn nearest(centres: &[[f32; 3]], rgb: [f32; 3]) -> usize {
    let (mut best, mut least) = (0, f32::INFINITY);
    for (n, &centre) in centres.iter().enumerate() {
        let d = distance(centre, rgb);
        if d < least {
            (best, least) = (n, d);
        }
    }
    best
}

fn mean(colours: &[Colour]) -> [f32; 3] {
    let total: f32 = colours.iter().map(|c| c.weight).sum();
    [0, 1, 2].map(|a| colours.iter().map(|c| c.weight * c.rgb[a]).sum::<f32>() / total.max(f32::MIN_POSITIVE))
}

/// Halve the most varied box of colours until there are enough boxes; their means are the palette.
fn median_cut(colours: Vec<Colour>) -> Vec<[f32; 3]> {
    /// Weighted sum of squares about the mean, per channel.
    fn variance(colours: &[Colour]) -> [f32; 3] {
        let m = mean(colours);
        [0, 1, 2].map(|a| WEIGHTS[a] * colours.iter().map(|c| c.weight * (c.rgb[a] - m[a]).powi(2)).sum::<f32>())
    }
    let first = variance(&colours);
    let mut boxes = vec![(colours, first)];
    while boxes.len() < COLOURS {
        let varied = |(_, v): &(Vec<Colour>, [f32; 3])| v.iter().sum::<f32>();
        let Some(widest) = (0..boxes.len())
            .filter(|&b| boxes[b].0.len() > 1)
            .max_by(|&a, &b| varied(&boxes[a]).total_cmp(&varied(&boxes[b])))
        else {
            break;
        };
        let (mut low, spread) = boxes.swap_remove(widest);
        let axis = (0..3).max_by(|&a, &b| spread[a].total_cmp(&spread[b])).unwrap_or(0);
        let middle = mean(&low)[axis];
        low.sort_by(|a, b| a.rgb[axis].total_cmp(&b.rgb[axis]));
        let at = low.partition_point(|c| c.rgb[axis] <= middle).clamp(1, low.len() - 1);
        let high = low.split_off(at);
        for part in [low, high] {
            let spread = variance(&part);
            boxes.push((part, spread));
        }
    }
    boxes.iter().map(|(colours, _)| mean(colours)).collect()
}

/// Move each centre to the mean of the colours nearest to it.
fn improve(centres: &mut [[f32; 3]], used: &[Colour]) {
    let mut sums = vec![[0.0f32; 4]; centres.len()];
    for colour in used {
        let sum = &mut sums[nearest(centres, colour.rgb)];
        (0..3).for_each(|a| sum[a] += colour.weight * colour.rgb[a]);
        sum[3] += colour.weight;
    }
    for (centre, sum) in centres.iter_mut().zip(sums).filter(|(_, s)| s[3] > 0.0) {
        *centre = [0, 1, 2].map(|a| sum[a] / sum[3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_kept_and_many_are_approximated() {
        let mut few = Histogram::new();
        few.add(
            &[[10, 20, 30], [200, 100, 50], [250, 250, 250]]
                .concat()
                .repeat(3)
                .iter()
                .copied()
                .cycle()
                .take(99)
                .collect::<Vec<_>>(),
        );
        let palette = few.palette();
        assert!(palette.colours.len() <= 3);

        let mut many = Histogram::new();
        let gradient: Vec<u8> = (0..3 * 65536u32).flat_map(|n| [(n / 3 % 256) as u8, (n / 768) as u8, 128]).collect();
        many.add(&gradient);
        let palette = many.palette();
        assert_eq!(palette.colours.len(), COLOURS);
        for rgb in [[5, 5, 128], [100, 200, 128], [255, 0, 128]] {
            let found = palette.colours[usize::from(palette.nearest(rgb))];
            assert!((0..3).all(|a| rgb[a].abs_diff(found[a]) < 20), "{rgb:?} {found:?}");
        }
    }
}

//! Scalars and colours on a lattice of cells, for sampling along rays.
//!
//! Every array has one layer of cells more than the lattice on each side. It is zero, so that interpolation needs no
//! special cases and smoke that reaches the border ends softly. Density is resampled to a finer lattice by a cubic filter first
//! \[MN88\], since linear interpolation of coarse cells shows its grid in the shading.
//!
//! \[MN88\] D. Mitchell, A. Netravali, "Reconstruction filters in computer graphics", SIGGRAPH 1988.

use super::camera::Ray;
use bathtub_engine::grid::{CellField, Grid};
use glam::Vec3A;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::{Add, Mul, Range, Sub};

/// Edge of a block that is skipped as a whole when empty, cells.
const BLOCK: usize = 8;

/// Smoke that leaves through an open side thins out over this part of the domain's length before it, instead of being cut off there.
const DISSOLVING: f32 = 0.12;

/// Where the cells of an array are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Cells along each axis, without the border.
    pub dims: [usize; 3],
    /// Edge of a cell, m.
    pub cell: f32,
    /// Lowest corner of the first cell inside the border, m.
    pub origin: Vec3A,
}

/// What can be interpolated.
pub trait Sample: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<f32, Output = Self> {}
impl Sample for f32 {}
impl Sample for Vec3A {}
impl Sample for glam::Vec4 {}

impl Lattice {
    pub fn of(grid: &Grid) -> Self {
        Self { dims: grid.dims, cell: grid.dx as f32, origin: grid.origin.as_vec3a() }
    }

    /// The same box in cells `factor` times smaller.
    pub fn refined(&self, factor: usize) -> Self {
        Self { dims: self.dims.map(|n| n * factor), cell: self.cell / factor as f32, origin: self.origin }
    }

    /// At least the same box in cells twice as large.
    pub fn halved(&self) -> Self {
        Self { dims: self.dims.map(|n| n.div_ceil(2)), cell: 2.0 * self.cell, origin: self.origin }
    }

    pub fn upper(&self) -> Vec3A {
        self.origin + self.cell * Vec3A::from(self.dims.map(|n| n as f32))
    }

    /// Length of an array, border included.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|n| n + 2).product()
    }

    /// Distance in the array between neighbours along each axis.
    pub fn strides(&self) -> [usize; 3] {
        [1, self.dims[0] + 2, (self.dims[0] + 2) * (self.dims[1] + 2)]
    }

    /// Place in the array of a cell.
    pub fn index(&self, at: [usize; 3]) -> usize {
        let strides = self.strides();
        (0..3).map(|a| (at[a] + 1) * strides[a]).sum()
    }

    pub fn centre(&self, at: [usize; 3]) -> Vec3A {
        self.origin + self.cell * (Vec3A::from(at.map(|c| c as f32)) + 0.5)
    }

    /// Linear interpolation at a point; outside the box, the value at its border. Inlined, so that a loop finds what is the same for all points once.
    #[inline(always)]
    pub fn sample<T: Sample>(&self, values: &[T], point: Vec3A) -> T {
        let most = Vec3A::from(self.dims.map(|n| n as f32 + 0.999));
        let q = ((point - self.origin) * self.cell.recip() + 0.5).clamp(Vec3A::ZERO, most);
        // Nothing is negative here, so casting rounds down.
        let low = q.to_array().map(|c| c as i32);
        let f = q - Vec3A::from(low.map(|c| c as f32));
        let [_, sy, sz] = self.strides();
        let at = low[0] as usize + low[1] as usize * sy + low[2] as usize * sz;
        let line = |at: usize| {
            let pair = &values[at..at + 2];
            pair[0] + (pair[1] - pair[0]) * f.x
        };
        let plane = |at: usize| {
            let (a, b) = (line(at), line(at + sy));
            a + (b - a) * f.y
        };
        let (a, b) = (plane(at), plane(at + sz));
        a + (b - a) * f.z
    }

    /// Compute an array from the value of each cell, a layer at a time.
    pub fn fill<T: Copy + Default + Send>(&self, value: impl Fn([usize; 3]) -> T + Sync) -> Vec<T> {
        let mut values = vec![T::default(); self.len()];
        let [_, sy, sz] = self.strides();
        let layers = values.par_chunks_mut(sz).enumerate().skip(1).take(self.dims[2]);
        layers.for_each(|(k, layer)| {
            for j in 0..self.dims[1] {
                for (i, cell) in layer[(j + 1) * sy + 1..][..self.dims[0]].iter_mut().enumerate() {
                    *cell = value([i, j, k - 1]);
                }
            }
        });
        values
    }

    /// Mean of each 2³ cells, on the halved lattice.
    pub fn halve(&self, values: &[f32]) -> Vec<f32> {
        let [sx, sy, sz] = self.strides();
        self.halved().fill(|at| {
            let first = self.index(at.map(|c| 2 * c));
            (0..8).map(|n| values[first + (n & 1) * sx + (n >> 1 & 1) * sy + (n >> 2) * sz]).sum::<f32>() / 8.0
        })
    }
}

/// Smoke density, fine enough for the picture, and where there is any.
#[derive(Debug)]
pub struct Smoke {
    pub lattice: Lattice,
    pub density: Vec<f32>,
    blocks: [usize; 3],
    /// Of each block, how many blocks away the nearest with smoke is, along the axis where it is farthest.
    distance: Vec<u8>,
}

impl Smoke {
    /// Resample the density to cells `factor` times finer; negative values are left out.
    pub fn new(grid: &Grid, density: &CellField<f32>, factor: usize) -> Self {
        let lattice = Lattice::of(grid).refined(factor);
        let around = smoky(density);
        let density = refine(density, &around, factor, &lattice);

        // A block is occupied if any cell in it or next to it is: interpolation reaches one cell further.
        let blocks = lattice.dims.map(|n| n.div_ceil(BLOCK));
        let strides = lattice.strides();
        let occupied: Vec<bool> = (0..blocks.iter().product())
            .into_par_iter()
            .map(|b: usize| {
                let block = [b % blocks[0], b / blocks[0] % blocks[1], b / (blocks[0] * blocks[1])];
                // In array indices, where the border shifts all by one; empty where the block is off all smoke.
                let [x, y, z] = [0, 1, 2].map(|a| {
                    let [first, last] = [around[a].start, around[a].end].map(|cell| cell * factor + 1);
                    (block[a] * BLOCK).max(first)..((block[a] + 1) * BLOCK + 2).min(last)
                });
                !x.is_empty()
                    && z.into_iter().any(|k| {
                        let line = |j: usize| &density[j * strides[1] + k * strides[2]..][x.clone()];
                        y.clone().any(|j| line(j).iter().any(|&d| d > 0.0))
                    })
            })
            .collect();
        let distance = distances(blocks, &occupied);
        Self { lattice, density, blocks, distance }
    }

    /// What the ray passes through at a point of it.
    #[inline]
    pub fn block(&self, ray: &Ray, inverse: Vec3A, point: Vec3A) -> Block {
        let edge = self.lattice.cell * BLOCK as f32;
        let last = Vec3A::from(self.blocks.map(|n| n as f32 - 1.0));
        let q = ((point - self.lattice.origin) * edge.recip()).clamp(Vec3A::ZERO, last).to_array().map(|c| c as i32);
        let index = q[0] as usize + self.blocks[0] * (q[1] as usize + self.blocks[1] * q[2] as usize);
        let empty = f32::from(self.distance[index]);
        // All blocks nearer than that are empty and form a cube; otherwise the cube is this block.
        let q = Vec3A::from(q.map(|c| c as f32));
        let reach = empty.max(1.0);
        let low = self.lattice.origin + (q - (reach - 1.0)) * edge;
        let high = self.lattice.origin + (q + reach) * edge;
        let far = ((low - ray.origin) * inverse).max((high - ray.origin) * inverse);
        let until = far.min_element();
        if empty > 0.0 { Block::Empty { until } } else { Block::Smoky { until } }
    }
}

/// A stretch of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block {
    /// No smoke up to this distance along the ray.
    Empty { until: f32 },
    /// There may be smoke up to this distance.
    Smoky { until: f32 },
}

/// Distance of each block to the nearest occupied one, along the axis where it is farthest; at most 255.
fn distances(blocks: [usize; 3], occupied: &[bool]) -> Vec<u8> {
    let mut distance: Vec<u8> = occupied.iter().map(|&o| if o { 0 } else { u8::MAX }).collect();
    let strides = [1, blocks[0], blocks[0] * blocks[1]];
    // The largest of three differences, least over all blocks: one axis after the other, each over all pairs of a row.
    for axis in 0..3 {
        let (n, stride) = (blocks[axis], strides[axis]);
        for first in (0..distance.len()).filter(|b| b / stride % n == 0) {
            let row: Vec<u8> = (0..n).map(|m| distance[first + m * stride]).collect();
            for m in 0..n {
                let through = |k: usize| row[k].max(m.abs_diff(k).min(255) as u8);
                distance[first + m * stride] = (0..n).map(through).min().unwrap_or(u8::MAX);
            }
        }
    }
    distance
}

/// Density as pictures show it: what is about to leave through an open side dissolves.
pub fn dissolved<'a>(density: &'a CellField<f32>, open: &[[bool; 2]; 3]) -> Cow<'a, CellField<f32>> {
    let [x, y, z] = [0, 1, 2].map(|axis| left_before(density.dims[axis], open[axis]));
    if [&x, &y, &z].into_iter().flatten().all(|&left| left == 1.0) {
        return Cow::Borrowed(density);
    }
    let mut density = density.clone();
    let rows = density.data.par_chunks_exact_mut(x.len()).enumerate();
    rows.for_each(|(row, cells)| {
        let across = y[row % y.len()] * z[row / y.len()];
        cells.iter_mut().zip(&x).for_each(|(cell, left)| *cell *= left * across);
    });
    Cow::Owned(density)
}

/// What is left of the smoke in each of the cells along an axis whose lower and upper side may be open.
fn left_before(cells: usize, open: [bool; 2]) -> Vec<f32> {
    let depth = DISSOLVING * cells as f32;
    let left = |is_open: bool, before: usize| {
        let part = ((before as f32 + 0.5) / depth).min(1.0);
        if is_open { part * part * (3.0 - 2.0 * part) } else { 1.0 }
    };
    (0..cells).map(|n| left(open[0], n) * left(open[1], cells - 1 - n)).collect()
}

/// The cells, along each axis, to which smoke comes by the cubic filter: a box around all that is not empty, and two cells more.
fn smoky(field: &CellField<f32>) -> [Range<usize>; 3] {
    let [nx, ny, _] = field.dims;
    let mut found = [[usize::MAX, 0]; 3];
    for (row, cells) in field.data.chunks_exact(nx).enumerate() {
        let is_smoke = |d: &f32| *d > 0.0;
        let (Some(first), Some(last)) = (cells.iter().position(is_smoke), cells.iter().rposition(is_smoke)) else {
            continue;
        };
        for (found, [low, high]) in found.iter_mut().zip([[first, last], [row % ny; 2], [row / ny; 2]]) {
            *found = [found[0].min(low), found[1].max(high)];
        }
    }
    std::array::from_fn(|a| match found[a] {
        [usize::MAX, _] => 0..0,
        [low, high] => low.saturating_sub(2)..(high + 3).min(field.dims[a]),
    })
}

/// Cubic resampling of the cells of a box, one axis after the other; there is nothing elsewhere, nor where less is left than is seen.
fn refine(field: &CellField<f32>, around: &[Range<usize>; 3], factor: usize, lattice: &Lattice) -> Vec<f32> {
    let mut density = vec![0.0; lattice.len()];
    let [x, y, z] = around;
    let mut dims = [x, y, z].map(|cells| cells.len());
    if x.is_empty() {
        return density;
    }
    let rows = z.clone().flat_map(|k| y.clone().map(move |j| (j, k)));
    let row = |(j, k): (usize, usize)| &field.data[field.dims[0] * (j + field.dims[1] * k)..][x.clone()];
    let mut values: Vec<f32> = rows.flat_map(row).copied().collect();
    let taps: Vec<[f32; 5]> = match factor {
        1 => vec![[0.0, 0.0, 1.0, 0.0, 0.0]],
        _ => (0..factor).map(|n| cubic_taps((n as f32 + 0.5) / factor as f32 - 0.5)).collect(),
    };
    // Which of the values beside a fine one count for it, and how much, along an axis with so many of them.
    let around = |n: usize, count: usize| {
        let cell = move |tap: usize| (n / factor + tap).checked_sub(2).filter(|&cell| cell < count);
        taps[n % factor].iter().enumerate().filter_map(move |(tap, &weight)| Some((cell(tap)?, weight)))
    };
    for axis in if factor > 1 { 0..2 } else { 0..0 } {
        // The array is rows of `stride` values; `count` of them, one per cell, follow each other along the axis.
        let (stride, count): (usize, usize) = (dims[..axis].iter().product(), dims[axis]);
        let mut fine = vec![0.0; values.len() * factor];
        let rows = fine.par_chunks_exact_mut(stride).enumerate().with_min_len(1 + 4096 / stride);
        rows.for_each(|(row, out)| {
            // Fresh memory that is read before it is written costs two faults a page.
            out.fill(0.0);
            let (first, n) = (row / (count * factor) * count, row % (count * factor));
            for (cell, weight) in around(n, count) {
                let coarse = &values[(first + cell) * stride..][..stride];
                out.iter_mut().zip(coarse).for_each(|(o, v)| *o += weight * v);
            }
        });
        values = fine;
        dims[axis] *= factor;
    }
    // The last axis goes where the density is to be.
    let [_, sy, sz] = lattice.strides();
    let layers = density.par_chunks_mut(sz).skip(z.start * factor + 1).take(dims[2] * factor);
    layers.enumerate().for_each(|(n, layer)| {
        let rows = layer.chunks_mut(sy).skip(y.start * factor + 1).take(dims[1]);
        for (row, cells) in rows.enumerate() {
            let cells = &mut cells[x.start * factor + 1..][..dims[0]];
            cells.fill(0.0);
            for (cell, weight) in around(n, dims[2]) {
                let coarse = &values[(row + dims[1] * cell) * dims[0]..][..dims[0]];
                cells.iter_mut().zip(coarse).for_each(|(o, v)| *o += weight * v);
            }
            cells.iter_mut().filter(|d| **d <= 1e-5).for_each(|d| *d = 0.0);
        }
    });
    density
}

/// Weights of the five cells around a point at `offset` cells (within ±1/2) from the middle one's centre. Of the family
/// \[MN88\] with 2 C + B = 1, the one that its authors found neither blurred nor ringing; what falls below 0 is left out.
fn cubic_taps(offset: f32) -> [f32; 5] {
    const B: f32 = 1.0 / 3.0;
    const C: f32 = 1.0 / 3.0;
    let kernel = |x: f32| {
        let x = x.abs();
        if x < 1.0 {
            ((12.0 - 9.0 * B - 6.0 * C) * x * x * x + (-18.0 + 12.0 * B + 6.0 * C) * x * x + 6.0 - 2.0 * B) / 6.0
        } else if x < 2.0 {
            let cubic = (-B - 6.0 * C) * x * x * x + (6.0 * B + 30.0 * C) * x * x;
            (cubic + (-12.0 * B - 48.0 * C) * x + 8.0 * B + 24.0 * C) / 6.0
        } else {
            0.0
        }
    };
    std::array::from_fn(|tap| kernel(tap as f32 - 2.0 - offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn ramp() -> (Grid, CellField<f32>) {
        let grid = Grid::new([12, 10, 9], 0.5, DVec3::new(1.0, 2.0, 3.0));
        let mut field = CellField::new(&grid, 0.0);
        for n in 0..grid.cells() {
            let c = grid.cell_centre(grid.cell_at(n));
            field.data[n] = (c.x + 2.0 * c.y - 0.5 * c.z) as f32;
        }
        (grid, field)
    }

    #[test]
    fn resampling_and_sampling_keep_a_linear_field() {
        let (grid, field) = ramp();
        for factor in [1, 2, 3] {
            let smoke = Smoke::new(&grid, &field, factor);
            let p = Vec3A::new(3.3, 4.4, 5.1);
            let value = smoke.lattice.sample(&smoke.density, p);
            assert!((value - (3.3 + 8.8 - 2.55)).abs() < 1e-4, "factor {factor}: {value}");
        }
    }

    #[test]
    fn empty_blocks_are_skipped_and_full_ones_are_not() {
        let grid = Grid::new([32, 8, 8], 1.0, DVec3::ZERO);
        let mut field = CellField::new(&grid, 0.0);
        field[[20, 4, 4]] = 1.0;
        let smoke = Smoke::new(&grid, &field, 1);
        let ray = Ray { origin: Vec3A::new(-1.0, 4.0, 4.0), direction: Vec3A::X };
        let at = |x: f32| smoke.block(&ray, ray.direction.recip(), Vec3A::new(x, 4.0, 4.0));
        assert_eq!(at(1.0), Block::Empty { until: 17.0 }, "both empty blocks at once");
        assert_eq!(at(9.0), Block::Empty { until: 17.0 });
        assert_eq!(at(20.0), Block::Smoky { until: 25.0 });
        assert_eq!(at(30.0), Block::Empty { until: 33.0 });
    }

    #[test]
    fn smoke_dissolves_before_open_sides_only() {
        let grid = Grid::new([50, 10, 8], 0.5, DVec3::ZERO);
        let full = CellField::new(&grid, 1.0);
        assert!(matches!(dissolved(&full, &[[false; 2]; 3]), Cow::Borrowed(_)));
        let left = dissolved(&full, &[[false, true], [false; 2], [false; 2]]);
        let along: Vec<f32> = (0..50).map(|i| left[[i, 3, 5]]).collect();
        assert!(along[..44].iter().all(|&d| d == 1.0) && along[49] < 0.03);
        assert!(along[43..].windows(2).all(|pair| pair[1] < pair[0]), "{along:?}");
    }

    #[test]
    fn halving_keeps_the_mean() {
        let (grid, field) = ramp();
        let lattice = Lattice::of(&grid);
        let whole = lattice.fill(|at| field[at]);
        let half = lattice.halve(&whole);
        let total = |v: &[f32]| v.iter().map(|&x| f64::from(x)).sum::<f64>();
        assert!((total(&whole) / (8.0 * total(&half)) - 1.0).abs() < 1e-6);
    }
}

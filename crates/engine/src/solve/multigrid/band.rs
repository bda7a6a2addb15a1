//! More smoothing near boundaries [McAdams et al. 2010, §3.3]: what \[A18\] calls boundary smoothing.
//!
//! Cells beside a wall, a tie or any other change of coefficients, and their neighbours, are smoothed by themselves, red–black before the
//! sweep over the whole level and black–red after it, so that the cycle stays symmetric. From zero, x₀ = (band sweeps of b) is
//! followed by the cycle for b − L x₀, whose result is added. Unlike \[A18, §6\], which has one sweep besides, that cycle is ours.

use super::super::real::Real;
use super::level::Level;
use rayon::prelude::*;

/// How far from a boundary the band reaches, cells.
/// A choice: docs/pressure-solver.md, *Solvers by name*, shows that the band hardly matters here.
const WIDTH: usize = 1;

/// No such cell.
const NONE: u32 = u32::MAX;

/// The cells of a level that are smoothed more often.
#[derive(Clone, Debug, Default)]
pub(super) struct BandSweeps {
    cells: Vec<BandCell>,
    /// Numbers of the cells by colour.
    colours: [Vec<u32>; 2],
    sweeps: usize,
    /// Storage indices of the cells of the band and their neighbours.
    touched: Vec<u32>,
    /// The right-hand side there, before it was changed.
    saved: Vec<f64>,
    /// x₀.
    x: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct BandCell {
    index: u32,
    /// Storage indices of the neighbours x−, x+, y−, y+, z−, z+, or `NONE`.
    beside: [u32; 6],
    /// Their numbers in the band, or `NONE`.
    numbers: [u32; 6],
    faces: [f32; 6],
    /// 1 ÷ diagonal.
    inverse: f32,
}

impl BandCell {
    /// Σ a v over the neighbours that `numbers` has.
    fn around(&self, numbers: &[u32; 6], v: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        for (&face, &number) in self.faces.iter().zip(numbers) {
            if number != NONE {
                sum += f64::from(face) * v(number as usize);
            }
        }
        sum
    }
}

/// Distance of every cell from the nearest irregular one, as far as the band reaches.
fn distances<T: Real>(level: &Level<T>) -> Vec<u8> {
    let [nx, ny, nz] = level.dims;
    let strides = [1, nx, nx * ny];
    let mut distance = vec![u8::MAX; nx * ny * nz];
    let has = |a: usize| level.dims[a] > 1;
    level.for_each_cell(|cell, faces, inverse| {
        let is_even = (0..6).filter(|f| has(f / 2)).all(|f| faces[f] == faces[if has(0) { 0 } else { 2 }]);
        let is_tied = 1.0 / inverse > faces.iter().sum::<f64>() * (1.0 + 1e-5);
        if inverse > 0.0 && (!is_even || is_tied) {
            distance[cell] = 0;
        }
    });
    for far in 0..WIDTH as u8 {
        for (a, stride) in strides.into_iter().enumerate() {
            let n = [nx, ny, nz][a];
            let along = |c: usize| c / stride % n;
            let from: Vec<usize> = (0..distance.len()).filter(|&c| distance[c] == far).collect();
            for c in from {
                if along(c) > 0 {
                    distance[c - stride] = distance[c - stride].min(far + 1);
                }
                if along(c) + 1 < n {
                    distance[c + stride] = distance[c + stride].min(far + 1);
                }
            }
        }
    }
    distance
}

impl BandSweeps {
    /// The band of a level, to be swept over `sweeps` times.
    pub fn build<T: Real>(&mut self, level: &Level<T>, sweeps: usize) {
        *self = Self { sweeps, ..Self::default() };
        let [nx, ny, nz] = level.dims;
        if sweeps == 0 || nx * ny * nz == 1 {
            return;
        }
        let strides = [1, nx, nx * ny];
        let distance = distances(level);
        let mut numbers = vec![NONE; distance.len()];
        level.for_each_cell(|index, faces, inverse| {
            if inverse == 0.0 || distance[index] > WIDTH as u8 {
                return;
            }
            let beside = std::array::from_fn(|f| match (faces[f] != 0.0, f % 2) {
                (false, _) => NONE,
                (true, 0) => (index - strides[f / 2]) as u32,
                (true, _) => (index + strides[f / 2]) as u32,
            });
            numbers[index] = self.cells.len() as u32;
            let colour = (index % nx + index / nx % ny + index / (nx * ny)) % 2;
            self.colours[colour].push(self.cells.len() as u32);
            let (faces, inverse) = (faces.map(|a| a as f32), inverse as f32);
            self.cells.push(BandCell { index: index as u32, beside, numbers: [NONE; 6], faces, inverse });
        });
        for cell in &mut self.cells {
            cell.numbers = cell.beside.map(|c| if c == NONE { NONE } else { numbers[c as usize] });
        }
        let beside = self.cells.iter().flat_map(|cell| cell.beside).filter(|&c| c != NONE);
        self.touched = self.cells.iter().map(|cell| cell.index).chain(beside).collect();
        self.touched.sort_unstable();
        self.touched.dedup();
        self.x = vec![0.0; self.cells.len()];
    }

    /// x₀ from zero, for `scale`·b; b ← b − L x₀ ÷ `scale`.
    pub fn begin<B: Real>(&mut self, b: &mut [B], scale: f64) {
        let Self { cells, colours, sweeps, touched, saved, x } = self;
        x.fill(0.0);
        for _ in 0..*sweeps {
            for colour in &*colours {
                let value = |&n: &u32| {
                    let cell = &cells[n as usize];
                    let sum = cell.around(&cell.numbers, |n| x[n]);
                    f64::from(cell.inverse) * (scale * b[cell.index as usize].f64() + sum)
                };
                let values: Vec<f64> = colour.par_iter().with_min_len(1024).map(value).collect();
                colour.iter().zip(values).for_each(|(&n, value)| x[n as usize] = value);
            }
        }
        saved.clear();
        saved.extend(touched.iter().map(|&c| b[c as usize].f64()));
        for (cell, x) in cells.iter().zip(&*x) {
            let mut add = |c: u32, more: f64| b[c as usize] = B::of(b[c as usize].f64() + more / scale);
            add(cell.index, -x / f64::from(cell.inverse));
            for (face, &c) in cell.faces.iter().zip(&cell.beside).filter(|(_, c)| **c != NONE) {
                add(c, f64::from(*face) * x);
            }
        }
    }

    /// z ← z + x₀, swept once more; b becomes what it was. Returns what that adds to b·z.
    pub fn end<T: Real, B: Real>(&mut self, b: &mut [B], scale: f64, z: &mut [T]) -> f64 {
        let Self { cells, colours, sweeps, touched, saved, x } = self;
        let mut product = 0.0;
        for (&c, saved) in touched.iter().zip(saved) {
            product += (*saved - b[c as usize].f64()) * z[c as usize].f64();
            b[c as usize] = B::of(*saved);
        }
        for (cell, x) in cells.iter().zip(x) {
            let z = &mut z[cell.index as usize];
            let new = T::of(z.f64() + *x);
            product += b[cell.index as usize].f64() * (new.f64() - z.f64());
            *z = new;
        }
        for _ in 0..*sweeps {
            for colour in colours.iter().rev() {
                let value = |&n: &u32| {
                    let cell = &cells[n as usize];
                    let sum = cell.around(&cell.beside, |c| z[c].f64());
                    T::of(f64::from(cell.inverse) * (scale * b[cell.index as usize].f64() + sum))
                };
                let values: Vec<T> = colour.par_iter().with_min_len(1024).map(value).collect();
                for (&n, value) in colour.iter().zip(values) {
                    let index = cells[n as usize].index as usize;
                    product += b[index].f64() * (value.f64() - z[index].f64());
                    z[index] = value;
                }
            }
        }
        product
    }
}

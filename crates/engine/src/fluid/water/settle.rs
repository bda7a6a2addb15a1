//! Particles at the start are moved until they tell the surface that was asked for.
//!
//! Volume comes in particles, and these stand a little beside the places of a lattice. So what they tell of a plane surface is uneven by some
//! hundredths of a cell, and pressure takes that for waves; and where they are crowded or sparse below it, they are moved in the first steps
//! (`crowding`), and the surface with them. Let T be the density if every part of a cell held just what it should, and D that of the
//! particles, in cells c. Of all displacements that make D = T the least are found,
//!
//! ```text
//! δ_p = Σ_c λ_c ∇N_c(x_p),   (J Jᵀ + ε) λ = (T − D)/v,   J_cp = ∇N_c(x_p),   D_c = v Σ_p N_c(x_p)
//! ```
//!
//! with N the weights of the density and v what a particle fills of a cell, by a few steps of conjugate gradients: once for all cells, and then for
//! those around the surface again and again, from where particles have come to.

use super::particles::Moved;
use super::surface::{LEAST_ROOM, Surface};
use crate::grid::sample::Spot;
use crate::grid::{CellField, Grid, unravel};
use glam::DVec3;
use rayon::prelude::*;

/// How often displacements are found around the surface.
/// A choice: after five rounds in all, what was left of D − T was a thousandth, or what single particles above a surface leave.
const ROUNDS: usize = 4;

/// Steps of conjugate gradients in each.
/// A choice: unevenness is short, and few steps tell it.
const STEPS: usize = 12;

/// Steps for all cells.
/// A choice: neutral bodies below a surface move in the steps after the first as little as in it, 1e-4 g; without this round, ten times as much.
const STEPS_FOR_ALL: usize = 8;

/// ε: cells that hardly any particle reaches push none far.
/// A choice, little beside what a cell full of particles has on the diagonal, about 10. Without it, where a layer begins with single particles, others are thrown about.
const SOFT: f64 = 0.3;

/// A particle is moved by at most this part of a cell in a round.
/// A guard: a quarter of the distance to the next one, with eight particles a cell.
const FARTHEST: f64 = 0.125;

/// A cell that holds this little, or lacks it, is not at the surface.
/// Above round-off.
const NOTHING: f64 = 1e-3;

/// Of a cell that is not asked for.
const NONE: u32 = u32::MAX;

/// Particles handed to a thread at once: many, beside what reaches cells of other chunks.
const CHUNK: usize = 1 << 13;

/// What a particle tells of the cells around it.
struct Reach {
    /// The eight cells of its weights, as numbers of the cells that are asked for.
    cells: [u32; 8],
    /// Its place between them.
    t: DVec3,
    /// Zero along axes where its weights do not change: flat ones, and beyond the first and the last centre.
    slope: DVec3,
}

impl Reach {
    fn weights(&self) -> [f64; 8] {
        let [x, y, z] = self.t.to_array().map(|t| [1.0 - t, t]);
        std::array::from_fn(|n| x[n & 1] * y[n >> 1 & 1] * z[n >> 2])
    }

    fn gradients(&self) -> [DVec3; 8] {
        let [x, y, z] = self.t.to_array().map(|t| [1.0 - t, t]);
        let sign = |bit: usize| if bit == 1 { 1.0 } else { -1.0 };
        std::array::from_fn(|n| {
            let [i, j, k] = [n & 1, n >> 1 & 1, n >> 2];
            self.slope * DVec3::new(sign(i) * y[j] * z[k], x[i] * sign(j) * z[k], x[i] * y[j] * sign(k))
        })
    }

    /// Σ λ ∇N.
    fn displacement(&self, lambda: &[f64]) -> DVec3 {
        let pairs = self.cells.iter().zip(self.gradients()).filter(|(cell, _)| **cell != NONE);
        pairs.map(|(&cell, gradient)| lambda[cell as usize] * gradient).sum()
    }
}

/// Cells whose density is to be as it should, and the particles that tell it.
struct Cells<'a> {
    grid: &'a Grid,
    spot: Spot,
    /// The number of each cell of the grid among those that are asked for.
    numbers: Vec<u32>,
    count: usize,
    seeds: &'a mut [Moved],
    /// Those whose weights reach one of the cells.
    near: Vec<u32>,
}

/// Move the `seeds`, which fill `volume` of a cell each and are in the order of their cells, until their density is `wanted`; `keep` tells where one
/// ends that is taken to a place of index space.
pub fn settle(
    grid: &Grid,
    surface: &Surface,
    wanted: &CellField,
    volume: f64,
    keep: impl Fn(DVec3, DVec3) -> DVec3 + Sync,
    seeds: &mut [Moved],
) {
    let is_partly_full = |share: f64| (NOTHING..1.0 - NOTHING).contains(&share);
    let all = cells_around(grid, surface, wanted, |share| share >= NOTHING);
    let surface = cells_around(grid, surface, wanted, is_partly_full);
    for (around, rounds, steps) in [(all, 1, STEPS_FOR_ALL), (surface, ROUNDS, STEPS)] {
        let lacking: Vec<f64> = around.iter().map(|&c| wanted.data[c] / volume).collect();
        let mut cells = Cells::new(grid, &around, seeds);
        for _ in 0..rounds {
            cells.displace(lacking.clone(), steps, &keep);
        }
    }
}

/// Cells that hold such a share of their room, and those that share a corner with one, in order.
fn cells_around(
    grid: &Grid,
    surface: &Surface,
    wanted: &CellField,
    is_meant: impl Fn(f64) -> bool + Sync,
) -> Vec<usize> {
    let dims = grid.dims;
    let has_room = |c: usize| surface.room(c) >= LEAST_ROOM;
    let is_meant = |c: usize| has_room(c) && is_meant(wanted.data[c] / surface.room(c).max(LEAST_ROOM));
    let is_around = |c: &usize| {
        let at = unravel(dims, *c);
        let [x, y, z] = [0, 1, 2].map(|a| at[a].saturating_sub(1)..(at[a] + 2).min(dims[a]));
        has_room(*c) && z.into_iter().any(|k| y.clone().any(|j| x.clone().any(|i| is_meant(grid.cell([i, j, k])))))
    };
    (0..grid.cells()).into_par_iter().filter(is_around).collect()
}

impl<'a> Cells<'a> {
    fn new(grid: &'a Grid, around: &[usize], seeds: &'a mut [Moved]) -> Self {
        let mut numbers = vec![NONE; grid.cells()];
        around.iter().enumerate().for_each(|(n, &c)| numbers[c] = n as u32);
        let mut cells =
            Self { grid, spot: Spot::new(grid.dims), numbers, count: around.len(), seeds, near: Vec::new() };
        let all = 0..cells.seeds.len() as u32;
        cells.near = all.into_par_iter().filter(|&n| cells.reach(n).cells != [NONE; 8]).collect();
        cells
    }

    fn reach(&self, seed: u32) -> Reach {
        let (dims, p) = (self.grid.dims, self.place(seed));
        let places = self.spot.place(p).cell();
        let cell = |n: usize| self.grid.cell([0, 1, 2].map(|a| places[a].index + (n >> a & 1) * places[a].step));
        let changes = |a: usize| places[a].step == 1 && (0.5..dims[a] as f64 - 0.5).contains(&p[a]);
        Reach {
            cells: std::array::from_fn(|n| self.numbers[cell(n)]),
            t: DVec3::from(places.map(|place| place.t)),
            slope: DVec3::from([0, 1, 2].map(|a| f64::from(u8::from(changes(a))))),
        }
    }

    /// In index space.
    fn place(&self, seed: u32) -> DVec3 {
        (self.seeds[seed as usize].position - self.grid.origin) / self.grid.dx
    }

    /// Move the particles once, so that cells get what is `lacking` besides what particles fill already.
    fn displace(&mut self, mut lacking: Vec<f64>, steps: usize, keep: &(impl Fn(DVec3, DVec3) -> DVec3 + Sync)) {
        self.add(|reach| reach.weights().map(|weight| -weight), &mut lacking);
        let lambda = self.solve(lacking, steps);
        let end = |&n: &u32| {
            let delta = self.reach(n).displacement(&lambda).clamp_length_max(FARTHEST);
            keep(self.seeds[n as usize].position, self.place(n) + delta)
        };
        let ends: Vec<DVec3> = self.near.par_iter().map(end).collect();
        self.near.iter().zip(ends).for_each(|(&n, end)| self.seeds[n as usize].position = end);
    }

    /// Add what each particle tells of the cells around it. Particles that follow each other reach cells that do: every chunk adds up a part of `sums`, and these
    /// come together in order, whatever the threads.
    fn add(&self, told: impl Fn(&Reach) -> [f64; 8] + Sync, sums: &mut [f64]) {
        let of_chunk = |chunk: &[u32]| {
            let reaches: Vec<Reach> = chunk.iter().map(|&n| self.reach(n)).collect();
            let known = || reaches.iter().flat_map(|reach| reach.cells).filter(|&cell| cell != NONE);
            let first = known().min().unwrap_or(0) as usize;
            let mut part = vec![0.0; known().max().map_or(0, |last| last as usize + 1 - first)];
            for reach in &reaches {
                for (&cell, value) in reach.cells.iter().zip(told(reach)).filter(|(cell, _)| **cell != NONE) {
                    part[cell as usize - first] += value;
                }
            }
            (first, part)
        };
        let parts: Vec<(usize, Vec<f64>)> = self.near.par_chunks(CHUNK).map(of_chunk).collect();
        for (first, part) in parts {
            sums[first..].iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
    }

    /// λ with (J Jᵀ + ε) λ = `rest`, by conjugate gradients from zero.
    fn solve(&self, mut rest: Vec<f64>, steps: usize) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut lambda = vec![0.0; self.count];
        let mut way = rest.clone();
        let mut square = dot(&rest, &rest);
        for _ in 0..steps {
            let mut image: Vec<f64> = way.iter().map(|way| SOFT * way).collect();
            let told = |reach: &Reach| {
                let delta = reach.displacement(&way);
                reach.gradients().map(|gradient| gradient.dot(delta))
            };
            self.add(told, &mut image);
            let energy = dot(&way, &image);
            if energy <= 0.0 {
                break;
            }
            let length = square / energy;
            lambda.iter_mut().zip(&way).for_each(|(lambda, way)| *lambda += length * way);
            rest.iter_mut().zip(&image).for_each(|(rest, image)| *rest -= length * image);
            let next = dot(&rest, &rest);
            way.iter_mut().zip(&rest).for_each(|(way, rest)| *way = rest + next / square * *way);
            square = next;
        }
        lambda
    }
}

//! Particles at the start are moved until they tell the surface that was asked for.
//!
//! Volume comes in particles, and these stand a little beside the places of a lattice. So what they tell of a plane surface is uneven by some
//! hundredths of a cell, and pressure takes that for waves. Let T be the density if every part of a cell held just what it should, and D that of the
//! particles, in the cells c around the surface. Of all displacements that make D = T the least are found,
//!
//! ```text
//! δ_p = Σ_c λ_c ∇N_c(x_p),   (J Jᵀ + ε) λ = (T − D)/v,   J_cp = ∇N_c(x_p),   D_c = v Σ_p N_c(x_p)
//! ```
//!
//! with N the weights of the density and v what a particle fills of a cell, by a few steps of conjugate gradients; and again from where they have come to.

use super::particles::Moved;
use super::surface::{LEAST_ROOM, Surface};
use crate::grid::sample::Spot;
use crate::grid::{CellField, Grid, unravel};
use glam::DVec3;
use rayon::prelude::*;

/// How often displacements are found.
/// A choice: after five, what was left of D − T was a thousandth, or what single particles above a surface leave.
const ROUNDS: usize = 5;

/// Steps of conjugate gradients in each.
/// A choice: unevenness is short, and few steps tell it.
const STEPS: usize = 12;

/// ε: cells that hardly any particle reaches push none far.
/// A choice, little beside what a cell full of particles has on the diagonal, about 10. Without it, where a layer begins with single particles, others are thrown about.
const SOFT: f64 = 0.3;

/// A particle is moved by at most this part of a cell in a round.
/// A guard: a quarter of the distance to the next one, with eight particles a cell.
const FARTHEST: f64 = 0.125;

/// A cell that holds this little, or lacks it, is not at the surface.
/// Above round-off.
const NOTHING: f64 = 1e-3;

/// Of a cell that is not around the surface.
const NONE: u32 = u32::MAX;

/// A particle in reach of cells around the surface.
struct Reach {
    seed: u32,
    /// The eight cells of its weights, as numbers of cells around the surface.
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

    /// Add to each of the cells that it reaches.
    fn add(&self, parts: [f64; 8], sums: &mut [f64]) {
        for (&cell, part) in self.cells.iter().zip(parts).filter(|(cell, _)| **cell != NONE) {
            sums[cell as usize] += part;
        }
    }

    /// Σ λ ∇N.
    fn displacement(&self, lambda: &[f64]) -> DVec3 {
        let pairs = self.cells.iter().zip(self.gradients()).filter(|(cell, _)| **cell != NONE);
        pairs.map(|(&cell, gradient)| lambda[cell as usize] * gradient).sum()
    }
}

/// Move the `seeds`, which fill `volume` of a cell each, until their density is `wanted`; `keep` tells where one ends that is taken to a place of index space.
pub fn settle(
    grid: &Grid,
    surface: &Surface,
    wanted: &CellField,
    volume: f64,
    keep: impl Fn(DVec3, DVec3) -> DVec3 + Sync,
    seeds: &mut [Moved],
) {
    let around = cells_around(grid, surface, wanted);
    let mut slots = vec![NONE; grid.cells()];
    around.iter().enumerate().for_each(|(n, &c)| slots[c] = n as u32);
    for _ in 0..ROUNDS {
        let reaches = reaches(grid, &slots, seeds);
        let mut lacking: Vec<f64> = around.iter().map(|&c| wanted.data[c] / volume).collect();
        reaches.iter().for_each(|reach| reach.add(reach.weights().map(|weight| -weight), &mut lacking));
        let lambda = solve(&reaches, lacking);
        for reach in &reaches {
            let seed = &mut seeds[reach.seed as usize];
            let delta = reach.displacement(&lambda).clamp_length_max(FARTHEST);
            seed.position = keep(seed.position, (seed.position - grid.origin) / grid.dx + delta);
        }
    }
}

/// Cells at the surface of what is wanted and those that share a corner with one, in order.
fn cells_around(grid: &Grid, surface: &Surface, wanted: &CellField) -> Vec<usize> {
    let dims = grid.dims;
    let has_room = |c: usize| surface.room(c) >= LEAST_ROOM;
    let is_at_surface = |c: usize| {
        let share = wanted.data[c] / surface.room(c).max(LEAST_ROOM);
        has_room(c) && (NOTHING..1.0 - NOTHING).contains(&share)
    };
    let is_around = |c: &usize| {
        let at = unravel(dims, *c);
        let [x, y, z] = [0, 1, 2].map(|a| at[a].saturating_sub(1)..(at[a] + 2).min(dims[a]));
        has_room(*c) && z.into_iter().any(|k| y.clone().any(|j| x.clone().any(|i| is_at_surface(grid.cell([i, j, k])))))
    };
    (0..grid.cells()).into_par_iter().filter(is_around).collect()
}

/// The particles whose weights reach the cells with a number.
fn reaches(grid: &Grid, slots: &[u32], seeds: &[Moved]) -> Vec<Reach> {
    let spot = Spot::new(grid.dims);
    let of_seed = |(index, seed): (usize, &Moved)| {
        let p = (seed.position - grid.origin) / grid.dx;
        let places = spot.place(p).cell();
        let cells = std::array::from_fn(|n| {
            let at = [0, 1, 2].map(|a| places[a].index + (n >> a & 1) * places[a].step);
            slots[grid.cell(at)]
        });
        if cells == [NONE; 8] {
            return None;
        }
        let changes = |a: usize| places[a].step == 1 && (0.5..grid.dims[a] as f64 - 0.5).contains(&p[a]);
        let slope = DVec3::from([0, 1, 2].map(|a| f64::from(u8::from(changes(a)))));
        Some(Reach { seed: index as u32, cells, t: DVec3::from(places.map(|place| place.t)), slope })
    };
    seeds.par_iter().enumerate().filter_map(of_seed).collect()
}

/// λ with (J Jᵀ + ε) λ = `rest`, by conjugate gradients from zero.
fn solve(reaches: &[Reach], mut rest: Vec<f64>) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut lambda = vec![0.0; rest.len()];
    let mut way = rest.clone();
    let mut square = dot(&rest, &rest);
    for _ in 0..STEPS {
        let mut image: Vec<f64> = way.iter().map(|way| SOFT * way).collect();
        for reach in reaches {
            let delta = reach.displacement(&way);
            reach.add(reach.gradients().map(|gradient| gradient.dot(delta)), &mut image);
        }
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

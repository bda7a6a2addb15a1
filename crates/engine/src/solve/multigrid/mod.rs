//! A symmetric multigrid V-cycle for the pressure operator, used as a preconditioner.
//!
//! Levels halve the number of cells along every axis until one cell is left. A coarse network is the fine one with parallel
//! faces merged and lengths doubled (the operator discretised again, so seven points stay seven points); corrections are
//! interpolated linearly and residuals restricted by the transpose; smoothing is red–black–red Gauss–Seidel. In exact
//! arithmetic the cycle is a symmetric positive definite matrix. Why these choices: docs/pressure-solver.md.
//!
//! Coefficients and right-hand sides are scaled by powers of two to values near one, so f32 neither overflows nor
//! loses small numbers; the result is the cycle's up to that constant factor.

mod band;
mod bodies;
mod bottom;
mod columns;
mod level;
mod passes;
mod patched;
mod sweep;
mod transfer;

use super::conjugate_gradients::Preconditioner;
use super::laplacian::Laplacian;
use super::low_rank::{Block, LowRank};
use super::patches::Patches;
use super::pockets::Pocket;
use super::real::Real;
use super::stencil::Network;
use crate::grid::{CellField, FaceField};
use bodies::{Extra, LevelBodies};
use columns::felt;
use level::{Coarse, Level};
use passes::Ring;
use rayon::prelude::*;

/// With bodies, a level of at most this many cells is solved directly.
/// A choice of cost: dense factors go with its cube.
const BOTTOM: usize = 128;

/// With bodies, levels with at most this many black cells are visited twice: there, bodies shrink to a few cells.
/// With one visit many light bodies cost up to nine iterations more (docs/pressure-solver.md, *Bodies that answer*).
const VISITED_TWICE: usize = 1 << 16;

/// From so many columns on, if there are modes among them, the cycle has only those that the fluid feels.
/// A choice: with fewer, choosing costs what it saves.
const MANY: usize = 64;

/// Columns of a rigid body, all of which the fluid feels.
const RIGID: usize = 6;

/// The cycle; `T` is the scalar it computes with.
#[derive(Clone, Debug, Default)]
pub struct Multigrid<T> {
    levels: Vec<Level<T>>,
    rings: Vec<Ring<T>>,
    zeros: Vec<f64>,
    unit: f64,
    scale: f64,
    /// Whether the bodies are left out.
    without_bodies: bool,
    /// Where the pressures of pockets are kept.
    nodes: Vec<usize>,
}

impl<T: Real> Multigrid<T> {
    /// Take new coefficients, reusing the memory: those that `laplacian` was made from.
    pub fn rebuild(&mut self, laplacian: &Laplacian, faces: &FaceField<f64>, extra: &CellField<f64>) {
        let network = Network::new(faces, extra);
        let unit = power_of_two(laplacian.largest());
        (self.unit, self.scale) = (unit, 1.0);
        self.zeros.resize(network.dims[0] + 1, 0.0);
        self.rings.resize_with(rayon::current_num_threads(), Ring::default);
        for ring in &mut self.rings {
            ring.resize(network.dims);
        }
        let depth = 1 + network.dims.iter().max().map_or(0, |n| n.next_power_of_two().ilog2() as usize);
        self.levels.resize_with(depth, Level::default);

        self.levels[0].build_finest(laplacian, unit);
        for l in 1..depth {
            let (finer, coarser) = self.levels.split_at_mut(l);
            let (fine, level) = (&finer[l - 1], &mut coarser[0]);
            let (from, widths) =
                if l == 1 { (network, None) } else { (fine.coarse.network(fine.dims), Some(fine.widths())) };
            let dims = level.coarse.coarsen(&from, widths, &self.zeros);
            level.build_coarse(unit, &self.zeros, dims);
        }
    }

    /// Add C Cᵀ of bodies, and pockets of air, to the operator of the last [`rebuild`](Self::rebuild): the cycle becomes one for
    /// Σ = L + C Cᵀ with the pockets' pressures as further unknowns.
    pub fn couple(&mut self, low_rank: &LowRank, pockets: &[Pocket]) {
        self.couple_yielding(low_rank, true, &Patches::default(), pockets);
    }

    /// The same with `patches`, columns that the finest level alone knows: the operator has ties in their place on coarser ones.
    /// With `visits_twice`, the cycle is fit for light bodies.
    pub fn couple_yielding(&mut self, low_rank: &LowRank, visits_twice: bool, patches: &Patches, pockets: &[Pocket]) {
        self.levels.iter_mut().for_each(|level| level.bodies.clear());
        self.nodes.clear();
        if low_rank.blocks.is_empty() && patches.columns == 0 && pockets.is_empty() {
            return;
        }
        self.nodes.extend(pockets.iter().map(|pocket| pocket.node));
        let mut extra = self.extra(low_rank, patches, pockets);
        let has_modes = low_rank.blocks.iter().any(|block| block.columns > RIGID);
        if has_modes && low_rank.columns() > MANY && pockets.is_empty() {
            let blocks = extra.bodies.blocks.into_par_iter().map(|block| felt(block, &self.levels));
            extra.bodies.blocks = blocks.filter(|block| block.columns > 0).collect();
            // Bodies near each other beside each other: H is the sparser for it.
            extra.bodies.blocks.sort_by_key(|block| block.cells[0]);
        }
        extra.visits_twice = visits_twice && low_rank.columns() > 0;
        for l in 0..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(l + 1);
            let (fine, mut bodies) = (&mut finer[l], LevelBodies::default());
            match coarser.first_mut() {
                Some(coarse) if fine.dims.iter().product::<usize>() > BOTTOM => {
                    extra = bodies.build(extra, fine, coarse);
                    coarse.coarse.resize_second();
                    fine.bodies = bodies;
                }
                _ => {
                    bodies.build_bottom(extra, fine);
                    fine.bodies = bodies;
                    return;
                }
            }
        }
    }

    /// Smooth near boundaries this many times more, before and after; not together with bodies.
    pub fn smooth_boundaries(&mut self, sweeps: usize) {
        for level in &mut self.levels {
            let mut band = std::mem::take(&mut level.band);
            band.build(level, sweeps);
            level.band = band;
        }
    }

    /// Bodies and pockets in the units of the cycle.
    fn extra(&self, low_rank: &LowRank, patches: &Patches, pockets: &[Pocket]) -> Extra {
        let mut bodies = low_rank.clone();
        let scale = self.unit.sqrt().recip();
        bodies.blocks.iter_mut().flat_map(|block| &mut block.values).for_each(|value| *value *= scale);
        let of_pocket = |pocket: &Pocket| {
            let values = pocket.weights.iter().map(|weight| -weight / self.unit).collect();
            let row = bodies.blocks.iter().flat_map(|block| match block.cells.binary_search(&(pocket.node as u32)) {
                Ok(place) => block.values[block.columns * place..][..block.columns].to_vec(),
                Err(_) => vec![0.0; block.columns],
            });
            (Block { cells: pocket.cells.clone(), columns: 1, values, is_immersed: false }, row.collect())
        };
        let pockets: Vec<(Block, Vec<f64>)> = pockets.iter().map(of_pocket).collect();
        let nodes = &self.nodes;
        bodies.blocks.iter_mut().for_each(|block| block.retain(|cell| !nodes.contains(&cell)));
        let mut patches = patches.scaled(scale);
        if !nodes.is_empty() && patches.columns > 0 {
            patches.retain(|cell| !nodes.contains(&cell));
        }
        Extra { bodies, patches, pockets, visits_twice: true }
    }

    /// Whether the next cycles are for L alone, as if there were no bodies.
    pub fn leave_out_bodies(&mut self, without_bodies: bool) {
        self.without_bodies = without_bodies;
    }

    /// Scale right-hand sides by about 1 ÷ `norm` from now on.
    pub fn normalise(&mut self, norm: f64) {
        self.scale = 1.0 / power_of_two(norm);
    }

    /// [`apply`](Preconditioner::apply) yields this times V r, with V ≈ L⁻¹. The eigenvalues of V L lie between about 0.7 and 1.
    pub fn factor(&self) -> f64 {
        self.unit * self.scale
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(Level::bytes).sum::<usize>() + self.rings.iter().map(Ring::bytes).sum::<usize>()
    }
}

impl<T: Real> Preconditioner for Multigrid<T> {
    type Scalar = T;

    fn apply(&mut self, r: &mut [f64], z: &mut [T]) -> f64 {
        let Self { levels, nodes, .. } = self;
        levels[0].bodies.set_rhs(nodes.iter().map(|&node| r[node]));
        let shared = &mut Workspace { rings: &mut self.rings, without_bodies: self.without_bodies };
        let product = cycle(levels, r, self.scale, z, shared);
        nodes.iter().zip(levels[0].bodies.values()).for_each(|(&node, value)| z[node] = T::of(value));
        product
    }
}

/// What all levels share.
struct Workspace<'a, T> {
    rings: &'a mut [Ring<T>],
    without_bodies: bool,
}

/// z ← V b on the first of `levels`; returns b·z. `b` is changed in between.
fn cycle<T: Real, B: Real>(
    levels: &mut [Level<T>],
    b: &mut [B],
    scale: f64,
    z: &mut [T],
    shared: &mut Workspace<T>,
) -> f64 {
    let (fine, coarser) = levels.split_first_mut().expect("at least one level");
    let nobody = shared.without_bodies && !fine.bodies.has_pockets();
    let mut bodies = if nobody { LevelBodies::default() } else { std::mem::take(&mut fine.bodies) };
    bodies.are_left_out = shared.without_bodies;
    let product = if let Some(product) = bodies.solve_bottom(b, scale, z) {
        product
    } else if let Some(coarse) = coarser.first_mut() {
        let mut band = std::mem::take(&mut fine.band);
        band.begin(b, scale);
        bodies.begin(b);
        fine.descend(b, scale, &mut coarse.coarse.moments, shared.rings);
        let dims = coarse.dims;
        let mut vectors = std::mem::take(&mut coarse.coarse);
        transfer::restrict(dims, &vectors.moments, &vectors.open, &mut vectors.rhs);
        bodies.restrict(&fine.black, &mut coarse.bodies);
        cycle(coarser, &mut vectors.rhs, 1.0, &mut vectors.x, shared);
        if bodies.visits_twice() && !coarser[0].bodies.is_bottom() && coarser[0].black.len() <= VISITED_TWICE {
            let Coarse { rhs, x, second, .. } = &mut vectors;
            let first: Vec<f64> = coarser[0].bodies.values().collect();
            coarser[0].residual(rhs, x);
            cycle(coarser, rhs, 1.0, second, shared);
            x.iter_mut().zip(second).for_each(|(x, more)| *x += *more);
            coarser[0].bodies.add_values(&first);
        }
        bodies.correct(&mut fine.black, scale, &vectors.x, &coarser[0].bodies, b);
        let product = fine.ascend(b, scale, dims, &vectors, z, shared.rings) + bodies.end(z, scale, b);
        coarser[0].coarse = vectors;
        let product = product + band.end(b, scale, z);
        fine.band = band;
        product
    } else {
        fine.solve_cell(b, scale, z)
    };
    if !nobody {
        fine.bodies = bodies;
    }
    product
}

/// The power of two at or below a positive number; 1 for anything else.
fn power_of_two(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() { v.log2().floor().exp2() } else { 1.0 }
}

//! Bodies of many freedoms in the pressure operator.
//!
//! The vertices of an elastic body answer an impulse through A = M + Δt D + Δt² K \[ZB17, eq. 6\]; eliminated, the body adds
//! ρ dx³ B A⁻¹ Bᵀ to L (design eq. 1). A⁻¹ is a sparse factorisation, applied once an iteration. (Unlike
//! \[ZB17, eq. 33\], which keeps the velocities and makes the system definite by a part Z₁ of the mass.)
//!
//! To the preconditioner such a body is two things that cycles know how to treat. What it does as a whole, that is along a few
//! smooth modes U, are columns C with C Cᵀ = ρ dx³ B U (UᵀAU)⁻¹ Uᵀ Bᵀ, like those of a rigid body; what it does
//! locally is a tie to zero pressure of each cell at its surface, the row sums of ρ dx³ B diag(A)⁻¹ Bᵀ. Stiff bodies are all
//! columns, soft ones all ties.
//!
//! Ties say that every cell gives way by itself. Where vertices are farther apart than cells, only all cells around a vertex together
//! do, and if the body is soft and light this tells: there, ties cost twice the iterations. Then the finest level has a sparse column
//! for every vertex ([`Patches`]) instead. Cells of coarser levels are as large as a vertex's surroundings or larger; there vertices
//! come along with one another, and ties are those of their masses, the row sums of ρ dx³ B M⁻¹ Bᵀ.

use super::laplacian::Laplacian;
use super::low_rank::LowRank;
use super::patches::Patches;
use super::pockets::Pocket;
use super::real::Real;
use super::sparse::{SparseFactor, SparseSymmetric};
use super::supports::Supports;
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A body of many freedoms: ρ dx³ B A⁻¹ Bᵀ.
#[derive(Clone, Debug)]
pub struct Yielding {
    /// B.
    pub push: Push,
    /// What it begins with, three values a vertex, m/s.
    pub velocity: Vec<f64>,
    /// What it is like over this step.
    pub step: Arc<ElasticStep>,
    /// Density of the fluid, kg/m³.
    pub rho: f64,
    /// Width of a cell, m.
    pub dx: f64,
    /// What the body does as a whole, for the preconditioner: C.
    pub modes: LowRank,
    /// What it does locally, for the preconditioner: a tie for every row of B.
    pub ties: Vec<f64>,
    /// The same vertex by vertex, if it is soft, for the finest level.
    pub patches: Patches,
    /// What coarser levels have then, for every row of B.
    pub coarse_ties: Vec<f64>,
}

/// An elastic body over a step.
#[derive(Debug)]
pub struct ElasticStep {
    /// Length of the step, s.
    pub dt: f64,
    /// A = M + Δt D + Δt² K, kg.
    pub system: Arc<SparseSymmetric>,
    /// Its factor.
    pub factor: SparseFactor,
    /// M, of every vertex, kg.
    pub masses: Vec<f64>,
    /// (1 + Δt τm) M: what of A is diagonal.
    pub damped: Vec<f64>,
    /// Where the vertices are, m.
    pub positions: Vec<DVec3>,
    /// Per vertex and axis, 1 where pushes change the velocity, 0 where it is prescribed: nothing that pushes there changes it.
    pub movable: Vec<DVec3>,
    /// Of the material, kg/m³.
    pub density: f64,
    /// What it leans on.
    pub supports: Supports,
}

impl ElasticStep {
    /// Impulses (N s) → changes of velocity (m/s), in place, three values a vertex.
    pub fn respond(&self, impulses: &mut [f64]) {
        for (impulse, movable) in impulses.chunks_exact_mut(3).zip(&self.movable) {
            impulse.iter_mut().zip(movable.to_array()).for_each(|(j, part)| *j *= part);
        }
        self.factor.solve_in_place(impulses);
        self.supports.resist(impulses);
    }
}

/// B: the volume that vertices push into cells, in units of dx² per unit of velocity, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Push {
    /// Cells of the rows, ascending.
    pub cells: Vec<u32>,
    /// The first entry of each row, and the number of entries.
    pub starts: Vec<usize>,
    /// A vertex and what it pushes along each axis.
    pub entries: Vec<(u32, DVec3)>,
}

impl Push {
    /// Rows from what is to be added up: a cell, a vertex and what it pushes there.
    pub fn from_entries(mut parts: Vec<(u32, u32, DVec3)>) -> Self {
        // Stable, so that sums do not depend on the order in which cells were met.
        parts.sort_by_key(|(cell, vertex, _)| (*cell, *vertex));
        let mut push = Self::default();
        let mut last = None;
        for (cell, vertex, weight) in parts {
            if push.cells.last() != Some(&cell) {
                push.cells.push(cell);
                push.starts.push(push.entries.len());
            }
            match push.entries.last_mut() {
                Some((_, sum)) if last == Some((cell, vertex)) => *sum += weight,
                _ => push.entries.push((vertex, weight)),
            }
            last = Some((cell, vertex));
        }
        push.starts.push(push.entries.len());
        push
    }

    /// The same without what is zero once every vertex counts with its `part`.
    pub fn masked(&self, part: &[DVec3]) -> Self {
        let mut masked = Self { cells: self.cells.clone(), ..Self::default() };
        for (_, entries) in self.rows() {
            masked.starts.push(masked.entries.len());
            let of_entry = |&(vertex, weight): &(u32, DVec3)| (vertex, weight * part[vertex as usize]);
            masked.entries.extend(entries.iter().map(of_entry).filter(|(_, weight)| *weight != DVec3::ZERO));
        }
        masked.starts.push(masked.entries.len());
        masked
    }

    /// Cells with their entries.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &[(u32, DVec3)])> {
        let ranges = self.starts.windows(2).map(|ends| &self.entries[ends[0]..ends[1]]);
        self.cells.iter().map(|&cell| cell as usize).zip(ranges)
    }

    /// out ← Bᵀ p, three values a vertex.
    pub fn gather<T: Real>(&self, p: &[T], out: &mut [f64]) {
        out.fill(0.0);
        for (cell, entries) in self.rows() {
            for (vertex, weight) in entries {
                let push = p[cell].f64() * *weight;
                out[3 * *vertex as usize..][..3].iter_mut().zip(push.to_array()).for_each(|(out, push)| *out += push);
            }
        }
    }

    /// f(cell, (B v)_cell) for every row, `v` having three values a vertex.
    pub fn scatter(&self, v: &[f64], mut f: impl FnMut(usize, f64)) {
        for (cell, entries) in self.rows() {
            let of_entry = |(vertex, weight): &(u32, DVec3)| DVec3::from_slice(&v[3 * *vertex as usize..]).dot(*weight);
            f(cell, entries.iter().map(of_entry).sum());
        }
    }

    /// Keep the rows that `keep` tells.
    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = Self::default();
        for (cell, entries) in self.rows().filter(|(cell, _)| keep(*cell)) {
            kept.cells.push(cell as u32);
            kept.starts.push(kept.entries.len());
            kept.entries.extend_from_slice(entries);
        }
        kept.starts.push(kept.entries.len());
        *self = kept;
    }

    /// Add the rows of some cells to those of others: where `onto` tells one, the cell has the same pressure.
    fn fold(&mut self, onto: impl Fn(usize) -> Option<usize>) {
        let folded = |(cell, entries): (usize, &[(u32, DVec3)])| {
            let cell = onto(cell).unwrap_or(cell) as u32;
            entries.iter().map(|&(vertex, weight)| (cell, vertex, weight)).collect::<Vec<_>>()
        };
        *self = Self::from_entries(self.rows().flat_map(folded).collect());
    }
}

impl Yielding {
    /// ρ dx³, kg.
    pub fn unit(&self) -> f64 {
        self.rho * self.dx.powi(3)
    }

    /// What it does locally to the pressure of single cells.
    pub(super) fn ties(&self) -> impl Iterator<Item = (usize, f64)> {
        self.push.cells.iter().map(|&cell| cell as usize).zip(self.ties.iter().copied())
    }

    /// The same for coarser levels.
    pub(super) fn coarse_ties(&self) -> impl Iterator<Item = (usize, f64)> {
        let ties = if self.patches.columns > 0 { &self.coarse_ties } else { &self.ties };
        self.push.cells.iter().map(|&cell| cell as usize).zip(ties.iter().copied())
    }

    /// Number of freedoms.
    pub fn freedoms(&self) -> usize {
        self.step.factor.size()
    }

    /// Forget rows of cells that are no unknowns of `laplacian` and have no pocket's pressure.
    pub(super) fn mask(&mut self, laplacian: &Laplacian, pockets: &[Pocket]) {
        let keep = |cell: usize| laplacian.is_unknown(cell) || pockets.iter().any(|pocket| pocket.node == cell);
        if self.push.cells.iter().all(|&cell| keep(cell as usize)) {
            return;
        }
        self.modes.blocks.iter_mut().for_each(|block| block.retain(keep));
        self.patches.retain(keep);
        let kept: Vec<bool> = self.push.cells.iter().map(|&cell| keep(cell as usize)).collect();
        for ties in [&mut self.ties, &mut self.coarse_ties] {
            let mut kept = kept.iter();
            ties.retain(|_| *kept.next().expect("a tie for every row"));
        }
        self.push.retain(keep);
    }

    /// Add the rows of some cells to those of others, see [`LowRank::fold`](super::LowRank::fold).
    pub fn fold(&mut self, onto: impl Fn(usize) -> Option<usize>) {
        for ties in [&mut self.ties, &mut self.coarse_ties] {
            let mut sums = BTreeMap::<usize, f64>::new();
            for (&cell, tie) in self.push.cells.iter().zip(&*ties) {
                *sums.entry(onto(cell as usize).unwrap_or(cell as usize)).or_default() += tie;
            }
            *ties = sums.into_values().collect();
        }
        self.push.fold(&onto);
        self.patches.fold(&onto);
        self.modes.fold(onto);
    }
}

/// The answer of bodies to a pressure.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Bᵀ p and ρ dx³ A⁻¹ Bᵀ p of one body after the other.
    gathered: Vec<Vec<f64>>,
    velocity: Vec<Vec<f64>>,
    fresh: Vec<f64>,
}

impl Answer {
    /// Find the answer to z + `beta` p, p being what was answered last; returns what it adds to pᵀ Σ p.
    pub fn find<Z: Real>(&mut self, bodies: &[Yielding], z: &[Z], beta: f64) -> f64 {
        self.gathered.resize_with(bodies.len(), Vec::new);
        self.velocity.resize_with(bodies.len(), Vec::new);
        let parts = bodies.iter().zip(&mut self.gathered).zip(&mut self.velocity);
        parts
            .map(|((body, gathered), velocity)| {
                gathered.resize(body.freedoms(), 0.0);
                velocity.resize(body.freedoms(), 0.0);
                let fresh = &mut self.fresh;
                fresh.resize(body.freedoms(), 0.0);
                body.push.gather(z, fresh);
                let follow = |old: &mut Vec<f64>, new: &[f64], scale: f64| {
                    old.iter_mut().zip(new).for_each(|(old, new)| *old = scale * new + beta * *old);
                };
                follow(gathered, fresh, 1.0);
                // The first solve begins with no pressure at all.
                if fresh.iter().any(|v| *v != 0.0) {
                    body.step.factor.solve_in_place(fresh);
                    body.step.supports.resist(fresh);
                }
                follow(velocity, fresh, body.unit());
                gathered.iter().zip(&*velocity).map(|(g, v)| g * v).sum::<f64>()
            })
            .sum()
    }

    /// r ← r + scale · B times the answer.
    pub fn add(&self, bodies: &[Yielding], scale: f64, r: &mut [f64]) {
        for (body, velocity) in bodies.iter().zip(&self.velocity) {
            body.push.scatter(velocity, |cell, push| r[cell] += scale * push);
        }
    }
}

//! The solver of choice: conjugate gradients on Σ, preconditioned by a multigrid cycle that knows the solids.
//!
//! To the cycle, bodies of many freedoms are ties, on the diagonal of L, and columns, after those of bodies of few.

use super::conjugate_gradients::Vectors;
use super::low_rank::{Block, LowRank};
use super::patches::Patches;
use super::pockets::Pocket;
use super::sigma::{Rhs, Sigma};
use super::yielding::Yielding;
use super::{Laplacian, Multigrid, SolveError, SolveInfo, SolveParams};
use crate::grid::{CellField, FaceField};

/// The cycle and its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    /// Ties of the fluid and of the bodies, and L with those of bodies that the finest level does not know vertex by vertex.
    tied: CellField<f64>,
    tied_laplacian: Laplacian,
    has_ties: bool,
    columns: LowRank,
    patches: Patches,
    multigrid: Multigrid<f32>,
    single: Vectors<f32>,
    /// Takes its place where bodies are too light for single precision.
    precise: Multigrid<f64>,
    double: Vectors<f64>,
    is_stiff: bool,
}

impl Cycle {
    /// Set-up for L and the ties of bodies; `extra` are the ties of the fluid with those of pockets.
    pub fn prepare(
        &mut self,
        sigma: FluidTerms,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
    ) -> Result<(), SolveError> {
        let FluidTerms { laplacian, yielding, pockets } = sigma;
        if !yielding.is_empty() {
            add_all_ties(&mut self.tied, extra, yielding, pockets);
        }
        let tied = if yielding.is_empty() { extra } else { &self.tied };
        // The finest level knows the vertices of soft bodies themselves.
        let is_tied = |body: &&Yielding| body.patches.columns == 0;
        let with_ties = yielding.iter().filter(is_tied).count();
        let mixed = (0 < with_ties && with_ties < yielding.len()).then(|| {
            let mut mixed = extra.clone();
            add_ties(&mut mixed, yielding.iter().filter(is_tied).flat_map(Yielding::ties));
            pockets.iter().for_each(|pocket| mixed.data[pocket.node] = 0.0);
            mixed
        });
        self.has_ties = with_ties > 0;
        if self.has_ties {
            self.tied_laplacian.rebuild(faces, mixed.as_ref().unwrap_or(tied))?;
        }
        let preconditioned = if self.has_ties { &self.tied_laplacian } else { laplacian };
        self.multigrid.rebuild(preconditioned, faces, tied);
        Ok(())
    }

    /// Take the columns of Σ; if it `is_stiff`, in double precision.
    pub fn couple(&mut self, sigma: &Sigma, faces: &FaceField<f64>, extra: &CellField<f64>, is_stiff: bool) {
        let Sigma { laplacian, low_rank, yielding, pockets, .. } = sigma;
        let Self { tied, tied_laplacian, columns, patches, multigrid, precise, .. } = self;
        self.is_stiff = is_stiff;
        let columns = if yielding.is_empty() {
            low_rank
        } else {
            columns.blocks.clone_from(&low_rank.blocks);
            columns.blocks.extend(yielding.iter().flat_map(|body| &body.modes.blocks).cloned());
            // A tie of a pocket is a column that has nothing but its row.
            let is_node = |cell: usize| pockets.iter().any(|pocket| pocket.node == cell);
            for (cell, tie) in yielding.iter().flat_map(Yielding::coarse_ties).filter(|(cell, _)| is_node(*cell)) {
                columns.blocks.push(Block {
                    cells: vec![cell as u32],
                    columns: 1,
                    values: vec![tie.sqrt()],
                    is_immersed: false,
                });
            }
            columns
        };
        *patches = Patches::default();
        yielding.iter().for_each(|body| patches.append(&body.patches));
        let is_light = |body: &Yielding| body.modes.largest_square() > laplacian.largest();
        let visits_twice = !low_rank.blocks.is_empty() || yielding.iter().any(is_light);
        if is_stiff {
            let tied = if yielding.is_empty() { extra } else { tied };
            precise.rebuild(if self.has_ties { tied_laplacian } else { laplacian }, faces, tied);
            precise.couple_yielding(columns, visits_twice, patches, pockets);
        } else {
            multigrid.couple_yielding(columns, visits_twice, patches, pockets);
            multigrid.smooth_boundaries(0);
        }
    }

    /// Solve with what was built last.
    pub fn iterate(
        &mut self,
        sigma: &mut Sigma,
        without_bodies: bool,
        rhs: Rhs,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        let solved = self.run(sigma, [without_bodies; 2], rhs, pressure, params);
        // Many light bodies in contact, in a closed box: what the cycle knows of them may be lost to round-off. The one for the fluid alone is definite, and
        // takes some iterations more for every body.
        let has_columns_only = !sigma.low_rank.blocks.is_empty() && sigma.yielding.is_empty();
        match solved {
            Err(SolveError::NotPositiveDefinite { .. }) if !without_bodies && has_columns_only => {
                pressure.fill(0.0);
                self.run(sigma, [false, true], rhs, pressure, params)
            }
            _ => solved,
        }
    }

    /// Solve without bodies, or with a cycle that does not know them.
    fn run(
        &mut self,
        sigma: &mut Sigma,
        [without_bodies, is_cycle_without]: [bool; 2],
        rhs: Rhs,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        if self.is_stiff {
            self.precise.normalise(rhs.1);
            self.precise.leave_out_bodies(is_cycle_without);
            sigma.run(without_bodies, &mut self.precise, &mut self.double, rhs, pressure, params)
        } else {
            self.multigrid.normalise(rhs.1);
            self.multigrid.leave_out_bodies(is_cycle_without);
            sigma.run(without_bodies, &mut self.multigrid, &mut self.single, rhs, pressure, params)
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.multigrid.bytes()
            + self.precise.bytes()
            + self.single.bytes()
            + self.double.bytes()
            + self.tied_laplacian.bytes()
            + 8 * self.tied.data.capacity()
    }
}

/// What the cycle has to know of Σ before columns.
#[derive(Clone, Copy)]
pub(super) struct FluidTerms<'a> {
    pub laplacian: &'a Laplacian,
    pub yielding: &'a [Yielding],
    pub pockets: &'a [Pocket],
}

/// `extra` with the ties of bodies of many freedoms, into `tied`. What they do to pockets is no matter of cells.
pub(super) fn add_all_ties(tied: &mut CellField<f64>, extra: &CellField<f64>, bodies: &[Yielding], pockets: &[Pocket]) {
    tied.dims = extra.dims;
    tied.data.clone_from(&extra.data);
    add_ties(tied, bodies.iter().flat_map(Yielding::coarse_ties));
    pockets.iter().for_each(|pocket| tied.data[pocket.node] = 0.0);
}

pub(super) fn add_ties(extra: &mut CellField<f64>, ties: impl Iterator<Item = (usize, f64)>) {
    ties.for_each(|(cell, weight)| extra.data[cell] += weight);
}

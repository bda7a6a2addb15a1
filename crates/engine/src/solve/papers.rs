//! The solvers of the papers, for comparison: those of \[A18\] and of \[ZB17\], and plain conjugate gradients.
//!
//! Unlike the papers: the cycle of P(s) \[A18, eq. 10\] is ours, with sweeps near boundaries added, and the incomplete LU for \[ZB17, eq. 19\]
//! has no fill-in unless it is asked for. The pages of docs/methods list all that is different.

use super::conjugate_gradients::{self as cg, Operator, Preconditioner, Vectors};
use super::constraints::{BlockDiagonal, Constraints, Corrected, FullSystem, SolidTerms, fluid_alone};
use super::cycle::add_all_ties;
use super::laplacian::dot;
use super::low_rank::LowRank;
use super::sigma::{Rhs, Sigma};
use super::written::{IncompleteLu, SparseIncompleteCholesky, Written, bicgstab};
use super::zb17::{Zb17Params, Zb17System};
use super::{IncompleteCholesky, Laplacian, Multigrid, PressureSolver, SolveError, SolveInfo, SolveParams};
use crate::grid::{CellField, FaceField};

/// Sweeps near boundaries in the cycle of \[A18\], besides those everywhere.
/// \[A18, §6\].
const BOUNDARY_SWEEPS: usize = 3;

/// Their memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Papers {
    /// C of the bodies in cut cells and of those with face constraints, and these constraints.
    cut: LowRank,
    faces: LowRank,
    constraints: Constraints,
    /// A11, if the full system is solved.
    alone: Laplacian,
    /// Right-hand side and solution of the full system.
    full: [Vec<f64>; 2],
    multigrid: Multigrid<f32>,
    single: Vectors<f32>,
    cholesky: IncompleteCholesky,
    double: Vectors<f64>,
    pub zb17: Zb17Params,
    /// Fill of the incomplete LU; 0 for none.
    pub fill: usize,
}

/// No preconditioning.
struct Identity;

impl Preconditioner for Identity {
    type Scalar = f64;

    fn apply(&mut self, r: &mut [f64], z: &mut [f64]) -> f64 {
        z.copy_from_slice(r);
        dot(r, r)
    }
}

impl Papers {
    /// A11, its cycle or factors, and the constraints. `extra` are the ties of the fluid with those of pockets; to the preconditioner bodies of many freedoms
    /// are ties as well.
    pub fn build(
        &mut self,
        solver: PressureSolver,
        sigma: &Sigma,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        solids: &SolidTerms,
    ) -> Result<(), SolveError> {
        let Sigma { laplacian, low_rank, yielding, pockets, .. } = sigma;
        let mut tied = extra.clone();
        if !yielding.is_empty() {
            add_all_ties(&mut tied, extra, yielding, pockets);
        }
        let (tied_laplacian, tied_faces, tied) = fluid_alone(solids, laplacian, faces, &tied, &mut self.constraints)?;
        // As in `low_rank`: first those in cut cells, then those with constraints.
        let blocks = low_rank.blocks.split_at(solids.cut.blocks.len());
        (self.cut.blocks, self.faces.blocks) = (blocks.0.to_vec(), blocks.1.to_vec());
        match solver {
            PressureSolver::A18 { .. } => {
                self.multigrid.rebuild(&tied_laplacian, &tied_faces, &tied);
                self.multigrid.couple(&self.cut, pockets);
                let is_plain = self.cut.blocks.is_empty() && pockets.is_empty();
                self.multigrid.smooth_boundaries(if is_plain { BOUNDARY_SWEEPS } else { 0 });
            }
            PressureSolver::Icpcg | PressureSolver::Zb17Spd | PressureSolver::Zb17Indefinite => {
                self.cholesky.rebuild(&tied_laplacian);
                pockets.iter().for_each(|pocket| self.cholesky.set_alone(pocket.node, pocket.total()));
            }
            _ => {}
        }
        self.alone = if yielding.is_empty() {
            tied_laplacian
        } else {
            fluid_alone(solids, laplacian, faces, extra, &mut self.constraints)?.0
        };
        Ok(())
    }

    /// Solve with what was built last for the same solver.
    pub fn iterate(
        &mut self,
        solver: PressureSolver,
        sigma: &mut Sigma,
        without_bodies: bool,
        rhs: Rhs,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        // What bodies push into pockets is known to Σ only.
        let full = !without_bodies && self.constraints.len() > 0 && sigma.pockets.is_empty();
        if full && matches!(solver, PressureSolver::Icpcg | PressureSolver::Cg) {
            return self.iterate_full(solver, sigma, rhs, pressure, params);
        }
        if let Some(system) = self.written(solver, sigma, rhs.0).filter(|_| !without_bodies) {
            return self.iterate_written(solver == PressureSolver::Zb17Spd, &system, pressure, params);
        }
        match solver {
            PressureSolver::A18 { corrections } => {
                self.multigrid.normalise(rhs.1);
                self.multigrid.leave_out_bodies(without_bodies);
                let nothing = LowRank::default();
                let faces = if without_bodies { &nothing } else { &self.faces };
                let corrections = if sigma.pockets.is_empty() { corrections.into() } else { 0 };
                let mut cycle = Corrected::new(&mut self.multigrid, &self.constraints, faces, corrections);
                sigma.run(without_bodies, &mut cycle, &mut self.single, rhs, pressure, params)
            }
            PressureSolver::CgSchur | PressureSolver::Cg => {
                sigma.run(without_bodies, &mut Identity, &mut self.double, rhs, pressure, params)
            }
            _ => sigma.run(without_bodies, &mut self.cholesky, &mut self.double, rhs, pressure, params),
        }
    }

    /// Solve the full system of pressures and impulses, whose lower right-hand side is zero: what the bodies bring along is in
    /// `rhs`.
    fn iterate_full(
        &mut self,
        solver: PressureSolver,
        sigma: &mut Sigma,
        (rhs, b_norm): Rhs,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        let Self { alone, cut, constraints, full: [b, x], cholesky, double, .. } = self;
        let Sigma { yielding, regions, .. } = sigma;
        alone.mask(pressure);
        let cells = alone.len();
        let n = cells + constraints.len();
        for (v, from) in [(&mut *b, rhs), (&mut *x, &*pressure)] {
            v.clear();
            v.extend_from_slice(from);
            v.resize(n, 0.0);
        }
        regions.remove_means(&mut b[..cells]);
        double.resize(n);
        let mut block = BlockDiagonal::new(cholesky, cells, constraints);
        let mut system = FullSystem::new(alone, cut, yielding, constraints);
        let rr = system.residual(b, x, &mut double.r);
        let info = match solver {
            PressureSolver::Icpcg => cg::solve(&mut system, &mut block, double, x, b_norm, rr, params)?,
            _ => cg::solve(&mut system, &mut Identity, double, x, b_norm, rr, params)?,
        };
        pressure.copy_from_slice(&x[..cells]);
        regions.remove_means(pressure);
        Ok(info)
    }

    /// The system of \[ZB17\] that `solver` solves for `rhs`; none if it is another solver, or if there is something that those systems do not know: rigid
    /// bodies, or pockets.
    pub fn written(&self, solver: PressureSolver, sigma: &Sigma, rhs: &[f64]) -> Option<Zb17System> {
        let Sigma { laplacian, low_rank, yielding, pockets, .. } = sigma;
        if yielding.is_empty() || !low_rank.blocks.is_empty() || !pockets.is_empty() {
            return None;
        }
        match solver {
            PressureSolver::Zb17Spd => Some(Zb17System::definite(laplacian, yielding, rhs, self.zb17)),
            PressureSolver::Zb17Indefinite => Some(Zb17System::indefinite(laplacian, yielding, rhs)),
            _ => None,
        }
    }

    /// Solve a system of \[ZB17\], from zero.
    fn iterate_written(
        &mut self,
        is_definite: bool,
        system: &Zb17System,
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        let mut x = vec![0.0; system.rhs.len()];
        let info = if is_definite {
            let double = &mut self.double;
            double.resize(x.len());
            let mut operator = Written::new(&system.matrix);
            let rr = operator.residual(&system.rhs, &x, &mut double.r);
            let mut factor = SparseIncompleteCholesky::new(&system.matrix);
            cg::solve(&mut operator, &mut factor, double, &mut x, rr.sqrt(), rr, params)?
        } else {
            let factors = match self.fill {
                0 => IncompleteLu::new(&system.matrix),
                fill => IncompleteLu::with_fill(&system.matrix, fill),
            };
            bicgstab(&system.matrix, &factors, &system.rhs, &mut x, params)?
        };
        system.read(&x, pressure);
        Ok(info)
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.multigrid.bytes()
            + self.single.bytes()
            + self.cholesky.bytes()
            + self.double.bytes()
            + self.alone.bytes()
            + 8 * self.full.iter().map(Vec::capacity).sum::<usize>()
    }
}

//! The pressure solve of one step: operator, closed regions, preconditioner and iteration under one roof.

use super::constraints::SolidTerms;
use super::cycle::{Cycle, FluidTerms, add_ties};
use super::papers::Papers;
use super::pockets::{Pocket, spare_nodes};
use super::sigma::Sigma;
use super::zb17::{Zb17Params, Zb17System};
use super::{ClosedRegion, Regions, SolveError, SolveInfo, SolveParams};
use crate::grid::{CellField, FaceField};
use serde::{Deserialize, Serialize};

/// Pressure solvers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PressureSolver {
    /// Conjugate gradients preconditioned by a multigrid cycle that knows the bodies.
    Multigrid,
    /// Conjugate gradients preconditioned by a cycle for which bodies with face constraints are air, P(s) of \[A18, eq. 10\].
    A18 {
        /// s, how often that is corrected.
        corrections: u8,
    },
    /// Conjugate gradients on the full system \[A18, eq. 17\], preconditioned by incomplete Cholesky for the fluid and the
    /// diagonal for the bodies.
    Icpcg,
    /// Plain conjugate gradients on pressures alone.
    CgSchur,
    /// Plain conjugate gradients on the full system.
    Cg,
    /// Conjugate gradients on the definite system of \[ZB17, eq. 33\], preconditioned by incomplete Cholesky.
    Zb17Spd,
    /// Stabilised bi-conjugate gradients on the indefinite system of \[ZB17, eq. 19\], preconditioned by incomplete LU.
    Zb17Indefinite,
}

impl PressureSolver {
    /// Its name in scenes and statistics.
    pub fn name(self) -> String {
        match self {
            Self::Multigrid => "multigrid".into(),
            Self::A18 { corrections } => format!("a18-p{corrections}"),
            Self::Icpcg => "icpcg".into(),
            Self::CgSchur => "cg-schur".into(),
            Self::Cg => "cg".into(),
            Self::Zb17Spd => "zb17-spd".into(),
            Self::Zb17Indefinite => "zb17-indefinite".into(),
        }
    }
}

/// What bodies that answer pressure do in a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They answer: Σ = L + C Cᵀ.
    Answering,
    /// They are left out: L alone.
    LeftOut,
}

/// Solves L p = b, or (L + C Cᵀ) p = b with bodies, and with pockets of air as further unknowns; keeps its memory from step to
/// step.
///
/// The first solve of a size allocates; later set-ups keep no more memory than that, and their iterations allocate none.
#[derive(Clone, Debug, Default)]
pub struct PressureSolve {
    sigma: Sigma,
    /// Our solver, and those that it is compared with.
    cycle: Cycle,
    papers: Papers,
    is_apart: bool,
}

impl PressureSolve {
    /// Nothing allocated yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Find p with Σ_f a_f (p_c − p_nb) + d_c p_c = b_c; on entry `pressure` is the initial guess, on return the solution.
    ///
    /// `faces` are a_f ≥ 0 (outer faces are not read), `extra` d_c ≥ 0, `rhs` b; vectors have one value per cell, x fastest. Cells
    /// without coefficients are no unknowns: their pressure is set to zero. In every region without a tie to zero
    /// pressure the mean of `rhs` is removed and reported, and the mean of the pressure is zero.
    pub fn solve(
        &mut self,
        solver: PressureSolver,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        rhs: &[f64],
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<(SolveInfo, Vec<ClosedRegion>), SolveError> {
        self.build(solver, faces, extra, SolidTerms::default())?;
        let info = self.iterate(solver, Bodies::Answering, rhs, pressure, params)?;
        Ok((info, self.closed_regions().to_vec()))
    }

    /// Take the pockets of air of the next [`build`](Self::build); what is tied to them is not in `extra`.
    pub fn set_pockets(&mut self, pockets: Vec<Pocket>) {
        self.sigma.pockets = pockets;
    }

    /// Whether the next [`build`](Self::build) finds the constant pressures of closed regions around stiff bodies apart.
    pub fn set_apart(&mut self, is_apart: bool) {
        self.is_apart = is_apart;
    }

    /// Set-up: take the coefficients, and what the solids add to them.
    pub fn build(
        &mut self,
        solver: PressureSolver,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        mut solids: SolidTerms,
    ) -> Result<(), SolveError> {
        // On a worker thread from here on, so that small loops need not be handed over.
        rayon::scope(|_| {
            let Self { sigma, cycle, papers, .. } = self;
            let atmosphere = extra;
            let with_pockets = (!sigma.pockets.is_empty()).then(|| {
                let mut all = extra.clone();
                add_ties(&mut all, sigma.pockets.iter().flat_map(Pocket::ties));
                all
            });
            let extra = with_pockets.as_ref().unwrap_or(extra);
            let is_ours = solver == PressureSolver::Multigrid;
            // The solvers of \[A18\] need them again, one by one.
            let low_rank = if is_ours { solids.take_low_rank() } else { solids.low_rank() };
            sigma.take(faces, extra, low_rank, std::mem::take(&mut solids.yielding))?;
            let knows_regions = self.is_apart && is_ours && sigma.set_apart(atmosphere);
            let Sigma { laplacian, regions, pockets, yielding, .. } = &mut *sigma;
            let (laplacian, pockets, yielding) = (&*laplacian, &pockets[..], &yielding[..]);
            // Regions are found by one thread.
            let find_regions = || {
                if !knows_regions {
                    regions.rebuild(laplacian, pockets, atmosphere);
                }
            };
            let prepare = || match is_ours {
                true => cycle.prepare(FluidTerms { laplacian, yielding, pockets }, faces, extra),
                false => Ok(()),
            };
            rayon::join(find_regions, prepare).1?;
            if !knows_regions {
                sigma.couple_regions();
            }
            let is_stiff = sigma.measure();
            match solver {
                PressureSolver::Multigrid => cycle.couple(sigma, faces, extra, is_stiff),
                PressureSolver::CgSchur => {}
                _ => papers.build(solver, sigma, faces, extra, &solids)?,
            }
            Ok(())
        })
    }

    /// Solve with the coefficients of the last [`build`](Self::build) for the same solver; see [`solve`](Self::solve).
    pub fn iterate(
        &mut self,
        solver: PressureSolver,
        bodies: Bodies,
        rhs: &[f64],
        pressure: &mut [f64],
        params: &SolveParams,
    ) -> Result<SolveInfo, SolveError> {
        rayon::scope(|_| {
            let Self { sigma, cycle, papers, .. } = self;
            let without_bodies = bodies == Bodies::LeftOut;
            sigma.regions.leave_out_bodies(without_bodies);
            let b_norm = sigma.regions.measure(rhs).sqrt();
            match solver {
                PressureSolver::Multigrid => cycle.iterate(sigma, without_bodies, (rhs, b_norm), pressure, params),
                _ => papers.iterate(solver, sigma, without_bodies, (rhs, b_norm), pressure, params),
            }
        })
    }

    /// Take other numbers for the solvers of \[ZB17\].
    pub fn set_zb17(&mut self, params: Zb17Params) {
        self.papers.zb17 = params;
    }

    /// Let the incomplete LU of [`PressureSolver::Zb17Indefinite`] have entries where the matrix has none, in all `fill` times as
    /// many as that has; 0 for none, 10 for the default of Eigen, which the paper used.
    pub fn set_fill(&mut self, fill: usize) {
        self.papers.fill = fill;
    }

    /// The system of \[ZB17\] that `solver` solves for `rhs` after the last [`build`](Self::build) for it; none if it is another solver, or
    /// if there is something that those systems do not know.
    pub fn written(&self, solver: PressureSolver, rhs: &[f64]) -> Option<Zb17System> {
        self.papers.written(solver, &self.sigma, rhs)
    }

    /// Set `v` to zero where there is no unknown.
    pub fn mask(&self, v: &mut [f64]) {
        spare_nodes(&self.sigma.pockets, v, |v| self.sigma.laplacian.mask(v));
    }

    /// Closed regions of the last solve.
    pub fn closed_regions(&self) -> &[ClosedRegion] {
        self.sigma.regions.closed()
    }

    /// Regions of the last [`build`](Self::build).
    pub fn regions(&self) -> &Regions {
        &self.sigma.regions
    }

    /// Memory, bytes: coefficients and vectors.
    pub fn bytes(&self) -> usize {
        self.sigma.bytes() + self.cycle.bytes() + self.papers.bytes()
    }
}

//! The pressure solve of one step: operator, closed regions, preconditioner and iteration under one roof.

use super::conjugate_gradients::{self as cg, Operator, Preconditioner, Vectors};
use super::laplacian::dot;
use super::low_rank::{Coupled, LowRank};
use super::{ClosedRegion, IncompleteCholesky, Laplacian, Multigrid, Regions, SolveError, SolveInfo, SolveParams};
use crate::grid::{CellField, FaceField};
use serde::{Deserialize, Serialize};

/// Pressure solvers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PressureSolver {
    /// Conjugate gradients preconditioned by a multigrid cycle.
    Multigrid,
    /// Conjugate gradients preconditioned by incomplete Cholesky.
    Icpcg,
    /// Plain conjugate gradients.
    Cg,
}

/// What bodies that answer pressure do in a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// They answer: Σ = L + C Cᵀ.
    Free,
    /// They stay as they are: L alone.
    Held,
}

/// Solves L p = b, or (L + C Cᵀ) p = b with bodies; keeps its memory from step to step.
///
/// The first solve of a size allocates, later ones do not.
#[derive(Clone, Debug, Default)]
pub struct PressureSolve {
    laplacian: Laplacian,
    low_rank: LowRank,
    /// What `low_rank` is when bodies are held: nothing.
    nothing: LowRank,
    regions: Regions,
    multigrid: Multigrid<f32>,
    single: Vectors<f32>,
    cholesky: IncompleteCholesky,
    double: Vectors<f64>,
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

impl PressureSolve {
    /// Nothing allocated yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Find p with Σ_f a_f (p_c − p_nb) + d_c p_c = b_c; on entry `pressure` is the initial guess, on return the solution.
    ///
    /// `faces` holds a_f ≥ 0 (outer faces are not read), `extra` d_c ≥ 0, `rhs` b; vectors have one value per cell, x fastest. Cells
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
        self.build(solver, faces, extra, LowRank::default())?;
        let info = self.iterate(solver, Bodies::Free, rhs, pressure, params)?;
        Ok((info, self.regions.closed().to_vec()))
    }

    /// Set-up: take the coefficients, and C of the bodies.
    pub fn build(
        &mut self,
        solver: PressureSolver,
        faces: &FaceField<f64>,
        extra: &CellField<f64>,
        low_rank: LowRank,
    ) -> Result<(), SolveError> {
        // On a worker thread from here on, so that small loops need not be handed over.
        rayon::scope(|_| {
            self.laplacian.rebuild(faces, extra)?;
            self.regions.rebuild(&self.laplacian);
            self.low_rank = low_rank;
            self.low_rank.mask(&self.laplacian);
            match solver {
                PressureSolver::Multigrid => {
                    self.multigrid.rebuild(&self.laplacian, faces, extra);
                    self.multigrid.couple(&self.low_rank);
                }
                PressureSolver::Icpcg => self.cholesky.rebuild(&self.laplacian),
                PressureSolver::Cg => {}
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
            let b_norm = self.regions.measure(rhs).sqrt();
            let Self { laplacian, low_rank, nothing, regions, multigrid, single, cholesky, double } = self;
            let system = (laplacian, if bodies == Bodies::Free { &*low_rank } else { nothing }, regions);
            match solver {
                PressureSolver::Multigrid => {
                    multigrid.normalise(b_norm);
                    multigrid.hold_bodies(bodies == Bodies::Held);
                    run(system, multigrid, single, (rhs, b_norm), pressure, params)
                }
                PressureSolver::Icpcg => run(system, cholesky, double, (rhs, b_norm), pressure, params),
                PressureSolver::Cg => run(system, &mut Identity, double, (rhs, b_norm), pressure, params),
            }
        })
    }

    /// Set `v` to zero where there is no unknown.
    pub fn mask(&self, v: &mut [f64]) {
        self.laplacian.mask(v);
    }

    /// Closed regions of the last solve.
    pub fn closed_regions(&self) -> &[ClosedRegion] {
        self.regions.closed()
    }

    /// Bytes held: coefficients and vectors.
    pub fn bytes(&self) -> usize {
        self.laplacian.bytes()
            + self.regions.bytes()
            + self.multigrid.bytes()
            + self.single.bytes()
            + self.cholesky.bytes()
            + self.double.bytes()
    }
}

fn run<M: Preconditioner>(
    (laplacian, low_rank, regions): (&mut Laplacian, &LowRank, &mut Regions),
    m: &mut M,
    vectors: &mut Vectors<M::Scalar>,
    (rhs, b_norm): (&[f64], f64),
    pressure: &mut [f64],
    params: &SolveParams,
) -> Result<SolveInfo, SolveError> {
    laplacian.mask(pressure);
    if b_norm == 0.0 {
        pressure.fill(0.0);
        return Ok(SolveInfo { iterations: 0, residual: 0.0, converged: true });
    }
    vectors.resize(laplacian.len());
    let mut operator = Coupled::new(laplacian, low_rank);
    let mut rr = operator.residual(rhs, pressure, &mut vectors.r);
    if !regions.closed().is_empty() {
        regions.remove_means(&mut vectors.r);
        rr = dot(&vectors.r, &vectors.r);
    }
    let info = cg::solve(&mut operator, m, vectors, pressure, (b_norm, rr), params)?;
    regions.remove_means(pressure);
    Ok(info)
}

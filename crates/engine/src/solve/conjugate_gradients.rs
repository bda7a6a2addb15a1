//! Preconditioned conjugate gradients, arranged for few passes over memory.
//!
//! Solves A x = b for symmetric positive (semi-)definite A [Hestenes & Stiefel 1952]. The operator offers the two
//! updates of the algorithm, each fused with the product it needs, so A p is never stored:
//!
//! ```text
//! p ← z + β p          returns p·Ap
//! x ← x + α p,  r ← r − α A p          returns r·r
//! ```
//!
//! and the preconditioner returns r·z with z = M r. Per iteration the vectors cost 20 + 40 bytes a cell plus what M needs.

use super::real::Real;
use super::{SolveError, SolveInfo, SolveParams};
use std::time::Instant;

/// A symmetric positive (semi-)definite matrix.
pub trait Operator {
    /// r ← b − A x, zero where there is no unknown; returns r·r.
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64;
    /// p ← z + β p; returns p·Ap.
    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64;
    /// x ← x + α p and r ← r − α A p; returns r·r.
    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64;
}

/// An approximate inverse M of the operator, symmetric positive definite, up to a constant factor.
pub trait Preconditioner {
    /// The scalar of what it returns.
    type Scalar: Real;
    /// z ← M r; returns r·z. The factor in M must stay the same from call to call within one solve. `r` may be changed in
    /// between, and is the same again in the end.
    fn apply(&mut self, r: &mut [f64], z: &mut [Self::Scalar]) -> f64;
}

/// Vectors of the iteration, kept from solve to solve.
#[derive(Clone, Debug, Default)]
pub struct Vectors<Z> {
    /// Residual b − A x.
    pub r: Vec<f64>,
    p: Vec<f64>,
    z: Vec<Z>,
}

impl<Z: Real> Vectors<Z> {
    /// Make room for `n` unknowns.
    pub fn resize(&mut self, n: usize) {
        self.r.resize(n, 0.0);
        self.p.resize(n, 0.0);
        self.z.resize(n, Z::of(0.0));
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        8 * (self.r.capacity() + self.p.capacity()) + size_of::<Z>() * self.z.capacity()
    }
}

/// Improve `x` until ‖r‖ ≤ tolerance · `b_norm`. On entry `vectors.r` is b − A x and `rr` its square norm.
///
/// Ends unconverged, without an error, when the iteration cap or the time budget is reached: the caller decides
/// what that means.
pub fn solve<A: Operator, M: Preconditioner>(
    a: &mut A,
    m: &mut M,
    vectors: &mut Vectors<M::Scalar>,
    x: &mut [f64],
    b_norm: f64,
    mut rr: f64,
    params: &SolveParams,
) -> Result<SolveInfo, SolveError> {
    let started = Instant::now();
    let Vectors { r, p, z } = vectors;
    if !(b_norm.is_finite() && rr.is_finite()) {
        return Err(SolveError::NonFinite { stage: "the right-hand side or the initial guess of the pressure solve" });
    }
    let target = params.tolerance * b_norm;
    let mut iterations = 0;
    let mut rz_old = 0.0;
    while rr.sqrt() > target
        && iterations < params.max_iterations
        && params.budget_seconds.is_none_or(|budget| started.elapsed().as_secs_f64() < budget)
    {
        let rz = m.apply(r, z);
        let beta = if iterations == 0 { 0.0 } else { rz / rz_old };
        let curvature = a.direct(z, beta, p);
        if !(rz.is_finite() && curvature.is_finite()) {
            return Err(SolveError::NonFinite { stage: "the pressure solve" });
        }
        if curvature <= 0.0 || rz <= 0.0 {
            return Err(SolveError::NotPositiveDefinite { curvature: curvature.min(rz) });
        }
        rr = a.advance(rz / curvature, p, x, r);
        rz_old = rz;
        iterations += 1;
    }
    let residual = if b_norm > 0.0 { rr.sqrt() / b_norm } else { 0.0 };
    if !residual.is_finite() {
        return Err(SolveError::NonFinite { stage: "the pressure solve" });
    }
    Ok(SolveInfo { iterations, residual, converged: rr.sqrt() <= target })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{CellField, FaceField, Grid};
    use crate::solve::Laplacian;
    use glam::DVec3;

    struct Negative;

    impl Preconditioner for Negative {
        type Scalar = f64;
        fn apply(&mut self, r: &mut [f64], z: &mut [f64]) -> f64 {
            z.iter_mut().zip(&*r).for_each(|(z, r)| *z = -r);
            -r.iter().map(|r| r * r).sum::<f64>()
        }
    }

    #[test]
    fn an_indefinite_preconditioner_is_reported() {
        let grid = Grid::new([4, 1, 1], 1.0, DVec3::ZERO);
        let mut laplacian = Laplacian::new(&FaceField::new(&grid, 1.0), &CellField::new(&grid, 1.0)).unwrap();
        let (mut vectors, mut x) = (Vectors::default(), vec![0.0; 4]);
        vectors.resize(4);
        let rr = laplacian.residual(&[1.0; 4], &x, &mut vectors.r);
        let solved = solve(&mut laplacian, &mut Negative, &mut vectors, &mut x, 2.0, rr, &SolveParams::default());
        assert_eq!(solved, Err(SolveError::NotPositiveDefinite { curvature: -4.0 }));
    }
}

//! Condition numbers of the systems of \[ZB17\].
//!
//! κ₁ = ‖A‖₁ ‖A⁻¹‖₁, the second factor estimated from a few solves (Hager 1984, Higham 1988): what MATLAB does for sparse matrices,
//! and so probably the paper. The estimate is a lower bound, seldom off by more than a factor of three.
//!
//! Solves with A go through pressures alone. With Σ = Δt dx L + Q Z⁻¹Qᵀ,
//!
//! ```text
//! p = Σ⁻¹ (f − Q Z⁻¹h),   v = Z⁻¹ (Qᵀp + h)
//! ```
//!
//! solves eq. 19 for the right-hand side (f, −h), and eq. 33 for (f − Q Z₁⁻¹h, α Z₂ Z₁⁻¹h), where v/α is the lower half.

use bathtub_engine::solve::{
    Bodies, ElasticStep, PressureSolve, PressureSolver, SolveError, SolveParams, SparseCholesky, SparseMatrix,
    Zb17Params, Zb17System,
};
use glam::{DMat3, DVec3};
use std::sync::Arc;

use super::hanging_beam::System;

/// Σ p = b need not be solved better than an estimate is good.
const PARAMS: SolveParams = SolveParams { tolerance: 1e-8, max_iterations: 500, budget_seconds: None };

/// Rounds of the estimate; two are typical.
const ROUNDS: usize = 5;

/// Both matrices of a system, and their inverses.
pub struct Matrices {
    /// Eq. 19.
    pub indefinite: Zb17System,
    /// Eq. 33.
    pub definite: Zb17System,
    solve: PressureSolve,
    step: Arc<ElasticStep>,
    second: SparseCholesky,
    params: Zb17Params,
    /// Number of cells of the grid.
    cells: usize,
    /// Δt dx, and what Z is A divided by, ρ Δt: in units in which the fluid has the density 1.
    fluid: f64,
    divisor: f64,
}

impl Matrices {
    /// Assemble them.
    pub fn new(system: &System) -> Result<Self, SolveError> {
        let mut solve = PressureSolve::new();
        let mut written = |solver: PressureSolver| {
            system.build(&mut solve, solver)?;
            Ok(solve.written(solver, &system.rhs).expect("a beam and nothing else"))
        };
        let (indefinite, definite) = (written(PressureSolver::Zb17Indefinite)?, written(PressureSolver::Zb17Spd)?);
        system.build(&mut solve, PressureSolver::Multigrid)?;
        let (params, body) = (Zb17Params::default(), &system.terms.yielding[0]);
        let step = body.step.clone();
        // ρ Δt Z₂ = A − σ (1 + Δt τm) M.
        let mut matrix = (*step.system).clone();
        for (vertex, mass) in step.damped.iter().enumerate() {
            let own = matrix.position(vertex, vertex).expect("a diagonal in every row");
            matrix.blocks[own] -= DMat3::from_diagonal(DVec3::splat(params.sigma * mass));
        }
        let mut second = SparseCholesky::new(&matrix, system.positions());
        second.factorise(&matrix).map_err(|_| SolveError::NotPositiveDefinite { curvature: 0.0 })?;
        let (fluid, divisor) = (step.dt * body.dx, step.dt * body.rho);
        let cells = system.rhs.len();
        Ok(Self { indefinite, definite, solve, step, second, params, cells, fluid, divisor })
    }

    /// κ₁ of eq. 19 and of eq. 33.
    pub fn conditions(&mut self) -> Result<[f64; 2], SolveError> {
        let norms = [&self.indefinite, &self.definite].map(|system| norm(&system.matrix));
        let n = self.indefinite.rhs.len();
        let inverses = [inverse_norm(n, |x| self.solve_indefinite(x))?, inverse_norm(n, |x| self.solve_definite(x))?];
        Ok(std::array::from_fn(|i| norms[i] * inverses[i]))
    }

    /// x ← A⁻¹ x of eq. 19.
    fn solve_indefinite(&mut self, x: &mut [f64]) -> Result<(), SolveError> {
        let h: Vec<f64> = self.lower(x).iter().map(|g| -g).collect();
        self.eliminate(x, h)
    }

    /// x ← A⁻¹ x of eq. 33.
    fn solve_definite(&mut self, x: &mut [f64]) -> Result<(), SolveError> {
        let (alpha, divisor) = (self.params.alpha.unwrap_or(1.0), self.divisor);
        // Z₁⁻¹h = Z₂⁻¹g/α.
        let mut weighed = self.lower(x).to_vec();
        self.second.factor().solve_in_place(&mut weighed);
        weighed.iter_mut().for_each(|w| *w *= divisor / alpha);
        self.add_q(&weighed, 1.0, x);
        let z1 = |f: usize| self.params.sigma * self.step.damped[f / 3] / divisor;
        let h = weighed.iter().enumerate().map(|(f, w)| z1(f) * w).collect();
        self.eliminate(x, h)?;
        let pressures = self.pressures();
        x[pressures..].iter_mut().for_each(|v| *v /= alpha);
        Ok(())
    }

    /// (f, ·) → (p, v).
    fn eliminate(&mut self, x: &mut [f64], h: Vec<f64>) -> Result<(), SolveError> {
        let (pressures, divisor) = (self.pressures(), self.divisor);
        let mut v = h.clone();
        self.step.factor.solve_in_place(&mut v);
        v.iter_mut().for_each(|v| *v *= divisor);
        self.add_q(&v, -1.0, x);
        let (mut b, mut p) = (vec![0.0; self.cells], vec![0.0; self.cells]);
        self.indefinite.cells.iter().zip(&*x).for_each(|(&cell, f)| b[cell as usize] = f / self.fluid);
        let info = self.solve.iterate(PressureSolver::Multigrid, Bodies::Answering, &b, &mut p, &PARAMS)?;
        if !info.converged {
            let (iterations, residual, tolerance) = (info.iterations, info.residual, PARAMS.tolerance);
            return Err(SolveError::NotConverged { iterations, residual, tolerance });
        }
        let mut v = h;
        for (i, &cell) in self.indefinite.cells.iter().enumerate() {
            x[i] = p[cell as usize];
            let row = self.indefinite.matrix.row(i).filter(|(j, _)| *j >= pressures);
            row.for_each(|(j, q)| v[j - pressures] += q * x[i]);
        }
        self.step.factor.solve_in_place(&mut v);
        x[pressures..].iter_mut().zip(&v).for_each(|(x, v)| *x = divisor * v);
        Ok(())
    }

    fn pressures(&self) -> usize {
        self.indefinite.cells.len()
    }

    fn lower<'a>(&self, x: &'a [f64]) -> &'a [f64] {
        &x[self.pressures()..]
    }

    /// f ← f + scale Q v.
    fn add_q(&self, v: &[f64], scale: f64, x: &mut [f64]) {
        let pressures = self.pressures();
        for (i, f) in x[..pressures].iter_mut().enumerate() {
            let row = self.indefinite.matrix.row(i).filter(|(j, _)| *j >= pressures);
            *f += scale * row.map(|(j, q)| q * v[j - pressures]).sum::<f64>();
        }
    }
}

/// ‖A‖₁ of a symmetric matrix.
fn norm(matrix: &SparseMatrix) -> f64 {
    (0..matrix.rows()).map(|i| matrix.row(i).map(|(_, a)| a.abs()).sum()).fold(0.0, f64::max)
}

/// About ‖A⁻¹‖₁ of a symmetric matrix, from below; `solve` does x ← A⁻¹ x \[Higham 2002, algorithm 15.1\].
fn inverse_norm(n: usize, mut solve: impl FnMut(&mut [f64]) -> Result<(), SolveError>) -> Result<f64, SolveError> {
    let sum = |v: &[f64]| v.iter().map(|v| v.abs()).sum::<f64>();
    let mut y = vec![1.0 / n as f64; n];
    solve(&mut y)?;
    let mut found = sum(&y);
    for _ in 0..ROUNDS {
        let mut z: Vec<f64> = y.iter().map(|v| if *v < 0.0 { -1.0 } else { 1.0 }).collect();
        solve(&mut z)?;
        let largest = (0..n).max_by(|&i, &j| z[i].abs().total_cmp(&z[j].abs())).unwrap_or(0);
        y.fill(0.0);
        y[largest] = 1.0;
        solve(&mut y)?;
        let next = sum(&y);
        if next <= found {
            break;
        }
        found = next;
    }
    // Where signs cancel by accident.
    let place = |i: usize| 1.0 + i as f64 / (n - 1).max(1) as f64;
    let mut x: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { place(i) } else { -place(i) }).collect();
    solve(&mut x)?;
    Ok(found.max(2.0 * sum(&x) / (3.0 * n as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::hanging_beam::dam_break;
    use bathtub_engine::world::World;

    /// ‖A⁻¹‖₁ of a chain, exactly: A⁻¹ is min(i, j) (n + 1 − max(i, j)) ÷ (n + 1).
    #[test]
    fn the_norm_of_an_inverse_is_found() {
        let n = 9;
        let inverse = |i: usize, j: usize| ((i.min(j) + 1) * (n - i.max(j))) as f64 / (n + 1) as f64;
        let solve = |x: &mut [f64]| {
            let b = x.to_vec();
            x.iter_mut().enumerate().for_each(|(i, x)| *x = (0..n).map(|j| inverse(i, j) * b[j]).sum());
            Ok(())
        };
        let exact = (0..n).map(|i| (0..n).map(|j| inverse(i, j)).sum()).fold(0.0, f64::max);
        assert!((inverse_norm(n, solve).unwrap() / exact - 1.0).abs() < 1e-12);
    }

    #[test]
    fn elimination_inverts_both_matrices() {
        let mut world = World::new(dam_break(16, 1)).unwrap();
        while world.state().time < 0.3 {
            world.step().unwrap();
        }
        let mut matrices = Matrices::new(&System::new(&world, 0.01)).unwrap();
        let n = matrices.indefinite.rhs.len();
        let wanted: Vec<f64> = (0..n).map(|i| (0.37 * i as f64).sin() + 0.1).collect();
        for is_definite in [false, true] {
            let matrix = if is_definite { &matrices.definite.matrix } else { &matrices.indefinite.matrix };
            let mut x = vec![0.0; n];
            matrix.multiply(&wanted, &mut x);
            if is_definite { matrices.solve_definite(&mut x) } else { matrices.solve_indefinite(&mut x) }.unwrap();
            let off = x.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // A condition of up to 10^11.5 [ZB17, Table 2] times a round-off of 2·10⁻¹⁶.
            assert!(off < 7e-5, "definite {is_definite}: off by {off:e}");
        }
    }
}

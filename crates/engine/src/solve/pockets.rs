//! Pockets of air in the pressure system: each has one pressure, and keeps its volume \[A18, eq. 18–20; GB17\].
//!
//! A liquid cell c at the surface of pocket i is tied to its pressure λ_i with the weight w_ic that would tie it to zero under a
//! free surface. So a pocket is one more node of the network:
//!
//! ```text
//! [  L   −W ] [ p ]   [ b   ]
//! [ −Wᵀ   s ] [ λ ] = [ b_λ ],     s_i = Σ_c w_ic,   L with the ties on its diagonal
//! ```
//!
//! which is eq. 20 of the paper with the faces' velocities eliminated. λ_i is kept in the vectors at a cell of the pocket, which
//! is no unknown otherwise. λ is not eliminated, unlike in \[A18, §6\]: L − W s⁻¹ Wᵀ
//! would be a negative update, and useless to a preconditioner of L.

use super::real::Real;

/// A pocket of air as the pressure system sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pocket {
    /// The cell that has its pressure: one without coefficients.
    pub node: usize,
    /// Cells that are tied to it, ascending.
    pub cells: Vec<u32>,
    /// How firmly, in the unit of the conductances; as many as `cells`.
    pub weights: Vec<f64>,
}

impl Pocket {
    /// Cells and weights of the ties.
    pub fn ties(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.cells.iter().map(|&cell| cell as usize).zip(self.weights.iter().copied())
    }

    /// Σ w.
    pub fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// What the network pulls out of the pocket: Σ w (λ − p).
    pub fn outflow<T: Real>(&self, p: &[T]) -> f64 {
        let own = p[self.node].f64();
        self.ties().map(|(cell, weight)| weight * (own - p[cell].f64())).sum()
    }

    /// Part of p·Ap beyond L: λ Σ w (λ − 2 p).
    pub fn energy(&self, p: &[f64]) -> f64 {
        let own = p[self.node];
        own * self.ties().map(|(cell, weight)| weight * (own - 2.0 * p[cell])).sum::<f64>()
    }

    /// r ← r − α A p as far as the pocket is concerned; L is not.
    pub fn advance(&self, alpha: f64, p: &[f64], r: &mut [f64]) {
        let push = alpha * p[self.node];
        r[self.node] -= alpha * self.outflow(p);
        self.ties().for_each(|(cell, weight)| r[cell] += weight * push);
    }
}

/// Do `f` to a vector, but leave the pockets' pressures in it as they are.
pub fn spare_nodes(pockets: &[Pocket], v: &mut [f64], f: impl FnOnce(&mut [f64])) {
    let kept: Vec<f64> = pockets.iter().map(|pocket| v[pocket.node]).collect();
    f(v);
    pockets.iter().zip(kept).for_each(|(pocket, value)| v[pocket.node] = value);
}

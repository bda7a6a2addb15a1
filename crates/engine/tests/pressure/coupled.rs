//! Systems coupled to solids fit on top of the operator and the cycle.

use crate::network::{Network, Random, dot, tight};
use bathtub_engine::solve::{Laplacian, Multigrid, Operator, Preconditioner, Real, Vectors, conjugate_gradients};

/// L + β b bᵀ: what one rigid degree of freedom adds to the pressure system (design eq. 1).
struct Coupled<'a> {
    l: Laplacian,
    b: &'a [f64],
    beta: f64,
}

impl Operator for Coupled<'_> {
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        self.l.residual(b, x, r);
        let push = self.beta * dot(self.b, x);
        r.iter_mut().zip(self.b).for_each(|(r, b)| *r -= push * b);
        dot(r, r)
    }

    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64 {
        self.l.direct(z, beta, p) + self.beta * dot(self.b, p).powi(2)
    }

    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
        self.l.advance(alpha, p, x, r);
        let push = alpha * self.beta * dot(self.b, p);
        r.iter_mut().zip(self.b).for_each(|(r, b)| *r -= push * b);
        dot(r, r)
    }
}

/// V − Z (β⁻¹ + bᵀZ)⁻¹ Zᵀ with Z = V b (design eq. 2).
struct Corrected {
    cycle: Multigrid<f64>,
    z: Vec<f64>,
    middle: f64,
}

impl Preconditioner for Corrected {
    type Scalar = f64;

    fn apply(&mut self, r: &[f64], out: &mut [f64]) -> f64 {
        self.cycle.apply(r, out);
        let push = dot(&self.z, r) / self.middle;
        out.iter_mut().zip(&self.z).for_each(|(o, z)| *o = *o / self.cycle.factor() - push * z);
        dot(r, out)
    }
}

/// The interface carries coupled systems: with the corrected cycle a light body costs no iteration.
#[test]
fn low_rank_coupling_fits_on_top() {
    let network = Network::tank([32, 32, 32]);
    let l = network.laplacian();
    let n = l.len();
    let mut b = vec![0.0; n];
    for (c, b) in b.iter_mut().enumerate() {
        let [i, j, k] = network.grid.cell_at(c);
        if (12..20).contains(&i) && (12..20).contains(&k) {
            *b = f64::from(i8::from(j == 20) - i8::from(j == 11));
        }
    }
    let rhs = Random(16).vector(n);
    let count = |beta: f64| {
        let mut cycle = Multigrid::<f64>::default();
        cycle.rebuild(&l, &network.faces, &network.extra);
        let mut z = vec![0.0; n];
        cycle.apply(&b, &mut z);
        z.iter_mut().for_each(|z| *z /= cycle.factor());
        let middle = 1.0 / beta + dot(&b, &z);
        let mut operator = Coupled { l: l.clone(), b: &b, beta };
        let mut preconditioner = Corrected { cycle, z, middle };
        let mut vectors = Vectors::default();
        vectors.resize(n);
        let mut x = vec![0.0; n];
        let rr = operator.residual(&rhs, &x, &mut vectors.r);
        let start = (rr.sqrt(), rr);
        let info =
            conjugate_gradients(&mut operator, &mut preconditioner, &mut vectors, &mut x, start, &tight()).unwrap();
        let left = operator.residual(&rhs, &x, &mut vectors.r).sqrt();
        assert!(info.converged && left <= 2e-11 * rr.sqrt());
        info.iterations
    };
    let alone = count(1e-12);
    assert!(count(1e-3).abs_diff(alone) <= 1 && count(1.0).abs_diff(alone) <= 1 && count(1e3).abs_diff(alone) <= 1);
}

//! The multigrid cycle: symmetric, definite, and as good on every grid.

use crate::network::{Network, Random, dot, norm};
use bathtub_engine::solve::{Multigrid, Operator, Preconditioner, Real};

/// A6: ⟨Px, y⟩ = ⟨x, Py⟩ and xᵀPx > 0 for the cycle from a zero guess; round-off of the scalar decides the tolerance.
fn check_cycle<T: Real>(tolerance: f64) {
    for network in Network::assorted().into_iter().chain([Network::balls([24, 20, 28], 6), Network::tank([32, 32, 32])])
    {
        let l = network.laplacian();
        let n = l.len();
        let mut cycle = Multigrid::<T>::default();
        cycle.rebuild(&l, &network.faces, &network.extra);
        let mut random = Random(5);
        let mut apply = |x: &[f64]| {
            let mut z = vec![T::of(0.0); n];
            let product = cycle.apply(&mut x.to_vec(), &mut z);
            let z: Vec<f64> = z.iter().map(|z| z.f64()).collect();
            assert!((product - dot(x, &z)).abs() <= 1e-12 * norm(x) * norm(&z));
            z
        };
        let mut previous: Option<(Vec<f64>, Vec<f64>)> = None;
        for _ in 0..500 / if n > 5000 { 25 } else { 1 } {
            let mut x = random.vector(n);
            l.mask(&mut x);
            let px = apply(&x);
            assert!(dot(&x, &px) > 0.0);
            if let Some((y, py)) = previous {
                let error = (dot(&x, &py) - dot(&y, &px)).abs();
                assert!(error <= tolerance * norm(&x) * norm(&py), "{:?}: {error}", network.grid.dims);
            }
            previous = Some((x, px));
        }
    }
}

#[test]
fn cycle_in_f64_is_symmetric_positive_definite() {
    check_cycle::<f64>(1e-12);
}

#[test]
fn cycle_in_f32_is_symmetric_positive_definite() {
    check_cycle::<f32>(1e-5);
}

/// A7: residual factor per cycle on empty boxes. The spectrum of V L is about [0.7, 1], so the cycle times 1.2 contracts by 0.2; as
/// a preconditioner its constant factor does not matter.
#[test]
fn cycle_contracts_alike_on_every_size() {
    for dims in [[32, 32, 1], [128, 128, 1], [512, 512, 1], [16, 16, 16], [32, 32, 32], [64, 64, 64], [128, 128, 128]] {
        let network = Network::empty(dims);
        let mut l = network.laplacian();
        let mut cycle = Multigrid::<f64>::default();
        cycle.rebuild(&l, &network.faces, &network.extra);
        let b = Random(6).vector(l.len());
        let (mut x, mut r, mut z) = (vec![0.0; l.len()], b.clone(), vec![0.0; l.len()]);
        let mut old = norm(&b);
        for _ in 0..6 {
            cycle.apply(&mut r, &mut z);
            x.iter_mut().zip(&z).for_each(|(x, z)| *x += 1.2 / cycle.factor() * z);
            let new = l.residual(&b, &x, &mut r).sqrt();
            assert!((0.15..=0.25).contains(&(new / old)), "{dims:?}: {}", new / old);
            old = new;
        }
    }
}

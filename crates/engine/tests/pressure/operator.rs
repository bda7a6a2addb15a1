//! The operator: symmetric, definite, and what it says it is.

use crate::network::{Network, Random, dot, norm};
use bathtub_engine::grid::Axis;
use bathtub_engine::solve::Operator;

/// A2: |xᵀLy − yᵀLx| ≤ 1e-12 ‖x‖‖L‖‖y‖.
#[test]
fn operator_is_symmetric() {
    for network in Network::assorted() {
        let l = network.laplacian();
        let mut random = Random(1);
        let (mut lx, mut ly) = (vec![0.0; l.len()], vec![0.0; l.len()]);
        for _ in 0..100 {
            let (x, y) = (random.vector(l.len()), random.vector(l.len()));
            l.apply(&x, &mut lx);
            l.apply(&y, &mut ly);
            // ‖L‖ ≤ 2 max diagonal for a diagonally dominant matrix.
            assert!((dot(&x, &ly) - dot(&y, &lx)).abs() <= 1e-12 * norm(&x) * norm(&y) * 2.0 * l.largest());
        }
    }
}

/// The operator is Σ a_f (p_c − p_nb) + d_c p_c, cell by cell as written, and leaves alone what is no unknown.
#[test]
fn operator_is_what_it_says() {
    for network in Network::assorted() {
        let l = network.laplacian();
        let x = Random(2).vector(l.len());
        let mut y = vec![0.0; l.len()];
        l.apply(&x, &mut y);
        for c in 0..l.len() {
            let at = network.grid.cell_at(c);
            let mut sum = network.extra.data[c] * x[c];
            for axis in Axis::ALL {
                let a = axis.index();
                let (mut below, mut above) = (at, at);
                if at[a] > 0 {
                    below[a] -= 1;
                    sum += network.faces[(axis, at)] * (x[c] - x[network.grid.cell(below)]);
                }
                if at[a] + 1 < network.grid.dims[a] {
                    above[a] += 1;
                    sum += network.faces[(axis, above)] * (x[c] - x[network.grid.cell(above)]);
                }
            }
            assert!((y[c] - sum).abs() < 1e-13, "cell {at:?}: {} instead of {sum}", y[c]);
        }
    }
}

/// The passes of conjugate gradients do what their names say.
#[test]
fn fused_passes_agree_with_the_plain_operator() {
    for network in Network::assorted() {
        let mut l = network.laplacian();
        let n = l.len();
        let mut random = Random(3);
        let (z, p0, x0, r0) = (random.vector(n), random.vector(n), random.vector(n), random.vector(n));
        let (mut p, mut x, mut r, mut lp) = (p0.clone(), x0.clone(), r0.clone(), vec![0.0; n]);

        let curvature = l.direct(&z, 0.5, &mut p);
        l.apply(&p, &mut lp);
        assert!(p.iter().zip(&z).zip(&p0).all(|((p, z), p0)| *p == z + 0.5 * p0));
        assert!((curvature - dot(&p, &lp)).abs() < 1e-12 * n as f64);

        let rr = l.advance(0.25, &p, &mut x, &mut r);
        assert!((rr - dot(&r, &r)).abs() < 1e-12 * n as f64);
        for c in 0..n {
            assert!((x[c] - (x0[c] + 0.25 * p[c])).abs() < 1e-15 && (r[c] - (r0[c] - 0.25 * lp[c])).abs() < 1e-14);
        }
    }
}

/// A3: with an open top, zᵀLz > 0, and every pivot of the Lanczos matrix is positive: λ_min > 0.
#[test]
fn operator_with_an_opening_is_positive_definite() {
    let network = Network::tank([6, 5, 4]);
    let l = network.laplacian();
    let n = l.len();
    let mut random = Random(4);
    let mut lz = vec![0.0; n];
    for _ in 0..1000 {
        let mut z = random.vector(n);
        l.mask(&mut z);
        l.apply(&z, &mut lz);
        assert!(dot(&z, &lz) > 0.0);
    }
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let (mut v, mut beta, mut pivot) = (random.vector(n), 0.0_f64, 1.0_f64);
    l.mask(&mut v);
    loop {
        // Orthogonalise twice: the basis stays orthogonal to round-off.
        for _ in 0..2 {
            for b in &basis {
                let d = dot(&v, b);
                v.iter_mut().zip(b).for_each(|(v, b)| *v -= d * b);
            }
        }
        let length = norm(&v);
        if length < 1e-8 || basis.len() == n {
            break;
        }
        v.iter_mut().for_each(|v| *v /= length);
        if !basis.is_empty() {
            beta = length;
        }
        l.apply(&v, &mut lz);
        pivot = dot(&v, &lz) - if basis.is_empty() { 0.0 } else { beta * beta / pivot };
        assert!(pivot > 0.0, "pivot {} of the Lanczos matrix is {pivot}", basis.len());
        basis.push(std::mem::replace(&mut v, lz.clone()));
    }
    assert!(basis.len() > n / 2, "only {} Lanczos vectors", basis.len());
}

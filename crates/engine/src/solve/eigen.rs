//! Eigenvalues of small symmetric matrices by Jacobi's rotations: slow beyond a few hundred rows, accurate, and the same bits everywhere.

/// Sweeps at most; convergence is quadratic, and some ten do.
/// A guard.
const SWEEPS: usize = 40;

/// Eigenvalues of a symmetric matrix, the lowest first, and eigenvectors as columns, both row after row.
pub fn eigen(n: usize, mut a: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    // Rows of this are eigenvectors, so that rotations run along memory.
    let mut rows = vec![0.0; n * n];
    (0..n).for_each(|i| rows[n * i + i] = 1.0);
    for _ in 0..SWEEPS {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[n * i + j].powi(2)).sum();
        let all: f64 = a.iter().map(|a| a * a).sum();
        if off <= 1e-30 * all {
            break;
        }
        for (p, q) in (0..n).flat_map(|q| (0..q).map(move |p| (p, q))) {
            rotate(n, &mut a, &mut rows, p, q);
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[n * i + i].total_cmp(&a[n * j + j]));
    let values = order.iter().map(|&i| a[n * i + i]).collect();
    let vectors = (0..n * n).map(|place| rows[n * order[place % n] + place / n]).collect();
    (values, vectors)
}

/// Make the entry (p, q) zero.
fn rotate(n: usize, a: &mut [f64], rows: &mut [f64], p: usize, q: usize) {
    let off = a[n * p + q];
    let (low, high) = (a[n * p + p], a[n * q + q]);
    if off.abs() <= 1e-18 * (low.abs() + high.abs()) {
        return;
    }
    let theta = (high - low) / (2.0 * off);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = t.hypot(1.0).recip();
    let s = t * c;
    for matrix in [&mut *a, rows] {
        let (above, below) = matrix.split_at_mut(n * q);
        for (x, y) in above[n * p..][..n].iter_mut().zip(&mut below[..n]) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }
    for row in a.chunks_exact_mut(n) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    (a[n * p + q], a[n * q + p]) = (0.0, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chain of n springs between n + 1 walls: 2 − 2 cos(k π/(n + 1)).
    #[test]
    fn a_chain_of_springs_has_its_frequencies() {
        let n = 30;
        let entry = |i: usize, j: usize| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let matrix: Vec<f64> = (0..n * n).map(|place| entry(place / n, place % n)).collect();
        let (values, vectors) = eigen(n, matrix.clone());
        for (k, value) in values.iter().enumerate() {
            let exact = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / (n + 1) as f64).cos();
            assert!((value - exact).abs() < 1e-13, "{k}: {value} {exact}");
            let v: Vec<f64> = (0..n).map(|i| vectors[n * i + k]).collect();
            for (i, row) in matrix.chunks_exact(n).enumerate() {
                let product: f64 = row.iter().zip(&v).map(|(a, v)| a * v).sum();
                assert!((product - value * v[i]).abs() < 1e-12);
            }
        }
    }
}

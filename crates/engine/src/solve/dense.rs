//! Small dense systems: Cholesky factorisation of symmetric matrices, semi-definite or quasi-definite.

/// A = L D Lᵀ; pivots that are zero to round-off are left out, so that singular matrices get a symmetric generalised inverse.
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    n: usize,
    /// Unit lower triangle, row after row.
    lower: Vec<f64>,
    /// Where each row begins: all before is zero.
    starts: Vec<usize>,
    /// 1 ÷ pivot; zero for those left out.
    inverse: Vec<f64>,
}

/// Pivots smaller than this part of the diagonal they come from count as zero.
/// Some ten thousand roundings.
const ROUND_OFF: f64 = 1e-11;

impl Cholesky {
    /// Factorise the positive semi-definite `a`, n × n, row after row; only the lower triangle is read.
    pub fn new(n: usize, a: Vec<f64>) -> Self {
        Self::quasi_definite(n, n, a)
    }

    /// The same without the rows whose pivot is below the `least` part of their diagonal, if that is given.
    pub fn leaving_out(n: usize, a: Vec<f64>, least: impl Fn(usize) -> Option<f64>) -> Self {
        Self::factorise(n, n, a, |row| least(row).unwrap_or(ROUND_OFF))
    }

    /// Factorise [[A, Bᵀ], [B, −C]] with `positive` rows of A, where A and C are positive semi-definite. Such a matrix needs no
    /// pivoting (Vanderbei 1995).
    pub fn quasi_definite(n: usize, positive: usize, a: Vec<f64>) -> Self {
        Self::factorise(n, positive, a, |_| ROUND_OFF)
    }

    fn factorise(n: usize, positive: usize, mut a: Vec<f64>, least: impl Fn(usize) -> f64) -> Self {
        let mut inverse = vec![0.0; n];
        // Factors have no entries before the first of a row.
        let starts: Vec<usize> = (0..n).map(|i| a[n * i..][..i].iter().position(|v| *v != 0.0).unwrap_or(i)).collect();
        // Row i of the factor needs those above it: l_ij d_j = a_ij − Σ_k<j l_ik d_k l_jk.
        let mut scaled = vec![0.0; n];
        for i in 0..n {
            let (above, row) = a.split_at_mut(n * i);
            let row = &mut row[..n];
            let start = starts[i];
            for j in start..i {
                let first = start.max(starts[j]);
                scaled[j] = row[j] - dot(&scaled[first..j], &above[n * j..][first..j]);
                row[j] = scaled[j] * inverse[j];
            }
            let pivot = row[i] - dot(&scaled[start..i], &row[start..i]);
            let sign = if i < positive { 1.0 } else { -1.0 };
            inverse[i] = if sign * pivot > least(i) * sign * row[i] { 1.0 / pivot } else { 0.0 };
        }
        Self { n, lower: a, starts, inverse }
    }

    /// v ← A⁻¹ v.
    pub fn solve(&self, v: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            let (known, rest) = v.split_at_mut(i);
            let start = self.starts[i];
            rest[0] -= dot(&self.lower[n * i..][start..i], &known[start..]);
        }
        v.iter_mut().zip(&self.inverse).for_each(|(v, inverse)| *v *= inverse);
        for i in (0..n).rev() {
            let (above, rest) = v.split_at_mut(i);
            let start = self.starts[i];
            above[start..].iter_mut().zip(&self.lower[n * i..][start..i]).for_each(|(v, l)| *v -= l * rest[0]);
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        8 * (self.lower.capacity() + self.starts.capacity() + self.inverse.capacity())
    }
}

/// Σ a b, in several sums at once: one would wait for itself.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        (0..LANES).for_each(|l| sums[l] += a[l] * b[l]);
    }
    a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>() + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definite_systems_are_solved() {
        let a = vec![4.0, 0.0, 0.0, 2.0, 5.0, 0.0, -1.0, 0.5, 3.0];
        let full = |i: usize, j: usize| a[3 * i.max(j) + i.min(j)];
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> = (0..3).map(|i| (0..3).map(|j| full(i, j) * x[j]).sum()).collect();
        Cholesky::new(3, a.clone()).solve(&mut b);
        assert!(b.iter().zip(x).all(|(b, x)| (b - x).abs() < 1e-14), "{b:?}");
    }

    #[test]
    fn quasi_definite_systems_are_solved() {
        let a = vec![4.0, 0.0, 0.0, 2.0, -5.0, 0.0, -1.0, 0.5, -3.0];
        let full = |i: usize, j: usize| a[3 * i.max(j) + i.min(j)];
        let x = [1.0, -2.0, 0.5];
        let mut b: Vec<f64> = (0..3).map(|i| (0..3).map(|j| full(i, j) * x[j]).sum()).collect();
        Cholesky::quasi_definite(3, 1, a.clone()).solve(&mut b);
        assert!(b.iter().zip(x).all(|(b, x)| (b - x).abs() < 1e-14), "{b:?}");
    }

    /// Three cells in a row, tied to nothing: any solution will do, differences count.
    #[test]
    fn singular_systems_are_solved_up_to_their_null_space() {
        let mut b = vec![1.0, 1.0, -2.0];
        Cholesky::new(3, vec![1.0, 0.0, 0.0, -1.0, 2.0, 0.0, 0.0, -1.0, 1.0]).solve(&mut b);
        assert!((b[0] - b[1] - 1.0).abs() < 1e-14 && (b[1] - b[2] - 2.0).abs() < 1e-14, "{b:?}");
    }
}

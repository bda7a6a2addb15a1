//! Sparse systems written out in full, and the preconditioners without fill-in that papers use for them.
//!
//! For comparison with published tables: memory and sweeps are those of a textbook, and everything runs on one thread.

use super::conjugate_gradients::{Operator, Preconditioner};
use super::laplacian::dot;
use super::real::Real;
use super::{SolveError, SolveInfo, SolveParams};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A square sparse matrix by rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseMatrix {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl SparseMatrix {
    /// From rows of entries in any order; those of the same column are added up.
    pub fn new(rows: impl Iterator<Item = Vec<(u32, f64)>>) -> Self {
        let mut matrix = Self { starts: vec![0], ..Self::default() };
        for mut row in rows {
            row.sort_by_key(|entry| entry.0);
            for (column, value) in row {
                let is_new = matrix.columns.len() == matrix.starts[matrix.starts.len() - 1];
                match matrix.columns.last() {
                    Some(&last) if !is_new && last == column => *matrix.values.last_mut().expect("as many") += value,
                    _ => {
                        matrix.columns.push(column);
                        matrix.values.push(value);
                    }
                }
            }
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Stored entries.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// Columns and values of a row, by column.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().map(|&column| column as usize).zip(self.values[range].iter().copied())
    }

    /// y ← A x.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        y.iter_mut().enumerate().for_each(|(i, y)| *y = self.row(i).map(|(j, a)| a * x[j]).sum());
    }
}

/// A matrix as conjugate gradients want it.
pub(super) struct Written<'a> {
    matrix: &'a SparseMatrix,
    /// A p of the last direction.
    product: Vec<f64>,
}

impl<'a> Written<'a> {
    pub fn new(matrix: &'a SparseMatrix) -> Self {
        Self { matrix, product: vec![0.0; matrix.rows()] }
    }
}

impl Operator for Written<'_> {
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        self.matrix.multiply(x, &mut self.product);
        r.iter_mut().zip(b).zip(&self.product).for_each(|((r, b), ax)| *r = b - ax);
        dot(r, r)
    }

    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64 {
        // The first direction has nothing before it.
        p.iter_mut().zip(z).for_each(|(p, z)| *p = z.f64() + if beta == 0.0 { 0.0 } else { beta * *p });
        self.matrix.multiply(p, &mut self.product);
        dot(p, &self.product)
    }

    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
        x.iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
        r.iter_mut().zip(&self.product).for_each(|(r, ap)| *r -= alpha * ap);
        dot(r, r)
    }
}

/// Without fill-in a definite matrix may lose its definiteness: then its diagonal is raised by this part, and by twice as much
/// until it does not (Manteuffel 1980).
/// A choice: smaller takes more attempts, larger is a worse preconditioner.
const FIRST_SHIFT: f64 = 1e-3;

/// A ≈ F Fᵀ with F where the lower triangle of A has entries.
pub(super) struct SparseIncompleteCholesky {
    /// F by rows, the diagonal last in each.
    lower: SparseMatrix,
}

impl SparseIncompleteCholesky {
    pub fn new(matrix: &SparseMatrix) -> Self {
        let mut shift = 0.0;
        loop {
            if let Some(lower) = factorise(matrix, 1.0 + shift) {
                return Self { lower };
            }
            shift = if shift == 0.0 { FIRST_SHIFT } else { 2.0 * shift };
        }
    }
}

/// F of a matrix whose diagonal is `raised` by a factor, if all pivots are positive.
fn factorise(matrix: &SparseMatrix, raised: f64) -> Option<SparseMatrix> {
    let value = |i: usize, j: usize, a: f64| if i == j { raised * a } else { a };
    let below = |i: usize| matrix.row(i).filter(|(j, _)| *j <= i).map(|(j, a)| (j as u32, value(i, j, a))).collect();
    let mut lower = SparseMatrix::new((0..matrix.rows()).map(below));
    for i in 0..lower.rows() {
        let own = lower.starts[i]..lower.starts[i + 1];
        for place in own.clone() {
            let j = lower.columns[place] as usize;
            let other = lower.starts[j]..lower.starts[j + 1];
            // Σ_k<j f_ik f_jk over the columns that both rows have.
            let (mut a, mut b, mut sum) = (own.start, other.start, 0.0);
            while a < place && b + 1 < other.end {
                match lower.columns[a].cmp(&lower.columns[b]) {
                    std::cmp::Ordering::Less => a += 1,
                    std::cmp::Ordering::Greater => b += 1,
                    std::cmp::Ordering::Equal => {
                        sum += lower.values[a] * lower.values[b];
                        (a, b) = (a + 1, b + 1);
                    }
                }
            }
            let value = lower.values[place] - sum;
            if j == i && value <= 0.0 {
                return None;
            }
            lower.values[place] = if j < i { value / lower.values[other.end - 1] } else { value.sqrt() };
        }
    }
    Some(lower)
}

impl Preconditioner for SparseIncompleteCholesky {
    type Scalar = f64;

    fn apply(&mut self, r: &mut [f64], z: &mut [f64]) -> f64 {
        let SparseMatrix { starts, columns, values } = &self.lower;
        let n = self.lower.rows();
        for i in 0..n {
            let last = starts[i + 1] - 1;
            let sum: f64 = (starts[i]..last).map(|k| values[k] * z[columns[k] as usize]).sum();
            z[i] = (r[i] - sum) / values[last];
        }
        for i in (0..n).rev() {
            let last = starts[i + 1] - 1;
            z[i] /= values[last];
            for k in starts[i]..last {
                z[columns[k] as usize] -= values[k] * z[i];
            }
        }
        dot(r, z)
    }
}

/// A ≈ L U with L and U where A has entries \[Saad 2003, §10.3\].
pub(super) struct IncompleteLu {
    factors: SparseMatrix,
    /// Where the diagonal of each row is.
    diagonal: Vec<usize>,
}

impl IncompleteLu {
    pub fn new(matrix: &SparseMatrix) -> Self {
        let mut factors = matrix.clone();
        let n = factors.rows();
        let find = |i: usize, j: usize, f: &SparseMatrix| {
            let row = f.starts[i]..f.starts[i + 1];
            f.columns[row.clone()].binary_search(&(j as u32)).ok().map(|k| row.start + k)
        };
        let diagonal: Vec<usize> = (0..n).map(|i| find(i, i, &factors).expect("a diagonal in every row")).collect();
        for i in 0..n {
            let row = factors.starts[i]..factors.starts[i + 1];
            for place in row.start..diagonal[i] {
                let k = factors.columns[place] as usize;
                let part = factors.values[place] / factors.values[diagonal[k]];
                factors.values[place] = part;
                // Both rows are sorted.
                let mut own = place + 1;
                for other in diagonal[k] + 1..factors.starts[k + 1] {
                    while own < row.end && factors.columns[own] < factors.columns[other] {
                        own += 1;
                    }
                    if own < row.end && factors.columns[own] == factors.columns[other] {
                        factors.values[own] -= part * factors.values[other];
                    }
                }
            }
        }
        Self { factors, diagonal }
    }

    /// With entries wherever they come up; of each row the largest are kept, on either side of the diagonal half of `fill` times as many as
    /// A has in a row (ILUT \[Saad 2003, §10.4\], with nothing dropped for being small).
    pub fn with_fill(matrix: &SparseMatrix, fill: usize) -> Self {
        let n = matrix.rows();
        let most = (matrix.nonzeros() * fill / n.max(1)).div_ceil(2);
        let mut factors = SparseMatrix { starts: vec![0], ..SparseMatrix::default() };
        let mut diagonal: Vec<usize> = Vec::with_capacity(n);
        let (mut row, mut is_used) = (vec![0.0; n], vec![false; n]);
        // Columns of the row: those still to be eliminated, the first on top, and those from the diagonal on.
        let (mut below, mut above) = (BinaryHeap::<Reverse<usize>>::new(), Vec::<usize>::new());
        for i in 0..n {
            for (j, value) in matrix.row(i) {
                (row[j], is_used[j]) = (value, true);
                if j < i { below.push(Reverse(j)) } else { above.push(j) }
            }
            let mut lower = Vec::new();
            while let Some(Reverse(k)) = below.pop() {
                is_used[k] = false;
                let part = row[k] / factors.values[diagonal[k]];
                lower.push((k as u32, part));
                for place in diagonal[k] + 1..factors.starts[k + 1] {
                    let j = factors.columns[place] as usize;
                    if !is_used[j] {
                        (row[j], is_used[j]) = (0.0, true);
                        if j < i { below.push(Reverse(j)) } else { above.push(j) }
                    }
                    row[j] -= part * factors.values[place];
                }
            }
            let own = row[i];
            let mut upper: Vec<(u32, f64)> = above.iter().filter(|&&j| j != i).map(|&j| (j as u32, row[j])).collect();
            above.drain(..).for_each(|j| is_used[j] = false);
            keep_largest(&mut lower, most);
            keep_largest(&mut upper, most);
            diagonal.push(factors.columns.len() + lower.len());
            for (column, value) in lower.into_iter().chain([(i as u32, own)]).chain(upper) {
                factors.columns.push(column);
                factors.values.push(value);
            }
            factors.starts.push(factors.columns.len());
        }
        Self { factors, diagonal }
    }

    /// z ← (L U)⁻¹ r.
    fn solve(&self, r: &[f64], z: &mut [f64]) {
        let SparseMatrix { starts, columns, values } = &self.factors;
        let n = self.factors.rows();
        let sum = |range: std::ops::Range<usize>, z: &[f64]| -> f64 {
            range.map(|k| values[k] * z[columns[k] as usize]).sum()
        };
        for i in 0..n {
            z[i] = r[i] - sum(starts[i]..self.diagonal[i], z);
        }
        for i in (0..n).rev() {
            let d = self.diagonal[i];
            z[i] = (z[i] - sum(d + 1..starts[i + 1], z)) / values[d];
        }
    }
}

/// Leave the `most` largest entries, by column.
fn keep_largest(entries: &mut Vec<(u32, f64)>, most: usize) {
    if entries.len() > most {
        entries.select_nth_unstable_by(most, |a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        entries.truncate(most);
    }
    entries.sort_unstable_by_key(|entry| entry.0);
}

/// Solve A x = b for any A by the stabilised bi-conjugate gradients of van der Vorst (1992), from the guess in `x`.
pub(super) fn bicgstab(
    matrix: &SparseMatrix,
    preconditioner: &IncompleteLu,
    b: &[f64],
    x: &mut [f64],
    params: &SolveParams,
) -> Result<SolveInfo, SolveError> {
    let n = b.len();
    let started = std::time::Instant::now();
    let (b_norm, mut r) = (dot(b, b).sqrt(), vec![0.0; n]);
    matrix.multiply(x, &mut r);
    r.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
    let shadow = r.clone();
    let [mut p, mut v, mut y, mut z, mut t] = std::array::from_fn(|_| vec![0.0; n]);
    let (mut rho, mut alpha, mut omega) = (1.0, 1.0, 1.0);
    let mut rr = dot(&r, &r);
    let mut iterations = 0;
    let target = params.tolerance * b_norm;
    let has_time = || params.budget_seconds.is_none_or(|budget| started.elapsed().as_secs_f64() < budget);
    while rr.sqrt() > target && iterations < params.max_iterations && has_time() {
        let rho_new = dot(&shadow, &r);
        let beta = rho_new / rho * (alpha / omega);
        rho = rho_new;
        for i in 0..n {
            p[i] = r[i] + beta * (p[i] - omega * v[i]);
        }
        preconditioner.solve(&p, &mut y);
        matrix.multiply(&y, &mut v);
        alpha = rho / dot(&shadow, &v);
        r.iter_mut().zip(&v).for_each(|(r, v)| *r -= alpha * v);
        preconditioner.solve(&r, &mut z);
        matrix.multiply(&z, &mut t);
        omega = dot(&t, &r) / dot(&t, &t);
        for i in 0..n {
            x[i] += alpha * y[i] + omega * z[i];
            r[i] -= omega * t[i];
        }
        rr = dot(&r, &r);
        iterations += 1;
        if !(rr.is_finite() && rho.is_finite()) {
            return Err(SolveError::NonFinite { stage: "the pressure solve" });
        }
    }
    let residual = if b_norm > 0.0 { rr.sqrt() / b_norm } else { 0.0 };
    Ok(SolveInfo { iterations, residual, converged: rr.sqrt() <= target })
}

#[cfg(test)]
mod tests {
    use super::super::conjugate_gradients::{self as cg, Vectors};
    use super::*;

    /// A chain with a few longer links; `sign` makes its second half negative.
    fn chain(n: usize, sign: f64) -> SparseMatrix {
        SparseMatrix::new((0..n).map(|i| {
            let mut row = vec![(i as u32, if i < n / 2 { 3.0 } else { sign * 3.0 })];
            for (step, value) in [(1, -1.0), (7, 0.3)] {
                row.extend((i >= step).then(|| ((i - step) as u32, value)));
                row.extend((i + step < n).then(|| ((i + step) as u32, value)));
            }
            row
        }))
    }

    #[test]
    fn rows_are_sorted_and_added_up() {
        let matrix = SparseMatrix::new([vec![(1, 2.0), (0, 1.0), (1, 0.5)], vec![(1, 4.0)]].into_iter());
        assert_eq!(matrix.row(0).collect::<Vec<_>>(), [(0, 1.0), (1, 2.5)]);
        assert_eq!((matrix.rows(), matrix.nonzeros()), (2, 3));
    }

    /// With room for everything the factors are exact, and one iteration does; with less they come near.
    #[test]
    fn fill_makes_factors_better() {
        let n = 120;
        let matrix = chain(n, -1.0);
        let wanted: Vec<f64> = (0..n).map(|i| (0.37 * i as f64).sin() + 0.1).collect();
        let mut b = vec![0.0; n];
        matrix.multiply(&wanted, &mut b);
        let off = |factors: &IncompleteLu| {
            let mut x = vec![0.0; n];
            factors.solve(&b, &mut x);
            x.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let [none, some, all] =
            [IncompleteLu::new(&matrix), IncompleteLu::with_fill(&matrix, 2), IncompleteLu::with_fill(&matrix, 50)];
        assert!(
            off(&all) < 1e-12 && off(&some) < 0.5 * off(&none),
            "{:e} {:e} {:e}",
            off(&none),
            off(&some),
            off(&all)
        );
    }

    #[test]
    fn both_methods_solve() {
        let n = 200;
        let wanted: Vec<f64> = (0..n).map(|i| (0.37 * i as f64).sin() + 0.1).collect();
        let params = SolveParams { tolerance: 1e-12, ..SolveParams::default() };
        for (sign, is_definite) in [(1.0, true), (-1.0, false)] {
            let matrix = chain(n, sign);
            let mut b = vec![0.0; n];
            matrix.multiply(&wanted, &mut b);
            let mut x = vec![0.0; n];
            let info = if is_definite {
                let mut vectors = Vectors::default();
                vectors.resize(n);
                let mut operator = Written::new(&matrix);
                let rr = operator.residual(&b, &x, &mut vectors.r);
                let mut factor = SparseIncompleteCholesky::new(&matrix);
                cg::solve(&mut operator, &mut factor, &mut vectors, &mut x, rr.sqrt(), rr, &params).unwrap()
            } else {
                bicgstab(&matrix, &IncompleteLu::new(&matrix), &b, &mut x, &params).unwrap()
            };
            let error = x.iter().zip(&wanted).map(|(x, wanted)| (x - wanted).abs()).fold(0.0, f64::max);
            assert!(info.converged && error < 1e-10, "{info:?}, off by {error}");
            assert!(info.iterations < 40, "{info:?}");
        }
    }
}

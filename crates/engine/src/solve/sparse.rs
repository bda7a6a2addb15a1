//! Symmetric sparse matrices over the vertices of a mesh, and their Cholesky factorisation.
//!
//! A vertex moves in three directions, so that entries come in 3×3 blocks. Both triangles are stored, row after row: rows can be
//! filled and multiplied in parallel without touching each other. The factorisation A = P L Lᵀ Pᵀ is faer's, with columns of
//! similar pattern taken together; its ordering and pattern depend on the mesh alone and are found once. It runs on one thread,
//! since faer's parallel kernels round differently.

use super::dissection::nested_dissection;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Block rows handed to a thread at once.
const ROWS_PER_TASK: usize = 64;

/// A symmetric matrix of 3×3 blocks, compressed by rows. Every row has a diagonal block.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseSymmetric {
    starts: Vec<usize>,
    columns: Vec<u32>,
    /// The blocks, row after row, by column within a row. Symmetric: block (j, i) is the transpose of block (i, j).
    pub blocks: Vec<DMat3>,
}

impl SparseSymmetric {
    /// Zeros, with blocks on the diagonal and wherever two vertices are `coupled`, in both triangles.
    pub fn new(rows: usize, coupled: impl IntoIterator<Item = [u32; 2]>) -> Self {
        let mut entries: Vec<[u32; 2]> = (0..rows as u32).map(|i| [i, i]).collect();
        entries.extend(coupled.into_iter().flat_map(|[i, j]| [[i, j], [j, i]]));
        entries.sort_unstable();
        entries.dedup();
        let starts = (0..=rows).map(|i| entries.partition_point(|e| (e[0] as usize) < i)).collect();
        let blocks = vec![DMat3::ZERO; entries.len()];
        Self { starts, columns: entries.iter().map(|e| e[1]).collect(), blocks }
    }

    /// Number of block rows; there are three unknowns in each.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the blocks of row `i` are stored.
    pub fn row(&self, i: usize) -> Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// Block column of every stored block.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Where block (i, j) is stored, if it is.
    pub fn position(&self, i: usize, j: usize) -> Option<usize> {
        let row = self.row(i);
        self.columns[row.clone()].binary_search(&(j as u32)).ok().map(|k| row.start + k)
    }

    /// Columns and values of a scalar row, 3 i + axis, by column.
    pub fn scalar_row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        self.row(row / 3).flat_map(move |k| {
            let values = self.blocks[k].row(row % 3).to_array();
            std::array::from_fn::<_, 3, _>(|b| (3 * self.columns[k] as usize + b, values[b]))
        })
    }

    /// (A x)_i.
    pub fn multiply_row(&self, i: usize, x: &[DVec3]) -> DVec3 {
        self.row(i).map(|k| self.blocks[k] * x[self.columns[k] as usize]).sum()
    }

    /// y ← A x.
    pub fn multiply(&self, x: &[DVec3], y: &mut [DVec3]) {
        let rows = y.par_iter_mut().with_min_len(ROWS_PER_TASK).enumerate();
        rows.for_each(|(i, y)| *y = self.multiply_row(i, x));
    }
}

/// The matrix is not positive definite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sparse matrix is not positive definite at row {row}: check masses, stiffness and pins")]
pub struct NotPositiveDefinite {
    /// Scalar row, 3 × vertex + axis.
    pub row: usize,
}

/// Cholesky factorisation of a [`SparseSymmetric`], for any number of matrices of one pattern.
pub struct SparseCholesky {
    values: Vec<f64>,
    factor: SparseFactor,
    factor_memory: MemBuffer,
}

/// The factor of one matrix, shared by all that have it.
#[derive(Clone)]
pub struct SparseFactor {
    pattern: Arc<Pattern>,
    values: Arc<Vec<f64>>,
}

/// What depends on the pattern alone.
struct Pattern {
    /// Lower triangle by columns.
    starts: Vec<usize>,
    rows: Vec<usize>,
    symbolic: SymbolicCholesky<usize>,
    /// Room for one right-hand side; locked, so that solving needs no exclusive access.
    solve_memory: Mutex<MemBuffer>,
}

impl SparseCholesky {
    /// Find the ordering and the pattern of the factor for matrices with the pattern of `matrix`, whose block rows belong to vertices at
    /// `points`.
    pub fn new(matrix: &SparseSymmetric, points: &[DVec3]) -> Self {
        let n = 3 * matrix.rows();
        let mut starts = vec![0];
        let mut rows = Vec::new();
        for column in 0..n {
            rows.extend(lower(matrix, column).map(|(row, _)| row));
            starts.push(rows.len());
        }
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
        let order: Vec<usize> =
            nested_dissection(matrix, points).iter().flat_map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        let mut places = vec![0; n];
        order.iter().enumerate().for_each(|(place, &row)| places[row] = place);
        let ordering = SymmetricOrdering::Custom(PermRef::new_checked(&order, &places, n));
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, ordering, Default::default())
            .expect("indices and memory suffice for the pattern of a mesh");
        let solve_memory = Mutex::new(MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq)));
        let (values, factor) = (vec![0.0; rows.len()], vec![0.0; symbolic.len_val()]);
        let pattern = Arc::new(Pattern { starts, rows, symbolic, solve_memory });
        let factor_memory = pattern.factor_memory();
        Self { values, factor: SparseFactor { pattern, values: Arc::new(factor) }, factor_memory }
    }

    /// Factorise `matrix`, which has the pattern given to [`SparseCholesky::new`].
    pub fn factorise(&mut self, matrix: &SparseSymmetric) -> Result<(), NotPositiveDefinite> {
        let pattern = &*self.factor.pattern;
        // Whoever has the last factor keeps it.
        let factor = &mut self.factor.values;
        if Arc::get_mut(factor).is_none() {
            *factor = Arc::new(vec![0.0; pattern.symbolic.len_val()]);
        }
        let factor = Arc::get_mut(factor).expect("nobody else has it");
        pattern.factorise(matrix, &mut self.values, factor, &mut self.factor_memory)
    }

    /// The factor of the matrix factorised last.
    pub fn factor(&self) -> &SparseFactor {
        &self.factor
    }
}

impl Pattern {
    /// Room for a factorisation.
    fn factor_memory(&self) -> MemBuffer {
        MemBuffer::new(self.symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default()))
    }

    /// Find the `factor` of a matrix of this pattern; `values` has room for its lower triangle.
    fn factorise(
        &self,
        matrix: &SparseSymmetric,
        values: &mut [f64],
        factor: &mut [f64],
        memory: &mut MemBuffer,
    ) -> Result<(), NotPositiveDefinite> {
        let n = 3 * matrix.rows();
        let columns = (0..n).flat_map(|column| lower(matrix, column));
        values.iter_mut().zip(columns).for_each(|(value, (_, entry))| *value = entry);
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.rows);
        let result = self.symbolic.factorize_numeric_llt(
            factor,
            SparseColMatRef::new(pattern, values),
            Side::Lower,
            Default::default(),
            Par::Seq,
            MemStack::new(memory),
            Spec::default(),
        );
        result.map(|_| ()).map_err(|LltError::NonPositivePivot { index }| {
            let order = self.symbolic.perm().map(|perm| perm.arrays().0);
            NotPositiveDefinite { row: order.map_or(index, |order| order[index.min(n - 1)]) }
        })
    }
}

impl SparseFactor {
    /// The factor of another matrix of the same pattern.
    pub fn of_another(&self, matrix: &SparseSymmetric) -> Result<Self, NotPositiveDefinite> {
        let pattern = self.pattern.clone();
        let (mut values, mut factor) = (vec![0.0; pattern.rows.len()], vec![0.0; self.entries()]);
        pattern.factorise(matrix, &mut values, &mut factor, &mut pattern.factor_memory())?;
        Ok(Self { pattern, values: Arc::new(factor) })
    }

    /// x ← A⁻¹ x; x has three values a block row.
    pub fn solve_in_place(&self, x: &mut [f64]) {
        let n = x.len();
        let Pattern { symbolic, solve_memory, .. } = &*self.pattern;
        let mut memory = solve_memory.lock().unwrap_or_else(PoisonError::into_inner);
        LltRef::new(symbolic, &self.values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, n, 1),
            Par::Seq,
            MemStack::new(&mut memory),
        );
    }

    /// Number of unknowns.
    pub fn size(&self) -> usize {
        self.pattern.starts.len() - 1
    }

    /// Stored entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }
}

impl std::fmt::Debug for SparseFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("SparseFactor").field("entries", &self.entries()).finish_non_exhaustive()
    }
}

/// Rows and values of a scalar column from its diagonal downwards, read along the row of the same number.
fn lower(matrix: &SparseSymmetric, column: usize) -> impl Iterator<Item = (usize, f64)> {
    matrix.scalar_row(column).filter(move |&(row, _)| row >= column)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of vertices: 2 + i on the diagonal blocks, −1 and a skew part between neighbours.
    fn chain(n: usize) -> SparseSymmetric {
        let mut matrix = SparseSymmetric::new(n, (1..n as u32).map(|i| [i - 1, i]));
        let link = DMat3::from_cols_array(&[-1.0, 0.1, 0.2, -0.1, -1.0, 0.3, 0.0, 0.0, -1.0]);
        for i in 0..n {
            let k = matrix.position(i, i).unwrap();
            matrix.blocks[k] = DMat3::from_diagonal(DVec3::splat(2.5 + i as f64)) + DMat3::from_cols_array(&[0.1; 9]);
            if i > 0 {
                let [k, transposed] = [matrix.position(i, i - 1).unwrap(), matrix.position(i - 1, i).unwrap()];
                matrix.blocks[k] = link;
                matrix.blocks[transposed] = link.transpose();
            }
        }
        matrix
    }

    fn line(n: usize) -> Vec<DVec3> {
        (0..n).map(|i| DVec3::X * i as f64).collect()
    }

    fn flat(v: &[DVec3]) -> Vec<f64> {
        v.iter().flat_map(|v| v.to_array()).collect()
    }

    #[test]
    fn pattern_and_scalar_rows() {
        let matrix = chain(3);
        assert_eq!(matrix.rows(), 3);
        assert_eq!(matrix.columns(), [0, 1, 0, 1, 2, 1, 2]);
        assert_eq!(matrix.position(0, 2), None);
        let row: Vec<_> = matrix.scalar_row(1).collect();
        assert_eq!(row, [(0, 0.1), (1, 2.6), (2, 0.1), (3, -0.1), (4, -1.0), (5, 0.3)]);
    }

    #[test]
    fn solves_what_it_multiplies_and_factorises_again() {
        let n = 40;
        let mut matrix = chain(n);
        let mut cholesky = SparseCholesky::new(&matrix, &line(matrix.rows()));
        let x: Vec<DVec3> = (0..n).map(|i| DVec3::new(i as f64, (i as f64).sin(), 1.0 / (1.0 + i as f64))).collect();
        let mut b = vec![DVec3::ZERO; n];
        for scale in [1.0, 7.0] {
            matrix.blocks.iter_mut().for_each(|block| *block *= scale);
            cholesky.factorise(&matrix).unwrap();
            matrix.multiply(&x, &mut b);
            let mut solved = flat(&b);
            cholesky.factor().solve_in_place(&mut solved);
            assert!(solved.iter().zip(flat(&x)).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    /// Bodies answer from any thread.
    #[test]
    fn factors_are_shared_between_threads() {
        let matrix = chain(4);
        let mut cholesky = SparseCholesky::new(&matrix, &line(matrix.rows()));
        cholesky.factorise(&matrix).unwrap();
        let solved = |_| {
            let mut x = vec![1.0; 12];
            cholesky.factor().solve_in_place(&mut x);
            x
        };
        let all: Vec<Vec<f64>> = (0..8).into_par_iter().map(solved).collect();
        assert!(all.iter().all(|x| *x == all[0]));
    }

    #[test]
    fn names_the_row_that_is_not_positive() {
        let mut matrix = chain(5);
        let k = matrix.position(3, 3).unwrap();
        matrix.blocks[k].y_axis.y = -1.0;
        let error = SparseCholesky::new(&matrix, &line(matrix.rows())).factorise(&matrix).unwrap_err();
        assert!((9..12).contains(&error.row), "{error}");
    }
}

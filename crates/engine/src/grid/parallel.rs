//! Row-wise loops over fields, on all threads, with the same bits for any number of them.

use rayon::prelude::*;

/// Rows handed to a thread at once; small enough to balance, large enough not to matter.
const ROWS_PER_TASK: usize = 16;

/// Call `visit(j, k, row)` for every x-row of an array with these dims.
pub fn for_each_row<T: Send>(data: &mut [T], dims: [usize; 3], visit: impl Fn(usize, usize, &mut [T]) + Sync) {
    data.par_chunks_mut(dims[0])
        .with_min_len(ROWS_PER_TASK)
        .enumerate()
        .for_each(|(row, values)| visit(row % dims[1], row / dims[1], values));
}

/// Add up `value(j, k)` over all x-rows of an array with these dims, always in the same order.
pub fn sum_rows<T: Send + std::iter::Sum<T>>(dims: [usize; 3], value: impl Fn(usize, usize) -> T + Sync) -> T {
    let rows: Vec<T> = (0..dims[1] * dims[2])
        .into_par_iter()
        .with_min_len(ROWS_PER_TASK)
        .map(|row| value(row % dims[1], row / dims[1]))
        .collect();
    rows.into_iter().sum()
}

/// Two sums taken in one pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums(pub [f64; 2]);

impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(sums: I) -> Self {
        sums.fold(Self::default(), |a, b| Self([a.0[0] + b.0[0], a.0[1] + b.0[1]]))
    }
}

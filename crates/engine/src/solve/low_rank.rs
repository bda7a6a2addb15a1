//! What solids add to the pressure operator.
//!
//! A body that answers pressure adds B M̂⁻¹ Bᵀ (design eq. 1): every freedom of the body is a column that lives on the cells
//! around its surface. With M̂⁻¹ = F Fᵀ and C = B F this is
//!
//! ```text
//! Σ = L + C Cᵀ
//! ```
//!
//! so that a joint, which takes freedoms away, just leaves fewer columns, and a body without mass is no special case.

use super::conjugate_gradients::Operator;
use super::dense::Cholesky;
use super::laplacian::{Laplacian, dot};
use super::pockets::Pocket;
use super::real::Real;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The columns of one body, or of several that are joined: sparse rows of the same cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Cells of the rows, ascending.
    pub cells: Vec<u32>,
    /// Number of columns.
    pub columns: usize,
    /// Row after row.
    pub values: Vec<f64>,
}

/// C, block by block; blocks may share cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowRank {
    /// The blocks.
    pub blocks: Vec<Block>,
}

impl Block {
    /// Rows with their cells.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &[f64])> {
        self.cells.iter().map(|&cell| cell as usize).zip(self.values.chunks_exact(self.columns.max(1)))
    }

    /// out ← Cᵀ x.
    pub fn gather<T: Real>(&self, x: &[T], out: &mut [f64]) {
        out.fill(0.0);
        self.add_gathered(x, out);
    }

    /// out ← out + Cᵀ x.
    pub fn add_gathered<T: Real>(&self, x: &[T], out: &mut [f64]) {
        self.rows().for_each(|(cell, row)| add_scaled(out, x[cell].f64(), row));
    }

    /// Keep the rows that `keep` tells.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.cells.len()).filter(|&row| keep(self.cells[row] as usize)).collect();
        if kept.len() < self.cells.len() {
            self.values =
                kept.iter().flat_map(|&row| self.values[self.columns * row..][..self.columns].to_vec()).collect();
            self.cells = kept.iter().map(|&row| self.cells[row]).collect();
        }
    }
}

impl LowRank {
    /// Columns of all blocks.
    pub fn columns(&self) -> usize {
        self.blocks.iter().map(|block| block.columns).sum()
    }

    /// The largest entry on the diagonal of CᵀC.
    pub fn largest(&self) -> f64 {
        let of_block = |block: &Block| {
            let mut squares = vec![0.0; block.columns];
            for (_, row) in block.rows() {
                squares.iter_mut().zip(row).for_each(|(square, c)| *square += c * c);
            }
            squares.into_iter().fold(0.0, f64::max)
        };
        self.blocks.par_iter().map(of_block).reduce(|| 0.0, f64::max)
    }

    /// Forget rows of cells that are no unknowns of `laplacian` and hold no pocket's pressure.
    pub fn mask(&mut self, laplacian: &Laplacian, pockets: &[Pocket]) {
        if self.blocks.is_empty() {
            return;
        }
        let keep = |cell: usize| laplacian.is_unknown(cell) || pockets.iter().any(|pocket| pocket.node == cell);
        self.blocks.par_iter_mut().for_each(|block| block.retain(keep));
    }

    /// Add the rows of some cells to those of others: where `onto` tells one, the cell has the same pressure.
    pub fn fold(&mut self, onto: impl Fn(usize) -> Option<usize>) {
        for block in &mut self.blocks {
            let mut rows = BTreeMap::<u32, Vec<f64>>::new();
            for (cell, row) in block.rows() {
                let sum = rows.entry(onto(cell).unwrap_or(cell) as u32).or_insert_with(|| vec![0.0; block.columns]);
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
            block.cells = rows.keys().copied().collect();
            block.values = rows.into_values().flatten().collect();
        }
    }

    /// Cᵀ x, block after block.
    pub fn gather<T: Real>(&self, x: &[T], out: &mut Vec<f64>) {
        gather(&self.blocks, out, |block| block.columns, |block, out| block.gather(x, out));
    }

    /// x ← x + C s.
    pub fn scatter<T: Real>(&self, s: &[f64], x: &mut [T]) {
        scatter(&self.blocks.iter().collect::<Vec<_>>(), s, x);
    }
}

/// Numbers of some `blocks`, which threads share; `count` tells how many each has.
pub(super) fn gather<B: Sync>(
    blocks: &[B],
    out: &mut Vec<f64>,
    count: impl Fn(&B) -> usize,
    f: impl Fn(&B, &mut [f64]) + Sync,
) {
    out.resize(blocks.iter().map(&count).sum(), 0.0);
    let mut parts: Vec<(&B, &mut [f64])> = Vec::with_capacity(blocks.len());
    let mut rest = &mut out[..];
    for block in blocks {
        let (own, others) = rest.split_at_mut(count(block));
        parts.push((block, own));
        rest = others;
    }
    parts.into_par_iter().for_each(|(block, out)| f(block, out));
}

/// The columns of a body that moves freely: loops of this known length are unrolled.
const FREE: usize = 6;

/// out ← out + a v.
#[inline(always)]
pub(super) fn add_scaled(out: &mut [f64], a: f64, v: &[f64]) {
    if let (Ok(out), Ok(v)) = (<&mut [f64; FREE]>::try_from(&mut *out), <&[f64; FREE]>::try_from(v)) {
        out.iter_mut().zip(v).for_each(|(out, v)| *out += a * v);
    } else {
        out.iter_mut().zip(v).for_each(|(out, v)| *out += a * v);
    }
}

/// Σ c s over the columns of a row.
#[inline(always)]
fn dot_row(row: &[f64], s: &[f64]) -> f64 {
    if let (Ok(row), Some(s)) = (<&[f64; FREE]>::try_from(row), s.first_chunk::<FREE>()) {
        row.iter().zip(s).map(|(c, s)| c * s).sum()
    } else {
        row.iter().zip(s).map(|(c, s)| c * s).sum()
    }
}

/// Rows that are worth a task of their own.
const SHARE: usize = 4096;

/// x ← x + C s for all blocks.
pub(super) fn scatter<T: Real>(blocks: &[&Block], s: &[f64], x: &mut [T]) {
    let starts = starts(blocks.iter().map(|block| block.columns));
    for_rows(blocks, x, |n, row, x| {
        let Block { columns, values, .. } = blocks[n];
        let push = dot_row(&values[columns * row..][..*columns], &s[starts[n]..]);
        *x = T::of(x.f64() + push);
    });
}

/// Where each of some parts begins, one after the other.
pub(super) fn starts(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    sizes.scan(0, |next, size| Some(std::mem::replace(next, *next + size))).collect()
}

/// Visit what the rows of all blocks have in `x`: f(block, row, value). Threads share the cells; blocks come in order.
pub(super) fn for_rows<T: Real>(blocks: &[&Block], x: &mut [T], f: impl Fn(usize, usize, &mut T) + Sync) {
    let rows: usize = blocks.iter().map(|block| block.cells.len()).sum();
    let share = x.len().div_ceil(rows.div_ceil(SHARE).clamp(1, 64)).max(1);
    x.par_chunks_mut(share).enumerate().for_each(|(n, x)| {
        let start = n * share;
        for (number, block) in blocks.iter().enumerate() {
            let place = |cell: usize| block.cells.partition_point(|&c| (c as usize) < cell);
            for row in place(start)..place(start + x.len()) {
                f(number, row, &mut x[block.cells[row] as usize - start]);
            }
        }
    });
}

/// Bodies giving way to a right-hand side, the fluid being no more than its diagonal d: one step of (d + C Cᵀ)⁻¹.
///
/// ```text
/// (1 + Cᵀ C/d) y = Cᵀ b/d,     x = b'/d,     b' = b − C y,     b − Σ x = b' − L b'/d
/// ```
///
/// Blocks are taken one by one, as if they shared no cells.
pub(super) struct Easing<'a> {
    low_rank: &'a LowRank,
    diagonal: f64,
    /// Cᵀ C of every block, and the factor of 1 + Cᵀ C/d.
    squares: Vec<(Vec<f64>, Cholesky)>,
}

impl<'a> Easing<'a> {
    pub fn new(low_rank: &'a LowRank, diagonal: f64) -> Self {
        let square = |block: &Block| {
            let n = block.columns;
            let mut square = vec![0.0; n * n];
            for (_, row) in block.rows() {
                square.chunks_exact_mut(n).zip(row).for_each(|(out, c)| add_scaled(out, *c, row));
            }
            let mut matrix: Vec<f64> = square.iter().map(|v| v / diagonal).collect();
            (0..n).for_each(|i| matrix[n * i + i] += 1.0);
            (square, Cholesky::new(n, matrix))
        };
        Self { low_rank, diagonal, squares: low_rank.blocks.par_iter().map(square).collect() }
    }

    /// Cᵀ b and y, block after block.
    fn give_way(&self, b: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut gathered = Vec::new();
        self.low_rank.gather(b, &mut gathered);
        let mut y: Vec<f64> = gathered.iter().map(|g| g / self.diagonal).collect();
        let mut rest = &mut y[..];
        for (block, (_, factor)) in self.low_rank.blocks.iter().zip(&self.squares) {
            let (own, others) = rest.split_at_mut(block.columns);
            factor.solve(own);
            rest = others;
        }
        (gathered, y)
    }

    /// ‖b'‖, if ‖b‖ is `norm`.
    pub fn norm(&self, norm: f64, b: &[f64]) -> f64 {
        let (gathered, y) = self.give_way(b);
        let mut taken: f64 = gathered.iter().zip(&y).map(|(g, y)| 2.0 * g * y).sum();
        let mut rest = &y[..];
        for (block, (square, _)) in self.low_rank.blocks.iter().zip(&self.squares) {
            let (own, others) = rest.split_at(block.columns);
            taken -= square.chunks_exact(block.columns).zip(own).map(|(row, y)| y * dot_row(row, own)).sum::<f64>();
            rest = others;
        }
        (norm * norm - taken).max(0.0).sqrt()
    }

    /// x ← x + r'/d; r ← r'.
    pub fn apply(&self, r: &mut [f64], x: &mut [f64]) {
        let taken: Vec<f64> = self.give_way(r).1.iter().map(|y| -y).collect();
        self.low_rank.scatter(&taken, r);
        x.par_iter_mut().zip(r).for_each(|(x, r)| *x += *r / self.diagonal);
    }
}

/// Σ = L + C Cᵀ as an operator, with pockets of air as further unknowns.
pub struct Coupled<'a> {
    laplacian: &'a mut Laplacian,
    low_rank: &'a LowRank,
    pockets: &'a [Pocket],
    /// Cᵀ p of the last direction.
    gathered: Vec<f64>,
}

impl<'a> Coupled<'a> {
    /// `low_rank` has no rows where `laplacian` has no unknowns.
    pub fn new(laplacian: &'a mut Laplacian, low_rank: &'a LowRank) -> Self {
        Self::with_pockets(laplacian, low_rank, &[])
    }

    /// `laplacian` has the ties to the pockets on its diagonal.
    pub fn with_pockets(laplacian: &'a mut Laplacian, low_rank: &'a LowRank, pockets: &'a [Pocket]) -> Self {
        Self { laplacian, low_rank, pockets, gathered: Vec::new() }
    }
}

impl Operator for Coupled<'_> {
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        let rr = self.laplacian.residual(b, x, r);
        if self.low_rank.blocks.is_empty() && self.pockets.is_empty() {
            return rr;
        }
        for pocket in self.pockets {
            r[pocket.node] = b[pocket.node];
            pocket.advance(1.0, x, r);
        }
        self.low_rank.gather(x, &mut self.gathered);
        self.gathered.iter_mut().for_each(|g| *g = -*g);
        self.low_rank.scatter(&self.gathered, r);
        dot(r, r)
    }

    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64 {
        let mut curvature = self.laplacian.direct(z, beta, p);
        curvature += self.pockets.iter().map(|pocket| pocket.energy(p)).sum::<f64>();
        self.low_rank.gather(p, &mut self.gathered);
        curvature + self.gathered.iter().map(|g| g * g).sum::<f64>()
    }

    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
        // What pockets and bodies add comes first, so that the norm is that of the whole residual.
        self.pockets.iter().for_each(|pocket| pocket.advance(alpha, p, r));
        self.gathered.iter_mut().for_each(|g| *g *= -alpha);
        self.low_rank.scatter(&self.gathered, r);
        self.laplacian.advance(alpha, p, x, r)
    }
}

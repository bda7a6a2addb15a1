//! What solids add to the pressure operator.
//!
//! A body that answers pressure adds B M̂⁻¹ Bᵀ (design eq. 1): every freedom of the body is a column that lives on the cells
//! around its surface. With M̂⁻¹ = F Fᵀ and C = B F this is
//!
//! ```text
//! Σ = L + C Cᵀ
//! ```
//!
//! so that a joint, which takes freedoms away, just leaves fewer columns, and a body without mass is no special case. Unlike \[A18, eq. 17\] there
//! are no impulses on faces to be eliminated by a factorisation.

use super::conjugate_gradients::Operator;
use super::dense::Cholesky;
use super::laplacian::{Laplacian, dot};
use super::pockets::Pocket;
use super::real::Real;
use super::squeezed::Squeezed;
use super::yielding::{Answer, Yielding};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// The columns of one body, or of several that are joined: sparse rows of the same cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block<V = f64> {
    /// Cells of the rows, ascending.
    pub cells: Vec<u32>,
    /// Number of columns.
    pub columns: usize,
    /// Row after row.
    pub values: Vec<V>,
    /// Whether it is rigid and fluid is all around it: what it pushes out of one place has another to go to.
    pub is_immersed: bool,
}

/// C, block by block; blocks may share cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowRank {
    /// The blocks.
    pub blocks: Vec<Block>,
}

impl<V: Real> Block<V> {
    /// Rows with their cells.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &[V])> {
        self.cells.iter().map(|&cell| cell as usize).zip(self.values.chunks_exact(self.columns.max(1)))
    }

    /// out ← Cᵀ x.
    pub fn gather<T: Real>(&self, x: &[T], out: &mut [f64]) {
        out.fill(0.0);
        self.add_gathered(x, out);
    }

    /// out ← out + Cᵀ x.
    pub fn add_gathered<T: Real>(&self, x: &[T], out: &mut [f64]) {
        match self.columns {
            BUBBLE => self.add_few::<BUBBLE, T>(x, out),
            BALL => self.add_few::<BALL, T>(x, out),
            FREE => self.add_few::<FREE, T>(x, out),
            _ => self.rows().for_each(|(cell, row)| add_scaled(out, x[cell].f64(), row)),
        }
    }

    /// The same for N columns, with sums that stay in registers.
    fn add_few<const N: usize, T: Real>(&self, x: &[T], out: &mut [f64]) {
        let mut sums = [0.0; N];
        for (&cell, row) in self.cells.iter().zip(self.values.as_chunks::<N>().0) {
            let x = x[cell as usize].f64();
            sums.iter_mut().zip(row).for_each(|(sum, c)| *sum += x * c.f64());
        }
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
    }

    /// x ← x + C s in some rows; `x` begins with cell `first`.
    fn push<T: Real>(&self, rows: Range<usize>, s: &[f64], x: &mut [T], first: usize) {
        match self.columns {
            BUBBLE => self.push_few::<BUBBLE, T>(rows, s, x, first),
            BALL => self.push_few::<BALL, T>(rows, s, x, first),
            FREE => self.push_few::<FREE, T>(rows, s, x, first),
            columns => {
                let values = self.values[columns * rows.start..].chunks_exact(columns.max(1));
                for (&cell, row) in self.cells[rows].iter().zip(values) {
                    let sum: f64 = row.iter().zip(s).map(|(c, s)| c.f64() * s).sum();
                    let x = &mut x[cell as usize - first];
                    *x = T::of(x.f64() + sum);
                }
            }
        }
    }

    /// The same for N columns.
    fn push_few<const N: usize, T: Real>(&self, rows: Range<usize>, s: &[f64], x: &mut [T], first: usize) {
        let s: &[f64; N] = s.first_chunk().expect("a number for every column");
        for (&cell, row) in self.cells[rows.clone()].iter().zip(&self.values.as_chunks::<N>().0[rows]) {
            let x = &mut x[cell as usize - first];
            *x = T::of(x.f64() + row.iter().zip(s).map(|(c, s)| c.f64() * s).sum::<f64>());
        }
    }
}

impl Block {
    /// The largest entry on the diagonal of CᵀC.
    fn largest_square(&self) -> f64 {
        let mut squares = vec![0.0; self.columns];
        self.rows().for_each(|(_, row)| squares.iter_mut().zip(row).for_each(|(square, c)| *square += c * c));
        squares.into_iter().fold(0.0, f64::max)
    }

    /// Keep the rows that `keep` tells.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.cells.len()).filter(|&row| keep(self.cells[row] as usize)).collect();
        if kept.len() < self.cells.len() {
            let mut values = Vec::with_capacity(self.columns * kept.len());
            kept.iter().for_each(|&row| values.extend_from_slice(&self.values[self.columns * row..][..self.columns]));
            self.values = values;
            self.cells = kept.iter().map(|&row| self.cells[row]).collect();
        }
    }
}

impl LowRank {
    /// The largest entry on the diagonals of CᵀC.
    pub(super) fn largest_square(&self) -> f64 {
        self.blocks.iter().map(Block::largest_square).fold(0.0, f64::max)
    }

    /// Columns of all blocks.
    pub fn columns(&self) -> usize {
        self.blocks.iter().map(|block| block.columns).sum()
    }

    /// CᵀC of every block.
    pub(super) fn squares(&self) -> Vec<Vec<f64>> {
        let square = |block: &Block| {
            let mut square = vec![0.0; block.columns * block.columns];
            for (_, row) in block.rows() {
                square.chunks_exact_mut(block.columns).zip(row).for_each(|(out, c)| add_scaled(out, *c, row));
            }
            square
        };
        self.blocks.par_iter().map(square).collect()
    }

    /// Forget rows of cells that are no unknowns of `laplacian` and have no pocket's pressure.
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
        let rows = self.blocks.iter().map(|block| block.cells.len()).sum();
        gather(&self.blocks, rows, out, |block| block.columns, |block, out| block.gather(x, out));
    }

    /// x ← x + C s.
    pub fn scatter<T: Real>(&self, s: &[f64], x: &mut [T]) {
        scatter(&self.blocks.iter().collect::<Vec<_>>(), s, x);
    }
}

/// Numbers of some `blocks`, which threads share if they have many `rows`; `count` tells how many numbers each has.
pub(super) fn gather<B: Sync>(
    blocks: &[B],
    rows: usize,
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
    if rows < SHARE {
        parts.into_iter().for_each(|(block, out)| f(block, out));
    } else {
        parts.into_par_iter().for_each(|(block, out)| f(block, out));
    }
}

/// Numbers of columns for which loops are unrolled: a bubble or a piston, a ball, which nothing turns, any other body.
const BUBBLE: usize = 1;
const BALL: usize = 3;
const FREE: usize = 6;

/// out ← out + a v.
#[inline(always)]
pub(super) fn add_scaled<V: Real>(out: &mut [f64], a: f64, v: &[V]) {
    if let (Ok(out), Ok(v)) = (<&mut [f64; FREE]>::try_from(&mut *out), <&[V; FREE]>::try_from(v)) {
        out.iter_mut().zip(v).for_each(|(out, v)| *out += a * v.f64());
    } else {
        out.iter_mut().zip(v).for_each(|(out, v)| *out += a * v.f64());
    }
}

/// Rows that are worth a task of their own.
const SHARE: usize = 4096;

/// x ← x + C s for all blocks.
pub(super) fn scatter<V: Real, T: Real>(blocks: &[&Block<V>], s: &[f64], x: &mut [T]) {
    let starts = starts(blocks.iter().map(|block| block.columns));
    for_rows(blocks, x, |n, rows, x, first| {
        blocks[n].push(rows, &s[starts[n]..], x, first);
        0.0
    });
}

/// Where each of some parts begins, one after the other.
pub(super) fn starts(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    sizes.scan(0, |next, size| Some(std::mem::replace(next, *next + size))).collect()
}

/// Visit the rows of all blocks: f(block, rows, part of `x`, its first cell). Threads share the cells; blocks come in order.
/// Returns the sum of what `f` returns.
pub(super) fn for_rows<V: Real, T: Real>(
    blocks: &[&Block<V>],
    x: &mut [T],
    f: impl Fn(usize, Range<usize>, &mut [T], usize) -> f64 + Sync,
) -> f64 {
    let rows: usize = blocks.iter().map(|block| block.cells.len()).sum();
    let share = x.len().div_ceil(rows.div_ceil(SHARE).clamp(1, 64)).max(1);
    let of_part = |(n, x): (usize, &mut [T])| {
        let first = n * share;
        let of_block = |(number, block): (usize, &&Block<V>)| {
            let place = |cell: usize| block.cells.partition_point(|&c| (c as usize) < cell);
            f(number, place(first)..place(first + x.len()), x, first)
        };
        blocks.iter().enumerate().map(of_block).sum()
    };
    let parts: Vec<f64> = x.par_chunks_mut(share).enumerate().map(of_part).collect();
    parts.iter().sum()
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
    /// CᵀC of every block, and the factor of 1 + CᵀC/d.
    squares: &'a [Vec<f64>],
    factors: Vec<Cholesky>,
}

impl<'a> Easing<'a> {
    pub fn new(low_rank: &'a LowRank, squares: &'a [Vec<f64>], diagonal: f64) -> Self {
        let factorise = |(block, square): (&Block, &Vec<f64>)| {
            let n = block.columns;
            let mut matrix: Vec<f64> = square.iter().map(|v| v / diagonal).collect();
            (0..n).for_each(|i| matrix[n * i + i] += 1.0);
            Cholesky::new(n, matrix)
        };
        let factors = low_rank.blocks.iter().zip(squares).map(factorise).collect();
        Self { low_rank, diagonal, squares, factors }
    }

    /// Cᵀ b and y, block after block.
    fn give_way(&self, b: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut gathered = Vec::new();
        self.low_rank.gather(b, &mut gathered);
        let mut y: Vec<f64> = gathered.iter().map(|g| g / self.diagonal).collect();
        let mut rest = &mut y[..];
        for (block, factor) in self.low_rank.blocks.iter().zip(&self.factors) {
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
        for (block, square) in self.low_rank.blocks.iter().zip(self.squares) {
            let (own, others) = rest.split_at(block.columns);
            let product = |row: &[f64]| row.iter().zip(own).map(|(c, y)| c * y).sum::<f64>();
            taken -= square.chunks_exact(block.columns).zip(own).map(|(row, y)| y * product(row)).sum::<f64>();
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

/// Σ = L + C Cᵀ + ρ dx³ B A⁻¹ Bᵀ as an operator, with pockets of air as further unknowns.
pub struct Coupled<'a> {
    laplacian: &'a mut Laplacian,
    low_rank: &'a LowRank,
    yielding: &'a [Yielding],
    pockets: &'a [Pocket],
    /// Regions whose bodies are not to be squeezed.
    squeezed: Option<&'a Squeezed>,
    /// E⁻¹ wᵀ p of these.
    constants: Vec<f64>,
    /// Cᵀ p of the last direction.
    gathered: Vec<f64>,
    /// What yielding bodies do about it.
    answer: Answer,
}

impl<'a> Coupled<'a> {
    /// `low_rank` has no rows where `laplacian` has no unknowns.
    pub fn new(laplacian: &'a mut Laplacian, low_rank: &'a LowRank) -> Self {
        Self {
            laplacian,
            low_rank,
            yielding: &[],
            pockets: &[],
            squeezed: None,
            constants: Vec::new(),
            gathered: Vec::new(),
            answer: Answer::default(),
        }
    }

    /// The same without what bodies do if they are squeezed.
    pub(super) fn without(self, squeezed: Option<&'a Squeezed>) -> Self {
        Self { squeezed, ..self }
    }

    /// The same with pockets of air; `laplacian` has the ties to them on its diagonal.
    pub fn with_pockets(self, pockets: &'a [Pocket]) -> Self {
        Self { pockets, ..self }
    }

    /// The same with bodies of many freedoms, which have no rows where `laplacian` has no unknowns.
    pub fn with_yielding(self, yielding: &'a [Yielding]) -> Self {
        Self { yielding, ..self }
    }
}

impl Operator for Coupled<'_> {
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        let rr = self.laplacian.residual(b, x, r);
        if self.low_rank.blocks.is_empty() && self.yielding.is_empty() && self.pockets.is_empty() {
            return rr;
        }
        for pocket in self.pockets {
            r[pocket.node] = b[pocket.node];
            pocket.advance(1.0, x, r);
        }
        self.low_rank.gather(x, &mut self.gathered);
        self.gathered.iter_mut().for_each(|g| *g = -*g);
        self.low_rank.scatter(&self.gathered, r);
        self.answer.find(self.yielding, x, 0.0);
        self.answer.add(self.yielding, -1.0, r);
        if let Some(squeezed) = self.squeezed {
            squeezed.add(1.0, &squeezed.gather(x), r);
        }
        dot(r, r)
    }

    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64 {
        let Self { laplacian, yielding, answer, .. } = self;
        // Bodies answer z, not p, so that they need not wait for it: one thread solves for them.
        let (mut curvature, answered) = if yielding.is_empty() {
            (laplacian.direct(z, beta, p), 0.0)
        } else {
            rayon::join(|| laplacian.direct(z, beta, p), || answer.find(yielding, z, beta))
        };
        curvature += self.pockets.iter().map(|pocket| pocket.energy(p)).sum::<f64>();
        curvature += answered;
        if let Some(squeezed) = self.squeezed {
            self.constants = squeezed.gather(p);
            curvature -= squeezed.product(p, &self.constants);
        }
        self.low_rank.gather(p, &mut self.gathered);
        curvature + self.gathered.iter().map(|g| g * g).sum::<f64>()
    }

    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
        // What pockets and bodies add comes first, so that the norm is that of the whole residual.
        self.pockets.iter().for_each(|pocket| pocket.advance(alpha, p, r));
        self.answer.add(self.yielding, -alpha, r);
        if let Some(squeezed) = self.squeezed {
            squeezed.add(alpha, &self.constants, r);
        }
        self.gathered.iter_mut().for_each(|g| *g *= -alpha);
        self.low_rank.scatter(&self.gathered, r);
        self.laplacian.advance(alpha, p, x, r)
    }
}

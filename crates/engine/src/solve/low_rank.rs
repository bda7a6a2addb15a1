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
use super::laplacian::{Laplacian, dot};
use super::pockets::Pocket;
use super::real::Real;
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
        for (cell, row) in self.rows() {
            let x = x[cell].f64();
            out.iter_mut().zip(row).for_each(|(out, c)| *out += c * x);
        }
    }

    /// x ← x + C s.
    pub fn scatter<T: Real>(&self, s: &[f64], x: &mut [T]) {
        for (cell, row) in self.rows() {
            let push: f64 = row.iter().zip(s).map(|(c, s)| c * s).sum();
            x[cell] = T::of(x[cell].f64() + push);
        }
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

    /// Forget rows of cells that are no unknowns of `laplacian` and hold no pocket's pressure.
    pub fn mask(&mut self, laplacian: &Laplacian, pockets: &[Pocket]) {
        if self.blocks.is_empty() {
            return;
        }
        let mut diagonal = vec![0.0; laplacian.len()];
        laplacian.diagonal(&mut diagonal);
        pockets.iter().for_each(|pocket| diagonal[pocket.node] = 1.0);
        self.blocks.iter_mut().for_each(|block| block.retain(|cell| diagonal[cell] > 0.0));
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
        out.resize(self.columns(), 0.0);
        let mut rest = &mut out[..];
        for block in &self.blocks {
            let (own, others) = rest.split_at_mut(block.columns);
            block.gather(x, own);
            rest = others;
        }
    }

    /// x ← x + C s.
    pub fn scatter<T: Real>(&self, mut s: &[f64], x: &mut [T]) {
        for block in &self.blocks {
            block.scatter(&s[..block.columns], x);
            s = &s[block.columns..];
        }
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

//! Bodies in the cycle: what Σ = L + C Cᵀ needs beyond the cycle for L.
//!
//! If S smooths for L, then (S⁻¹ + C Cᵀ)⁻¹ smooths for Σ, and as convergently: S⁻¹ ≥ L gives S⁻¹ + C Cᵀ ≥ Σ, whatever the
//! density of the bodies. With T = S C and N = Cᵀ T (Woodbury), smoothing b from zero is
//!
//! ```text
//! μ = (I + N)⁻¹ Tᵀ b,     x₁ = S b',    b' = b − C μ,     residual b − Σ x₁ = b' − L x₁
//! ```
//!
//! (because Cᵀ x₁ = μ): the plain pass down, applied to b'. After the correction e from the coarser level, whose operator
//! has the restricted columns R C, smoothing x₂ = x₁ + P e once more comes down to the plain pass up,
//!
//! ```text
//! x₃ = x₂ + S (b'' − L x₂),     b'' = b' − C κ,     κ = (I + N)⁻¹ Fᵀ x₂,    F = C − L T,
//! ```
//!
//! F being the residual that smoothing leaves of C. So a body changes right-hand sides in the cells around its surface, and
//! nothing else; T and F reach three cells farther than C. Every level does the same, down to one that is small enough for
//! a dense factorisation. Small levels are visited twice (a W-cycle): where bodies shrink to a few cells, one visit leaves
//! too much of light ones. The whole is symmetric positive definite, like the cycle for L.

use super::super::dense::Cholesky;
use super::super::low_rank::{Block, LowRank};
use super::super::real::Real;
use super::columns::Body;
use super::level::Level;
use super::sweep::coefficients;
use rayon::prelude::*;

/// The bodies on one level.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodies {
    blocks: Vec<Body>,
    /// Of I + N.
    factor: Cholesky,
    /// Of Σ itself, where the level is small.
    bottom: Option<Cholesky>,
    /// Sum of what was subtracted, per column.
    pushed: Vec<f64>,
    work: Vec<f64>,
    /// The right-hand side in the rows of C before anything was subtracted.
    saved: Vec<f64>,
}

impl Bodies {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether the level is solved directly.
    pub fn is_bottom(&self) -> bool {
        self.bottom.is_some()
    }

    /// Forget all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Factorise L + C Cᵀ of a small level.
    pub fn build_bottom<T: Real>(&mut self, c: LowRank, level: &Level<T>) {
        let n = level.dims.iter().product::<usize>();
        let [nx, ny, nz] = level.dims;
        let strides = [1, nx, nx * ny];
        let mut sigma = vec![0.0; n * n];
        for row in 0..ny * nz {
            coefficients(&level.planes[row / ny], row % ny, 0..nx, |i, (faces, inverse, _)| {
                let cell = nx * row + i;
                // What nothing ties must stay so to round-off: 1 ÷ `inverse` may be single precision.
                let (diagonal, sum) = (1.0 / inverse, faces.iter().sum::<f64>());
                let diagonal = if diagonal - sum > LEAST_TIE * diagonal { diagonal } else { sum };
                sigma[n * cell + cell] = if inverse > 0.0 { diagonal } else { 0.0 };
                for a in (0..3).filter(|&a| faces[2 * a] != 0.0) {
                    sigma[n * cell + cell - strides[a]] = -faces[2 * a];
                }
            });
        }
        for (a, left) in c.blocks.iter().flat_map(|block| block.rows().map(move |row| (block, row))) {
            for (cell, right) in a.rows().filter(|(cell, _)| *cell <= left.0) {
                sigma[n * left.0 + cell] += left.1.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
            }
        }
        *self = Self { bottom: Some(Cholesky::new(n, sigma)), ..Self::default() };
    }

    /// z ← Σ⁻¹ (`scale` b) on a small level, if this is one; returns b·z.
    pub fn solve_bottom<T: Real, B: Real>(&self, b: &[B], scale: f64, z: &mut [T]) -> Option<f64> {
        let bottom = self.bottom.as_ref()?;
        let mut v: Vec<f64> = b.iter().map(|b| scale * b.f64()).collect();
        bottom.solve(&mut v);
        z.iter_mut().zip(&v).for_each(|(z, v)| *z = T::of(*v));
        Some(b.iter().zip(&v).map(|(b, v)| b.f64() * v).sum())
    }

    /// r ← r − C Cᵀ x.
    pub fn subtract_product<T: Real>(&mut self, x: &[T], r: &mut [T]) {
        let Self { blocks, work, .. } = self;
        gather(blocks, work, |body, out| body.c.gather(x, out));
        subtract(blocks, work, r);
    }

    /// Smooth the columns `c` on `fine`, whose coarser level is `coarse`; returns the columns there.
    pub fn build<T: Real>(&mut self, c: LowRank, fine: &Level<T>, coarse: &Level<T>) -> LowRank {
        let made: Vec<(Body, Block)> = c.blocks.into_par_iter().map(|c| Body::new(c, fine, coarse)).collect();
        let (blocks, coarser) = made.into_iter().unzip();
        self.blocks = blocks;
        self.factor = cholesky(&self.blocks);
        LowRank { blocks: coarser }
    }

    /// b ← b − C μ.
    pub fn begin<B: Real>(&mut self, b: &mut [B]) {
        if self.is_empty() {
            return;
        }
        let Self { blocks, factor, pushed, saved, .. } = self;
        saved.clear();
        saved.extend(blocks.iter().flat_map(|body| &body.c.cells).map(|&cell| b[cell as usize].f64()));
        gather(blocks, pushed, |body, out| body.t.gather(b, out));
        factor.solve(pushed);
        subtract(blocks, pushed, b);
    }

    /// b ← b − C κ, with what the smoothing before (`black`, for a right-hand side times `scale`) and the correction `e`
    /// left.
    pub fn correct<T: Real, B: Real>(&mut self, black: &[T], scale: f64, e: &[T], b: &mut [B]) {
        if self.is_empty() {
            return;
        }
        let Self { blocks, factor, pushed, work, .. } = self;
        gather(blocks, work, |body, out| {
            body.f.gather(black, out);
            for (cell, row) in body.f_coarse.rows() {
                let e = e[cell].f64();
                out.iter_mut().zip(row).for_each(|(out, f)| *out += f * e);
            }
            out.iter_mut().for_each(|out| *out /= scale);
        });
        factor.solve(work);
        subtract(blocks, work, b);
        pushed.iter_mut().zip(work).for_each(|(pushed, more)| *pushed += *more);
    }

    /// Make b what it was; returns (b − what it had become)·z.
    pub fn end<T: Real, B: Real>(&mut self, z: &[T], b: &mut [B]) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let Self { blocks, pushed, work, saved, .. } = self;
        let cells = blocks.iter().flat_map(|body| &body.c.cells);
        cells.zip(saved).for_each(|(&cell, saved)| b[cell as usize] = B::of(*saved));
        gather(blocks, work, |body, out| body.c.gather(z, out));
        pushed.iter().zip(work).map(|(pushed, z)| *pushed * *z).sum()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let block = |block: &Block| 4 * block.cells.capacity() + 8 * block.values.capacity();
        let body = |body: &Body| block(&body.c) + block(&body.t) + block(&body.f) + block(&body.f_coarse);
        self.blocks.iter().map(body).sum::<usize>() + self.factor.bytes() + 8 * self.saved.capacity()
    }
}

/// One number per column of each block.
fn gather(blocks: &[Body], out: &mut Vec<f64>, f: impl Fn(&Body, &mut [f64]) + Sync) {
    out.resize(blocks.iter().map(|body| body.c.columns).sum(), 0.0);
    let mut parts: Vec<(&Body, &mut [f64])> = Vec::with_capacity(blocks.len());
    let mut rest = &mut out[..];
    for body in blocks {
        let (own, others) = rest.split_at_mut(body.c.columns);
        parts.push((body, own));
        rest = others;
    }
    parts.into_par_iter().for_each(|(body, out)| f(body, out));
}

/// b ← b − C s.
fn subtract<B: Real>(blocks: &[Body], mut s: &[f64], b: &mut [B]) {
    for body in blocks {
        let columns = body.c.columns;
        for (cell, row) in body.c.rows() {
            let push: f64 = row.iter().zip(s).map(|(c, s)| c * s).sum();
            b[cell] = B::of(b[cell].f64() - push);
        }
        s = &s[columns..];
    }
}

/// Ties below this part of the diagonal count as none where a level is solved directly.
const LEAST_TIE: f64 = 1e-6;

/// The factor of I + N, N = Cᵀ T.
fn cholesky(blocks: &[Body]) -> Cholesky {
    let starts: Vec<usize> = blocks
        .iter()
        .scan(0, |next, body| {
            let start = *next;
            *next += body.c.columns;
            Some(start)
        })
        .collect();
    let m: usize = blocks.iter().map(|body| body.c.columns).sum();
    // The upper triangle of blocks, each of which is independent of the others.
    let pairs: Vec<(usize, usize)> = (0..blocks.len()).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let products: Vec<Option<Vec<f64>>> = pairs.par_iter().map(|&(a, b)| product(&blocks[a].c, &blocks[b].t)).collect();
    let mut matrix = vec![0.0; m * m];
    for (&(a, b), product) in pairs.iter().zip(products) {
        for (n, value) in product.into_iter().flatten().enumerate() {
            let (row, column) = (starts[a] + n / blocks[b].c.columns, starts[b] + n % blocks[b].c.columns);
            matrix[m * row + column] = value;
        }
    }
    for n in 0..m {
        matrix[m * n + n] += 1.0;
    }
    Cholesky::new(m, matrix)
}

/// Aᵀ B, row after row; nothing if they share no cell.
fn product(a: &Block, b: &Block) -> Option<Vec<f64>> {
    if a.cells.last()? < b.cells.first()? || b.cells.last()? < a.cells.first()? {
        return None;
    }
    let mut product = vec![0.0; a.columns * b.columns];
    let mut rows = b.rows().peekable();
    for (cell, left) in a.rows() {
        while rows.next_if(|(other, _)| *other < cell).is_some() {}
        let Some((_, right)) = rows.next_if(|(other, _)| *other == cell) else { continue };
        for (product, left) in product.chunks_exact_mut(b.columns).zip(left) {
            product.iter_mut().zip(right).for_each(|(product, right)| *product += left * right);
        }
    }
    Some(product)
}

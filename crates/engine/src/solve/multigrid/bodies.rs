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
//! a dense factorisation. Coarse levels are visited twice (a W-cycle): where bodies shrink to a few cells, one visit leaves
//! too much of light ones. The whole is symmetric positive definite, like the cycle for L.

use super::super::dense::Cholesky;
use super::super::low_rank::{Block, LowRank};
use super::super::real::Real;
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

/// The columns of one block.
#[derive(Clone, Debug, Default)]
struct Body {
    c: Block,
    /// S C.
    t: Block,
    /// C − L T; its rows are black cells, given by their slots.
    f: Block,
    /// F on the coarser level.
    f_coarse: Block,
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
                sigma[n * cell + cell] = if inverse > 0.0 { 1.0 / inverse } else { 0.0 };
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
        let mut v: Vec<f64> = b.iter().map(|b| scale * b.f64()).collect();
        self.bottom.as_ref()?.solve(&mut v);
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

/// How far smoothing carries a value, and one cell more for the residual it leaves.
const REACH: usize = 3;

/// The cells around a block, as a box of the level.
struct Patch {
    low: [usize; 3],
    size: [usize; 3],
}

impl Patch {
    fn around(cells: &[u32], dims: [usize; 3]) -> Self {
        let (mut low, mut high) = (dims, [0; 3]);
        for &cell in cells {
            let at = unravel(dims, cell as usize);
            for a in 0..3 {
                low[a] = low[a].min(at[a].saturating_sub(REACH));
                high[a] = high[a].max((at[a] + REACH + 1).min(dims[a]));
            }
        }
        Self { low, size: std::array::from_fn(|a| high[a].saturating_sub(low[a])) }
    }

    fn len(&self) -> usize {
        self.size.iter().product()
    }

    /// Rows along x: (j, k) on the level, and the first index in the patch.
    fn rows(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let [nx, ny, nz] = self.size;
        (0..ny * nz).map(move |n| (self.low[1] + n % ny, self.low[2] + n / ny, nx * n))
    }

    fn index(&self, at: [usize; 3]) -> usize {
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| at[a] - self.low[a]);
        i + self.size[0] * (j + self.size[1] * k)
    }

    /// Values beyond the patch are zero: close the faces to them.
    fn close(&self, stencils: &mut [Stencil]) {
        for (n, (faces, ..)) in stencils.iter_mut().enumerate() {
            let at = unravel(self.size, n);
            for a in 0..3 {
                if at[a] == 0 {
                    faces[2 * a] = 0.0;
                }
                if at[a] + 1 == self.size[a] {
                    faces[2 * a + 1] = 0.0;
                }
            }
        }
    }

    fn at(&self, index: usize) -> [usize; 3] {
        let at = unravel(self.size, index);
        std::array::from_fn(|a| at[a] + self.low[a])
    }
}

fn unravel([nx, ny, _]: [usize; 3], index: usize) -> [usize; 3] {
    [index % nx, index / nx % ny, index / (nx * ny)]
}

/// Stencil of a cell: conductances, 1 ÷ diagonal, interpolation factor.
type Stencil = ([f64; 6], f64, f64);

impl Body {
    fn new<T: Real>(mut c: Block, fine: &Level<T>, coarse: &Level<T>) -> (Self, Block) {
        let dims = fine.dims;
        let patch = Patch::around(&c.cells, dims);
        let mut stencils: Vec<Stencil> = vec![([0.0; 6], 0.0, 0.0); patch.len()];
        for (j, k, first) in patch.rows() {
            let cells = patch.low[0]..patch.low[0] + patch.size[0];
            coefficients(&fine.planes[k], j, cells.clone(), |i, stencil| stencils[first + i - cells.start] = stencil);
        }
        patch.close(&mut stencils);
        c.retain(|cell| stencils[patch.index(unravel(dims, cell))].1 > 0.0);

        let is_red: Vec<bool> = (0..patch.len()).map(|n| patch.at(n).iter().sum::<usize>().is_multiple_of(2)).collect();
        let [nx, ny, _] = patch.size;
        let strides = [1, nx, nx * ny];
        let around = |v: &[f64], n: usize| {
            let faces = &stencils[n].0;
            let mut sum = 0.0;
            for a in 0..3 {
                if faces[2 * a] != 0.0 {
                    sum += faces[2 * a] * v[n - strides[a]];
                }
                if faces[2 * a + 1] != 0.0 {
                    sum += faces[2 * a + 1] * v[n + strides[a]];
                }
            }
            sum
        };
        let cells_of =
            |red: bool| (0..patch.len()).filter(|&n| is_red[n] == red && stencils[n].1 > 0.0).collect::<Vec<_>>();
        let (red, black) = (cells_of(true), cells_of(false));
        let columns = c.columns;
        let mut smoothed = vec![vec![0.0; patch.len()]; columns];
        let mut left = vec![vec![0.0; patch.len()]; columns];
        let (mut b, mut first) = (vec![0.0; patch.len()], vec![0.0; patch.len()]);
        for column in 0..columns {
            b.fill(0.0);
            for (cell, row) in c.rows() {
                b[patch.index(unravel(dims, cell))] = row[column];
            }
            let (x, f) = (&mut smoothed[column], &mut left[column]);
            first.fill(0.0);
            red.iter().for_each(|&n| first[n] = stencils[n].1 * b[n]);
            black.iter().for_each(|&n| x[n] = stencils[n].1 * (b[n] + around(&first, n)));
            // What the second red sweep changes is all that leaves a residual, in black cells.
            let mut change = vec![0.0; patch.len()];
            red.iter().for_each(|&n| change[n] = stencils[n].1 * around(x, n));
            red.iter().for_each(|&n| x[n] = first[n] + change[n]);
            black.iter().for_each(|&n| f[n] = around(&change, n));
        }
        let whole = |n: usize| {
            let [i, j, k] = patch.at(n);
            i + dims[0] * (j + dims[1] * k)
        };
        let half = dims[0].div_ceil(2);
        let slot = |n: usize| {
            let [i, j, k] = patch.at(n);
            i / 2 + half * (j + dims[1] * k)
        };
        let t = sparse(&smoothed, 0..patch.len(), whole);
        let f = sparse(&left, black.iter().copied(), slot);
        let scaled =
            |n: usize, row: &mut dyn Iterator<Item = f64>| (whole(n), row.map(|v| v * stencils[n].2).collect());
        let left_rows = black.iter().filter(|&&n| left.iter().any(|f| f[n] != 0.0));
        let left_rows = left_rows.map(|&n| scaled(n, &mut left.iter().map(|f| f[n]))).collect();
        let c_rows = c.rows().map(|(cell, row)| scaled(patch.index(unravel(dims, cell)), &mut row.iter().copied()));
        let f_coarse = restrict(left_rows, columns, dims, coarse);
        let c_coarse = restrict(c_rows.collect(), columns, dims, coarse);
        (Self { c, t, f, f_coarse }, c_coarse)
    }
}

/// Rows that are not zero, of columns over a patch, under the number that `name` gives them.
fn sparse(columns: &[Vec<f64>], cells: impl Iterator<Item = usize>, name: impl Fn(usize) -> usize) -> Block {
    let mut block = Block { columns: columns.len(), ..Block::default() };
    for n in cells.filter(|&n| columns.iter().any(|column| column[n] != 0.0)) {
        block.cells.push(name(n) as u32);
        block.values.extend(columns.iter().map(|column| column[n]));
    }
    block
}

/// Rows of a level of `dims` on the coarser one: the transpose of interpolation, see `transfer`.
fn restrict<T: Real>(rows: Vec<(usize, Vec<f64>)>, columns: usize, dims: [usize; 3], coarse: &Level<T>) -> Block {
    let [nx, ny, _] = coarse.dims;
    let strides = [1, nx, nx * ny];
    let mut sums = std::collections::BTreeMap::<usize, Vec<f64>>::new();
    let mut add = |cell: usize, row: &[f64], weight: f64| {
        let sum = sums.entry(cell).or_insert_with(|| vec![0.0; columns]);
        sum.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * v);
    };
    for (cell, row) in rows {
        let at = unravel(dims, cell);
        let parent = at[0] / 2 + nx * (at[1] / 2 + ny * (at[2] / 2));
        let mut own = 1.0;
        for a in 0..3 {
            let upper = at[a] % 2;
            if coarse.coarse.open[parent] >> (2 * a + upper) & 1 == 1 {
                let beside = if upper == 1 { parent + strides[a] } else { parent - strides[a] };
                add(beside, &row, 0.25);
                own -= 0.25;
            }
        }
        add(parent, &row, own);
    }
    let mut block = Block { columns, ..Block::default() };
    for (cell, row) in sums {
        block.cells.push(cell as u32);
        block.values.extend(row);
    }
    block
}

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

//! Bodies and pockets of air in the cycle: what Σ = L + C Cᵀ, with pockets as further unknowns, needs beyond the cycle for L. (Unlike
//! \[A18, eq. 10\], which preconditions Σ by cycles in which bodies are air.)
//!
//! If S smooths for L, then (S⁻¹ + C Cᵀ)⁻¹ smooths for Σ, and as convergently: S⁻¹ ≥ L gives S⁻¹ + C Cᵀ ≥ Σ, whatever the
//! density of the bodies. Pockets ([`Pocket`](super::super::pockets::Pocket)) are treated alike: put S⁻¹ in the place of L.
//! What bodies do to the cells are the columns C with multipliers μ = Cᵀp + C_λᵀλ (C_λ being the rows of pockets), what pockets do
//! the columns −W with multipliers λ. With K = [C, −W], T = S K and y = (μ, λ), smoothing b from zero is
//!
//! ```text
//! H y = Tᵀ b − (0, b_λ),     x₁ = S b',    b' = b − K y,     residual b − Σ x₁ + W λ = b' − L x₁
//!
//! H = [ I  0 ] + Kᵀ T − [ 0    C_λᵀ ]
//!     [ 0 −s ]          [ C_λ  0    ]
//! ```
//!
//! so the residual is that of the plain pass down, applied to b', and pockets have none. H is quasi-definite, because s − WᵀSW ≥
//! s − WᵀL⁻¹W ≥ 0. After the correction e from the coarser level, smoothing x₂ = x₁ + P e once more comes down to the plain pass up,
//!
//! ```text
//! x₃ = x₂ + S (b'' − L x₂),     b'' = b' − K κ,     H κ = Fᵀ x₂,    F = K − L T,
//! ```
//!
//! F being the residual that smoothing leaves of K; the pockets' pressures are those of y + κ. So bodies and pockets change
//! right-hand sides in the cells around their surfaces, and nothing else; T and F reach three cells farther than K.
//!
//! Where vertices of soft bodies are columns of their own ([`Patched`]), these come first in K; coarser levels have ties instead.
//! What they add is K G⁻¹ Kᵀ, and H has G in the place of I.
//!
//! Every level does the same, down to one that is small enough for a dense factorisation. Pockets stay what they are on all levels;
//! their ties are coarsened like those to zero pressure, and P hands on their corrections as it does zero ([`Felt`]), so that
//! constants stay constant. With bodies small levels are visited twice (a W-cycle): where they shrink to a few cells, one visit
//! leaves too much of light ones. The whole is symmetric positive definite, like the cycle for L.

use super::super::dense::Cholesky;
use super::super::low_rank::{self, Block, LowRank};
use super::super::patches::Patches;
use super::super::real::Real;
use super::bottom::factorise;
use super::columns::{Columns, Felt, Surroundings};
use super::level::Level;
use super::patched::Patched;
use rayon::prelude::*;

/// The bodies and pockets on one level.
#[derive(Clone, Debug, Default)]
pub(super) struct LevelBodies<T> {
    /// Columns of vertices, which come before all others.
    patched: Patched<T>,
    /// Columns of the bodies, then of the pockets.
    blocks: Vec<Columns<T>>,
    pockets: Vec<Node<T>>,
    /// How many of the columns are those of bodies and their vertices.
    moving: usize,
    /// Whether the coarser level is worth a second visit.
    visits_twice: bool,
    /// Of H.
    factor: Cholesky,
    /// Of Σ itself, where the level is small.
    bottom: Option<Cholesky>,
    /// Both without the bodies, if there are pockets as well.
    alone: Option<Box<PocketsAlone>>,
    /// Whether the bodies are left out.
    pub are_left_out: bool,
    /// y: what was subtracted, per column.
    pushed: Vec<f64>,
    work: Vec<f64>,
    /// The right-hand side in the rows of K before anything was subtracted.
    saved: Vec<f64>,
}

/// What takes the place of `LevelBodies::factor` and `LevelBodies::bottom` when bodies are left out.
#[derive(Clone, Debug, Default)]
struct PocketsAlone {
    factor: Cholesky,
    bottom: Option<Cholesky>,
}

/// A pocket on one level.
#[derive(Clone, Debug, Default)]
struct Node<T> {
    /// Σ w.
    total: f64,
    /// Its row of C_λ.
    row: Vec<f64>,
    felt: Felt<T>,
    /// b_λ.
    rhs: f64,
    /// λ.
    value: f64,
}

/// The system of one level beyond L.
pub(super) struct Extra {
    /// C, without the rows of pockets.
    pub bodies: LowRank,
    /// Columns of vertices, on the finest level.
    pub patches: Patches,
    /// −w of every pocket, and its row of C_λ.
    pub pockets: Vec<(Block, Vec<f64>)>,
    /// Whether small levels are visited twice.
    pub visits_twice: bool,
}

impl<T: Real> LevelBodies<T> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.patched.k.columns == 0
    }

    /// Whether there are pockets.
    pub fn has_pockets(&self) -> bool {
        !self.pockets.is_empty()
    }

    /// Whether the coarser level is worth a second visit.
    pub fn visits_twice(&self) -> bool {
        self.visits_twice && !self.are_left_out
    }

    /// Whether the level is solved directly.
    pub fn is_bottom(&self) -> bool {
        self.bottom.is_some()
    }

    /// Forget all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Take the right-hand side of every pocket.
    pub fn set_rhs(&mut self, rhs: impl Iterator<Item = f64>) {
        self.pockets.iter_mut().zip(rhs).for_each(|(pocket, rhs)| pocket.rhs = rhs);
    }

    /// Pressure of every pocket.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.pockets.iter().map(|pocket| pocket.value)
    }

    /// Factorise Σ of a small level.
    pub fn build_bottom(&mut self, extra: Extra, level: &Level<T>) {
        let Extra { mut bodies, patches, mut pockets, .. } = extra;
        // On so small a grid, vertices may as well not drag one another.
        bodies.blocks.extend((patches.columns > 0).then(|| patches.whole()));
        pockets.iter_mut().for_each(|(_, row)| row.resize(bodies.columns(), 0.0));
        *self = Self { pockets: pockets.iter().map(Node::new).collect(), ..Self::default() };
        self.bottom = Some(factorise(&bodies, &pockets, level));
        if self.has_pockets() && bodies.columns() > 0 {
            self.alone = Some(Box::new(PocketsAlone {
                bottom: Some(factorise(&LowRank::default(), &pockets, level)),
                ..PocketsAlone::default()
            }));
        }
    }

    /// z ← Σ⁻¹ (`scale` b) on a small level, if this is one; returns b·z.
    pub fn solve_bottom<B: Real>(&mut self, b: &[B], scale: f64, z: &mut [T]) -> Option<f64> {
        let whole = self.bottom.as_ref()?;
        let alone = self.alone.as_ref().and_then(|alone| alone.bottom.as_ref()).filter(|_| self.are_left_out);
        let all = b.iter().map(|b| b.f64()).chain(self.pockets.iter().map(|pocket| pocket.rhs));
        let mut v: Vec<f64> = all.map(|b| scale * b).collect();
        alone.unwrap_or(whole).solve(&mut v);
        z.iter_mut().zip(&v).for_each(|(z, v)| *z = T::of(*v));
        let mut product: f64 = b.iter().zip(&v).map(|(b, v)| b.f64() * v).sum();
        for (pocket, &v) in self.pockets.iter_mut().zip(&v[b.len()..]) {
            pocket.value = v;
            product += pocket.rhs * v;
        }
        Some(product)
    }

    /// r ← r − Σ x beyond L, and the same for the right-hand sides of the pockets; x is that of the last cycle.
    pub fn subtract_product(&mut self, x: &[T], r: &mut [T]) {
        let Self { patched, blocks, pockets, moving, work, are_left_out, .. } = self;
        gather(
            patched,
            blocks,
            work,
            |patched, out| patched.k.add_gathered(x, out),
            |block, out| block.k.gather(x, out),
        );
        let (mu, drawn) = work.split_at_mut(*moving);
        let first = patched.k.columns;
        for pocket in pockets.iter() {
            mu[first..].iter_mut().zip(&pocket.row).for_each(|(mu, c)| *mu += c * pocket.value);
        }
        if *are_left_out {
            mu.fill(0.0);
        }
        for (pocket, drawn) in pockets.iter_mut().zip(drawn) {
            let pushed: f64 = pocket.row.iter().zip(&mu[first..]).map(|(c, mu)| c * mu).sum();
            pocket.rhs -= pocket.total * pocket.value + *drawn + pushed;
            *drawn = pocket.value;
        }
        let work = std::mem::take(work);
        self.subtract(&work, r);
        self.work = work;
    }

    /// b ← b − K y.
    fn subtract<B: Real>(&self, y: &[f64], b: &mut [B]) {
        let columns: Vec<&Block<T>> = self.blocks.iter().map(|block| &block.k).collect();
        let (of_patches, of_blocks) = y.split_at(self.patched.k.columns);
        self.patched.k.subtract(of_patches, b);
        low_rank::scatter(&columns, &of_blocks.iter().map(|y| -y).collect::<Vec<f64>>(), b);
    }

    /// Smooth the columns on `fine`, whose coarser level is `coarse`; returns what there is of them there.
    pub fn build(&mut self, extra: Extra, fine: &Level<T>, coarse: &Level<T>) -> Extra {
        let Extra { bodies, patches, pockets, visits_twice } = extra;
        let columns = patches.columns + bodies.columns();
        let patched = Patched::new(&patches, fine, coarse);
        // Blocks of one body have the same cells.
        let of_body = |blocks: &[Block]| {
            let here = Surroundings::new(&blocks[0].cells, fine);
            blocks.par_iter().map(|c| Columns::of_body(c.clone(), &here, coarse)).collect::<Vec<_>>()
        };
        let one_by_one: Vec<&[Block]> = bodies.blocks.chunk_by(|a, b| a.cells == b.cells).collect();
        let moved: Vec<(Columns<T>, Block)> = one_by_one.into_par_iter().flat_map(of_body).collect();
        let (blocks, blocks_coarse): (Vec<Columns<T>>, Vec<Block>) = moved.into_iter().unzip();
        *self = Self { patched, blocks, moving: columns, visits_twice, ..Self::default() };
        let bodies = LowRank { blocks: blocks_coarse };
        let mut coarser = Extra { bodies, patches: Patches::default(), pockets: Vec::new(), visits_twice };
        let of_pockets: Vec<(Columns<T>, Felt<T>, Block)> =
            pockets.par_iter().map(|(k, _)| Columns::of_pocket(k, fine, coarse)).collect();
        for (pocket, (columns, felt, k_coarse)) in pockets.iter().zip(of_pockets) {
            // P hands on corrections of pockets to the cells, so its transpose hands on rows of C to the pockets.
            let mut row = pocket.1.clone();
            let mut rest = &mut row[..];
            for block in &self.blocks[..coarser.bodies.blocks.len()] {
                let (own, others) = rest.split_at_mut(block.k.columns);
                for (own, value) in own.iter_mut().zip(product(&felt.lift, &block.k).into_iter().flatten()) {
                    *own += value;
                }
                rest = others;
            }
            coarser.pockets.push((k_coarse, row));
            self.pockets.push(Node { felt, ..Node::new(pocket) });
            self.blocks.push(columns);
        }
        self.factorise();
        coarser
    }

    /// Factorise H.
    fn factorise(&mut self) {
        let (bodies, columns) = (self.blocks.len() - self.pockets.len(), self.moving + self.pockets.len());
        let mut h = vec![0.0; columns * columns];
        self.patched.products(&mut h, columns, self.blocks.iter().map(|block| &block.k));
        products(&self.blocks, self.patched.k.columns, columns, &mut h);
        for n in 0..self.moving {
            h[columns * n + n] += 1.0;
        }
        for &(row, column, value) in self.patched.k.links() {
            h[columns * row as usize + column as usize] += value;
        }
        for (n, pocket) in self.pockets.iter().enumerate() {
            let row = &mut h[columns * (self.moving + n)..][..columns];
            row[self.moving + n] -= pocket.total;
            row[self.patched.k.columns..].iter_mut().zip(&pocket.row).for_each(|(h, c)| *h -= c);
        }
        if bodies > 0 && self.has_pockets() {
            let n = self.pockets.len();
            let rows = h.chunks_exact(columns).skip(self.moving);
            let alone = rows.flat_map(|row| row[self.moving..].to_vec()).collect();
            let factor = Cholesky::quasi_definite(n, 0, alone);
            self.alone = Some(Box::new(PocketsAlone { factor, bottom: None }));
        }
        self.factor = Cholesky::quasi_definite(columns, self.moving, h);
    }

    /// y ← H⁻¹ y.
    fn solve(&self, y: &mut [f64]) {
        match &self.alone {
            Some(alone) if self.are_left_out => {
                y[..self.moving].fill(0.0);
                alone.factor.solve(&mut y[self.moving..]);
            }
            _ => self.factor.solve(y),
        }
    }

    /// b ← b − K y.
    pub fn begin<B: Real>(&mut self, b: &mut [B]) {
        if self.is_empty() {
            return;
        }
        let Self { patched, blocks, pushed, saved, .. } = self;
        low_rank::gather(
            blocks,
            rows(blocks),
            saved,
            |block| block.k.cells.len(),
            |block, saved| {
                saved.iter_mut().zip(&block.k.cells).for_each(|(saved, &cell)| *saved = b[cell as usize].f64());
            },
        );
        saved.extend(patched.k.cells.iter().map(|&cell| b[cell as usize].f64()));
        gather(
            patched,
            blocks,
            pushed,
            |patched, out| patched.t.add_gathered(b, out),
            |block, out| block.t.gather(b, out),
        );
        pushed[self.moving..].iter_mut().zip(&self.pockets).for_each(|(y, pocket)| *y -= pocket.rhs);
        let mut y = std::mem::take(pushed);
        self.solve(&mut y);
        self.subtract(&y, b);
        self.pushed = y;
    }

    /// Right-hand sides of the pockets on the coarser level, from what smoothing left.
    pub fn restrict(&self, black: &[T], coarser: &mut Self) {
        let left = |pocket: &Node<T>| {
            let mut sum = [0.0];
            pocket.felt.left.gather(black, &mut sum);
            sum[0]
        };
        coarser.set_rhs(self.pockets.iter().map(left));
    }

    /// b ← b − K κ, with what the smoothing before (`black`, for a right-hand side times `scale`) and the correction `e`
    /// left; `coarser` has the pockets' part of that, which is added to `black`.
    pub fn correct<B: Real>(&mut self, black: &mut [T], scale: f64, e: &[T], coarser: &Self, b: &mut [B]) {
        if self.is_empty() {
            return;
        }
        for (pocket, correction) in self.pockets.iter().zip(coarser.values()) {
            low_rank::scatter(&[&pocket.felt.black], &[correction], black);
        }
        let Self { patched, blocks, work, .. } = self;
        gather(
            patched,
            blocks,
            work,
            |patched, out| patched.add_left(black, e, out),
            |block, out| {
                block.f.gather(black, out);
                block.f_coarse.add_gathered(e, out);
            },
        );
        let mut kappa = std::mem::take(work);
        kappa.iter_mut().for_each(|kappa| *kappa /= scale);
        self.solve(&mut kappa);
        self.subtract(&kappa, b);
        self.pushed.iter_mut().zip(&kappa).for_each(|(pushed, more)| *pushed += *more);
        self.work = kappa;
    }

    /// Make b what it was, and find the pockets' pressures; returns (b − what it had become)·z, pockets included.
    pub fn end<B: Real>(&mut self, z: &[T], scale: f64, b: &mut [B]) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let Self { patched, blocks, pockets, moving, pushed, saved, .. } = self;
        let columns: Vec<&Block<T>> = blocks.iter().map(|block| &block.k).collect();
        let starts = low_rank::starts(columns.iter().map(|block| block.cells.len()));
        // Cells that several have change back once, and add to the product once.
        let restore = |b: &mut B, saved: f64, z: T| {
            let change = saved - b.f64();
            *b = B::of(saved);
            change * z.f64()
        };
        let mut product = low_rank::for_rows(&columns, b, |n, rows, b, first| {
            let saved = &saved[starts[n] + rows.start..];
            let cells = columns[n].cells[rows].iter().map(|&cell| cell as usize);
            cells.zip(saved).map(|(cell, &saved)| restore(&mut b[cell - first], saved, z[cell])).sum()
        });
        let of_patches = &saved[starts.last().map_or(0, |start| start + columns[columns.len() - 1].cells.len())..];
        for (&cell, &saved) in patched.k.cells.iter().zip(of_patches) {
            product += restore(&mut b[cell as usize], saved, z[cell as usize]);
        }
        for (pocket, y) in pockets.iter_mut().zip(&pushed[*moving..]) {
            pocket.value = T::of(scale * y).f64();
            product += pocket.rhs * pocket.value;
        }
        product
    }

    /// Add to the pockets' pressures.
    pub fn add_values(&mut self, more: &[f64]) {
        self.pockets.iter_mut().zip(more).for_each(|(pocket, more)| pocket.value += more);
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        let block = |block: &Block<T>| 4 * block.cells.capacity() + size_of::<T>() * block.values.capacity();
        let columns = |c: &Columns<T>| block(&c.k) + block(&c.t) + block(&c.f) + block(&c.f_coarse);
        let felt = |node: &Node<T>| block(&node.felt.lift) + block(&node.felt.black) + block(&node.felt.left);
        self.patched.bytes()
            + self.blocks.iter().map(columns).sum::<usize>()
            + self.pockets.iter().map(felt).sum::<usize>()
            + self.factor.bytes()
            + 8 * self.saved.capacity()
    }
}

impl<T: Real> Node<T> {
    fn new((k, row): &(Block, Vec<f64>)) -> Self {
        Self { total: -k.values.iter().sum::<f64>(), row: row.clone(), ..Self::default() }
    }
}

/// One number per column: those of the patches, then those of each block.
fn gather<T: Real>(
    patched: &Patched<T>,
    blocks: &[Columns<T>],
    out: &mut Vec<f64>,
    of_patches: impl Fn(&Patched<T>, &mut [f64]),
    of_block: impl Fn(&Columns<T>, &mut [f64]) + Sync,
) {
    low_rank::gather(blocks, rows(blocks), out, |block| block.k.columns, of_block);
    if patched.k.columns > 0 {
        let mut first = vec![0.0; patched.k.columns];
        of_patches(patched, &mut first);
        out.splice(0..0, first);
    }
}

/// Rows of all K.
fn rows<T>(blocks: &[Columns<T>]) -> usize {
    blocks.iter().map(|block| block.k.cells.len()).sum()
}

/// Kᵀ T, the lower triangle of blocks, the first of which is column `first`.
fn products<T: Real>(blocks: &[Columns<T>], first: usize, columns: usize, matrix: &mut [f64]) {
    let starts = low_rank::starts(blocks.iter().map(|block| block.k.columns));
    // Each pair of blocks is independent of the others.
    let pairs: Vec<(usize, usize)> = (0..blocks.len()).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    let products: Vec<Option<Vec<f64>>> = pairs.par_iter().map(|&(a, b)| product(&blocks[a].k, &blocks[b].t)).collect();
    for (&(a, b), product) in pairs.iter().zip(products) {
        for (n, value) in product.into_iter().flatten().enumerate() {
            let (row, column) =
                (first + starts[a] + n / blocks[b].k.columns, first + starts[b] + n % blocks[b].k.columns);
            matrix[columns * row + column] = value;
        }
    }
}

/// Aᵀ B, row after row; nothing if they share no cell.
fn product<T: Real>(a: &Block<T>, b: &Block<T>) -> Option<Vec<f64>> {
    if a.cells.last()? < b.cells.first()? || b.cells.last()? < a.cells.first()? {
        return None;
    }
    let mut product = vec![0.0; a.columns * b.columns];
    let mut rows = b.rows().peekable();
    for (cell, left) in a.rows() {
        while rows.next_if(|(other, _)| *other < cell).is_some() {}
        let Some((_, right)) = rows.next_if(|(other, _)| *other == cell) else { continue };
        for (product, left) in product.chunks_exact_mut(b.columns).zip(left) {
            low_rank::add_scaled(product, left.f64(), right);
        }
    }
    Some(product)
}

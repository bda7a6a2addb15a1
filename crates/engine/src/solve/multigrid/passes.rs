//! The two passes of a level over memory: down to the coarser level and up again.
//!
//! Smoothing is Gauss–Seidel by colours, red–black–red, before and after the correction: its own reverse, so the cycle is
//! symmetric. From a zero guess the first red and black values follow from b alone; everything up to the restricted
//! residual is done in one pass over the planes, each stage one plane behind the one before, and so is everything from
//! the correction to the result:
//!
//! ```text
//! descend   t = D⁻¹b (red)   y = D⁻¹(b + Nt) (black)   δ = D⁻¹Ny (red: what the second red sweep changes)
//!           residual = Nδ (black; red has none)
//! ascend    y + P e (black)   w = D⁻¹(b + N·) (red)   v = D⁻¹(b + Nw) (black)   z = D⁻¹(b + Nv) (red) and v
//! ```
//!
//! with L = D − N. Planes at the border of a slab are computed by both neighbours, so threads never wait for each
//! other within a pass and every value is computed the same way whatever the number of threads.

use super::super::real::Real;
use super::level::{Coarse, Level};
use super::sweep::{Around, divide, scale_by_factor, sweep};
use super::transfer::{BlockMoments, add_row, interpolate};
use rayon::prelude::*;

/// Planes in flight of one slab, one colour each; a stage's plane k is kept at index k modulo the number kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    b_red: [Sheet<T>; 4],
    b_black: [Sheet<T>; 3],
    stages: [[Sheet<T>; 3]; 3],
    row: Vec<T>,
}

/// One colour of a plane. Rows have one slot more at either end, so that every cell has neighbours along x; what is there is
/// multiplied by zero.
#[derive(Clone, Debug, Default)]
struct Sheet<T> {
    half: usize,
    data: Vec<T>,
}

impl<T: Real> Sheet<T> {
    fn row(&self, j: usize) -> &[T] {
        &self.data[(self.half + 2) * j + 1..][..self.half]
    }

    fn row_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[(self.half + 2) * j + 1..][..self.half]
    }

    fn wide_row(&self, j: usize) -> &[T] {
        &self.data[(self.half + 2) * j..][..self.half + 2]
    }
}

impl<T: Real> Ring<T> {
    /// Make room for planes of `dims` and all smaller ones.
    pub fn resize(&mut self, [nx, ny, _]: [usize; 3]) {
        let half = nx.div_ceil(2);
        for sheet in self.sheets() {
            sheet.data.clear();
            sheet.data.resize((half + 2) * ny, T::of(0.0));
        }
        self.row.resize(half, T::of(0.0));
    }

    /// Use planes of `half` slots a row.
    fn shape(&mut self, half: usize) {
        self.sheets().for_each(|sheet| sheet.half = half);
    }

    fn sheets(&mut self) -> impl Iterator<Item = &mut Sheet<T>> {
        self.b_red.iter_mut().chain(&mut self.b_black).chain(self.stages.as_flattened_mut())
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        size_of::<T>() * 16 * self.b_red[0].data.capacity()
    }
}

impl<T: Real> Level<T> {
    /// Pre-smooth from zero and gather the residual: `scale`·b → black values, and moments for the coarser level.
    pub fn descend<B: Real>(&mut self, b: &[B], scale: f64, moments: &mut BlockMoments<T>, rings: &mut [Ring<T>]) {
        let [nx, ny, nz] = self.dims;
        let half = nx.div_ceil(2);
        let slab = self.slab(rings.len());
        let coarse_plane = half * ny.div_ceil(2);
        let mut black = std::mem::take(&mut self.black);
        let [s, x, y, z] = moments.each_mut().map(|m| m.par_chunks_mut(slab * coarse_plane));
        let slabs = black.par_chunks_mut(2 * slab * half * ny).zip(s.zip(x).zip(y.zip(z))).zip(rings);
        slabs.enumerate().for_each(|(n, ((black, ((s, x), (y, z))), ring))| {
            ring.shape(half);
            let Ring { b_black, stages: [t, y_black, delta], row, .. } = ring;
            let (row, mut moments) = (&mut row[..half], [s, x, y, z]);
            let (first, last) = (2 * slab * n, (2 * slab * (n + 1)).min(nz));
            let reach = |margin: usize| first.saturating_sub(margin)..(last + margin).min(nz);
            for step in reach(3).start..last + 3 {
                if let Some(k) = lagged(step, 0, reach(3)) {
                    for j in 0..ny {
                        self.load(b, scale, (j, k), [row, b_black[k % 3].row_mut(j)]);
                        divide(&self.planes[k], j, (j + k) % 2, row, t[k % 3].row_mut(j));
                    }
                }
                if let Some(k) = lagged(step, 1, reach(2)) {
                    self.stage(k, 1, t, &b_black[k % 3], &mut y_black[k % 3], |b, sum, inverse, _| inverse * (b + sum));
                    if (first..last).contains(&k) {
                        for (j, black) in
                            black[half * ny * (k - first)..][..half * ny].chunks_exact_mut(half).enumerate()
                        {
                            black.copy_from_slice(y_black[k % 3].row(j));
                        }
                    }
                }
                if let Some(k) = lagged(step, 2, reach(1)) {
                    self.stage(k, 0, y_black, &b_black[0], &mut delta[k % 3], |_, sum, inverse, _| inverse * sum);
                }
                if let Some(k) = lagged(step, 3, reach(0)) {
                    for j in 0..ny {
                        let parity = (j + k + 1) % 2;
                        let around = self.around(delta, j, k);
                        sweep(&self.planes[k], j, parity, &around, b_black[0].row(j), row, |_, sum, _, factor| {
                            factor * sum
                        });
                        let at = coarse_plane * (k / 2 - first / 2) + half * (j / 2);
                        add_row(row, [parity, j % 2, k % 2], moments.each_mut().map(|m| &mut m[at..at + half]));
                    }
                }
            }
        });
        self.black = black;
    }

    /// Correct by the solution of the coarser level, which has `dims`, and post-smooth: → z; returns b·z.
    pub fn ascend<B: Real>(
        &mut self,
        b: &[B],
        scale: f64,
        dims: [usize; 3],
        coarse: &Coarse<T>,
        z: &mut [T],
        rings: &mut [Ring<T>],
    ) -> f64 {
        let [nx, ny, nz] = self.dims;
        let half = nx.div_ceil(2);
        let slab = 2 * self.slab(rings.len());
        let mut dots = std::mem::take(&mut self.dots);
        let slabs = z.par_chunks_mut(slab * nx * ny).zip(dots.par_chunks_mut(slab)).zip(rings);
        slabs.enumerate().for_each(|(n, ((z, dots), ring))| {
            ring.shape(half);
            let Ring { b_red, b_black, stages: [x, w, v], row } = ring;
            let row = &mut row[..half];
            let (first, last) = (slab * n, (slab * (n + 1)).min(nz));
            let reach = |margin: usize| first.saturating_sub(margin)..(last + margin).min(nz);
            for step in reach(3).start..last + 3 {
                if let Some(k) = lagged(step, 0, reach(3)) {
                    for j in 0..ny {
                        self.load(b, scale, (j, k), [b_red[k % 4].row_mut(j), b_black[k % 3].row_mut(j)]);
                        let parity = (j + k + 1) % 2;
                        interpolate(dims, &coarse.x, &coarse.open, (j, k), parity, row);
                        let x = x[k % 3].row_mut(j);
                        scale_by_factor(&self.planes[k], j, parity, row, x);
                        add(&self.black[half * (j + ny * k)..][..half], x);
                    }
                }
                if let Some(k) = lagged(step, 1, reach(2)) {
                    self.stage(k, 0, x, &b_red[k % 4], &mut w[k % 3], |b, sum, inverse, _| inverse * (b + sum));
                }
                if let Some(k) = lagged(step, 2, reach(1)) {
                    self.stage(k, 1, w, &b_black[k % 3], &mut v[k % 3], |b, sum, inverse, _| inverse * (b + sum));
                }
                if let Some(k) = lagged(step, 3, reach(0)) {
                    dots[k - first] = 0.0;
                    for j in 0..ny {
                        let parity = (j + k) % 2;
                        let around = self.around(v, j, k);
                        sweep(&self.planes[k], j, parity, &around, b_red[k % 4].row(j), row, |b, sum, inverse, _| {
                            inverse * (b + sum)
                        });
                        let black = v[k % 3].row(j);
                        let z = &mut z[nx * (j + ny * (k - first))..][..nx];
                        let [even, odd] = if parity == 0 { [&*row, black] } else { [black, &*row] };
                        merge(even, odd, z);
                        dots[k - first] += dot(&b[nx * (j + ny * k)..][..nx], z);
                    }
                }
            }
        });
        self.dots = dots;
        self.dots.iter().sum()
    }

    /// z ← `scale`·b ÷ diagonal where the level is a single cell; returns b·z.
    pub fn solve_cell<B: Real>(&self, b: &[B], scale: f64, z: &mut [T]) -> f64 {
        divide(&self.planes[0], 0, 0, &[T::of(scale * b[0].f64())], z);
        b[0].f64() * z[0].f64()
    }

    /// Planes of the coarser level that one task handles.
    fn slab(&self, tasks: usize) -> usize {
        let coarse = self.dims[2].div_ceil(2);
        if self.dims.iter().product::<usize>() < 16384 { coarse } else { coarse.div_ceil(tasks) }
    }

    /// Sweep over one colour of plane k: out ← f(b, Σ a u_nb, 1 ÷ diagonal, factor).
    #[inline(always)]
    fn stage(
        &self,
        k: usize,
        colour: usize,
        u: &[Sheet<T>; 3],
        b: &Sheet<T>,
        out: &mut Sheet<T>,
        f: impl Fn(T, T, T, T) -> T + Copy,
    ) {
        for j in 0..self.dims[1] {
            sweep(&self.planes[k], j, (j + k + colour) % 2, &self.around(u, j, k), b.row(j), out.row_mut(j), f);
        }
    }

    /// The rows of the other colour around row j of plane k.
    #[inline(always)]
    fn around<'a>(&self, u: &'a [Sheet<T>; 3], j: usize, k: usize) -> Around<'a, T> {
        let [_, ny, nz] = self.dims;
        let plane = &u[k % 3];
        let sides = [
            plane.row(j.saturating_sub(1)),
            plane.row((j + 1).min(ny - 1)),
            u[k.saturating_sub(1) % 3].row(j),
            u[(k + 1).min(nz - 1) % 3].row(j),
        ];
        Around { own: plane.wide_row(j), sides }
    }

    /// Row (j, k) of `scale`·b by colours: red, black.
    #[inline(always)]
    fn load<B: Real>(&self, b: &[B], scale: f64, (j, k): (usize, usize), colours: [&mut [T]; 2]) {
        let [nx, ny, _] = self.dims;
        let b = &b[nx * (j + ny * k)..][..nx];
        let [red, black] = colours;
        let [even, odd] = if (j + k) % 2 == 0 { [red, black] } else { [black, red] };
        split(b, scale, even, odd);
    }
}

/// The plane that a stage `lag` planes behind `step` handles, if it is one of `planes`.
fn lagged(step: usize, lag: usize, planes: std::ops::Range<usize>) -> Option<usize> {
    step.checked_sub(lag).filter(|k| planes.contains(k))
}

// Not inlined, so that the arguments are known not to overlap and the loops are vectorised.

/// even, odd ← cells of a row times `scale`, by parity.
#[inline(never)]
fn split<T: Real, B: Real>(b: &[B], scale: f64, even: &mut [T], odd: &mut [T]) {
    let (chunks, rest) = b.as_chunks::<16>();
    let ((even, even_rest), (odd, odd_rest)) =
        (even.split_at_mut(8 * chunks.len()), odd.split_at_mut(8 * chunks.len()));
    for ((b, even), odd) in chunks.iter().zip(even.as_chunks_mut::<8>().0).zip(odd.as_chunks_mut::<8>().0) {
        for l in 0..8 {
            even[l] = T::of(scale * b[2 * l].f64());
            odd[l] = T::of(scale * b[2 * l + 1].f64());
        }
    }
    for (pair, (even, odd)) in rest.chunks(2).zip(even_rest.iter_mut().zip(odd_rest)) {
        *even = T::of(scale * pair[0].f64());
        *odd = T::of(scale * pair.get(1).map_or(0.0, |b| b.f64()));
    }
}

/// z ← a row from its cells by parity.
#[inline(never)]
fn merge<T: Real>(even: &[T], odd: &[T], z: &mut [T]) {
    let (chunks, rest) = z.as_chunks_mut::<16>();
    let ((even, even_rest), (odd, odd_rest)) = (even.split_at(8 * chunks.len()), odd.split_at(8 * chunks.len()));
    for ((z, even), odd) in chunks.iter_mut().zip(even.as_chunks::<8>().0).zip(odd.as_chunks::<8>().0) {
        for l in 0..8 {
            (z[2 * l], z[2 * l + 1]) = (even[l], odd[l]);
        }
    }
    for (l, z) in rest.iter_mut().enumerate() {
        *z = if l % 2 == 0 { even_rest[l / 2] } else { odd_rest[l / 2] };
    }
}

/// out ← a + out.
#[inline(never)]
fn add<T: Real>(a: &[T], out: &mut [T]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = *a + *out;
    }
}

/// a·b in f64, in eight interleaved parts.
#[inline(never)]
fn dot<A: Real, B: Real>(a: &[A], b: &[B]) -> f64 {
    let mut parts = [0.0; 8];
    let ((ca, ra), (cb, rb)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (ca, cb) in ca.iter().zip(cb) {
        for l in 0..8 {
            parts[l] += ca[l].f64() * cb[l].f64();
        }
    }
    parts.iter().sum::<f64>() + ra.iter().zip(rb).map(|(a, b)| a.f64() * b.f64()).sum::<f64>()
}

//! One level of the hierarchy: its coefficients, its vectors, and its two passes over memory.
//!
//! Smoothing is Gauss–Seidel by colours, red–black–red, before and after the correction: its own reverse, so the cycle is
//! symmetric. From a zero guess the first red and black values follow from b alone; everything up to the restricted
//! residual is done in one pass over the planes, each stage one plane behind the one before, and so is everything from
//! the correction to the result:
//!
//! ```text
//! descend   t = D⁻¹b (red)   y = D⁻¹(b + Nt) (black)   δ = D⁻¹Ny (red: what the second red sweep changes)
//!           residual = Nδ (black; red has none)
//! ascend    y + P e (black)  w = D⁻¹(b + N·) (red)   v = D⁻¹(b + Nw) (black)   z = D⁻¹(b + Nv) (red) and v
//! ```
//!
//! with L = D − N. Planes at the border of a slab are computed by both neighbours, so threads never wait for each
//! other within a pass and every value is computed the same way whatever the number of threads.

use super::super::real::Real;
use super::super::stencil::{Network, Plane};
use super::sweep::{Around, Smooth, build_plane, divide, factor, sweep};
use super::transfer::{Moments, add_row, interpolate, open_faces};
use rayon::prelude::*;

/// One level of the hierarchy.
#[derive(Clone, Debug, Default)]
pub(super) struct Level<T> {
    pub dims: [usize; 3],
    planes: Vec<Plane<Smooth<T>, T>>,
    /// Black values after pre-smoothing, one colour, by rows of slots.
    black: Vec<T>,
    /// r·z of each plane.
    dots: Vec<f64>,
    /// What a level below the finest has besides.
    pub coarse: Coarse<T>,
}

/// A level's conductances and vectors; empty on the finest, whose owner has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Coarse<T> {
    faces: [Vec<f64>; 3],
    extra: Vec<f64>,
    /// Widths of the cells along each axis, in cells of the finest level.
    widths: [Vec<f64>; 3],
    pub open: Vec<u8>,
    pub moments: Moments<T>,
    pub rhs: Vec<T>,
    pub x: Vec<T>,
}

/// Planes in flight of one slab, one colour each; a stage's plane k is kept at index k modulo the number kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    b_red: [Vec<T>; 4],
    b_black: [Vec<T>; 3],
    stages: [[Vec<T>; 3]; 3],
    row: Vec<T>,
}

impl<T: Real> Ring<T> {
    /// Make room for planes of `dims`.
    pub fn resize(&mut self, [nx, ny, _]: [usize; 3]) {
        let half = nx.div_ceil(2);
        for plane in self.b_red.iter_mut().chain(&mut self.b_black).chain(self.stages.as_flattened_mut()) {
            plane.resize(half * ny, T::of(0.0));
        }
        self.row.resize(half, T::of(0.0));
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of::<T>() * 16 * self.b_red[0].capacity()
    }
}

impl<T: Real> Coarse<T> {
    /// This level's network.
    pub fn network(&self, dims: [usize; 3]) -> Network<'_> {
        Network { dims, faces: [&self.faces[0], &self.faces[1], &self.faces[2]], extra: &self.extra }
    }

    /// Conductances of the network twice as coarse as `fine`: parallel faces add up, and the distance between cell middles grows.
    /// A tie to zero grows longer by half a cell. Returns the cells along each axis.
    pub fn coarsen(&mut self, fine: &Network, fine_widths: Option<&[Vec<f64>; 3]>, zeros: &[f64]) -> [usize; 3] {
        let dims = fine.dims.map(|n| n.div_ceil(2));
        let [nx, ny, nz] = dims;
        let mut ratios: [Vec<f64>; 3] = Default::default();
        for a in 0..3 {
            let width = |i: usize| {
                fine_widths.map_or(f64::from(u8::from(i < fine.dims[a])), |w| w[a].get(i).copied().unwrap_or(0.0))
            };
            self.widths[a].clear();
            self.widths[a].extend((0..dims[a]).map(|i| width(2 * i) + width(2 * i + 1)));
            let w = &self.widths[a];
            ratios[a] = (0..dims[a])
                .map(|i| if i == 0 { 0.0 } else { (width(2 * i - 1) + width(2 * i)) / (w[i - 1] + w[i]) })
                .collect();
        }
        let face_planes = [(nx + 1) * ny, nx * (ny + 1), nx * ny];
        for ((faces, plane), n) in self.faces.iter_mut().zip(face_planes).zip([nz, nz, nz + 1]) {
            faces.resize(plane * n, 0.0);
        }
        self.extra.resize(nx * ny * nz, 0.0);
        let [fx, fy, fz] = &mut self.faces;
        let planes = fx
            .par_chunks_mut(face_planes[0])
            .zip(fy.par_chunks_mut(face_planes[1]))
            .zip(fz.par_chunks_mut(face_planes[2]));
        planes.zip(self.extra.par_chunks_mut(nx * ny)).enumerate().for_each(|(ck, (((fx, fy), fz), extra))| {
            for cj in 0..ny {
                let (fx, extra) = (&mut fx[(nx + 1) * cj..][..nx + 1], &mut extra[nx * cj..][..nx]);
                let (fy, fz) = (&mut fy[nx * cj..][..nx], &mut fz[nx * cj..][..nx]);
                for row in [&mut *fx, &mut *fy, &mut *fz, &mut *extra] {
                    row.fill(0.0);
                }
                for (j, k) in children(cj, ck, fine.dims) {
                    let row = fine.row(j, k, zeros);
                    for i in 1..nx {
                        fx[i] += ratios[0][i] * row.x[2 * i];
                    }
                    if j % 2 == 0 {
                        add_pairs(ratios[1][cj], row.sides[0], fy);
                    }
                    if k % 2 == 0 {
                        add_pairs(ratios[2][ck], row.sides[2], fz);
                    }
                    for (i, d) in row.extra.iter().enumerate().filter(|(_, d)| **d > 0.0) {
                        extra[i / 2] += d * factor(&row.faces(i), *d);
                    }
                }
            }
        });
        dims
    }

    fn bytes(&self) -> usize {
        let f64s = self.faces.iter().chain(&self.widths).map(Vec::capacity).sum::<usize>() + self.extra.capacity();
        let reals = self.moments.iter().map(Vec::capacity).sum::<usize>() + self.rhs.capacity() + self.x.capacity();
        8 * f64s + size_of::<T>() * reals + self.open.capacity()
    }
}

/// The fine rows of coarse row (cj, ck).
fn children(cj: usize, ck: usize, [_, ny, nz]: [usize; 3]) -> impl Iterator<Item = (usize, usize)> {
    let pair = |c: usize, n: usize| 2 * c..(2 * c + 2).min(n);
    pair(ck, nz).flat_map(move |k| pair(cj, ny).map(move |j| (j, k)))
}

/// out_I += c (v_2I + v_2I+1).
fn add_pairs(c: f64, v: &[f64], out: &mut [f64]) {
    for (out, pair) in out.iter_mut().zip(v.chunks(2)) {
        *out += c * pair.iter().sum::<f64>();
    }
}

impl<T: Real> Level<T> {
    /// Take the coefficients of `network`, divided by `unit`.
    pub fn build(&mut self, network: &Network, unit: f64, zeros: &[f64]) {
        let [nx, ny, nz] = network.dims;
        self.dims = network.dims;
        self.planes.resize_with(nz, Plane::default);
        self.planes.par_iter_mut().enumerate().for_each(|(k, plane)| build_plane(network, k, unit, zeros, plane));
        self.black.resize(nx.div_ceil(2) * ny * nz, T::of(0.0));
        self.dots.resize(nz, 0.0);
    }

    /// The same for a level below the finest, from its own network.
    pub fn build_coarse(&mut self, unit: f64, zeros: &[f64], dims: [usize; 3]) {
        let mut coarse = std::mem::take(&mut self.coarse);
        let network = coarse.network(dims);
        self.build(&network, unit, zeros);
        let n = dims.iter().product();
        let mut open = std::mem::take(&mut coarse.open);
        open.resize(n, 0);
        open_faces(&coarse.network(dims), zeros, &mut open);
        coarse.open = open;
        for v in coarse.moments.iter_mut().chain([&mut coarse.rhs, &mut coarse.x]) {
            v.resize(n, T::of(0.0));
        }
        self.coarse = coarse;
    }

    /// Widths of the cells, in cells of the finest level.
    pub fn widths(&self) -> &[Vec<f64>; 3] {
        &self.coarse.widths
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.planes.iter().map(Plane::bytes).sum::<usize>()
            + size_of::<T>() * self.black.capacity()
            + self.coarse.bytes()
    }

    /// Planes of the coarser level that one task handles.
    fn slab(&self, tasks: usize) -> usize {
        let coarse = self.dims[2].div_ceil(2);
        if self.dims.iter().product::<usize>() < 16384 { coarse } else { coarse.div_ceil(tasks) }
    }

    /// The rows of the other colour around row j of plane k.
    fn around<'a>(&self, ring: &'a [Vec<T>; 3], j: usize, k: usize) -> Around<'a, T> {
        let [nx, ny, nz] = self.dims;
        let half = nx.div_ceil(2);
        let row = |j: usize, k: usize| &ring[k % 3][half * j..][..half];
        let own = row(j, k);
        let sides = [
            if j > 0 { row(j - 1, k) } else { own },
            if j + 1 < ny { row(j + 1, k) } else { own },
            if k > 0 { row(j, k - 1) } else { own },
            if k + 1 < nz { row(j, k + 1) } else { own },
        ];
        Around { own, sides }
    }

    /// Sweep over one colour of plane k: out ← f(b, Σ a u_nb, 1 ÷ diagonal, factor).
    #[inline(always)]
    fn stage(
        &self,
        k: usize,
        colour: usize,
        u: &[Vec<T>; 3],
        b: &[T],
        out: &mut [T],
        f: impl Fn(T, T, T, T) -> T + Copy,
    ) {
        let half = self.dims[0].div_ceil(2);
        for (j, (b, out)) in b.chunks_exact(half).zip(out.chunks_exact_mut(half)).take(self.dims[1]).enumerate() {
            sweep(&self.planes[k], j, (j + k + colour) % 2, &self.around(u, j, k), b, out, f);
        }
    }

    /// Pre-smooth from zero and gather the residual: b → black values, and moments for the coarser level.
    pub fn descend<B: Real>(&mut self, b: &[B], scale: f64, moments: &mut Moments<T>, rings: &mut [Ring<T>]) {
        let [nx, ny, nz] = self.dims;
        let half = nx.div_ceil(2);
        let slab = self.slab(rings.len());
        let coarse_plane = half * ny.div_ceil(2);
        let mut black = std::mem::take(&mut self.black);
        let [s, x, y, z] = moments.each_mut().map(|m| m.par_chunks_mut(slab * coarse_plane));
        let slabs = black.par_chunks_mut(2 * slab * half * ny).zip(s.zip(x).zip(y.zip(z))).zip(rings);
        slabs.enumerate().for_each(|(n, ((black, ((s, x), (y, z))), ring))| {
            let mut moments = [s, x, y, z];
            let (first, last) = (2 * slab * n, (2 * slab * (n + 1)).min(nz));
            let reach = |margin: usize| first.saturating_sub(margin)..(last + margin).min(nz);
            for step in reach(3).start..last + 3 {
                let Ring { b_black, stages: [t, y, delta], row, .. } = ring;
                if let Some(k) = lagged(step, 0, reach(3)) {
                    let mut red = std::mem::take(&mut t[k % 3]);
                    self.load(b, scale, k, 0, &mut red);
                    self.load(b, scale, k, 1, &mut b_black[k % 3]);
                    self.divide(k, 0, &mut red);
                    t[k % 3] = red;
                }
                if let Some(k) = lagged(step, 1, reach(2)) {
                    let mut out = std::mem::take(&mut y[k % 3]);
                    self.stage(k, 1, t, &b_black[k % 3], &mut out, |b, sum, inverse, _| inverse * (b + sum));
                    if (first..last).contains(&k) {
                        black[half * ny * (k - first)..][..half * ny].copy_from_slice(&out[..half * ny]);
                    }
                    y[k % 3] = out;
                }
                if let Some(k) = lagged(step, 2, reach(1)) {
                    let mut out = std::mem::take(&mut delta[k % 3]);
                    self.stage(k, 0, y, &b_black[0], &mut out, |_, sum, inverse, _| inverse * sum);
                    delta[k % 3] = out;
                }
                if let Some(k) = lagged(step, 3, reach(0)) {
                    for j in 0..ny {
                        let parity = (j + k + 1) % 2;
                        sweep(
                            &self.planes[k],
                            j,
                            parity,
                            &self.around(delta, j, k),
                            &b_black[0][..half],
                            &mut row[..half],
                            |_, sum, _, factor| factor * sum,
                        );
                        let at = coarse_plane * (k / 2 - first / 2) + half * (j / 2);
                        let moments = moments.each_mut().map(|m| &mut m[at..at + half]);
                        add_row(&row[..half], [parity, j % 2, k % 2], moments);
                    }
                }
            }
        });
        self.black = black;
    }

    /// Correct by the coarser level's solution and post-smooth: → z; returns b·z.
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
            let (first, last) = (slab * n, (slab * (n + 1)).min(nz));
            let reach = |margin: usize| first.saturating_sub(margin)..(last + margin).min(nz);
            for step in reach(3).start..last + 3 {
                let Ring { b_red, b_black, stages: [x, w, v], row } = ring;
                let row = &mut row[..half];
                if let Some(k) = lagged(step, 0, reach(3)) {
                    self.load(b, scale, k, 0, &mut b_red[k % 4]);
                    self.load(b, scale, k, 1, &mut b_black[k % 3]);
                    for j in 0..ny {
                        let parity = (j + k + 1) % 2;
                        interpolate(dims, &coarse.x, &coarse.open, (j, k), parity, row);
                        let out = &mut x[k % 3][half * j..][..half];
                        // No neighbours are asked for: any rows will do.
                        let around = Around { own: row, sides: [&*row; 4] };
                        sweep(&self.planes[k], j, parity, &around, row, out, |e, _, _, factor| factor * e);
                        let black = &self.black[half * (j + ny * k)..][..half];
                        out.iter_mut().zip(black).for_each(|(x, y)| *x += *y);
                    }
                }
                if let Some(k) = lagged(step, 1, reach(2)) {
                    let mut out = std::mem::take(&mut w[k % 3]);
                    self.stage(k, 0, x, &b_red[k % 4], &mut out, |b, sum, inverse, _| inverse * (b + sum));
                    w[k % 3] = out;
                }
                if let Some(k) = lagged(step, 2, reach(1)) {
                    let mut out = std::mem::take(&mut v[k % 3]);
                    self.stage(k, 1, w, &b_black[k % 3], &mut out, |b, sum, inverse, _| inverse * (b + sum));
                    v[k % 3] = out;
                }
                if let Some(k) = lagged(step, 3, reach(0)) {
                    let mut dot = 0.0;
                    for j in 0..ny {
                        let (parity, b_red) = ((j + k) % 2, &b_red[k % 4][half * j..][..half]);
                        sweep(&self.planes[k], j, parity, &self.around(v, j, k), b_red, row, |b, sum, inverse, _| {
                            inverse * (b + sum)
                        });
                        let z = &mut z[nx * (j + ny * (k - first))..][..nx];
                        let black = &v[k % 3][half * j..][..half];
                        let [even, odd] = if parity == 0 { [&*row, black] } else { [black, &*row] };
                        for ((z, even), odd) in z.chunks_exact_mut(2).zip(even).zip(odd) {
                            (z[0], z[1]) = (*even, *odd);
                        }
                        if nx % 2 == 1 {
                            z[nx - 1] = even[half - 1];
                        }
                        dot += mixed_dot(&b[nx * (j + ny * k)..][..nx], z);
                    }
                    dots[k - first] = dot;
                }
            }
        });
        self.dots = dots;
        self.dots.iter().sum()
    }

    /// z ← b ÷ diagonal where the level is a single cell; returns b·z.
    pub fn solve_cell<B: Real>(&self, b: &[B], scale: f64, z: &mut [T]) -> f64 {
        z[0] = T::of(scale * b[0].f64());
        divide(&self.planes[0], 0, 0, z);
        b[0].f64() * z[0].f64()
    }

    /// One colour of plane k of b, times `scale`.
    fn load<B: Real>(&self, b: &[B], scale: f64, k: usize, colour: usize, out: &mut [T]) {
        let [nx, ny, _] = self.dims;
        let half = nx.div_ceil(2);
        for (j, out) in out.chunks_exact_mut(half).take(ny).enumerate() {
            let b = &b[nx * (j + ny * k)..][..nx];
            let parity = (j + k + colour) % 2;
            for (out, pair) in out.iter_mut().zip(b.chunks_exact(2)) {
                *out = T::of(scale * pair[parity].f64());
            }
            if nx % 2 == 1 {
                out[half - 1] = if parity == 0 { T::of(scale * b[nx - 1].f64()) } else { T::of(0.0) };
            }
        }
    }

    /// v ← v ÷ diagonal for one colour of plane k.
    fn divide(&self, k: usize, colour: usize, v: &mut [T]) {
        let half = self.dims[0].div_ceil(2);
        for (j, v) in v.chunks_exact_mut(half).take(self.dims[1]).enumerate() {
            divide(&self.planes[k], j, (j + k + colour) % 2, v);
        }
    }
}

/// The plane that a stage `lag` planes behind `step` handles, if it is one of `planes`.
fn lagged(step: usize, lag: usize, planes: std::ops::Range<usize>) -> Option<usize> {
    step.checked_sub(lag).filter(|k| planes.contains(k))
}

/// a·b in f64, in eight interleaved parts.
fn mixed_dot<A: Real, B: Real>(a: &[A], b: &[B]) -> f64 {
    let mut parts = [0.0; 8];
    let (ca, cb) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = ca.remainder().iter().zip(cb.remainder()).map(|(a, b)| a.f64() * b.f64()).sum();
    for (ca, cb) in ca.zip(cb) {
        for l in 0..8 {
            parts[l] += ca[l].f64() * cb[l].f64();
        }
    }
    parts.iter().sum::<f64>() + rest
}

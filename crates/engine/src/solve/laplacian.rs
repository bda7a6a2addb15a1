//! The pressure operator on the staggered grid, without a matrix.
//!
//! ```text
//! (L p)_c = Σ_f a_f (p_c − p_nb) + d_c p_c          (discrete −∇·(β⁻¹∇p), design eq. L = Gᵀβ⁻¹G)
//! ```
//!
//! a_f ≥ 0 belongs to the face between two cells (open area ÷ (density · distance)), d_c ≥ 0 ties a cell to zero pressure
//! (open sides, free surface). A cell whose coefficients are all zero is no unknown: solids, and fluid cells with every
//! face closed. Vectors have one value per cell, x fastest, zero where there is no unknown.
//!
//! Sums are taken per slab of planes and then in order, so results do not depend on the number of threads.

use super::SolveError;
use super::conjugate_gradients::Operator;
use super::real::Real;
use super::stencil::{Kind, Network, Plane, Span, Uniform, cut, total};
use crate::grid::{CellField, FaceField};
use rayon::prelude::*;

/// Numbers kept per cell of a packed span: x−, x+, y−, y+, z−, z+ and the diagonal.
const PACK: usize = 7;

/// Packed spans of fewer cells are not vectorised.
/// A choice of speed alone.
const SHORT: usize = 16;

/// The pressure operator L.
#[derive(Clone, Debug, Default)]
pub struct Laplacian {
    pub(super) dims: [usize; 3],
    pub(super) planes: Vec<Plane<Uniform, f64>>,
    slabs: Vec<Slab>,
    slab_planes: usize,
    largest: f64,
    zeros: Vec<f64>,
}

/// Working space of the task that owns a slab of planes.
#[derive(Clone, Debug, Default)]
struct Slab {
    row: Vec<f64>,
    sum: f64,
}

impl Laplacian {
    /// The operator with conductances `faces` between cells and ties to zero `extra`. Faces on the outside of the grid are not read.
    pub fn new(faces: &FaceField<f64>, extra: &CellField<f64>) -> Result<Self, SolveError> {
        let mut new = Self::default();
        new.rebuild(faces, extra)?;
        Ok(new)
    }

    /// Take new coefficients, reusing the memory.
    pub fn rebuild(&mut self, faces: &FaceField<f64>, extra: &CellField<f64>) -> Result<(), SolveError> {
        assert_eq!(faces.dims, extra.dims, "conductances and ties must belong to the same grid");
        let network = Network::new(faces, extra);
        let [nx, ny, nz] = network.dims;
        self.dims = network.dims;
        self.slab_planes = (65536 / (nx * ny)).clamp(8, 64);
        self.slabs.resize_with(nz.div_ceil(self.slab_planes), Slab::default);
        for slab in &mut self.slabs {
            slab.row.resize(nx, 0.0);
        }
        self.planes.resize_with(nz, Plane::default);
        self.zeros.resize(nx + 1, 0.0);
        let zeros = &self.zeros;
        let largest = self.planes.par_iter_mut().enumerate().map(|(k, plane)| build_plane(&network, k, zeros, plane));
        self.largest = largest.reduce(|| 0.0, larger);
        if !self.largest.is_finite() {
            return Err(SolveError::Coefficient);
        }
        Ok(())
    }

    /// Number of cells, unknown or not: the length of every vector.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether the grid has no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest diagonal entry.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.planes.iter().map(Plane::bytes).sum()
    }

    /// y ← L x.
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        let [nx, ny, _] = self.dims;
        y.par_chunks_mut(nx * ny).enumerate().for_each(|(k, plane)| {
            for (j, row) in plane.chunks_exact_mut(nx).enumerate() {
                self.product(x, j, k, row);
            }
        });
    }

    /// Whether a cell is an unknown.
    pub fn is_unknown(&self, cell: usize) -> bool {
        let [nx, ny, _] = self.dims;
        let (i, j, plane) = (cell % nx, cell / nx % ny, &self.planes[cell / (nx * ny)]);
        // What is laid on a span comes after it.
        let contains = |span: &&Span<Uniform>| (span.start as usize..span.end as usize).contains(&i);
        plane.row(j).iter().rfind(contains).is_some_and(|span| match span.kind {
            Kind::Uniform(u) => !u.is_void(),
            Kind::Packed(offset) => {
                let (start, end) = (span.start as usize, span.end as usize);
                plane.packed[offset + (PACK - 1) * (end - start) + i - start] > 0.0
            }
        })
    }

    /// Set `v` to zero where there is no unknown.
    pub fn mask(&self, v: &mut [f64]) {
        let [nx, ny, _] = self.dims;
        v.par_chunks_mut(nx * ny).zip(&self.planes).for_each(|(v, plane)| {
            for (j, row) in v.chunks_exact_mut(nx).enumerate() {
                mask_row(plane, j, row);
            }
        });
    }

    /// Coefficients towards the lower neighbours and the diagonal of row (j, k): [x−, y−, z−, diagonal].
    pub(super) fn lower_row(&self, j: usize, k: usize, out: &mut [Vec<f64>; 4]) {
        let plane = &self.planes[k];
        for span in plane.row(j) {
            let cells = span.start as usize..span.end as usize;
            match span.kind {
                Kind::Uniform(u) => {
                    let [first, inner, last] = u.diagonals();
                    for (out, v) in out.iter_mut().zip([u.x, u.sides[0], u.sides[2], inner]) {
                        out[cells.clone()].fill(v);
                    }
                    out[0][cells.start] = u.ends[0];
                    out[3][cells.start] = first;
                    out[3][cells.end - 1] = last;
                }
                Kind::Packed(_) => {
                    let c = packed(plane, span);
                    for (out, c) in out.iter_mut().zip([c[0], c[2], c[4], c[6]]) {
                        out[cells.clone()].copy_from_slice(c);
                    }
                }
            }
        }
    }

    /// Row (j, k) of L x.
    fn product(&self, x: &[f64], j: usize, k: usize, out: &mut [f64]) {
        let [nx, ny, nz] = self.dims;
        let at = |j: usize, k: usize| &x[nx * (j + ny * k)..][..nx];
        // Where a neighbour is missing its coefficient is zero, and any row will do.
        let own = at(j, k);
        let sides = [
            if j > 0 { at(j - 1, k) } else { own },
            if j + 1 < ny { at(j + 1, k) } else { own },
            if k > 0 { at(j, k - 1) } else { own },
            if k + 1 < nz { at(j, k + 1) } else { own },
        ];
        let plane = &self.planes[k];
        for span in plane.row(j) {
            let (s, e) = (span.start as usize, span.end as usize);
            let beyond = [if s > 0 { own[s - 1] } else { 0.0 }, if e < nx { own[e] } else { 0.0 }];
            let [a, b, c, d] = sides;
            let sides = [&a[s..e], &b[s..e], &c[s..e], &d[s..e]];
            match span.kind {
                Kind::Uniform(u) if u.is_void() => out[s..e].fill(0.0),
                Kind::Uniform(u) => uniform_product(&u, &own[s..e], beyond, sides, &mut out[s..e]),
                Kind::Packed(offset) if e - s < SHORT => {
                    short_product(&plane.packed[offset..][..PACK * (e - s)], &own[s..e], beyond, sides, &mut out[s..e]);
                }
                Kind::Packed(_) => packed_product(&packed(plane, span), &own[s..e], beyond, sides, &mut out[s..e]),
            }
        }
    }

    /// Σ over row j of `plane` of p_c (D_c p_c − 2 Σ a_f p_nb), neighbours across x− and y− only. Summed over all rows, and
    /// with [`across`](Self::across), this is p·Lp.
    fn energy(&self, plane: &Plane<Uniform, f64>, j: usize, own: &[f64], below: &[f64], terms: &mut [f64]) -> f64 {
        for span in plane.row(j) {
            let (s, e) = (span.start as usize, span.end as usize);
            let before = if s > 0 { own[s - 1] } else { 0.0 };
            let (own, below, terms) = (&own[s..e], &below[s..e], &mut terms[s..e]);
            match span.kind {
                Kind::Uniform(u) => uniform_energy(&u, own, before, below, terms),
                Kind::Packed(_) => packed_energy([0, 2, 6].map(|f| slice(plane, span, f)), own, before, below, terms),
            }
        }
        sum(terms)
    }

    /// Σ over row j of `plane` of −2 a_f p_c p_nb, neighbours across z− only.
    fn across(&self, plane: &Plane<Uniform, f64>, j: usize, own: &[f64], below: &[f64], terms: &mut [f64]) -> f64 {
        for span in plane.row(j) {
            let (s, e) = (span.start as usize, span.end as usize);
            let (own, below, terms) = (&own[s..e], &below[s..e], &mut terms[s..e]);
            match span.kind {
                Kind::Uniform(u) => {
                    for ((t, p), q) in terms.iter_mut().zip(own).zip(below) {
                        *t = -2.0 * u.sides[2] * p * q;
                    }
                }
                Kind::Packed(_) => {
                    for (((t, p), q), a) in terms.iter_mut().zip(own).zip(below).zip(slice(plane, span, 4)) {
                        *t = -2.0 * a * p * q;
                    }
                }
            }
        }
        sum(terms)
    }
}

impl Operator for Laplacian {
    fn residual(&mut self, b: &[f64], x: &[f64], r: &mut [f64]) -> f64 {
        let [nx, ny, _] = self.dims;
        let mut slabs = std::mem::take(&mut self.slabs);
        r.par_chunks_mut(nx * ny * self.slab_planes).zip(&mut slabs).enumerate().for_each(|(s, (r, slab))| {
            slab.sum = 0.0;
            for (n, r) in r.chunks_exact_mut(nx).enumerate() {
                let (j, k) = (n % ny, s * self.slab_planes + n / ny);
                self.product(x, j, k, &mut slab.row);
                let b = &b[nx * (j + ny * k)..][..nx];
                for ((r, b), ax) in r.iter_mut().zip(b).zip(&slab.row) {
                    *r = b - ax;
                }
                mask_row(&self.planes[k], j, r);
                slab.sum += dot(r, r);
            }
        });
        self.slabs = slabs;
        self.slabs.iter().map(|s| s.sum).sum()
    }

    fn direct<Z: Real>(&mut self, z: &[Z], beta: f64, p: &mut [f64]) -> f64 {
        let [nx, ny, _] = self.dims;
        let slab_cells = nx * ny * self.slab_planes;
        let mut slabs = std::mem::take(&mut self.slabs);
        p.par_chunks_mut(slab_cells).zip(z.par_chunks(slab_cells)).zip(&mut slabs).enumerate().for_each(
            |(s, ((p, z), slab))| {
                slab.sum = 0.0;
                for n in 0..p.len() / nx {
                    let (j, k) = (n % ny, n / ny);
                    let (done, rest) = p.split_at_mut(n * nx);
                    let own = &mut rest[..nx];
                    if beta == 0.0 {
                        own.iter_mut().zip(&z[n * nx..]).for_each(|(p, z)| *p = z.f64());
                    } else {
                        own.iter_mut().zip(&z[n * nx..]).for_each(|(p, z)| *p = z.f64() + beta * *p);
                    }
                    let plane = &self.planes[s * self.slab_planes + k];
                    let below = if j > 0 { &done[(n - 1) * nx..] } else { &*own };
                    slab.sum += self.energy(plane, j, own, below, &mut slab.row);
                    if k > 0 {
                        slab.sum += self.across(plane, j, own, &done[(n - ny) * nx..][..nx], &mut slab.row);
                    }
                }
            },
        );
        // The faces between slabs, now that both sides are known.
        let p = &*p;
        slabs[1..].par_iter_mut().enumerate().for_each(|(s, slab)| {
            let k = (s + 1) * self.slab_planes;
            for j in 0..ny {
                let own = nx * (j + ny * k);
                let below = &p[own - nx * ny..][..nx];
                slab.sum += self.across(&self.planes[k], j, &p[own..own + nx], below, &mut slab.row);
            }
        });
        self.slabs = slabs;
        self.slabs.iter().map(|s| s.sum).sum()
    }

    fn advance(&mut self, alpha: f64, p: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
        let [nx, ny, _] = self.dims;
        let slab_cells = nx * ny * self.slab_planes;
        let mut slabs = std::mem::take(&mut self.slabs);
        let pairs = x.par_chunks_mut(slab_cells).zip(r.par_chunks_mut(slab_cells));
        pairs.zip(&mut slabs).enumerate().for_each(|(s, ((x, r), slab))| {
            slab.sum = 0.0;
            for (n, (x, r)) in x.chunks_exact_mut(nx).zip(r.chunks_exact_mut(nx)).enumerate() {
                let (j, k) = (n % ny, s * self.slab_planes + n / ny);
                self.product(p, j, k, &mut slab.row);
                let own = &p[nx * (j + ny * k)..][..nx];
                for (((x, r), p), ap) in x.iter_mut().zip(r.iter_mut()).zip(own).zip(&slab.row) {
                    *x += alpha * p;
                    *r -= alpha * ap;
                }
                slab.sum += dot(r, r);
            }
        });
        self.slabs = slabs;
        self.slabs.iter().map(|s| s.sum).sum()
    }
}

/// Fill one plane; returns its largest diagonal, or infinity where a coefficient is negative or not a number.
fn build_plane(network: &Network, k: usize, zeros: &[f64], plane: &mut Plane<Uniform, f64>) -> f64 {
    plane.clear();
    let mut largest: f64 = 0.0;
    for j in 0..network.dims[1] {
        plane.starts.push(plane.spans.len() as u32);
        let row = network.row(j, k, zeros);
        let n = row.extra.len();
        cut(&row, |start, end, uniform| {
            let kind = match uniform {
                Some(u) => {
                    let smallest = u.sides.iter().chain(&u.ends).chain(&u.extra).fold(u.x, |a, b| a.min(*b));
                    largest = larger(largest, u.diagonals().into_iter().fold(0.0, larger) + negative(smallest));
                    Kind::Uniform(u)
                }
                None => {
                    let offset = plane.packed.len();
                    plane.packed.extend((start..end).map(|i| if i > 0 { row.x[i] } else { 0.0 }));
                    plane.packed.extend((start..end).map(|i| if i + 1 < n { row.x[i + 1] } else { 0.0 }));
                    for side in row.sides {
                        plane.packed.extend_from_slice(&side[start..end]);
                    }
                    for i in 0..end - start {
                        let faces = [0, 1, 2, 3, 4, 5].map(|f| plane.packed[offset + f * (end - start) + i]);
                        let extra = row.extra[start + i];
                        let diagonal = total(&faces) + extra;
                        largest = larger(largest, diagonal + negative(faces.iter().fold(extra, |a, b| a.min(*b))));
                        plane.packed.push(diagonal);
                    }
                    Kind::Packed(offset)
                }
            };
            plane.spans.push(Span { start: start as u32, end: end as u32, kind });
        });
    }
    plane.starts.push(plane.spans.len() as u32);
    largest
}

/// Infinity for a negative number.
fn negative(v: f64) -> f64 {
    if v < 0.0 { f64::INFINITY } else { 0.0 }
}

/// The larger of two; infinity if either is not a number.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// The slices of a packed span.
pub(super) fn packed<'a>(plane: &'a Plane<Uniform, f64>, span: &Span<Uniform>) -> [&'a [f64]; PACK] {
    std::array::from_fn(|f| slice(plane, span, f))
}

/// One of the slices of a packed span.
#[inline(always)]
fn slice<'a>(plane: &'a Plane<Uniform, f64>, span: &Span<Uniform>, f: usize) -> &'a [f64] {
    let Kind::Packed(offset) = span.kind else { unreachable!("a uniform span has no slices") };
    let n = (span.end - span.start) as usize;
    &plane.packed[offset + f * n..][..n]
}

fn mask_row(plane: &Plane<Uniform, f64>, j: usize, v: &mut [f64]) {
    for span in plane.row(j) {
        let v = &mut v[span.start as usize..span.end as usize];
        match span.kind {
            Kind::Uniform(u) if u.is_void() => v.fill(0.0),
            Kind::Uniform(_) => {}
            Kind::Packed(_) => {
                for (v, d) in v.iter_mut().zip(slice(plane, span, 6)) {
                    *v = if *d > 0.0 { *v } else { 0.0 };
                }
            }
        }
    }
}

fn uniform_product(u: &Uniform, own: &[f64], beyond: [f64; 2], sides: [&[f64]; 4], out: &mut [f64]) {
    let n = out.len();
    let [first, inner, last] = u.diagonals();
    let [a, b, c, d] = u.sides;
    let (own, sides) = (&own[..n], sides.map(|s| &s[..n]));
    let around = |i: usize| a * sides[0][i] + b * sides[1][i] + c * sides[2][i] + d * sides[3][i];
    out[0] = first * own[0] - u.ends[0] * beyond[0] - u.x * own[1] - around(0);
    for i in 1..n - 1 {
        out[i] = inner * own[i] - u.x * (own[i - 1] + own[i + 1]) - around(i);
    }
    out[n - 1] = last * own[n - 1] - u.x * own[n - 2] - u.ends[1] * beyond[1] - around(n - 1);
}

fn packed_product(c: &[&[f64]; PACK], own: &[f64], beyond: [f64; 2], sides: [&[f64]; 4], out: &mut [f64]) {
    let n = out.len();
    let (c, own, sides) = (c.map(|c| &c[..n]), &own[..n], sides.map(|s| &s[..n]));
    let around =
        |i: usize| c[2][i] * sides[0][i] + c[3][i] * sides[1][i] + c[4][i] * sides[2][i] + c[5][i] * sides[3][i];
    let cell = |i: usize, left: f64, right: f64| c[6][i] * own[i] - c[0][i] * left - c[1][i] * right - around(i);
    out[0] = cell(0, beyond[0], if n > 1 { own[1] } else { beyond[1] });
    for i in 1..n.max(1) - 1 {
        out[i] = cell(i, own[i - 1], own[i + 1]);
    }
    if n > 1 {
        out[n - 1] = cell(n - 1, own[n - 2], beyond[1]);
    }
}

/// A packed span of few cells, as around bodies: no vectors, and nothing to prepare for them.
fn short_product(c: &[f64], own: &[f64], beyond: [f64; 2], [s0, s1, s2, s3]: [&[f64]; 4], out: &mut [f64]) {
    let n = out.len();
    for i in 0..n {
        let c = |f: usize| c[f * n + i];
        let (left, right) =
            (if i > 0 { own[i - 1] } else { beyond[0] }, if i + 1 < n { own[i + 1] } else { beyond[1] });
        let around = c(2) * s0[i] + c(3) * s1[i] + c(4) * s2[i] + c(5) * s3[i];
        out[i] = c(6) * own[i] - c(0) * left - c(1) * right - around;
    }
}

fn uniform_energy(u: &Uniform, own: &[f64], before: f64, below: &[f64], terms: &mut [f64]) {
    let n = terms.len();
    let [first, inner, last] = u.diagonals();
    let (x, y) = (2.0 * u.x, 2.0 * u.sides[0]);
    let (own, below) = (&own[..n], &below[..n]);
    terms[0] = own[0] * (first * own[0] - 2.0 * u.ends[0] * before - y * below[0]);
    for i in 1..n - 1 {
        terms[i] = own[i] * (inner * own[i] - x * own[i - 1] - y * below[i]);
    }
    terms[n - 1] = own[n - 1] * (last * own[n - 1] - x * own[n - 2] - y * below[n - 1]);
}

/// `c` are the faces x− and y−, and the diagonal.
fn packed_energy(c: [&[f64]; 3], own: &[f64], before: f64, below: &[f64], terms: &mut [f64]) {
    let n = terms.len();
    let ([x, y, diagonal], own, below) = (c.map(|c| &c[..n]), &own[..n], &below[..n]);
    terms[0] = own[0] * (diagonal[0] * own[0] - 2.0 * (x[0] * before + y[0] * below[0]));
    for i in 1..n {
        terms[i] = own[i] * (diagonal[i] * own[i] - 2.0 * (x[i] * own[i - 1] + y[i] * below[i]));
    }
}

/// Sum in eight interleaved parts: vectorised, and the same for everyone.
pub(super) fn sum(v: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let chunks = v.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (p, v) in parts.iter_mut().zip(chunk) {
            *p += v;
        }
    }
    parts.iter().sum::<f64>() + rest
}

/// Dot product in eight interleaved parts.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (ca, cb) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = ca.remainder().iter().zip(cb.remainder()).map(|(a, b)| a * b).sum();
    for (ca, cb) in ca.zip(cb) {
        for l in 0..8 {
            parts[l] += ca[l] * cb[l];
        }
    }
    parts.iter().sum::<f64>() + rest
}

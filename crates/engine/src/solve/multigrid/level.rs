//! One level of the hierarchy: its coefficients and vectors.

use super::super::laplacian::Laplacian;
use super::super::real::Real;
use super::super::stencil::{Network, Plane};
use super::band::BandSweeps;
use super::bodies::LevelBodies;
use super::sweep::{Smooth, build_plane, coefficients, convert_plane, factor, subtract_product};
use super::transfer::{BlockMoments, open_faces};
use rayon::prelude::*;

/// One level of the hierarchy.
#[derive(Clone, Debug, Default)]
pub(super) struct Level<T> {
    pub dims: [usize; 3],
    pub planes: Vec<Plane<Smooth<T>, T>>,
    /// Black values after pre-smoothing, by rows of slots.
    pub black: Vec<T>,
    /// b·z of each plane.
    pub dots: Vec<f64>,
    /// The solids that answer pressure.
    pub bodies: LevelBodies<T>,
    /// What is smoothed more often.
    pub band: BandSweeps,
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
    pub moments: BlockMoments<T>,
    pub rhs: Vec<T>,
    pub x: Vec<T>,
    /// What a second visit adds to `x`; empty if there is none.
    pub second: Vec<T>,
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

    /// Make room for a second visit.
    pub fn resize_second(&mut self) {
        self.second.resize(self.x.len(), T::of(0.0));
    }

    fn bytes(&self) -> usize {
        let f64s = self.faces.iter().chain(&self.widths).map(Vec::capacity).sum::<usize>() + self.extra.capacity();
        let reals = self.moments.iter().map(Vec::capacity).sum::<usize>()
            + self.rhs.capacity()
            + self.x.capacity()
            + self.second.capacity();
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
    let (pairs, rest) = v.as_chunks::<2>();
    for (out, [a, b]) in out.iter_mut().zip(pairs) {
        *out += c * (a + b);
    }
    if let ([last], Some(out)) = (rest, out.last_mut()) {
        *out += c * last;
    }
}

impl<T: Real> Level<T> {
    /// All cells: index, conductances x−, x+, y−, y+, z−, z+, and 1 ÷ diagonal.
    pub fn for_each_cell(&self, mut visit: impl FnMut(usize, [f64; 6], f64)) {
        let [nx, ny, nz] = self.dims;
        for row in 0..ny * nz {
            let plane = &self.planes[row / ny];
            coefficients(
                plane,
                row % ny,
                0..nx,
                |_| true,
                |i, (faces, inverse, _)| visit(nx * row + i, faces, inverse),
            );
        }
    }

    /// Take the coefficients of `laplacian`, divided by `unit`: the finest level.
    pub fn build_finest(&mut self, laplacian: &Laplacian, unit: f64) {
        self.resize(laplacian.dims);
        self.planes.par_iter_mut().zip(&laplacian.planes).for_each(|(plane, from)| convert_plane(from, unit, plane));
    }

    fn resize(&mut self, dims: [usize; 3]) {
        let [nx, ny, nz] = dims;
        self.dims = dims;
        self.planes.resize_with(nz, Plane::default);
        self.black.resize(nx.div_ceil(2) * ny * nz, T::of(0.0));
        self.dots.resize(nz, 0.0);
    }

    /// Take the coefficients of this level's own network, divided by `unit`: a level below the finest.
    pub fn build_coarse(&mut self, unit: f64, zeros: &[f64], dims: [usize; 3]) {
        self.resize(dims);
        let mut coarse = std::mem::take(&mut self.coarse);
        let network = coarse.network(dims);
        self.planes.par_iter_mut().enumerate().for_each(|(k, plane)| build_plane(&network, k, unit, zeros, plane));
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

    /// b ← b − Σ x, bodies included.
    pub fn residual(&mut self, b: &mut [T], x: &[T]) {
        let [nx, ny, nz] = self.dims;
        let at = |j: usize, k: usize| &x[nx * (j + ny * k)..][..nx];
        b.par_chunks_mut(nx * ny).enumerate().with_min_len((8192 / (nx * ny)).max(1)).for_each(|(k, b)| {
            for (j, b) in b.chunks_exact_mut(nx).enumerate() {
                // Where a neighbour is missing its coefficient is zero, and any row will do.
                let sides = [
                    at(j.saturating_sub(1), k),
                    at((j + 1).min(ny - 1), k),
                    at(j, k.saturating_sub(1)),
                    at(j, (k + 1).min(nz - 1)),
                ];
                subtract_product(&self.planes[k], j, at(j, k), sides, b);
            }
        });
        self.bodies.subtract_product(x, b);
    }

    /// Widths of the cells, in cells of the finest level.
    pub fn widths(&self) -> &[Vec<f64>; 3] {
        &self.coarse.widths
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.planes.iter().map(Plane::bytes).sum::<usize>()
            + size_of::<T>() * self.black.capacity()
            + self.bodies.bytes()
            + self.coarse.bytes()
    }
}

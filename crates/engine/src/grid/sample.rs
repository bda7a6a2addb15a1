//! Values between the samples: trilinear, and monotone cubic.
//!
//! Positions are in *index space*: the domain is the box from 0 to (nx, ny, nz), a cell's edge is 1. A
//! [`Lattice`] knows where its first sample sits there ((½,½,½) for cells, (0,½,½) for faces
//! across x, …). Beyond the outermost samples the field is continued constantly, which is what a
//! free-slip wall and an open side both want; along a flat axis there is nothing to interpolate.

use super::{Axis, CellField, FaceField};
use glam::DVec3;

/// A borrowed array of samples and its place in index space.
#[derive(Clone, Copy)]
pub struct Lattice<'a> {
    data: &'a [f64],
    dims: [usize; 3],
    ranges: [Range; 3],
}

/// The samples along one axis.
#[derive(Clone, Copy)]
struct Range {
    /// Coordinate of the first sample.
    first: f64,
    /// Coordinate of the last sample, counted from the first.
    last: f64,
    /// The last sample that has one above it (0 if there is only one).
    last_lower: usize,
    /// From a sample to the one above it: 1, or 0 if there is only one.
    step: usize,
}

/// Where a coordinate falls in a range: the sample below it, and the fraction on the way to the next.
#[derive(Clone, Copy)]
pub(crate) struct Between {
    pub index: usize,
    /// From a sample to the one above it: 1, or 0 if there is only one.
    pub step: usize,
    pub t: f64,
}

/// The places of a grid's cell centres and faces.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    centres: [Range; 3],
    faces: [Range; 3],
}

/// Where a point falls among the cell centres and among the faces, along each axis.
#[derive(Clone, Copy)]
pub(crate) struct BetweenAll {
    centres: [Between; 3],
    faces: [Between; 3],
}

impl Spot {
    /// For a grid of these dims.
    pub fn new(dims: [usize; 3]) -> Self {
        Self { centres: dims.map(|n| Range::new(0.5, n)), faces: dims.map(|n| Range::new(0.0, n + 1)) }
    }

    /// Of a point in index space.
    #[inline(always)]
    pub fn place(&self, p: DVec3) -> BetweenAll {
        let [cx, cy, cz] = &self.centres;
        let [fx, fy, fz] = &self.faces;
        BetweenAll {
            centres: [cx.place(p.x), cy.place(p.y), cz.place(p.z)],
            faces: [fx.place(p.x), fy.place(p.y), fz.place(p.z)],
        }
    }
}

impl BetweenAll {
    /// Among the cell centres.
    #[inline(always)]
    pub fn cell(&self) -> [Between; 3] {
        self.centres
    }

    /// Among the faces across `axis`.
    #[inline(always)]
    pub fn face(&self, axis: Axis) -> [Between; 3] {
        let mut places = self.centres;
        places[axis.index()] = self.faces[axis.index()];
        places
    }
}

impl Range {
    fn new(first: f64, n: usize) -> Self {
        Self { first, last: (n - 1) as f64, last_lower: n.saturating_sub(2), step: (n > 1) as usize }
    }

    /// Beyond the ends a coordinate stays there.
    #[inline(always)]
    fn place(&self, x: f64) -> Between {
        // `max` before `min`: a NaN becomes 0 and cannot index outside. (A cast to i32 is one instruction.)
        let x = min(max(x - self.first, 0.0), self.last);
        let index = (x as i32 as usize).min(self.last_lower);
        Between { index, step: self.step, t: x - index as i32 as f64 }
    }
}

impl<'a> Lattice<'a> {
    fn new(data: &'a [f64], dims: [usize; 3], first: [f64; 3]) -> Self {
        assert_eq!(data.len(), dims.iter().product::<usize>());
        assert!(dims.iter().all(|&n| n <= i32::MAX as usize));
        Self { data, dims, ranges: [0, 1, 2].map(|a| Range::new(first[a], dims[a])) }
    }

    /// The samples of a cell field.
    pub fn cells(field: &'a CellField) -> Self {
        Self::new(&field.data, field.dims, [0.5; 3])
    }

    /// The samples of the faces across `axis`.
    pub fn faces(field: &'a FaceField, axis: Axis) -> Self {
        let mut first = [0.5; 3];
        first[axis.index()] = 0.0;
        Self::new(&field.axes[axis.index()], field.face_dims(axis), first)
    }

    /// Another array with the same shape and place.
    pub fn with_data<'b>(&self, data: &'b [f64]) -> Lattice<'b> {
        assert_eq!(data.len(), self.data.len());
        Lattice { data, ..*self }
    }

    /// The samples.
    pub fn data(&self) -> &'a [f64] {
        self.data
    }

    /// Number of samples along each axis.
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// Where the first sample sits in index space.
    pub fn first(&self) -> [f64; 3] {
        self.ranges.map(|range| range.first)
    }

    #[inline(always)]
    fn place(&self, p: DVec3, a: usize) -> Between {
        self.ranges[a].place(p[a])
    }

    /// The eight samples around a point, x fastest.
    #[inline(always)]
    fn corners(&self, x: Between, y: Between, z: Between) -> [f64; 8] {
        let [nx, ny, _] = self.dims;
        let b = x.index + nx * (y.index + ny * z.index);
        let (sy, sz) = (nx * y.step, nx * ny * z.step);
        let d = self.data;
        if x.step == 0 {
            return [d[b], d[b], d[b + sy], d[b + sy], d[b + sz], d[b + sz], d[b + sz + sy], d[b + sz + sy]];
        }
        // In pairs: one check of the bounds for two values.
        let pair = |start: usize| <&[f64; 2]>::try_from(&d[start..start + 2]).expect("two of two");
        let ([a, b], [c, d], [e, f], [g, h]) = (pair(b), pair(b + sy), pair(b + sz), pair(b + sz + sy));
        [*a, *b, *c, *d, *e, *f, *g, *h]
    }

    /// Trilinear interpolation.
    #[inline(always)]
    pub fn linear(&self, p: DVec3) -> f64 {
        let (x, y, z) = (self.place(p, 0), self.place(p, 1), self.place(p, 2));
        blend(&self.corners(x, y, z), x.t, y.t, z.t)
    }

    /// Trilinear interpolation, with the smallest and the largest of the eight values it blends.
    #[inline(always)]
    pub fn linear_with_range(&self, p: DVec3) -> (f64, f64, f64) {
        let (x, y, z) = (self.place(p, 0), self.place(p, 1), self.place(p, 2));
        let c = self.corners(x, y, z);
        let low = min(min(min(c[0], c[1]), min(c[2], c[3])), min(min(c[4], c[5]), min(c[6], c[7])));
        let high = max(max(max(c[0], c[1]), max(c[2], c[3])), max(max(c[4], c[5]), max(c[6], c[7])));
        (blend(&c, x.t, y.t, z.t), low, high)
    }

    /// Tensor-product cubic whose slopes are limited so that no new extrema appear.
    pub fn cubic(&self, p: DVec3) -> f64 {
        let places = [self.place(p, 0), self.place(p, 1), self.place(p, 2)];
        // The four samples along each axis, the last one again beyond the ends.
        let taps: [[usize; 4]; 3] = std::array::from_fn(|a| {
            let last = self.dims[a] - 1;
            let i = places[a].index;
            [i.saturating_sub(1), i, (i + 1).min(last), (i + 2).min(last)]
        });
        let [nx, ny, _] = self.dims;
        let along_x =
            |j: usize, k: usize| monotone_cubic(taps[0].map(|i| self.data[i + nx * (j + ny * k)]), places[0].t);
        let along_y = |k: usize| monotone_cubic(taps[1].map(|j| along_x(j, k)), places[1].t);
        monotone_cubic(taps[2].map(along_y), places[2].t)
    }
}

/// The three components of a face field at one point.
#[derive(Clone, Copy)]
pub struct VelocityLattice<'a>([Lattice<'a>; 3]);

impl<'a> VelocityLattice<'a> {
    /// The samples of `velocity`.
    pub fn new(velocity: &'a FaceField) -> Self {
        Self(Axis::ALL.map(|axis| Lattice::faces(velocity, axis)))
    }

    /// Trilinear interpolation of each component.
    #[inline(always)]
    pub fn linear(&self, p: DVec3) -> DVec3 {
        // Along each axis two components sit at cell centres and one on faces.
        let [u, v, w] = &self.0;
        let (xf, yf, zf) = (u.place(p, 0), v.place(p, 1), w.place(p, 2));
        let (xc, yc, zc) = (v.place(p, 0), u.place(p, 1), u.place(p, 2));
        DVec3::new(
            blend(&u.corners(xf, yc, zc), xf.t, yc.t, zc.t),
            blend(&v.corners(xc, yf, zc), xc.t, yf.t, zc.t),
            blend(&w.corners(xc, yc, zf), xc.t, yc.t, zf.t),
        )
    }

    /// Trilinear interpolation of each component, and the gradient of each (per cell).
    #[inline(always)]
    pub fn linear_with_gradient(&self, p: DVec3) -> (DVec3, [DVec3; 3]) {
        let [u, v, w] = &self.0;
        let (xf, yf, zf) = (u.place(p, 0), v.place(p, 1), w.place(p, 2));
        let (xc, yc, zc) = (v.place(p, 0), u.place(p, 1), u.place(p, 2));
        let (u, du) = slope(&u.corners(xf, yc, zc), xf.t, yc.t, zc.t);
        let (v, dv) = slope(&v.corners(xc, yf, zc), xc.t, yf.t, zc.t);
        let (w, dw) = slope(&w.corners(xc, yc, zf), xc.t, yc.t, zf.t);
        (DVec3::new(u, v, w), [du, dv, dw])
    }
}

/// The smaller one, or `b` if there is a NaN: one instruction, where `f64::min` takes three.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger one, or `b` if there is a NaN.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn mix(a: f64, b: f64, t: f64) -> f64 {
    t.mul_add(b - a, a)
}

/// Along y and z in pairs, which the processor does at once, then along x.
#[inline(always)]
fn blend(c: &[f64; 8], x: f64, y: f64, z: f64) -> f64 {
    let low = [mix(c[0], c[2], y), mix(c[1], c[3], y)];
    let high = [mix(c[4], c[6], y), mix(c[5], c[7], y)];
    mix(mix(low[0], high[0], z), mix(low[1], high[1], z), x)
}

/// The blend and its gradient.
#[inline(always)]
fn slope(c: &[f64; 8], x: f64, y: f64, z: f64) -> (f64, DVec3) {
    // In pairs along y and z, with their slopes; then along x.
    let low = [mix(c[0], c[2], y), mix(c[1], c[3], y)];
    let high = [mix(c[4], c[6], y), mix(c[5], c[7], y)];
    let value = [mix(low[0], high[0], z), mix(low[1], high[1], z)];
    let along_y = [mix(c[2] - c[0], c[6] - c[4], z), mix(c[3] - c[1], c[7] - c[5], z)];
    let along_z = [high[0] - low[0], high[1] - low[1]];
    let gradient = DVec3::new(value[1] - value[0], mix(along_y[0], along_y[1], x), mix(along_z[0], along_z[1], x));
    (mix(value[0], value[1], x), gradient)
}

/// Hermite cubic between q[1] and q[2] with central slopes, set to zero where they disagree in
/// sign with the secant (Fedkiw, Stam & Jensen 2001, app. B) and at most three times the secant
/// (Fritsch & Carlson 1980), so that the curve stays between q[1] and q[2].
fn monotone_cubic(q: [f64; 4], t: f64) -> f64 {
    let secant = q[2] - q[1];
    let limit = |slope: f64| {
        if slope * secant <= 0.0 { 0.0 } else { slope.signum() * slope.abs().min(3.0 * secant.abs()) }
    };
    let (d1, d2) = (limit(0.5 * (q[2] - q[0])), limit(0.5 * (q[3] - q[1])));
    q[1] + t * (d1 + t * (3.0 * secant - 2.0 * d1 - d2 + t * (d1 + d2 - 2.0 * secant)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn field(dims: [usize; 3], f: impl Fn(DVec3) -> f64) -> CellField {
        let grid = Grid::new(dims, 1.0, DVec3::ZERO);
        let mut field = CellField::new(&grid, 0.0);
        for index in 0..grid.cells() {
            field.data[index] = f(grid.cell_centre(grid.cell_at(index)));
        }
        field
    }

    #[test]
    fn linear_reproduces_trilinear_functions() {
        let f = |p: DVec3| 1.0 + p.x - 2.0 * p.y + 0.5 * p.x * p.y * p.z;
        let cells = field([5, 4, 3], f);
        for p in [DVec3::new(0.5, 0.5, 0.5), DVec3::new(1.3, 2.7, 1.9), DVec3::new(4.5, 3.5, 2.5)] {
            assert!((Lattice::cells(&cells).linear(p) - f(p)).abs() < 1e-12);
        }
    }

    #[test]
    fn beyond_the_samples_the_field_is_constant() {
        let cells = field([3, 3, 1], |p| p.x);
        let lattice = Lattice::cells(&cells);
        assert_eq!(lattice.linear(DVec3::new(-9.0, 1.0, 40.0)), 0.5);
        assert_eq!(lattice.linear(DVec3::new(99.0, 1.0, -40.0)), 2.5);
        assert_eq!(lattice.cubic(DVec3::new(99.0, 1.0, -40.0)), 2.5);
        assert_eq!(lattice.linear(DVec3::NAN), 0.5);
    }

    #[test]
    fn cubic_is_exact_for_straight_lines_and_makes_no_new_extrema() {
        let line = field([6, 1, 1], |p| 3.0 * p.x - 1.0);
        assert!((Lattice::cells(&line).cubic(DVec3::new(2.9, 0.0, 0.0)) - 7.7).abs() < 1e-12);
        let step = field([6, 6, 6], |p| if p.x + p.y > p.z + 3.0 { 1.0 } else { 0.0 });
        for n in 0..1000 {
            let p = DVec3::new((n % 10) as f64, (n / 10 % 10) as f64, (n / 100) as f64) * 0.61;
            let value = Lattice::cells(&step).cubic(p);
            assert!((0.0..=1.0).contains(&value), "{value} at {p}");
        }
    }

    #[test]
    fn cubic_is_third_order_where_the_data_are_monotone() {
        let error = |n: usize| {
            let cells = field([n, 1, 1], |p| (p.x / n as f64).exp());
            let at = |x: f64| Lattice::cells(&cells).cubic(DVec3::new(x * n as f64, 0.5, 0.5));
            (200..800).map(|s| s as f64 * 1e-3).map(|x| (at(x) - x.exp()).abs()).fold(0.0, f64::max)
        };
        assert!(error(16) / error(128) > 8f64.powf(2.5), "{} {}", error(16), error(128));
    }

    #[test]
    fn velocity_components_are_sampled_at_their_own_faces() {
        let grid = Grid::new([4, 4, 4], 1.0, DVec3::ZERO);
        let mut u = FaceField::new(&grid, 0.0);
        for axis in Axis::ALL {
            let n = grid.face_dims(axis);
            for k in 0..n[2] {
                for j in 0..n[1] {
                    for i in 0..n[0] {
                        u[(axis, [i, j, k])] = grid.face_centre(axis, [i, j, k]).dot(DVec3::new(1.0, 2.0, 3.0));
                    }
                }
            }
        }
        let p = DVec3::new(1.7, 2.2, 1.1);
        assert!((VelocityLattice::new(&u).linear(p) - DVec3::splat(p.dot(DVec3::new(1.0, 2.0, 3.0)))).length() < 1e-12);
    }
}

//! Values between the samples: trilinear, and monotone cubic.
//!
//! Positions are in *index space*: the domain is [0,nx]×[0,ny]×[0,nz], a cell's edge is 1. A
//! [`Lattice`] knows where its first sample sits there ((½,½,½) for cells, (0,½,½) for faces
//! across x, …). Beyond the outermost samples the field is continued constantly, which is what a
//! free-slip wall and an open side both want; along a flat axis there is nothing to interpolate.

use super::{Axis, CellField, FaceField};
use glam::DVec3;

/// A borrowed array of samples and its place in index space.
#[derive(Clone, Copy)]
pub struct Lattice<'a> {
    data: &'a [f64],
    first: [f64; 3],
    dims: [usize; 3],
}

/// Where a coordinate falls among n samples: the index of the lower one, the step to the upper one, the fraction.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
    step: usize,
    t: f64,
}

impl Place {
    /// `x` counts from the first sample; beyond the ends it is held there.
    #[inline(always)]
    fn new(x: f64, n: usize) -> Self {
        if n == 1 {
            return Self { index: 0, step: 0, t: 0.0 };
        }
        // `max` before `min`: a NaN becomes 0 and cannot index outside.
        let x = x.max(0.0).min((n - 1) as f64);
        let index = (x as usize).min(n - 2);
        Self { index, step: 1, t: x - index as f64 }
    }
}

impl<'a> Lattice<'a> {
    fn new(data: &'a [f64], dims: [usize; 3], first: [f64; 3]) -> Self {
        assert_eq!(data.len(), dims.iter().product::<usize>());
        Self { data, first, dims }
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

    /// Where the first sample sits in index space.
    pub fn first(&self) -> [f64; 3] {
        self.first
    }

    #[inline(always)]
    fn places(&self, p: DVec3) -> [Place; 3] {
        std::array::from_fn(|a| Place::new(p[a] - self.first[a], self.dims[a]))
    }

    /// The eight samples around a point, x fastest.
    #[inline(always)]
    fn corners(&self, [x, y, z]: &[Place; 3]) -> [[f64; 2]; 4] {
        let [nx, ny, _] = self.dims;
        let base = x.index + nx * (y.index + ny * z.index);
        let pair = |offset: usize| {
            let row = &self.data[base + offset..base + offset + x.step + 1];
            [row[0], row[row.len() - 1]]
        };
        let (sy, sz) = (nx * y.step, nx * ny * z.step);
        [pair(0), pair(sy), pair(sz), pair(sy + sz)]
    }

    /// Trilinear interpolation.
    #[inline(always)]
    pub fn linear(&self, p: DVec3) -> f64 {
        let places = self.places(p);
        blend(&self.corners(&places), &places)
    }

    /// Trilinear interpolation, with the smallest and the largest of the eight values it blends.
    #[inline(always)]
    pub fn linear_with_range(&self, p: DVec3) -> (f64, f64, f64) {
        let places = self.places(p);
        let corners = self.corners(&places);
        let low = corners.as_flattened().iter().fold(f64::INFINITY, |m, &v| m.min(v));
        let high = corners.as_flattened().iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        (blend(&corners, &places), low, high)
    }

    /// Tensor-product cubic whose slopes are limited so that no new extrema appear.
    pub fn cubic(&self, p: DVec3) -> f64 {
        let places = self.places(p);
        // The four samples along each axis, held at the ends.
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
        // Along each axis two components sit on cell centres and one on faces.
        let [x, y, z] = &self.0;
        let centred = [0, 1, 2].map(|a| Place::new(p[a] - 0.5, self.0[(a + 1) % 3].dims[a]));
        let on_faces = [0, 1, 2].map(|a| Place::new(p[a], self.0[a].dims[a]));
        let at = |lattice: &Lattice, places: [Place; 3]| blend(&lattice.corners(&places), &places);
        DVec3::new(
            at(x, [on_faces[0], centred[1], centred[2]]),
            at(y, [centred[0], on_faces[1], centred[2]]),
            at(z, [centred[0], centred[1], on_faces[2]]),
        )
    }
}

#[inline(always)]
fn blend(corners: &[[f64; 2]; 4], [x, y, z]: &[Place; 3]) -> f64 {
    let mix = |[a, b]: [f64; 2], t: f64| a + t * (b - a);
    let [a, b, c, d] = corners.map(|pair| mix(pair, x.t));
    mix([mix([a, b], y.t), mix([c, d], y.t)], z.t)
}

/// Hermite cubic between q[1] and q[2] with central slopes, set to zero where they disagree in
/// sign with the secant (Fedkiw, Stam & Jensen 2001, app. B) and held to three times the secant
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

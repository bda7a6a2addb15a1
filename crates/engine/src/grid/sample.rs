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
    last: [f64; 3],
    stride: [usize; 3],
}

/// Where a point falls among the samples: the lowest of its eight corners, and the fractions.
#[derive(Clone, Copy)]
struct Foot {
    base: usize,
    step: [usize; 3],
    t: [f64; 3],
}

impl<'a> Lattice<'a> {
    fn new(data: &'a [f64], dims: [usize; 3], first: [f64; 3]) -> Self {
        assert_eq!(data.len(), dims.iter().product::<usize>());
        Self { data, first, last: dims.map(|n| (n - 1) as f64), stride: [1, dims[0], dims[0] * dims[1]] }
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
        Lattice { data, first: self.first, last: self.last, stride: self.stride }
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
    fn foot(&self, p: DVec3) -> Foot {
        let mut foot = Foot { base: 0, step: [0; 3], t: [0.0; 3] };
        for a in 0..3 {
            // `max` before `min`: a NaN becomes 0 and cannot index outside.
            let x = (p[a] - self.first[a]).max(0.0).min(self.last[a]);
            let i = x as usize;
            foot.t[a] = x - i as f64;
            foot.base += i * self.stride[a];
            // On the last sample the fraction is 0; do not look beyond it.
            foot.step[a] = if x < self.last[a] { self.stride[a] } else { 0 };
        }
        foot
    }

    #[inline(always)]
    fn corners(&self, foot: &Foot) -> [f64; 8] {
        let (b, [sx, sy, sz]) = (foot.base, foot.step);
        let at = |offset: usize| self.data[b + offset];
        [at(0), at(sx), at(sy), at(sx + sy), at(sz), at(sx + sz), at(sy + sz), at(sx + sy + sz)]
    }

    /// Trilinear interpolation.
    #[inline(always)]
    pub fn linear(&self, p: DVec3) -> f64 {
        let foot = self.foot(p);
        blend(&self.corners(&foot), foot.t)
    }

    /// Trilinear interpolation, with the smallest and the largest of the eight values it blends.
    #[inline(always)]
    pub fn linear_with_range(&self, p: DVec3) -> (f64, f64, f64) {
        let foot = self.foot(p);
        let c = self.corners(&foot);
        let low = c.iter().fold(f64::INFINITY, |m, &v| m.min(v));
        let high = c.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        (blend(&c, foot.t), low, high)
    }

    /// Tensor-product cubic whose slopes are limited so that no new extrema appear.
    pub fn cubic(&self, p: DVec3) -> f64 {
        let foot = self.foot(p);
        let index = |a: usize| foot.base / self.stride[a] % (self.last[a] as usize + 1);
        // Offsets of the four samples along each axis, held at the ends.
        let taps: [[isize; 4]; 3] = std::array::from_fn(|a| {
            let (i, n, s) = (index(a) as isize, self.last[a] as isize, self.stride[a] as isize);
            [-1, 0, 1, 2].map(|d| ((i + d).clamp(0, n) - i) * s)
        });
        let at = |offset: isize| self.data[foot.base.wrapping_add_signed(offset)];
        let along_y = |oz: isize| taps[1].map(|oy| monotone_cubic(taps[0].map(|ox| at(ox + oy + oz)), foot.t[0]));
        monotone_cubic(taps[2].map(|oz| monotone_cubic(along_y(oz), foot.t[1])), foot.t[2])
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
        DVec3::new(self.0[0].linear(p), self.0[1].linear(p), self.0[2].linear(p))
    }
}

#[inline(always)]
fn blend(c: &[f64; 8], t: [f64; 3]) -> f64 {
    let mix = |a: f64, b: f64, t: f64| a + t * (b - a);
    let low = mix(mix(c[0], c[1], t[0]), mix(c[2], c[3], t[0]), t[1]);
    let high = mix(mix(c[4], c[5], t[0]), mix(c[6], c[7], t[0]), t[1]);
    mix(low, high, t[2])
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

//! Where momentum goes in a coupled solve (row K1): what fluid, solids and walls got must add up to nothing.
//!
//! What is counted is what was done: the velocities of the fluid before and after, and the impulses that solids were given, not the pressures that
//! were to do it. A wrong row of B shows, and so does a velocity that was not changed as it should. Contact and joints have no part in it.
//!
//! Whatever does not answer has no velocity that would tell, and takes what the pressure does to it: closed sides, scripted solids, what holds
//! vertices, and the floor beneath a film of fluid.

use super::immersed::Immersed;
use super::interface::SurfaceRows;
use super::monolithic::SurfacePush;
use crate::fluid::boundary::Boundary;
use crate::fluid::projection::theta;
use crate::geometry::SurfaceId;
use crate::grid::{
    Axis, CellField, FaceField, Grid,
    parallel::{Sums, sum_rows},
    strides,
};
use glam::DVec3;
use std::collections::BTreeMap;
use std::ops::Range;

/// Momentum of the fluid is known to its round-off: this part of what moves counts as exchanged.
/// A choice: only `momentum_error` of the report depends on it. With much less, round-off of a fluid that nothing pushes would read as an error; more hides errors.
const MOVING: f64 = 1e-3;

/// What the fluid has on the faces that pressure drives, in units of ρ dx³, m/s: momentum, and the sum of its sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Carried {
    momentum: DVec3,
    size: f64,
}

/// What the fluid has now. Where the surface of a liquid crosses a face, only the part on its side counts: that is what the pressure there moves.
pub fn carried(grid: &Grid, boundary: &Boundary, liquid: Option<&CellField>, velocity: &FaceField) -> Carried {
    let mut carried = Carried::default();
    for axis in Axis::ALL {
        let (a, dims) = (axis.index(), grid.face_dims(axis));
        let of = |faces: Range<usize>| FaceRun {
            open: &boundary.open.axes[a][faces.clone()],
            driven: &boundary.driven.axes[a][faces.clone()],
            u: &velocity.axes[a][faces],
        };
        let Sums([momentum, size]) = sum_rows(dims, |j, k| {
            let RunsOfFaces { inner, cells, ends } = RunsOfFaces::new(grid, axis, j, k);
            let sums = ends.into_iter().fold(Sums::default(), |sums, end| of(end).add(sums, |_| 1.0));
            let Some(distance) = liquid else { return of(inner).add(sums, |_| 1.0) };
            let [below, above] = cells.map(|cells| &distance.data[cells]);
            // Most of a domain may be air, which has no momentum.
            let is_air = below.iter().chain(above).all(|d| *d >= 0.0);
            if is_air { sums } else { of(inner).add(sums, |n| across(below[n], above[n])) }
        });
        carried.momentum[a] = momentum;
        carried.size += size;
    }
    carried
}

/// Some faces beside each other.
struct FaceRun<'a> {
    open: &'a [f64],
    driven: &'a [bool],
    u: &'a [f64],
}

impl FaceRun<'_> {
    /// Momentum and size of it of the faces that pressure drives, each with its `part`, and of what was before.
    fn add(&self, sums: Sums, part: impl Fn(usize) -> f64) -> Sums {
        let Sums([mut momentum, mut size]) = sums;
        for (n, ((open, driven), u)) in self.open.iter().zip(self.driven).zip(self.u).enumerate() {
            let own = if *driven { part(n) * open * u } else { 0.0 };
            momentum += own;
            size += own.abs();
        }
        Sums([momentum, size])
    }
}

/// Faces of a row along x: those between two cells, the cells below and above these, and those at the ends of the domain.
struct RunsOfFaces {
    inner: Range<usize>,
    cells: [Range<usize>; 2],
    ends: [Range<usize>; 2],
}

impl RunsOfFaces {
    fn new(grid: &Grid, axis: Axis, j: usize, k: usize) -> Self {
        let (a, dims, stride) = (axis.index(), grid.face_dims(axis), strides(grid.dims)[axis.index()]);
        let first = dims[0] * (j + dims[1] * k);
        let cell = grid.dims[0] * (j + grid.dims[1] * k);
        let all = first..first + dims[0];
        let at = [0, j, k][a];
        let (inner, ends, above) = if axis == Axis::X {
            let ends = [first..first + 1, all.end - 1..all.end];
            (first + 1..all.end - 1, ends, cell + 1..cell + grid.dims[0])
        } else if at == 0 || at == grid.dims[a] {
            return Self { inner: first..first, cells: [0..0, 0..0], ends: [all, 0..0] };
        } else {
            (all, [0..0, 0..0], cell..cell + grid.dims[0])
        };
        Self { inner, cells: [above.start - stride..above.end - stride, above], ends }
    }
}

/// How much of the way between two cells is liquid, as far as pressure is concerned.
fn across(below: f64, above: f64) -> f64 {
    match (below < 0.0, above < 0.0) {
        (true, true) => 1.0,
        (true, false) => theta(below, above),
        (false, true) => theta(above, below),
        (false, false) => 0.0,
    }
}

/// What a solve did.
pub struct Exchange<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// kg/m³.
    pub rho: f64,
    /// Openings.
    pub boundary: &'a Boundary,
    /// The solids.
    pub immersed: &'a Immersed,
    /// p = Δt·pressure/(ρ dx), m/s.
    pub pressure: &'a CellField,
    /// The fluid before and after.
    pub carried: [Carried; 2],
    /// What fluid on faces that solids take along has gained, in units of ρ dx³, m/s.
    pub taken_along: DVec3,
    /// What the solids got.
    pub pushes: &'a [SurfacePush],
}

impl Exchange<'_> {
    /// What is left of all that was exchanged, relative to it.
    pub fn error(&self, rows: &BTreeMap<SurfaceId, SurfaceRows>) -> f64 {
        let (p, unit) = (&self.pressure.data, self.rho * self.grid.dx.powi(3));
        let [before, after] = self.carried;
        let mut net = after.momentum - before.momentum + self.taken_along;
        net += self.pushes.iter().map(|push| push.impulse[0] - push.lift[0]).sum::<DVec3>() / unit;
        for (cell, area) in rows.values().flat_map(|rows| &rows.unmet) {
            net -= p[*cell as usize] * *area;
        }
        for (cell, area) in self.immersed.areas(|surface| rows.contains_key(&surface)) {
            net -= p[cell] * area / (self.grid.dx * self.grid.dx);
        }
        for face in self.boundary.given.iter().filter(|face| face.body.is_none_or(|body| !rows.contains_key(&body))) {
            let [lower, upper] = self.grid.cells_beside(face.axis, face.index).map(|cell| cell.map_or(0.0, |c| p[c]));
            net += self.boundary.open.axes[face.axis.index()][face.index] * (lower - upper) * face.axis.unit();
        }
        let all = self.pushed() + MOVING * (before.size + after.size);
        if all > 0.0 { net.abs().element_sum() / all } else { 0.0 }
    }

    /// Σ |open Δp| over all faces.
    fn pushed(&self) -> f64 {
        let (grid, p) = (self.grid, &self.pressure.data);
        let of_axis = |axis: Axis| {
            let a = axis.index();
            let open = &self.boundary.open.axes[a];
            let at_end = |face: usize| {
                let inside = grid.cells_beside(axis, face).into_iter().flatten().map(|cell| p[cell]).sum::<f64>();
                (open[face] * inside).abs()
            };
            sum_rows(grid.face_dims(axis), |j, k| {
                let RunsOfFaces { inner, cells: [below, above], ends } = RunsOfFaces::new(grid, axis, j, k);
                let steps = p[below].iter().zip(&p[above]).zip(&open[inner]);
                let inner: f64 = steps.map(|((below, above), open)| (open * (below - above)).abs()).sum();
                inner + ends.into_iter().flatten().map(at_end).sum::<f64>()
            })
        };
        Axis::ALL.into_iter().map(of_axis).sum()
    }
}

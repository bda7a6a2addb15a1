//! The surface of a solid as pressure finds it: in pieces, some of which no fluid meets.
//!
//! Where a body stands on the floor or leans on a wall its surface meets no fluid that the grid could resolve; the film of fluid
//! that is there has the pressure of the cells around, and these stand in for it (`film`). Without them a light body would be
//! held to the floor, and in a closed box no fluid could take its place.
//!
//! **Hydrostatics.** The pressure of a cell acts on a polygon as if it were that at the polygon, up to a cell away \[ZB17, eq. 15\]. Unlike there, of the part that
//! carries the fluid's own weight, ρ g·x, the value at the polygon is known: what B has of it is replaced by what is right,
//!
//! ```text
//! lift = −ρ Δt Σ ( [A, (x − c) × A] g·(x − x_c) + [0, S g × A] )        polygons in cells x_c of fluid
//! ```
//!
//! (of a rigid body; of any other with Nᵀ A and its slope in place of the brackets), S being the mean of (y − x)(y − x)ᵀ over the polygon: pressure is higher where it is deeper, and so acts below the middle. So
//! that Archimedes holds for any body at any place, and a neutral one stays (row C5). The film beneath a body that stands has its
//! pressure, too: what of ∮ n g·x dA = V g is not found on polygons is there. Of a body with modes, the same integrals over its triangles
//! tell what is missing: ∮ Nᵀn dA, which is how fast its volume changes, and ∮ Nᵀn g·x dA.

use super::Medium;
use super::immersed::Body;
use crate::fluid::boundary::{Boundary, Wall};
use crate::grid::{Axis, Grid, unravel};
use crate::solid::{Follow, Point};
use glam::{DMat3, DVec3};
use std::collections::BTreeMap;

/// A part of a surface, and the cell that it pushes.
pub(super) struct SurfacePiece {
    pub cell: u32,
    /// Its area, outwards, in faces of the grid.
    pub area: DVec3,
    /// Its middle.
    pub point: Point,
    /// Mean of (x − middle)(x − middle)ᵀ, m²; zero of a face of the grid.
    pub spread: DMat3,
}

/// All of them.
pub(super) struct MetSurface<'a> {
    follow: &'a Follow,
    /// Those that fluid meets.
    met: Vec<SurfacePiece>,
    /// Of a surface that is wholly in the domain: what stands in for the rest, and the pieces inside of bodies that it is joined with.
    rest: Option<(Film, Vec<SurfacePiece>)>,
    /// Areas of pieces in cells that no fluid passes.
    dropped: Vec<(u32, DVec3)>,
}

/// The part of a surface that meets no fluid the grid could resolve: the fluid there has the pressure of cells around.
#[derive(Default)]
struct Film {
    /// Its part of B, three by three freedoms.
    row: FreedomRow,
    /// Its area, in faces of the grid.
    area: DVec3,
    /// Cells that stand in for it, and their parts of 1. None if nothing is missing.
    shares: Vec<(u32, f64)>,
}

/// A row of B by threes of freedoms.
pub(super) type FreedomRow = BTreeMap<usize, DVec3>;

/// What is missing of a surface below this part of it is round-off.
/// Some thousand roundings.
const ROUND_OFF: f64 = 1e-12;

/// Between a body and a closed side of the domain, gaps narrower than this, in cells, are films. The grid could squeeze fluid through them,
/// but what flows in a film has no velocity that outlasts a step: it would hold the body like glue.
/// A choice: with more, fluid that the grid does resolve would be taken for a film; with less, bodies stick.
const FILM: f64 = 0.25;

/// Whether fluid can pass through a face of a cell that is more open than `least`.
pub(super) fn has_driven_face(grid: &Grid, boundary: &Boundary, cell: usize, least: f64) -> bool {
    let at = grid.cell_at(cell);
    Axis::ALL.into_iter().any(|axis| {
        let mut above = at;
        above[axis.index()] += 1;
        [at, above].into_iter().any(|face| boundary.driven[(axis, face)] && boundary.open[(axis, face)] > least)
    })
}

/// Whether fluid passes a cell at all, other than as a film.
fn is_passed(grid: &Grid, boundary: &Boundary, cell: usize) -> bool {
    let at = grid.cell_at(cell);
    let is_beside_wall = Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).any(|axis| {
        let a = axis.index();
        let is_closed = |side: usize| boundary.walls[a][side] == Wall::Closed;
        at[a] == 0 && is_closed(0) || at[a] == grid.dims[a] - 1 && is_closed(1)
    });
    has_driven_face(grid, boundary, cell, if is_beside_wall { FILM } else { 0.0 })
}

impl<'a> MetSurface<'a> {
    /// A surface of which a part is beyond the domain, or that answers vertex by vertex.
    pub fn open(follow: &'a Follow, pieces: Vec<SurfacePiece>) -> Self {
        Self { follow, met: pieces, rest: None, dropped: Vec::new() }
    }

    /// A closed surface: drop the pieces in cells that no fluid passes, and give what is missing of Σ B = 0 to the part of the surface that
    /// faces the same way, or to its rim if there is none. `is_inside` tells where it touches what it is joined with: nothing is missing there.
    /// Pieces come in two parts, the second of which is hidden by other bodies. `whole` is Σ B of a body that deforms.
    pub fn closed(
        grid: &Grid,
        boundary: &Boundary,
        follow: &'a Follow,
        whole: FreedomRow,
        (pieces, hidden): (Vec<SurfacePiece>, Vec<SurfacePiece>),
        is_inside: impl Fn(DVec3) -> bool,
    ) -> Self {
        let (met, dropped): (Vec<_>, Vec<_>) =
            pieces.into_iter().partition(|piece| is_passed(grid, boundary, piece.cell as usize));
        let areas = dropped.iter().map(|piece| (piece.cell, piece.area)).collect();
        let inside: Vec<SurfacePiece> =
            dropped.into_iter().chain(hidden).filter(|piece| is_inside(piece.point.at)).collect();
        let (mut missing, mut area) = (whole, DVec3::ZERO);
        for piece in met.iter().chain(&inside) {
            area -= piece.area;
            follow.gather(&piece.point, -piece.area, |n, part| *missing.entry(n).or_default() += part);
        }
        let film = Film { row: missing, area, shares: shares(grid, &met, area) };
        Self { follow, met, rest: Some((film, inside)), dropped: areas }
    }

    /// B: what the surface pushes into cells, by threes of freedoms; to be added up.
    pub fn entries(&self) -> Vec<(u32, u32, DVec3)> {
        let mut entries = Vec::with_capacity(3 * self.met.len());
        for SurfacePiece { cell, area, point, .. } in &self.met {
            self.follow.gather(point, *area, |n, part| entries.push((*cell, n as u32, part)));
        }
        if let Some((Film { row, shares, .. }, _)) = &self.rest {
            for (cell, share) in shares {
                entries.extend(row.iter().map(|(n, part)| (*cell, *n as u32, *share * *part)));
            }
        }
        entries
    }

    /// Areas that are not in B though pressure acts on them, in faces of the grid, less those that stand in for them.
    pub fn unmet(&self) -> Vec<(u32, DVec3)> {
        let mut unmet = self.dropped.clone();
        if let Some((Film { area, shares, .. }, _)) = &self.rest {
            unmet.extend(shares.iter().map(|(cell, share)| (*cell, -*share * *area)));
        }
        unmet
    }

    /// Whether B has more than the surface that fluid meets.
    pub fn has_film(&self) -> bool {
        self.rest.as_ref().is_some_and(|(film, _)| !film.shares.is_empty())
    }

    /// The part of the surface that is in fluid.
    pub fn wet_share(&self, fluid: Medium) -> f64 {
        let area = |piece: &SurfacePiece| piece.area.length();
        let wet: f64 = self.met.iter().filter(|piece| fluid.is_in(piece.cell as usize)).map(area).sum();
        let all: f64 = self.met.iter().map(area).sum();
        if all > 0.0 { wet / all } else { 0.0 }
    }

    /// What hydrostatic pressure does to the freedoms beyond what B has of it, into `lift`.
    pub fn lift(&self, grid: &Grid, fluid: Medium, body: &Body, lift: &mut [f64]) {
        // Pressure at a point, times Δt and the area of a face, N s.
        let weight = fluid.rho * grid.dx * grid.dx * fluid.gain;
        let impulse = |at: DVec3| weight.dot(at - grid.origin);
        let at_middle = |cell: u32| impulse(grid.cell_centre(unravel(grid.dims, cell as usize)));
        for SurfacePiece { cell, area, point, spread } in
            self.met.iter().filter(|piece| fluid.is_in(piece.cell as usize))
        {
            let mut add = |n: usize, part: DVec3| add(lift, n, part);
            self.follow.gather(point, (at_middle(*cell) - impulse(point.at)) * *area, &mut add);
            self.follow.gather_slope(point, -*area, *spread * weight, &mut add);
        }
        // ∮ Nᵀn g·x dA; of a rigid body V g, which acts on its centre.
        let whole = match self.follow {
            Follow::Rigid { .. } => FreedomRow::from([(0, fluid.rho * body.displaced * fluid.gain)]),
            _ => over_triangles(self.follow, body, |at| impulse(at) / (grid.dx * grid.dx)),
        };
        self.lift_of_rest(grid, fluid, whole, lift);
    }

    /// The same of what pieces do not have of the `whole`: that is the film's. Without one, it is small: what moved when they were laid on planes of the grid.
    pub fn lift_of_rest(&self, grid: &Grid, fluid: Medium, whole: FreedomRow, lift: &mut [f64]) {
        let Some((Film { row, shares, .. }, inside)) = &self.rest else { return };
        let weight = fluid.rho * grid.dx * grid.dx * fluid.gain;
        let impulse = |at: DVec3| weight.dot(at - grid.origin);
        let mut missing = whole;
        let mut take = |n: usize, part: DVec3| *missing.entry(n).or_default() += part;
        for SurfacePiece { area, point, spread, .. } in self.met.iter().chain(inside) {
            self.follow.gather(point, -impulse(point.at) * *area, &mut take);
            self.follow.gather_slope(point, -*area, *spread * weight, &mut take);
        }
        let mut give = |row: &FreedomRow, part: f64| row.iter().for_each(|(&n, value)| add(lift, n, part * *value));
        if shares.is_empty() {
            give(&missing, -self.wet_share(fluid));
        }
        for (cell, share) in shares.iter().filter(|(cell, _)| fluid.is_in(*cell as usize)) {
            give(&missing, -share);
            give(row, share * impulse(grid.cell_centre(unravel(grid.dims, *cell as usize))));
        }
    }
}

/// ∮ Nᵀn p dA over the triangles of a solid that deforms, by threes of freedoms, for a pressure that is linear in the place.
pub(super) fn over_triangles(follow: &Follow, solid: &Body, pressure: impl Fn(DVec3) -> f64) -> FreedomRow {
    let mut pushes = BTreeMap::<u32, (DVec3, DVec3)>::new();
    for triangle in solid.triangles() {
        let [a, b, c] = triangle.map(|(_, at)| at);
        let (area, all) = (0.5 * (b - a).cross(c - a), pressure(a) + pressure(b) + pressure(c));
        for (vertex, at) in triangle {
            pushes.entry(vertex).or_insert((at, DVec3::ZERO)).1 += (all + pressure(at)) / 12.0 * area;
        }
    }
    let mut sum = FreedomRow::new();
    for (vertex, (at, push)) in pushes {
        let point = Point { at, corners: [(vertex, at, 1.0), (vertex, at, 0.0), (vertex, at, 0.0)] };
        follow.gather(&point, push, |n, part| *sum.entry(n).or_default() += part);
    }
    sum
}

/// Cells that stand in for the part of a surface that is `missing` beside the pieces that are `met`.
fn shares(grid: &Grid, met: &[SurfacePiece], missing: DVec3) -> Vec<(u32, f64)> {
    let mut areas = BTreeMap::<u32, DVec3>::new();
    met.iter().for_each(|piece| *areas.entry(piece.cell).or_default() += piece.area);
    let surface: f64 = areas.values().map(|area| area.length()).sum();
    let size = missing.length();
    if size <= ROUND_OFF * surface {
        return Vec::new();
    }
    let outwards = missing.normalize_or_zero();
    let facing = |area: &DVec3| area.dot(outwards).max(0.0);
    let height = |cell: u32| grid.cell_centre(unravel(grid.dims, cell as usize)).dot(outwards);
    let top = areas.keys().map(|&cell| height(cell)).fold(f64::NEG_INFINITY, f64::max);
    let has_facing = areas.values().map(facing).sum::<f64>() > size;
    let at_rim = |cell: u32| if height(cell) > top - grid.dx { 1.0 } else { 0.0 };
    let share = |(&cell, area): (&u32, &DVec3)| (cell, if has_facing { facing(area) } else { at_rim(cell) });
    let shares: Vec<(u32, f64)> = areas.iter().map(share).filter(|(_, share)| *share > 0.0).collect();
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    shares.into_iter().map(|(cell, share)| (cell, share / all)).collect()
}

/// Add to the n-th three of some values.
pub(super) fn add(values: &mut [f64], n: usize, part: DVec3) {
    values[3 * n..][..3].iter_mut().zip(part.to_array()).for_each(|(value, part)| *value += part);
}

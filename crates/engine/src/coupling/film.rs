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
use super::interface::Scene;
use crate::fluid::boundary::{Boundary, Wall};
use crate::geometry::SurfaceId;
use crate::grid::{Axis, Grid, unravel};
use crate::solid::{Follow, Point};
use crate::solve::{LEAST_CHAMBER, TIED};
use glam::{DMat3, DVec3};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Of a surface that is wholly in the domain: what stands in for the rest.
    rest: Option<Unmet>,
    /// Areas of pieces in cells that no fluid passes, and in crevices.
    dropped: Vec<(u32, DVec3)>,
    /// Cells of these.
    pub crevices: BTreeSet<u32>,
}

/// What of a surface no fluid meets.
struct Unmet {
    film: Film,
    /// Pieces inside of bodies that it is joined with, or in crevices between them.
    inside: Vec<SurfacePiece>,
    /// What stands in for these, body by body.
    between: Vec<Film>,
}

/// A body that a surface is joined with.
pub(super) struct Partner {
    pub surface: SurfaceId,
    /// Cells around where the two meet, and their parts of 1: the same for both.
    pub rim: Vec<(u32, f64)>,
}

/// The part of a surface that meets no fluid the grid could resolve: the fluid there has the pressure of cells around.
#[derive(Default)]
struct Film {
    /// Its part of B, three by three freedoms.
    row: FreedomRow,
    /// Its area, in faces of the grid.
    area: DVec3,
    /// What scripted solids on its other side push into it, in units of dx², m/s.
    led: f64,
    /// Cells that stand in for it, and their parts of 1. None if nothing is missing.
    shares: Vec<(u32, f64)>,
}

impl Film {
    /// Nothing yet, for which these cells stand in.
    fn at(shares: Vec<(u32, f64)>) -> Self {
        Self { shares, ..Self::default() }
    }

    /// Take a part of a piece.
    fn add(&mut self, follow: &Follow, piece: &SurfacePiece, part: f64) {
        self.area += part * piece.area;
        follow.gather(&piece.point, part * piece.area, |n, own| *self.row.entry(n).or_default() += own);
    }
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

/// Bodies that are joined have no film between them where they are nearer than this, in cells.
/// A choice: as wide as the film of contact (contact.rs). With less, there is a film where a joint has drifted; with more, a film beside the joint is missed.
const INSIDE: f64 = 0.05;

/// As near, in cells, are those that have a crevice between them, and the cells around where they meet.
/// A choice: a crevice is a cell wide, and the next cell is beside it.
pub(super) const BESIDE: f64 = 1.5;

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
pub(super) fn is_passed(grid: &Grid, boundary: &Boundary, cell: usize) -> bool {
    let at = grid.cell_at(cell);
    let is_beside_wall = Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).any(|axis| {
        let a = axis.index();
        let is_closed = |side: usize| boundary.walls[a][side] == Wall::Closed;
        at[a] == 0 && is_closed(0) || at[a] == grid.dims[a] - 1 && is_closed(1)
    });
    has_driven_face(grid, boundary, cell, if is_beside_wall { FILM } else { 0.0 })
}

/// Cells of crevices: a few cells that no fluid leaves, between these pieces of a surface and something else. The volume of such a one is not the
/// surface's to change, so no pressure could answer the surface there: what is met in them is film. (Of a chamber within a solid, or around one, the
/// pieces add up to nothing.)
fn crevices(grid: &Grid, boundary: &Boundary, pieces: &[SurfacePiece]) -> BTreeSet<u32> {
    let mut areas = BTreeMap::<u32, (DVec3, f64)>::new();
    for SurfacePiece { cell, area, .. } in pieces {
        let (sum, size) = areas.entry(*cell).or_default();
        (*sum, *size) = (*sum + *area, *size + area.length());
    }
    let changes = |cells: &Vec<u32>| {
        let met = cells.iter().filter_map(|cell| areas.get(cell));
        let (sum, size) = met.fold((DVec3::ZERO, 0.0), |(sum, size), own| (sum + own.0, size + own.1));
        // A cell by itself is one that no fluid passes.
        cells.len() > 1 && sum.length() > TIED * size
    };
    narrow(grid, boundary, areas.keys().copied()).into_iter().filter(changes).flatten().collect()
}

/// Those of some cells that lie in closed regions too small for a chamber, region by region, with all cells of these.
pub(super) fn narrow(grid: &Grid, boundary: &Boundary, cells: impl Iterator<Item = u32>) -> Vec<Vec<u32>> {
    let (mut narrow, mut wide) = (Vec::<Vec<u32>>::new(), BTreeSet::new());
    for cell in cells {
        if wide.contains(&cell) || narrow.iter().any(|region| region.contains(&cell)) {
            continue;
        }
        match around(grid, boundary, cell, &wide) {
            (region, true) => narrow.push(region),
            (region, false) => wide.extend(region),
        }
    }
    narrow
}

/// Cells that fluid gets to from a cell, and whether these are all, and fewer than a chamber has. Those that are `wide` lead to many.
fn around(grid: &Grid, boundary: &Boundary, cell: u32, wide: &BTreeSet<u32>) -> (Vec<u32>, bool) {
    let mut cells = vec![cell];
    let mut next = 0;
    while next < cells.len() {
        for beyond in beyond_faces(grid, boundary, cells[next] as usize) {
            match beyond {
                Some(other) if !wide.contains(&other) && cells.len() < LEAST_CHAMBER => {
                    if !cells.contains(&other) {
                        cells.push(other);
                    }
                }
                _ => return (cells, false),
            }
        }
        next += 1;
    }
    (cells, true)
}

/// The cells beyond those faces of a cell that fluid can pass; none beyond a side of the domain.
fn beyond_faces(grid: &Grid, boundary: &Boundary, cell: usize) -> impl Iterator<Item = Option<u32>> {
    let at = grid.cell_at(cell);
    Axis::ALL.into_iter().flat_map(move |axis| {
        let a = axis.index();
        let mut above = at;
        above[a] += 1;
        [at, above].into_iter().filter(move |face| boundary.driven[(axis, *face)]).map(move |face| {
            let [below, above] = grid.cells_beside(axis, grid.face(axis, face));
            if face == at { below } else { above }.map(|cell| cell as u32)
        })
    })
}

impl<'a> MetSurface<'a> {
    /// A surface of which a part is beyond the domain, or that answers vertex by vertex.
    pub fn open(follow: &'a Follow, pieces: Vec<SurfacePiece>) -> Self {
        Self { follow, met: pieces, rest: None, dropped: Vec::new(), crevices: BTreeSet::new() }
    }

    /// A closed surface: drop the pieces in cells that no fluid passes, and give what is missing of Σ B = 0 to the part of the surface that
    /// faces the same way, or to its rim if there is none. Where it touches its `partners` there is no film; but as these may move against each other, cells around
    /// both stand in: of a motion that they share, the two parts are opposite. Pieces come in two parts, the second of which is hidden by other bodies.
    /// `whole` is Σ B of a body that deforms.
    pub fn closed(
        scene: &Scene,
        own: SurfaceId,
        follow: &'a Follow,
        whole: FreedomRow,
        (pieces, hidden): (Vec<SurfacePiece>, Vec<SurfacePiece>),
        partners: &[Partner],
    ) -> Self {
        let Scene { grid, boundary, immersed, .. } = *scene;
        let crevices = crevices(grid, boundary, &pieces);
        let is_met =
            |piece: &SurfacePiece| is_passed(grid, boundary, piece.cell as usize) && !crevices.contains(&piece.cell);
        let (met, dropped): (Vec<_>, Vec<_>) = pieces.into_iter().partition(is_met);
        let areas = dropped.iter().map(|piece| (piece.cell, piece.area)).collect();
        let (mut inside, mut led) = (Vec::new(), 0.0);
        let mut between: Vec<Film> = partners.iter().map(|partner| Film::at(partner.rim.clone())).collect();
        for piece in dropped.into_iter().chain(hidden) {
            let (at, is_in_crevice) = (piece.point.at, crevices.contains(&piece.cell));
            let reach = if is_in_crevice { BESIDE } else { INSIDE } * grid.dx;
            let Some(other) = immersed.nearest_to(grid.dx, own, at, reach) else { continue };
            if let Some(n) = partners.iter().position(|partner| partner.surface == other) {
                between[n].add(follow, &piece, 1.0);
                inside.push(piece);
            } else if let Some(velocity) = immersed.scripted_velocity(other, at) {
                led -= velocity.dot(piece.area);
            }
        }
        let mut film = Film { row: whole, led, ..Film::default() };
        met.iter().chain(&inside).for_each(|piece| film.add(follow, piece, -1.0));
        film.shares = shares(grid, &met, film.area);
        Self { follow, met, rest: Some(Unmet { film, inside, between }), dropped: areas, crevices }
    }

    /// B: what the surface pushes into cells, by threes of freedoms; to be added up.
    pub fn entries(&self) -> Vec<(u32, u32, DVec3)> {
        let mut entries = Vec::with_capacity(3 * self.met.len());
        for SurfacePiece { cell, area, point, .. } in &self.met {
            self.follow.gather(point, *area, |n, part| entries.push((*cell, n as u32, part)));
        }
        for Film { row, shares, .. } in self.films() {
            for (cell, share) in shares {
                entries.extend(row.iter().map(|(n, part)| (*cell, *n as u32, *share * *part)));
            }
        }
        entries
    }

    /// Areas that are not in B though pressure acts on them, in faces of the grid, less those that stand in for them.
    pub fn unmet(&self) -> Vec<(u32, DVec3)> {
        let mut unmet = self.dropped.clone();
        for Film { area, shares, .. } in self.films() {
            unmet.extend(shares.iter().map(|(cell, share)| (*cell, -*share * *area)));
        }
        unmet
    }

    /// What is pushed into cells however the surface moves, in units of dx², m/s: by scripted solids on the other side of films.
    pub fn given(&self) -> Vec<(usize, f64)> {
        let films = self.films().filter(|film| film.led != 0.0);
        films.flat_map(|film| film.shares.iter().map(|(cell, share)| (*cell as usize, share * film.led))).collect()
    }

    fn films(&self) -> impl Iterator<Item = &Film> {
        self.rest.iter().flat_map(|rest| rest.between.iter().chain([&rest.film]))
    }

    /// Whether B has more than the surface that fluid meets.
    pub fn has_film(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| !rest.film.shares.is_empty())
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
        let Some(Unmet { film: Film { row, shares, .. }, inside, .. }) = &self.rest else { return };
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

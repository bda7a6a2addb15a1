//! The surface of a rigid body as pressure finds it: in pieces, some of which no fluid meets.
//!
//! Where a body stands on the floor or leans on a wall its surface meets no fluid that the grid could resolve; the film of fluid
//! that is there has the pressure of the cells around, and these stand in for it (`film`). Without them a light body would be
//! held to the floor, and in a closed box no fluid could take its place.
//!
//! **Hydrostatics.** The pressure of a cell acts on a polygon as if it were that at the polygon, up to a cell away. Of the part that
//! carries the fluid's own weight, ρ g·x, the value at the polygon is known: what B has of it is replaced by what is right,
//!
//! ```text
//! lift = −ρ Δt Σ ( [A, (x − c) × A] g·(x − x_c) + [0, S g × A] )        polygons in cells x_c of fluid
//! ```
//!
//! with S the mean of (y − x)(y − x)ᵀ over the polygon: pressure is higher where it is deeper, and so acts below the middle. So
//! that Archimedes holds for any body at any place, and a neutral one stays (row C5). The film beneath a body that stands has its
//! pressure, too: what of ∮ n g·x dA = V g is not found on polygons is there.

use super::Medium;
use crate::fluid::boundary::{Boundary, Wall};
use crate::grid::{Axis, Grid, unravel};
use glam::{DMat3, DVec3};
use std::collections::BTreeMap;

/// Six numbers: along the axes, and about them.
pub(super) type Twist = [f64; 6];

/// A part of a body's surface, and the cell that it pushes.
pub(super) struct Piece {
    pub cell: u32,
    /// Its part of B.
    pub push: Twist,
    /// Its middle.
    pub at: DVec3,
    /// Mean of (x − middle)(x − middle)ᵀ, m²; zero of a face of the grid.
    pub spread: DMat3,
}

/// All of them.
pub(super) struct Surface {
    /// Those that fluid meets.
    met: Vec<Piece>,
    /// Of a surface that is wholly in the domain: what stands in for the rest, and the pieces inside of bodies that it is joined with.
    rest: Option<(Film, Vec<Piece>)>,
}

/// The part of a surface that meets no fluid the grid could resolve: the fluid there has the pressure of cells around.
#[derive(Default)]
struct Film {
    /// Its part of B.
    push: Twist,
    /// Cells that stand in for it, and their parts of 1. None if nothing is missing.
    shares: Vec<(u32, f64)>,
}

/// What is missing of a surface below this part of it is round-off.
const ROUND_OFF: f64 = 1e-12;

/// Between a body and a closed side of the domain, gaps narrower than this, in cells, are films. The grid could squeeze fluid through them,
/// but what flows in a film has no velocity that outlasts a step: it would hold the body like glue.
const FILM: f64 = 0.25;

/// Whether fluid can pass through a face of a cell that is more open than `least`.
pub(super) fn has_free_face(grid: &Grid, boundary: &Boundary, cell: usize, least: f64) -> bool {
    let at = grid.cell_at(cell);
    Axis::ALL.into_iter().any(|axis| {
        let mut above = at;
        above[axis.index()] += 1;
        [at, above].into_iter().any(|face| boundary.free[(axis, face)] && boundary.open[(axis, face)] > least)
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
    has_free_face(grid, boundary, cell, if is_beside_wall { FILM } else { 0.0 })
}

impl Surface {
    /// A surface of which a part is beyond the domain.
    pub fn open(pieces: Vec<Piece>) -> Self {
        Self { met: pieces, rest: None }
    }

    /// A closed surface: drop the pieces in cells that no fluid passes, and give what is missing of Σ B = 0 to the part of the surface that
    /// faces the same way, or to its rim if there is none. `is_inside` tells where it touches what it is joined with: nothing is missing there.
    /// Pieces come in two parts, the second of which is hidden by other bodies.
    pub fn closed(
        grid: &Grid,
        boundary: &Boundary,
        (pieces, hidden): (Vec<Piece>, Vec<Piece>),
        is_inside: impl Fn(DVec3) -> bool,
    ) -> Self {
        let (met, dropped): (Vec<_>, Vec<_>) =
            pieces.into_iter().partition(|piece| is_passed(grid, boundary, piece.cell as usize));
        let inside: Vec<Piece> = dropped.into_iter().chain(hidden).filter(|piece| is_inside(piece.at)).collect();
        let mut missing = [0.0; 6];
        met.iter().chain(&inside).for_each(|piece| add(&mut missing, -1.0, &piece.push));
        let mut surface = Self { met, rest: None };
        let film = film(grid, &surface.rows(), missing);
        surface.rest = Some((film, inside));
        surface
    }

    /// B: what the surface pushes into each cell.
    pub fn rows(&self) -> BTreeMap<u32, Twist> {
        let mut rows = BTreeMap::<u32, Twist>::new();
        self.met.iter().for_each(|piece| add(rows.entry(piece.cell).or_default(), 1.0, &piece.push));
        if let Some((Film { push, shares }, _)) = &self.rest {
            shares.iter().for_each(|(cell, share)| add(rows.entry(*cell).or_default(), *share, push));
        }
        rows
    }

    /// Whether B has more than the surface that fluid meets.
    pub fn has_film(&self) -> bool {
        self.rest.as_ref().is_some_and(|(film, _)| !film.shares.is_empty())
    }

    /// The part of the surface that is in fluid.
    pub fn wet_share(&self, fluid: Medium) -> f64 {
        let area = |piece: &Piece| DVec3::from_slice(&piece.push).length();
        let wet: f64 = self.met.iter().filter(|piece| fluid.is_in(piece.cell as usize)).map(area).sum();
        let all: f64 = self.met.iter().map(area).sum();
        if all > 0.0 { wet / all } else { 0.0 }
    }

    /// What hydrostatic pressure does to the body beyond what B has of it, N s and N m s.
    pub fn lift(&self, grid: &Grid, fluid: Medium, volume: f64) -> Twist {
        // Pressure at a point, times Δt and the area of a face, N s.
        let impulse = |at: DVec3| fluid.rho * grid.dx * grid.dx * fluid.gain.dot(at - grid.origin);
        let at_middle = |cell: u32| impulse(grid.cell_centre(unravel(grid.dims, cell as usize)));
        // What the pressure does to a piece about the centre beyond what its value in the middle does.
        let within = |piece: &Piece| {
            let aside = fluid.rho * grid.dx * grid.dx * (piece.spread * fluid.gain);
            let moment = aside.cross(DVec3::from_slice(&piece.push));
            [0.0, 0.0, 0.0, moment.x, moment.y, moment.z]
        };
        let mut lift = [0.0; 6];
        for piece in self.met.iter().filter(|piece| fluid.is_in(piece.cell as usize)) {
            add(&mut lift, at_middle(piece.cell) - impulse(piece.at), &piece.push);
            add(&mut lift, -1.0, &within(piece));
        }
        let Some((Film { push, shares }, inside)) = &self.rest else { return lift };
        // ∮ n g·x dA = V g acts on the centre. What pieces do not have of it is the film's; without one, it is small: what moved when
        // they were laid on planes of the grid.
        let mut missing = [0.0; 6];
        missing[..3].copy_from_slice(&(fluid.rho * volume * fluid.gain).to_array());
        for piece in self.met.iter().chain(inside) {
            add(&mut missing, -impulse(piece.at), &piece.push);
            add(&mut missing, -1.0, &within(piece));
        }
        if shares.is_empty() {
            add(&mut lift, -self.wet_share(fluid), &missing);
        }
        for (cell, share) in shares.iter().filter(|(cell, _)| fluid.is_in(*cell as usize)) {
            add(&mut lift, -share, &missing);
            add(&mut lift, share * at_middle(*cell), push);
        }
        lift
    }
}

/// What stands in for the part `missing` of a surface with these rows of B.
fn film(grid: &Grid, rows: &BTreeMap<u32, Twist>, missing: Twist) -> Film {
    let surface: f64 = rows.values().map(|row| DVec3::from_slice(row).length()).sum();
    let size = DVec3::from_slice(&missing).length();
    if size <= ROUND_OFF * surface {
        return Film::default();
    }
    let outwards = DVec3::from_slice(&missing).normalize_or_zero();
    let facing = |row: &Twist| DVec3::from_slice(row).dot(outwards).max(0.0);
    let height = |cell: u32| grid.cell_centre(unravel(grid.dims, cell as usize)).dot(outwards);
    let top = rows.keys().map(|&cell| height(cell)).fold(f64::NEG_INFINITY, f64::max);
    let has_facing = rows.values().map(facing).sum::<f64>() > size;
    let at_rim = |cell: u32| if height(cell) > top - grid.dx { 1.0 } else { 0.0 };
    let share = |(&cell, row): (&u32, &Twist)| (cell, if has_facing { facing(row) } else { at_rim(cell) });
    let shares: Vec<(u32, f64)> = rows.iter().map(share).filter(|(_, share)| *share > 0.0).collect();
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    Film { push: missing, shares: shares.into_iter().map(|(cell, share)| (cell, share / all)).collect() }
}

/// sum ← sum + part × of.
pub(super) fn add(sum: &mut Twist, part: f64, of: &Twist) {
    sum.iter_mut().zip(of).for_each(|(sum, of)| *sum += part * of);
}

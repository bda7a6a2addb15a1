//! Flow into closed regions that nothing can take.
//!
//! In a region without an opening the volume that scripted solids, led parts of elastic ones, sources and inflow push in must add up to zero: no
//! pressure makes room for the rest, and the projection can only remove it (`solve::Regions`), which destroys fluid. So the books are kept here, cause by
//! cause, and what is left tells who pushes where there is no room (fault row 23).
//!
//! What gives way is no cause. Free and elastic bodies answer the pressure: they neither count as pushing nor, where they tie regions
//! together, is what they take over from one to the other left. A liquid takes what it has room for: as long as its particles leave gaps, they
//! come closer together, and when it is drawn apart it tears, unless pockets of air in it keep their volume.
//!
//! The grid tells the truth about regions it resolves only. Crevices of less than [`LEAST_CHAMBER`] cells are left alone: they are what remains
//! between bodies that meet. As much as a solid pushes there, or where no fluid is (in cells that it fills but for a hair, inside another
//! solid), the regions beside it may lack. The same holds of what is in or beyond a closed side: solids may lie there, and leave that way.

use super::film::has_driven_face;
use super::immersed::Immersed;
use super::monolithic::Led;
use crate::fluid::boundary::{Boundary, Wall};
use crate::fluid::projection::Projection;
use crate::fluid::water::WaterState;
use crate::grid::Grid;
use crate::solve::LEAST_CHAMBER;
use glam::DVec3;
use std::collections::BTreeMap;

/// As much of what is pushed into a region may be left: cut faces and cells close to about this.
/// A choice: with less, runs would end on errors of the grid; with more, that much fluid is destroyed and nobody told.
const LEFT: f64 = 1e-3;

/// A closed region and what nothing in it can take.
#[derive(Clone, Debug, PartialEq)]
pub struct Incompatible {
    /// The region's first cell.
    pub cell: [usize; 3],
    /// The centre of that, m.
    pub position: DVec3,
    /// Room for fluid in the region, m³.
    pub volume: f64,
    /// What cannot be taken, m³/s; negative if fluid would have to come from nowhere.
    pub flux: f64,
    /// What pushes or draws most.
    pub cause: Cause,
}

/// What pushes fluid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The solid of this name.
    Solid(String),
    /// The source of this number.
    Source(usize),
    /// The side with an inflow: its axis, and whether it is the upper one.
    Side(usize, bool),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Solid(name) => write!(f, "solid {name:?}"),
            Self::Source(number) => write!(f, "source {number}"),
            Self::Side(axis, is_upper) => {
                write!(f, "inflow at {}_{}", ["x", "y", "z"][*axis], if *is_upper { "max" } else { "min" })
            }
        }
    }
}

/// What a step pushes, as the projection has seen it.
pub struct Pushing<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides and the solids.
    pub boundary: &'a Boundary,
    /// The solids themselves.
    pub immersed: &'a Immersed,
    /// What led parts of solids that answer push.
    pub led: &'a [Led],
    /// Cells into which sources push, how much (in units of dx², m/s), and the number of the source.
    pub sources: &'a [(usize, f64, usize)],
    /// The liquid, if it is one, and the volume that a particle stands for, m³.
    pub liquid: Option<(&'a WaterState, f64)>,
    /// s.
    pub dt: f64,
}

/// Whether the grid resolves a region with this much room, in cells.
fn is_chamber(room: &f64) -> bool {
    *room >= LEAST_CHAMBER as f64
}

/// What is pushed into one region, in units of dx², m/s.
#[derive(Default)]
struct Books {
    net: f64,
    /// Of everything, whatever its sign.
    all: f64,
    /// What the solids around the region push where there is no fluid, or into crevices.
    hidden: f64,
    by_cause: BTreeMap<Cause, f64>,
}

impl Pushing<'_> {
    /// The region with the largest flow that nothing can take, if there is one, after the solve of the step.
    pub fn find(&self, projection: &Projection) -> Option<Incompatible> {
        let regions = projection.regions();
        let room = regions.totals(&self.boundary.volume.data);
        if !room.iter().any(is_chamber) {
            return None;
        }
        let nodes: BTreeMap<u32, u32> =
            projection.pockets().iter().flat_map(|cells| cells.iter().map(|&cell| (cell, cells[0]))).collect();
        let region_of = |cell: usize| regions.region_of(nodes.get(&(cell as u32)).map_or(cell, |&node| node as usize));
        let excess = |is_exact: bool| -> Vec<(usize, f64, Books)> {
            let books = self.books(&room, &region_of, is_exact);
            let net: Vec<f64> = books.iter().map(|books| books.net).collect();
            let left = regions.unbalanced(&net).into_iter().zip(books).zip(&room).enumerate();
            let large = left.filter(|(_, ((left, books), _))| left.abs() > LEFT * books.all + books.hidden);
            large.filter(|(_, (_, room))| is_chamber(room)).map(|(k, ((left, books), _))| (k, left, books)).collect()
        };
        // What is inside other solids takes some time to find out.
        if excess(false).is_empty() {
            return None;
        }
        let mut found = excess(true);
        if let Some((water, each)) = self.liquid {
            let gaps = self.gaps(projection, water, each, &room, &region_of);
            let has_air = |k: usize| nodes.values().any(|&node| regions.region_of(node as usize) == Some(k));
            // What bodies hand on from region to region finds room in any of them.
            let of_all: f64 = gaps.iter().sum();
            found.retain(|&(k, left, _)| {
                let gap = if regions.are_tied() { of_all } else { gaps[k] };
                let change = left * self.dt / self.grid.dx;
                if left > 0.0 { change > gap } else { has_air(k) && change < gap }
            });
        }
        let (k, left, books) = found.into_iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let cell = self.grid.cell_at(regions.closed()[k].first_cell);
        let (cause, _) = books.by_cause.into_iter().max_by(|a, b| (a.1 * left).total_cmp(&(b.1 * left)))?;
        Some(Incompatible {
            cell,
            position: self.grid.cell_centre(cell),
            volume: room[k] * self.grid.dx.powi(3),
            flux: left * self.grid.dx.powi(2),
            cause,
        })
    }

    /// Keep the books of all regions; `is_exact` if solids inside others are to be told.
    fn books(&self, room: &[f64], region_of: &impl Fn(usize) -> Option<usize>, is_exact: bool) -> Vec<Books> {
        let (grid, boundary) = (self.grid, self.boundary);
        let mut books: Vec<Books> = room.iter().map(|_| Books::default()).collect();
        let mut enter = |cell: usize, flux: f64, cause: Option<Cause>| {
            let Some(region) = region_of(cell) else { return };
            let books = &mut books[region];
            (books.net, books.all) = (books.net + flux, books.all + flux.abs());
            if let Some(cause) = cause {
                *books.by_cause.entry(cause).or_default() += flux;
            }
        };
        let mut hidden = Vec::new();
        let is_led = |surface| self.led.iter().any(|led| led.surface == surface);
        let at_sides = if is_exact { self.immersed.at_sides(grid, boundary.walls, is_led) } else { Vec::new() };
        let of_led = |led: &Led| {
            let pushes = led.pushed.iter().map(|&(cell, flux)| (cell, flux, false)).collect();
            (self.immersed.name(led.surface), pushes)
        };
        let scripted = self.immersed.scripted_pushes(grid, is_exact);
        for (name, pushes) in scripted.chain(self.led.iter().map(of_led)) {
            let (mut touched, mut covered) = (Vec::new(), 0.0);
            for (cell, flux, is_covered) in pushes {
                enter(cell, flux, Some(Cause::Solid(name.to_owned())));
                let region = region_of(cell);
                touched.extend(region);
                let is_hidden =
                    region.map_or(!has_driven_face(grid, boundary, cell, 0.0), |region| !is_chamber(&room[region]));
                covered += if is_covered || is_hidden { flux.abs() } else { 0.0 };
            }
            touched.sort_unstable();
            touched.dedup();
            if is_exact {
                covered += at_sides.iter().filter(|(other, _)| *other == name).map(|(_, flux)| flux).sum::<f64>();
            }
            hidden.extend(touched.into_iter().map(|region| (region, covered)));
        }
        for &(cell, flux, source) in self.sources {
            enter(cell, flux, Some(Cause::Source(source)));
        }
        for face in boundary.given.iter().filter(|face| face.body.is_none() && face.velocity != 0.0) {
            let a = face.axis.index();
            let flux = face.velocity * boundary.open.axes[a][face.index];
            let [below, above] = grid.cells_beside(face.axis, face.index);
            let (below, above) = (below.map(|cell| (cell, -flux)), above.map(|cell| (cell, flux)));
            let side = |is_upper: bool| matches!(boundary.walls[a][usize::from(is_upper)], Wall::Inflow { .. });
            let cause = match (below, above) {
                (None, _) if side(false) => Some(Cause::Side(a, false)),
                (_, None) if side(true) => Some(Cause::Side(a, true)),
                _ => None,
            };
            for (cell, flux) in [below, above].into_iter().flatten() {
                enter(cell, flux, cause.clone());
            }
        }
        hidden.into_iter().for_each(|(region, covered)| books[region].hidden += covered);
        books
    }

    /// Room that particles and air leave in each region, in cells.
    fn gaps(
        &self,
        projection: &Projection,
        water: &WaterState,
        each: f64,
        room: &[f64],
        region_of: &impl Fn(usize) -> Option<usize>,
    ) -> Vec<f64> {
        let (grid, cell_volume) = (self.grid, self.grid.dx.powi(3));
        let mut gaps = room.to_vec();
        let volume = |cell: usize| self.boundary.volume.data[cell];
        let in_pockets = projection.pockets().iter().flatten().map(|&cell| (cell as usize, volume(cell as usize)));
        let of_air = water.bubbles.iter().map(|bubble| (bubble.cells[0] as usize, -bubble.air / cell_volume));
        for (cell, volume) in in_pockets.chain(of_air) {
            if let Some(region) = region_of(cell) {
                gaps[region] += volume;
            }
        }
        for x in &water.particles.position {
            if let Some(region) = region_of(grid.cell_around((*x - grid.origin) / grid.dx)) {
                gaps[region] -= each / cell_volume;
            }
        }
        gaps
    }
}

//! A surface that looks plane is made plane: particles are few, and what they tell of single cells is noise.
//!
//! Through the distances φ of a cell beside the surface and of those around it a plane is laid by least squares,
//!
//! ```text
//! Σ w_i (a + b·x_i − φ_i)² + λ Σ w_i ‖b‖² → min,   w_i = N_i ω_i² max((1 − |φ_i|)², ε).
//! ```
//!
//! N are the weights ¼, ½, ¼ along each axis, up to a factor. ω is the room that solids leave: where it is small, few
//! particles tell. 1 − |φ| is how steeply density falls with distance (`surface::depth`), hence how little noise φ has.
//! What is cut off still says which side is up, and counts ε: if the surface runs along the grid through the centres of
//! cells, nothing else does, and a plane through noise alone may stand upright. This shifts plane surfaces by some hundredth
//! of a cell.
//!
//! What a cell beside a solid tells is told of the middle of its room, not of its centre; and where the room reaches less far along the
//! normal, density changes faster: distances are shorter by as much. So the plane is laid again when its normal is known. Such cells may
//! be partly full with the surface hidden between them and the solid, and are asked as well.
//!
//! Density falls a little differently across the grid than along it, which makes ‖b‖ up to 15 % too small. A distance
//! grows by one per cell, so a and b are divided by ‖b‖. It is this that lets water rest: from the ratio of the distances
//! of neighbouring cells follows the direction in which pressure pushes, and what is wrong with that adds up.
//!
//! The cell then takes the mean of its distances from the planes of the cells around it, weighted by how well these are
//! known. Beside solids those of cells with room speak for those without. The farther the distances are from any plane, the less is
//! changed: drops, crests and thin sheets stay. Only cells with little room, which know no distance themselves, take the
//! planes' in any case.

use super::narrowed::Spread;
use super::surface::{Surface, depth};
use crate::fluid::boundary::Boundary;
use crate::grid::{Axis, CellField, Grid, cells_beside_the_interface, strides, unravel};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Root-mean-square distance from the planes, in cells, up to which the surface counts as plane, and from which on it
/// does not at all.
/// Choices: the first must cover the noise of particles, or still water trembles (row B4); the second leaves drops and crests alone.
const PLANE: [f64; 2] = [0.1, 0.2];

/// ε: how much cells count whose distances are cut off.
/// A choice: little enough beside 1, and without it waves through cell centres grew (docs/methods/water.md, *Surface*).
const CUT_OFF: f64 = 0.02;

/// λ: a slope of which no cells tell, as that across a flat grid, is zero.
/// A choice: little beside the spread of the cells around, which is about ½.
const RIDGE: f64 = 1e-3;

/// Distances that grow less than this from cell to cell know of no surface.
/// A choice: half of what they should.
const LEAST_SLOPE: f64 = 0.5;

/// Cells with little room are asked for where the surface is if those around them are nearer to it than this, cells.
/// A choice: more than noise and less than waves. Half a cell would make neutral bodies a cell below a surface move at 2e-3 g instead of 1e-3 g.
const UNSURE: f64 = 0.1;

/// Less total weight than this says nothing.
/// A choice: the 27 cells together weigh 8 at most, and around a plane through the middle one about 4.
const LEAST_TOTAL: f64 = 0.25;

/// Solids farther away than this, in cells, do not matter to a cell and those around it.
/// Two diagonals of a cell, 2√3: planes are made from the cells around, and are read by the cells around.
const SOLIDS: f64 = 3.5;

/// Cells handed to a thread at once.
const CHUNK: usize = 64;

/// What one cell tells.
#[derive(Clone, Copy, Default)]
struct Sample {
    weight: f64,
    /// Where, in cells from the cell that asks.
    place: DVec3,
    /// Distance, in cells.
    value: f64,
    spread: Spread,
}

/// The plane through the distances around a cell.
#[derive(Clone, Copy, Default)]
struct FittedPlane {
    /// Distance of the cell from it, in cells.
    value: f64,
    normal: DVec3,
    /// How much distances grow per cell along it.
    slope: f64,
    /// How well the cells around tell where it is.
    trust: f64,
    /// Mean square distance of what they tell from it, in cells².
    error: f64,
    /// What a cell beside a solid itself tells, of its centre.
    own: Option<f64>,
}

/// Make `distance` (m) plane where it nearly is.
pub fn flatten(grid: &Grid, boundary: &Boundary, surface: &Surface, distance: &mut CellField) {
    let passed = Fit { grid, boundary, surface, distance }.passed_centres();
    passed.into_iter().for_each(|(c, value)| distance.data[c] = grid.dx * value);
    let mut cells = open_cells_beside_the_surface(boundary, distance);
    // Those with little room have what cells around them told: near the surface, nobody knows on which side of it they are.
    let is_unsure = |c: &usize| distance.data[*c].abs() < UNSURE * grid.dx;
    cells.extend(surface.tight_cells().filter(is_unsure).map(|c| c as u32));
    cells.sort_unstable();
    cells.dedup();
    let old = distance.clone();
    let fit = Fit { grid, boundary, surface, distance: &old };
    let planes: Vec<FittedPlane> = cells.par_iter().with_min_len(CHUNK).map(|&c| fit.plane(c as usize)).collect();
    let plane = |c: usize| cells.binary_search(&(c as u32)).map_or(FittedPlane::default(), |n| planes[n]);
    let flatten = |cells: &[u32], distance: &mut CellField| {
        let mean = |&c: &u32| fit.mean(c as usize, plane);
        let values: Vec<f64> = cells.par_iter().with_min_len(CHUNK).map(mean).collect();
        for (&c, value) in cells.iter().zip(values) {
            distance.data[c as usize] = grid.dx * value;
        }
    };
    flatten(&cells, distance);
    // The surface may have moved past the centre of a cell, and is beside others now.
    let mut others = open_cells_beside_the_surface(boundary, distance);
    others.retain(|c| cells.binary_search(c).is_err());
    flatten(&others, distance);
}

/// Cells between which and one that they are open to the surface lies, in order.
fn open_cells_beside_the_surface(boundary: &Boundary, distance: &CellField) -> Vec<u32> {
    let mut cells = cells_beside_the_interface(distance);
    if boundary.distance.is_some() {
        cells.retain(|&c| is_open_to_other_side(boundary, distance, c as usize));
    }
    cells
}

/// The faces of a cell: how open they are, and the cell beyond.
fn beside(boundary: &Boundary, c: usize) -> impl Iterator<Item = (f64, usize)> {
    let dims = boundary.volume.dims;
    let at = unravel(dims, c);
    Axis::ALL.into_iter().flat_map(move |axis| {
        let (a, stride) = (axis.index(), strides(dims)[axis.index()]);
        let mut upper = at;
        upper[a] += 1;
        let below = (at[a] > 0).then(|| (boundary.open[(axis, at)], c - stride));
        let above = (upper[a] < dims[a]).then(|| (boundary.open[(axis, upper)], c + stride));
        [below, above].into_iter().flatten()
    })
}

/// Whether the surface lies between a cell and one that it is open to.
fn is_open_to_other_side(boundary: &Boundary, distance: &CellField, c: usize) -> bool {
    let is_inside = |c: usize| distance.data[c] < 0.0;
    beside(boundary, c).any(|(open, other)| open > 0.0 && is_inside(other) != is_inside(c))
}

/// What planes are laid through.
struct Fit<'a> {
    grid: &'a Grid,
    boundary: &'a Boundary,
    surface: &'a Surface,
    /// m.
    distance: &'a CellField,
}

impl Fit<'_> {
    /// Cells beside solids whose centre is on the other side of the surface than what they tell, the middle of their room; and their distances, in cells.
    fn passed_centres(&self) -> Vec<(usize, f64)> {
        let passed = |c: usize| {
            let (told, plane) = (self.distance.data[c], self.plane(c));
            let own = plane.own?;
            (((own < 0.0) != (told < 0.0)) && plane.error.sqrt() < PLANE[0]).then_some((c, own))
        };
        self.surface.asked_off_centre().into_par_iter().filter_map(passed).collect()
    }

    /// The plane of a cell.
    fn plane(&self, c: usize) -> FittedPlane {
        let Self { grid, surface, distance, .. } = *self;
        let is_near_solids = self.is_near_solids(c);
        let mut samples = [Sample::default(); 27];
        let mut count = 0;
        let mut own = None;
        self.around(c, |way, mut weight, other| {
            let (mut place, mut value, mut spread) = (way, distance.data[other] / grid.dx, Spread::WHOLE);
            if is_near_solids {
                let Some(told) = surface.told(other) else { return };
                weight *= told.room * told.room;
                place += told.offset;
                (value, spread) = (depth(told.density), told.spread);
            }
            if other == c {
                own = Some(count);
            }
            weight *= (1.0 - value.abs()).powi(2).max(CUT_OFF);
            samples[count] = Sample { weight, place, value, spread };
            count += 1;
        });
        let samples = &mut samples[..count];
        let mut plane = lay(samples);
        if is_near_solids && plane.trust > 0.0 {
            samples.iter_mut().for_each(|s| s.value *= s.spread.along(plane.normal));
            plane = lay(samples);
            // Where all is full there is no direction.
            let own = own.filter(|_| plane.slope >= LEAST_SLOPE).map(|own| &samples[own]);
            plane.own = own.map(|own| own.value - plane.normal.dot(own.place));
        }
        plane
    }

    /// The distance of a cell from the planes of those around it, in cells.
    fn mean(&self, c: usize, plane: impl Fn(usize) -> FittedPlane) -> f64 {
        let own = plane(c).own.map_or(self.distance.data[c] / self.grid.dx, |own| own.clamp(-1.0, 1.0));
        let (mut value, mut error, mut total) = (0.0, 0.0, 0.0);
        self.around(c, |way, weight, other| {
            let plane = plane(other);
            let weight = weight * plane.trust;
            value += weight * (plane.value - plane.normal.dot(way));
            error += weight * plane.error;
            total += weight;
        });
        if total == 0.0 {
            return own;
        }
        let error = (error / total).sqrt();
        let share =
            if self.surface.is_tight(c) { 1.0 } else { ((PLANE[1] - error) / (PLANE[1] - PLANE[0])).clamp(0.0, 1.0) };
        own + share * ((value / total).clamp(-1.0, 1.0) - own)
    }

    fn is_near_solids(&self, c: usize) -> bool {
        self.boundary.distance.as_ref().is_some_and(|solids| solids.data[c] < SOLIDS)
    }

    /// Visit the cells around one: the way there, in cells, the weight, and the cell.
    fn around(&self, c: usize, mut visit: impl FnMut(DVec3, f64, usize)) {
        let Self { grid, boundary, .. } = *self;
        let (at, is_near_solids) = (grid.cell_at(c), self.is_near_solids(c));
        for n in 0..27 {
            let way = [n % 3, n / 3 % 3, n / 9].map(|i| i as isize - 1);
            let place = [0, 1, 2].map(|a| at[a].wrapping_add_signed(way[a]));
            if (0..3).any(|a| place[a] >= grid.dims[a]) || is_near_solids && !reaches(boundary, at, way) {
                continue;
            }
            let weight = way.iter().map(|&i| if i == 0 { 1.0 } else { 0.5 }).product();
            visit(DVec3::from(way.map(|i| i as f64)), weight, grid.cell(place));
        }
    }
}

/// The plane through what cells tell.
fn lay(samples: &[Sample]) -> FittedPlane {
    let total: f64 = samples.iter().map(|s| s.weight).sum();
    if total < LEAST_TOTAL {
        return FittedPlane::default();
    }
    let place = samples.iter().map(|s| s.weight * s.place).sum::<DVec3>() / total;
    let value = samples.iter().map(|s| s.weight * s.value).sum::<f64>() / total;
    let mut moments = DMat3::from_diagonal(DVec3::splat(RIDGE * total));
    let mut mixed = DVec3::ZERO;
    for s in samples {
        let x = s.place - place;
        moments += DMat3::from_cols(s.weight * x.x * x, s.weight * x.y * x, s.weight * x.z * x);
        mixed += s.weight * (s.value - value) * x;
    }
    let gradient = moments.inverse() * mixed;
    let Some(normal) = gradient.try_normalize() else { return FittedPlane::default() };
    let error = |s: &Sample| s.weight * (s.value - value - gradient.dot(s.place - place)).powi(2);
    let error = samples.iter().map(error).sum::<f64>() / total;
    let slope = gradient.length();
    let value = value / slope.max(LEAST_SLOPE) - normal.dot(place);
    FittedPlane { value, normal, slope, trust: moments.determinant().cbrt(), error, own: None }
}

/// Whether open faces lead from a cell to one around it.
fn reaches(boundary: &Boundary, at: [usize; 3], way: [isize; 3]) -> bool {
    let leads = |axis: Axis| {
        let a = axis.index();
        let (mut face, mut next, mut rest) = (at, at, way);
        face[a] += usize::from(way[a] > 0);
        next[a] = next[a].wrapping_add_signed(way[a]);
        rest[a] = 0;
        way[a] != 0 && boundary.open[(axis, face)] > 0.0 && reaches(boundary, next, rest)
    };
    way == [0; 3] || Axis::ALL.into_iter().any(leads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::boundary::Wall;

    /// What becomes of distances (in cells) in a box of 8³ cells of 0.5 m.
    fn flattened(distance: impl Fn(DVec3) -> f64) -> Vec<(DVec3, f64, f64)> {
        let grid = Grid::new([8; 3], 0.5, DVec3::ZERO);
        let boundary = Boundary::new(&grid, [[Wall::Closed; 2]; 3], None, |_| (DVec3::ZERO, None));
        let mut field = CellField::new(&grid, 0.0);
        let place = |c: usize| DVec3::from(grid.cell_at(c).map(|i| i as f64));
        (0..grid.cells()).for_each(|c| field.data[c] = 0.5 * distance(place(c)).clamp(-1.0, 1.0));
        flatten(&grid, &boundary, &Surface::new(&grid, [2; 3]), &mut field);
        (0..grid.cells()).map(|c| (place(c), distance(place(c)).clamp(-1.0, 1.0), 2.0 * field.data[c])).collect()
    }

    #[test]
    fn planes_stay() {
        for normal in [DVec3::Y, DVec3::new(0.6, 0.8, 0.0), DVec3::new(1.0, 2.0, 3.0).normalize()] {
            for (x, old, new) in flattened(|x| normal.dot(x - 3.3)) {
                assert!((new - old).abs() < 0.03, "{normal} at {x}: {old} became {new}");
            }
        }
    }

    #[test]
    fn a_surface_through_the_centres_of_cells_stays() {
        let tilted = |x: DVec3| x.y - 3.0 + 0.01 * (x.x - 3.5);
        for (x, old, new) in flattened(tilted) {
            assert!((new - old).abs() < 0.05, "at {x}: {old} became {new}");
        }
    }

    #[test]
    fn what_changes_from_cell_to_cell_nearly_goes() {
        let checked = |x: DVec3| if (x.x + x.z) % 2.0 == 0.0 { 0.05 } else { -0.05 };
        for (x, old, new) in flattened(|x| x.y - 3.4 + checked(x)) {
            if (2.0..=5.0).contains(&x.x) && (2.0..=5.0).contains(&x.z) && (old.abs() < 0.7) {
                let (before, after) = (checked(x), new - (x.y - 3.4));
                // The shift by cut-off distances, which is the same everywhere, shows as well.
                assert!((-0.2..0.4).contains(&(after / before)), "at {x}: {before} became {after}");
            }
        }
    }

    #[test]
    fn thin_sheets_stay() {
        for (x, old, new) in flattened(|x| if x.y == 3.0 { -0.2 } else { 0.6 }) {
            assert!((old < 0.0) == (new < 0.0) && (new - old).abs() < 0.1, "at {x}: {old} became {new}");
        }
    }
}

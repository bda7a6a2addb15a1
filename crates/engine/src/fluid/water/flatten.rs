//! A surface that looks plane is made plane: particles are few, and what they tell of single cells is noise.
//!
//! Through the distances φ of a cell beside the surface and of those around it a plane is laid by least squares,
//!
//! ```text
//! Σ w_i (a + b·x_i − φ_i)² + λ Σ w_i ‖b − b₀‖² → min,   w_i = N_i ω_i² (φ′_i² + ε),
//! ```
//!
//! and the cell takes its value. N are the weights ¼, ½, ¼ along each axis, up to a factor: with them no wave, however
//! short, comes out upside down, as it would from equal ones, and then grow. ω is the room that solids leave: where it
//! is small, few particles tell. φ′ = 1 − |φ| is how steeply density falls with distance (`surface::depth`), hence how
//! little noise φ has. What a cell beside a solid tells is told of the middle of its room, not of its centre.
//!
//! Distances are cut off a cell away, and those say no more than that the plane is beyond: where it is, they are left
//! out. Planes are then kept as they are, to a few hundredths of a cell. The farther the distances are from any plane, the less is changed: drops, crests and
//! thin sheets stay. Only cells with little room, which know no distance themselves, take the plane's in any case. As
//! those around them all lie to one side, they do not tell how the plane is inclined; b₀ does, the mean of the slopes
//! next to it.

use super::surface::{Surface, depth};
use crate::fluid::boundary::Boundary;
use crate::grid::{Axis, CellField, Grid, cells_beside_the_interface, strides, unravel};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Root-mean-square distance from the plane, in cells, up to which the surface counts as plane, and from which on it
/// does not at all.
const PLANE: [f64; 2] = [0.1, 0.2];

/// ε: the weight of cells all inside or all outside, which say little more than that.
const LEAST_WEIGHT: f64 = 0.05;

/// λ of cells with room and of those without: how much a slope that too few cells tell of is held back.
const RIDGE: [f64; 2] = [1e-3, 0.05];

/// Less total weight than this says nothing.
const LEAST_TOTAL: f64 = 0.25;

/// Distances are cut off at 1; a plane farther away than this there is no contradiction.
const BEYOND: f64 = 1.1;

/// Solids farther away than this, in cells, do not matter to a cell and those around it.
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
}

/// A plane through the surface around a cell.
#[derive(Clone, Copy)]
struct Plane {
    /// Distance of the cell, in cells.
    value: f64,
    /// How it grows, per cell.
    slope: DVec3,
}

impl Plane {
    /// Distance at a place given in cells from the cell, in cells.
    fn at(&self, place: DVec3) -> f64 {
        self.value + self.slope.dot(place)
    }
}

/// Make `distance` (m) plane where it nearly is.
pub fn flatten(grid: &Grid, boundary: &Boundary, surface: &Surface, distance: &mut CellField) {
    let mut cells = cells_beside_the_interface(distance);
    if boundary.distance.is_some() {
        cells.retain(|&c| is_open_to_other_side(boundary, distance, c as usize));
    }
    let (tight, free): (Vec<u32>, Vec<u32>) = cells.into_iter().partition(|&c| surface.is_tight(c as usize));
    let fit = Fit { grid, boundary, surface, distance };
    let plane = |&c: &u32| fit.plane(c as usize, DVec3::ZERO, RIDGE[0]);
    let planes: Vec<Plane> = free.par_iter().with_min_len(CHUNK).map(plane).collect();
    let slope = |c: usize| free.binary_search(&(c as u32)).map_or(DVec3::ZERO, |n| planes[n].slope);
    let continued = |&c: &u32| fit.plane(c as usize, mean_slope(boundary, surface, slope, c as usize), RIDGE[1]);
    let continued: Vec<Plane> = tight.par_iter().with_min_len(CHUNK).map(continued).collect();
    for (&c, plane) in free.iter().chain(&tight).zip(planes.iter().chain(&continued)) {
        distance.data[c as usize] = grid.dx * plane.value;
    }
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

/// Mean slope in the cells with room that a cell is open to.
fn mean_slope(boundary: &Boundary, surface: &Surface, slope: impl Fn(usize) -> DVec3, c: usize) -> DVec3 {
    let known = beside(boundary, c).filter(|&(open, other)| open > 0.0 && !surface.is_tight(other));
    let (sum, total) =
        known.fold((DVec3::ZERO, 0.0), |(sum, total), (open, other)| (sum + open * slope(other), total + open));
    if total > 0.0 { sum / total } else { DVec3::ZERO }
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
    /// The plane of a cell, with a slope like `expected` as far as `ridge` says.
    fn plane(&self, c: usize, expected: DVec3, ridge: f64) -> Plane {
        let Self { grid, boundary, surface, distance } = *self;
        let (at, own) = (grid.cell_at(c), distance.data[c] / grid.dx);
        let is_near_solids = boundary.distance.as_ref().is_some_and(|solids| solids.data[c] < SOLIDS);
        let mut samples = [Sample::default(); 27];
        for (n, sample) in samples.iter_mut().enumerate() {
            let way = [n % 3, n / 3 % 3, n / 9].map(|i| i as isize - 1);
            let place = [0, 1, 2].map(|a| at[a].wrapping_add_signed(way[a]));
            if (0..3).any(|a| place[a] >= grid.dims[a]) {
                continue;
            }
            let other = grid.cell(place);
            let mut weight: f64 = way.iter().map(|&i| if i == 0 { 1.0 } else { 0.5 }).product();
            let mut offset = DVec3::from(way.map(|i| i as f64));
            let mut value = distance.data[other] / grid.dx;
            if is_near_solids {
                let Some(told) = surface.told(other).filter(|_| reaches(boundary, at, way)) else { continue };
                weight *= told.room * told.room;
                offset += told.offset;
                value = depth(told.density);
            }
            let slope = 1.0 - value.abs();
            *sample = Sample { weight: weight * (slope * slope + LEAST_WEIGHT), place: offset, value };
        }
        let total: f64 = samples.iter().map(|s| s.weight).sum();
        if total < LEAST_TOTAL {
            return Plane { value: own, slope: DVec3::ZERO };
        }
        let mut plane = least_squares(&samples, expected, ridge);
        // What is cut off says no more than that the plane is beyond; where it is, nothing is to be fitted.
        let is_beyond = |s: &Sample| s.value.abs() >= 1.0 && s.value.signum() * plane.at(s.place) > BEYOND;
        if samples.iter().any(is_beyond) {
            let kept = samples.map(|s| if is_beyond(&s) { Sample::default() } else { s });
            let rest: f64 = kept.iter().map(|s| s.weight).sum();
            if rest >= LEAST_TOTAL {
                samples = kept;
                plane = least_squares(&samples, expected, ridge);
            }
        }
        let total: f64 = samples.iter().map(|s| s.weight).sum();
        let error = |s: &Sample| s.weight * (s.value - plane.at(s.place)).powi(2);
        let error = (samples.iter().map(error).sum::<f64>() / total).sqrt();
        let share =
            if surface.is_tight(c) { 1.0 } else { ((PLANE[1] - error) / (PLANE[1] - PLANE[0])).clamp(0.0, 1.0) };
        Plane { value: own + share * (plane.value.clamp(-1.0, 1.0) - own), slope: share * plane.slope }
    }
}

/// The plane that fits best; its value is that of the cell that asks.
fn least_squares(samples: &[Sample], expected: DVec3, ridge: f64) -> Plane {
    let total: f64 = samples.iter().map(|s| s.weight).sum();
    let place = samples.iter().map(|s| s.weight * s.place).sum::<DVec3>() / total;
    let value = samples.iter().map(|s| s.weight * s.value).sum::<f64>() / total;
    let mut moments = DMat3::from_diagonal(DVec3::splat(ridge * total));
    let mut mixed = ridge * total * expected;
    for s in samples {
        let x = s.place - place;
        moments += DMat3::from_cols(s.weight * x.x * x, s.weight * x.y * x, s.weight * x.z * x);
        mixed += s.weight * (s.value - value) * x;
    }
    let slope = moments.inverse() * mixed;
    Plane { value: value - slope.dot(place), slope }
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
        let boundary = Boundary::new(&grid, [[Wall::Closed; 2]; 3], None, |_| DVec3::ZERO);
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
    fn what_changes_from_cell_to_cell_nearly_goes_and_never_turns_over() {
        let checked = |x: DVec3| if (x.x + x.z) % 2.0 == 0.0 { 0.05 } else { -0.05 };
        for (x, old, new) in flattened(|x| x.y - 3.4 + checked(x)) {
            if (2.0..=5.0).contains(&x.x) && (2.0..=5.0).contains(&x.z) && (old.abs() < 0.7) {
                let (before, after) = (checked(x), new - (x.y - 3.4));
                assert!((-0.1..0.4).contains(&(after / before)), "at {x}: {before} became {after}");
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

//! Surfaces of two bodies that lie against each other in a plane of the grid.
//!
//! A face in a plane belongs to the fluid before it. Where another body is there instead, with a face of its own in the same plane,
//! each of the two closes the plane and pushes into the other's cells, and the plane is counted as closed twice. What both have of a
//! grid face is hidden: it pushes nothing, and counts once.

use super::{BodyCut, CutPolygon};
use crate::grid::{Axis, Grid};
use std::collections::BTreeMap;

/// Farther from a plane than this, in cells, a polygon is not in it.
/// A choice: what `ON_PLANE` and `ALONG_PLANE` (mod.rs) put on a plane is in it to round-off.
const IN_PLANE: f64 = 1e-9;

/// The middle of an area within another is no farther from the middle of that, in cells, than half of what it is smaller, and this.
/// A choice, halved once: places of the two areas are only known by their middles.
const APART: f64 = 0.1;

/// What bodies hide of one another.
#[derive(Default)]
pub struct Flush {
    /// Faces of the grid that were closed twice, and by how much too much.
    pub faces: Vec<(Axis, usize, f64)>,
    /// Of each body that has any: the part of each polygon that is hidden.
    pub hidden: BTreeMap<usize, Vec<f64>>,
}

/// What faces the upper side of a grid face, or its lower one.
#[derive(Default)]
struct LaidFace {
    /// m².
    area: f64,
    /// Area times place along the other axes, m³.
    moment: [f64; 2],
    /// Body and polygon.
    polygons: Vec<(usize, usize)>,
}

/// Find what the bodies hide of one another.
pub fn flush(grid: &Grid, bodies: &[&BodyCut]) -> Flush {
    let mut sides = BTreeMap::<(usize, usize), [LaidFace; 2]>::new();
    for (b, body) in bodies.iter().enumerate() {
        for (n, polygon) in body.polygons.iter().enumerate() {
            let Some((axis, face, is_lower)) = in_plane(grid, polygon) else { continue };
            let side = &mut sides.entry((axis.index(), face)).or_default()[usize::from(is_lower)];
            let area = polygon.area[axis.index()].abs();
            side.area += area;
            for (moment, other) in side.moment.iter_mut().zip(axis.others()) {
                *moment += area * polygon.centroid[other.index()];
            }
            side.polygons.push((b, n));
        }
    }
    let mut found = Flush::default();
    for ((axis, face), [upper, lower]) in sides {
        let both = upper.area.min(lower.area);
        let room = 0.5 * (upper.area - lower.area).abs() / grid.dx + APART * grid.dx;
        let is_apart = |n: usize| (upper.moment[n] / upper.area - lower.moment[n] / lower.area).abs() > room;
        if both == 0.0 || is_apart(0) || is_apart(1) {
            continue;
        }
        found.faces.push((Axis::ALL[axis], face, both / (grid.dx * grid.dx)));
        for side in [upper, lower] {
            for (body, polygon) in side.polygons {
                let all = found.hidden.entry(body).or_insert_with(|| vec![0.0; bodies[body].polygons.len()]);
                all[polygon] = both / side.area;
            }
        }
    }
    found
}

/// The grid face that a polygon lies in, and whether it looks down from there.
fn in_plane(grid: &Grid, polygon: &CutPolygon) -> Option<(Axis, usize, bool)> {
    let axis = Axis::ALL.into_iter().find(|axis| axis.others().iter().all(|o| polygon.area[o.index()] == 0.0))?;
    let a = axis.index();
    let is_lower = polygon.area[a] < 0.0;
    let mut at = grid.cell_at(polygon.cell);
    at[a] += usize::from(is_lower);
    let aside = (polygon.centroid[a] - grid.origin[a]) / grid.dx - at[a] as f64;
    (aside.abs() <= IN_PLANE).then(|| (axis, grid.face(axis, at), is_lower))
}

#[cfg(test)]
mod tests {
    use super::super::cut;
    use super::*;
    use crate::geometry::{Pose, Shape};
    use glam::{DQuat, DVec3};

    #[test]
    fn a_small_box_on_a_large_one_hides_its_bottom() {
        let grid = Grid::new([6, 6, 6], 1.0, DVec3::ZERO);
        let boxed = |size: DVec3, position: DVec3| {
            cut(&grid, &Shape::Box { size }.surface(1.0).posed(&Pose { position, rotation: DQuat::IDENTITY }))
        };
        let large = boxed(DVec3::new(4.0, 1.0, 4.0), DVec3::new(3.0, 2.5, 3.0));
        let small = boxed(DVec3::new(1.5, 1.0, 2.0), DVec3::new(2.75, 3.5, 3.0));
        let found = flush(&grid, &[&large, &small]);
        assert!((found.faces.iter().map(|face| face.2).sum::<f64>() - 3.0).abs() < 1e-12);
        for (body, cut) in [&large, &small].into_iter().enumerate() {
            let hidden: f64 = cut.polygons.iter().zip(&found.hidden[&body]).map(|(p, part)| part * p.area.y).sum();
            assert!((hidden - [3.0, -3.0][body]).abs() < 1e-12, "{hidden}");
        }
        // A hair above it, nothing is hidden.
        let above = boxed(DVec3::new(1.5, 1.0, 2.0), DVec3::new(2.75, 3.51, 3.0));
        assert!(flush(&grid, &[&large, &above]).faces.is_empty());
    }
}

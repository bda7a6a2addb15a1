//! Dividing triangles along the planes of a grid.
//!
//! Coordinates are in cells: the planes are the whole numbers. A triangle is split into slabs along
//! x, each of those along y, each of those along z. A new point on an edge is always computed from
//! the endpoint below the plane to the one above, and planes are taken in rising order, so the two
//! polygons (or triangles) that share an edge get bit-identical points on it: the pieces fit without
//! gaps. What rounding does to areas therefore cancels between neighbours.

use glam::{DMat3, DVec3};

/// A triangle cut by six planes has at most nine corners.
const CAPACITY: usize = 9;

/// Pieces smaller than this, cells², are what rounding leaves where a triangle touches a plane.
/// Cells have to close within 1e-12 (crates/engine/tests/cut_cells.rs).
const NEGLIGIBLE: f64 = 1e-15;

/// Corners that should be on a plane are no farther from it than this, cells, for grids up to a thousand cells wide.
/// Some roundings of coordinates there, 2e-13 each (`ON_PLANE` in mod.rs).
const ZIGZAG: f64 = 1e-12;

/// The part of a triangle in one cell.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The cell, or −1 along one axis if the piece is below the grid along that axis.
    pub cell: [i32; 3],
    /// ∫ n dA, cells².
    pub area: DVec3,
    /// Relative to the cell's lowest corner, in cells; zero for a piece below the grid.
    pub centroid: DVec3,
    /// Mean of (x − centroid)(x − centroid)ᵀ, cells².
    pub spread: DMat3,
}

/// Divide a triangle among the cells of a grid of `dims` cells; `emit` gets the pieces in the grid and those that are
/// below it along exactly one axis. Pieces above or beyond an edge of the grid influence no face in it.
pub fn divide(corners: [DVec3; 3], dims: [usize; 3], emit: &mut impl FnMut(Piece)) {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a).to_array();
    let mut polygon = Polygon { points: [[0.0; 3]; CAPACITY], len: 3 };
    for (point, corner) in polygon.points.iter_mut().zip(corners) {
        *point = corner.to_array();
    }
    let mut task = Division { dims, normal, cell: [0; 3], emit };
    task.along(0, polygon);
}

/// A convex polygon, counter-clockwise about its normal.
#[derive(Clone, Copy)]
struct Polygon {
    points: [[f64; 3]; CAPACITY],
    len: usize,
}

struct Division<'a, F> {
    dims: [usize; 3],
    normal: [f64; 3],
    cell: [i32; 3],
    emit: &'a mut F,
}

impl<F: FnMut(Piece)> Division<'_, F> {
    /// Split `rest` into slabs along `axis` and each of them along the axes that follow.
    fn along(&mut self, axis: usize, mut rest: Polygon) {
        if axis == 3 {
            return self.measure(&rest);
        }
        let end = self.dims[axis] as f64;
        let (first, last) = slabs(rest.range(axis), self.normal[axis]);
        // Everything below the grid is one slab, and leads to a face only if the other axes are inside.
        let below_already = self.cell[..axis].contains(&-1);
        let mut slab = first.clamp(-1.0, end);
        let last = last.clamp(-1.0, end);
        while slab <= last && slab < end && rest.len > 2 {
            let piece = if slab < last { rest.take_below(axis, slab + 1.0) } else { rest };
            if piece.len > 2 && !(slab < 0.0 && below_already) {
                self.cell[axis] = slab as i32;
                self.along(axis + 1, piece);
            }
            slab += 1.0;
        }
        self.cell[axis] = 0;
    }

    fn measure(&mut self, polygon: &Polygon) {
        // Relative to the cell's corner: the differences are exact, and the sums lose no digits.
        let corner = DVec3::from(self.cell.map(f64::from));
        let local = |i: usize| DVec3::from(polygon.points[i]) - corner;
        let inside = self.cell.iter().all(|&c| c >= 0);
        let origin = local(0);
        let normal = DVec3::from(self.normal);
        let mut area = DVec3::ZERO;
        let mut moment = DVec3::ZERO;
        let mut second = DMat3::ZERO;
        let mut weight = 0.0;
        let mut before = local(1) - origin;
        for i in 2..polygon.len {
            let after = local(i) - origin;
            let cross = before.cross(after);
            let w = cross.dot(normal).abs();
            area += cross;
            weight += w;
            moment += w * (before + after);
            second += w * (square(before) + square(after) + square(before + after));
            before = after;
        }
        area *= 0.5;
        if area.abs().max_element() < NEGLIGIBLE {
            return;
        }
        let (centroid, spread) = if !inside {
            (DVec3::ZERO, DMat3::ZERO)
        } else if weight > 0.0 {
            let middle = moment / (3.0 * weight);
            (origin + middle, second * (12.0 * weight).recip() - square(middle))
        } else {
            (origin, DMat3::ZERO)
        };
        (self.emit)(Piece { cell: self.cell, area, centroid, spread });
    }
}

/// v vᵀ.
fn square(v: DVec3) -> DMat3 {
    DMat3::from_cols(v.x * v, v.y * v, v.z * v)
}

/// First and last slab that a polygon with these smallest and largest coordinates belongs to. One that lies *in* a
/// plane belongs to the side its normal points to: the fluid's. The solid's side is then wholly solid.
fn slabs((min, max): (f64, f64), normal: f64) -> (f64, f64) {
    if min == max && min == min.floor() {
        let slab = if normal > 0.0 { min } else { min - 1.0 };
        (slab, slab)
    } else {
        (min.floor(), max.ceil() - 1.0)
    }
}

impl Polygon {
    const EMPTY: Self = Self { points: [[0.0; 3]; CAPACITY], len: 0 };

    fn range(&self, axis: usize) -> (f64, f64) {
        let first = self.points[0][axis];
        self.points[1..self.len].iter().fold((first, first), |(lo, hi), p| (lo.min(p[axis]), hi.max(p[axis])))
    }

    /// Cut off and return the part below `plane`; keep the part above. The two share one chord, end to end, so their
    /// areas add up to the whole's even if rounding has bent the polygon out of its plane.
    fn take_below(&mut self, axis: usize, plane: f64) -> Polygon {
        let mut level = plane;
        if self.crossings(axis, level) > 2 {
            // Only rounding bends a polygon so: corners next to the plane zigzag across it. Count them all as above.
            level -= ZIGZAG;
            if self.crossings(axis, level) > 2 {
                return std::mem::replace(self, Polygon::EMPTY);
            }
        }
        let mut below = Polygon::EMPTY;
        let mut above = Polygon::EMPTY;
        let mut p = &self.points[self.len - 1];
        for q in &self.points[..self.len] {
            let (from, to) = (p[axis] < level, q[axis] < level);
            if from != to {
                let new = if from { intersect(p, q, axis, plane) } else { intersect(q, p, axis, plane) };
                below.push(new);
                above.push(new);
            }
            if to {
                below.push(*q)
            } else {
                above.push(*q)
            }
            p = q;
        }
        below.close();
        above.close();
        *self = above;
        below
    }

    fn crossings(&self, axis: usize, level: f64) -> usize {
        let mut before = self.points[self.len - 1][axis] < level;
        let mut crossings = 0;
        for point in &self.points[..self.len] {
            let below = point[axis] < level;
            crossings += usize::from(below != before);
            before = below;
        }
        crossings
    }

    /// Add a corner unless it is the last one again.
    fn push(&mut self, point: [f64; 3]) {
        if self.len == 0 || self.points[self.len - 1] != point {
            self.points[self.len] = point;
            self.len += 1;
        }
    }

    fn close(&mut self) {
        if self.len > 1 && self.points[0] == self.points[self.len - 1] {
            self.len -= 1;
        }
    }
}

/// Where the edge from `low` (below the plane) to `high` (not below) meets the plane.
fn intersect(low: &[f64; 3], high: &[f64; 3], axis: usize, plane: f64) -> [f64; 3] {
    if high[axis] <= plane {
        return *high;
    }
    let t = (plane - low[axis]) / (high[axis] - low[axis]);
    let mut point = [0, 1, 2].map(|a| {
        // Never beyond the endpoints: a point there could zigzag across another plane.
        let (min, max) = if low[a] < high[a] { (low[a], high[a]) } else { (high[a], low[a]) };
        (low[a] + t * (high[a] - low[a])).max(min).min(max)
    });
    point[axis] = plane;
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(corners: [DVec3; 3]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        divide(corners, [4, 4, 4], &mut |piece| pieces.push(piece));
        pieces
    }

    #[test]
    fn a_triangle_in_one_cell_stays_whole() {
        let corners = [DVec3::new(1.25, 2.25, 3.5), DVec3::new(1.75, 2.25, 3.5), DVec3::new(1.25, 2.75, 3.5)];
        let [piece] = pieces(corners)[..] else { panic!("one piece") };
        assert_eq!(piece.cell, [1, 2, 3]);
        assert_eq!(piece.area, DVec3::new(0.0, 0.0, 0.125));
        assert!((piece.centroid - DVec3::new(5.0 / 12.0, 5.0 / 12.0, 0.5)).length() < 1e-15);
        // Of a right triangle with legs h: h²/18, and −h²/36 across.
        let (along, across) = (0.25 / 18.0, -0.25 / 36.0);
        let spread = [DVec3::new(along, across, 0.0), DVec3::new(across, along, 0.0), DVec3::ZERO];
        assert!((0..3).all(|a| (piece.spread.col(a) - spread[a]).length() < 1e-16));
    }

    #[test]
    fn pieces_add_up_to_the_triangle() {
        let corners = [DVec3::new(0.3, 0.2, 0.1), DVec3::new(3.9, 1.2, 2.7), DVec3::new(1.1, 3.8, 3.3)];
        let pieces = pieces(corners);
        let area = 0.5 * (corners[1] - corners[0]).cross(corners[2] - corners[0]);
        let sum: DVec3 = pieces.iter().map(|p| p.area).sum();
        assert!((sum - area).length() < 1e-14);
        let moment: DVec3 =
            pieces.iter().map(|p| p.area.length() * (p.centroid + DVec3::from(p.cell.map(f64::from)))).sum();
        let centroid = (corners[0] + corners[1] + corners[2]) / 3.0;
        assert!((moment - area.length() * centroid).length() < 1e-13);
        assert!(pieces.iter().all(|p| p.centroid.min_element() >= 0.0 && p.centroid.max_element() <= 1.0));
    }

    #[test]
    fn a_triangle_in_a_plane_belongs_to_the_side_of_its_normal() {
        let corners = [DVec3::new(1.25, 2.25, 2.0), DVec3::new(1.75, 2.25, 2.0), DVec3::new(1.25, 2.75, 2.0)];
        assert_eq!(pieces(corners)[0].cell, [1, 2, 2]);
        let [a, b, c] = corners;
        assert_eq!(pieces([a, c, b])[0].cell, [1, 2, 1]);
    }

    #[test]
    fn a_triangle_that_touches_a_plane_from_one_side_stays_on_it() {
        let corners = [DVec3::new(1.0, 1.0, 1.0), DVec3::new(2.0, 1.0, 1.0), DVec3::new(1.0, 2.0, 2.0)];
        assert!(pieces(corners).iter().all(|p| p.cell == [1, 1, 1]));
    }

    #[test]
    fn outside_only_what_lies_below_one_axis_is_kept() {
        let at = |x: f64, y: f64| {
            let corner = DVec3::new(x, y, 0.5);
            pieces([corner, corner + 0.5 * DVec3::X, corner + 0.5 * DVec3::Z])
                .iter()
                .map(|p| p.cell)
                .collect::<Vec<_>>()
        };
        assert_eq!(at(-9.4, 1.5), [[-1, 1, 0]]);
        assert_eq!(at(1.25, -7.0), [[1, -1, 0]]);
        assert!(at(-9.4, -7.0).is_empty());
        assert!(at(4.5, 1.5).is_empty());
        assert!(at(1.5, 1e30).is_empty());
    }
}

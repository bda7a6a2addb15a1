//! Dividing triangles along the planes of a grid.
//!
//! Coordinates are in cells: the planes are the whole numbers. A triangle is split into slabs along
//! x, each of those along y, each of those along z. A new point on an edge is always computed from
//! the endpoint below the plane to the one above, and planes are taken in rising order, so the two
//! polygons (or triangles) that share an edge get bit-identical points on it: the pieces fit without
//! gaps. What rounding does to areas therefore cancels between neighbours.

use glam::DVec3;

/// A triangle cut by six planes has at most nine corners.
const CAPACITY: usize = 9;

/// The part of a triangle in one cell.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The cell, or −1 along one axis if the piece is below the grid along that axis.
    pub cell: [i32; 3],
    /// ∫ n dA, cells².
    pub area: DVec3,
    /// Relative to the cell's lowest corner, in cells; zero for a piece below the grid.
    pub centroid: DVec3,
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
        let first = first.max(-1.0);
        let last = last.min(end);
        let mut slab = first;
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
        let mut weight = 0.0;
        let mut before = local(1) - origin;
        for i in 2..polygon.len {
            let after = local(i) - origin;
            let cross = before.cross(after);
            let w = cross.dot(normal).abs();
            area += cross;
            weight += w;
            moment += w * (before + after);
            before = after;
        }
        area *= 0.5;
        if area == DVec3::ZERO {
            return;
        }
        let centroid = if !inside {
            DVec3::ZERO
        } else if weight > 0.0 {
            origin + moment / (3.0 * weight)
        } else {
            origin
        };
        (self.emit)(Piece { cell: self.cell, area, centroid });
    }
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

    /// Cut off and return the part below `plane`; keep the part above.
    fn take_below(&mut self, axis: usize, plane: f64) -> Polygon {
        let points = &self.points[..self.len];
        let crosses = |p: &[f64; 3], q: &[f64; 3]| (p[axis] < plane) != (q[axis] < plane) && q[axis] != plane && p[axis] != plane;
        let crossings = (0..self.len).filter(|&i| crosses(&points[i], &points[(i + 1) % self.len])).count();
        if crossings > 2 {
            // Only rounding can bend a polygon like this: a needle along the plane, without area to speak of.
            return std::mem::replace(self, Polygon::EMPTY);
        }
        let mut below = Polygon::EMPTY;
        let mut above = Polygon::EMPTY;
        for (i, p) in points.iter().enumerate() {
            let q = &points[(i + 1) % self.len];
            if p[axis] <= plane {
                below.push(*p);
            }
            if p[axis] >= plane {
                above.push(*p);
            }
            if crosses(p, q) {
                let new = if p[axis] < q[axis] { intersect(p, q, axis, plane) } else { intersect(q, p, axis, plane) };
                below.push(new);
                above.push(new);
            }
        }
        *self = above;
        below
    }

    fn push(&mut self, point: [f64; 3]) {
        self.points[self.len] = point;
        self.len += 1;
    }
}

/// Where the edge from `low` (below the plane) to `high` (above) meets the plane.
fn intersect(low: &[f64; 3], high: &[f64; 3], axis: usize, plane: f64) -> [f64; 3] {
    let t = (plane - low[axis]) / (high[axis] - low[axis]);
    let mut point = [0, 1, 2].map(|a| low[a] + t * (high[a] - low[a]));
    point[axis] = plane;
    point
}

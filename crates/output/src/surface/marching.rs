//! The surface where a density crosses ½, by marching cubes whose table is derived instead of listed.
//!
//! In each of the 256 patterns of corners inside and outside, the faces of the cube are walked round: a stretch of inside
//! corners is cut off by a segment from where it begins to where it ends. Neighbouring cubes cut their common face
//! alike, so the segments join to closed loops, and all loops to a closed surface. A loop is filled by a fan of
//! triangles whose diagonals avoid the cube's faces, where a neighbour might have the same diagonal.
//!
//! The padding around the density is air; crossings towards it are put onto the last point before it. So the
//! surface is closed by plane faces in the sides of the box. Crossings of one point towards several sides are one vertex.
//!
//! Lorensen and Cline 1987 for the idea. Not done: the asymptotic decider (which face is cut how makes no difference at this resolution).

use super::density::Density;
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::Axis;
use glam::DVec3;
use rayon::prelude::*;

/// Density at the surface.
pub const LEVEL: f32 = 0.5;
/// Crossings keep this part of an edge away from its ends, so that those around a point that lies on the surface do not fall on one place.
const FROM_ENDS: f32 = 0.02;
/// Vertices that a point can own: on the edges to the next points along x, y and z, and at its own place.
const SLOTS: usize = 4;
const OWN_PLACE: usize = 3;
const NO_VERTEX: u32 = u32::MAX;

/// The closed surface of the liquid, normals outwards.
pub fn extract(density: &Density) -> TriMesh {
    let [_, _, nz] = density.dims;
    let layers: Vec<Vec<DVec3>> = (0..nz).into_par_iter().map(|k| layer_vertices(density, k)).collect();
    let mut first = vec![0u32];
    for layer in &layers {
        first.push(first[first.len() - 1] + layer.len() as u32);
    }
    let cases = cases();
    let triangles: Vec<Vec<[u32; 3]>> =
        (0..nz - 1).into_par_iter().map(|k| layer_triangles(density, k, &first, &cases)).collect();
    TriMesh { vertices: layers.concat(), triangles: triangles.concat() }
}

/// Corner c of a cube is at x = c/4, y = c mod 2, z = c/2 mod 2, so that a case is two four-bit slices along x.
fn corner([x, y, z]: [usize; 3]) -> usize {
    4 * x + 2 * z + y
}

/// An edge of the cube: from its lower corner along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    low: [usize; 3],
    axis: usize,
}

/// For each pattern of inside corners, the edges whose crossings form triangles.
fn cases() -> Vec<Vec<[Edge; 3]>> {
    (0..256usize).map(|inside| loops(inside).iter().flat_map(|l| fan(l)).collect()).collect()
}

/// The closed loops in which the surface crosses the edges of a cube.
fn loops(inside: usize) -> Vec<Vec<Edge>> {
    // For each inside stretch of a face's outline: the crossing where it begins, and where it ends.
    let mut segments: Vec<(Edge, Edge)> = Vec::new();
    for axis in Axis::ALL {
        let [a, b] = axis.others().map(Axis::index);
        for side in 0..2 {
            let mut outline = [[0, 0], [1, 0], [1, 1], [0, 1]];
            if side == 0 {
                outline.reverse();
            }
            let outline = outline.map(|[u, v]| {
                let mut at = [0; 3];
                (at[axis.index()], at[a], at[b]) = (side, u, v);
                at
            });
            let is_inside = |n: usize| inside >> corner(outline[n % 4]) & 1 == 1;
            let edge = |n: usize| {
                let (p, q) = (outline[n % 4], outline[(n + 1) % 4]);
                let axis = (0..3).find(|&a| p[a] != q[a]).expect("neighbours differ");
                Edge { low: std::array::from_fn(|a| p[a].min(q[a])), axis }
            };
            for start in (0..4).filter(|&n| !is_inside(n) && is_inside(n + 1)) {
                let length = (1..4).find(|&m| !is_inside(start + m + 1)).expect("an outside corner is there");
                segments.push((edge(start), edge(start + length)));
            }
        }
    }
    let mut loops = Vec::new();
    while let Some((first, mut next)) = segments.pop() {
        let mut line = vec![first];
        while next != first {
            line.push(next);
            let at = segments.iter().position(|s| s.0 == next).expect("every crossing is passed once");
            next = segments.swap_remove(at).1;
        }
        loops.push(line);
    }
    loops
}

/// Triangles that fill a loop.
fn fan(line: &[Edge]) -> Vec<[Edge; 3]> {
    let n = line.len();
    let on_face = |p: &Edge, q: &Edge| (0..3).any(|a| p.axis != a && q.axis != a && p.low[a] == q.low[a]);
    let free = |apex: usize| (2..n - 1).all(|m| !on_face(&line[apex], &line[(apex + m) % n]));
    let apex = (0..n).find(|&apex| free(apex)).unwrap_or(0);
    (1..n - 1).map(|m| [line[apex], line[(apex + m) % n], line[(apex + m + 1) % n]]).collect()
}

impl Density {
    fn row(&self, j: usize, k: usize) -> &[f32] {
        &self.values[self.dims[0] * (j + self.dims[1] * k)..][..self.dims[0]]
    }

    fn is_padding(&self, at: [usize; 3]) -> bool {
        (0..3).any(|a| at[a] == 0 || at[a] == self.dims[a] - 1)
    }
}

/// Call `found(point, slot)` for each vertex owned by the points of a layer, always in the same order.
fn visit_vertices(density: &Density, k: usize, mut found: impl FnMut([usize; 3], usize)) {
    let [nx, ny, nz] = density.dims;
    let empty = vec![0.0; nx];
    for j in 0..ny {
        let row = density.row(j, k);
        let next = if j + 1 < ny { density.row(j + 1, k) } else { &empty };
        let above = if k + 1 < nz { density.row(j, k + 1) } else { &empty };
        // Points on the box's sides have crossings towards the padding.
        let border = [(j, ny), (k, nz)].iter().any(|&(c, n)| c == 1 || c == n - 2);
        for i in 0..nx - 1 {
            let inside = row[i] > LEVEL;
            let others = [row[i + 1], next[i], above[i]];
            if others.iter().all(|&v| (v > LEVEL) == inside) && !(inside && (border || i == 1 || i == nx - 2)) {
                continue;
            }
            let at = [i, j, k];
            for (axis, &other) in others.iter().enumerate() {
                let mut end = at;
                end[axis] += 1;
                if (other > LEVEL) != inside && !density.is_padding(at) && !density.is_padding(end) {
                    found(at, axis);
                }
            }
            // Padding is never inside, so a point inside next to it has its own vertex.
            if inside && (0..3).any(|a| at[a] == 1 || at[a] == density.dims[a] - 2) {
                found(at, OWN_PLACE);
            }
        }
    }
}

fn layer_vertices(density: &Density, k: usize) -> Vec<DVec3> {
    let mut vertices = Vec::new();
    let value = |[i, j, k]: [usize; 3]| density.row(j, k)[i];
    visit_vertices(density, k, |at, slot| {
        let mut vertex = density.point(at);
        if slot != OWN_PLACE {
            let mut end = at;
            end[slot] += 1;
            let (a, b) = (value(at), value(end));
            vertex[slot] += density.spacing * f64::from(((LEVEL - a) / (b - a)).clamp(FROM_ENDS, 1.0 - FROM_ENDS));
        }
        vertices.push(vertex);
    });
    vertices
}

/// Triangles of the cubes between layers k and k + 1; `first` is the number of each layer's first vertex.
fn layer_triangles(density: &Density, k: usize, first: &[u32], cases: &[Vec<[Edge; 3]>]) -> Vec<[u32; 3]> {
    let [nx, ny, _] = density.dims;
    if first[k] == first[k + 2] {
        return Vec::new();
    }
    let [below, above] = [k, k + 1].map(|k| {
        let mut vertices = vec![NO_VERTEX; SLOTS * nx * ny];
        let mut next = first[k];
        visit_vertices(density, k, |[i, j, _], slot| {
            vertices[SLOTS * (i + nx * j) + slot] = next;
            next += 1;
        });
        vertices
    });
    let mut triangles = Vec::new();
    for j in 0..ny - 1 {
        let rows = [density.row(j, k), density.row(j + 1, k), density.row(j, k + 1), density.row(j + 1, k + 1)];
        let slice = |i: usize| (0..4).fold(0, |bits, n| bits | usize::from(rows[n][i] > LEVEL) << n);
        let mut low = slice(0);
        for i in 0..nx - 1 {
            let high = slice(i + 1);
            let case = low | high << 4;
            low = high;
            for triangle in &cases[case] {
                let [a, b, c] = triangle.map(|Edge { low, axis }| {
                    let at = [i + low[0], j + low[1], k + low[2]];
                    let mut end = at;
                    end[axis] += 1;
                    // A crossing towards the padding is at the place of the point before it.
                    let (owner, slot) = match (density.is_padding(at), density.is_padding(end)) {
                        (false, false) => (at, axis),
                        (true, _) => (end, OWN_PLACE),
                        (false, true) => (at, OWN_PLACE),
                    };
                    let layer = if owner[2] == k { &below } else { &above };
                    layer[SLOTS * (owner[0] + nx * owner[1]) + slot]
                });
                debug_assert!(![a, b, c].contains(&NO_VERTEX));
                if a != b && b != c && c != a {
                    triangles.push([a, b, c]);
                }
            }
        }
    }
    triangles
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every case is closed within its cube up to segments in the faces, and no diagonal lies in a face.
    #[test]
    fn no_diagonal_of_any_case_lies_in_a_face() {
        let mut longest = 0;
        for inside in 0..256 {
            let crossed = (0..8).flat_map(|c| (0..3).map(move |a| (c, a))).filter(|&(c, a)| {
                let at = [c >> 2, c & 1, c >> 1 & 1];
                let mut end = at;
                end[a] += 1;
                at[a] == 0 && (inside >> corner(at) & 1) != (inside >> corner(end) & 1)
            });
            let loops = loops(inside);
            assert_eq!(loops.iter().map(Vec::len).sum::<usize>(), crossed.count(), "case {inside}");
            for line in loops {
                longest = longest.max(line.len());
                for triangle in fan(&line) {
                    for n in 0..3 {
                        let (p, q) = (triangle[n], triangle[(n + 1) % 3]);
                        let at = |e: Edge| line.iter().position(|&l| l == e).unwrap();
                        let steps = (at(q) + line.len() - at(p)) % line.len();
                        let in_face = (0..3).any(|a| p.axis != a && q.axis != a && p.low[a] == q.low[a]);
                        assert!(steps == 1 || steps == line.len() - 1 || !in_face, "case {inside}: {line:?}");
                    }
                }
            }
        }
        assert_eq!(longest, 7);
    }
}

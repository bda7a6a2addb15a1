//! Rays against triangles: a bounding-volume hierarchy built by the surface-area heuristic.

use super::camera::Ray;
use super::normals::corner_normals;
use crate::frame::Surface;
use crate::surface::{is_on_side, vertex_normals};
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::Grid;
use glam::Vec3A;

const BINS: usize = 12;
const LEAF_TRIANGLES: usize = 4;
/// No child has fewer than a sixth of its parent's triangles, so (6/5)^96 · 4 = 1.6·10⁸ triangles fit this depth.
const STACK: usize = 96;
const LEAST_SHARE: usize = 6;
/// Error of barycentric coordinates.
const ROUNDING: f32 = 1e-6;

/// All solids of a frame, or its liquid.
#[derive(Debug, Default)]
pub struct Solids {
    nodes: Vec<Node>,
    triangles: Vec<Triangle>,
}

/// Where a ray meets a solid.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// Distance, m.
    pub t: f32,
    /// Unit normal of the triangle, out of the solid.
    pub face_normal: Vec3A,
    /// Unit normal, interpolated.
    pub normal: Vec3A,
    /// Which surface.
    pub body: usize,
}

#[derive(Clone, Copy, Debug)]
struct Triangle {
    a: Vec3A,
    /// b − a and c − a.
    edges: [Vec3A; 2],
    normals: [Vec3A; 3],
    body: u32,
}

/// An inner node's children are the next node and node `start`; a leaf has `count` triangles from `start`.
#[derive(Clone, Copy, Debug)]
struct Node {
    low: Vec3A,
    high: Vec3A,
    start: u32,
    count: u32,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3A,
    high: Vec3A,
}

impl Bounds {
    const EMPTY: Self = Self { low: Vec3A::INFINITY, high: Vec3A::NEG_INFINITY };

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn half_area(self) -> f32 {
        let d = (self.high - self.low).max(Vec3A::ZERO);
        d.x * d.y + d.y * d.z + d.z * d.x
    }
}

impl Triangle {
    fn bounds(&self) -> Bounds {
        let [b, c] = self.edges.map(|e| self.a + e);
        Bounds { low: self.a.min(b).min(c), high: self.a.max(b).max(c) }
    }

    /// Distance and barycentric coordinates of the second and third corner.
    fn intersect(&self, ray: &Ray, limit: f32) -> Option<(f32, f32, f32)> {
        let [e1, e2] = self.edges;
        let p = ray.direction.cross(e2);
        let inverse = e1.dot(p).recip();
        let s = ray.origin - self.a;
        let u = s.dot(p) * inverse;
        let q = s.cross(e1);
        let v = ray.direction.dot(q) * inverse;
        let t = e2.dot(q) * inverse;
        // A degenerate triangle makes these NaN, and every comparison false. A ray through an edge meets both triangles rather than none.
        (u >= -ROUNDING && v >= -ROUNDING && u + v <= 1.0 + ROUNDING && t > 0.0 && t < limit).then_some((t, u, v))
    }
}

impl Solids {
    pub fn new(surfaces: &[Surface]) -> Self {
        Self::chosen(surfaces, |_| true)
    }

    /// Of those surfaces whose number is wanted.
    pub fn chosen(surfaces: &[Surface], wanted: impl Fn(usize) -> bool) -> Self {
        let mut triangles = Vec::new();
        for (body, surface) in surfaces.iter().enumerate().filter(|(body, _)| wanted(*body)) {
            let normals = corner_normals(&surface.mesh);
            for (t, normals) in surface.mesh.triangles.iter().zip(normals) {
                let [a, b, c] = t.map(|v| surface.mesh.vertices[v as usize].as_vec3a());
                triangles.push(Triangle { a, edges: [b - a, c - a], normals, body: body as u32 });
            }
        }
        Self::over(triangles)
    }

    /// The surface of a liquid in the box of a grid: smooth but for the plane faces in the box's sides.
    pub fn of_liquid(mesh: &TriMesh, grid: &Grid) -> Self {
        let vertex_normals = vertex_normals(mesh, grid);
        let on_side = is_on_side(mesh, grid);
        let triangles = mesh.triangles.iter().zip(on_side).map(|(t, flat)| {
            let [a, b, c] = t.map(|v| mesh.vertices[v as usize].as_vec3a());
            let edges = [b - a, c - a];
            let face = edges[0].cross(edges[1]).normalize_or_zero();
            let normals = t.map(|v| if flat { face } else { vertex_normals[v as usize].as_vec3a() });
            Triangle { a, edges, normals, body: 0 }
        });
        Self::over(triangles.collect())
    }

    fn over(mut triangles: Vec<Triangle>) -> Self {
        let mut nodes = Vec::new();
        if !triangles.is_empty() {
            let count = triangles.len();
            build(&mut nodes, &mut triangles, 0, count);
        }
        Self { nodes, triangles }
    }

    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Lowest and highest corner of a box around everything.
    pub fn bounds(&self) -> Option<[Vec3A; 2]> {
        self.nodes.first().map(|root| [root.low, root.high])
    }

    /// The nearest triangle before `limit`.
    pub fn nearest(&self, ray: &Ray, limit: f32) -> Option<Hit> {
        let mut best = None;
        let mut nearest = limit;
        self.visit(ray, &mut nearest, |triangle, (t, u, v), nearest| {
            *nearest = t;
            best = Some((triangle, t, u, v));
            false
        });
        best.map(|(triangle, t, u, v)| {
            let [na, nb, nc] = triangle.normals;
            let face_normal = triangle.edges[0].cross(triangle.edges[1]).normalize_or_zero();
            let normal = (na * (1.0 - u - v) + nb * u + nc * v).normalize_or(face_normal);
            Hit { t, face_normal, normal, body: triangle.body as usize }
        })
    }

    /// Whether anything is in the way before `limit`.
    pub fn occluded(&self, ray: &Ray, limit: f32) -> bool {
        let mut found = false;
        self.visit(ray, &mut { limit }, |_, _, _| {
            found = true;
            true
        });
        found
    }

    /// The stretches of a ray of this length that lie inside a solid, as distances; `skin` separates two crossings.
    pub fn stretches_inside(&self, ray: &Ray, length: f32, skin: f32) -> Vec<(f32, f32)> {
        let mut stretches = Vec::new();
        let (mut from, mut t) = (0.0, 0.0);
        while t < length {
            let rest = Ray { origin: ray.at(t), direction: ray.direction };
            let Some(hit) = self.nearest(&rest, f32::INFINITY) else { break };
            t += hit.t;
            // Leaving a solid means that everything since the last crossing was inside.
            if hit.face_normal.dot(ray.direction) > 0.0 {
                stretches.push((from, t.min(length)));
            }
            from = t;
            t += skin;
        }
        stretches
    }

    /// Call `meet` for triangles nearer than `limit`, which it may shorten, until it returns true.
    fn visit<'a>(
        &'a self,
        ray: &Ray,
        limit: &mut f32,
        mut meet: impl FnMut(&'a Triangle, (f32, f32, f32), &mut f32) -> bool,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let inverse = ray.direction.recip();
        let enter = |node: &Node, limit: f32| {
            let (a, b) = ((node.low - ray.origin) * inverse, (node.high - ray.origin) * inverse);
            let near = a.min(b).max_element().max(0.0);
            let far = a.max(b).min_element().min(limit);
            if near <= far { near } else { f32::INFINITY }
        };
        if enter(&self.nodes[0], *limit) == f32::INFINITY {
            return;
        }
        let mut stack = [(0u32, 0f32); STACK];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (index, near) = stack[depth];
            if near > *limit {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.count > 0 {
                for triangle in &self.triangles[node.start as usize..(node.start + node.count) as usize] {
                    if let Some(at) = triangle.intersect(ray, *limit)
                        && meet(triangle, at, limit)
                    {
                        return;
                    }
                }
                continue;
            }
            let children = [index + 1, node.start].map(|c| (c, enter(&self.nodes[c as usize], *limit)));
            let order = if children[0].1 <= children[1].1 { [1, 0] } else { [0, 1] };
            for child in order.map(|c| children[c]) {
                if child.1 < f32::INFINITY {
                    stack[depth] = child;
                    depth += 1;
                }
            }
        }
    }
}

/// Build the subtree over `triangles[start..end]`, reordering them.
fn build(nodes: &mut Vec<Node>, triangles: &mut [Triangle], start: usize, end: usize) {
    let mut bounds = Bounds::EMPTY;
    let mut centres = Bounds::EMPTY;
    for b in triangles[start..end].iter().map(Triangle::bounds) {
        bounds = bounds.join(b);
        let centre = 0.5 * (b.low + b.high);
        centres = centres.join(Bounds { low: centre, high: centre });
    }
    let index = nodes.len();
    nodes.push(Node { low: bounds.low, high: bounds.high, start: start as u32, count: (end - start) as u32 });
    if end - start <= LEAF_TRIANGLES {
        return;
    }
    let middle = start + partition(&mut triangles[start..end], centres);
    build(nodes, triangles, start, middle);
    nodes[index].start = nodes.len() as u32;
    nodes[index].count = 0;
    build(nodes, triangles, middle, end);
}

/// Sort triangles into two parts by the cheapest plane that leaves each its least share; returns the size of the
/// first.
fn partition(triangles: &mut [Triangle], centres: Bounds) -> usize {
    let size = centres.high - centres.low;
    let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
    let centre = |t: &Triangle| {
        let b = t.bounds();
        0.5 * (b.low[axis] + b.high[axis])
    };
    let scale = BINS as f32 / size[axis].max(f32::MIN_POSITIVE);
    let bin = |t: &Triangle| (((centre(t) - centres.low[axis]) * scale) as usize).min(BINS - 1);

    let mut bins = [(Bounds::EMPTY, 0usize); BINS];
    for t in triangles.iter() {
        let slot = &mut bins[bin(t)];
        *slot = (slot.0.join(t.bounds()), slot.1 + 1);
    }
    let sweep = |bins: &mut dyn Iterator<Item = &(Bounds, usize)>| {
        let mut total = (Bounds::EMPTY, 0);
        let mut sums = [(0.0, 0); BINS];
        for (sum, &(b, n)) in sums.iter_mut().zip(bins) {
            total = (total.0.join(b), total.1 + n);
            *sum = (total.0.half_area() * total.1 as f32, total.1);
        }
        sums
    };
    let left = sweep(&mut bins.iter());
    let right = sweep(&mut bins.iter().rev());
    let least = triangles.len().div_ceil(LEAST_SHARE);
    let best = (0..BINS - 1)
        .filter(|&b| left[b].1 >= least && right[BINS - 2 - b].1 >= least)
        .min_by(|&a, &b| (left[a].0 + right[BINS - 2 - a].0).total_cmp(&(left[b].0 + right[BINS - 2 - b].0)));
    match best {
        Some(plane) => {
            triangles.sort_by_key(|t| bin(t) > plane);
            left[plane].1
        }
        None => {
            triangles.sort_by(|a, b| centre(a).total_cmp(&centre(b)));
            triangles.len() / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    /// Scattered triangles, some of them degenerate.
    fn soup() -> Solids {
        let mut n = 1u32;
        let mut next = || {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(n >> 8) / f64::from(1 << 24)
        };
        let mut mesh = TriMesh::default();
        for t in 0..500u32 {
            let at = DVec3::new(next(), next(), next());
            for _ in 0..3 {
                mesh.vertices.push(at + 0.1 * DVec3::new(next(), next(), next()));
            }
            mesh.triangles.push(if t % 50 == 0 { [3 * t, 3 * t, 3 * t] } else { [3 * t, 3 * t + 1, 3 * t + 2] });
        }
        Solids::new(&[Surface { name: "soup".into(), mesh, moves: false }])
    }

    #[test]
    fn the_tree_finds_what_trying_all_triangles_finds() {
        let solids = soup();
        let mut hits = 0;
        for n in 0..2000 {
            let angle = n as f32 * 0.1;
            let origin = Vec3A::new(2.0 * angle.cos() + 0.5, (n % 37) as f32 / 37.0, 2.0 * angle.sin() + 0.5);
            let target = Vec3A::new((n % 11) as f32, (n % 13) as f32, (n % 17) as f32) / 17.0;
            let ray = Ray { origin, direction: (target - origin).normalize() };
            let slow = solids.triangles.iter().filter_map(|t| t.intersect(&ray, 10.0)).map(|h| h.0);
            let slow = slow.min_by(f32::total_cmp);
            assert_eq!(solids.nearest(&ray, 10.0).map(|h| h.t), slow);
            assert_eq!(solids.occluded(&ray, 10.0), slow.is_some());
            hits += usize::from(slow.is_some());
        }
        assert!(hits > 300, "the test must hit something: {hits}");
    }
}

//! Rays against triangles: a tree of boxes, eight to a node, and triangles, eight to a leaf, each tested at once.
//!
//! Boxes are split by the surface-area heuristic; a node takes the parts of three or more such splits (after \[Wald, Benthin & Boulos 2008\]). The same
//! triangles give the same tree for any number of threads.
//!
//! \[Wald, Benthin & Boulos 2008\]: Getting rid of packets: efficient SIMD single-ray traversal using multi-branching BVHs. IEEE Symposium on Interactive
//! Ray Tracing 2008.

use super::camera::Ray;
use super::normals::corner_normals;
use crate::frame::Surface;
use crate::surface::{is_on_side, vertex_normals};
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::Grid;
use glam::{Vec3, Vec3A};
use rayon::prelude::*;
use wide::f32x8;

/// Boxes of a node, and triangles of a leaf: what a register holds.
const LANES: usize = 8;
/// Places along an axis where a box may be split.
const BINS: usize = 16;
/// Parts of more triangles than this are built beside each other.
const MANY: usize = 4096;
/// Nodes that wait to be visited; where there are more, a visit begins within the visit.
const STACK: usize = 40;
/// A direction with less than this along an axis is across it.
const ALONG: f32 = 1e-20;
/// Error of barycentric coordinates.
const ROUNDING: f32 = 1e-6;

/// All solids of a frame, or its liquid.
#[derive(Debug, Default)]
pub struct Solids {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// What leaves are made of, one after the other.
    shading: Vec<Shading>,
    /// Where in `shading` each leaf begins.
    first: Vec<u32>,
    bounds: Option<[Vec3A; 2]>,
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
    /// Which of its triangles.
    pub triangle: usize,
    /// Barycentric coordinates of its second and third corner.
    pub weights: [f32; 2],
}

/// A triangle as it is given.
#[derive(Clone, Copy, Debug)]
struct Triangle {
    a: Vec3A,
    /// b − a and c − a.
    edges: [Vec3A; 2],
    body: u32,
    /// Its number in the surface.
    number: u32,
}

/// What is asked of a triangle that was met.
#[derive(Clone, Copy, Debug)]
struct Shading {
    normals: [Vec3; 3],
    body: u32,
    number: u32,
}

/// Eight boxes, by their lower and upper planes along the axes, and what is in each: a node, or a leaf if `LEAF` is set.
#[derive(Clone, Copy, Debug)]
struct Node {
    planes: [[f32x8; 3]; 2],
    children: [u32; LANES],
}

const LEAF: u32 = 1 << 31;

/// Eight triangles: corners and edges, axis by axis. What is missing has no area.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    a: [f32x8; 3],
    edges: [[f32x8; 3]; 2],
}

impl Leaf {
    /// The unit normal of one of them.
    fn normal(&self, lane: usize) -> Vec3A {
        let [b, c] = self.edges.map(|edge| vector(edge, lane));
        b.cross(c).normalize_or_zero()
    }
}

/// One of eight vectors.
fn vector(axes: [f32x8; 3], lane: usize) -> Vec3A {
    Vec3A::from(axes.map(|axis| axis.to_array()[lane]))
}

/// The box around a triangle.
#[derive(Clone, Copy)]
struct Boxed {
    low: Vec3A,
    high: Vec3A,
    triangle: u32,
}

#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3A,
    high: Vec3A,
}

impl Bounds {
    const EMPTY: Self = Self { low: Vec3A::INFINITY, high: Vec3A::NEG_INFINITY };

    fn of(boxes: &[Boxed]) -> Self {
        boxes.iter().fold(Self::EMPTY, |all, b| Self { low: all.low.min(b.low), high: all.high.max(b.high) })
    }

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn half_area(self) -> f32 {
        let d = (self.high - self.low).max(Vec3A::ZERO);
        d.x * d.y + d.y * d.z + d.z * d.x
    }
}

/// A ray, ready for boxes.
pub struct Sight {
    direction: [f32x8; 3],
    origin: [f32x8; 3],
    inverse: [f32x8; 3],
    /// Origin by inverse.
    scaled: [f32x8; 3],
    /// Which plane of a box it meets first along each axis.
    near: [usize; 3],
}

impl Sight {
    pub fn new(ray: &Ray) -> Self {
        // Along a plane, a ray meets it very far away rather than nowhere: zero times infinity would be no number.
        let inverse =
            ray.direction.to_array().map(|d| if d.abs() < ALONG { ALONG.recip().copysign(d) } else { d.recip() });
        let scaled = (ray.origin * Vec3A::from(inverse)).to_array();
        Self {
            direction: ray.direction.to_array().map(f32x8::splat),
            origin: ray.origin.to_array().map(f32x8::splat),
            scaled: scaled.map(f32x8::splat),
            inverse: inverse.map(f32x8::splat),
            near: inverse.map(|i| usize::from(i < 0.0)),
        }
    }

    /// Distances at which it enters boxes, and a bit for each that it meets before `limit`.
    #[inline(always)]
    fn enter(&self, node: &Node, limit: f32) -> ([f32; LANES], u32) {
        let (mut near, mut far) = (f32x8::ZERO, f32x8::splat(limit));
        for axis in 0..3 {
            let (first, last) = (node.planes[self.near[axis]][axis], node.planes[1 - self.near[axis]][axis]);
            near = near.fast_max(first.mul_sub(self.inverse[axis], self.scaled[axis]));
            far = far.fast_min(last.mul_sub(self.inverse[axis], self.scaled[axis]));
        }
        (near.to_array(), near.simd_le(far).to_bitmask())
    }

    /// Distances and barycentric coordinates of the second and third corner, and a bit for each triangle that is met before `limit`.
    #[inline(always)]
    fn intersect(&self, leaf: &Leaf, limit: f32) -> ([f32x8; 3], u32) {
        let d = self.direction;
        let s = [0, 1, 2].map(|axis| self.origin[axis] - leaf.a[axis]);
        let [e1, e2] = leaf.edges;
        let p = cross(d, e2);
        let inverse = f32x8::ONE / dot(e1, p);
        let u = dot(s, p) * inverse;
        let q = cross(s, e1);
        let v = dot(d, q) * inverse;
        let t = dot(e2, q) * inverse;
        // A degenerate triangle makes these NaN, and every comparison false. A ray through an edge meets both triangles rather than none.
        let [low, high] = [-ROUNDING, 1.0 + ROUNDING].map(f32x8::splat);
        let inside = u.simd_ge(low) & v.simd_ge(low) & (u + v).simd_le(high);
        let met = inside & t.simd_gt(f32x8::ZERO) & t.simd_lt(f32x8::splat(limit));
        ([t, u, v], met.to_bitmask())
    }
}

#[inline(always)]
fn cross(a: [f32x8; 3], b: [f32x8; 3]) -> [f32x8; 3] {
    [a[1].mul_sub(b[2], a[2] * b[1]), a[2].mul_sub(b[0], a[0] * b[2]), a[0].mul_sub(b[1], a[1] * b[0])]
}

#[inline(always)]
fn dot(a: [f32x8; 3], b: [f32x8; 3]) -> f32x8 {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

impl Triangle {
    fn boxed(&self, triangle: usize) -> Boxed {
        let [b, c] = self.edges.map(|e| self.a + e);
        let [low, high] = [self.a.min(b).min(c), self.a.max(b).max(c)];
        let slack = ROUNDING * low.abs().max(high.abs());
        Boxed { low: low - slack, high: high + slack, triangle: triangle as u32 }
    }
}

impl Solids {
    pub fn new(surfaces: &[Surface]) -> Self {
        Self::chosen(surfaces, |_| true)
    }

    /// Of those surfaces whose number is wanted.
    pub fn chosen(surfaces: &[Surface], wanted: impl Fn(usize) -> bool) -> Self {
        let (mut triangles, mut normals) = (Vec::new(), vec![Vec::new(); surfaces.len()]);
        for (body, surface) in surfaces.iter().enumerate().filter(|(body, _)| wanted(*body)) {
            normals[body] = corner_normals(&surface.mesh);
            triangles.extend((0..).zip(&surface.mesh.triangles).map(|(number, t)| {
                let [a, b, c] = t.map(|v| surface.mesh.vertices[v as usize].as_vec3a());
                Triangle { a, edges: [b - a, c - a], body: body as u32, number }
            }));
        }
        Self::over(&triangles, |_, t| normals[t.body as usize][t.number as usize].map(Vec3::from))
    }

    /// The surface of a liquid in the box of a grid, as a body of this number, and `others`, in one tree. The liquid is smooth but for the plane faces in the
    /// box's sides. Its triangles all of whose corners `is_left_out` are no part of it.
    pub fn with_liquid<const N: usize>(
        others: [&Self; N],
        (mesh, body): (&TriMesh, usize),
        grid: &Grid,
        is_left_out: impl Fn(Vec3A) -> bool,
    ) -> Self {
        let on_side = is_on_side(mesh, grid);
        let vertex_normals = vertex_normals(mesh, &on_side);
        let (mut triangles, normals): (Vec<_>, Vec<_>) = others.into_iter().flat_map(Self::triangles).unzip();
        triangles.reserve(mesh.triangles.len());
        triangles.extend((0..).zip(&mesh.triangles).filter_map(|(number, t)| {
            let [a, b, c] = t.map(|v| mesh.vertices[v as usize].as_vec3a());
            let is_wanted = ![a, b, c].into_iter().all(&is_left_out);
            is_wanted.then(|| Triangle { a, edges: [b - a, c - a], body: body as u32, number })
        }));
        Self::over(&triangles, |n, t| match (normals.get(n), on_side.get(t.number as usize)) {
            (Some(&normals), _) => normals,
            (_, Some(true)) => [Vec3::from(t.edges[0].cross(t.edges[1]).normalize_or_zero()); 3],
            _ => mesh.triangles[t.number as usize].map(|v| Vec3::from(vertex_normals[v as usize])),
        })
    }

    /// Triangles and the normals of their corners.
    fn triangles(&self) -> impl Iterator<Item = (Triangle, [Vec3; 3])> {
        let ends = self.first.iter().skip(1).copied().chain([self.shading.len() as u32]);
        let members = self.leaves.iter().zip(&self.first).zip(ends).flat_map(|((leaf, &first), end)| {
            self.shading[first as usize..end as usize]
                .iter()
                .enumerate()
                .map(move |(lane, shading)| (leaf, lane, shading))
        });
        members.map(|(leaf, lane, &Shading { normals, body, number })| {
            let [a, e1, e2] = [leaf.a, leaf.edges[0], leaf.edges[1]].map(|v| vector(v, lane));
            (Triangle { a, edges: [e1, e2], body, number }, normals)
        })
    }

    /// Of triangles whose corners have these normals, by their place in the list.
    fn over(triangles: &[Triangle], normals: impl Fn(usize, &Triangle) -> [Vec3; 3] + Sync) -> Self {
        if triangles.is_empty() {
            return Self::default();
        }
        let mut boxes: Vec<Boxed> = triangles.par_iter().enumerate().map(|(n, t)| t.boxed(n)).collect();
        let Bounds { low, high } = Bounds::of(&boxes);
        let Built { nodes, members } = build(&mut boxes);
        // Members of leaves stand in their order among the boxes by now.
        let first = members.iter().scan(0, |next, members| Some(std::mem::replace(next, *next + members)));
        let first: Vec<u32> = first.collect();
        let leaf = |(&first, &members): (&u32, &u32)| leaf(triangles, &boxes[first as usize..][..members as usize]);
        let leaves = first.par_iter().zip(&members).map(leaf).collect();
        let shade = |boxed: &Boxed| {
            let triangle = &triangles[boxed.triangle as usize];
            Shading {
                normals: normals(boxed.triangle as usize, triangle),
                body: triangle.body,
                number: triangle.number,
            }
        };
        let shading = boxes.par_iter().map(shade).collect();
        Self { nodes, leaves, shading, first, bounds: Some([low, high]) }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Lowest and highest corner of a box around everything.
    pub fn bounds(&self) -> Option<[Vec3A; 2]> {
        self.bounds
    }

    /// The nearest triangle before `limit`.
    pub fn nearest(&self, ray: &Ray, limit: f32) -> Option<Hit> {
        self.nearest_where(ray, limit, |_| true)
    }

    /// The nearest of those triangles that belong to one body.
    pub fn nearest_of(&self, body: usize, ray: &Ray, limit: f32) -> Option<Hit> {
        self.nearest_where(ray, limit, |at| self.shading[at].body as usize == body)
    }

    fn nearest_where(&self, ray: &Ray, limit: f32, is_wanted: impl Fn(usize) -> bool) -> Option<Hit> {
        if self.is_empty() {
            return None;
        }
        let mut best = None;
        let mut nearest = limit;
        self.visit(&Sight::new(ray), 0, &mut nearest, &mut |leaf, [t, u, v], mut met, nearest| {
            while met != 0 {
                let lane = met.trailing_zeros() as usize % LANES;
                met &= met - 1;
                let t = t.to_array()[lane];
                if t < *nearest && is_wanted(self.first[leaf] as usize + lane) {
                    *nearest = t;
                    best = Some((leaf, lane, t, u.to_array()[lane], v.to_array()[lane]));
                }
            }
            false
        });
        best.map(|(leaf, lane, t, u, v)| {
            let face_normal = self.leaves[leaf].normal(lane);
            let Shading { normals: [na, nb, nc], body, number } = self.shading[self.first[leaf] as usize + lane];
            let normal = Vec3A::from(na * (1.0 - u - v) + nb * u + nc * v).normalize_or(face_normal);
            Hit { t, face_normal, normal, body: body as usize, triangle: number as usize, weights: [u, v] }
        })
    }

    /// Whether anything is in the way before `limit`.
    pub fn occluded(&self, ray: &Ray, limit: f32) -> bool {
        !self.is_empty() && self.visit(&Sight::new(ray), 0, &mut { limit }, &mut |_, _, _, _| true)
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

    /// Call `meet` with leaves of a tree that is not empty of which triangles are met before `limit`, which it may shorten, until it returns true; the subtree of a node.
    fn visit(
        &self,
        sight: &Sight,
        root: u32,
        limit: &mut f32,
        meet: &mut impl FnMut(usize, [f32x8; 3], u32, &mut f32) -> bool,
    ) -> bool {
        let mut stack = [(0u32, 0f32); STACK];
        let mut waiting = 0;
        let mut child = root;
        loop {
            if child & LEAF != 0 {
                let leaf = (child & !LEAF) as usize;
                let (place, met) = sight.intersect(&self.leaves[leaf], *limit);
                if met != 0 && meet(leaf, place, met, limit) {
                    return true;
                }
            } else {
                let node = &self.nodes[child as usize];
                let (enter, mut met) = sight.enter(node, *limit);
                if met.is_power_of_two() {
                    child = node.children[met.trailing_zeros() as usize % LANES];
                    continue;
                }
                let first = waiting;
                while met != 0 {
                    let n = met.trailing_zeros() as usize % LANES;
                    met &= met - 1;
                    let near = enter[n];
                    if waiting == STACK {
                        if self.visit(sight, node.children[n], limit, meet) {
                            return true;
                        }
                        continue;
                    }
                    // The nearest goes on top.
                    let mut place = waiting;
                    while place > first && stack[place - 1].1 < near {
                        stack[place] = stack[place - 1];
                        place -= 1;
                    }
                    stack[place] = (node.children[n], near);
                    waiting += 1;
                }
            }
            loop {
                if waiting == 0 {
                    return false;
                }
                waiting -= 1;
                if stack[waiting].1 <= *limit {
                    child = stack[waiting].0;
                    break;
                }
            }
        }
    }
}

/// A tree whose root is its first node, and how many boxes are in each of its leaves, which take them in their order.
struct Built {
    nodes: Vec<Node>,
    members: Vec<u32>,
}

/// Build the tree over some boxes, which are reordered.
fn build(boxes: &mut [Boxed]) -> Built {
    // Into so many parts, the widest first.
    let mut parts: Vec<(Bounds, &mut [Boxed])> = vec![(Bounds::of(boxes), boxes)];
    while parts.len() < LANES {
        let area = |n: &usize| parts[*n].0.half_area();
        let large = (0..parts.len()).filter(|&n| parts[n].1.len() > LANES);
        let Some(widest) = large.max_by(|a, b| area(a).total_cmp(&area(b)).then(b.cmp(a))) else { break };
        let (_, part) = parts.remove(widest);
        let (middle, bounds) = partition(part);
        let (first, second) = part.split_at_mut(middle);
        parts.insert(widest, (bounds[1], second));
        parts.insert(widest, (bounds[0], first));
    }
    let mut planes = [[[f32::INFINITY; LANES]; 3], [[f32::NEG_INFINITY; LANES]; 3]];
    for (n, (Bounds { low, high }, _)) in parts.iter().enumerate() {
        for axis in 0..3 {
            (planes[0][axis][n], planes[1][axis][n]) = (low[axis], high[axis]);
        }
    }
    let node = Node { planes: planes.map(|axes| axes.map(f32x8::new)), children: [0; LANES] };
    let mut parts: Vec<&mut [Boxed]> = parts.into_iter().map(|(_, part)| part).collect();
    let is_many = parts.iter().any(|part| part.len() > MANY);
    let subtree = |part: &mut [Boxed]| (part.len() > LANES).then(|| build(part));
    let subtrees: Vec<Option<Built>> = if is_many {
        parts.par_iter_mut().map(|part| subtree(part)).collect()
    } else {
        parts.iter_mut().map(|part| subtree(part)).collect()
    };
    let mut built = Built { nodes: vec![node], members: Vec::new() };
    for (n, (part, subtree)) in parts.iter().zip(subtrees).enumerate() {
        let (nodes, leaves) = (built.nodes.len() as u32, built.members.len() as u32);
        match subtree {
            None => {
                built.nodes[0].children[n] = LEAF | leaves;
                built.members.push(part.len() as u32);
            }
            Some(mut subtree) => {
                built.nodes[0].children[n] = nodes;
                for child in subtree.nodes.iter_mut().flat_map(|node| &mut node.children) {
                    *child += if *child & LEAF != 0 { leaves } else { nodes };
                }
                built.nodes.append(&mut subtree.nodes);
                built.members.append(&mut subtree.members);
            }
        }
    }
    built
}

fn leaf(triangles: &[Triangle], part: &[Boxed]) -> Leaf {
    let mut corners = [[[0.0; LANES]; 3]; 3];
    for (n, boxed) in part.iter().enumerate() {
        let Triangle { a, edges: [e1, e2], .. } = &triangles[boxed.triangle as usize];
        for (lanes, vector) in corners.iter_mut().zip([a, e1, e2]) {
            (0..3).for_each(|axis| lanes[axis][n] = vector[axis]);
        }
    }
    let [a, e1, e2] = corners.map(|axes| axes.map(f32x8::new));
    Leaf { a, edges: [e1, e2] }
}

/// Sort boxes into two parts by the cheapest plane; returns the size of the first and what is around each.
fn partition(boxes: &mut [Boxed]) -> (usize, [Bounds; 2]) {
    // Twice the middle of a box.
    let middle = |b: &Boxed| b.low + b.high;
    let [low, high] = boxes
        .iter()
        .map(middle)
        .fold([Vec3A::INFINITY, Vec3A::NEG_INFINITY], |[low, high], m| [low.min(m), high.max(m)]);
    let size = high - low;
    let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
    let scale = BINS as f32 / size[axis].max(f32::MIN_POSITIVE);
    let bin = |b: &Boxed| (((middle(b)[axis] - low[axis]) * scale) as usize).min(BINS - 1);

    let mut bins = [(Bounds::EMPTY, 0usize); BINS];
    for b in boxes.iter() {
        let slot = &mut bins[bin(b)];
        *slot = (slot.0.join(Bounds { low: b.low, high: b.high }), slot.1 + 1);
    }
    let sweep = |bins: &mut dyn Iterator<Item = &(Bounds, usize)>| {
        let mut total = (Bounds::EMPTY, 0);
        let mut sums = [(0.0, 0); BINS];
        for (sum, &(b, n)) in sums.iter_mut().zip(bins) {
            total = (total.0.join(b), total.1 + n);
            // As many leaves as it fills.
            *sum = (total.0.half_area() * total.1.div_ceil(LANES) as f32, total.1);
        }
        sums
    };
    let left = sweep(&mut bins.iter());
    let right = sweep(&mut bins.iter().rev());
    let best = (0..BINS - 1)
        .filter(|&b| left[b].1 > 0 && right[BINS - 2 - b].1 > 0)
        .min_by(|&a, &b| (left[a].0 + right[BINS - 2 - a].0).total_cmp(&(left[b].0 + right[BINS - 2 - b].0)));
    let Some(plane) = best else {
        let (first, second) = boxes.split_at(boxes.len() / 2);
        return (first.len(), [first, second].map(Bounds::of));
    };
    let mut first = 0;
    for n in 0..boxes.len() {
        if bin(&boxes[n]) <= plane {
            boxes.swap(first, n);
            first += 1;
        }
    }
    let around = |bins: &[(Bounds, usize)]| bins.iter().fold(Bounds::EMPTY, |all, bin| all.join(bin.0));
    (first, [around(&bins[..=plane]), around(&bins[plane + 1..])])
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
        Solids::new(&[Surface { name: "soup".into(), mesh, velocities: vec![], moves: false }])
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
            let sight = Sight::new(&ray);
            let slow = solids.leaves.iter().flat_map(|leaf| {
                let ([t, ..], met) = sight.intersect(leaf, 10.0);
                t.to_array().into_iter().enumerate().filter_map(move |(n, t)| (met >> n & 1 == 1).then_some(t))
            });
            let slow = slow.min_by(f32::total_cmp);
            assert_eq!(solids.nearest(&ray, 10.0).map(|h| h.t), slow);
            assert_eq!(solids.occluded(&ray, 10.0), slow.is_some());
            hits += usize::from(slow.is_some());
        }
        assert!(hits > 300, "the test must hit something: {hits}");
    }
}

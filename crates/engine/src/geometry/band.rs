//! Distances from a surface that changes its shape.
//!
//! Near the surface every node of a lattice knows its nearest triangle, found anew whenever the surface has moved; farther away only
//! the side is known. Distances in between are those from the triangles that the nodes around know, or from those beside them, so
//! they are exact but for points whose nearest triangle is beyond both. The side comes from the normal of the nearest corner, edge or triangle
//! (Bærentzen & Aanæs 2005): right for any closed surface that does not cross itself. If it does, what it winds around at least once is inside:
//! where a part of it has been turned inside out, normals point the wrong way, and there is nothing.

use super::{Bounds, TriMesh};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// Nearest triangles around a surface.
#[derive(Clone, Debug, Default)]
pub struct Band {
    surface: TriMesh,
    /// The triangle on the other side of each edge (opposite to corners 0, 1, 2 of each triangle); of no use if the mesh is open.
    beside: Vec<[u32; 3]>,
    /// Unit normals of triangles, and of vertices (weighted by angle).
    normals: Vec<DVec3>,
    corner_normals: Vec<DVec3>,
    origin: DVec3,
    spacing: f64,
    dims: [usize; 3],
    /// How far the nearest triangle is known, m.
    reach: f64,
    /// How often a surface that crosses itself winds around what is before each triangle, if that is the same all over it; empty if the
    /// surface does not.
    windings: Vec<Option<f64>>,
    /// The nearest triangle of each node, or `NONE`.
    nearest: Vec<u32>,
    /// Signed distance of each node, m, cut off at `reach`.
    distance: Vec<f64>,
}

const NONE: u32 = u32::MAX;

/// Lines along which the surface is searched for crossings are this far apart, in spacings.
/// A choice: folds narrower than that may go unseen, and lines cost time.
const LINES: f64 = 0.25;

/// Where the first of them is along x and z, in their distance: off the places where vertices are wont to be, and off diagonals.
/// A choice: any that are no simple fractions, nor alike, would do.
const ASIDE: [f64; 2] = [0.317, 0.443];

/// How far before a triangle is, in spacings.
/// A choice: far beyond round-off, and little beside a cell.
const BEFORE: f64 = 1e-3;

/// How far from its middle to its corners a triangle is asked what is before it.
/// A choice: short of the corners, around which other triangles lie.
const CORNER: f64 = 0.9;

/// The nearest point of a surface.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// Signed distance, m, negative inside.
    pub distance: f64,
    /// The triangle it is on.
    pub triangle: u32,
    /// Weights of the triangle's corners.
    pub weights: [f64; 3],
}

impl Band {
    /// Around a closed `surface`, at nodes `spacing` apart, exact up to `reach`, m.
    pub fn new(surface: &TriMesh, spacing: f64, reach: f64) -> Self {
        let mut band =
            Self { beside: neighbours(surface), surface: surface.clone(), spacing, reach, ..Self::default() };
        band.update(&surface.vertices);
        band
    }

    /// How many nodes there are around what lies within `bounds`.
    pub fn nodes(Bounds { min, max }: Bounds, spacing: f64, reach: f64) -> f64 {
        ((max - min + 2.0 * reach) / spacing + 4.0).element_product()
    }

    /// The vertices are there now.
    pub fn update(&mut self, vertices: &[DVec3]) {
        self.surface.vertices.copy_from_slice(vertices);
        self.find_normals();
        let before = |t: usize| {
            let corners = self.surface.corners(t);
            let middle = corners.iter().sum::<DVec3>() / 3.0;
            let at = |x: DVec3| self.winding(x + BEFORE * self.spacing * self.normals[t]).round();
            let before = at(middle);
            corners.iter().all(|corner| at(middle.lerp(*corner, CORNER)) == before).then_some(before)
        };
        let count = if self.crosses() { self.surface.triangles.len() } else { 0 };
        self.windings = (0..count).into_par_iter().map(before).collect();
        let corners = self.surface.triangles.iter().flatten().map(|&v| self.surface.vertices[v as usize]);
        let Bounds { min, max } = corners.fold(Bounds::EMPTY, |b, v| Bounds { min: b.min.min(v), max: b.max.max(v) });
        // Nodes at whole multiples of the spacing, wherever the surface is.
        let margin = DVec3::splat(self.reach + self.spacing);
        let low = ((min - margin) / self.spacing).floor();
        let high = ((max + margin) / self.spacing).ceil();
        self.origin = low * self.spacing;
        self.dims = (high - low).to_array().map(|n| n as usize + 1);
        let [nx, ny, nz] = self.dims;
        let plane = nx * ny;
        let mut nodes = vec![(f64::INFINITY, NONE); plane * nz];
        nodes.par_chunks_mut(plane).enumerate().for_each(|(k, nodes)| self.scan(k, nodes));
        self.nearest = nodes.iter().map(|node| node.1).collect();
        let at = |n: usize| {
            self.origin + self.spacing * DVec3::new((n % nx) as f64, (n / nx % ny) as f64, (n / plane) as f64)
        };
        self.distance = (0..nodes.len())
            .into_par_iter()
            .map(|n| match nodes[n].1 {
                NONE => f64::INFINITY,
                triangle => self.nearest_in(triangle, at(n)).distance,
            })
            .collect();
        self.fill_sides();
    }

    /// Signed distance of a point, m, negative inside; cut off at the reach.
    pub fn at(&self, point: DVec3) -> f64 {
        self.nearest(point).map_or_else(|| self.sampled(point), |nearest| nearest.distance)
    }

    /// The nearest point of the surface, if it is within reach.
    pub fn nearest(&self, point: DVec3) -> Option<Nearest> {
        let (base, _) = self.cell_of(point)?;
        let mut seen = [NONE; 8];
        let mut best: Option<Nearest> = None;
        for corner in 0..8 {
            let triangle = self.nearest[self.node(base, corner)];
            if triangle == NONE || seen[..corner].contains(&triangle) {
                continue;
            }
            seen[corner] = triangle;
            let found = self.nearest_in(triangle, point);
            if best.is_none_or(|best| found.distance.abs() < best.distance.abs()) {
                best = Some(found);
            }
        }
        // Where triangles are small or edges sharp, one beside it may be nearer still. The side is right only for the nearest.
        while let Some(found) = best {
            let beside = self.beside[found.triangle as usize].into_iter().filter(|&triangle| triangle != NONE);
            let nearer = beside.map(|triangle| self.nearest_in(triangle, point));
            match nearer.min_by(|a, b| a.distance.abs().total_cmp(&b.distance.abs())) {
                Some(nearer) if nearer.distance.abs() < found.distance.abs() => best = Some(nearer),
                _ => break,
            }
        }
        best
    }

    /// Signed distance interpolated between the nodes, m: fast, and right to a part of the spacing.
    pub fn sampled(&self, point: DVec3) -> f64 {
        let Some((base, part)) = self.cell_of(point) else { return self.reach };
        let weight = |corner: usize| {
            let along = |a: usize| if corner >> a & 1 == 1 { part[a] } else { 1.0 - part[a] };
            along(0) * along(1) * along(2)
        };
        (0..8).map(|corner| weight(corner) * self.distance[self.node(base, corner)]).sum()
    }

    /// The surface as it is now.
    pub fn surface(&self) -> &TriMesh {
        &self.surface
    }

    /// The node below a point and how far beyond it the point is, if the lattice reaches that far.
    fn cell_of(&self, point: DVec3) -> Option<([usize; 3], DVec3)> {
        let at = (point - self.origin) / self.spacing;
        let base = at.floor();
        let is_inside = (0..3).all(|a| base[a] >= 0.0 && base[a] + 1.0 < self.dims[a] as f64);
        is_inside.then(|| (base.to_array().map(|i| i as usize), at - base))
    }

    fn node(&self, base: [usize; 3], corner: usize) -> usize {
        let [i, j, k]: [usize; 3] = std::array::from_fn(|a| base[a] + (corner >> a & 1));
        i + self.dims[0] * (j + self.dims[1] * k)
    }

    /// Let the nodes of plane k know their nearest triangles.
    fn scan(&self, k: usize, nodes: &mut [(f64, u32)]) {
        let [nx, ny, _] = self.dims;
        let z = self.origin.z + self.spacing * k as f64;
        for t in 0..self.surface.triangles.len() {
            let corners = self.surface.corners(t);
            let low = corners[0].min(corners[1]).min(corners[2]) - self.reach;
            let high = corners[0].max(corners[1]).max(corners[2]) + self.reach;
            if z < low.z || z > high.z {
                continue;
            }
            let range = |a: usize, n: usize| {
                let first = ((low[a] - self.origin[a]) / self.spacing).ceil().max(0.0) as usize;
                let last = ((high[a] - self.origin[a]) / self.spacing).floor();
                first..((last + 1.0).max(0.0) as usize).min(n)
            };
            for j in range(1, ny) {
                for i in range(0, nx) {
                    let at = self.origin + self.spacing * DVec3::new(i as f64, j as f64, k as f64);
                    // Off the plane by more than what is known already.
                    let known = &mut nodes[i + nx * j];
                    let limit = known.0.min(self.reach * self.reach);
                    if (at - corners[0]).dot(self.normals[t]).powi(2) > limit {
                        continue;
                    }
                    let square = at.distance_squared(closest(corners, at).0);
                    if square < limit {
                        *known = (square, t as u32);
                    }
                }
            }
        }
    }

    /// How far a point is from a triangle.
    fn nearest_in(&self, triangle: u32, point: DVec3) -> Nearest {
        let t = triangle as usize;
        let (nearest, weights) = closest(self.surface.corners(t), point);
        let apart = point - nearest;
        let is_zero = weights.map(|weight| weight == 0.0);
        let corner = |n: usize| self.corner_normals[self.surface.triangles[t][n] as usize];
        let normal = match is_zero {
            [false, true, true] => corner(0),
            [true, false, true] => corner(1),
            [true, true, false] => corner(2),
            [true, false, false] => self.edge_normal(t, 0),
            [false, true, false] => self.edge_normal(t, 1),
            [false, false, true] => self.edge_normal(t, 2),
            _ => self.normals[t],
        };
        // Before a triangle that is in order there is nothing, and solid behind it.
        let is_inside = match self.windings.get(t) {
            Some(None) => self.winding(point) > 0.5,
            Some(Some(before)) if *before != 0.0 => *before > 0.0,
            _ => apart.dot(normal) < 0.0,
        };
        let sign = if is_inside { -1.0 } else { 1.0 };
        Nearest { distance: sign * apart.length(), triangle, weights }
    }

    /// How often the surface winds around a point (van Oosterom & Strackee 1983).
    fn winding(&self, point: DVec3) -> f64 {
        let solid_angle = |t: usize| {
            let [a, b, c] = self.surface.corners(t).map(|corner| corner - point);
            let lengths = [a.length(), b.length(), c.length()];
            let below =
                lengths.iter().product::<f64>() + a.dot(b) * lengths[2] + b.dot(c) * lengths[0] + c.dot(a) * lengths[1];
            2.0 * a.dot(b.cross(c)).atan2(below)
        };
        (0..self.surface.triangles.len()).map(solid_angle).sum::<f64>() / (2.0 * TAU)
    }

    /// Whether lines along y find the surface to wind around anything but once.
    fn crosses(&self) -> bool {
        let width = LINES * self.spacing;
        let mut found: Vec<([i64; 2], f64, i32)> = Vec::new();
        for t in 0..self.surface.triangles.len() {
            let [a, b, c] = self.surface.corners(t);
            let (low, high) = (a.min(b).min(c), a.max(b).max(c));
            let range = |low: f64, high: f64, aside: f64| {
                (low / width + aside).ceil() as i64..=(high / width + aside).floor() as i64
            };
            let across = |p: DVec3, q: DVec3| p.z * q.x - p.x * q.z;
            let area = across(b - a, c - a);
            for (i, k) in
                range(low.x, high.x, ASIDE[0]).flat_map(|i| range(low.z, high.z, ASIDE[1]).map(move |k| (i, k)))
            {
                let at = width * DVec3::new(i as f64 - ASIDE[0], 0.0, k as f64 - ASIDE[1]);
                let [of_a, of_b] = [across(c - b, at - b), across(a - c, at - c)].map(|part| part / area);
                let of_c = 1.0 - of_a - of_b;
                if area != 0.0 && of_a >= 0.0 && of_b >= 0.0 && of_c >= 0.0 {
                    found.push(([i, k], of_a * a.y + of_b * b.y + of_c * c.y, if area > 0.0 { -1 } else { 1 }));
                }
            }
        }
        found.sort_by(|p, q| p.0.cmp(&q.0).then(p.1.total_cmp(&q.1)));
        let of_line = |line: &[([i64; 2], f64, i32)]| {
            // Lines through an edge count it twice: a line that does not end outside tells nothing.
            let mut windings = line.iter().scan(0, |sum, (.., turn)| {
                *sum += turn;
                Some(*sum)
            });
            line.iter().map(|(.., turn)| turn).sum::<i32>() == 0 && windings.any(|sum| !(0..=1).contains(&sum))
        };
        found.chunk_by(|p, q| p.0 == q.0).any(of_line)
    }

    fn edge_normal(&self, t: usize, opposite: usize) -> DVec3 {
        let beside = self.beside[t][opposite];
        self.normals[t] + if beside == NONE { DVec3::ZERO } else { self.normals[beside as usize] }
    }

    fn find_normals(&mut self) {
        let surface = &self.surface;
        let normal = |t: usize| {
            let [a, b, c] = surface.corners(t);
            (b - a).cross(c - a).normalize_or_zero()
        };
        self.normals = (0..surface.triangles.len()).map(normal).collect();
        self.corner_normals = vec![DVec3::ZERO; surface.vertices.len()];
        for (t, normal) in self.normals.iter().enumerate() {
            let corners = surface.corners(t);
            for n in 0..3 {
                let [own, next, last] = [0, 1, 2].map(|step| corners[(n + step) % 3]);
                let angle = (next - own).angle_between(last - own);
                let angle = if angle.is_finite() { angle } else { 0.0 };
                self.corner_normals[surface.triangles[t][n] as usize] += angle * *normal;
            }
        }
    }

    /// Nodes out of reach are as far outside or inside as the reach, as their neighbours tell.
    fn fill_sides(&mut self) {
        // The lattice begins and ends out of reach of the surface, outside, and within a row the side changes only where the
        // surface is near.
        for row in self.distance.chunks_exact_mut(self.dims[0]) {
            let mut last = self.reach;
            for distance in row {
                *distance = if distance.is_finite() { *distance } else { self.reach.copysign(last) };
                last = *distance;
            }
        }
    }
}

/// The triangle beyond each edge.
fn neighbours(surface: &TriMesh) -> Vec<[u32; 3]> {
    let edge = |t: &[u32; 3], n: usize| [t[(n + 1) % 3], t[(n + 2) % 3]];
    let mut owners = BTreeMap::new();
    for (number, t) in surface.triangles.iter().enumerate() {
        (0..3).for_each(|n| _ = owners.insert(edge(t, n), number as u32));
    }
    let beyond = |t: &[u32; 3], n: usize| {
        let [a, b] = edge(t, n);
        owners.get(&[b, a]).copied().unwrap_or(NONE)
    };
    surface.triangles.iter().map(|t| std::array::from_fn(|n| beyond(t, n))).collect()
}

/// The point of a triangle that is nearest to another point, and its weights: exactly zero off the corners that do not count.
pub(crate) fn closest([a, b, c]: [DVec3; 3], point: DVec3) -> (DVec3, [f64; 3]) {
    let (ab, ac) = (b - a, c - a);
    let normal = ab.cross(ac);
    let square = normal.length_squared();
    if square > 0.0 {
        let part = |from: DVec3, to: DVec3| (to - from).cross(point - from).dot(normal) / square;
        let (of_a, of_b) = (part(b, c), part(c, a));
        let of_c = 1.0 - of_a - of_b;
        if of_a > 0.0 && of_b > 0.0 && of_c > 0.0 {
            return (a + of_b * ab + of_c * ac, [of_a, of_b, of_c]);
        }
    }
    let on_edge = |from: DVec3, to: DVec3| {
        let edge = to - from;
        let along = if edge == DVec3::ZERO { 0.0 } else { (point - from).dot(edge) / edge.length_squared() };
        let along = along.clamp(0.0, 1.0);
        (from + along * edge, along)
    };
    let (on_ab, on_bc, on_ca) = (on_edge(a, b), on_edge(b, c), on_edge(c, a));
    let found = [
        (on_ab.0, [1.0 - on_ab.1, on_ab.1, 0.0]),
        (on_bc.0, [0.0, 1.0 - on_bc.1, on_bc.1]),
        (on_ca.0, [on_ca.1, 0.0, 1.0 - on_ca.1]),
    ];
    let by_distance = |p: &(DVec3, [f64; 3]), q: &(DVec3, [f64; 3])| {
        p.0.distance_squared(point).total_cmp(&q.0.distance_squared(point))
    };
    found.into_iter().min_by(by_distance).unwrap_or((a, [1.0, 0.0, 0.0]))
}

/// How fast the weights of a triangle's corners change at a point that moves with this velocity.
pub(crate) fn rates([a, b, c]: [DVec3; 3], velocity: DVec3) -> [f64; 3] {
    let normal = (b - a).cross(c - a);
    let square = normal.length_squared();
    let rate = |from: DVec3, to: DVec3| (to - from).cross(velocity).dot(normal) / square;
    if square > 0.0 { [rate(b, c), rate(c, a), rate(a, b)] } else { [0.0; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Shape, SignedDistance, TetMesh};

    /// A rough ball, with dents as deep as half a lattice cell: the side is right but next to the surface.
    #[test]
    fn sides_are_right_where_edges_are_sharp() {
        let dented = |v: DVec3| v * (1.0 + 0.08 * (9.0 * v.x).sin() * (11.0 * v.y).cos() * (7.0 * v.z).sin());
        let (ball, _) = TetMesh::stuff(&Shape::Sphere { radius: 1.0 }, 0.35).unwrap();
        let mesh = ball.mapped(dented).surface();
        let band = Band::new(&mesh, 0.2, 0.6);
        let exact = SignedDistance::new(&Shape::Mesh(std::sync::Arc::new(mesh)));
        let (mut wrong, mut off, mut near) = (0, 0, 0);
        for n in 0..20_000_u32 {
            let part = |factor: u32| f64::from(n.wrapping_mul(factor) >> 8) / f64::from(1 << 24);
            let at = 3.0 * DVec3::new(part(2_654_435_761), part(2_246_822_519), part(3_266_489_917)) - 1.5;
            let (known, expected) = (band.at(at), exact.at(at));
            if expected.abs() < 0.5 {
                near += 1;
                wrong += usize::from(known * expected < 0.0);
                off += usize::from((known - expected).abs() > 0.01);
            }
        }
        println!("of {near} points, {wrong} on the wrong side and {off} off by more than 0.01");
        assert!(near > 5000 && wrong == 0 && off < near / 1000, "of {near}, {wrong} wrong, {off} off");
    }

    /// A dent in the top of a cube that comes out at its bottom: inside is what more elements cover than are inside out there.
    #[test]
    fn what_is_inside_out_is_no_solid() {
        let mut mesh = TetMesh::block(DVec3::ONE, [10; 3]);
        let mut band = Band::new(&mesh.surface(), 0.2, 0.6);
        assert!(band.windings.is_empty());
        for v in &mut mesh.vertices {
            let away = DVec3::new(v.x, 0.0, v.z).length();
            v.y -= 1.8 * (v.y + 0.5) * (1.0 - (away / 0.45).powi(2)).max(0.0);
        }
        band.update(&mesh.vertices);
        assert!(!band.windings.is_empty());
        let covers = |n: usize, at: DVec3| {
            let whole = mesh.volume_of(n);
            let part = |c: usize| {
                let mut corners = mesh.corners(n);
                corners[c] = at;
                let [o, a, b, c] = corners;
                (a - o).cross(b - o).dot(c - o) / 6.0 / whole
            };
            if (0..4).all(|c| part(c) > 0.0) { whole.signum() } else { 0.0 }
        };
        let (mut inside, mut inside_out, mut wrong) = (0, 0, 0);
        for n in 0..4000_u32 {
            let part = |factor: u32| f64::from(n.wrapping_mul(factor) >> 8) / f64::from(1 << 24);
            let at = 2.0 * DVec3::new(part(2_654_435_761), part(2_246_822_519), part(3_266_489_917)) - 1.0;
            let cover: f64 = (0..mesh.tetrahedra.len()).map(|t| covers(t, at)).sum();
            let known = band.at(at);
            if known.abs() > 0.01 {
                wrong += usize::from((known < 0.0) != (cover > 0.5));
                inside += usize::from(cover > 0.5);
                inside_out += usize::from(cover < -0.5);
            }
        }
        println!("{wrong} wrong, {inside} inside, {inside_out} inside out");
        assert!(inside > 200 && inside_out > 20 && 20 * wrong < inside, "{wrong} of {inside} and {inside_out} wrong");
    }

    #[test]
    fn as_a_mesh_tells() {
        let mesh = Shape::Sphere { radius: 1.0 }.surface(0.4);
        let stretched = |v: &DVec3| DVec3::new(1.4 * v.x + 0.2 * v.y * v.y, 0.6 * v.y, v.z - 0.3);
        let mut band = Band::new(&mesh, 0.1, 0.35);
        band.update(&mesh.vertices.iter().map(stretched).collect::<Vec<_>>());
        let exact = SignedDistance::new(&Shape::Mesh(std::sync::Arc::new(band.surface().clone())));
        let (mut worst, mut near, mut inside) = (0.0_f64, 0, 0);
        for n in 0..20_000_u32 {
            let part = |factor: u32| f64::from(n.wrapping_mul(factor) >> 8) / f64::from(1 << 24);
            let at = 4.0 * DVec3::new(part(2_654_435_761), part(2_246_822_519), part(3_266_489_917)) - 2.0;
            let (known, expected) = (band.at(at), exact.at(at));
            if expected.abs() < 0.3 {
                worst = worst.max((known - expected).abs());
                near += 1;
            } else {
                assert!(known * expected > 0.0 && known.abs() > 0.25, "{at}: {known} and not {expected}");
                inside += usize::from(expected < 0.0);
            }
        }
        assert!(near > 1000 && inside > 200, "{near} near, {inside} inside");
        assert!(worst < 2e-3, "off by {worst}");
    }
}

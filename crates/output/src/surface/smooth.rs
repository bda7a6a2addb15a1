//! Particles' bumps taken off the surface, and the normals of the result.
//!
//! Let G be many passes of a vertex towards the mean of its neighbours, and H a few. G leaves nothing of the bumps, but also shrinks
//! whatever is curved, so what it took away along the normal, r = n·H(p − G p), is given back where it is more than bumps can be: the surface becomes
//! G p + w(|r|) r n, with w from 0 to 1 over some hundredths of a cell (Vollmer, Mencl and Müller 1999 give back in the same
//! spirit, but everywhere). So still water is as flat as G makes it, and waves and drops are as crisp as H leaves them. A vertex moves no
//! farther than a part of a cell, and only where the liquid is a large body: spray and thin sheets keep the shape
//! that their particles give them, and so do closed pieces too small for G, drops and pores, of which it would leave a point.
//!
//! Vertices on the sides of the box stay on them. The edge between a side and the free surface belongs to the
//! free surface: it takes no part of what goes on in the side's plane.

use super::density::{Bulk, smoothstep};
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::Grid;
use glam::{DVec3, Vec3A};
use rayon::prelude::*;

/// Passes of G, which smooths over about 2.2 cells, and of H, about 1.5 cells.
const PASSES: [usize; 2] = [60, 28];
/// What G takes away beyond the first is given back in part, beyond the second in full, cells.
const MORE_THAN_BUMPS: [f32; 2] = [0.04, 0.12];
/// How far a vertex goes towards its neighbours' mean in a pass.
const STEP: f64 = 0.5;
/// Farthest that a vertex may move, cells.
const FARTHEST: f64 = 0.4;
/// Bulk density (see `Density::bulk`) below which nothing moves, and above which everything may.
const LARGE_BODY: [f32; 2] = [0.12, 0.34];
/// Vertices of a closed piece of surface below which nothing of it moves, and above which everything may: balls of 0.7 and 1.5 cells' radius.
const PIECE: [f32; 2] = [40.0, 160.0];
/// Twice the area of a triangle of which smoothing has left nothing, squares of a cell's edge.
const CLOSED: f64 = 1e-5;
/// Passes over the normals.
const NORMAL_PASSES: usize = 4;
/// Vertices nearer to a side of the box than this belong to it, cells.
const ON_SIDE: f64 = 1e-3;
/// Vertices handed to a thread at once.
const CHUNK: usize = 1 << 12;

/// Move the vertices of a surface made by `marching::extract`.
pub fn smooth(mesh: &mut TriMesh, grid: &Grid, bulk: &Bulk) {
    let sides = Sides::new(grid);
    let marks: Vec<u8> = mesh.vertices.iter().map(|&v| sides.of(v)).collect();
    let neighbours = Neighbours::new(mesh, &marks);
    let pieces = piece_of(mesh);
    let mut size = vec![0.0; pieces.len()];
    pieces.iter().for_each(|&p| size[p as usize] += 1.0);
    let free = |(&v, &p): (&DVec3, &u32)| smoothstep(LARGE_BODY, bulk.at(v)) * smoothstep(PIECE, size[p as usize]);
    let freedom: Vec<f64> = mesh.vertices.par_iter().zip(&pieces).map(|of| f64::from(free(of))).collect();

    let relax = |mut values: Vec<DVec3>, passes: usize| {
        let mut next = values.clone();
        for _ in 0..passes {
            next.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, next)| {
                for (n, new) in next.iter_mut().enumerate() {
                    let v = n + chunk * CHUNK;
                    let toward = neighbours.mean(v, &values) - values[v];
                    *new = values[v] + STEP * freedom[v] * sides.along(marks[v], toward);
                }
            });
            std::mem::swap(&mut values, &mut next);
        }
        values
    };
    let smoothed = relax(mesh.vertices.clone(), PASSES[0]);
    let taken: Vec<DVec3> = mesh.vertices.iter().zip(&smoothed).map(|(p, q)| *p - *q).collect();
    let given = relax(taken, PASSES[1]);
    let rough = std::mem::replace(&mut mesh.vertices, smoothed);
    let normals = area_normals(mesh, &marks);

    let limit = FARTHEST * grid.dx;
    let (low, high) = (grid.origin, grid.upper());
    mesh.vertices.par_iter_mut().with_min_len(CHUNK).enumerate().for_each(|(v, vertex)| {
        let r = given[v].dot(normals[v]);
        let back = f64::from(smoothstep(MORE_THAN_BUMPS, (r.abs() / grid.dx) as f32));
        let moved = sides.along(marks[v], *vertex + back * r * normals[v] - rough[v]);
        *vertex = (rough[v] + moved.clamp_length_max(limit)).clamp(low, high);
    });
    // Necks and pits narrower than what G smooths over close on themselves: there everything stays where it was.
    let is_closed = |t: &&[u32; 3]| {
        let [a, b, c] = t.map(|v| mesh.vertices[v as usize]);
        (b - a).cross(c - a).length() < CLOSED * grid.dx * grid.dx
    };
    let closed: Vec<[u32; 3]> = mesh.triangles.par_iter().with_min_len(CHUNK).filter(is_closed).copied().collect();
    closed.iter().flatten().for_each(|&v| mesh.vertices[v as usize] = rough[v as usize]);
}

/// For each vertex, the first vertex of the closed piece of surface that it belongs to.
pub fn piece_of(mesh: &TriMesh) -> Vec<u32> {
    // Each vertex points to an earlier one of its piece, or to itself.
    let mut earlier: Vec<u32> = (0..mesh.vertices.len() as u32).collect();
    fn first(earlier: &mut [u32], mut v: u32) -> u32 {
        while earlier[v as usize] != v {
            earlier[v as usize] = earlier[earlier[v as usize] as usize];
            v = earlier[v as usize];
        }
        v
    }
    for &[a, b, c] in &mesh.triangles {
        for (p, q) in [(a, b), (b, c)] {
            let (p, q) = (first(&mut earlier, p), first(&mut earlier, q));
            earlier[p.max(q) as usize] = p.min(q);
        }
    }
    (0..earlier.len() as u32).map(|v| first(&mut earlier, v)).collect()
}

/// A unit normal for each vertex of a liquid's surface, from the triangles of the free surface around it (weighted by area)
/// and slightly smoothed; where all triangles around lie in a side of the box, the side's. Triangles in a side are plane:
/// draw them with their own normal, see [`is_on_side`], which tells which these are.
pub fn vertex_normals(mesh: &TriMesh, on_side: &[bool]) -> Vec<Vec3A> {
    let mut sums = vec![Vec3A::ZERO; mesh.vertices.len()];
    let mut flat = sums.clone();
    // Neighbours of a vertex in the free surface, each once for every triangle shared with it.
    let mut around = vec![0f32; sums.len()];
    let faces = || mesh.triangles.iter().zip(on_side);
    for (t, &in_side) in faces() {
        let [a, b, c] = t.map(|v| mesh.vertices[v as usize]);
        let area = (b - a).cross(c - a).as_vec3a();
        let sums = if in_side { &mut flat } else { &mut sums };
        t.iter().for_each(|&v| sums[v as usize] += area);
        t.iter().for_each(|&v| around[v as usize] += if in_side { 0.0 } else { 2.0 });
    }
    let unit = |n: Vec3A| n.try_normalize();
    let mut normals: Vec<Vec3A> =
        sums.iter().zip(&flat).map(|(&n, &m)| unit(n).or(unit(m)).unwrap_or(Vec3A::Y)).collect();
    for _ in 0..NORMAL_PASSES {
        sums.fill(Vec3A::ZERO);
        for (t, _) in faces().filter(|(_, in_side)| !**in_side) {
            let [a, b, c] = t.map(|v| v as usize);
            let [n, m, o] = [normals[a], normals[b], normals[c]];
            sums[a] += m + o;
            sums[b] += n + o;
            sums[c] += n + m;
        }
        normals.par_iter_mut().with_min_len(CHUNK).zip(&sums).zip(&around).for_each(|((normal, &sum), &count)| {
            let toward = sum / count.max(1.0) - *normal;
            // A neighbour beyond a sharp edge, as on spray, must not turn the normal; nor has every vertex one.
            let gentle = if count > 0.0 { (1.0 - toward.length()).max(0.0) } else { 0.0 };
            *normal = (*normal + STEP as f32 * gentle * toward).try_normalize().unwrap_or(*normal);
        });
    }
    normals
}

/// Unit normals weighted by area, of the free surface where a vertex belongs to it.
fn area_normals(mesh: &TriMesh, marks: &[u8]) -> Vec<DVec3> {
    let mut free = vec![DVec3::ZERO; mesh.vertices.len()];
    let mut flat = free.clone();
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| mesh.vertices[v as usize]);
        let area = (b - a).cross(c - a);
        let sums = if in_side(t, marks) { &mut flat } else { &mut free };
        t.iter().for_each(|&v| sums[v as usize] += area);
    }
    let unit = |n: DVec3| n.try_normalize();
    free.iter().zip(&flat).map(|(&n, &m)| unit(n).or(unit(m)).unwrap_or(DVec3::Y)).collect()
}

/// Whether each triangle of a liquid's surface lies in a side of the box.
pub fn is_on_side(mesh: &TriMesh, grid: &Grid) -> Vec<bool> {
    let sides = Sides::new(grid);
    let marks: Vec<u8> = mesh.vertices.iter().map(|&v| sides.of(v)).collect();
    mesh.triangles.iter().map(|t| in_side(t, &marks)).collect()
}

fn in_side(&[a, b, c]: &[u32; 3], marks: &[u8]) -> bool {
    marks[a as usize] & marks[b as usize] & marks[c as usize] != 0
}

/// The six sides of the box.
pub struct Sides {
    low: DVec3,
    high: DVec3,
    tolerance: f64,
}

impl Sides {
    pub fn new(grid: &Grid) -> Self {
        Self { low: grid.origin, high: grid.upper(), tolerance: ON_SIDE * grid.dx }
    }

    /// A bit for each side that a point lies on.
    pub fn of(&self, point: DVec3) -> u8 {
        let near = |a: DVec3, b: DVec3| (a - b).abs().cmple(DVec3::splat(self.tolerance)).bitmask() as u8;
        near(point, self.low) | near(point, self.high) << 3
    }

    /// The part of a movement that stays on the sides of `mark`.
    fn along(&self, mark: u8, movement: DVec3) -> DVec3 {
        if mark == 0 {
            return movement;
        }
        let fixed = mark | mark >> 3;
        DVec3::from([0, 1, 2].map(|a| if fixed >> a & 1 == 1 { 0.0 } else { movement[a] }))
    }
}

/// The vertices around each vertex, one after another.
struct Neighbours {
    start: Vec<u32>,
    of: Vec<u32>,
}

impl Neighbours {
    /// Each edge of a closed mesh is passed once in each direction: vertex a has b where a triangle passes a → b.
    /// Vertices of the free surface have neighbours in it only.
    fn new(mesh: &TriMesh, marks: &[u8]) -> Self {
        let mut is_free = vec![false; mesh.vertices.len()];
        for t in mesh.triangles.iter().filter(|t| !in_side(t, marks)) {
            t.iter().for_each(|&v| is_free[v as usize] = true);
        }
        // An edge between free surface and side is passed by the free surface in one direction only: count both.
        let passes = |t: &[u32; 3]| {
            let free = !in_side(t, marks);
            let [a, b, c] = *t;
            [(a, b), (b, a), (b, c), (c, b), (c, a), (a, c)].map(|pass| (pass, free))
        };
        let wanted = |((a, _), free): &((u32, u32), bool)| *free || !is_free[*a as usize];
        let mut start = vec![0u32; mesh.vertices.len() + 1];
        for ((a, _), _) in mesh.triangles.iter().flat_map(passes).filter(wanted) {
            start[a as usize + 1] += 1;
        }
        (1..start.len()).for_each(|n| start[n] += start[n - 1]);
        let mut next = start.clone();
        let mut of = vec![0; start[start.len() - 1] as usize];
        for ((a, b), _) in mesh.triangles.iter().flat_map(passes).filter(wanted) {
            let slot = &mut next[a as usize];
            of[*slot as usize] = b;
            *slot += 1;
        }
        Self { start, of }
    }

    /// Mean over the neighbours, weighted by the number of triangles shared with them: at the border of the free surface, a neighbour within
    /// counts twice as much as one along the border, as if the surface went on beyond the side as its mirror image.
    fn mean(&self, vertex: usize, values: &[DVec3]) -> DVec3 {
        let around = &self.of[self.start[vertex] as usize..self.start[vertex + 1] as usize];
        if around.is_empty() {
            return values[vertex];
        }
        around.iter().map(|&n| values[n as usize]).sum::<DVec3>() / around.len() as f64
    }
}

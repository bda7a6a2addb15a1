//! Drops as round bodies.
//!
//! A closed piece of surface of a cell or less is a handful of triangles: lit, it looks like a flake. Each such piece is replaced by an ellipsoid of its
//! volume, about its centre and with its second moments, drawn towards a ball as surface tension would. Pores, whose volume is negative, stay pores.

use super::smooth::{Sides, piece_of};
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::Grid;
use glam::{DMat3, DVec3};

/// Pieces of at most so many vertices are drops: balls of up to 0.7 cells' radius.
const MOST_VERTICES: usize = 40;
/// How much of a drop's shape gives way to a ball's.
const ROUNDING: f64 = 0.5;

/// Replace small pieces away from the sides of the box.
pub fn round(mesh: &mut TriMesh, grid: &Grid) {
    let sides = Sides::new(grid);
    let piece = piece_of(mesh);
    let mut size = vec![0; piece.len()];
    let mut inside = vec![true; piece.len()];
    for (&v, &p) in mesh.vertices.iter().zip(&piece) {
        size[p as usize] += 1;
        inside[p as usize] &= sides.of(v) == 0;
    }
    let is_drop = |v: u32| {
        let p = piece[v as usize] as usize;
        inside[p] && size[p] <= MOST_VERTICES
    };
    let (mut drops, mut rest): (Vec<[u32; 3]>, Vec<[u32; 3]>) = mesh.triangles.iter().partition(|t| is_drop(t[0]));
    if drops.is_empty() {
        return;
    }
    // By piece, in the order of their first vertices; within one, as they were.
    drops.sort_by_key(|t| piece[t[0] as usize]);
    let ball = Ball::new();
    let mut added = Vec::new();
    for triangles in drops.chunk_by(|s, t| piece[s[0] as usize] == piece[t[0] as usize]) {
        match ball.instead_of(triangles, &mesh.vertices, grid) {
            Some(vertices) => {
                let first = (mesh.vertices.len() + added.len()) as u32;
                rest.extend(ball.triangles.iter().map(|t| t.map(|v| v + first)));
                added.extend(vertices);
            }
            None => rest.extend(triangles),
        }
    }
    mesh.vertices.extend(added);
    mesh.triangles = rest;
    mesh.drop_unused_vertices();
}

/// A unit ball of an octahedron whose faces are divided in four.
struct Ball {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// That of the triangles.
    volume: f64,
}

impl Ball {
    fn new() -> Self {
        let mut vertices = vec![DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
        let mut triangles = Vec::new();
        for octant in 0..8u32 {
            let corner = [0, 1, 2].map(|a| a + 3 * (octant >> a & 1));
            // An odd number of mirrors turns the triangle round.
            let [a, b, c] = if octant.count_ones() % 2 == 0 { corner } else { [corner[0], corner[2], corner[1]] };
            let mut middle = |p: u32, q: u32| {
                let at = (vertices[p as usize] + vertices[q as usize]).normalize();
                let known = vertices.iter().position(|v| v.distance_squared(at) < 1e-9);
                known.unwrap_or_else(|| {
                    vertices.push(at);
                    vertices.len() - 1
                }) as u32
            };
            let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
            triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        let mesh = TriMesh { vertices, triangles };
        let volume = mesh.volume();
        Self { vertices: mesh.vertices, triangles: mesh.triangles, volume }
    }

    /// Vertices of the ellipsoid that replaces a closed piece; None if that has no volume to speak of, or would leave the box.
    fn instead_of(&self, triangles: &[[u32; 3]], vertices: &[DVec3], grid: &Grid) -> Option<Vec<DVec3>> {
        // Tetrahedra from the first vertex: v the volume of each, q the sum of its corners from there.
        let about = vertices[triangles[0][0] as usize];
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for t in triangles {
            let [a, b, c] = t.map(|v| vertices[v as usize] - about);
            let (v, q) = (a.dot(b.cross(c)) / 6.0, a + b + c);
            volume += v;
            first += 0.25 * v * q;
            second += (outer(a) + outer(b) + outer(c) + outer(q)) * (0.05 * v);
        }
        if volume.abs() < 1e-6 * grid.dx.powi(3) {
            return None;
        }
        let centre = first / volume;
        // Of a solid ellipsoid x = S u, |u| ≤ 1, the second moments are ⅕ S Sᵀ.
        let moments = (second * volume.recip() - outer(centre)) * 5.0;
        let mean = (moments.x_axis.x + moments.y_axis.y + moments.z_axis.z) / 3.0;
        let shape = cholesky(moments * (1.0 - ROUNDING) + DMat3::IDENTITY * (ROUNDING * mean))?;
        let scale = (volume.abs() / (self.volume * shape.determinant())).cbrt();
        // Mirrored, a pore's surface faces inwards.
        let shape = shape * (scale * volume.signum());
        let placed: Vec<DVec3> = self.vertices.iter().map(|&u| about + centre + shape * u).collect();
        let is_inside = |v: &DVec3| v.cmpgt(grid.origin).all() && v.cmplt(grid.upper()).all();
        placed.iter().all(is_inside).then_some(placed)
    }
}

fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

/// The lower triangle L of a positive definite matrix L Lᵀ.
fn cholesky(m: DMat3) -> Option<DMat3> {
    let root = |x: f64| (x > 0.0).then(|| x.sqrt());
    let xx = root(m.x_axis.x)?;
    let (yx, zx) = (m.x_axis.y / xx, m.x_axis.z / xx);
    let yy = root(m.y_axis.y - yx * yx)?;
    let zy = (m.y_axis.z - zx * yx) / yy;
    let zz = root(m.z_axis.z - zx * zx - zy * zy)?;
    Some(DMat3::from_cols(DVec3::new(xx, yx, zx), DVec3::new(0.0, yy, zy), DVec3::new(0.0, 0.0, zz)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_becomes_an_ellipsoid_of_its_volume_and_place() {
        let grid = Grid::new([8; 3], 1.0, DVec3::ZERO);
        let size = DVec3::new(0.9, 0.5, 0.3);
        let turned = bathtub_engine::geometry::Shape::Box { size }
            .surface(1.0)
            .mapped(|v| glam::DQuat::from_rotation_z(0.4) * v + DVec3::new(3.0, 4.0, 5.0));
        for inside_out in [false, true] {
            let mut mesh = turned.clone();
            if inside_out {
                mesh.flip();
            }
            let before = mesh.mass_properties();
            round(&mut mesh, &grid);
            let after = mesh.mass_properties();
            assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (18, 32));
            assert!((after.volume / before.volume - 1.0).abs() < 1e-9);
            assert!(after.centroid.distance(before.centroid) < 1e-9);
            // Longest along the box, but rounder.
            let along = |axis: DVec3| mesh.vertices.iter().map(|v| (*v - after.centroid).dot(axis)).fold(0.0, f64::max);
            let [x, y] = [along(DVec3::new(0.4f64.cos(), 0.4f64.sin(), 0.0)), along(DVec3::Z)];
            assert!(x > 1.2 * y && x < 2.4 * y, "{x} {y}");
            if !inside_out {
                assert_eq!(mesh.check().unwrap().1, []);
            }
        }
    }

    #[test]
    fn what_is_large_or_at_a_side_stays() {
        let grid = Grid::new([8; 3], 1.0, DVec3::ZERO);
        let cube =
            |at: DVec3| bathtub_engine::geometry::Shape::Box { size: DVec3::ONE }.surface(1.0).mapped(|v| v + at);
        let sphere = bathtub_engine::geometry::Shape::Sphere { radius: 2.0 }.surface(0.5).mapped(|v| v + 4.0);
        for mesh in [cube(DVec3::new(0.5, 4.0, 4.0)), sphere] {
            let mut same = mesh.clone();
            round(&mut same, &grid);
            assert_eq!(same, mesh);
        }
    }
}

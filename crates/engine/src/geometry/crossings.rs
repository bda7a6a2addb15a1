//! Where a surface passes through itself.
//!
//! Two triangles cross if an edge of one goes through the other. Pairs that share a corner are passed over, and so is touching:
//! parts of a mesh that lie face to face do not cross. Of triangles amid thousands of others not all crossings are found.

use super::TriMesh;
use glam::DVec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};
use rayon::prelude::*;

/// Volumes below this part of the cube of the lengths they are made from are none: what touches does not cross.
/// A choice: far above round-off, far below crossings that matter.
const TOUCHING: f64 = 1e-9;

/// Neighbours that are looked at: a fan of very many triangles about one corner must not take for ever.
/// A choice: few meshes have more at one place; in those, crossings may be missed.
const MOST_NEAR: usize = 2000;

impl TriMesh {
    /// Pairs of triangles that cross: how many, and the first.
    pub fn crossings(&self) -> (usize, Option<[usize; 2]>) {
        let bounds = |t: usize| {
            let [a, b, c] = self.corners(t);
            Aabb::new(a.min(b).min(c), a.max(b).max(c))
        };
        let boxes: Vec<Aabb> = (0..self.triangles.len()).map(bounds).collect();
        let tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
        let crossed_by = |t: usize| -> Vec<[usize; 2]> {
            let near = tree.intersect_aabb(&boxes[t]).map(|other| other as usize).take(MOST_NEAR);
            let mut pairs: Vec<[usize; 2]> =
                near.filter(|&other| other > t && self.cross(t, other)).map(|other| [t, other]).collect();
            pairs.sort_unstable();
            pairs
        };
        let pairs: Vec<[usize; 2]> = (0..boxes.len()).into_par_iter().flat_map_iter(crossed_by).collect();
        (pairs.len(), pairs.first().copied())
    }

    fn cross(&self, s: usize, t: usize) -> bool {
        let shares = self.triangles[s].iter().any(|corner| self.triangles[t].contains(corner));
        let (s, t) = (self.corners(s), self.corners(t));
        !shares && (pierces(s, t) || pierces(t, s))
    }
}

/// Whether an edge of triangle `s` goes through triangle `t`.
fn pierces(s: [DVec3; 3], t: [DVec3; 3]) -> bool {
    (0..3).any(|n| goes_through([s[n], s[(n + 1) % 3]], t))
}

/// Whether the ends are on different sides of the triangle, and the line between them passes all its edges on the same side.
fn goes_through([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let size = [q - p, b - a, c - b, a - c, a - p].iter().map(|v| v.length()).fold(0.0, f64::max);
    let least = TOUCHING * size.powi(3);
    let side = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| (b - a).cross(c - a).dot(d - a);
    let (from, to) = (side(a, b, c, p), side(a, b, c, q));
    if from.abs() <= least || to.abs() <= least || (from > 0.0) == (to > 0.0) {
        return false;
    }
    let around = [side(p, q, a, b), side(p, q, b, c), side(p, q, c, a)];
    around.iter().all(|&v| v > least) || around.iter().all(|&v| v < -least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Shape, TriMesh};

    /// The surfaces of two shapes as one mesh, the second moved.
    fn both(a: &Shape, b: &Shape, by: DVec3) -> TriMesh {
        let (mut mesh, other) = (a.surface(0.1), b.surface(0.1));
        let first = mesh.vertices.len() as u32;
        mesh.vertices.extend(other.vertices.iter().map(|v| *v + by));
        mesh.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
        mesh
    }

    #[test]
    fn closed_shapes_do_not_cross_themselves() {
        let shapes = [
            Shape::Box { size: DVec3::new(1.0, 0.3, 0.5) },
            Shape::Sphere { radius: 0.5 },
            Shape::Torus { major: 0.5, minor: 0.2 },
            Shape::Capsule { radius: 0.2, height: 0.5 },
        ];
        for shape in shapes {
            assert_eq!(shape.surface(0.05).crossings(), (0, None), "{shape:?}");
        }
    }

    #[test]
    fn two_balls_in_one_mesh_cross_only_where_they_overlap() {
        let ball = Shape::Sphere { radius: 0.5 };
        let (count, first) = both(&ball, &ball, DVec3::new(0.7, 0.02, 0.01)).crossings();
        assert!(count > 20 && first.is_some(), "{count}");
        assert_eq!(both(&ball, &ball, DVec3::new(1.1, 0.0, 0.0)).crossings().0, 0);
        assert_eq!(both(&ball, &Shape::Sphere { radius: 0.2 }, DVec3::ZERO).crossings().0, 0, "one inside the other");
    }

    #[test]
    fn faces_that_touch_do_not_cross() {
        let cube = Shape::Box { size: DVec3::ONE };
        assert_eq!(both(&cube, &cube, DVec3::X).crossings().0, 0);
        assert_eq!(both(&cube, &cube, DVec3::new(1.0, 0.3, 0.2)).crossings().0, 0);
        assert!(both(&cube, &cube, DVec3::new(0.9, 0.3, 0.2)).crossings().0 > 0);
    }
}

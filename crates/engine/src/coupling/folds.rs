//! Where an elastic body comes near itself.
//!
//! A vertex of the surface touches a triangle of the same surface if the two face each other across a gap: each lies on the outer side of
//! the other. What is on opposite sides of thin material does not, and neighbours at rest never count, however the body bends. A
//! gap must be seen before it closes: a surface that has passed through itself is no longer told from one that is thin.

use crate::geometry::closest;
use crate::solid::elastic::ElasticBody;
use glam::{DVec3, IVec3};

/// Vertex and triangle that are nearer than this at rest, in lengths of the longest edge, are neighbours.
/// A choice: below 1, next neighbours might be folds; the more it is, the wider a crease that is not seen.
const NEIGHBOURS: f64 = 1.5;

/// A vertex near a triangle of the same body.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub vertex: u32,
    /// Corners of the triangle, and the weights of its nearest point.
    pub corners: [(u32, f64); 3],
    /// From the triangle to the vertex.
    pub normal: DVec3,
    /// m; negative within `depth` of the triangle's inner side.
    pub gap: f64,
}

/// All vertices within `reach` of a triangle that they face, or at most `depth` behind it, m; of each the nearest one.
pub(super) fn folds(body: &ElasticBody, reach: f64, depth: f64) -> Vec<Fold> {
    let (surface, positions, rest) = (body.surface(), body.positions(), &body.rest().vertices);
    let corners = |t: usize, of: &[DVec3]| surface.triangles[t].map(|v| of[v as usize]);
    let longest = |of: &[DVec3]| {
        let edges = (0..surface.triangles.len()).flat_map(|t| {
            let [a, b, c] = corners(t, of);
            [a.distance(b), b.distance(c), c.distance(a)]
        });
        edges.fold(0.0, f64::max)
    };
    let mut outwards = vec![DVec3::ZERO; positions.len()];
    let mut normals = Vec::with_capacity(surface.triangles.len());
    for (t, triangle) in surface.triangles.iter().enumerate() {
        let [a, b, c] = corners(t, positions);
        let normal = (b - a).cross(c - a);
        triangle.iter().for_each(|&v| outwards[v as usize] += normal);
        normals.push(normal.normalize_or_zero());
    }
    // What is nearest to a vertex has its middle in the same box of the search or in one beside it.
    let width = reach + longest(positions);
    let cell = |x: DVec3| (x / width).floor().as_ivec3();
    let middle = |t: usize| corners(t, positions).iter().sum::<DVec3>() / 3.0;
    let mut boxes: Vec<([i32; 3], usize)> =
        (0..surface.triangles.len()).map(|t| (cell(middle(t)).to_array(), t)).collect();
    boxes.sort_unstable();
    let inside = |at: IVec3| {
        let first = boxes.partition_point(|(key, _)| *key < at.to_array());
        boxes[first..].iter().take_while(move |(key, _)| *key == at.to_array()).map(|(_, t)| *t)
    };
    let apart = NEIGHBOURS * longest(rest);
    let fold = |&vertex: &u32| {
        let (x, own) = (positions[vertex as usize], outwards[vertex as usize]);
        let around = (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| IVec3::new(i, j, k))));
        let near = around.flat_map(|step| inside(cell(x) + step)).filter_map(|t| {
            let facing = normals[t];
            if own.dot(facing) >= 0.0 {
                return None;
            }
            let (point, weights) = closest(corners(t, positions), x);
            let (ahead, distance) = (facing.dot(x - point), x.distance(point));
            let is_behind = ahead <= 0.0;
            let limit = if is_behind { depth } else { reach };
            let at_rest = closest(corners(t, rest), rest[vertex as usize]).0.distance(rest[vertex as usize]);
            if distance > limit || at_rest < apart || (!is_behind && own.dot(point - x) < 0.0) {
                return None;
            }
            let triangle = surface.triangles[t];
            let corners = std::array::from_fn(|c| (triangle[c], weights[c]));
            let (normal, gap) = if is_behind { (facing, -distance) } else { ((x - point) / distance, distance) };
            Some(Fold { vertex, corners, normal, gap })
        });
        near.min_by(|a, b| a.gap.abs().total_cmp(&b.gap.abs()))
    };
    body.surface_vertices().iter().filter_map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::TetMesh;
    use crate::solid::elastic::{ElasticState, Material};
    use std::f64::consts::TAU;

    /// A bar of square section bent to a ring that is open by `gap` (m).
    fn ring(gap: f64) -> ElasticBody {
        let (length, width) = (2.0, 0.1);
        let bar = TetMesh::block(DVec3::new(length, width, width), [40, 2, 2]);
        let material = Material {
            youngs_modulus: 1e5,
            poisson_ratio: 0.3,
            density: 1e3,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
        };
        let radius = (length + gap) / TAU;
        let bent = |x: &DVec3| {
            let (sin, cos) = (x.x / radius).sin_cos();
            DVec3::new((radius - x.y) * sin, (x.y - radius) * cos, x.z)
        };
        let positions: Vec<DVec3> = bar.vertices.iter().map(bent).collect();
        let mut body = ElasticBody::new(bar, material, [false; 3]).unwrap();
        let velocities = vec![DVec3::ZERO; positions.len()];
        body.restore(&ElasticState { positions, velocities, active: true }).unwrap();
        body
    }

    #[test]
    fn the_ends_of_a_ring_see_each_other_and_nothing_else_does() {
        let gap = 0.02;
        let body = ring(gap);
        let found = folds(&body, 0.05, 0.005);
        assert_eq!(found.len(), 18, "nine vertices at each end");
        for fold in &found {
            assert!(body.positions()[fold.vertex as usize].y > 0.25, "{fold:?}");
            // The ends are not quite parallel: they are 2 % nearer or farther apart where the ring is narrower or wider.
            assert!((fold.gap / gap - 1.0).abs() < 0.2, "{fold:?}");
            assert!(fold.normal.x.abs() > 0.99, "{fold:?}");
        }
    }

    #[test]
    fn far_ends_and_straight_bars_touch_nothing() {
        assert!(folds(&ring(0.2), 0.05, 0.005).is_empty());
        assert!(folds(&ring(1e6), 0.15, 0.005).is_empty());
    }

    #[test]
    fn a_vertex_just_behind_is_pushed_out_again() {
        let found = folds(&ring(-0.002), 0.05, 0.01);
        assert!(found.len() >= 18, "nine vertices at each end");
        assert!(found.iter().any(|fold| fold.gap < 0.0), "{found:?}");
        assert!(found.iter().all(|fold| fold.gap > -0.003), "{found:?}");
    }
}

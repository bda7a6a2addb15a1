//! Shapes as Rapier collides them.
//!
//! Boxes, balls, cylinders and capsules are themselves; a ring is a chain of capsules. A free mesh is its convex hull
//! where that is (nearly) the mesh, otherwise a set of convex parts (approximate convex decomposition, Mamou and
//! Ghorbel 2009), so that concave toys stack and nest. Meshes that never feel a push (obstacles) stay triangles.

use crate::geometry::{Shape, TriMesh};
use glam::{DQuat, DVec3};
use rapier3d_f64::parry::shape::TriMeshFlags;
use rapier3d_f64::parry::transformation::vhacd::{VHACD, VHACDParameters};
use rapier3d_f64::parry::transformation::voxelization::FillMode;
use rapier3d_f64::prelude::{Pose as RapierPose, SharedShape};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Capsules around a ring: the chords leave the circle by half a percent of its radius.
/// A choice: twice as many leave it by a quarter of that, and are twice as many parts in contact.
const RING: usize = 32;

/// A hull that has at most this much more volume than its mesh stands for it.
/// A choice: dents of 1 % are filled up, for one hull instead of many parts.
const CONVEX: f64 = 1.01;

/// Voxels along the longest edge of a mesh's box when it is divided: a second for each distinct mesh, and a bowl with
/// walls of 7 % of its width is filled up by 1 % of its width.
const VOXELS: u32 = 64;

/// How much hollow space, as part of the hull's volume, a convex part may still enclose.
/// The bowl of [`VOXELS`] (crates/engine/tests/rigid/shapes.rs) is divided with this.
const CONCAVITY: f64 = 0.002;

/// About how many parts one mesh is divided into at most.
/// A choice: with fewer, hollows of intricate meshes are filled up; more cost time in every contact.
const PARTS: u32 = 64;

/// Shapes made so far; bodies of the same mesh share theirs.
#[derive(Default)]
pub struct Colliders {
    meshes: Vec<(Arc<TriMesh>, SharedShape)>,
}

impl Colliders {
    /// The shape of a free body, in its own frame; none if a mesh has no convex parts.
    pub fn free(&mut self, shape: &Shape) -> Option<SharedShape> {
        Some(match *shape {
            Shape::Box { size } => SharedShape::cuboid(0.5 * size.x, 0.5 * size.y, 0.5 * size.z),
            Shape::Sphere { radius } => SharedShape::ball(radius),
            Shape::Cylinder { radius, height } => SharedShape::cylinder(0.5 * height, radius),
            Shape::Capsule { radius, height } => SharedShape::capsule_y(0.5 * height, radius),
            Shape::Torus { major, minor } => ring(major, minor),
            Shape::Mesh(ref mesh) => {
                let known = self.meshes.iter().find(|(other, _)| Arc::ptr_eq(other, mesh) || other == mesh);
                if let Some((_, made)) = known {
                    return Some(made.clone());
                }
                let made = convex_parts(mesh)?;
                self.meshes.push((mesh.clone(), made.clone()));
                made
            }
        })
    }

    /// The shape of an obstacle, in its own frame.
    pub fn fixed(&mut self, shape: &Shape) -> Option<SharedShape> {
        match shape {
            Shape::Mesh(mesh) => {
                let flags = TriMeshFlags::ORIENTED | TriMeshFlags::FIX_INTERNAL_EDGES;
                SharedShape::trimesh_with_flags(mesh.vertices.clone(), mesh.triangles.clone(), flags).ok()
            }
            primitive => self.free(primitive),
        }
    }
}

/// Capsules along the centre line of a ring about y.
fn ring(major: f64, minor: f64) -> SharedShape {
    let at = |i: usize| {
        let (sin, cos) = (TAU * i as f64 / RING as f64).sin_cos();
        major * DVec3::new(cos, 0.0, -sin)
    };
    let part =
        |i| (RapierPose::from_parts(DVec3::ZERO, DQuat::IDENTITY), SharedShape::capsule(at(i), at(i + 1), minor));
    SharedShape::compound((0..RING).map(part).collect())
}

fn convex_parts(mesh: &TriMesh) -> Option<SharedShape> {
    let hull = SharedShape::convex_hull(&mesh.vertices)?;
    if hull.mass_properties(1.0).mass() <= CONVEX * mesh.volume() {
        return Some(hull);
    }
    let parameters = VHACDParameters {
        resolution: VOXELS,
        concavity: CONCAVITY,
        max_convex_hulls: PARTS,
        fill_mode: FillMode::FloodFill { detect_cavities: true },
        ..VHACDParameters::default()
    };
    let parts = VHACD::decompose(&parameters, &mesh.vertices, &mesh.triangles, true);
    let hulls = parts.compute_exact_convex_hulls(&mesh.vertices, &mesh.triangles);
    let place = RapierPose::from_parts(DVec3::ZERO, DQuat::IDENTITY);
    let hulls: Vec<_> = hulls
        .into_iter()
        .filter_map(|(vertices, triangles)| Some((place, SharedShape::convex_mesh(vertices, &triangles)?)))
        .collect();
    (!hulls.is_empty()).then(|| SharedShape::compound(hulls))
}

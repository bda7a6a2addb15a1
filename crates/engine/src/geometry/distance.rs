//! Signed distance to shapes: negative inside.
//!
//! Primitives have closed forms, exact everywhere. Meshes ask Parry's bounding-volume tree for the
//! nearest triangle and take the sign from angle-weighted pseudo-normals, which is right for every
//! closed, consistently turned mesh (Bærentzen and Aanæs 2005).

use super::{Pose, Shape, TriMesh, shape};
use crate::grid::{CellField, Grid, Lattice, NodeField};
use glam::DVec3;
use parry3d_f64::query::PointQuery;
use parry3d_f64::shape::{TriMesh as ParryMesh, TriMeshFlags};
use rayon::prelude::*;

/// A shape made ready for distance queries.
pub struct SignedDistance {
    kind: Asked,
}

enum Asked {
    Primitive(Shape),
    Mesh(Box<ParryMesh>),
}

/// Distances of a shape sampled once, for bodies that are asked at other points in every step.
pub struct SampledDistance {
    grid: Grid,
    values: CellField,
}

impl SampledDistance {
    /// Sample `shape` at points `dx` (m) apart as far as `band` (m) around it; farther away, `at` answers at least `band`.
    pub fn new(shape: &Shape, dx: f64, band: f64) -> Self {
        let bounds = shape.bounds();
        // One sample lies in the middle of the shape, so that the samples of its mirror image are the mirror images of its own.
        let reach = (0.5 * bounds.size() + band + dx) / dx;
        let steps = reach.to_array().map(|cells| cells.ceil() as usize);
        let origin = 0.5 * (bounds.min + bounds.max) - (DVec3::from(steps.map(|n| n as f64)) + 0.5) * dx;
        let grid = Grid::new(steps.map(|n| 2 * n + 1), dx, origin);
        let values = SignedDistance::new(shape).at_cells(&Pose::IDENTITY, &grid, band);
        Self { grid, values }
    }

    /// Distance from a point in the shape's own frame, m, interpolated; negative inside.
    pub fn at(&self, local: DVec3) -> f64 {
        Lattice::cells(&self.values).linear((local - self.grid.origin) / self.grid.dx)
    }
}

impl SignedDistance {
    /// Prepare a shape; a mesh must be closed (see [`TriMesh::check`]).
    pub fn new(shape: &Shape) -> Self {
        let kind = match shape {
            Shape::Mesh(mesh) => Asked::Mesh(Box::new(tree(mesh))),
            primitive => Asked::Primitive(primitive.clone()),
        };
        Self { kind }
    }

    /// Distance from a point in the shape's own frame, m; negative inside.
    pub fn at(&self, local: DVec3) -> f64 {
        match &self.kind {
            Asked::Primitive(primitive) => match *primitive {
                Shape::Box { size } => shape::box_distance(local, 0.5 * size),
                Shape::Sphere { radius } => local.length() - radius,
                Shape::Cylinder { radius, height } => shape::cylinder_distance(local, radius, height),
                Shape::Capsule { radius, height } => shape::capsule_distance(local, radius, height),
                Shape::Torus { major, minor } => shape::torus_distance(local, major, minor),
                Shape::Mesh(_) => unreachable!("meshes are kept as trees"),
            },
            Asked::Mesh(tree) => {
                let nearest = tree.project_local_point(local, false);
                let distance = nearest.point.distance(local);
                if nearest.is_inside { -distance } else { distance }
            }
        }
    }

    /// Distance at every node of the grid, m, with the shape at `pose`. Values below `band` (m) are exact; farther
    /// away a mesh may answer with a smaller distance of the right sign that is still at least `band`.
    pub fn at_nodes(&self, pose: &Pose, grid: &Grid, band: f64) -> NodeField {
        let mut field = NodeField::new(grid, 0.0);
        let [nx, ny, _] = field.dims;
        self.fill(&mut field.data, [nx, ny], pose, grid.origin, grid.dx, band);
        field
    }

    /// As [`Self::at_nodes`], at every cell centre.
    pub fn at_cells(&self, pose: &Pose, grid: &Grid, band: f64) -> CellField {
        let mut field = CellField::new(grid, 0.0);
        let [nx, ny, _] = field.dims;
        self.fill(&mut field.data, [nx, ny], pose, grid.cell_centre([0; 3]), grid.dx, band);
        field
    }

    /// Rows of `nx` points a distance `dx` apart, `ny` rows to a plane.
    fn fill(&self, data: &mut [f64], [nx, ny]: [usize; 2], pose: &Pose, corner: DVec3, dx: f64, band: f64) {
        let march = matches!(self.kind, Asked::Mesh(_));
        data.par_chunks_mut(nx).enumerate().for_each(|(row, values)| {
            let start = corner + dx * DVec3::new(0.0, (row % ny) as f64, (row / ny) as f64);
            let mut i = 0;
            while i < nx {
                let distance = self.at(pose.invert(start + dx * DVec3::X * i as f64));
                values[i] = distance;
                i += 1;
                // Distance changes by at most dx from point to point: those still outside the band need no query.
                let mut bound = distance.abs() - dx;
                while march && i < nx && bound > band {
                    values[i] = bound.copysign(distance);
                    bound -= dx;
                    i += 1;
                }
            }
        });
    }
}

fn tree(mesh: &TriMesh) -> ParryMesh {
    ParryMesh::with_flags(mesh.vertices.clone(), mesh.triangles.clone(), TriMeshFlags::ORIENTED)
        .expect("a checked mesh has triangles with valid indices")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::shape::tests::primitives;
    use glam::DQuat;
    use std::sync::Arc;

    fn points() -> impl Iterator<Item = DVec3> {
        // A low-discrepancy set in [−1, 1]³.
        let wrap = |i: usize, a: f64| (i as f64 * a).fract() * 2.0 - 1.0;
        (1..2000).map(move |i| DVec3::new(wrap(i, 0.8191725134), wrap(i, 0.6710436067), wrap(i, 0.5497004779)))
    }

    #[test]
    fn primitives_and_their_meshes_agree() {
        for shape in primitives() {
            let exact = SignedDistance::new(&shape);
            let mesh = SignedDistance::new(&Shape::Mesh(Arc::new(shape.surface(0.02))));
            for p in points() {
                // A chord of length 0.02 is at most 0.02²/(8·0.2) = 2.5e-4 from an arc of radius 0.2.
                assert!((exact.at(p) - mesh.at(p)).abs() < 5e-4, "{shape:?} at {p}: {} {}", exact.at(p), mesh.at(p));
            }
        }
    }

    #[test]
    fn a_step_along_the_gradient_changes_the_distance_by_its_length() {
        for shape in primitives() {
            let distance = SignedDistance::new(&shape);
            let misses = points()
                .filter(|&p| {
                    let e = 1e-6;
                    let slope = DVec3::from(
                        [DVec3::X, DVec3::Y, DVec3::Z]
                            .map(|axis| (distance.at(p + e * axis) - distance.at(p - e * axis)) / (2.0 * e)),
                    );
                    (slope.length() - 1.0).abs() > 1e-6
                })
                .count();
            // Only at the medial axis.
            assert!(misses < 5, "{shape:?}: {misses}");
        }
    }

    #[test]
    fn a_field_is_exact_in_its_band_and_has_the_right_sign_beyond() {
        let shape = Shape::Torus { major: 0.5, minor: 0.2 };
        let mesh = SignedDistance::new(&Shape::Mesh(Arc::new(shape.surface(0.1))));
        let grid = Grid::new([24, 20, 16], 0.1, DVec3::new(-1.2, -1.0, -0.8));
        let pose =
            Pose { position: DVec3::new(0.1, 0.0, 0.3), rotation: DQuat::from_scaled_axis(DVec3::new(0.4, 0.2, 0.9)) };
        let band = 0.15;
        let field = mesh.at_nodes(&pose, &grid, band);
        for k in 0..=16 {
            for j in 0..=20 {
                for i in 0..=24 {
                    let exact = mesh.at(pose.invert(grid.node([i, j, k])));
                    let value = field[[i, j, k]];
                    assert_eq!(value < 0.0, exact < 0.0);
                    assert!(value.abs() <= exact.abs() + 1e-12);
                    assert!((value - exact).abs() < 1e-12 || value.abs() >= band);
                }
            }
        }
        let cells = SignedDistance::new(&shape).at_cells(&pose, &grid, band);
        assert_eq!(cells[[3, 4, 5]], SignedDistance::new(&shape).at(pose.invert(grid.cell_centre([3, 4, 5]))));
    }

    #[test]
    fn sampled_distances_agree_near_the_surface_and_stay_outside_the_band_beyond() {
        let shape = Shape::Torus { major: 0.5, minor: 0.2 };
        let (exact, sampled) = (SignedDistance::new(&shape), SampledDistance::new(&shape, 0.05, 0.3));
        for n in 0..2000 {
            let p = DVec3::new((n % 20) as f64 - 9.5, (n / 20 % 10) as f64 - 4.5, (n / 200) as f64 - 4.5) * 0.17;
            let (d, s) = (exact.at(p), sampled.at(p));
            // Linear interpolation of a field of curvature 1/0.2 at most: dx²/8 · 2/0.2, twice that at the medial axis.
            if d.abs() < 0.15 {
                assert!((d - s).abs() < 0.007, "{p}: {d} {s}");
            } else {
                assert!(s.signum() == d.signum() && s.abs() > 0.1, "{p}: {d} {s}");
            }
        }
    }
}

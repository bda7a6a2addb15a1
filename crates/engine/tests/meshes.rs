//! The meshes that come with the scenes are sound.

use bathtub_engine::cut::{CutCells, cut};
use bathtub_engine::geometry::{MeshFormat, Pose, Shape, SignedDistance};
use bathtub_engine::grid::Grid;
use glam::DVec3;
use std::sync::Arc;

const TREFOIL: &[u8] = include_bytes!("../../../scenes/start/meshes/trefoil.obj");

#[test]
fn the_trefoil_is_one_closed_tube_within_the_unit_ball() {
    let (mesh, warnings) = MeshFormat::Obj.read(TREFOIL).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    // V − E + F = 0: one handle, as a ring has, knotted or not.
    assert_eq!(mesh.vertices.len() + mesh.triangles.len(), 3 * mesh.triangles.len() / 2);
    assert!(mesh.vertices.iter().all(|v| v.length() < 1.0 + 1e-5));
    // Edges differ by less than a factor of six.
    let edges = (0..mesh.triangles.len()).flat_map(|t| {
        let [a, b, c] = mesh.corners(t);
        [a.distance(b), b.distance(c), c.distance(a)]
    });
    let (shortest, longest) = edges.fold((f64::MAX, 0.0f64), |(s, l), e| (s.min(e), l.max(e)));
    assert!(longest < 6.0 * shortest, "{shortest} {longest}");
}

#[test]
fn the_trefoil_does_not_touch_itself() {
    let (mesh, _) = MeshFormat::Obj.read(TREFOIL).unwrap();
    let volume = mesh.volume();
    let grid = Grid::new([48, 24, 48], 0.05, DVec3::new(-1.2, -0.6, -1.2));
    let mut cells = CutCells::new(&grid);
    cells.add(&cut(&grid, &mesh), |_| DVec3::ZERO);
    // Where the surface overlapped itself, the solid would count once in the cells and twice in the mesh.
    let solid: f64 = cells.volume.data.iter().map(|open| 1.0 - open).sum::<f64>() * grid.dx.powi(3);
    assert!((solid / volume - 1.0).abs() < 1e-12, "{solid} {volume}");
    let distance = SignedDistance::new(&Shape::Mesh(Arc::new(mesh))).at_cells(&Pose::IDENTITY, &grid, grid.dx);
    let inside = distance.data.iter().filter(|&&d| d < 0.0).count() as f64 * grid.dx.powi(3);
    assert!((inside / volume - 1.0).abs() < 0.02, "{inside} {volume}");
}

#[test]
fn the_container_is_a_block_with_a_round_hole() {
    let (mesh, warnings) =
        MeshFormat::Obj.read(include_bytes!("../../../scenes/verification/meshes/container.obj")).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    // V − E + F = 4: two closed surfaces without handles.
    assert_eq!(mesh.vertices.len() + mesh.triangles.len(), 3 * mesh.triangles.len() / 2 + 4);
    // All of the block but the ball, which its triangles cut a little short.
    let hole = 1.5f64.powi(3) - mesh.volume();
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 0.42f64.powi(3);
    assert!((0.98..1.0).contains(&(hole / ball)), "{}", hole / ball);
}

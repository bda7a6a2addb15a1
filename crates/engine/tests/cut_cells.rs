//! Every cut cell closes, for any closed mesh, cutting faces any way it likes.
//!
//! Σ over a cell's faces of ±(open area) equals the vector area of its polygons: then a constant
//! pressure exerts no force, a flow that moves with the body feels none of it, and Archimedes is an identity.

use bathtub_engine::cut::{BodyCut, CutCells, cut, open_from_distance};
use bathtub_engine::geometry::{Pose, RigidVelocity, Shape, SignedDistance, TriMesh};
use bathtub_engine::grid::{Axis, CellField, Grid};
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use std::sync::Arc;

/// Rounding of sums along a row; a face has area 1.
const ROUND_OFF: f64 = 1e-12;

fn at_rest(grid: &Grid, body: &BodyCut) -> CutCells {
    let mut cells = CutCells::new(grid);
    cells.add(body, |_| DVec3::ZERO);
    cells
}

/// Vector area of the polygons in each cell, in cells².
fn areas(grid: &Grid, bodies: &[&BodyCut]) -> CellField<DVec3> {
    let mut areas = CellField::new(grid, DVec3::ZERO);
    for polygon in bodies.iter().flat_map(|body| &body.polygons) {
        areas.data[polygon.cell] += polygon.area / (grid.dx * grid.dx);
    }
    areas
}

fn largest_gap(grid: &Grid, cells: &CutCells, bodies: &[&BodyCut]) -> f64 {
    let areas = areas(grid, bodies);
    let mut largest: f64 = 0.0;
    for c in 0..grid.cells() {
        let at = grid.cell_at(c);
        for axis in Axis::ALL {
            let mut above = at;
            above[axis.index()] += 1;
            let gap = cells.open[(axis, above)] - cells.open[(axis, at)] - areas.data[c][axis.index()];
            largest = largest.max(gap.abs());
        }
    }
    largest
}

/// Everything that must hold for any closed mesh that does not overlap itself.
fn check(grid: &Grid, mesh: &TriMesh) -> Result<(), TestCaseError> {
    let body = cut(grid, mesh);
    let cells = at_rest(grid, &body);
    prop_assert!(cells.open.axes.iter().flatten().chain(&cells.volume.data).all(|f| (0.0..=1.0).contains(f)));
    let gap = largest_gap(grid, &cells, &[&body]);
    prop_assert!(gap <= ROUND_OFF, "a cut cell does not close: {gap:e}");
    prop_assert!(body.polygons.is_sorted_by_key(|p| (p.cell, p.triangle)));

    let bounds = mesh.bounds();
    let hair = DVec3::splat(1e-9 * grid.dx);
    if bounds.min.cmpgt(grid.origin + hair).all() && bounds.max.cmplt(grid.upper() - hair).all() {
        let cell = grid.dx.powi(3);
        let volume: f64 = cells.volume.data.iter().map(|open| (1.0 - open) * cell).sum();
        prop_assert!(
            (volume - mesh.volume()).abs() <= ROUND_OFF * (mesh.volume() + cell),
            "{volume} {}",
            mesh.volume()
        );
        let total: DVec3 = body.polygons.iter().map(|p| p.area).sum();
        prop_assert!(total.length() <= ROUND_OFF * mesh.area());
    }
    Ok(())
}

/// A lumpy ball: radius of a sphere changed smoothly from direction to direction.
fn blob(radius: f64, edge: f64) -> TriMesh {
    Shape::Sphere { radius }.surface(edge).mapped(|v| {
        let d = 3.0 * v / radius;
        v * (1.0 + 0.2 * d.x.sin() * (d.y + 0.5).sin() + 0.15 * (d.z * 1.7).cos() * d.y.sin())
    })
}

/// Bodies about as large as a third of the unit box, in many shapes.
fn body(kind: usize, edge: f64, thickness: f64) -> TriMesh {
    match kind {
        0 => Shape::Sphere { radius: 0.21 }.surface(edge),
        1 => Shape::Box { size: DVec3::new(0.4, 0.3, 0.25) }.surface(edge),
        2 => Shape::Cylinder { radius: 0.2, height: 0.3 }.surface(edge),
        3 => Shape::Capsule { radius: 0.1, height: 0.3 }.surface(edge),
        4 => Shape::Torus { major: 0.2, minor: 0.08 }.surface(edge),
        5 => blob(0.2, edge),
        _ => Shape::Box { size: DVec3::new(0.5, thickness, 0.4) }.surface(edge),
    }
}

fn unit_box(n: usize) -> Grid {
    Grid::new([n, n + 1, n + 2], 1.0 / n as f64, DVec3::new(-0.5, -0.25, 0.125))
}

fn rotation() -> impl Strategy<Value = DQuat> {
    let turns = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| DQuat::from_scaled_axis(axis * std::f64::consts::FRAC_PI_2));
    prop_oneof![
        Just(DQuat::IDENTITY),
        (0usize..3).prop_map(move |i| turns[i]),
        prop::array::uniform3(-3.0..3.0f64).prop_map(|v| DQuat::from_scaled_axis(DVec3::from(v))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cut_cells_close_wherever_the_body_is(
        kind in 0usize..7,
        n in 5usize..24,
        edge in 0.02..0.3f64,
        thickness in 0.1..1.5f64,
        rotation in rotation(),
        at in prop::array::uniform3(-0.2..1.2f64),
    ) {
        let grid = unit_box(n);
        let mesh = body(kind, edge, thickness / n as f64);
        check(&grid, &mesh.posed(&Pose { position: grid.origin + DVec3::from(at), rotation }))?;
    }

    /// A thousand cells from the origin, coordinates have three digits less.
    #[test]
    fn cut_cells_close_at_the_far_end_of_a_wide_grid(
        kind in 0usize..7,
        edge in 0.02..0.3f64,
        thickness in 0.1..1.5f64,
        rotation in rotation(),
        at in prop::array::uniform3(0.0..1.0f64),
    ) {
        let grid = Grid::new([1000, 12, 12], 1.0 / 12.0, DVec3::new(-0.3, 0.1, 0.7));
        let mesh = body(kind, edge, thickness / 12.0);
        let position = grid.upper() - DVec3::from(at);
        check(&grid, &mesh.posed(&Pose { position, rotation }))?;
    }

    /// Corners on nodes, edges along grid lines, faces in grid planes: boxes of whole and half cells.
    #[test]
    fn cut_cells_close_in_degenerate_positions(
        size in prop::array::uniform3(1i32..12),
        at in prop::array::uniform3(-2i32..24),
        turn in rotation(),
        n in 6usize..12,
        kind in 0usize..3,
    ) {
        let grid = unit_box(n);
        let half = 0.5 * grid.dx;
        let size = half * DVec3::from(size.map(f64::from));
        let position = grid.origin + half * DVec3::from(at.map(f64::from));
        let mesh = match kind {
            0 => Shape::Box { size }.surface(1.0),
            // An octahedron with corners on nodes and edges along diagonals of cells.
            1 => octahedron(4.0 * half),
            _ => Shape::Torus { major: 6.0 * half, minor: 2.0 * half }.surface(3.0 * half),
        };
        let rotation = if kind == 0 { DQuat::IDENTITY } else { turn };
        check(&grid, &mesh.posed(&Pose { position, rotation }))?;
    }

    /// Vertices a hair off the planes, around the distance at which they are put on them.
    #[test]
    fn cut_cells_close_a_hair_off_the_grid_planes(
        size in prop::array::uniform3(1i32..6),
        at in prop::array::uniform3(0i32..6),
        hair in prop::array::uniform3(-16.0..-6.0f64),
        tilt in prop::array::uniform3(-16.0..-6.0f64),
    ) {
        let grid = unit_box(8);
        let position = grid.origin + grid.dx * (DVec3::from(at.map(f64::from)) + DVec3::from(hair.map(|e| 10f64.powf(e))));
        let rotation = DQuat::from_scaled_axis(DVec3::from(tilt.map(|e| 10f64.powf(e))));
        let mesh = Shape::Box { size: 2.0 * grid.dx * DVec3::from(size.map(f64::from)) }.surface(1.0);
        check(&grid, &mesh.posed(&Pose { position, rotation }))?;
    }
}

fn octahedron(radius: f64) -> TriMesh {
    let mesh = Shape::Sphere { radius: 1.0 }.surface(10.0);
    mesh.mapped(|v| radius * (v / v.length()).round())
}

#[test]
fn a_box_of_whole_cells_closes_whole_cells() {
    let grid = Grid::new([6, 6, 6], 0.1, DVec3::ZERO);
    let pose = Pose { position: DVec3::splat(0.3), rotation: DQuat::IDENTITY };
    let cells = at_rest(&grid, &cut(&grid, &Shape::Box { size: DVec3::splat(0.2) }.surface(1.0).posed(&pose)));
    for c in 0..grid.cells() {
        let at = grid.cell_at(c);
        let solid = at.iter().all(|i| (2..4).contains(i));
        assert_eq!(cells.volume[at], if solid { 0.0 } else { 1.0 });
        for axis in Axis::ALL {
            let mut below = at;
            below[axis.index()] = at[axis.index()].saturating_sub(1);
            let closed = solid || below.iter().all(|i| (2..4).contains(i));
            assert_eq!(cells.open[(axis, at)], if closed { 0.0 } else { 1.0 }, "{axis:?} {at:?}");
        }
    }
}

#[test]
fn a_sheet_without_thickness_in_a_grid_plane_closes_its_faces() {
    let grid = Grid::new([4, 4, 4], 1.0, DVec3::ZERO);
    let flat = Shape::Box { size: DVec3::new(2.0, 1.0, 2.0) }.surface(1.0).mapped(|v| v * DVec3::new(1.0, 0.0, 1.0));
    let body = cut(&grid, &flat.posed(&Pose { position: DVec3::splat(2.0), rotation: DQuat::IDENTITY }));
    let cells = at_rest(&grid, &body);
    assert_eq!(cells.open[(Axis::Y, [1, 2, 1])], 0.0);
    assert_eq!(cells.open[(Axis::Y, [0, 2, 1])], 1.0);
    assert_eq!(cells.open[(Axis::Y, [1, 1, 1])], 1.0);
    assert!(largest_gap(&grid, &cells, &[&body]) == 0.0);
}

#[test]
fn open_areas_are_where_the_distance_says() {
    let grid = unit_box(12);
    let mesh = blob(0.3, 0.05).posed(&Pose { position: DVec3::new(0.1, 0.3, 0.6), rotation: DQuat::IDENTITY });
    let cells = at_rest(&grid, &cut(&grid, &mesh));
    let distance = SignedDistance::new(&Shape::Mesh(Arc::new(mesh)));
    let mut cut_faces = 0;
    for axis in Axis::ALL {
        let [nx, ny, nz] = grid.face_dims(axis);
        for f in 0..nx * ny * nz {
            let at = [f % nx, f / nx % ny, f / nx / ny];
            let centre = grid.face_centre(axis, at);
            let open = cells.open[(axis, at)];
            if distance.at(centre).abs() > grid.dx {
                assert_eq!(open, if distance.at(centre) > 0.0 { 1.0 } else { 0.0 });
                continue;
            }
            let [a, b] = axis.others().map(|other| other.unit() * grid.dx / 16.0);
            let samples = (0..256).map(|s| centre + (s % 16) as f64 * a + (s / 16) as f64 * b - 7.5 * (a + b));
            let outside = samples.filter(|&p| distance.at(p) > 0.0).count();
            // A straight cut of a 16 × 16 raster misses its area by a few of the 16 pixels it passes.
            assert!((open - outside as f64 / 256.0).abs() < 0.03, "{axis:?} {at:?}: {open} {outside}");
            cut_faces += 1;
        }
    }
    assert!(cut_faces > 500);
}

/// The part of a body outside the grid does not matter to what is cut inside.
#[test]
fn a_body_that_sticks_out_is_cut_as_in_a_larger_grid() {
    let large = Grid::new([30, 30, 30], 0.1, DVec3::ZERO);
    for shape in [Shape::Torus { major: 0.9, minor: 0.4 }, Shape::Box { size: DVec3::new(5.0, 0.7, 1.3) }] {
        let rotation = DQuat::from_scaled_axis(DVec3::new(0.5, 0.3, -0.8));
        let mesh = shape.surface(0.1).posed(&Pose { position: DVec3::splat(1.5), rotation });
        let whole = at_rest(&large, &cut(&large, &mesh));
        for (start, dims) in [([10, 10, 10], [10, 10, 10]), ([0, 12, 16], [16, 4, 1]), ([14, 3, 9], [1, 20, 6])] {
            let small = Grid::new(dims, 0.1, large.node(start));
            let part = at_rest(&small, &cut(&small, &mesh));
            for c in 0..small.cells() {
                let at = small.cell_at(c);
                let there = [0, 1, 2].map(|a| at[a] + start[a]);
                assert!((part.volume[at] - whole.volume[there]).abs() < ROUND_OFF);
                for axis in Axis::ALL {
                    assert!((part.open[(axis, at)] - whole.open[(axis, there)]).abs() < ROUND_OFF);
                }
            }
        }
    }
}

#[test]
fn what_a_rigid_body_pushes_in_front_it_takes_up_behind() {
    let grid = unit_box(20);
    let pose =
        Pose { position: DVec3::new(0.0, 0.25, 0.6), rotation: DQuat::from_scaled_axis(DVec3::new(1.0, 0.4, 0.2)) };
    let mesh = blob(0.25, 0.04).posed(&pose);
    let body = cut(&grid, &mesh);
    let motion = RigidVelocity {
        centre: pose.position,
        linear: DVec3::new(1.0, -2.0, 0.5),
        angular: DVec3::new(3.0, 1.0, -2.0),
    };
    let mut cells = CutCells::new(&grid);
    cells.add(&body, |polygon| motion.at(polygon.centroid));
    let total: f64 = cells.solid_flux.data.iter().sum();
    let turnover: f64 = cells.solid_flux.data.iter().map(|f| f.abs()).sum();
    assert!(total.abs() < 1e-13 * turnover, "{total:e} of {turnover}");

    // The same from velocities at the vertices: linear over each triangle, so the polygon's centre has the mean.
    let velocities: Vec<DVec3> = mesh.vertices.iter().map(|&v| motion.at(v)).collect();
    let mut from_vertices = CutCells::new(&grid);
    from_vertices.add(&body, |polygon| {
        let weights = mesh.barycentric(polygon.triangle as usize, polygon.centroid);
        let corners = mesh.triangles[polygon.triangle as usize];
        (0..3).map(|i| weights[i] * velocities[corners[i] as usize]).sum()
    });
    for (a, b) in cells.solid_flux.data.iter().zip(&from_vertices.solid_flux.data) {
        assert!((a - b).abs() < 1e-12 * grid.dx * grid.dx);
    }
}

/// A uniform flow passes through a body that moves with it: no cell gains or loses.
#[test]
fn fluid_that_moves_with_the_body_is_not_compressed() {
    let grid = unit_box(16);
    let mesh = Shape::Torus { major: 0.3, minor: 0.1 }.surface(0.05);
    let body = cut(&grid, &mesh.posed(&Pose { position: DVec3::new(0.1, 0.2, 0.5), rotation: DQuat::IDENTITY }));
    let velocity = DVec3::new(0.3, 2.0, -1.0);
    let mut cells = CutCells::new(&grid);
    cells.add(&body, |_| velocity);
    for c in 0..grid.cells() {
        let at = grid.cell_at(c);
        let mut outflow = 0.0;
        for axis in Axis::ALL {
            let mut above = at;
            above[axis.index()] += 1;
            outflow += velocity[axis.index()] * (cells.open[(axis, above)] - cells.open[(axis, at)]);
        }
        assert!((outflow - cells.solid_flux.data[c] / (grid.dx * grid.dx)).abs() < 4.0 * ROUND_OFF);
    }
}

/// Discrete Archimedes (B5): hydrostatic pressure at cell centres pushes up by ρ g times the discrete volume
/// Δy Σ (1 − open) dx² over horizontal faces, which for a sphere amid the grid is V (1 − ¼ (Δ/R)²).
#[test]
fn still_water_lifts_a_body_by_what_it_displaces() {
    for r in [4usize, 8, 16] {
        let n = 2 * r + 4;
        let grid = Grid::new([n; 3], 1.0, DVec3::splat(-0.5 * n as f64));
        let body = cut(&grid, &Shape::Sphere { radius: r as f64 }.surface(0.2));
        let cells = at_rest(&grid, &body);
        let force: DVec3 = body.polygons.iter().map(|p| grid.cell_centre(grid.cell_at(p.cell)).y * p.area).sum();
        let displaced: f64 = cells.open.axes[Axis::Y.index()].iter().map(|open| 1.0 - open).sum();
        assert!((force - displaced * DVec3::Y).length() < 1e-9 * displaced);
        let volume = 4.0 / 3.0 * std::f64::consts::PI * (r as f64).powi(3);
        let expected = -0.25 / (r * r) as f64;
        assert!((displaced / volume - 1.0 - expected).abs() < 0.05 * expected.abs(), "{}", displaced / volume - 1.0);

        // B6: areas from the distance at the nodes do not fit the polygons, but nearly.
        let distance = SignedDistance::new(&Shape::Sphere { radius: r as f64 }).at_nodes(&Pose::IDENTITY, &grid, 2.0);
        let open = open_from_distance(&grid, &distance);
        let from_distance: f64 = open.axes[Axis::Y.index()].iter().map(|open| 1.0 - open).sum();
        assert!((from_distance / displaced - 1.0).abs() < 0.02 * (8.0 / r as f64).powi(2));
    }
}

#[test]
fn bodies_add_up_and_overlaps_count_once() {
    let grid = unit_box(16);
    let at = |x: f64| Pose { position: DVec3::new(x, 0.2, 0.6), rotation: DQuat::IDENTITY };
    let ball = Shape::Sphere { radius: 0.15 }.surface(0.05);
    let [a, b, c] = [-0.2, 0.11, 0.11].map(|x| cut(&grid, &ball.posed(&at(x))));
    let mut cells = CutCells::new(&grid);
    cells.add(&a, |_| DVec3::ZERO);
    cells.add(&b, |_| DVec3::X);
    assert!(largest_gap(&grid, &cells, &[&a, &b]) <= 2.0 * ROUND_OFF);
    let apart = cells.clone();

    // The same body again: fractions stay in range, what was solid stays solid.
    cells.add(&c, |_| DVec3::ZERO);
    assert!(cells.open.axes.iter().flatten().chain(&cells.volume.data).all(|f| (0.0..=1.0).contains(f)));
    assert!(cells.volume.data.iter().zip(&apart.volume.data).all(|(both, one)| both <= one));

    // Cleared and cut again it is as new.
    cells.clear();
    assert_eq!(cells, CutCells::new(&grid));
    cells.add(&a, |_| DVec3::ZERO);
    cells.add(&b, |_| DVec3::X);
    assert_eq!(cells, apart);
}

#[test]
fn a_flat_grid_cuts_a_body_that_reaches_through_it() {
    let grid = Grid::new([32, 32, 1], 1.0 / 32.0, DVec3::ZERO);
    let turn = DQuat::from_scaled_axis(DVec3::X * std::f64::consts::FRAC_PI_2);
    let disc = Shape::Cylinder { radius: 0.23, height: 1.0 }.surface(0.01);
    let body = cut(&grid, &disc.posed(&Pose { position: DVec3::new(0.513, 0.487, 0.0), rotation: turn }));
    let cells = at_rest(&grid, &body);
    assert!(largest_gap(&grid, &cells, &[&body]) <= ROUND_OFF);
    let solid: f64 = cells.volume.data.iter().map(|open| (1.0 - open) * grid.dx * grid.dx).sum();
    assert!((solid - std::f64::consts::PI * 0.23 * 0.23).abs() < 1e-12);
    // Nothing is lost along the flat axis: what is solid below is solid above, and it is the share of the cell.
    for c in 0..grid.cells() {
        let [i, j, _] = grid.cell_at(c);
        assert!((cells.open[(Axis::Z, [i, j, 0])] - cells.volume[[i, j, 0]]).abs() < ROUND_OFF);
        assert!((cells.open[(Axis::Z, [i, j, 1])] - cells.volume[[i, j, 0]]).abs() < ROUND_OFF);
    }
}

#[test]
fn a_body_elsewhere_cuts_nothing() {
    let grid = unit_box(8);
    for offset in [DVec3::X * 50.0, DVec3::Y * -50.0, DVec3::splat(1e12)] {
        let pose = Pose { position: offset, rotation: DQuat::IDENTITY };
        let body = cut(&grid, &Shape::Sphere { radius: 0.3 }.surface(0.1).posed(&pose));
        assert!(body.polygons.is_empty());
        assert_eq!(at_rest(&grid, &body).open, CutCells::new(&grid).open);
    }
    // One that surrounds the grid leaves nothing open.
    let body = cut(&grid, &Shape::Box { size: DVec3::splat(1e9) }.surface(1.0));
    let cells = at_rest(&grid, &body);
    assert!(cells.open.axes.iter().flatten().chain(&cells.volume.data).all(|&f| f == 0.0));
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let grid = unit_box(24);
    let mesh = blob(0.3, 0.02).posed(&Pose { position: DVec3::new(0.1, 0.3, 0.6), rotation: DQuat::IDENTITY });
    let with =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| cut(&grid, &mesh));
    assert_eq!(with(1), with(3));
}

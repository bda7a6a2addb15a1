//! Rows B5 and B6 for elastic bodies: what still water does to a body that is squashed, through its own B, and how far areas from a
//! distance field are off that.
//!
//! With p = −ρ g y at cell centres, Σ over the vertices of the impulses is ρ g times the discrete volume dx Σ (1 − open) dx² over
//! horizontal faces, if both come from the same polygons. \[ZB17\] take the open parts from the distance at nodes instead.

use crate::support::elastic::{ball, elastic as soft, material};
use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::monolithic::System;
use bathtub_engine::coupling::{Medium, elastic};
use bathtub_engine::cut::open_from_distance;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, Shape, SignedDistance, SurfaceId, TriMesh};
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid};
use bathtub_engine::solid::ElasticBody;
use bathtub_engine::solid::Interface;
use glam::DVec3;
use std::sync::Arc;

/// A ball of radius `r` cells of size 1, squashed along y.
fn squashed(r: f64, n: usize) -> ElasticBody {
    let centre = DVec3::splat(0.5 * n as f64);
    let soft = soft("soft", ball(r, centre, 0.4 * r), material(1e5, 0.3, 1000.0));
    let mut body = soft.body([false; 3]).unwrap();
    let mut state = body.state();
    state.positions.iter_mut().for_each(|x| *x = centre + (*x - centre) * DVec3::new(1.05, 0.9, 1.02));
    body.restore(&state).unwrap();
    body.prepare(1.0).unwrap();
    body
}

/// The surface alone, without the vertices inside.
fn skin(body: &ElasticBody) -> TriMesh {
    let names = body.surface_vertices();
    let name = |v: u32| names.binary_search(&v).expect("a vertex of the surface") as u32;
    TriMesh {
        vertices: names.iter().map(|&v| body.positions()[v as usize]).collect(),
        triangles: body.surface().triangles.iter().map(|triangle| triangle.map(name)).collect(),
    }
}

#[test]
fn still_water_lifts_a_squashed_ball_by_what_it_displaces() {
    for r in [4usize, 8] {
        let n = 2 * r + 6;
        let grid = Grid::new([n; 3], 1.0, DVec3::ZERO);
        let body = squashed(r as f64, n);
        let immersed = Immersed::new(&[body.outline("soft", Interface::CutCells)], |_| body.skin(), &grid, 1.0, false);
        let boundary = immersed.boundary(&grid, [[Wall::Closed; 2]; 3]);
        let taken = |open: &FaceField| open.axes[Axis::Y.index()].iter().map(|open| 1.0 - open).sum::<f64>();
        // Faces that the ball all but closes move with it.
        let mut open = boundary.open.clone();
        let closed = boundary.given.iter().filter(|face| face.body.is_some());
        closed.for_each(|face| open.axes[face.axis.index()][face.index] = 0.0);
        let displaced = taken(&open);
        let (medium, still) = (Medium::weightless(1.0), FaceField::new(&grid, 0.0));
        let scene = Scene { grid: &grid, medium, boundary: &boundary, immersed: &immersed, arriving: &still };
        let coupled = System::new(&scene, vec![elastic::freedoms(&body, SurfaceId(0), 1.0)]);
        let mut p = CellField::new(&grid, 0.0);
        (0..grid.cells()).for_each(|cell| p.data[cell] = -grid.cell_centre(grid.cell_at(cell)).y);
        let impulses = coupled.pushes(&p).swap_remove(0).impulse;
        let lift: DVec3 = impulses.chunks_exact(3).map(DVec3::from_slice).sum();

        let distance = SignedDistance::new(&Shape::Mesh(Arc::new(skin(&body)))).at_nodes(&Pose::IDENTITY, &grid, 2.0);
        let mismatch = taken(&open_from_distance(&grid, &distance)) / displaced - 1.0;
        let volume = displaced / body.volume() - 1.0;
        println!(
            "R = {r}: lift off by {:.1e}, discrete volume {:+.2} %, areas from distance {:+.2} %",
            (lift - displaced * DVec3::Y).length() / displaced,
            100.0 * volume,
            100.0 * mismatch
        );
        assert!((lift - displaced * DVec3::Y).length() < 1e-9 * displaced, "R = {r}: lift {lift} for {displaced}");
        assert!(volume.abs() < 0.5 / (r * r) as f64, "R = {r}: discrete volume off by {volume}");
        assert!(mismatch.abs() < 0.02 * (8.0 / r as f64).powi(2), "R = {r}: areas from distance off by {mismatch}");
    }
}

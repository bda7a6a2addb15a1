//! Small worlds to measure and to test with.

use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::advect::{Advection, Trace};
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::fluid::smoke::SmokeParams;
use bathtub_engine::fluid::water::{Liquid, Region, WaterParams};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::{Axis, FaceField, Grid};
use bathtub_engine::solid::{Motion, Obstacle};
use bathtub_engine::solve::{PressureSolver, SolveParams};
use bathtub_engine::world::{CouplingParams, PressureParams, TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};

/// A closed box of still air without gravity, solved to 1e-10.
pub fn still_air(dims: [usize; 3], dx: f64) -> WorldParams {
    WorldParams {
        grid: Grid::new(dims, dx, DVec3::ZERO),
        walls: [[Wall::Closed; 2]; 3],
        fluid: FluidParams::Smoke(SmokeParams {
            rho: 1.2,
            gravity: DVec3::ZERO,
            weight: 0.0,
            expansion: 0.0,
            acceleration: DVec3::ZERO,
            confinement: 0.0,
            dissipation: 0.0,
            cooling: 0.0,
            advection: Advection::MacCormack,
            trace: Trace::Rk2,
            sources: Vec::new(),
        }),
        obstacles: Vec::new(),
        bodies: Vec::new(),
        joints: Vec::new(),
        elastic: Vec::new(),
        reduced: Vec::new(),
        pressure: PressureParams {
            solver: PressureSolver::Multigrid,
            params: SolveParams { tolerance: 1e-10, max_iterations: 500, budget_seconds: None },
            strict: true,
            allow_incompatible: false,
        },
        coupling: CouplingParams::default(),
        time: TimeParams { fps: 1.0, cfl: 1.0, max_dt: f64::INFINITY, min_dt: 1e-12 },
    }
}

/// A static solid.
pub fn fixed(name: &str, shape: Shape, position: DVec3, rotation: DQuat) -> Obstacle {
    Obstacle { name: name.into(), shape, motion: Motion::Static(Pose { position, rotation }) }
}

/// A world whose velocity is `u` sampled at the face centres (m, m/s); sides keep their given values.
pub fn with_velocity(params: WorldParams, u: impl Fn(DVec3) -> DVec3) -> World {
    let grid = params.grid;
    let mut world = World::new(params).expect("no bodies that could be wrong");
    let mut state = world.state().clone();
    state.fluid.velocity = face_samples(&grid, u);
    world.restore(state).expect("the state is this world's own");
    world
}

/// `u` at the face centres.
pub fn face_samples(grid: &Grid, u: impl Fn(DVec3) -> DVec3) -> FaceField {
    let mut field = FaceField::new(grid, 0.0);
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let n = grid.face_dims(axis);
        for k in 0..n[2] {
            for j in 0..n[1] {
                for i in 0..n[0] {
                    field[(axis, [i, j, k])] = u(grid.face_centre(axis, [i, j, k]))[axis.index()];
                }
            }
        }
    }
    field
}

/// A closed box, one metre along its longest side, with water at rest up to `level` (m).
pub fn still_water(dims: [usize; 3], dx: f64, level: f64) -> WorldParams {
    let initial = vec![Liquid { region: Region::Below(level), velocity: DVec3::ZERO }];
    WorldParams { fluid: FluidParams::Water(water(initial, dims)), ..still_air(dims, dx) }
}

/// Water with every default.
pub fn water(initial: Vec<Liquid>, dims: [usize; 3]) -> WaterParams {
    WaterParams { initial, ..WaterParams::new(dims) }
}

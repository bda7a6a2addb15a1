//! A dam breaks against a beam that hangs from above \[ZB17, §8, dam break\], and the coupled systems on the way.
//!
//! The paper gives grids and meshes (cubes of six tetrahedra, 1:1:7), but neither sizes nor materials: a tank of 1 m, filled to
//! 30 % as its numbers of nonzeros tell, with a beam of rubber. A system is that of the place where bodies and water are after a step,
//! with the forces of another step of the same length: what transport would change of the right-hand side is left out.

use crate::worlds::{still_air, water};
use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::{Medium, elastic, monolithic};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::boundary::Boundary;
use bathtub_engine::fluid::projection::{Projection, subtract_pressure};
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape, SurfaceId, TetMesh};
use bathtub_engine::grid::operators::divergence;
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::elastic::{Elastic, ElasticBody, Material};
use bathtub_engine::solve::{Bodies, PressureSolve, PressureSolver, SolidTerms, SolveError, SolveInfo, SolveParams};
use bathtub_engine::world::{TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};
use std::time::Instant;

/// Size of the beam, m, and where its middle is in the tank of 1 m.
const BEAM: DVec3 = DVec3::new(0.1, 0.7, 0.1);
const MIDDLE: DVec3 = DVec3::new(0.6, 0.55, 0.5);

/// The dam: its width and height, m; as deep as the tank.
const COLUMN: [f64; 2] = [0.4, 0.75];

/// The dam before it breaks, on `n` cells a side, with `across` × 7 `across` × `across` cubes of six tetrahedra in the beam.
pub fn dam_break(n: usize, across: usize) -> WorldParams {
    let dims = [n; 3];
    let at = |position: DVec3| Pose { position, rotation: DQuat::IDENTITY };
    let [width, height] = COLUMN;
    let column = Shape::Box { size: DVec3::new(width, height, 1.0) };
    let place = at(DVec3::new(0.5 * width, 0.5 * height, 0.5));
    let liquid = Liquid { region: Region::Shape(column, place), velocity: DVec3::ZERO };
    let rest = TetMesh::block(BEAM, [across, 7 * across, across]).mapped(|x| x + MIDDLE);
    let top = rest.bounds().max.y - 1e-9;
    let holds = (0..rest.vertices.len()).filter(|&v| rest.vertices[v].y >= top).collect();
    let mut params = still_air(dims, 1.0 / n as f64);
    params.fluid = FluidParams::Water(water(vec![liquid], dims));
    let material = Material {
        youngs_modulus: 8e4,
        poisson_ratio: 0.3,
        density: 1000.0,
        mass_damping: 0.0,
        stiffness_damping: 0.002,
    };
    params.elastic = vec![Elastic::new("beam", rest, material).hold(holds)];
    // Between the systems that are looked at, the usual tolerance does.
    params.pressure.params = SolveParams::default();
    params.time = TimeParams { fps: 30.0, cfl: 2.0, max_dt: f64::INFINITY, min_dt: 1e-9 };
    params
}

/// The coupled system of one step.
pub struct System {
    grid: Grid,
    boundary: Boundary,
    distance: CellField,
    /// u*, m/s.
    velocity: FaceField,
    body: ElasticBody,
    coupled: monolithic::System,
    faces: FaceField,
    ties: CellField,
    /// What the beam adds.
    pub terms: SolidTerms,
    /// Volume to be carried away from cells, in units of dx², m/s.
    pub rhs: Vec<f64>,
    /// What only the solver of choice needs, s: the factor of the beam, and what the beam is to the preconditioner.
    own: f64,
}

/// The beam's surface: the world has no other.
const SURFACE: SurfaceId = SurfaceId(0);

/// What a solver did.
pub struct Solved {
    /// Iterations and residual, the latter as the solver measures it.
    pub info: SolveInfo,
    /// All of it, s.
    pub seconds: f64,
    /// Pressure, in the unit of the projection.
    pub pressure: Vec<f64>,
}

/// What a pressure makes of the velocities.
pub struct Outcome {
    /// Of the fluid, m/s.
    pub fluid: FaceField,
    /// Of the vertices, m/s, three values each.
    pub solid: Vec<f64>,
    /// Volume that is still to be carried away ÷ that at the start, root mean square: the same measure for every solver.
    pub left: f64,
}

impl System {
    /// The system at the present place of a world of [`dam_break`], over a step of `dt`, s.
    pub fn new(world: &World, dt: f64) -> Self {
        let (params, state) = (world.params(), world.state());
        let (grid, rho) = (params.grid, params.fluid.rho());
        let gravity = params.fluid.body_gain(state.time, dt, 1.0, 0.0) / dt;
        let mut boundary = world.boundary().clone();
        boundary.set_body_velocity(|_, _, _| 0.0);
        let distance = state.fluid.water().expect("a dam of water").distance.clone();
        let beam = &params.elastic[0];
        let mut body = beam.body([false; 3]).expect("a beam that the world has taken");
        body.restore(&state.solids.elastic[0]).expect("the state is that of this beam");
        let pins = beam.pins(body.positions(), state.time, dt);
        let started = Instant::now();
        body.set_pins(&pins).and_then(|()| body.predict(dt, gravity, &[])).expect("the world has moved it");
        let mut own = started.elapsed().as_secs_f64();

        let started = Instant::now();
        let freedoms = elastic::freedoms(&body, SURFACE, dt);
        own += started.elapsed().as_secs_f64();
        let immersed = Immersed::new(&[body.outline("beam", Interface::CutCells)], |_| body.skin(), &grid, dt, false);
        let scene = Scene {
            grid: &grid,
            medium: Medium::weightless(rho),
            boundary: &boundary,
            immersed: &immersed,
            arriving: &state.fluid.velocity,
        };
        let coupled = monolithic::System::new(&scene, vec![freedoms]);
        let started = Instant::now();
        let terms = coupled.terms();
        own += started.elapsed().as_secs_f64();

        let mut velocity = state.fluid.velocity.clone();
        for axis in Axis::ALL {
            velocity.axes[axis.index()].iter_mut().for_each(|u| *u += dt * gravity[axis.index()]);
        }
        boundary.impose(&mut velocity);
        let mut projection = Projection::new(&grid, &boundary, PressureSolver::Multigrid);
        projection.set_liquid(&grid, &boundary, &distance, &[]);
        let (faces, ties) = projection.coefficients();
        let (faces, ties) = (faces.clone(), ties.clone());
        let rhs = Vec::new();
        let mut system = Self { grid, boundary, distance, velocity, body, coupled, faces, ties, terms, rhs, own };
        let solid: Vec<f64> = system.body.velocities().iter().flat_map(|v| v.to_array()).collect();
        system.rhs = system.excess(&system.velocity, &solid);
        system
    }

    /// Where the vertices of the beam are, m.
    pub fn positions(&self) -> &[DVec3] {
        self.body.positions()
    }

    /// Volume pushed into each cell less what flows out of it, in units of dx², m/s.
    fn excess(&self, fluid: &FaceField, solid: &[f64]) -> Vec<f64> {
        let mut outflow = CellField::new(&self.grid, 0.0);
        divergence(fluid, &self.boundary.open, &mut outflow);
        let mut excess: Vec<f64> = self.boundary.flux.data.iter().zip(&outflow.data).map(|(b, out)| b - out).collect();
        self.terms.yielding[0].push.scatter(solid, |cell, volume| excess[cell] += volume);
        excess
    }

    /// Hand the coefficients to `solve`.
    pub fn build(&self, solve: &mut PressureSolve, solver: PressureSolver) -> Result<(), SolveError> {
        solve.build(solver, &self.faces, &self.ties, self.terms.clone())
    }

    /// Solve from zero; `solve` keeps memory between calls. A method that breaks down has not converged.
    pub fn solve(
        &self,
        solve: &mut PressureSolve,
        solver: PressureSolver,
        params: &SolveParams,
    ) -> Result<Solved, SolveError> {
        let mut pressure = vec![0.0; self.rhs.len()];
        let started = Instant::now();
        self.build(solve, solver)?;
        let info = match solve.iterate(solver, Bodies::Answering, &self.rhs, &mut pressure, params) {
            Err(SolveError::NonFinite { .. }) => SolveInfo { residual: f64::NAN, ..SolveInfo::default() },
            result => result?,
        };
        let own = if solver == PressureSolver::Multigrid { self.own } else { 0.0 };
        Ok(Solved { info, seconds: own + started.elapsed().as_secs_f64(), pressure })
    }

    /// What `pressure` does; `solve` was built with this system.
    pub fn outcome(&self, solve: &PressureSolve, pressure: &[f64]) -> Outcome {
        let mut p = CellField::new(&self.grid, 0.0);
        p.data.copy_from_slice(pressure);
        let mut fluid = self.velocity.clone();
        subtract_pressure(&self.boundary, Some(&self.distance), &p, &mut fluid);
        let mut solid = self.coupled.pushes(&p).swap_remove(0).impulse;
        self.body.respond(&mut solid);
        let before = self.body.velocities().iter().flat_map(|v| v.to_array());
        solid.iter_mut().zip(before).for_each(|(v, before)| *v += before);
        let norm = |mut excess: Vec<f64>| {
            solve.mask(&mut excess);
            excess.iter().map(|b| b * b).sum::<f64>().sqrt()
        };
        let left = norm(self.excess(&fluid, &solid)) / norm(self.rhs.clone());
        Outcome { fluid, solid, left }
    }
}

impl Outcome {
    /// Largest difference of a velocity from that of another outcome, ÷ the largest velocity there, fluid and vertices apart.
    pub fn difference(&self, other: &Self) -> f64 {
        let relative = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (off, most) =
                pairs.fold((0.0f64, 0.0f64), |(off, most), (a, b)| (off.max((a - b).abs()), most.max(b.abs())));
            off / most
        };
        let faces = self.fluid.axes.iter().flatten().zip(other.fluid.axes.iter().flatten());
        let vertices = self.solid.iter().zip(&other.solid);
        relative(&mut faces.map(|(a, b)| (*a, *b))).max(relative(&mut vertices.map(|(a, b)| (*a, *b))))
    }
}

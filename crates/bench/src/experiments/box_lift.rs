//! The test problems of \[A18, Figures 5 and 6\]: boxes released in a fluid at rest, one solve of the coupled system.
//!
//! **Box lift**: one light box, slightly turned, in a tank with an open top. **Several boxes**: of various densities, with walls all
//! around; the pressure is then known up to a constant. The paper gives neither sizes nor densities nor all boundaries. Solves
//! start from zero and end when the residual is 10⁻⁶ of the right-hand side.

use bathtub_engine::coupling::Medium;
use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::monolithic::{self, Answers};
use bathtub_engine::coupling::rigid::RigidSide;
use bathtub_engine::fluid::boundary::{Boundary, Wall};
use bathtub_engine::geometry::{Pose, Shape, SurfaceId};
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid, unravel};
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_engine::solid::{Family, Freedoms, Interface};
use bathtub_engine::solve::{
    Bodies, PressureSolve, PressureSolver, SolidTerms, SolveError, SolveInfo, SolveParams, Supports,
};
use bathtub_engine::world::WorldParams;
use glam::{DQuat, DVec3};
use std::time::Instant;

/// Density ratios of several boxes, one after the other.
pub const RATIOS: [f64; 4] = [0.1, 0.5, 2.0, 10.0];

/// How far boxes are turned, rad.
const TURN: f64 = 0.2;

/// A linear system of the coupled problem, with fluid of density 1 at rest in cells of size 1, and bodies that begin to rise.
pub struct System {
    /// Conductances between cells.
    pub faces: FaceField,
    /// Ties to the open.
    pub extra: CellField,
    /// What the bodies add.
    pub terms: SolidTerms,
    /// Volume that the bodies push into each cell, in units of dx², m/s.
    pub rhs: Vec<f64>,
}

/// What a solver did.
#[derive(Clone, Debug)]
pub struct Solved {
    /// Iterations and residual.
    pub info: SolveInfo,
    /// Set-up, s.
    pub setup: f64,
    /// Iteration, s.
    pub solve: f64,
    /// The pressure.
    pub pressure: Vec<f64>,
}

impl Solved {
    /// Set-up and iteration, s.
    pub fn total(&self) -> f64 {
        self.setup + self.solve
    }
}

/// One box of a quarter of the width, of density `ratio`; the top is open.
pub fn box_lift(dims: [usize; 3], ratio: f64, interface: Interface) -> System {
    let side = dims[0] as f64 / 4.0;
    let middle = DVec3::new(0.5 * dims[0] as f64, 0.3 * dims[1] as f64, 0.5 * dims[2] as f64);
    System::new(dims, Wall::Open, vec![cuboid(dims, 0, side, middle, TURN, ratio, interface)])
}

/// `count` boxes (at most 20) of the densities `ratio`; all sides are closed.
pub fn several_boxes(dims: [usize; 3], count: usize, ratio: impl Fn(usize) -> f64, interface: Interface) -> System {
    let is_flat = dims[2] == 1;
    let places = if is_flat { [4, 5, 1] } else { [2, 5, 2] };
    let room: [f64; 3] = std::array::from_fn(|a| dims[a] as f64 / places[a] as f64);
    let boxes = (0..count).map(|n| {
        // Spread over the places: 7 and 20 have no common factor.
        let place = 7 * n % 20;
        let at = [place % places[0], place / places[0] % places[1], place / (places[0] * places[1])];
        let middle = DVec3::from(std::array::from_fn::<f64, 3, _>(|a| room[a] * (at[a] as f64 + 0.5)));
        let side = 0.5 * if is_flat { room[0].min(room[1]) } else { room[0].min(room[1]).min(room[2]) };
        cuboid(dims, n, side, middle, TURN * (1.0 + n as f64), ratio(n), interface)
    });
    System::new(dims, Wall::Closed, boxes.collect())
}

fn cuboid(
    dims: [usize; 3],
    n: usize,
    side: f64,
    middle: DVec3,
    turn: f64,
    ratio: f64,
    interface: Interface,
) -> RigidBody {
    let is_flat = dims[2] == 1;
    let size = DVec3::new(side, side, if is_flat { 1.0 + 1e-6 } else { side });
    let axis = if is_flat { DVec3::Z } else { DVec3::new(0.5, 0.3, 1.0).normalize() };
    RigidBody {
        name: format!("box-{n}"),
        shape: Shape::Box { size },
        mass: Mass::Density(ratio),
        interface,
        pose: Pose { position: middle, rotation: DQuat::from_axis_angle(axis, turn) },
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        friction: 0.5,
        restitution: 0.0,
    }
}

impl System {
    fn new(dims: [usize; 3], top: Wall, bodies: Vec<RigidBody>) -> Self {
        let mut params = crate::worlds::still_air(dims, 1.0);
        let grid = params.grid;
        params.walls[Axis::Y.index()][1] = top;
        params.bodies = bodies;
        let (rigids, mut state) = params.rigids().expect("boxes that fit");
        // As after a push that gives each of them the same velocity: buoyancy does no other, and leaves neutral ones at rest.
        for body in 0..rigids.len() {
            let mass = rigids.properties(body).mass;
            rigids.apply_impulse(&mut state, body, DVec3::Y * mass, DVec3::ZERO);
        }
        let outlines: Vec<_> = params.bodies.iter().map(|body| body.outline()).collect();
        let immersed = Immersed::new(&outlines, |id| rigids.skin(&state, id.0 as usize), &grid, 1.0, false);
        let surfaces: Vec<SurfaceId> = (0..rigids.len() as u32).map(SurfaceId).collect();
        let mut supports = Supports::default();
        let mut boxes = RigidSide::new(&rigids, &mut state, &surfaces, &mut supports);
        Self::of(&params, 1.0, &immersed, boxes.freedoms())
    }

    /// Solids of a family in a fluid at rest of density `rho`, over a step of `dt`, s.
    pub fn of_family(params: &WorldParams, rho: f64, dt: f64, family: &dyn Family) -> Self {
        let outlines = family.outlines();
        let surfaces: Vec<SurfaceId> = (0..outlines.len() as u32).map(SurfaceId).collect();
        let immersed = Immersed::new(&outlines, |id| family.skin(id.0 as usize), &params.grid, dt, false);
        Self::of(params, rho, &immersed, family.freedoms(&surfaces, dt))
    }

    fn of(params: &WorldParams, rho: f64, immersed: &Immersed, freedoms: Vec<Freedoms>) -> Self {
        let grid = &params.grid;
        let boundary = immersed.boundary(grid, params.walls);
        let arriving = FaceField::new(grid, 0.0);
        let medium = Medium::weightless(rho);
        let scene = Scene { grid, medium, boundary: &boundary, immersed, arriving: &arriving };
        let coupled = monolithic::System::new(&scene, freedoms);
        let mut rhs = CellField::new(grid, 0.0);
        coupled.pushed_volume().iter().for_each(|&(cell, volume)| rhs.data[cell] += volume);
        let (faces, extra) = coefficients(grid, &boundary);
        Self { faces, extra, terms: coupled.terms(), rhs: rhs.data }
    }

    /// The same grid, walls and right-hand side without bodies.
    pub fn without_bodies(&self) -> Self {
        let mut plain = Self {
            faces: self.faces.clone(),
            extra: self.extra.clone(),
            terms: SolidTerms::default(),
            rhs: self.rhs.clone(),
        };
        plain.faces.axes.iter_mut().for_each(|faces| faces.fill(1.0));
        plain
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.rhs.len()
    }

    /// Solve from zero; `solve` keeps memory between calls.
    pub fn solve(
        &self,
        solve: &mut PressureSolve,
        solver: PressureSolver,
        params: &SolveParams,
    ) -> Result<Solved, SolveError> {
        // Written to, so that the system has handed out its pages before the clock starts.
        let mut pressure = vec![1.0; self.rhs.len()];
        pressure.fill(0.0);
        let terms = self.terms.clone();
        let started = Instant::now();
        solve.build(solver, &self.faces, &self.extra, terms)?;
        let setup = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let info = solve.iterate(solver, Bodies::Answering, &self.rhs, &mut pressure, params)?;
        Ok(Solved { info, setup, solve: started.elapsed().as_secs_f64(), pressure })
    }
}

/// Conductances and ties of a grid full of fluid.
fn coefficients(grid: &Grid, boundary: &Boundary) -> (FaceField, CellField) {
    let (mut faces, mut extra) = (FaceField::new(grid, 0.0), CellField::new(grid, 0.0));
    for axis in Axis::ALL {
        let a = axis.index();
        let dims = grid.face_dims(axis);
        for (index, (&open, _)) in
            boundary.open.axes[a].iter().zip(&boundary.driven.axes[a]).enumerate().filter(|(_, (_, free))| **free)
        {
            let mut at = unravel(dims, index);
            if at[a] == 0 || at[a] == grid.dims[a] {
                at[a] = at[a].min(grid.dims[a] - 1);
                extra.data[grid.cell(at)] += open;
            } else {
                faces.axes[a][index] = open;
            }
        }
    }
    (faces, extra)
}

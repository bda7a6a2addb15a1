//! An elastic ball deep in a tank of water: one solve of the coupled system.
//!
//! The tank is a metre wide and filled almost to the top; above is air. The water arrives falling and stirred, the ball arrives
//! falling, and the projection has to stop both.

use super::box_lift::System;
use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::{Medium, elastic, monolithic};
use bathtub_engine::fluid::boundary::{Boundary, Wall};
use bathtub_engine::geometry::{Shape, SurfaceId, TetMesh};
use bathtub_engine::grid::operators::divergence;
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid, unravel};
use bathtub_engine::solid::Freedoms;
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::elastic::{ElasticBody, ElasticError, Material};
use bathtub_engine::solve::SolidTerms;
use glam::DVec3;
use std::f64::consts::TAU;

/// Density of the water, kg/m³.
const RHO: f64 = 1000.0;
/// Length of the step, s.
const DT: f64 = 1.0 / 120.0;
/// Height of the water's surface, m.
const LEVEL: f64 = 0.9;
/// Radius and centre of the ball, m: off the symmetries of the grid.
const RADIUS: f64 = 0.2;
const CENTRE: DVec3 = DVec3::new(0.503, 0.397, 0.511);
/// Longest edges of its tetrahedra, m.
const EDGE: f64 = 0.0515;
const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// The ball's surface.
const BALL: SurfaceId = SurfaceId(0);

/// A ball in a tank.
pub struct ElasticTank {
    /// The ball at rest.
    pub body: ElasticBody,
    grid: Grid,
}

impl ElasticTank {
    /// A tank of `n` cells a side and a ball of Young's modulus `youngs_modulus` (Pa), `ratio` times as dense as water.
    pub fn new(n: usize, youngs_modulus: f64, ratio: f64) -> Result<Self, ElasticError> {
        let grid = Grid::new([n; 3], 1.0 / n as f64, DVec3::ZERO);
        let (ball, _) = TetMesh::from_shape(&Shape::Sphere { radius: RADIUS }, EDGE).expect("a ball can be stuffed");
        let material = Material {
            youngs_modulus,
            poisson_ratio: 0.3,
            density: ratio * RHO,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
        };
        let body = ElasticBody::new(ball.mapped(|x| x + CENTRE), material, [false; 3])?;
        Ok(Self { body, grid })
    }

    /// Predict the ball's step; leaves its matrix factorised.
    pub fn predict(&mut self) -> Result<(), ElasticError> {
        self.body.predict(DT, GRAVITY, &[]).map(|_| ())
    }

    /// What the ball owes the fluid over its predicted step.
    pub fn freedoms(&self) -> Freedoms {
        elastic::freedoms(&self.body, BALL, DT)
    }

    /// The ball in the coupled system, and the system without what it adds to the operator.
    pub fn coupled(&self, freedoms: Freedoms) -> (monolithic::System, System) {
        let (grid, body) = (&self.grid, &self.body);
        let immersed = Immersed::new(&[body.outline("ball", Interface::CutCells)], |_| body.skin(), grid, DT, false);
        let boundary = immersed.boundary(grid, [[Wall::Closed; 2]; 3]);
        let (medium, still) = (Medium::weightless(RHO), FaceField::new(grid, 0.0));
        let scene = Scene { grid, medium, boundary: &boundary, immersed: &immersed, arriving: &still };
        let coupled = monolithic::System::new(&scene, vec![freedoms]);
        let mut system = self.system(&boundary);
        coupled.pushed_volume().into_iter().for_each(|(cell, volume)| system.rhs[cell] += volume);
        (coupled, system)
    }

    /// The same water without the ball.
    pub fn plain(&self) -> System {
        self.system(&Boundary::new(&self.grid, [[Wall::Closed; 2]; 3], None, |_| (DVec3::ZERO, None)))
    }

    fn system(&self, boundary: &Boundary) -> System {
        let grid = &self.grid;
        let depth = |at: [usize; 3]| LEVEL - grid.cell_centre(at).y;
        let (mut faces, mut extra) = (FaceField::new(grid, 0.0), CellField::new(grid, 0.0));
        let mut velocity = FaceField::new(grid, 0.0);
        for axis in Axis::ALL {
            let a = axis.index();
            let free = boundary.driven.axes[a].iter().enumerate().filter(|(_, free)| **free);
            for (face, _) in free {
                let above = unravel(grid.face_dims(axis), face);
                let mut below = above;
                below[a] -= 1;
                velocity.axes[a][face] = DT * GRAVITY[a] + stirring(axis, grid.face_centre(axis, above));
                let open = boundary.open.axes[a][face];
                match (depth(below) > 0.0, depth(above) > 0.0) {
                    (true, true) => faces.axes[a][face] = open,
                    (true, false) => extra.data[grid.cell(below)] += open * grid.dx / depth(below),
                    _ => {}
                }
            }
        }
        let mut flow = CellField::new(grid, 0.0);
        divergence(&velocity, &boundary.open, &mut flow);
        let is_water = |cell: usize| depth(unravel(grid.dims, cell)) > 0.0;
        let rhs = flow.data.iter().enumerate().map(|(cell, d)| if is_water(cell) { -d } else { 0.0 }).collect();
        System { faces, extra, terms: SolidTerms::default(), rhs }
    }
}

/// Velocity of the water besides falling, m/s: waves of half the tank and of a few cells, along each axis in turn.
fn stirring(axis: Axis, at: DVec3) -> f64 {
    let a = axis.index();
    let [along, across] = [at[a], at[(a + 1) % 3]];
    0.05 * (TAU * along).sin() * (2.0 * TAU * across).cos() + 0.01 * (9.0 * TAU * (along + across)).sin()
}

//! One coupled projection of random velocities around two free bodies: rows A14, K1, K2, K3 for both interfaces.

use crate::support::{random, still_air};
use bathtub_engine::coupling::Medium;
use bathtub_engine::coupling::immersed::Immersed;
use bathtub_engine::coupling::interface::Scene;
use bathtub_engine::coupling::monolithic::{Answers, CoupleParams, FluidSide, Scheme, System, couple};
use bathtub_engine::coupling::rigid::RigidSide;
use bathtub_engine::fluid::boundary::{Boundary, Wall};
use bathtub_engine::fluid::projection::Projection;
use bathtub_engine::geometry::{Pose, Shape, SurfaceId};
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid, unravel};
use bathtub_engine::solid::Interface;
use bathtub_engine::solid::rigid::{Mass, RigidBody, RigidState, Rigids};
use bathtub_engine::solve::{PressureSolver, SolidTerms, SolveInfo, SolveParams, Supports};
use glam::{DQuat, DVec3};

const RHO: f64 = 1000.0;
const WALLS: [[[Wall; 2]; 3]; 2] =
    [[[Wall::Closed; 2]; 3], [[Wall::Closed; 2], [Wall::Closed, Wall::Open], [Wall::Closed; 2]]];

/// A ball and a tilted box, lighter and heavier than the fluid, in a tank of 12 × 14 × 11 cells.
struct Tank {
    grid: Grid,
    rigids: Rigids,
    state: RigidState,
    immersed: Immersed,
    boundary: Boundary,
}

/// Momentum, angular momentum about the origin, and kinetic energy.
#[derive(Clone, Copy, Default)]
struct Totals {
    linear: DVec3,
    angular: DVec3,
    kinetic: f64,
}

/// What a projection did.
struct Done {
    info: SolveInfo,
    before: Totals,
    after: Totals,
    /// Given to closed sides, N s, and about the origin, N m s.
    on_walls: [DVec3; 2],
    /// Σ |impulse| over all faces, N s.
    exchanged: f64,
    /// Σ |impulse × lever| over them, N m s.
    twisted: f64,
    /// How much of a twist may be lost because cut faces push at their centres, N m s.
    off_centre: f64,
    /// Norm of the right-hand side and largest flux left over, m/s.
    rhs: f64,
    left: f64,
}

impl Tank {
    fn new(walls: [[Wall; 2]; 3], interface: Interface) -> Self {
        let mut params = still_air([12, 14, 11], 0.1);
        let grid = params.grid;
        params.walls = walls;
        let body = |name: &str, shape: Shape, ratio: f64, position: DVec3| RigidBody {
            name: name.into(),
            shape,
            mass: Mass::Density(RHO * ratio),
            interface,
            pose: Pose { position, rotation: DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, -0.2)) },
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            friction: 0.5,
            restitution: 0.0,
        };
        params.bodies = vec![
            body("ball", Shape::Sphere { radius: 0.22 }, 0.1, DVec3::new(0.41, 0.37, 0.52)),
            body("box", Shape::Box { size: DVec3::new(0.43, 0.31, 0.35) }, 5.0, DVec3::new(0.68, 0.93, 0.55)),
        ];
        let (rigids, state) = params.rigids().unwrap();
        let outlines: Vec<_> = params.bodies.iter().map(|body| body.outline()).collect();
        let immersed = Immersed::new(&outlines, |id| rigids.skin(&state, id.0 as usize), &grid, 1.0, false);
        let boundary = immersed.boundary(&grid, walls);
        Self { grid, rigids, state, immersed, boundary }
    }

    /// Visit the faces that fluid moves on: axis, index, mass in units of ρ dx³.
    fn masses(&self, terms: &SolidTerms) -> Vec<(Axis, usize, f64)> {
        let mut masses = Vec::new();
        for axis in Axis::ALL {
            let a = axis.index();
            let faces = self.boundary.driven.axes[a].iter().zip(&self.boundary.open.axes[a]).enumerate();
            masses.extend(faces.filter(|(_, (free, _))| **free).map(|(index, (_, &open))| (axis, index, open)));
        }
        masses.extend(terms.constrained.iter().map(|face| (face.axis, face.index, face.mass)));
        masses
    }

    fn centre(&self, axis: Axis, index: usize) -> DVec3 {
        self.grid.face_centre(axis, unravel(self.grid.face_dims(axis), index))
    }

    fn totals(&self, masses: &[(Axis, usize, f64)], u: &FaceField, state: &RigidState) -> Totals {
        let unit = RHO * self.grid.dx.powi(3);
        let mut totals = Totals::default();
        for &(axis, index, mass) in masses {
            let velocity = u.axes[axis.index()][index];
            let momentum = unit * mass * velocity * axis.unit();
            totals.linear += momentum;
            totals.angular += self.centre(axis, index).cross(momentum);
            totals.kinetic += 0.5 * unit * mass * velocity * velocity;
        }
        for body in 0..self.rigids.len() {
            let (properties, velocity) = (self.rigids.properties(body), self.rigids.velocity(state, body));
            let momentum = properties.mass * velocity.linear;
            let spin = properties.world_inertia(state.bodies[body].rotation) * velocity.angular;
            totals.linear += momentum;
            totals.angular += velocity.centre.cross(momentum) + spin;
            totals.kinetic += 0.5 * (momentum.dot(velocity.linear) + spin.dot(velocity.angular));
        }
        totals
    }

    /// Random velocities of fluid and bodies, projected as a step of the world does it.
    fn project(&mut self, seed: u64, solver: PressureSolver, params: &SolveParams) -> Done {
        let grid = self.grid;
        let unit = RHO * grid.dx.powi(3);
        let mut next = random(seed);
        let mut u = FaceField::new(&grid, 0.0);
        u.axes.iter_mut().flatten().for_each(|u| *u = next());
        let mut state = self.state.clone();
        for body in 0..self.rigids.len() {
            let mass = self.rigids.properties(body).mass;
            let mut push = || DVec3::new(next(), next(), next());
            self.rigids.apply_impulse(&mut state, body, mass * push(), 0.1 * mass * push());
        }
        let arrived = state.clone();
        let surfaces = [SurfaceId(0), SurfaceId(1)];
        let mut supports = Supports::default();
        let mut bodies = RigidSide::new(&self.rigids, &mut state, &surfaces, &mut supports);
        let medium = Medium::weightless(RHO);
        let (boundary, immersed) = (&self.boundary, &self.immersed);
        let scene = Scene { grid: &grid, medium, boundary, immersed, arriving: &u };
        let system = System::new(&scene, bodies.freedoms());
        let masses = self.masses(&system.terms());
        let before = self.totals(&masses, &u, &arrived);

        let mut projection = Projection::new(&grid, &self.boundary, solver);
        let mut rhs = CellField::new(&grid, 0.0);
        let mut rested = u.clone();
        let mut boundary = self.boundary.clone();
        boundary.set_body_velocity(|_, _, _| 0.0);
        boundary.impose(&mut rested);
        bathtub_engine::grid::operators::divergence(&rested, &boundary.open, &mut rhs);
        system.pushed_volume().iter().for_each(|&(cell, volume)| rhs.data[cell] -= volume);
        let mut p = CellField::new(&grid, 0.0);
        let fluid = FluidSide {
            grid: &grid,
            dt: 1.0,
            medium,
            immersed: &self.immersed,
            boundary: &mut self.boundary,
            projection: &mut projection,
            velocity: &mut u,
            pressure: &mut p,
            sources: &[],
        };
        let couple_params = CoupleParams { solve: *params, strict: false, scheme: Scheme::Monolithic };
        let outcome = couple(fluid, &mut [&mut bodies], &couple_params).unwrap();
        let (info, left) = (outcome.projected.info, outcome.residual_flux);
        self.boundary.set_body_velocity(|body, axis, face| {
            let velocity = self.rigids.velocity(&state, body.0 as usize);
            velocity.at(grid.face_at(axis, face))[axis.index()]
        });
        self.boundary.impose(&mut u);

        let mut done = Done {
            info,
            before,
            after: self.totals(&masses, &u, &state),
            on_walls: [DVec3::ZERO; 2],
            exchanged: 0.0,
            twisted: 0.0,
            off_centre: 0.0,
            rhs: rhs.data.iter().map(|r| r * r).sum::<f64>().sqrt(),
            left,
        };
        for axis in Axis::ALL {
            let a = axis.index();
            for (index, &open) in self.boundary.open.axes[a].iter().enumerate() {
                let at = unravel(grid.face_dims(axis), index);
                let mut below = at;
                below[a] = below[a].wrapping_sub(1);
                let [below, above] = [below, at].map(|at| if at[a] < grid.dims[a] { p[at] } else { 0.0 });
                let push = unit * open * (below - above) * axis.unit();
                let twist = self.centre(axis, index).cross(push);
                done.exchanged += push.length();
                done.twisted += twist.length();
                // Fluid fills the part A of a face; its centroid is off by c with A c + (1 − A) r = 0, and |c|, |r| ≤ ½
                // along each of two axes.
                let lever = 0.5 * open.min(1.0 - open) * grid.dx * std::f64::consts::SQRT_2;
                done.off_centre += unit * lever * (below - above).abs();
                let is_side = at[a] == 0 || at[a] == grid.dims[a];
                if is_side && !self.boundary.driven.axes[a][index] {
                    done.on_walls[0] += push;
                    done.on_walls[1] += twist;
                }
            }
        }
        done
    }
}

const INTERFACES: [Interface; 2] = [Interface::CutCells, Interface::Faces];

/// Rows K1 and K2: however early the solve stops, what the fluid loses the bodies and the walls gain. Angular momentum too, if
/// pressure acts at the centres of whole faces; at cut faces it acts beside the middle of what is open, and no more than that
/// lever is lost.
#[test]
fn solves_cut_short_keep_momentum() {
    for interface in INTERFACES {
        let mut worst = [0.0f64; 3];
        for walls in WALLS {
            let mut tank = Tank::new(walls, interface);
            for solver in [PressureSolver::Multigrid, PressureSolver::A18 { corrections: 1 }, PressureSolver::Cg] {
                for max_iterations in [1, 3, 50] {
                    let params = SolveParams { tolerance: 1e-10, max_iterations, budget_seconds: None };
                    let done = tank.project(max_iterations as u64, solver, &params);
                    let linear = done.after.linear - done.before.linear + done.on_walls[0];
                    let angular = done.after.angular - done.before.angular + done.on_walls[1];
                    worst[0] = worst[0].max(linear.length() / done.exchanged);
                    worst[1] = worst[1].max(angular.length() / done.twisted);
                    worst[2] = worst[2].max(angular.length() / done.off_centre.max(1e-10 * done.twisted));
                }
            }
        }
        let [linear, angular, share] = worst;
        println!("{interface:?}: linear {linear:.1e}, angular {angular:.1e}, {share:.1e} of what levers allow");
        assert!(linear <= 1e-12, "{interface:?}: linear {linear:.1e}");
        match interface {
            Interface::Faces => assert!(angular <= 1e-10, "angular {angular:.1e}"),
            Interface::CutCells => assert!(share <= 1.0, "{share:.2} of what levers allow"),
        }
    }
}

/// Row A14: fluid and bodies together lose energy; row K3: what divergence is left is bounded by the tolerance.
#[test]
fn coupled_projections_take_energy_and_leave_no_divergence() {
    let params = SolveParams { tolerance: 1e-10, max_iterations: 500, budget_seconds: None };
    for interface in INTERFACES {
        let (mut gain, mut left) = (f64::MIN, 0.0f64);
        for walls in WALLS {
            let mut tank = Tank::new(walls, interface);
            for seed in 0..50 {
                let done = tank.project(seed, PressureSolver::Multigrid, &params);
                assert!(done.info.converged, "{:?}", done.info);
                gain = gain.max(done.after.kinetic / done.before.kinetic - 1.0);
                left = left.max(done.left / (params.tolerance * done.rhs));
            }
        }
        println!("{interface:?}: energy changes by {gain:.3} at most; divergence {left:.2} tolerances");
        assert!(gain <= 1e-10, "{interface:?}: energy gained, {gain:.1e}");
        assert!(left <= 10.0, "{interface:?}: divergence of {left:.1} tolerances");
    }
}

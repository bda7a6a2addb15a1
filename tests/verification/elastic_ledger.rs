//! Rows K1, K2, K3 for elastic bodies: what pressure gives to a body, it takes from fluid and walls.

use crate::support::elastic::{ball, body_of, elastic, material};
use crate::support::{fixed_step, still_air, still_water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::geometry::TetMesh;
use bathtub_engine::grid::{Axis, unravel};
use bathtub_engine::report::StepReport;
use bathtub_engine::world::{World, WorldParams};
use glam::DVec3;

const DX: f64 = 1.0 / 32.0;
const DT: f64 = 0.004;

/// A stretched and turning soft ball on its way through `params`.
fn with_ball(mut params: WorldParams, centre: DVec3, density: f64) -> World {
    let mut soft = elastic("ball", ball(4.0 * DX, centre, 2.0 * DX), material(2e4, 0.3, density));
    soft.stretch = DVec3::new(1.2, 0.9, 0.95);
    soft.velocity = DVec3::new(0.4, -0.5, 0.2);
    soft.angular_velocity = DVec3::new(1.0, -2.0, 3.0);
    params.elastic = vec![soft];
    params.time = fixed_step(DT);
    World::new(params).unwrap()
}

fn smoke() -> World {
    let mut params = still_air([20, 22, 20], DX);
    params.fluid.smoke_mut().unwrap().rho = 1000.0;
    with_ball(params, DVec3::new(9.4, 11.2, 10.3) * DX, 700.0)
}

fn water() -> World {
    let params = still_water([20, 28, 20], DX, 14.3 * DX);
    with_ball(params, DVec3::new(9.4, 16.2, 10.3) * DX, 700.0)
}

/// Impulse that the pressure gave to fluid, walls and whatever else is not the body, N s, and its moment about a point; the sum of
/// sizes of both, and the share of the moment that cut faces may lose because pressure acts at their middle.
fn elsewhere(world: &World, dt: f64, about: DVec3) -> ([DVec3; 2], [f64; 2], f64) {
    let (grid, boundary, p) = (world.params().grid, world.boundary(), &world.state().fluid.pressure);
    let (mut given, mut sizes, mut lever) = ([DVec3::ZERO; 2], [0.0; 2], 0.0);
    for axis in Axis::ALL {
        let a = axis.index();
        let of_body = boundary.given.iter().filter(|face| face.axis == axis && face.body.is_some());
        let of_body: Vec<usize> = of_body.map(|face| face.index).collect();
        for (index, &open) in boundary.open.axes[a].iter().enumerate().filter(|(index, _)| !of_body.contains(index)) {
            let at = unravel(grid.face_dims(axis), index);
            let mut below = at;
            below[a] = below[a].wrapping_sub(1);
            let [below, above] = [below, at].map(|at| if at[a] < grid.dims[a] { p[at] } else { 0.0 });
            let push = dt * grid.dx * grid.dx * open * (below - above) * axis.unit();
            let twist = (grid.face_centre(axis, at) - about).cross(push);
            given = [given[0] + push, given[1] + twist];
            sizes = [sizes[0] + push.length(), sizes[1] + twist.length()];
            // As in tests/properties/coupled_step.rs.
            let off = 0.5 * open.min(1.0 - open) * grid.dx * std::f64::consts::SQRT_2;
            lever += dt * grid.dx * grid.dx * off * (below - above).abs();
        }
    }
    (given, sizes, lever)
}

/// Rows K1 and K2 of one step: the part of the momentum exchanged that is lost, that of the body's momentum that comes from nowhere, and
/// the part of the levers that angular momentum needs. `before` is the momentum of the body at the start of the step, N s.
pub fn errors(world: &World, before: DVec3, report: &StepReport) -> [f64; 3] {
    let body = body_of(world, 0);
    let own = report.bodies.iter().find(|body| body.kind == "elastic").unwrap();
    let ([push, twist], sizes, lever) = elsewhere(world, report.dt, own.position);
    let weight = match &world.params().fluid {
        FluidParams::Smoke(_) => DVec3::ZERO,
        FluidParams::Water(water) => report.dt * body.mass() * water.gravity,
    };
    let gained = body.momentum() - before - weight - own.impulse;
    // The lift is weight, not exchanged with anything: see docs/methods/rigid.md.
    let [lift, lift_twist] = own.lift.unwrap_or_default();
    [
        (own.impulse - lift + push).length() / sizes[0].max(f64::MIN_POSITIVE),
        gained.length() / body.momentum().length().max(before.length()),
        (own.torque_impulse - lift_twist + twist).length() / lever.max(1e-10 * sizes[1]),
    ]
}

/// Rows K1, K2 and K3 in every step of a run with smoke and one with water. Elastic forces add nothing to the momentum of a body, so it
/// gains what the fluid gave. Angular momentum: as for rigid bodies in cut cells, no more is lost than cut faces have levers.
#[test]
fn what_the_body_gains_fluid_and_walls_lose() {
    for (name, mut world) in [("smoke", smoke()), ("water", water())] {
        let (mut worst, mut ledger, mut divergence, mut touched) = ([0.0f64; 3], 0.0f64, 0.0f64, 0);
        for _ in 0..30 {
            let before = body_of(&world, 0).momentum();
            let report = world.step().unwrap();
            let errors = errors(&world, before, &report);
            worst = std::array::from_fn(|n| worst[n].max(errors[n]));
            ledger = ledger.max(report.ledger.momentum_error);
            divergence = divergence.max(report.div_inf * DX);
            touched += usize::from(report.bodies[0].impulse != DVec3::ZERO);
        }
        let [exchanged, gained, levers] = worst;
        println!(
            "{name}: {touched} steps with pressure; momentum exchanged to {exchanged:.1e} (ledger {ledger:.1e}), gained to {gained:.1e}; \
             {levers:.2} of the levers; divergence {divergence:.1e} m/s"
        );
        assert!(touched >= 25, "{name}: the ball is out of reach");
        assert!(exchanged <= 1e-12 && ledger <= 1e-12, "{name}: {exchanged:.1e}, {ledger:.1e}");
        assert!(gained <= 1e-10, "{name}: {gained:.1e}");
        assert!(levers <= 1.0, "{name}: {levers}");
        // Ten tolerances, of right-hand sides of at most 1 m/s over some 1000 faces.
        assert!(divergence <= 10.0 * 1e-10 * 30.0, "{name}: {divergence:.1e}");
    }
}

/// Fault row 26: vertices, edges and sides of an elastic body on nodes, edges and faces of the grid, and a hair beside them, so that the
/// open parts of faces are about 1e-14.
#[test]
fn momentum_is_kept_where_surfaces_lie_in_the_planes_of_the_grid() {
    for offset in [0.0, 1e-14, -1e-14, 1e-7] {
        let mut params = still_air([12; 3], DX);
        params.fluid.smoke_mut().unwrap().rho = 1000.0;
        let centre = DVec3::splat((6.0 + offset) * DX);
        let cube = TetMesh::block(DVec3::splat(4.0 * DX), [4; 3]).mapped(|v| v + centre);
        let mut soft = elastic("cube", cube, material(2e4, 0.3, 700.0));
        soft.velocity = DVec3::new(0.0, -0.5, 0.0);
        params.elastic = vec![soft];
        params.time = fixed_step(DT);
        let mut world = World::new(params).unwrap();
        for step in 0..3 {
            let before = body_of(&world, 0).momentum();
            let report = world.step().unwrap();
            let [exchanged, gained, _] = errors(&world, before, &report);
            assert!(world.state().solids.elastic[0].positions.iter().all(|x| x.is_finite()), "{offset:e}, step {step}");
            assert!(report.bodies[0].impulse.length() > 0.0, "{offset:e}, step {step}: nothing happens");
            assert!(exchanged <= 1e-12 && gained <= 1e-10, "{offset:e}, step {step}: {exchanged:.1e}, {gained:.1e}");
        }
    }
}

//! Row H10: liquid in an elastic hollow ball, with nothing around it and no gravity.

use crate::elastic_ledger::errors;
use crate::support::elastic::{body_of, elastic, material, shell};
use crate::support::{fixed_step, particles, still_water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape, SignedDistance};
use bathtub_engine::world::World;
use glam::{DQuat, DVec3};
use std::sync::Arc;

const DX: f64 = 1.0 / 32.0;
const RHO: f64 = 1000.0;
const INNER: f64 = 4.0 * DX;
const OUTER: f64 = 6.0 * DX;
const VELOCITY: DVec3 = DVec3::new(0.25, 0.15, 0.1);

/// What fills the hollow.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Filling {
    Full,
    Half,
}

/// A shell on its way through a box of 20 cells.
fn flying(filling: Filling) -> World {
    let centre = DVec3::new(8.3, 8.2, 8.6) * DX;
    let at = |position: DVec3| Pose { position, rotation: DQuat::IDENTITY };
    let mut params = still_water([20; 3], DX, 0.0);
    let mut soft = elastic("shell", shell(INNER, OUTER, centre, 2.0 * DX), material(1e5, 0.3, RHO));
    soft.velocity = VELOCITY;
    soft.stretch = DVec3::new(1.05, 1.0 / 1.05, 1.0);
    params.elastic = vec![soft];
    let FluidParams::Water(water) = &mut params.fluid else { unreachable!("still water is water") };
    water.gravity = DVec3::ZERO;
    // What is in the shell itself is left out.
    let region = Region::Shape(Shape::Sphere { radius: 1.1 * INNER }, at(centre));
    water.initial = vec![Liquid { region, velocity: VELOCITY }];
    if filling == Filling::Half {
        water.air = vec![(Shape::Box { size: DVec3::splat(2.0 * OUTER) }, at(centre + DVec3::Y * OUTER))];
    }
    params.pressure.params.tolerance = 1e-8;
    params.time = fixed_step(0.005);
    World::new(params).unwrap()
}

/// Momentum, N s, and the centre of everything, m.
fn totals(world: &World) -> (DVec3, DVec3) {
    let (body, liquid) = (body_of(world, 0), particles(world));
    let each = RHO * world.particle_volume();
    let momentum = body.momentum() + each * liquid.velocity.iter().copied().sum::<DVec3>();
    let moment = body.mass() * body.centre() + each * liquid.position.iter().copied().sum::<DVec3>();
    (momentum, moment / (body.mass() + each * liquid.position.len() as f64))
}

/// What the shell gains the liquid loses in the solve, to 10⁻¹⁰. Shell and liquid together go straight on, within half a cell in 100 steps,
/// and the liquid stays inside.
#[test]
fn a_filled_shell_flies_straight_on() {
    for filling in [Filling::Full, Filling::Half] {
        let mut world = flying(filling);
        let (start, centre) = totals(&world);
        let count = particles(&world).position.len();
        let (mut lost, mut changed, mut aside) = ([0.0f64; 3], 0.0f64, 0.0f64);
        for _ in 0..100 {
            let (before, of_shell) = (totals(&world).0, body_of(&world, 0).momentum());
            let report = world.step().unwrap();
            let errors = errors(&world, of_shell, &report);
            lost = std::array::from_fn(|n| lost[n].max(errors[n]));
            let (after, now) = totals(&world);
            changed = changed.max((after - before).length() / start.length());
            aside = aside.max(now.distance(centre + world.state().time * VELOCITY));
        }
        let drift = (totals(&world).0 - start).length() / start.length();
        println!(
            "{filling:?}, {count} particles: {:.1e} lost in a solve, {changed:.1e} in a step, {drift:.1e} in all; {:.3} cells aside",
            lost[0].max(lost[1]),
            aside / DX
        );
        assert!(lost[0] <= 1e-10 && lost[1] <= 1e-10, "{filling:?}: {lost:?}");
        assert!(aside <= 0.5 * DX, "{filling:?}: {} cells", aside / DX);
        let body = body_of(&world, 0);
        let wall = SignedDistance::new(&Shape::Mesh(Arc::new(body.surface().clone())));
        let is_out = |x: &&DVec3| wall.at(**x) < -0.02 * DX || x.distance(body.centre()) > OUTER;
        let strayed = particles(&world).position.iter().filter(is_out).count();
        assert_eq!(strayed, 0, "{filling:?}: liquid came through the shell");
        assert_eq!(particles(&world).position.len(), count, "{filling:?}: liquid was lost");
    }
}

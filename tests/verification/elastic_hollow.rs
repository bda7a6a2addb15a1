//! Row H10: liquid in an elastic hollow ball, with nothing around it and no gravity.

use crate::support::elastic::{body_of, elastic, material, shell};
use crate::support::{fixed_step, particles, still_water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::water::{Liquid, Region};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::world::World;
use glam::{DQuat, DVec3};

const DX: f64 = 1.0 / 32.0;
const RHO: f64 = 1000.0;

/// A shell with radii of 5 and 7 cells that flies through a box of 28 cells; liquid fills the hollow up to `level` (m above its
/// centre).
fn flying(level: f64) -> World {
    let centre = DVec3::new(11.3, 12.2, 12.6) * DX;
    let mut params = still_water([28; 3], DX, 0.0);
    let velocity = DVec3::new(0.5, 0.3, 0.2);
    let mut soft = elastic("shell", shell(5.0 * DX, 7.0 * DX, centre, 1.5 * DX), material(1e5, 0.3, RHO));
    soft.velocity = velocity;
    soft.stretch = DVec3::new(1.05, 1.0 / 1.05, 1.0);
    params.elastic = vec![soft];
    let FluidParams::Water(water) = &mut params.fluid else { unreachable!("still water is water") };
    water.gravity = DVec3::ZERO;
    // What is in the shell itself is left out.
    let height = 12.0 * DX + level;
    let place = Pose { position: centre + DVec3::Y * (level - 0.5 * height), rotation: DQuat::IDENTITY };
    let shape = Shape::Box { size: DVec3::new(10.5 * DX, height.min(2.0 * (5.2 * DX)), 10.5 * DX) };
    let ball = Shape::Sphere { radius: 5.2 * DX };
    let region = if level > 5.0 * DX {
        Region::Shape(ball, Pose { position: centre, rotation: DQuat::IDENTITY })
    } else {
        Region::Shape(shape, place)
    };
    water.initial = vec![Liquid { region, velocity }];
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

/// What the shell gains the liquid loses in the solve, to 10⁻¹⁰; shell and liquid together go straight on, within half a cell in 100
/// steps.
#[test]
fn a_filled_shell_flies_straight_on() {
    for (name, level) in [("full", 6.0 * DX), ("half full", 0.0)] {
        let mut world = flying(level);
        let (start, centre) = totals(&world);
        let mass = start.length() / DVec3::new(0.5, 0.3, 0.2).length();
        let (mut ledger, mut changed, mut aside) = (0.0f64, 0.0f64, 0.0f64);
        let count = particles(&world).position.len();
        for _ in 0..100 {
            let (before, _) = totals(&world);
            let report = world.step().unwrap();
            let (after, now) = totals(&world);
            ledger = ledger.max(report.ledger.momentum_error);
            changed = changed.max((after - before).length() / start.length());
            aside = aside.max(now.distance(centre + world.state().time * start / mass));
        }
        let (end, _) = totals(&world);
        println!(
            "{name}, {count} particles: ledger {ledger:.1e}, momentum changes by {changed:.1e} a step, {:.1e} in all; {:.3} cells aside",
            (end - start).length() / start.length(),
            aside / DX
        );
        assert!(ledger <= 1e-10, "{name}: {ledger:.1e}");
        assert!(aside <= 0.5 * DX, "{name}: {} cells", aside / DX);
        let inner = body_of(&world, 0).centre();
        let strayed = particles(&world).position.iter().filter(|x| x.distance(inner) > 6.5 * DX).count();
        assert_eq!(strayed, 0, "{name}: liquid came through the shell");
    }
}

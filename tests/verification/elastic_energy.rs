//! Row K4 for elastic bodies: a ball that rings in a closed box full of fluid.

use crate::support::elastic::{ball, body_of, elastic, energy_ahead, material};
use crate::support::{fixed_step, still_air};
use bathtub_engine::world::World;
use glam::DVec3;

const DX: f64 = 1.0 / 32.0;

/// Kinetic energy of fluid and body and elastic energy never grow by more than a thousandth of what there is, in 100 steps without
/// gravity; and fluid and body do exchange it.
#[test]
fn a_ringing_ball_gains_no_energy() {
    let mut wrong = false;
    for (name, youngs_modulus, density, dt) in
        [("neutral", 2e4, 1000.0, 2e-3), ("light", 2e4, 200.0, 2e-3), ("long steps", 2e5, 1000.0, 5e-3)]
    {
        let mut params = still_air([16; 3], DX);
        params.fluid.smoke_mut().unwrap().rho = 1000.0;
        let mut soft =
            elastic("ball", ball(4.0 * DX, DVec3::splat(8.03 * DX), 2.0 * DX), material(youngs_modulus, 0.3, density));
        // Keeps volume.
        soft.stretch = DVec3::new(1.15, 1.0 / 1.15, 1.0);
        params.elastic = vec![soft];
        params.pressure.params.tolerance = 1e-8;
        params.time = fixed_step(dt);
        let mut world = World::new(params).unwrap();
        let start = body_of(&world, 0).elastic_energy();
        let energies: Vec<[f64; 3]> = (0..100)
            .map(|_| {
                let report = world.step().unwrap();
                let mut body = body_of(&world, 0);
                [report.fluid.kinetic, body.kinetic_energy(), energy_ahead(&mut body, dt)]
            })
            .collect();
        let sums: Vec<f64> = energies.iter().map(|e| e.iter().sum()).collect();
        let mut gain = (sums[0] - start) / start;
        let mut lowest = start.min(sums[0]);
        for &sum in &sums {
            gain = gain.max((sum - lowest) / start);
            lowest = lowest.min(sum);
        }
        let moving = energies.iter().map(|e| e[0]).fold(0.0, f64::max) / start;
        println!(
            "{name}: {start:.3} J, at most {gain:+.1e}, {:.3} left; fluid has up to {moving:.3}",
            sums[99] / start
        );
        wrong |= gain > 1e-3 || moving < 0.01;
    }
    assert!(!wrong, "more than 0.1 %, see above");
}

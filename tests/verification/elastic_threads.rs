//! Row J16 with an elastic body: the same bits for any number of threads, and after a restart.

use crate::support::elastic::{ball, elastic, material};
use crate::support::{fixed_step, still_water};
use bathtub_engine::world::{State, World, WorldParams};
use glam::DVec3;

const DX: f64 = 1.0 / 24.0;

/// A soft ball falls into water.
fn splash() -> WorldParams {
    let mut params = still_water([16, 24, 16], DX, 10.0 * DX);
    let mut soft =
        elastic("ball", ball(3.5 * DX, DVec3::new(7.8, 13.7, 8.3) * DX, 1.3 * DX), material(2e4, 0.3, 600.0));
    (soft.velocity, soft.angular_velocity) = (DVec3::new(0.3, -1.0, 0.0), DVec3::new(0.0, 1.0, 4.0));
    params.elastic = vec![soft];
    params.pressure.params.tolerance = 1e-6;
    params.time = fixed_step(0.005);
    params
}

fn run(steps: usize) -> State {
    let mut world = World::new(splash()).unwrap();
    (0..steps).for_each(|_| _ = world.step().unwrap());
    world.state().clone()
}

#[test]
fn a_splash_has_the_same_bits_for_any_number_of_threads() {
    let with_threads = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(|| run(12));
    let [one, two, five] = [1, 2, 5].map(with_threads);
    assert!(one == two && one == five);
    assert!(one.fluid.pressure.data.iter().any(|&p| p != 0.0));
}

#[test]
fn a_splash_continued_from_a_saved_state_has_the_same_bits() {
    let whole = run(14);
    let mut second = World::new(splash()).unwrap();
    second.restore(run(6)).unwrap();
    (6..14).for_each(|_| _ = second.step().unwrap());
    assert!(*second.state() == whole);
}

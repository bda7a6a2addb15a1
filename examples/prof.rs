//! t
#[path = "../tests/support/mod.rs"]
mod support;
use bathtub_engine::fluid::smoke::Source;
use bathtub_engine::geometry::*;
use glam::*;
use support::*;
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut p = still_air([n, n, n], 2.0 / n as f64);
    p.smoke.gravity = DVec3::new(0.0, -9.81, 0.0);
    p.smoke.expansion = 1.0 / 293.0;
    p.smoke.confinement = 0.1;
    p.pressure.params.tolerance = 1e-4;
    p.time.fps = 24.0;
    p.time.cfl = 2.0;
    p.sources.push(Source {
        name: "s".into(),
        shape: Shape::Sphere { radius: 0.3 },
        pose: Pose { position: DVec3::new(1.0, 0.4, 1.0), rotation: DQuat::IDENTITY },
        start: 0.0,
        end: 1e9,
        density: 1.0,
        temperature: 100.0,
        velocity: None,
        flicker: 0.0,
        seed: 0,
    });
    p.obstacles.push(fixed("ball", Shape::Sphere { radius: 0.3 }, DVec3::new(1.0, 1.2, 1.0), DQuat::IDENTITY));
    let t = std::time::Instant::now();
    let mut w = bathtub_engine::world::World::new(p);
    println!("new {:?}", t.elapsed());
    for _ in 0..4 {
        let t = std::time::Instant::now();
        let r = w.step().unwrap();
        println!("{:?} dt {:.4} it {} {:?}", t.elapsed(), r.dt, r.solver.iterations, r.stages);
    }
}

//! A light ball falls into a tank of water and comes up to float.
use bathtub_engine::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ball = RigidBody::new("ball", Shape::Sphere { radius: 0.15 }, 300.0).at([0.0, 0.8, 0.0]);
    let mut world = World::new(WorldParams::water([24, 24, 24], 1.0, 0.5).with_body(ball))?;
    while world.state().time < 0.5 {
        let report = world.step()?;
        let ball = report.body("ball").ok_or("there is a ball")?;
        println!("{:.3} s: {:.3} m high, pushed with {:.1} N", report.t, ball.position.y, ball.impulse.y / report.dt);
    }
    Ok(())
}

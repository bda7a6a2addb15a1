//! Hot smoke rises past a rubber bar that is held at one end and bends; density and pressure are read from the state.
use bathtub_engine::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bar = Shape::Box { size: [0.4, 0.04, 0.1].into() };
    let (mesh, _) = TetMesh::stuff(&bar, 0.04)?;
    let held: Vec<usize> = (0..mesh.vertices.len()).filter(|&v| mesh.vertices[v].x < -0.19).collect();
    let material = Material::new(2e3, 0.3, 5.0);
    let bar = Elastic::new("bar", mesh.mapped(|x| x + DVec3::new(0.0, 0.6, 0.0)), material).hold(held);
    let vent =
        Source::new("vent", Shape::Sphere { radius: 0.15 }).at([0.0, 0.2, 0.0]).hot(400.0).blowing([0.0, 2.0, 0.0]);
    let mut params = WorldParams::smoke([20, 30, 20], 1.5).with_elastic(bar).with_wall(Axis::Y, 1, Wall::Open);
    params.fluid.smoke_mut().ok_or("smoke")?.sources.push(vent);
    let mut world = World::new(params)?;
    for _ in 0..4 {
        let report = world.step()?;
        let smoke = world.state().fluid.smoke().ok_or("smoke")?;
        let densest = smoke.density.data.iter().copied().fold(0.0, f64::max);
        let tip = world.state().solids.elastic[0].positions.iter().map(|x| x.y).fold(0.0, f64::max);
        println!(
            "{:.3} s: density up to {densest:.2}, {:.2e} kg of smoke, tip at {tip:.4} m",
            report.t, report.fluid.smoke
        );
    }
    Ok(())
}

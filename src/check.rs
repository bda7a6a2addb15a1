//! `bathtub check` and `bathtub schema`: what a scene is and needs, without simulating it.

use crate::args::{CheckArgs, SceneArgs};
use crate::exit::{Exit, Failure};
use crate::terminal::{complain, say, warning};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::solid::reduced::Reduced;
use bathtub_engine::solid::rigid::{Mass, RigidBody};
use bathtub_scene::{LoadOptions, Scene, available_memory, short};

/// Load a scene as the command line names it; it must fit into the memory that is available.
pub fn load(args: &SceneArgs) -> Result<Scene, Failure> {
    let memory_limit = available_memory();
    let options = LoadOptions { set: args.set.clone(), allow_outside: args.allow_outside, memory_limit };
    Ok(bathtub_scene::load(&args.scene, &options)?)
}

/// Print what the scene is and needs.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let scene = load(&args.scene)?;
    scene.warnings.iter().chain(&scene.picture_warnings).for_each(|text| complain(&warning(text)));
    let params = &scene.params;
    let (grid, time, pressure) = (&params.grid, &params.time, &params.pressure);
    let [nx, ny, nz] = grid.dims;
    let size = grid.upper() - grid.origin;
    let moving = params.obstacles.iter().filter(|o| !o.motion.is_static()).count();
    let available = available_memory().map(|bytes| format!(" of {:.1} GiB available", bytes / 1024f64.powi(3)));
    say(&format!("{}: a valid scene", scene.name));
    let [width, height, depth] = size.to_array().map(short);
    let origin = grid.origin.to_array().map(short).join(", ");
    say(&format!("  grid       {nx} x {ny} x {nz} = {} cells of {} m", grid.cells(), short(grid.dx)));
    say(&format!("  domain     {width} x {height} x {depth} m from [{origin}] m"));
    let (memory, undrawn) = (scene.memory.text(), scene.memory.undrawn_text());
    say(&format!("  memory     about {memory}{} ({undrawn} without pictures)", available.unwrap_or_default()));
    say(&format!(
        "  frames     {} at {} per second = {} s",
        scene.frames(),
        if (1e-3..1e6).contains(&time.fps) { time.fps.to_string() } else { short(time.fps) },
        short(scene.frames() as f64 / time.fps)
    ));
    say(&format!("  solver     {:?}, tolerance {:.1e}", pressure.solver, pressure.params.tolerance));
    say(&format!("  coupling   {}", params.coupling.scheme.name()));
    say(&format!("  obstacles  {} ({moving} moving)", params.obstacles.len()));
    say(&format!("  bodies     {}", bodies(&params.bodies)));
    say(&format!("  joints     {}", params.joints.len()));
    for body in &params.elastic {
        let (vertices, mass) = (body.rest.vertices.len(), body.material.density * body.rest.volume());
        let (mass, quality) = (short(mass), body.rest.quality());
        say(&format!("  elastic    {}: {mass} kg, {vertices} vertices, {quality}", body.name));
    }
    for Reduced { elastic: body, modes, copies, .. } in &params.reduced {
        let (vertices, mass) = (body.rest.vertices.len(), short(body.material.density * body.rest.volume()));
        let copies = if copies.len() > 1 { format!("{} of them, ", copies.len()) } else { String::new() };
        say(&format!("  reduced    {}: {copies}{mass} kg, {vertices} vertices, {modes} modes", body.name));
    }
    say(&format!("  triangles  about {:.0}", scene.memory.contents.triangles));
    say(&format!("  sources    {}", params.fluid.sources()));
    if let (FluidParams::Water(water), Some(filling)) = (&params.fluid, scene.filling) {
        let particles = |volume: f64| volume / water.particle_volume(grid);
        let (start, most) = (particles(filling.start), particles(filling.most));
        say(&format!("  drains     {}", water.drains.len()));
        let volume = short(filling.start);
        say(&format!("  water      {volume} m³, about {start:.0} particles, at most {most:.0}"));
        say(&format!("  transfer   {:?}", water.transfer));
    }
    say(&format!("  hash       {}", scene.hash));
    Ok(Exit::Ok)
}

/// How many bodies there are, and what they weigh.
fn bodies(bodies: &[RigidBody]) -> String {
    let masses = bodies.iter().map(|body| match body.mass {
        Mass::Density(density) => density * body.shape.volume(),
        Mass::Total(mass) => mass,
    });
    match (masses.clone().reduce(f64::min), masses.reduce(f64::max)) {
        (Some(least), Some(most)) => format!("{} ({} to {} kg)", bodies.len(), short(least), short(most)),
        _ => "0".into(),
    }
}

/// Print the schema, or the reference page made from it.
pub fn schema(markdown: bool) -> Result<Exit, Failure> {
    if markdown {
        say(bathtub_scene::reference_page().trim_end());
    } else {
        say(&format!("{:#}", bathtub_scene::json_schema()));
    }
    Ok(Exit::Ok)
}

//! Volume that water keeps while it is thrown about.
//!
//! Two closed boxes: a cube half full of water, shaken near the period of its first mode so that waves break over the
//! whole box, and a column of water that collapses onto a pillar. The particles stand for a fixed volume; what they
//! fill is another, and the drift is the difference.

use crate::worlds::{fixed, still_water};
use bathtub_engine::fluid::Shake;
use bathtub_engine::fluid::water::Region;
use bathtub_engine::geometry::{Pose, Shape, SignedDistance};
use bathtub_engine::world::{StepError, TimeParams, World, WorldParams};
use glam::{DQuat, DVec3};

/// Largest drift that counts as keeping the volume.
pub const TOLERANCE: f64 = 0.01;

const FILM: TimeParams = TimeParams { fps: 24.0, cfl: 2.0, max_dt: f64::INFINITY, min_dt: 1e-12 };

/// A cube of `n`³ cells, half full, shaken.
pub fn sloshing_tank(n: usize) -> WorldParams {
    let mut params = still_water([n; 3], 1.0 / n as f64, 0.5);
    params.time = FILM;
    params.pressure.params.tolerance = 1e-5;
    // The first mode of half a metre of water in a metre has 0.85 Hz.
    params.fluid.water_mut().unwrap().shake = Some(Shake { amplitude: DVec3::new(4.0, 0.0, 2.5), frequency: 0.85 });
    params
}

/// A column of water at the end of a box of 2n × n × n cells, and a square pillar in its way.
pub fn dam_break(n: usize) -> WorldParams {
    let mut params = still_water([2 * n, n, n], 1.0 / n as f64, 0.0);
    params.time = FILM;
    params.pressure.params.tolerance = 1e-5;
    let column = Shape::Box { size: DVec3::new(1.2, 1.2, 3.0) };
    let pose = Pose { position: DVec3::new(0.0, 0.0, 0.5), rotation: DQuat::IDENTITY };
    params.fluid.water_mut().unwrap().initial[0].region = Region::Shape(column, pose);
    let turned = DQuat::from_rotation_y(0.4);
    let pillar = Shape::Box { size: DVec3::new(0.17, 1.0, 0.17) };
    params.obstacles.push(fixed("pillar", pillar, DVec3::new(1.3, 0.3, 0.45), turned));
    params
}

/// What the water did.
#[derive(Clone, Debug)]
pub struct Course {
    /// Time, s, and (volume filled) / (volume of the particles) − 1 after every step.
    pub drift: Vec<(f64, f64)>,
    /// How deep, in cells, a particle ever was in a static solid or beyond the domain; 0 if none was.
    pub deepest: f64,
    /// Fastest water, m/s.
    pub fastest: f64,
}

impl Course {
    /// Largest drift, with its sign.
    pub fn worst(&self) -> f64 {
        self.drift.iter().map(|d| d.1).fold(0.0, |worst, d| if d.abs() > worst.abs() { d } else { worst })
    }
}

/// Run for `seconds` and watch every step; `tell` hears of the time, s, and the drift.
pub fn run(params: WorldParams, seconds: f64, mut tell: impl FnMut(f64, f64)) -> Result<Course, StepError> {
    let grid = params.grid;
    let rho = params.fluid.rho();
    let solids: Vec<(SignedDistance, Pose)> =
        params.obstacles.iter().map(|o| (SignedDistance::new(&o.shape), o.motion.pose(0.0))).collect();
    let mut world = World::new(params).expect("no bodies that could be wrong");
    let mut course = Course { drift: Vec::new(), deepest: 0.0, fastest: 0.0 };
    while world.state().time < seconds {
        let report = world.step()?;
        let drift = report.fluid.volume * rho / report.fluid.mass - 1.0;
        tell(report.t, drift);
        course.drift.push((report.t, drift));
        course.fastest = course.fastest.max(report.max_speed);
        let water = world.state().fluid.water().expect("the fluid is water");
        for &x in &water.particles.position {
            let beyond = (grid.origin - x).max(x - grid.upper()).max_element();
            let inside = solids.iter().map(|(distance, pose)| -distance.at(pose.invert(x))).fold(beyond, f64::max);
            course.deepest = course.deepest.max(inside / grid.dx);
        }
    }
    Ok(course)
}

//! \[ZB17, §8, stability assessment\]: a dam breaks against a light and stiff beam, with weaker and stronger coupling.
//!
//! The scene is `scenes/papers/zb17/stability.toml`; a copy is left beside the results. The paper does not tell its numbers, only
//! that the body was stiff and light, gravity high and steps long. Here the beam hangs from above, and is so stiff that it should
//! hardly move. *Weak* takes the beam for scripted and moves it after the solve; *damping-only* leaves elasticity out of the solve, as
//! methods before \[ZB17\] did, so that buoyancy lifts in every step what elasticity has to pull back in the next; *strong* is
//! what Bathtub does.

use crate::exit::{Exit, Failure};
use crate::reproduce::plot::{PlotAxis, Scale, Series};
use crate::reproduce::{Claim, Experiment, Plot, Report, Row, Size, Values};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::world::World;
use bathtub_output::atomic;
use bathtub_scene::{LoadOptions, Scene, load};
use std::path::Path;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "zb17/stability",
    summary: "a light and stiff beam with weak, damping-only and strong coupling [ZB17, stability]",
    run,
};

const SCENE: &str = include_str!("../../../scenes/papers/zb17/stability.toml");

/// A run that fails: a vertex is this many times as fast as what falls through the whole tank.
const EXPLODED: f64 = 50.0;

/// What is wrong of a stiff beam: its centre rises by more than its thickness, or it is stretched beyond this.
const TORN: f64 = 2.0;

/// What is fine: it rises by less than half of its thickness, and is stretched by less than this.
const FINE: f64 = 0.1;

/// What a run should come to.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    /// It breaks down.
    Failure,
    /// It ends, with a result that cannot be.
    Wrong,
    /// It ends well.
    Fine,
}

struct Case {
    name: &'static str,
    /// What it changes in the scene.
    set: &'static [&'static str],
    expected: Expected,
}

const CASES: [Case; 5] = [
    Case { name: "weak", set: &["coupling.scheme=weak"], expected: Expected::Failure },
    Case { name: "damping only", set: &["coupling.scheme=damping-only"], expected: Expected::Wrong },
    Case { name: "strong", set: &[], expected: Expected::Fine },
    Case { name: "strong, more damping", set: &["elastic.beam.damping.stiffness=1e-4"], expected: Expected::Fine },
    Case { name: "strong, no damping", set: &["elastic.beam.damping.stiffness=0"], expected: Expected::Fine },
];

/// What became of the beam.
#[derive(Clone, Debug, Default)]
struct Course {
    /// Frames done, and of how many.
    frames: [u64; 2],
    /// Thickness of the beam, m.
    thickness: f64,
    /// How far its centre rose at most, m.
    rise: f64,
    /// How much an edge of a tetrahedron was longer or shorter than at rest at most, relative.
    strain: f64,
    /// Fastest vertex, m/s.
    speed: f64,
    /// Time, s, and height of the centre, m.
    heights: Vec<(f64, f64)>,
    /// Why it ended early.
    error: Option<String>,
}

fn run(_: Size) -> Result<Report, Failure> {
    let directory = Path::new("out/reproduce/zb17");
    std::fs::create_dir_all(directory).map_err(atomic::FileError::new("create", directory))?;
    let path = directory.join("stability.toml");
    atomic::write_bytes(&path, SCENE.as_bytes())?;
    let mut found = Vec::new();
    for case in &CASES {
        let set = case.set.iter().map(|set| (*set).to_owned()).collect();
        found.push((case, follow(&load(&path, &LoadOptions { set, ..LoadOptions::default() })?)?));
    }
    let row = |(case, course): &(&Case, Course)| Row {
        case: case.name.into(),
        reference: Values::default(),
        ours: Values(vec![
            ("frames", course.frames[0] as f64),
            ("rise", course.rise),
            ("strain", course.strain),
            ("speed", course.speed),
        ]),
    };
    Ok(Report {
        name: EXPERIMENT.name,
        rows: found.iter().map(row).collect(),
        claims: found.iter().map(|(case, course)| claim(case, course)).collect(),
        plot: Some(plot(&found)),
        picture: None,
    })
}

/// Run a scene of one elastic body to its end, or as far as it goes.
fn follow(scene: &Scene) -> Result<Course, Failure> {
    let params = scene.params.clone();
    let (body, grid) = (params.elastic[0].clone(), params.grid);
    let FluidParams::Water(water) = &params.fluid else { unreachable!("a dam of water") };
    let fall = (2.0 * water.gravity.length() * (grid.upper() - grid.origin).y).sqrt();
    let mut world = World::new(params).map_err(|e| Failure::new(Exit::Numerical, e.to_string()))?;
    let mut course = Course { thickness: body.rest.bounds().size().min_element(), ..Course::default() };
    course.frames = [0, scene.frames()];
    let masses = body.body([false; 3]).expect("the world has taken it").masses().to_vec();
    let height = |world: &World| {
        let positions = &world.state().solids.elastic[0].positions;
        masses.iter().zip(positions).map(|(m, x)| m * x.y).sum::<f64>() / masses.iter().sum::<f64>()
    };
    let start = height(&world);
    course.heights.push((0.0, start));
    while world.state().frame < course.frames[1] {
        let error = world.step().err().map(|error| error.to_string());
        let state = &world.state().solids.elastic[0];
        course.heights.push((world.state().time, height(&world)));
        course.rise = course.rise.max(height(&world) - start);
        course.speed = state.velocities.iter().map(|v| v.length()).fold(course.speed, f64::max);
        for corners in &body.rest.tetrahedra {
            for (i, &a) in corners.iter().enumerate() {
                for &b in &corners[..i] {
                    let [now, rest] =
                        [&state.positions, &body.rest.vertices].map(|x| x[a as usize].distance(x[b as usize]));
                    let strain = (now / rest - 1.0).abs();
                    course.strain = course.strain.max(strain);
                }
            }
        }
        course.frames[0] = world.state().frame;
        let exploded = || format!("a vertex is faster than {:.0} m/s", EXPLODED * fall);
        course.error = error.or_else(|| (course.speed > EXPLODED * fall).then(exploded));
        if course.error.is_some() {
            break;
        }
    }
    Ok(course)
}

fn claim(case: &Case, course: &Course) -> Claim {
    let [done, all] = course.frames;
    let Course { rise, strain, thickness, .. } = *course;
    let thick = rise / thickness;
    let ended = course.error.is_none() && done == all;
    match case.expected {
        Expected::Failure => {
            let why = course.error.as_deref().unwrap_or("nothing went wrong");
            Claim { claim: format!("{}: fails, after {done} of {all} frames: {why}", case.name), holds: !ended }
        }
        Expected::Wrong => Claim {
            claim: format!(
                "{}: ends, but rises by {thick:.2} of its thickness, more than 1, or is stretched by {strain:.2}, more than {TORN}",
                case.name
            ),
            holds: ended && (thick > 1.0 || strain > TORN),
        },
        Expected::Fine => Claim {
            claim: format!(
                "{}: ends, rises by {thick:.2} of its thickness, at most 0.5, and is stretched by {strain:.3}, at most {FINE}",
                case.name
            ),
            holds: ended && thick <= 0.5 && strain <= FINE,
        },
    }
}

fn plot(found: &[(&Case, Course)]) -> Plot {
    let series = found.iter().map(|(case, course)| Series {
        name: case.name.into(),
        points: course.heights.clone(),
        reference: Vec::new(),
    });
    Plot {
        title: "A light and stiff beam in a breaking dam".into(),
        subtitle: "height of its centre, which the beam is stiff enough to keep".into(),
        x: PlotAxis { name: "time, s".into(), scale: Scale::Linear },
        y: PlotAxis { name: "height, m".into(), scale: Scale::Linear },
        series: series.collect(),
        guides: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_fail_when_they_should() {
        let course = |frames: u64, rise: f64, strain: f64, error: Option<&str>| Course {
            frames: [frames, 10],
            thickness: 0.1,
            rise,
            strain,
            error: error.map(str::to_owned),
            ..Course::default()
        };
        let holds = |expected: Expected, course: &Course| claim(&Case { expected, ..CASES[0] }, course).holds;
        let (fine, high) = (course(10, 0.01, 0.01, None), course(10, 0.11, 0.01, None));
        let (torn, broken) = (course(10, 0.0, 2.1, None), course(4, 0.0, 0.0, Some("NaN")));
        let all = |expected| [&fine, &high, &torn, &broken].map(|course| holds(expected, course));
        assert_eq!(all(Expected::Fine), [true, false, false, false]);
        assert_eq!(all(Expected::Wrong), [false, true, true, false]);
        assert_eq!(all(Expected::Failure), [false, false, false, true]);
    }
}

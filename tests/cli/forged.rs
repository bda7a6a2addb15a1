//! Rows 38 and 39: checkpoints whose checksums are right and whose content is not. None of them may start a step.

use crate::support::{Answer, Place};
use bathtub_engine::fluid::FluidState;
use bathtub_engine::fluid::smoke::SmokeState;
use bathtub_engine::fluid::water::{Bubble, WaterState};
use bathtub_engine::grid::Grid;
use bathtub_engine::world::State;
use bathtub_output::checkpoint::{self, Checkpoint, Identity};
use glam::{DQuat, DVec3};
use std::fs;
use std::time::{Duration, Instant};

/// Water with a bubble, a rigid and an elastic body.
const SCENE: &str = "\
[grid]
cells = [8, 10, 8]
dx = 0.1
[time]
frames = 2
[water]
bubbles = \"on\"
[[liquid]]
level = 0.7
[[bubble]]
shape.sphere.radius = 0.15
position = [0.15, 0.3, 0.15]
[[body]]
name = \"ball\"
shape.sphere.radius = 0.12
position = [-0.2, 0.5, 0]
density = 300
[[elastic]]
name = \"cube\"
shape.box.size = [0.15, 0.15, 0.15]
position = [0.15, 0.85, -0.15]
density = 500
youngs_modulus = 1e5
[output]
volumes = false
meshes = false
";

/// A run of [`SCENE`] and what it left.
struct Run {
    place: Place,
    grid: Grid,
    identity: Identity,
    checkpoint: Checkpoint,
}

impl Run {
    fn new() -> Self {
        let place = Place::new();
        let path = place.write("s.toml", SCENE);
        place.bathtub(&["run", "s.toml", "--no-preview", "-q", "--out", "run", "--frames", "0..1"]).succeeds();
        let scene = bathtub_scene::load(&path, &Default::default()).unwrap();
        let identity = Identity {
            build: env!("CARGO_PKG_VERSION").into(),
            scene_hash: *scene.hash.as_bytes(),
            thread_policy: "deterministic".into(),
        };
        let latest = checkpoint::latest_valid(&place.path("run/checkpoints"), &identity).unwrap();
        Self { place, grid: scene.params.grid, identity, checkpoint: latest.checkpoint }
    }

    /// Resume from a state with right checksums.
    fn resume(&self, step: u64, sections: Vec<(String, Vec<u8>)>) -> Answer {
        let directory = self.place.path("run/checkpoints");
        fs::remove_dir_all(&directory).unwrap();
        fs::create_dir(&directory).unwrap();
        let forged = Checkpoint { identity: self.identity.clone(), step, sections };
        checkpoint::save(&directory, &forged).unwrap();
        self.place.bathtub(&["resume", "run", "--no-preview", "-q"])
    }

    fn state(&self) -> State {
        checkpoint::from_sections(&self.checkpoint.sections, &self.grid).unwrap()
    }
}

fn water(state: &mut State) -> &mut WaterState {
    match &mut state.fluid.content {
        FluidState::Water(water) => water,
        FluidState::Smoke(_) => unreachable!(),
    }
}

/// A change to a state, and what the message must name.
type Forgery = (&'static str, fn(&mut State));

const FORGERIES: &[Forgery] = &[
    ("clock", |s| s.time = 1e300),
    ("clock", |s| s.time = -1e300),
    ("clock", |s| s.time = f64::NAN),
    ("clock", |s| s.time += 0.1),
    ("clock", |s| s.frame = 1_000_000_000_000),
    ("velocity", |s| s.fluid.velocity.axes[0][7] = f64::NAN),
    ("velocity", |s| s.fluid.velocity.axes[2][0] = f64::INFINITY),
    ("\"velocity\"", |s| s.fluid.velocity.axes[1].truncate(5)),
    ("pressure", |s| s.fluid.pressure.data[3] = f64::NAN),
    ("\"pressure\"", |s| s.fluid.pressure.data.clear()),
    ("smoke, but the scene has water", |s| {
        let (density, temperature) = (s.fluid.pressure.clone(), s.fluid.pressure.clone());
        s.fluid.content = FluidState::Smoke(SmokeState { density, temperature });
    }),
    ("particle position", |s| water(s).particles.position[0].y = f64::NAN),
    ("particle velocity", |s| water(s).particles.velocity[0].y = f64::NEG_INFINITY),
    ("outside the domain", |s| water(s).particles.position[0] = DVec3::splat(1e300)),
    ("outside the domain", |s| water(s).particles.position[0] = DVec3::splat(-9.0)),
    ("\"particles\"", |s| water(s).particles.velocity.truncate(3)),
    ("gradients", |s| water(s).particles.affine.clear()),
    ("fluid", |s| water(s).particles.affine[1][1].x = f64::NAN),
    ("fluid", |s| water(s).distance.data[0] = f64::NAN),
    ("fluid", |s| water(s).drift.axes[1][3] = f64::NAN),
    ("banked", |s| water(s).bank = u64::MAX),
    ("banked", |s| water(s).emitted = u64::MAX),
    ("\"bubbles\"", |s| water(s).bubbles[0].cells.clear()),
    ("\"bubbles\"", |s| water(s).bubbles[0].cells.push(u32::MAX)),
    ("bubbles", |s| water(s).bubbles[0].cells.insert(0, 639)),
    ("bubbles", |s| water(s).bubbles[0].seen = f64::NAN),
    ("bubbles", |s| water(s).bubbles[0].air = -1.0),
    ("bubbles", |s| {
        let twice: Vec<Bubble> = water(s).bubbles.clone();
        water(s).bubbles.extend(twice);
    }),
    ("bodies: 0 of them, the scene has 1", |s| s.solids.rigid.bodies.clear()),
    ("bodies: 2 of them, the scene has 1", |s| {
        let twin = s.solids.rigid.bodies[0].clone();
        s.solids.rigid.bodies.push(twin);
    }),
    ("bodies", |s| s.solids.rigid.bodies[0].position.x = f64::NAN),
    ("bodies", |s| s.solids.rigid.bodies[0].velocity.x = f64::INFINITY),
    ("bodies", |s| s.solids.rigid.bodies[0].rotation = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0)),
    ("bodies", |s| s.solids.rigid.bodies[0].position.y = 1e300),
    ("contacts of another scene", |s| {
        let mut other = s.solids.rigid.bodies.clone();
        s.solids.rigid = Default::default();
        s.solids.rigid.bodies.append(&mut other);
    }),
    ("forces on bodies", |s| s.solids.rigid_force.clear()),
    ("forces", |s| s.solids.rigid_force[0][1].z = f64::NAN),
    ("elastic bodies: 0 of them", |s| s.solids.elastic.clear()),
    ("elastic bodies", |s| s.solids.elastic[0].positions.truncate(4)),
    ("elastic bodies", |s| s.solids.elastic[0].velocities.push(DVec3::ZERO)),
    ("elastic bodies", |s| s.solids.elastic[0].positions[2].z = f64::NAN),
    ("bodies", |s| s.solids.elastic[0].positions[2].z = 1e200),
    ("forces on elastic bodies", |s| s.solids.elastic_force[0].truncate(1)),
    ("forces on elastic bodies", |s| s.solids.elastic_force.clear()),
];

#[test]
fn a_state_that_cannot_be_one_of_the_scene_is_refused_at_once() {
    let run = Run::new();
    for (n, (named, forge)) in FORGERIES.iter().enumerate() {
        let mut state = run.state();
        forge(&mut state);
        let begun = Instant::now();
        let answer = run.resume(state.step, checkpoint::to_sections(&state));
        answer.refuses(8, &["checkpoint_", named]);
        assert!(!answer.stderr.contains("bug"), "number {n}: {}", answer.stderr);
        assert!(begun.elapsed() < Duration::from_secs(10), "number {n}: refused before any step");
    }
    // The same way, but not forged.
    run.resume(run.checkpoint.step, run.checkpoint.sections.clone()).succeeds();
}

/// Counters that contradict each other, sections of another kind of fluid, and what is no state at all.
#[test]
fn sections_that_do_not_belong_together_are_refused() {
    let run = Run::new();
    let sections = &run.checkpoint.sections;
    run.resume(run.checkpoint.step + 7, sections.clone()).refuses(8, &["\"clock\" has step"]);
    for name in ["clock", "velocity", "particles", "distance", "drift", "bubbles", "counts", "bodies", "elastic"] {
        let without = sections.iter().filter(|(n, _)| n != name).cloned().collect();
        run.resume(run.checkpoint.step, without).refuses(8, &["\" is missing"]);
        for content in [vec![], vec![0xff; 40], vec![0; 1000]] {
            let mut other = sections.clone();
            other.iter_mut().filter(|(n, _)| n == name).for_each(|(_, bytes)| bytes.clone_from(&content));
            let answer = run.resume(run.checkpoint.step, other);
            assert_eq!(answer.code, Some(8), "{name} {content:?}: {}", answer.stderr);
        }
    }
}

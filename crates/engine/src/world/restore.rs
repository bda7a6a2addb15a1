//! Continuing from a state that comes from outside: it may be of another scene, or be made up.
//!
//! What the step takes for granted of a state is checked here, once: the shape of every field and list, numbers that are
//! numbers, a clock that goes with the frames, particles inside the domain, bubbles of cells that there are. Rapier's memory of
//! contacts is opaque: only its size can be compared.

use super::{State, World};
use crate::fluid::water::{Bubble, Bubbles, Transfer, WaterParams, WaterState};
use crate::fluid::{FluidParams, FluidState};
use crate::grid::{Axis, Grid};
use crate::solid::SolidState;
use glam::DVec3;
use rayon::prelude::*;

/// Why a state is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {problem}")]
pub struct StateError {
    /// Which part of it.
    pub part: &'static str,
    /// What is wrong with that.
    pub problem: String,
}

/// Frames end within this part of a frame of their time: times are sums of steps.
/// A choice: far above the round-off of such sums, far below a frame.
const CLOCK_TOLERANCE: f64 = 1e-6;

/// Nothing that takes part is farther from the domain than this many times its size: bodies that leave are taken out.
/// A choice: a guard against numbers that are none of this scene; places that far are still known to 1e-10 of its size.
const FARTHEST: f64 = 1e6;

/// Counters beyond this were not counted.
/// Up to twice as many f64 counts one by one.
const MOST_COUNTED: u64 = 1 << 52;

impl World {
    /// Continue from a state of the same scene: openings and surfaces are those of its time. One that cannot be of this scene is refused, and
    /// nothing changes.
    pub fn restore(&mut self, state: State) -> Result<(), StateError> {
        self.check(&state)?;
        let families = self.solids.families.iter_mut().zip(&state.solids.families);
        let refused: Option<String> = families.map(|((family, _), state)| family.restore(state)).find_map(Result::err);
        if let Some(problem) = refused {
            self.solids.restore(&self.state.solids);
            return refuse("families", problem);
        }
        self.state = state;
        self.return_to_state();
        Ok(())
    }

    /// Whether the step can go on from `state`: it has the shape of the current one, and values that make sense.
    fn check(&self, state: &State) -> Result<(), StateError> {
        let (grid, here) = (&self.params.grid, &self.state);
        check_clock(state, self.params.time.fps)?;
        let shapes = |state: &State| (state.fluid.velocity.dims, state.fluid.pressure.dims);
        let lengths =
            |state: &State| (state.fluid.velocity.axes.each_ref().map(Vec::len), state.fluid.pressure.data.len());
        ensure("velocity and pressure", shapes(state) == shapes(here) && lengths(state) == lengths(here), || {
            format!("of {:?} cells, the scene has {:?}", state.fluid.velocity.dims, grid.dims)
        })?;
        match (&state.fluid.content, &self.params.fluid) {
            (FluidState::Smoke(smoke), FluidParams::Smoke(_)) => {
                let whole = [&smoke.density, &smoke.temperature].iter().all(|f| fits(f.dims, f.data.len(), grid));
                ensure("smoke", whole, || format!("not of {:?} cells", grid.dims))?;
            }
            (FluidState::Water(water), FluidParams::Water(params)) => {
                check_water(water, params, grid)?;
            }
            (FluidState::Smoke(_), _) => return refuse("fluid", "smoke, but the scene has water".into()),
            (FluidState::Water(_), _) => return refuse("fluid", "water, but the scene has smoke".into()),
        }
        self.check_solids(&state.solids)?;
        if let Some(part) = state.non_number() {
            return refuse(part, "a value that is no number".into());
        }
        let places = state.solids.rigid.bodies.iter().map(|body| (body.active, body.position));
        let vertices = state.solids.elastic.iter().flat_map(|body| body.positions.iter().map(|&x| (true, x)));
        let size = (grid.upper() - grid.origin).length();
        let is_far = |&(active, x): &(bool, DVec3)| active && x.distance(grid.origin) > FARTHEST * size;
        ensure("bodies", !places.chain(vertices).any(|place| is_far(&place)), || {
            format!("one is farther than {:.3e} m from the domain", FARTHEST * size)
        })
    }

    /// Whether there are as many of everything as the scene has.
    fn check_solids(&self, state: &SolidState) -> Result<(), StateError> {
        let here = &self.state.solids;
        let [found, expected] = [state, here].map(|state| state.rigid.bodies.len());
        ensure("bodies", found == expected, || format!("{found} of them, the scene has {expected}"))?;
        ensure("bodies", state.rigid.resembles(&here.rigid), || "contacts of another scene".into())?;
        ensure("forces on bodies", state.rigid_force.len() == expected, || {
            format!("{} of them, the scene has {expected} bodies", state.rigid_force.len())
        })?;
        let [found, expected] = [state, here].map(|state| state.elastic.len());
        ensure("elastic bodies", found == expected, || format!("{found} of them, the scene has {expected}"))?;
        let found: Vec<_> = state.elastic.iter().map(|e| [e.positions.len(), e.velocities.len()]).collect();
        let expected: Vec<_> = here.elastic.iter().map(|e| [e.positions.len(), e.velocities.len()]).collect();
        ensure("elastic bodies", found == expected, || format!("{found:?} vertices, the scene has {expected:?}"))?;
        let lengths = |state: &SolidState| state.elastic_force.iter().map(Vec::len).collect::<Vec<_>>();
        let (found, expected) = (lengths(state), lengths(here));
        ensure("forces on elastic bodies", found == expected, || {
            format!("on {found:?} vertices, the scene has {expected:?}")
        })?;
        let lengths = |state: &SolidState| state.families.iter().map(Vec::len).collect::<Vec<_>>();
        let (found, expected) = (lengths(state), lengths(here));
        ensure("families", found == expected, || format!("{found:?} numbers, the scene has {expected:?}"))
    }
}

impl State {
    /// A part with a value that is no number, if there is one: all that [`State::non_finite`] looks at after a step, and
    /// what a step leaves finite or fails.
    fn non_number(&self) -> Option<&'static str> {
        let finite = |data: &[f64]| data.par_iter().all(|value| value.is_finite());
        let all = |vectors: &[DVec3]| vectors.par_iter().all(|v| v.is_finite());
        let of_fluid = match &self.fluid.content {
            FluidState::Smoke(_) => true,
            FluidState::Water(water) => {
                finite(&water.distance.data)
                    && water.drift.axes.iter().all(|axis| finite(axis))
                    && water.particles.affine.par_iter().flatten().all(|v| v.is_finite())
            }
        };
        let SolidState { rigid, rigid_force, elastic, elastic_force, families } = &self.solids;
        let elastic = elastic.iter().all(|body| all(&body.positions) && all(&body.velocities));
        let forces = rigid_force.iter().flatten().chain(elastic_force.iter().flatten()).all(|force| force.is_finite());
        let parts = [
            ("pressure", finite(&self.fluid.pressure.data)),
            ("fluid", of_fluid),
            ("bodies", rigid.is_finite()),
            ("elastic bodies", elastic),
            ("forces", forces),
            ("families", families.iter().all(|family| finite(family))),
        ];
        self.non_finite().or_else(|| parts.into_iter().find_map(|(part, finite)| (!finite).then_some(part)))
    }
}

/// Time, step and frame belong together: a frame is one step or more, and ends at its time.
fn check_clock(state: &State, fps: f64) -> Result<(), StateError> {
    let (frames, frame) = (state.time * fps, state.frame as f64);
    let within = frames >= frame - CLOCK_TOLERANCE && frames <= frame + 1.0 + CLOCK_TOLERANCE;
    ensure("clock", within && state.step >= state.frame && state.step < MOST_COUNTED, || {
        format!("frame {} and step {} at {:e} s do not belong together", state.frame, state.step, state.time)
    })
}

/// Fields of the grid's shape, particles in the domain with all they carry, bubbles where the scene has them.
fn check_water(water: &WaterState, params: &WaterParams, grid: &Grid) -> Result<(), StateError> {
    let lengths = water.drift.axes.each_ref().map(Vec::len);
    let faces = Axis::ALL.map(|axis| grid.face_dims(axis).iter().product::<usize>());
    let whole =
        fits(water.distance.dims, water.distance.data.len(), grid) && water.drift.dims == grid.dims && lengths == faces;
    ensure("water", whole, || format!("not of {:?} cells", grid.dims))?;
    let particles = &water.particles;
    let (n, gradients) = (particles.len(), particles.affine.len());
    let complete = particles.velocity.len() == n && gradients == if params.transfer == Transfer::Apic { n } else { 0 };
    ensure("particles", complete, || {
        format!("{n} positions, {} velocities and {gradients} gradients", particles.velocity.len())
    })?;
    // A number that is none is named as such, with the others.
    // What a solid pushes out of the domain at the start leaves it in the first step.
    let [low, high] = [grid.origin - grid.dx, grid.upper() + grid.dx];
    let inside = |x: &DVec3| x.is_nan() || (x.cmpge(low) & x.cmple(high)).all();
    let strays = particles.position.par_iter().filter(|x| !inside(x)).count();
    ensure("particles", strays == 0, || format!("{strays} of {n} are outside the domain"))?;
    let counts = [water.bank, water.emitted, water.drained];
    ensure("particles", counts.iter().all(|&n| n < MOST_COUNTED), || {
        format!("{counts:?} were banked, let in and drained")
    })?;
    ensure("bubbles", params.bubbles != Bubbles::Off || water.bubbles.is_empty(), || {
        format!("{} of them, the scene has none", water.bubbles.len())
    })?;
    let mut seen = vec![false; if water.bubbles.is_empty() { 0 } else { grid.cells() }];
    let mut is_new = |&cell: &u32| seen.get_mut(cell as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    let mut is_whole = |bubble: &Bubble| {
        let volumes = [bubble.air, bubble.seen, bubble.room];
        !bubble.cells.is_empty()
            && bubble.cells.is_sorted()
            && bubble.cells.iter().all(&mut is_new)
            && volumes.iter().all(|volume| volume.is_finite() && *volume >= 0.0)
    };
    match water.bubbles.iter().position(|bubble| !is_whole(bubble)) {
        Some(n) => {
            refuse("bubbles", format!("number {n} has no cells, cells of others or beyond the grid, or no volume"))
        }
        None => Ok(()),
    }
}

fn fits(dims: [usize; 3], length: usize, grid: &Grid) -> bool {
    dims == grid.dims && length == grid.cells()
}

fn ensure(part: &'static str, is_right: bool, problem: impl FnOnce() -> String) -> Result<(), StateError> {
    if is_right { Ok(()) } else { refuse(part, problem()) }
}

fn refuse(part: &'static str, problem: String) -> Result<(), StateError> {
    Err(StateError { part, problem })
}

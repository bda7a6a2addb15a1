//! The engine's state as sections of a checkpoint, and its hash.

use super::container::{Checkpoint, CheckpointError};
use bathtub_engine::fluid::smoke::SmokeState;
use bathtub_engine::fluid::water::{Bubble, Particles, WaterState};
use bathtub_engine::fluid::{FluidState, GridState};
use bathtub_engine::grid::{Axis, CellField, FaceField, Grid};
use bathtub_engine::solid::SolidState;
use bathtub_engine::world::State;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufWriter, Write};

/// One section per field; `clock` holds the counters.
pub fn to_sections(state: &State) -> Vec<(String, Vec<u8>)> {
    // Taken apart completely, so that a new field of the state cannot be forgotten here.
    let State { time, step, frame, fluid, solids } = state;
    let GridState { velocity, pressure, content } = fluid;
    let SolidState { rigid, rigid_force, elastic, elastic_force, families } = solids;
    let mut sections =
        vec![section("clock", &(time, step, frame)), section("velocity", velocity), section("pressure", pressure)];
    sections.push(section("bodies", &(rigid, rigid_force)));
    sections.push(section("elastic", &(elastic, elastic_force)));
    sections.push(section("families", families));
    match content {
        FluidState::Smoke(SmokeState { density, temperature }) => {
            sections.extend([section("density", density), section("temperature", temperature)]);
        }
        FluidState::Water(WaterState { particles, distance, drift, bubbles, bank, emitted, drained }) => sections
            .extend([
                section("particles", particles),
                section("distance", distance),
                section("drift", drift),
                section("bubbles", bubbles),
                section("counts", &(bank, emitted, drained)),
            ]),
    }
    sections
}

/// The state in a checkpoint, whose header must agree with it.
pub fn state_of(checkpoint: &Checkpoint, grid: &Grid) -> Result<State, CheckpointError> {
    let state = from_sections(&checkpoint.sections, grid)?;
    if state.step != checkpoint.step {
        let problem = format!("has step {}, the header has {}", state.step, checkpoint.step);
        return Err(CheckpointError::Content { name: "clock".into(), problem });
    }
    Ok(state)
}

/// The state that [`to_sections`] took apart; every field must have the shape of `grid`.
pub fn from_sections(sections: &[(String, Vec<u8>)], grid: &Grid) -> Result<State, CheckpointError> {
    let (time, step, frame): (f64, u64, u64) = decode(sections, "clock")?;
    let cells = |name: &str| -> Result<CellField, CheckpointError> {
        let field: CellField = decode(sections, name)?;
        check_shape(name, field.dims == grid.dims && field.data.len() == grid.cells(), field.dims, grid)?;
        Ok(field)
    };
    let faces = |name: &str| -> Result<FaceField, CheckpointError> {
        let field: FaceField = decode(sections, name)?;
        let size = |a: Axis| grid.face_dims(a).iter().product::<usize>();
        let whole = Axis::ALL.iter().all(|&a| field.axes[a.index()].len() == size(a));
        check_shape(name, field.dims == grid.dims && whole, field.dims, grid)?;
        Ok(field)
    };
    let (velocity, pressure) = (faces("velocity")?, cells("pressure")?);
    let is_water = sections.iter().any(|(name, _)| name == "particles");
    let content = match is_water {
        false => FluidState::Smoke(SmokeState { density: cells("density")?, temperature: cells("temperature")? }),
        true => {
            let (bank, emitted, drained) = decode(sections, "counts")?;
            let (distance, drift) = (cells("distance")?, faces("drift")?);
            let (particles, bubbles) = (particles(sections)?, bubbles(sections, grid)?);
            FluidState::Water(WaterState { particles, distance, drift, bubbles, bank, emitted, drained })
        }
    };
    let (rigid, rigid_force) = decode(sections, "bodies")?;
    let (elastic, elastic_force) = decode(sections, "elastic")?;
    let solids = SolidState { rigid, rigid_force, elastic, elastic_force, families: decode(sections, "families")? };
    Ok(State { time, step, frame, fluid: GridState { velocity, pressure, content }, solids })
}

/// Particles with a velocity each, and with gradients each or none.
fn particles(sections: &[(String, Vec<u8>)]) -> Result<Particles, CheckpointError> {
    let particles: Particles = decode(sections, "particles")?;
    let (n, affine) = (particles.len(), particles.affine.len());
    if particles.velocity.len() == n && (affine == n || affine == 0) {
        return Ok(particles);
    }
    let problem = format!("has {n} positions, {} velocities and {affine} gradients", particles.velocity.len());
    Err(CheckpointError::Content { name: "particles".into(), problem })
}

/// Bubbles of cells that there are, at least one each.
fn bubbles(sections: &[(String, Vec<u8>)], grid: &Grid) -> Result<Vec<Bubble>, CheckpointError> {
    let bubbles: Vec<Bubble> = decode(sections, "bubbles")?;
    let is_whole = |bubble: &Bubble| bubble.cells.last().is_some_and(|&cell| (cell as usize) < grid.cells());
    match bubbles.iter().position(|bubble| !is_whole(bubble)) {
        None => Ok(bubbles),
        Some(n) => {
            let problem = format!("has a bubble, number {n}, with no cells or with cells beyond the grid");
            Err(CheckpointError::Content { name: "bubbles".into(), problem })
        }
    }
}

/// BLAKE3 of everything that changes from step to step, in hexadecimal: equal hashes mean equal bits.
pub fn state_hash(state: &State) -> String {
    let hasher = BufWriter::with_capacity(1 << 16, blake3::Hasher::new());
    let mut hasher = postcard::to_io(state, hasher).expect("a state of plain values always encodes");
    hasher.flush().expect("hashing cannot fail");
    hasher.get_ref().finalize().to_hex().to_string()
}

fn section(name: &str, value: &impl Serialize) -> (String, Vec<u8>) {
    (name.to_string(), postcard::to_stdvec(value).expect("a state of plain values always encodes"))
}

fn decode<T: DeserializeOwned>(sections: &[(String, Vec<u8>)], name: &str) -> Result<T, CheckpointError> {
    let problem = |problem: &str| CheckpointError::Content { name: name.into(), problem: problem.into() };
    let (_, bytes) = sections.iter().find(|(n, _)| n == name).ok_or_else(|| problem("is missing"))?;
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(problem("does not decode")),
    }
}

fn check_shape(name: &str, same: bool, found: [usize; 3], grid: &Grid) -> Result<(), CheckpointError> {
    let problem = || format!("has {found:?} cells, the scene's grid has {:?}", grid.dims);
    same.then_some(()).ok_or_else(|| CheckpointError::Content { name: name.into(), problem: problem() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathtub_engine::geometry::{Bounds, Pose, Shape};
    use bathtub_engine::solid::Interface;
    use bathtub_engine::solid::elastic::ElasticState;
    use bathtub_engine::solid::rigid::{Mass, RigidBody, RigidState, Rigids, Room};
    use glam::{DQuat, DVec3};

    fn grid() -> Grid {
        Grid::new([4, 5, 3], 0.1, DVec3::ZERO)
    }

    fn state() -> State {
        let mut n = 0.0f64;
        let mut next = || {
            n += 1.0;
            (n * 0.7).sin() * 1e-3
        };
        let mut cells = || CellField { dims: grid().dims, data: (0..grid().cells()).map(|_| next()).collect() };
        let (density, temperature, pressure) = (cells(), cells(), cells());
        let mut velocity = FaceField::new(&grid(), 0.0);
        velocity.axes.iter_mut().flatten().for_each(|v| *v = next());
        let content = FluidState::Smoke(SmokeState { density, temperature });
        State {
            time: 0.1 + 0.2,
            step: 17,
            frame: 3,
            fluid: GridState { velocity, pressure, content },
            solids: SolidState {
                rigid: bodies(),
                rigid_force: vec![[DVec3::X; 2]],
                elastic: vec![ElasticState {
                    positions: vec![DVec3::X, DVec3::Y],
                    velocities: vec![DVec3::Z; 2],
                    active: true,
                }],
                elastic_force: vec![vec![DVec3::Y, DVec3::Z]],
                families: vec![vec![0.1, -0.2]],
            },
        }
    }

    /// A ball above a floor.
    fn bodies() -> RigidState {
        let ball = RigidBody {
            name: "ball".into(),
            shape: Shape::Sphere { radius: 0.1 },
            interface: Interface::CutCells,
            mass: Mass::Density(300.0),
            pose: Pose { position: DVec3::splat(0.5), rotation: DQuat::IDENTITY },
            velocity: DVec3::X,
            spin: DVec3::Y,
            friction: 0.5,
            restitution: 0.2,
        };
        let bounds = Bounds { min: DVec3::ZERO, max: DVec3::ONE };
        let room = Room { bounds, dx: 0.1, closed: [[true; 2]; 3], flat: [false; 3], gravity: DVec3::NEG_Y, rho: 0.0 };
        Rigids::new(&[ball], &[], &[], room).unwrap().1
    }

    fn wet_state() -> State {
        let dry = state();
        let vectors = |n: usize| (0..n).map(|i| DVec3::new(i as f64, 0.1, -3.0)).collect::<Vec<_>>();
        let particles = Particles { position: vectors(7), velocity: vectors(7), affine: vec![[DVec3::X; 3]; 7] };
        let (distance, drift) = (dry.fluid.pressure.clone(), dry.fluid.velocity.clone());
        let bubbles = vec![Bubble { cells: vec![3, 17, 59], air: 0.003, seen: 0.0028, room: 0.0029 }];
        let content =
            FluidState::Water(WaterState { particles, distance, drift, bubbles, bank: 3, emitted: 5, drained: 8 });
        State { fluid: GridState { content, ..dry.fluid }, ..dry }
    }

    fn smoke(state: &mut State) -> &mut SmokeState {
        match &mut state.fluid.content {
            FluidState::Smoke(smoke) => smoke,
            FluidState::Water(_) => unreachable!(),
        }
    }

    #[test]
    fn a_state_survives_to_the_bit() {
        for state in [state(), wet_state()] {
            let back = from_sections(&to_sections(&state), &grid()).unwrap();
            assert_eq!(back, state);
            assert_eq!(state_hash(&back), state_hash(&state));
        }
    }

    #[test]
    fn particles_without_a_velocity_are_refused() {
        let mut state = wet_state();
        if let FluidState::Water(water) = &mut state.fluid.content {
            water.particles.velocity.pop();
        }
        let error = from_sections(&to_sections(&state), &grid()).unwrap_err().to_string();
        assert!(error.contains("7 positions, 6 velocities"), "{error}");
    }

    #[test]
    fn bubbles_beyond_the_grid_are_refused() {
        let mut state = wet_state();
        if let FluidState::Water(water) = &mut state.fluid.content {
            water.bubbles[0].cells.push(60);
        }
        let error = from_sections(&to_sections(&state), &grid()).unwrap_err().to_string();
        assert!(error.contains("number 0") && error.contains("beyond the grid"), "{error}");
    }

    #[test]
    fn the_hash_sees_the_last_bit_of_every_field() {
        let reference = state_hash(&state());
        let numbers: [fn(&mut State) -> &mut f64; 6] = [
            |s| &mut s.time,
            |s| &mut s.fluid.velocity.axes[2][7],
            |s| &mut smoke(s).density.data[59],
            |s| &mut smoke(s).temperature.data[0],
            |s| &mut s.fluid.pressure.data[30],
            |s| &mut s.solids.rigid.bodies[0].angular_momentum.y,
        ];
        for number in numbers {
            let mut other = state();
            let v = number(&mut other);
            *v = f64::from_bits(v.to_bits() ^ 1);
            assert_ne!(state_hash(&other), reference);
        }
        assert_ne!(state_hash(&State { frame: 4, ..state() }), reference);
    }

    #[test]
    fn another_resolution_or_a_missing_section_is_refused_by_name() {
        let finer = Grid::new([8, 5, 3], 0.1, DVec3::ZERO);
        let error = from_sections(&to_sections(&state()), &finer).unwrap_err().to_string();
        assert!(error.contains("velocity") && error.contains("[8, 5, 3]"), "{error}");
        let mut sections = to_sections(&state());
        sections.retain(|(name, _)| name != "pressure");
        assert!(from_sections(&sections, &grid()).unwrap_err().to_string().contains("\"pressure\" is missing"));
        let mut sections = to_sections(&state());
        let density = sections.iter_mut().find(|(name, _)| name == "density").unwrap();
        density.1.pop();
        assert!(from_sections(&sections, &grid()).unwrap_err().to_string().contains("\"density\" does not decode"));
    }
}

//! The world: one fluid, its solids, and the step that moves them.

mod error;
mod params;
mod restore;

use crate::coupling::Medium;
use crate::coupling::contact::{self, Solids};
use crate::coupling::elastic::ElasticCoupling;
use crate::coupling::immersed::{BodyImpulse, Immersed, Place};
use crate::coupling::incompatible::Pushing;
use crate::coupling::leaning;
use crate::coupling::rigid::RigidCoupling;
use crate::coupling::stop::Stops;
use crate::fluid::boundary::Boundary;
use crate::fluid::projection::{Projected, Projection};
use crate::fluid::water::{Particles, Way, extend};
use crate::fluid::{Fluid, FluidParams, FluidState};
use crate::geometry::{Bounds, TriMesh};
use crate::grid::{Axis, CellField, FaceField, Grid, unravel};
use crate::report::{self, Stages, StepReport};
use crate::solid::elastic::{ElasticBody, ElasticError, ElasticState};
use crate::solid::rigid::{LIGHT, MassProperties, RigidError, RigidEvent, RigidState, RigidWarning, Rigids};
pub use crate::solve::PressureSolver;
use crate::solve::{SolidTerms, SolveError, SolveInfo, Supports, WORST};
pub use error::{BodyError, Fastest, StepError};
use glam::DVec3;
pub use params::{Answering, PressureParams, TimeParams, WorldParams};
use rayon::prelude::*;
pub use restore::StateError;
use serde::{Deserialize, Serialize};

/// Elastic bodies slower than this part of their speed of sound squeeze nothing to nothing when they hit a wall.
const BEARABLE: f64 = 1.0 / 3.0;

/// Faster ones cross no more than this part of an element in a step.
const CROSSED: f64 = 0.5;

/// Edges of elements grow or shrink by no more than this part of themselves in a step.
const STRAINED: f64 = 0.2;

/// In so many rounds it is found out what bodies lean on while the fluid pushes; in three times as many, by and by; afterwards they only let go. And how
/// far, in cells, they may come nearer to what they do not lean on than they should.
const LEANING: usize = 4;
const SLACK: f64 = 1e-3;

/// Water presses elastic bodies no further than to this part of their volume.
const NOTHING: f64 = 0.02;

/// Everything that changes from step to step, and nothing else: what a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Time, s.
    pub time: f64,
    /// Steps done.
    pub step: u64,
    /// Frames completed: `time` is at or past `frame / fps`.
    pub frame: u64,
    /// Fluid velocity, m/s.
    pub velocity: FaceField,
    /// Pressure, Pa: the next solve starts from it.
    pub pressure: CellField,
    /// What the fluid carries.
    pub fluid: FluidState,
    /// Where the free bodies are and how they move.
    pub bodies: RigidState,
    /// The same of the elastic ones.
    pub elastic: Vec<ElasticState>,
    /// What the fluid did to the vertices of each of these in the last step, N, along axes that turn with the body.
    pub elastic_force: Vec<Vec<DVec3>>,
    /// What the fluid did to each of them in the last step: force, N, and torque about the centre of mass, N m.
    pub fluid_force: Vec<[DVec3; 2]>,
}

impl State {
    /// The name of a field with a value that is no number, if there is one.
    fn non_finite(&self) -> Option<&'static str> {
        let is_finite = |data: &[f64]| data.par_iter().all(|value| value.is_finite());
        let all = |vectors: &[DVec3]| vectors.par_iter().all(|v| v.is_finite());
        let fields = match &self.fluid {
            FluidState::Smoke(smoke) => {
                [("density", is_finite(&smoke.density.data)), ("temperature", is_finite(&smoke.temperature.data))]
            }
            FluidState::Water(water) => [
                ("particle position", all(&water.particles.position)),
                ("particle velocity", all(&water.particles.velocity)),
            ],
        };
        let velocity = ("velocity", self.velocity.axes.iter().all(|u| is_finite(u)));
        [velocity].into_iter().chain(fields).find_map(|(name, is_finite)| (!is_finite).then_some(name))
    }
}

/// A run in progress.
pub struct World {
    params: WorldParams,
    state: State,
    /// The state being computed; its arrays and those of `state` change places every step.
    next: State,
    rigids: Rigids,
    elastics: Vec<(String, ElasticBody)>,
    /// Kinetic energy with which each of these came to its place, J.
    arrived: Vec<f64>,
    immersed: Immersed,
    /// What light bodies lean on in this step.
    leaning: Supports,
    boundary: Boundary,
    fluid: Fluid,
    projection: Projection,
    clock: Stages,
}

impl World {
    /// The fluid as it is at the start, nothing emitted yet; bodies as their description says.
    pub fn new(params: WorldParams) -> Result<Self, BodyError> {
        let grid = params.grid;
        let first_dt = params.time.max_dt.min(1.0 / params.time.fps);
        let with_particles = matches!(params.fluid, FluidParams::Water(_));
        let (rigids, bodies) = params.rigids()?;
        let elastics = params.elastics()?;
        let place = |body: usize| place(&rigids, &bodies, body);
        let solids = (&params.obstacles[..], &params.bodies[..]);
        let immersed = Immersed::new(solids, place, &elastics, &grid, first_dt, with_particles);
        let mut boundary = immersed.boundary(&grid, params.walls);
        let mut projection = Projection::new(&grid, params.pressure.solver);
        projection.set_boundary(&grid, &boundary);
        let mut fluid = Fluid::new(&params.fluid, &grid, &params.walls);
        let keep_out = |way: Way, from: DVec3, to: DVec3| immersed.keep_out(&grid, way, from, to);
        let (mut velocity, mut pressure) = (FaceField::new(&grid, 0.0), CellField::new(&grid, 0.0));
        let content = fluid.initial(&grid, &boundary, &keep_out, &mut velocity);
        let body_velocity = |body: u32, at: DVec3| body_velocity(&immersed, (&rigids, &bodies), body as usize, at);
        if let Some(water) = content.water() {
            // Particles follow this velocity before the first step has made it keep volume: do it now. Should the
            // solve fail, the first step will say so.
            let (liquid, solve) = (Some(&water.distance), &params.pressure.params);
            projection.set_liquid(&grid, &boundary, &water.distance);
            projection.set_bubbles(&grid, &boundary, &water.distance, &water.bubbles);
            let medium = Medium { liquid, ..Medium::weightless(params.fluid.rho()) };
            let coupling = RigidCoupling::new(&grid, (medium, &velocity), &boundary, &immersed, (&rigids, &bodies));
            let mut pushed = coupling.pushed(|body| rigids.velocity(&bodies, body));
            for (n, (_, body)) in elastics.iter().enumerate() {
                pushed.extend(elastic_coupling(&grid, medium, &boundary, &immersed, (n, body)).pushed(body));
            }
            boundary.set_body_velocity(&grid, |_, _| DVec3::ZERO);
            boundary.impose(&mut velocity);
            let _ = projection.project(&boundary, liquid, &pushed, solve, &mut velocity, &mut pressure);
            boundary.set_body_velocity(&grid, body_velocity);
            let step = immersed.step(&grid, &boundary, 0.0, first_dt);
            extend(&step, &water.distance, &mut velocity);
            pressure.data.fill(0.0);
        }
        boundary.set_body_velocity(&grid, body_velocity);
        boundary.impose(&mut velocity);
        let fluid_force = vec![[DVec3::ZERO; 2]; rigids.len()];
        let elastic = elastics.iter().map(|(_, body)| body.state()).collect();
        let elastic_force = elastics.iter().map(|(_, body)| vec![DVec3::ZERO; body.positions().len()]).collect();
        let state = State {
            time: 0.0,
            step: 0,
            frame: 0,
            velocity,
            pressure,
            fluid: content,
            bodies,
            elastic,
            elastic_force,
            fluid_force,
        };
        let (next, clock, arrived) = (state.clone(), Stages::default(), vec![0.0; elastics.len()]);
        let leaning = Supports::default();
        let mut world = Self {
            params,
            state,
            next,
            rigids,
            elastics,
            arrived,
            immersed,
            leaning,
            boundary,
            fluid,
            projection,
            clock,
        };
        world.find_first_forces(first_dt);
        Ok(world)
    }

    /// What the fluid would do to the bodies in a first step of `dt` (s), contact apart: `predict` wants to know. Should the
    /// solve fail, the first step will say so.
    fn find_first_forces(&mut self, dt: f64) {
        if self.rigids.is_empty() && self.elastics.is_empty() {
            return;
        }
        self.next.clone_from(&self.state);
        let step = self.immersed.step(&self.params.grid, &self.boundary, 0.0, dt);
        self.fluid.predict(&step, (&mut self.next.velocity, &mut self.next.fluid));
        self.add_weight(dt);
        self.rigids.hold(&mut self.next.bodies);
        if self.predict_elastic(dt).is_ok() && self.couple(dt).is_ok() {
            self.state.fluid_force.clone_from(&self.next.fluid_force);
            self.state.elastic_force.clone_from(&self.next.elastic_force);
        }
        self.place_solids();
    }

    /// Put all solids where the state says they are.
    fn place_solids(&mut self) {
        for ((_, body), state) in self.elastics.iter_mut().zip(&self.state.elastic) {
            body.restore(state).expect("the state is that of this body");
        }
        self.immersed.place(|body| place(&self.rigids, &self.state.bodies, body), &self.elastics);
    }

    /// What was odd about the bodies at the start.
    pub fn warnings(&self) -> &[RigidWarning] {
        self.rigids.warnings()
    }

    /// What the run was started with.
    pub fn params(&self) -> &WorldParams {
        &self.params
    }

    /// The openings of the grid at the current time.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Milliseconds of the stages of the last step.
    pub(crate) fn stages(&self) -> Vec<(String, f64)> {
        self.clock.laps()
    }

    /// Volume that a particle stands for, m³; zero without particles.
    pub fn particle_volume(&self) -> f64 {
        self.params.fluid.particle_volume(&self.params.grid).unwrap_or(0.0)
    }

    /// Share of each cell that particles fill after the last step, if there are particles.
    pub(crate) fn filled(&self) -> Option<&CellField> {
        match &self.fluid {
            Fluid::Smoke(_) => None,
            Fluid::Water(water) => Some(water.filled()),
        }
    }

    /// What a checkpoint must hold.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The solids' surfaces in world space at the current time, with their names.
    pub fn surfaces(&self) -> Vec<(String, TriMesh)> {
        self.immersed.surfaces(self.state.time)
    }

    /// Advance by one step, at most to the next frame. After an error the state is the last good one.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        // On a worker thread, so that the many small loops of the solver need not be handed over one by one.
        rayon::scope(|_| {
            self.clock.restart();
            let dt = self.choose_dt()?;
            let events = self.move_solids(dt)?;
            self.advect(dt)?;
            self.predict(dt)?;
            let coupled = self.couple(dt)?;
            self.finish(dt)?;
            self.accept(dt, coupled, events)
        })
    }

    /// The longest step within the CFL limit that divides the rest of the frame evenly.
    fn choose_dt(&self) -> Result<f64, StepError> {
        let time = &self.params.time;
        let (speed, place) = self.fastest();
        let way = time.cfl * self.params.grid.dx;
        // What falls freely crosses u Δt + ½ g Δt².
        let fall = self.params.fluid.free_fall();
        let crossing =
            if fall > 0.0 { 2.0 * way / (speed + (speed * speed + 2.0 * fall * way).sqrt()) } else { way / speed };
        let limit = time.max_dt.min(crossing).min(self.squeezing());
        let rest = (self.state.frame + 1) as f64 / time.fps - self.state.time;
        // A rest within round-off of a whole number of steps is that number of steps.
        let dt = rest / (rest / limit - 1e-9).ceil().max(1.0);
        if dt < time.min_dt && limit < time.min_dt {
            let (step, gained) = (self.state.step + 1, fall * crossing);
            let (speed, place) = if gained > speed { (gained, Fastest::Falling) } else { (speed, place) };
            return Err(StepError::TimeStepCollapse { step, dt, limit: time.min_dt, speed, place });
        }
        Ok(dt)
    }

    /// The longest step in which soft bodies do not squeeze elements to nothing, s. What hits a wall at speed v is strained by v/c, c = √(E/ρ), if the
    /// step spreads the impact over many elements; if v is more than part of c, it must not cross elements in a step. And what is
    /// being strained is strained by so much in a step that the volume it pushes is about what its surface sweeps.
    fn squeezing(&self) -> f64 {
        let longest = |((_, body), state): (&(String, ElasticBody), &ElasticState)| {
            let fastest = state.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
            let beyond = fastest - BEARABLE * body.material().speed_of_sound();
            let crossing = if beyond > 0.0 { CROSSED * body.spacing() / beyond } else { f64::INFINITY };
            // Other ways to answer are there to be seen at the steps that they are known for.
            let is_strong = self.params.pressure.answering == Answering::Strong;
            if is_strong { crossing.min(STRAINED / body.rate_of_strain(state)) } else { crossing }
        };
        self.elastics.iter().zip(&self.state.elastic).map(longest).fold(f64::INFINITY, f64::min)
    }

    /// Put the solids where they are at the end of the step, and open or close the faces around them.
    fn move_solids(&mut self, dt: f64) -> Result<Vec<RigidEvent>, StepError> {
        let (grid, time, step) = (&self.params.grid, self.state.time, self.state.step + 1);
        let bodies = &mut self.next.bodies;
        bodies.clone_from(&self.state.bodies);
        let failed = |source: RigidError| StepError::Bodies { step, source: source.into() };
        let mut events = self.rigids.advance(bodies, time, dt).map_err(failed)?;
        let room = Bounds { min: grid.origin, max: grid.upper() };
        let stops = Stops { grid, walls: self.params.walls, immersed: &self.immersed, times: [time, time + dt] };
        let described = self.elastics.iter_mut().zip(&self.params.elastic).zip(&mut self.arrived);
        for ((((name, body), elastic), arrived), state) in described.zip(&self.state.elastic) {
            body.restore(state).expect("the state is that of this body");
            if !body.is_active() {
                continue;
            }
            let failed = |source| StepError::Bodies { step, source: BodyError::Elastic { name: name.clone(), source } };
            stops.advance(elastic, state, body).map_err(failed)?;
            *arrived = body.kinetic_energy();
            let [cells, limit] = Immersed::spread(grid, body);
            if body.leave(room) {
                events.push(RigidEvent::Left { body: name.clone(), position: body.centre() });
            } else if cells > limit {
                return Err(failed(ElasticError::Strewn { cells, limit }));
            }
        }
        if self.immersed.advance(grid, time, dt, |body| place(&self.rigids, bodies, body), &self.elastics) {
            self.boundary = self.immersed.boundary(grid, self.params.walls);
            self.projection.set_boundary(grid, &self.boundary);
            self.fluid.set_boundary(grid, &self.boundary);
        }
        self.clock.lap("solids");
        Ok(events)
    }

    /// Carry the fluid along with the divergence-free velocity of the last step.
    fn advect(&mut self, dt: f64) -> Result<(), StepError> {
        let Self { params, state, next, immersed, boundary, fluid, projection, clock, .. } = self;
        let step = immersed.step(&params.grid, boundary, state.time, dt);
        let keep_out = |way: Way, from: DVec3, to: DVec3| immersed.keep_out(&params.grid, way, from, to);
        let (now, next) = ((&state.velocity, &state.fluid), (&mut next.velocity, &mut next.fluid));
        fluid
            .advect(&step, (&keep_out, projection), now, next, clock)
            .map_err(|source| StepError::Pressure { step: state.step + 1, source })
    }

    /// Everything but pressure: sources and forces → u*; gravity, contact and joints → v*; elasticity.
    fn predict(&mut self, dt: f64) -> Result<(), StepError> {
        let time = self.state.time;
        let step = self.immersed.step(&self.params.grid, &self.boundary, time, dt);
        self.fluid.predict(&step, (&mut self.next.velocity, &mut self.next.fluid));
        self.add_weight(dt);
        // Contact answers what the fluid will do as well: about what it did in the last step. A block at the bottom of a pool
        // thus stays there. What light bodies do about it is known only with the pressure: they lean on what they touch.
        let forces: Vec<[DVec3; 2]> = self.state.fluid_force.iter().map(|force| force.map(|f| dt * f)).collect();
        let gain = self.params.fluid.uniform_gain(time, dt);
        let lean = leaning::who(&self.rigids, &self.next.bodies, &forces, gain);
        let heavy = || forces.iter().enumerate().filter(|(body, _)| !lean[*body]);
        let bodies = &mut self.next.bodies;
        for (body, &[push, twist]) in heavy() {
            self.rigids.apply_impulse(bodies, body, push, twist);
        }
        let touches = self.rigids.predict_all_but(bodies, [time + dt, dt], |body| lean[body]);
        self.clock.lap("forces");
        if !self.elastics.is_empty() {
            self.predict_elastic(dt)?;
            self.touch(dt);
            self.clock.lap("elasticity");
        }
        for (body, &[push, twist]) in heavy() {
            self.rigids.apply_impulse(&mut self.next.bodies, body, -push, -twist);
        }
        // Of a push that is taken back, joints take back their part.
        self.rigids.hold(&mut self.next.bodies);
        self.leaning = leaning::find(&self.rigids, &mut self.next.bodies, (&touches, &forces, &lean));
        Ok(())
    }

    /// Contact of elastic bodies, which answers what the fluid will do as well: about what it did in the last step.
    fn touch(&mut self, dt: f64) {
        let they_lean = self.params.pressure.are_supported();
        let Self { params, state, next, elastics, rigids, immersed, .. } = self;
        let push = |((_, body), forces): (&mut (String, ElasticBody), &Vec<DVec3>), sign: f64| {
            // Pressure turns with the body: forces that stay behind would twist it, the more the deeper it is.
            let turn = body.rotation();
            let impulse: Vec<f64> =
                forces.iter().flat_map(|force| (sign * (turn * (dt * *force))).to_array()).collect();
            // What has just left has no step, and nothing pushes it.
            if body.is_active() {
                body.apply_impulse(&impulse);
            }
        };
        elastics.iter_mut().zip(&state.elastic_force).for_each(|each| push(each, 1.0));
        let (rho, gain) = (params.fluid.rho(), params.fluid.uniform_gain(state.time, dt));
        let is_pressed = |((_, body), forces): (&(String, ElasticBody), &Vec<DVec3>)| {
            let mass: f64 = body.masses().iter().sum();
            let push = dt * forces.iter().sum::<DVec3>();
            body.material().density < LIGHT * rho && leaning::is_pressed(push, mass, gain)
        };
        let pressed = elastics.iter().zip(&state.elastic_force).map(is_pressed).collect();
        let mut solids = Solids { elastic: elastics, rigids, state: &mut next.bodies, pressed };
        contact::resolve(&params.grid, params.walls, immersed, dt, they_lean, &mut solids);
        elastics.iter_mut().zip(&state.elastic_force).for_each(|each| push(each, -1.0));
    }

    /// What elasticity and weight make of the velocities of elastic bodies.
    fn predict_elastic(&mut self, dt: f64) -> Result<(), StepError> {
        let (time, step) = (self.state.time, self.state.step + 1);
        let Self { params, elastics, immersed, rigids, .. } = self;
        let numbered = elastics.iter_mut().zip(&params.elastic).enumerate();
        for (n, ((name, body), elastic)) in numbered.filter(|(_, ((_, body), _))| body.is_active()) {
            let displaced = params.fluid.rho() / elastic.material.density;
            let beyond = immersed.share_beyond(&params.grid, params.walls, rigids.len() + n);
            let gravity = params.fluid.body_gain(time, dt, displaced, beyond) / dt;
            // Over the step to come: velocities move bodies then.
            let pins = elastic.pins(body.positions(), time + 2.0 * dt, dt);
            let predicted = body.set_pins(&pins).and_then(|()| body.predict(dt, gravity, &[]));
            predicted.map_err(|source| {
                let name = name.clone();
                StepError::Bodies { step, source: BodyError::Elastic { name, source } }
            })?;
        }
        Ok(())
    }

    /// Weight of the bodies over a step of `dt`, s.
    fn add_weight(&mut self, dt: f64) {
        for body in 0..self.rigids.len() {
            let MassProperties { mass, volume, .. } = *self.rigids.properties(body);
            let displaced = self.params.fluid.rho() * volume / mass;
            let beyond = self.immersed.share_beyond(&self.params.grid, self.params.walls, body);
            let gain = self.params.fluid.body_gain(self.state.time, dt, displaced, beyond);
            self.rigids.apply_impulse(&mut self.next.bodies, body, mass * gain, DVec3::ZERO);
        }
    }

    /// The pressure that keeps every cell's volume, found together with what it does to the bodies: u*, v* → u, v.
    fn couple(&mut self, dt: f64) -> Result<Coupled, StepError> {
        let PressureParams { params, strict, allow_incompatible, .. } = self.params.pressure;
        let number = self.state.step + 1;
        let Self { state, next, rigids, elastics, immersed, leaning, boundary, projection, fluid, .. } = self;
        let (grid, rho) = (&self.params.grid, self.params.fluid.rho());
        // Pressure is kept in Pa; the projection's p is Δt·pressure/(ρ dx), so that the guess scales with the step.
        let scale = dt / (rho * grid.dx);
        next.pressure.data.par_iter_mut().zip(&state.pressure.data).for_each(|(p, old)| *p = old * scale);
        let liquid = next.fluid.water().map(|water| &water.distance);
        if let Some(water) = next.fluid.water() {
            projection.set_liquid(grid, boundary, &water.distance);
            projection.set_bubbles(grid, boundary, &water.distance, &water.bubbles);
        }
        let medium = Medium { rho, liquid, gain: self.params.fluid.uniform_gain(state.time, dt) };
        let mut coupling =
            RigidCoupling::new(grid, (medium, &next.velocity), boundary, immersed, (rigids, &next.bodies));
        let answering = self.params.pressure.answering;
        if answering == Answering::DampingOnly {
            for (name, body) in elastics.iter_mut() {
                let failed = |source| BodyError::Elastic { name: name.clone(), source };
                body.drop_elasticity(dt)
                    .map_err(|source| StepError::Bodies { step: number, source: failed(source) })?;
            }
        }
        let soft: Vec<ElasticCoupling> = (elastics.iter().enumerate())
            .map(|(n, (_, body))| elastic_coupling(grid, medium, boundary, immersed, (n, body)))
            .collect();
        elastics.iter_mut().zip(&soft).for_each(|((_, body), coupling)| body.apply_impulse(&coupling.lift));
        let does_answer = |body: &ElasticBody| answering != Answering::Weak && body.is_active();
        let yielding = |elastics: &[(String, ElasticBody)]| {
            let answers = soft.iter().zip(elastics).filter(|(_, (_, body))| does_answer(body));
            answers.map(|(coupling, (_, body))| coupling.terms(body, dt)).collect()
        };
        let by_source = fluid.pushed(&immersed.step(grid, boundary, state.time, dt));
        let sources: Vec<(usize, f64)> = by_source.iter().map(|&(cell, push, _)| (cell, push)).collect();
        let softly = |elastics: &[(String, ElasticBody)]| -> Vec<(usize, f64)> {
            soft.iter().zip(elastics).flat_map(|(coupling, (_, body))| coupling.pushed(body)).collect()
        };
        let met = (!leaning.is_empty()).then(|| next.velocity.clone());
        // What free bodies push is B V, through faces that move with them as well: those rest meanwhile.
        boundary.set_body_velocity(grid, |_, _| DVec3::ZERO);
        boundary.impose(&mut next.velocity);
        let can_lean = met.is_some() || elastics.iter().any(|(_, body)| !body.supports().is_empty());
        let arriving = can_lean.then(|| next.velocity.clone());
        let mut twists = rigids.twists(&next.bodies);
        let (mut iterations, mut rounds) = (0, 0);
        let (projected, pushes, mut impulses) = loop {
            coupling.lean(leaning, (rigids, &next.bodies));
            projection.set_bodies(SolidTerms { yielding: yielding(elastics), ..coupling.terms() });
            let start = |body: usize| coupling.shared(body, rigids.velocity(&next.bodies, body));
            let pushed = [sources.clone(), coupling.pushed(start), softly(elastics)].concat();
            let solved = projection.project(boundary, liquid, &pushed, &params, &mut next.velocity, &mut next.pressure);
            let holds = leaning.held().next().is_some()
                || elastics.iter().any(|(_, body)| body.supports().held().next().is_some());
            if let (Err(SolveError::NotPositiveDefinite { .. }), Some(arriving), true) = (&solved, &arriving, holds) {
                // What a stiff body answers while it is held is a difference of large numbers, and may be round-off: it has to do without.
                leaning.let_go(&mut twists);
                elastics.iter_mut().for_each(|(_, body)| body.let_go());
                if let Some(met) = &met {
                    for body in 0..rigids.len() {
                        rigids.set_twist(&mut next.bodies, body, &twists[6 * body..]);
                    }
                    coupling = RigidCoupling::new(grid, (medium, met), boundary, immersed, (rigids, &next.bodies));
                }
                next.velocity.clone_from(arriving);
                continue;
            }
            let mut projected = solved.map_err(|source| StepError::Pressure { step: number, source })?;
            iterations += projected.info.iterations;
            projected.info.iterations = iterations;
            if strict && !projected.info.converged {
                let SolveInfo { iterations, residual, .. } = projected.info;
                let source = SolveError::NotConverged { iterations, residual, tolerance: params.tolerance };
                return Err(StepError::Pressure { step: number, source });
            }
            let pushes = coupling.pushes(&next.pressure, (rigids, &next.bodies));
            let impulses: Vec<Vec<f64>> = (soft.iter().zip(&*elastics))
                .map(|(coupling, (_, body))| coupling.impulses(body, &next.pressure))
                .collect();
            elastics.iter_mut().zip(&impulses).for_each(|((_, body), impulses)| body.apply_impulse(impulses));
            let Some(arriving) = &arriving else { break (projected, pushes, impulses) };
            leaning::push(rigids, &next.bodies, (&pushes, 1.0), leaning, &mut twists);
            rounds += 1;
            let part = if rounds <= LEANING { 0.0 } else { WORST };
            let slack = if rounds <= 4 * LEANING { SLACK * grid.dx / dt } else { f64::INFINITY };
            if !(leaning.settle(slack, part, &mut twists) | settle(elastics, slack, part)) {
                break (projected, pushes, impulses);
            }
            // What leans on something else moves and answers otherwise: once more from the start.
            for ((_, body), impulses) in elastics.iter_mut().zip(&impulses) {
                body.apply_impulse(&impulses.iter().map(|impulse| -impulse).collect::<Vec<_>>());
            }
            if let Some(met) = &met {
                leaning::push(rigids, &next.bodies, (&pushes, -1.0), leaning, &mut twists);
                leaning::set(rigids, &mut next.bodies, leaning, &twists);
                coupling = RigidCoupling::new(grid, (medium, met), boundary, immersed, (rigids, &next.bodies));
            }
            next.velocity.clone_from(arriving);
        };
        if !allow_incompatible {
            let liquid = next.fluid.water().zip(self.params.fluid.particle_volume(grid));
            let pushing = Pushing { grid, boundary, immersed, sources: &by_source, liquid, dt };
            if let Some(found) = pushing.find(projection) {
                return Err(StepError::Incompatible { step: number, found });
            }
        }
        next.fluid_force.fill([DVec3::ZERO; 2]);
        for push in &pushes {
            next.fluid_force[push.body] = [push.impulse / dt, push.torque_impulse / dt];
            rigids.apply_impulse(&mut next.bodies, push.body, push.impulse, push.torque_impulse);
            if let Some([linear, angular]) = push.reaction {
                rigids.apply_reaction(&mut next.bodies, push.body, linear, angular);
            }
        }
        leaning::agree(rigids, &mut next.bodies, leaning, &twists);
        next.elastic.iter_mut().zip(&*elastics).for_each(|(state, (_, body))| *state = body.state());
        for (impulses, ElasticCoupling { lift, .. }) in impulses.iter_mut().zip(&soft) {
            impulses.iter_mut().zip(lift).for_each(|(impulse, lift)| *impulse += lift);
        }
        for ((forces, impulses), (_, body)) in next.elastic_force.iter_mut().zip(&impulses).zip(&*elastics) {
            let back = body.rotation().conjugate();
            *forces = impulses.chunks_exact(3).map(|impulse| back * DVec3::from_slice(impulse) / dt).collect();
        }
        let pushed = [sources, coupling.pushed(|body| rigids.velocity(&next.bodies, body)), softly(elastics)].concat();
        let residual_flux = projection.residual_flux(boundary, &pushed, &next.velocity);
        let bubble_flux = projection.pocket_flux(boundary, &pushed, &next.velocity);
        immersed.place(|body| place(rigids, &next.bodies, body), elastics);
        boundary.set_body_velocity(grid, |body, at| body_velocity(immersed, (rigids, &next.bodies), body as usize, at));
        boundary.impose(&mut next.velocity);
        let ms = self.clock.lap("pressure");

        let mut bodies = immersed.impulses(grid, rho, &next.pressure);
        let momentum_error = report::momentum_error(grid, rho, boundary, &next.pressure, &bodies);
        for push in &pushes {
            let body = &mut bodies[self.params.obstacles.len() + push.body];
            (body.impulse, body.torque_impulse) = (push.impulse, push.torque_impulse);
            body.lift = (push.lift != [DVec3::ZERO; 2]).then_some(push.lift);
        }
        let elastic = bodies[self.params.obstacles.len() + rigids.len()..].iter_mut();
        let answered = impulses.iter().zip(&soft).zip(&self.arrived);
        for ((report, (_, body)), ((impulses, coupling), arrived)) in elastic.zip(elastics).zip(answered) {
            let centre = report.pose.position;
            let total = |impulses: &[f64]| {
                let pushes = || body.positions().iter().zip(impulses.chunks_exact(3).map(DVec3::from_slice));
                [pushes().map(|(_, push)| push).sum(), pushes().map(|(x, push)| (*x - centre).cross(push)).sum()]
            };
            [report.impulse, report.torque_impulse] = total(impulses);
            report.lift = Some(total(&coupling.lift)).filter(|lift| *lift != [DVec3::ZERO; 2]);
            report.pose.rotation = body.rotation();
            // Backward Euler balances the energy of deformation at a place with that of the velocity that led there.
            report.energy = Some([*arrived, body.elastic_energy()]);
        }
        next.pressure.data.par_iter_mut().for_each(|p| *p /= scale);
        Ok(Coupled { projected, residual_flux, bubble_flux, bodies, momentum_error, ms })
    }

    /// Continue the new fields beyond the fluid, and let the particles have theirs.
    fn finish(&mut self, dt: f64) -> Result<(), StepError> {
        let step = self.immersed.step(&self.params.grid, &self.boundary, self.state.time, dt);
        let Self { next, projection, fluid, clock, .. } = self;
        fluid
            .finish(&step, projection, (&mut next.velocity, &mut next.fluid), clock)
            .map_err(|source| StepError::Pressure { step: self.state.step + 1, source })
    }

    /// Check the new state, make it the current one, and account for it.
    fn accept(&mut self, dt: f64, coupled: Coupled, events: Vec<RigidEvent>) -> Result<StepReport, StepError> {
        let (params, state, next) = (&self.params, &self.state, &mut self.next);
        next.step = state.step + 1;
        let frame_end = (state.frame + 1) as f64 / params.time.fps;
        // Frames are landed on exactly, whatever the steps add up to.
        let lands = state.time + dt >= frame_end * (1.0 - 1e-12);
        (next.time, next.frame) = if lands { (frame_end, state.frame + 1) } else { (state.time + dt, state.frame) };
        if let Some(quantity) = next.non_finite() {
            return Err(StepError::NonFinite { step: next.step, stage: "the step", quantity });
        }
        std::mem::swap(&mut self.state, &mut self.next);
        Ok(report::build(self, dt, coupled, events))
    }

    /// The largest velocity component, m/s, of fluid, sources and solids, and what has it.
    fn fastest(&self) -> (f64, Fastest) {
        let Self { params, state, .. } = self;
        let mut found = (self.fluid.source_speed(), Fastest::Source);
        let solid = self.immersed.fastest(state.time, params.time.max_dt.min(1.0 / params.time.fps));
        if let Some((speed, name)) = solid.filter(|(speed, _)| *speed > found.0) {
            found = (speed, Fastest::Solid(name.to_owned()));
        }
        if let Some(water) = state.fluid.water() {
            // What moves are the particles; a face may be faster, where a solid leaves it open by a slit.
            let Particles { position, velocity, .. } = &water.particles;
            let speed = |v: &DVec3| v.abs().max_element();
            let fastest = velocity.par_iter().map(speed).reduce(|| 0.0, f64::max);
            if fastest > found.0 {
                let index = velocity.iter().position(|v| speed(v) == fastest).unwrap_or(0);
                let grid = &params.grid;
                let cell = grid.cell_at(grid.cell_around((position[index] - grid.origin) / grid.dx));
                found = (fastest, Fastest::Cell(cell));
            }
            return found;
        }
        for axis in Axis::ALL {
            let data = &state.velocity.axes[axis.index()];
            let speed = data.par_iter().map(|u| u.abs()).reduce(|| 0.0, f64::max);
            if speed > found.0 {
                let index = data.iter().position(|u| u.abs() == speed).unwrap_or(0);
                found = (speed, Fastest::Cell(unravel(params.grid.face_dims(axis), index)));
            }
        }
        found
    }
}

/// What the coupled solve hands to the report.
pub(crate) struct Coupled {
    pub projected: Projected,
    /// Largest |D u − pushed| left in a cell, m/s.
    pub residual_flux: f64,
    /// Flow into each bubble that should be none, in units of dx², m/s.
    pub bubble_flux: Vec<f64>,
    pub bodies: Vec<BodyImpulse>,
    pub momentum_error: f64,
    pub ms: f64,
}

/// How the surface of a free or elastic body moves at a point near it, as the fluid sees it.
fn body_velocity(immersed: &Immersed, (rigids, state): (&Rigids, &RigidState), body: usize, at: DVec3) -> DVec3 {
    if body < rigids.len() {
        immersed.seen(body, rigids.velocity(state, body)).at(at)
    } else {
        immersed.elastic_velocity(body - rigids.len(), at)
    }
}

/// Let elastic bodies find anew what they lean on, with `slack`, m/s, and `part`; whether any does so otherwise than before.
fn settle(elastics: &mut [(String, ElasticBody)], slack: f64, part: f64) -> bool {
    elastics.iter_mut().fold(false, |changes, (_, body)| body.settle(slack, part) || changes)
}

/// What an elastic body has to do with the fluid.
fn elastic_coupling(
    grid: &Grid,
    fluid: Medium,
    boundary: &Boundary,
    immersed: &Immersed,
    (n, body): (usize, &ElasticBody),
) -> ElasticCoupling {
    // What is all but crushed to nothing is no solid: pressure would turn it inside out, and then pull at it without end.
    let polygons =
        if body.volume() > NOTHING * body.rest().volume() { immersed.elastic_polygons(n) } else { Vec::new() };
    let nearest = |at: DVec3| immersed.nearest_on(n, at).filter(|_| !polygons.is_empty());
    let name = immersed.elastic_name(n);
    ElasticCoupling::new(grid, fluid, boundary, (body, name), (&polygons, nearest))
}

/// Where a free body is and how it moves.
fn place(rigids: &Rigids, state: &RigidState, body: usize) -> Place {
    let is_there = state.bodies[body].active;
    Place { pose: rigids.pose(state, body), velocity: rigids.velocity(state, body), is_there }
}

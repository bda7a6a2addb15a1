//! The solids of a world that answer, and what moves them apart from the fluid's pressure.

use super::BodyError;
use super::params::WorldParams;
use crate::coupling::contact::{self, Encounter};
use crate::coupling::elastic::ElasticSide;
use crate::coupling::family::FamilySide;
use crate::coupling::immersed::Immersed;
use crate::coupling::leaning::{self, Pressed};
use crate::coupling::monolithic::{Answers, Outcome};
use crate::coupling::rigid::RigidSide;
use crate::coupling::stop::Stops;
use crate::fluid::TimeSpan;
use crate::geometry::{Bounds, SurfaceId};
use crate::solid::elastic::{ElasticBody, ElasticError, ElasticState};
use crate::solid::rigid::{LIGHT, MassProperties, RigidEvent, RigidState, Rigids};
use crate::solid::{Family, Form, Freedoms, Outline, Skin, SolidState};
use crate::solve::{SolveError, Supports};
use glam::{DQuat, DVec3};

/// Elastic bodies slower than this part of their speed of sound squeeze nothing to nothing when they hit a wall.
/// A choice: at v/c of a third they are strained by a third. With more, elements may be pressed flat at full steps; with less, steps are short for nothing.
const BEARABLE: f64 = 1.0 / 3.0;

/// Faster ones cross no more than this part of an element in a step.
/// A choice: at 1 an impact may fold an element in a step; with less, steps are shorter.
const CROSSED: f64 = 0.5;

/// Edges of elements grow or shrink by no more than this part of themselves in a step.
/// A choice: so little that what a surface pushes along straight lines is about the volume it sweeps; with less, steps are shorter.
const STRAINED: f64 = 0.2;

/// The machinery; what changes is in [`SolidState`].
pub(crate) struct Solids {
    pub rigids: Rigids,
    pub elastics: Vec<(String, ElasticBody)>,
    /// Kinetic energy with which each of these came to its place, J.
    pub arrived: Vec<f64>,
    /// What light rigid bodies lean on in this step.
    pub leaning: Supports,
    /// The surfaces of rigid and of elastic bodies, in their order.
    pub rigid_surfaces: Vec<SurfaceId>,
    pub elastic_surfaces: Vec<SurfaceId>,
    /// Further kinds, and the surfaces of each.
    pub families: Vec<(Box<dyn Family>, Vec<SurfaceId>)>,
}

/// All of them as they answer.
struct AnsweringSides<'a> {
    rigid: RigidSide<'a>,
    elastic: ElasticSide<'a>,
    families: Vec<FamilySide<'a>>,
}

impl AnsweringSides<'_> {
    fn all(&mut self) -> Vec<&mut dyn Answers> {
        let mut all: Vec<&mut dyn Answers> = vec![&mut self.rigid, &mut self.elastic];
        all.extend(self.families.iter_mut().map(|family| family as &mut dyn Answers));
        all
    }
}

impl Solids {
    /// The solids of a scene and of further families, and how they begin a first step of `first_dt`, s.
    pub fn new(
        params: &WorldParams,
        families: Vec<Box<dyn Family>>,
        first_dt: f64,
    ) -> Result<(Self, SolidState), BodyError> {
        let (rigids, rigid) = params.rigids()?;
        let elastics = params.elastics(first_dt)?;
        let reduced = params.reduced_bodies()?.map(|bodies| Box::new(bodies) as Box<dyn Family>);
        let mut ids = (0..).map(SurfaceId).skip(params.obstacles.len());
        let rigid_surfaces = ids.by_ref().take(rigids.len()).collect();
        let elastic_surfaces = ids.by_ref().take(elastics.len()).collect();
        let of_family = |family: Box<dyn Family>| {
            let surfaces = ids.by_ref().take(family.outlines().len()).collect();
            (family, surfaces)
        };
        let families: Vec<_> = reduced.into_iter().chain(families).map(of_family).collect();
        let state = SolidState {
            rigid,
            rigid_force: vec![[DVec3::ZERO; 2]; rigids.len()],
            elastic: elastics.iter().map(|(_, body)| body.state()).collect(),
            elastic_force: elastics.iter().map(|(_, body)| vec![DVec3::ZERO; body.positions().len()]).collect(),
            families: families.iter().map(|(family, _)| family.state()).collect(),
        };
        let (arrived, leaning) = (vec![0.0; elastics.len()], Supports::default());
        Ok((Self { rigids, elastics, arrived, leaning, rigid_surfaces, elastic_surfaces, families }, state))
    }

    /// All solids of a scene as they are put into the fluid; the place of each is its [`SurfaceId`].
    pub fn outlines<'a>(&'a self, params: &'a WorldParams) -> Vec<Outline<'a>> {
        let scripted = params.obstacles.iter().map(|obstacle| Outline {
            name: &obstacle.name,
            kind: "scripted",
            form: Form::Scripted { shape: &obstacle.shape, motion: &obstacle.motion },
        });
        let rigid = params.bodies.iter().map(|body| body.outline());
        let described = self.elastics.iter().zip(&params.elastic);
        let elastic = described.map(|((name, body), elastic)| body.outline(name, elastic.interface));
        let others = self.families.iter().flat_map(|(family, _)| family.outlines());
        scripted.chain(rigid).chain(elastic).chain(others).collect()
    }

    /// Whether nothing answers.
    pub fn is_empty(&self) -> bool {
        self.rigids.is_empty() && self.elastics.is_empty() && self.families.is_empty()
    }

    /// A surface that answers, with rigid bodies as in `rigid`.
    pub fn skin(&self, rigid: &RigidState, surface: SurfaceId) -> Skin<'_> {
        let of = |surfaces: &[SurfaceId]| surfaces.iter().position(|own| *own == surface);
        if let Some(body) = of(&self.rigid_surfaces) {
            return self.rigids.skin(rigid, body);
        }
        if let Some(body) = of(&self.elastic_surfaces) {
            return self.elastics[body].1.skin();
        }
        let mut families = self.families.iter();
        let found = families.find_map(|(family, surfaces)| Some(family.skin(of(surfaces)?)));
        found.expect("a surface that answers is somebody's")
    }

    /// Be as the state says, which is one of these solids.
    pub fn restore(&mut self, state: &SolidState) {
        for ((_, body), state) in self.elastics.iter_mut().zip(&state.elastic) {
            body.restore(state).expect("the state is that of this body");
        }
        for ((family, _), state) in self.families.iter_mut().zip(&state.families) {
            family.restore(state).expect("the state is that of this family");
        }
    }

    /// Move on over the step, from where `now` has everything.
    pub fn advance(
        &mut self,
        params: &WorldParams,
        immersed: &Immersed,
        span: TimeSpan,
        now: &SolidState,
        next: &mut SolidState,
    ) -> Result<Vec<RigidEvent>, BodyError> {
        let (grid, TimeSpan { time, dt, .. }) = (&params.grid, span);
        self.restore(now);
        next.rigid.clone_from(&now.rigid);
        let mut events = self.rigids.advance(&mut next.rigid, time, dt)?;
        let room = Bounds { min: grid.origin, max: grid.upper() };
        let stops = Stops { grid, walls: params.walls, immersed, times: [time, time + dt] };
        let described = self.elastics.iter_mut().zip(&params.elastic).zip(&mut self.arrived);
        for ((((name, body), elastic), arrived), state) in described.zip(&now.elastic) {
            if !body.is_active() {
                continue;
            }
            let failed = |source| BodyError::Elastic { name: name.clone(), source };
            stops.advance(elastic, state, body).map_err(failed)?;
            *arrived = body.kinetic_energy();
            let [cells, limit] = Immersed::spread(grid, body);
            if body.leave(room) {
                events.push(RigidEvent::Left { body: name.clone(), position: body.centre() });
            } else if cells > limit {
                return Err(failed(ElasticError::Strewn { cells, limit }));
            }
        }
        self.families.iter_mut().for_each(|(family, _)| family.advance(time, dt));
        Ok(events)
    }

    /// Weight of the rigid bodies over a step.
    pub fn add_weight(&self, params: &WorldParams, immersed: &Immersed, span: TimeSpan, bodies: &mut RigidState) {
        for body in 0..self.rigids.len() {
            self.rigids.apply_impulse(bodies, body, self.weight(params, immersed, span, body), DVec3::ZERO);
        }
    }

    /// That of one, less what the fluid's pressure carries of it where that is not computed, N s.
    fn weight(&self, params: &WorldParams, immersed: &Immersed, span: TimeSpan, body: usize) -> DVec3 {
        let MassProperties { mass, volume, .. } = *self.rigids.properties(body);
        let displaced = params.fluid.rho() * volume / mass;
        let beyond = immersed.share_beyond(&params.grid, params.walls, self.rigid_surfaces[body]);
        mass * params.fluid.body_gain(span.time, span.dt, displaced, beyond)
    }

    /// What elasticity and weight make of the velocities of elastic bodies.
    pub fn predict_elastic(
        &mut self,
        params: &WorldParams,
        immersed: &Immersed,
        span: TimeSpan,
    ) -> Result<(), BodyError> {
        let TimeSpan { time, dt, .. } = span;
        let numbered = self.elastics.iter_mut().zip(&params.elastic).zip(&self.elastic_surfaces);
        for (((name, body), elastic), &surface) in numbered.filter(|(((_, body), _), _)| body.is_active()) {
            let displaced = params.fluid.rho() / elastic.material.density;
            let beyond = immersed.share_beyond(&params.grid, params.walls, surface);
            let gravity = params.fluid.body_gain(time, dt, displaced, beyond) / dt;
            // Over the step to come: velocities move bodies then.
            let pins = elastic.pins(body.positions(), time + 2.0 * dt, dt);
            let predicted = body.set_pins(&pins).and_then(|()| body.predict(dt, gravity, &[]));
            predicted.map_err(|source| BodyError::Elastic { name: name.clone(), source })?;
        }
        Ok(())
    }

    /// What families do by themselves.
    pub fn predict_families(&mut self, params: &WorldParams, immersed: &Immersed, span: TimeSpan) {
        for (family, surfaces) in &mut self.families {
            let gain = |solid: usize, density: f64| {
                let beyond = immersed.share_beyond(&params.grid, params.walls, surfaces[solid]);
                params.fluid.body_gain(span.time, span.dt, params.fluid.rho() / density, beyond)
            };
            family.predict(span.time, span.dt, &gain);
        }
    }

    /// Everything but pressure: weight, elasticity, contact and joints → v*.
    ///
    /// Contact answers what the fluid will do as well: about what it did in the last step. A block at the bottom of a pool
    /// thus stays there. What light bodies do about it is known only with the pressure: they lean on what they touch.
    pub fn predict(
        &mut self,
        params: &WorldParams,
        immersed: &Immersed,
        span: TimeSpan,
        (now, next): (&SolidState, &mut SolidState),
        mut lap: impl FnMut(&str),
    ) -> Result<(), BodyError> {
        let (TimeSpan { time, dt, .. }, bodies) = (span, &mut next.rigid);
        self.leaning = Supports::default();
        let before = self.rigids.twists(bodies);
        self.add_weight(params, immersed, span, bodies);
        self.predict_families(params, immersed, span);
        let forces: Vec<[DVec3; 2]> = now.rigid_force.iter().map(|force| force.map(|f| dt * f)).collect();
        let gain = params.fluid.uniform_gain(time, dt);
        // What carries a body in smoke is no force of the fluid's, but part of its weight.
        let push = |body: usize| {
            let mass = self.rigids.properties(body).mass;
            forces[body][0] + self.weight(params, immersed, span, body) - mass * gain
        };
        let lean = leaning::who(&self.rigids, bodies, push, gain);
        let heavy = || forces.iter().enumerate().filter(|(body, _)| !lean[*body]);
        for (body, &[push, twist]) in heavy() {
            self.rigids.apply_impulse(bodies, body, push, twist);
        }
        let touches = self.rigids.predict_all_but(bodies, [time + dt, dt], |body| lean[body]);
        lap("forces");
        let touches_by_itself = self.families.iter().any(|(family, _)| !family.touchers().is_empty());
        if !self.elastics.is_empty() || touches_by_itself {
            self.predict_elastic(params, immersed, span)?;
            self.touch(params, immersed, span, now, bodies);
            lap("elasticity");
        }
        for (body, &[push, twist]) in heavy() {
            self.rigids.apply_impulse(bodies, body, -push, -twist);
        }
        // Of a push that is taken back, joints take back their part.
        self.rigids.keep_joints(bodies);
        self.leaning =
            leaning::find(&self.rigids, bodies, &touches, &Pressed { pushes: &forces, lean: &lean, before: &before });
        Ok(())
    }

    /// Contact of elastic bodies, which answers what the fluid will do as well: about what it did in the last step.
    fn touch(
        &mut self,
        params: &WorldParams,
        immersed: &Immersed,
        span: TimeSpan,
        now: &SolidState,
        bodies: &mut RigidState,
    ) {
        let (TimeSpan { time, dt, .. }, forces) = (span, &now.elastic_force);
        self.push_elastic(forces, dt);
        self.families.iter_mut().for_each(|(family, _)| family.expect(1.0, dt));
        let gain = params.fluid.uniform_gain(time, dt);
        let is_pressed = |((_, body), forces): (&(String, ElasticBody), &Vec<DVec3>)| {
            let mass: f64 = body.masses().iter().sum();
            let push = dt * forces.iter().sum::<DVec3>();
            body.material().density < LIGHT * params.fluid.rho() && leaning::is_pressed(push, mass, gain)
        };
        let pressed = self.elastics.iter().zip(forces).map(is_pressed).collect();
        let fastest = |body: &ElasticState| body.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        let speeds = now.elastic.iter().map(|body| fastest(body) + gain.length()).collect();
        let mut sides = self.sides(bodies, dt);
        sides.elastic.with_crushed();
        let freedoms: Vec<Vec<Freedoms>> = sides.all().iter_mut().map(|kind| kind.freedoms()).collect();
        let places = freedoms.iter().enumerate().flat_map(|(kind, own)| (0..own.len()).map(move |unit| (kind, unit)));
        let places: Vec<(usize, usize)> = places.collect();
        let units: Vec<Freedoms> = freedoms.into_iter().flatten().collect();
        let (elastic, surfaces) = sides.elastic.bodies();
        let others = sides.families.iter().flat_map(FamilySide::touchers).collect();
        let grid = &params.grid;
        let encounter =
            Encounter { grid, walls: params.walls, immersed, dt, elastic, surfaces, others, pressed, speeds };
        let struck = contact::resolve(&encounter, &units);
        let mut kinds = sides.all();
        for ((kind, unit), pushed) in places.into_iter().zip(&struck.pushes) {
            pushed.iter().for_each(|(pushed, velocity)| kinds[kind].strike(unit, pushed, velocity));
        }
        if params.are_supported() {
            let bodies = self.elastics.iter_mut().zip(&now.elastic).zip(struck.supports);
            let supported = bodies.filter(|(_, supports)| !supports.is_empty());
            supported.for_each(|(((_, body), before), supports)| body.lean_on(supports, before));
        }
        self.push_elastic(forces, -dt);
        self.families.iter_mut().for_each(|(family, _)| family.expect(-1.0, dt));
    }

    /// Let forces (N) on vertices push elastic bodies over `dt`, s. Pressure turns with the body: forces that stay behind would twist it, the more the
    /// deeper it is.
    fn push_elastic(&mut self, forces: &[Vec<DVec3>], dt: f64) {
        // What has just left has no step, and nothing pushes it.
        let active = self.elastics.iter_mut().zip(forces).filter(|((_, body), _)| body.is_active());
        for ((_, body), forces) in active {
            let turn = body.rotation();
            let impulse: Vec<f64> = forces.iter().flat_map(|force| (turn * (dt * *force)).to_array()).collect();
            body.apply_impulse(&impulse);
        }
    }

    /// All kinds over a step of `dt`, s, ready to answer.
    fn sides<'a>(&'a mut self, rigid: &'a mut RigidState, dt: f64) -> AnsweringSides<'a> {
        let families = self.families.iter_mut();
        AnsweringSides {
            rigid: RigidSide::new(&self.rigids, rigid, &self.rigid_surfaces, &mut self.leaning),
            elastic: ElasticSide::new(&mut self.elastics, &self.elastic_surfaces, dt),
            families: families.map(|(family, surfaces)| FamilySide::new(&mut **family, surfaces, dt)).collect(),
        }
    }

    /// Let all kinds answer in a solve over a step of `dt`, s; what comes of it, and what the fluid does to the vertices of elastic bodies, N.
    pub fn answer<T>(
        &mut self,
        rigid: &mut RigidState,
        dt: f64,
        solve: impl FnOnce(&mut [&mut dyn Answers]) -> T,
    ) -> (T, Vec<Vec<DVec3>>) {
        let mut sides = self.sides(rigid, dt);
        let solved = solve(&mut sides.all());
        (solved, sides.elastic.forces())
    }

    /// The same, and keep what comes out.
    pub fn couple(
        &mut self,
        next: &mut SolidState,
        dt: f64,
        solve: impl FnOnce(&mut [&mut dyn Answers]) -> Result<Outcome, SolveError>,
    ) -> Result<Outcome, SolveError> {
        let (outcome, elastic_force) = self.answer(&mut next.rigid, dt, solve);
        let outcome = outcome?;
        next.rigid_force.fill([DVec3::ZERO; 2]);
        for push in &outcome.pushes {
            if let Some(body) = self.rigid_surfaces.iter().position(|surface| *surface == push.surface) {
                next.rigid_force[body] = push.impulse.map(|impulse| impulse / dt);
            }
        }
        next.elastic_force = elastic_force;
        next.elastic.iter_mut().zip(&self.elastics).for_each(|(state, (_, body))| *state = body.state());
        next.families.iter_mut().zip(&self.families).for_each(|(state, (family, _))| *state = family.state());
        Ok(outcome)
    }

    /// How solids are turned whose places do not tell.
    pub fn turned(&self) -> impl Iterator<Item = (SurfaceId, DQuat)> {
        let elastic = self.elastics.iter().zip(&self.elastic_surfaces);
        let others = self.families.iter().flat_map(|(family, surfaces)| {
            surfaces.iter().enumerate().filter_map(|(solid, &surface)| Some((surface, family.rotation(solid)?)))
        });
        elastic.map(|((_, body), &surface)| (surface, body.rotation())).chain(others)
    }

    /// Kinetic and elastic energy of those that know, J. Backward Euler balances the energy of deformation at a place with that of the
    /// velocity that led there.
    pub fn energies(&self) -> impl Iterator<Item = (SurfaceId, [f64; 2])> {
        let bodies = self.elastics.iter().zip(&self.elastic_surfaces).zip(&self.arrived);
        let elastic = bodies.map(|(((_, body), &surface), &arrived)| (surface, [arrived, body.elastic_energy()]));
        let others = self.families.iter().flat_map(|(family, surfaces)| {
            surfaces.iter().enumerate().filter_map(|(solid, &surface)| Some((surface, family.energy(solid)?)))
        });
        elastic.chain(others)
    }

    /// From now on, and until the next prediction, elastic bodies answer as if they were damped but not elastic.
    pub fn drop_elasticity(&mut self, dt: f64) -> Result<(), BodyError> {
        for (name, body) in &mut self.elastics {
            body.drop_elasticity(dt).map_err(|source| BodyError::Elastic { name: name.clone(), source })?;
        }
        Ok(())
    }

    /// The longest step in which soft bodies do not squeeze elements to nothing, s. What hits a wall at speed v is strained by v/c, c = √(E/ρ), if the
    /// step spreads the impact over many elements; if v is more than part of c, it must not cross elements in a step. And, if the solve `is_strong`, what is
    /// being strained is strained by so much in a step that the volume it pushes is about what its surface sweeps. Other ways to answer are there to
    /// be seen at the steps that they are known for.
    pub fn squeezing(&self, state: &[ElasticState], is_strong: bool, dx: f64) -> f64 {
        let longest = |((_, body), state): (&(String, ElasticBody), &ElasticState)| {
            let fastest = state.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
            let beyond = fastest - BEARABLE * body.material().speed_of_sound();
            let crossing = if beyond > 0.0 { CROSSED * body.spacing() / beyond } else { f64::INFINITY };
            if is_strong { crossing.min(STRAINED / body.rate_of_strain(state)) } else { crossing }
        };
        let families = self.families.iter().map(|(family, _)| family.longest_step(dx));
        self.elastics.iter().zip(state).map(longest).chain(families).fold(f64::INFINITY, f64::min)
    }
}

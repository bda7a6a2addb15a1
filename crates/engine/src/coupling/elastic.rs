//! Elastic bodies in the coupled solve: vertices have three freedoms each, and answer with A⁻¹ of the step \[ZB17, eq. 6\].

use super::monolithic::{Answers, Moving, SurfacePush};
use crate::geometry::SurfaceId;
use crate::solid::elastic::ElasticBody;
use crate::solid::{Attached, Follow, Freedoms, Pushed, Response};
use crate::solve::ElasticStep;
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Water presses elastic bodies no further than to this part of their volume.
/// A choice: lower, pressure may turn them inside out; higher, bodies that are only squeezed would be no solids to the water (docs/methods/elastic.md, *Limits*).
const NOTHING: f64 = 0.02;

/// The elastic bodies of a scene over one solve; their steps are predicted.
pub struct ElasticSide<'a> {
    bodies: &'a mut [(String, ElasticBody)],
    /// Theirs, in their order.
    surfaces: &'a [SurfaceId],
    /// Length of the step, s.
    dt: f64,
    /// The least part of their volume with which they take part.
    least: f64,
    pushes: Vec<Pushed>,
}

impl<'a> ElasticSide<'a> {
    /// The bodies as they come to the solve. What is all but crushed to nothing is no solid to the fluid: pressure would turn it inside out, and then
    /// pull at it without end.
    pub fn new(bodies: &'a mut [(String, ElasticBody)], surfaces: &'a [SurfaceId], dt: f64) -> Self {
        Self { bodies, surfaces, dt, least: NOTHING, pushes: Vec::new() }
    }

    /// From now on all of them take part, as they do where they touch something.
    pub fn with_crushed(&mut self) {
        self.least = f64::NEG_INFINITY;
    }

    /// The bodies and their surfaces.
    pub fn bodies(&self) -> (&[(String, ElasticBody)], &[SurfaceId]) {
        (self.bodies, self.surfaces)
    }

    /// Those that take part.
    fn met(&self) -> impl Iterator<Item = usize> {
        let is_met = |body: &ElasticBody| body.is_active() && body.volume() > self.least * body.rest().volume();
        self.bodies.iter().enumerate().filter(move |(_, (_, body))| is_met(body)).map(|(n, _)| n)
    }

    /// What the fluid does to the vertices of all bodies, N, along axes that turn with them.
    pub fn forces(&self) -> Vec<Vec<DVec3>> {
        let mut forces: Vec<Vec<DVec3>> =
            self.bodies.iter().map(|(_, body)| vec![DVec3::ZERO; body.positions().len()]).collect();
        for (n, pushed) in self.met().zip(&self.pushes) {
            let back = self.bodies[n].1.rotation().conjugate();
            let impulses = pushed.impulse.chunks_exact(3).map(DVec3::from_slice);
            forces[n] = impulses.map(|impulse| back * impulse / self.dt).collect();
        }
        forces
    }

    fn apply(&mut self, sign: f64) {
        let met: Vec<usize> = self.met().collect();
        for (n, pushed) in met.into_iter().zip(&self.pushes) {
            self.bodies[n].1.apply_impulse(&pushed.impulse.iter().map(|j| sign * j).collect::<Vec<_>>());
        }
    }
}

/// N, v* and A⁻¹ of a body whose step of `dt`, s, is predicted.
pub fn freedoms(body: &ElasticBody, surface: SurfaceId, dt: f64) -> Freedoms {
    let damping = 1.0 + dt * body.material().mass_damping;
    let step = ElasticStep {
        dt,
        system: body.system().clone(),
        factor: body.factor().clone(),
        masses: body.masses().to_vec(),
        damped: body.masses().iter().map(|m| damping * m).collect(),
        positions: body.positions().to_vec(),
        movable: body.movable().to_vec(),
        density: body.material().density,
        supports: body.supports().clone(),
    };
    Freedoms {
        surfaces: vec![attached(body, surface)],
        velocity: body.velocity(),
        response: Response::Sparse(Arc::new(step)),
    }
}

fn attached(body: &ElasticBody, surface: SurfaceId) -> Attached {
    Attached { surface, first: 0, follow: Follow::Own { vertices: body.positions().len() }, joined: Vec::new() }
}

impl Answers for ElasticSide<'_> {
    fn freedoms(&mut self) -> Vec<Freedoms> {
        self.met().map(|n| freedoms(&self.bodies[n].1, self.surfaces[n], self.dt)).collect()
    }

    fn moving(&self) -> Vec<Moving> {
        let moving = |n: usize| {
            let body = &self.bodies[n].1;
            Moving { attached: attached(body, self.surfaces[n]), velocity: body.velocity() }
        };
        self.met().map(moving).collect()
    }

    fn push(&mut self, pushes: Vec<Pushed>) {
        self.pushes = pushes;
        self.apply(1.0);
    }

    fn can_lean(&self) -> bool {
        self.bodies.iter().any(|(_, body)| !body.supports().is_empty())
    }

    fn settle(&mut self, slack: f64, part: f64) -> bool {
        self.bodies.iter_mut().fold(false, |changes, (_, body)| body.settle(slack, part) || changes)
    }

    fn take_back(&mut self) {
        self.apply(-1.0);
    }

    fn let_go(&mut self) -> bool {
        let leaned = self.bodies.iter().any(|(_, body)| body.supports().pushing().next().is_some());
        self.bodies.iter_mut().for_each(|(_, body)| body.let_go());
        leaned
    }

    fn finish(&mut self) {}

    fn strike(&mut self, unit: usize, _pushed: &Pushed, velocity: &[f64]) {
        let body = self.met().nth(unit).expect("its freedoms were given");
        self.bodies[body].1.set_velocity(velocity);
    }

    fn totals(&self) -> Vec<SurfacePush> {
        let total = |n: usize, impulses: &[f64]| {
            let (centre, positions) = (self.bodies[n].1.centre(), self.bodies[n].1.positions());
            let pushes = || positions.iter().zip(impulses.chunks_exact(3).map(DVec3::from_slice));
            [pushes().map(|(_, push)| push).sum(), pushes().map(|(x, push)| (*x - centre).cross(push)).sum()]
        };
        let nothing = (0..self.bodies.len()).map(|n| (n, None));
        let mut all: BTreeMap<usize, Option<&Pushed>> = nothing.collect();
        all.extend(self.met().zip(self.pushes.iter().map(Some)));
        let of_body = |(n, pushed): (usize, Option<&Pushed>)| SurfacePush {
            surface: self.surfaces[n],
            impulse: pushed.map_or([DVec3::ZERO; 2], |pushed| total(n, &pushed.impulse)),
            lift: pushed.map_or([DVec3::ZERO; 2], |pushed| total(n, &pushed.lift)),
        };
        all.into_iter().map(of_body).collect()
    }
}

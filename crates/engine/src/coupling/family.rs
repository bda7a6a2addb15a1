//! Kinds of solids that only their family knows, in the coupled solve.

use super::monolithic::{Answers, Moving, SurfacePush};
use crate::geometry::SurfaceId;
use crate::solid::{Attached, Family, Follow, Freedoms, Pushed, Skin, Toucher};
use glam::DVec3;

/// A family over one solve.
pub struct FamilySide<'a> {
    family: &'a mut dyn Family,
    /// Of its solids, in their order.
    surfaces: &'a [SurfaceId],
    /// Length of the step, s.
    dt: f64,
    /// As given last, and what was done to them.
    units: Vec<Vec<Attached>>,
    pushes: Vec<Pushed>,
}

impl<'a> FamilySide<'a> {
    /// A family as it comes to the solve.
    pub fn new(family: &'a mut dyn Family, surfaces: &'a [SurfaceId], dt: f64) -> Self {
        Self { family, surfaces, dt, units: Vec::new(), pushes: Vec::new() }
    }

    /// Its surfaces that run into others.
    pub fn touchers(&self) -> Vec<(SurfaceId, Toucher<'_>)> {
        self.family.touchers().into_iter().map(|toucher| (self.surfaces[toucher.solid], toucher)).collect()
    }

    /// What impulses on freedoms are to a surface as a whole; of modes that cannot be told from them.
    fn total(&self, attached: &Attached, impulses: &[f64]) -> [DVec3; 2] {
        let own = &impulses[attached.first..][..attached.freedoms()];
        match (&attached.follow, self.surfaces.iter().position(|surface| *surface == attached.surface)) {
            (Follow::Rigid { .. } | Follow::Reduced { .. }, _) => [0, 3].map(|a| DVec3::from_slice(&own[a..])),
            (Follow::Own { .. }, Some(solid)) => {
                let Skin::Deforming { positions, whole, .. } = self.family.skin(solid) else { return [DVec3::ZERO; 2] };
                let pushes = || positions.iter().zip(own.chunks_exact(3).map(DVec3::from_slice));
                [pushes().map(|(_, j)| j).sum(), pushes().map(|(x, j)| (*x - whole.centre).cross(j)).sum()]
            }
            _ => [DVec3::ZERO; 2],
        }
    }
}

impl Answers for FamilySide<'_> {
    fn freedoms(&mut self) -> Vec<Freedoms> {
        let freedoms = self.family.freedoms(self.surfaces, self.dt);
        self.units = freedoms.iter().map(|freedoms| freedoms.surfaces.clone()).collect();
        freedoms
    }

    fn moving(&self) -> Vec<Moving> {
        let of_unit = |freedoms: Freedoms| {
            let velocity = freedoms.velocity;
            let moving = move |attached: Attached| {
                let own = velocity[attached.first..][..attached.freedoms()].to_vec();
                Moving { attached: Attached { first: 0, ..attached }, velocity: own }
            };
            freedoms.surfaces.into_iter().map(moving)
        };
        self.family.freedoms(self.surfaces, self.dt).into_iter().flat_map(of_unit).collect()
    }

    fn push(&mut self, pushes: Vec<Pushed>) {
        self.pushes = pushes;
    }

    fn finish(&mut self) {
        for (unit, pushed) in self.pushes.iter().enumerate() {
            self.family.take(unit, pushed);
            self.family.remember(unit, pushed, self.dt);
        }
    }

    fn strike(&mut self, unit: usize, pushed: &Pushed, _velocity: &[f64]) {
        self.family.take(unit, pushed);
    }

    fn totals(&self) -> Vec<SurfacePush> {
        let of_unit = |(surfaces, pushed): (&Vec<Attached>, &Pushed)| {
            let push = |attached: &Attached| SurfacePush {
                surface: attached.surface,
                impulse: self.total(attached, &pushed.impulse),
                lift: self.total(attached, &pushed.lift),
            };
            surfaces.iter().map(push).collect::<Vec<_>>()
        };
        self.units.iter().zip(&self.pushes).flat_map(of_unit).collect()
    }
}

//! What solids push that do not ask the fluid: for films beside them, and for the books of closed regions (`incompatible`).

use super::{Body, Immersed, Mover};
use crate::cut::CutPolygon;
use crate::fluid::boundary::Wall;
use crate::geometry::SurfaceId;
use crate::grid::{Axis, Grid};
use glam::DVec3;

/// Solids this near to a side of the domain, in cells, touch it: twice the distance within which triangles are laid on planes of the grid.
const AT_SIDE: f64 = 2e-3;

impl Immersed {
    /// The surface nearest to a point of `own`, of all other solids, if it is within `reach`, m.
    pub(in crate::coupling) fn nearest_to(&self, dx: f64, own: SurfaceId, at: DVec3, reach: f64) -> Option<SurfaceId> {
        let near = self.near(dx, own, at, reach).into_iter();
        near.min_by(|a, b| a.distance.total_cmp(&b.distance)).map(|near| near.surface)
    }

    /// How a scripted solid moves at a place, m/s, if it is one that does.
    pub(in crate::coupling) fn scripted_velocity(&self, surface: SurfaceId, at: DVec3) -> Option<DVec3> {
        let body = self.body(surface);
        is_moving(body).then(|| body.velocity.at(at))
    }

    /// What scripted solids that move push into cells, in units of dx², m/s, name by name; and, if `is_exact`, whether that is inside
    /// another solid. What another one hides is pushed through that.
    pub(in crate::coupling) fn scripted_pushes<'a>(
        &'a self,
        grid: &'a Grid,
        is_exact: bool,
    ) -> impl Iterator<Item = (&'a str, Vec<(usize, f64, bool)>)> + 'a {
        let of_body = move |body: &'a Body| {
            let others = move || self.bodies.iter().filter(move |other| other.is_there && !std::ptr::eq(*other, body));
            let push = move |polygon: CutPolygon| {
                let flux = body.velocity.at(polygon.centroid).dot(polygon.area) / (grid.dx * grid.dx);
                let is_inside = |other: &Body| {
                    other.pose.position.distance(polygon.centroid) < other.radius
                        && other.distance_at(polygon.centroid) < 0.0
                };
                (polygon.cell, flux, is_exact && others().any(is_inside))
            };
            let hidden = body.hidden().map(push).map(|(cell, flux, _)| (cell, flux, is_exact));
            (&body.name[..], body.exposed().map(push).chain(hidden).collect())
        };
        self.bodies.iter().filter(|body| is_moving(body)).map(of_body)
    }

    /// What scripted and led bodies push less or more because a part of their surface is in or beyond a closed side of the domain, in units of dx²,
    /// m/s, with their names: all that those push which touch one, and what those draw which leave through one.
    pub(in crate::coupling) fn at_sides(
        &self,
        grid: &Grid,
        walls: [[Wall; 2]; 3],
        is_led: impl Fn(SurfaceId) -> bool,
    ) -> Vec<(&str, f64)> {
        let of_body = |surface: SurfaceId, body: &Body| {
            let vertices = || body.surface.vertices.iter().map(|v| (body.pose.apply(*v) - grid.origin) / grid.dx);
            let min = vertices().fold(DVec3::INFINITY, DVec3::min);
            let max = vertices().fold(DVec3::NEG_INFINITY, DVec3::max);
            let along = |axis: Axis| {
                let a = axis.index();
                let beyond = [-min[a], max[a] - grid.dims[a] as f64];
                let at_side = |side: usize| walls[a][side] == Wall::Closed && beyond[side] >= -AT_SIDE;
                let flux: f64 = body.exposed().map(|p| self.velocity_at(surface, p.centroid)[a] * p.area[a]).sum();
                let touches = (0..2).any(|side| at_side(side) && beyond[side] <= AT_SIDE);
                let leaves = (0..2).any(|side| at_side(side) && (body.velocity.linear[a] > 0.0) == (side == 1));
                if touches || leaves && flux < 0.0 { flux.abs() / (grid.dx * grid.dx) } else { 0.0 }
            };
            Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).map(along).sum::<f64>()
        };
        let moving = |(surface, body): &(SurfaceId, &Body)| match &body.drive {
            Mover::Scripted(motion) => !motion.is_static(),
            Mover::Answers => is_led(*surface),
        };
        self.numbered().filter(moving).map(|(surface, body)| (&body.name[..], of_body(surface, body))).collect()
    }
}

/// Whether it is a scripted solid that does not stand.
fn is_moving(body: &Body) -> bool {
    matches!(&body.drive, Mover::Scripted(motion) if !motion.is_static())
}

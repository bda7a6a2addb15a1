//! Contact of elastic bodies with the domain's sides, obstacles, rigid bodies and one another.
//!
//! A *touch* is a vertex of one surface near another surface: along its normal the two must not come nearer than they are apart,
//! n·(v₁ − v₂) ≥ −gap/Δt. An impulse λ along n changes velocities by W λ, where W = C R Cᵀ with the response R of all bodies:
//! A⁻¹ of an elastic one, elasticity over the step included, M⁻¹ of a rigid one, nothing of what is scripted. Impulses follow by
//! projected Gauss–Seidel,
//!
//! ```text
//! λ ≥ 0,   W λ + C v + gap/Δt ≥ 0,   one of both zero;     friction |λ_t| ≤ μ λ
//! ```
//!
//! and are given to both sides, so that momentum is exchanged exactly. Elastic bodies touch with their vertices and the
//! triangles of what they touch, themselves included; edges that cross are not seen.
//!
//! What moves as it is told (sides, obstacles) goes on pushing while the fluid does: it supports the body in the pressure solve
//! ([`Supports`](crate::solve::Supports)). Friction and contact with other bodies are as predicted here.

use super::folds::folds;
use super::immersed::{Immersed, Near};
use crate::fluid::boundary::Wall;
use crate::geometry::{Nearest, SurfaceId};
use crate::grid::{Axis, Grid};
use crate::solid::elastic::ElasticBody;
use crate::solid::rigid::{RigidState, Rigids};
use crate::solve::{FRICTION, Support};
use glam::DVec3;

/// Sides are kept this far apart, in cells: room for a film of fluid, and for round-off.
pub(super) const FILM: f64 = 0.05;

/// Bodies that overlap are parted at no more than this many cells a second, and over no less than this time, s: within a step, if it is short,
/// they would be shot apart.
const PARTING: f64 = 12.0;
const UNHURRIED: f64 = 1.0 / 24.0;

/// Sides and obstacles nearer than this, in cells, may come to support a vertex within the step.
const NEAR: f64 = 0.25;

/// What is nearest across a flat scene, and not along its plane, is no contact: its normal has less than this part in the plane.
const ASIDE: f64 = 0.5;

/// Rounds of Gauss–Seidel at most, and the change, relative to the largest impulse, at which it ends.
const ROUNDS: usize = 400;
const SETTLED: f64 = 1e-6;

/// One side of a touch.
#[derive(Clone, Debug)]
pub(super) enum Side {
    /// Vertices of an elastic body, with weights.
    Elastic { body: usize, corners: [(u32, f64); 3] },
    /// A point of a free rigid body, m.
    Rigid { body: usize, at: DVec3 },
    /// Something that moves as it is told, m/s.
    Given { velocity: DVec3 },
}

/// A place where two surfaces are near each other.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    sides: [Side; 2],
    /// From the second side to the first.
    normal: DVec3,
    /// How far they are apart, m; negative if they overlap.
    gap: f64,
}

/// The solids that contact moves.
pub struct Movers<'a> {
    /// Elastic ones; their step is predicted.
    pub elastic: &'a mut [(String, ElasticBody)],
    /// Rigid ones.
    pub rigids: &'a Rigids,
    /// How these move.
    pub state: &'a mut RigidState,
    /// The surfaces of the elastic and of the rigid ones, in their order.
    pub surfaces: [&'a [SurfaceId]; 2],
    /// Which elastic ones the fluid presses to what they touch with many times their weight. Their friction is found with the pressure: that of the push
    /// of the last step would spin a light body.
    pub pressed: Vec<bool>,
}

/// One direction of a touch: how both sides move along it, and what an impulse along it does.
struct ContactRow {
    touch: usize,
    direction: DVec3,
    /// Least velocity along it.
    target: f64,
    /// Velocity along it without any impulse, m/s.
    velocity: f64,
    /// Changes of velocity of elastic bodies by a unit impulse, per body.
    answers: Vec<(usize, Vec<f64>)>,
}

/// Let solids that touch push each other over a step of `dt`, s; then bodies lean on what moves as it is told, if `they_lean`.
pub fn resolve(grid: &Grid, walls: [[Wall; 2]; 3], immersed: &Immersed, dt: f64, they_lean: bool, solids: &mut Movers) {
    let (touches, near) = find(grid, walls, immersed, dt, solids);
    if touches.is_empty() {
        return;
    }
    let mut rows: Vec<ContactRow> = Vec::new();
    for (n, touch) in touches.iter().enumerate() {
        let tangent = touch.normal.any_orthonormal_vector();
        let directions = [touch.normal, tangent, touch.normal.cross(tangent)];
        for (d, direction) in directions.into_iter().enumerate() {
            rows.push(ContactRow {
                touch: n,
                direction,
                target: if d == 0 { least_velocity(grid.dx, touch.gap, dt) } else { 0.0 },
                velocity: solids.speed(touch, direction),
                answers: solids.answers(touch, direction),
            });
        }
    }
    let n = rows.len();
    let matrix: Vec<f64> =
        (0..n * n).map(|place| solids.change(&touches, &rows[place / n], &rows[place % n])).collect();
    let is_pressed = |side: &Side| matches!(side, Side::Elastic { body, .. } if solids.pressed[*body]);
    let slides: Vec<bool> = touches.iter().map(|touch| touch.sides.iter().any(is_pressed)).collect();
    let impulses = gauss_seidel(&matrix, &rows, |touch| if slides[touch] { 0.0 } else { FRICTION });
    for (row, impulse) in rows.iter().zip(&impulses) {
        solids.apply(&touches[row.touch], row, *impulse);
    }
    if they_lean {
        let pushing = touches.iter().zip(rows.chunks_exact(3)).zip(impulses.chunks_exact(3));
        let pushing = pushing.map(|((touch, rows), impulses)| (touch, rows, impulses[0]));
        solids.lean(grid.dx, dt, pushing.chain(near.iter().map(|touch| (touch, &[][..], 0.0))));
    }
}

/// How fast surfaces must part over a step of `dt`, s, if the gap between them is so wide, m: at least as fast as closes it, if it is open.
pub(super) fn least_velocity(dx: f64, gap: f64, dt: f64) -> f64 {
    if gap >= 0.0 { -gap / dt } else { (-gap / dt.max(UNHURRIED)).min(PARTING * dx) }
}

/// Projected Gauss–Seidel; rows come in threes, the normal first.
fn gauss_seidel(matrix: &[f64], rows: &[ContactRow], friction: impl Fn(usize) -> f64) -> Vec<f64> {
    let n = rows.len();
    let mut impulses = vec![0.0; n];
    for _ in 0..ROUNDS {
        let (mut change, mut largest) = (0.0_f64, 0.0_f64);
        for i in 0..n {
            let own = &matrix[n * i..][..n];
            if own[i] <= 0.0 {
                continue;
            }
            let velocity = rows[i].velocity + own.iter().zip(&impulses).map(|(w, l)| w * l).sum::<f64>();
            let wanted = impulses[i] + (rows[i].target - velocity) / own[i];
            let limit = friction(rows[i].touch) * impulses[i - i % 3];
            let new = if i % 3 == 0 { wanted.max(0.0) } else { wanted.clamp(-limit, limit) };
            change = change.max((new - impulses[i]).abs());
            largest = largest.max(new.abs());
            impulses[i] = new;
        }
        if change <= SETTLED * largest {
            break;
        }
    }
    impulses
}

/// The corners of the triangle of a body that is nearest to a point, with weights, and the way from there to the point.
fn point_on(body: &ElasticBody, nearest: &Nearest, at: DVec3) -> ([(u32, f64); 3], DVec3) {
    let triangle = body.surface().triangles[nearest.triangle as usize];
    let corners = std::array::from_fn(|c| (triangle[c], nearest.weights[c]));
    let on_surface: DVec3 = corners.iter().map(|(v, w)| *w * body.positions()[*v as usize]).sum();
    (corners, (at - on_surface).normalize_or_zero() * nearest.distance.signum())
}

/// The sides of the domain that stop a vertex and are nearer than `around`, m: the way inwards, and the gap. A vertex that is beyond a side at
/// rest is meant to be there: a piston fills its cylinder.
fn sides_near(grid: &Grid, walls: [[Wall; 2]; 3], [at, rest]: [DVec3; 2], around: f64) -> Vec<(DVec3, f64)> {
    let mut near = Vec::new();
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let a = axis.index();
        let gaps = |at: DVec3| [at[a] - grid.origin[a], grid.upper()[a] - at[a]];
        for (side, inwards) in [(0, 1.0), (1, -1.0)] {
            let gap = gaps(at)[side];
            if !matches!(walls[a][side], Wall::Open) && gap < around && gaps(rest)[side] >= 0.0 {
                near.push((inwards * axis.unit(), gap));
            }
        }
    }
    near
}

/// All touches that could matter within the step, and vertices near what moves as it is told that do not touch it.
fn find(grid: &Grid, walls: [[Wall; 2]; 3], immersed: &Immersed, dt: f64, solids: &Movers) -> (Vec<Touch>, Vec<Touch>) {
    let (mut touches, mut near) = (Vec::new(), Vec::new());
    let film = FILM * grid.dx;
    let [elastic_surfaces, _] = solids.surfaces;
    // In a flat scene bodies touch with their sides, never with their front and back, which all have in the same planes.
    let moving = DVec3::from(Axis::ALL.map(|axis| if grid.is_flat(axis) { 0.0 } else { 1.0 }));
    let amid = |at: DVec3| moving * at + (DVec3::ONE - moving) * 0.5 * (grid.origin + grid.upper());
    // What matters comes as near as the film if both sides go on as they do.
    let mut add = |sides: [Side; 2], normal: DVec3, gap: f64| {
        if (moving * normal).length() < ASIDE {
            return;
        }
        let normal = (moving * normal).normalize();
        let touch = Touch { sides, normal, gap: gap - film };
        if touch.gap + dt * solids.speed(&touch, normal) < 0.0 || touch.gap < 0.0 {
            touches.push(touch);
        } else if matches!(touch.sides[1], Side::Given { .. }) {
            near.push(touch);
        }
    };
    let fastest = |body: &ElasticBody| body.velocities().iter().map(|v| v.length()).fold(0.0, f64::max);
    for (n, (_, body)) in solids.elastic.iter().enumerate().filter(|(_, (_, body))| body.is_active()) {
        let reach = film + 2.0 * dt * fastest(body);
        let around = reach.max(NEAR * grid.dx);
        for &vertex in body.surface_vertices().iter().filter(|&&v| body.free()[v as usize] != DVec3::ZERO) {
            let at = body.positions()[vertex as usize];
            let own = Side::Elastic { body: n, corners: [(vertex, 1.0), (vertex, 0.0), (vertex, 0.0)] };
            let rest = body.rest().vertices[vertex as usize];
            for (inwards, gap) in sides_near(grid, walls, [at, rest], around) {
                add([own.clone(), Side::Given { velocity: DVec3::ZERO }], inwards, gap);
            }
            for Near { surface, distance, normal } in immersed.near(grid.dx, elastic_surfaces[n], amid(at), around) {
                if let Some(side) = solids.side(immersed, surface, amid(at)) {
                    add([own.clone(), side], normal, distance);
                }
            }
        }
        for fold in folds(body, reach, film) {
            let own = Side::Elastic { body: n, corners: [(fold.vertex, 1.0), (fold.vertex, 0.0), (fold.vertex, 0.0)] };
            add([own, Side::Elastic { body: n, corners: fold.corners }], fold.normal, fold.gap);
        }
        // Corners of rigid bodies against the triangles of this one.
        for (surface, corner) in immersed.corners_near(elastic_surfaces[n], reach) {
            let corner = amid(corner);
            let Some(nearest) =
                immersed.nearest_on(elastic_surfaces[n], corner).filter(|nearest| nearest.distance < reach)
            else {
                continue;
            };
            let (corners, normal) = point_on(body, &nearest, corner);
            let rigid = solids.side(immersed, surface, corner).filter(|_| normal != DVec3::ZERO);
            if let Some(rigid) = rigid {
                add([rigid, Side::Elastic { body: n, corners }], normal, nearest.distance);
            }
        }
    }
    (touches, near)
}

impl Movers<'_> {
    /// Who is at a point near a surface; nobody, if it is of an elastic body that is not near after all.
    fn side(&self, immersed: &Immersed, surface: SurfaceId, at: DVec3) -> Option<Side> {
        let [elastic, rigid] = self.surfaces.map(|surfaces| surfaces.iter().position(|own| *own == surface));
        if let Some(body) = elastic {
            let nearest = immersed.nearest_on(surface, at)?;
            let triangle = self.elastic[body].1.surface().triangles[nearest.triangle as usize];
            let corners = std::array::from_fn(|c| (triangle[c], nearest.weights[c]));
            return Some(Side::Elastic { body, corners });
        }
        let given = || Side::Given { velocity: immersed.velocity_at(surface, at) };
        Some(rigid.map_or_else(given, |body| Side::Rigid { body, at }))
    }

    /// Let elastic bodies lean on what moves as it is told; `touches` come with their rows, if they have any, and the impulse of the first. Bodies
    /// that are pressed have friction there, too.
    fn lean<'a>(&mut self, dx: f64, dt: f64, touches: impl Iterator<Item = (&'a Touch, &'a [ContactRow], f64)>) {
        let mut supports: Vec<Vec<Support>> = self.elastic.iter().map(|_| Vec::new()).collect();
        for (touch, rows, impulse) in touches {
            let [Side::Elastic { body, corners }, Side::Given { velocity }] = &touch.sides else { continue };
            let (normal, gap) = (touch.normal, touch.gap);
            // What is farther away is in reach of a body that the fluid of the last step throws there; this one's may not.
            if gap > NEAR * dx {
                continue;
            }
            // Out of the film, if it is in it, is no haste: the fluid there would have to be as fast as the film is thin.
            let parting = if gap > -FILM * dx { -gap.max(0.0) / dt } else { least_velocity(dx, gap, dt) };
            let support = |direction: DVec3, parting: f64, answer: Vec<f64>| Support {
                row: vec![(3 * corners[0].0 as usize, direction)],
                least: direction.dot(*velocity) + parting,
                answer,
                impulse: 0.0,
                of: None,
            };
            let answer = |row: &ContactRow| row.answers[0].1.clone();
            let first = rows.first().map_or_else(|| self.answers(touch, normal).swap_remove(0).1, answer);
            let own = &mut supports[*body];
            let number = own.len();
            own.push(Support { impulse, ..support(normal, parting, first) });
            for row in rows.iter().skip(1).filter(|_| self.pressed[*body]) {
                own.push(Support { of: Some(number), ..support(row.direction, 0.0, answer(row)) });
            }
        }
        for ((_, body), supports) in self.elastic.iter_mut().zip(supports) {
            if supports.iter().any(|support| support.impulse > 0.0) {
                body.lean_on(supports);
            }
        }
    }

    /// How fast the sides of a touch part along a direction, m/s.
    fn speed(&self, touch: &Touch, direction: DVec3) -> f64 {
        let [first, second] = touch.sides.each_ref().map(|side| self.velocity(side));
        direction.dot(first - second)
    }

    fn velocity(&self, side: &Side) -> DVec3 {
        match side {
            Side::Elastic { body, corners } => {
                let velocities = self.elastic[*body].1.velocities();
                corners.iter().map(|(v, weight)| *weight * velocities[*v as usize]).sum()
            }
            Side::Rigid { body, at } => self.rigids.velocity(self.state, *body).at(*at),
            Side::Given { velocity } => *velocity,
        }
    }

    /// What a unit impulse along a direction does to the elastic bodies of a touch.
    fn answers(&self, touch: &Touch, direction: DVec3) -> Vec<(usize, Vec<f64>)> {
        let mut answers: Vec<(usize, Vec<f64>)> = Vec::new();
        for (side, sign) in touch.sides.iter().zip([1.0, -1.0]) {
            let Side::Elastic { body, corners } = side else { continue };
            let solid = &self.elastic[*body].1;
            let mut impulse = vec![0.0; 3 * solid.positions().len()];
            for (v, weight) in corners {
                let push = sign * *weight * direction;
                impulse[3 * *v as usize..][..3].iter_mut().zip(push.to_array()).for_each(|(i, push)| *i += push);
            }
            solid.respond(&mut impulse);
            answers.push((*body, impulse));
        }
        answers
    }

    /// How much a unit impulse of one row changes the velocity along another.
    fn change(&self, touches: &[Touch], along: &ContactRow, by: &ContactRow) -> f64 {
        let mut change = 0.0;
        for (side, sign) in touches[along.touch].sides.iter().zip([1.0, -1.0]) {
            match side {
                Side::Elastic { body, corners } => {
                    for (_, answer) in by.answers.iter().filter(|(other, _)| other == body) {
                        let moved: DVec3 = corners
                            .iter()
                            .map(|(v, weight)| *weight * DVec3::from_slice(&answer[3 * *v as usize..]))
                            .sum();
                        change += sign * along.direction.dot(moved);
                    }
                }
                Side::Rigid { body, at } => {
                    for (other, other_sign) in touches[by.touch].sides.iter().zip([1.0, -1.0]) {
                        if let Side::Rigid { body: same, at: there } = other
                            && same == body
                        {
                            let push = other_sign * by.direction;
                            change += sign * along.direction.dot(self.rigid_answer(*body, *there, push, *at));
                        }
                    }
                }
                Side::Given { .. } => {}
            }
        }
        change
    }

    /// The change of velocity `at` a point of a rigid body by an impulse given `there`.
    fn rigid_answer(&self, body: usize, there: DVec3, impulse: DVec3, at: DVec3) -> DVec3 {
        let (properties, place) = (self.rigids.properties(body), &self.state.bodies[body]);
        let spin = properties.inverse_inertia(place.rotation) * (there - place.position).cross(impulse);
        properties.inverse_mass() * impulse + spin.cross(at - place.position)
    }

    fn apply(&mut self, touch: &Touch, row: &ContactRow, impulse: f64) {
        if impulse == 0.0 {
            return;
        }
        for (body, answer) in &row.answers {
            let change: Vec<f64> = answer.iter().map(|v| impulse * v).collect();
            self.elastic[*body].1.add_velocity(&change);
        }
        for (side, sign) in touch.sides.iter().zip([1.0, -1.0]) {
            if let Side::Rigid { body, at } = side {
                let push = sign * impulse * row.direction;
                let arm = *at - self.state.bodies[*body].position;
                self.rigids.apply_impulse(self.state, *body, push, arm.cross(push));
            }
        }
    }
}

//! Contact of elastic bodies with the domain's sides, obstacles, rigid bodies and one another.
//!
//! A *touch* is a vertex of one surface near another surface: along its normal the two must not come nearer than they are apart,
//! n·(v₁ − v₂) ≥ −gap/Δt. Contact asks solids for what the fluid asks them for, their [`Freedoms`]: with C = n·N at the two points, an impulse λ along n
//! changes C v by W λ, W = C R Cᵀ with the response R, elasticity over the step and joints included; what is scripted has none. Impulses follow by
//! projected Gauss–Seidel,
//!
//! ```text
//! λ ≥ 0,   W λ + C v + gap/Δt ≥ 0,   one of both zero;     friction |λ_t| ≤ μ λ
//! ```
//!
//! and are given to both sides, so that momentum is exchanged exactly. Elastic bodies touch with their vertices and the
//! triangles of what they touch, themselves included; edges that cross are not seen. (\[ZB17, §9\] has the sides only, by a correction afterwards.)
//!
//! What moves as it is told (sides, obstacles) goes on pushing while the fluid does: it supports the body in the pressure solve
//! ([`Supports`](crate::solve::Supports)), with friction if the fluid presses a light one. Contact with other bodies is as predicted here.

use super::film::add;
use super::folds::{Fold, folds};
use super::immersed::{Immersed, Near};
use super::interface::point_near;
use crate::fluid::boundary::Wall;
use crate::geometry::SurfaceId;
use crate::grid::{Axis, Grid};
use crate::solid::elastic::ElasticBody;
use crate::solid::{Attached, Freedoms, Point, Pushed, Toucher};
use crate::solve::Support;
use glam::DVec3;
use std::collections::BTreeMap;

/// Sides are kept this far apart, in cells: room for a film of fluid, and for round-off.
/// A choice: thinner is lost in what a step leaves of a gap, wider is a gap that shows.
pub(super) const FILM: f64 = 0.05;

/// Bodies that overlap are parted at no more than this many cells a second, and over no less than this time, s: within a step, if it is short,
/// they would be shot apart.
/// Choices: together half a cell in a step of 1/24 s, which was once the bound of any step. Faster throws bodies and water about, slower leaves them in each other for longer.
const PARTING: f64 = 12.0;
const UNHURRIED: f64 = 1.0 / 24.0;

/// Sides and obstacles nearer than this, in cells, may come to support a vertex within the step.
/// A choice, lowered from 1: more are more rows to be found anew in each round, with less a body that the fluid throws may get there before it leans on anything.
const NEAR: f64 = 0.25;

/// What is nearest across a flat scene, and not along its plane, is no contact: its normal has less than this part in the plane.
/// A choice: normals of side faces have nearly all of it there, those of front and back nearly none.
const ASIDE: f64 = 0.5;

/// What is beyond a side by less than this at rest, in cells, stands on it: scenes refuse bodies that are a thousandth deep.
const ON_SIDE: f64 = 2e-3;

/// Coefficient of friction.
/// A choice: scenes have no key for it (docs/methods/elastic.md, *Contact*).
const FRICTION: f64 = 0.4;

/// Rounds of Gauss–Seidel at most, and the change, relative to the largest impulse, at which it ends.
/// Choices: a guard, and much below what a step changes.
const ROUNDS: usize = 400;
const SETTLED: f64 = 1e-6;

/// One side of a touch.
#[derive(Clone, Copy, Debug)]
enum Side {
    /// A point of a surface that answers.
    Answers { surface: SurfaceId, point: Point },
    /// Something that moves as it is told, m/s.
    Given { velocity: DVec3 },
}

/// A place where two surfaces are near each other.
#[derive(Clone, Copy, Debug)]
struct Touch {
    sides: [Side; 2],
    /// From the second side to the first.
    normal: DVec3,
    /// How far they are apart, m; negative if they overlap.
    gap: f64,
}

/// Where solids may touch over a step.
pub struct Encounter<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides.
    pub walls: [[Wall; 2]; 3],
    /// All surfaces.
    pub immersed: &'a Immersed,
    /// Length of the step, s.
    pub dt: f64,
    /// The elastic bodies, which touch with their vertices.
    pub elastic: &'a [(String, ElasticBody)],
    /// Their surfaces.
    pub surfaces: &'a [SurfaceId],
    /// Further surfaces that touch with their vertices.
    pub others: Vec<(SurfaceId, Toucher<'a>)>,
    /// Which of them the fluid presses to what they touch with many times their weight. Their friction is found with the pressure: that of the push
    /// of the last step would spin a light body.
    pub pressed: Vec<bool>,
    /// How fast each of the elastic bodies may come to be without the fluid, m/s: as fast as it was, and by its weight. What the last push would make of a light
    /// body takes it through the whole domain, to sides that it does not get near: it moves with the fluid.
    pub speeds: Vec<f64>,
}

/// What solids that touch do to each other.
pub struct Struck {
    /// To the freedoms of each unit, and how these move then; nothing to those that touch nothing.
    pub pushes: Vec<Option<(Pushed, Vec<f64>)>>,
    /// What each elastic body could lean on, if anything of that pushes it.
    pub supports: Vec<Vec<Support>>,
}

/// N, v* and M̂⁻¹ of all that answers, by surfaces.
struct Units<'a> {
    units: &'a [Freedoms],
    /// The unit of a surface, and its place there.
    of: BTreeMap<SurfaceId, (usize, usize)>,
}

/// One direction of a touch: a row C over freedoms, how both sides move along it, and what an impulse along it does.
struct ContactRow {
    touch: usize,
    direction: DVec3,
    /// C: unit, three of its freedoms, and what these count.
    parts: Vec<(usize, usize, DVec3)>,
    /// Least velocity along it.
    target: f64,
    /// Velocity along it without any impulse, m/s.
    velocity: f64,
    /// R Cᵀ, unit by unit.
    answers: Vec<(usize, Vec<f64>)>,
}

/// Let solids that touch push each other: what that does to the freedoms of `units`, and what bodies may then lean on.
pub fn resolve(encounter: &Encounter, units: &[Freedoms]) -> Struck {
    let units = Units::new(units);
    let (touches, near) = find(encounter, &units);
    let mut struck = Struck { pushes: vec![None; units.units.len()], supports: Vec::new() };
    if touches.is_empty() {
        return struck;
    }
    let of_touch = |(n, touch): (usize, &Touch)| {
        let tangent = touch.normal.any_orthonormal_vector();
        [touch.normal, tangent, touch.normal.cross(tangent)].map(|direction| units.row(n, touch, direction))
    };
    let mut rows: Vec<ContactRow> = touches.iter().enumerate().flat_map(of_touch).collect();
    for row in rows.iter_mut().step_by(3) {
        row.target = least_velocity(encounter.grid.dx, touches[row.touch].gap, encounter.dt);
    }
    let n = rows.len();
    let matrix: Vec<f64> = (0..n * n).map(|place| rows[place / n].change(&rows[place % n])).collect();
    let slides: Vec<bool> = touches.iter().map(|touch| encounter.is_pressed(touch)).collect();
    let impulses = gauss_seidel(&matrix, &rows, |touch| if slides[touch] { 0.0 } else { FRICTION });
    for (row, &impulse) in rows.iter().zip(&impulses).filter(|(_, impulse)| **impulse != 0.0) {
        for (unit, answer) in &row.answers {
            let nothing = || vec![0.0; answer.len()];
            let new = || {
                (Pushed { impulse: nothing(), lift: nothing(), change: nothing() }, units.units[*unit].velocity.clone())
            };
            let (pushed, velocity) = struck.pushes[*unit].get_or_insert_with(new);
            for values in [&mut pushed.change, velocity] {
                values.iter_mut().zip(answer).for_each(|(value, answer)| *value += impulse * answer);
            }
            let own = row.parts.iter().filter(|(other, ..)| other == unit);
            own.for_each(|(_, n, part)| add(&mut pushed.impulse, *n, impulse * *part));
        }
    }
    let pushing = touches.iter().zip(rows.chunks_exact(3)).zip(impulses.chunks_exact(3));
    let pushing = pushing.map(|((touch, rows), impulses)| (touch, rows, impulses[0]));
    struck.supports = encounter.supports(&units, pushing.chain(near.iter().map(|touch| (touch, &[][..], 0.0))));
    struck
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

/// Whether a closed side stops a vertex that is so far inside it at rest, m. One that is beyond is meant to be there: a piston fills its cylinder.
pub(super) fn is_stopped(at_rest: f64, dx: f64) -> bool {
    at_rest >= -ON_SIDE * dx
}

/// The sides of the domain that stop a vertex and are nearer than `around`, m: the way inwards, and the gap.
fn sides_near(grid: &Grid, walls: [[Wall; 2]; 3], [at, rest]: [DVec3; 2], around: f64) -> Vec<(DVec3, f64)> {
    let mut near = Vec::new();
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let a = axis.index();
        let gaps = |at: DVec3| [at[a] - grid.origin[a], grid.upper()[a] - at[a]];
        for (side, inwards) in [(0, 1.0), (1, -1.0)] {
            let gap = gaps(at)[side];
            if !matches!(walls[a][side], Wall::Open) && gap < around && is_stopped(gaps(rest)[side], grid.dx) {
                near.push((inwards * axis.unit(), gap));
            }
        }
    }
    near
}

/// A vertex of a surface.
fn vertex_of(positions: &[DVec3], vertex: u32) -> Point {
    let at = positions[vertex as usize];
    Point { at, corners: [1.0, 0.0, 0.0].map(|weight| (vertex, at, weight)) }
}

/// What touches with its vertices, and where it folds onto itself.
struct Runner<'a> {
    surface: SurfaceId,
    vertices: Vec<u32>,
    positions: &'a [DVec3],
    start: &'a [DVec3],
    /// How far it looks, m.
    reach: f64,
    folds: Vec<Fold>,
}

impl<'a> Encounter<'a> {
    fn runners(&self) -> Vec<Runner<'a>> {
        let film = FILM * self.grid.dx;
        let fastest = |velocities: &[DVec3]| velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        let reach = |speed: f64| film + 2.0 * self.dt * speed;
        let numbered = self.elastic.iter().zip(self.surfaces).enumerate();
        let active = numbered.filter(|(_, ((_, body), _))| body.is_active());
        let elastic = active.map(|(n, ((_, body), &surface))| {
            let is_movable = |v: &&u32| body.movable()[**v as usize] != DVec3::ZERO;
            let speed = fastest(body.velocities());
            let reach = reach(if self.pressed[n] { speed.min(self.speeds[n]) } else { speed });
            Runner {
                surface,
                vertices: body.surface_vertices().iter().filter(is_movable).copied().collect(),
                positions: body.positions(),
                start: &body.rest().vertices,
                reach,
                folds: folds(body, reach, film),
            }
        });
        let others = self.others.iter().map(|&(surface, Toucher { vertices, positions, velocities, start, .. })| {
            let (vertices, reach) = (vertices.to_vec(), reach(fastest(velocities)));
            Runner { surface, vertices, positions, start, reach, folds: Vec::new() }
        });
        elastic.chain(others).collect()
    }
}

/// All touches that could matter within the step, and vertices near what moves as it is told that do not touch it.
fn find(encounter: &Encounter, units: &Units) -> (Vec<Touch>, Vec<Touch>) {
    let Encounter { grid, walls, immersed, dt, .. } = *encounter;
    let (mut touches, mut near) = (Vec::new(), Vec::new());
    let film = FILM * grid.dx;
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
        if touch.gap + dt * units.speed(&touch, normal) < 0.0 || touch.gap < 0.0 {
            touches.push(touch);
        } else if matches!(touch.sides[1], Side::Given { .. }) {
            near.push(touch);
        }
    };
    for Runner { surface, vertices, positions, start, reach, folds } in encounter.runners() {
        let around = reach.max(NEAR * grid.dx);
        let own = |vertex: u32| Side::Answers { surface, point: vertex_of(positions, vertex) };
        for vertex in vertices {
            let at = positions[vertex as usize];
            for (inwards, gap) in sides_near(grid, walls, [at, start[vertex as usize]], around) {
                add([own(vertex), Side::Given { velocity: DVec3::ZERO }], inwards, gap);
            }
            for Near { surface: other, distance, normal } in immersed.near(grid.dx, surface, amid(at), around) {
                if let Some(side) = units.side(immersed, other, amid(at)) {
                    add([own(vertex), side], normal, distance);
                }
            }
        }
        for fold in folds {
            let corners = fold.corners.map(|(v, weight)| (v, positions[v as usize], weight));
            let point = Point { at: corners.iter().map(|(_, x, weight)| *weight * *x).sum(), corners };
            add([own(fold.vertex), Side::Answers { surface, point }], fold.normal, fold.gap);
        }
        // Corners of what keeps its shape against the triangles of this one.
        for (other, corner) in immersed.corners_near(surface, reach) {
            let corner = amid(corner);
            let Some(nearest) = immersed.nearest_on(surface, corner).filter(|nearest| nearest.distance < reach) else {
                continue;
            };
            let Some(Side::Answers { point, .. }) = units.side(immersed, surface, corner) else { continue };
            let on_surface: DVec3 = point.corners.iter().map(|(_, x, weight)| *weight * *x).sum();
            let normal = (corner - on_surface).normalize_or_zero() * nearest.distance.signum();
            let side = units.side(immersed, other, corner).filter(|_| normal != DVec3::ZERO);
            if let Some(side) = side {
                add([side, Side::Answers { surface, point }], normal, nearest.distance);
            }
        }
    }
    (touches, near)
}

impl<'a> Units<'a> {
    fn new(units: &'a [Freedoms]) -> Self {
        let of_unit = |(n, unit): (usize, &Freedoms)| {
            unit.surfaces.iter().enumerate().map(|(place, attached)| (attached.surface, (n, place))).collect::<Vec<_>>()
        };
        Self { units, of: units.iter().enumerate().flat_map(of_unit).collect() }
    }

    fn attached(&self, surface: SurfaceId) -> Option<(usize, &Attached)> {
        self.of.get(&surface).map(|&(unit, place)| (unit, &self.units[unit].surfaces[place]))
    }

    /// Who is at a point near a surface; nobody, if that deforms and is not near after all.
    fn side(&self, immersed: &Immersed, surface: SurfaceId, at: DVec3) -> Option<Side> {
        match self.attached(surface) {
            Some((_, attached)) => point_near(immersed, attached, at).map(|point| Side::Answers { surface, point }),
            None => Some(Side::Given { velocity: immersed.velocity_at(surface, at) }),
        }
    }

    /// C of a direction: what freedoms count in the speed at which the sides of a touch part along it.
    fn parts(&self, touch: &Touch, direction: DVec3) -> Vec<(usize, usize, DVec3)> {
        let mut parts = Vec::new();
        for (side, push) in touch.sides.iter().zip([direction, -direction]) {
            let Side::Answers { surface, point } = side else { continue };
            let Some((unit, Attached { first, follow, .. })) = self.attached(*surface) else { continue };
            follow.gather(point, push, |n, part| {
                if part != DVec3::ZERO {
                    parts.push((unit, first / 3 + n, part));
                }
            });
        }
        parts
    }

    /// How fast the sides of a touch part along a direction, m/s.
    fn speed(&self, touch: &Touch, direction: DVec3) -> f64 {
        let of_part =
            |(unit, n, part): (usize, usize, DVec3)| part.dot(DVec3::from_slice(&self.units[unit].velocity[3 * n..]));
        let of_given = |(side, sign): (&Side, f64)| match side {
            Side::Given { velocity } => sign * direction.dot(*velocity),
            Side::Answers { .. } => 0.0,
        };
        let answering: f64 = self.parts(touch, direction).into_iter().map(of_part).sum();
        answering + touch.sides.iter().zip([1.0, -1.0]).map(of_given).sum::<f64>()
    }

    fn row(&self, number: usize, touch: &Touch, direction: DVec3) -> ContactRow {
        let parts = self.parts(touch, direction);
        let mut answers: Vec<(usize, Vec<f64>)> = Vec::new();
        for (unit, n, part) in &parts {
            if answers.iter().all(|(other, _)| other != unit) {
                answers.push((*unit, vec![0.0; self.units[*unit].velocity.len()]));
            }
            let own = answers.iter_mut().find(|(other, _)| other == unit);
            add(&mut own.expect("it is among them").1, *n, *part);
        }
        answers.iter_mut().for_each(|(unit, answer)| self.units[*unit].response.respond(answer));
        ContactRow { touch: number, direction, parts, target: 0.0, velocity: self.speed(touch, direction), answers }
    }
}

impl ContactRow {
    /// How much a unit impulse of another row changes the velocity along this one: an entry of W.
    fn change(&self, by: &Self) -> f64 {
        let of_part = |(unit, n, part): &(usize, usize, DVec3)| {
            let answer = by.answers.iter().find(|(other, _)| other == unit);
            answer.map_or(0.0, |(_, answer)| part.dot(DVec3::from_slice(&answer[3 * n..])))
        };
        self.parts.iter().map(of_part).sum()
    }
}

impl Encounter<'_> {
    fn number(&self, side: &Side) -> Option<usize> {
        let Side::Answers { surface, .. } = side else { return None };
        self.surfaces.iter().position(|own| own == surface)
    }

    fn is_pressed(&self, touch: &Touch) -> bool {
        touch.sides.iter().any(|side| self.number(side).is_some_and(|body| self.pressed[body]))
    }

    /// What elastic bodies can lean on, of what moves as it is told; `touches` come with their rows, if they have any, and the impulse of the first.
    /// Bodies that are pressed have friction there, too.
    fn supports<'a>(
        &self,
        units: &Units,
        touches: impl Iterator<Item = (&'a Touch, &'a [ContactRow], f64)>,
    ) -> Vec<Vec<Support>> {
        let (dx, dt) = (self.grid.dx, self.dt);
        let mut supports: Vec<Vec<Support>> = self.elastic.iter().map(|_| Vec::new()).collect();
        let mut across: Vec<Vec<Support>> = supports.clone();
        for (touch, rows, impulse) in touches {
            let [Side::Answers { point, .. }, Side::Given { velocity }] = &touch.sides else { continue };
            let Some(body) = self.number(&touch.sides[0]) else { continue };
            let (normal, gap) = (touch.normal, touch.gap);
            // What is farther away is in reach of a body that the fluid of the last step throws there; this one's may not.
            if gap > NEAR * dx {
                continue;
            }
            // Out of the film, if it is in it, is no haste: the fluid there would have to be as fast as the film is thin.
            let parting = if gap > -FILM * dx { -gap.max(0.0) / dt } else { least_velocity(dx, gap, dt) };
            let support = |direction: DVec3, parting: f64, answer: Vec<f64>| Support {
                row: vec![(3 * point.corners[0].0 as usize, direction)],
                least: direction.dot(*velocity) + parting,
                answer,
                impulse: 0.0,
                of: None,
                patch: 0,
                friction: FRICTION,
                give: 0.0,
            };
            let answer = |row: &ContactRow| row.answers[0].1.clone();
            let first = rows.first().map_or_else(|| answer(&units.row(0, touch, normal)), answer);
            let own = &mut supports[body];
            let number = own.len();
            own.push(Support { impulse, ..support(normal, parting, first) });
            for row in rows.iter().skip(1).filter(|_| self.pressed[body]) {
                across[body].push(Support { of: Some(number), ..support(row.direction, 0.0, answer(row)) });
            }
        }
        supports.iter_mut().zip(across).for_each(|(own, across)| own.extend(across));
        // Nothing that pushes nobody holds anybody.
        for own in supports.iter_mut().filter(|own| own.iter().all(|support| support.impulse <= 0.0)) {
            own.clear();
        }
        supports
    }
}

//! Elastic bodies in the pressure solve (design §2, eq. 1; \[ZB17, §5\]).
//!
//! The vertices of the surface move with velocities v. They push the volume B v into the cells around them and take the
//! impulses −ρ dx³ Bᵀ p (p in the projection's unit); a row of B adds up the polygons of the surface in the cell, each shared out
//! to the corners of its triangle by the barycentric weights b of its centre \[ZB17, eq. 10–15\]:
//!
//! ```text
//! B_cv = Σ A b_v / dx²
//! ```
//!
//! Faces that the body all but closes move with the nearest triangle, and belong to B as well. With A = M + Δt D + Δt² K of the
//! body, v = v* − ρ dx³ A⁻¹ Bᵀ p, and what is left to solve is (L + ρ dx³ B A⁻¹ Bᵀ) p = B v* − D u*: the system of \[ZB17,
//! eq. 19\] with v eliminated.
//!
//! As with rigid bodies, the pressure that carries the weight of the fluid acts on a polygon with its value there, not with that in
//! the middle of its cell x_c: vertices get −ρ Δt Σ A (b_v g·(x − x_c) + ∇b_v·S g) beforehand (`lift`), with S the mean of
//! (y − x)(y − x)ᵀ over the polygon.

use super::Medium;
use super::vertices;
use crate::fluid::boundary::Boundary;
use crate::geometry::{Nearest, closest, rates};
use crate::grid::cut_cells::CutPolygon;
use crate::grid::{CellField, Grid, strides, unravel};
use crate::solid::elastic::ElasticBody;
use crate::solve::{Block, ElasticStep, LowRank, Patches, Push, Yielding};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an elastic body has to do with the fluid at its current place.
pub struct ElasticCoupling {
    push: Push,
    /// What hydrostatic pressure does to the vertices beyond what B has of it, N s, three values each.
    pub lift: Vec<f64>,
    /// Density of the fluid, kg/m³.
    rho: f64,
    /// Width of a cell, m.
    dx: f64,
}

/// Modes count if the fluid that moves with them is more than this part of what they weigh, elasticity included.
const FELT: f64 = 0.6;

/// Modes that are combinations of others but for this part of their square are left out.
const DEPENDENT: f64 = 1e-6;

/// Over a step, the matrix of a soft body is at most this many times its mass: each vertex moves much by itself.
const SOFT: f64 = 4.0;

/// Up to this many times, motions of neighbours tell enough of what the body does.
const FIRM: f64 = 40.0;

/// Ties are strong if they are this part of an open face between cells.
const STRONG: f64 = 0.25;

/// Vertices are far apart if each has more than this many cells.
const WIDE: usize = 3;

/// More vertices than this are not worth a column each.
const MANY: usize = 768;

/// Modes in one block, which one thread works on.
const TOGETHER: usize = 16;

impl ElasticCoupling {
    /// B of `body`, whose surface has the `polygons`; faces of `boundary` that move with it have the number `name`, and `nearest`
    /// tells the point of the surface that they move with.
    pub fn new(
        grid: &Grid,
        fluid: Medium,
        boundary: &Boundary,
        (body, name): (&ElasticBody, u32),
        (polygons, nearest): (&[CutPolygon], impl Fn(DVec3) -> Option<Nearest>),
    ) -> Self {
        let (surface, free) = (body.surface(), body.free());
        let mut rows = BTreeMap::<(u32, u32), DVec3>::new();
        let mut lift = vec![0.0; 3 * free.len()];
        let impulse = fluid.rho * grid.dx * grid.dx * fluid.gain;
        let mut add = |cell: usize, (triangle, weights): (u32, [f64; 3]), push: DVec3, (at, spread): (DVec3, DMat3)| {
            let aside = at - grid.cell_centre(unravel(grid.dims, cell));
            let is_wet = if fluid.is_in(cell) { 1.0 } else { 0.0 };
            let corners = surface.triangles[triangle as usize].into_iter();
            let slopes = rates(surface.corners(triangle as usize), spread * impulse);
            for (vertex, (weight, slope)) in corners.zip(weights.into_iter().zip(slopes)) {
                let push = push * free[vertex as usize];
                *rows.entry((cell as u32, vertex)).or_default() += weight * push;
                let lifted = -is_wet * (weight * impulse.dot(aside) + slope) * push;
                let lift = &mut lift[3 * vertex as usize..][..3];
                lift.iter_mut().zip(lifted.to_array()).for_each(|(lift, push)| *lift += push);
            }
        };
        for CutPolygon { cell, triangle, area, centroid, spread } in polygons {
            let (_, weights) = closest(surface.corners(*triangle as usize), *centroid);
            add(*cell, (*triangle, weights), *area / (grid.dx * grid.dx), (*centroid, *spread));
        }
        for face in boundary.given.iter().filter(|face| face.body == Some(name)) {
            let (a, at) = (face.axis.index(), unravel(grid.face_dims(face.axis), face.index));
            let upper = at[0] + grid.dims[0] * (at[1] + grid.dims[1] * at[2]);
            let below = (at[a] > 0).then(|| upper - strides(grid.dims)[a]);
            let above = (at[a] < grid.dims[a]).then_some(upper);
            let middle = grid.face_centre(face.axis, at);
            let Some(nearest) = nearest(middle) else { continue };
            let open = boundary.open.axes[a][face.index];
            // It leaves the cell below and enters the one above.
            for (cell, sign) in [below, above].into_iter().zip([-open, open]) {
                if let Some(cell) = cell {
                    add(cell, (nearest.triangle, nearest.weights), sign * face.axis.unit(), (middle, DMat3::ZERO));
                }
            }
        }
        Self { push: Push::new(rows), lift, rho: fluid.rho, dx: grid.dx }
    }

    /// ρ dx³, kg.
    fn unit(&self) -> f64 {
        self.rho * self.dx.powi(3)
    }

    /// What the body adds to the pressure operator; its step of `dt`, s, is predicted.
    pub fn terms(&self, body: &ElasticBody, dt: f64) -> Yielding {
        let (push, system) = (&self.push, body.system());
        let masses: Vec<f64> = body.masses().iter().map(|m| (1.0 + dt * body.material().mass_damping) * m).collect();
        // Summed over the cells of a row, so that ties are exact where pressure hardly changes from cell to cell.
        let mut whole = vec![DVec3::ZERO; body.positions().len()];
        push.entries.iter().for_each(|(vertex, weight)| whole[*vertex as usize] += *weight);
        // What vertices answer to that if the others stay, and if they come along.
        let of_vertex =
            |v| system.position(v, v).map_or(DVec3::ZERO, |place| system.blocks[place].inverse() * whole[v]);
        let mut alone: Vec<DVec3> = (0..whole.len()).map(of_vertex).collect();
        let mut along: Vec<DVec3> = whole.iter().zip(&masses).map(|(whole, mass)| *whole / *mass).collect();
        for (vertex, direction) in supported(body) {
            for answer in [&mut alone[vertex], &mut along[vertex]] {
                *answer -= direction.dot(*answer) * direction;
            }
        }
        let (ties, coarse_ties) = (self.ties(&alone), self.ties(&along));

        let hold = hold(body);
        let strength = ties.iter().sum::<f64>() / ties.len().max(1) as f64;
        let vertices = whole.iter().filter(|whole| **whole != DVec3::ZERO).count();
        let is_wide = ties.len() > WIDE * vertices && vertices <= MANY;
        let is_patched = hold < FIRM && strength > STRONG && is_wide;
        let patches = if is_patched {
            vertices::patches((push, self.unit()), system, (&whole, &alone))
        } else {
            Patches::default()
        };
        let has_modes = !is_patched && hold > SOFT;
        Yielding {
            push: push.clone(),
            modes: if has_modes { self.pushed_by(modes(body, self.rho)) } else { LowRank::default() },
            step: Arc::new(ElasticStep {
                dt,
                system: system.clone(),
                factor: body.factor().clone(),
                masses,
                velocity: body.velocity(),
                supports: body.supports().clone(),
            }),
            rho: self.rho,
            dx: self.dx,
            ties,
            patches,
            coarse_ties,
        }
    }

    /// What a pressure finds in each row of B, if vertices give way to a uniform one by `answers`.
    fn ties(&self, answers: &[DVec3]) -> Vec<f64> {
        let tie = |(vertex, weight): &(u32, DVec3)| self.unit() * weight.dot(answers[*vertex as usize]).max(0.0);
        self.push.rows().map(|(_, entries)| entries.iter().map(tie).sum()).collect()
    }

    /// C of some modes.
    fn pushed_by(&self, (columns, modes): (usize, Vec<DVec3>)) -> LowRank {
        let (push, scale) = (&self.push, self.unit().sqrt());
        let block = |first: usize| {
            let width = TOGETHER.min(columns - first);
            let mut values = vec![0.0; width * push.cells.len()];
            for ((_, entries), values) in push.rows().zip(values.chunks_exact_mut(width)) {
                for (v, weight) in entries {
                    let modes = &modes[columns * *v as usize + first..][..width];
                    values.iter_mut().zip(modes).for_each(|(value, mode)| *value += scale * weight.dot(*mode));
                }
            }
            Block { cells: push.cells.clone(), columns: width, values }
        };
        LowRank { blocks: (0..columns).into_par_iter().step_by(TOGETHER).map(block).collect() }
    }

    /// Volume that the body pushes into cells as it moves, in units of dx², m/s.
    pub fn pushed(&self, body: &ElasticBody) -> Vec<(usize, f64)> {
        let velocity = body.velocity();
        let mut pushed = Vec::with_capacity(self.push.cells.len());
        self.push.scatter(&velocity, |cell, volume| pushed.push((cell, volume)));
        pushed
    }

    /// Impulses of the fluid on the vertices beyond the lift, N s, three values each; `p` is Δt·pressure/(ρ dx), m/s.
    pub fn impulses(&self, body: &ElasticBody, p: &CellField) -> Vec<f64> {
        let mut impulses = vec![0.0; 3 * body.positions().len()];
        self.push.gather(&p.data, &mut impulses);
        let unit = self.unit();
        impulses.iter_mut().for_each(|impulse| *impulse *= -unit);
        impulses
    }
}

/// The vertices that something holds, and along which directions.
fn supported(body: &ElasticBody) -> impl Iterator<Item = (usize, DVec3)> {
    body.supports().held().flat_map(|support| &support.row).map(|(first, normal)| (first / 3, *normal))
}

/// How much vertices hold one another over the step: the mean of A beside that of M.
fn hold(body: &ElasticBody) -> f64 {
    let system = body.system();
    let of_vertex = |v: usize| system.position(v, v).map_or(0.0, |k| system.blocks[k].diagonal().element_sum() / 3.0);
    let whole: f64 = (0..system.rows()).map(of_vertex).sum();
    whole / body.masses().iter().sum::<f64>()
}

/// Motions of a body as a whole that the fluid can cause, in one another's measure A: Uᵀ A U = 1. Those of each vertex are together.
///
/// Rigid ones come first, then strains, then bending; each gives up what it has of those before. What is left of a mode is
/// as heavy as A says, and moves about as much fluid as it moves mass, in proportion to the densities: where that is much
/// lighter, the fluid may take the body for stiff, and the mode is left out.
fn modes(body: &ElasticBody, rho: f64) -> (usize, Vec<DVec3>) {
    let (centre, positions, masses) = (body.centre(), body.positions(), body.masses());
    let reach = positions.iter().map(|x| x.distance(centre)).fold(0.0, f64::max);
    let scaled = |x: &DVec3| (*x - centre) / reach;
    let raw: Vec<Vec<DVec3>> = motions()
        .map(|motion| positions.iter().zip(body.free()).map(|(x, free)| motion(scaled(x)) * *free).collect())
        .collect();
    let image = |mode: &Vec<DVec3>| (0..mode.len()).map(|row| body.system().multiply_row(row, mode)).collect();
    let images: Vec<Vec<DVec3>> = raw.par_iter().map(image).collect();
    let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    let weighed = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).zip(masses).map(|((a, b), m)| m * a.dot(*b)).sum::<f64>();
    let stiffness = symmetric(raw.len(), |i, j| dot(&raw[i], &images[j]));
    let mass = symmetric(raw.len(), |i, j| weighed(&raw[i], &raw[j]));
    let product = |matrix: &[Vec<f64>], a: &[f64], b: &[f64]| -> f64 {
        let rows = a.iter().zip(matrix).filter(|(a, _)| **a != 0.0);
        rows.map(|(a, row)| a * row.iter().zip(b).map(|(m, b)| m * b).sum::<f64>()).sum()
    };
    // Combinations of the raw ones.
    let (mut all, mut kept): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for n in 0..raw.len() {
        let mut own = vec![0.0; raw.len()];
        own[n] = 1.0;
        // Twice is enough, once is not.
        for _ in 0..2 {
            for other in &all {
                let part = product(&stiffness, other, &own);
                own.iter_mut().zip(other).for_each(|(own, other)| *own -= part * other);
            }
        }
        let square = product(&stiffness, &own, &own);
        if square > DEPENDENT * stiffness[n][n] {
            let scale = square.sqrt().recip();
            own.iter_mut().for_each(|own| *own *= scale);
            if rho * product(&mass, &own, &own) > FELT * body.material().density {
                kept.push(own.clone());
            }
            all.push(own);
        }
    }
    let at = |v: usize, own: &[f64]| own.iter().zip(&raw).map(|(part, mode)| *part * mode[v]).sum::<DVec3>();
    // What holds a vertex holds the modes, but for what gives way between: U ← U (1 + k kᵀ/d)^(−½), k = nᵀU, d = nᵀ A_vv⁻¹ n.
    for (vertex, normal) in supported(body) {
        let row: Vec<f64> = kept.iter().map(|own| normal.dot(at(vertex, own))).collect();
        let square: f64 = row.iter().map(|k| k * k).sum();
        let Some(place) = body.system().position(vertex, vertex).filter(|_| square > 0.0) else { continue };
        let gives = normal.dot(body.system().blocks[place].inverse() * normal);
        let less = (1.0 - (1.0 + square / gives).sqrt().recip()) / square;
        let mut sum = vec![0.0; raw.len()];
        for (own, k) in kept.iter().zip(&row) {
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += k * own);
        }
        for (own, k) in kept.iter_mut().zip(&row) {
            own.iter_mut().zip(&sum).for_each(|(own, sum)| *own -= less * k * sum);
        }
    }
    let of_vertex = |v: usize| kept.iter().map(|own| at(v, own)).collect::<Vec<_>>();
    (kept.len(), (0..positions.len()).into_par_iter().with_min_len(64).flat_map_iter(of_vertex).collect())
}

/// A symmetric matrix from its entries (i, j ≤ i).
fn symmetric(n: usize, entry: impl Fn(usize, usize) -> f64 + Sync) -> Vec<Vec<f64>> {
    // Long rows first, so that threads end together.
    let half: Vec<Vec<f64>> = (0..n).into_par_iter().rev().map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect();
    let at = |i: usize, j: usize| half[n - 1 - i.max(j)][i.min(j)];
    (0..n).map(|i| (0..n).map(|j| at(i, j)).collect()).collect()
}

/// Shifts, turns, strains, and all that is quadratic.
fn motions() -> impl Iterator<Item = impl Fn(DVec3) -> DVec3> {
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    // A coefficient for 1, x, y, z and each product of two, per component.
    let term = |axis: usize, place: usize, sign: f64| (axis, place, sign);
    let mut motions: Vec<Vec<(usize, usize, f64)>> = (0..3).map(|axis| vec![term(axis, 0, 1.0)]).collect();
    let pairs = [(0, 1), (1, 2), (2, 0)];
    motions.extend(pairs.map(|(a, b)| vec![term(a, 1 + b, -1.0), term(b, 1 + a, 1.0)]));
    motions.extend((0..3).map(|axis| vec![term(axis, 1 + axis, 1.0)]));
    motions.extend(pairs.map(|(a, b)| vec![term(a, 1 + b, 1.0), term(b, 1 + a, 1.0)]));
    motions.extend((4..10).flat_map(|place| (0..3).map(move |axis| vec![term(axis, place, 1.0)])));
    motions.into_iter().map(move |terms| {
        move |x: DVec3| {
            let powers = [1.0, x.x, x.y, x.z, x.x * x.x, x.y * x.y, x.z * x.z, x.x * x.y, x.y * x.z, x.z * x.x];
            terms.iter().map(|&(axis, place, sign)| sign * powers[place] * axes[axis]).sum()
        }
    })
}

//! Units of many freedoms in the pressure operator (design §2, eq. 1; \[ZB17, §5\]).
//!
//! With A = M + Δt D + Δt² K of an elastic body, v = v* − ρ dx³ A⁻¹ Bᵀ p, and what is left to solve is (L + ρ dx³ B A⁻¹ Bᵀ) p = B v* − D u*: the
//! system of \[ZB17, eq. 19\] with v eliminated. A⁻¹ is a factor, and applied once an iteration; what is found here is what the
//! preconditioner takes the body for.

use super::interface::FaceRow;
use super::vertices;
use crate::solve::{Block, ElasticStep, LowRank, Patches, Push, Support, Yielding};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

// What follows is the preconditioner's: it changes how many iterations are taken, not what they find. All are choices; docs/methods/elastic.md tells iterations.

/// Modes count if the fluid that moves with them is more than this part of what they weigh, elasticity included.
/// A choice: with less, columns are kept that cost more than they save; with more, modes are missing that the fluid does cause.
const FELT: f64 = 0.6;

/// Modes that are combinations of others but for this part of their square are left out.
/// A choice: far above what rounding leaves of such a mode, far below what a mode of its own has.
const DEPENDENT: f64 = 1e-6;

/// Over a step, the matrix of a soft body is at most this many times its mass: each vertex moves much by itself.
/// A choice: with less, modes are kept that say little of such a body; with more, firmer ones that have no patches have ties alone.
const SOFT: f64 = 4.0;

/// Up to this many times, motions of neighbours tell enough of what the body does.
/// A choice: with more, patches stand for stiff bodies, which move as a whole; with less, modes for bodies that do not.
const FIRM: f64 = 40.0;

/// Ties are strong if they are this part of an open face between cells.
/// A choice, lowered from 0.3: with less, patches are set up for bodies that the fluid between cells outweighs anyway.
const STRONG: f64 = 0.25;

/// Vertices are far apart if each has more than this many cells.
/// A choice: with less, patches would be many, and of next to no cells each.
const WIDE: usize = 3;

/// More vertices than this are not worth a column each.
/// A choice: half of what all bodies have together (`MOST_PATCHES` in solve/sigma.rs); beyond it ties alone take up to twice the iterations (docs/methods/elastic.md, *Limits*).
const MANY: usize = 768;

/// Modes in one block, which one thread works on.
const TOGETHER: usize = 16;

/// What a unit with the rows `push` adds to the operator in a fluid of density `rho`, kg/m³, in cells of size `dx`, m; `velocity` is what it begins with.
pub(super) fn yielding(push: Push, step: &Arc<ElasticStep>, velocity: Vec<f64>, rho: f64, dx: f64) -> Yielding {
    let (system, unit) = (&step.system, rho * dx.powi(3));
    // Summed over the cells of a row, so that ties are exact where pressure hardly changes from cell to cell.
    let mut whole = vec![DVec3::ZERO; step.positions.len()];
    push.entries.iter().for_each(|(vertex, weight)| whole[*vertex as usize] += *weight);
    // What vertices answer to that if the others stay, and if they come along.
    let of_vertex = |v| system.position(v, v).map_or(DVec3::ZERO, |place| system.blocks[place].inverse() * whole[v]);
    let mut alone: Vec<DVec3> = (0..whole.len()).map(of_vertex).collect();
    let mut along: Vec<DVec3> = whole.iter().zip(&step.damped).map(|(whole, mass)| *whole / *mass).collect();
    for (vertex, direction) in supported(step) {
        for answer in [&mut alone[vertex], &mut along[vertex]] {
            *answer -= direction.dot(*answer) * direction;
        }
    }
    let (ties, coarse_ties) = (ties(&push, &alone, unit), ties(&push, &along, unit));

    let firmness = firmness(step);
    let strength = ties.iter().sum::<f64>() / ties.len().max(1) as f64;
    let vertices = whole.iter().filter(|whole| **whole != DVec3::ZERO).count();
    let is_wide = ties.len() > WIDE * vertices && vertices <= MANY;
    let is_patched = firmness < FIRM && strength > STRONG && is_wide;
    let patches = if is_patched { vertices::patches(&push, unit, system, &whole, &alone) } else { Patches::default() };
    let has_modes = !is_patched && firmness > SOFT;
    let modes = if has_modes { pushed_by(&push, unit, modes(step, rho)) } else { LowRank::default() };
    Yielding { push, velocity, step: step.clone(), rho, dx, modes, ties, patches, coarse_ties }
}

/// The step of a body that takes fluid along on its faces: A + JᵀβJ, with `unit` = ρ dx³. J is of the corners of triangles, so that A has room for it.
pub(super) fn weigh_down(step: &Arc<ElasticStep>, faces: &[FaceRow], unit: f64) -> Arc<ElasticStep> {
    if faces.is_empty() {
        return step.clone();
    }
    let (mut system, mut damped) = ((*step.system).clone(), step.damped.clone());
    for FaceRow { face, row, .. } in faces {
        let row: Vec<(usize, DVec3)> =
            row.iter().map(|(n, part)| (*n as usize, *part * step.movable[*n as usize])).collect();
        let whole: DVec3 = row.iter().map(|(_, part)| *part).sum();
        for (n, along) in &row {
            damped[*n] += unit * face.mass * along.dot(whole) / 3.0;
            for (m, by) in &row {
                let place = system.position(*n, *m).expect("corners of a triangle belong to one element");
                let part = unit * face.mass * *along;
                system.blocks[place] += DMat3::from_cols(part * by.x, part * by.y, part * by.z);
            }
        }
    }
    let factor = step.factor.of_another(&system).expect("more mass keeps A positive definite");
    let answer = |support: &Support| {
        let mut answer = vec![0.0; factor.size()];
        for (first, part) in &support.row {
            answer[*first..][..3].copy_from_slice(&(*part * step.movable[first / 3]).to_array());
        }
        factor.solve_in_place(&mut answer);
        answer
    };
    let supports = step.supports.answered(answer);
    let ElasticStep { dt, masses, positions, movable, density, .. } = &**step;
    let (masses, positions, movable) = (masses.clone(), positions.clone(), movable.clone());
    Arc::new(ElasticStep {
        dt: *dt,
        system: Arc::new(system),
        factor,
        masses,
        damped,
        positions,
        movable,
        density: *density,
        supports,
    })
}

/// What a pressure finds in each row of B, if vertices give way to a uniform one by `answers`.
fn ties(push: &Push, answers: &[DVec3], unit: f64) -> Vec<f64> {
    let tie = |(vertex, weight): &(u32, DVec3)| unit * weight.dot(answers[*vertex as usize]).max(0.0);
    push.rows().map(|(_, entries)| entries.iter().map(tie).sum()).collect()
}

/// C of some modes.
fn pushed_by(push: &Push, unit: f64, (columns, modes): (usize, Vec<DVec3>)) -> LowRank {
    let scale = unit.sqrt();
    let block = |first: usize| {
        let width = TOGETHER.min(columns - first);
        let mut values = vec![0.0; width * push.cells.len()];
        for ((_, entries), values) in push.rows().zip(values.chunks_exact_mut(width)) {
            for (v, weight) in entries {
                let modes = &modes[columns * *v as usize + first..][..width];
                values.iter_mut().zip(modes).for_each(|(value, mode)| *value += scale * weight.dot(*mode));
            }
        }
        Block { cells: push.cells.clone(), columns: width, values, is_immersed: false }
    };
    LowRank { blocks: (0..columns).into_par_iter().step_by(TOGETHER).map(block).collect() }
}

/// The vertices that something holds, and along which directions.
fn supported(step: &ElasticStep) -> impl Iterator<Item = (usize, DVec3)> {
    step.supports.pushing().flat_map(|support| &support.row).map(|(first, normal)| (first / 3, *normal))
}

/// How much vertices drag one another over the step: the mean of A beside that of M.
fn firmness(step: &ElasticStep) -> f64 {
    let system = &step.system;
    let of_vertex = |v: usize| system.position(v, v).map_or(0.0, |k| system.blocks[k].diagonal().element_sum() / 3.0);
    let whole: f64 = (0..system.rows()).map(of_vertex).sum();
    whole / step.masses.iter().sum::<f64>()
}

/// Motions of a body as a whole that the fluid can cause, in one another's measure A: Uᵀ A U = 1. Those of each vertex are together.
///
/// Rigid ones come first, then strains, then bending; each gives up what it has of those before. What is left of a mode is
/// as heavy as A says, and moves about as much fluid as it moves mass, in proportion to the densities: where that is much
/// lighter, the fluid may take the body for stiff, and the mode is left out.
fn modes(step: &ElasticStep, rho: f64) -> (usize, Vec<DVec3>) {
    let (positions, masses) = (&step.positions, &step.masses);
    let weight: f64 = masses.iter().sum();
    let centre = masses.iter().zip(positions).map(|(m, x)| *m * *x).sum::<DVec3>() / weight;
    let reach = positions.iter().map(|x| x.distance(centre)).fold(0.0, f64::max);
    let scaled = |x: &DVec3| (*x - centre) / reach;
    let raw: Vec<Vec<DVec3>> = motions()
        .map(|motion| positions.iter().zip(&step.movable).map(|(x, movable)| motion(scaled(x)) * *movable).collect())
        .collect();
    let image = |mode: &Vec<DVec3>| (0..mode.len()).map(|row| step.system.multiply_row(row, mode)).collect();
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
            if rho * product(&mass, &own, &own) > FELT * step.density {
                kept.push(own.clone());
            }
            all.push(own);
        }
    }
    let at = |v: usize, own: &[f64]| own.iter().zip(&raw).map(|(part, mode)| *part * mode[v]).sum::<DVec3>();
    // What holds a vertex holds the modes, but for what gives way between: U ← U (1 + k kᵀ/d)^(−½), k = nᵀU, d = nᵀ A_vv⁻¹ n.
    for (vertex, normal) in supported(step) {
        let row: Vec<f64> = kept.iter().map(|own| normal.dot(at(vertex, own))).collect();
        let square: f64 = row.iter().map(|k| k * k).sum();
        let Some(place) = step.system.position(vertex, vertex).filter(|_| square > 0.0) else { continue };
        let gives = normal.dot(step.system.blocks[place].inverse() * normal);
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

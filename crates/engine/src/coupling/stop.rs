//! Where elastic bodies stop: no vertex goes beyond a closed side or into an obstacle.
//!
//! Velocities are found for a step of one length and move the body over the next, which may be longer; and what a body leans on is known
//! within a cell only (see [`super::contact`]). So vertices may be on their way into a side or an obstacle when the body is moved. Then impulses
//! λ stop it, an impact without rebound that the body as a whole answers, elasticity over the step included,
//!
//! ```text
//! λ ≥ 0,   gap + Δt W λ ≥ 0,   one of both zero,      W = C A⁻¹ Cᵀ
//! ```
//!
//! whose momentum the side or the obstacle takes. Bodies turn along arcs, so gaps are measured where the body comes to be, and the
//! rest of them is asked for again, a few times. All of it follows from the state.

use super::contact::{FILM, is_stopped, least_velocity};
use super::immersed::Immersed;
use crate::fluid::boundary::Wall;
use crate::grid::{Axis, Grid};
use crate::solid::elastic::{Elastic, ElasticBody, ElasticError, ElasticState};
use glam::DVec3;

/// Vertices stop at this part of the film that contact keeps: what only trembles is left alone.
/// A choice: near 1, whatever contact holds would be stopped once more in every step; near 0, nothing is left of the film.
const PART: f64 = 0.5;

/// What is short of that by less than this part of it has stopped.
/// A choice: with less, more moves for what nobody sees; with more, the film that is left is thinner.
const SHORT: f64 = 0.1;

/// How often gaps are measured, and rounds of Gauss–Seidel for the impulses that close them.
/// Choices: more cost time, in impacts only; what fewer leave undone is put back without regard for the body as a whole ([`BEYOND`]), or stays.
const MOVES: usize = 8;
const ROUNDS: usize = 100;

/// Vertices that are still further beyond a surface than this, in cells, are put back one by one.
/// A choice: as deep as the film is thick. With less, vertices that are all but stopped are torn from their neighbours; with more, they stay in the wall.
const BEYOND: f64 = 0.05;

/// The closed sides and obstacles around a body over a step.
pub struct Stops<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides.
    pub walls: [[Wall; 2]; 3],
    /// The obstacles in it.
    pub immersed: &'a Immersed,
    /// Times at which the step begins and ends, s.
    pub times: [f64; 2],
}

/// A vertex, what it is near (two sides an axis, then obstacles), and the way out.
struct StopRow {
    vertex: usize,
    of: usize,
    direction: DVec3,
    /// How far it is from where it stops, m; negative if it is beyond.
    gap: f64,
    /// N s.
    impulse: f64,
    /// Changes of velocity by a unit impulse, m/s, three values per vertex.
    answer: Vec<f64>,
}

impl Stops<'_> {
    /// Move `body` on from `state` by the step, as far as there is room.
    pub fn advance(&self, elastic: &Elastic, state: &ElasticState, body: &mut ElasticBody) -> Result<(), ElasticError> {
        let [from, to] = self.times;
        let dt = to - from;
        body.advance(dt);
        let mut is_held = vec![false; state.positions.len()];
        elastic.holds.iter().flat_map(|hold| &hold.vertices).for_each(|&v| is_held[v] = true);
        let movable: Vec<usize> = (0..is_held.len()).filter(|&v| !is_held[v]).collect();
        let least = PART * FILM * self.grid.dx;
        let mut rows: Vec<StopRow> = Vec::new();
        for _ in 0..MOVES {
            let near: Vec<StopRow> = movable.iter().flat_map(|&v| self.near(v, &state.positions, body)).collect();
            if near.iter().all(|row| row.gap > -SHORT * least) {
                return Ok(());
            }
            if rows.is_empty() {
                body.restore(state)?;
                body.prepare(dt)?;
            }
            // What is not near any more keeps its impulse.
            rows.iter_mut().for_each(|row| row.gap = 0.0);
            for mut row in near {
                match rows.iter_mut().find(|known| (known.vertex, known.of) == (row.vertex, row.of)) {
                    Some(known) => known.gap = row.gap,
                    None if row.gap < 0.0 => {
                        row.answer = vec![0.0; 3 * is_held.len()];
                        row.answer[3 * row.vertex..][..3].copy_from_slice(&row.direction.to_array());
                        body.respond(&mut row.answer);
                        rows.push(row);
                    }
                    None => {}
                }
            }
            push(&mut rows, dt);
            let mut change = vec![0.0; 3 * is_held.len()];
            for row in &rows {
                change.iter_mut().zip(&row.answer).for_each(|(change, answer)| *change += row.impulse * answer);
            }
            body.restore(state)?;
            body.add_velocity(&change);
            body.advance(dt);
        }
        for row in movable.iter().flat_map(|&v| self.near(v, &state.positions, body)).collect::<Vec<_>>() {
            if row.gap < -least - BEYOND * self.grid.dx {
                body.displace(row.vertex, -row.gap * row.direction, dt);
            }
        }
        Ok(())
    }

    /// The sides and obstacles that a vertex of `body` is near, where it is now; `before` it was there.
    fn near(&self, vertex: usize, before: &[DVec3], body: &ElasticBody) -> Vec<StopRow> {
        let (grid, [from, to]) = (self.grid, self.times);
        let (start, rest, at) = (before[vertex], body.rest().vertices[vertex], body.positions()[vertex]);
        let least = PART * FILM * grid.dx;
        // What was deeper at the start comes out at a bounded speed.
        let bound = |gap: f64| least.min(gap + (to - from) * least_velocity(grid.dx, gap - least, to - from));
        let row = |of: usize, direction: DVec3, gap: f64| StopRow {
            vertex,
            of,
            direction,
            gap,
            impulse: 0.0,
            answer: Vec::new(),
        };
        let mut rows = Vec::new();
        for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
            let a = axis.index();
            let gaps = |x: DVec3| [x[a] - grid.origin[a], grid.upper()[a] - x[a]];
            for (side, inwards) in [(0, 1.0), (1, -1.0)] {
                let stops = !matches!(self.walls[a][side], Wall::Open) && is_stopped(gaps(rest)[side], grid.dx);
                if stops && gaps(at)[side] < least {
                    rows.push(row(2 * a + side, inwards * axis.unit(), gaps(at)[side] - bound(gaps(start)[side])));
                }
            }
        }
        for (obstacle, gap, outwards) in self.immersed.obstacles_near(grid.dx, at, least, to) {
            let was = self.immersed.obstacles_near(grid.dx, start, least, from);
            let was = was.iter().filter(|(other, ..)| *other == obstacle).map(|(_, gap, _)| *gap).fold(least, f64::min);
            rows.push(row(6 + obstacle, outwards, gap - bound(was)));
        }
        rows
    }
}

/// Change the impulses of `rows` so that over `dt`, s, no gap is left negative.
fn push(rows: &mut [StopRow], dt: f64) {
    let along = |row: &StopRow, answer: &[f64]| row.direction.dot(DVec3::from_slice(&answer[3 * row.vertex..]));
    let n = rows.len();
    let matrix: Vec<f64> = (0..n * n).map(|place| along(&rows[place / n], &rows[place % n].answer)).collect();
    let before: Vec<f64> = rows.iter().map(|row| row.impulse).collect();
    let mut impulses = before.clone();
    for _ in 0..ROUNDS {
        for i in (0..n).filter(|&i| matrix[n * i + i] > 0.0) {
            let moved: f64 = (0..n).map(|j| matrix[n * i + j] * (impulses[j] - before[j])).sum();
            impulses[i] = (impulses[i] - (rows[i].gap / dt + moved) / matrix[n * i + i]).max(0.0);
        }
    }
    rows.iter_mut().zip(impulses).for_each(|(row, impulse)| row.impulse = impulse);
}

//! Where vertices of elastic bodies stop: at closed sides and obstacles.
//!
//! Contact answers the force that the fluid had in the *last* step (see [`super::contact`]); what the fluid does in this one comes after
//! it, and the next step may be longer. So vertices may be on their way into a side or an obstacle when they are moved. There they
//! stop: each goes as far as the surface and loses the velocity that would have taken it on, an impact without rebound
//! of its own mass, whose momentum the side or the obstacle takes. All of it follows from the state.

use super::contact::{FILM, PARTING};
use super::immersed::Immersed;
use crate::fluid::boundary::Wall;
use crate::grid::{Axis, Grid};
use crate::solid::elastic::{Elastic, ElasticBody};
use glam::DVec3;

/// Vertices stop at this part of the film that contact keeps: what only trembles is left alone.
const PART: f64 = 0.5;

/// How often a vertex is turned away from obstacles, which may stand beside one another.
const TURNS: usize = 4;

/// Take back what led vertices of `body` into sides and obstacles between two times, s, over which it was moved.
pub fn stop(
    grid: &Grid,
    walls: [[Wall; 2]; 3],
    immersed: &Immersed,
    [from, to]: [f64; 2],
    (elastic, before, body): (&Elastic, &[DVec3], &mut ElasticBody),
) {
    let (dx, least) = (grid.dx, PART * FILM * grid.dx);
    // What was deeper at the start comes out at a bounded speed.
    let bound = |gap: f64| least.min(gap.min(least) + PARTING * dx);
    let mut is_held = vec![false; before.len()];
    elastic.holds.iter().flat_map(|hold| &hold.vertices).for_each(|&v| is_held[v] = true);
    for vertex in (0..before.len()).filter(|&v| !is_held[v]) {
        let (start, rest, moved) = (before[vertex], body.rest().vertices[vertex], body.positions()[vertex]);
        let mut at = moved;
        for _ in 0..TURNS {
            let mut is_clear = true;
            for (gap, outwards) in immersed.obstacles_near(dx, at, least, to) {
                let was = immersed.obstacles_near(dx, start, least, from);
                let short = bound(was.iter().map(|(gap, _)| *gap).fold(least, f64::min)) - gap;
                if short > 1e-3 * least {
                    at += short * outwards;
                    is_clear = false;
                }
            }
            if is_clear {
                break;
            }
        }
        for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
            let a = axis.index();
            let gaps = |x: DVec3| [x[a] - grid.origin[a], grid.upper()[a] - x[a]];
            for (side, inwards) in [(0, 1.0), (1, -1.0)] {
                // What is beyond a side at rest is meant to be there: a piston fills its cylinder.
                if !matches!(walls[a][side], Wall::Open) && gaps(rest)[side] >= 0.0 {
                    at[a] += inwards * (bound(gaps(start)[side]) - gaps(at)[side]).max(0.0);
                }
            }
        }
        if at != moved {
            body.displace(vertex, at - moved, to - from);
        }
    }
}

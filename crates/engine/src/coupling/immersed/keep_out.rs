//! Where particles may not go: the distance from a solid as they see it, and the way around it.

use super::{Body, Distance};
use crate::fluid::water::Way;
use glam::DVec3;

/// How near, in cells, particles come to a surface. A choice: well above the errors of sampled distances, well below the spacing of particles (half a cell).
const GAP: f64 = 0.02;

/// Nearer than this, in cells, particles ask the mesh itself: samples half a cell apart are off by a quarter of a cell at most where a surface has an edge.
const SKIN_TRUST: f64 = 0.3;

/// The same as [`SKIN_TRUST`] for elastic bodies, whose samples are a cell apart.
/// Off by half a cell at most for the same reason; the rest is to spare.
const SKIN_TRUST_OF_ELASTIC: f64 = 1.0;

/// Half the distance, in cells, over which the direction of a surface is measured. A choice: small beside what a surface of cells can bend in, large beside round-off.
const SLOPE: f64 = 0.05;

/// Shortest stride, in cells, when the way of a particle is searched for a surface: solids thinner than this may be
/// stepped over. A choice: thinner ones leak by other ways than this (`SKIN_SAMPLE`).
const STRIDE: f64 = 0.25;

/// How often a particle is turned away from one body in a step. A choice: a corner of three faces turns it away three times.
const MAX_TURNS: usize = 4;

impl Body {
    /// Distance as particles see it, from a point in the body's frame, m.
    pub(super) fn skin_distance(&self, dx: f64, local: DVec3) -> f64 {
        match (&self.skin, &self.distance) {
            (Some((sampled, exact)), _) => {
                let near = sampled.at(local);
                if near.abs() > SKIN_TRUST * dx { near } else { exact.at(local) }
            }
            (None, Distance::Exact(distance)) => distance.at(local),
            (None, Distance::Sampled(distance)) => distance.at(local),
            (None, Distance::Deforming(deforming)) => {
                let now = &deforming.now;
                let near = now.sampled(local);
                if near.abs() > SKIN_TRUST_OF_ELASTIC * dx { near } else { now.at(local) }
            }
        }
    }

    /// See [`Immersed::keep_out`]. The path is followed in the body's own frame, where the body rests.
    pub(super) fn keep_out(&self, dx: f64, way: Way, from: DVec3, to: DVec3) -> DVec3 {
        let gap = GAP * dx;
        let mut at = match way {
            Way::OverStep => self.carried(self.previous.invert(from)),
            Way::AtEnd => self.pose.invert(from),
        };
        let mut end = self.pose.invert(to);
        // Free balls around both ends that touch each other: nothing is in between.
        let (way, clear) = (at.distance(end), self.skin_distance(dx, end));
        if clear > gap && (clear > way || clear + self.skin_distance(dx, at) > way) {
            return to;
        }
        for turn in 0.. {
            let Some(hit) = self.march(dx, at, end) else { break };
            // Slide on along the surface; in a corner, stay.
            let (normal, rest) = (self.outwards(hit, dx), end - hit);
            at = hit + normal * (gap - self.skin_distance(dx, hit)).max(0.0);
            end = at + rest - normal * rest.dot(normal).min(0.0);
            if turn == MAX_TURNS {
                end = at;
                break;
            }
        }
        // Only what was too near at the start can be so at the end.
        for _ in 0..MAX_TURNS {
            let distance = self.skin_distance(dx, end);
            if distance >= 0.5 * gap {
                break;
            }
            end += self.outwards(end, dx) * (gap - distance);
        }
        self.pose.apply(end)
    }

    /// Where the straight way from a point outside comes too near to the surface, if it does.
    fn march(&self, dx: f64, from: DVec3, to: DVec3) -> Option<DVec3> {
        let (gap, length) = (GAP * dx, from.distance(to));
        let at = |travelled: f64| from.lerp(to, travelled / length);
        let (mut travelled, mut distance) = (0.0, self.skin_distance(dx, from));
        while travelled < length {
            let next = (travelled + distance.max(STRIDE * dx)).min(length);
            let after = self.skin_distance(dx, at(next));
            if after < 0.5 * gap && after < distance {
                // The surface, if distance changes evenly in between.
                let share = ((distance - 0.5 * gap) / (distance - after)).clamp(0.0, 1.0);
                return Some(at(travelled + share * (next - travelled)));
            }
            (travelled, distance) = (next, after);
        }
        None
    }

    /// The direction in which distance grows fastest.
    pub(super) fn outwards(&self, at: DVec3, dx: f64) -> DVec3 {
        let h = SLOPE * dx;
        let slope = |unit: DVec3| self.skin_distance(dx, at + h * unit) - self.skin_distance(dx, at - h * unit);
        DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z)).normalize_or(DVec3::Y)
    }
}

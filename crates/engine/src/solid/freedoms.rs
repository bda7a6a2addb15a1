//! What a solid owes the fluid over one step (design §1): how its surfaces follow its freedoms, how these move, and how they answer.
//!
//! ```text
//! surface velocity = N v        v = v* + M̂⁻¹ Nᵀ (impulses on the surface)
//! ```
//!
//! N is a [`Follow`] for every surface, v* is `velocity`, M̂⁻¹ is a [`Response`]. Whatever moves so is coupled, in cut cells or with face
//! constraints, without a line of code that knows what it is.

use crate::geometry::{SurfaceId, rates};
use crate::solve::ElasticStep;
use glam::DVec3;
use std::sync::Arc;

/// What moves as one over a step: a group of bodies on joints, an elastic body.
///
/// Freedoms come in threes; those that do not exist have neither velocity nor response.
#[derive(Clone, Debug)]
pub struct Freedoms {
    /// The surfaces that move with them.
    pub surfaces: Vec<Attached>,
    /// v*: what they would do without the fluid's pressure.
    pub velocity: Vec<f64>,
    /// M̂⁻¹ over this step.
    pub response: Response,
}

/// A surface that follows freedoms.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Which.
    pub surface: SurfaceId,
    /// The first of the freedoms that it follows.
    pub first: usize,
    /// N.
    pub follow: Follow,
    /// Surfaces that it is joined with: no fluid comes between them where they touch.
    pub joined: Vec<SurfaceId>,
}

/// N: how the points of a surface follow the freedoms from the first one on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Follow {
    /// Every vertex has three of its own.
    Own {
        /// How many there are.
        vertices: usize,
    },
    /// Three are the velocity of `centre`, three the spin about it.
    Rigid {
        /// m.
        centre: DVec3,
    },
    /// As [`Follow::Rigid`], and vertex n besides by Σ qₖ `directions[columns n + k]`.
    Reduced {
        /// m.
        centre: DVec3,
        /// How many modes there are; three freedoms for every three begun.
        columns: usize,
        /// Of all vertices, one after the other.
        directions: Vec<DVec3>,
    },
    /// Vertex n moves by Σ qₖ `directions[columns n + k]`.
    Modes {
        /// How many there are; three freedoms for every three begun.
        columns: usize,
        /// Of all vertices, one after the other.
        directions: Vec<DVec3>,
    },
}

/// M̂⁻¹: how freedoms answer impulses over the step, with all that holds them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Response {
    /// Of few freedoms: a symmetric matrix, joints and the like eliminated.
    Dense {
        /// Row after row.
        matrix: Vec<f64>,
        /// Diagonal of the matrix if nothing held the freedoms: what round-off is measured by.
        scale: Vec<f64>,
    },
    /// Of many: a factor.
    Sparse(Arc<ElasticStep>),
}

/// What the fluid does to the freedoms of a unit over a step.
#[derive(Clone, Debug, Default)]
pub struct Pushed {
    /// All of it, N s, N m s, or what goes with the freedom.
    pub impulse: Vec<f64>,
    /// Which part of that corrects the hydrostatic pressure of cells to that at the surface.
    pub lift: Vec<f64>,
    /// What the velocities of few freedoms change by; of many nothing is told.
    pub change: Vec<f64>,
}

/// A point on a surface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// In the world, m.
    pub at: DVec3,
    /// The corners of its triangle: number, place (m), and weight. Only surfaces that deform are asked.
    pub corners: [(u32, DVec3, f64); 3],
}

impl Attached {
    /// How many freedoms it follows.
    pub fn freedoms(&self) -> usize {
        match &self.follow {
            Follow::Own { vertices } => 3 * vertices,
            Follow::Rigid { .. } => 6,
            Follow::Reduced { columns, .. } => 6 + columns.next_multiple_of(3),
            Follow::Modes { columns, .. } => columns.next_multiple_of(3),
        }
    }
}

impl Follow {
    /// What its first six freedoms move as a whole about, m, if they do.
    pub fn centre(&self) -> Option<DVec3> {
        match self {
            Self::Rigid { centre } | Self::Reduced { centre, .. } => Some(*centre),
            _ => None,
        }
    }

    /// Whether points have to know their triangles.
    pub fn deforms(&self) -> bool {
        !matches!(self, Self::Rigid { .. })
    }

    /// Nᵀ: a push at a point is `add(n, part)` to the n-th three freedoms.
    pub fn gather(&self, point: &Point, push: DVec3, mut add: impl FnMut(usize, DVec3)) {
        if let Some(centre) = self.centre() {
            add(0, push);
            add(1, (point.at - centre).cross(push));
        }
        match self {
            Self::Own { .. } => {
                for &(vertex, _, weight) in &point.corners {
                    add(vertex as usize, weight * push);
                }
            }
            Self::Rigid { .. } => {}
            Self::Reduced { .. } | Self::Modes { .. } => {
                self.gather_modes(point.corners.map(|(vertex, _, weight)| (vertex, weight)), push, add)
            }
        }
    }

    /// The same of what a push gains if its point moves on by `way`, m: dNᵀ.
    pub fn gather_slope(&self, point: &Point, push: DVec3, way: DVec3, mut add: impl FnMut(usize, DVec3)) {
        if self.centre().is_some() {
            add(1, way.cross(push));
        }
        if !self.deforms() {
            return;
        }
        let slopes = rates(point.corners.map(|(_, at, _)| at), way);
        let mut corners = point.corners.map(|(vertex, ..)| (vertex, 0.0));
        corners.iter_mut().zip(slopes).for_each(|(corner, slope)| corner.1 = slope);
        match self {
            Self::Own { .. } => {
                for (vertex, slope) in corners {
                    add(vertex as usize, slope * push);
                }
            }
            _ => self.gather_modes(corners, push, add),
        }
    }

    fn gather_modes(&self, corners: [(u32, f64); 3], push: DVec3, mut add: impl FnMut(usize, DVec3)) {
        let (Self::Modes { columns, directions } | Self::Reduced { columns, directions, .. }) = self else { return };
        let whole = if self.centre().is_some() { 2 } else { 0 };
        let along = |k: usize| {
            let of_corner = |(vertex, weight): &(u32, f64)| *weight * directions[columns * *vertex as usize + k];
            push.dot(corners.iter().map(of_corner).sum())
        };
        for first in (0..*columns).step_by(3) {
            let part = |k: usize| if first + k < *columns { along(first + k) } else { 0.0 };
            add(whole + first / 3, DVec3::new(part(0), part(1), part(2)));
        }
    }
}

impl Response {
    /// Impulses → changes of velocity, in place.
    pub fn respond(&self, impulses: &mut [f64]) {
        match self {
            Self::Dense { matrix, .. } => {
                let row = |row: &[f64]| row.iter().zip(&*impulses).map(|(r, j)| r * j).sum::<f64>();
                let changes: Vec<f64> = matrix.chunks_exact(impulses.len()).map(row).collect();
                impulses.copy_from_slice(&changes);
            }
            Self::Sparse(step) => step.respond(impulses),
        }
    }
}

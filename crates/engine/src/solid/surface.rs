//! Surfaces of solids as the fluid meets them: what they look like at the start, and where they are.

use super::Motion;
use crate::geometry::{Pose, RigidVelocity, Shape, TriMesh};
use glam::DVec3;

/// A solid that is to be put into the fluid.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// Name in the scene.
    pub name: &'a str,
    /// What it is called in reports: `free`, `elastic`, …; of scripted ones, `static` or `scripted` is found out.
    pub kind: &'static str,
    /// What it looks like.
    pub form: Form<'a>,
}

/// What a solid looks like, and what moves it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Form<'a> {
    /// A script moves it, or nothing at all.
    Scripted {
        /// In its own frame.
        shape: &'a Shape,
        /// Where that is.
        motion: &'a Motion,
    },
    /// It answers, and keeps its shape.
    Posed {
        /// In its own frame.
        shape: &'a Shape,
        /// How it meets the fluid.
        interface: Interface,
    },
    /// It answers, and changes its shape.
    Deforming {
        /// Closed; there may be vertices that no triangle uses.
        surface: &'a TriMesh,
        /// How it meets the fluid.
        interface: Interface,
    },
}

/// How a body meets the fluid (design §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interface {
    /// Its surface cuts the cells: second order, free slip.
    #[default]
    CutCells,
    /// The faces between cell centres that it separates move with it, and so does the fluid on them: first order, as in
    /// \[A18, eq. 15\].
    Faces,
}

/// A surface that answers, now.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Skin<'a> {
    /// Of a solid that keeps its shape.
    Posed(Place),
    /// Of one that does not.
    Deforming {
        /// Vertices in the world, m.
        positions: &'a [DVec3],
        /// Theirs, m/s.
        velocities: &'a [DVec3],
        /// How it moves as a whole, about its centre of mass.
        whole: RigidVelocity,
        /// m³.
        volume: f64,
        /// False if it has left the domain.
        is_there: bool,
    },
}

/// Where a solid that keeps its shape is and how it moves.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Of its own frame.
    pub pose: Pose,
    /// About its centre of mass.
    pub velocity: RigidVelocity,
    /// False if it has left the domain.
    pub is_there: bool,
}

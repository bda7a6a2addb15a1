//! Why bodies and joints cannot be used, what is odd about them, and what happens to them on the way.

use glam::DVec3;

/// Why a set of bodies and joints is refused, or a step of it failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigidError {
    /// Zero, negative, infinite or unrepresentable mass.
    #[error(
        "body '{body}': a mass of {value:?} {unit} cannot move; give a positive finite density or mass, or make it an obstacle"
    )]
    Mass {
        /// Body's name.
        body: String,
        /// The given number.
        value: f64,
        /// Its unit.
        unit: &'static str,
    },
    /// The shape encloses nothing.
    #[error(
        "body '{body}': its shape encloses {volume:?} m³; a free body needs a closed shape with its normals outwards"
    )]
    Volume {
        /// Body's name.
        body: String,
        /// m³.
        volume: f64,
    },
    /// A point or a line cannot turn.
    #[error(
        "body '{body}': its moments of inertia reach from {least:e} to {most:e} kg m²; below 1e-10 of the largest a body is a line; make it thicker"
    )]
    Inertia {
        /// Body's name.
        body: String,
        /// kg m².
        least: f64,
        /// kg m².
        most: f64,
    },
    /// A number that must be finite is not, or friction or restitution is out of range.
    #[error("body '{body}': {what} is {value:?}, it must be {limit}")]
    Value {
        /// Body's name.
        body: String,
        /// Which number.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it may be.
        limit: &'static str,
    },
    /// Starts in a wall.
    #[error(
        "body '{body}' starts {depth:?} m deep in the {side} wall along {axis}; move it inside the domain or open that side"
    )]
    InWall {
        /// Body's name.
        body: String,
        /// `lower` or `upper`.
        side: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// m.
        depth: f64,
    },
    /// Starts where there is nothing.
    #[error("body '{body}' starts outside the domain, at {position}; move it inside")]
    Outside {
        /// Body's name.
        body: String,
        /// Centre of mass, m.
        position: DVec3,
    },
    /// Both ends of a joint are the same body.
    #[error("joint {joint} ties body '{body}' to itself; name two bodies, or one body and the world")]
    Itself {
        /// Number of the joint, from 0.
        joint: usize,
        /// Body's name.
        body: String,
    },
    /// A joint refers to a body that is not there.
    #[error("joint {joint} names body number {body}, there are {bodies}")]
    Missing {
        /// Number of the joint, from 0.
        joint: usize,
        /// Number of the body, from 0.
        body: usize,
        /// How many bodies there are.
        bodies: usize,
    },
    /// Anchor or axis not finite, or an axis of no length.
    #[error("joint {joint}: {what} {value} is no {wanted}")]
    Geometry {
        /// Number of the joint, from 0.
        joint: usize,
        /// `anchor` or `axis`.
        what: &'static str,
        /// The vector.
        value: DVec3,
        /// What it should be.
        wanted: &'static str,
    },
    /// A hinge or slider that contradicts the plane of a two-dimensional scene.
    #[error(
        "joint {joint}: its axis {axis} contradicts the plane of a flat domain; a hinge must turn about the flat axis, a slider lie in the plane"
    )]
    OutOfPlane {
        /// Number of the joint, from 0.
        joint: usize,
        /// The axis.
        axis: DVec3,
    },
    /// No convex parts were found in a mesh.
    #[error(
        "body '{body}': its mesh could not be divided into convex parts; check that it is closed and not paper-thin"
    )]
    Decomposition {
        /// Body's name.
        body: String,
    },
    /// Motion went beyond numbers.
    #[error(
        "body '{body}' got a non-finite position or velocity; use shorter steps, or look for extreme masses and joints"
    )]
    NonFinite {
        /// Body's name.
        body: String,
    },
}

/// What is odd about a set of bodies and joints, though it runs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigidWarning {
    /// Two solids share space at the start.
    #[error(
        "'{first}' and '{second}' overlap by {depth:?} m at the start; they are pushed apart by at most one cell a step"
    )]
    Overlap {
        /// Name of a body.
        first: String,
        /// Name of a body, an obstacle, or a wall.
        second: String,
        /// m.
        depth: f64,
    },
    /// A joint constrains nothing that others allow.
    #[error("joint {joint} is redundant and was dropped: the joints before it already hold everything it would")]
    RedundantJoint {
        /// Number of the joint, from 0.
        joint: usize,
    },
    /// Part of what a joint constrains is already held.
    #[error(
        "joint {joint} is partly redundant: {rows} of its {of} constraints are already held by the joints before it"
    )]
    PartlyRedundantJoint {
        /// Number of the joint, from 0.
        joint: usize,
        /// Redundant constraints.
        rows: usize,
        /// All its constraints.
        of: usize,
    },
}

/// What happened to a body in a step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RigidEvent {
    /// It left through an open side and takes no part any more.
    #[error("'{body}' left the domain at {position}")]
    Left {
        /// Body's name.
        body: String,
        /// Centre of mass, m.
        position: DVec3,
    },
}

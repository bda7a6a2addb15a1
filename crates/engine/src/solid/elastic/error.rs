//! Why an elastic body cannot be used, or a step of it failed.

use crate::solve::NotPositiveDefinite;

/// Why an elastic body is refused, or a step of it failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ElasticError {
    /// A number of the material is out of range.
    #[error("the {what} of an elastic material is {value:?}, it must be {limit}")]
    Material {
        /// Which number.
        what: &'static str,
        /// The number.
        value: f64,
        /// What it may be.
        limit: &'static str,
    },
    /// There is nothing.
    #[error("an elastic body needs at least one tetrahedron; this mesh has {vertices} vertices and none")]
    Empty {
        /// Vertices of the mesh.
        vertices: usize,
    },
    /// A tetrahedron refers to a vertex that is not there, or one twice.
    #[error("tetrahedron {tetrahedron} has vertices {corners:?}; they must be four different ones below {vertices}")]
    Corners {
        /// Number of the tetrahedron, from 0.
        tetrahedron: usize,
        /// Its vertices.
        corners: [u32; 4],
        /// How many vertices there are.
        vertices: usize,
    },
    /// Flat, inside out or not finite at rest.
    #[error(
        "tetrahedron {tetrahedron} has a volume of {volume:e} m³ at rest; it must be above {limit:e} m³ (1e-12 of its longest edge cubed); repair the mesh"
    )]
    Volume {
        /// Number of the tetrahedron, from 0.
        tetrahedron: usize,
        /// m³.
        volume: f64,
        /// m³.
        limit: f64,
    },
    /// A vertex without mass.
    #[error("vertex {vertex} belongs to no tetrahedron and would have no mass; remove it from the mesh")]
    Loose {
        /// Number of the vertex, from 0.
        vertex: usize,
    },
    /// A pin on no vertex, or with no velocity.
    #[error("a pin holds vertex {vertex} at {velocity} m/s; it must be below {vertices} and its velocity finite")]
    Pin {
        /// Number of the vertex, from 0.
        vertex: usize,
        /// m/s.
        velocity: glam::DVec3,
        /// How many vertices there are.
        vertices: usize,
    },
    /// State of another body.
    #[error("this state has {positions} positions and {velocities} velocities, the body has {vertices} vertices")]
    State {
        /// Positions in the state.
        positions: usize,
        /// Velocities in the state.
        velocities: usize,
        /// Vertices of the body.
        vertices: usize,
    },
    /// A step that is no step.
    #[error("a time step of {dt:?} s is not positive and finite")]
    Step {
        /// s.
        dt: f64,
    },
    /// Motion went beyond numbers.
    #[error(
        "vertex {vertex} got a non-finite {what}; use shorter steps, or look for extreme stiffness, speeds or loads"
    )]
    NonFinite {
        /// Number of the vertex, from 0.
        vertex: usize,
        /// `position`, `velocity` or `load`.
        what: &'static str,
    },
    /// Motion has torn it apart.
    #[error(
        "its vertices are strewn over {cells:.1e} cells (limit {limit:.1e}): it has come apart; use shorter steps, or look for extreme stiffness, speeds or loads"
    )]
    Strewn {
        /// Cells of the box around it.
        cells: f64,
        /// How many there may be.
        limit: f64,
    },
    /// Numbers of the material and the step so far apart that round-off wins.
    #[error("mass and stiffness cannot be solved for together: {0}")]
    Singular(#[from] NotPositiveDefinite),
}

//! What changes of solids from step to step.

use super::{ElasticState, RigidState};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// All that a checkpoint keeps of the solids that answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SolidState {
    /// Where the rigid bodies are and how they move.
    pub rigid: RigidState,
    /// What the fluid did to each of them in the last step: force, N, and torque about the centre of mass, N m.
    pub rigid_force: Vec<[DVec3; 2]>,
    /// Where the elastic bodies are and how they move.
    pub elastic: Vec<ElasticState>,
    /// What the fluid did to the vertices of each of these in the last step, N, along axes that turn with the body.
    pub elastic_force: Vec<Vec<DVec3>>,
    /// Of each further [`Family`](super::Family), all that it wants to be kept.
    pub families: Vec<Vec<f64>>,
}

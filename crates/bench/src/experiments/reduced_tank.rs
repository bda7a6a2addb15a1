//! Many reduced bodies in a tank that is full of water, with an open top: one solve of the coupled system (after \[LJF16, Figs 5–7 and 10\]).

use super::box_lift::System;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Bounds, MeshFormat, Pose, Shape, TetMesh, TriMesh};
use bathtub_engine::grid::Axis;
use bathtub_engine::solid::elastic::{Elastic, ElasticError, Material};
use bathtub_engine::solid::reduced::{BodyCopy, Reduced, ReducedBodies};
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// Width of a cell, m.
const DX: f64 = 0.02;
/// Length of the step, s.
const DT: f64 = 1.0 / 60.0;

/// What the bodies are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Balls.
    Balls,
    /// Rings.
    Rings,
    /// Starfish.
    Starfish,
}

/// Bodies in a tank.
#[derive(Clone, Copy, Debug)]
pub struct ReducedTank {
    /// What they are.
    pub kind: Kind,
    /// How many.
    pub count: usize,
    /// Modes of each.
    pub modes: usize,
    /// Cells of the tank.
    pub dims: [usize; 3],
}

impl ReducedTank {
    /// The tanks of \[LJF16\].
    pub const PAPER: [Self; 4] = [
        Self { kind: Kind::Balls, count: 5, modes: 10, dims: [320, 176, 64] },
        Self { kind: Kind::Rings, count: 15, modes: 10, dims: [192, 64, 192] },
        Self { kind: Kind::Rings, count: 50, modes: 10, dims: [256, 64, 256] },
        Self { kind: Kind::Starfish, count: 150, modes: 20, dims: [224, 64, 352] },
    ];

    /// Name in tables.
    pub fn name(&self) -> String {
        let kind = format!("{:?}", self.kind).to_lowercase();
        format!("{} {kind}, {} modes", self.count, self.modes)
    }

    /// The tetrahedra of a body about the origin, as wide as `room`, m, allows.
    fn shape(&self, room: f64) -> TetMesh {
        let stuffed = |shape: &Shape, size: f64| TetMesh::stuff(shape, size).expect("it can be stuffed").0;
        match self.kind {
            Kind::Balls => stuffed(&Shape::Sphere { radius: 0.32 * room }, 0.12 * room),
            Kind::Rings => stuffed(&Shape::Torus { major: 0.3 * room, minor: 0.09 * room }, 0.07 * room),
            Kind::Starfish => {
                let mesh = starfish().mapped(|x| 0.42 * room * x);
                stuffed(&Shape::Mesh(Arc::new(mesh)), 0.08 * room)
            }
        }
    }

    /// The system in which the bodies begin to rise, with a Young's modulus, Pa, and so many times as dense as the water.
    pub fn system(&self, youngs_modulus: f64, ratio: f64) -> Result<System, ElasticError> {
        let [nx, _, nz] = self.dims.map(|n| n as f64);
        // Places in rows of about as many as there is room for.
        let across = (self.count as f64 * nx / nz).sqrt().round().max(1.0).min(self.count as f64) as usize;
        let along = self.count.div_ceil(across);
        let cell = DVec3::new(nx / across as f64, self.dims[1] as f64, nz / along as f64);
        let room = DX * cell.min_element().min(self.dims[1] as f64);
        let rest = self.shape(room);
        let material = Material::new(youngs_modulus, 0.3, ratio * RHO);
        let copy = |n: usize| {
            let place = DVec3::new((n % across) as f64 + 0.5, 0.45 + 0.02 * (n % 3) as f64, (n / across) as f64 + 0.5);
            let rotation = DQuat::from_euler(glam::EulerRot::YXZ, 0.4 * n as f64, 0.15, 0.1);
            BodyCopy {
                name: format!("body-{n}"),
                place: Pose { position: DX * cell * place, rotation },
                velocity: DVec3::Y,
                angular_velocity: DVec3::ZERO,
                phase: 0.0,
            }
        };
        let elastic = Elastic::new("body", rest, material);
        let described = [Reduced { copies: (0..self.count).map(copy).collect(), ..Reduced::new(elastic, self.modes) }];
        let room = Bounds { min: DVec3::ZERO, max: DX * DVec3::from(self.dims.map(|n| n as f64)) };
        let bodies = ReducedBodies::new(&described, [false; 3], room).map_err(|(_, error)| error)?;
        let mut params = crate::worlds::still_air(self.dims, DX);
        params.walls[Axis::Y.index()][1] = Wall::Open;
        Ok(System::of_family(&params, RHO, DT, &bodies))
    }
}

/// kg/m³.
const RHO: f64 = 1000.0;

/// A starfish of radius 1 m.
pub fn starfish() -> TriMesh {
    let text = include_bytes!("../../../../scenes/papers/ljf16/meshes/starfish.obj");
    MeshFormat::Obj.read(text).expect("the starfish is a mesh").0
}

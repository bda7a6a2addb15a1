//! Solids that change their shape: elastic bodies among those in the fluid.

use super::{Body, Distance, Immersed, Meets, Mover};
use crate::cut::voxels::voxelise;
use crate::cut::{BodyCut, cut_laid};
use crate::geometry::{Band, Bounds, Nearest, Pose, RigidVelocity, SurfaceId, TriMesh};
use crate::grid::Grid;
use crate::solid::elastic::ElasticBody;
use crate::solid::{Interface, Skin};
use glam::DVec3;

/// Distances from elastic bodies are exact up to this many cells. A choice: they are found anew in every step, and a particle goes two cells in one as a rule.
const BAND_OF_ELASTIC: f64 = 3.0;

/// The box around an elastic body may become this many times as large as the domain and the box at rest together. A choice: a body that is still one piece is far from it,
/// and one that is torn apart would ask for more memory than there is.
const SPREAD: f64 = 4.0;

/// What there is to know of a surface that changes its shape, besides where it is.
pub(super) struct Deforming {
    /// The surface around the body's position at the start of the step, and now.
    pub before: Band,
    pub now: Band,
    /// Of the vertices, m/s.
    pub velocities: Vec<DVec3>,
}

impl Deforming {
    /// A step begins where the surface is now.
    pub fn stay(&mut self) {
        self.before.clone_from(&self.now);
    }

    /// How the surface moves at the point that is nearest to one in the body's frame, m/s.
    pub fn velocity_at(&self, local: DVec3) -> DVec3 {
        self.now.nearest(local).map_or(DVec3::ZERO, |nearest| self.velocity_of(nearest.triangle, nearest.weights))
    }

    /// The same of a point on a triangle.
    pub fn velocity_of(&self, triangle: u32, weights: [f64; 3]) -> DVec3 {
        let corners = self.now.surface().triangles[triangle as usize];
        corners.iter().zip(weights).map(|(&v, weight)| weight * self.velocities[v as usize]).sum()
    }
}

impl Immersed {
    /// The point of the surface of a body that changes its shape which is nearest to one in the world, if it is near at all.
    pub fn nearest_on(&self, surface: SurfaceId, at: DVec3) -> Option<Nearest> {
        let solid = self.body(surface);
        solid.deforming()?.now.nearest(solid.pose.invert(at))
    }

    /// How many cells there are in the box around an elastic body, and how many there may be: memory goes with them.
    pub fn spread(grid: &Grid, body: &ElasticBody) -> [f64; 2] {
        let nodes = |vertices: &[DVec3]| Band::nodes(Bounds::of(vertices), grid.dx, BAND_OF_ELASTIC * grid.dx);
        let domain = grid.dims.iter().map(|&n| n as f64).product::<f64>();
        [nodes(body.positions()), SPREAD * (domain + nodes(&body.rest().vertices))]
    }
}

impl Body {
    /// A body that changes its shape, in the frame of its centre.
    pub(super) fn that_deforms(
        name: &str,
        kind: &'static str,
        surface: &TriMesh,
        interface: Interface,
        skin: Skin,
        grid: &Grid,
    ) -> Self {
        let band = Band::new(surface, grid.dx, BAND_OF_ELASTIC * grid.dx);
        let velocities = vec![DVec3::ZERO; surface.vertices.len()];
        let mut new = Self {
            name: name.to_owned(),
            kind,
            drive: Mover::Answers,
            surface: surface.clone(),
            distance: Distance::Deforming(Box::new(Deforming { before: band.clone(), now: band, velocities })),
            skin: None,
            radius: 0.0,
            volume: 0.0,
            displaced: 0.0,
            previous: Pose::IDENTITY,
            pose: Pose::IDENTITY,
            velocity: RigidVelocity::REST,
            is_there: true,
            meets: Meets::CutCells,
            cut: BodyCut::default(),
            hidden: None,
        };
        new.take_shape(skin);
        new.previous = new.pose;
        if let Distance::Deforming(deforming) = &mut new.distance {
            deforming.stay();
        }
        let laid = new.surface.posed(&new.pose);
        new.cut = cut_laid(grid, &laid);
        if let Interface::Faces = interface {
            new.meets = Meets::Faces(voxelise(grid, &laid));
        }
        new
    }

    /// Have this shape, and move so.
    pub(super) fn take_shape(&mut self, skin: Skin) {
        let Skin::Deforming { positions, velocities, whole, volume, is_there } = skin else {
            unreachable!("a body that keeps its shape has none to take")
        };
        (self.is_there, self.velocity, self.volume) = (is_there, whole, volume);
        self.pose = Pose { position: whole.centre, ..Pose::IDENTITY };
        self.surface.vertices.iter_mut().zip(positions).for_each(|(own, x)| *own = *x - whole.centre);
        self.radius = self.surface.vertices.iter().map(|v| v.length()).fold(0.0, f64::max);
        if let Distance::Deforming(deforming) = &mut self.distance {
            let Deforming { now, velocities: own, .. } = &mut **deforming;
            // Velocities change without the shape, at the end of a step.
            if now.surface().vertices != self.surface.vertices {
                now.update(&self.surface.vertices);
            }
            own.copy_from_slice(velocities);
        }
    }

    /// A point of the body's frame at the start of the step, taken along as the surface nearest to it moves.
    pub(super) fn carried(&self, at: DVec3) -> DVec3 {
        let Some(Deforming { before, now, .. }) = self.deforming() else { return at };
        let world = |local: DVec3| self.pose.invert(self.previous.apply(local));
        let Some(Nearest { triangle, weights, .. }) = before.nearest(at) else { return world(at) };
        let corners = before.surface().triangles[triangle as usize].map(|v| v as usize);
        let way = |v: usize| now.surface().vertices[v] - world(before.surface().vertices[v]);
        world(at) + corners.iter().zip(weights).map(|(&v, weight)| weight * way(v)).sum::<DVec3>()
    }
}

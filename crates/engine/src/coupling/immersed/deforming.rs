//! Solids that change their shape: elastic bodies among those in the fluid.

use super::{Body, Distance, Drive, Immersed};
use crate::geometry::{Band, Bounds, Nearest, Pose, RigidVelocity};
use crate::grid::Grid;
use crate::grid::cut_cells::{BodyCut, CutPolygon, cut_laid};
use crate::solid::elastic::ElasticBody;
use glam::DVec3;

/// Distances from elastic bodies are exact up to this many cells.
const BAND_OF_ELASTIC: f64 = 3.0;

/// The box around an elastic body may become this many times as large as the domain and the box at rest together.
const SPREAD: f64 = 4.0;

/// What there is to know of a surface that changes its shape, besides where it is.
pub(super) struct Deforming {
    /// The surface around the body's position at the start of the step, and now.
    pub before: Band,
    pub now: Band,
    /// Of the vertices, m/s.
    pub velocities: Vec<DVec3>,
}

impl Immersed {
    /// Where the surface of an elastic body is cut.
    pub fn elastic_polygons(&self, body: usize) -> Vec<CutPolygon> {
        self.elastic(body).map_or(Vec::new(), |solid| solid.exposed().collect())
    }

    /// The point of the surface of an elastic body that is nearest to one in the world, if it is near at all.
    pub fn nearest_on(&self, body: usize, at: DVec3) -> Option<Nearest> {
        let solid = self.elastic(body)?;
        solid.deforming.as_ref()?.now.nearest(solid.pose.invert(at))
    }

    /// How the surface of an elastic body moves at the point that is nearest to one in the world, m/s.
    pub fn elastic_velocity(&self, body: usize, at: DVec3) -> DVec3 {
        let Some(deforming) = self.elastic(body).and_then(|solid| solid.deforming.as_ref()) else { return DVec3::ZERO };
        let Some(Nearest { triangle, weights, .. }) = self.nearest_on(body, at) else { return DVec3::ZERO };
        let corners = deforming.now.surface().triangles[triangle as usize];
        corners.iter().zip(weights).map(|(&v, weight)| weight * deforming.velocities[v as usize]).sum()
    }

    /// How many cells there are in the box around an elastic body, and how many there may be: memory goes with them.
    pub fn spread(grid: &Grid, body: &ElasticBody) -> [f64; 2] {
        let nodes = |vertices: &[DVec3]| Band::nodes(Bounds::of(vertices), grid.dx, BAND_OF_ELASTIC * grid.dx);
        let domain = grid.dims.iter().map(|&n| n as f64).product::<f64>();
        [nodes(body.positions()), SPREAD * (domain + nodes(&body.rest().vertices))]
    }

    pub(super) fn elastic(&self, body: usize) -> Option<&Body> {
        self.bodies.iter().find(|solid| matches!(solid.drive, Drive::Elastic(n) if n == body))
    }

    /// The number under which the fluid knows an elastic body: those of free ones come first.
    pub fn elastic_name(&self, body: usize) -> u32 {
        (self.free().count() + body) as u32
    }
}

impl Body {
    /// An elastic body, in the frame of its centre.
    pub(super) fn elastic(n: usize, name: &str, body: &ElasticBody, grid: &Grid) -> Self {
        let band = Band::new(body.surface(), grid.dx, BAND_OF_ELASTIC * grid.dx);
        let velocities = body.velocities().to_vec();
        let mut new = Self {
            name: name.to_owned(),
            drive: Drive::Elastic(n),
            surface: body.surface().clone(),
            distance: Distance::Band,
            skin: None,
            radius: 0.0,
            volume: 0.0,
            displaced: 0.0,
            previous: Pose::IDENTITY,
            pose: Pose::IDENTITY,
            velocity: RigidVelocity::REST,
            is_there: true,
            is_ball: false,
            cut: BodyCut::default(),
            hidden: None,
            voxels: None,
            deforming: Some(Deforming { before: band.clone(), now: band, velocities }),
        };
        new.take_shape(body);
        new.previous = new.pose;
        if let Some(Deforming { before, now, .. }) = &mut new.deforming {
            before.clone_from(now);
        }
        new.cut = cut_laid(grid, &new.surface.posed(&new.pose));
        new
    }

    /// Be where the elastic body is, and move so.
    pub(super) fn take_shape(&mut self, body: &ElasticBody) {
        let centre = body.centre();
        self.is_there = body.is_active();
        self.pose = Pose { position: centre, ..Pose::IDENTITY };
        self.velocity = body.rigid_velocity();
        self.volume = body.volume();
        self.surface.vertices.iter_mut().zip(body.positions()).for_each(|(own, x)| *own = *x - centre);
        self.radius = self.surface.vertices.iter().map(|v| v.length()).fold(0.0, f64::max);
        if let Some(Deforming { now, velocities, .. }) = &mut self.deforming {
            // Velocities change without the shape, at the end of a step.
            if now.surface().vertices != self.surface.vertices {
                now.update(&self.surface.vertices);
            }
            velocities.copy_from_slice(body.velocities());
        }
    }

    /// A point of the body's frame at the start of the step, taken along as the surface nearest to it moves.
    pub(super) fn carried(&self, at: DVec3) -> DVec3 {
        let Some(Deforming { before, now, .. }) = &self.deforming else { return at };
        let world = |local: DVec3| self.pose.invert(self.previous.apply(local));
        let Some(Nearest { triangle, weights, .. }) = before.nearest(at) else { return world(at) };
        let corners = before.surface().triangles[triangle as usize].map(|v| v as usize);
        let way = |v: usize| now.surface().vertices[v] - world(before.surface().vertices[v]);
        world(at) + corners.iter().zip(weights).map(|(&v, weight)| weight * way(v)).sum::<DVec3>()
    }
}

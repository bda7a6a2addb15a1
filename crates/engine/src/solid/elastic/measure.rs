//! What an elastic body amounts to as a whole: energies, momenta, place and turn.

use super::body::PER_SUM;
use super::frame::Frame;
use super::rotation::nearest_rotation;
use super::{ElasticBody, ElasticState};
use crate::geometry::RigidVelocity;
use crate::solid::{Form, Interface, Outline, Skin};
use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;

/// See [`ElasticBody::rate_of_strain`].
/// A choice: without it, edges that have shrunk to nothing would bring steps to a halt.
const SHORT: f64 = 0.2;

impl ElasticBody {
    /// It as it is put into the fluid.
    pub fn outline<'a>(&'a self, name: &'a str, interface: Interface) -> Outline<'a> {
        Outline { name, kind: "elastic", form: Form::Deforming { surface: self.surface(), interface } }
    }

    /// Its surface.
    pub fn skin(&self) -> Skin<'_> {
        Skin::Deforming {
            positions: self.positions(),
            velocities: &self.velocities,
            whole: self.rigid_velocity(),
            volume: self.volume(),
            is_there: self.is_active(),
        }
    }

    /// kg.
    pub fn mass(&self) -> f64 {
        self.masses.iter().sum()
    }

    /// About how far vertices are apart at rest, m: what is cut into six tetrahedra a cube has cubes so wide.
    pub fn spacing(&self) -> f64 {
        let volume: f64 = self.elements.iter().map(|element| element.volume).sum();
        (6.0 * volume / self.elements.len() as f64).cbrt()
    }

    /// The largest rate at which an edge of an element grows or shrinks, in parts of itself, 1/s; one that is nearly gone counts as a fifth of what
    /// it was at rest.
    pub fn rate_of_strain(&self, ElasticState { positions, velocities, .. }: &ElasticState) -> f64 {
        let of_edge = |[a, b]: [usize; 2]| {
            let [edge, apart] = [positions[b] - positions[a], velocities[b] - velocities[a]];
            let least = SHORT * self.rest.vertices[a].distance(self.rest.vertices[b]);
            edge.dot(apart).abs() / edge.length_squared().max(least * least)
        };
        let of_element = |corners: &[u32; 4]| {
            let pairs = (0..4).flat_map(|a| (0..a).map(move |b| [corners[a] as usize, corners[b] as usize]));
            pairs.map(of_edge).fold(0.0, f64::max)
        };
        self.rest.tetrahedra.par_iter().with_min_len(PER_SUM).map(of_element).reduce(|| 0.0, f64::max)
    }

    /// Centre of mass, m.
    pub fn centre(&self) -> DVec3 {
        self.weighted(self.positions())
    }

    /// Volume of all elements now, m³; what is inside out counts as negative.
    pub fn volume(&self) -> f64 {
        let corners = |t: &[u32; 4]| t.map(|v| self.positions()[v as usize]);
        let volumes = self.rest.tetrahedra.iter().map(corners);
        volumes.map(|[o, a, b, c]| (a - o).cross(b - o).dot(c - o)).sum::<f64>() / 6.0
    }

    /// ½ Σ m v², J.
    pub fn kinetic_energy(&self) -> f64 {
        0.5 * self.masses.iter().zip(&self.velocities).map(|(m, v)| m * v.length_squared()).sum::<f64>()
    }

    /// Elastic energy at the positions now, J: Σ V (μ ε:ε + ½ λ tr(ε)²), ε = sym(RᵀF) − I.
    pub fn elastic_energy(&self) -> f64 {
        let (lame, preferred) = (self.material().lame(), self.rotation());
        let energy = |(element, corners): (&super::Element, &[u32; 4])| {
            element.warped(corners.map(|v| self.positions()[v as usize]), lame, preferred).energy
        };
        let chunks = self.elements.par_chunks(PER_SUM).zip(self.rest.tetrahedra.par_chunks(PER_SUM));
        let sums: Vec<f64> = chunks.map(|(elements, corners)| elements.iter().zip(corners).map(energy).sum()).collect();
        sums.into_iter().sum()
    }

    /// Σ m v, N s.
    pub fn momentum(&self) -> DVec3 {
        self.masses.iter().zip(&self.velocities).map(|(&m, &v)| m * v).sum()
    }

    /// Σ m (x − about) × v, N m s.
    pub fn angular_momentum(&self, about: DVec3) -> DVec3 {
        let parts = self.masses.iter().zip(self.positions()).zip(&self.velocities);
        parts.map(|((&m, &x), &v)| m * (x - about).cross(v)).sum()
    }

    /// The rotation that takes the body at rest nearest to where it is now, Σ m |x − R x₀|² about the centres. What has none of its own (all vertices on a
    /// line, a mirror image) has turned as little as possible.
    pub fn rotation(&self) -> DQuat {
        let (centre, rest_centre) = (self.centre(), self.weighted(&self.rest.vertices));
        let mut spread = DMat3::ZERO;
        for ((&m, &x), &rest) in self.masses.iter().zip(self.positions()).zip(&self.rest.vertices) {
            let (x, rest) = (m * (x - centre), rest - rest_centre);
            spread += DMat3::from_cols(x * rest.x, x * rest.y, x * rest.z);
        }
        DQuat::from_mat3(&nearest_rotation(spread, DQuat::IDENTITY).matrix).normalize()
    }

    /// The rigid motion with the body's momentum and angular momentum, which is the one that leaves the least kinetic energy to the rest
    /// of the motion.
    pub fn rigid_velocity(&self) -> RigidVelocity {
        let all: Vec<u32> = (0..self.masses.len() as u32).collect();
        let frame = Frame::new(&all, &self.masses, [self.positions(), &self.velocities], DVec3::ONE);
        RigidVelocity { centre: frame.centre, linear: frame.linear, angular: frame.angular() }
    }

    /// Mean of `vectors` over the mass.
    fn weighted(&self, vectors: &[DVec3]) -> DVec3 {
        self.masses.iter().zip(vectors).map(|(&m, &x)| m * x).sum::<DVec3>() / self.mass()
    }
}

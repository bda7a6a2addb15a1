//! What a rigid body is made of: shape, mass, where it starts.

use super::RigidError;
use super::rotation::{Principal, principal};
use crate::geometry::{Pose, Shape};
use crate::grid::Axis;
use crate::solid::{Form, Interface, Outline};
use glam::{DMat3, DVec3};

/// A free rigid body as a scene describes it.
#[derive(Clone, Debug)]
pub struct RigidBody {
    /// Unique name, for statistics, output and errors.
    pub name: String,
    /// Closed geometry in the body's frame.
    pub shape: Shape,
    /// How heavy it is; mass is spread evenly over the shape.
    pub mass: Mass,
    /// How it meets the fluid.
    pub interface: Interface,
    /// Where the body's frame is at the start.
    pub pose: Pose,
    /// Velocity of the centre of mass at the start, m/s.
    pub velocity: DVec3,
    /// Angular velocity at the start, world axis times rad/s.
    pub spin: DVec3,
    /// Coulomb friction coefficient. Against walls and obstacles it is the body's own, between bodies the mean of both.
    pub friction: f64,
    /// Part of the approach speed that a bounce gives back, 0…1; combined like friction.
    pub restitution: f64,
}

impl RigidBody {
    /// Friction and restitution of a body of which nothing else is said.
    /// Choices, for want of a material: scenes say what they need.
    pub const FRICTION: f64 = 0.5;
    /// See [`Self::FRICTION`].
    pub const RESTITUTION: f64 = 0.2;

    /// A body of some density, kg/m³, at rest around the origin, in cut cells.
    pub fn new(name: &str, shape: Shape, density: f64) -> Self {
        Self {
            name: name.into(),
            shape,
            mass: Mass::Density(density),
            interface: Interface::CutCells,
            pose: Pose::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            friction: Self::FRICTION,
            restitution: Self::RESTITUTION,
        }
    }

    /// The same at another place, m.
    pub fn at(self, position: impl Into<DVec3>) -> Self {
        Self { pose: Pose { position: position.into(), ..self.pose }, ..self }
    }

    /// The same with a velocity, m/s.
    pub fn moving(self, velocity: impl Into<DVec3>) -> Self {
        Self { velocity: velocity.into(), ..self }
    }

    /// It as it is put into the fluid.
    pub fn outline(&self) -> Outline<'_> {
        let form = Form::Posed { shape: &self.shape, interface: self.interface };
        Outline { name: &self.name, kind: "free", form }
    }
}

/// How heavy a body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mass {
    /// kg/m³.
    Density(f64),
    /// kg.
    Total(f64),
}

/// Mass, centre and inertia of a body, and which motions are open to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// kg.
    pub mass: f64,
    /// m³.
    pub volume: f64,
    /// Centre of mass in the body's frame, m.
    pub centre: DVec3,
    /// Inertia about the centre in the body's frame, kg m². In the plane (one flat axis) it is the moment about that
    /// axis in every direction: no other is ever used, and it does not turn with the body.
    pub inertia: DMat3,
    /// 1 along the axes the body may move along, 0 along flat ones.
    pub sliding: DVec3,
    /// 1 along the axes it may turn about, 0 along those that lie in the plane.
    pub turning: DVec3,
    pub(super) principal: Principal,
}

/// Moments of inertia below this part of the largest one count as zero.
/// A rod has 6 (r/l)²: this one is 100 000 times as long as wide. Less is round-off of the integrals.
const SINGULAR: f64 = 1e-10;

impl MassProperties {
    /// Mass, centre and inertia from the geometry: closed forms for primitives, exact integrals for meshes.
    /// `flat` tells the axes along which nothing moves.
    pub fn of(body: &RigidBody, flat: [bool; 3]) -> Result<Self, RigidError> {
        let name = || body.name.clone();
        let solid = body.shape.mass_properties();
        let (mass, density, unit) = match body.mass {
            Mass::Density(density) => (density * solid.volume, density, "kg/m³"),
            Mass::Total(mass) => (mass, mass / solid.volume, "kg"),
        };
        let given = match body.mass {
            Mass::Density(value) | Mass::Total(value) => value,
        };
        if !(solid.volume > 0.0 && solid.volume.is_finite()) {
            return Err(RigidError::Volume { body: name(), volume: solid.volume });
        }
        if !(mass > 0.0 && mass.is_finite() && mass.recip().is_finite()) {
            return Err(RigidError::Mass { body: name(), value: given, unit });
        }
        let sliding = DVec3::from(flat.map(|flat| if flat { 0.0 } else { 1.0 }));
        let turning = DVec3::from(Axis::ALL.map(|a| a.others().iter().map(|b| sliding[b.index()]).product()));
        let mut inertia = density * solid.inertia;
        if let Some(a) = flat.iter().position(|&flat| flat) {
            let rotation = DMat3::from_quat(body.pose.rotation);
            let about = (rotation * inertia * rotation.transpose()).col(a)[a];
            inertia = about * DMat3::IDENTITY;
        }
        let principal = principal(inertia);
        let [least, most] = [principal.moments.min_element(), principal.moments.max_element()];
        if !(least > SINGULAR * most && most.is_finite() && least.recip().is_finite()) {
            return Err(RigidError::Inertia { body: name(), least, most });
        }
        Ok(Self { mass, volume: solid.volume, centre: solid.centroid, inertia, sliding, turning, principal })
    }

    /// Inverse mass per axis, 1/kg; zero along flat axes.
    pub fn inverse_mass(&self) -> DVec3 {
        self.sliding / self.mass
    }

    /// Inertia about the centre in world axes, kg m², with the body turned by `rotation`.
    pub fn world_inertia(&self, rotation: glam::DQuat) -> DMat3 {
        let r = DMat3::from_quat(rotation);
        r * self.inertia * r.transpose()
    }

    /// Inverse of it, 1/(kg m²); zero about axes the body may not turn about.
    pub fn inverse_inertia(&self, rotation: glam::DQuat) -> DMat3 {
        let r = DMat3::from_quat(rotation * self.principal.frame);
        let inverse = r * DMat3::from_diagonal(self.principal.moments.recip()) * r.transpose();
        let open = DMat3::from_diagonal(self.turning);
        open * inverse * open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::TriMesh;
    use std::f64::consts::PI;
    use std::sync::Arc;

    pub fn body(shape: Shape, mass: Mass) -> RigidBody {
        RigidBody {
            name: "it".into(),
            shape,
            interface: Interface::CutCells,
            mass,
            pose: Pose::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            friction: 0.5,
            restitution: 0.0,
        }
    }

    fn mesh(shape: Shape, edge: f64) -> Shape {
        Shape::Mesh(Arc::new(shape.surface(edge).mapped(|v| v + DVec3::new(3.0, -2.0, 1.0))))
    }

    #[test]
    fn meshes_of_a_sphere_a_box_and_a_torus_weigh_what_the_textbook_says() {
        // Tessellations enclose the exact volume; their inertia differs by their squared edge.
        let sphere =
            MassProperties::of(&body(mesh(Shape::Sphere { radius: 0.5 }, 0.02), Mass::Density(800.0)), [false; 3]);
        let sphere = sphere.unwrap();
        let mass = 800.0 * 4.0 / 3.0 * PI * 0.125;
        assert!((sphere.mass / mass - 1.0).abs() < 1e-12);
        assert!((sphere.inertia.x_axis.x / (0.4 * mass * 0.25) - 1.0).abs() < 1e-3);
        assert!((sphere.centre - DVec3::new(3.0, -2.0, 1.0)).length() < 1e-12);

        let size = DVec3::new(1.0, 2.0, 3.0);
        let cuboid = MassProperties::of(&body(mesh(Shape::Box { size }, 1.0), Mass::Total(6.0)), [false; 3]).unwrap();
        let expected = DMat3::from_diagonal(DVec3::new(6.5, 5.0, 2.5));
        assert!((cuboid.inertia - expected).to_cols_array().iter().all(|e| e.abs() < 1e-12));

        let torus = Shape::Torus { major: 0.5, minor: 0.2 };
        let ring = MassProperties::of(&body(mesh(torus, 0.01), Mass::Total(2.0)), [false; 3]).unwrap();
        // About the axis M(R² + ¾a²), across M(½R² + ⅝a²).
        assert!((ring.inertia.y_axis.y / (2.0 * (0.25 + 0.03)) - 1.0).abs() < 1e-3);
        assert!((ring.inertia.x_axis.x / (2.0 * (0.125 + 0.025)) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn row_17_bodies_without_a_usable_mass_are_refused() {
        let ball = Shape::Sphere { radius: 0.5 };
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
            for mass in [Mass::Density(bad), Mass::Total(bad)] {
                let error = MassProperties::of(&body(ball.clone(), mass), [false; 3]).unwrap_err();
                assert!(matches!(error, RigidError::Mass { .. }), "{bad}: {error}");
                assert!(error.to_string().len() <= 300);
            }
        }
        let needle = Shape::Cylinder { radius: 1e-7, height: 1.0 };
        let error = MassProperties::of(&body(needle, Mass::Total(1.0)), [false; 3]).unwrap_err();
        assert!(matches!(error, RigidError::Inertia { .. }), "{error}");
        let empty = Shape::Mesh(Arc::new(TriMesh::default()));
        let error = MassProperties::of(&body(empty, Mass::Total(1.0)), [false; 3]).unwrap_err();
        assert!(matches!(error, RigidError::Volume { .. }), "{error}");
    }

    #[test]
    fn in_the_plane_only_the_moment_across_it_counts() {
        let size = DVec3::new(1.0, 2.0, 3.0);
        let flat = MassProperties::of(&body(Shape::Box { size }, Mass::Total(6.0)), [false, false, true]).unwrap();
        assert_eq!(flat.sliding, DVec3::new(1.0, 1.0, 0.0));
        assert_eq!(flat.turning, DVec3::new(0.0, 0.0, 1.0));
        let inverse = flat.inverse_inertia(glam::DQuat::from_rotation_z(0.3));
        assert!(
            (inverse - DMat3::from_diagonal(DVec3::new(0.0, 0.0, 0.4))).to_cols_array().iter().all(|e| e.abs() < 1e-15)
        );
    }
}

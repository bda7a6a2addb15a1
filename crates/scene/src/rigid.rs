//! Rigid bodies and joints in the engine's terms.

use crate::bodies::{Meshes, copies, rotation, shape, spin, take_name, too_thin};
use crate::document::Document;
use crate::error::{ErrorKind, SceneError, short};
use crate::file::{BodyEntry, JointEntry, JointTypeName, SceneFile};
use crate::placement::{bounds, check_meets_domain, point, span, velocity};
use crate::schema::suggest;
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solid::rigid::{Joint, JointKind, Mass, RigidBody, RigidError};
use bathtub_engine::world::WorldParams;
use glam::DVec3;
use std::collections::BTreeSet;

/// Directions closer than this to each other are the same.
const ALIGNED: f64 = 1e-9;

/// How much thicker than the plane of a flat scene its bodies are, relative: both sides of them lie outside of it,
/// wherever round-off puts them.
const OVERHANG: f64 = 1e-6;

/// The scene's free bodies, copies included; their names go into `names`.
pub fn bodies(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    grid: &Grid,
    names: &mut BTreeSet<String>,
    warnings: &mut Vec<String>,
) -> Result<Vec<RigidBody>, SceneError> {
    let mut bodies = Vec::new();
    for (i, entry) in file.body.iter().enumerate() {
        let key = format!("body.{i}");
        let mass = mass(document, &key, entry)?;
        let interface = entry.interface.into();
        let velocity = velocity(document, &format!("{key}.velocity"), entry.velocity, grid)?;
        let spin = spin(document, &key, entry.spin)?;
        check_spin(document, &key, spin, grid)?;
        let (shape, rotation) =
            (shape(document, &key, &entry.shape, meshes)?, rotation(document, &key, entry.rotation)?);
        for (name, offset) in copies(&entry.name, &entry.at) {
            take_name(document, &key, &name, names)?;
            let pose = Pose { position: DVec3::from(entry.position) + offset, rotation };
            check_meets_domain(document, &key, &name, bounds(&shape, &pose), grid)?;
            let (shape, pose) = slice(document, &key, &name, &shape, pose, grid)?;
            warnings.extend(too_thin(&key, &name, bounds(&shape, &pose), grid));
            let (friction, restitution) = (entry.friction, entry.restitution);
            bodies.push(RigidBody { name, shape, mass, interface, pose, velocity, spin, friction, restitution });
        }
    }
    Ok(bodies)
}

fn mass(document: &Document, key: &str, entry: &BodyEntry) -> Result<Mass, SceneError> {
    let refuse = |key: &str, message: &str| Err(document.error_at(ErrorKind::Scene, key, message));
    match (entry.density, entry.mass) {
        (Some(density), None) => Ok(Mass::Density(density)),
        (None, Some(mass)) => Ok(Mass::Total(mass)),
        (Some(_), Some(_)) => {
            refuse(&format!("{key}.mass"), "`density` and `mass` say the same thing; give one of them")
        }
        (None, None) => {
            refuse(key, "missing key `density` (kg/m³) or `mass` (kg); what nothing can move is an [[obstacle]]")
        }
    }
}

/// In the plane bodies turn about the axis across it only.
pub fn check_spin(document: &Document, key: &str, spin: DVec3, grid: &Grid) -> Result<(), SceneError> {
    let flat = |axis: Axis| grid.is_flat(axis);
    let turns = |axis: Axis| !axis.others().into_iter().any(flat);
    match Axis::ALL.into_iter().find(|&axis| !turns(axis) && spin[axis.index()].abs() > ALIGNED * spin.length()) {
        None => Ok(()),
        Some(_) => {
            let message = "in a flat scene bodies turn about the flat axis only; make it the axis of the spin";
            Err(document.error_at(ErrorKind::Scene, &format!("{key}.spin.axis"), message))
        }
    }
}

/// In a flat scene, the slice of a prism that lies in the plane, so that its mass is that of what the fluid meets.
pub fn slice(
    document: &Document,
    key: &str,
    name: &str,
    shape: &Shape,
    mut pose: Pose,
    grid: &Grid,
) -> Result<(Shape, Pose), SceneError> {
    let mut shape = shape.clone();
    let [lo, hi] = bounds(&shape, &pose);
    for axis in Axis::ALL.into_iter().filter(|&axis| grid.is_flat(axis)) {
        let a = axis.index();
        let across = pose.rotation.conjugate() * axis.unit();
        let own = Axis::ALL.into_iter().find(|own| across[own.index()].abs() > 1.0 - ALIGNED);
        let length = match (&mut shape, own) {
            (Shape::Box { size }, Some(own)) => Some(&mut size[own.index()]),
            (Shape::Cylinder { height, .. }, Some(Axis::Y)) => Some(height),
            _ => None,
        };
        let Some(length) = length else {
            let message = format!(
                "\"{name}\" is no prism across the flat axis; use a box or a cylinder along it, as in rotation = {{ axis = [1, 0, 0], degrees = 90 }}"
            );
            return Err(document.error_at(ErrorKind::Scene, &format!("{key}.shape"), message));
        };
        let (from, to) = (grid.origin[a], grid.upper()[a]);
        if lo[a] > from + ALIGNED * grid.dx || hi[a] < to - ALIGNED * grid.dx {
            let message = format!(
                "\"{name}\" spans {} to {} m along the flat axis; it must reach across the cell from {from:.4} to {to:.4} m",
                short(lo[a]),
                short(hi[a])
            );
            return Err(document.error_at(ErrorKind::Scene, key, message));
        }
        *length = grid.dx * (1.0 + OVERHANG);
        pose.position[a] = 0.5 * (from + to);
    }
    Ok((shape, pose))
}

/// The scene's joints between `bodies`.
pub fn joints(
    document: &Document,
    file: &SceneFile,
    bodies: &[RigidBody],
    grid: &Grid,
) -> Result<Vec<Joint>, SceneError> {
    let number = |key: String, name: &str| {
        let found = bodies.iter().position(|body| body.name == name);
        found.ok_or_else(|| {
            let message = if file.obstacle.iter().any(|o| o.name.as_deref() == Some(name)) {
                format!("\"{name}\" is an obstacle, and joints hold bodies; leave `other` out to tie to the world")
            } else if file.elastic.iter().any(|e| copies(&e.name, &e.at).iter().any(|(copy, _)| copy == name)) {
                format!("\"{name}\" is elastic, and joints hold rigid bodies; give it a `hold` instead")
            } else {
                let names: Vec<&str> = bodies.iter().map(|body| body.name.as_str()).take(8).collect();
                format!("no body is called \"{name}\"{}", suggest(name, &names, "of"))
            };
            document.error_at(ErrorKind::Scene, &key, message)
        })
    };
    let joint = |(i, entry): (usize, &JointEntry)| {
        let key = format!("joint.{i}");
        let other = entry.other.as_deref().map(|name| number(format!("{key}.other"), name)).transpose()?;
        let body = number(format!("{key}.body"), &entry.body)?;
        if other.is_some_and(|other| bodies[other].interface != bodies[body].interface) {
            let message = format!(
                "\"{}\" meets the fluid in another way than \"{}\"; give bodies that are joined the same `interface`",
                entry.other.as_deref().unwrap_or_default(),
                entry.body
            );
            return Err(document.error_at(ErrorKind::Scene, &format!("{key}.other"), message));
        }
        check_anchor(document, &key, entry, bodies, grid)?;
        Ok(Joint { kind: kind(document, &key, entry)?, body, other, anchor: DVec3::from(entry.anchor) })
    };
    file.joint.iter().enumerate().map(joint).collect()
}

/// An anchor may be anywhere in the domain, where a pendulum hangs from it as from a rod; beyond it, and in none of the bodies, it is
/// a mistake: given in another unit, or in a body's own frame.
fn check_anchor(
    document: &Document,
    key: &str,
    entry: &JointEntry,
    bodies: &[RigidBody],
    grid: &Grid,
) -> Result<(), SceneError> {
    let anchor = DVec3::from(entry.anchor);
    let within = |[lo, hi]: [DVec3; 2]| anchor.cmpge(lo).all() && anchor.cmple(hi).all();
    let mut spans = bodies.iter().map(|body| bounds(&body.shape, &body.pose));
    if within([grid.origin, grid.upper()]) || spans.any(within) {
        return Ok(());
    }
    let message = format!(
        "{} m is outside the domain, {}, and in no body; anchors are given in the world, m",
        point(anchor),
        span([grid.origin, grid.upper()])
    );
    Err(document.error_at(ErrorKind::Scene, &format!("{key}.anchor"), message))
}

fn kind(document: &Document, key: &str, entry: &JointEntry) -> Result<JointKind, SceneError> {
    let axis = entry.axis.map(DVec3::from);
    match (entry.r#type, axis) {
        (JointTypeName::Point, None) => Ok(JointKind::Point),
        (JointTypeName::Fixed, None) => Ok(JointKind::Fixed),
        (JointTypeName::Hinge, Some(axis)) => Ok(JointKind::Hinge { axis }),
        (JointTypeName::Slider, Some(axis)) => Ok(JointKind::Slider { axis }),
        (JointTypeName::Point | JointTypeName::Fixed, Some(_)) => {
            let message = "only a hinge and a slider have an axis; remove it, or choose one of these";
            Err(document.error_at(ErrorKind::Scene, &format!("{key}.axis"), message))
        }
        (JointTypeName::Hinge | JointTypeName::Slider, None) => {
            let message = "missing key `axis` (direction of the hinge or slider, as in [0, 0, 1])";
            Err(document.error_at(ErrorKind::Scene, key, message))
        }
    }
}

/// Let the engine judge the bodies and joints: an error about the entry it refuses, or what it finds odd.
pub fn check(document: &Document, file: &SceneFile, params: &WorldParams) -> Result<Vec<String>, SceneError> {
    match params.rigids() {
        Ok((rigids, _)) => Ok(rigids.warnings().iter().map(ToString::to_string).collect()),
        Err(error) => Err(document.error_at(ErrorKind::Scene, &key_of(file, &error), error.to_string())),
    }
}

/// The key that an error of the engine is about.
fn key_of(file: &SceneFile, error: &RigidError) -> String {
    let of_body = |name: &str, key: &str| {
        let is_it = |entry: &BodyEntry| copies(&entry.name, &entry.at).iter().any(|(copy, _)| copy == name);
        let entry = file.body.iter().position(is_it).unwrap_or_default();
        format!("body.{entry}{key}")
    };
    match error {
        RigidError::Mass { body, unit: "kg", .. } => of_body(body, ".mass"),
        RigidError::Mass { body, .. } => of_body(body, ".density"),
        RigidError::Volume { body, .. } | RigidError::Inertia { body, .. } | RigidError::Decomposition { body } => {
            of_body(body, ".shape")
        }
        RigidError::InWall { body, .. } | RigidError::Outside { body, .. } => of_body(body, ".position"),
        RigidError::Value { body, .. } | RigidError::NonFinite { body } => of_body(body, ""),
        RigidError::Itself { joint, .. } => format!("joint.{joint}.other"),
        RigidError::Missing { joint, .. } => format!("joint.{joint}"),
        RigidError::Geometry { joint, what, .. } => format!("joint.{joint}.{what}"),
        RigidError::OutOfPlane { joint, .. } => format!("joint.{joint}.axis"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use std::f64::consts::FRAC_PI_2;

    fn sliced(shape: Shape, pose: Pose) -> Result<(Shape, Pose), String> {
        let document = Document::parse("s.toml", b"[[body]]\n".to_vec()).unwrap();
        let grid = Grid::new([8, 8, 1], 0.25, DVec3::new(0.0, 0.0, -0.125));
        slice(&document, "body.0", "it", &shape, pose, &grid).map_err(|e| e.to_string())
    }

    #[test]
    fn a_body_of_a_flat_scene_is_a_slice_as_thick_as_the_plane() {
        let upright = DQuat::from_rotation_x(FRAC_PI_2);
        let at = |rotation| Pose { position: DVec3::new(1.0, 1.0, 0.3), rotation };
        for (shape, rotation, area) in [
            (Shape::Box { size: DVec3::new(0.5, 0.3, 2.0) }, DQuat::from_rotation_z(0.4), 0.15),
            (Shape::Box { size: DVec3::new(0.5, 2.0, 0.3) }, upright, 0.15),
            (Shape::Cylinder { radius: 0.2, height: 1.0 }, upright, std::f64::consts::PI * 0.04),
        ] {
            let (shape, pose) = sliced(shape, at(rotation)).unwrap();
            assert!((shape.volume() / (area * 0.25) - 1.0).abs() < 2.0 * OVERHANG, "{shape:?}");
            let [lo, hi] = bounds(&shape, &pose);
            assert!(lo.z < -0.125 && hi.z > 0.125 && pose.position.z == 0.0, "{lo} {hi}");
        }
    }

    #[test]
    fn what_has_no_slice_is_refused() {
        let at = |rotation| Pose { position: DVec3::ONE * DVec3::new(1.0, 1.0, 0.0), rotation };
        for (shape, rotation) in [
            (Shape::Sphere { radius: 0.3 }, DQuat::IDENTITY),
            (Shape::Cylinder { radius: 0.3, height: 1.0 }, DQuat::IDENTITY),
            (Shape::Box { size: DVec3::ONE }, DQuat::from_rotation_x(0.2)),
        ] {
            assert!(sliced(shape, at(rotation)).unwrap_err().contains("no prism across the flat axis"));
        }
        let thin = sliced(Shape::Box { size: DVec3::new(0.5, 0.5, 0.2) }, at(DQuat::IDENTITY)).unwrap_err();
        assert!(thin.contains("must reach across the cell from -0.1250 to 0.1250 m"), "{thin}");
    }
}

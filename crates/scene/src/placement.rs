//! Where bodies are: their bounds against the domain.

use crate::document::Document;
use crate::error::{ErrorKind, SceneError, short};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::{Axis, Grid};
use glam::DVec3;

/// Lowest and highest corner of the smallest axis-aligned box around a placed shape, m.
pub fn bounds(shape: &Shape, pose: &Pose) -> [DVec3; 2] {
    if let Shape::Mesh(mesh) = shape {
        let empty = [DVec3::INFINITY, DVec3::NEG_INFINITY];
        return mesh.vertices.iter().map(|v| pose.apply(*v)).fold(empty, |[lo, hi], v| [lo.min(v), hi.max(v)]);
    }
    let reach = DVec3::from(Axis::ALL.map(|axis| reach(shape, pose.rotation.conjugate() * axis.unit())));
    [pose.position - reach, pose.position + reach]
}

/// How far a primitive reaches from its centre along the unit vector `n` of its own frame, m.
fn reach(shape: &Shape, n: DVec3) -> f64 {
    let across = n.x.hypot(n.z);
    match *shape {
        Shape::Box { size } => 0.5 * (size * n.abs()).element_sum(),
        Shape::Sphere { radius } => radius,
        Shape::Cylinder { radius, height } => radius * across + 0.5 * height * n.y.abs(),
        Shape::Capsule { radius, height } => radius + 0.5 * height * n.y.abs(),
        Shape::Torus { major, minor } => major * across + minor,
        Shape::Mesh(_) => unreachable!("a mesh is bounded by its vertices"),
    }
}

/// Refuse a body, lowest and highest corner given, of which no part is in the domain.
pub fn check_meets_domain(
    document: &Document,
    key: &str,
    name: &str,
    [lo, hi]: [DVec3; 2],
    grid: &Grid,
) -> Result<(), SceneError> {
    if meets_domain(grid, [lo, hi]) {
        return Ok(());
    }
    let (body, domain) = (span([lo, hi]), span([grid.origin, grid.upper()]));
    let message = format!("\"{name}\" starts outside the domain: it spans {body}, the domain {domain}; move it inside");
    Err(document.error_at(ErrorKind::Scene, key, message))
}

/// A box in words.
pub fn span([lo, hi]: [DVec3; 2]) -> String {
    format!("{} to {} m", point(lo), point(hi))
}

/// A point in words.
pub fn point(x: DVec3) -> String {
    format!("[{}]", x.to_array().map(short).join(", "))
}

/// Whether a box and the domain share a volume.
fn meets_domain(grid: &Grid, [lo, hi]: [DVec3; 2]) -> bool {
    lo.cmplt(grid.upper()).all() && hi.cmpgt(grid.origin).all()
}

/// The velocity that was typed; along a flat axis nothing moves.
pub fn velocity(document: &Document, key: &str, velocity: [f64; 3], grid: &Grid) -> Result<DVec3, SceneError> {
    match Axis::ALL.into_iter().find(|&axis| grid.is_flat(axis) && velocity[axis.index()] != 0.0) {
        None => Ok(DVec3::from(velocity)),
        Some(axis) => {
            let along = velocity[axis.index()];
            let message = format!("{along:?} m/s along an axis one cell thick, along which nothing moves; write 0");
            Err(document.error_at(ErrorKind::Scene, &format!("{key}.{}", axis.index()), message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, SQRT_2};

    fn size(shape: Shape, rotation: DQuat) -> DVec3 {
        let [lo, hi] = bounds(&shape, &Pose { position: DVec3::new(1.0, 2.0, 3.0), rotation });
        assert!((0.5 * (lo + hi) - DVec3::new(1.0, 2.0, 3.0)).length() < 1e-12);
        hi - lo
    }

    #[test]
    fn turned_primitives_have_tight_bounds() {
        let turned = size(Shape::Box { size: DVec3::ONE }, DQuat::from_rotation_z(FRAC_PI_4));
        assert!((turned - DVec3::new(SQRT_2, SQRT_2, 1.0)).length() < 1e-12);
        let lying = size(Shape::Cylinder { radius: 1.0, height: 6.0 }, DQuat::from_rotation_z(FRAC_PI_2));
        assert!((lying - DVec3::new(6.0, 2.0, 2.0)).length() < 1e-12);
        let capsule = size(Shape::Capsule { radius: 1.0, height: 6.0 }, DQuat::IDENTITY);
        assert_eq!(capsule, DVec3::new(2.0, 8.0, 2.0));
        let ring = size(Shape::Torus { major: 2.0, minor: 0.5 }, DQuat::from_rotation_x(FRAC_PI_2));
        assert!((ring - DVec3::new(5.0, 5.0, 1.0)).length() < 1e-12);
    }

    #[test]
    fn a_body_that_only_touches_the_domain_is_outside() {
        let grid = Grid::new([4, 4, 4], 0.25, DVec3::ZERO);
        let at = |x: f64| {
            bounds(&Shape::Sphere { radius: 0.5 }, &Pose { position: DVec3::new(x, 0.5, 0.5), ..Pose::IDENTITY })
        };
        assert!(!meets_domain(&grid, at(1.5)));
        assert!(meets_domain(&grid, at(1.4)));
    }
}

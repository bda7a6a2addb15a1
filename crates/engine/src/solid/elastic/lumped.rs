//! Masses of the vertices, with which a body is as heavy and as hard to turn as the solid that it is.
//!
//! A quarter of every tetrahedron to each of its corners keeps mass and centre, but puts mass too far out: moments of inertia are too
//! large by a part of 2/n² with n elements across. So, unlike where masses are just lumped \[ZB17, eq. 3\], quarters l are changed to
//!
//! ```text
//! m = l e^q(x),      q = a + b·x + x·C x
//! ```
//!
//! with the ten coefficients for which mass, centre and second moments Σ m x xᵀ are those of the solid. These are the positive masses nearest to the quarters
//! (Σ m log m/l is least), and a change of second order in the size of elements. Coefficients follow by Newton's method for the convex function
//! Σ m − (a + tr C), in the solid's principal axes and in units of its spread along them.
//!
//! Across a single layer, all vertices are on the surface and no masses have the right moment; that axis keeps what it has.

use crate::geometry::TetMesh;
use crate::solid::rigid::rotation::principal;
use crate::solve::Cholesky;
use glam::{DMat3, DVec3};

/// Newton's iterations, and the largest error of a moment, relative to the solid's own, with which they end.
/// Choices: Newton's method takes a few, and what does not settle keeps its quarters; 1e-13 is some hundred roundings of a sum.
const ROUNDS: usize = 40;
const SETTLED: f64 = 1e-13;

/// A vertex keeps at least this part of its quarters.
/// A choice: next to no mass would be thrown by any impulse. The meshes of the tests below that are cut into cubes keep more.
const LEAST: f64 = 0.05;

/// 1, x, y, z, and the products of two coordinates.
const MOMENTS: usize = 10;

/// Volumes that vertices stand for, m³, from `quarters`; each of the `parts` is a solid of its own.
pub(super) fn lumped(mesh: &TetMesh, parts: &[Vec<u32>], quarters: &[f64]) -> Vec<f64> {
    let mut number = vec![0; mesh.vertices.len()];
    parts.iter().enumerate().for_each(|(n, part)| part.iter().for_each(|&v| number[v as usize] = n));
    let mut tetrahedra = vec![Vec::new(); parts.len()];
    mesh.tetrahedra.iter().for_each(|corners| tetrahedra[number[corners[0] as usize]].push(*corners));
    let mut solid = TetMesh { vertices: mesh.vertices.clone(), tetrahedra: Vec::new() };
    let mut volumes = quarters.to_vec();
    for (part, tetrahedra) in parts.iter().zip(tetrahedra) {
        solid.tetrahedra = tetrahedra;
        let exact = solid.mass_properties();
        let axes = principal(exact.inertia);
        // ∫ y y dV from the moments of inertia, the sum of the two others.
        let spread = (0.5 * axes.moments.element_sum() - axes.moments) / exact.volume;
        let turn = DMat3::from_quat(axes.frame).transpose();
        let scaled = |v: u32| turn * (mesh.vertices[v as usize] - exact.centroid) / spread.map(f64::sqrt);
        let points: Vec<DVec3> = part.iter().map(|&v| scaled(v)).collect();
        let shares: Vec<f64> = part.iter().map(|&v| quarters[v as usize] / exact.volume).collect();
        let mut is_exact = [true; 3];
        // Axis after axis, the one along which quarters are worst first.
        let excess = |a: usize| points.iter().zip(&shares).map(|(x, share)| share * x[a] * x[a]).sum::<f64>();
        let mut axes = [0, 1, 2];
        axes.sort_by(|&a, &b| excess(b).total_cmp(&excess(a)));
        for drop in axes.map(Some).into_iter().chain([None]) {
            if let Some(factors) = factors(&points, &shares, is_exact) {
                part.iter().zip(factors).for_each(|(&v, factor)| volumes[v as usize] *= factor);
                break;
            }
            if let Some(axis) = drop {
                is_exact[axis] = false;
            }
        }
    }
    volumes
}

/// e^q of every point, if there are coefficients with which moments along the axes `is_exact` are right: those are 1, in these units.
fn factors(points: &[DVec3], shares: &[f64], is_exact: [bool; 3]) -> Option<Vec<f64>> {
    let [x, y, z] = is_exact;
    let counts = [true, true, true, true, x, y, z, x && y, y && z, z && x];
    let wanted = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let mut q = [0.0; MOMENTS];
    for _ in 0..ROUNDS {
        let factors: Vec<f64> = points.iter().map(|&at| value(&q, at).exp()).collect();
        let mut error = wanted.map(|wanted| -wanted);
        let mut slope = vec![0.0; MOMENTS * MOMENTS];
        for ((&at, share), factor) in points.iter().zip(shares).zip(&factors) {
            let terms = terms(at);
            for i in (0..MOMENTS).filter(|&i| counts[i]) {
                let weighed = share * factor * terms[i];
                error[i] += weighed;
                (0..MOMENTS).filter(|&j| counts[j]).for_each(|j| slope[MOMENTS * i + j] += weighed * terms[j]);
            }
        }
        (0..MOMENTS).filter(|&i| !counts[i]).for_each(|i| error[i] = 0.0);
        if error.iter().all(|error| error.abs() < SETTLED) {
            return Some(factors).filter(|factors| factors.iter().all(|&factor| factor > LEAST));
        }
        Cholesky::new(MOMENTS, slope).solve(&mut error);
        // Newton's step, shortened so that no factor changes by more than e.
        let step = points.iter().map(|&at| value(&error, at).abs()).fold(1.0, f64::max).recip();
        q.iter_mut().zip(error).for_each(|(q, error)| *q -= step * error);
    }
    None
}

fn terms(at: DVec3) -> [f64; MOMENTS] {
    [1.0, at.x, at.y, at.z, at.x * at.x, at.y * at.y, at.z * at.z, at.x * at.y, at.y * at.z, at.z * at.x]
}

fn value(q: &[f64; MOMENTS], at: DVec3) -> f64 {
    q.iter().zip(terms(at)).map(|(q, term)| q * term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use crate::solid::elastic::frame;

    /// Largest error of the second moments, relative to the largest of them, of quarters and of masses; and the least change.
    fn errors(mesh: &TetMesh) -> ([f64; 2], f64) {
        let parts = frame::parts(mesh.vertices.len(), &mesh.tetrahedra);
        let quarters = mesh.vertex_volumes();
        let volumes = lumped(mesh, &parts, &quarters);
        let exact = mesh.mass_properties();
        let error = |volumes: &[f64]| {
            let sum: f64 = volumes.iter().sum();
            let centre = volumes.iter().zip(&mesh.vertices).map(|(v, x)| *v * *x).sum::<DVec3>() / sum;
            assert!((sum / exact.volume - 1.0).abs() < 1e-12 && (centre - exact.centroid).length() < 1e-12);
            let mut inertia = DMat3::ZERO;
            for (&v, &x) in volumes.iter().zip(&mesh.vertices) {
                let r = x - centre;
                let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
                inertia += v * (DMat3::from_diagonal(DVec3::splat(r.length_squared())) - outer);
            }
            let entries = |m: DMat3| m.to_cols_array().into_iter().map(f64::abs).fold(0.0, f64::max);
            entries(inertia - exact.inertia) / entries(exact.inertia)
        };
        let least = volumes.iter().zip(&quarters).map(|(v, quarter)| v / quarter).fold(f64::INFINITY, f64::min);
        ([error(&quarters), error(&volumes)], least)
    }

    #[test]
    fn bodies_have_the_moments_of_the_solid() {
        let turned = |x: DVec3| DMat3::from_euler(glam::EulerRot::XYZ, 0.3, 0.7, -0.4) * x + DVec3::new(3.0, -2.0, 1.0);
        for cells in [[2, 2, 2], [3, 2, 4], [4, 4, 4], [8, 7, 9], [20, 2, 2]] {
            let mesh = TetMesh::block(DVec3::new(0.3, 0.22, 0.4), cells).mapped(turned);
            let ([before, after], least) = errors(&mesh);
            assert!(before > 3e-3 && after < 1e-11 && least > LEAST, "{cells:?}: {before:e} {after:e} {least}");
        }
        for size in [0.05, 0.08, 0.16] {
            let (mesh, _) = TetMesh::stuff(&Shape::Sphere { radius: 0.2 }, size).unwrap();
            let ([before, after], _) = errors(&mesh.mapped(turned));
            assert!(after < 1e-11 && before > after, "{size}: {before:e} {after:e}");
        }
    }

    /// A plate has right moments along its sides, and one tetrahedron keeps its quarters.
    #[test]
    fn where_no_masses_would_do_axes_keep_what_they_have() {
        let ([before, after], _) = errors(&TetMesh::block(DVec3::new(1.0, 1.0, 0.05), [6, 6, 1]));
        assert!(before > 0.05 && after < 0.01, "{before:e} {after:e}");
        let mut one = TetMesh::block(DVec3::ONE, [1, 1, 1]);
        one.tetrahedra.truncate(1);
        let parts = [one.tetrahedra[0].to_vec()];
        let quarters = one.vertex_volumes();
        assert_eq!(lumped(&one, &parts, &quarters), quarters);
    }
}

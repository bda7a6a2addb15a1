//! Tetrahedra from shapes: isosurface stuffing.
//!
//! [LS07] F. Labelle and J. R. Shewchuk, "Isosurface stuffing: fast tetrahedral meshes with good dihedral angles",
//! ACM TOG 26 (3), 2007. A lattice of equal tetrahedra is cut by the surface; lattice points beside it are moved onto
//! it first, and what is inside is divided by a fixed set of stencils. All dihedral angles are then between 9.2° and
//! 161.8°, whatever the surface (the paper proves 10.7° and 164.8° for its stencils; ours are measured, see stencil.rs).
//!
//! Cut points are found to 1e-9 h on the surface itself, so that the volume converges as h². Sharp edges of the shape
//! are bevelled over about half an edge of the lattice; boxes are made of cubes instead. There is no grading: all
//! tetrahedra have about the same size.
//!
//! Deviation: where moved points would make the boundary touch itself, they stay where they were, and the boundary
//! keeps away from them by the distance that would have moved them, 0.36 h at most. The angles are the same, and there
//! are no edges or vertices that nothing else holds. Such contact comes with parts finer than h.

use super::boundary::{pinches, surface_parts};
use super::lattice::{self, BccLattice};
use super::{TetMesh, TetWarning};
use crate::geometry::{Shape, SignedDistance, TriMesh};
use glam::DVec3;
use std::collections::BTreeSet;

/// Most tetrahedra that are made.
/// A guard against sizes that were mistyped: 0.8 million take a second (docs/methods/tetrahedra.md).
const MOST_TETRAHEDRA: f64 = 2e6;

/// Most lattice points that are sampled; a thin shape fills little of its box.
/// A guard, too, of memory.
const MOST_POINTS: f64 = 2e7;

/// The mesh may lose or gain this part of the shape's volume.
/// A choice that lets coarse meshes pass: a ball six tetrahedra across lacks 3 % (docs/methods/tetrahedra.md).
const VOLUME_TOLERANCE: f64 = 0.35;

/// Parts of the mesh smaller than this part of the whole may be left out as specks.
/// A choice; it is warned of.
const SPECK: f64 = 0.01;

/// How often points that pinch the boundary are put back.
/// A choice: points that are kept off the surface stay so, and what pinches after as many rounds is refused as too coarse.
const ROUNDS: usize = 10;

/// Why a shape could not be filled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StuffingError {
    /// The size is no length.
    #[error("a tetrahedron size of {size:?} m is not positive and finite")]
    Size {
        /// As asked for, m.
        size: f64,
    },
    /// More tetrahedra than are reasonable.
    #[error(
        "tetrahedra of size {size:?} m: about {count:.1e} {what} would be needed, the limit is {limit:.0e}; choose a size of at \
         least {suggested:.2e} m"
    )]
    TooMany {
        /// As asked for, m.
        size: f64,
        /// About how many it would be.
        count: f64,
        /// `tetrahedra` or `lattice points`.
        what: &'static str,
        /// How many may be.
        limit: f64,
        /// A size that is allowed, m.
        suggested: f64,
    },
    /// The shape is finer than the lattice sees.
    #[error(
        "tetrahedra of size {size:?} m are too coarse for this shape: {problem}; choose a size of at most {suggested:.2e} m"
    )]
    TooCoarse {
        /// As asked for, m.
        size: f64,
        /// What came out.
        problem: String,
        /// A size to try, m.
        suggested: f64,
    },
}

impl TetMesh {
    /// Fill a shape with tetrahedra whose edges are about `size` (m) long: boxes with cubes of six, that keep their
    /// edges, all else by [`Self::stuff`]. A mesh must be closed (see [`TriMesh::check`]).
    pub fn from_shape(shape: &Shape, size: f64) -> Result<(TetMesh, Vec<TetWarning>), StuffingError> {
        let Shape::Box { size: edges } = *shape else { return Self::stuff(shape, size) };
        check_size(size)?;
        let cells = (edges / size).round().max(DVec3::ONE);
        check_numbers([("tetrahedra", 6.0 * cells.element_product(), MOST_TETRAHEDRA)], size)?;
        Ok((TetMesh::block(edges, cells.to_array().map(|n| n as usize)), Vec::new()))
    }

    /// Fill a shape with the tetrahedra of a lattice whose longer edges have the length `size` (m), cut by the surface.
    /// The vertices of its boundary lie on the surface.
    pub fn stuff(shape: &Shape, size: f64) -> Result<(TetMesh, Vec<TetWarning>), StuffingError> {
        check_size(size)?;
        let bounds = shape.bounds();
        let surface = shape.surface(size.max(0.01 * bounds.size().max_element()));
        let points = 2.0 * lattice::cells(&bounds, size).iter().product::<f64>();
        let tetrahedra = expected_number(&surface, size);
        check_numbers([("lattice points", points, MOST_POINTS), ("tetrahedra", tetrahedra, MOST_TETRAHEDRA)], size)?;

        let distance = SignedDistance::new(shape);
        let lattice = BccLattice::new(&distance, &bounds, size);
        let mut kept_off = BTreeSet::new();
        for _ in 0..ROUNDS {
            let (mut mesh, origins) = lattice.fill(&kept_off);
            let pinched = pinches(&mesh.surface());
            if pinched.is_empty() {
                let warnings = check_shape(&mut mesh, &surface, size)?;
                return Ok((mesh, warnings));
            }
            kept_off.extend(pinched.iter().filter_map(|&v| origins[v as usize]));
        }
        Err(too_coarse(&surface, size, "its boundary would touch itself".into()))
    }
}

fn check_size(size: f64) -> Result<(), StuffingError> {
    if size > 0.0 && size.is_finite() { Ok(()) } else { Err(StuffingError::Size { size }) }
}

/// No count (what, how many, limit) above its limit.
fn check_numbers<const N: usize>(counts: [(&'static str, f64, f64); N], size: f64) -> Result<(), StuffingError> {
    let excess = |&(_, count, limit): &(_, f64, f64)| count / limit;
    match counts.into_iter().max_by(|a, b| excess(a).total_cmp(&excess(b))) {
        Some((what, count, limit)) if count > limit => {
            // Rounded up, so that the suggestion itself passes.
            Err(StuffingError::TooMany { size, count, what, limit, suggested: 1.05 * size * (count / limit).cbrt() })
        }
        _ => Ok(()),
    }
}

/// About how many tetrahedra fill the surface: twelve to a cell, and more where it cuts them.
fn expected_number(surface: &TriMesh, size: f64) -> f64 {
    12.0 * surface.volume() / size.powi(3) + 3.0 * surface.area() / size.powi(2)
}

/// As many parts as the shape has, and about its volume; specks are dropped.
fn check_shape(mesh: &mut TetMesh, surface: &TriMesh, size: f64) -> Result<Vec<TetWarning>, StuffingError> {
    let refuse = |problem: String| Err(too_coarse(surface, size, problem));
    if mesh.tetrahedra.is_empty() {
        return refuse("no tetrahedron fits in".into());
    }
    let mut warnings = Vec::new();
    let expected = solids(surface);
    let specks = drop_specks(mesh, expected);
    if specks > 0 {
        warnings.push(TetWarning::Specks { count: specks, size: size.to_string() });
    }
    let (_, parts) = mesh.parts();
    if parts != expected {
        return refuse(format!("it has {expected} parts, the mesh would have {parts}"));
    }
    let (volume, exact) = (mesh.volume(), surface.volume());
    if (volume / exact - 1.0).abs() > VOLUME_TOLERANCE {
        return refuse(format!("its volume is {exact:.3e} m³, the mesh would have {volume:.3e} m³"));
    }
    let (found, expected) = (euler_number(&mesh.surface()), euler_number(surface));
    if found != expected {
        warnings.push(TetWarning::Topology { found, expected, size: size.to_string() });
    }
    Ok(warnings)
}

fn too_coarse(surface: &TriMesh, size: f64, problem: String) -> StuffingError {
    // A sheet of thickness t has a volume of t/2 times its surface: two edges across.
    let suggested = (0.5 * size).min(surface.volume() / surface.area());
    StuffingError::TooCoarse { size, problem, suggested }
}

/// Number of bodies that a closed surface bounds: its parts, without those around hollows.
fn solids(surface: &TriMesh) -> usize {
    let (parts, count) = surface_parts(surface);
    let bounds = surface.bounds();
    let about = 0.5 * (bounds.min + bounds.max);
    let mut volumes = vec![0.0; count];
    for (t, &part) in parts.iter().enumerate() {
        let [a, b, c] = surface.corners(t).map(|v| v - about);
        volumes[part as usize] += a.dot(b.cross(c));
    }
    volumes.iter().filter(|&&v| v > 0.0).count()
}

/// Drop parts beyond the `wanted` largest if they are small; returns how many.
fn drop_specks(mesh: &mut TetMesh, wanted: usize) -> usize {
    let (part, count) = mesh.parts();
    let mut volumes = vec![0.0; count];
    part.iter().enumerate().for_each(|(t, &p)| volumes[p as usize] += mesh.volume_of(t));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| volumes[b].total_cmp(&volumes[a]));
    let whole: f64 = volumes.iter().sum();
    let specks: BTreeSet<usize> = order.into_iter().skip(wanted).filter(|&p| volumes[p] < SPECK * whole).collect();
    if !specks.is_empty() {
        let mut part = part.iter();
        mesh.tetrahedra.retain(|_| part.next().is_some_and(|&p| !specks.contains(&(p as usize))));
        mesh.drop_unused_vertices();
    }
    specks.len()
}

/// Vertices − edges + triangles: 2 for each part of a closed surface, less 2 for each handle.
fn euler_number(surface: &TriMesh) -> i64 {
    let mut used = vec![false; surface.vertices.len()];
    surface.triangles.iter().flatten().for_each(|&v| used[v as usize] = true);
    // A closed surface has three edges to two triangles.
    used.iter().filter(|&&u| u).count() as i64 - surface.triangles.len() as i64 / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::shape::tests::primitives;
    use crate::geometry::tetrahedra::stencil::tests::ANGLES;
    use glam::DQuat;
    use std::f64::consts::PI;
    use std::sync::Arc;

    /// Filled without warning; sound, with a boundary that is a manifold on the surface, and good angles.
    fn filled(shape: &Shape, size: f64) -> TetMesh {
        let (mesh, warnings) = TetMesh::stuff(shape, size).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        assert!(warnings.is_empty(), "{shape:?} {size}: {warnings:?}");
        assert_eq!(mesh.check(), Ok((mesh.clone(), vec![])));
        let surface = mesh.surface();
        let (closed, _) = surface.check().unwrap();
        // Half a million volumes add up to about 1e-11 of rounding.
        assert!((closed.volume() / mesh.volume() - 1.0).abs() < 1e-10, "{} {}", closed.volume(), mesh.volume());
        let distance = SignedDistance::new(shape);
        let farthest = surface.triangles.iter().flatten().map(|&v| distance.at(mesh.vertices[v as usize]).abs());
        let farthest = farthest.fold(0.0, f64::max);
        assert!(farthest < 1e-6 * size, "{shape:?}: {farthest}");
        let quality = mesh.quality();
        assert!(quality.smallest_angle > ANGLES[0] && quality.largest_angle < ANGLES[1], "{shape:?} {size}: {quality}");
        mesh
    }

    fn both(mut one: TriMesh, mut other: TriMesh) -> Shape {
        let first = one.vertices.len() as u32;
        one.vertices.append(&mut other.vertices);
        one.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
        Shape::Mesh(Arc::new(one))
    }

    fn hollow_ball(outer: f64, inner: f64) -> Shape {
        let mut hollow = Shape::Sphere { radius: inner }.surface(0.05);
        hollow.flip();
        both(Shape::Sphere { radius: outer }.surface(0.05), hollow)
    }

    #[test]
    fn primitives_are_filled_well_at_every_size() {
        for shape in primitives() {
            for size in [0.11, 0.07, 0.05] {
                let mesh = filled(&shape, size);
                let ratio = mesh.tetrahedra.len() as f64 / expected_number(&shape.surface(size), size);
                assert!((0.7..1.2).contains(&ratio), "{shape:?} {size}: {ratio}");
            }
        }
    }

    #[test]
    fn volumes_converge_with_the_square_of_the_size() {
        for shape in [Shape::Sphere { radius: 0.5 }, Shape::Torus { major: 0.5, minor: 0.2 }] {
            let error = |size: f64| filled(&shape, size).volume() / shape.volume() - 1.0;
            let errors = [0.12, 0.06, 0.03].map(error);
            // The inscribed polyhedron of a ball lacks about (h/R)²/4 of its volume.
            assert!(errors.iter().all(|&e| e < 0.0), "{errors:?}");
            for pair in errors.windows(2) {
                assert!((3.2..4.8).contains(&(pair[0] / pair[1])), "{errors:?}");
            }
        }
        // Bevelled edges cost h² per length as well; how much depends on where they pass the lattice.
        let turn = DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, 0.2));
        let cube = Shape::Box { size: DVec3::ONE }.surface(1.0).mapped(|v| turn * v);
        let errors = [0.12, 0.06, 0.03].map(|size| filled(&Shape::Mesh(Arc::new(cube.clone())), size).volume() - 1.0);
        assert!(errors[0] < 0.0 && errors[0] > -0.05, "{errors:?}");
        for pair in errors.windows(2) {
            assert!((3.0..5.0).contains(&(pair[0] / pair[1])), "{errors:?}");
        }
    }

    /// A ball with bumps and spikes, some of them finer than the lattice.
    fn spiky_ball(seed: f64) -> TriMesh {
        Shape::Sphere { radius: 0.5 }.surface(0.06).mapped(|v| {
            let waves = (17.0 * v + seed * DVec3::new(1.0, 2.0, 3.0)).to_array().map(f64::sin);
            v * (1.0 + 0.8 * waves.iter().product::<f64>())
        })
    }

    #[test]
    fn rough_shapes_are_filled_soundly_or_refused() {
        let mut torn = 0;
        for (seed, size) in (0..6).flat_map(|n| [0.2, 0.1, 0.07].map(move |size| (n as f64, size))) {
            match TetMesh::stuff(&Shape::Mesh(Arc::new(spiky_ball(seed))), size) {
                Ok((mesh, warnings)) => {
                    torn += (!warnings.is_empty()) as usize;
                    assert_eq!(mesh.check(), Ok((mesh.clone(), vec![])), "{seed} {size}");
                    let quality = mesh.quality();
                    assert!(
                        quality.smallest_angle > ANGLES[0] && quality.largest_angle < ANGLES[1],
                        "{seed} {size}: {quality}"
                    );
                }
                Err(error) => assert!(matches!(error, StuffingError::TooCoarse { .. }), "{seed} {size}: {error}"),
            }
        }
        assert!((1..18).contains(&torn), "{torn}");
    }

    #[test]
    fn a_hollow_ball_keeps_its_wall_and_its_hollow() {
        let mesh = filled(&hollow_ball(0.5, 0.34), 0.08);
        let exact = 4.0 / 3.0 * PI * (0.125 - 0.34f64.powi(3));
        assert!((mesh.volume() / exact - 1.0).abs() < 0.02, "{}", mesh.volume() / exact);
        assert_eq!(surface_parts(&mesh.surface()).1, 2);
    }

    #[test]
    fn two_balls_are_two_parts_and_none_may_be_lost() {
        let balls = |radius: f64| {
            let other = Shape::Sphere { radius }.surface(0.05).mapped(|v| v + DVec3::new(0.9, 0.1, 0.0));
            both(Shape::Sphere { radius: 0.4 }.surface(0.05), other)
        };
        let (mesh, warnings) = TetMesh::stuff(&balls(0.3), 0.1).unwrap();
        assert_eq!((mesh.parts().1, warnings), (2, vec![]));
        let error = TetMesh::stuff(&balls(0.03), 0.1).unwrap_err().to_string();
        assert!(error.contains("it has 2 parts, the mesh would have 1"), "{error}");
    }

    #[test]
    fn a_surface_that_overlaps_itself_does_no_harm() {
        // Its signed distance jumps, where no surface is.
        let other = Shape::Sphere { radius: 0.4 }.surface(0.05).mapped(|v| v + 0.3 * DVec3::X);
        let shape = both(Shape::Sphere { radius: 0.4 }.surface(0.05), other);
        match TetMesh::stuff(&shape, 0.06) {
            Ok((mesh, _)) => assert!(mesh.check().is_ok()),
            Err(error) => assert!(matches!(error, StuffingError::TooCoarse { .. }), "{error}"),
        }
    }

    #[test]
    fn a_torn_wall_is_told() {
        let (mesh, warnings) = TetMesh::stuff(&hollow_ball(0.5, 0.42), 0.08).unwrap();
        assert!(matches!(warnings[..], [TetWarning::Topology { expected: 4, .. }]), "{warnings:?}");
        assert_eq!(mesh.check(), Ok((mesh.clone(), vec![])));
    }

    #[test]
    fn specks_are_dropped_but_not_large_parts() {
        let cube = TetMesh::block(DVec3::ONE, [4; 3]);
        let tip = TetMesh {
            vertices: [0.6, 0.8, 0.9, 0.7].map(|x| DVec3::new(x, x * x, x.sqrt())).to_vec(),
            tetrahedra: vec![[0, 1, 2, 3]],
        };
        let mut mesh = cube.clone();
        mesh.vertices.extend(&tip.vertices);
        mesh.tetrahedra.push([0, 1, 2, 3].map(|v| v + cube.vertices.len() as u32));
        assert_eq!(drop_specks(&mut mesh.clone(), 2), 0);
        assert_eq!(drop_specks(&mut mesh, 1), 1);
        assert_eq!(mesh, cube);
        mesh.vertices.extend(cube.vertices.iter().map(|&v| v + DVec3::splat(2.0)));
        mesh.tetrahedra.extend(cube.tetrahedra.iter().map(|t| t.map(|v| v + cube.vertices.len() as u32)));
        assert_eq!(drop_specks(&mut mesh, 1), 0);
    }

    #[test]
    fn the_same_bits_on_one_thread_and_on_two() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| TetMesh::stuff(&Shape::Torus { major: 0.5, minor: 0.2 }, 0.06).unwrap())
        };
        assert_eq!(on(1), on(2));
    }

    #[test]
    fn boxes_are_made_of_cubes() {
        let (mesh, _) = TetMesh::from_shape(&Shape::Box { size: DVec3::new(1.0, 0.1, 0.01) }, 0.05).unwrap();
        assert_eq!(mesh.tetrahedra.len(), 6 * 20 * 2);
        assert!((mesh.volume() - 0.001).abs() < 1e-17);
        let ball = Shape::Sphere { radius: 0.3 };
        assert_eq!(TetMesh::from_shape(&ball, 0.1), TetMesh::stuff(&ball, 0.1));
    }

    #[test]
    fn too_fine_is_refused_before_anything_is_made() {
        let shape = Shape::Sphere { radius: 0.5 };
        for size in [1e-4, 0.012] {
            let Err(StuffingError::TooMany { suggested, .. }) = TetMesh::stuff(&shape, size) else { panic!("{size}") };
            assert!(suggested > size && expected_number(&shape.surface(0.1), suggested) < MOST_TETRAHEDRA);
        }
        let long = Shape::Box { size: DVec3::ONE };
        assert!(matches!(TetMesh::from_shape(&long, 1e-6), Err(StuffingError::TooMany { .. })));
        for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(TetMesh::from_shape(&long, size), Err(StuffingError::Size { .. })));
            assert!(matches!(TetMesh::stuff(&shape, size), Err(StuffingError::Size { .. })));
        }
    }

    #[test]
    fn too_coarse_is_refused_and_the_suggestion_works() {
        let shapes = [
            (Shape::Torus { major: 1.0, minor: 0.1 }, 0.5),
            (Shape::Cylinder { radius: 0.5, height: 0.02 }, 0.3),
            (hollow_ball(0.5, 0.47), 0.1),
        ];
        for (shape, size) in shapes {
            let Err(StuffingError::TooCoarse { suggested, .. }) = TetMesh::stuff(&shape, size) else {
                panic!("{shape:?} {:?}", TetMesh::stuff(&shape, size).map(|(m, w)| (m.volume() / shape.volume(), w)))
            };
            let (mesh, warnings) = TetMesh::stuff(&shape, suggested).unwrap();
            assert!(warnings.is_empty() && mesh.volume() > 0.7 * shape.volume(), "{warnings:?}");
        }
    }

    #[test]
    fn messages_are_one_short_line() {
        let error = too_coarse(
            &Shape::Sphere { radius: 0.5 }.surface(0.1),
            1.0 / 3.0,
            "its boundary would touch itself".into(),
        );
        assert_eq!(
            error.to_string(),
            "tetrahedra of size 0.3333333333333333 m are too coarse for this shape: its boundary would touch itself; choose a \
             size of at most 1.66e-1 m"
        );
    }
}

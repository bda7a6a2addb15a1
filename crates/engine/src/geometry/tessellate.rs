//! Closed triangulations of the primitive shapes that displace exactly the shape's volume.
//!
//! A polyhedron inscribed in a curved body is too small; here every curved part is swollen so that
//! the polyhedron encloses the *true* volume (a sphere then displaces 4/3 πr³ whatever the
//! resolution). Meshes are mirror-symmetric about the coordinate planes. Flat parts are not divided.

use super::TriMesh;
use glam::{DVec2, DVec3};
use std::collections::HashMap;
use std::f64::consts::{PI, TAU};

/// The twelve triangles of a box.
pub fn cuboid(size: DVec3) -> TriMesh {
    let corner = |i: u32| DVec3::from([0, 1, 2].map(|a| if i >> a & 1 == 1 { 0.5 } else { -0.5 })) * size;
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriMesh { vertices: (0..8).map(corner).collect(), triangles }
}

/// A divided octahedron blown up to a sphere: edges about `max_edge` at most, m.
pub fn sphere(radius: f64, max_edge: f64) -> TriMesh {
    let n = divisions(0.5 * PI * radius, max_edge, 1, 1);
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    let mut index = HashMap::new();
    for octant in 0..8 {
        let sign = [0, 1, 2].map(|a| if octant >> a & 1 == 0 { 1i64 } else { -1 });
        let mut vertex = |at: [usize; 3]| {
            let lattice = [0, 1, 2].map(|a| sign[a] * at[a] as i64);
            *index.entry(lattice).or_insert_with(|| {
                // Sines of the lattice coordinates spread the points evenly along the great circles.
                let direction = DVec3::from(lattice.map(|c| (0.5 * PI * c as f64 / n as f64).sin()));
                vertices.push(radius * direction.normalize());
                vertices.len() as u32 - 1
            })
        };
        let mut push = |mut triangle: [u32; 3]| {
            if sign.iter().product::<i64>() < 0 {
                triangle.swap(1, 2);
            }
            triangles.push(triangle);
        };
        for i in 0..n {
            for j in 0..n - i {
                let k = n - 1 - i - j;
                push([[i + 1, j, k], [i, j + 1, k], [i, j, k + 1]].map(&mut vertex));
                if k > 0 {
                    push([[i, j + 1, k], [i + 1, j, k], [i + 1, j + 1, k - 1]].map(&mut vertex));
                }
            }
        }
    }
    let mesh = TriMesh { vertices, triangles };
    let swell = (4.0 / 3.0 * PI * radius.powi(3) / mesh.volume()).cbrt();
    mesh.mapped(|v| swell * v)
}

/// A prism about y over a regular polygon as large as the circle.
pub fn cylinder(radius: f64, height: f64, max_edge: f64) -> TriMesh {
    let h = 0.5 * height;
    let profile = [(0.0, -h), (radius, -h), (radius, h), (0.0, h)].map(DVec2::from);
    revolve(&profile, radius, max_edge)
}

/// A cylinder about y with hemispherical ends.
pub fn capsule(radius: f64, height: f64, max_edge: f64) -> TriMesh {
    let n = divisions(0.5 * PI * radius, max_edge, 2, 1);
    let arc = |i: usize| (0.5 * PI * i as f64 / n as f64).sin_cos();
    let profile = |radius: f64| -> Vec<DVec2> {
        let upper = (0..=n).map(arc).map(|(sin, cos)| DVec2::new(radius * cos, 0.5 * height + radius * sin));
        let mut upper: Vec<_> = upper.collect();
        upper[n].x = 0.0;
        let mut profile: Vec<_> = upper.iter().rev().map(|p| DVec2::new(p.x, -p.y)).collect();
        profile.extend(upper);
        profile.dedup(); // Without a barrel its two rings are one.
        profile
    };
    // Volume as a function of the swelling s: the barrel grows as s², the caps as s³.
    let barrel = PI * radius * radius * height;
    let caps = revolved_volume(&profile(radius)) - barrel;
    let target = barrel + 4.0 / 3.0 * PI * radius.powi(3);
    let mut s = 1.0;
    for _ in 0..8 {
        s -= ((caps * s + barrel) * s * s - target) / ((3.0 * caps * s + 2.0 * barrel) * s);
    }
    revolve(&profile(s * radius), radius, max_edge)
}

/// A ring about y.
pub fn torus(major: f64, minor: f64, max_edge: f64) -> TriMesh {
    let n = divisions(TAU * minor, max_edge, 8, 4);
    let radius = minor * (PI / polygon_area(n)).sqrt();
    let profile: Vec<_> =
        (0..n).map(|i| DVec2::new(major, 0.0) + radius * DVec2::from_angle(TAU * i as f64 / n as f64)).collect();
    revolve(&profile, major + minor, max_edge)
}

/// Turn a profile (distance from the axis, height) about y. A profile that starts and ends on the axis runs from the
/// lowest point to the highest; any other is closed and runs counter-clockwise. Radii are swollen so that every
/// horizontal section has the area of its circle.
fn revolve(profile: &[DVec2], outer_radius: f64, max_edge: f64) -> TriMesh {
    let around = divisions(TAU * outer_radius, max_edge, 8, 4);
    let swell = (PI / polygon_area(around)).sqrt();
    let mut vertices = Vec::new();
    let rings: Vec<Vec<u32>> = profile
        .iter()
        .map(|p| {
            let first = vertices.len() as u32;
            if p.x == 0.0 {
                vertices.push(DVec3::new(0.0, p.y, 0.0));
                return vec![first; around];
            }
            vertices.extend((0..around).map(|i| {
                let direction = swell * p.x * unit_circle(i, around);
                DVec3::new(direction.x, p.y, direction.y)
            }));
            (first..first + around as u32).collect()
        })
        .collect();
    let closed = profile[0].x != 0.0;
    let strips = if closed { profile.len() } else { profile.len() - 1 };
    let mut triangles = Vec::new();
    for strip in 0..strips {
        let (low, high) = (&rings[strip], &rings[(strip + 1) % profile.len()]);
        for i in 0..around {
            let j = (i + 1) % around;
            if low[i] != low[j] {
                triangles.push([low[i], high[i], low[j]]);
            }
            if high[i] != high[j] {
                triangles.push([low[j], high[i], high[j]]);
            }
        }
    }
    TriMesh { vertices, triangles }
}

/// Volume of an axis-to-axis profile turned about y: cone frustums.
fn revolved_volume(profile: &[DVec2]) -> f64 {
    let frustum = |a: DVec2, b: DVec2| PI / 3.0 * (b.y - a.y) * (a.x * a.x + a.x * b.x + b.x * b.x);
    profile.windows(2).map(|p| frustum(p[0], p[1])).sum()
}

/// The i-th of n points of the unit circle; the same digits in all four quadrants (4 divides n).
fn unit_circle(i: usize, n: usize) -> DVec2 {
    let quarter = n / 4;
    let (sin, cos) = (0.5 * PI * (i % quarter) as f64 / quarter as f64).sin_cos();
    match i / quarter {
        0 => DVec2::new(cos, sin),
        1 => DVec2::new(-sin, cos),
        2 => DVec2::new(-cos, -sin),
        _ => DVec2::new(sin, -cos),
    }
}

/// Area of the regular n-gon inscribed in the unit circle.
fn polygon_area(n: usize) -> f64 {
    0.5 * n as f64 * (TAU / n as f64).sin()
}

/// How many pieces of at most `max_edge` a curve of this length needs: at least `min`, a multiple of `multiple`.
fn divisions(length: f64, max_edge: f64, min: usize, multiple: usize) -> usize {
    // The cap keeps a mistyped resolution from filling the memory.
    let wanted = (length / max_edge).ceil().clamp(min as f64, 2048.0) as usize;
    wanted.next_multiple_of(multiple)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed_with_volume(mesh: TriMesh, volume: f64) {
        let triangles = mesh.triangles.len();
        let (checked, warnings) = mesh.check().expect("closed");
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(checked.triangles.len(), triangles);
        assert!((checked.volume() / volume - 1.0).abs() < 1e-13, "{} {volume}", checked.volume());
        let size = checked.bounds();
        assert!((size.min + size.max).abs().max_element() < 1e-12, "not centred");
    }

    #[test]
    fn every_primitive_is_closed_and_displaces_its_volume() {
        for max_edge in [0.05, 0.3, 10.0] {
            closed_with_volume(cuboid(DVec3::new(1.0, 2.0, 3.0)), 6.0);
            closed_with_volume(sphere(0.7, max_edge), 4.0 / 3.0 * PI * 0.343);
            closed_with_volume(cylinder(0.7, 2.0, max_edge), PI * 0.98);
            closed_with_volume(capsule(0.7, 2.0, max_edge), PI * 0.98 + 4.0 / 3.0 * PI * 0.343);
            closed_with_volume(capsule(0.7, 0.0, max_edge), 4.0 / 3.0 * PI * 0.343);
            closed_with_volume(torus(0.7, 0.2, max_edge), 2.0 * PI * PI * 0.7 * 0.04);
        }
    }

    #[test]
    fn edges_of_a_sphere_are_as_short_as_asked_and_not_much_shorter() {
        let mesh = sphere(1.0, 0.1);
        let edges = (0..mesh.triangles.len()).flat_map(|t| {
            let [a, b, c] = mesh.corners(t);
            [a.distance(b), b.distance(c), c.distance(a)]
        });
        let (shortest, longest) = edges.fold((f64::MAX, 0.0f64), |(s, l), e| (s.min(e), l.max(e)));
        assert!(longest < 0.15 && shortest > 0.05, "{shortest} {longest}");
    }

    #[test]
    fn a_sphere_is_mirror_symmetric_to_the_last_bit() {
        let mesh = sphere(1.0, 0.2);
        let mut mirrored: Vec<_> =
            mesh.vertices.iter().map(|v| [-v.x, v.y, v.z].map(|c| (c + 0.0).to_bits())).collect();
        let mut vertices: Vec<_> = mesh.vertices.iter().map(|v| v.to_array().map(|c| (c + 0.0).to_bits())).collect();
        mirrored.sort_unstable();
        vertices.sort_unstable();
        assert_eq!(vertices, mirrored);
    }
}

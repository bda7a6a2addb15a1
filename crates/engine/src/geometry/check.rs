//! Is this mesh a closed, consistently turned surface? And the little that may be mended.
//!
//! Everything downstream (cut cells, signed distance, buoyancy) needs each edge to be passed exactly
//! once in each direction. Meshes from files often repeat vertices instead of sharing them (STL
//! always does), so vertices are merged only if the mesh is not closed without: first identical
//! ones, then those nearer than a millionth of the diagonal. A surface that passes through itself is allowed, with a warning:
//! where it overlaps itself, cut cells count the solid once, but its volume counts it twice.

use super::TriMesh;
use glam::DVec3;
use std::collections::HashMap;

/// Vertices nearer than this part of the bounding box's diagonal may be merged: f32 files are no more exact.
/// Some ten roundings of f32 (6e-8).
const WELD: f64 = 1e-6;

/// Why a mesh cannot be used. Vertices and triangles are counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// The bytes are not what the format demands.
    #[error("{format} {place}: {problem}")]
    Syntax {
        /// `OBJ`, `PLY` or `STL`.
        format: &'static str,
        /// Line, byte or element, as in `line 7`.
        place: String,
        /// What is wrong, the value included.
        problem: String,
    },
    /// The header promises more or less than the file contains.
    #[error("{format}: the header promises {promised} {what}, the file has {found}; write the file again")]
    Count {
        /// `PLY` or `STL`.
        format: &'static str,
        /// What is counted.
        what: String,
        /// The header's number, as written there.
        promised: String,
        /// What is there.
        found: String,
    },
    /// No triangles.
    #[error("the mesh has no triangles")]
    Empty,
    /// More than 2³² − 1 vertices or triangles.
    #[error("the mesh has {count} {what}, the limit is 4294967295")]
    TooLarge {
        /// `vertices` or `triangles`.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// NaN or infinity among the coordinates.
    #[error("vertex {vertex} has a non-finite coordinate ({position})")]
    NonFinite {
        /// Vertex number.
        vertex: usize,
        /// Its coordinates.
        position: DVec3,
    },
    /// A face refers to a vertex that is not there.
    #[error("face {face}: vertex index {index} is out of range, there are {vertices} vertices")]
    Index {
        /// Face number, from 0.
        face: usize,
        /// The index as written in the file.
        index: i64,
        /// Number of vertices.
        vertices: usize,
    },
    /// A face refers to a vertex twice.
    #[error("face {face} uses vertex {vertex} more than once")]
    Repeated {
        /// Face number, from 0.
        face: usize,
        /// The vertex.
        vertex: usize,
    },
    /// Edges with a triangle on one side only.
    #[error(
        "the surface is open: {count} edges have a triangle on one side only, the first is edge {edge:?} of triangle \
         {triangle}; close the holes"
    )]
    Open {
        /// Number of such edges.
        count: usize,
        /// Vertices of the first.
        edge: [usize; 2],
        /// Its triangle.
        triangle: usize,
    },
    /// Edges with more than two triangles.
    #[error(
        "the surface is not manifold: {count} edges join more than two triangles, the first is edge {edge:?} of \
         triangle {triangle}; split the parts that touch there"
    )]
    NonManifold {
        /// Number of such edges.
        count: usize,
        /// Vertices of the first.
        edge: [usize; 2],
        /// One of its triangles.
        triangle: usize,
    },
    /// Neighbouring triangles turn in opposite directions.
    #[error(
        "the triangles are not turned alike: {count} edges are passed twice in the same direction, the first is edge \
         {edge:?} of triangle {triangle}; recompute the normals"
    )]
    Winding {
        /// Number of such edges.
        count: usize,
        /// Vertices of the first.
        edge: [usize; 2],
        /// One of its triangles.
        triangle: usize,
    },
    /// The surface encloses nothing.
    #[error("the mesh encloses no volume ({volume:e} m³)")]
    NoVolume {
        /// m³.
        volume: f64,
    },
}

/// What was mended, or may surprise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshWarning {
    /// Vertices at (nearly) the same place became one.
    #[error("{count} repeated vertices were merged")]
    Merged {
        /// How many vanished.
        count: usize,
    },
    /// Triangles that had two corners at the same place.
    #[error("{count} triangles without area were dropped")]
    Dropped {
        /// How many.
        count: usize,
    },
    /// Needle-like triangles are kept, for the surface would be open without.
    #[error("{count} triangles have three corners in a line; they are kept and have no effect")]
    Needles {
        /// How many.
        count: usize,
    },
    /// Vertices of no triangle.
    #[error("{count} vertices belong to no triangle and were dropped")]
    Unused {
        /// How many.
        count: usize,
    },
    /// The surface passes through itself.
    #[error(
        "the surface passes through itself: {count} pairs of triangles cross, the first are {} and {}; what overlaps counts \
         twice in its volume and mass; unite its parts",
        first[0], first[1]
    )]
    Crossing {
        /// How many pairs.
        count: usize,
        /// The first.
        first: [usize; 2],
    },
    /// All normals pointed inwards.
    #[error("the surface was inside out (volume {volume} m³) and was turned")]
    Flipped {
        /// Volume before, m³, as text.
        volume: String,
    },
}

impl TriMesh {
    /// Make sure that the mesh is a closed, consistently turned surface with its normals outwards.
    /// Returns the mended mesh and what was mended.
    pub fn check(&self) -> Result<(TriMesh, Vec<MeshWarning>), MeshError> {
        check_elements(self)?;
        let mut warnings = Vec::new();
        let mut mesh = close(self, &mut warnings)?;
        drop_unused(&mut mesh, &mut warnings);
        let needles = (0..mesh.triangles.len()).filter(|&t| is_needle(mesh.corners(t))).count();
        if needles > 0 {
            warnings.push(MeshWarning::Needles { count: needles });
        }
        let volume = mesh.volume();
        let smallest = 1e-15 * mesh.bounds().size().length().powi(3);
        if !volume.is_finite() || volume.abs() <= smallest {
            return Err(MeshError::NoVolume { volume });
        }
        if volume < 0.0 {
            mesh.flip();
            warnings.push(MeshWarning::Flipped { volume: format!("{volume:.3e}") });
        }
        if let (count, Some(first)) = mesh.crossings() {
            warnings.push(MeshWarning::Crossing { count, first });
        }
        Ok((mesh, warnings))
    }
}

/// What may be wrong with the elements of a mesh of triangles or of tetrahedra.
pub(super) enum Flaw {
    Empty,
    TooLarge { what: &'static str, count: usize },
    NonFinite { vertex: usize, position: DVec3 },
    Index { element: usize, index: i64, vertices: usize },
    Repeated { element: usize, vertex: usize },
}

/// Finite coordinates, indices in range, no vertex twice in an element: the first that is not so.
pub(super) fn flaw<const N: usize>(vertices: &[DVec3], elements: &[[u32; N]], what: &'static str) -> Option<Flaw> {
    if elements.is_empty() {
        return Some(Flaw::Empty);
    }
    for (what, count) in [("vertices", vertices.len()), (what, elements.len())] {
        if count > u32::MAX as usize {
            return Some(Flaw::TooLarge { what, count });
        }
    }
    if let Some((vertex, &position)) = vertices.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        return Some(Flaw::NonFinite { vertex, position });
    }
    elements.iter().enumerate().find_map(|(element, corners)| {
        if let Some(&index) = corners.iter().find(|&&v| v as usize >= vertices.len()) {
            return Some(Flaw::Index { element, index: index.into(), vertices: vertices.len() });
        }
        let mut sorted = *corners;
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1])?;
        Some(Flaw::Repeated { element, vertex: twice[0] as usize })
    })
}

fn check_elements(mesh: &TriMesh) -> Result<(), MeshError> {
    Err(match flaw(&mesh.vertices, &mesh.triangles, "triangles") {
        None => return Ok(()),
        Some(Flaw::Empty) => MeshError::Empty,
        Some(Flaw::TooLarge { what, count }) => MeshError::TooLarge { what, count },
        Some(Flaw::NonFinite { vertex, position }) => MeshError::NonFinite { vertex, position },
        Some(Flaw::Index { element: face, index, vertices }) => MeshError::Index { face, index, vertices },
        Some(Flaw::Repeated { element: face, vertex }) => MeshError::Repeated { face, vertex },
    })
}

/// The mesh as it is if that is closed; else with identical, else with near vertices merged.
fn close(mesh: &TriMesh, warnings: &mut Vec<MeshWarning>) -> Result<TriMesh, MeshError> {
    if check_edges(mesh).is_ok() {
        return Ok(mesh.clone());
    }
    let tolerance = WELD * mesh.bounds().size().length();
    let mut outcome = Err(MeshError::Empty);
    for owners in [merge_identical(mesh), merge_near(mesh, tolerance)] {
        let merged = owners.iter().enumerate().filter(|&(v, &owner)| v != owner as usize).count();
        let mut welded = mesh.clone();
        for triangle in &mut welded.triangles {
            *triangle = triangle.map(|v| owners[v as usize]);
        }
        welded.triangles.retain(|&[a, b, c]| a != b && b != c && c != a);
        outcome = check_edges(&welded);
        if outcome.is_ok() {
            warnings.push(MeshWarning::Merged { count: merged });
            let dropped = mesh.triangles.len() - welded.triangles.len();
            if dropped > 0 {
                warnings.push(MeshWarning::Dropped { count: dropped });
            }
            // Merged vertices are no longer used; they are accounted for already.
            let mut unused = Vec::new();
            drop_unused(&mut welded, &mut unused);
            return if welded.triangles.is_empty() { Err(MeshError::Empty) } else { Ok(welded) };
        }
    }
    outcome.map(|()| mesh.clone())
}

/// Each edge passed exactly once in each direction.
fn check_edges(mesh: &TriMesh) -> Result<(), MeshError> {
    // Sorted by (smaller vertex, larger vertex): the passes of an edge stand together.
    let mut passes: Vec<([u32; 2], bool, usize)> = Vec::with_capacity(3 * mesh.triangles.len());
    for (t, &[a, b, c]) in mesh.triangles.iter().enumerate() {
        passes.extend([[a, b], [b, c], [c, a]].map(|[p, q]| ([p.min(q), p.max(q)], p < q, t)));
    }
    passes.sort_unstable();
    let mut open = Vec::new();
    let mut crowded = Vec::new();
    let mut wound = Vec::new();
    for edge in passes.chunk_by(|a, b| a.0 == b.0) {
        match edge {
            [_] => open.push(edge[0]),
            [a, b] if a.1 == b.1 => wound.push(edge[0]),
            [_, _] => {}
            _ => crowded.push(edge[0]),
        }
    }
    let first = |edges: &[([u32; 2], bool, usize)]| {
        edges.first().map(|&(edge, _, triangle)| (edges.len(), edge.map(|v| v as usize), triangle))
    };
    if let Some((count, edge, triangle)) = first(&open) {
        return Err(MeshError::Open { count, edge, triangle });
    }
    if let Some((count, edge, triangle)) = first(&crowded) {
        return Err(MeshError::NonManifold { count, edge, triangle });
    }
    if let Some((count, edge, triangle)) = first(&wound) {
        return Err(MeshError::Winding { count, edge, triangle });
    }
    Ok(())
}

/// For each vertex the first one at the same place.
fn merge_identical(mesh: &TriMesh) -> Vec<u32> {
    let mut owners = HashMap::new();
    // Adding zero makes −0 and 0 the same bits.
    let key = |v: &DVec3| v.to_array().map(|c| (c + 0.0).to_bits());
    mesh.vertices.iter().enumerate().map(|(i, v)| *owners.entry(key(v)).or_insert(i as u32)).collect()
}

/// For each vertex the first one within `tolerance` that is its own owner.
fn merge_near(mesh: &TriMesh, tolerance: f64) -> Vec<u32> {
    let mut bins: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
    let corner = mesh.bounds().min;
    let bin = |v: DVec3| ((v - corner) / tolerance).floor().to_array().map(|c| c as i64);
    let mut owners = Vec::with_capacity(mesh.vertices.len());
    for (i, &v) in mesh.vertices.iter().enumerate() {
        let [x, y, z] = bin(v);
        let near = (0..27).flat_map(|n| bins.get(&[x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1]));
        let owner = near.flatten().copied().filter(|&o| mesh.vertices[o as usize].distance(v) <= tolerance).min();
        if owner.is_none() {
            bins.entry([x, y, z]).or_default().push(i as u32);
        }
        owners.push(owner.unwrap_or(i as u32));
    }
    owners
}

/// Keep only vertices of triangles, and tell.
fn drop_unused(mesh: &mut TriMesh, warnings: &mut Vec<MeshWarning>) {
    let count = mesh.drop_unused_vertices();
    if count > 0 {
        warnings.push(MeshWarning::Unused { count });
    }
}

/// Area below rounding error.
fn is_needle([a, b, c]: [DVec3; 3]) -> bool {
    let longest = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
    (b - a).cross(c - a).length() <= 1e-14 * longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;

    fn cube() -> TriMesh {
        Shape::Box { size: DVec3::ONE }.surface(1.0)
    }

    /// Every triangle with its own three vertices, as STL has it.
    fn unshared(mesh: &TriMesh) -> TriMesh {
        let vertices = (0..mesh.triangles.len()).flat_map(|t| mesh.corners(t)).collect();
        let triangles = (0..mesh.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        TriMesh { vertices, triangles }
    }

    #[test]
    fn a_closed_mesh_passes_unchanged() {
        assert_eq!(cube().check(), Ok((cube(), vec![])));
    }

    #[test]
    fn repeated_vertices_are_merged_even_if_a_little_apart() {
        for noise in [0.0, 1e-7] {
            let mut soup = unshared(&cube());
            for (i, v) in soup.vertices.iter_mut().enumerate() {
                *v += noise * DVec3::new((i % 3) as f64 - 1.0, (i % 5) as f64 - 2.0, (i % 2) as f64);
            }
            let (mesh, warnings) = soup.check().unwrap();
            assert_eq!(mesh.vertices.len(), 8);
            assert_eq!(warnings, [MeshWarning::Merged { count: 28 }]);
            assert!((mesh.volume() - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_triangle_that_merging_flattens_is_dropped_and_counted() {
        // A cube with one edge opened into a strip of two triangles no wider than rounding.
        let mut mesh = cube();
        let [a, b] = [mesh.triangles[0][0], mesh.triangles[0][1]];
        let twins = [a, b].map(|v| {
            mesh.vertices.push(mesh.vertices[v as usize]);
            mesh.vertices.len() as u32 - 1
        });
        mesh.triangles[0] = mesh.triangles[0].map(|v| {
            if v == a {
                twins[0]
            } else if v == b {
                twins[1]
            } else {
                v
            }
        });
        mesh.triangles.extend([[a, b, twins[1]], [a, twins[1], twins[0]]]);
        let (mended, warnings) = mesh.check().unwrap();
        assert_eq!(mended.triangles.len(), 12);
        assert_eq!(warnings, [MeshWarning::Merged { count: 2 }, MeshWarning::Dropped { count: 2 }]);
    }

    #[test]
    fn a_hole_is_refused_with_its_edges_counted() {
        let mut mesh = cube();
        mesh.triangles.pop();
        assert!(matches!(mesh.check(), Err(MeshError::Open { count: 3, .. })), "{:?}", mesh.check());
    }

    #[test]
    fn a_turned_triangle_is_refused() {
        let mut mesh = cube();
        mesh.triangles[3].swap(0, 1);
        assert!(matches!(mesh.check(), Err(MeshError::Winding { count: 3, .. })), "{:?}", mesh.check());
    }

    #[test]
    fn an_edge_of_three_triangles_is_refused() {
        let mut mesh = cube();
        mesh.vertices.push(DVec3::splat(9.0));
        let [a, b, _] = mesh.triangles[0];
        mesh.triangles.extend([[a, b, 8], [b, a, 8]]);
        assert!(matches!(mesh.check(), Err(MeshError::NonManifold { count: 1, .. })), "{:?}", mesh.check());
    }

    #[test]
    fn an_inside_out_mesh_is_turned_with_a_warning() {
        let mut mesh = cube();
        mesh.flip();
        let (turned, warnings) = mesh.check().unwrap();
        assert_eq!(turned, cube());
        assert_eq!(warnings, [MeshWarning::Flipped { volume: "-1.000e0".into() }]);
    }

    #[test]
    fn bad_indices_name_their_face() {
        let mut mesh = cube();
        mesh.triangles[7][1] = 8;
        assert_eq!(mesh.check(), Err(MeshError::Index { face: 7, index: 8, vertices: 8 }));
        let mut mesh = cube();
        mesh.triangles[7][1] = mesh.triangles[7][2];
        assert!(matches!(mesh.check(), Err(MeshError::Repeated { face: 7, .. })));
        assert_eq!(TriMesh::default().check(), Err(MeshError::Empty));
    }

    #[test]
    fn non_finite_coordinates_name_their_vertex() {
        let mut mesh = cube();
        mesh.vertices[5].y = f64::NAN;
        assert!(matches!(mesh.check(), Err(MeshError::NonFinite { vertex: 5, .. })));
    }

    #[test]
    fn a_flat_closed_surface_encloses_nothing() {
        let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::Y];
        let mesh = TriMesh { vertices, triangles: vec![[0, 1, 2], [0, 2, 1]] };
        assert!(matches!(mesh.check(), Err(MeshError::NoVolume { .. })));
    }

    #[test]
    fn unused_vertices_are_dropped() {
        let mut mesh = cube();
        mesh.vertices.insert(3, DVec3::splat(50.0));
        mesh.triangles.iter_mut().flatten().for_each(|v| *v += (*v >= 3) as u32);
        assert_eq!(mesh.check(), Ok((cube(), vec![MeshWarning::Unused { count: 1 }])));
    }

    #[test]
    fn messages_are_one_short_line() {
        let error = MeshError::NonManifold { count: usize::MAX, edge: [usize::MAX; 2], triangle: usize::MAX };
        assert!(error.to_string().len() <= 300 && !error.to_string().contains('\n'));
    }
}

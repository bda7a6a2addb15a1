//! Triangle meshes and particles as binary PLY files, which Blender, Houdini, MeshLab and most tools read.
//!
//! Written: little-endian, vertices as `float` x y z in metres, with velocities vx vy vz in m/s if they have any, faces as lists of three `int` indices,
//! counter-clockwise seen from outside. The reader takes exactly that (it serves to draw saved frames again);
//! scene files bring their meshes through the scene crate's importers.

use bathtub_engine::geometry::TriMesh;
use glam::DVec3;
use std::io::{self, Write};

/// Why a mesh file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlyError {
    /// Not the header that Bathtub writes.
    #[error("the header is not one written by Bathtub: {0}")]
    Header(String),
    /// The content is not as long as the header promises.
    #[error("the header promises {expected} bytes of content, the file has {found}")]
    Length {
        /// From the header's counts.
        expected: u64,
        /// In the file.
        found: u64,
    },
    /// A face is not a triangle of existing vertices.
    #[error("face {face} is not a triangle of existing vertices")]
    Face {
        /// Its number, from 0.
        face: usize,
    },
}

const PLACE: &str = "property float x\nproperty float y\nproperty float z\n";
const VELOCITY: &str = "property float vx\nproperty float vy\nproperty float vz\n";
const HEADER_END: &[u8] = b"end_header\n";
const VECTOR_BYTES: u64 = 12;
const FACE_BYTES: u64 = 13;

/// Write a mesh and the velocities of its vertices, or none.
pub fn write(out: &mut impl Write, mesh: &TriMesh, velocities: &[DVec3]) -> io::Result<()> {
    let moves = !velocities.is_empty();
    assert!(!moves || velocities.len() == mesh.vertices.len(), "each vertex has one velocity");
    out.write_all(header(mesh.vertices.len(), mesh.triangles.len(), moves).as_bytes())?;
    for (n, vertex) in mesh.vertices.iter().enumerate() {
        write_vector(out, *vertex)?;
        velocities.get(n).map_or(Ok(()), |velocity| write_vector(out, *velocity))?;
    }
    for triangle in &mesh.triangles {
        out.write_all(&[3])?;
        for index in triangle {
            out.write_all(&index.to_le_bytes())?;
        }
    }
    Ok(())
}

/// What a file of a mesh begins with.
fn header(vertices: usize, faces: usize, moves: bool) -> String {
    let (units, velocity) = if moves { ("metres and seconds", VELOCITY) } else { ("metres", "") };
    format!(
        "ply\nformat binary_little_endian 1.0\ncomment written by Bathtub, {units}, y up\n\
         element vertex {vertices}\n{PLACE}{velocity}\
         element face {faces}\nproperty list uchar int vertex_indices\nend_header\n"
    )
}

fn write_vector(out: &mut impl Write, vector: DVec3) -> io::Result<()> {
    let mut record = [0; VECTOR_BYTES as usize];
    for (bytes, number) in record.chunks_exact_mut(4).zip(vector.as_vec3().to_array()) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    out.write_all(&record)
}

/// Write particles: positions (m) as `x y z` and velocities (m/s) as `vx vy vz`, all `float`.
pub fn write_particles(out: &mut impl Write, positions: &[DVec3], velocities: &[DVec3]) -> io::Result<()> {
    assert_eq!(positions.len(), velocities.len(), "each particle has one velocity");
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment written by Bathtub, metres and seconds, y up\n\
         element vertex {}\n{PLACE}{VELOCITY}end_header\n",
        positions.len()
    )?;
    for (position, velocity) in positions.iter().zip(velocities) {
        write_vector(out, *position)?;
        write_vector(out, *velocity)?;
    }
    Ok(())
}

/// Read a mesh written by [`write()`], and the velocities of its vertices, if there are any.
pub fn read(bytes: &[u8]) -> Result<(TriMesh, Vec<DVec3>), PlyError> {
    let search = &bytes[..bytes.len().min(4096)];
    let end = search.windows(HEADER_END.len()).position(|w| w == HEADER_END);
    let end = end.ok_or_else(|| PlyError::Header("end_header is missing".into()))? + HEADER_END.len();
    let header = String::from_utf8_lossy(&bytes[..end]);
    let count = |element: &str| {
        let line = header.lines().find_map(|l| l.strip_prefix(element));
        let number = line.and_then(|n| n.trim().parse::<u32>().ok());
        number.ok_or_else(|| PlyError::Header(format!("no count after \"{element}\"")))
    };
    let (vertices, faces) = (count("element vertex")?, count("element face")?);
    let moves = header.contains(VELOCITY);
    if header != self::header(vertices as usize, faces as usize, moves) {
        return Err(PlyError::Header("other properties or another order".into()));
    }

    // Check the promised size before making room for it.
    let body = &bytes[end..];
    let vertex = if moves { 2 } else { 1 } * VECTOR_BYTES;
    let expected = u64::from(vertices) * vertex + u64::from(faces) * FACE_BYTES;
    if body.len() as u64 != expected {
        return Err(PlyError::Length { expected, found: body.len() as u64 });
    }
    let (vertex_bytes, face_bytes) = body.split_at((u64::from(vertices) * vertex) as usize);
    let word = |bytes: &[u8]| -> [u8; 4] { bytes.try_into().expect("four bytes") };
    let mut vectors = vertex_bytes
        .chunks_exact(VECTOR_BYTES as usize)
        .map(|v| DVec3::from([0, 4, 8].map(|o| f64::from(f32::from_le_bytes(word(&v[o..o + 4]))))));
    let (mut places, mut velocities) = (Vec::with_capacity(vertices as usize), Vec::new());
    while let Some(place) = vectors.next() {
        places.push(place);
        if moves {
            velocities.extend(vectors.next());
        }
    }
    let mut triangles = Vec::with_capacity(faces as usize);
    for (face, bytes) in face_bytes.chunks_exact(FACE_BYTES as usize).enumerate() {
        let triangle = [1, 5, 9].map(|o| u32::from_le_bytes(word(&bytes[o..o + 4])));
        if bytes[0] != 3 || triangle.iter().any(|&v| v as usize >= places.len()) {
            return Err(PlyError::Face { face });
        }
        triangles.push(triangle);
    }
    Ok((TriMesh { vertices: places, triangles }, velocities))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron() -> TriMesh {
        TriMesh {
            vertices: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(0.0, 0.0, -0.5)],
            triangles: vec![[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for velocities in [vec![], vec![DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(1.5, -2.0, 0.25)]] {
            let mut bytes = Vec::new();
            write(&mut bytes, &tetrahedron(), &velocities).unwrap();
            assert_eq!(read(&bytes).unwrap(), (tetrahedron(), velocities));
        }
    }

    #[test]
    fn particles_have_places_and_velocities() {
        let mut bytes = Vec::new();
        let (positions, velocities) = ([DVec3::ONE, DVec3::new(1.0, 2.0, 3.0)], [DVec3::X, DVec3::new(4.0, 5.0, -6.5)]);
        write_particles(&mut bytes, &positions, &velocities).unwrap();
        let end = bytes.windows(HEADER_END.len()).position(|w| w == HEADER_END).unwrap() + HEADER_END.len();
        let header = std::str::from_utf8(&bytes[..end]).unwrap();
        assert!(header.contains("element vertex 2\n") && header.ends_with("property float vz\nend_header\n"));
        let numbers: Vec<f32> =
            bytes[end..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(numbers, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -6.5]);
    }

    #[test]
    fn lies_are_refused_before_memory_is_taken() {
        let mut bytes = Vec::new();
        write(&mut bytes, &tetrahedron(), &[]).unwrap();
        let text = String::from_utf8_lossy(&bytes[..200]).into_owned();
        let lie = |from: &str, to: &str| {
            let at = text.find(from).unwrap();
            [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
        };
        assert!(matches!(read(&lie("vertex 4", "vertex 4000000000")), Err(PlyError::Length { .. })));
        assert!(matches!(read(&lie("vertex 4", "vertex -4")), Err(PlyError::Header(_))));
        assert!(matches!(read(&lie("float y", "double y")), Err(PlyError::Header(_))));
        assert!(matches!(read(&bytes[..bytes.len() - 1]), Err(PlyError::Length { .. })));
        let last = bytes.len() - 4;
        bytes[last] = 9;
        assert_eq!(read(&bytes), Err(PlyError::Face { face: 3 }));
        assert!(read(b"").is_err());
    }
}

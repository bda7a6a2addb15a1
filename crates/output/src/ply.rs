//! Triangle meshes and particles as binary PLY files, which Blender, Houdini, MeshLab and most tools read.
//!
//! Written: little-endian, vertices as `float` x y z in metres, faces as lists of three `int` indices,
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

const HEADER_END: &[u8] = b"end_header\n";
const VERTEX_BYTES: u64 = 12;
const FACE_BYTES: u64 = 13;

/// Write a mesh.
pub fn write(out: &mut impl Write, mesh: &TriMesh) -> io::Result<()> {
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment written by Bathtub, metres, y up\n\
         element vertex {}\nproperty float x\nproperty float y\nproperty float z\n\
         element face {}\nproperty list uchar int vertex_indices\nend_header\n",
        mesh.vertices.len(),
        mesh.triangles.len()
    )?;
    for vertex in &mesh.vertices {
        for coordinate in vertex.as_vec3().to_array() {
            out.write_all(&coordinate.to_le_bytes())?;
        }
    }
    for triangle in &mesh.triangles {
        out.write_all(&[3])?;
        for index in triangle {
            out.write_all(&index.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Write particles: positions (m) as `x y z` and velocities (m/s) as `vx vy vz`, all `float`.
pub fn write_particles(out: &mut impl Write, positions: &[DVec3], velocities: &[DVec3]) -> io::Result<()> {
    assert_eq!(positions.len(), velocities.len(), "each particle has one velocity");
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment written by Bathtub, metres and seconds, y up\n\
         element vertex {}\nproperty float x\nproperty float y\nproperty float z\n\
         property float vx\nproperty float vy\nproperty float vz\nend_header\n",
        positions.len()
    )?;
    for (position, velocity) in positions.iter().zip(velocities) {
        let mut record = [0; 24];
        let numbers = position.as_vec3().to_array().into_iter().chain(velocity.as_vec3().to_array());
        for (bytes, number) in record.chunks_exact_mut(4).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        out.write_all(&record)?;
    }
    Ok(())
}

/// Read a mesh written by [`write()`].
pub fn read(bytes: &[u8]) -> Result<TriMesh, PlyError> {
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
    let mut expected = Vec::new();
    let shape = TriMesh::default();
    write(&mut expected, &shape).expect("writing to memory");
    let expected = String::from_utf8_lossy(&expected).replacen("vertex 0", &format!("vertex {vertices}"), 1);
    if header != expected.replacen("face 0", &format!("face {faces}"), 1) {
        return Err(PlyError::Header("other properties or another order".into()));
    }

    // Check the promised size before making room for it.
    let body = &bytes[end..];
    let expected = u64::from(vertices) * VERTEX_BYTES + u64::from(faces) * FACE_BYTES;
    if body.len() as u64 != expected {
        return Err(PlyError::Length { expected, found: body.len() as u64 });
    }
    let (vertex_bytes, face_bytes) = body.split_at((u64::from(vertices) * VERTEX_BYTES) as usize);
    let word = |bytes: &[u8]| -> [u8; 4] { bytes.try_into().expect("four bytes") };
    let vertices: Vec<DVec3> = vertex_bytes
        .chunks_exact(VERTEX_BYTES as usize)
        .map(|v| DVec3::from([0, 4, 8].map(|o| f64::from(f32::from_le_bytes(word(&v[o..o + 4]))))))
        .collect();
    let mut triangles = Vec::with_capacity(faces as usize);
    for (face, bytes) in face_bytes.chunks_exact(FACE_BYTES as usize).enumerate() {
        let triangle = [1, 5, 9].map(|o| u32::from_le_bytes(word(&bytes[o..o + 4])));
        if bytes[0] != 3 || triangle.iter().any(|&v| v as usize >= vertices.len()) {
            return Err(PlyError::Face { face });
        }
        triangles.push(triangle);
    }
    Ok(TriMesh { vertices, triangles })
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
        let mut bytes = Vec::new();
        write(&mut bytes, &tetrahedron()).unwrap();
        assert_eq!(read(&bytes).unwrap(), tetrahedron());
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
        write(&mut bytes, &tetrahedron()).unwrap();
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

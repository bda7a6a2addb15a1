//! Mesh files: OBJ, PLY and STL, from bytes to a checked mesh.
//!
//! Files come from anywhere, so nothing in them is believed: counts are compared with the bytes that
//! are there before anything is allocated, every face is checked and named if it is wrong, and no
//! sequence of bytes makes a reader panic. Only positions and faces are read, and texture coordinates of OBJ files where they are asked for; colours, normals
//! and groups are skipped. Polygons become fans about their first corner.
//!
//! Why not a library: tobj names no face in its errors and splits a file into models, stl_io keeps
//! f32 and trusts the word `solid`, and checking a PLY header before ply-rs reads it is most of a PLY reader.

mod obj;
mod ply;
mod stl;

pub(super) use obj::charts as obj_charts;

use super::{MeshError, MeshWarning, TriMesh};
use glam::DVec3;

/// Mesh files by their usual extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Wavefront, text.
    Obj,
    /// Stanford, text or binary of either byte order.
    Ply,
    /// Stereolithography, text or binary.
    Stl,
}

impl MeshFormat {
    /// `obj`, `ply` or `stl`, in any case, without the dot.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "obj" => Some(Self::Obj),
            "ply" => Some(Self::Ply),
            "stl" => Some(Self::Stl),
            _ => None,
        }
    }

    /// A file's bytes → a closed mesh with its normals outwards, and what was mended (see [`TriMesh::check`]).
    pub fn read(self, bytes: &[u8]) -> Result<(TriMesh, Vec<MeshWarning>), MeshError> {
        let mesh = match self {
            Self::Obj => obj::parse(bytes),
            Self::Ply => ply::parse(bytes),
            Self::Stl => stl::parse(bytes),
        }?;
        mesh.check()
    }
}

/// Faces as they are read, before the number of vertices is known.
#[derive(Default)]
struct Polygons {
    /// Zero-based, as read; may be out of range.
    indices: Vec<i64>,
    /// Where each polygon ends in `indices`.
    ends: Vec<usize>,
}

impl Polygons {
    /// Check every face and divide it into triangles. `base` is how the format counts vertices, for messages.
    fn into_mesh(self, vertices: Vec<DVec3>, base: i64) -> Result<TriMesh, MeshError> {
        let mut triangles = Vec::with_capacity(self.indices.len());
        let mut start = 0;
        for (face, &end) in self.ends.iter().enumerate() {
            let corners = &self.indices[start..end];
            start = end;
            if let Some(&index) = corners.iter().find(|&&i| i < 0 || i >= vertices.len() as i64) {
                return Err(MeshError::Index { face, index: index.saturating_add(base), vertices: vertices.len() });
            }
            let mut sorted = corners.to_vec();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(MeshError::Repeated { face, vertex: pair[0] as usize });
            }
            let corner = |i: usize| corners[i] as u32;
            triangles.extend((2..corners.len()).map(|i| [corner(0), corner(i - 1), corner(i)]));
        }
        Ok(TriMesh { vertices, triangles })
    }
}

/// Lines with their numbers, counted from 1, without surrounding white space.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(|&b| b == b'\n').enumerate().map(|(i, line)| (i + 1, line.trim_ascii()))
}

/// Words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

pub(super) fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The next three words as a position.
fn position<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Option<DVec3> {
    let mut coordinate = || number::<f64>(words.next()?);
    Some(DVec3::new(coordinate()?, coordinate()?, coordinate()?))
}

/// Bytes of a file for a message: printable and short.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).chars().map(printable).collect();
    if bytes.len() > 40 { format!("`{shown}…`") } else { format!("`{shown}`") }
}

fn printable(c: char) -> char {
    if c.is_control() { '?' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use proptest::prelude::*;

    /// The same cube in each format.
    pub fn samples() -> Vec<(MeshFormat, Vec<u8>)> {
        let cube = Shape::Box { size: DVec3::ONE }.surface(1.0);
        let mut obj = String::from("# a cube\no cube\n");
        let mut ascii = format!(
            "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\nelement \
             face {}\nproperty list uchar int vertex_indices\nend_header\n",
            cube.vertices.len(),
            cube.triangles.len()
        );
        let mut text_stl = String::from("solid cube\n");
        let mut binary_stl = vec![0u8; 80];
        binary_stl.extend((cube.triangles.len() as u32).to_le_bytes());
        for v in &cube.vertices {
            obj += &format!("v {} {} {}\n", v.x, v.y, v.z);
            ascii += &format!("{} {} {}\n", v.x, v.y, v.z);
        }
        let [mut little, mut big] = ["little", "big"].map(|order| {
            let header = ascii.split_inclusive("end_header\n").next().unwrap_or_default();
            header.replace("ascii", &format!("binary_{order}_endian")).into_bytes()
        });
        for c in cube.vertices.iter().flat_map(|v| v.to_array()) {
            little.extend((c as f32).to_le_bytes());
            big.extend((c as f32).to_be_bytes());
        }
        for (t, [a, b, c]) in cube.triangles.iter().enumerate() {
            obj += &format!("f {}/1 {}//2 {}\n", a + 1, b + 1, c + 1);
            ascii += &format!("3 {a} {b} {c}\n");
            little.push(3);
            big.push(3);
            for i in [a, b, c] {
                little.extend(i.to_le_bytes());
                big.extend(i.to_be_bytes());
            }
            text_stl += "facet normal 0 0 0\n outer loop\n";
            binary_stl.extend([0; 12]);
            for v in cube.corners(t) {
                text_stl += &format!("  vertex {:e} {} {}\n", v.x, v.y, v.z);
                binary_stl.extend(v.to_array().iter().flat_map(|&c| (c as f32).to_le_bytes()));
            }
            text_stl += " endloop\nendfacet\n";
            binary_stl.extend([0; 2]);
        }
        text_stl += "endsolid cube\n";
        vec![
            (MeshFormat::Obj, obj.into_bytes()),
            (MeshFormat::Ply, ascii.into_bytes()),
            (MeshFormat::Ply, little),
            (MeshFormat::Ply, big),
            (MeshFormat::Stl, text_stl.into_bytes()),
            (MeshFormat::Stl, binary_stl),
        ]
    }

    #[test]
    fn the_same_cube_comes_out_of_every_format() {
        for (format, bytes) in samples() {
            let (mesh, _) = format.read(&bytes).unwrap_or_else(|e| panic!("{format:?}: {e}"));
            assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 12));
            assert_eq!(mesh.volume(), 1.0);
        }
    }

    #[test]
    fn cut_short_anywhere_a_file_is_refused() {
        for (format, bytes) in samples() {
            let end = bytes.trim_ascii_end().len();
            for len in 0..end {
                // Text may lose the last digits or letters of its last word and still be a whole file.
                let text_tail = format == MeshFormat::Obj && len + 1 >= end || len + 5 >= end && bytes.ends_with(b"\n");
                assert!(text_tail || format.read(&bytes[..len]).is_err(), "{format:?} {len} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn extensions_are_known_in_any_case() {
        assert_eq!(MeshFormat::from_extension("STL"), Some(MeshFormat::Stl));
        assert_eq!(MeshFormat::from_extension("obj"), Some(MeshFormat::Obj));
        assert_eq!(MeshFormat::from_extension("fbx"), None);
    }

    fn calm() -> ProptestConfig {
        ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() }
    }

    proptest! {
        #![proptest_config(calm())]

        #[test]
        fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0usize..6) {
            for format in [MeshFormat::Obj, MeshFormat::Ply, MeshFormat::Stl] {
                let _ = format.read(&bytes);
            }
            // Behind an honest beginning.
            let (format, sample) = &samples()[start];
            let mut mixed = sample[..sample.len().min(200)].to_vec();
            mixed.extend(bytes);
            if let Err(error) = format.read(&mixed) {
                prop_assert!(error.to_string().len() <= 300 && !error.to_string().contains('\n'), "{error}");
            }
        }

        #[test]
        fn no_damage_makes_a_reader_panic(
            which in 0usize..6,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..8),
        ) {
            let (format, mut bytes) = samples().swap_remove(which);
            for (at, byte, kind) in damage {
                let at = at.index(bytes.len().max(1));
                match kind {
                    0 if at < bytes.len() => bytes[at] = byte,
                    1 => bytes.insert(at.min(bytes.len()), byte),
                    2 if at < bytes.len() => drop(bytes.remove(at)),
                    _ => bytes.truncate(bytes.len().max(20) - (byte as usize % 20)),
                }
            }
            if let Err(error) = format.read(&bytes) {
                prop_assert!(error.to_string().len() <= 300 && !error.to_string().contains('\n'), "{error}");
            }
        }
    }
}

//! Files of tetrahedra: Gmsh, VTK and TetGen, from bytes to a mesh.
//!
//! As with surfaces, nothing in a file is believed: counts are compared with the bytes that are there before anything
//! is allocated, every tetrahedron is checked and named if it is wrong, and no sequence of bytes makes a reader
//! panic. Only positions and tetrahedra of four vertices are read. Elements of lower dimension are passed over, other
//! solid elements are refused: a mesh with holes where its hexahedra were would be no solid.

mod gmsh;
mod tetgen;
mod vtk;

use super::check::check_elements;
use super::{TetError, TetMesh};
use crate::geometry::formats::{excerpt, number};
use glam::DVec3;

/// Files of tetrahedra by their usual extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TetFormat {
    /// Gmsh, text, version 2.2 or 4.1.
    Msh,
    /// VTK's legacy format, text or binary, an unstructured grid.
    Vtk,
    /// TetGen's pair of files: vertices in one, tetrahedra in the other.
    NodeEle,
}

impl TetFormat {
    /// `msh`, `vtk`, `node` or `ele`, in any case, without the dot.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "msh" => Some(Self::Msh),
            "vtk" => Some(Self::Vtk),
            "node" | "ele" => Some(Self::NodeEle),
            _ => None,
        }
    }

    /// Extensions of the files that a mesh consists of, side by side and otherwise named alike, as [`Self::read`]
    /// wants them.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Msh => &["msh"],
            Self::Vtk => &["vtk"],
            Self::NodeEle => &["node", "ele"],
        }
    }

    /// The bytes of each file of [`Self::extensions`] → a mesh whose coordinates are finite and whose tetrahedra have
    /// four vertices each. Whether they are a sound solid is for [`TetMesh::check`] or [`TetMesh::repair`] to say.
    pub fn read(self, files: &[&[u8]]) -> Result<TetMesh, TetError> {
        let mesh = match (self, files) {
            (Self::Msh, [bytes]) => gmsh::parse(bytes),
            (Self::Vtk, [bytes]) => vtk::parse(bytes),
            (Self::NodeEle, [node, ele]) => tetgen::parse(node, ele),
            _ => panic!("{self:?} meshes are {} files, not {}", self.extensions().len(), files.len()),
        }?;
        check_elements(&mesh)?;
        Ok(mesh)
    }
}

/// Vertex numbers of tetrahedron `number` that count from `base` → indices.
fn corners(number: usize, written: [i64; 4], base: i64, vertices: usize) -> Result<[u32; 4], TetError> {
    let index = |written: i64| written.checked_sub(base).filter(|i| (0..vertices as i64).contains(i));
    match written.iter().find(|&&w| index(w).is_none()) {
        Some(&index) => Err(TetError::Index { tetrahedron: number, index, vertices }),
        None => Ok(written.map(|w| (w - base) as u32)),
    }
}

/// The words of a text, and the line where we are.
struct Words<'a> {
    format: &'static str,
    rest: &'a [u8],
    /// From 1.
    line: usize,
}

impl<'a> Words<'a> {
    fn new(format: &'static str, bytes: &'a [u8]) -> Self {
        Self { format, rest: bytes, line: 1 }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|b| !b.is_ascii_whitespace())?;
        self.line += self.rest[..start].iter().filter(|&&b| b == b'\n').count();
        let rest = &self.rest[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    /// What is left of this line, without its end.
    fn rest_of_line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&b| b == b'\n');
        let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        self.line += end.is_some() as usize;
        line.trim_ascii()
    }

    /// The next word as a number; `what` is said if it is none.
    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, TetError> {
        let word = self.next().ok_or_else(|| self.wrong(format!("the file ends where {what} should be")))?;
        number(word).ok_or_else(|| self.wrong(format!("{} is not {what}", excerpt(word))))
    }

    fn position(&mut self) -> Result<DVec3, TetError> {
        let mut coordinate = || self.number("a coordinate");
        Ok(DVec3::new(coordinate()?, coordinate()?, coordinate()?))
    }

    /// A number of records that take `bytes` bytes each at least: refused if the file is too short for them.
    fn count(&mut self, what: &'static str, bytes: usize) -> Result<usize, TetError> {
        let word = self.next().unwrap_or_default();
        let Some(count) = number::<usize>(word) else {
            return Err(self.wrong(format!("{} is not the number of {what}", excerpt(word))));
        };
        self.check_count(count, what, bytes)?;
        Ok(count)
    }

    fn check_count(&self, count: usize, what: &'static str, bytes: usize) -> Result<(), TetError> {
        // The last record may lack the white space behind it.
        if count.checked_mul(bytes).is_some_and(|needed| needed <= self.rest.len() + 1) {
            return Ok(());
        }
        let found = format!("room for {} at most", (self.rest.len() + 1) / bytes);
        Err(TetError::Count { format: self.format, what, promised: count.to_string(), found })
    }

    fn wrong(&self, problem: String) -> TetError {
        TetError::Syntax { format: self.format, place: format!("line {}", self.line), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same block in each format.
    pub fn samples() -> Vec<(TetFormat, Vec<Vec<u8>>)> {
        let block = TetMesh::block(DVec3::ONE, [2, 1, 1]);
        let mut text = Vec::new();
        block.write_vtk(&mut text).unwrap();
        vec![
            (TetFormat::Msh, vec![gmsh::tests::version_2(&block)]),
            (TetFormat::Msh, vec![gmsh::tests::version_4(&block)]),
            (TetFormat::Vtk, vec![text]),
            (TetFormat::Vtk, vec![vtk::tests::binary_3(&block)]),
            (TetFormat::Vtk, vec![vtk::tests::binary_5(&block)]),
            (TetFormat::NodeEle, tetgen::tests::pair(&block, 0).to_vec()),
            (TetFormat::NodeEle, tetgen::tests::pair(&block, 1).to_vec()),
        ]
    }

    fn read(format: TetFormat, files: &[Vec<u8>]) -> Result<TetMesh, TetError> {
        format.read(&files.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn the_same_block_comes_out_of_every_format() {
        for (format, files) in samples() {
            let mesh = read(format, &files).unwrap_or_else(|e| panic!("{format:?}: {e}"));
            assert_eq!(mesh, TetMesh::block(DVec3::ONE, [2, 1, 1]), "{format:?}");
            assert_eq!(files.len(), format.extensions().len());
        }
    }

    #[test]
    fn cut_short_anywhere_a_file_is_refused() {
        for (format, files) in samples() {
            for which in 0..files.len() {
                let bytes = &files[which];
                let end = bytes.trim_ascii_end().len();
                for len in 0..end {
                    let mut cut = files.clone();
                    cut[which].truncate(len);
                    // Text may lose digits or letters of its last word, or what stands behind the mesh, and still be
                    // a whole file.
                    let tail = len + 32 >= end;
                    assert!(tail || read(format, &cut).is_err(), "{format:?} {which}: {len} of {end}");
                }
            }
        }
    }

    #[test]
    fn extensions_are_known_in_any_case() {
        assert_eq!(TetFormat::from_extension("MSH"), Some(TetFormat::Msh));
        assert_eq!(TetFormat::from_extension("Ele"), Some(TetFormat::NodeEle));
        assert_eq!(TetFormat::from_extension("obj"), None);
        for format in [TetFormat::Msh, TetFormat::Vtk, TetFormat::NodeEle] {
            assert!(format.extensions().iter().all(|e| TetFormat::from_extension(e) == Some(format)));
        }
    }

    fn is_short(error: &TetError) -> bool {
        let text = error.to_string();
        text.len() <= 300 && !text.contains('\n')
    }

    fn calm() -> ProptestConfig {
        ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
    }

    proptest! {
        #![proptest_config(calm())]

        #[test]
        fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), start in 0usize..7) {
            for format in [TetFormat::Msh, TetFormat::Vtk, TetFormat::NodeEle] {
                let files = vec![bytes.clone(); format.extensions().len()];
                prop_assert!(read(format, &files).is_err_and(|error| is_short(&error)));
            }
            // Behind an honest beginning.
            let (format, mut files) = samples().swap_remove(start);
            files[0].truncate(150);
            files[0].extend(bytes);
            prop_assert!(read(format, &files).map_or_else(|error| is_short(&error), |_| true));
        }

        #[test]
        fn no_damage_makes_a_reader_panic(
            which in 0usize..7,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..8),
        ) {
            let (format, mut files) = samples().swap_remove(which);
            for (at, byte, kind) in damage {
                let chosen = byte as usize % files.len();
                let bytes = &mut files[chosen];
                let at = at.index(bytes.len().max(1));
                match kind {
                    0 if at < bytes.len() => bytes[at] = byte,
                    1 => bytes.insert(at.min(bytes.len()), byte),
                    2 if at < bytes.len() => drop(bytes.remove(at)),
                    _ => bytes.truncate(bytes.len().max(20) - (byte as usize % 20)),
                }
            }
            match read(format, &files) {
                Err(error) => prop_assert!(is_short(&error), "{error}"),
                Ok(mesh) => prop_assert!(mesh.repair().map_or_else(|error| is_short(&error), |_| true)),
            }
        }
    }
}

//! VTK's legacy format: unstructured grids as text or big-endian binary; and the writer.
//!
//! Up to version 4, `CELLS` is a list of (length, corners …); from 5 on it is two arrays, offsets and corners. Data
//! on points and cells, which comes last, is not read.

use super::{Words, corners};
use crate::geometry::formats::excerpt;
use crate::geometry::{TetError, TetMesh};
use glam::DVec3;
use std::io::{self, Write};

const FORMAT: &str = "VTK";

/// VTK's number for tetrahedra of four vertices.
const TETRAHEDRON: i64 = 10;

/// Types of points, lines, triangles and polygons, which are passed over.
const FLAT: [i64; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23, 28, 30, 34, 35, 36, 68, 69];

impl TetMesh {
    /// Write the mesh as text, as ParaView and [`TetFormat::Vtk`](super::TetFormat::Vtk) read it; no digit is lost.
    pub fn write_vtk(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "# vtk DataFile Version 3.0\ntetrahedra, lengths in m\nASCII\nDATASET UNSTRUCTURED_GRID")?;
        writeln!(out, "POINTS {} double", self.vertices.len())?;
        for v in &self.vertices {
            writeln!(out, "{:e} {:e} {:e}", v.x, v.y, v.z)?;
        }
        writeln!(out, "CELLS {} {}", self.tetrahedra.len(), 5 * self.tetrahedra.len())?;
        for [a, b, c, d] in &self.tetrahedra {
            writeln!(out, "4 {a} {b} {c} {d}")?;
        }
        writeln!(out, "CELL_TYPES {}", self.tetrahedra.len())?;
        self.tetrahedra.iter().try_for_each(|_| writeln!(out, "{TETRAHEDRON}"))
    }
}

pub fn parse(bytes: &[u8]) -> Result<TetMesh, TetError> {
    let mut reader = Reader { words: Words::new(FORMAT, bytes), is_binary: false };
    reader.header()?;
    let mut vertices = Vec::new();
    let mut cells = Cells::default();
    let mut types = Vec::new();
    while let Some(keyword) = reader.words.next() {
        match keyword.to_ascii_uppercase().as_slice() {
            b"POINTS" => vertices = reader.points()?,
            b"CELLS" => cells = reader.cells()?,
            b"CELL_TYPES" => types = reader.types()?,
            b"FIELD" => reader.skip_field()?,
            b"METADATA" => skip_metadata(&mut reader.words),
            b"POINT_DATA" | b"CELL_DATA" => break,
            _ => return Err(reader.words.wrong(format!("{} is no part of an unstructured grid", excerpt(keyword)))),
        }
    }
    if types.len() != cells.ends.len() {
        let (promised, found) = (cells.ends.len().to_string(), types.len().to_string());
        return Err(TetError::Count { format: FORMAT, what: "cells", promised, found: format!("types for {found}") });
    }
    cells.into_mesh(&types, vertices)
}

/// A block that ends with a blank line.
fn skip_metadata(words: &mut Words) {
    words.rest_of_line();
    while !words.rest_of_line().is_empty() {}
}

/// Corners of all cells, and where each cell ends among them.
#[derive(Default)]
struct Cells {
    corners: Vec<i64>,
    ends: Vec<usize>,
}

impl Cells {
    fn into_mesh(self, types: &[i64], vertices: Vec<DVec3>) -> Result<TetMesh, TetError> {
        let mut tetrahedra = Vec::new();
        let mut start = 0;
        for (cell, (&end, &kind)) in self.ends.iter().zip(types).enumerate() {
            let wrong = |problem: String| TetError::Syntax { format: FORMAT, place: format!("cell {cell}"), problem };
            match self.corners[start..end] {
                [a, b, c, d] if kind == TETRAHEDRON => {
                    tetrahedra.push(corners(tetrahedra.len(), [a, b, c, d], 0, vertices.len())?);
                }
                _ if kind == TETRAHEDRON => {
                    return Err(wrong(format!("a tetrahedron of {} vertices", end - start)));
                }
                _ if FLAT.contains(&kind) => {}
                _ => {
                    return Err(wrong(format!(
                        "type {kind} is not supported; divide the solid into tetrahedra (type 10)"
                    )));
                }
            }
            start = end;
        }
        Ok(TetMesh { vertices, tetrahedra })
    }
}

/// How numbers are stored in binary files.
#[derive(Clone, Copy, PartialEq)]
enum VtkScalar {
    Float,
    Double,
    Int,
    Long,
}

impl VtkScalar {
    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_slice() {
            b"float" => Self::Float,
            b"double" => Self::Double,
            b"int" | b"unsigned_int" | b"vtktypeint32" => Self::Int,
            b"long" | b"unsigned_long" | b"vtktypeint64" | b"vtkidtype" => Self::Long,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        if matches!(self, Self::Float | Self::Int) { 4 } else { 8 }
    }
}

struct Reader<'a> {
    words: Words<'a>,
    is_binary: bool,
}

impl Reader<'_> {
    fn header(&mut self) -> Result<(), TetError> {
        let first = self.words.rest_of_line();
        if !first.to_ascii_lowercase().starts_with(b"# vtk datafile version") {
            self.words.line = 1;
            return Err(self
                .words
                .wrong(format!("{} is not `# vtk DataFile Version …`; save as legacy VTK", excerpt(first))));
        }
        self.words.rest_of_line();
        self.is_binary = match self.words.next().unwrap_or_default().to_ascii_uppercase().as_slice() {
            b"ASCII" => false,
            b"BINARY" => true,
            other => return Err(self.words.wrong(format!("{} is not ASCII or BINARY", excerpt(other)))),
        };
        let dataset = [self.words.next().unwrap_or_default(), self.words.next().unwrap_or_default()];
        match dataset.map(<[u8]>::to_ascii_uppercase) {
            [keyword, kind] if keyword == b"DATASET" && kind == b"UNSTRUCTURED_GRID" => Ok(()),
            [_, kind] => Err(self.words.wrong(format!("dataset {} is not UNSTRUCTURED_GRID", excerpt(&kind)))),
        }
    }

    fn points(&mut self) -> Result<Vec<DVec3>, TetError> {
        let count = self.words.count("points", 6)?;
        let scalar = self.scalar()?;
        let numbers = self.numbers(count, 3, scalar, "points", "a coordinate")?;
        Ok(numbers.chunks_exact(3).map(DVec3::from_slice).collect())
    }

    fn cells(&mut self) -> Result<Cells, TetError> {
        let count = self.words.count("cells", 2)?;
        let size = self.words.count("corners", 2)?;
        self.words.rest_of_line();
        if self.words.rest.trim_ascii_start().starts_with(b"OFFSETS") {
            return self.offsets_and_corners(count, size);
        }
        let numbers = self.integers(size, VtkScalar::Int, "corners")?;
        let mut cells = Cells::default();
        let mut rest = numbers.as_slice();
        while let Some((&length, behind)) = rest.split_first() {
            let corners = usize::try_from(length).ok().and_then(|length| behind.split_at_checked(length));
            let Some((corners, behind)) = corners else {
                let place = format!("cell {}", cells.ends.len());
                let problem = format!("it has {length} corners, only {} numbers are left", behind.len());
                return Err(TetError::Syntax { format: FORMAT, place, problem });
            };
            cells.corners.extend(corners);
            cells.ends.push(cells.corners.len());
            rest = behind;
        }
        if cells.ends.len() != count {
            let (promised, found) = (count.to_string(), cells.ends.len().to_string());
            return Err(TetError::Count { format: FORMAT, what: "cells", promised, found });
        }
        Ok(cells)
    }

    /// Version 5: where cells begin, one number more than there are cells; then all corners.
    fn offsets_and_corners(&mut self, count: usize, size: usize) -> Result<Cells, TetError> {
        self.words.next();
        let scalar = self.scalar()?;
        let offsets = self.integers(count, scalar, "offsets")?;
        let keyword = self.words.next().unwrap_or_default();
        if !keyword.eq_ignore_ascii_case(b"CONNECTIVITY") {
            return Err(self.words.wrong(format!("{} is not CONNECTIVITY", excerpt(keyword))));
        }
        let scalar = self.scalar()?;
        let corners = self.integers(size, scalar, "corners")?;
        let is_sound = offsets.windows(2).all(|pair| pair[0] <= pair[1])
            && offsets.first().is_none_or(|&first| first == 0)
            && offsets.last().is_none_or(|&last| last == size as i64);
        if !is_sound {
            return Err(self.words.wrong(format!("the offsets of cells do not grow from 0 to {size}")));
        }
        Ok(Cells { corners, ends: offsets.iter().skip(1).map(|&end| end as usize).collect() })
    }

    fn types(&mut self) -> Result<Vec<i64>, TetError> {
        let count = self.words.count("cell types", 2)?;
        self.words.rest_of_line();
        self.integers(count, VtkScalar::Int, "cell types")
    }

    /// Arrays with a name, number of components, number of tuples and type each, as ParaView puts the time there.
    fn skip_field(&mut self) -> Result<(), TetError> {
        self.words.next();
        for _ in 0..self.words.count("arrays", 8)? {
            self.words.next();
            let components = self.words.count("components", 1)?;
            let tuples = self.words.count("tuples", 1)?;
            let scalar = self.scalar()?;
            self.numbers(tuples, components, scalar, "tuples", "a number")?;
        }
        Ok(())
    }

    /// The type at the end of a keyword's line; the data begins behind it.
    fn scalar(&mut self) -> Result<VtkScalar, TetError> {
        let name = self.words.next().unwrap_or_default();
        let scalar = VtkScalar::from_name(name);
        let scalar = scalar.ok_or_else(|| self.words.wrong(format!("type {} is not supported", excerpt(name))))?;
        self.words.rest_of_line();
        Ok(scalar)
    }

    fn integers(&mut self, count: usize, scalar: VtkScalar, what: &'static str) -> Result<Vec<i64>, TetError> {
        let numbers = self.numbers(count, 1, scalar, what, "a whole number")?;
        // f64 is exact up to 2⁵³; larger ones and fractions are out of range everywhere.
        Ok(numbers.into_iter().map(|v| if v.fract() == 0.0 { v as i64 } else { i64::MIN }).collect())
    }

    /// `count` times `each` numbers.
    fn numbers(
        &mut self,
        count: usize,
        each: usize,
        scalar: VtkScalar,
        what: &'static str,
        one: &str,
    ) -> Result<Vec<f64>, TetError> {
        let size = if self.is_binary { scalar.size() } else { 2 };
        let record = each.saturating_mul(size).max(1);
        self.words.check_count(count, what, record)?;
        if !self.is_binary {
            return (0..count * each).map(|_| self.words.number(one)).collect();
        }
        let Some((data, rest)) = self.words.rest.split_at_checked(count * each * size) else {
            let (promised, found) = (count.to_string(), format!("{} bytes", self.words.rest.len()));
            return Err(TetError::Count { format: FORMAT, what, promised, found });
        };
        self.words.rest = rest;
        Ok(data.chunks_exact(size).map(|bytes| value(scalar, bytes)).collect())
    }
}

/// Value of big-endian bytes.
fn value(scalar: VtkScalar, bytes: &[u8]) -> f64 {
    let bits = bytes.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    match scalar {
        VtkScalar::Float => f64::from(f32::from_bits(bits as u32)),
        VtkScalar::Double => f64::from_bits(bits),
        VtkScalar::Int => f64::from(bits as u32 as i32),
        VtkScalar::Long => bits as i64 as f64,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Version 3 with floats; a triangle among the cells, data behind.
    pub fn binary_3(mesh: &TetMesh) -> Vec<u8> {
        let count = mesh.tetrahedra.len() + 1;
        let mut bytes = b"# vtk DataFile Version 3.0\nblock\nBINARY\nDATASET UNSTRUCTURED_GRID\n".to_vec();
        bytes.extend(format!("POINTS {} float\n", mesh.vertices.len()).into_bytes());
        bytes.extend(mesh.vertices.iter().flat_map(|v| v.to_array()).flat_map(|c| (c as f32).to_be_bytes()));
        bytes.extend(format!("\nCELLS {count} {}\n", 5 * count - 1).into_bytes());
        bytes.extend([3, 0, 1, 2].iter().flat_map(|i: &i32| i.to_be_bytes()));
        for t in &mesh.tetrahedra {
            bytes.extend([4].iter().chain(t).flat_map(|i| i.to_be_bytes()));
        }
        bytes.extend(format!("\nCELL_TYPES {count}\n").into_bytes());
        bytes.extend((0..count).flat_map(|n| (if n == 0 { 5i32 } else { 10 }).to_be_bytes()));
        bytes.extend(b"\nCELL_DATA 13\nSCALARS x");
        bytes
    }

    /// Version 5.1 as ParaView writes it: a field, metadata, offsets of 64 bits.
    pub fn binary_5(mesh: &TetMesh) -> Vec<u8> {
        let mut bytes =
            b"# vtk DataFile Version 5.1\nvtk output\nBINARY\nDATASET UNSTRUCTURED_GRID\nFIELD FieldData 1\n\
            TimeValue 1 1 double\n"
                .to_vec();
        bytes.extend(0.25f64.to_be_bytes());
        bytes.extend(format!("\nPOINTS {} double\n", mesh.vertices.len()).into_bytes());
        bytes.extend(mesh.vertices.iter().flat_map(|v| v.to_array()).flat_map(f64::to_be_bytes));
        bytes.extend(b"\nMETADATA\nINFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 1 \n\n");
        let count = mesh.tetrahedra.len() as i64;
        bytes.extend(format!("CELLS {} {}\nOFFSETS vtktypeint64\n", count + 1, 4 * count).into_bytes());
        bytes.extend((0..=count).flat_map(|i| (4 * i).to_be_bytes()));
        bytes.extend(b"\nCONNECTIVITY vtktypeint64\n");
        bytes.extend(mesh.tetrahedra.iter().flatten().flat_map(|&v| i64::from(v).to_be_bytes()));
        bytes.extend(format!("\nCELL_TYPES {count}\n").into_bytes());
        bytes.extend((0..count).flat_map(|_| 10i32.to_be_bytes()));
        bytes
    }

    fn one(points: &str, cells: &str, types: &str) -> Result<TetMesh, TetError> {
        let text = format!(
            "# vtk DataFile Version 2.0\n\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {points}\n0 0 0 1 0 0\n0 1 0 0 0 1\n\
             CELLS {cells}\nCELL_TYPES {types}\n"
        );
        parse(text.as_bytes())
    }

    #[test]
    fn what_is_written_is_read_again_to_the_last_bit() {
        let mesh = TetMesh::block(DVec3::ONE, [3, 2, 2]).mapped(|v| 1e-7 * v / 3.0 + DVec3::new(1e9, 0.1, -1e-300));
        let mut text = Vec::new();
        mesh.write_vtk(&mut text).unwrap();
        assert_eq!(parse(&text), Ok(mesh));
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        assert_eq!(one("4 float", "1 5\n4 0 1 2 3", "1\n10").unwrap().tetrahedra, [[0, 1, 2, 3]]);
        for (points, cells, types) in [
            ("3 float", "1 5\n4 0 1 2 3", "1\n10"),
            ("5 float", "1 5\n4 0 1 2 3", "1\n10"),
            ("-4 float", "1 5\n4 0 1 2 3", "1\n10"),
            ("9223372036854775808 float", "1 5\n4 0 1 2 3", "1\n10"),
            ("4 float", "2 5\n4 0 1 2 3", "1\n10"),
            ("4 float", "1 6\n4 0 1 2 3", "1\n10"),
            ("4 float", "1 4\n4 0 1 2 3", "1\n10"),
            ("4 float", "1 5\n5 0 1 2 3", "1\n10"),
            ("4 float", "1 5\n-4 0 1 2 3", "1\n10"),
            ("4 float", "1 18446744073709551615\n4 0 1 2 3", "1\n10"),
            ("4 float", "1 5\n4 0 1 2 3", "2\n10"),
            ("4 float", "1 5\n4 0 1 2 3", "0"),
            ("4 float", "2 4\nOFFSETS vtktypeint64\n0 9\nCONNECTIVITY vtktypeint64\n0 1 2 3", "1\n10"),
            ("4 float", "2 4\nOFFSETS vtktypeint64\n-4 4\nCONNECTIVITY vtktypeint64\n0 1 2 3", "1\n10"),
        ] {
            assert!(one(points, cells, types).is_err(), "{points} {cells} {types}");
        }
        let error = one("9223372036854775808 float", "0 0", "0").unwrap_err();
        assert!(matches!(error, TetError::Count { what: "points", .. }), "{error}");
    }

    #[test]
    fn wrong_cells_are_named() {
        let read = |corners: &str, kind: &str| {
            one("4 float", &format!("1 5\n4 {corners}"), &format!("1\n{kind}")).unwrap_err()
        };
        assert_eq!(read("0 1 2 4", "10"), TetError::Index { tetrahedron: 0, index: 4, vertices: 4 });
        assert_eq!(read("0 1 2 -1", "10"), TetError::Index { tetrahedron: 0, index: -1, vertices: 4 });
        assert!(matches!(read("0 1 2 1.5", "10"), TetError::Index { tetrahedron: 0, .. }));
        assert_eq!(
            read("0 1 2 3", "12").to_string(),
            "VTK cell 0: type 12 is not supported; divide the solid into tetrahedra (type 10)"
        );
        assert_eq!(
            one("4 float", "1 4\n3 0 1 2", "1\n10").unwrap_err().to_string(),
            "VTK cell 0: a tetrahedron of 3 vertices"
        );
        // A triangle is passed over.
        assert_eq!(one("4 float", "1 4\n3 0 1 2", "1\n5").unwrap().tetrahedra.len(), 0);
    }

    #[test]
    fn other_files_are_told_apart() {
        let read = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert!(read("<?xml version=\"1.0\"?>").contains("save as legacy VTK"));
        let start = "# vtk DataFile Version 3.0\nx\n";
        assert_eq!(read(&format!("{start}TEXT\n")), "VTK line 3: `TEXT` is not ASCII or BINARY");
        assert_eq!(
            read(&format!("{start}ASCII\nDATASET POLYDATA\n")),
            "VTK line 4: dataset `POLYDATA` is not UNSTRUCTURED_GRID"
        );
    }
}

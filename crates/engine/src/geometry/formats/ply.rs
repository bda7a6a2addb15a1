//! PLY: a text header that describes records, then the records as text or binary of either byte order.
//!
//! Wanted are `x`, `y` and `z` of element `vertex` and the list `vertex_indices` (or `vertex_index`)
//! of element `face`; other properties and elements are passed over.

use super::{Polygons, excerpt, lines, number, words};
use crate::geometry::{MeshError, TriMesh};
use glam::DVec3;

/// Longest header, bytes; real ones have a few hundred.
const HEADER_LIMIT: usize = 1 << 16;

pub fn parse(bytes: &[u8]) -> Result<TriMesh, MeshError> {
    let (header, body) = Header::parse(bytes)?;
    header.check_counts(body.len())?;
    let mut records = PlyRecords { encoding: header.encoding, rest: body, line: header.lines };
    let mut vertices = Vec::new();
    let mut polygons = Polygons::default();
    for element in &header.elements {
        for found in 0..element.count {
            let mut vertex = [None; 3];
            let mut visit = |property: &Property, value: f64| match property.role {
                Role::Coordinate(axis) if element.is_vertex() => vertex[axis] = Some(value),
                // A fraction is no index; i64::MIN is out of range everywhere.
                Role::Corners if element.is_face() => {
                    polygons.indices.push(if value.fract() == 0.0 { value as i64 } else { i64::MIN });
                }
                _ => {}
            };
            if !records.next(element, &mut visit)? {
                return Err(element.count_error(found.to_string()));
            }
            if element.is_vertex() {
                let [Some(x), Some(y), Some(z)] = vertex else {
                    return Err(syntax(format!("vertex {found}"), "it has no x, y and z".into()));
                };
                vertices.push(DVec3::new(x, y, z));
            } else if element.is_face() {
                let start = polygons.ends.last().copied().unwrap_or(0);
                if polygons.indices.len() < start + 3 {
                    return Err(syntax(format!("face {found}"), "it has fewer than three corners".into()));
                }
                polygons.ends.push(polygons.indices.len());
            }
        }
    }
    if !records.at_end() {
        let last = header.elements.last().map_or("elements", |e| e.name.as_str());
        return Err(MeshError::Count {
            format: "PLY",
            what: format!("{last} records"),
            promised: header.elements.last().map_or(0, |e| e.count).to_string(),
            found: format!("{} bytes more", records.rest.len()),
        });
    }
    polygons.into_mesh(vertices, 0)
}

struct Header {
    encoding: Encoding,
    elements: Vec<PlyElement>,
    /// Number of its lines.
    lines: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Text,
    Little,
    Big,
}

struct PlyElement {
    name: String,
    count: usize,
    properties: Vec<Property>,
}

struct Property {
    value: PlyScalar,
    /// For a list, the type of its length.
    list: Option<PlyScalar>,
    role: Role,
}

/// What we want a property for.
#[derive(Clone, Copy)]
enum Role {
    Coordinate(usize),
    Corners,
    Other,
}

#[derive(Clone, Copy)]
enum PlyScalar {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), MeshError> {
        let mut header = Self { encoding: Encoding::Text, elements: Vec::new(), lines: 0 };
        let mut encoding = None;
        for (number, line) in lines(&bytes[..bytes.len().min(HEADER_LIMIT)]) {
            let wrong = || syntax(format!("line {number}"), format!("{} does not belong in a header", excerpt(line)));
            let parts: Vec<&[u8]> = words(line).collect();
            match parts[..] {
                [b"ply"] if number == 1 => {}
                _ if number == 1 => return Err(syntax("line 1".into(), format!("{} is not `ply`", excerpt(line)))),
                [b"comment" | b"obj_info", ..] | [] => {}
                [b"format", name, b"1.0"] => encoding = Some(Encoding::from_name(name).ok_or_else(wrong)?),
                [b"element", name, count] => header.elements.push(PlyElement::parse(name, count, number)?),
                [b"property", ref definition @ ..] => {
                    let element = header.elements.last_mut().ok_or_else(wrong)?;
                    element.properties.push(Property::parse(definition).ok_or_else(wrong)?);
                }
                [b"end_header"] => {
                    header.encoding =
                        encoding.ok_or_else(|| syntax("header".into(), "it has no `format` line".into()))?;
                    header.lines = number;
                    // The body begins behind this line's end.
                    let end = bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n').nth(number - 1);
                    return Ok((header, &bytes[end.map_or(bytes.len(), |(at, _)| at + 1)..]));
                }
                _ => return Err(wrong()),
            }
        }
        Err(syntax("header".into(), format!("no `end_header` within {HEADER_LIMIT} bytes")))
    }

    /// Refuse counts that the body has no room for, before anything is allocated or looped over.
    fn check_counts(&self, body: usize) -> Result<(), MeshError> {
        let mut room = body as u128;
        for element in &self.elements {
            let smallest: usize = match self.encoding {
                // At least a digit and a separator each; the last separator may be missing.
                Encoding::Text => 2 * element.properties.len(),
                _ => element.properties.iter().map(|p| p.list.unwrap_or(p.value).size()).sum(),
            };
            if element.count > 0 && element.properties.is_empty() {
                return Err(syntax(
                    format!("element {}", excerpt(element.name.as_bytes())),
                    "it has no properties".into(),
                ));
            }
            let needed = smallest as u128 * element.count as u128;
            let slack = u128::from(self.encoding == Encoding::Text);
            if needed > room + slack {
                return Err(element.count_error(format!("room for at most {}", room / smallest as u128)));
            }
            room = room.saturating_sub(needed);
        }
        Ok(())
    }
}

impl Encoding {
    fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"ascii" => Some(Self::Text),
            b"binary_little_endian" => Some(Self::Little),
            b"binary_big_endian" => Some(Self::Big),
            _ => None,
        }
    }
}

impl PlyElement {
    fn parse(name: &[u8], count: &[u8], line: usize) -> Result<Self, MeshError> {
        let name = String::from_utf8_lossy(name).into_owned();
        let Some(count) = number::<usize>(count) else {
            return Err(syntax(format!("line {line}"), format!("{} is not a number of records", excerpt(count))));
        };
        Ok(Self { name, count, properties: Vec::new() })
    }

    fn is_vertex(&self) -> bool {
        self.name == "vertex"
    }

    fn is_face(&self) -> bool {
        self.name == "face"
    }

    fn count_error(&self, found: String) -> MeshError {
        let what = format!("{} records", excerpt(self.name.as_bytes()));
        MeshError::Count { format: "PLY", what, promised: self.count.to_string(), found }
    }
}

impl Property {
    fn parse(definition: &[&[u8]]) -> Option<Self> {
        match definition {
            [b"list", length, value, name] => {
                let role =
                    if matches!(*name, b"vertex_indices" | b"vertex_index") { Role::Corners } else { Role::Other };
                Some(Self { value: PlyScalar::from_name(value)?, list: Some(PlyScalar::from_name(length)?), role })
            }
            [value, name] => {
                let axis = [b"x", b"y", b"z"].iter().position(|axis| name == *axis);
                let role = axis.map_or(Role::Other, Role::Coordinate);
                Some(Self { value: PlyScalar::from_name(value)?, list: None, role })
            }
            _ => None,
        }
    }
}

impl PlyScalar {
    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"char" | b"int8" => Self::Signed(1),
            b"short" | b"int16" => Self::Signed(2),
            b"int" | b"int32" => Self::Signed(4),
            b"uchar" | b"uint8" => Self::Unsigned(1),
            b"ushort" | b"uint16" => Self::Unsigned(2),
            b"uint" | b"uint32" => Self::Unsigned(4),
            b"float" | b"float32" => Self::Float(4),
            b"double" | b"float64" => Self::Float(8),
            _ => return None,
        })
    }

    fn size(self) -> usize {
        let (Self::Signed(size) | Self::Unsigned(size) | Self::Float(size)) = self;
        size
    }

    /// Value of its little-endian bytes; every type fits into f64.
    fn value(self, bytes: [u8; 8]) -> f64 {
        let word = u64::from_le_bytes(bytes);
        match self {
            Self::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                ((word << unused) as i64 >> unused) as f64
            }
            Self::Unsigned(_) => word as f64,
            Self::Float(4) => f64::from(f32::from_bits(word as u32)),
            Self::Float(_) => f64::from_bits(word),
        }
    }
}

/// What is still to be read.
struct PlyRecords<'a> {
    encoding: Encoding,
    rest: &'a [u8],
    /// Lines passed, for messages.
    line: usize,
}

impl<'a> PlyRecords<'a> {
    /// Read one record and show every wanted value; false if the file ends before or in it.
    fn next(&mut self, element: &PlyElement, visit: &mut impl FnMut(&Property, f64)) -> Result<bool, MeshError> {
        if self.encoding != Encoding::Text {
            return Ok(self.values(element, visit, &mut |records, scalar| records.binary(scalar))?.is_some());
        }
        let Some(line) = self.text_line() else { return Ok(false) };
        let mut words = words(line);
        let mut bad = None;
        let read = self.values(element, visit, &mut |_, _| {
            let word = words.next()?;
            let value = number::<f64>(word);
            bad = bad.or(if value.is_none() { Some(word) } else { None });
            value
        })?;
        let place = || format!("line {}", self.line);
        match (read, bad, words.next()) {
            (_, Some(word), _) => Err(syntax(place(), format!("{} is not a number", excerpt(word)))),
            (None, ..) => Err(syntax(place(), format!("{} has too few numbers", excerpt(line)))),
            (_, _, Some(word)) => Err(syntax(place(), format!("{} is more than the record holds", excerpt(word)))),
            (Some(()), None, None) => Ok(true),
        }
    }

    /// The values of one record from `read`; `None` if there are too few.
    fn values(
        &mut self,
        element: &PlyElement,
        visit: &mut impl FnMut(&Property, f64),
        read: &mut impl FnMut(&mut Self, PlyScalar) -> Option<f64>,
    ) -> Result<Option<()>, MeshError> {
        for property in &element.properties {
            let mut length = 1.0;
            if let Some(scalar) = property.list {
                let Some(value) = read(self, scalar) else { return Ok(None) };
                length = value;
            }
            if !(length >= 0.0 && length.fract() == 0.0) {
                let place = format!("element {}", excerpt(element.name.as_bytes()));
                return Err(syntax(place, format!("{length} is not the length of a list")));
            }
            // Each turn takes bytes from the file or ends: a false length cannot keep us here.
            let mut done = 0.0;
            while done < length {
                let Some(value) = read(self, property.value) else { return Ok(None) };
                visit(property, value);
                done += 1.0;
            }
        }
        Ok(Some(()))
    }

    fn binary(&mut self, scalar: PlyScalar) -> Option<f64> {
        let (bytes, rest) = self.rest.split_at_checked(scalar.size())?;
        self.rest = rest;
        let mut little = [0; 8];
        for (i, byte) in bytes.iter().enumerate() {
            little[if self.encoding == Encoding::Big { bytes.len() - 1 - i } else { i }] = *byte;
        }
        Some(scalar.value(little))
    }

    /// The next line that is not blank.
    fn text_line(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&b| b == b'\n').unwrap_or(self.rest.len());
            let line = self.rest[..end].trim_ascii();
            self.rest = &self.rest[(end + 1).min(self.rest.len())..];
            self.line += 1;
            if !line.is_empty() {
                return Some(line);
            }
        }
        None
    }

    fn at_end(&self) -> bool {
        match self.encoding {
            Encoding::Text => self.rest.trim_ascii().is_empty(),
            _ => self.rest.is_empty(),
        }
    }
}

fn syntax(place: String, problem: String) -> MeshError {
    MeshError::Syntax { format: "PLY", place, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(vertices: &str, faces: &str, body: &str) -> Vec<u8> {
        format!(
            "ply\r\nformat ascii 1.0\ncomment made by hand\nelement vertex {vertices}\nproperty uchar red\nproperty \
             double x\nproperty float y\nproperty int z\nelement edge 1\nproperty list int int ends\nelement face \
             {faces}\nproperty list uchar int vertex_index\nproperty float quality\nend_header\n{body}"
        )
        .into_bytes()
    }

    const BODY: &str = "255 0 0 0\n255 1.5 0 0\n\n255 0 1 0\n 255 0 0 1 \n2 0 1\n4 0 1 2 3 0.5\n";

    #[test]
    fn other_properties_and_elements_are_passed_over() {
        let mesh = parse(&file("4", "1", BODY)).unwrap();
        assert_eq!(mesh.vertices[1], DVec3::new(1.5, 0.0, 0.0));
        assert_eq!(mesh.vertices[3], DVec3::Z);
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        for (vertices, faces) in [
            ("5", "1"),
            ("3", "1"),
            ("4", "2"),
            ("4", "0"),
            ("4", "9223372036854775808"),
            ("18446744073709551615", "1"),
            ("18446744073709551616", "1"),
            ("-4", "1"),
            ("4.0", "1"),
        ] {
            assert!(parse(&file(vertices, faces, BODY)).is_err(), "{vertices} {faces}");
        }
        let error = parse(&file("4", "9223372036854775808", BODY)).unwrap_err();
        assert!(matches!(error, MeshError::Count { .. }), "{error}");
        let error = parse(&file("-4", "1", BODY)).unwrap_err();
        assert_eq!(error.to_string(), "PLY line 4: `-4` is not a number of records");
    }

    #[test]
    fn a_binary_list_longer_than_the_file_is_refused_at_once() {
        let mut bytes = b"ply\nformat binary_big_endian 1.0\nelement face 1\nproperty list uint uchar vertex_indices\n\
            end_header\n"
            .to_vec();
        bytes.extend(u32::MAX.to_be_bytes());
        bytes.extend([0, 1, 2]);
        assert!(matches!(parse(&bytes), Err(MeshError::Count { .. })));
    }

    #[test]
    fn wrong_faces_are_named() {
        let read = |face: &str| parse(&file("4", "1", &BODY.replace("4 0 1 2 3 0.5", face))).unwrap_err();
        assert_eq!(read("3 0 1 7 0.5"), MeshError::Index { face: 0, index: 7, vertices: 4 });
        assert_eq!(read("3 0 1 -1 0.5"), MeshError::Index { face: 0, index: -1, vertices: 4 });
        assert_eq!(read("3 0 1 1 0.5"), MeshError::Repeated { face: 0, vertex: 1 });
        assert!(matches!(read("3 0 1 1.5 0.5"), MeshError::Index { face: 0, .. }));
        assert_eq!(read("2 0 1 0.5").to_string(), "PLY face 0: it has fewer than three corners");
        assert_eq!(read("-3 0 1 2 0.5").to_string(), "PLY element `face`: -3 is not the length of a list");
        assert_eq!(read("3 0 1 2").to_string(), "PLY line 21: `3 0 1 2` has too few numbers");
        assert_eq!(read("3 0 1 2 0.5 6").to_string(), "PLY line 21: `6` is more than the record holds");
        assert_eq!(read("3 0 x 2 0.5").to_string(), "PLY line 21: `x` is not a number");
    }

    #[test]
    fn signed_and_unsigned_bytes_keep_their_meaning() {
        assert_eq!(PlyScalar::Signed(1).value([0xff, 0, 0, 0, 0, 0, 0, 0]), -1.0);
        assert_eq!(PlyScalar::Signed(2).value([0, 0x80, 0, 0, 0, 0, 0, 0]), -32768.0);
        assert_eq!(PlyScalar::Unsigned(4).value([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]), 4294967295.0);
        assert_eq!(PlyScalar::Float(4).value(u64::from(1.5f32.to_bits()).to_le_bytes()), 1.5);
    }
}

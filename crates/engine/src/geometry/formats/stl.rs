//! STL: triangles with their own corners, text or binary (f32, little-endian).
//!
//! Both may begin with `solid`; a file is text if `facet` follows, binary otherwise.

use super::{excerpt, lines, position, words};
use crate::geometry::{MeshError, TriMesh};
use glam::DVec3;

const HEADER: usize = 84;
const FACET: usize = 50;

pub fn parse(bytes: &[u8]) -> Result<TriMesh, MeshError> {
    let corners = if is_text(bytes) { text(bytes)? } else { binary(bytes)? };
    let triangles = (0..corners.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    Ok(TriMesh { vertices: corners, triangles })
}

fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let beginning = &start[..start.len().min(1024)];
    start.len() >= 5
        && start[..5].eq_ignore_ascii_case(b"solid")
        && words(beginning).any(|word| word.eq_ignore_ascii_case(b"facet") || word.eq_ignore_ascii_case(b"endsolid"))
}

fn binary(bytes: &[u8]) -> Result<Vec<DVec3>, MeshError> {
    let Some((header, facets)) = bytes.split_at_checked(HEADER) else {
        let problem = format!("{} bytes are too few for a header", bytes.len());
        return Err(MeshError::Syntax { format: "STL", place: "byte 0".into(), problem });
    };
    let promised = u32::from_le_bytes([header[80], header[81], header[82], header[83]]) as usize;
    if Some(facets.len()) != promised.checked_mul(FACET) {
        return Err(MeshError::Count {
            format: "STL",
            what: "facets".into(),
            promised: promised.to_string(),
            found: format!("{:.2}", facets.len() as f64 / FACET as f64),
        });
    }
    let float = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let corner = |b: &[u8]| DVec3::new(float(&b[..4]), float(&b[4..8]), float(&b[8..12]));
    // A facet is its normal, three corners and two spare bytes.
    Ok(facets.chunks_exact(FACET).flat_map(|facet| facet[12..48].chunks_exact(12).map(corner)).collect())
}

fn text(bytes: &[u8]) -> Result<Vec<DVec3>, MeshError> {
    let mut corners = Vec::new();
    let mut facets = 0;
    let mut in_solid = false;
    let mut last = 0;
    for (number, line) in lines(bytes) {
        let wrong = |problem: String| MeshError::Syntax { format: "STL", place: format!("line {number}"), problem };
        let mut words = words(line);
        let Some(word) = words.next() else { continue };
        last = number;
        match word.to_ascii_lowercase().as_slice() {
            b"vertex" => {
                let position = position(&mut words);
                corners.push(position.ok_or_else(|| wrong(format!("{} is not a vertex", excerpt(line))))?);
            }
            b"endfacet" => {
                facets += 1;
                if corners.len() != 3 * facets {
                    return Err(wrong(format!("facet {} does not have three corners", facets - 1)));
                }
            }
            b"solid" => in_solid = true,
            b"endsolid" => in_solid = false,
            b"facet" | b"outer" | b"endloop" => {}
            _ => return Err(wrong(format!("{} is no part of STL", excerpt(word)))),
        }
    }
    if in_solid || corners.len() != 3 * facets {
        let problem = format!("the file ends inside a solid, after {facets} facets");
        return Err(MeshError::Syntax { format: "STL", place: format!("line {last}"), problem });
    }
    Ok(corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_file_may_begin_with_solid() {
        let mut bytes = b"solid but binary".to_vec();
        bytes.resize(80, b' ');
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(
            [0.0f32, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.5].iter().flat_map(|f| f.to_le_bytes()),
        );
        bytes.extend([0, 0]);
        assert_eq!(parse(&bytes).unwrap().vertices[2], DVec3::new(7.0, 8.0, 9.5));
        // Any other count is refused.
        for count in [0u32, 2, u32::MAX] {
            bytes[80..84].copy_from_slice(&count.to_le_bytes());
            assert!(matches!(parse(&bytes), Err(MeshError::Count { .. })));
        }
    }

    #[test]
    fn a_facet_with_too_few_corners_is_named() {
        let error =
            parse(b"solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\nendfacet\nendsolid").unwrap_err();
        assert_eq!(error.to_string(), "STL line 6: facet 0 does not have three corners");
        let error = parse(b"solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n").unwrap_err();
        assert_eq!(error.to_string(), "STL line 4: `vertex 0 0` is not a vertex");
        let error = parse(b"solid\nfacet normal 0 0 1\n").unwrap_err();
        assert_eq!(error.to_string(), "STL line 2: the file ends inside a solid, after 0 facets");
    }
}

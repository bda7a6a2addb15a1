//! Wavefront OBJ: `v x y z` and `f a b c …`, and `vt u v` where they are asked for; everything else is skipped.

use super::{Polygons, excerpt, lines, number, position, words};
use crate::geometry::{Chart, MeshError, TriMesh};
use glam::DVec2;

pub fn parse(bytes: &[u8]) -> Result<TriMesh, MeshError> {
    let mut vertices = Vec::new();
    let mut polygons = Polygons::default();
    for (number, line) in lines(bytes) {
        let wrong = |what: &str| syntax(number, format!("{} is not {what}", excerpt(line)));
        let mut words = words(line);
        match words.next() {
            Some(b"v") => {
                vertices.push(position(&mut words).ok_or_else(|| wrong("a vertex: `v` and three numbers"))?);
            }
            Some(b"f") => {
                let start = polygons.indices.len();
                for word in words {
                    let index = index(word, vertices.len()).ok_or_else(|| wrong("a face: `f` and vertex numbers"))?;
                    polygons.indices.push(index);
                }
                if polygons.indices.len() < start + 3 {
                    return Err(wrong("a face: it has fewer than three corners"));
                }
                polygons.ends.push(polygons.indices.len());
            }
            _ => {}
        }
    }
    polygons.into_mesh(vertices, 1)
}

/// The faces of a file that has texture coordinates at all corners, as triangles; none if it has none at all.
pub fn charts(bytes: &[u8]) -> Result<Vec<Chart>, MeshError> {
    let (mut vertices, mut coordinates, mut faces, mut bare) = (Vec::new(), Vec::new(), Vec::new(), None);
    for (line_number, line) in lines(bytes) {
        let mut words = words(line);
        match words.next() {
            Some(b"v") => vertices.extend(position(&mut words)),
            Some(b"vt") => {
                let mut next = || words.next().and_then(number::<f64>);
                let wrong =
                    || syntax(line_number, format!("{} is not a texture coordinate: `vt` and numbers", excerpt(line)));
                let at = DVec2::new(next().ok_or_else(wrong)?, next().unwrap_or(0.0));
                if !at.is_finite() {
                    return Err(wrong());
                }
                coordinates.push(at);
            }
            Some(b"f") => {
                let corner = |word| Some((index(word, vertices.len())?, coordinate(word, coordinates.len())?));
                match words.map(corner).collect::<Option<Vec<_>>>() {
                    Some(corners) => faces.push((line_number, line, corners)),
                    None => bare = bare.or(Some((line_number, line))),
                }
            }
            _ => {}
        }
    }

    if let Some((line_number, line)) = bare.filter(|_| !coordinates.is_empty()) {
        let problem =
            "is a face without a texture coordinate (`vertex/coordinate`) at every corner, and the file has some";
        return Err(syntax(line_number, format!("{} {problem}", excerpt(line))));
    }
    let mut charts = Vec::new();
    for (line_number, line, corners) in faces {
        let find = |&(vertex, coordinate): &(i64, i64)| {
            let missing = |what: &str, number: i64| {
                syntax(line_number, format!("{} is not a face: there is no {what} {}", excerpt(line), number + 1))
            };
            let corner = *vertices.get(vertex as usize).ok_or_else(|| missing("vertex", vertex))?;
            let at = *coordinates.get(coordinate as usize).ok_or_else(|| missing("texture coordinate", coordinate))?;
            Ok((corner, at))
        };
        let corners = corners.iter().map(find).collect::<Result<Vec<_>, MeshError>>()?;
        charts.extend((2..corners.len()).map(|n| {
            let [a, b, c] = [corners[0], corners[n - 1], corners[n]];
            Chart { corners: [a.0, b.0, c.0], at: [a.1, b.1, c.1] }
        }));
    }
    Ok(charts)
}

/// Zero-based vertex of `7`, `7/1`, `7//3` or `7/1/3`; negative numbers count back from the last vertex so far.
fn index(word: &[u8], vertices: usize) -> Option<i64> {
    zero_based(word.split(|&b| b == b'/').next()?, vertices)
}

/// The same of the texture coordinate, if there is one.
fn coordinate(word: &[u8], coordinates: usize) -> Option<i64> {
    zero_based(word.split(|&b| b == b'/').nth(1)?, coordinates)
}

fn zero_based(word: &[u8], vertices: usize) -> Option<i64> {
    let written: i64 = number(word)?;
    Some(if written < 0 && written >= -(vertices as i64) {
        vertices as i64 + written
    } else {
        written.saturating_sub(1)
    })
}

fn syntax(line: usize, problem: String) -> MeshError {
    MeshError::Syntax { format: "OBJ", place: format!("line {line}"), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: &str = "v 0 0 0\nv 1 0 0 1.0\r\nv 1 1 0 0.5 0.5 0.5\n\tv 0 1 0\nvn 0 0 1\n";

    #[test]
    fn polygons_become_fans_and_negative_numbers_count_back() {
        let expected = [[0, 1, 2], [0, 2, 3]];
        for face in ["f 1 2 3 4", "f -4 -3 -2 -1", "f 1/1/1 2//3 3/2 -1 \r"] {
            assert_eq!(parse(format!("{SQUARE}{face}").as_bytes()).unwrap().triangles, expected);
        }
        // A face may stand before its vertices.
        assert_eq!(parse(format!("f 1 2 3 4\n{SQUARE}").as_bytes()).unwrap().triangles, expected);
    }

    #[test]
    fn wrong_faces_are_named() {
        let read = |face: &str| parse(format!("{SQUARE}f 1 2 3\n{face}").as_bytes()).unwrap_err();
        assert_eq!(read("f 1 2 5"), MeshError::Index { face: 1, index: 5, vertices: 4 });
        assert_eq!(read("f 1 2 0"), MeshError::Index { face: 1, index: 0, vertices: 4 });
        assert_eq!(read("f 1 2 -5"), MeshError::Index { face: 1, index: -5, vertices: 4 });
        assert_eq!(read("f 1 2 3 2"), MeshError::Repeated { face: 1, vertex: 1 });
        assert!(matches!(read("f 9223372036854775807 1 2"), MeshError::Index { .. }));
        assert_eq!(read("f 1 2").to_string(), "OBJ line 7: `f 1 2` is not a face: it has fewer than three corners");
        assert_eq!(read("f 1 2 x").to_string(), "OBJ line 7: `f 1 2 x` is not a face: `f` and vertex numbers");
        assert_eq!(read("v 1 2").to_string(), "OBJ line 7: `v 1 2` is not a vertex: `v` and three numbers");
    }
}

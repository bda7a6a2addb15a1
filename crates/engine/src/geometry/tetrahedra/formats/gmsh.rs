//! Gmsh .msh, text, versions 2.2 and 4.1: sections `$Nodes` and `$Elements`, others skipped.
//!
//! Nodes have numbers of their own ("tags"), in any order and with gaps. Version 4.1 sorts nodes and elements into
//! blocks, one for each part of the geometry. Binary files are refused.

use super::Words;
use crate::geometry::formats::excerpt;
use crate::geometry::{TetError, TetMesh};
use glam::DVec3;

const FORMAT: &str = "MSH";

/// Gmsh's number for tetrahedra of four nodes.
const TETRAHEDRON: u32 = 4;

/// What a file contains.
#[derive(Default)]
struct Contents {
    tags: Vec<i64>,
    positions: Vec<DVec3>,
    /// By tags.
    tetrahedra: Vec<[i64; 4]>,
}

#[derive(Clone, Copy, PartialEq)]
enum Version {
    Two,
    Four,
}

pub fn parse(bytes: &[u8]) -> Result<TetMesh, TetError> {
    let mut words = Words::new(FORMAT, bytes);
    match words.next() {
        Some(b"$MeshFormat") => {}
        other => return Err(words.wrong(format!("{} is not `$MeshFormat`", excerpt(other.unwrap_or_default())))),
    }
    let version = version(&mut words)?;
    let mut contents = Contents::default();
    while let Some(section) = words.next() {
        match section {
            b"$Nodes" => {
                contents.nodes(&mut words, version)?;
                end_of(&mut words, b"$EndNodes")?;
            }
            b"$Elements" => {
                contents.elements(&mut words, version)?;
                end_of(&mut words, b"$EndElements")?;
            }
            _ if section.starts_with(b"$") => {
                // Up to `$EndWhatever`; section bodies have no such words.
                while !words
                    .next()
                    .ok_or_else(|| words.wrong(format!("{} has no end", excerpt(section))))?
                    .starts_with(b"$End")
                {}
            }
            _ => return Err(words.wrong(format!("{} is outside of all sections", excerpt(section)))),
        }
    }
    contents.into_mesh()
}

fn version(words: &mut Words) -> Result<Version, TetError> {
    let number = words.next().unwrap_or_default();
    let version = match number {
        b"2" | b"2.0" | b"2.1" | b"2.2" => Version::Two,
        b"4.1" => Version::Four,
        _ => return Err(words.wrong(format!("version {} is not 2.2 or 4.1; export as one of these", excerpt(number)))),
    };
    if words.number::<u8>("the file type, 0 or 1")? != 0 {
        return Err(words.wrong("the file is binary; export it as text (in Gmsh: Mesh.Binary = 0)".into()));
    }
    words.number::<u8>("the size of a number")?;
    end_of(words, b"$EndMeshFormat")?;
    Ok(version)
}

fn end_of(words: &mut Words, end: &'static [u8]) -> Result<(), TetError> {
    match words.next() {
        Some(word) if word == end => Ok(()),
        Some(word) => Err(words.wrong(format!("{} where the section should end; the counts are wrong", excerpt(word)))),
        None => Err(words.wrong("the file ends within a section".into())),
    }
}

impl Contents {
    fn nodes(&mut self, words: &mut Words, version: Version) -> Result<(), TetError> {
        if version == Version::Two {
            // A tag and three coordinates of a digit each, and white space.
            for _ in 0..words.count("nodes", 8)? {
                self.tags.push(words.number("a node's number")?);
                self.positions.push(words.position()?);
            }
            return Ok(());
        }
        let [blocks, nodes] = block_header(words, "nodes", 8)?;
        let before = self.tags.len();
        for _ in 0..blocks {
            let dimension: u8 = words.number("a dimension")?;
            words.number::<i64>("an entity's number")?;
            let is_parametric = words.number::<u8>("0 or 1")? != 0;
            let parameters = if is_parametric { dimension.min(3) } else { 0 };
            let count = words.count("nodes in a block", 8)?;
            for _ in 0..count {
                self.tags.push(words.number("a node's number")?);
            }
            for _ in 0..count {
                self.positions.push(words.position()?);
                for _ in 0..parameters {
                    words.number::<f64>("a parameter")?;
                }
            }
        }
        compare("nodes", nodes, self.tags.len() - before)
    }

    fn elements(&mut self, words: &mut Words, version: Version) -> Result<(), TetError> {
        if version == Version::Two {
            for _ in 0..words.count("elements", 8)? {
                words.number::<i64>("an element's number")?;
                let kind = words.number("an element's type")?;
                for _ in 0..words.number::<u32>("the number of tags")? {
                    words.number::<i64>("a tag")?;
                }
                self.element(words, kind)?;
            }
            return Ok(());
        }
        let [blocks, elements] = block_header(words, "elements", 4)?;
        let mut found = 0usize;
        for _ in 0..blocks {
            words.number::<u8>("a dimension")?;
            words.number::<i64>("an entity's number")?;
            let kind = words.number("an element's type")?;
            let count = words.count("elements in a block", 4)?;
            for _ in 0..count {
                words.number::<i64>("an element's number")?;
                self.element(words, kind)?;
            }
            found += count;
        }
        compare("elements", elements, found)
    }

    /// The nodes of an element.
    fn element(&mut self, words: &mut Words, kind: u32) -> Result<(), TetError> {
        let mut node = || words.number::<i64>("a node's number");
        if kind == TETRAHEDRON {
            self.tetrahedra.push([node()?, node()?, node()?, node()?]);
            return Ok(());
        }
        let Some(nodes) = nodes_of_flat(kind) else {
            let problem = format!("element type {kind} is not supported; export tetrahedra of first order (type 4)");
            return Err(words.wrong(problem));
        };
        for _ in 0..nodes {
            node()?;
        }
        Ok(())
    }

    /// Tags → indices.
    fn into_mesh(self) -> Result<TetMesh, TetError> {
        let mut sorted: Vec<(i64, u32)> = self.tags.iter().zip(0u32..).map(|(&tag, index)| (tag, index)).collect();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let place = format!("node {}", pair[0].0);
            return Err(TetError::Syntax { format: FORMAT, place, problem: "it occurs twice".into() });
        }
        let mut tetrahedra = Vec::with_capacity(self.tetrahedra.len());
        for (tetrahedron, tags) in self.tetrahedra.iter().enumerate() {
            let mut corners = [0; 4];
            for (corner, &tag) in corners.iter_mut().zip(tags) {
                let found = sorted.binary_search_by_key(&tag, |node| node.0).map(|at| sorted[at].1);
                let missing = TetError::Index { tetrahedron, index: tag, vertices: sorted.len() };
                *corner = found.map_err(|_| missing)?;
            }
            tetrahedra.push(corners);
        }
        Ok(TetMesh { vertices: self.positions, tetrahedra })
    }
}

/// Numbers of blocks and of all their records; smallest and largest tag are not needed.
fn block_header(words: &mut Words, what: &'static str, bytes: usize) -> Result<[usize; 2], TetError> {
    let counts = [words.count("blocks", 8)?, words.count(what, bytes)?];
    words.number::<i64>("the smallest tag")?;
    words.number::<i64>("the largest tag")?;
    Ok(counts)
}

fn compare(what: &'static str, promised: usize, found: usize) -> Result<(), TetError> {
    if promised == found {
        return Ok(());
    }
    Err(TetError::Count { format: FORMAT, what, promised: promised.to_string(), found: found.to_string() })
}

/// Number of nodes of points, lines, triangles and quadrilaterals, which are passed over.
fn nodes_of_flat(kind: u32) -> Option<usize> {
    Some(match kind {
        15 => 1,
        1 => 2,
        2 | 8 => 3,
        3 | 26 => 4,
        27 => 5,
        9 | 28 => 6,
        16 => 8,
        10 | 20 => 9,
        21 => 10,
        22 => 12,
        23 | 24 => 15,
        25 => 21,
        _ => return None,
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Tags count down from 1000, by threes; a triangle and a line are there too.
    pub fn version_2(mesh: &TetMesh) -> Vec<u8> {
        let tag = |v: u32| 1000 - 3 * v;
        let mut text =
            String::from("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"solid\"\n$EndPhysicalNames\n");
        text += &format!("$Nodes\n{}\n", mesh.vertices.len());
        for (v, p) in (0..).zip(&mesh.vertices) {
            text += &format!("{} {} {:e} {}\n", tag(v), p.x, p.y, p.z);
        }
        text += &format!("$EndNodes\n$Elements\n{}\n", mesh.tetrahedra.len() + 2);
        text += &format!("1 2 2 0 1 {} {} {}\n2 1 0 {} {}\n", tag(0), tag(1), tag(2), tag(0), tag(1));
        for (n, t) in mesh.tetrahedra.iter().enumerate() {
            let [a, b, c, d] = t.map(tag);
            text += &format!("{} 4 3 1 2 0 {a} {b} {c} {d}\n", n + 3);
        }
        (text + "$EndElements\n").into_bytes()
    }

    /// Nodes in two blocks, the second with parameters.
    pub fn version_4(mesh: &TetMesh) -> Vec<u8> {
        let count = mesh.vertices.len();
        let mut text =
            String::from("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 1 0 0\n$EndEntities\n");
        text += &format!("$Nodes\n2 {count} 1 {count}\n");
        for (dimension, parametric, range) in [(3, 0, 0..3), (2, 1, 3..count)] {
            text += &format!("{dimension} 1 {parametric} {}\n", range.len());
            range.clone().for_each(|v| text += &format!("{}\n", v + 1));
            for p in &mesh.vertices[range] {
                text += &format!("{} {} {}{}\n", p.x, p.y, p.z, if parametric == 1 { " 0.5 0.25" } else { "" });
            }
        }
        text += &format!("$EndNodes\n$Elements\n2 {0} 1 {0}\n2 1 2 1\n1 1 2 3\n", mesh.tetrahedra.len() + 1);
        text += &format!("3 1 4 {}\n", mesh.tetrahedra.len());
        for (n, t) in mesh.tetrahedra.iter().enumerate() {
            let [a, b, c, d] = t.map(|v| v + 1);
            text += &format!("{} {a} {b} {c} {d}\n", n + 2);
        }
        (text + "$EndElements\n").into_bytes()
    }

    fn one(nodes: &str, elements: &str, element: &str) -> Result<TetMesh, TetError> {
        let text = format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{nodes}\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n\
             $Elements\n{elements}\n{element}\n$EndElements"
        );
        parse(text.as_bytes())
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let element = "1 4 2 0 1 1 2 3 4";
        assert_eq!(one("4", "1", element).unwrap().tetrahedra, [[0, 1, 2, 3]]);
        for (nodes, elements) in [
            ("3", "1"),
            ("5", "1"),
            ("4", "0"),
            ("4", "2"),
            ("-4", "1"),
            ("4", "9223372036854775808"),
            ("18446744073709551615", "1"),
            ("18446744073709551616", "1"),
            ("4.0", "1"),
        ] {
            assert!(one(nodes, elements, element).is_err(), "{nodes} {elements}");
        }
        let error = one("9223372036854775808", "1", element).unwrap_err();
        assert!(matches!(error, TetError::Count { what: "nodes", .. }), "{error}");
        let blocks = String::from_utf8(version_4(&TetMesh::block(DVec3::ONE, [1; 3]))).unwrap();
        for (from, to) in [("2 8 1 8", "2 9 1 8"), ("3 1 0 3", "3 1 0 99999999999"), ("2 7 1 7", "1 7 1 7")] {
            assert!(blocks.contains(from) && parse(blocks.replace(from, to).as_bytes()).is_err(), "{from}");
        }
    }

    #[test]
    fn wrong_elements_are_named() {
        let read = |element: &str| one("4", "1", element).unwrap_err();
        assert_eq!(read("1 4 0 1 2 3 7"), TetError::Index { tetrahedron: 0, index: 7, vertices: 4 });
        assert_eq!(read("1 4 0 1 2 3 -4"), TetError::Index { tetrahedron: 0, index: -4, vertices: 4 });
        assert_eq!(
            read("1 11 0 1 2 3 4 1 2 3 4 1 2").to_string(),
            "MSH line 13: element type 11 is not supported; export tetrahedra of first order (type 4)"
        );
        assert_eq!(read("1 4 0 1 2 x 4").to_string(), "MSH line 13: `x` is not a node's number");
    }

    #[test]
    fn other_versions_and_binary_files_are_told_how_to_be_converted() {
        let read = |header: &str| {
            parse(format!("$MeshFormat\n{header}\n$EndMeshFormat\n").as_bytes()).unwrap_err().to_string()
        };
        assert_eq!(read("4 0 8"), "MSH line 2: version `4` is not 2.2 or 4.1; export as one of these");
        assert!(read("4.1 1 8").contains("export it as text"));
        assert!(parse(b"solid").unwrap_err().to_string().ends_with("`solid` is not `$MeshFormat`"));
        let twice = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n2\n1 0 0 0\n1 1 0 0\n$EndNodes\n";
        assert_eq!(parse(twice.as_bytes()).unwrap_err().to_string(), "MSH node 1: it occurs twice");
    }
}

//! TetGen: vertices in .node, tetrahedra in .ele, a record to a line; `#` starts a comment.
//!
//! Both count from 0 or both from 1, as the first vertex says. Attributes and boundary markers behind a record are
//! passed over.

use super::corners;
use crate::geometry::formats::{excerpt, lines, number, words};
use crate::geometry::{TetError, TetMesh};
use glam::DVec3;

pub fn parse(node: &[u8], ele: &[u8]) -> Result<TetMesh, TetError> {
    let (vertices, base) = read_vertices(node)?;
    let tetrahedra = read_tetrahedra(ele, vertices.len(), base)?;
    Ok(TetMesh { vertices, tetrahedra })
}

/// Positions, and the number of the first.
fn read_vertices(bytes: &[u8]) -> Result<(Vec<DVec3>, i64), TetError> {
    let mut file = Records::new("NODE", bytes);
    let header = file.header()?;
    if let Some(dimension) = header.get(1).filter(|&&d| d != 3) {
        return Err(file.wrong(format!("points have {dimension} coordinates, not 3")));
    }
    let mut base = 0;
    let mut vertices = Vec::new();
    while let Some(record) = file.next() {
        let read = || Some((number::<i64>(record.first()?)?, [1, 2, 3].map(|i| number::<f64>(record.get(i)?))));
        let Some((written, [Some(x), Some(y), Some(z)])) = read() else {
            return Err(file.wrong(format!("{} is not a vertex: its number and three coordinates", file.excerpt())));
        };
        if vertices.is_empty() {
            base = written;
        }
        if !(0..=1).contains(&base) || written != base + vertices.len() as i64 {
            let problem = format!("vertex {written} is out of order; vertices count up from 0 or 1");
            return Err(file.wrong(problem));
        }
        vertices.push(DVec3::new(x, y, z));
    }
    file.compare("vertices", header[0], vertices.len())?;
    Ok((vertices, base))
}

fn read_tetrahedra(bytes: &[u8], vertices: usize, base: i64) -> Result<Vec<[u32; 4]>, TetError> {
    let mut file = Records::new("ELE", bytes);
    let header = file.header()?;
    if let Some(nodes) = header.get(1).filter(|&&n| n != 4) {
        return Err(file.wrong(format!("tetrahedra have {nodes} vertices, not 4; run TetGen without -o2")));
    }
    let mut tetrahedra = Vec::new();
    while let Some(record) = file.next() {
        let written = [1, 2, 3, 4].map(|i| number::<i64>(record.get(i)?));
        let [Some(a), Some(b), Some(c), Some(d)] = written else {
            return Err(file.wrong(format!("{} is not a tetrahedron: its number and four vertices", file.excerpt())));
        };
        tetrahedra.push(corners(tetrahedra.len(), [a, b, c, d], base, vertices)?);
    }
    file.compare("tetrahedra", header[0], tetrahedra.len())?;
    Ok(tetrahedra)
}

/// Lines that have more than a comment.
struct Records<'a> {
    format: &'static str,
    lines: Box<dyn Iterator<Item = (usize, &'a [u8])> + 'a>,
    /// The last one: its number and itself.
    last: (usize, &'a [u8]),
}

impl<'a> Records<'a> {
    fn new(format: &'static str, bytes: &'a [u8]) -> Self {
        let without_comment = |line: &'a [u8]| line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii();
        let lines = lines(bytes).map(move |(n, line)| (n, without_comment(line))).filter(|(_, line)| !line.is_empty());
        Self { format, lines: Box::new(lines), last: (1, &[]) }
    }

    fn next(&mut self) -> Option<Vec<&'a [u8]>> {
        self.last = self.lines.next()?;
        Some(words(self.last.1).collect())
    }

    /// The numbers of the first line; there is one at least.
    fn header(&mut self) -> Result<Vec<u64>, TetError> {
        let words = self.next().unwrap_or_default();
        let numbers: Option<Vec<u64>> = words.into_iter().map(number).collect();
        match numbers {
            Some(numbers) if !numbers.is_empty() => Ok(numbers),
            _ => Err(self.wrong(format!("{} is not a header: how many records, and what they hold", self.excerpt()))),
        }
    }

    fn compare(&self, what: &'static str, promised: u64, found: usize) -> Result<(), TetError> {
        if promised == found as u64 {
            return Ok(());
        }
        Err(TetError::Count { format: self.format, what, promised: promised.to_string(), found: found.to_string() })
    }

    fn excerpt(&self) -> String {
        excerpt(self.last.1)
    }

    fn wrong(&self, problem: String) -> TetError {
        TetError::Syntax { format: self.format, place: format!("line {}", self.last.0), problem }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn pair(mesh: &TetMesh, base: u32) -> [Vec<u8>; 2] {
        let mut node = format!("# vertices\n{} 3 1 1\n\n", mesh.vertices.len());
        let mut ele = format!("{}  4  1 # with a region\n", mesh.tetrahedra.len());
        for (v, p) in (base..).zip(&mesh.vertices) {
            node += &format!("  {v}  {} {} {:e}  0.5 1\n", p.x, p.y, p.z);
        }
        for (n, t) in (base..).zip(&mesh.tetrahedra) {
            let [a, b, c, d] = t.map(|v| v + base);
            ele += &format!("{n}   {a} {b}\t{c} {d}  7 \r\n");
        }
        [(node + "# end").into_bytes(), (ele + "# Generated by hand").into_bytes()]
    }

    const NODE: &str = "4 3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1";

    fn read(node: &str, ele: &str) -> Result<TetMesh, TetError> {
        parse(node.as_bytes(), ele.as_bytes())
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let ele = "1 4 0\n1 1 2 3 4";
        assert_eq!(read(NODE, ele).unwrap().tetrahedra, [[0, 1, 2, 3]]);
        for count in ["3", "5", "-4", "9223372036854775808", "18446744073709551616", "x", ""] {
            assert!(read(&NODE.replacen('4', count, 1), ele).is_err(), "{count}");
            assert!(read(NODE, &ele.replacen('1', count, 1)).is_err(), "{count}");
        }
        let error = read(NODE, "9223372036854775808 4\n1 1 2 3 4").unwrap_err();
        assert!(matches!(error, TetError::Count { format: "ELE", .. }), "{error}");
    }

    #[test]
    fn wrong_records_are_named() {
        let wrong = |ele: &str| read(NODE, ele).unwrap_err();
        assert_eq!(wrong("2 4\n1 1 2 3 4\n2 1 2 3 5"), TetError::Index { tetrahedron: 1, index: 5, vertices: 4 });
        assert_eq!(wrong("1 4\n1 0 2 3 4"), TetError::Index { tetrahedron: 0, index: 0, vertices: 4 });
        assert_eq!(wrong("1 4\n1 -1 2 3 4"), TetError::Index { tetrahedron: 0, index: -1, vertices: 4 });
        assert_eq!(
            wrong("1 4\n1 1 2 3").to_string(),
            "ELE line 2: `1 1 2 3` is not a tetrahedron: its number and four vertices"
        );
        assert!(wrong("1 10\n1 1 2 3 4 1 2 3 4 1 2").to_string().contains("tetrahedra have 10 vertices, not 4"));
        let wrong = |from: &str, to: &str| read(&NODE.replace(from, to), "1 4\n1 1 2 3 4").unwrap_err().to_string();
        assert_eq!(wrong("4 3", "4 2"), "NODE line 1: points have 2 coordinates, not 3");
        assert_eq!(wrong("3 0 1 0", "5 0 1 0"), "NODE line 4: vertex 5 is out of order; vertices count up from 0 or 1");
        assert_eq!(
            wrong("3 0 1 0", "3 0 y 0"),
            "NODE line 4: `3 0 y 0` is not a vertex: its number and three coordinates"
        );
    }
}

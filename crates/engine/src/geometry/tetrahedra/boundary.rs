//! Which tetrahedra share their sides: the boundary, its pinches, and parts that hang together.
//!
//! All of it comes from one sorted list of sides. Two tetrahedra of a sound mesh see the side they share from
//! opposite directions; a side that only one of them has is part of the boundary.

use super::{SIDES, TetMesh};
use crate::geometry::TriMesh;
use rayon::prelude::*;

/// A side of a tetrahedron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TetFace {
    /// Its vertices in ascending order.
    pub vertices: [u32; 3],
    /// Whose it is.
    pub tetrahedron: u32,
    /// Which of its sides.
    pub number: u8,
    /// Whether ascending order is counter-clockwise from outside the tetrahedron.
    pub ascending: bool,
}

impl TetMesh {
    /// The boundary: sides that belong to one tetrahedron only, in order of the tetrahedra. Its triangles use the
    /// vertex numbers of this mesh, inner vertices included.
    pub fn surface(&self) -> TriMesh {
        let sides = self.sides();
        let mut single: Vec<[usize; 2]> = sides
            .chunk_by(|a, b| a.vertices == b.vertices)
            .filter(|shared| shared.len() == 1)
            .map(|side| [side[0].tetrahedron as usize, side[0].number as usize])
            .collect();
        single.sort_unstable();
        let triangle = |[t, side]: [usize; 2]| SIDES[side].map(|corner| self.tetrahedra[t][corner]);
        TriMesh { vertices: self.vertices.clone(), triangles: single.into_iter().map(triangle).collect() }
    }

    /// All sides of all tetrahedra, shared ones together.
    pub(super) fn sides(&self) -> Vec<TetFace> {
        let side = |t: usize, number: usize| {
            let [a, b, c] = SIDES[number].map(|corner| self.tetrahedra[t][corner]);
            let mut vertices = [a, b, c];
            vertices.sort_unstable();
            // Three vertices are in ascending order, up to rotation, if two of their three steps go up.
            let ascending = (a < b) as u8 + (b < c) as u8 + (c < a) as u8 == 2;
            TetFace { vertices, tetrahedron: t as u32, number: number as u8, ascending }
        };
        let mut sides: Vec<TetFace> =
            (0..self.tetrahedra.len()).flat_map(|t| (0..4).map(move |number| side(t, number))).collect();
        sides.par_sort_unstable();
        sides
    }

    /// For each tetrahedron the part it belongs to, and the number of parts. Tetrahedra of a part are joined by sides;
    /// parts are numbered in order of their first tetrahedra.
    pub(super) fn parts(&self) -> (Vec<u32>, usize) {
        let mut sets = Sets::new(self.tetrahedra.len());
        for shared in self.sides().chunk_by(|a, b| a.vertices == b.vertices) {
            shared.windows(2).for_each(|pair| sets.unite(pair[0].tetrahedron as usize, pair[1].tetrahedron as usize));
        }
        sets.numbered()
    }
}

/// Vertices at which a closed surface is no manifold: ends of edges that do not join two triangles, and vertices where
/// several fans of triangles touch. Ascending.
pub fn pinches(surface: &TriMesh) -> Vec<u32> {
    // An edge is passed by a triangle from its corner `3 t + i` to the next.
    let corner = |t: usize, i: usize| 3 * t + i % 3;
    let mut edges: Vec<([u32; 2], [usize; 2])> = Vec::with_capacity(3 * surface.triangles.len());
    for (t, triangle) in surface.triangles.iter().enumerate() {
        edges.extend((0..3).map(|i| {
            let [a, b] = [triangle[i], triangle[(i + 1) % 3]];
            let [p, q] = [corner(t, i), corner(t, i + 1)];
            if a < b { ([a, b], [p, q]) } else { ([b, a], [q, p]) }
        }));
    }
    edges.par_sort_unstable();
    let mut pinched = Vec::new();
    let mut fans = Sets::new(3 * surface.triangles.len());
    for edge in edges.chunk_by(|a, b| a.0 == b.0) {
        match edge {
            [one, two] => (0..2).for_each(|end| fans.unite(one.1[end], two.1[end])),
            _ => pinched.extend(edge[0].0),
        }
    }
    let (fan, _) = fans.numbered();
    let mut touching: Vec<[u32; 2]> = surface.triangles.iter().flatten().zip(&fan).map(|(&v, &f)| [v, f]).collect();
    touching.par_sort_unstable();
    touching.dedup();
    pinched.extend(touching.windows(2).filter(|pair| pair[0][0] == pair[1][0]).map(|pair| pair[0][0]));
    pinched.sort_unstable();
    pinched.dedup();
    pinched
}

/// For each triangle the part of the surface it belongs to, joined by edges, and the number of parts.
pub fn surface_parts(surface: &TriMesh) -> (Vec<u32>, usize) {
    let mut edges: Vec<([u32; 2], usize)> = Vec::with_capacity(3 * surface.triangles.len());
    for (t, &[a, b, c]) in surface.triangles.iter().enumerate() {
        edges.extend([[a, b], [b, c], [c, a]].map(|[p, q]| ([p.min(q), p.max(q)], t)));
    }
    edges.par_sort_unstable();
    let mut sets = Sets::new(surface.triangles.len());
    edges.windows(2).filter(|pair| pair[0].0 == pair[1].0).for_each(|pair| sets.unite(pair[0].1, pair[1].1));
    sets.numbered()
}

/// Disjoint sets of numbers; the smallest member stands for its set.
struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    fn new(members: usize) -> Self {
        Self { parent: (0..members as u32).collect() }
    }

    fn find(&mut self, mut member: usize) -> usize {
        while self.parent[member] as usize != member {
            // Halving paths keeps them short.
            self.parent[member] = self.parent[self.parent[member] as usize];
            member = self.parent[member] as usize;
        }
        member
    }

    fn unite(&mut self, a: usize, b: usize) {
        let [a, b] = [self.find(a), self.find(b)];
        self.parent[a.max(b)] = a.min(b) as u32;
    }

    /// For each member the number of its set, in order of their smallest members; and how many sets there are.
    fn numbered(mut self) -> (Vec<u32>, usize) {
        let mut numbers = vec![0; self.parent.len()];
        let mut sets = 0;
        for member in 0..numbers.len() {
            let first = self.find(member);
            if first == member {
                numbers[member] = sets;
                sets += 1;
            } else {
                numbers[member] = numbers[first];
            }
        }
        (numbers, sets as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use glam::DVec3;

    #[test]
    fn the_surface_of_a_cube_of_six() {
        let cube = TetMesh::block(DVec3::ONE, [1; 3]);
        let surface = cube.surface();
        assert_eq!(surface.triangles.len(), 12);
        assert!((surface.volume() - 1.0).abs() < 1e-15, "{}", surface.volume());
        assert!((surface.area() - 6.0).abs() < 1e-15);
        assert_eq!(pinches(&surface), [0u32; 0]);
    }

    #[test]
    fn shared_sides_are_seen_from_both_directions() {
        let sides = TetMesh::block(DVec3::ONE, [2; 3]).sides();
        for shared in sides.chunk_by(|a, b| a.vertices == b.vertices) {
            assert!(
                matches!(shared, [_] | [TetFace { ascending: true, .. }, TetFace { ascending: false, .. }])
                    || matches!(shared, [TetFace { ascending: false, .. }, TetFace { ascending: true, .. }])
            );
        }
    }

    /// Two cubes with their corners, or edges, merged where they meet.
    fn pair(offset: DVec3) -> TetMesh {
        let cube = TetMesh::block(DVec3::ONE, [1; 3]);
        let mut pair = cube.clone();
        let numbers: Vec<u32> = cube
            .vertices
            .iter()
            .map(|&v| match cube.vertices.iter().position(|&w| w == v + offset) {
                Some(same) => same as u32,
                None => {
                    pair.vertices.push(v + offset);
                    pair.vertices.len() as u32 - 1
                }
            })
            .collect();
        pair.tetrahedra.extend(cube.tetrahedra.iter().map(|t| t.map(|v| numbers[v as usize])));
        pair
    }

    #[test]
    fn cubes_that_touch_are_pinched_and_apart() {
        for (offset, pinched, parts) in
            [(DVec3::X, 0, 1), (DVec3::new(1.0, 1.0, 0.0), 2, 2), (DVec3::ONE, 1, 2), (DVec3::splat(2.0), 0, 2)]
        {
            let pair = pair(offset);
            assert_eq!(pinches(&pair.surface()).len(), pinched, "{offset}");
            assert_eq!(pair.parts().1, parts, "{offset}");
        }
    }

    #[test]
    fn parts_of_a_surface_are_counted() {
        let mut surface = Shape::Sphere { radius: 1.0 }.surface(0.5);
        assert_eq!(surface_parts(&surface).1, 1);
        let count = surface.vertices.len() as u32;
        surface.vertices.extend_from_within(..);
        surface.triangles.extend_from_within(..);
        let half = surface.triangles.len() / 2;
        surface.triangles[half..].iter_mut().flatten().for_each(|v| *v += count);
        let (parts, number) = surface_parts(&surface);
        assert_eq!((number, parts[0], parts[half]), (2, 0, 1));
    }
}

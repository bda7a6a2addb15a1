//! Which tetrahedra add to which block of the stiffness matrix.
//!
//! Every block lists what adds to it, in the order of the tetrahedra. So blocks are summed up in parallel, without two threads
//! writing to one place, and to the same bits for any number of threads.

use super::element::Warped;
use crate::solve::SparseSymmetric;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Blocks or vertices handed to a thread at once.
const PER_TASK: usize = 128;

/// For every block of a matrix over the vertices, the pairs of corners that add to it.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where the contributions of each block begin.
    starts: Vec<usize>,
    /// 16 × tetrahedron + 4 × corner of the row + corner of the column.
    contributions: Vec<u32>,
    /// Position of the diagonal block of every row.
    diagonal: Vec<usize>,
}

impl Graph {
    /// The empty stiffness matrix of a mesh, and what adds to it.
    pub fn new(vertices: usize, tetrahedra: &[[u32; 4]]) -> (Self, SparseSymmetric) {
        const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let matrix = SparseSymmetric::new(vertices, tetrahedra.iter().flat_map(|t| EDGES.map(|e| e.map(|c| t[c]))));
        let at =
            |i: u32, j: u32| matrix.position(i as usize, j as usize).expect("corners of a tetrahedron are coupled");
        let mut keyed: Vec<(usize, u32)> = Vec::with_capacity(16 * tetrahedra.len());
        for (n, t) in tetrahedra.iter().enumerate() {
            for pair in 0..16 {
                keyed.push((at(t[pair / 4], t[pair % 4]), (16 * n + pair) as u32));
            }
        }
        keyed.sort_unstable();
        let starts = (0..=matrix.blocks.len()).map(|k| keyed.partition_point(|&(block, _)| block < k)).collect();
        let contributions = keyed.into_iter().map(|(_, contribution)| contribution).collect();
        let diagonal = (0..vertices as u32).map(|i| at(i, i)).collect();
        (Self { starts, contributions, diagonal }, matrix)
    }

    /// Position of the diagonal block of row `i`.
    pub fn diagonal(&self, i: usize) -> usize {
        self.diagonal[i]
    }

    /// K ← Σ stiffness of the elements.
    pub fn assemble(&self, elements: &[Warped], stiffness: &mut SparseSymmetric) {
        let blocks = stiffness.blocks.par_iter_mut().with_min_len(PER_TASK).enumerate();
        blocks.for_each(|(k, block)| {
            *block = self.at(k).fold(DMat3::ZERO, |sum, (n, a, b)| sum + elements[n].stiffness(a, b));
        });
    }

    /// Sum of the elements' forces on vertex `i`, N.
    pub fn force(&self, elements: &[Warped], i: usize) -> DVec3 {
        self.at(self.diagonal[i]).map(|(n, a, _)| elements[n].forces[a]).sum()
    }

    /// Tetrahedron, corner of the row and corner of the column of all that adds to block `k`.
    fn at(&self, k: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let list = &self.contributions[self.starts[k]..self.starts[k + 1]];
        list.iter().map(|&c| (c as usize / 16, c as usize / 4 % 4, c as usize % 4))
    }
}

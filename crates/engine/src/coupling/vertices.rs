//! Vertices of a soft body as columns of their own, for the preconditioner.
//!
//! A pressure that is the same in all cells around vertex v pushes it by w = Σ B_cv over these cells. Held by all others it moves
//! along a = A_vv⁻¹ w, and that is its column: u = a ÷ √(a·w), so that uᵀ A_vv u = 1. Vertices that no fluid touches need not stay
//! behind; what they do about it is a step of Jacobi's iteration, −A_kk⁻¹ A_kv u. With U made of such motions, the body moves
//! by U y, and no other way:
//!
//! ```text
//! ρ dx³ B U (Uᵀ A U)⁻¹ Uᵀ Bᵀ = K G⁻¹ Kᵀ ≤ ρ dx³ B A⁻¹ Bᵀ
//! ```
//!
//! K has few cells in a column, and G is sparse: vertices meet their neighbours, and through those that follow theirs as well.

use crate::solve::{Patches, Push, SparseSymmetric};
use glam::DVec3;
use rayon::prelude::*;

/// K and G of a body with the matrix `system`, whose vertices a uniform pressure pushes by `whole`; alone, each answers by `answers`.
/// `unit` is ρ dx³.
pub(super) fn patches(push: &Push, unit: f64, system: &SparseSymmetric, whole: &[DVec3], answers: &[DVec3]) -> Patches {
    let scales: Vec<f64> = whole.iter().zip(answers).map(|(w, a)| w.dot(*a)).collect();
    let moving: Vec<usize> = (0..scales.len()).filter(|&v| scales[v] > 0.0).collect();
    let mut numbers = vec![None; scales.len()];
    moving.iter().enumerate().for_each(|(number, &v)| numbers[v] = Some(number as u32));
    let motion = |v: usize| answers[v] / scales[v].sqrt();

    let mut patches = Patches::with_rows(moving.len(), push.cells.len());
    for (cell, entries) in push.rows() {
        let of_entry = |(vertex, weight): &(u32, DVec3)| {
            let v = *vertex as usize;
            numbers[v].map(|number| (number, unit.sqrt() * weight.dot(motion(v))))
        };
        patches.push(cell as u32, entries.iter().filter_map(of_entry));
    }
    let follow = |k: usize, of: DVec3| {
        let vertex = system.columns()[k] as usize;
        let own = system.blocks[system.position(vertex, vertex)?].inverse();
        numbers[vertex].is_none().then(|| (vertex, -(own * (system.blocks[k].transpose() * of))))
    };
    let motions = moving.par_iter().map(|&v| {
        let followers = system.row(v).filter_map(|k| follow(k, motion(v)));
        std::iter::once((v, motion(v))).chain(followers).collect()
    });
    patches.link(products(system, &motions.collect::<Vec<_>>()));
    patches
}

/// Uᵀ A U − 1 for sparse columns U, the lower triangle.
fn products(system: &SparseSymmetric, motions: &[Vec<(usize, DVec3)>]) -> Vec<(u32, u32, f64)> {
    let mut by_vertex = vec![Vec::new(); system.rows()];
    for (n, motion) in motions.iter().enumerate() {
        motion.iter().for_each(|&(v, x)| by_vertex[v].push((n, x)));
    }
    let of_row = |sums: &mut Vec<f64>, n: usize| {
        sums.resize(motions.len(), 0.0);
        sums[n] = -1.0;
        let mut met = vec![n];
        for &(v, x) in &motions[n] {
            for k in system.row(v) {
                let image = system.blocks[k].transpose() * x;
                for &(other, y) in by_vertex[system.columns()[k] as usize].iter().take_while(|(other, _)| *other <= n) {
                    met.push(other);
                    sums[other] += y.dot(image);
                }
            }
        }
        met.sort_unstable();
        met.dedup();
        let entry = |other: usize| (n as u32, other as u32, std::mem::take(&mut sums[other]));
        met.into_iter().map(entry).collect::<Vec<_>>()
    };
    let rows: Vec<_> = (0..motions.len()).into_par_iter().map_init(Vec::new, of_row).collect();
    rows.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DMat3;

    /// A chain of vertices that drag one another; fluid touches the first and the third.
    #[test]
    fn vertices_without_fluid_follow() {
        let mut system = SparseSymmetric::new(4, (1..4).map(|i| [i - 1, i]));
        for i in 0..4 {
            let own = system.position(i, i).unwrap();
            system.blocks[own] = 4.0 * DMat3::IDENTITY;
            if i > 0 {
                for place in [system.position(i, i - 1), system.position(i - 1, i)] {
                    system.blocks[place.unwrap()] = -DMat3::IDENTITY;
                }
            }
        }
        let push = Push { cells: vec![5, 9], starts: vec![0, 1, 2], entries: vec![(0, DVec3::X), (2, 2.0 * DVec3::X)] };
        let whole = [DVec3::X, DVec3::ZERO, 2.0 * DVec3::X, DVec3::ZERO];
        let patches = patches(&push, 9.0, &system, &whole, &whole.map(|w| w / 4.0));
        // u = ½ for both; followers move by ¼ of that.
        let rows: Vec<_> = patches.rows().map(|(cell, row)| (cell, row.to_vec())).collect();
        assert_eq!(rows, [(5, vec![(0, 1.5)]), (9, vec![(1, 3.0)])]);
        // G = ¼ (4 − 1/4) for the first, ¼ (4 − 2/4) for the one with two followers, −¼·¼ between them.
        assert_eq!(patches.links(), [(0, 0, -0.0625), (1, 0, -0.0625), (1, 1, -0.125)]);
    }
}

//! Units of few freedoms in the pressure operator: columns C = B F with F Fᵀ = ρ dx³ M̂⁻¹ (design §2).
//!
//! The fluid on constrained faces moves with a unit from now on (as in \[A18, eq. 15, 16\], but with the fluid's part of β, and eliminated),
//!
//! ```text
//! M v = M v* + Jᵀβ (u* − J v) − ρ dx³ Bᵀ p        R = (M + JᵀβJ)⁻¹
//! ```
//!
//! so that it shares its momentum with the fluid on its faces, and begins from v* + R Jᵀβ (u* − J v*).

use super::interface::FaceRow;
use crate::solve::{Block, Cholesky, Push};

/// What a unit pushes into a cell by less than this part of an open face is nothing.
/// Some thousand roundings: what a thin body on a slider pushes made a closed box look open.
const NOTHING: f64 = 1e-12;

/// Pivots below this part of their scale are round-off.
/// Some thousand roundings.
const ROUND_OFF: f64 = 1e-12;

/// The columns `rows` F with F Fᵀ = `unit` × `response`; none if nothing gives way. Spins count with `size`, m: arms are shorter. `is_spin` tells
/// which threes of freedoms are spins.
pub(super) fn columns(
    rows: &Push,
    response: &[f64],
    scale: &[f64],
    unit: f64,
    size: f64,
    is_spin: impl Fn(usize) -> bool,
    is_immersed: bool,
) -> Option<Block> {
    let scaled = |values: &[f64]| values.iter().map(|value| unit * value).collect::<Vec<_>>();
    let (rank, factor) = factor(scaled(response), &scaled(scale));
    if rank == 0 || rows.cells.is_empty() {
        return None;
    }
    // A body whose sides push the same cells, or that joints hold, may push nothing at all: no region is to give way to round-off.
    let least = |n: usize| {
        let size = if is_spin(n) { size } else { 1.0 };
        let of_column = |j: usize| (0..3).map(|a| factor[(3 * n + a) * rank + j].abs()).sum::<f64>() * size * NOTHING;
        (0..rank).map(of_column).collect::<Vec<_>>()
    };
    let least: Vec<Vec<f64>> = (0..scale.len() / 3).map(least).collect();
    let mut values = vec![0.0; rank * rows.cells.len()];
    let mut floor = vec![0.0; rank];
    for ((_, entries), row) in rows.rows().zip(values.chunks_exact_mut(rank)) {
        floor.fill(0.0);
        for (n, push) in entries {
            let f = factor[3 * *n as usize * rank..].chunks_exact(rank).take(3);
            for (f, push) in f.zip(push.to_array()) {
                row.iter_mut().zip(f).for_each(|(value, f)| *value += push * f);
            }
            floor.iter_mut().zip(&least[*n as usize]).for_each(|(floor, least)| *floor += least);
        }
        row.iter_mut().zip(&floor).filter(|(value, floor)| value.abs() <= **floor).for_each(|(value, _)| *value = 0.0);
    }
    Some(Block { cells: rows.cells.clone(), columns: rank, values, is_immersed })
}

/// J of constrained faces as rows, by the numbers of the faces from `first` on.
pub(super) fn face_rows(faces: &[FaceRow], first: usize) -> Push {
    let numbered = faces.iter().zip(first as u32..);
    Push::from_entries(
        numbered.flat_map(|(face, number)| face.row.iter().map(move |&(n, part)| (number, n, part))).collect(),
    )
}

/// (R⁻¹ + JᵀβJ)⁻¹ for the faces that a unit takes along, where R may be singular: with R = F Fᵀ it is F (1 + Fᵀ JᵀβJ F)⁻¹ Fᵀ.
pub(super) fn weigh_down(response: &[f64], scale: &[f64], faces: &[FaceRow], unit: f64) -> Vec<f64> {
    if faces.is_empty() {
        return response.to_vec();
    }
    let n = scale.len();
    let (rank, f) = factor(response.to_vec(), scale);
    let mut matrix = vec![0.0; rank * rank];
    for FaceRow { face, row, .. } in faces {
        let mut column = vec![0.0; rank];
        for (n, j) in row {
            let f = f[3 * *n as usize * rank..].chunks_exact(rank.max(1)).take(3);
            for (f, j) in f.zip(j.to_array()) {
                column.iter_mut().zip(f).for_each(|(column, f)| *column += f * j);
            }
        }
        for (row, left) in matrix.chunks_exact_mut(rank.max(1)).zip(&column) {
            row.iter_mut().zip(&column).for_each(|(a, right)| *a += unit * face.mass * left * right);
        }
    }
    for i in 0..rank {
        matrix[rank * i + i] += 1.0;
    }
    let matrix = Cholesky::new(rank, matrix);
    let mut heavier = vec![0.0; n * n];
    for (i, row) in heavier.chunks_exact_mut(n).enumerate() {
        let mut solved = f[rank * i..][..rank].to_vec();
        matrix.solve(&mut solved);
        for (value, other) in row.iter_mut().zip(f.chunks_exact(rank.max(1))) {
            *value = solved.iter().zip(other).map(|(a, b)| a * b).sum();
        }
    }
    heavier
}

/// F with F Fᵀ = A, n × rank, row after row: Cholesky with the largest pivot first.
///
/// Linear and angular freedoms have different units, and those of light and of heavy bodies different sizes, so that pivots are
/// compared with a `scale` of their own.
fn factor(mut a: Vec<f64>, scale: &[f64]) -> (usize, Vec<f64>) {
    let n = scale.len();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut left: Vec<usize> = (0..n).filter(|&i| scale[i] > 0.0).collect();
    loop {
        let share = |i: &usize| a[n * i + i] / scale[*i];
        let Some((place, &pivot)) =
            left.iter().enumerate().max_by(|x, y| share(x.1).total_cmp(&share(y.1)).then(y.0.cmp(&x.0)))
        else {
            break;
        };
        if share(&pivot) <= ROUND_OFF {
            break;
        }
        left.remove(place);
        let root = a[n * pivot + pivot].sqrt();
        let column: Vec<f64> = (0..n).map(|i| a[n * i + pivot] / root).collect();
        for i in 0..n {
            for j in 0..n {
                a[n * i + j] -= column[i] * column[j];
            }
        }
        columns.push(column);
    }
    let rank = columns.len();
    (rank, (0..n).flat_map(|i| columns.iter().map(move |column| column[i])).collect())
}

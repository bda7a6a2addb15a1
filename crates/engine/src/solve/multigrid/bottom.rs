//! Σ of a level that is small enough to be solved directly.

use super::super::dense::Cholesky;
use super::super::low_rank::{Block, LowRank};
use super::super::real::Real;
use super::level::Level;

/// Ties below this part of the diagonal count as none where a level is solved directly.
/// Single precision leaves 6e-8 of each of seven numbers.
const LEAST_TIE: f64 = 1e-6;

/// Unless together they are more than this part of those above it.
/// A choice: dropped one by one, some around a stiff body stayed and most went, and the second visit overshot.
const MANY_TIES: f64 = 0.1;

/// How much of a body's surface coarse levels may lose, as a part of all of it.
/// A choice: a piston, which does change the volume of a region, has 1.
const LOST: f64 = 0.1;

/// Of L + C Cᵀ with pockets, cells first.
pub(super) fn factorise<T: Real>(bodies: &LowRank, pockets: &[(Block, Vec<f64>)], level: &Level<T>) -> Cholesky {
    let cells = level.dims.iter().product::<usize>();
    let n = cells + pockets.len();
    let [nx, ny, _] = level.dims;
    let strides = [1, nx, nx * ny];
    let mut sigma = vec![0.0; n * n];
    // What ties cells to pockets; −w is in the columns.
    let mut ties = vec![0.0; cells];
    for (cell, value) in pockets.iter().flat_map(|(k, _)| k.rows()) {
        ties[cell] -= value[0];
    }
    // What of the diagonal ties cells to a known pressure and is so little that it may be rounding.
    let mut little = vec![0.0; n];
    level.for_each_cell(|cell, faces, inverse| {
        if inverse <= 0.0 {
            return;
        }
        // What nothing else ties must stay so to round-off: 1 ÷ `inverse` may be single precision.
        let (diagonal, sum) = (1.0 / inverse, faces.iter().sum::<f64>() + ties[cell]);
        let is_tied = diagonal - sum > LEAST_TIE * diagonal;
        sigma[n * cell + cell] = if is_tied { diagonal } else { sum };
        little[cell] = if is_tied { 0.0 } else { diagonal - sum };
        for a in (0..3).filter(|&a| faces[2 * a] != 0.0) {
            sigma[n * cell + cell - strides[a]] = -faces[2 * a];
        }
    });
    for (p, (k, _)) in pockets.iter().enumerate() {
        let row = &mut sigma[n * (cells + p)..][..n];
        k.rows().for_each(|(cell, value)| row[cell] += value[0]);
        row[cells + p] -= k.values.iter().sum::<f64>();
    }
    let closed = find_ties(n, &little, &mut sigma);
    let mut first = 0;
    for block in &bodies.blocks {
        let in_pockets = pockets.iter().enumerate().map(|(p, (_, row))| (cells + p, &row[first..][..block.columns]));
        let mut rows: Vec<(usize, Vec<f64>)> =
            block.rows().chain(in_pockets).map(|(node, row)| (node, row.to_vec())).collect();
        closed.iter().for_each(|component| balance(component, block.columns, &mut rows));
        for (node, left) in &rows {
            for (other, right) in rows.iter().filter(|(other, _)| other <= node) {
                sigma[n * node + other] += left.iter().zip(right).map(|(l, r)| l * r).sum::<f64>();
            }
        }
        first += block.columns;
    }
    Cholesky::new(n, sigma)
}

/// Sets of nodes that nothing ties to a known pressure, of a matrix whose lower triangle is given: whether each node belongs. Of the others, those get what is
/// `little` that hangs on it: a stiff body in a full box. Without it the level would give way by far too easily, and a second visit would overshoot: 2 M − M Σ M is definite
/// only for M Σ < 2.
fn find_ties(n: usize, little: &[f64], lower: &mut [f64]) -> Vec<Vec<bool>> {
    let mut is_seen = vec![false; n];
    let mut closed = Vec::new();
    for start in 0..n {
        let at = |i: usize, j: usize| lower[n * i.max(j) + i.min(j)];
        if is_seen[start] || at(start, start) == 0.0 {
            continue;
        }
        let (mut component, mut stack) = (vec![false; n], vec![start]);
        let (mut much, mut rest, mut largest) = (0.0, 0.0, 0.0_f64);
        is_seen[start] = true;
        while let Some(i) = stack.pop() {
            component[i] = true;
            let mut sum = at(i, i);
            for j in (0..n).filter(|&j| j != i && at(i, j) != 0.0) {
                sum += at(i, j);
                if !std::mem::replace(&mut is_seen[j], true) {
                    stack.push(j);
                }
            }
            much += if sum > 1e-9 * at(i, i) { sum } else { 0.0 };
            (rest, largest) = (rest + little[i], largest.max(at(i, i)));
        }
        if rest > (MANY_TIES * much).max(LEAST_TIE * largest) {
            (0..n).filter(|&i| component[i]).for_each(|i| lower[n * i + i] += little[i]);
        } else if much == 0.0 {
            closed.push(component);
        }
    }
    closed
}

/// A body that could all but not change the volume of a closed set of nodes cannot: on the way to a coarse level some rows of its
/// surface were lost, and what they are missing is shared out (see `Regions::couple`, which does the same on the finest level).
fn balance(component: &[bool], columns: usize, rows: &mut [(usize, Vec<f64>)]) {
    let sum = |column: usize| {
        let own = rows.iter().filter(|(node, _)| component[*node]).map(|(_, row)| row[column]);
        own.fold((0.0, 0.0), |(sum, size), c: f64| (sum + c, size + c.abs()))
    };
    let sums: Vec<(f64, f64)> = (0..columns).map(sum).collect();
    let largest = sums.iter().map(|sum| sum.1).fold(0.0, f64::max);
    for (_, row) in rows.iter_mut().filter(|(node, _)| component[*node]) {
        for (c, (sum, size)) in row.iter_mut().zip(&sums) {
            if sum.abs() <= LOST * largest && *size > 0.0 {
                *c -= c.abs() * sum / size;
            }
        }
    }
}

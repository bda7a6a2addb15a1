//! Many columns of few cells each: what single vertices of a soft body do to the pressures around them.
//!
//! They add K G⁻¹ Kᵀ to an operator; G tells how columns drag one another.

use super::low_rank::Block;
use super::real::Real;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Rows that are added up by one thread.
const PART: usize = 4096;

/// Sparse columns, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Patches<V = f64> {
    /// Cells of the rows, ascending.
    pub cells: Vec<u32>,
    /// Number of columns.
    pub columns: usize,
    /// The first entry of each row, and the number of entries.
    starts: Vec<usize>,
    /// A column and its value.
    entries: Vec<(u32, V)>,
    /// G − 1, row after row: row, column ≤ row, value.
    links: Vec<(u32, u32, f64)>,
}

impl<V> Default for Patches<V> {
    fn default() -> Self {
        Self { cells: Vec::new(), columns: 0, starts: vec![0], entries: Vec::new(), links: Vec::new() }
    }
}

impl<V: Real> Patches<V> {
    /// Nothing yet, with room for this many rows.
    pub fn with_rows(columns: usize, rows: usize) -> Self {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Self { cells: Vec::with_capacity(rows), columns, starts, entries: Vec::new(), links: Vec::new() }
    }

    /// Add a row, of a cell after those that there are.
    pub fn push(&mut self, cell: u32, row: impl IntoIterator<Item = (u32, V)>) {
        self.cells.push(cell);
        self.entries.extend(row);
        self.starts.push(self.entries.len());
    }

    /// Let columns drag one another: G − 1, row after row, as row, column ≤ row, value.
    pub fn link(&mut self, links: Vec<(u32, u32, f64)>) {
        self.links = links;
    }

    /// G − 1, row after row.
    pub fn links(&self) -> &[(u32, u32, f64)] {
        &self.links
    }

    /// Cells with their entries.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &[(u32, V)])> {
        let ranges = self.starts.windows(2).map(|ends| &self.entries[ends[0]..ends[1]]);
        self.cells.iter().map(|&cell| cell as usize).zip(ranges)
    }

    /// out ← out + Pᵀ x.
    pub fn add_gathered<T: Real>(&self, x: &[T], out: &mut [f64]) {
        self.add_gathered_by(|_, cell| x[cell].f64(), out);
    }

    /// The same for an x that is told by the number of the row and its cell. The same parts of the rows are always added up together.
    pub fn add_gathered_by(&self, x: impl Fn(usize, usize) -> f64 + Sync, out: &mut [f64]) {
        let of_part = |part: usize| {
            let mut sums = vec![0.0; self.columns];
            for row in (PART * part..self.cells.len()).take(PART) {
                let x = x(row, self.cells[row] as usize);
                let entries = &self.entries[self.starts[row]..self.starts[row + 1]];
                entries.iter().for_each(|(column, value)| sums[*column as usize] += value.f64() * x);
            }
            sums
        };
        let parts: Vec<Vec<f64>> = (0..self.cells.len().div_ceil(PART)).into_par_iter().map(of_part).collect();
        parts.iter().for_each(|sums| out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum));
    }

    /// x ← x − P s.
    pub fn subtract<T: Real>(&self, s: &[f64], x: &mut [T]) {
        for (cell, row) in self.rows() {
            let sum: f64 = row.iter().map(|(column, value)| value.f64() * s[*column as usize]).sum();
            x[cell] = T::of(x[cell].f64() - sum);
        }
    }

    /// The same times `factor`, in another precision.
    pub fn scaled<T: Real>(&self, factor: f64) -> Patches<T> {
        let entries = self.entries.iter().map(|(column, value)| (*column, T::of(factor * value.f64()))).collect();
        let (cells, starts, links) = (self.cells.clone(), self.starts.clone(), self.links.clone());
        Patches { cells, columns: self.columns, starts, entries, links }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        4 * self.cells.capacity()
            + 8 * self.starts.capacity()
            + size_of::<(u32, V)>() * self.entries.capacity()
            + size_of::<(u32, u32, f64)>() * self.links.capacity()
    }
}

impl Patches {
    /// K with all its zeros.
    pub fn whole(&self) -> Block {
        let mut values = vec![0.0; self.columns * self.cells.len()];
        for (out, (_, row)) in values.chunks_exact_mut(self.columns.max(1)).zip(self.rows()) {
            row.iter().for_each(|(column, value)| out[*column as usize] = *value);
        }
        Block { cells: self.cells.clone(), columns: self.columns, values, is_immersed: false }
    }

    /// Keep the rows that `keep` tells.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = Self::with_rows(self.columns, self.cells.len());
        self.rows().filter(|(cell, _)| keep(*cell)).for_each(|(cell, row)| kept.push(cell as u32, row.iter().copied()));
        kept.links = std::mem::take(&mut self.links);
        *self = kept;
    }

    /// Add the rows of some cells to those of others: where `onto` tells one, the cell has the same pressure.
    pub fn fold(&mut self, onto: impl Fn(usize) -> Option<usize>) {
        let mut rows = BTreeMap::<usize, BTreeMap<u32, f64>>::new();
        for (cell, row) in self.rows() {
            let sums = rows.entry(onto(cell).unwrap_or(cell)).or_default();
            row.iter().for_each(|(column, value)| *sums.entry(*column).or_default() += value);
        }
        let mut folded = Self::with_rows(self.columns, rows.len());
        rows.into_iter().for_each(|(cell, row)| folded.push(cell as u32, row));
        folded.links = std::mem::take(&mut self.links);
        *self = folded;
    }

    /// Add the columns of others after one's own.
    pub fn append(&mut self, other: &Self) {
        if self.columns == 0 {
            self.clone_from(other);
            return;
        }
        let mut rows = BTreeMap::<usize, Vec<(u32, f64)>>::new();
        self.rows().for_each(|(cell, row)| rows.entry(cell).or_default().extend(row));
        let behind = |(column, value): &(u32, f64)| (*column + self.columns as u32, *value);
        other.rows().for_each(|(cell, row)| rows.entry(cell).or_default().extend(row.iter().map(behind)));
        let mut all = Self::with_rows(self.columns + other.columns, rows.len());
        rows.into_iter().for_each(|(cell, row)| all.push(cell as u32, row));
        let first = self.columns as u32;
        all.links = std::mem::take(&mut self.links);
        all.links.extend(other.links.iter().map(|&(row, column, value)| (first + row, first + column, value)));
        *self = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Patches {
        let mut patches = Patches::with_rows(2, 2);
        patches.push(1, [(0, 2.0)]);
        patches.push(4, [(0, 1.0), (1, -3.0)]);
        patches.link(vec![(1, 0, -0.5)]);
        patches
    }

    #[test]
    fn products_with_columns_and_rows() {
        let (patches, x) = (two(), [9.0, 1.0, 9.0, 9.0, 2.0]);
        let mut gathered = [0.5, 0.0];
        patches.add_gathered(&x, &mut gathered);
        assert_eq!(gathered, [4.5, -6.0]);
        let mut x = x;
        patches.subtract(&[1.0, 1.0], &mut x);
        assert_eq!(x, [9.0, -1.0, 9.0, 9.0, 4.0]);
        assert_eq!(
            patches.whole(),
            Block { cells: vec![1, 4], columns: 2, values: vec![2.0, 0.0, 1.0, -3.0], is_immersed: false }
        );
    }

    #[test]
    fn rows_are_dropped_merged_and_joined() {
        let mut one = two();
        one.retain(|cell| cell > 1);
        assert_eq!(one.rows().collect::<Vec<_>>(), [(4, &[(0, 1.0), (1, -3.0)][..])]);
        let mut folded = two();
        folded.fold(|cell| (cell == 4).then_some(1));
        assert_eq!(folded.rows().collect::<Vec<_>>(), [(1, &[(0, 3.0), (1, -3.0)][..])]);
        let mut both = one;
        both.append(&two());
        let rows: Vec<_> = both.rows().collect();
        assert_eq!(rows, [(1, &[(2, 2.0)][..]), (4, &[(0, 1.0), (1, -3.0), (2, 1.0), (3, -3.0)][..])]);
        assert_eq!(both.columns, 4);
        assert_eq!(both.links(), [(1, 0, -0.5), (3, 2, -0.5)]);
    }
}

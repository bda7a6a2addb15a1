//! Patches on the finest level, smoothed like the columns of a body (`columns`), but each in its own few cells.
//!
//! Coarser levels have ties in their place: there a patch is about a cell.

use super::super::low_rank::Block;
use super::super::patches::Patches;
use super::super::real::Real;
use super::columns::{NONE, Reached, Surroundings, parents};
use super::level::Level;
use rayon::prelude::*;

/// Patches, smoothed.
#[derive(Clone, Debug, Default)]
pub(super) struct Patched<T> {
    /// The columns K.
    pub k: Patches<T>,
    /// S K.
    pub t: Patches<T>,
    /// K − L T; its rows are black cells, given by their slots.
    f: Patches<T>,
    /// For every row of `f`, the cells of the coarser level that its correction comes from, with weights.
    parents: Vec<[(u32, T); 4]>,
}

/// A sparse row.
type Row = Vec<(u32, f64)>;

/// Room to add up sparse rows.
struct Sum {
    values: Vec<f64>,
    is_met: Vec<bool>,
    met: Vec<u32>,
}

impl Sum {
    fn new(columns: usize) -> Self {
        Self { values: vec![0.0; columns], is_met: vec![false; columns], met: Vec::new() }
    }

    fn add(&mut self, factor: f64, row: &Row) {
        for &(column, value) in row {
            let at = column as usize;
            if !std::mem::replace(&mut self.is_met[at], true) {
                self.met.push(column);
            }
            self.values[at] += factor * value;
        }
    }

    /// `factor` times the sum; the next one begins at zero.
    fn take(&mut self, factor: f64) -> Row {
        let Self { values, is_met, met } = self;
        met.drain(..)
            .map(|column| {
                is_met[column as usize] = false;
                (column, factor * std::mem::take(&mut values[column as usize]))
            })
            .collect()
    }
}

impl<T: Real> Patched<T> {
    /// Smooth patches on `fine`, whose coarser level is `coarse`.
    pub fn new(k: &Patches, fine: &Level<T>, coarse: &Level<T>) -> Self {
        if k.columns == 0 {
            return Self::default();
        }
        let here = Surroundings::new(&k.cells, fine);
        let mut x = vec![Row::new(); here.cells.len()];
        for (cell, row) in k.rows() {
            x[here.number(cell).expect("patches live on unknowns")] = row.to_vec();
        }
        // Red, black, red again, and what that leaves in black cells.
        for &n in &here.red {
            x[n].iter_mut().for_each(|(_, value)| *value *= here.cells[n].inverse);
        }
        let black = |Reached { inverse, .. }: &Reached, own: &Row, sum: &mut Sum| {
            sum.add(1.0, own);
            sum.take(*inverse)
        };
        update(&here, &here.black, &mut x, k.columns, black);
        let before: Vec<Row> = here.red.iter().map(|&n| std::mem::take(&mut x[n])).collect();
        update(&here, &here.red, &mut x, k.columns, |cell, _, sum| sum.take(cell.inverse));
        let mut left = x.clone();
        update(&here, &here.black, &mut left, k.columns, |_, _, sum| sum.take(1.0));
        let mut sum = Sum::new(k.columns);
        for (&n, before) in here.red.iter().zip(&before) {
            sum.add(1.0, before);
            sum.add(1.0, &x[n]);
            x[n] = sum.take(1.0);
        }
        let rows = |from: &[Row], cells: &mut dyn Iterator<Item = usize>, name: &dyn Fn(usize) -> usize| {
            let mut rows = Patches::with_rows(k.columns, from.len());
            for n in cells.filter(|&n| !from[n].is_empty()) {
                rows.push(name(n) as u32, from[n].iter().map(|&(column, value)| (column, T::of(value))));
            }
            rows
        };
        Self {
            k: k.scaled(1.0),
            t: rows(&x, &mut (0..x.len()), &|n| here.cell(n)),
            f: rows(&left, &mut here.black.iter().copied(), &|n| here.slot(n)),
            parents: here
                .black
                .iter()
                .filter(|&&n| !left[n].is_empty())
                .map(|&n| parents(&here.cells[n], coarse).map(|(cell, weight)| (cell as u32, T::of(weight))))
                .collect(),
        }
    }

    /// out ← out + Fᵀ x, x being the values of black cells with the correction `e` from the coarser level.
    pub fn add_left(&self, black: &[T], e: &[T], out: &mut [f64]) {
        let x = |row: usize, slot: usize| {
            let of_parent = |(cell, weight): &(u32, T)| weight.f64() * e[*cell as usize].f64();
            black[slot].f64() + self.parents[row].iter().map(of_parent).sum::<f64>()
        };
        self.f.add_gathered_by(x, out);
    }

    /// Kᵀ T of the patches, and below them (columns of `others`)ᵀ T; `h` has rows of `columns`.
    pub fn products<'a>(&self, h: &mut [f64], columns: usize, others: impl Iterator<Item = &'a Block<T>>) {
        for (row, smoothed) in shared(self.k.rows(), &self.t) {
            for (own, left) in row {
                let h = &mut h[columns * *own as usize..][..columns];
                smoothed.iter().for_each(|(column, value)| h[*column as usize] += left.f64() * value.f64());
            }
        }
        let mut first = self.k.columns;
        for block in others {
            for (row, smoothed) in shared(block.rows(), &self.t) {
                for (left, h) in row.iter().zip(h[columns * first..].chunks_exact_mut(columns)) {
                    smoothed.iter().for_each(|(column, value)| h[*column as usize] += left.f64() * value.f64());
                }
            }
            first += block.columns;
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.k.bytes() + self.t.bytes() + self.f.bytes() + size_of::<[(u32, T); 4]>() * self.parents.capacity()
    }
}

/// Rows that belong to cells which `t` reaches, with those of `t`.
fn shared<'a, R: 'a, T: Real>(
    rows: impl Iterator<Item = (usize, &'a [R])>,
    t: &'a Patches<T>,
) -> impl Iterator<Item = (&'a [R], &'a [(u32, T)])> {
    let mut others = t.rows().peekable();
    rows.filter_map(move |(cell, row)| {
        while others.next_if(|(other, _)| *other < cell).is_some() {}
        others.next_if(|(other, _)| *other == cell).map(|(_, smoothed)| (row, smoothed))
    })
}

/// New rows of some cells from Σ a x over the neighbours and their own.
fn update(
    here: &Surroundings,
    cells: &[usize],
    x: &mut [Row],
    columns: usize,
    f: impl Fn(&Reached, &Row, &mut Sum) -> Row + Sync,
) {
    let of_cell = |sum: &mut Sum, &n: &usize| {
        let cell = &here.cells[n];
        for (&face, &beside) in cell.faces.iter().zip(&cell.beside).filter(|(_, beside)| **beside != NONE) {
            sum.add(face, &x[beside as usize]);
        }
        f(cell, &x[n], sum)
    };
    let rows: Vec<Row> = cells.par_iter().with_min_len(512).map_init(|| Sum::new(columns), of_cell).collect();
    cells.iter().zip(rows).for_each(|(&n, row)| x[n] = row);
}

//! Patches on the finest level, smoothed like the columns of a body (`columns`), but each in its own few cells.
//!
//! Coarser levels have ties in their place: there a patch is about a cell.

use super::super::low_rank::Block;
use super::super::patches::Patches;
use super::super::real::Real;
use super::columns::{NONE, Reached, Surroundings, parents_of};
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

/// Sparse rows of some cells, in the order of the cells.
struct Rows {
    /// The first entry of each row, and the number of entries.
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

/// Cells whose rows one thread makes at once.
const CELLS_PER_TASK: usize = 1024;

impl Rows {
    /// Rows of `cells`: what `f` adds up for each, times the factor that it returns.
    fn new(cells: &[usize], columns: usize, f: impl Fn(usize, &mut Sum) -> f64 + Sync) -> Self {
        let of_part = |cells: &[usize]| {
            let (mut sum, mut ends, mut entries) = (Sum::new(columns), Vec::with_capacity(cells.len()), Vec::new());
            for &n in cells {
                let factor = f(n, &mut sum);
                sum.take(factor, &mut entries);
                ends.push(entries.len());
            }
            (ends, entries)
        };
        let parts: Vec<_> = cells.par_chunks(CELLS_PER_TASK).map(of_part).collect();
        let mut rows = Self { starts: vec![0], entries: Vec::with_capacity(parts.iter().map(|(_, e)| e.len()).sum()) };
        for (ends, entries) in parts {
            let before = rows.entries.len();
            rows.starts.extend(ends.iter().map(|end| before + end));
            rows.entries.extend(entries);
        }
        rows
    }

    fn row(&self, n: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[n]..self.starts[n + 1]]
    }
}

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

    fn add(&mut self, factor: f64, row: &[(u32, f64)]) {
        for &(column, value) in row {
            let at = column as usize;
            if !std::mem::replace(&mut self.is_met[at], true) {
                self.met.push(column);
            }
            self.values[at] += factor * value;
        }
    }

    /// Write down `factor` times the sum; the next one begins at zero.
    fn take(&mut self, factor: f64, entries: &mut Vec<(u32, f64)>) {
        let Self { values, is_met, met } = self;
        entries.extend(met.drain(..).map(|column| {
            is_met[column as usize] = false;
            (column, factor * std::mem::take(&mut values[column as usize]))
        }));
    }
}

impl<T: Real> Patched<T> {
    /// Smooth patches on `fine`, whose coarser level is `coarse`.
    pub fn new(k: &Patches, fine: &Level<T>, coarse: &Level<T>) -> Self {
        if k.columns == 0 {
            return Self::default();
        }
        let here = Surroundings::new(&k.cells, fine);
        let mut own = vec![&[][..]; here.cells.len()];
        k.rows().for_each(|(cell, row)| own[here.number(cell).expect("patches live on unknowns")] = row);
        // Rows are kept by colour: the neighbours of red cells are black.
        let mut places = vec![0; here.cells.len()];
        for colour in [&here.red, &here.black] {
            colour.iter().enumerate().for_each(|(place, &n)| places[n] = place);
        }
        let add_around = |n: usize, of_others: &Rows, sum: &mut Sum| {
            let Reached { faces, beside, .. } = &here.cells[n];
            for (&face, &beside) in faces.iter().zip(beside).filter(|(_, beside)| **beside != NONE) {
                sum.add(face, of_others.row(places[beside as usize]));
            }
        };
        // Red, black, red again, and what that leaves in black cells.
        let red = Rows::new(&here.red, k.columns, |n, sum| {
            sum.add(1.0, own[n]);
            here.cells[n].inverse
        });
        let black = Rows::new(&here.black, k.columns, |n, sum| {
            add_around(n, &red, sum);
            sum.add(1.0, own[n]);
            here.cells[n].inverse
        });
        let change = Rows::new(&here.red, k.columns, |n, sum| {
            add_around(n, &black, sum);
            here.cells[n].inverse
        });
        let left = Rows::new(&here.black, k.columns, |n, sum| {
            add_around(n, &change, sum);
            1.0
        });
        let red = Rows::new(&here.red, k.columns, |n, sum| {
            sum.add(1.0, red.row(places[n]));
            sum.add(1.0, change.row(places[n]));
            1.0
        });
        let mut t = Patches::with_rows(k.columns, here.cells.len());
        let rounded = |&(column, value): &(u32, f64)| (column, T::of(value));
        for (n, &place) in places.iter().enumerate() {
            let row = if here.is_red(n) { &red } else { &black }.row(place);
            if !row.is_empty() {
                t.push(here.cell(n) as u32, row.iter().map(rounded));
            }
        }
        let (mut f, mut parents) = (Patches::with_rows(k.columns, here.black.len()), Vec::new());
        for (place, &n) in here.black.iter().enumerate().filter(|(place, _)| !left.row(*place).is_empty()) {
            f.push(here.slot(n) as u32, left.row(place).iter().map(rounded));
            parents.push(parents_of(&here.cells[n], coarse).map(|(cell, weight)| (cell as u32, T::of(weight))));
        }
        Self { k: k.scaled(1.0), t, f, parents }
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

    /// Memory, bytes.
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

//! Seven-point stencils stored by the row, at no cost where they are uniform.
//!
//! The network couples neighbouring cells by conductances a_f ≥ 0 and ties cells to zero by d_c ≥ 0. Far from
//! obstacles these are the same in cell after cell, so a row of cells (along x) is cut into *spans*: a uniform span
//! keeps a handful of numbers, a packed span keeps the numbers of every cell, one slice per number. A sweep
//! over a uniform span reads no coefficients at all, which is most of what makes the solver fast.
//!
//! Axes of one cell are squeezed out first: an nx × ny × 1 grid and an nx × 1 × ny grid are the same memory, and only
//! the second has planes to share among threads.

use crate::grid::{CellField, FaceField};

/// Borrowed conductances of one grid. Faces on the outside of the grid are never read.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    /// Cells along each (squeezed) axis.
    pub dims: [usize; 3],
    /// Conductances of the faces across each axis, face i between cells i−1 and i; empty for a flat axis.
    pub faces: [&'a [f64]; 3],
    /// Tie to zero of every cell.
    pub extra: &'a [f64],
}

/// The seven coefficients over one row of cells. Missing neighbours have zeros.
pub(super) struct Row<'a> {
    /// Faces across x, one more than cells; the two ends are outside and not to be read.
    pub x: &'a [f64],
    /// y−, y+, z−, z+.
    pub sides: [&'a [f64]; 4],
    /// Tie to zero.
    pub extra: &'a [f64],
}

impl Row<'_> {
    /// x−, x+, y−, y+, z−, z+ of cell i.
    pub fn faces(&self, i: usize) -> [f64; 6] {
        let [a, b, c, d] = self.sides.map(|s| s[i]);
        [if i > 0 { self.x[i] } else { 0.0 }, if i + 1 < self.extra.len() { self.x[i + 1] } else { 0.0 }, a, b, c, d]
    }
}

impl<'a> Network<'a> {
    /// The network of a MAC grid, flat axes squeezed out.
    pub fn new(faces: &'a FaceField<f64>, extra: &'a CellField<f64>) -> Self {
        let mut dims = [1; 3];
        let mut slices: [&[f64]; 3] = [&[]; 3];
        let long: Vec<usize> = (0..3).filter(|&a| faces.dims[a] > 1).collect();
        // Two long axes become x and z: threads share the planes across z.
        let places: &[usize] = if long.len() == 2 { &[0, 2] } else { &[0, 1, 2] };
        for (&axis, &place) in long.iter().zip(places) {
            dims[place] = faces.dims[axis];
            slices[place] = &faces.axes[axis];
        }
        Self { dims, faces: slices, extra: &extra.data }
    }

    /// The coefficients of row (j, k); `zeros` stands in for what is missing.
    pub fn row(&self, j: usize, k: usize, zeros: &'a [f64]) -> Row<'a> {
        let [nx, ny, nz] = self.dims;
        let zeros = &zeros[..nx + 1];
        let x = if nx > 1 { &self.faces[0][(nx + 1) * (j + ny * k)..][..nx + 1] } else { zeros };
        let y = |inside: bool, j: usize| {
            if inside { &self.faces[1][nx * (j + (ny + 1) * k)..][..nx] } else { &zeros[..nx] }
        };
        let z = |inside: bool, k: usize| if inside { &self.faces[2][nx * (j + ny * k)..][..nx] } else { &zeros[..nx] };
        let sides = [y(j > 0, j), y(j + 1 < ny, j + 1), z(k > 0, k), z(k + 1 < nz, k + 1)];
        Row { x, sides, extra: &self.extra[nx * (j + ny * k)..][..nx] }
    }
}

/// Cells `start..end` of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<U> {
    /// First cell; always even, so that pairs of cells stay together.
    pub start: u32,
    /// One past the last cell.
    pub end: u32,
    /// Its coefficients.
    pub kind: Kind<U>,
}

/// How the coefficients of a span are kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind<U> {
    /// The same in every cell.
    Uniform(U),
    /// Slices of the plane's `packed` array from this offset on; the layout is up to the plane's owner.
    Packed(usize),
}

/// Coefficients shared by all cells of a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uniform {
    /// Faces across x inside the span.
    pub x: f64,
    /// The face before the first and after the last cell.
    pub ends: [f64; 2],
    /// y−, y+, z−, z+.
    pub sides: [f64; 4],
    /// Tie to zero of the first, of an inner and of the last cell: rows often end at an open side.
    pub extra: [f64; 3],
}

/// Sum of the conductances x−, x+, y−, y+, z−, z+; always in the same order, so that what is left of a diagonal is the tie, exactly.
pub(super) fn total(faces: &[f64; 6]) -> f64 {
    (faces[0] + faces[1]) + (faces[2] + faces[3] + faces[4] + faces[5])
}

impl Uniform {
    /// Diagonal of the first, of an inner and of the last cell.
    pub fn diagonals(&self) -> [f64; 3] {
        let [a, b, c, d] = self.sides;
        let x = [[self.ends[0], self.x], [self.x, self.x], [self.x, self.ends[1]]];
        std::array::from_fn(|n| total(&[x[n][0], x[n][1], a, b, c, d]) + self.extra[n])
    }

    /// Whether no cell of the span couples to anything.
    pub fn is_void(&self) -> bool {
        self.diagonals() == [0.0; 3]
    }
}

/// The rows of one plane of cells: uniform spans hold a `U`, packed ones scalars `T`.
#[derive(Clone, Debug)]
pub(super) struct Plane<U, T> {
    /// First span of each row, and the number of spans.
    pub starts: Vec<u32>,
    /// Spans of all rows.
    pub spans: Vec<Span<U>>,
    /// Coefficients of packed spans.
    pub packed: Vec<T>,
}

impl<U, T> Default for Plane<U, T> {
    fn default() -> Self {
        Self { starts: Vec::new(), spans: Vec::new(), packed: Vec::new() }
    }
}

impl<U, T> Plane<U, T> {
    /// Spans of row j, in order; together they cover the row.
    #[inline]
    pub fn row(&self, j: usize) -> &[Span<U>] {
        &self.spans[self.starts[j] as usize..self.starts[j + 1] as usize]
    }

    /// Forget everything, keep the memory.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.spans.clear();
        self.packed.clear();
    }

    /// Heap bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.starts.capacity()
            + size_of::<Span<U>>() * self.spans.capacity()
            + size_of::<T>() * self.packed.capacity()
    }
}

/// Cells looked at together when a row is cut into spans.
const BLOCK: usize = 16;

/// Cut a row into spans: `visit(start, end, coefficients)` with `None` where they vary.
pub(super) fn cut(row: &Row, mut visit: impl FnMut(usize, usize, Option<Uniform>)) {
    let n = row.extra.len();
    let mut open: Option<(usize, Option<Uniform>)> = None;
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let block = uniform(row, start, end);
        open = match (open, block) {
            (Some((from, None)), None) => Some((from, None)),
            (Some((from, Some(a))), Some(b)) if joins(&a, &b) => {
                let extra = [a.extra[0], a.extra[1], b.extra[2]];
                Some((from, Some(Uniform { ends: [a.ends[0], b.ends[1]], extra, ..a })))
            }
            (previous, block) => {
                if let Some((from, kind)) = previous {
                    visit(from, start, kind);
                }
                Some((start, block))
            }
        };
    }
    if let Some((from, kind)) = open {
        visit(from, n, kind);
    }
}

/// Whether two neighbouring uniform spans are one.
fn joins(a: &Uniform, b: &Uniform) -> bool {
    a.x == b.x && a.ends[1] == a.x && a.sides == b.sides && a.extra[1..] == [b.extra[0]; 2] && b.extra[0] == b.extra[1]
}

/// The coefficients of cells `start..end` if all are alike. Odd remainders of a row are packed, to keep pairs whole.
fn uniform(row: &Row, start: usize, end: usize) -> Option<Uniform> {
    let n = row.extra.len();
    if !(end - start).is_multiple_of(2) {
        return None;
    }
    let alike = |slice: &[f64]| slice.iter().fold(true, |same, v| same & (*v == slice[0]));
    let inner = &row.x[start + 1..end];
    let ties = &row.extra[start..end];
    // Two cells have no inner one; the first stands in.
    let inner_ties = if ties.len() > 2 { &ties[1..ties.len() - 1] } else { &ties[..1] };
    let same = alike(inner) && row.sides.iter().all(|s| alike(&s[start..end])) && alike(inner_ties);
    let uniform = Uniform {
        x: inner[0],
        ends: [if start > 0 { row.x[start] } else { 0.0 }, if end < n { row.x[end] } else { 0.0 }],
        sides: row.sides.map(|s| s[start]),
        extra: [ties[0], inner_ties[0], ties[ties.len() - 1]],
    };
    // Either every cell is an unknown or none is.
    let tied_alike = uniform.extra.map(|d| d > 0.0) == [uniform.extra[1] > 0.0; 3];
    let connected = uniform.x != 0.0 || uniform.sides != [0.0; 4] || tied_alike;
    (same && connected && (uniform.diagonals()[1] != 0.0 || uniform.is_void())).then_some(uniform)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells 0..40 with one odd face: what is alike on both sides of it stays uniform, in blocks.
    #[test]
    fn a_row_is_cut_where_coefficients_vary() {
        let mut x = vec![1.0; 41];
        x[20] = 0.5;
        let side = vec![2.0; 40];
        let extra = vec![0.0; 40];
        let row = Row { x: &x, sides: [&side; 4], extra: &extra };
        let mut spans = Vec::new();
        cut(&row, |start, end, uniform| spans.push((start, end, uniform)));
        let alike = Uniform { x: 1.0, ends: [0.0, 1.0], sides: [2.0; 4], extra: [0.0; 3] };
        assert_eq!(
            spans,
            [(0, 16, Some(alike)), (16, 32, None), (32, 40, Some(Uniform { ends: [1.0, 0.0], ..alike }))]
        );
    }

    /// An open side ties the end of every row to zero: the row stays one span.
    #[test]
    fn the_ends_of_a_row_may_be_tied() {
        let (x, side) = (vec![1.0; 49], vec![1.0; 48]);
        let mut extra = vec![0.0; 48];
        (extra[0], extra[47]) = (2.0, 1.0);
        let spans = |extra: &[f64]| {
            let mut spans = Vec::new();
            let row = Row { x: &x, sides: [&side; 4], extra };
            cut(&row, |start, end, uniform| spans.push((start, end, uniform.map(|u| u.extra))));
            spans
        };
        assert_eq!(spans(&extra), [(0, 48, Some([2.0, 0.0, 1.0]))]);
        extra[16] = 3.0;
        assert_eq!(spans(&extra), [(0, 16, Some([2.0, 0.0, 0.0])), (16, 48, Some([3.0, 0.0, 1.0]))]);
    }

    /// A face between two blocks may differ: it is the end of both. Solid cells are one void span.
    #[test]
    fn ends_of_spans_are_their_own() {
        let mut x = vec![0.0; 33];
        x[16] = 3.0;
        let (mut side, zero) = (vec![0.0; 32], vec![0.0; 32]);
        side[16..].fill(1.0);
        let row = Row { x: &x, sides: [&side, &zero, &zero, &zero], extra: &zero };
        let mut ends = Vec::new();
        // The first block has one unknown only, at its end: neither void nor all unknown, so it is packed.
        cut(&row, |_, _, uniform| ends.push(uniform.map(|u| u.ends)));
        assert_eq!(ends, [None, Some([3.0, 0.0])]);
        x[16] = 0.0;
        let row = Row { x: &x, sides: [&side, &zero, &zero, &zero], extra: &zero };
        let mut void = Vec::new();
        cut(&row, |_, _, uniform| void.push(uniform.unwrap().is_void()));
        assert_eq!(void, [true, false]);
    }
}

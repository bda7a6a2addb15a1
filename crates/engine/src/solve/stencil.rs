//! Seven-point stencils stored by the row, at no cost where they are uniform.
//!
//! The network couples neighbouring cells by conductances a_f ≥ 0 and ties cells to zero by d_c ≥ 0. Far from
//! obstacles these are the same in cell after cell, so a row of cells (along x) is cut into *spans*: a uniform span
//! keeps a handful of numbers, a packed span keeps the numbers of every cell, one slice per number. A sweep
//! over a uniform span reads no coefficients at all, which is most of what makes the solver fast. Where a few cells differ, as at
//! the surface of a body, the uniform span goes on beneath them and short spans are *laid on it*: loops that write each cell anew
//! simply do them afterwards.
//!
//! Axes of one cell are squeezed out first: an nx × ny × 1 grid and an nx × 1 × ny grid are the same memory, and only
//! the second has planes to share among threads.

use crate::grid::{CellField, FaceField};
use std::ops::Range;

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

/// The rows of one plane of cells: uniform spans have a `U`, packed ones scalars `T`.
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
    /// Spans of row j; together they cover the row. Those laid on a uniform span follow it and take the place of its cells.
    #[inline]
    pub fn row(&self, j: usize) -> &[Span<U>] {
        &self.spans[self.starts[j] as usize..self.starts[j + 1] as usize]
    }

    /// Cells of row j in order, piece by piece, with the span that tells their coefficients.
    pub fn pieces(&self, j: usize) -> impl Iterator<Item = (Range<usize>, &Span<U>)> {
        let mut spans = self.row(j).iter().peekable();
        let mut beneath: Option<&Span<U>> = None;
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let start = next;
                let (end, from) = match (beneath, spans.peek()) {
                    (Some(base), Some(on)) if on.start < base.end => {
                        if start < on.start {
                            (on.start, base)
                        } else {
                            let on = spans.next()?;
                            (on.end, on)
                        }
                    }
                    (Some(base), _) if start < base.end => (base.end, base),
                    _ => {
                        beneath = Some(spans.next()?);
                        continue;
                    }
                };
                next = end;
                return Some((start as usize..end as usize, from));
            }
        })
    }

    /// Forget everything, keep the memory.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.spans.clear();
        self.packed.clear();
    }

    /// Memory on the heap, bytes.
    pub fn bytes(&self) -> usize {
        4 * self.starts.capacity()
            + size_of::<Span<U>>() * self.spans.capacity()
            + size_of::<T>() * self.packed.capacity()
    }
}

/// Cells looked at together when a row is cut into spans.
/// A choice of speed alone, as [`GAP`] and [`LEAST_VOID`] are.
const BLOCK: usize = 16;

/// Cells `start..end` of a row and their coefficients, `None` where they vary.
type Stretch = (usize, usize, Option<Uniform>);

/// Cut a row into spans: `visit(start, end, coefficients)` with `None` where they vary. What is laid on a span follows it.
pub(super) fn cut(row: &Row, mut visit: impl FnMut(usize, usize, Option<Uniform>)) {
    let blocks = stretches(row);
    if let [(start, end, kind @ Some(_))] = blocks[..] {
        return visit(start, end, kind);
    }
    let (mut spans, mut laid): (Vec<Stretch>, Vec<Stretch>) = (Vec::with_capacity(blocks.len()), Vec::new());
    for (n, &(start, end, kind)) in blocks.iter().enumerate() {
        let kind = kind.or_else(|| {
            let beside = [blocks.get(n.wrapping_sub(1)), blocks.get(n + 1)];
            lay(row, start, end, beside.into_iter().flatten().filter_map(|block| block.2), &mut laid)
        });
        match (spans.last_mut(), kind) {
            (Some((_, last, Some(a))), Some(b)) if joins(a, &b) => {
                *last = end;
                (a.ends[1], a.extra[2]) = (b.ends[1], b.extra[2]);
            }
            _ => spans.push((start, end, kind)),
        }
    }
    let mut laid = laid.into_iter().peekable();
    for (start, end, kind) in spans {
        visit(start, end, kind);
        while let Some((start, end, kind)) = laid.next_if(|on| on.0 < end) {
            visit(start, end, kind);
        }
    }
}

/// The row by blocks; those that are uniform, or are not, and follow each other are one stretch.
fn stretches(row: &Row) -> Vec<Stretch> {
    let n = row.extra.len();
    let mut stretches: Vec<Stretch> = Vec::new();
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let block = uniform(row, start, end);
        match (stretches.last_mut(), block) {
            (Some((_, last, None)), None) => *last = end,
            (Some((_, last, Some(a))), Some(b)) if joins(a, &b) => {
                *last = end;
                (a.ends[1], a.extra[2]) = (b.ends[1], b.extra[2]);
            }
            _ => stretches.push((start, end, block)),
        }
    }
    stretches
}

/// What a pair of cells is, seen from a uniform span beneath.
#[derive(Clone, Copy, PartialEq)]
enum Pair {
    Alike,
    Odd,
    Void,
}

/// Alike cells between odd ones count as odd up to this many: a span costs more than a few cells.
/// A choice of speed alone.
const GAP: usize = 4;

/// Cells that are no unknowns are a span of their own from this many on.
/// A choice of speed alone, likewise.
const LEAST_VOID: usize = 8;

/// The uniform span that cells `start..end`, which vary, can be laid on, if most of them are like it; `beside` are the spans around.
/// The cells that differ go to `laid`.
fn lay(
    row: &Row,
    start: usize,
    end: usize,
    mut beside: impl Iterator<Item = Uniform>,
    laid: &mut Vec<Stretch>,
) -> Option<Uniform> {
    if !(end - start).is_multiple_of(2) {
        return None;
    }
    let n = row.extra.len();
    let of_cell = |i: usize| (row.faces(i)[1], row.sides.map(|s| s[i]), row.extra[i]);
    let inner = beside.find(|u| u.x > 0.0).map(|u| (u.x, u.sides, u.extra[1]));
    let inside = || [start + 2, end - 2].into_iter().filter(|&i| i + 1 < end).map(of_cell).find(|inner| inner.0 > 0.0);
    let (x, sides, tie) = inner.or_else(inside)?;
    let ends = [if start > 0 { row.x[start] } else { 0.0 }, if end < n { row.x[end] } else { 0.0 }];
    let base = Uniform { x, ends, sides, extra: [tie; 3] };
    let [a, b, c, d] = sides;
    let differs = |i: usize| {
        let (left, right) = (if i == start { ends[0] } else { x }, if i + 1 == end { ends[1] } else { x });
        row.faces(i) != [left, right, a, b, c, d] || row.extra[i] != tie
    };
    let is_void = |i: usize| row.faces(i) == [0.0; 6] && row.extra[i] == 0.0;
    let pair = |i: usize| {
        if !differs(i) && !differs(i + 1) {
            Pair::Alike
        } else if is_void(i) && is_void(i + 1) {
            Pair::Void
        } else {
            Pair::Odd
        }
    };
    let mut runs: Vec<(usize, usize, Pair)> = Vec::new();
    for i in (start..end).step_by(2) {
        push(&mut runs, (i, i + 2, pair(i)));
    }
    let mut merged = Vec::new();
    for &(from, to, kind) in &runs {
        let is_short = match kind {
            Pair::Alike => to - from <= GAP && from > start && to < end,
            Pair::Odd => false,
            Pair::Void => to - from < LEAST_VOID,
        };
        push(&mut merged, (from, to, if is_short { Pair::Odd } else { kind }));
    }
    let odd: usize = merged.iter().filter(|run| run.2 == Pair::Odd).map(|run| run.1 - run.0).sum();
    if 2 * odd > end - start {
        return None;
    }
    let void = Uniform { x: 0.0, ends: [0.0; 2], sides: [0.0; 4], extra: [0.0; 3] };
    let on_top = merged.into_iter().filter(|run| run.2 != Pair::Alike);
    laid.extend(on_top.map(|(from, to, kind)| (from, to, (kind == Pair::Void).then_some(void))));
    Some(base)
}

/// Append a run; what is of the same kind is one.
fn push(runs: &mut Vec<(usize, usize, Pair)>, run: (usize, usize, Pair)) {
    match runs.last_mut() {
        Some(last) if last.2 == run.2 => last.1 = run.1,
        _ => runs.push(run),
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

    /// Cells 0..40 with one odd face: the two cells beside it are laid on one uniform span.
    #[test]
    fn cells_that_differ_are_laid_on_the_others() {
        let mut x = vec![1.0; 41];
        x[20] = 0.5;
        let side = vec![2.0; 40];
        let extra = vec![0.0; 40];
        let row = Row { x: &x, sides: [&side; 4], extra: &extra };
        let mut spans = Vec::new();
        cut(&row, |start, end, uniform| spans.push((start, end, uniform)));
        let alike = Uniform { x: 1.0, ends: [0.0; 2], sides: [2.0; 4], extra: [0.0; 3] };
        assert_eq!(spans, [(0, 40, Some(alike)), (18, 22, None)]);
    }

    /// A body between cells 12 and 30, its surface one cell thick: the cells that it fills are void.
    #[test]
    fn a_body_is_laid_on_the_fluid_around_it() {
        let fill = |at: usize| if (13..30).contains(&at) { 0.0 } else { 1.0 };
        let x: Vec<f64> = (0..49).map(fill).collect();
        let mut side: Vec<f64> = (0..48).map(fill).collect();
        (side[12], side[30]) = (0.25, 0.75);
        let extra = vec![0.0; 48];
        let row = Row { x: &x, sides: [&side; 4], extra: &extra };
        let mut plane = Plane::<Uniform, f64> { starts: vec![0], ..Plane::default() };
        cut(&row, |start, end, uniform| {
            let kind = uniform.map_or(Kind::Packed(0), Kind::Uniform);
            plane.spans.push(Span { start: start as u32, end: end as u32, kind });
        });
        plane.starts.push(plane.spans.len() as u32);
        let spans: Vec<(u32, u32)> = plane.spans.iter().map(|span| (span.start, span.end)).collect();
        assert_eq!(spans, [(0, 48), (12, 14), (14, 28), (28, 32)]);
        assert!(matches!(plane.spans[2].kind, Kind::Uniform(u) if u.is_void()));
        let pieces: Vec<(Range<usize>, u32)> = plane.pieces(0).map(|(cells, span)| (cells, span.start)).collect();
        assert_eq!(pieces, [(0..12, 0), (12..14, 12), (14..28, 14), (28..32, 28), (32..48, 0)]);
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

//! One row of one colour: the innermost loops of the cycle.
//!
//! Cells are coloured like a chess board, red where i + j + k is even. A sweep over one colour needs the values of the
//! other colour only, so fields are kept per colour: a row of n cells becomes ⌈n/2⌉ *slots*, slot m having cell 2m or
//! 2m+1, whichever has the colour. With `parity` the one it is (0 or 1), the neighbours along x are slots m+parity−1
//! and m+parity of the other colour, and those across y and z are slots m of the neighbouring rows: no stride, no mask.

use super::super::laplacian::packed;
use super::super::real::Real;
use super::super::stencil::{Kind, Network, Plane, Span, Uniform, cut, total};

/// Numbers kept per cell of a packed span: x−, x+, y−, y+, z−, z+, 1 ÷ diagonal, and the interpolation factor. All even
/// cells come first, then all odd ones: number by number, or cell by cell if the span is short.
const PACK: usize = 8;

/// Where the numbers of cell i of a packed span of `slots` slots are: the first, and how far apart they are.
fn place(slots: usize, i: usize) -> (usize, usize) {
    let (first, m) = (PACK * slots * (i % 2), i / 2);
    if slots < LANES { (first + PACK * m, 1) } else { (first + m, slots) }
}

/// A uniform span as the smoother needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Smooth<T> {
    x: T,
    ends: [T; 2],
    sides: [T; 4],
    /// 1 ÷ diagonal of the first, of an inner and of the last cell.
    inverse: [T; 3],
    /// What the tie to zero leaves of a correction interpolated from the coarser level, in the same three.
    factor: [T; 3],
}

/// The rows of the other colour around one row.
#[derive(Clone, Copy)]
pub(super) struct Around<'a, T> {
    /// The same row, with one slot more at either end.
    pub own: &'a [T],
    /// y−, y+, z−, z+; any row where there is none, its coefficient is zero.
    pub sides: [&'a [T]; 4],
}

/// Fill a plane from the conductances of plane k, all divided by `unit`.
pub(super) fn build_plane<T: Real>(
    network: &Network,
    k: usize,
    unit: f64,
    zeros: &[f64],
    plane: &mut Plane<Smooth<T>, T>,
) {
    plane.clear();
    for j in 0..network.dims[1] {
        plane.starts.push(plane.spans.len() as u32);
        let row = network.row(j, k, zeros);
        cut(&row, |start, end, uniform| {
            let kind = match uniform {
                Some(u) => Kind::Uniform(smooth(&u, unit)),
                None => Kind::Packed(pack(end - start, unit, plane, |i| (row.faces(start + i), row.extra[start + i]))),
            };
            plane.spans.push(Span { start: start as u32, end: end as u32, kind });
        });
    }
    plane.starts.push(plane.spans.len() as u32);
}

/// Fill a plane from one of the pressure operator, all divided by `unit`.
pub(super) fn convert_plane<T: Real>(from: &Plane<Uniform, f64>, unit: f64, plane: &mut Plane<Smooth<T>, T>) {
    plane.clear();
    plane.starts.extend_from_slice(&from.starts);
    for span in &from.spans {
        let kind = match span.kind {
            Kind::Uniform(u) => Kind::Uniform(smooth(&u, unit)),
            Kind::Packed(_) => {
                let c = packed(from, span);
                Kind::Packed(pack((span.end - span.start) as usize, unit, plane, |i| {
                    let faces = [c[0][i], c[1][i], c[2][i], c[3][i], c[4][i], c[5][i]];
                    (faces, c[6][i] - total(&faces))
                }))
            }
        };
        plane.spans.push(Span { start: span.start, end: span.end, kind });
    }
}

/// Append `n` cells with the faces and ties that `cell` tells; returns their place.
fn pack<T: Real>(
    n: usize,
    unit: f64,
    plane: &mut Plane<Smooth<T>, T>,
    cell: impl Fn(usize) -> ([f64; 6], f64),
) -> usize {
    let (offset, slots) = (plane.packed.len(), n.div_ceil(2));
    plane.packed.resize(offset + 2 * PACK * slots, T::of(0.0));
    for i in 0..n {
        let (faces, extra) = cell(i);
        let (first, stride) = place(slots, i);
        let mut set = |n: usize, v: f64| plane.packed[offset + first + n * stride] = T::of(v);
        faces.iter().enumerate().for_each(|(f, a)| set(f, a / unit));
        set(6, inverse((total(&faces) + extra) / unit));
        set(7, factor(&faces, extra));
    }
    offset
}

fn smooth<T: Real>(u: &Uniform, unit: f64) -> Smooth<T> {
    let to = |v: f64| T::of(v / unit);
    let [a, b, c, d] = u.sides;
    let faces = [[u.ends[0], u.x], [u.x, u.x], [u.x, u.ends[1]]].map(|[l, r]| [l, r, a, b, c, d]);
    Smooth {
        x: to(u.x),
        ends: u.ends.map(to),
        sides: u.sides.map(to),
        inverse: u.diagonals().map(|d| T::of(inverse(d / unit))),
        factor: std::array::from_fn(|n| T::of(factor(&faces[n], u.extra[n]))),
    }
}

/// 1 ÷ diagonal; zero where there is no unknown, and within the range of f32.
fn inverse(diagonal: f64) -> f64 {
    if diagonal > 0.0 { 1.0 / diagonal.max(1e-30) } else { 0.0 }
}

/// The part of the way from zero pressure to the middle of the coarse cell at which this cell sits. A tie d = a/θ puts zero at the
/// distance θ (in cells), the coarse middle is half a cell farther: θ ÷ (θ + ½) = 2a ÷ (2a + d).
pub(super) fn factor(faces: &[f64; 6], extra: f64) -> f64 {
    let a = faces.iter().fold(0.0_f64, |a, b| a.max(*b));
    if a > 0.0 { 2.0 * a / (2.0 * a + extra) } else { 1.0 }
}

/// b ← b − L x over row j; `x` is the row and `sides` those around it (y−, y+, z−, z+), all cells in order.
pub(super) fn subtract_product<T: Real>(plane: &Plane<Smooth<T>, T>, j: usize, x: &[T], sides: [&[T]; 4], b: &mut [T]) {
    let n = x.len();
    let one = T::of(1.0);
    for (cells, span) in plane.pieces(j) {
        let (start, end) = (span.start as usize, span.end as usize);
        let beside = |i: usize| [if i > 0 { x[i - 1] } else { x[i] }, if i + 1 < n { x[i + 1] } else { x[i] }];
        let mut subtract = |i: usize, c: [T; 6], inverse: T| {
            let [left, right] = beside(i);
            let around = combine(c, [left, right, sides[0][i], sides[1][i], sides[2][i], sides[3][i]]);
            // Cells that are no unknowns have no coefficients, and x is zero there.
            let own = if inverse > T::of(0.0) { T::of(one.f64() / inverse.f64()) * x[i] } else { T::of(0.0) };
            b[i] = b[i] - own + around;
        };
        match &span.kind {
            Kind::Uniform(u) => {
                for i in cells {
                    let place = if i == start { 0 } else { 1 + usize::from(i + 1 == end) };
                    let left = if i == start { u.ends[0] } else { u.x };
                    let right = if i + 1 == end { u.ends[1] } else { u.x };
                    let [a, b, c, d] = u.sides;
                    subtract(i, [left, right, a, b, c, d], u.inverse[place]);
                }
            }
            Kind::Packed(offset) => {
                for i in cells {
                    let (first, stride) = place((end - start).div_ceil(2), i - start);
                    let number = |n: usize| plane.packed[offset + first + n * stride];
                    subtract(i, std::array::from_fn(number), number(6));
                }
            }
        }
    }
}

/// What the wanted cells of a range of row j have: conductances x−, x+, y−, y+, z−, z+, 1 ÷ diagonal, interpolation factor.
pub(super) fn coefficients<T: Real>(
    plane: &Plane<Smooth<T>, T>,
    j: usize,
    cells: std::ops::Range<usize>,
    is_wanted: impl Fn(usize) -> bool,
    mut visit: impl FnMut(usize, ([f64; 6], f64, f64)),
) {
    for (piece, span) in plane.pieces(j) {
        let (start, end) = (span.start as usize, span.end as usize);
        for i in (piece.start.max(cells.start)..piece.end.min(cells.end)).filter(|&i| is_wanted(i)) {
            let numbers: [T; PACK] = match &span.kind {
                Kind::Uniform(u) => {
                    let place = if i == start { 0 } else { 1 + usize::from(i + 1 == end) };
                    let left = if i == start { u.ends[0] } else { u.x };
                    let right = if i + 1 == end { u.ends[1] } else { u.x };
                    let [a, b, c, d] = u.sides;
                    [left, right, a, b, c, d, u.inverse[place], u.factor[place]]
                }
                Kind::Packed(offset) => {
                    let (first, stride) = place((end - start).div_ceil(2), i - start);
                    std::array::from_fn(|n| plane.packed[offset + first + n * stride])
                }
            };
            let [a, b, c, d, e, f, inverse, factor] = numbers.map(T::f64);
            visit(i, ([a, b, c, d, e, f], inverse, factor));
        }
    }
}

/// out ← f(b, Σ a_f u_nb, 1 ÷ diagonal, interpolation factor) for every cell of the row with the given parity.
#[inline(always)]
pub(super) fn sweep<T: Real>(
    plane: &Plane<Smooth<T>, T>,
    j: usize,
    parity: usize,
    around: &Around<T>,
    b: &[T],
    out: &mut [T],
    f: impl Fn(T, T, T, T) -> T + Copy,
) {
    for span in plane.row(j) {
        let (start, end) = (span.start as usize / 2, (span.end as usize).div_ceil(2));
        let slots = end - start;
        if let Some(numbers) = short(plane, span, parity) {
            // As around bodies: no vectors, and nothing to prepare for them.
            for (m, c) in (start..end).zip(numbers) {
                let at = [around.own[m + parity], around.own[m + parity + 1]];
                let sides = around.sides.map(|side| side[m]);
                let sum = combine(
                    [c[0], c[1], c[2], c[3], c[4], c[5]],
                    [at[0], at[1], sides[0], sides[1], sides[2], sides[3]],
                );
                out[m] = f(b[m], sum, c[6], c[7]);
            }
            continue;
        }
        let lefts = &around.own[start + parity..][..slots];
        let rights = &around.own[start + parity + 1..][..slots];
        let [s0, s1, s2, s3] = around.sides;
        let rows = [lefts, rights, &s0[start..end], &s1[start..end], &s2[start..end], &s3[start..end]];
        let (b, out) = (&b[start..end], &mut out[start..end]);
        match &span.kind {
            Kind::Uniform(u) => {
                uniform_sweep(u, rows, b, out, f);
                // The cell at the border of the span has coefficients of its own.
                let edge = (slots - 1) * parity;
                let [l, r] = if parity == 0 { [u.ends[0], u.x] } else { [u.x, u.ends[1]] };
                let c = [l, r, u.sides[0], u.sides[1], u.sides[2], u.sides[3]];
                out[edge] = f(b[edge], combine(c, at(rows, edge)), u.inverse[2 * parity], u.factor[2 * parity]);
            }
            Kind::Packed(offset) => {
                let numbers = &plane.packed[offset + PACK * parity * slots..][..PACK * slots];
                packed_sweep(std::array::from_fn(|n| &numbers[n * slots..][..slots]), rows, b, out, f);
            }
        }
    }
}

/// The numbers of the cells with the given parity, cell by cell, if the span is short and packed.
#[inline(always)]
fn short<'a, T: Real>(
    plane: &'a Plane<Smooth<T>, T>,
    span: &Span<Smooth<T>>,
    parity: usize,
) -> Option<&'a [[T; PACK]]> {
    let Kind::Packed(offset) = span.kind else { return None };
    let slots = (span.end as usize).div_ceil(2) - span.start as usize / 2;
    (slots < LANES).then(|| plane.packed[offset + PACK * parity * slots..][..PACK * slots].as_chunks().0)
}

/// The values of slot m.
#[inline(always)]
fn at<T: Real>([a, b, c, d, e, f]: [&[T]; 6], m: usize) -> [T; 6] {
    [a[m], b[m], c[m], d[m], e[m], f[m]]
}

#[inline(always)]
fn combine<T: Real>(c: [T; 6], at: [T; 6]) -> T {
    (c[0] * at[0] + c[1] * at[1]) + (c[2] * at[2] + c[3] * at[3]) + (c[4] * at[4] + c[5] * at[5])
}

/// Slots handled together: short rows are common, so loops must not have long remainders.
/// A choice of speed alone.
const LANES: usize = 8;

// Not inlined, here and below: only as an argument is `out` known to overlap nothing, and only then are loops vectorised.
#[inline(never)]
fn uniform_sweep<T: Real>(u: &Smooth<T>, rows: [&[T]; 6], b: &[T], out: &mut [T], f: impl Fn(T, T, T, T) -> T) {
    let c = [u.x, u.x, u.sides[0], u.sides[1], u.sides[2], u.sides[3]];
    let (inverse, factor) = (u.inverse[1], u.factor[1]);
    let n = out.len() / LANES;
    let [u0, u1, u2, u3, u4, u5] = rows.map(|r| &r.as_chunks::<LANES>().0[..n]);
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let (out_chunks, out_rest) = out.as_chunks_mut::<LANES>();
    let (b_chunks, out_chunks) = (&b_chunks[..n], &mut out_chunks[..n]);
    for m in 0..n {
        let (o, b) = (&mut out_chunks[m], &b_chunks[m]);
        let (u0, u1, u2, u3, u4, u5) = (&u0[m], &u1[m], &u2[m], &u3[m], &u4[m], &u5[m]);
        for l in 0..LANES {
            o[l] = f(b[l], combine(c, [u0[l], u1[l], u2[l], u3[l], u4[l], u5[l]]), inverse, factor);
        }
    }
    for (l, (out, b)) in out_rest.iter_mut().zip(b_rest).enumerate() {
        *out = f(*b, combine(c, at(rows, n * LANES + l)), inverse, factor);
    }
}

#[inline(never)]
fn packed_sweep<T: Real>(c: [&[T]; PACK], rows: [&[T]; 6], b: &[T], out: &mut [T], f: impl Fn(T, T, T, T) -> T) {
    let n = out.len() / LANES;
    let cell = |b: T, a: [T; PACK], at: [T; 6]| f(b, combine([a[0], a[1], a[2], a[3], a[4], a[5]], at), a[6], a[7]);
    let [u0, u1, u2, u3, u4, u5] = rows.map(|r| &r.as_chunks::<LANES>().0[..n]);
    let [c0, c1, c2, c3, c4, c5, c6, c7] = c.map(|c| &c.as_chunks::<LANES>().0[..n]);
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let (out_chunks, out_rest) = out.as_chunks_mut::<LANES>();
    let (b_chunks, out_chunks) = (&b_chunks[..n], &mut out_chunks[..n]);
    for m in 0..n {
        let (o, b) = (&mut out_chunks[m], &b_chunks[m]);
        let (u0, u1, u2, u3, u4, u5) = (&u0[m], &u1[m], &u2[m], &u3[m], &u4[m], &u5[m]);
        let (c0, c1, c2, c3, c4, c5, c6, c7) = (&c0[m], &c1[m], &c2[m], &c3[m], &c4[m], &c5[m], &c6[m], &c7[m]);
        for l in 0..LANES {
            let a = [c0[l], c1[l], c2[l], c3[l], c4[l], c5[l], c6[l], c7[l]];
            o[l] = cell(b[l], a, [u0[l], u1[l], u2[l], u3[l], u4[l], u5[l]]);
        }
    }
    for (l, (out, b)) in out_rest.iter_mut().zip(b_rest).enumerate() {
        *out = cell(*b, std::array::from_fn(|f| c[f][n * LANES + l]), at(rows, n * LANES + l));
    }
}

/// out ← v ÷ diagonal for every cell of the row with the given parity.
pub(super) fn divide<T: Real>(plane: &Plane<Smooth<T>, T>, j: usize, parity: usize, v: &[T], out: &mut [T]) {
    multiply(plane, j, parity, v, out, |u| u.inverse, 6);
}

/// out ← v · interpolation factor for every cell of the row with the given parity.
pub(super) fn scale_by_factor<T: Real>(plane: &Plane<Smooth<T>, T>, j: usize, parity: usize, v: &[T], out: &mut [T]) {
    multiply(plane, j, parity, v, out, |u| u.factor, 7);
}

/// Multiply a row by one of its numbers: `uniform` tells it of the first, of an inner and of the last cell of a uniform
/// span, `packed` is its place in a packed one.
#[inline(always)]
fn multiply<T: Real>(
    plane: &Plane<Smooth<T>, T>,
    j: usize,
    parity: usize,
    v: &[T],
    out: &mut [T],
    uniform: impl Fn(&Smooth<T>) -> [T; 3],
    packed: usize,
) {
    for span in plane.row(j) {
        let (start, end) = (span.start as usize / 2, (span.end as usize).div_ceil(2));
        let (v, out) = (&v[start..end], &mut out[start..end]);
        if let Some(numbers) = short(plane, span, parity) {
            out.iter_mut().zip(v).zip(numbers).for_each(|((out, v), numbers)| *out = *v * numbers[packed]);
            continue;
        }
        match &span.kind {
            Kind::Uniform(u) => {
                let numbers = uniform(u);
                if numbers[1] == T::of(1.0) {
                    out.copy_from_slice(v);
                } else {
                    out.iter_mut().zip(v).for_each(|(out, v)| *out = *v * numbers[1]);
                }
                let edge = (end - start - 1) * parity;
                out[edge] = v[edge] * numbers[2 * parity];
            }
            Kind::Packed(offset) => {
                let numbers = &plane.packed[offset + (PACK * parity + packed) * (end - start)..];
                out.iter_mut().zip(v).zip(numbers).for_each(|((out, v), number)| *out = *v * *number);
            }
        }
    }
}

//! One row of one colour: the innermost loops of the cycle.
//!
//! Cells are coloured like a chess board, red where i + j + k is even. A sweep over one colour needs the values of the
//! other colour only, so fields are kept per colour: a row of n cells becomes ⌈n/2⌉ *slots*, slot m holding cell 2m or
//! 2m+1, whichever has the colour. With `parity` the one it is (0 or 1), the neighbours along x are slots m+parity−1
//! and m+parity of the other colour, and those across y and z are slots m of the neighbouring rows: no stride, no mask.

use super::super::real::Real;
use super::super::stencil::{Kind, Network, Plane, Span, Uniform, cut};

/// Numbers kept per cell of a packed span: x−, x+, y−, y+, z−, z+, 1 ÷ diagonal, and the interpolation factor. All even
/// cells come first, number by number, then all odd ones.
const PACK: usize = 8;

/// A uniform span as the smoother needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Smooth<T> {
    x: T,
    ends: [T; 2],
    sides: [T; 4],
    /// 1 ÷ diagonal of the first, of an inner and of the last cell.
    inverse: [T; 3],
    /// What the tie to zero leaves of a correction interpolated from the coarser level.
    factor: T,
}

/// The rows of the other colour around one row.
#[derive(Clone, Copy)]
pub(super) struct Around<'a, T> {
    /// The same row.
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
                None => {
                    let offset = plane.packed.len();
                    let slots = (end - start).div_ceil(2);
                    plane.packed.resize(offset + 2 * PACK * slots, T::of(0.0));
                    for i in start..end {
                        let faces = row.faces(i);
                        let diagonal: f64 = faces.iter().sum::<f64>() + row.extra[i];
                        let numbers = faces
                            .map(|a| a / unit)
                            .into_iter()
                            .chain([inverse(diagonal / unit), factor(&faces, row.extra[i])]);
                        let slot = offset + PACK * slots * ((i - start) % 2) + (i - start) / 2;
                        for (f, v) in numbers.enumerate() {
                            plane.packed[slot + f * slots] = T::of(v);
                        }
                    }
                    Kind::Packed(offset)
                }
            };
            plane.spans.push(Span { start: start as u32, end: end as u32, kind });
        });
    }
    plane.starts.push(plane.spans.len() as u32);
}

fn smooth<T: Real>(u: &Uniform, unit: f64) -> Smooth<T> {
    let to = |v: f64| T::of(v / unit);
    Smooth {
        x: to(u.x),
        ends: u.ends.map(to),
        sides: u.sides.map(to),
        inverse: u.diagonals().map(|d| T::of(inverse(d / unit))),
        factor: T::of(factor(&[u.x, u.x, u.sides[0], u.sides[1], u.sides[2], u.sides[3]], u.extra)),
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
    let zero = T::of(0.0);
    let own = around.own;
    for span in plane.row(j) {
        let (start, end) = (span.start as usize / 2, (span.end as usize).div_ceil(2));
        // The cell at the border of the span has its own coefficients or no neighbour: apart from the others.
        let (edge, inner) = if parity == 0 { (start, start + 1..end) } else { (end - 1, start..end - 1) };
        let left = if edge + parity > 0 { own[edge + parity - 1] } else { zero };
        let right = if edge + parity < own.len() { own[edge + parity] } else { zero };
        let sides = around.sides.map(|s| s[edge]);
        let lefts = &own[inner.start + parity - 1..inner.end + parity - 1];
        let rights = &own[inner.start + parity..inner.end + parity];
        let rows = [
            lefts,
            rights,
            &around.sides[0][inner.clone()],
            &around.sides[1][inner.clone()],
            &around.sides[2][inner.clone()],
            &around.sides[3][inner.clone()],
        ];
        let (b_edge, b) = (b[edge], &b[inner.clone()]);
        match &span.kind {
            Kind::Uniform(u) => {
                let [l, r] = if parity == 0 { [u.ends[0], u.x] } else { [u.x, u.ends[1]] };
                let c = [l, r, u.sides[0], u.sides[1], u.sides[2], u.sides[3]];
                let at = [left, right, sides[0], sides[1], sides[2], sides[3]];
                out[edge] = f(b_edge, combine(c, at), u.inverse[2 * parity], u.factor);
                uniform_inner(u, rows, b, &mut out[inner], f);
            }
            Kind::Packed(offset) => {
                let slots = end - start;
                let c: [&[T]; PACK] =
                    std::array::from_fn(|n| &plane.packed[offset + (PACK * parity + n) * slots..][..slots]);
                let m = edge - start;
                let at = [left, right, sides[0], sides[1], sides[2], sides[3]];
                out[edge] =
                    f(b_edge, combine([c[0][m], c[1][m], c[2][m], c[3][m], c[4][m], c[5][m]], at), c[6][m], c[7][m]);
                packed_inner(c.map(|c| &c[inner.start - start..inner.end - start]), rows, b, &mut out[inner], f);
            }
        }
    }
}

#[inline(always)]
fn combine<T: Real>(c: [T; 6], at: [T; 6]) -> T {
    (c[0] * at[0] + c[1] * at[1]) + (c[2] * at[2] + c[3] * at[3]) + (c[4] * at[4] + c[5] * at[5])
}

#[inline(always)]
fn uniform_inner<T: Real>(u: &Smooth<T>, rows: [&[T]; 6], b: &[T], out: &mut [T], f: impl Fn(T, T, T, T) -> T) {
    let n = out.len();
    let (rows, b) = (rows.map(|r| &r[..n]), &b[..n]);
    let c = [u.x, u.x, u.sides[0], u.sides[1], u.sides[2], u.sides[3]];
    let (inverse, factor) = (u.inverse[1], u.factor);
    for m in 0..n {
        let at = [rows[0][m], rows[1][m], rows[2][m], rows[3][m], rows[4][m], rows[5][m]];
        out[m] = f(b[m], combine(c, at), inverse, factor);
    }
}

#[inline(always)]
fn packed_inner<T: Real>(c: [&[T]; PACK], rows: [&[T]; 6], b: &[T], out: &mut [T], f: impl Fn(T, T, T, T) -> T) {
    let n = out.len();
    let (c, rows, b) = (c.map(|c| &c[..n]), rows.map(|r| &r[..n]), &b[..n]);
    for m in 0..n {
        let a = [c[0][m], c[1][m], c[2][m], c[3][m], c[4][m], c[5][m]];
        let at = [rows[0][m], rows[1][m], rows[2][m], rows[3][m], rows[4][m], rows[5][m]];
        out[m] = f(b[m], combine(a, at), c[6][m], c[7][m]);
    }
}

/// v ← v ÷ diagonal for every cell of the row with the given parity.
pub(super) fn divide<T: Real>(plane: &Plane<Smooth<T>, T>, j: usize, parity: usize, v: &mut [T]) {
    for span in plane.row(j) {
        let (start, end) = (span.start as usize / 2, (span.end as usize).div_ceil(2));
        let v = &mut v[start..end];
        match &span.kind {
            Kind::Uniform(u) => {
                let edge = (end - start - 1) * parity;
                let at_edge = v[edge] * u.inverse[2 * parity];
                v.iter_mut().for_each(|v| *v = *v * u.inverse[1]);
                v[edge] = at_edge;
            }
            Kind::Packed(offset) => {
                let inverse = &plane.packed[offset + (PACK * parity + 6) * (end - start)..];
                v.iter_mut().zip(inverse).for_each(|(v, inverse)| *v = *v * *inverse);
            }
        }
    }
}

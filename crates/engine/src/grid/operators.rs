//! Divergence and gradient, an adjoint pair on partly open faces.
//!
//! With A_f the open fraction of a face, ⟨u,w⟩ = Σ_f A_f u_f w_f over the faces that carry flow and
//! ⟨a,b⟩ = Σ_c a_c b_c over the cells,
//!
//! (D u)_c = Σ_f ±A_f u_f,   (G p)_f = p_upper − p_lower,   ⟨u, G p⟩ = −⟨D u, p⟩.
//!
//! Both are without the factor 1/dx: fluxes in units of dx², pressures in units of ρ·dx (design: the
//! pressure system then has coefficients A_f, one where the fluid is not cut). Beyond an open side
//! p is zero, in the centre of the cell that would lie there.

use super::{Axis, CellField, FaceField, parallel::for_each_row};

/// Net outflow of every cell, Σ ±A_f u_f, m/s.
pub fn divergence(u: &FaceField, open: &FaceField, out: &mut CellField) {
    let dims = out.dims;
    for_each_row(&mut out.data, dims, |j, k, row| {
        row.fill(0.0);
        for axis in Axis::ALL {
            let (u, a) = (&u.axes[axis.index()], &open.axes[axis.index()]);
            let mut above = [0, j, k];
            above[axis.index()] += 1;
            let (lower, upper) = (open.face(axis, [0, j, k]), open.face(axis, above));
            let flows = |start: usize| u[start..start + dims[0]].iter().zip(&a[start..start + dims[0]]);
            for ((out, (ul, al)), (uu, au)) in row.iter_mut().zip(flows(lower)).zip(flows(upper)) {
                *out += au * uu - al * ul;
            }
        }
    });
}

/// Subtract the pressure gradient from every face that carries flow: u_f ← u_f − (p_upper − p_lower).
///
/// `driven` says which faces those are; on the sides of the domain such a face has p = 0 beyond it.
pub fn subtract_gradient(p: &CellField, driven: &FaceField<bool>, u: &mut FaceField) {
    let dims = p.dims;
    let beyond = vec![0.0; dims[0]];
    let cells = |j: usize, k: usize| &p.data[dims[0] * (j + dims[1] * k)..][..dims[0]];
    for axis in Axis::ALL {
        let face_dims = u.face_dims(axis);
        let driven = &driven.axes[axis.index()];
        for_each_row(&mut u.axes[axis.index()], face_dims, |j, k, row| {
            let driven = &driven[face_dims[0] * (j + face_dims[1] * k)..][..row.len()];
            let mut push = |faces: std::ops::Range<usize>, upper: &[f64], lower: &[f64]| {
                let faces = row[faces.clone()].iter_mut().zip(&driven[faces]);
                for ((u, &driven), (upper, lower)) in faces.zip(upper.iter().zip(lower)) {
                    *u -= if driven { upper - lower } else { 0.0 };
                }
            };
            let n = dims[0];
            match axis {
                Axis::X => {
                    let own = cells(j, k);
                    push(0..1, &own[..1], &beyond);
                    push(1..n, &own[1..], own);
                    push(n..n + 1, &beyond, &own[n - 1..]);
                }
                Axis::Y => {
                    let upper = if j < dims[1] { cells(j, k) } else { &beyond };
                    push(0..n, upper, if j > 0 { cells(j - 1, k) } else { &beyond });
                }
                Axis::Z => {
                    let upper = if k < dims[2] { cells(j, k) } else { &beyond };
                    push(0..n, upper, if k > 0 { cells(j, k - 1) } else { &beyond });
                }
            }
        });
    }
}

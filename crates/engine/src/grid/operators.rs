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

use super::{Axis, CellField, FaceField, parallel::for_each_row, strides};

/// Net outflow of every cell, Σ ±A_f u_f, m/s.
pub fn divergence(u: &FaceField, open: &FaceField, out: &mut CellField) {
    let dims = out.dims;
    for_each_row(&mut out.data, dims, |j, k, row| {
        row.fill(0.0);
        for axis in Axis::ALL {
            let (u, a) = (&u.axes[axis.index()], &open.axes[axis.index()]);
            let lower = open.face(axis, [0, j, k]);
            let mut above = [0, j, k];
            above[axis.index()] += 1;
            let upper = open.face(axis, above);
            let faces = |start: usize| (&u[start..start + dims[0]], &a[start..start + dims[0]]);
            let ((ul, al), (uu, au)) = (faces(lower), faces(upper));
            for i in 0..dims[0] {
                row[i] += au[i] * uu[i] - al[i] * ul[i];
            }
        }
    });
}

/// Subtract the pressure gradient from every face that carries flow: u_f ← u_f − (p_upper − p_lower).
///
/// `free` says which faces those are; on the sides of the domain a free face has p = 0 beyond it.
pub fn subtract_gradient(p: &CellField, free: &FaceField<bool>, u: &mut FaceField) {
    let dims = p.dims;
    for axis in Axis::ALL {
        let face_dims = u.face_dims(axis);
        let (a, n) = (axis.index(), dims[axis.index()]);
        let stride = strides(dims)[a];
        let free = &free.axes[a];
        for_each_row(&mut u.axes[a], face_dims, |j, k, row| {
            let start = face_dims[0] * (j + face_dims[1] * k);
            for (i, value) in row.iter_mut().enumerate() {
                if !free[start + i] {
                    continue;
                }
                let at = [i, j, k];
                let cell = i + dims[0] * (j + dims[1] * k);
                let upper = if at[a] < n { p.data[cell] } else { 0.0 };
                let lower = if at[a] > 0 { p.data[cell - stride] } else { 0.0 };
                *value -= upper - lower;
            }
        });
    }
}

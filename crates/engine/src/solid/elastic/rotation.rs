//! The proper rotation nearest to a deformation, whatever the deformation.
//!
//! Of all rotations, the polar factor R of F = R S leaves the least |F − R|², that is, the largest tr(RᵀF). Over unit
//! quaternions q this is qᵀ N(F) q with a symmetric 4×4 matrix N [Horn 1987], so that its eigenvector of the largest eigenvalue is the
//! answer for *every* F: it is a proper rotation also if F is flat or inside out, where it turns the reflection into the direction
//! that is squeezed most, as in [Irving, Teran & Fedkiw 2004]. That eigenvalue stands 2 (σ₂ + σ₃) above the next one, σ₃ being
//! negative if F is inside out. If the two agree (F is a line or a point, or a mirror image), many rotations are equally near, and the
//! one that is closest to a preferred rotation is taken.
//!
//! Deformations with det F well above zero, which is nearly all of them, take the short way: Newton's iteration for the
//! polar factor, X ← ½ (X + X⁻ᵀ), scaled [Higham 1986].

use glam::{DMat3, DQuat};

/// A rotation, and whether the deformation left a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// Proper and orthogonal.
    pub matrix: DMat3,
    /// Many rotations are equally near; this is the one nearest to the preferred one.
    pub undetermined: bool,
}

/// Above this share of the cubed mean singular value, det F is safe for Newton's iteration.
/// A choice of speed: all others take the eigenvector, which is right for every F.
const REGULAR: f64 = 1e-3;
/// Eigenvalues closer than this, relative to the largest entry of F, count as one.
/// A choice: far above what rounding does to eigenvalues (1e-15), far below what tells rotations apart.
const GAP: f64 = 1e-9;

/// The proper rotation nearest to `f`.
pub fn nearest_rotation(f: DMat3, preferred: DQuat) -> Rotation {
    let largest = f.to_cols_array().iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    if !(largest > f64::MIN_POSITIVE && largest.is_finite() && f.is_finite()) {
        return Rotation { matrix: DMat3::from_quat(preferred), undetermined: true };
    }
    let f = f * largest.recip();
    match polar(f) {
        Some(matrix) => Rotation { matrix, undetermined: false },
        None => dominant(f, preferred),
    }
}

/// The orthogonal polar factor of `f`, by Newton's iteration; none if det F is not well above zero.
fn polar(f: DMat3) -> Option<DMat3> {
    let norm = |m: &DMat3| m.to_cols_array().iter().map(|e| e * e).sum::<f64>().sqrt();
    if f.determinant() <= REGULAR * (norm(&f) / 3f64.sqrt()).powi(3) {
        return None;
    }
    let mut x = f;
    for _ in 0..12 {
        let inverse = x.inverse().transpose();
        let scale = (norm(&inverse) / norm(&x)).sqrt();
        let next = (x * scale + inverse * scale.recip()) * 0.5;
        let change = norm(&(next - x));
        x = next;
        // The error is squared in every iteration.
        if change < 1e-8 {
            return Some(x);
        }
    }
    None
}

/// The rotation whose quaternion is the dominant eigenvector of N(F).
fn dominant(f: DMat3, preferred: DQuat) -> Rotation {
    let at = |i: usize, j: usize| f.col(j)[i];
    let [w, x, y] = [at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1)];
    let [xy, xz, yz] = [at(0, 1) + at(1, 0), at(0, 2) + at(2, 0), at(1, 2) + at(2, 1)];
    let [a, b, c] = [at(0, 0), at(1, 1), at(2, 2)];
    let (values, vectors) =
        eigen([[a + b + c, w, x, y], [w, a - b - c, xy, xz], [x, xy, b - a - c, yz], [y, xz, yz, c - a - b]]);
    let top = (0..4).max_by(|&i, &j| values[i].total_cmp(&values[j])).expect("four of them");
    let space = || (0..4).filter(|&n| values[n] >= values[top] - GAP);
    let preferred = [preferred.w, preferred.x, preferred.y, preferred.z];
    let mut q = [0.0; 4];
    for n in space() {
        let part: f64 = vectors[n].iter().zip(preferred).map(|(v, p)| v * p).sum();
        q.iter_mut().zip(vectors[n]).for_each(|(q, v)| *q += part * v);
    }
    let undetermined = space().count() > 1;
    if !undetermined || q.iter().map(|q| q * q).sum::<f64>() < 1e-12 {
        q = vectors[top];
    }
    let [w, x, y, z] = q;
    Rotation { matrix: DMat3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize()), undetermined }
}

/// Eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's rotations.
pub(super) fn eigen<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut vectors: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| if i == j { 1.0 } else { 0.0 }));
    let pairs = || (0..N).flat_map(|p| (p + 1..N).map(move |q| [p, q]));
    for _ in 0..20 {
        if pairs().all(|[p, q]| a[p][q].abs() < 1e-18) {
            break;
        }
        for [p, q] in pairs() {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = (t * t + 1.0).sqrt().recip();
            let s = t * c;
            let turn = |first: &mut f64, second: &mut f64| {
                (*first, *second) = (c * *first - s * *second, s * *first + c * *second);
            };
            for row in &mut a {
                let [first, second] = row.get_disjoint_mut([p, q]).expect("two columns");
                turn(first, second);
            }
            for rows in [&mut a, &mut vectors] {
                let [first, second] = rows.get_disjoint_mut([p, q]).expect("two rows");
                first.iter_mut().zip(second).for_each(|(first, second)| turn(first, second));
            }
        }
    }
    (std::array::from_fn(|n| a[n][n]), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn distance(a: DMat3, b: DMat3) -> f64 {
        (a - b).to_cols_array().iter().map(|e| e * e).sum::<f64>().sqrt()
    }

    fn is_rotation(r: DMat3) -> bool {
        distance(r * r.transpose(), DMat3::IDENTITY) < 1e-14 && (r.determinant() - 1.0).abs() < 1e-14
    }

    fn turned() -> DQuat {
        DQuat::from_axis_angle(DVec3::new(0.3, -0.5, 0.8).normalize(), 2.9)
    }

    /// A frame of principal directions that lines up with nothing.
    fn frame() -> DMat3 {
        DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(0.6, 0.48, 0.64), 1.1))
    }

    fn stretched(sigma: DVec3) -> DMat3 {
        frame() * DMat3::from_diagonal(sigma) * frame().transpose()
    }

    #[test]
    fn rotation_of_a_stretch_is_found_both_ways() {
        let r = DMat3::from_quat(turned());
        for sigma in [DVec3::ONE, DVec3::new(3.0, 1.0, 0.4), DVec3::new(1.0, 1.0, 0.02), DVec3::new(1e5, 2e5, 5e4)] {
            let f = r * stretched(sigma);
            let quick = nearest_rotation(f, DQuat::IDENTITY);
            let slow = dominant(f * sigma.max_element().recip(), DQuat::IDENTITY);
            for found in [quick, slow] {
                assert!(!found.undetermined && is_rotation(found.matrix));
                assert!(distance(found.matrix, r) < 2e-14, "{sigma}: {:e}", distance(found.matrix, r));
            }
        }
    }

    /// The reflection goes where the element is squeezed most, so that this is the direction in which it turns outside again.
    #[test]
    fn flat_and_inverted_deformations_have_a_proper_rotation() {
        let r = DMat3::from_quat(turned());
        for sigma in [DVec3::new(1.0, 0.7, 0.0), DVec3::new(1.2, 0.9, -0.3), DVec3::new(2.0, 1.0, -0.99)] {
            let found = nearest_rotation(r * stretched(sigma), DQuat::IDENTITY);
            assert!(!found.undetermined && is_rotation(found.matrix));
            assert!(distance(found.matrix, r) < 1e-12, "{sigma}: {:e}", distance(found.matrix, r));
        }
    }

    #[test]
    fn row_33_lines_points_and_mirror_images_prefer_what_they_are_told() {
        let r = DMat3::from_quat(turned());
        let sigmas = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, -1.0), DVec3::splat(1e-320)];
        for sigma in sigmas {
            let found = nearest_rotation(r * stretched(sigma), turned());
            assert!(found.undetermined && is_rotation(found.matrix), "{sigma}");
            assert!(distance(found.matrix, r) < 1e-7, "{sigma}: {:e}", distance(found.matrix, r));
        }
        let bad = DMat3::from_diagonal(DVec3::new(1.0, f64::NAN, 1.0));
        // Of a point reflection −R, R is the farthest of all rotations: what is left are half turns from it.
        for f in [bad, bad * f64::INFINITY, -r] {
            assert!(is_rotation(nearest_rotation(f, turned()).matrix));
        }
    }
}

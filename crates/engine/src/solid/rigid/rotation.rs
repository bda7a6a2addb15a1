//! How a rigid body turns that nothing touches: q̇ = ½ω q, ω = R I⁻¹ Rᵀ L, with the angular momentum L constant in the world.
//!
//! L is the state variable, so it is conserved whatever the step. The orientation follows by splitting the Hamiltonian
//! ½ℓᵀI⁻¹ℓ (ℓ = RᵀL) as ½|ℓ|²/I₂ + ½(1/I₁ − 1/I₂)ℓ₁² + ½(1/I₃ − 1/I₂)ℓ₃². Each part is a rotation in closed form: the
//! first about L in the world, the others about principal axes of the body; the first commutes with the others, which
//! are composed as half, whole, half. Symplectic, time-reversible, of second order for any step length (Fassò 2003
//! compares such splittings), and exact for balls and tops.

use glam::{DMat3, DQuat, DVec3};

/// Principal axes of an inertia tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Principal {
    /// Moments about the three axes, kg m².
    pub moments: DVec3,
    /// Turns the principal frame into the body's.
    pub frame: DQuat,
}

/// Principal axes by Jacobi rotations, to machine precision.
pub fn principal(inertia: DMat3) -> Principal {
    let mut a = inertia;
    let mut frame = DMat3::IDENTITY;
    // Convergence is quadratic: five sweeps are plenty for 3 × 3.
    for _ in 0..8 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let off = a.col(q)[p];
            if off == 0.0 {
                continue;
            }
            let theta = (a.col(q)[q] - a.col(p)[p]) / (2.0 * off);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = t.hypot(1.0).recip();
            let s = t * c;
            let mut g = DMat3::IDENTITY;
            g.col_mut(p)[p] = c;
            g.col_mut(q)[q] = c;
            g.col_mut(q)[p] = s;
            g.col_mut(p)[q] = -s;
            a = g.transpose() * a * g;
            frame *= g;
        }
    }
    Principal { moments: a.diagonal(), frame: DQuat::from_mat3(&frame).normalize() }
}

/// The orientation after turning freely for `dt` (s) with angular momentum `l` (N m s, world).
pub fn turn(body: &Principal, rotation: DQuat, l: DVec3, dt: f64) -> DQuat {
    let moments = body.moments.to_array();
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| moments[a].total_cmp(&moments[b]));
    let [first, base, last] = order;
    let mut q = rotation * body.frame;
    for (axis, part) in [(first, 0.5), (last, 1.0), (first, 0.5)] {
        let rate = moments[axis].recip() - moments[base].recip();
        let axis = [DVec3::X, DVec3::Y, DVec3::Z][axis];
        let angle = part * dt * rate * (q.conjugate() * l).dot(axis);
        q *= DQuat::from_axis_angle(axis, angle);
    }
    let q = DQuat::from_scaled_axis(dt / moments[base] * l) * q;
    (q * body.frame.conjugate()).normalize()
}

/// The constant angular velocity (world, rad/s) that turns a body over `dt` (s) as far as [`turn`] does: what a solver
/// that knows no gyroscopic torque must be told. Fast spins are averaged over parts of a step, each well below half a
/// turn.
pub fn mean_spin(body: &Principal, rotation: DQuat, l: DVec3, dt: f64) -> DVec3 {
    let spin = l.length() / body.moments.min_element();
    let parts = (spin * dt).ceil().clamp(1.0, 64.0);
    let (mut q, mut angle) = (rotation, DVec3::ZERO);
    for _ in 0..parts as usize {
        let next = turn(body, q, l, dt / parts);
        let turned = next * q.conjugate();
        angle += (if turned.w < 0.0 { -turned } else { turned }).to_scaled_axis();
        q = next;
    }
    angle / dt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn omega(body: &Principal, q: DQuat, l: DVec3) -> DVec3 {
        body.frame * ((body.frame.conjugate() * (q.conjugate() * l)) / body.moments)
    }

    #[test]
    fn principal_axes_give_the_tensor_back() {
        let r = DMat3::from_quat(DQuat::from_scaled_axis(DVec3::new(0.4, -1.2, 0.7)));
        let tensor = r * DMat3::from_diagonal(DVec3::new(1.0, 1e-6, 3.0)) * r.transpose();
        let p = principal(tensor);
        let f = DMat3::from_quat(p.frame);
        let back = f * DMat3::from_diagonal(p.moments) * f.transpose();
        assert!((back - tensor).to_cols_array().iter().all(|e| e.abs() < 1e-14));
        let straight = principal(DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0)));
        assert_eq!((straight.moments, straight.frame), (DVec3::new(3.0, 1.0, 2.0), DQuat::IDENTITY));
    }

    #[test]
    fn balls_and_tops_turn_exactly_in_steps_of_any_length() {
        let l = DVec3::new(0.3, 2.0, -0.5);
        for moments in [DVec3::splat(2.0), DVec3::new(2.0, 5.0, 2.0), DVec3::new(2.0, 0.5, 2.0)] {
            let body = Principal { moments, frame: DQuat::from_scaled_axis(DVec3::new(0.1, 0.2, 0.3)) };
            let start = DQuat::from_scaled_axis(DVec3::new(-0.7, 0.2, 0.9));
            let once = turn(&body, start, l, 3.0);
            let often = (0..300).fold(start, |q, _| turn(&body, q, l, 0.01));
            assert!(once.dot(often).abs() > 1.0 - 1e-13, "{moments}");
        }
    }

    #[test]
    fn the_mean_spin_turns_a_body_as_far() {
        let body = Principal { moments: DVec3::new(1.0, 2.0, 3.0), frame: DQuat::from_rotation_x(0.4) };
        let start = DQuat::from_scaled_axis(DVec3::new(-0.7, 0.2, 0.9));
        let (l, dt) = (DVec3::new(1.0, 2.0, -3.0), 0.2);
        let spin = mean_spin(&body, start, l, dt);
        let turned = DQuat::from_scaled_axis(dt * spin) * start;
        assert!(turned.dot(turn(&body, start, l, dt)).abs() > 1.0 - 1e-15);
        // A ball's spin is L/I, however many turns it makes in a step.
        let ball = Principal { moments: DVec3::splat(2.0), frame: DQuat::IDENTITY };
        let spin = mean_spin(&ball, start, 100.0 * l, dt);
        assert!((spin - 50.0 * l).length() < 1e-12 * spin.length(), "{spin}");
    }

    /// Row E2: times of the zero crossings of the wobbling component, exact periods by elliptic integrals.
    #[test]
    fn row_e2_an_asymmetric_top_flips_with_the_exact_period() {
        let unit = DVec3::new(1.0, 2.0, 3.0);
        let brick = DVec3::new(6.5, 5.0, 2.5);
        let cases = [
            (unit, DVec3::new(0.01, 1.0, 0.0), 41.509220),
            (unit, DVec3::new(0.1, 1.0, 0.0), 25.510978),
            (unit, DVec3::new(0.0, 1.0, 0.01), 37.702072),
            (brick, DVec3::new(0.0, 5.0, 0.01), 12.418475),
        ];
        for (moments, start, period) in cases {
            let body = Principal { moments, frame: DQuat::IDENTITY };
            let l = moments * start;
            let (dt, mut q, mut t) = (1e-3, DQuat::IDENTITY, 0.0);
            let mut previous = start.y;
            let mut crossings = Vec::new();
            while crossings.len() < 7 {
                q = turn(&body, q, l, dt);
                t += dt;
                let now = omega(&body, q, l).y;
                if previous * now < 0.0 {
                    crossings.push(t - dt * now / (now - previous));
                }
                previous = now;
            }
            // ω₂ crosses zero twice a period; three periods of flips.
            let measured = (crossings[6] - crossings[0]) / 3.0;
            assert!((measured / period - 1.0).abs() < 1e-4, "{moments} {start}: {measured} instead of {period}");
        }
    }

    /// Rows E3 and E4: 10⁶ steps of a tumbling top. L is the state variable and never changes.
    #[test]
    fn rows_e3_and_e4_energy_and_the_quaternion_stay() {
        let body = Principal { moments: DVec3::new(1.0, 2.0, 3.0), frame: DQuat::IDENTITY };
        let start = DVec3::new(0.01, 1.0, 0.0);
        let l = body.moments * start;
        let energy = |q| 0.5 * (body.moments * omega(&body, q, l) * omega(&body, q, l)).element_sum();
        let (mut q, mut worst_energy, mut worst_norm) = (DQuat::IDENTITY, 0.0f64, 0.0f64);
        let e0 = energy(q);
        for _ in 0..1_000_000 {
            q = turn(&body, q, l, 1e-2);
            worst_energy = worst_energy.max((energy(q) / e0 - 1.0).abs());
            worst_norm = worst_norm.max((q.length() - 1.0).abs());
        }
        assert!(worst_energy < 1e-4, "{worst_energy}");
        assert!(worst_norm < 1e-12, "{worst_norm}");
    }
}

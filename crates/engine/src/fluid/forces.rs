//! Forces on smoke other than pressure: buoyancy, a uniform acceleration, vorticity confinement.

use crate::grid::{Axis, CellField, FaceField, Grid, parallel::for_each_row, strides};
use glam::DVec3;

/// Add Δt·(g (w s − β T) + a) to every face: smoke of density s falls, warm air rises (Boussinesq).
///
/// `weight` w per unit of density, `expansion` β per kelvin, `gravity` g and `acceleration` a in m/s².
pub fn add_buoyancy(
    velocity: &mut FaceField,
    (density, weight): (&CellField, f64),
    (temperature, expansion): (&CellField, f64),
    gravity: DVec3,
    acceleration: DVec3,
    dt: f64,
) {
    let dims = density.dims;
    for axis in Axis::ALL {
        let a = axis.index();
        let (along, uniform) = (dt * gravity[a], dt * acceleration[a]);
        if dims[a] == 1 || (along == 0.0 && uniform == 0.0) {
            continue;
        }
        let stride = strides(dims)[a];
        let face_dims = velocity.face_dims(axis);
        let lift = |cell: usize| weight * density.data[cell] - expansion * temperature.data[cell];
        for_each_row(&mut velocity.axes[a], face_dims, |j, k, row| {
            for (i, u) in row.iter_mut().enumerate() {
                let position = [i, j, k][a];
                let cell = i + dims[0] * (j + dims[1] * k);
                // On a side of the domain the field continues constantly.
                let upper = if position < dims[a] { cell } else { cell - stride };
                let lower = if position > 0 { cell - stride } else { cell };
                *u += along * 0.5 * (lift(upper) + lift(lower)) + uniform;
            }
        });
    }
}

/// Vorticity confinement (Fedkiw, Stam & Jensen 2001): f = ε Δx (N × ω), N = ∇|ω|/‖∇|ω|‖, which gives
/// back to small eddies what interpolation took from them.
#[derive(Default)]
pub struct Confinement {
    vorticity: Vec<DVec3>,
    /// Velocity at cell centres, then the force there.
    centred: Vec<DVec3>,
}

impl Confinement {
    /// Add Δt·f to every face between two cells; `strength` is ε.
    pub fn add(&mut self, grid: &Grid, velocity: &mut FaceField, strength: f64, dt: f64) {
        let Self { vorticity, centred } = self;
        let dims = grid.dims;
        let stride = strides(dims);
        vorticity.resize(grid.cells(), DVec3::ZERO);
        centred.resize(grid.cells(), DVec3::ZERO);
        // A cell and its two neighbours along an axis; the cell itself stands in beyond the sides.
        let along = |at: [usize; 3], a: usize| {
            let cell = grid.cell(at);
            let lower = if at[a] > 0 { cell - stride[a] } else { cell };
            let upper = if at[a] + 1 < dims[a] { cell + stride[a] } else { cell };
            (lower, upper)
        };

        // Velocity at the centres.
        for_each_row(centred, dims, |j, k, row| {
            for (i, centre) in row.iter_mut().enumerate() {
                for axis in Axis::ALL {
                    let a = axis.index();
                    let mut above = [i, j, k];
                    above[a] += 1;
                    centre[a] = 0.5 * (velocity[(axis, [i, j, k])] + velocity[(axis, above)]);
                }
            }
        });

        // ω = ∇ × u by central differences.
        for_each_row(vorticity, dims, |j, k, row| {
            for (i, omega) in row.iter_mut().enumerate() {
                let [ddx, ddy, ddz] = [0, 1, 2].map(|a| {
                    let (lower, upper) = along([i, j, k], a);
                    centred[upper] - centred[lower]
                });
                *omega = DVec3::new(ddy.z - ddz.y, ddz.x - ddx.z, ddx.y - ddy.x) / (2.0 * grid.dx);
            }
        });

        // f = ε Δx N × ω. Where |ω| is constant there is no direction to push in.
        for_each_row(centred, dims, |j, k, row| {
            for (i, force) in row.iter_mut().enumerate() {
                let gradient = DVec3::from([0, 1, 2].map(|a| {
                    let (lower, upper) = along([i, j, k], a);
                    vorticity[upper].length() - vorticity[lower].length()
                }));
                let direction = gradient.try_normalize().unwrap_or(DVec3::ZERO);
                *force = strength * grid.dx * direction.cross(vorticity[grid.cell([i, j, k])]);
            }
        });

        for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
            let a = axis.index();
            for_each_row(&mut velocity.axes[a], grid.face_dims(axis), |j, k, row| {
                for (i, u) in row.iter_mut().enumerate() {
                    let position = [i, j, k][a];
                    if position > 0 && position < dims[a] {
                        let cell = i + stride[1] * j + stride[2] * k;
                        *u += dt * 0.5 * (centred[cell][a] + centred[cell - stride[a]][a]);
                    }
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_air_rises_and_smoke_falls_by_their_own_weights() {
        let grid = Grid::new([2, 3, 2], 0.1, DVec3::ZERO);
        let density = CellField::new(&grid, 2.0);
        let temperature = CellField::new(&grid, 30.0);
        let mut u = FaceField::new(&grid, 0.0);
        let gravity = DVec3::new(0.0, -10.0, 0.0);
        add_buoyancy(&mut u, (&density, 0.01), (&temperature, 1.0 / 300.0), gravity, DVec3::X, 0.5);
        assert!(u.axes[1].iter().all(|&v| (v - 0.5 * 10.0 * (0.1 - 0.02)).abs() < 1e-14));
        assert!(u.axes[0].iter().all(|&v| v == 0.5));
        assert!(u.axes[2].iter().all(|&v| v == 0.0));
    }

    #[test]
    fn confinement_leaves_rigid_rotation_alone_and_spins_up_a_vortex() {
        let grid = Grid::new([16, 16, 1], 1.0, DVec3::new(-8.0, -8.0, 0.0));
        let swirl = |profile: &dyn Fn(f64) -> f64| {
            let mut u = FaceField::new(&grid, 0.0);
            for axis in [Axis::X, Axis::Y] {
                let n = grid.face_dims(axis);
                for index in 0..u.axes[axis.index()].len() {
                    let p = grid.face_centre(axis, [index % n[0], index / n[0], 0]);
                    let r = DVec3::new(p.x, p.y, 0.0);
                    u.axes[axis.index()][index] = DVec3::Z.cross(r)[axis.index()] * profile(r.length());
                }
            }
            u
        };
        let energy = |u: &FaceField| u.axes.iter().flatten().map(|v| v * v).sum::<f64>();

        let mut rigid = swirl(&|_| 1.0);
        Confinement::default().add(&grid, &mut rigid, 0.5, 0.1);
        let middle = |u: &FaceField| u[(Axis::X, [8, 6, 0])];
        assert!((middle(&rigid) - middle(&swirl(&|_| 1.0))).abs() < 1e-12);

        let mut vortex = swirl(&|r| (-0.1 * r * r).exp());
        let before = energy(&vortex);
        Confinement::default().add(&grid, &mut vortex, 0.5, 0.1);
        assert!(energy(&vortex) > before);
    }
}

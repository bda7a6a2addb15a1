//! Signed distance restored around an interface.

use bathtub_engine::grid::{Axis, CellField, Grid, redistance};
use glam::DVec3;

/// Where a zero lies, in cells from the lower of two cells, and the difference between them.
type Zero = (f64, f64);

/// A value made of a distance or of a direction, and a point.
type Field<T> = (&'static str, fn(T, DVec3) -> f64);

/// Half the band in which distances are checked, in cells.
const BAND: f64 = 5.0;

/// Zeros between neighbouring cells along every axis.
fn zeros(field: &CellField) -> Vec<Zero> {
    let [nx, ny, nz] = field.dims;
    let mut zeros = Vec::new();
    for a in Axis::ALL.map(Axis::index) {
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let (at, mut above) = ([i, j, k], [i, j, k]);
                    above[a] += 1;
                    if above[a] < field.dims[a] && (field[at] < 0.0) != (field[above] < 0.0) {
                        zeros.push((field[at] / (field[at] - field[above]), field[above] - field[at]));
                    }
                }
            }
        }
    }
    zeros
}

/// Mean |‖∇φ‖ − 1| over the cells within `BAND` cells of the interface, by central differences.
fn gradient_error(field: &CellField, dx: f64) -> f64 {
    let [nx, ny, nz] = field.dims;
    let (mut sum, mut count) = (0.0, 0);
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let at = [i, j, k];
                let is_inner = (0..3).all(|a| field.dims[a] == 1 || at[a] > 0 && at[a] + 1 < field.dims[a]);
                if field[at].abs() > BAND * dx || !is_inner {
                    continue;
                }
                let slope = |a: usize| {
                    let (mut below, mut above) = (at, at);
                    (below[a], above[a]) = (at[a].saturating_sub(1), (at[a] + 1).min(field.dims[a] - 1));
                    (field[above] - field[below]) / (2.0 * dx)
                };
                sum += (DVec3::new(slope(0), slope(1), slope(2)).length() - 1.0).abs();
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count} cells");
    sum / count as f64
}

/// Row D9, for a sphere, a tilted plane and a torus, as they are and with values distorted, in space and in the plane.
#[test]
fn distances_are_restored_and_the_interface_stays() {
    let dx = 1.0 / 40.0;
    let tilt = DVec3::new(0.36, 0.8, -0.48);
    let flat_tilt = DVec3::new(0.6, -0.8, 0.0);
    let shapes: [Field<DVec3>; 3] = [
        ("sphere", |_, p| p.length() - 0.31),
        ("plane", |normal, p| normal.dot(p) - 0.013),
        ("torus", |_, p| (p.x.hypot(p.z) - 0.27).hypot(p.y) - 0.17),
    ];
    let distortions: [Field<f64>; 4] = [
        ("as it is", |d, _| d),
        ("cut off", |d, _| d.clamp(-1.0 / 40.0, 1.0 / 40.0)),
        ("wavy", |d, p| d * (1.0 + 0.5 * (7.0 * p.x + 5.0 * p.y + 3.0 * p.z).sin())),
        ("steepening", |d, _| d + (8.0 * d).powi(3)),
    ];
    for dims in [[40, 40, 40], [40, 40, 1]] {
        let grid = Grid::new(dims, dx, DVec3::new(-0.5, -0.5, if dims[2] == 1 { -0.5 * dx } else { -0.5 }));
        let normal = if dims[2] == 1 { flat_tilt } else { tilt };
        for (shape, distance) in shapes {
            for (distortion, distort) in distortions {
                let mut field = CellField::new(&grid, 0.0);
                for c in 0..grid.cells() {
                    let p = grid.cell_centre(grid.cell_at(c));
                    field.data[c] = distort(distance(normal, p), p);
                }
                let before = zeros(&field);
                redistance(&mut field, dx, (BAND + 2.0) * dx);
                let after = zeros(&field);
                assert_eq!(before.len(), after.len());
                // Along its normal, whose component along the axis is the difference of distances.
                let shift = |((a, _), (b, difference)): (&Zero, &Zero)| (a - b).abs() * difference.abs() / dx;
                let shift = before.iter().zip(&after).map(shift).fold(0.0, f64::max);
                let slope = gradient_error(&field, dx);
                println!("{shape} {distortion} {dims:?}: gradient {slope:.4}, shift {shift:.4}");
                assert!(slope <= 0.05, "{shape} {distortion} {dims:?}: gradient off by {slope}");
                assert!(shift <= 0.02, "{shape} {distortion} {dims:?}: interface moved by {shift} cells");
            }
        }
    }
}

//! Collapse of a water column (row D2): Martin & Moyce, Phil. Trans. R. Soc. A 244 (1952), 312.
//!
//! A column of width a = 57.15 mm and height 2a stands in the corner of a tank and is let go. Its front x runs along the
//! dry floor; with time and place made dimensionless,
//!
//! ```text
//! T = t √(2g/a),   Z = x/a,
//! ```
//!
//! all sizes of the experiment fall on one curve. The wall that held the column was pulled away in a finite time, so the
//! clock of the experiment may be off by a little: a curve is compared after the shift of time, at most ¼, that fits best.
//!
//! Not in here: friction of the floor, which slows the real front, surface tension and air. No front outruns Ritter's:
//! dZ/dT ≤ 2.

use crate::worlds::{still_air, water};
use bathtub_engine::fluid::FluidParams;
use bathtub_engine::fluid::water::{Liquid, Region, Transfer, WaterState};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::{CellField, Grid};
use bathtub_engine::world::{StepError, World, WorldParams};
use glam::{DQuat, DVec3};

/// T and Z of the front in the experiment, n² = 2.
pub const POINTS: [(f64, f64); 15] = [
    (0.41, 1.11),
    (0.84, 1.22),
    (1.19, 1.44),
    (1.43, 1.67),
    (1.63, 1.89),
    (1.83, 2.11),
    (1.98, 2.33),
    (2.20, 2.56),
    (2.32, 2.78),
    (2.51, 3.00),
    (2.65, 3.22),
    (2.83, 3.44),
    (2.98, 3.67),
    (3.11, 3.89),
    (3.33, 4.11),
];

/// The front is compared from here on: before, the wall that is pulled away decides.
const COMPARED_FROM: f64 = 0.84;
/// How far the clocks may be apart.
const MOST_SHIFT: f64 = 0.25;
/// Where the speed of the front is measured.
const SLOPE_BETWEEN: [f64; 2] = [1.6, 3.3];

/// Range of dZ/dT that is right.
pub const SLOPES: [f64; 2] = [1.15, 1.8];

/// Most that the front may be off with `cells` along a, as a root mean square relative to Z.
pub fn tolerance(cells: usize) -> f64 {
    if cells < 32 { 0.1 } else { 0.07 }
}

/// Width of the column, m.
pub const WIDTH: f64 = 0.05715;
/// m/s².
const G: f64 = 9.81;
/// Size of the tank, in widths of the column: the front does not reach its end.
const TANK: [usize; 2] = [6, 3];
/// Time between two points of a curve, dimensionless.
const INTERVAL: f64 = 0.1;
/// End of a curve: the last point of the experiment, with the largest shift, and one interval to spare.
const FRAMES: u64 = 37;

/// What happened.
#[derive(Clone, Debug)]
pub struct Collapse {
    /// T and Z of the front.
    pub front: Vec<(f64, f64)>,
    /// The liquid at T = 0, 1, 2 and 3.
    pub stills: Vec<Still>,
}

/// The liquid at one time.
#[derive(Clone, Debug)]
pub struct Still {
    /// T.
    pub time: f64,
    /// The cells.
    pub grid: Grid,
    /// The liquid in them.
    pub water: WaterState,
}

/// How well a curve agrees with the experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Root of the mean squared error of Z, relative to Z, after the shift.
    pub rms: f64,
    /// The same without a shift.
    pub rms_unshifted: f64,
    /// What fits best when added to the experiment's T.
    pub shift: f64,
    /// dZ/dT of the straight line closest to the curve.
    pub slope: f64,
}

/// Let the column go, with `cells` along its width.
pub fn collapse(transfer: Transfer, cells: usize) -> Result<Collapse, StepError> {
    let mut world = World::new(tank(transfer, cells)).expect("no bodies that could be wrong");
    let mut collapse = Collapse { front: Vec::new(), stills: Vec::new() };
    collapse.record(&world);
    while world.state().frame < FRAMES {
        let before = world.state().frame;
        if world.step()?.frame > before {
            collapse.record(&world);
        }
    }
    Ok(collapse)
}

/// The tank before the column is let go.
fn tank(transfer: Transfer, cells: usize) -> WorldParams {
    let dims = [TANK[0] * cells, TANK[1] * cells, 1];
    let dx = WIDTH / cells as f64;
    // Only what lies in the tank counts.
    let column = Shape::Box { size: 2.0 * DVec3::new(WIDTH, 2.0 * WIDTH, 1.0) };
    let pose = Pose { position: DVec3::ZERO, rotation: DQuat::IDENTITY };
    let mut liquid = water(vec![Liquid { region: Region::Shape(column, pose), velocity: DVec3::ZERO }], dims);
    liquid.transfer = transfer;
    liquid.gravity = DVec3::new(0.0, -G, 0.0);
    let mut params = WorldParams { fluid: FluidParams::Water(liquid), ..still_air(dims, dx) };
    params.pressure.params.tolerance = 1e-6;
    params.time.fps = (2.0 * G / WIDTH).sqrt() / INTERVAL;
    params.time.cfl = 2.0;
    params
}

impl Collapse {
    fn record(&mut self, world: &World) {
        let (state, grid) = (world.state(), world.params().grid);
        let (time, water) = (state.frame as f64 * INTERVAL, state.fluid.water().expect("the tank holds water"));
        self.front.push((time, floor_front(&grid, &water.distance) / WIDTH));
        let per_still = (1.0 / INTERVAL).round() as u64;
        if state.frame.is_multiple_of(per_still) {
            self.stills.push(Still { time, grid, water: water.clone() });
        }
    }

    /// Compare with the experiment.
    pub fn agreement(&self) -> Agreement {
        let steps = 50;
        let shifts = (-steps..=steps).map(|i| MOST_SHIFT * f64::from(i) / f64::from(steps));
        let errors = shifts.map(|shift| (self.rms(shift), shift));
        let (rms, shift) = errors.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are shifts");
        Agreement { rms, rms_unshifted: self.rms(0.0), shift, slope: self.slope() }
    }

    /// Relative error of Z with `shift` added to the experiment's T.
    fn rms(&self, shift: f64) -> f64 {
        let compared = || POINTS.iter().filter(|(t, _)| *t >= COMPARED_FROM);
        let squares = compared().map(|&(t, z)| (interpolate(&self.front, t + shift) / z - 1.0).powi(2));
        (squares.sum::<f64>() / compared().count() as f64).sqrt()
    }

    fn slope(&self) -> f64 {
        slope(self.front.iter().copied().filter(|(t, _)| (SLOPE_BETWEEN[0]..=SLOPE_BETWEEN[1]).contains(t)))
    }
}

/// dZ/dT of the experiment.
pub fn measured_slope() -> f64 {
    slope(POINTS.into_iter().filter(|(t, _)| *t >= SLOPE_BETWEEN[0]))
}

/// Where the surface of the liquid last meets the row of cells on the floor, m from the left wall.
///
/// Liquid is where its distance says: a tongue thinner than half a cell, or spray, is no front.
fn floor_front(grid: &Grid, distance: &CellField) -> f64 {
    let d = &distance.data[..grid.dims[0]];
    let Some(last) = d.iter().rposition(|&d| d < 0.0) else { return 0.0 };
    let beyond = d.get(last + 1).map_or(0.5, |next| d[last] / (d[last] - next));
    grid.dx * (last as f64 + 0.5 + beyond)
}

/// Value at `x` of the line through points in order; beyond its ends, the ends'.
pub fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let above = points.partition_point(|p| p.0 <= x).clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[above - 1], points[above]);
    y0 + (y1 - y0) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0)
}

/// Slope of the straight line with the least squares of errors.
fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let n = points.clone().count() as f64;
    let mean = |value: fn((f64, f64)) -> f64| points.clone().map(value).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = points.clone().map(|p| (p.0 - x) * (p.1 - y)).sum();
    covariance / points.map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(z: impl Fn(f64) -> f64) -> Collapse {
        let front = (0..=FRAMES).map(|i| i as f64 * INTERVAL).map(|t| (t, z(t))).collect();
        Collapse { front, stills: Vec::new() }
    }

    #[test]
    fn the_experiment_agrees_with_itself_late_or_not() {
        for late in [0.0, 0.2] {
            let found = curve(|t| interpolate(&POINTS, t - late)).agreement();
            assert!(found.rms < 0.01 && (found.shift - late).abs() < 0.03, "{found:?}");
        }
        // More than the shift allows.
        let found = curve(|t| interpolate(&POINTS, t - 0.6)).agreement();
        assert!(found.rms > 0.1 && found.shift == MOST_SHIFT, "{found:?}");
        assert!((1.3..1.35).contains(&measured_slope()), "{}", measured_slope());
        assert!((curve(|t| 1.5 * t).agreement().slope - 1.5).abs() < 1e-12);
    }

    #[test]
    fn the_front_is_where_the_distance_changes_sign_on_the_floor() {
        let grid = Grid::new([6, 2, 1], 0.5, DVec3::ZERO);
        let mut distance = CellField::new(&grid, 0.5);
        assert_eq!(floor_front(&grid, &distance), 0.0);
        // Liquid to the middle between the centres of cells 2 and 3; the row above does not count.
        distance.data[..4].copy_from_slice(&[-0.5, -0.5, -0.2, 0.2]);
        distance.data[11] = -0.5;
        assert_eq!(floor_front(&grid, &distance), 1.5);
        distance.data[5] = -0.5;
        assert_eq!(floor_front(&grid, &distance), 3.0);
    }

    #[test]
    fn the_column_stands_where_it_should() {
        let world = World::new(tank(Transfer::Apic, 8)).expect("no bodies that could be wrong");
        let particles = &world.state().fluid.water().unwrap().particles;
        assert_eq!(particles.len(), 9 * 8 * 16);
        let far = particles.position.iter().fold(DVec3::ZERO, |far, p| far.max(*p));
        assert!(far.x <= WIDTH && far.y <= 2.0 * WIDTH && far.x > 0.95 * WIDTH && far.y > 1.95 * WIDTH, "{far}");
        let front = floor_front(&world.params().grid, &world.state().fluid.water().unwrap().distance);
        assert!((front / WIDTH - 1.0).abs() < 0.02, "{front}");
    }
}

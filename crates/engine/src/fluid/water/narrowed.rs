//! What solids leave of the room around cells: how much, where its middle is, and how far it reaches.
//!
//! The density of a cell speaks of this room. It says where a surface is, seen from the middle; and where the room reaches less far across the
//! surface, density changes faster from 0 to 1, so that by as much less the surface is away (`flatten`).

use crate::grid::{Grid, strides};
use glam::DVec3;

/// Solids farther away than this, in cells, leave all the room around a cell: the kernel's corner is √3 away, and distances are of centres.
pub const IN_REACH: f64 = 2.5;

/// Most parts that the kernel reaches along an axis: those of two cells with four each.
const MOST_TAPS: usize = 8;

/// A cell that solids are near.
pub struct Narrowed {
    pub cell: u32,
    /// Share of its neighbourhood that they leave.
    pub room: f64,
    /// From the cell centre to the middle of the room, in cells.
    pub offset: [f32; 3],
    pub spread: Spread,
}

/// Mean squares (xx, yy, zz, xy, xz, yz) of how far the room reaches from its middle, as parts of a whole one's.
#[derive(Clone, Copy)]
pub struct Spread([f32; 6]);

impl Default for Spread {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl Spread {
    /// Without solids.
    pub const WHOLE: Self = Self([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);

    /// How far the room reaches along a direction, as a part of how far a whole one does.
    pub fn along(self, n: DVec3) -> f64 {
        let [xx, yy, zz, xy, xz, yz] = self.0.map(f64::from);
        let straight = DVec3::new(xx, yy, zz).dot(n * n);
        let crossed = DVec3::new(xy, xz, yz).dot(pairs(n));
        (straight + 2.0 * crossed).max(0.0).sqrt()
    }
}

/// The kernel of density on the parts of cells.
pub struct Kernel {
    parts: [usize; 3],
    /// Parts that it reaches along each axis.
    taps: [Vec<Tap>; 3],
    /// All weights together.
    whole: f64,
    /// Mean square distance from the centre along each axis: of the parts, and within them.
    square: DVec3,
    within: DVec3,
}

struct Tap {
    /// From the first part of the cell on.
    shift: i32,
    /// From the cell centre, in cells.
    x: f64,
    weight: f64,
}

impl Kernel {
    pub fn new(parts: [usize; 3]) -> Self {
        let taps = parts.map(|n| {
            let tap = |shift: i32| {
                let x = (f64::from(shift) + 0.5) / n as f64 - 0.5;
                Tap { shift, x, weight: 1.0 - x.abs() }
            };
            (-(n as i32)..2 * n as i32).map(tap).filter(|tap| tap.weight > 0.0).collect::<Vec<_>>()
        });
        let of_axes = |value: fn(&Tap) -> f64| [0, 1, 2].map(|a| taps[a].iter().map(value).sum::<f64>());
        let totals = of_axes(|tap| tap.weight);
        let within = DVec3::from(parts.map(|n| 1.0 / (12 * n * n) as f64));
        let square = DVec3::from(of_axes(|tap| tap.weight * tap.x * tap.x)) / DVec3::from(totals) + within;
        Self { parts, taps, whole: totals.iter().product(), square, within }
    }

    /// What solids leave around a cell.
    pub fn narrowed(&self, grid: &Grid, open_parts: &[f32], cell: usize) -> Narrowed {
        let (parts, at) = (self.parts, grid.cell_at(cell));
        let strides = strides(grid.dims);
        let part_strides = [1, parts[0], parts[0] * parts[1]];
        let count = parts.iter().product::<usize>();
        // How far on in the parts those of a tap are. Beyond the sides it goes on as at the sides, as the particles' weights do.
        let place = |a: usize, tap: &Tap| {
            let last = (grid.dims[a] * parts[a]) as i32 - 1;
            let part = ((at[a] * parts[a]) as i32 + tap.shift).clamp(0, last) as usize;
            part / parts[a] * strides[a] * count + part % parts[a] * part_strides[a]
        };
        let mut in_row = [0; MOST_TAPS];
        in_row.iter_mut().zip(&self.taps[0]).for_each(|(to, tap)| *to = place(0, tap));
        let (mut sum, mut moment) = (0.0, DVec3::ZERO);
        let (mut straight, mut crossed) = (DVec3::ZERO, DVec3::ZERO);
        for c in &self.taps[2] {
            for b in &self.taps[1] {
                let row = place(1, b) + place(2, c);
                // Σ w, Σ w x and Σ w x² of the row.
                let mut sums = DVec3::ZERO;
                for (a, to) in self.taps[0].iter().zip(in_row) {
                    sums += a.weight * f64::from(open_parts[row + to]) * DVec3::new(1.0, a.x, a.x * a.x);
                }
                let [w, wx, wxx] = (b.weight * c.weight * sums).to_array();
                sum += w;
                moment += DVec3::new(wx, w * b.x, w * c.x);
                straight += DVec3::new(wxx, w * b.x * b.x, w * c.x * c.x);
                crossed += DVec3::new(wx * b.x, wx * c.x, w * b.x * c.x);
            }
        }
        let room = sum / self.whole;
        if sum == 0.0 {
            return Narrowed { cell: cell as u32, room, offset: [0.0; 3], spread: Spread([0.0; 6]) };
        }
        let middle = moment / sum;
        let straight = (straight / sum - middle * middle + self.within) / self.square;
        let crossed = (crossed / sum - pairs(middle)) / pairs(self.square.map(f64::sqrt));
        let [xx, yy, zz] = straight.as_vec3().to_array();
        let [xy, xz, yz] = crossed.as_vec3().to_array();
        Narrowed {
            cell: cell as u32,
            room,
            offset: middle.as_vec3().to_array(),
            spread: Spread([xx, yy, zz, xy, xz, yz]),
        }
    }
}

/// xy, xz and yz.
fn pairs(x: DVec3) -> DVec3 {
    DVec3::new(x.x * x.y, x.x * x.z, x.y * x.z)
}

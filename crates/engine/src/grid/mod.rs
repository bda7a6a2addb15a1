//! The uniform staggered grid and the fields that live on it.
//!
//! Scalars sit at cell centres, velocity components at the centres of the faces they cross
//! (a face of `axis` with index i lies between cells i−1 and i), distances at nodes. Storage is
//! x-fastest: `i + nx·(j + ny·k)`. A two-dimensional scene is a grid one cell thick: its *flat*
//! axis carries no velocity, and no loop needs to know.

mod extension;
mod field;
pub mod operators;
pub mod parallel;
mod redistance;
pub mod sample;

pub use extension::Extension;
pub use field::{CellField, FaceField, NodeField};
pub(crate) use redistance::cells_beside_the_interface;
pub use redistance::redistance;
pub use sample::{Lattice, VelocityLattice};

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// One of the three coordinate directions; loops go over [`Axis::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Axis {
    /// First coordinate, fastest in storage.
    X,
    /// Second coordinate, up by convention.
    Y,
    /// Third coordinate.
    Z,
}

impl Axis {
    /// The three axes in storage order.
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

    /// 0, 1 or 2.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The unit vector along this axis.
    pub const fn unit(self) -> DVec3 {
        [DVec3::X, DVec3::Y, DVec3::Z][self as usize]
    }

    /// The two axes across this one, in cyclic order (so that `self, a, b` is right-handed).
    pub const fn others(self) -> [Axis; 2] {
        match self {
            Axis::X => [Axis::Y, Axis::Z],
            Axis::Y => [Axis::Z, Axis::X],
            Axis::Z => [Axis::X, Axis::Y],
        }
    }
}

/// From a sample to the next one along each axis, in an array with these dims.
pub fn strides([nx, ny, _]: [usize; 3]) -> [usize; 3] {
    [1, nx, nx * ny]
}

/// Grid indices of the sample stored at `index` in an array with these dims.
pub fn unravel([nx, ny, _]: [usize; 3], index: usize) -> [usize; 3] {
    [index % nx, index / nx % ny, index / (nx * ny)]
}

/// The cells below and above the face across `axis` that is stored at `face`, in a grid with these dims; where there are any.
fn cells_beside(dims: [usize; 3], axis: Axis, face: usize) -> [Option<usize>; 2] {
    let a = axis.index();
    let mut face_dims = dims;
    face_dims[a] += 1;
    let at = unravel(face_dims, face);
    let upper = at[0] + dims[0] * (at[1] + dims[1] * at[2]);
    [(at[a] > 0).then(|| upper - strides(dims)[a]), (at[a] < dims[a]).then_some(upper)]
}

/// A box of cubic cells: where they are and how they are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Number of cells along x, y and z.
    pub dims: [usize; 3],
    /// Edge of a cell, m.
    pub dx: f64,
    /// The corner with the smallest coordinates, m.
    pub origin: DVec3,
}

impl Grid {
    /// A grid of `dims` cells of edge `dx` whose lowest corner is `origin`. A world refuses one that is none.
    pub fn new(dims: [usize; 3], dx: f64, origin: DVec3) -> Self {
        Self { dims, dx, origin }
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether `axis` is one cell thick: nothing moves along it.
    pub fn is_flat(&self, axis: Axis) -> bool {
        self.dims[axis.index()] == 1
    }

    /// Whether nothing moves along some axis.
    pub fn has_flat_axis(&self) -> bool {
        Axis::ALL.into_iter().any(|axis| self.is_flat(axis))
    }

    /// The corner opposite to `origin`, m.
    pub fn upper(&self) -> DVec3 {
        self.origin + self.dx * DVec3::from(self.dims.map(|n| n as f64))
    }

    /// The centre of a face of this storage index, m.
    pub fn face_at(&self, axis: Axis, face: usize) -> DVec3 {
        self.face_centre(axis, unravel(self.face_dims(axis), face))
    }

    /// The cells below and above a face of this storage index, where there are any.
    pub fn cells_beside(&self, axis: Axis, face: usize) -> [Option<usize>; 2] {
        cells_beside(self.dims, axis, face)
    }

    /// Storage index of a cell.
    pub fn cell(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.dims[0] * (j + self.dims[1] * k)
    }

    /// Grid indices of the cell stored at `index`.
    pub fn cell_at(&self, index: usize) -> [usize; 3] {
        unravel(self.dims, index)
    }

    /// Storage index of the cell around a point of index space (the nearest cell if it lies outside).
    #[inline(always)]
    pub fn cell_around(&self, p: DVec3) -> usize {
        let [nx, ny, nz] = self.dims;
        // A cast to i32 saturates, and NaN becomes 0.
        let within = |x: f64, n: usize| (x as i32).clamp(0, n as i32 - 1) as usize;
        within(p.x, nx) + nx * (within(p.y, ny) + ny * within(p.z, nz))
    }

    /// Centre of a cell, m.
    pub fn cell_centre(&self, [i, j, k]: [usize; 3]) -> DVec3 {
        self.origin + self.dx * DVec3::new(i as f64 + 0.5, j as f64 + 0.5, k as f64 + 0.5)
    }

    /// Number of faces across `axis` along each direction.
    pub fn face_dims(&self, axis: Axis) -> [usize; 3] {
        let mut dims = self.dims;
        dims[axis.index()] += 1;
        dims
    }

    /// Storage index of a face across `axis`.
    pub fn face(&self, axis: Axis, [i, j, k]: [usize; 3]) -> usize {
        let [nx, ny, _] = self.face_dims(axis);
        i + nx * (j + ny * k)
    }

    /// Centre of a face across `axis`, m.
    pub fn face_centre(&self, axis: Axis, at: [usize; 3]) -> DVec3 {
        self.cell_centre(at) - 0.5 * self.dx * axis.unit()
    }

    /// Number of nodes (cell corners) along each direction.
    pub fn node_dims(&self) -> [usize; 3] {
        self.dims.map(|n| n + 1)
    }

    /// Position of a node, m.
    pub fn node(&self, [i, j, k]: [usize; 3]) -> DVec3 {
        self.origin + self.dx * DVec3::new(i as f64, j as f64, k as f64)
    }
}

//! Fields: plain arrays with the shape of the grid's cells, faces or nodes.

use super::{Axis, Grid};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// One value per cell, x-fastest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellField<T = f64> {
    /// Number of cells along x, y and z.
    pub dims: [usize; 3],
    /// The values.
    pub data: Vec<T>,
}

/// One value per face, kept per axis; for a velocity, the component normal to the face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaceField<T = f64> {
    /// Number of *cells* along x, y and z.
    pub dims: [usize; 3],
    /// Values of the faces across x, y and z.
    pub axes: [Vec<T>; 3],
}

/// One value per node (cell corner).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeField<T = f64> {
    /// Number of *nodes* along x, y and z.
    pub dims: [usize; 3],
    /// The values.
    pub data: Vec<T>,
}

impl<T: Copy> CellField<T> {
    /// `value` in every cell.
    pub fn new(grid: &Grid, value: T) -> Self {
        Self { dims: grid.dims, data: vec![value; grid.cells()] }
    }
}

impl<T: Copy> NodeField<T> {
    /// `value` at every node.
    pub fn new(grid: &Grid, value: T) -> Self {
        let dims = grid.node_dims();
        Self { dims, data: vec![value; dims.iter().product()] }
    }
}

impl<T: Copy> FaceField<T> {
    /// `value` on every face.
    pub fn new(grid: &Grid, value: T) -> Self {
        Self { dims: grid.dims, axes: Axis::ALL.map(|a| vec![value; grid.face_dims(a).iter().product()]) }
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

    /// The cells below and above a face of this storage index, where there are any.
    pub fn cells_beside(&self, axis: Axis, face: usize) -> [Option<usize>; 2] {
        super::cells_beside(self.dims, axis, face)
    }
}

impl FaceField {
    /// At the centre of a cell: the means of its faces.
    pub fn at_centre(&self, cell: [usize; 3]) -> DVec3 {
        let along = |axis: Axis| {
            let mut upper = cell;
            upper[axis.index()] += 1;
            0.5 * (self[(axis, cell)] + self[(axis, upper)])
        };
        DVec3::from(Axis::ALL.map(along))
    }
}

impl<T> Index<[usize; 3]> for CellField<T> {
    type Output = T;
    fn index(&self, [i, j, k]: [usize; 3]) -> &T {
        &self.data[i + self.dims[0] * (j + self.dims[1] * k)]
    }
}

impl<T> IndexMut<[usize; 3]> for CellField<T> {
    fn index_mut(&mut self, [i, j, k]: [usize; 3]) -> &mut T {
        &mut self.data[i + self.dims[0] * (j + self.dims[1] * k)]
    }
}

impl<T> Index<[usize; 3]> for NodeField<T> {
    type Output = T;
    fn index(&self, [i, j, k]: [usize; 3]) -> &T {
        &self.data[i + self.dims[0] * (j + self.dims[1] * k)]
    }
}

impl<T> IndexMut<[usize; 3]> for NodeField<T> {
    fn index_mut(&mut self, [i, j, k]: [usize; 3]) -> &mut T {
        &mut self.data[i + self.dims[0] * (j + self.dims[1] * k)]
    }
}

impl<T> Index<(Axis, [usize; 3])> for FaceField<T> {
    type Output = T;
    fn index(&self, (axis, [i, j, k]): (Axis, [usize; 3])) -> &T {
        let mut n = self.dims;
        n[axis.index()] += 1;
        &self.axes[axis.index()][i + n[0] * (j + n[1] * k)]
    }
}

impl<T> IndexMut<(Axis, [usize; 3])> for FaceField<T> {
    fn index_mut(&mut self, (axis, [i, j, k]): (Axis, [usize; 3])) -> &mut T {
        let mut n = self.dims;
        n[axis.index()] += 1;
        &mut self.axes[axis.index()][i + n[0] * (j + n[1] * k)]
    }
}

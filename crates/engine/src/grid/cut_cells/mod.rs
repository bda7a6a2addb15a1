//! Cut cells: which part of each face and cell is fluid, and how much the solids push into it.
//!
//! Every triangle of a body is clipped to the cells it crosses. By the divergence theorem the solid
//! part of a cell closes: along each axis
//!
//! ```text
//! S(i+1) − S(i) + Σ polygons A = 0
//! ```
//!
//! with S the solid's share of the cell's two faces and A the polygons' projected areas, out of the
//! solid. So S follows from the polygons alone, by adding up along each row of cells from outside the
//! body; polygons beyond the grid count where the body sticks out. Likewise a cell's solid volume is
//! ∮ x nₓ dA. Open areas, volumes and the fluxes of moving solids thus come from the *same* polygons,
//! and every cut cell closes to round-off: Σ ±open·dx² = Σ A, for any closed mesh (design after
//! \[ZB17\], who took the areas from a distance field: see [`open_from_distance`]).
//!
//! What the fluid in a cut cell obeys: Σ ±u·open·dx² = `solid_flux`, what leaves through the open faces
//! is what the solids push in.
//!
//! Not here: the two sides of a plate thinner than a cell share that cell, so fluid may pass around
//! an edge inside it (face constraints are for thin shells). Where bodies overlap each other or
//! themselves the solid counts once on faces and volumes (clamped), and such cells do not close.

mod clip;
mod from_distance;

pub use from_distance::open_from_distance;

use super::{Axis, CellField, FaceField, Grid};
use crate::geometry::TriMesh;
use clip::Piece;
use glam::DVec3;
use rayon::prelude::*;

/// Vertices nearer to a grid plane than this, in cells, are put on it, so that a face meant to lie on a plane does.
const ON_PLANE: f64 = 1e-11;

/// Fractions this near to 0 or 1 are 0 or 1: rounding errors of sums along a row stay well below.
const ROUND_OFF: f64 = 2e-13;

/// The part of one triangle in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutPolygon {
    /// Storage index of the cell.
    pub cell: usize,
    /// The triangle it is a part of.
    pub triangle: u32,
    /// ∫ n dA out of the solid, m².
    pub area: DVec3,
    /// Centre of the polygon, m: a velocity linear over the triangle has its mean here.
    pub centroid: DVec3,
}

/// What one body cuts out of a grid. Depends on geometry only: a body at rest is cut once.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyCut {
    /// Sorted by cell, then triangle.
    pub polygons: Vec<CutPolygon>,
    /// The cells that the fields below cover; everything else is free of this body.
    pub range: CellRange,
    /// The solid's share of each face in `range`, in \[0, 1\].
    pub solid_share: FaceField,
    /// The solid's share of each cell in `range`, in \[0, 1\].
    pub solid_volume: CellField,
}

/// A box of cells of a larger grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRange {
    /// Its first cell along each axis.
    pub start: [usize; 3],
    /// Number of cells along each axis; all 0 if there are none.
    pub dims: [usize; 3],
}

/// The grid with all bodies cut out.
#[derive(Clone, Debug, PartialEq)]
pub struct CutCells {
    /// Open part of each face, in \[0, 1\].
    pub open: FaceField,
    /// Open part of each cell, in \[0, 1\].
    pub volume: CellField,
    /// ∫ v·n dA over the solids' surfaces in each cell, n out of the solid, m³/s.
    pub solid_flux: CellField,
    touched: Vec<CellRange>,
}

/// Cut a closed mesh (world frame, normals outwards) out of the grid.
pub fn cut(grid: &Grid, mesh: &TriMesh) -> BodyCut {
    let vertices: Vec<DVec3> = mesh.vertices.par_iter().map(|&v| to_cells(grid, v)).collect();
    let range = CellRange::around(&vertices, grid.dims);
    let pieces = if range.dims == [0; 3] { Vec::new() } else { divide(&vertices, mesh, grid.dims) };

    // Each piece lowers the solid's share of the face above it; shares and volumes are sums along the rows.
    let mut solid_share = range.faces();
    let mut solid_volume = CellField { dims: range.dims, data: vec![0.0; range.dims.iter().product()] };
    for (_, piece) in &pieces {
        for axis in Axis::ALL {
            if Axis::ALL.iter().all(|&other| other == axis || piece.cell[other.index()] >= 0) {
                solid_share[(axis, range.upper_face(axis, piece.cell))] -= piece.area[axis.index()];
            }
        }
        if piece.is_inside() {
            solid_volume[range.local(piece.cell)] += piece.centroid.x * piece.area.x;
        }
    }
    for axis in Axis::ALL {
        accumulate(&mut solid_share, axis);
    }
    add_upper_faces(&mut solid_volume, &solid_share);
    for share in solid_share.axes.iter_mut().flatten().chain(&mut solid_volume.data) {
        *share = tidy(*share);
    }

    let mut polygons: Vec<CutPolygon> = pieces
        .iter()
        .filter(|(_, piece)| piece.is_inside())
        .map(|(triangle, piece)| CutPolygon {
            cell: grid.cell(piece.cell.map(|c| c as usize)),
            triangle: *triangle,
            area: grid.dx * grid.dx * piece.area,
            centroid: grid.origin + grid.dx * (DVec3::from(piece.cell.map(f64::from)) + piece.centroid),
        })
        .collect();
    polygons.par_sort_by_key(|polygon| polygon.cell);
    BodyCut { polygons, range, solid_share, solid_volume }
}

impl CutCells {
    /// No solids: everything open.
    pub fn new(grid: &Grid) -> Self {
        Self {
            open: FaceField::new(grid, 1.0),
            volume: CellField::new(grid, 1.0),
            solid_flux: CellField::new(grid, 0.0),
            touched: Vec::new(),
        }
    }

    /// Remove all solids; costs no more than they covered.
    pub fn clear(&mut self) {
        for range in std::mem::take(&mut self.touched) {
            for axis in Axis::ALL {
                let (within, dims) = (range.face_dims(axis), self.open.face_dims(axis));
                let open = &mut self.open.axes[axis.index()];
                rows(range.start, within, dims, |_, row| open[row].fill(1.0));
            }
            rows(range.start, range.dims, self.volume.dims, |_, row| {
                self.volume.data[row.clone()].fill(1.0);
                self.solid_flux.data[row].fill(0.0);
            });
        }
    }

    /// Cut out one more body whose surface moves with `velocity` (m/s) at the centres of its polygons.
    pub fn add(&mut self, body: &BodyCut, velocity: impl Fn(&CutPolygon) -> DVec3) {
        let range = body.range;
        for axis in Axis::ALL {
            let (within, dims) = (range.face_dims(axis), self.open.face_dims(axis));
            let (open, share) = (&mut self.open.axes[axis.index()], &body.solid_share.axes[axis.index()]);
            rows(range.start, within, dims, |local, row| take(&mut open[row], &share[local]));
        }
        rows(range.start, range.dims, self.volume.dims, |local, row| {
            take(&mut self.volume.data[row], &body.solid_volume.data[local]);
        });
        for polygon in &body.polygons {
            self.solid_flux.data[polygon.cell] += velocity(polygon).dot(polygon.area);
        }
        self.touched.push(range);
    }
}

impl CellRange {
    /// The cells of a grid that a surface with these vertices (in cells) may cut or fill.
    fn around(vertices: &[DVec3], dims: [usize; 3]) -> Self {
        let min = vertices.iter().fold(DVec3::INFINITY, |m, &v| m.min(v)).to_array();
        let max = vertices.iter().fold(DVec3::NEG_INFINITY, |m, &v| m.max(v)).to_array();
        let mut range = Self { start: [0; 3], dims: [0; 3] };
        for a in 0..3 {
            // A face in a plane may belong to either side of it.
            let first = (min[a].ceil() - 1.0).max(0.0);
            let end = (max[a].floor() + 1.0).min(dims[a] as f64);
            if first >= end || first.is_nan() || end.is_nan() {
                return Self { start: [0; 3], dims: [0; 3] };
            }
            range.start[a] = first as usize;
            range.dims[a] = (end - first) as usize;
        }
        range
    }

    /// Number of faces across `axis` along each direction.
    pub fn face_dims(&self, axis: Axis) -> [usize; 3] {
        let mut dims = self.dims;
        dims[axis.index()] += 1;
        dims
    }

    fn faces(&self) -> FaceField {
        FaceField { dims: self.dims, axes: Axis::ALL.map(|axis| vec![0.0; self.face_dims(axis).iter().product()]) }
    }

    fn local(&self, cell: [i32; 3]) -> [usize; 3] {
        [0, 1, 2].map(|a| cell[a] as usize - self.start[a])
    }

    /// The face above a cell; for what lies below the grid along `axis` that is the grid's first face.
    fn upper_face(&self, axis: Axis, mut cell: [i32; 3]) -> [usize; 3] {
        cell[axis.index()] += 1;
        self.local(cell)
    }
}

impl Piece {
    fn is_inside(&self) -> bool {
        self.cell.iter().all(|&c| c >= 0)
    }
}

/// Position in units of cells, on a grid plane if it is next to one.
fn to_cells(grid: &Grid, world: DVec3) -> DVec3 {
    let v = (world - grid.origin) / grid.dx;
    let plane = v.round();
    DVec3::select((v - plane).abs().cmple(DVec3::splat(ON_PLANE)), plane, v)
}

/// Pieces of all triangles, in the order of triangles.
fn divide(vertices: &[DVec3], mesh: &TriMesh, dims: [usize; 3]) -> Vec<(u32, Piece)> {
    let chunk = (mesh.triangles.len() / 64).clamp(1, 256);
    let chunks = mesh.triangles.par_chunks(chunk).enumerate();
    let pieces: Vec<Vec<(u32, Piece)>> = chunks
        .map(|(c, triangles)| {
            let mut pieces = Vec::with_capacity(8 * triangles.len());
            for (t, triangle) in triangles.iter().enumerate() {
                let id = (c * chunk + t) as u32;
                clip::divide(triangle.map(|v| vertices[v as usize]), dims, &mut |piece| pieces.push((id, piece)));
            }
            pieces
        })
        .collect();
    pieces.concat()
}

/// Replace the values along each row of faces by their running sums.
fn accumulate(faces: &mut FaceField, axis: Axis) {
    let dims = faces.face_dims(axis);
    let stride: usize = dims[..axis.index()].iter().product();
    for rows in faces.axes[axis.index()].chunks_mut((stride * dims[axis.index()]).max(1)) {
        for i in stride..rows.len() {
            rows[i] += rows[i - stride];
        }
    }
}

/// The last term of ∮ x nₓ dA: the solid on each cell's upper face, one cell from its lower one.
fn add_upper_faces(volume: &mut CellField, share: &FaceField) {
    let nx = volume.dims[0];
    if nx == 0 {
        return;
    }
    for (cells, faces) in volume.data.chunks_mut(nx).zip(share.axes[Axis::X.index()].chunks(nx + 1)) {
        for (cell, face) in cells.iter_mut().zip(&faces[1..]) {
            *cell += face;
        }
    }
}

/// A fraction without the rounding errors at its ends.
fn tidy(fraction: f64) -> f64 {
    if fraction < ROUND_OFF {
        0.0
    } else if fraction > 1.0 - ROUND_OFF {
        1.0
    } else {
        fraction
    }
}

/// Open what is left after the solid's share.
fn take(open: &mut [f64], share: &[f64]) {
    for (open, share) in open.iter_mut().zip(share) {
        *open = tidy(*open - share);
    }
}

/// Visit the rows along x of a box of size `within` at `start` in an array of size `dims`: where each row is in the
/// box, and where in the array.
fn rows(
    start: [usize; 3],
    within: [usize; 3],
    dims: [usize; 3],
    mut visit: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>),
) {
    let [nx, ny, nz] = within;
    for k in 0..nz {
        for j in 0..ny {
            let local = nx * (j + ny * k);
            let row = start[0] + dims[0] * (start[1] + j + dims[1] * (start[2] + k));
            visit(local..local + nx, row..row + nx);
        }
    }
}

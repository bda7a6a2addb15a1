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
//! and every cut cell closes to round-off: Σ ±open·dx² = Σ A, for any closed mesh (unlike
//! \[ZB17, §7\], who took the areas from a distance field: see [`open_from_distance`]).
//!
//! What the fluid in a cut cell obeys: Σ ±u·open·dx² = `solid_flux`, what leaves through the open faces
//! is what the solids push in.
//!
//! Not here: the two sides of a plate thinner than a cell share that cell, so fluid may pass around
//! an edge inside it (face constraints are for thin shells). Where bodies overlap each other or
//! themselves the solid counts once on faces and volumes (clamped), and such cells do not close.

mod clip;
mod flush;
mod from_distance;
pub mod voxels;

pub use flush::{Flush, flush};
pub use from_distance::open_from_distance;

use crate::geometry::TriMesh;
use crate::grid::{Axis, CellField, FaceField, Grid};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Vertices nearer to a grid plane than this, in cells, are put on it, so that a face meant to lie on a plane does.
/// Round-off of coordinates in a grid a thousand cells wide is 2e-13.
const ON_PLANE: f64 = 1e-11;

/// So are, by [`cut_laid`], triangles that lie within this many cells of one. The fluid's side of a face just inside a plane would be a film: as part of
/// cells it lets the fluid before one face of a box turn around the edge and come out before another, by one side of the box only.
/// As thin as the slits that count as closed (fluid/boundary.rs). Row C5 has cubes 5e-4 beside planes.
const ALONG_PLANE: f64 = 1e-3;

/// Fractions this near to 0 or 1 are 0 or 1: rounding errors of sums along a row stay well below.
/// About a thousand roundings of 1, one for each cell of a long row.
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
    /// Mean of (x − centroid)(x − centroid)ᵀ over the polygon, m²: what a product of two linear functions has beyond that of their means.
    pub spread: DMat3,
}

/// What one body cuts out of a grid. Depends on geometry only: a body at rest is cut once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyCut {
    /// Sorted by cell, then triangle.
    pub polygons: Vec<CutPolygon>,
    /// Solid that reaches into the grid through its lower sides.
    entries: Vec<Entry>,
    /// The cells that the body cuts or fills, and perhaps a few more.
    range: CellRange,
}

/// A part of the surface below the grid: the solid's share of the grid's first face along a row of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    axis: Axis,
    /// The row's first cell.
    cell: [usize; 3],
    share: f64,
}

/// A box of cells of a larger grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CellRange {
    start: [usize; 3],
    /// Number of cells along each axis; all 0 if there are none.
    dims: [usize; 3],
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
    grid: Grid,
    touched: Vec<CellRange>,
}

/// Cut a closed mesh (world frame, normals outwards) out of the grid.
pub fn cut(grid: &Grid, mesh: &TriMesh) -> BodyCut {
    cut_in_cells(grid, mesh.vertices.par_iter().map(|&v| to_cells(grid, v)).collect(), mesh)
}

/// The same with triangles that lie along a plane between cells put on it.
pub fn cut_laid(grid: &Grid, mesh: &TriMesh) -> BodyCut {
    let mut vertices: Vec<DVec3> = mesh.vertices.par_iter().map(|&v| to_cells(grid, v)).collect();
    lay_on_planes(grid, &mut vertices, &mesh.triangles);
    cut_in_cells(grid, vertices, mesh)
}

/// Cut out a mesh with these vertices, in cells.
fn cut_in_cells(grid: &Grid, vertices: Vec<DVec3>, mesh: &TriMesh) -> BodyCut {
    let range = CellRange::around(&vertices, grid.dims);
    if range.dims == [0; 3] {
        return BodyCut { polygons: Vec::new(), entries: Vec::new(), range };
    }
    // Any chunking gives the same pieces in the same order.
    let chunk = (mesh.triangles.len() / 64).clamp(1, 256);
    let chunks = mesh.triangles.par_chunks(chunk).enumerate();
    let parts: Vec<_> = chunks.map(|(c, triangles)| divide(grid, &vertices, triangles, c * chunk)).collect();
    let (polygons, entries): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    BodyCut { polygons: sort_by_cell(&polygons), entries: entries.concat(), range }
}

impl BodyCut {
    /// Volume of the body in the grid, m³.
    pub fn volume(&self, grid: &Grid) -> f64 {
        let mut cells = CutCells::new(grid);
        cells.add_volume(self);
        grid.dx.powi(3) * cells.volume.data.iter().map(|open| 1.0 - open).sum::<f64>()
    }
}

impl CutCells {
    /// No solids: everything open.
    pub fn new(grid: &Grid) -> Self {
        Self {
            open: FaceField::new(grid, 1.0),
            volume: CellField::new(grid, 1.0),
            solid_flux: CellField::new(grid, 0.0),
            grid: *grid,
            touched: Vec::new(),
        }
    }

    /// Remove all solids; costs no more than they covered.
    pub fn clear(&mut self) {
        for range in std::mem::take(&mut self.touched) {
            for row in range.rows(range.dims, self.grid.dims) {
                self.volume.data[row.clone()].fill(1.0);
                self.solid_flux.data[row].fill(0.0);
            }
            for axis in Axis::ALL {
                for row in range.rows(shifted(range.dims, axis, 1), self.grid.face_dims(axis)) {
                    self.open.axes[axis.index()][row].fill(1.0);
                }
            }
        }
    }

    /// Cut out one more body whose surface moves with `velocity` (m/s) at the centres of its polygons.
    pub fn add(&mut self, body: &BodyCut, velocity: impl Fn(&CutPolygon) -> DVec3) {
        self.take(body, true, velocity);
    }

    /// Let what bodies that are added from now on hide of one another count once.
    pub fn allow(&mut self, flush: &Flush) {
        for &(axis, face, part) in &flush.faces {
            self.open.axes[axis.index()][face] += part;
        }
    }

    /// Take the volume of a body out of the cells, and leave the faces as they are.
    pub fn add_volume(&mut self, body: &BodyCut) {
        self.take(body, false, |_| DVec3::ZERO);
    }

    fn take(&mut self, body: &BodyCut, with_faces: bool, velocity: impl Fn(&CutPolygon) -> DVec3) {
        let (grid, range) = (self.grid, body.range);
        let [nx, ny, nz] = range.dims;
        // The solid's share of the faces between the cells visited and those to come, for each row along each axis.
        let mut share = range.sections();
        for entry in &body.entries {
            share[entry.axis.index()][range.row(entry.axis, range.local(entry.cell))] += entry.share;
        }
        for axis in Axis::ALL.into_iter().filter(|_| with_faces) {
            self.close_first_faces(range, axis, &share[axis.index()]);
        }

        // By the closure of each cell, its upper faces have the solid of the lower ones less the polygons between.
        let [share_x, share_y, share_z] = &mut share;
        let mut upper_x = vec![0.0; nx];
        let mut volume = vec![0.0; nx];
        let mut polygons = body.polygons.iter().peekable();
        let per_face = 1.0 / (grid.dx * grid.dx);
        for k in 0..nz {
            for j in 0..ny {
                let start = range.cell([0, j, k]);
                let first = grid.cell(start);
                let (share_y, share_z) = (&mut share_y[nx * k..][..nx], &mut share_z[nx * j..][..nx]);
                upper_x.fill(0.0);
                volume.fill(0.0);
                while let Some(polygon) = polygons.next_if(|polygon| polygon.cell < first + nx) {
                    let i = polygon.cell - first;
                    let area = per_face * polygon.area;
                    let lower = grid.node([start[0] + i, 0, 0]).x;
                    upper_x[i] -= area.x;
                    share_y[i] -= area.y;
                    share_z[i] -= area.z;
                    volume[i] += (polygon.centroid.x - lower) / grid.dx * area.x;
                    self.solid_flux.data[polygon.cell] += velocity(polygon).dot(polygon.area);
                }
                // The volume is ∮ x nₓ dA with x from the lower face: the polygons, and the upper face one cell away.
                let mut solid = share_x[j + ny * k];
                for (upper, volume) in upper_x.iter_mut().zip(&mut volume) {
                    solid += *upper;
                    *upper = solid;
                    *volume += solid;
                }
                take_row(&mut self.volume.data[first..], &volume);
                for (axis, share) in Axis::ALL.into_iter().zip([&*upper_x, share_y, share_z]).filter(|_| with_faces) {
                    let face = grid.face(axis, shifted(start, axis, 1));
                    take_row(&mut self.open.axes[axis.index()][face..], share);
                }
            }
        }
        self.touched.push(range);
    }

    /// Close the first faces along `axis` by the solid that enters there.
    fn close_first_faces(&mut self, range: CellRange, axis: Axis, share: &[f64]) {
        let section = range.section(axis);
        let faces = range.rows(section, self.grid.face_dims(axis));
        for (row, share) in faces.zip(share.chunks(section[0].max(1))) {
            take_row(&mut self.open.axes[axis.index()][row], share);
        }
    }
}

impl CellRange {
    /// The cells of a grid that a surface with these vertices (in cells) may cut or fill.
    fn around(vertices: &[DVec3], dims: [usize; 3]) -> Self {
        const NOTHING: CellRange = CellRange { start: [0; 3], dims: [0; 3] };
        let min = vertices.iter().fold(DVec3::INFINITY, |m, &v| m.min(v)).to_array();
        let max = vertices.iter().fold(DVec3::NEG_INFINITY, |m, &v| m.max(v)).to_array();
        let mut range = NOTHING;
        for a in 0..3 {
            // A face in a plane may belong to either side of it.
            let first = (min[a].ceil() - 1.0).max(0.0);
            let end = (max[a].floor() + 1.0).min(dims[a] as f64);
            if first >= end || first.is_nan() || end.is_nan() {
                return NOTHING;
            }
            range.start[a] = first as usize;
            range.dims[a] = (end - first) as usize;
        }
        range
    }

    /// The grid's cell of one of this box.
    fn cell(&self, local: [usize; 3]) -> [usize; 3] {
        [0, 1, 2].map(|a| self.start[a] + local[a])
    }

    /// The cell of this box that is this one of the grid.
    fn local(&self, cell: [usize; 3]) -> [usize; 3] {
        [0, 1, 2].map(|a| cell[a] - self.start[a])
    }

    /// Where the rows along x of an array of size `within` that starts with this box lie in one of size `dims`.
    fn rows(&self, within: [usize; 3], dims: [usize; 3]) -> impl Iterator<Item = std::ops::Range<usize>> {
        let [x, y, z] = self.start;
        let layers = (z..z + within[2]).flat_map(move |k| (y..y + within[1]).map(move |j| [j, k]));
        layers.map(move |[j, k]| {
            let start = x + dims[0] * (j + dims[1] * k);
            start..start + within[0]
        })
    }

    /// Size of the box's first layer of cells along `axis`.
    fn section(&self, axis: Axis) -> [usize; 3] {
        let mut dims = self.dims;
        dims[axis.index()] = dims[axis.index()].min(1);
        dims
    }

    /// A zero for each row of cells along each axis.
    fn sections(&self) -> [Vec<f64>; 3] {
        Axis::ALL.map(|axis| vec![0.0; self.section(axis).iter().product()])
    }

    /// Number of the row along `axis` through a cell of this box.
    fn row(&self, axis: Axis, [i, j, k]: [usize; 3]) -> usize {
        match axis {
            Axis::X => j + self.dims[1] * k,
            Axis::Y => i + self.dims[0] * k,
            Axis::Z => i + self.dims[0] * j,
        }
    }
}

/// Position in units of cells, on a grid plane if it is next to one.
fn to_cells(grid: &Grid, world: DVec3) -> DVec3 {
    let v = (world - grid.origin) / grid.dx;
    let plane = v.round();
    DVec3::select((v - plane).abs().cmple(DVec3::splat(ON_PLANE)), plane, v)
}

/// Put the corners of triangles that lie along a plane between cells on it.
fn lay_on_planes(grid: &Grid, vertices: &mut [DVec3], triangles: &[[u32; 3]]) {
    let end = DVec3::from(grid.dims.map(|n| n as f64));
    // Found before any is moved: the order of triangles must not matter.
    let along = |triangle: &[u32; 3]| {
        let corners = triangle.map(|v| vertices[v as usize]);
        let plane = corners[0].round();
        let aside = corners.map(|corner| (corner - plane).abs()).into_iter().fold(DVec3::ZERO, DVec3::max);
        // At the sides of the grid there is nothing beyond that could take them.
        let lies = aside.cmple(DVec3::splat(ALONG_PLANE)) & plane.cmpgt(DVec3::ZERO) & plane.cmplt(end);
        lies.any().then_some((*triangle, lies))
    };
    let found: Vec<_> = triangles.par_iter().filter_map(along).collect();
    for (triangle, lies) in found {
        for v in triangle {
            let vertex = &mut vertices[v as usize];
            *vertex = DVec3::select(lies, vertex.round(), *vertex);
        }
    }
}

/// Polygons in the grid and entries below it of some triangles, the first of which has number `first`.
fn divide(grid: &Grid, vertices: &[DVec3], triangles: &[[u32; 3]], first: usize) -> (Vec<CutPolygon>, Vec<Entry>) {
    let mut polygons = Vec::with_capacity(8 * triangles.len());
    let mut entries = Vec::new();
    for (t, triangle) in triangles.iter().enumerate() {
        let corners = triangle.map(|v| vertices[v as usize]);
        clip::divide(corners, grid.dims, &mut |piece| {
            let cell = piece.cell.map(|c| c.max(0) as usize);
            match Axis::ALL.into_iter().find(|axis| piece.cell[axis.index()] < 0) {
                Some(axis) => entries.push(Entry { axis, cell, share: -piece.area[axis.index()] }),
                None => polygons.push(CutPolygon {
                    cell: grid.cell(cell),
                    triangle: (first + t) as u32,
                    area: grid.dx * grid.dx * piece.area,
                    centroid: grid.origin + grid.dx * (DVec3::from(piece.cell.map(f64::from)) + piece.centroid),
                    spread: piece.spread * (grid.dx * grid.dx),
                }),
            }
        });
    }
    (polygons, entries)
}

/// All polygons by cell; those of a cell stay in the order of triangles.
fn sort_by_cell(parts: &[Vec<CutPolygon>]) -> Vec<CutPolygon> {
    // Small keys are moved about instead of whole polygons.
    let keys = |(p, part): (usize, &Vec<CutPolygon>)| -> Vec<(usize, u32, u32)> {
        part.iter().zip(0..).map(|(polygon, i)| (polygon.cell, p as u32, i)).collect()
    };
    let mut order = parts.iter().enumerate().flat_map(keys).collect::<Vec<_>>();
    order.par_sort_unstable();
    order.into_iter().map(|(_, part, i)| parts[part as usize][i as usize]).collect()
}

/// A cell, face or size moved by `steps` along `axis`.
fn shifted(mut at: [usize; 3], axis: Axis, steps: usize) -> [usize; 3] {
    at[axis.index()] += steps;
    at
}

/// Lessen open fractions by solid ones; what rounding leaves of either is nothing.
fn take_row(open: &mut [f64], solid: &[f64]) {
    for (open, &solid) in open.iter_mut().zip(solid) {
        let left = if solid > ROUND_OFF { *open - solid } else { *open };
        *open = if left < ROUND_OFF { 0.0 } else { left };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Pose, Shape};
    use glam::DQuat;

    #[test]
    fn a_vertex_next_to_a_plane_is_on_it() {
        let grid = Grid::new([8, 8, 8], 0.1, DVec3::ZERO);
        // 0.3 / 0.1 is not 3 in binary.
        assert_eq!(to_cells(&grid, DVec3::new(0.3, 0.35, 0.7)), DVec3::new(3.0, 0.35 / 0.1, 7.0));
    }

    #[test]
    fn half_a_cell_is_half_open() {
        let grid = Grid::new([3, 3, 3], 2.0, DVec3::ZERO);
        let pose = Pose { position: DVec3::new(3.0, 2.5, 3.0), rotation: DQuat::IDENTITY };
        let body = cut(&grid, &Shape::Box { size: DVec3::new(2.0, 1.0, 2.0) }.surface(1.0).posed(&pose));
        let mut cells = CutCells::new(&grid);
        cells.add(&body, |_| DVec3::Y);
        assert_eq!(cells.volume[[1, 1, 1]], 0.5);
        assert_eq!(cells.open[(Axis::X, [1, 1, 1])], 0.5);
        assert_eq!(cells.open[(Axis::X, [2, 1, 1])], 0.5);
        assert_eq!(cells.open[(Axis::Y, [1, 1, 1])], 0.0);
        assert_eq!(cells.open[(Axis::Y, [1, 2, 1])], 1.0);
        // The top is in the cell, the bottom belongs to the fluid below.
        assert_eq!(cells.solid_flux[[1, 1, 1]], 4.0);
        assert_eq!(cells.solid_flux[[1, 0, 1]], -4.0);
    }

    #[test]
    fn solid_that_enters_from_below_the_grid_closes_its_first_faces() {
        let grid = Grid::new([3, 3, 3], 1.0, DVec3::ZERO);
        let pose = Pose { position: DVec3::new(-4.0, 1.5, 1.25), rotation: DQuat::IDENTITY };
        let mut cells = CutCells::new(&grid);
        cells.add(&cut(&grid, &Shape::Box { size: DVec3::new(10.5, 1.0, 0.5) }.surface(1.0).posed(&pose)), |_| {
            DVec3::ZERO
        });
        assert_eq!([0, 1, 2, 3].map(|i| cells.open[(Axis::X, [i, 1, 1])]), [0.5, 0.5, 1.0, 1.0]);
        assert_eq!([0, 1, 2].map(|i| cells.volume[[i, 1, 1]]), [0.5, 0.875, 1.0]);
    }

    #[test]
    fn rounding_errors_are_not_left_as_slivers() {
        let mut open = [1.0, 1.0, 0.25, 0.25, 1.0];
        take_row(&mut open, &[1e-14, 1.0 - 1e-14, 0.25 + 1e-15, 0.5, -1e-14]);
        assert_eq!(open, [1.0, 0.0, 0.0, 0.0, 1.0]);
    }
}

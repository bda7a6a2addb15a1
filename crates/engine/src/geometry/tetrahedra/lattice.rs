//! The body-centred cubic lattice, and how the surface cuts it.
//!
//! Nodes and cell centres of a [`Grid`] are the points of the lattice. Long edges join neighbouring nodes and
//! neighbouring centres, short edges join centres to the nodes of their cells. Around every face of a cell lie four
//! tetrahedra: the two centres beside the face, and one of its edges. All are alike; each has two long edges,
//! opposite to one another.
//!
//! Where an edge leads from inside to outside, a cut point marks the surface. Lattice points that are too near to a
//! cut point are moved there ([LS07], "warping"), so that no piece becomes too thin.

use super::TetMesh;
use super::stencil::{Corner, LatticeSpot, StencilCell};
use crate::geometry::{Bounds, Pose, SignedDistance};
use crate::grid::{Axis, CellField, Grid, NodeField, strides, unravel};
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// A cut point moves the lattice point at its end if it is nearer than this part of the edge: long, short [LS07].
/// With these the dihedral angles of all pieces are between 9.2° and 161.8°; smaller values let thin pieces through.
pub const VIOLATES: [f64; 2] = [0.24999, 0.41189];

/// Cut points are this near to the surface, in long edges.
/// A choice: far below the error of the mesh, which is of order h².
const EXACT: f64 = 1e-9;

/// Lattice points around a shape and their distances from it. Points are numbered: nodes first, then centres.
pub struct BccLattice<'a> {
    grid: Grid,
    shape: &'a SignedDistance,
    nodes: NodeField,
    centres: CellField,
}

/// A cut edge.
struct Cut {
    /// The end inside, and the end outside.
    ends: [u32; 2],
    /// m.
    position: DVec3,
}

/// Which lattice points are inside, and where those on the surface have been moved.
struct WarpedNodes {
    places: Vec<LatticeSpot>,
    /// Points that were moved, ascending.
    moved: Vec<(u32, DVec3)>,
}

/// How many cells of edge `size` (m) the lattice around these bounds has along each axis.
pub fn cells(bounds: &Bounds, size: f64) -> [f64; 3] {
    // One cell more on each side, so that what is outside surrounds the shape.
    (0.5 * bounds.size() / size).to_array().map(|half| 2.0 * (half.ceil() + 1.0))
}

impl<'a> BccLattice<'a> {
    /// Sample the shape within these bounds. Long edges are `size` (m) long. A node lies in the middle of the bounds.
    pub fn new(shape: &'a SignedDistance, bounds: &Bounds, size: f64) -> Self {
        let dims = cells(bounds, size);
        let origin = 0.5 * (bounds.min + bounds.max) - 0.5 * size * DVec3::from(dims);
        let grid = Grid::new(dims.map(|n| n as usize), size, origin);
        // Distances matter at the ends of cut edges only; the sign is enough elsewhere.
        let band = 1.01 * size;
        let nodes = shape.at_nodes(&Pose::IDENTITY, &grid, band);
        let centres = shape.at_cells(&Pose::IDENTITY, &grid, band);
        Self { grid, shape, nodes, centres }
    }

    /// Fill the shape with tetrahedra. Points of `kept_off` are not moved onto the surface. Also returns, for each
    /// vertex, the lattice point that it is.
    pub fn fill(&self, kept_off: &BTreeSet<u32>) -> (TetMesh, Vec<Option<u32>>) {
        let places = self.places(kept_off);
        let cuts = self.cuts(&places, kept_off);
        let warped = self.warp(places, &cuts, kept_off);
        let pieces = self.pieces(&warped.places, &cuts);
        let points = self.points();
        // Vertices in order of the lattice, then of the cuts.
        let mut vertex = vec![u32::MAX; points + cuts.len()];
        pieces.iter().flatten().for_each(|&v| vertex[v as usize] = 0);
        let mut mesh = TetMesh::default();
        let mut origins = Vec::new();
        for (v, number) in vertex.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = origins.len() as u32;
            mesh.vertices.push(if v < points { warped.position(self, v as u32) } else { cuts[v - points].position });
            origins.push((v < points).then_some(v as u32));
        }
        mesh.tetrahedra = pieces.into_iter().map(|piece| piece.map(|v| vertex[v as usize])).collect();
        (mesh, origins)
    }

    /// Number of lattice points.
    fn points(&self) -> usize {
        self.nodes.data.len() + self.centres.data.len()
    }

    /// Twice the index space of the grid: nodes are even, centres odd.
    fn coordinates(&self, point: u32) -> [i32; 3] {
        let point = point as usize;
        match point.checked_sub(self.nodes.data.len()) {
            None => unravel(self.nodes.dims, point).map(|i| 2 * i as i32),
            Some(centre) => unravel(self.centres.dims, centre).map(|i| 2 * i as i32 + 1),
        }
    }

    /// m.
    fn position(&self, point: u32) -> DVec3 {
        self.grid.origin + 0.5 * self.grid.dx * DVec3::from(self.coordinates(point).map(f64::from))
    }

    /// m, exact near the surface.
    fn distance(&self, point: u32) -> f64 {
        let point = point as usize;
        point.checked_sub(self.nodes.data.len()).map_or_else(|| self.nodes.data[point], |c| self.centres.data[c])
    }

    /// Which points are inside. Those that happen to lie on the surface count as outside if they are kept off it.
    fn places(&self, kept_off: &BTreeSet<u32>) -> Vec<LatticeSpot> {
        let place = |&distance: &f64| {
            if distance.abs() <= EXACT * self.grid.dx {
                LatticeSpot::Surface
            } else if distance < 0.0 {
                LatticeSpot::Inside
            } else {
                LatticeSpot::Outside
            }
        };
        let mut places: Vec<LatticeSpot> = self.nodes.data.iter().chain(&self.centres.data).map(place).collect();
        for &point in kept_off {
            let place = &mut places[point as usize];
            *place = if *place == LatticeSpot::Surface { LatticeSpot::Outside } else { *place };
        }
        places
    }

    /// All edges from inside to outside, in order of their ends, with their cut points.
    fn cuts(&self, places: &[LatticeSpot], kept_off: &BTreeSet<u32>) -> Vec<Cut> {
        let mut ends: Vec<[u32; 2]> = (0..self.points() as u32)
            .into_par_iter()
            .flat_map_iter(|point| {
                self.neighbours(point).filter_map(move |other| match [point, other].map(|p| places[p as usize]) {
                    [LatticeSpot::Inside, LatticeSpot::Outside] => Some([point, other]),
                    [LatticeSpot::Outside, LatticeSpot::Inside] => Some([other, point]),
                    _ => None,
                })
            })
            .collect();
        ends.par_sort_unstable();
        let cut = |ends: [u32; 2]| Cut { ends, position: self.cut(ends, kept_off) };
        ends.into_par_iter().map(cut).collect()
    }

    /// Lattice points joined to this one by an edge that is counted here: towards larger coordinates along long
    /// edges, and from centres to nodes along short ones.
    fn neighbours(&self, point: u32) -> impl Iterator<Item = u32> {
        let nodes = self.nodes.data.len();
        let (dims, first) = if (point as usize) < nodes { (self.nodes.dims, 0) } else { (self.centres.dims, nodes) };
        let index = point as usize - first;
        let at = unravel(dims, index);
        let along = (0..3).filter(move |&a| at[a] + 1 < dims[a]).map(move |a| point + strides(dims)[a] as u32);
        let steps = strides(self.nodes.dims);
        let corner = move |n: usize| (0..3).map(|a| (at[a] + (n >> a & 1)) * steps[a]).sum::<usize>() as u32;
        along.chain((0..if first == 0 { 0 } else { 8 }).map(corner))
    }

    /// Where the surface crosses an edge, m: regula falsi with the Illinois rule, bisection if that is slow.
    fn cut(&self, [inside, outside]: [u32; 2], kept_off: &BTreeSet<u32>) -> DVec3 {
        let (start, end) = (self.position(inside), self.position(outside));
        // `low` and `high` enclose the crossing; the values there may be halved, which draws the next guess to the
        // other side.
        let (mut low, mut high) = ((0.0, self.distance(inside)), (1.0, self.distance(outside)));
        let mut part = 0.5;
        let mut last = 0.0;
        for iteration in 0..60 {
            let secant = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            part = if iteration < 20 { secant } else { 0.5 * (low.0 + high.0) };
            let value = self.shape.at(start.lerp(end, part));
            if value.abs() <= EXACT * self.grid.dx {
                break;
            }
            if value < 0.0 {
                low = (part, value);
                high.1 *= if last < 0.0 { 0.5 } else { 1.0 };
            } else {
                high = (part, value);
                low.1 *= if last > 0.0 { 0.5 } else { 1.0 };
            }
            last = value;
        }
        // Points that may not come to the surface keep it away from them.
        let reach = self.reach([inside, outside]);
        if kept_off.contains(&inside) {
            part = part.max(reach);
        }
        if kept_off.contains(&outside) {
            part = part.min(1.0 - reach);
        }
        start.lerp(end, part)
    }

    /// The part of an edge within which a cut point violates the end.
    fn reach(&self, [a, b]: [u32; 2]) -> f64 {
        // Short edges join a node to a centre.
        let nodes = self.nodes.data.len() as u32;
        VIOLATES[((a < nodes) != (b < nodes)) as usize]
    }

    /// Move points that are too near to a cut point there, to the nearest one. Points are visited in order, and a
    /// point that has been moved makes the cuts of its edges void.
    fn warp(&self, mut places: Vec<LatticeSpot>, cuts: &[Cut], kept_off: &BTreeSet<u32>) -> WarpedNodes {
        let mut violations: Vec<(u32, u32, f64, usize)> = Vec::new();
        for (number, cut) in cuts.iter().enumerate() {
            let [a, b] = cut.ends.map(|end| self.position(end));
            let reach = self.reach(cut.ends) * a.distance(b);
            for (end, other, from) in [(cut.ends[0], cut.ends[1], a), (cut.ends[1], cut.ends[0], b)] {
                let distance = from.distance(cut.position);
                if distance <= reach && !kept_off.contains(&end) {
                    violations.push((end, other, distance, number));
                }
            }
        }
        violations.sort_unstable_by_key(|&(end, _, _, number)| (end, number));
        let mut moved = Vec::new();
        for at_point in violations.chunk_by(|a, b| a.0 == b.0) {
            let point = at_point[0].0;
            let valid = at_point.iter().filter(|&&(_, other, ..)| places[other as usize] != LatticeSpot::Surface);
            if let Some(nearest) = valid.min_by(|a, b| a.2.total_cmp(&b.2)) {
                places[point as usize] = LatticeSpot::Surface;
                moved.push((point, cuts[nearest.3].position));
            }
        }
        WarpedNodes { places, moved }
    }

    /// All pieces inside, their corners being lattice points or, counted on from these, cuts.
    fn pieces(&self, places: &[LatticeSpot], cuts: &[Cut]) -> Vec<[u32; 4]> {
        let points = self.points() as u32;
        let number = |ends: [u32; 2]| match cuts.binary_search_by_key(&ends, |cut| cut.ends) {
            Ok(cut) => points + cut as u32,
            Err(_) => unreachable!("an edge from inside to outside has a cut"),
        };
        let faces = Axis::ALL.into_iter().flat_map(|axis| (0..self.grid.dims[2]).map(move |k| (axis, k)));
        let layers: Vec<Vec<[u32; 4]>> = faces
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(axis, k)| {
                let mut pieces = Vec::new();
                self.for_each_tetrahedron(axis, k, |corners| {
                    let places = corners.map(|p| places[p as usize]);
                    if !places.contains(&LatticeSpot::Inside) {
                        return;
                    }
                    let cell = StencilCell { places, coordinates: corners.map(|p| self.coordinates(p)) };
                    cell.pieces(|piece| {
                        pieces.push(piece.map(|corner| match corner {
                            Corner::Lattice(i) => corners[i],
                            Corner::Cut(i, o) => number([corners[i], corners[o]]),
                        }));
                    });
                });
                pieces
            })
            .collect();
        layers.concat()
    }

    /// The four tetrahedra at each face across `axis` in layer `k` of cells: first the two centres, then two nodes.
    fn for_each_tetrahedron(&self, axis: Axis, k: usize, mut visit: impl FnMut([u32; 4])) {
        let [nx, ny, _] = self.grid.dims;
        let back = strides(self.grid.dims)[axis.index()];
        let [right, up] = axis.others().map(|a| strides(self.nodes.dims)[a.index()]);
        for at in (0..ny).flat_map(|j| (0..nx).map(move |i| [i, j, k])).filter(|at| at[axis.index()] > 0) {
            let upper = self.nodes.data.len() + self.grid.cell(at);
            let lowest = at[0] + self.nodes.dims[0] * (at[1] + self.nodes.dims[1] * at[2]);
            let nodes = [lowest, lowest + right, lowest + right + up, lowest + up];
            for n in 0..4 {
                visit([upper - back, upper, nodes[n], nodes[(n + 1) % 4]].map(|p| p as u32));
            }
        }
    }
}

impl WarpedNodes {
    fn position(&self, lattice: &BccLattice, point: u32) -> DVec3 {
        match self.moved.binary_search_by_key(&point, |moved| moved.0) {
            Ok(moved) => self.moved[moved].1,
            Err(_) => lattice.position(point),
        }
    }
}

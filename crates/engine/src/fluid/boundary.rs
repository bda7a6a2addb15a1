//! What the fluid sees of everything solid around it: the sides of the domain, and cut faces.

use crate::cut::CutCells;
use crate::geometry::SurfaceId;
use crate::grid::{Axis, CellField, Extension, FaceField, Grid, unravel};
use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Faces less open than this move with the solid instead of carrying a pressure-driven flow: their
/// coefficient would only spoil the condition of the system. Unlike \[ZB17, §7\], who take 0.01, and round
/// up from 0.99 on; row A11 of the order test does not change between 0 and 0.01.
const LEAST_OPEN: f64 = 1e-3;

/// Layers of values continued into solids: as far as a trace of CFL 2 can reach from a cut face, plus
/// the interpolation stencil. Traces of longer steps are clipped at the surface first.
const EXTENSION_LAYERS: u8 = 4;

/// One side of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wall {
    /// Solid, free slip.
    Closed,
    /// Ambient pressure; fluid passes freely.
    Open,
    /// Fluid enters with this velocity and content.
    Inflow {
        /// m/s; the component along the side is carried in with the fluid.
        velocity: DVec3,
        /// Smoke density of what enters.
        density: f64,
        /// Temperature above ambient of what enters, K.
        temperature: f64,
    },
}

impl Wall {
    /// Smoke density of what enters.
    pub fn density(&self) -> f64 {
        match *self {
            Wall::Inflow { density, .. } => density,
            Wall::Closed | Wall::Open => 0.0,
        }
    }

    /// Temperature above ambient of what enters, K.
    pub fn temperature(&self) -> f64 {
        match *self {
            Wall::Inflow { temperature, .. } => temperature,
            Wall::Closed | Wall::Open => 0.0,
        }
    }
}

/// The solids' part of the grid.
pub struct SolidCells {
    /// What they leave open and what they push.
    pub cells: CutCells,
    /// Distance from cell centres to the nearest surface in cells, negative inside, exact within a few cells.
    pub distance: CellField,
    /// Faces that move with free bodies, by the constraints of these.
    pub constrained: Vec<BodyFace>,
}

/// A face that a free body takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyFace {
    /// Normal of the face.
    pub axis: Axis,
    /// Storage index in that axis' array.
    pub index: usize,
    /// That body.
    pub body: SurfaceId,
    /// Whether the cell below and the one above are outside of all such bodies.
    pub is_wet: [bool; 2],
}

impl BodyFace {
    /// The fluid that the face takes along, in cells: half of one for each wet side, if `open` of the face is.
    pub fn mass(&self, open: f64) -> f64 {
        0.5 * open * self.is_wet.iter().filter(|&&is_wet| is_wet).count() as f64
    }
}

/// Everything that bounds the fluid during one step.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// Lower and upper side along each axis.
    pub walls: [[Wall; 2]; 3],
    /// Open fraction of every face. A closed side is no solid: its faces are open and have a given velocity of 0.
    pub open: FaceField,
    /// Open fraction of every cell.
    pub volume: CellField,
    /// Volume pushed into each cell by solids, in units of dx², m/s.
    pub flux: CellField,
    /// Faces that the pressure drives. The others are closed or have a given velocity.
    pub driven: FaceField<bool>,
    /// Faces with a given velocity: inflow, closed sides, faces all but closed by a solid, and those that a free body takes
    /// along.
    pub given: Vec<GivenFace>,
    /// Those of them that a free body takes along.
    pub constrained: Vec<BodyFace>,
    /// Distance to the nearest solid in cells, if there is a solid at all.
    pub distance: Option<CellField>,
    face_extension: [Option<Extension>; 3],
    cell_extension: Option<Extension>,
}

/// A face whose velocity is known before the projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GivenFace {
    /// Normal of the face.
    pub axis: Axis,
    /// Storage index in that axis' array.
    pub index: usize,
    /// Normal velocity, m/s.
    pub velocity: f64,
    /// The free body that all but closes the face or takes it along, if one does: the velocity is its.
    pub body: Option<SurfaceId>,
}

impl Boundary {
    /// Combine the domain's sides with the solids, if any; `solid_velocity` (m/s) is asked for at points on them, and for the
    /// free body that the point is on, if any: its velocity is not known yet.
    pub fn new(
        grid: &Grid,
        walls: [[Wall; 2]; 3],
        solids: Option<SolidCells>,
        solid_velocity: impl Fn(DVec3) -> (DVec3, Option<SurfaceId>) + Sync,
    ) -> Self {
        let has_solids = solids.is_some();
        let (cells, distance, mut constrained) = match solids {
            Some(SolidCells { cells, distance, constrained }) => (cells, Some(distance), constrained),
            None => (CutCells::new(grid), None, Vec::new()),
        };

        // Fix what has a given velocity, let pressure drive what is open, leave what is closed.
        let sort_faces = |axis: Axis| sort_faces(grid, axis, walls[axis.index()], &cells.open, &solid_velocity);
        let sorted: Vec<_> = Axis::ALL.into_par_iter().map(sort_faces).collect();
        let mut driven = FaceField::new(grid, false);
        let mut given = Vec::new();
        for (target, (axis_driven, axis_given)) in driven.axes.iter_mut().zip(sorted) {
            *target = axis_driven;
            given.extend(axis_given);
        }
        // A face belongs to the first body that claims it.
        constrained.retain(|face| std::mem::replace(&mut driven.axes[face.axis.index()][face.index], false));
        given.extend(constrained.iter().map(|&BodyFace { axis, index, body, .. }| GivenFace {
            axis,
            index,
            velocity: 0.0,
            body: Some(body),
        }));

        // Inside solids values are continued from the fluid, so that interpolation near a surface sees no jump.
        let (face_extension, cell_extension) = if has_solids { extensions(grid, &cells) } else { Default::default() };

        let mut flux = cells.solid_flux;
        flux.data.par_iter_mut().for_each(|f| *f /= grid.dx * grid.dx);
        Self {
            walls,
            open: cells.open,
            volume: cells.volume,
            flux,
            driven,
            given,
            constrained,
            distance,
            face_extension,
            cell_extension,
        }
    }

    /// Give the faces that move with free bodies the velocity of these along their axis (m/s).
    pub fn set_body_velocity(&mut self, velocity: impl Fn(SurfaceId, Axis, usize) -> f64) {
        for face in &mut self.given {
            if let Some(body) = face.body {
                face.velocity = velocity(body, face.axis, face.index);
            }
        }
    }

    /// Give the faces of known velocity that velocity.
    pub fn impose(&self, velocity: &mut FaceField) {
        for face in &self.given {
            velocity.axes[face.axis.index()][face.index] = face.velocity;
        }
    }

    /// Continue the velocity into solids.
    pub fn extend_velocity(&self, velocity: &mut FaceField) {
        for (extension, data) in self.face_extension.iter().zip(&mut velocity.axes) {
            if let Some(extension) = extension {
                extension.apply(data);
            }
        }
    }

    /// Continue a cell field into solids.
    pub fn extend_cells(&self, field: &mut CellField) {
        if let Some(extension) = &self.cell_extension {
            extension.apply(&mut field.data);
        }
    }
}

/// Faces of an axis whose velocity pressure drives, and those whose velocity is given; the rest is closed. `walls` are the sides along the axis.
fn sort_faces(
    grid: &Grid,
    axis: Axis,
    walls: [Wall; 2],
    open: &FaceField,
    solid_velocity: impl Fn(DVec3) -> (DVec3, Option<SurfaceId>),
) -> (Vec<bool>, Vec<GivenFace>) {
    let (a, dims) = (axis.index(), grid.face_dims(axis));
    let mut given = Vec::new();
    let is_driven = |(index, &open): (usize, &f64)| {
        let at = unravel(dims, index);
        let wall = match at[a] {
            0 => Some(walls[0]),
            last if last == grid.dims[a] => Some(walls[1]),
            _ => None,
        };
        let (velocity, body) = match wall {
            _ if open <= 0.0 => return false,
            Some(Wall::Closed) => (0.0, None),
            Some(Wall::Inflow { velocity, .. }) => (velocity[a], None),
            _ if open < LEAST_OPEN => {
                let (velocity, body) = solid_velocity(grid.face_centre(axis, at));
                (velocity[a], body)
            }
            _ => return true,
        };
        given.push(GivenFace { axis, index, velocity, body });
        false
    };
    (open.axes[a].iter().enumerate().map(is_driven).collect(), given)
}

/// How faces of each axis and cells are continued into solids.
fn extensions(grid: &Grid, cells: &CutCells) -> ([Option<Extension>; 3], Option<Extension>) {
    let extend = |dims: [usize; 3], open: &[f64]| {
        let known: Vec<bool> = open.iter().map(|&part| part > 0.0).collect();
        Some(Extension::new(dims, &known, EXTENSION_LAYERS))
    };
    let faces = |axis: Axis| extend(grid.face_dims(axis), &cells.open.axes[axis.index()]);
    let ((x, y), (z, cells)) = rayon::join(
        || rayon::join(|| faces(Axis::X), || faces(Axis::Y)),
        || rayon::join(|| faces(Axis::Z), || extend(grid.dims, &cells.volume.data)),
    );
    ([x, y, z], cells)
}

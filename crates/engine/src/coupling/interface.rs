//! Where a surface meets the grid: rows of B, one assembly for every kind of solid (design §2, eq. 1; after \[A18\] and \[ZB17\]).
//!
//! A surface that follows its freedoms v by N pushes the volume B v into the cells around it, and its freedoms take the impulse −ρ dx³ Bᵀ p (p in
//! the projection's unit). A row of B adds up the polygons of the surface in a cell:
//!
//! ```text
//! B_c = Σ Nᵀ A / dx²
//! ```
//!
//! with N at the middle of the polygon. Of a rigid body that is [A, (x − c) × A]; of one with vertices, A shared out to the corners of its
//! triangle by barycentric weights \[ZB17, eq. 10–15\]. Faces that a solid all but closes move with it, and belong to B as well.
//!
//! With **face constraints** \[A18, eq. 15–17\] there are no polygons: B has the faces between the cell centres that the body separates. The
//! fluid on them, of mass β (unlike there, half a cell where only one side is fluid), moves with the body from now on: J = N along the face's axis.
//!
//! A ball does not move the fluid when it turns, but the polygons of its surface do, a little; a body light enough would spin on
//! their errors. Axes about which the surface of a rigid body has no arm worth a part of a cell (`LEAST_ARM`) are left out of B, unlike in \[A18, eq. 16\].
//!
//! What of a surface meets no fluid that the grid could resolve, and how hydrostatic pressure acts on it: film.rs.

use super::Medium;
use super::film::{BESIDE, FreedomRow, MetSurface, Partner, SurfacePiece, add, is_passed, narrow, over_triangles};
use super::immersed::{Body, Immersed, Meets};
use crate::cut::CutPolygon;
use crate::cut::voxels::{Crossing, Voxels};
use crate::fluid::boundary::{BodyFace, Boundary};
use crate::geometry::{SurfaceId, closest};
use crate::grid::{Axis, FaceField, Grid};
use crate::solid::rigid::rotation::{Principal, principal};
use crate::solid::{Attached, Follow, Point};
use crate::solve::{ConstrainedFace, Push};
use glam::{DMat3, DVec3};
use std::collections::{BTreeMap, BTreeSet};

/// Bodies that reach into a closed side by more than this, in cells, are held there. A choice: contact lets nothing in by more than a tenth.
const BEYOND: f64 = 0.5;

/// What the grid knows when solids meet it.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// The fluid.
    pub medium: Medium<'a>,
    /// Openings of the grid with the solids where they are now.
    pub boundary: &'a Boundary,
    /// The solids.
    pub immersed: &'a Immersed,
    /// u*, m/s.
    pub arriving: &'a FaceField,
}

/// How one surface meets the fluid, over the freedoms that it follows.
pub struct SurfaceRows {
    /// B.
    pub push: Push,
    /// What hydrostatic pressure does beyond what B has of it, N s for every freedom.
    pub lift: Vec<f64>,
    /// What is pushed into cells however it moves, in units of dx², m/s: films beside scripted solids.
    pub given: Vec<(usize, f64)>,
    /// Cells of crevices beside it: what scripted solids push there stands in `given`.
    pub crevices: BTreeSet<u32>,
    /// The faces that it takes along, if it has constraints.
    pub faces: Vec<FaceRow>,
    /// Whether B has more than its surface: what it stands on.
    pub is_closed: bool,
    /// Areas (in faces of the grid) on which pressure acts and which are not in B, less what stands in for them: somebody else takes what it does there.
    pub unmet: Vec<(u32, DVec3)>,
}

/// A face that a solid takes along.
#[derive(Clone, Debug)]
pub struct FaceRow {
    /// Where it is, and the mass of the fluid on it.
    pub face: ConstrainedFace,
    /// How fast that fluid came, m/s.
    pub arriving: f64,
    /// J, by threes of freedoms.
    pub row: Vec<(u32, DVec3)>,
}

impl FaceRow {
    /// J v.
    pub fn along(&self, velocity: &[f64]) -> f64 {
        self.row.iter().map(|(n, part)| part.dot(DVec3::from_slice(&velocity[3 * *n as usize..]))).sum()
    }

    /// values ← values + part Jᵀ.
    pub fn spread(&self, part: f64, values: &mut [f64]) {
        self.row.iter().for_each(|(n, row)| add(values, *n as usize, part * *row));
    }
}

impl SurfaceRows {
    /// The rows of a surface where it is now.
    pub fn new(scene: &Scene, attached: &Attached) -> Self {
        let Scene { grid, medium, boundary, immersed, .. } = *scene;
        let (follow, solid) = (&attached.follow, immersed.body(attached.surface));
        let faces = face_rows(scene, attached);
        let mut pieces = polygons(grid, solid, follow, solid.exposed());
        let mut unmet = Vec::new();
        pieces.extend(closed_faces(scene, attached, &mut unmet));
        let surface = if is_whole(solid, follow, grid)
            && !solid.crosses_open_side(grid, boundary.walls)
            // Faces cannot tell either which of them are between bodies that are joined.
            && (faces.is_empty() || attached.joined.is_empty())
        {
            let partner = |other: &SurfaceId| Partner {
                surface: *other,
                rim: rim(scene, [attached.surface.min(*other), attached.surface.max(*other)]),
            };
            let partners: Vec<Partner> = attached.joined.iter().map(partner).collect();
            let hidden = polygons(grid, solid, follow, solid.hidden());
            let whole = match follow {
                Follow::Rigid { .. } => FreedomRow::new(),
                _ => over_triangles(follow, solid, |_| 1.0 / (grid.dx * grid.dx)),
            };
            MetSurface::closed(scene, attached.surface, follow, whole, (pieces, hidden), &partners)
        } else {
            MetSurface::open(follow, pieces)
        };
        let mut entries = surface.entries();
        if follow.deforms() && !faces.is_empty() {
            // Pressure acts on one side of a face only. With both, what a vertex pushes would add up to nothing, and no preconditioner would know of it.
            let dry = dry_cells(scene, attached.surface);
            entries.retain(|(cell, ..)| !dry.contains(cell));
        }
        let mut lift = vec![0.0; attached.freedoms()];
        match (solid.voxels(), follow) {
            (Some(voxels), Follow::Rigid { centre }) => {
                let wet = surface.wet_share(medium);
                lift_of_voxels(grid, medium, voxels, wet, solid.displaced, *centre, &mut lift);
                if surface.has_film() {
                    surface.lift_of_rest(grid, medium, weight_of_voxels(grid, medium, voxels, *centre), &mut lift);
                }
            }
            (Some(_), _) => lift_at_faces(scene, attached, surface.wet_share(medium), &mut lift),
            (None, _) => surface.lift(grid, medium, solid, &mut lift),
        }
        if let Some(centre) = follow.centre()
            && faces.is_empty()
        {
            let arms = solid.exposed().map(|p| (p.area, (p.centroid - centre).cross(p.area)));
            let axes = if let Meets::Ball = solid.meets { DMat3::ZERO } else { turning_axes(arms, grid.dx) };
            entries.iter_mut().filter(|(_, n, _)| *n == 1).for_each(|(.., moment)| *moment = axes * *moment);
            let moment = axes * DVec3::from_slice(&lift[3..]);
            lift[3..6].copy_from_slice(&moment.to_array());
        }
        unmet.extend(surface.unmet());
        let (given, is_closed) = (surface.given(), surface.has_film());
        let (push, crevices) = (Push::from_entries(entries), surface.crevices);
        Self { push, lift, given, crevices, faces, is_closed, unmet }
    }
}

/// Whether a surface that moves as a whole is all in the domain, so that what of it is not met lies on something.
fn is_whole(solid: &Body, follow: &Follow, grid: &Grid) -> bool {
    // What is held may reach into a closed side.
    let is_inside = |axis: &Axis| {
        let (a, slack) = (axis.index(), BEYOND * grid.dx);
        let mut places = solid.triangles().flatten().map(|(_, at)| at[a]);
        grid.is_flat(*axis) || places.all(|at| at > grid.origin[a] - slack && at < grid.upper()[a] + slack)
    };
    match follow {
        Follow::Rigid { .. } => true,
        Follow::Reduced { .. } => Axis::ALL.iter().all(is_inside),
        _ => false,
    }
}

/// Polygons of a surface as pieces of it.
fn polygons(
    grid: &Grid,
    solid: &Body,
    follow: &Follow,
    polygons: impl Iterator<Item = CutPolygon>,
) -> Vec<SurfacePiece> {
    let piece = |CutPolygon { cell, triangle, area, centroid, spread }: CutPolygon| {
        let weights = |corners: [DVec3; 3]| closest(corners, centroid).1;
        let point = if follow.deforms() {
            solid.point(triangle, centroid, weights)
        } else {
            Point { at: centroid, ..Point::default() }
        };
        SurfacePiece { cell: cell as u32, area: area / (grid.dx * grid.dx), point, spread }
    };
    polygons.map(piece).collect()
}

/// Cells around where two bodies meet, and their parts of 1.
fn rim(scene: &Scene, pair: [SurfaceId; 2]) -> Vec<(u32, f64)> {
    let Scene { grid, boundary, immersed, .. } = *scene;
    let [a, b] = pair.map(|surface| immersed.body(surface));
    let mut areas = BTreeMap::<u32, f64>::new();
    for (own, other) in [(a, b), (b, a)] {
        let is_beside = |polygon: &CutPolygon| other.distance_at(polygon.centroid) < BESIDE * grid.dx;
        for polygon in own.exposed().filter(|polygon| is_passed(grid, boundary, polygon.cell)).filter(is_beside) {
            *areas.entry(polygon.cell as u32).or_default() += polygon.area.length();
        }
    }
    let narrow: BTreeSet<u32> = narrow(grid, boundary, areas.keys().copied()).into_iter().flatten().collect();
    areas.retain(|cell, _| !narrow.contains(cell));
    let all: f64 = areas.values().sum();
    areas.into_iter().map(|(cell, area)| (cell, area / all)).collect()
}

/// The point of a surface that a place in the world moves with, if there is one near it.
pub(super) fn point_near(immersed: &Immersed, attached: &Attached, at: DVec3) -> Option<Point> {
    if !attached.follow.deforms() {
        return Some(Point { at, ..Point::default() });
    }
    let nearest = immersed.nearest_on(attached.surface, at)?;
    let solid = immersed.body(attached.surface);
    Some(Point { at, ..solid.point(nearest.triangle, at, |_| nearest.weights) })
}

/// The point of a surface that a face of the grid moves with, if there is one near it. A face that the surface takes along moves with where the surface
/// crosses the line of the cell centres beside it: along that line both are as fast when a stiff body turns.
fn point_at(scene: &Scene, attached: &Attached, axis: Axis, index: usize) -> Option<Point> {
    let (at, solid) = (scene.grid.face_at(axis, index), scene.immersed.body(attached.surface));
    match solid.voxels().and_then(|voxels| voxels.crossing(axis, index)).filter(|_| attached.follow.deforms()) {
        Some(Crossing { triangle, weights }) => Some(solid.point(triangle, at, |_| weights)),
        None => point_near(scene.immersed, attached, at),
    }
}

/// Faces that a surface all but closes or takes along: what it pushes through them leaves the cell below and enters the one above.
/// Those with no point of the surface near them are `unmet`.
fn closed_faces(scene: &Scene, attached: &Attached, unmet: &mut Vec<(u32, DVec3)>) -> Vec<SurfacePiece> {
    let mut pieces = Vec::new();
    for face in scene.boundary.given.iter().filter(|face| face.body == Some(attached.surface)) {
        let cells = scene.grid.cells_beside(face.axis, face.index);
        let point = point_at(scene, attached, face.axis, face.index);
        let open = scene.boundary.open.axes[face.axis.index()][face.index];
        for (cell, sign) in cells.into_iter().zip([-open, open]) {
            let Some(cell) = cell.map(|cell| cell as u32) else { continue };
            let area = sign * face.axis.unit();
            match point {
                Some(point) => pieces.push(SurfacePiece { cell, area, point, spread: DMat3::ZERO }),
                None => unmet.push((cell, area)),
            }
        }
    }
    pieces
}

/// The faces that a surface takes along.
fn face_rows(scene: &Scene, attached: &Attached) -> Vec<FaceRow> {
    let mut rows = Vec::new();
    for face in scene.boundary.constrained.iter().filter(|face| face.body == attached.surface) {
        let (axis, index) = (face.axis, face.index);
        let cells = scene.grid.cells_beside(axis, index);
        let Some(point) = point_at(scene, attached, axis, index) else { continue };
        let open = scene.boundary.open.axes[axis.index()][index];
        let is_wet =
            |(cell, is_wet): &(Option<usize>, bool)| *is_wet && cell.is_some_and(|cell| scene.medium.is_in(cell));
        let mass = 0.5 * open * cells.into_iter().zip(face.is_wet).filter(is_wet).count() as f64;
        let mut row = Vec::new();
        attached.follow.gather(&point, axis.unit(), |n, part| row.push((n as u32, part)));
        let arriving = scene.arriving.axes[axis.index()][index];
        rows.push(FaceRow { face: ConstrainedFace { axis, index, mass }, arriving, row });
    }
    rows
}

/// Cells within a body beside the faces that it takes along.
fn dry_cells(scene: &Scene, surface: SurfaceId) -> BTreeSet<u32> {
    let of_face = |face: &BodyFace| {
        let cells = scene.grid.cells_beside(face.axis, face.index).into_iter().zip(face.is_wet);
        cells.filter(|(_, is_wet)| !is_wet).filter_map(|(cell, _)| Some(cell? as u32)).collect::<Vec<_>>()
    };
    scene.boundary.constrained.iter().filter(|face| face.body == surface).flat_map(of_face).collect()
}

/// With the weight of the fluid on its faces, the pressure of cells carries the fluid in place of a body's voxels. Its shape displaces
/// another volume, and that about its centre.
fn lift_of_voxels(grid: &Grid, fluid: Medium, voxels: &Voxels, wet: f64, volume: f64, centre: DVec3, lift: &mut [f64]) {
    add(lift, 0, -volume * wet * fluid.rho * fluid.gain);
    for (n, part) in weight_of_voxels(grid, fluid, voxels, centre) {
        add(lift, n, wet * part);
    }
}

/// What the fluid in place of a body's voxels gains by weight: force and moment about the centre, times Δt.
fn weight_of_voxels(grid: &Grid, fluid: Medium, voxels: &Voxels, centre: DVec3) -> FreedomRow {
    let weight = fluid.rho * grid.dx.powi(3) * fluid.gain;
    let arms = voxels.inside.iter().map(|&cell| grid.cell_centre(grid.cell_at(cell)) - centre);
    FreedomRow::from([(0, voxels.inside.len() as f64 * weight), (1, arms.map(|arm| arm.cross(weight)).sum())])
}

/// The same for a body that deforms, vertex by vertex: hydrostatic pressure acts on its triangles, and not on the sides of its voxels. The
/// pressure of the cell beside a face, less the weight of the fluid between, is that on the face.
fn lift_at_faces(scene: &Scene, attached: &Attached, wet: f64, lift: &mut [f64]) {
    let Scene { grid, medium, boundary, immersed, .. } = *scene;
    let (follow, solid) = (&attached.follow, immersed.body(attached.surface));
    let centre = solid.centre();
    let pressure = |at: DVec3| wet * medium.rho * medium.gain.dot(at - centre);
    over_triangles(follow, solid, pressure).into_iter().for_each(|(n, part)| add(lift, n, -part));
    let mut give = |point: &Point, push: DVec3| follow.gather(point, push, |n, part| add(lift, n, part));
    for face in boundary.constrained.iter().filter(|face| face.body == attached.surface) {
        let at = grid.face_at(face.axis, face.index);
        let Some(point) = point_at(scene, attached, face.axis, face.index) else { continue };
        let outwards = f64::from(face.is_wet[1]) - f64::from(face.is_wet[0]);
        let open = boundary.open.axes[face.axis.index()][face.index] * grid.dx * grid.dx;
        give(&point, outwards * open * pressure(at) * face.axis.unit());
    }
}

/// Arms of the surface below this many cells are errors of its polygons: that of a polygon whose middle or normal is off by as much
/// as a facet across a cell can be. Balls have up to 0.15, whatever their size (docs/methods/rigid.md).
const LEAST_ARM: f64 = 0.25;

/// Projects onto the axes about which turning moves the fluid. `pushes` are the areas of polygons and their moments.
///
/// Turning at the rate ω moves a polygon along its normal at ω·t/|A|; the mean square of that over the surface is ωᵀQω, with the
/// squares of arms as the eigenvalues of Q.
fn turning_axes(pushes: impl Iterator<Item = (DVec3, DVec3)>, dx: f64) -> DMat3 {
    let (mut q, mut area) = (DMat3::ZERO, 0.0);
    for (push, moment) in pushes.filter(|(push, _)| *push != DVec3::ZERO) {
        area += push.length();
        q += DMat3::from_cols(moment * moment.x, moment * moment.y, moment * moment.z) * push.length().recip();
    }
    let Principal { moments, frame } = principal(q);
    let is_felt = moments.cmpge(DVec3::splat((LEAST_ARM * dx).powi(2) * area));
    let frame = DMat3::from_quat(frame);
    let kept = DVec3::select(is_felt, DVec3::ONE, DVec3::ZERO);
    if is_felt.all() { DMat3::IDENTITY } else { frame * DMat3::from_diagonal(kept) * frame.transpose() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fluid::boundary::Wall;
    use crate::geometry::{RigidVelocity, Shape};
    use crate::solid::{Place, RigidBody, Skin};

    /// Six modes that are shifts and turns push as a rigid body does: the weights of a polygon's middle times N are (x − c) × A.
    #[test]
    fn rigid_motions_as_modes_push_alike() {
        let grid = Grid::new([12; 3], 0.1, DVec3::ZERO);
        let body =
            RigidBody::new("box", Shape::Box { size: DVec3::new(0.33, 0.41, 0.27) }, 500.0).at([0.57, 0.63, 0.61]);
        let velocity = RigidVelocity { centre: body.pose.position, ..RigidVelocity::REST };
        let place = Place { pose: body.pose, velocity, is_there: true };
        let immersed = Immersed::new(&[body.outline()], |_| Skin::Posed(place), &grid, 0.01, false);
        let boundary = immersed.boundary(&grid, [[Wall::Closed; 2]; 3]);
        assert!(boundary.given.iter().all(|face| face.body.is_none()), "no face is all but closed");
        let still = FaceField::new(&grid, 0.0);
        let medium = Medium { gain: DVec3::new(0.1, -0.3, 0.2), ..Medium::weightless(1000.0) };
        let scene = Scene { grid: &grid, medium, boundary: &boundary, immersed: &immersed, arriving: &still };
        let centre = body.pose.position;
        let of_vertex = |x: &DVec3| {
            let arm = place.pose.apply(*x) - centre;
            let axes = [DVec3::X, DVec3::Y, DVec3::Z];
            [axes, axes.map(|axis| axis.cross(arm))].concat()
        };
        let directions = immersed.body(SurfaceId(0)).vertices().iter().flat_map(of_vertex).collect();
        let rows = |follow: Follow| {
            let attached = Attached { surface: SurfaceId(0), first: 0, follow, joined: Vec::new() };
            SurfaceRows::new(&scene, &attached)
        };
        let (rigid, modes) = (rows(Follow::Rigid { centre }), rows(Follow::Modes { columns: 6, directions }));
        assert_eq!((&rigid.push.cells, &rigid.push.starts), (&modes.push.cells, &modes.push.starts));
        for ((n, a), (m, b)) in rigid.push.entries.iter().zip(&modes.push.entries) {
            assert!(n == m && (*a - *b).length() < 1e-12, "{a} and {b}");
        }
        let apart = rigid.lift.iter().zip(&modes.lift).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-9, "{:?} and {:?}", rigid.lift, modes.lift);
    }

    /// Two boxes on a joint, one of them a part inside the other: neither changes the volume around by moving, not even against the other; and what
    /// they push together, if they only touch, is what the whole of both pushes.
    #[test]
    fn bodies_that_are_joined_change_no_volume() {
        let grid = Grid::new([14; 3], 0.1, DVec3::ZERO);
        for overlap in [0.0, 0.07] {
            let boxes = [-1.0, 1.0].map(|side| {
                let x = 0.71 + side * (0.16 - 0.5 * overlap);
                RigidBody::new("box", Shape::Box { size: DVec3::new(0.32, 0.41, 0.27) }, 1.0).at([x, 0.63, 0.66])
            });
            let place = |surface: SurfaceId| {
                let pose = boxes[surface.0 as usize].pose;
                let velocity = RigidVelocity { centre: pose.position, ..RigidVelocity::REST };
                Skin::Posed(Place { pose, velocity, is_there: true })
            };
            let outlines = boxes.each_ref().map(|body| body.outline());
            let immersed = Immersed::new(&outlines, place, &grid, 0.01, false);
            let boundary = immersed.boundary(&grid, [[Wall::Closed; 2]; 3]);
            let (still, medium) = (FaceField::new(&grid, 0.0), Medium::weightless(1000.0));
            let scene = Scene { grid: &grid, medium, boundary: &boundary, immersed: &immersed, arriving: &still };
            let mut pushed = vec![0.0; grid.cells()];
            for (n, body) in boxes.iter().enumerate() {
                let (surface, other) = (SurfaceId(n as u32), SurfaceId(1 - n as u32));
                let follow = Follow::Rigid { centre: body.pose.position };
                let rows = SurfaceRows::new(&scene, &Attached { surface, first: 0, follow, joined: vec![other] });
                for freedom in 0..6 {
                    let (mut sum, mut size) = (0.0, 0.0);
                    let unit: Vec<f64> = (0..6).map(|n| f64::from(n == freedom)).collect();
                    rows.push.scatter(&unit, |_, volume| (sum, size) = (sum + volume, size + volume.abs()));
                    assert!(f64::abs(sum) <= 1e-9 * size, "{overlap}, box {n}, freedom {freedom}: {sum} of {size}");
                }
                rows.push.scatter(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], |cell, volume| pushed[cell] += volume);
            }
            // Together they push with their far ends, of 0.41 × 0.27 m, and with nothing between. (Cells that overlapping bodies share do not close.)
            let ends: f64 = pushed.iter().map(|volume| volume.abs()).sum();
            assert!(overlap > 0.0 || (ends - 2.0 * 4.1 * 2.7).abs() < 0.02 * ends, "{ends}");
        }
    }
}

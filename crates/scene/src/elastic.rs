//! Elastic bodies in the engine's terms.

use crate::bodies::{Meshes, Path, copies, motion, rotation, shape, shifted, spin, take_name, too_thin};
use crate::document::Document;
use crate::error::{ErrorKind, SceneError, short};
use crate::file::{DriveEntry, ElasticEntry, HoldEntry, SceneFile, WaveName};
use crate::placement::{check_meets_domain, velocity};
use crate::rigid::{check_spin, slice};
use crate::tetrahedra::TetFiles;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::geometry::{Pose, Shape, SignedDistance, TetMesh, TriMesh};
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solid::Motion;
use bathtub_engine::solid::elastic::{Elastic, Hold, Material};
use bathtub_engine::solid::reduced::{BodyCopy, Drive, Reduced, Wave};
use glam::{DQuat, DVec3};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Edges of tetrahedra, in cells, unless the scene says otherwise.
const USUAL_SIZE: f64 = 2.0;

/// The finest that are chosen, in cells: the fluid sees nothing of what is smaller.
const FINEST_SIZE: f64 = 0.7;

/// Tetrahedra that should fit into the thinnest part.
const ACROSS: f64 = 4.0;

/// Dihedral angles below this, degrees, make bad elements.
const SMALL_ANGLE: f64 = 5.0;

/// Bodies may start this deep in a wall, in cells: as rigid ones.
const IN_WALL: f64 = 1e-3;

/// What lies this near to a region that holds, in cells, lies in it: vertices on its very surface, whatever round-off says.
const ON_SURFACE: f64 = 1e-6;

/// Refuse bodies without a geometry, or with two.
pub fn check_geometry(document: &Document, file: &SceneFile) -> Result<(), SceneError> {
    for (i, entry) in file.elastic.iter().enumerate() {
        let key = format!("elastic.{i}");
        let (key, message) = match (&entry.shape, &entry.tetrahedra, entry.size) {
            (Some(_), None, _) | (None, Some(_), None) => continue,
            (None, Some(_), Some(_)) => {
                (format!("{key}.size"), "`size` is for a `shape`, tetrahedra of a file have theirs; remove it")
            }
            (Some(_), Some(_), _) => {
                (format!("{key}.tetrahedra"), "`shape` and `tetrahedra` say the same thing; give one of them")
            }
            (None, None, _) => {
                (key, "missing key `shape`, which is then filled with tetrahedra, or `tetrahedra` (a file)")
            }
        };
        return Err(document.error_at(ErrorKind::Scene, &key, message));
    }
    Ok(())
}

/// Write the sizes that depend on other keys into the file.
pub fn fill_sizes(document: &Document, file: &mut SceneFile, meshes: &Meshes, grid: &Grid) -> Result<(), SceneError> {
    for (i, entry) in file.elastic.iter_mut().enumerate() {
        let (key, Some(own)) = (format!("elastic.{i}"), &entry.shape) else { continue };
        let rotation = rotation(document, &key, entry.rotation)?;
        let thickness = thickness(&shape(document, &key, own, meshes)?, rotation, grid);
        let size = (thickness / ACROSS).max(FINEST_SIZE * grid.dx).min(USUAL_SIZE * grid.dx);
        entry.size.get_or_insert(size);
    }
    Ok(())
}

/// Width of the thinnest part, m; of a mesh four times its volume over its area, which is that of a long bar.
fn thickness(shape: &Shape, rotation: DQuat, grid: &Grid) -> f64 {
    match shape {
        Shape::Box { size } => {
            let is_flat = |own: &Axis| {
                let direction = (rotation * own.unit()).abs();
                Axis::ALL.into_iter().any(|axis| grid.is_flat(axis) && direction[axis.index()] > 0.5)
            };
            Axis::ALL.iter().filter(|own| !is_flat(own)).map(|own| size[own.index()]).fold(f64::INFINITY, f64::min)
        }
        Shape::Sphere { radius } | Shape::Capsule { radius, .. } => 2.0 * radius,
        Shape::Cylinder { radius, height } => height.min(2.0 * radius),
        Shape::Torus { minor, .. } => 2.0 * minor,
        Shape::Mesh(mesh) => mesh.bounds().size().min_element().min(4.0 * mesh.volume() / mesh.area()),
    }
}

/// The surface of a body at rest in its own frame; the engine's is where it starts.
pub fn surface_at_rest(file: &SceneFile, body: &Elastic) -> Option<TriMesh> {
    let mut all = file
        .elastic
        .iter()
        .flat_map(|entry| copies(&entry.name, &entry.at).into_iter().map(move |(name, offset)| (name, entry, offset)));
    let (_, entry, offset) = all.find(|(name, ..)| *name == body.name)?;
    let (position, turn) = (DVec3::from(entry.position) + offset, entry.rotation);
    let axis = turn.and_then(|turn| DVec3::from(turn.axis).try_normalize()).unwrap_or(DVec3::Y);
    let back = DQuat::from_axis_angle(axis, -turn.map_or(0.0, |turn| turn.degrees.to_radians()));
    let mut surface = body.rest.surface();
    surface.drop_unused_vertices();
    Some(surface.mapped(|vertex| back * (vertex - position)))
}

/// What elastic bodies meet.
pub struct Room<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides.
    pub walls: &'a [[Wall; 2]; 3],
}

/// The scene's elastic bodies, copies included; their names go into `names`.
pub fn bodies(
    document: &Document,
    file: &SceneFile,
    (meshes, tetrahedra): (&Meshes, &TetFiles),
    room: &Room,
    names: &mut BTreeSet<String>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Elastic>, SceneError> {
    let grid = room.grid;
    let mut bodies = Vec::new();
    for (i, entry) in file.elastic.iter().enumerate() {
        let key = format!("elastic.{i}");
        let velocity = velocity(document, &format!("{key}.velocity"), entry.velocity, grid)?;
        let angular_velocity = spin(document, &key, entry.spin)?;
        check_spin(document, &key, angular_velocity, grid)?;
        check_stretch(document, &key, entry, grid)?;
        let rotation = rotation(document, &key, entry.rotation)?;
        let geometry = match (&entry.shape, &tetrahedra.meshes[i]) {
            (_, Some(mesh)) => Geometry::Tetrahedra(mesh.clone()),
            (Some(own), None) => Geometry::Shape(shape(document, &key, own, meshes)?),
            (None, None) => unreachable!("bodies without a geometry were refused"),
        };
        let copies = copies(&entry.name, &entry.at);
        let first = Pose { position: DVec3::from(entry.position) + copies[0].1, rotation };
        let (mesh, placed) = fill(document, &key, entry, (&geometry, first), grid, warnings)?;
        let quality = mesh.quality();
        if quality.smallest_angle < SMALL_ANGLE {
            warnings.push(format!("{key}: badly shaped tetrahedra make it slow and inexact: {quality}; mesh it anew"));
        }
        let down = DVec3::from(file.scene.gravity).normalize_or_zero();
        let heights = mesh.vertices.iter().map(|v| down.dot(rotation * *v));
        let [low, high] = heights.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], h| [lo.min(h), hi.max(h)]);
        if entry.modes != Some(0) {
            warnings.extend(crushed(&key, entry, file, grid, high - low));
        }
        for (name, offset) in copies.iter() {
            take_name(document, &key, name, names)?;
            let mut position = DVec3::from(entry.position) + *offset;
            for axis in Axis::ALL.into_iter().filter(|&axis| grid.is_flat(axis)) {
                position[axis.index()] = placed.position[axis.index()];
            }
            let pose = Pose { position, rotation };
            let mut body = Elastic {
                name: name.clone(),
                rest: mesh.mapped(|v| pose.apply(v)),
                material: material(entry),
                stretch: DVec3::from(entry.stretch),
                velocity,
                angular_velocity,
                interface: entry.interface.into(),
                holds: Vec::new(),
            };
            let start = body.start();
            let span =
                start.iter().fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[lo, hi], v| [lo.min(*v), hi.max(*v)]);
            check_meets_domain(document, &key, name, span, grid)?;
            warnings.extend(too_thin(&key, name, span, grid));
            body.holds = holds(document, &key, &entry.hold, (meshes, *offset), (name, &start), grid)?;
            check_walls(document, &key, &body, &start, room)?;
            bodies.push(body);
        }
    }
    Ok(bodies)
}

/// Take those apart that move in a few modes only.
pub fn reduced(
    document: &Document,
    file: &SceneFile,
    bodies: Vec<Elastic>,
) -> Result<(Vec<Elastic>, Vec<Reduced>), SceneError> {
    let entries = file.elastic.iter().enumerate();
    let modes: Vec<(usize, Option<u32>)> = entries
        .flat_map(|(i, entry)| copies(&entry.name, &entry.at).into_iter().map(move |_| (i, entry.modes)))
        .collect();
    let (mut whole, mut few) = (Vec::new(), BTreeMap::<usize, Reduced>::new());
    for (body, (i, modes)) in bodies.into_iter().zip(modes) {
        let Some(modes) = modes else {
            if !file.elastic[i].drive.is_empty() {
                let message = format!("drives swing modes, and \"{}\" has none; give it `modes`", body.name);
                return Err(document.error_at(ErrorKind::Scene, &format!("elastic.{i}.drive"), message));
            }
            whole.push(body);
            continue;
        };
        let (key, name, vertices) = (format!("elastic.{i}.modes"), &body.name, body.rest.vertices.len());
        let most = (3 * vertices).saturating_sub(6);
        if modes as usize > most {
            let message = format!(
                "{modes} modes, but \"{name}\" has {vertices} vertices, and so at most {most}; choose fewer, or a smaller `size`"
            );
            return Err(document.error_at(ErrorKind::Scene, &key, message));
        }
        if body.holds.iter().any(|hold| !matches!(hold.motion, Motion::Static(_))) {
            let message = format!(
                "what holds \"{name}\" moves, and modes are those of a body that is held where it is; leave `modes` out, or the motion"
            );
            return Err(document.error_at(ErrorKind::Scene, &key, message));
        }
        match few.entry(i) {
            Entry::Vacant(first) => {
                let drives = drives(document, file, i)?;
                first.insert(Reduced { drives, ..Reduced::new(body, modes as usize) });
            }
            Entry::Occupied(mut like) => {
                let Elastic { name, rest, velocity, angular_velocity, .. } = body;
                let offset = rest.vertices[0] - like.get().elastic.rest.vertices[0];
                let place = Pose { position: offset, ..Pose::IDENTITY };
                let phase = like.get().copies.len() as f64 * file.elastic[i].phase_step;
                like.get_mut().copies.push(BodyCopy { name, place, velocity, angular_velocity, phase });
            }
        }
    }
    Ok((whole, few.into_values().collect()))
}

/// What makes a body of some modes swim.
fn drives(document: &Document, file: &SceneFile, i: usize) -> Result<Vec<Drive>, SceneError> {
    let entry = &file.elastic[i];
    let modes = entry.modes.unwrap_or_default();
    let drive = |(n, drive): (usize, &DriveEntry)| {
        let key = |of: &str| format!("elastic.{i}.drive.{n}.{of}");
        let DriveEntry { mode, amplitude, frequency, phase, wave, start, end, ramp } = *drive;
        if mode >= modes {
            let message = format!(
                "mode {mode} of a body of {modes}; the first {modes} of those that `bathtub modes` lists can be driven, counted from 0"
            );
            return Err(document.error_at(ErrorKind::Scene, &key("mode"), message));
        }
        if frequency >= 0.5 * file.time.fps {
            let message = format!(
                "{} times a second, with {} frames a second: steps may be as long as a frame, and would miss it; less than half as often",
                short(frequency),
                short(file.time.fps)
            );
            return Err(document.error_at(ErrorKind::Scene, &key("frequency"), message));
        }
        let wave = match wave {
            WaveName::Sine => Wave::Sine,
            WaveName::Pulse => Wave::Pulse,
        };
        let active = [start, end.unwrap_or(f64::INFINITY)];
        Ok(Drive { mode: mode as usize, amplitude, frequency, phase, wave, active, ramp })
    };
    entry.drive.iter().enumerate().map(drive).collect()
}

/// Bodies are warned of that the weight of a pool above them, or their own, would squeeze by more than this part: linear elasticity gives way
/// all the further then, and what is left is what keeps elements from turning inside out.
const CRUSHED: f64 = 0.4;

/// A warning about a body that is too soft for the pressure of the water or for its own weight; `height` is its own, along gravity, m.
fn crushed(key: &str, entry: &ElasticEntry, file: &SceneFile, grid: &Grid, height: f64) -> Option<String> {
    let (modulus, gravity) = (entry.youngs_modulus, DVec3::from(file.scene.gravity).length());
    let depth = file.liquid.iter().filter_map(|liquid| liquid.level).fold(0.0, f64::max) - grid.origin.y;
    let water = file.water.as_ref().map_or(0.0, |water| water.density * gravity * depth);
    let weight = entry.density * gravity * height;
    // Squeezed from all sides, and from above.
    let by_water = 3.0 * (1.0 - 2.0 * entry.poisson_ratio) * water / modulus;
    let by_weight = weight / modulus;
    let percent = |part: f64| if part < 1e3 { format!("{:.0}", 100.0 * part) } else { short(100.0 * part) };
    let mut causes = Vec::new();
    if by_water > CRUSHED {
        causes.push(format!("{water:.3e} Pa at the bottom of the water squeeze it by {} %", percent(by_water)));
    }
    if by_weight > CRUSHED {
        causes.push(format!("{weight:.3e} Pa of its own weight squeeze its bottom by {} %", percent(by_weight)));
    }
    let told = || {
        let enough = modulus * by_water.max(by_weight) / CRUSHED;
        format!(
            "{key}: {}: \"{}\", of {modulus:.1e} Pa, is too soft to keep its shape; a `youngs_modulus` of {enough:.1e} Pa would do{}",
            causes.join(", "),
            entry.name.as_deref().unwrap_or_default(),
            if by_weight > CRUSHED { "" } else { ", or a higher `poisson_ratio`" }
        )
    };
    (!causes.is_empty()).then(told)
}

/// What a body is made from.
enum Geometry {
    Shape(Shape),
    Tetrahedra(TetMesh),
}

/// The tetrahedra of a body in its own frame, and where that is: in a flat scene, in the middle of the plane.
fn fill(
    document: &Document,
    key: &str,
    entry: &ElasticEntry,
    (geometry, pose): (&Geometry, Pose),
    grid: &Grid,
    warnings: &mut Vec<String>,
) -> Result<(TetMesh, Pose), SceneError> {
    let is_flat = Axis::ALL.into_iter().any(|axis| grid.is_flat(axis));
    let name = entry.name.as_deref().unwrap_or_default();
    let (shape, pose) = match geometry {
        Geometry::Tetrahedra(mesh) if !is_flat => return Ok((mesh.clone(), pose)),
        Geometry::Shape(shape) if !is_flat => (shape.clone(), pose),
        Geometry::Shape(shape @ Shape::Box { .. }) => slice(document, key, name, shape, pose, grid)?,
        Geometry::Shape(_) | Geometry::Tetrahedra(_) => {
            let message =
                format!("\"{name}\" is no box; in a flat scene elastic bodies are boxes right across the plane");
            return Err(document.error_at(ErrorKind::Scene, key, message));
        }
    };
    let (mesh, found) = TetMesh::from_shape(&shape, entry.size.unwrap_or_default())
        .map_err(|error| document.error_at(ErrorKind::Scene, &format!("{key}.size"), error.to_string()))?;
    warnings.extend(found.iter().map(|warning| format!("{key} \"{name}\": {warning}")));
    Ok((mesh, pose))
}

fn material(entry: &ElasticEntry) -> Material {
    Material {
        youngs_modulus: entry.youngs_modulus,
        poisson_ratio: entry.poisson_ratio,
        density: entry.density,
        mass_damping: entry.damping.mass,
        stiffness_damping: entry.damping.stiffness,
    }
}

/// Nothing is stretched along an axis one cell thick.
fn check_stretch(document: &Document, key: &str, entry: &ElasticEntry, grid: &Grid) -> Result<(), SceneError> {
    match Axis::ALL.into_iter().find(|&axis| grid.is_flat(axis) && entry.stretch[axis.index()] != 1.0) {
        None => Ok(()),
        Some(axis) => {
            let (a, value) = (axis.index(), entry.stretch[axis.index()]);
            let message = format!("{value:?} along an axis one cell thick, along which nothing moves; write 1");
            Err(document.error_at(ErrorKind::Scene, &format!("{key}.stretch.{a}"), message))
        }
    }
}

/// What holds the copy of a body that is `offset` away, its vertices being where `start` says.
fn holds(
    document: &Document,
    key: &str,
    entries: &[HoldEntry],
    (meshes, offset): (&Meshes, DVec3),
    (name, start): (&str, &[DVec3]),
    grid: &Grid,
) -> Result<Vec<Hold>, SceneError> {
    let mut is_free = vec![true; start.len()];
    let mut holds = Vec::new();
    for (n, entry) in entries.iter().enumerate() {
        let key = format!("{key}.hold.{n}");
        let HoldEntry { position, rotation, velocity, spin, ref keyframes, .. } = *entry;
        let path = Path { position, rotation, velocity, spin, keyframes };
        let motion = shifted(&motion(document, &key, &path)?, offset);
        let region = SignedDistance::new(&shape(document, &key, &entry.shape, meshes)?);
        let pose = motion.pose(0.0);
        let distance: Vec<f64> = start.iter().map(|v| region.at(pose.invert(*v))).collect();
        let caught = |v: &usize| distance[*v] <= ON_SURFACE * grid.dx;
        if !(0..start.len()).any(|v| caught(&v)) {
            let nearest = distance.iter().copied().fold(f64::INFINITY, f64::min);
            let message = format!(
                "no vertex of \"{name}\" lies in this region, the nearest is {nearest:.3e} m away; move or enlarge it"
            );
            return Err(document.error_at(ErrorKind::Scene, &key, message));
        }
        let vertices: Vec<usize> = (0..start.len()).filter(|v| caught(v) && is_free[*v]).collect();
        vertices.iter().for_each(|&v| is_free[v] = false);
        holds.push(Hold { vertices, motion });
    }
    Ok(holds)
}

/// Refuse a body that starts in a closed side, what is held apart.
fn check_walls(document: &Document, key: &str, body: &Elastic, start: &[DVec3], room: &Room) -> Result<(), SceneError> {
    let Room { grid, walls } = *room;
    let held: BTreeSet<usize> = body.holds.iter().flat_map(|hold| &hold.vertices).copied().collect();
    let free = || start.iter().enumerate().filter(|(v, _)| !held.contains(v)).map(|(_, x)| *x);
    for axis in Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)) {
        let a = axis.index();
        let depths = [
            free().map(|x| grid.origin[a] - x[a]).fold(f64::NEG_INFINITY, f64::max),
            free().map(|x| x[a] - grid.upper()[a]).fold(f64::NEG_INFINITY, f64::max),
        ];
        for ((side, depth), wall) in ["lower", "upper"].into_iter().zip(depths).zip(walls[a]) {
            if wall != Wall::Open && depth > IN_WALL * grid.dx {
                let message = format!(
                    "\"{}\" starts {depth:.3e} m deep in the {side} wall along {}; move it inside, hold that part, or open that side",
                    body.name,
                    ["x", "y", "z"][a]
                );
                return Err(document.error_at(ErrorKind::Scene, &format!("{key}.position"), message));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_thinnest_part_is_what_counts() {
        let cube = Grid::new([8, 8, 8], 0.25, DVec3::ZERO);
        let flat = Grid::new([8, 8, 1], 0.25, DVec3::ZERO);
        let turned = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
        let bar = Shape::Box { size: DVec3::new(1.0, 0.5, 0.2) };
        assert_eq!(thickness(&bar, DQuat::IDENTITY, &cube), 0.2);
        assert_eq!(thickness(&bar, DQuat::IDENTITY, &flat), 0.5);
        assert_eq!(thickness(&bar, turned, &flat), 0.2, "its y lies along the flat axis");
        assert_eq!(thickness(&Shape::Cylinder { radius: 0.2, height: 3.0 }, turned, &cube), 0.4);
        let long = Shape::Mesh(Arc::new(Shape::Box { size: DVec3::new(0.2, 100.0, 0.2) }.surface(1.0)));
        assert!((thickness(&long, DQuat::IDENTITY, &cube) / 0.2 - 1.0).abs() < 0.01);
    }
}

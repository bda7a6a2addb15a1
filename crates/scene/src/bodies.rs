//! Meshes and obstacles: shapes, poses, paths, copies.

use crate::assets::MeshAsset;
use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::{MeshFile, ObstacleEntry, PoseKey, Rotation, SceneFile, ShapeEntry, Spin};
use crate::placement::{bounds, check_meets_domain};
use bathtub_engine::geometry::{Charts, MeshError, MeshFormat, Pose, Shape, TriMesh};
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solid::{Keyframe, Motion, Obstacle};
use glam::{DQuat, DVec3};
use std::collections::BTreeSet;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// Most bodies in a scene, copies counted.
const MAX_BODIES: usize = 10_000;

/// The mesh files of a scene, read and parsed once each.
pub struct Meshes {
    /// The files.
    pub assets: Vec<MeshAsset>,
    /// What was mended in them.
    pub warnings: Vec<String>,
    surfaces: Vec<TriMesh>,
}

impl Meshes {
    /// Read every mesh that `file` names, and rename it there to the path of its copy.
    pub fn load(
        document: &Document,
        file: &mut SceneFile,
        read: impl Fn(&str) -> Result<MeshAsset, String>,
    ) -> Result<Self, SceneError> {
        let mut meshes = Self { assets: Vec::new(), warnings: Vec::new(), surfaces: Vec::new() };
        for (body, shape) in file.shapes_mut() {
            let ShapeEntry::Mesh(mesh) = shape else { continue };
            let key = format!("{body}.shape.mesh.path");
            let asset = read(&mesh.path).map_err(|message| document.error_at(ErrorKind::Io, &key, message))?;
            let known = meshes.assets.iter().any(|a| a.path == asset.path);
            if !known {
                let refuse = |message: String| document.error_at(ErrorKind::Geometry, &key, message);
                let extension = std::path::Path::new(&mesh.path).extension().unwrap_or_default().to_string_lossy();
                let format = MeshFormat::from_extension(&extension)
                    .ok_or_else(|| refuse(format!("\"{}\" is no .obj, .ply or .stl file", mesh.path)))?;
                let (surface, mended) =
                    format.read(&asset.bytes).map_err(|error| refuse(format!("{}: {error}", mesh.path)))?;
                meshes.warnings.extend(mended.iter().map(|warning| format!("{}: {warning}", mesh.path)));
                meshes.surfaces.push(surface);
                meshes.assets.push(asset.clone());
            }
            mesh.path = asset.path;
        }
        Ok(meshes)
    }

    /// The texture coordinates of a file, in metres.
    pub fn charts(&self, mesh: &MeshFile) -> Result<Option<Charts>, MeshError> {
        let Some(asset) = self.assets.iter().find(|asset| asset.path == mesh.path) else { return Ok(None) };
        let extension = std::path::Path::new(&mesh.path).extension().unwrap_or_default().to_string_lossy();
        let Some(format) = MeshFormat::from_extension(&extension) else { return Ok(None) };
        Charts::read(format, &asset.bytes, mesh.scale.factor())
    }

    /// The surface in the file of this path.
    pub fn surface(&self, path: &str) -> Option<&TriMesh> {
        self.assets.iter().position(|a| a.path == path).map(|i| &self.surfaces[i])
    }
}

/// About how many triangles the engine will make of the scene's solids with cells of edge `dx`, m.
pub fn triangles(file: &SceneFile, meshes: &Meshes, dx: f64) -> f64 {
    let of_shape = |shape: &ShapeEntry| match shape {
        ShapeEntry::Box { .. } => 12.0,
        ShapeEntry::Sphere { radius } => 2.0 * 4.0 * PI * (radius / dx).powi(2),
        ShapeEntry::Cylinder { radius, .. } => 4.0 * TAU * radius / dx,
        ShapeEntry::Capsule { radius, .. } => 2.0 * 4.0 * PI * (radius / dx).powi(2) + 2.0 * TAU * radius / dx,
        ShapeEntry::Torus { major, minor } => 2.0 * (TAU * major / dx) * (TAU * minor / dx),
        ShapeEntry::Mesh(mesh) => meshes.surface(&mesh.path).map_or(0.0, |s| s.triangles.len() as f64),
    };
    let obstacles = file.obstacle.iter().map(|o| (&o.shape, o.at.len()));
    let solids = obstacles.chain(file.body.iter().map(|b| (&b.shape, b.at.len())));
    solids.map(|(shape, copies)| of_shape(shape) * copies.max(1) as f64).fold(0.0, |sum, n| sum + n)
}

/// Refuse more solids than anyone can mean.
pub fn check_count(document: &Document, file: &SceneFile) -> Result<(), SceneError> {
    let count = |copies: &[[f64; 3]]| copies.len().max(1);
    let obstacles: usize = file.obstacle.iter().map(|o| count(&o.at)).sum();
    let bodies: usize = file.body.iter().map(|b| count(&b.at)).sum();
    let elastic: usize = file.elastic.iter().map(|e| count(&e.at)).sum();
    let all = obstacles + bodies + elastic;
    if all <= MAX_BODIES {
        return Ok(());
    }
    let most = [(obstacles, "obstacle"), (bodies, "body"), (elastic, "elastic")].into_iter().max_by_key(|(n, _)| *n);
    let message = format!("{all} bodies are too many (limit {MAX_BODIES})");
    Err(document.error_at(ErrorKind::Resource, most.map_or("", |(_, key)| key), message))
}

/// The scene's obstacles, copies included; their names go into `names`.
pub fn obstacles(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    grid: &Grid,
    names: &mut BTreeSet<String>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Obstacle>, SceneError> {
    let mut obstacles = Vec::new();
    for (i, entry) in file.obstacle.iter().enumerate() {
        let key = format!("obstacle.{i}");
        let shape = shape(document, &key, &entry.shape, meshes)?;
        let motion = motion(document, &key, &Path::of(entry))?;
        for (name, offset) in copies(&entry.name, &entry.at) {
            take_name(document, &key, &name, names)?;
            let motion = shifted(&motion, offset);
            let start = motion.pose(0.0);
            let span = bounds(&shape, &start);
            check_meets_domain(document, &key, &name, span, grid)?;
            warnings.extend(too_thin(&key, &name, span, grid));
            obstacles.push(Obstacle { name, shape: shape.clone(), motion });
        }
    }
    Ok(obstacles)
}

/// Name and offset, m, of each copy of a solid.
pub fn copies(name: &Option<String>, at: &[[f64; 3]]) -> Vec<(String, DVec3)> {
    let base = name.as_deref().unwrap_or_default();
    match at {
        [] => vec![(base.to_owned(), DVec3::ZERO)],
        at => at.iter().enumerate().map(|(n, offset)| (format!("{base}-{n}"), DVec3::from(*offset))).collect(),
    }
}

/// Add a name to those that are taken.
pub fn take_name(document: &Document, key: &str, name: &str, names: &mut BTreeSet<String>) -> Result<(), SceneError> {
    if names.insert(name.to_owned()) {
        return Ok(());
    }
    let message = format!("the name \"{name}\" is taken; every obstacle and every body needs its own");
    Err(document.error_at(ErrorKind::Scene, &format!("{key}.name"), message))
}

/// A warning about a solid, lowest and highest corner given, that the grid cannot see.
pub fn too_thin(key: &str, name: &str, [lo, hi]: [DVec3; 2], grid: &Grid) -> Option<String> {
    let dx = grid.dx;
    let thin = Axis::ALL.into_iter().any(|a| !grid.is_flat(a) && (hi - lo)[a.index()] < dx);
    let told = || format!("{key} \"{name}\" is thinner than a cell ({dx:.3e} m): the flow around it is not resolved");
    thin.then(told)
}

/// The shape that `entry` means.
pub fn shape(document: &Document, key: &str, entry: &ShapeEntry, meshes: &Meshes) -> Result<Shape, SceneError> {
    Ok(match entry {
        ShapeEntry::Box { size } => Shape::Box { size: DVec3::from(*size) },
        ShapeEntry::Sphere { radius } => Shape::Sphere { radius: *radius },
        ShapeEntry::Cylinder { radius, height } => Shape::Cylinder { radius: *radius, height: *height },
        ShapeEntry::Capsule { radius, height } => Shape::Capsule { radius: *radius, height: *height },
        ShapeEntry::Torus { major, minor } if minor < major => Shape::Torus { major: *major, minor: *minor },
        ShapeEntry::Torus { major, minor } => {
            let message = format!("the tube's radius {minor:?} must be smaller than the ring's, major = {major:?}");
            return Err(document.error_at(ErrorKind::Scene, &format!("{key}.shape.torus.minor"), message));
        }
        ShapeEntry::Mesh(file) => {
            let surface = meshes.surface(&file.path).expect("every mesh was read before");
            Shape::Mesh(Arc::new(surface.scaled(file.scale.factor())))
        }
    })
}

/// The keys of a path.
pub struct Path<'a> {
    pub position: Option<[f64; 3]>,
    pub rotation: Option<Rotation>,
    pub velocity: Option<[f64; 3]>,
    pub spin: Option<Spin>,
    pub keyframes: &'a [PoseKey],
}

impl<'a> Path<'a> {
    fn of(entry: &'a ObstacleEntry) -> Self {
        let ObstacleEntry { position, rotation, velocity, spin, ref keyframes, .. } = *entry;
        Self { position, rotation, velocity, spin, keyframes }
    }
}

/// The path that `entry` means.
pub fn motion(document: &Document, key: &str, entry: &Path) -> Result<Motion, SceneError> {
    let refuse = |key: String, message: String| Err(document.error_at(ErrorKind::Scene, &key, message));
    if !entry.keyframes.is_empty() {
        let given = [
            ("position", entry.position.is_some()),
            ("rotation", entry.rotation.is_some()),
            ("velocity", entry.velocity.is_some()),
            ("spin", entry.spin.is_some()),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
            return refuse(format!("{key}.{name}"), format!("`{name}` and `keyframes` exclude each other; remove one"));
        }
        let mut keys: Vec<Keyframe> = Vec::new();
        for (n, pose_key) in entry.keyframes.iter().enumerate() {
            let key = format!("{key}.keyframes.{n}");
            if let Some(before) = keys.last()
                && pose_key.time <= before.time
            {
                let message = format!("{:?} s is not after the key before it, at {:?} s", pose_key.time, before.time);
                return refuse(format!("{key}.time"), message);
            }
            let rotation = rotation(document, &key, pose_key.rotation)?;
            let pose = Pose { position: DVec3::from(pose_key.position), rotation };
            keys.push(Keyframe { time: pose_key.time, pose });
        }
        return Ok(Motion::Keyframes(keys));
    }
    let position = DVec3::from(entry.position.unwrap_or_default());
    let start = Pose { position, rotation: rotation(document, key, entry.rotation)? };
    if entry.velocity.is_none() && entry.spin.is_none() {
        return Ok(Motion::Static(start));
    }
    let angular_velocity = spin(document, key, entry.spin)?;
    Ok(Motion::Steady { start, velocity: DVec3::from(entry.velocity.unwrap_or_default()), angular_velocity })
}

/// The turn that `entry` means.
pub fn rotation(document: &Document, key: &str, entry: Option<Rotation>) -> Result<DQuat, SceneError> {
    let Some(rotation) = entry else { return Ok(DQuat::IDENTITY) };
    let axis = unit_axis(document, &format!("{key}.rotation.axis"), rotation.axis)?;
    Ok(DQuat::from_axis_angle(axis, rotation.degrees.to_radians()))
}

/// The angular velocity that `entry` means, rad/s.
pub fn spin(document: &Document, key: &str, entry: Option<Spin>) -> Result<DVec3, SceneError> {
    let Some(spin) = entry else { return Ok(DVec3::ZERO) };
    Ok(unit_axis(document, &format!("{key}.spin.axis"), spin.axis)? * spin.degrees_per_second.to_radians())
}

fn unit_axis(document: &Document, key: &str, axis: [f64; 3]) -> Result<DVec3, SceneError> {
    let refusal =
        || document.error_at(ErrorKind::Scene, key, "an axis needs a direction; [0, 1, 0] turns about the vertical");
    DVec3::from(axis).try_normalize().ok_or_else(refusal)
}

/// The same path, elsewhere; `offset` in m.
pub fn shifted(motion: &Motion, offset: DVec3) -> Motion {
    let mut motion = motion.clone();
    match &mut motion {
        Motion::Static(pose) | Motion::Steady { start: pose, .. } => pose.position += offset,
        Motion::Keyframes(keys) => keys.iter_mut().for_each(|key| key.pose.position += offset),
    }
    motion
}

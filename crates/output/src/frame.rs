//! One frame: what it holds, and its files.
//!
//! ```text
//! smoke_0001.vdb          of smoke: grids density, temperature, velocity
//! water_0001.vdb          of water: level set surface, and velocity
//! water_0001.ply          its surface as a mesh
//! particles_0001.ply      its particles, if asked for
//! wheel_0001.ply          the surface of a moving body in this frame
//! ball_static.ply         the surface of a body that never moves, written once
//! ```

use crate::atomic::{self, FileError};
use crate::inventory::number;
use crate::ply::{self, PlyError};
use crate::surface::liquid_surface;
use crate::vdb::{self, Header, Values, VdbError, Volume};
use bathtub_engine::fluid::FluidState;
use bathtub_engine::fluid::water::Particles;
use bathtub_engine::geometry::TriMesh;
use bathtub_engine::grid::{CellField, FaceField, Grid, redistance};
use bathtub_engine::world::World;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What can be seen at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Number of the frame.
    pub index: u64,
    /// s.
    pub time: f64,
    /// Where the cells are.
    pub grid: Grid,
    /// The fluid.
    pub fluid: Visible,
    /// At cell centres, m/s.
    pub velocity: CellField<[f32; 3]>,
    /// The solids.
    pub surfaces: Vec<Surface>,
}

/// What can be seen of a fluid.
#[derive(Clone, Debug, PartialEq)]
pub enum Visible {
    /// Smoke in air.
    Smoke(SmokeFrame),
    /// A liquid.
    Water(WaterFrame),
}

/// What can be seen of smoke.
#[derive(Clone, Debug, PartialEq)]
pub struct SmokeFrame {
    /// Smoke density, 1 where a source of density 1 is.
    pub density: CellField<f32>,
    /// Above ambient, K.
    pub temperature: CellField<f32>,
}

/// What can be seen of a liquid.
#[derive(Clone, Debug, PartialEq)]
pub struct WaterFrame {
    /// Its closed surface, m.
    pub surface: TriMesh,
    /// Signed distance from the surface, m, negative inside; exact within [`LEVEL_SET_CELLS`] cells, cut off there.
    pub distance: CellField<f32>,
    /// Positions (m) and velocities (m/s) of its particles; empty in a frame that was read back.
    pub particles: [Vec<DVec3>; 2],
}

/// Half width of the level set that is written, in cells: what renderers expect.
pub const LEVEL_SET_CELLS: f64 = 3.0;

/// The name of the liquid's mesh: no body can have it.
const WATER: &str = "water";

/// The surface of a body in world space.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// The body's name.
    pub name: String,
    /// m.
    pub mesh: TriMesh,
    /// Of its vertices, m/s; none of one that never moves, or where none are wanted.
    pub velocities: Vec<DVec3>,
    /// Whether it ever moves; if not, one file serves all frames.
    pub moves: bool,
}

/// What is written of the velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VelocityOutput {
    /// Nothing.
    None,
    /// In and next to smoke or liquid: all that motion blur and advected detail need, at a fraction of the size.
    #[default]
    Smoke,
    /// In every cell where the fluid moves.
    Everywhere,
}

/// What goes into a frame's files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrameSettings {
    /// Whether the volume is written.
    pub volumes: bool,
    /// Whether the surfaces are written.
    pub meshes: bool,
    /// Whether a liquid's particles are written.
    pub particles: bool,
    /// Densities up to this, and temperatures up to this many K, are not stored.
    pub threshold: f32,
    /// Which velocities are stored.
    pub velocity: VelocityOutput,
}

impl Default for FrameSettings {
    fn default() -> Self {
        Self { volumes: true, meshes: true, particles: false, threshold: 1e-4, velocity: VelocityOutput::default() }
    }
}

/// Why a frame cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A file is missing or unreadable.
    #[error(transparent)]
    File(#[from] FileError),
    /// The volume file is unusable.
    #[error("{}: {source}", path.display())]
    Volume {
        /// Which.
        path: PathBuf,
        /// Why.
        source: VdbError,
    },
    /// A mesh file is unusable.
    #[error("{}: {source}", path.display())]
    Mesh {
        /// Which.
        path: PathBuf,
        /// Why.
        source: PlyError,
    },
    /// The volume was made by a run of another scene.
    #[error("{} belongs to another scene (hash {found}, this run has {expected})", path.display())]
    OtherScene {
        /// Which.
        path: PathBuf,
        /// In the file.
        found: String,
        /// Of the run.
        expected: String,
    },
}

impl Frame {
    /// The visible part of a world.
    pub fn new(world: &World, surfaces: Vec<Surface>) -> Self {
        let (grid, state) = (&world.params().grid, world.state());
        let single = |field: &CellField| CellField {
            dims: field.dims,
            data: field.data.iter().map(|&v| v as f32).collect::<Vec<f32>>(),
        };
        let fluid = match &state.fluid.content {
            FluidState::Smoke(smoke) => {
                Visible::Smoke(SmokeFrame { density: single(&smoke.density), temperature: single(&smoke.temperature) })
            }
            FluidState::Water(water) => {
                let open = (!surfaces.is_empty()).then_some(&world.boundary().volume);
                let Particles { position, velocity, .. } = &water.particles;
                let mut distance = water.distance.clone();
                redistance(&mut distance, grid.dx, LEVEL_SET_CELLS * grid.dx);
                Visible::Water(WaterFrame {
                    surface: as_written(&liquid_surface(position, world.particle_volume(), grid, open)),
                    distance: single(&distance),
                    particles: [position.clone(), velocity.clone()],
                })
            }
        };
        let written = |surface: Surface| Surface {
            mesh: as_written(&surface.mesh),
            velocities: surface.velocities.iter().map(|v| v.as_vec3().as_dvec3()).collect(),
            ..surface
        };
        Self {
            index: state.frame,
            time: state.time,
            grid: *grid,
            fluid,
            velocity: centred(grid, &state.fluid.velocity),
            surfaces: surfaces.into_iter().map(written).collect(),
        }
    }

    /// The velocity in blocks of 8³ cells (leaves of the file's tree) that hold smoke or liquid, zero elsewhere.
    pub(crate) fn velocity_near_fluid(&self, threshold: f32) -> Vec<[f32; 3]> {
        const BLOCK: usize = 8;
        let grid = &self.grid;
        let blocks = grid.dims.map(|n| n.div_ceil(BLOCK));
        let block_of = |index: usize| {
            let [i, j, k] = grid.cell_at(index).map(|c| c / BLOCK);
            i + blocks[0] * (j + blocks[1] * k)
        };
        let mut filled = vec![false; blocks.iter().product()];
        match &self.fluid {
            Visible::Smoke(smoke) => {
                for (index, &density) in smoke.density.data.iter().enumerate() {
                    filled[block_of(index)] |= density.abs() > threshold;
                }
            }
            Visible::Water(water) => {
                for (index, &distance) in water.distance.data.iter().enumerate() {
                    filled[block_of(index)] |= distance < grid.dx as f32;
                }
            }
        }
        let kept = |(index, &v): (usize, &[f32; 3])| if filled[block_of(index)] { v } else { [0.0; 3] };
        self.velocity.data.iter().enumerate().map(kept).collect()
    }
}

/// A mesh to the digits that files hold: whoever draws a frame from its files draws the same picture.
fn as_written(mesh: &TriMesh) -> TriMesh {
    mesh.mapped(|vertex| vertex.as_vec3().as_dvec3())
}

/// Face velocities averaged to cell centres, where every tool expects them.
fn centred(grid: &Grid, faces: &FaceField) -> CellField<[f32; 3]> {
    let mut cells = CellField::new(grid, [0.0; 3]);
    for (index, value) in cells.data.iter_mut().enumerate() {
        *value = faces.at_centre(grid.cell_at(index)).as_vec3().to_array();
    }
    cells
}

/// Write the files of a frame; each appears complete or not at all, the volume last.
pub fn write(directory: &Path, frame: &Frame, scene_hash: &str, settings: &FrameSettings) -> Result<(), FileError> {
    for surface in frame.surfaces.iter().filter(|_| settings.meshes) {
        let path = mesh_path(directory, &surface.name, surface.moves.then_some(frame.index));
        if surface.moves || !path.exists() {
            atomic::write(&path, |out| ply::write(out, &surface.mesh, &surface.velocities))?;
        }
    }
    if let Visible::Water(water) = &frame.fluid {
        if settings.meshes || settings.volumes {
            let path = mesh_path(directory, WATER, Some(frame.index));
            atomic::write(&path, |out| ply::write(out, &water.surface, &[]))?;
        }
        if settings.particles {
            let path = directory.join(format!("particles_{:04}.ply", frame.index));
            let [positions, velocities] = &water.particles;
            atomic::write(&path, |out| ply::write_particles(out, positions, velocities))?;
        }
    }
    if !settings.volumes {
        return Ok(());
    }
    let header = Header { grid: frame.grid, time: frame.time, frame: frame.index, scene_hash: scene_hash.to_string() };
    let threshold = settings.threshold;
    let near_fluid = match settings.velocity {
        VelocityOutput::Smoke => Some(frame.velocity_near_fluid(threshold)),
        VelocityOutput::None | VelocityOutput::Everywhere => None,
    };
    let mut volumes = match &frame.fluid {
        Visible::Smoke(smoke) => vec![
            Volume { name: "density", values: Values::Float(&smoke.density.data), threshold },
            Volume { name: "temperature", values: Values::Float(&smoke.temperature.data), threshold },
        ],
        Visible::Water(water) => {
            let band = (LEVEL_SET_CELLS * frame.grid.dx) as f32;
            let values = Values::LevelSet { distance: &water.distance.data, band };
            vec![Volume { name: "surface", values, threshold: 0.0 }]
        }
    };
    if settings.velocity != VelocityOutput::None {
        let values = Values::Vec3(near_fluid.as_ref().unwrap_or(&frame.velocity.data));
        volumes.push(Volume { name: "velocity", values, threshold: 0.0 });
    }
    let path = match &frame.fluid {
        Visible::Smoke(_) => volume_path(directory, SMOKE, frame.index),
        Visible::Water(_) => volume_path(directory, WATER, frame.index),
    };
    atomic::write(&path, |out| vdb::write(out, &header, &volumes))
}

/// Numbers of the frames in a directory, rising.
pub fn list(directory: &Path) -> Result<Vec<u64>, FileError> {
    let mut frames = Vec::new();
    for entry in fs::read_dir(directory).map_err(FileError::new("read", directory))? {
        let name = entry.map_err(FileError::new("read", directory))?.file_name();
        let of_fluid =
            |n: &str, fluid: &str| number(n.strip_prefix(fluid)?.strip_prefix('_')?.strip_suffix(".vdb")?, 4);
        frames.extend(name.to_str().and_then(|n| of_fluid(n, SMOKE).or_else(|| of_fluid(n, WATER))));
    }
    frames.sort_unstable();
    Ok(frames)
}

/// Read a frame back. `bodies` are the names of the solids in their order; a velocity that was not stored is zero.
pub fn read(directory: &Path, index: u64, scene_hash: &str, bodies: &[String]) -> Result<Frame, FrameError> {
    let water = volume_path(directory, WATER, index);
    let path = if water.exists() { water } else { volume_path(directory, SMOKE, index) };
    let bytes = atomic::read(&path)?;
    let mut file = vdb::read(&bytes).map_err(|source| FrameError::Volume { path: path.clone(), source })?;
    let Header { grid, time, frame, scene_hash: found } = file.header.clone();
    if found != scene_hash {
        return Err(FrameError::OtherScene { path, found, expected: scene_hash.to_string() });
    }
    let dims = grid.dims;
    let float = |data: Option<Vec<f32>>| data.map_or(CellField::new(&grid, 0.0), |data| CellField { dims, data });
    let vector = |data: Option<Vec<_>>| data.map_or(CellField::new(&grid, [0.0; 3]), |data| CellField { dims, data });
    let surfaces = bodies.iter().map(|name| read_surface(directory, name, index)).collect::<Result<_, _>>()?;
    Ok(Frame {
        index: frame,
        time,
        grid,
        fluid: match file.take_float("surface") {
            Some(data) => Visible::Water(WaterFrame {
                surface: read_surface(directory, WATER, index)?.mesh,
                distance: CellField { dims, data },
                particles: Default::default(),
            }),
            None => Visible::Smoke(SmokeFrame {
                density: float(file.take_float("density")),
                temperature: float(file.take_float("temperature")),
            }),
        },
        velocity: vector(file.take_vec3("velocity")),
        surfaces,
    })
}

/// A body's mesh of this frame, or the one that serves all frames.
fn read_surface(directory: &Path, name: &str, index: u64) -> Result<Surface, FrameError> {
    let moving = mesh_path(directory, name, Some(index));
    let (path, bytes, moves) = match atomic::read(&moving) {
        Ok(bytes) => (moving, bytes, true),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
            let path = mesh_path(directory, name, None);
            let bytes = atomic::read(&path)?;
            (path, bytes, false)
        }
        Err(error) => return Err(error.into()),
    };
    let (mesh, velocities) = ply::read(&bytes).map_err(|source| FrameError::Mesh { path, source })?;
    Ok(Surface { name: name.to_string(), mesh, velocities, moves })
}

/// The name of the smoke's volumes.
const SMOKE: &str = "smoke";

/// Where the volume of a frame is.
fn volume_path(directory: &Path, fluid: &str, index: u64) -> PathBuf {
    directory.join(format!("{fluid}_{index:04}.vdb"))
}

/// Where the mesh of a body is: in one frame, or in all.
pub fn mesh_path(directory: &Path, body: &str, index: Option<u64>) -> PathBuf {
    let stem = file_stem(body);
    directory.join(match index {
        Some(index) => format!("{stem}_{index:04}.ply"),
        None => format!("{stem}_static.ply"),
    })
}

/// A body's name as part of a file name: letters, digits, `_` and `-` as they are, all else as %-escapes, so that
/// no name leaves the directory and no two names share a file.
pub(crate) fn file_stem(name: &str) -> String {
    let plain = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    name.bytes().map(|c| if plain(&c) { char::from(c).to_string() } else { format!("%{c:02x}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::scratch::Scratch;
    use bathtub_engine::grid::Axis;

    fn triangle(x: f64) -> TriMesh {
        TriMesh { vertices: vec![DVec3::X * x, DVec3::Y, DVec3::Z], triangles: vec![[0, 1, 2]] }
    }

    fn frame() -> Frame {
        let grid = Grid::new([10, 12, 9], 0.125, DVec3::new(-0.5, 0.0, 1.0));
        let mut density = CellField::new(&grid, 0.0);
        let mut velocity = CellField::new(&grid, [0.0, 0.25, 0.0]);
        for (n, d) in density.data.iter_mut().enumerate().skip(1000) {
            *d = n as f32 * 1e-3;
        }
        velocity.data[1077] = [0.5, -1.0, 2.0];
        let temperature = CellField { dims: grid.dims, data: density.data.iter().map(|d| 300.0 * d).collect() };
        let surface =
            |name: &str, velocities, moves| Surface { name: name.into(), mesh: triangle(2.0), velocities, moves };
        let surfaces =
            vec![surface("ball", vec![], false), surface("wheel", vec![DVec3::X, DVec3::Y, -DVec3::Z], true)];
        let fluid = Visible::Smoke(SmokeFrame { density, temperature });
        Frame { index: 7, time: 0.28, grid, fluid, velocity, surfaces }
    }

    #[test]
    fn a_frame_of_water_is_read_back() {
        let dir = Scratch::new("frame-water");
        let smoke = frame();
        let grid = smoke.grid;
        let height = |index: usize| (grid.cell_centre(grid.cell_at(index)).y - 0.7) as f32;
        let band = (LEVEL_SET_CELLS * grid.dx) as f32;
        let data = (0..grid.cells()).map(|index| height(index).clamp(-band, band)).collect();
        let water = WaterFrame {
            surface: triangle(3.0),
            distance: CellField { dims: grid.dims, data },
            particles: [vec![DVec3::X, DVec3::Y], vec![DVec3::ZERO, DVec3::Z]],
        };
        let wet = Frame { fluid: Visible::Water(water.clone()), ..smoke };
        let settings =
            FrameSettings { velocity: VelocityOutput::Everywhere, particles: true, ..FrameSettings::default() };
        write(dir.path(), &wet, "abc", &settings).unwrap();
        let fluid = Visible::Water(WaterFrame { particles: Default::default(), ..water });
        assert_eq!(read(dir.path(), 7, "abc", &names()).unwrap(), Frame { fluid, ..wet });
        assert_eq!(list(dir.path()).unwrap(), [7]);
        for file in ["water_0007.vdb", "water_0007.ply", "particles_0007.ply"] {
            assert!(dir.path().join(file).exists(), "{file}");
        }
    }

    fn names() -> Vec<String> {
        vec!["ball".into(), "wheel".into()]
    }

    #[test]
    fn a_frame_is_read_back() {
        let dir = Scratch::new("frame");
        let settings =
            FrameSettings { threshold: 0.0, velocity: VelocityOutput::Everywhere, ..FrameSettings::default() };
        write(dir.path(), &frame(), "abc", &settings).unwrap();
        assert_eq!(read(dir.path(), 7, "abc", &names()).unwrap(), frame());
        assert_eq!(list(dir.path()).unwrap(), [7]);
        let mut files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["ball_static.ply", "smoke_0007.vdb", "wheel_0007.ply"]);
        assert!(matches!(read(dir.path(), 7, "other", &names()), Err(FrameError::OtherScene { .. })));
        assert!(matches!(read(dir.path(), 8, "abc", &names()), Err(FrameError::File(_))));
    }

    #[test]
    fn velocity_is_kept_where_smoke_is() {
        let dir = Scratch::new("frame-velocity");
        write(dir.path(), &frame(), "abc", &FrameSettings::default()).unwrap();
        let back = read(dir.path(), 7, "abc", &names()).unwrap();
        assert_eq!(back.velocity.data[1077], [0.5, -1.0, 2.0]);
        assert_eq!(back.velocity.data[0], [0.0; 3]);
    }

    #[test]
    fn cell_velocities_are_the_mean_of_their_faces() {
        let grid = Grid::new([2, 3, 1], 0.5, DVec3::ZERO);
        let mut faces = FaceField::new(&grid, 0.0);
        faces[(Axis::X, [1, 2, 0])] = 3.0;
        faces[(Axis::Y, [0, 3, 0])] = 1.0;
        let cells = centred(&grid, &faces);
        assert_eq!(cells[[0, 2, 0]], [1.5, 0.5, 0.0]);
        assert_eq!(cells[[1, 2, 0]], [1.5, 0.0, 0.0]);
    }

    #[test]
    fn no_body_name_leaves_the_directory_or_meets_another() {
        let dir = Path::new("frames");
        assert_eq!(mesh_path(dir, "../../etc/passwd", None).parent(), Some(dir));
        assert_ne!(mesh_path(dir, "ball_0001", None), mesh_path(dir, "ball", Some(1)));
        assert_ne!(mesh_path(dir, "a b", None), mesh_path(dir, "a_b", None));
    }
}

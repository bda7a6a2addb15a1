//! OpenVDB volumes: the sparse grids that Blender, Houdini, Nuke and renderers read.
//!
//! One file holds several grids of one shape: `float` grids and `vec3s` grids (three floats), each a tree of
//! depth 5-4-3: leaves of 8³ voxels under nodes of 16³ leaves under nodes of 32³ of those. Only voxels whose
//! magnitude exceeds a threshold are *active* and stored; all others are the background, 0. A *level set* stores signed distances
//! within a narrow band around the surface; farther inside it is minus, farther outside plus the band's half width. A voxel with index
//! (i, j, k) is the centre of cell (i, j, k) of the simulation grid, in metres.
//!
//! File format 224 as the OpenVDB library writes it: all grids inline, leaf and node values with active-mask
//! compression inside zip streams, a uniform scale and a translation as transform. The same input gives the
//! same bytes: even the file's identifier is derived from its content.
//!
//! The reader takes what the writer writes (to draw saved frames again); it refuses other trees, tiles,
//! half floats and Blosc by name and treats every length in the file as hostile.

mod read;
mod write;

pub use read::{VdbError, read};
pub use write::write;

use bathtub_engine::grid::Grid;

/// One grid to be written.
#[derive(Clone, Copy, Debug)]
pub struct Volume<'a> {
    /// `density`, `temperature`, `velocity`, …: unique in the file.
    pub name: &'a str,
    /// A value per cell, x-fastest.
    pub values: Values<'a>,
    /// Voxels of magnitude up to this are left out; a level set keeps its band instead.
    pub threshold: f32,
}

/// The values of a grid, borrowed, one per cell.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// One number a cell.
    Float(&'a [f32]),
    /// One vector a cell.
    Vec3(&'a [[f32; 3]]),
    /// Signed distance to a surface, negative inside: only what is nearer than `band` is stored, the rest becomes ±`band`.
    LevelSet {
        /// One distance a cell, m.
        distance: &'a [f32],
        /// Half width of the band, m, positive; renderers want three cells.
        band: f32,
    },
}

/// What a file says besides its voxels.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The simulation grid: shape, cell size and place.
    pub grid: Grid,
    /// Time of the frame, s.
    pub time: f64,
    /// Number of the frame.
    pub frame: u64,
    /// Hash of the scene it belongs to, in hexadecimal.
    pub scene_hash: String,
}

/// A file read back; cells without a voxel are 0, or ± the band in a level set.
#[derive(Clone, Debug)]
pub struct VdbFile {
    /// What the file says about itself.
    pub header: Header,
    /// Name and values of each grid.
    pub volumes: Vec<(String, OwnedValues)>,
}

/// The values of a grid, one per cell, x-fastest.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedValues {
    /// One number a cell.
    Float(Vec<f32>),
    /// One vector a cell.
    Vec3(Vec<[f32; 3]>),
}

impl VdbFile {
    /// Remove and return the values of a scalar grid.
    pub fn take_float(&mut self, name: &str) -> Option<Vec<f32>> {
        match self.take(name)? {
            OwnedValues::Float(v) => Some(v),
            OwnedValues::Vec3(_) => None,
        }
    }

    /// Remove and return the values of a vector grid.
    pub fn take_vec3(&mut self, name: &str) -> Option<Vec<[f32; 3]>> {
        match self.take(name)? {
            OwnedValues::Vec3(v) => Some(v),
            OwnedValues::Float(_) => None,
        }
    }

    fn take(&mut self, name: &str) -> Option<OwnedValues> {
        let at = self.volumes.iter().position(|(n, _)| n == name)?;
        Some(self.volumes.swap_remove(at).1)
    }
}

const MAGIC: u64 = 0x5644_4220;
const FILE_VERSION: u32 = 224;
/// OpenVDB library version whose behaviour the file follows.
const LIBRARY_VERSION: [u32; 2] = [10, 0];
/// ZIP | ACTIVE_MASK.
const COMPRESSION: u32 = 0b11;
/// Per-node markers; only active values follow. Inactive ones are all the background …
const ACTIVE_VALUES_ONLY: u8 = 0;
/// … or all minus the background …
const ACTIVE_BESIDE_MINUS: u8 = 1;
/// … or, where a mask that comes first has ones, the background, and minus the background elsewhere.
const ACTIVE_AND_MASK: u8 = 3;
const TRANSFORM: &str = "UniformScaleTranslateMap";

/// Edge of a leaf in voxels.
const LEAF: usize = 8;
/// Voxels in a leaf.
const LEAF_VOXELS: usize = LEAF * LEAF * LEAF;
/// Leaves along the edge of a lower node, as a power of two, and lower nodes along the edge of an upper one.
const LOWER_LOG2: usize = 4;
const UPPER_LOG2: usize = 5;
/// A value a voxel can hold.
trait Voxel: Copy + Default + Send + Sync {
    /// Name in the type of the tree.
    const TYPE: &'static str;
    /// Bytes in the file.
    const SIZE: usize;
    fn magnitude(self) -> f32;
    fn negated(self) -> Self;
    fn is_positive(self) -> bool;
    fn put(self, out: &mut Vec<u8>);
    /// From exactly `SIZE` bytes.
    fn get(bytes: &[u8]) -> Self;
}

impl Voxel for f32 {
    const TYPE: &'static str = "float";
    const SIZE: usize = 4;
    fn magnitude(self) -> f32 {
        self.abs()
    }
    fn negated(self) -> Self {
        -self
    }
    fn is_positive(self) -> bool {
        self > 0.0
    }
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn get(bytes: &[u8]) -> Self {
        f32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }
}

impl Voxel for [f32; 3] {
    const TYPE: &'static str = "vec3s";
    const SIZE: usize = 12;
    fn magnitude(self) -> f32 {
        self.iter().fold(0.0, |m, v| v.abs().max(m))
    }
    fn negated(self) -> Self {
        self.map(|v| -v)
    }
    /// Vectors have no sides: there are no level sets of them.
    fn is_positive(self) -> bool {
        false
    }
    fn put(self, out: &mut Vec<u8>) {
        self.iter().for_each(|v| v.put(out));
    }
    fn get(bytes: &[u8]) -> Self {
        [0, 1, 2].map(|c| f32::get(&bytes[4 * c..4 * c + 4]))
    }
}

fn tree_type<T: Voxel>() -> String {
    format!("Tree_{}_5_4_3", T::TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;
    use std::io::Cursor;

    /// Two blobs far apart on a grid whose sides are no multiples of 8, so that leaves are cut by the border.
    fn blobs(grid: &Grid) -> (Vec<f32>, Vec<[f32; 3]>) {
        let mut density = vec![0.0; grid.cells()];
        let mut velocity = vec![[0.0; 3]; grid.cells()];
        for (index, (d, v)) in density.iter_mut().zip(&mut velocity).enumerate() {
            let at = grid.cell_centre(grid.cell_at(index));
            let near = |c: DVec3| (1.0 - (at - c).length() / (6.0 * grid.dx)).max(0.0);
            *d = (near(grid.cell_centre([0, 0, 0])) + near(grid.upper())) as f32;
            *v = [*d, -2.0 * *d, (at.z * f64::from(*d)) as f32];
        }
        (density, velocity)
    }

    fn header(grid: Grid) -> Header {
        Header { grid, time: 1.25, frame: 30, scene_hash: "ab12".into() }
    }

    fn written(grid: Grid) -> (Vec<u8>, Vec<f32>, Vec<[f32; 3]>) {
        let (density, velocity) = blobs(&grid);
        let volumes = [
            Volume { name: "density", values: Values::Float(&density), threshold: 0.0 },
            Volume { name: "velocity", values: Values::Vec3(&velocity), threshold: 0.0 },
        ];
        let mut out = Cursor::new(Vec::new());
        write(&mut out, &header(grid), &volumes).unwrap();
        (out.into_inner(), density, velocity)
    }

    #[test]
    fn what_is_written_is_read_back() {
        // 300 cells span three lower nodes; the second grid is a flat scene.
        for dims in [[19, 300, 9], [40, 33, 1]] {
            let grid = Grid::new(dims, 0.05, DVec3::new(-1.0, 0.25, 3.0));
            let (bytes, density, velocity) = written(grid);
            let mut file = read(&bytes).unwrap();
            assert_eq!(file.header, header(grid));
            assert_eq!(file.take_float("density").unwrap(), density);
            assert_eq!(file.take_vec3("velocity").unwrap(), velocity);
        }
    }

    #[test]
    fn values_up_to_the_threshold_are_left_out() {
        let grid = Grid::new([16, 16, 16], 0.1, DVec3::ZERO);
        let mut density = vec![1e-4; grid.cells()];
        density[5] = 0.5;
        let volume = Volume { name: "density", values: Values::Float(&density), threshold: 1e-3 };
        let mut out = Cursor::new(Vec::new());
        write(&mut out, &header(grid), &[volume]).unwrap();
        let back = read(&out.into_inner()).unwrap().take_float("density").unwrap();
        assert!(back.iter().enumerate().all(|(i, &v)| v == if i == 5 { 0.5 } else { 0.0 }));
    }

    #[test]
    fn an_empty_grid_is_a_valid_file() {
        let grid = Grid::new([8, 8, 8], 0.1, DVec3::ZERO);
        let volume = Volume { name: "density", values: Values::Float(&[0.0; 512]), threshold: 0.0 };
        let mut out = Cursor::new(Vec::new());
        write(&mut out, &header(grid), &[volume]).unwrap();
        assert_eq!(read(&out.into_inner()).unwrap().take_float("density").unwrap(), vec![0.0; 512]);
    }

    /// A ball that fills whole leaves, beside the border: band, inside and outside come back, clipped to the band.
    #[test]
    fn a_level_set_is_read_back_within_its_band() {
        let grid = Grid::new([150, 40, 33], 0.1, DVec3::ZERO);
        let centre = DVec3::new(11.0, 2.0, 1.6);
        let stretched = |p: DVec3| ((p - centre) * DVec3::new(0.3, 1.0, 1.0)).length() - 1.5;
        let distance: Vec<f32> =
            (0..grid.cells()).map(|n| stretched(grid.cell_centre(grid.cell_at(n))) as f32).collect();
        let band = 0.3;
        let volume = Volume { name: "surface", values: Values::LevelSet { distance: &distance, band }, threshold: 0.0 };
        let mut out = Cursor::new(Vec::new());
        write(&mut out, &header(grid), &[volume]).unwrap();
        let bytes = out.into_inner();
        let back = read(&bytes).unwrap().take_float("surface").unwrap();
        assert!(back.iter().zip(&distance).all(|(b, d)| *b == d.clamp(-band, band)));
        assert!(back.contains(&-band) && back.contains(&band));
        for end in (0..bytes.len()).step_by(101) {
            assert!(read(&bytes[..end]).is_err(), "truncated to {end}");
        }
        for at in (0..bytes.len()).step_by(53) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x91;
            let _ = read(&broken);
        }
    }

    /// Deep water over more than a lower node's 128³ voxels.
    #[test]
    fn whole_nodes_inside_a_level_set_are_minus_the_band() {
        let grid = Grid::new([300, 140, 136], 1.0, DVec3::ZERO);
        let distance: Vec<f32> =
            (0..grid.cells()).map(|n| grid.cell_centre(grid.cell_at(n)).x as f32 - 290.0).collect();
        let volume =
            Volume { name: "surface", values: Values::LevelSet { distance: &distance, band: 3.0 }, threshold: 0.0 };
        let mut out = Cursor::new(Vec::new());
        write(&mut out, &header(grid), &[volume]).unwrap();
        let back = read(&out.into_inner()).unwrap().take_float("surface").unwrap();
        assert!(back.iter().zip(&distance).all(|(b, d)| *b == d.clamp(-3.0, 3.0)));
    }

    #[test]
    fn bytes_do_not_depend_on_the_number_of_threads() {
        let grid = Grid::new([64, 40, 33], 0.05, DVec3::ZERO);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| written(grid).0)
        };
        assert_eq!(on(1), on(2));
    }

    #[test]
    fn corrupt_files_are_errors_never_panics() {
        let (bytes, ..) = written(Grid::new([19, 12, 9], 0.05, DVec3::ZERO));
        for end in (0..bytes.len()).step_by(7) {
            assert!(read(&bytes[..end]).is_err(), "truncated to {end}");
        }
        // A flipped byte may hit a voxel's value or a padding; it must never panic or hang.
        for at in (0..bytes.len()).step_by(5) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x91;
            let _ = read(&broken);
        }
    }
}

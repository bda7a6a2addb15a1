//! The reader of our own files, for drawing saved frames again.

use super::*;
use flate2::read::ZlibDecoder;
use glam::DVec3;
use std::io::Read;

/// Largest grid the reader makes room for, cells.
const MAX_CELLS: usize = 1 << 31;

/// Why a volume file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VdbError {
    /// It ends too early or a length in it is wrong.
    #[error("the file is damaged: {what} at byte {offset}")]
    Damaged {
        /// What was being read.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// A valid OpenVDB file that Bathtub did not write.
    #[error("the file holds {found}, but only volumes written by Bathtub can be read ({expected})")]
    Foreign {
        /// What there is.
        found: String,
        /// What there should be.
        expected: &'static str,
    },
}

/// Read a file written by [`write()`](fn@super::write).
pub fn read(bytes: &[u8]) -> Result<VdbFile, VdbError> {
    let mut at = Cursor { bytes, offset: 0 };
    if at.u64("magic")? != MAGIC {
        return Err(VdbError::Foreign {
            found: "something else than OpenVDB".into(),
            expected: "OpenVDB magic number",
        });
    }
    let version = at.u32("version")?;
    if version != FILE_VERSION {
        return Err(VdbError::Foreign { found: format!("file version {version}"), expected: "version 224" });
    }
    at.take(8 + 1 + 36, "library version and identifier")?;
    let meta = at.metadata()?;
    let count = at.u32("number of grids")?;

    let dims = meta_value::<12>(&meta, "bathtub_dims", "vec3i")?;
    let dims = [0, 4, 8].map(|o| i32::from_le_bytes(dims[o..o + 4].try_into().expect("four bytes")));
    let cells = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?)).unwrap_or(0);
    if cells == 0 || cells > MAX_CELLS {
        return Err(at.damaged("grid dimensions"));
    }
    let dims = dims.map(|d| d as usize);
    let scene_hash = meta_bytes(&meta, "bathtub_scene_hash", "string")?;
    let mut header = Header {
        grid: Grid { dims, dx: 1.0, origin: DVec3::ZERO },
        time: f64::from_le_bytes(meta_value(&meta, "bathtub_time", "double")?),
        frame: u64::from_le_bytes(meta_value(&meta, "bathtub_frame", "int64")?),
        scene_hash: String::from_utf8_lossy(scene_hash).into_owned(),
    };

    let mut volumes = Vec::new();
    for _ in 0..count {
        let name = at.string("grid name")?;
        let tree = at.string("grid type")?;
        at.string("instance parent")?;
        at.take(24, "grid offsets")?;
        let compression = at.u32("compression")?;
        if compression != COMPRESSION {
            let found = format!("compression {compression}");
            return Err(VdbError::Foreign { found, expected: "zip with active masks" });
        }
        at.metadata()?;
        let (dx, origin) = at.transform()?;
        header.grid = Grid { dims, dx, origin };
        let values = if tree == tree_type::<f32>() {
            OwnedValues::Float(at.tree(dims)?)
        } else if tree == tree_type::<[f32; 3]>() {
            OwnedValues::Vec3(at.tree(dims)?)
        } else {
            return Err(VdbError::Foreign { found: format!("a grid of type {tree:?}"), expected: "float or vec3s" });
        };
        volumes.push((name, values));
    }
    Ok(VdbFile { header, volumes })
}

/// Name, type and bytes of each entry.
type Metadata<'a> = Vec<(String, String, &'a [u8])>;

fn meta_bytes<'a>(meta: &Metadata<'a>, name: &'static str, kind: &str) -> Result<&'a [u8], VdbError> {
    let found = meta.iter().find(|(n, k, _)| n == name && k == kind);
    let missing = || VdbError::Foreign { found: "no Bathtub metadata".into(), expected: name };
    found.map(|(_, _, bytes)| *bytes).ok_or_else(missing)
}

fn meta_value<const N: usize>(meta: &Metadata, name: &'static str, kind: &str) -> Result<[u8; N], VdbError> {
    let wrong = |_| VdbError::Damaged { what: name, offset: 0 };
    meta_bytes(meta, name, kind)?.try_into().map_err(wrong)
}

/// The shape of a tree: its background, its leaves in the order of the file, and where it is minus the background between them.
struct Topology<'a, T> {
    background: T,
    /// Lowest voxel and active mask.
    leaves: Vec<([usize; 3], &'a [u8])>,
    /// Lowest voxel and edge of each cube.
    minus: Vec<([usize; 3], usize)>,
}

/// A place in the file; every step checks that the bytes are there.
struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn damaged(&self, what: &'static str) -> VdbError {
        VdbError::Damaged { what, offset: self.offset }
    }

    fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], VdbError> {
        let taken = self.bytes[self.offset..].get(..len).ok_or_else(|| self.damaged(what))?;
        self.offset += len;
        Ok(taken)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, VdbError> {
        Ok(self.take(1, what)?[0])
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, VdbError> {
        Ok(u32::from_le_bytes(self.take(4, what)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, VdbError> {
        Ok(u64::from_le_bytes(self.take(8, what)?.try_into().expect("eight bytes")))
    }

    fn f64(&mut self, what: &'static str) -> Result<f64, VdbError> {
        Ok(f64::from_bits(self.u64(what)?))
    }

    fn string(&mut self, what: &'static str) -> Result<String, VdbError> {
        let len = self.u32(what)? as usize;
        Ok(String::from_utf8_lossy(self.take(len, what)?).into_owned())
    }

    fn metadata(&mut self) -> Result<Metadata<'a>, VdbError> {
        let count = self.u32("number of metadata entries")?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let name = self.string("metadata name")?;
            let kind = self.string("metadata type")?;
            let len = self.u32("metadata length")? as usize;
            entries.push((name, kind, self.take(len, "metadata value")?));
        }
        Ok(entries)
    }

    /// Cell size and lowest corner, m.
    fn transform(&mut self) -> Result<(f64, DVec3), VdbError> {
        let kind = self.string("transform")?;
        if kind != TRANSFORM {
            return Err(VdbError::Foreign { found: format!("transform {kind:?}"), expected: TRANSFORM });
        }
        let mut numbers = [0.0; 18];
        for number in &mut numbers {
            *number = self.f64("transform")?;
        }
        let dx = numbers[3];
        let centre = DVec3::new(numbers[0], numbers[1], numbers[2]);
        if !(dx > 0.0 && dx.is_finite() && centre.is_finite()) {
            return Err(self.damaged("transform"));
        }
        // Undo the half cell exactly where the writer's sum was exact, to within rounding elsewhere.
        Ok((dx, centre - 0.5 * dx))
    }

    /// The whole tree of one grid, spread over the cells.
    fn tree<T: Voxel>(&mut self, dims: [usize; 3]) -> Result<Vec<T>, VdbError> {
        let Topology { background, leaves, minus } = self.topology::<T>()?;
        let mut values = vec![background; dims.iter().product()];
        for (low, edge) in minus {
            let end: [usize; 3] = std::array::from_fn(|a| (low[a] + edge).min(dims[a]));
            for k in low[2]..end[2] {
                for j in low[1]..end[1] {
                    let row = dims[0] * (j + dims[1] * k);
                    values[row + low[0].min(end[0])..row + end[0]].fill(background.negated());
                }
            }
        }
        for (origin, mask) in leaves {
            if self.take(8 * LEAF, "leaf mask")? != mask {
                return Err(self.damaged("leaf mask differs from the tree's"));
            }
            self.leaf(origin, mask, dims, background, &mut values)?;
        }
        Ok(values)
    }

    /// Every node of the tree, in the order of the file.
    fn topology<T: Voxel>(&mut self) -> Result<Topology<'a, T>, VdbError> {
        if self.u32("buffer count")? != 1 {
            return Err(self.damaged("buffer count"));
        }
        let background = T::get(self.take(T::SIZE, "background")?);
        if self.u32("tiles of the root")? != 0 {
            return Err(self.damaged("tiles of the root"));
        }
        let (mut leaves, mut minus) = (Vec::new(), Vec::new());
        for _ in 0..self.u32("children of the root")? {
            let mut root = [0; 3];
            for coordinate in &mut root {
                *coordinate = self.u32("origin of a node")? as usize;
            }
            let upper = self.node(UPPER_LOG2)?;
            let edge = LEAF << LOWER_LOG2;
            let place = |low: [usize; 3], at: [usize; 3], edge: usize| std::array::from_fn(|a| low[a] + at[a] * edge);
            minus.extend(upper.minus.iter().map(|&at| (place(root, at, edge), edge)));
            for lower in upper.children {
                let low: [usize; 3] = place(root, lower, edge);
                let lower = self.node(LOWER_LOG2)?;
                minus.extend(lower.minus.iter().map(|&at| (place(low, at, LEAF), LEAF)));
                for leaf in lower.children {
                    leaves.push((place(low, leaf, LEAF), self.take(8 * LEAF, "leaf mask")?));
                }
            }
        }
        Ok(Topology { background, leaves, minus })
    }

    /// Coordinates of the children of an internal node, and of its tiles that are minus the background.
    fn node(&mut self, log2: usize) -> Result<Node, VdbError> {
        let bytes = (1 << (3 * log2)) / 8;
        let children = self.take(bytes, "child mask")?;
        let tiles = self.take(bytes, "tile mask")?;
        let plus = self.plus_mask(bytes, "node marker")?;
        if tiles.iter().any(|&b| b != 0) || self.u64("tiles")? != 0 {
            return Err(self.damaged("tiles of a node"));
        }
        let edge = (1 << log2) - 1;
        let at = |n: usize| [n >> (2 * log2), n >> log2 & edge, n & edge];
        let minus: Vec<u8> = plus.iter().zip(children).map(|(p, c)| !(p | c)).collect();
        Ok(Node { children: set_bits(children).map(at).collect(), minus: set_bits(&minus).map(at).collect() })
    }

    /// Where the inactive values of a node are the background (ones) and where minus the background (zeros).
    fn plus_mask(&mut self, bytes: usize, what: &'static str) -> Result<Vec<u8>, VdbError> {
        match self.u8(what)? {
            ACTIVE_VALUES_ONLY => Ok(vec![0xff; bytes]),
            ACTIVE_BESIDE_MINUS => Ok(vec![0; bytes]),
            ACTIVE_AND_MASK => Ok(self.take(bytes, what)?.to_vec()),
            _ => Err(self.damaged(what)),
        }
    }

    /// Unpack the active voxels of a leaf into the cells.
    fn leaf<T: Voxel>(
        &mut self,
        origin: [usize; 3],
        mask: &[u8],
        dims: [usize; 3],
        background: T,
        values: &mut [T],
    ) -> Result<(), VdbError> {
        let plus = self.plus_mask(8 * LEAF, "leaf marker")?;
        let size = mask.iter().map(|b| b.count_ones() as usize).sum::<usize>() * T::SIZE;
        let stored = self.u64("leaf length")? as i64;
        let mut raw = Vec::with_capacity(size);
        if stored <= 0 {
            raw.extend_from_slice(self.take(stored.unsigned_abs() as usize, "leaf values")?);
        } else {
            // Reading one byte beyond the expected size tells a stream that is too long.
            let zipped = self.take(stored as usize, "leaf values")?;
            let unzipped = ZlibDecoder::new(zipped).take(size as u64 + 1).read_to_end(&mut raw);
            unzipped.map_err(|_| self.damaged("zip stream of a leaf"))?;
        }
        if raw.len() != size {
            return Err(self.damaged("size of a leaf"));
        }
        let cell = |bit: usize| {
            let local = [bit / (LEAF * LEAF), bit / LEAF % LEAF, bit % LEAF];
            let [i, j, k]: [usize; 3] = std::array::from_fn(|a| origin[a] + local[a]);
            (i < dims[0] && j < dims[1] && k < dims[2]).then_some(i + dims[0] * (j + dims[1] * k))
        };
        let minus: Vec<u8> = plus.iter().zip(mask).map(|(p, m)| !(p | m)).collect();
        for index in set_bits(&minus).filter_map(cell) {
            values[index] = background.negated();
        }
        for (bit, bytes) in set_bits(mask).zip(raw.chunks_exact(T::SIZE)) {
            let index = cell(bit).ok_or_else(|| self.damaged("voxel outside the grid"))?;
            values[index] = T::get(bytes);
        }
        Ok(())
    }
}

/// Children and tiles of an internal node.
struct Node {
    children: Vec<[usize; 3]>,
    minus: Vec<[usize; 3]>,
}

/// Positions of the ones in a mask.
fn set_bits(mask: &[u8]) -> impl Iterator<Item = usize> + '_ {
    mask.iter()
        .enumerate()
        .flat_map(|(at, &byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |b| 8 * at + b))
}

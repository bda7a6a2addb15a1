//! The writer: find the active voxels, write the tree's shape, then its leaves.

use super::*;
use flate2::{Compress, Compression, FlushCompress, Status};
use rayon::prelude::*;
use std::io::{self, Seek, SeekFrom, Write};

/// Leaves compressed at a time: bounds the memory held besides the grid itself.
const BATCH: usize = 2048;
/// A 4 KiB window covers a whole leaf of floats, and starts faster than a larger one.
const WINDOW_BITS: u8 = 12;

/// Write all volumes as one file. Every slice must have one value per cell of the header's grid.
pub fn write(out: &mut (impl Write + Seek), header: &Header, volumes: &[Volume]) -> io::Result<()> {
    let mut head = Vec::new();
    put_u64(&mut head, MAGIC);
    put_u32(&mut head, FILE_VERSION);
    LIBRARY_VERSION.iter().for_each(|&v| put_u32(&mut head, v));
    head.push(1); // The descriptors below carry file offsets.
    head.extend_from_slice(identifier(header).as_bytes());
    put_metadata(&mut head, &file_metadata(header));
    put_u32(&mut head, volumes.len() as u32);
    out.write_all(&head)?;
    for volume in volumes {
        match volume.values {
            Values::Float(values) => {
                let active = |v: &f32| v.magnitude() > volume.threshold;
                write_grid(
                    out,
                    header,
                    volume.name,
                    &Content { values, background: 0.0, class: "fog volume" },
                    active,
                )?;
            }
            Values::Vec3(values) => {
                let active = |v: &[f32; 3]| v.magnitude() > volume.threshold;
                write_grid(
                    out,
                    header,
                    volume.name,
                    &Content { values, background: [0.0; 3], class: "unknown" },
                    active,
                )?;
            }
            Values::LevelSet { distance, band } => {
                let content = Content { values: distance, background: band, class: "level set" };
                write_grid(out, header, volume.name, &content, |d| d.abs() < band)?;
            }
        }
    }
    Ok(())
}

/// The voxels of one grid. Where they are inactive they are the background, or minus the background if negative.
struct Content<'a, T> {
    values: &'a [T],
    background: T,
    class: &'static str,
}

impl<T: Voxel> Content<'_, T> {
    /// Whether an inactive voxel is minus the background, so that there is a difference.
    fn is_minus(&self, index: usize) -> bool {
        self.background.is_positive() && !self.values[index].is_positive()
    }
}

/// Write one grid: its descriptor, metadata, transform, tree and voxels; then put the offsets into the descriptor.
fn write_grid<T: Voxel>(
    out: &mut (impl Write + Seek),
    header: &Header,
    name: &str,
    content: &Content<T>,
    active: impl Fn(&T) -> bool + Sync,
) -> io::Result<()> {
    let grid = &header.grid;
    assert_eq!(content.values.len(), grid.cells(), "volume {name} must have one value per cell");
    let leaves = active_leaves(grid.dims, content.values, active);

    // The descriptor: names, and where the parts of the grid start, filled in at the end.
    let mut head = Vec::new();
    put_string(&mut head, name);
    put_string(&mut head, &tree_type::<T>());
    put_string(&mut head, "");
    out.write_all(&head)?;
    let offsets_at = out.stream_position()?;
    out.write_all(&[0; 24])?;

    let grid_at = out.stream_position()?;
    let mut body = Vec::new();
    put_u32(&mut body, COMPRESSION);
    put_metadata(&mut body, &grid_metadata::<T>(name, content.class, &leaves));
    put_transform(&mut body, grid);
    put_topology(&mut body, &leaves, grid.dims, content);
    out.write_all(&body)?;

    let voxels_at = out.stream_position()?;
    for batch in leaves.chunks(BATCH) {
        let encoded: Vec<Vec<u8>> = batch
            .par_chunks(32)
            .map_init(
                || Compress::new_with_window_bits(Compression::fast(), true, WINDOW_BITS),
                |zip, few| few.iter().flat_map(|leaf| encode_leaf(zip, leaf, grid.dims, content)).collect(),
            )
            .collect();
        encoded.iter().try_for_each(|bytes| out.write_all(bytes))?;
    }

    let end_at = out.stream_position()?;
    out.seek(SeekFrom::Start(offsets_at))?;
    for offset in [grid_at, voxels_at, end_at] {
        out.write_all(&offset.to_le_bytes())?;
    }
    out.seek(SeekFrom::Start(end_at))?;
    Ok(())
}

/// A block of 8³ voxels with at least one active.
struct Leaf {
    /// Where it is, in leaves.
    block: [usize; 3],
    /// Bit 64 x + 8 y + z is set where the voxel at (x, y, z) in the leaf is active.
    mask: [u64; LEAF],
}

impl Leaf {
    /// Position in the file: by upper node, place of the lower node in it, place of the leaf in that.
    fn key(&self) -> [usize; 3] {
        let [upper, lower, leaf] = self.path();
        [upper[0] << 40 | upper[1] << 20 | upper[2], node_offset(lower, UPPER_LOG2), node_offset(leaf, LOWER_LOG2)]
    }

    /// Coordinates of the upper node, of the lower node within it, and of the leaf within that.
    fn path(&self) -> [[usize; 3]; 3] {
        let lower = self.block.map(|b| b >> LOWER_LOG2);
        [
            lower.map(|b| b >> UPPER_LOG2),
            lower.map(|b| b & ((1 << UPPER_LOG2) - 1)),
            self.block.map(|b| b & ((1 << LOWER_LOG2) - 1)),
        ]
    }

    /// Bits as in the mask: set where a voxel is active, beyond the grid, or not minus the background.
    fn plus<T: Voxel>(&self, dims: [usize; 3], content: &Content<T>) -> [u64; LEAF] {
        let [x0, y0, z0] = self.block.map(|b| b * LEAF);
        std::array::from_fn(|x| {
            let is_plus = |bit: usize| {
                let [i, j, k] = [x0 + x, y0 + bit / LEAF, z0 + bit % LEAF];
                let outside = i >= dims[0] || j >= dims[1] || k >= dims[2];
                outside || !content.is_minus(i + dims[0] * (j + dims[1] * k))
            };
            (0..64).fold(self.mask[x], |word, bit| word | u64::from(is_plus(bit)) << bit)
        })
    }

    /// Cell indices and place in the leaf of each active voxel, in the order of the file (z fastest).
    fn active(&self) -> impl Iterator<Item = [usize; 3]> + '_ {
        let [x0, y0, z0] = self.block.map(|b| b * LEAF);
        self.mask.iter().enumerate().flat_map(move |(x, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                Some([x0 + x, y0 + bit / LEAF, z0 + bit % LEAF])
            })
        })
    }
}

/// Offset of a child in a node of edge 2^log2, x slowest.
fn node_offset([x, y, z]: [usize; 3], log2: usize) -> usize {
    (x << log2 | y) << log2 | z
}

/// All leaves with an active voxel, in the order of the file.
fn active_leaves<T: Voxel>(dims: [usize; 3], values: &[T], active: impl Fn(&T) -> bool + Sync) -> Vec<Leaf> {
    let blocks = dims.map(|n| n.div_ceil(LEAF));
    let rows: Vec<Vec<Leaf>> = (0..blocks[1] * blocks[2])
        .into_par_iter()
        .map(|row| {
            let (by, bz) = (row % blocks[1], row / blocks[1]);
            let mut row: Vec<Leaf> = (0..blocks[0]).map(|bx| Leaf { block: [bx, by, bz], mask: [0; LEAF] }).collect();
            for k in bz * LEAF..((bz + 1) * LEAF).min(dims[2]) {
                for j in by * LEAF..((by + 1) * LEAF).min(dims[1]) {
                    let line = &values[dims[0] * (j + dims[1] * k)..][..dims[0]];
                    let bit = (j % LEAF) * LEAF + k % LEAF;
                    for (i, value) in line.iter().enumerate() {
                        row[i / LEAF].mask[i % LEAF] |= u64::from(active(value)) << bit;
                    }
                }
            }
            row.retain(|leaf| leaf.mask != [0; LEAF]);
            row
        })
        .collect();
    let mut leaves: Vec<Leaf> = rows.into_iter().flatten().collect();
    leaves.sort_unstable_by_key(Leaf::key);
    leaves
}

/// The root and its nodes. No node has active tiles; what lies between the leaves is the background or minus it.
fn put_topology<T: Voxel>(out: &mut Vec<u8>, leaves: &[Leaf], dims: [usize; 3], content: &Content<T>) {
    put_u32(out, 1); // buffers per leaf
    content.background.put(out);
    // All voxels between the leaves of a surface are on the same side as their block's first.
    let is_minus = |block: [usize; 3]| {
        let [i, j, k] = block.map(|b| b * LEAF);
        i < dims[0] && j < dims[1] && k < dims[2] && content.is_minus(i + dims[0] * (j + dims[1] * k))
    };
    let uppers: Vec<&[Leaf]> = leaves.chunk_by(|a, b| a.path()[0] == b.path()[0]).collect();
    put_u32(out, 0); // tiles
    put_u32(out, uppers.len() as u32);
    for upper in uppers {
        let root = upper[0].path()[0].map(|c| c << UPPER_LOG2);
        for coordinate in root {
            put_u32(out, ((coordinate << LOWER_LOG2) * LEAF) as u32);
        }
        let lowers: Vec<&[Leaf]> = upper.chunk_by(|a, b| a.path()[1] == b.path()[1]).collect();
        let in_upper = |at: [usize; 3]| std::array::from_fn(|a| (root[a] + at[a]) << LOWER_LOG2);
        put_node(out, UPPER_LOG2, lowers.iter().map(|lower| lower[0].path()[1]), |at| is_minus(in_upper(at)));
        for lower in lowers {
            let first = in_upper(lower[0].path()[1]);
            let in_lower = |at: [usize; 3]| std::array::from_fn(|a| first[a] + at[a]);
            put_node(out, LOWER_LOG2, lower.iter().map(|leaf| leaf.path()[2]), |at| is_minus(in_lower(at)));
            for leaf in lower {
                leaf.mask.iter().for_each(|&word| put_u64(out, word));
            }
        }
    }
}

/// Masks and (no) values of an internal node that has these children; other places are inactive tiles.
fn put_node(
    out: &mut Vec<u8>,
    log2: usize,
    children: impl Iterator<Item = [usize; 3]>,
    is_minus: impl Fn([usize; 3]) -> bool,
) {
    let mut mask = vec![0u8; (1 << (3 * log2)) / 8];
    for child in children {
        let offset = node_offset(child, log2);
        mask[offset / 8] |= 1 << (offset % 8);
    }
    out.extend_from_slice(&mask);
    let mut plus = mask; // places of children do not matter
    out.resize(out.len() + plus.len(), 0); // no active tiles
    let edge = (1 << log2) - 1;
    for offset in 0..8 * plus.len() {
        let minus = is_minus([offset >> (2 * log2), offset >> log2 & edge, offset & edge]);
        plus[offset / 8] |= u8::from(!minus) << (offset % 8);
    }
    let any_minus = plus.iter().any(|&byte| byte != 0xff);
    out.push(if any_minus { ACTIVE_AND_MASK } else { ACTIVE_VALUES_ONLY });
    if any_minus {
        out.extend_from_slice(&plus);
    }
    put_u64(out, 0); // bytes of values
}

/// A leaf as it stands in the voxel part of the file.
fn encode_leaf<T: Voxel>(zip: &mut Compress, leaf: &Leaf, dims: [usize; 3], content: &Content<T>) -> Vec<u8> {
    let mut raw = Vec::with_capacity(LEAF_VOXELS * T::SIZE);
    for [i, j, k] in leaf.active() {
        content.values[i + dims[0] * (j + dims[1] * k)].put(&mut raw);
    }
    let mut out = Vec::with_capacity(8 * LEAF + 9 + raw.len());
    leaf.mask.iter().for_each(|&word| put_u64(&mut out, word));
    let plus = leaf.plus(dims, content);
    match (plus.iter().all(|&word| word == u64::MAX), std::array::from_fn(|x| plus[x] & !leaf.mask[x]) == [0; LEAF]) {
        (true, _) => out.push(ACTIVE_VALUES_ONLY),
        (false, true) => out.push(ACTIVE_BESIDE_MINUS),
        (false, false) => {
            out.push(ACTIVE_AND_MASK);
            plus.iter().for_each(|&word| put_u64(&mut out, word));
        }
    }

    // A stream that would not be smaller is stored raw, its length negated.
    let mut zipped = Vec::with_capacity(raw.len());
    zip.reset();
    let status = zip.compress_vec(&raw, &mut zipped, FlushCompress::Finish).expect("deflate cannot fail on memory");
    if status == Status::StreamEnd && zipped.len() < raw.len() {
        put_u64(&mut out, zipped.len() as u64);
        out.extend_from_slice(&zipped);
    } else {
        put_u64(&mut out, (raw.len() as i64).wrapping_neg() as u64);
        out.extend_from_slice(&raw);
    }
    out
}

/// A piece of metadata, by its OpenVDB type.
enum Meta {
    Text(String),
    Double(f64),
    Int64(i64),
    Vec3i([i32; 3]),
}

fn file_metadata(header: &Header) -> Vec<(&'static str, Meta)> {
    vec![
        ("bathtub_dims", Meta::Vec3i(header.grid.dims.map(|n| n as i32))),
        ("bathtub_frame", Meta::Int64(header.frame as i64)),
        ("bathtub_scene_hash", Meta::Text(header.scene_hash.clone())),
        ("bathtub_time", Meta::Double(header.time)),
        ("creator", Meta::Text(concat!("Bathtub ", env!("CARGO_PKG_VERSION")).into())),
    ]
}

fn grid_metadata<T: Voxel>(name: &str, class: &str, leaves: &[Leaf]) -> Vec<(&'static str, Meta)> {
    let mut meta = vec![
        ("class", Meta::Text(class.into())),
        ("file_compression", Meta::Text("zip + active values".into())),
        ("name", Meta::Text(name.into())),
    ];
    // Velocity vectors turn and scale with the volume when it is moved.
    if T::SIZE > 4 {
        meta.push(("vector_type", Meta::Text("contravariant relative".into())));
    }
    let mut bounds: Option<[[i32; 3]; 2]> = None;
    let mut count = 0;
    for at in leaves.iter().flat_map(Leaf::active) {
        let at = at.map(|c| c as i32);
        let [low, high] = bounds.get_or_insert([at, at]);
        for axis in 0..3 {
            low[axis] = low[axis].min(at[axis]);
            high[axis] = high[axis].max(at[axis]);
        }
        count += 1;
    }
    if let Some([low, high]) = bounds {
        meta.push(("file_bbox_min", Meta::Vec3i(low)));
        meta.push(("file_bbox_max", Meta::Vec3i(high)));
    }
    meta.push(("file_voxel_count", Meta::Int64(count)));
    meta
}

/// A stable identifier in the form that the format wants; equal headers give equal ones.
fn identifier(header: &Header) -> String {
    let hash = blake3::hash(format!("{header:?}").as_bytes()).to_hex();
    let h = hash.as_str();
    format!("{}-{}-8{}-8{}-{}", &h[..8], &h[8..12], &h[12..15], &h[15..18], &h[18..30])
}

/// Index space → metres: x = dx i + (origin + dx/2), with the derived quantities that the map stores.
fn put_transform(out: &mut Vec<u8>, grid: &Grid) {
    put_string(out, TRANSFORM);
    let translation = grid.cell_centre([0, 0, 0]).to_array();
    let dx = grid.dx;
    for triple in [translation, [dx; 3], [dx; 3], [1.0 / dx; 3], [1.0 / (dx * dx); 3], [0.5 / dx; 3]] {
        triple.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
    }
}

fn put_metadata(out: &mut Vec<u8>, entries: &[(&str, Meta)]) {
    put_u32(out, entries.len() as u32);
    for (name, value) in entries {
        put_string(out, name);
        let (kind, bytes) = match value {
            Meta::Text(text) => ("string", text.as_bytes().to_vec()),
            Meta::Double(v) => ("double", v.to_le_bytes().to_vec()),
            Meta::Int64(v) => ("int64", v.to_le_bytes().to_vec()),
            Meta::Vec3i(v) => ("vec3i", v.iter().flat_map(|c| c.to_le_bytes()).collect()),
        };
        put_string(out, kind);
        put_u32(out, bytes.len() as u32);
        out.extend_from_slice(&bytes);
    }
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    put_u32(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

fn put_u32(out: &mut Vec<u8>, v: u32) {
    out.extend_from_slice(&v.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, v: u64) {
    out.extend_from_slice(&v.to_le_bytes());
}

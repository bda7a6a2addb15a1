//! Where liquid comes from and where it goes: the start, sources and drains.
//!
//! A full cell has one particle in each of its m×m×m parts, at a place that the seed chooses. Sources keep the parts
//! of their region filled, and either set its velocity (a jet) or push volume into it (a spring, which works under water as
//! well). Drains take out what enters them; as liquid is gone there, the pressure falls to that of the air, and more
//! flows in.

use super::particles::{Moved, Particles};
use super::surface::Surface;
use super::transfer::density;
use super::{KeepOut, WaterParams, Way};
use crate::fluid::Step;
use crate::fluid::boundary::Wall;
use crate::fluid::noise::mix;
use crate::geometry::{Pose, Shape, SignedDistance};
use crate::grid::{Axis, CellField, FaceField, Grid, Lattice, VelocityLattice, strides, unravel};
use glam::DVec3;
use rayon::prelude::*;

/// A body of liquid at the start.
#[derive(Clone, Debug)]
pub struct Liquid {
    /// Where.
    pub region: Region,
    /// m/s.
    pub velocity: DVec3,
}

/// A part of the domain.
#[derive(Clone, Debug)]
pub enum Region {
    /// Inside a shape.
    Shape(Shape, Pose),
    /// Below this y, m.
    Below(f64),
}

/// A region that liquid flows out of.
#[derive(Clone, Debug)]
pub struct WaterSource {
    /// Region, in its own frame.
    pub shape: Shape,
    /// Where the region is.
    pub pose: Pose,
    /// Active from this time, s.
    pub start: f64,
    /// Active until this time, s.
    pub end: f64,
    /// Velocity kept up inside, m/s, if any.
    pub velocity: Option<DVec3>,
    /// Volume pushed into the liquid around it, m³/s.
    pub rate: f64,
}

/// A region that liquid vanishes in.
#[derive(Clone, Debug)]
pub struct Drain {
    /// Region, in its own frame.
    pub shape: Shape,
    /// Where the region is.
    pub pose: Pose,
    /// Active from this time, s.
    pub start: f64,
    /// Active until this time, s.
    pub end: f64,
}

/// How much of its part of the cell a particle's place varies over: enough to break up the lattice, too little to make
/// waves on still water.
/// Lowered from 0.6, so that still water starts still (row B4).
const JITTER: f64 = 0.15;

/// The parts of cells, and what sources and drains reach.
pub struct Seeding {
    parts: CellParts,
    sources: Vec<Flowing>,
    /// Cells in sources, in order of their index; several times if several sources reach them.
    reached: Vec<ReachedParts>,
    /// A number for every cell in a source, [`NONE`] for the others; empty without sources.
    slots: Vec<u32>,
    /// How many numbers there are.
    slot_count: usize,
    drains: Vec<(Drain, SignedDistance)>,
    /// Whether a cell may have a part of a drain; empty without drains.
    drained: Vec<bool>,
}

/// When and how a source flows.
struct Flowing {
    start: f64,
    end: f64,
    velocity: Option<DVec3>,
    /// Volume let in, m³/s; of a jet, whatever it takes to keep it filled.
    rate: f64,
    /// Volume pushed into a cell that lies in the source entirely, in units of dx², m/s.
    push: f64,
    /// Tells how far a point is inside; not known of a side of the domain.
    region: Option<(SignedDistance, Pose)>,
}

struct ReachedParts {
    cell: u32,
    source: u32,
    /// One bit for every part that lies in the source.
    parts: u64,
}

const NONE: u32 = u32::MAX;

/// Most parts that a cell can have.
/// The bits of [`ReachedParts::parts`].
const MOST_PARTS: usize = 64;

/// Particles that a source puts into one part in one step, at most.
/// A choice: more would crowd it.
const MOST_ROUNDS: u64 = 4;

/// A part of a cell that a source may put a particle into, in the order in which it does.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SeedPlace {
    /// Particles there.
    present: u8,
    /// How far along the jet.
    downstream: i64,
    shuffled: u64,
    cell: usize,
    part: usize,
}

/// The parts that a cell is divided into, and the places of particles in them.
#[derive(Clone, Copy)]
struct CellParts {
    /// Along each axis.
    counts: [usize; 3],
    seed: u64,
}

impl CellParts {
    fn new(params: &WaterParams, grid: &Grid) -> Self {
        let m = params.particles_per_axis;
        assert!((1..=4).contains(&m), "a cell has 1 to 4 particles along each axis");
        Self { counts: params.parts(grid), seed: params.seed }
    }

    fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// Where a particle in a part of a cell is, m; another `salt` gives another place in the same part.
    fn place(&self, grid: &Grid, cell: usize, part: usize, salt: u64) -> DVec3 {
        let mut key = mix(mix(self.seed ^ mix(salt)) ^ (cell * self.len() + part) as u64);
        let shift = |a: usize| {
            let unit = (key >> 11) as f64 / (1u64 << 53) as f64;
            key = mix(key);
            // A flat axis has its particles in the middle.
            if self.counts[a] > 1 { JITTER * (unit - 0.5) / self.counts[a] as f64 } else { 0.0 }
        };
        self.centre(grid, cell, part) + grid.dx * DVec3::from([0, 1, 2].map(shift))
    }

    /// The centre of a part, m.
    fn centre(&self, grid: &Grid, cell: usize, part: usize) -> DVec3 {
        let counts = DVec3::from(self.counts.map(|n| n as f64));
        grid.origin + grid.dx * (DVec3::from(self.indices(grid, cell, part).map(|i| i as f64)) + 0.5) / counts
    }

    /// The indices of a part in the grid of all parts.
    fn indices(&self, grid: &Grid, cell: usize, part: usize) -> [usize; 3] {
        let (at, within) = (grid.cell_at(cell), unravel(self.counts, part));
        [0, 1, 2].map(|a| at[a] * self.counts[a] + within[a])
    }

    /// A number in (0, 1) for every part, spread evenly over neighbouring parts: the lattice of the plastic ratio's
    /// kin (Roberts' R₃ sequence).
    fn dither(&self, grid: &Grid, cell: usize, part: usize) -> f64 {
        let steps = [0.819_172_513_396_164_4, 0.671_043_606_703_789_3, 0.549_700_477_901_970_3];
        let sum: f64 = self.indices(grid, cell, part).into_iter().zip(steps).map(|(i, step)| i as f64 * step).sum();
        (sum + 0.5).fract()
    }

    /// The part of its cell that a point of index space lies in.
    fn part_around(&self, p: DVec3) -> usize {
        let part = |a: usize| ((p[a] - p[a].floor()) * self.counts[a] as f64) as usize;
        part(0) + self.counts[0] * (part(1) + self.counts[1] * part(2))
    }
}

/// A region that can be asked whether a point lies in it.
enum Inside {
    Shape(SignedDistance, Pose),
    Below(f64),
}

impl Inside {
    /// Distance from the region, m; negative inside.
    fn distance(&self, x: DVec3) -> f64 {
        match self {
            Self::Shape(distance, pose) => distance.at(pose.invert(x)),
            Self::Below(level) => x.y - level,
        }
    }
}

/// The liquid at the start.
pub struct Start {
    /// Density at the cell centres if every part of a cell held just what it should.
    pub wanted: CellField,
    /// As many particles as that makes.
    pub seeds: Vec<Moved>,
}

/// What a part of a cell holds at the start.
struct Held {
    cell: u32,
    centre: DVec3,
    /// Of a particle.
    share: f64,
    seed: Option<Moved>,
}

impl Seeding {
    /// Find what sources and drains reach; sides with an inflow are sources one cell thick.
    pub fn new(params: &WaterParams, grid: &Grid, walls: &[[Wall; 2]; 3]) -> Self {
        let parts = CellParts::new(params, grid);
        let (mut sources, mut reached) = (Vec::new(), Vec::new());
        for source in &params.sources {
            let distance = SignedDistance::new(&source.shape);
            let inside = |x: DVec3| distance.at(source.pose.invert(x)) < 0.0;
            let found = reach(grid, &parts, sources.len() as u32, |cell, part| inside(parts.centre(grid, cell, part)));
            let filled: u32 = found.iter().map(|r: &ReachedParts| r.parts.count_ones()).sum();
            let cells = f64::from(filled) / parts.len() as f64;
            let push = if filled > 0 { source.rate / (cells * grid.dx * grid.dx) } else { 0.0 };
            let WaterSource { start, end, velocity, rate, .. } = *source;
            reached.extend(found);
            sources.push(Flowing { start, end, velocity, rate, push, region: Some((distance, source.pose)) });
        }
        for axis in Axis::ALL {
            let a = axis.index();
            for (side, layer) in [(0, 0), (1, grid.dims[a] - 1)] {
                let Wall::Inflow { velocity, .. } = walls[a][side] else { continue };
                let enters = if side == 0 { velocity[a] > 0.0 } else { velocity[a] < 0.0 };
                // What leaves reaches no cell, but is as fast as it is.
                let velocity = if enters { velocity } else { velocity[a] * axis.unit() };
                let found =
                    reach(grid, &parts, sources.len() as u32, |cell, _| enters && grid.cell_at(cell)[a] == layer);
                reached.extend(found);
                sources.push(Flowing {
                    start: 0.0,
                    end: f64::INFINITY,
                    velocity: Some(velocity),
                    rate: 0.0,
                    push: 0.0,
                    region: None,
                });
            }
        }
        reached.sort_by_key(|r| (r.cell, r.source));
        let mut slots = if reached.is_empty() { Vec::new() } else { vec![NONE; grid.cells()] };
        let mut slot_count = 0;
        for r in reached.iter() {
            let slot = &mut slots[r.cell as usize];
            if *slot == NONE {
                *slot = slot_count as u32;
                slot_count += 1;
            }
        }

        let drains: Vec<(Drain, SignedDistance)> =
            params.drains.iter().map(|drain| (drain.clone(), SignedDistance::new(&drain.shape))).collect();
        let touches = |cell: usize| {
            let centre = grid.cell_centre(grid.cell_at(cell));
            drains.iter().any(|(drain, distance)| distance.at(drain.pose.invert(centre)) < grid.dx)
        };
        let drained = match drains.is_empty() {
            true => Vec::new(),
            false => (0..grid.cells()).into_par_iter().map(touches).collect(),
        };
        Self { parts, sources, reached, slots, slot_count, drains, drained }
    }

    /// The liquid at the start, outside of solids and air; where bodies of liquid overlap, the first one counts.
    pub fn initial(&self, params: &WaterParams, grid: &Grid, surface: &Surface, keep_out: &KeepOut) -> Start {
        let regions: Vec<(Inside, DVec3)> = params
            .initial
            .iter()
            .map(|liquid| match &liquid.region {
                Region::Shape(shape, pose) => (Inside::Shape(SignedDistance::new(shape), *pose), liquid.velocity),
                Region::Below(level) => (Inside::Below(*level), liquid.velocity),
            })
            .collect();
        let air: Vec<(SignedDistance, Pose)> =
            params.air.iter().map(|(shape, pose)| (SignedDistance::new(shape), *pose)).collect();
        let part_size = grid.dx / params.particles_per_axis as f64;
        let held_by = |cell: usize| {
            let centre = grid.cell_centre(grid.cell_at(cell));
            // No part of a cell is farther than this from its centre.
            let radius = 0.5 * 3f64.sqrt() * grid.dx;
            let close: Vec<&(Inside, DVec3)> =
                regions.iter().filter(|(inside, _)| inside.distance(centre) < radius).collect();
            let parts = if close.is_empty() { 0 } else { self.parts.len() };
            let air = &air;
            let held = move |part: usize| {
                let centre = self.parts.centre(grid, cell, part);
                let outside = |(air, pose): &(SignedDistance, Pose)| air.at(pose.invert(centre)) / part_size;
                let left = air.iter().map(|air| (0.5 + outside(air)).clamp(0.0, 1.0)).fold(1.0, f64::min);
                let open = surface.open_part(cell, part) * left;
                // Of the parts that a surface cuts, as many are filled as it leaves liquid, and evenly.
                let threshold = self.parts.dither(grid, cell, part);
                let (mut share, mut first) = (0.0, None);
                for (inside, velocity) in &close {
                    share += open * (0.5 - inside.distance(centre) / part_size).clamp(0.0, 1.0);
                    first = first.or((share > threshold).then_some(*velocity));
                }
                let seed = first.map(|velocity| {
                    // What solids cover of an open part stays empty, by moving out of it.
                    let place = self.parts.place(grid, cell, part, 0);
                    let is_open = surface.open_part(cell, part) >= 1.0;
                    let position = if is_open { place } else { keep_out(Way::OverStep, place, place) };
                    Moved { position, velocity }
                });
                (share > 0.0).then_some(Held { cell: cell as u32, centre, share: share.min(1.0), seed })
            };
            (0..parts).filter_map(held).collect::<Vec<_>>()
        };
        let held: Vec<Held> = (0..grid.cells()).into_par_iter().flat_map_iter(held_by).collect();
        let mut starts = vec![0; grid.cells() + 1];
        held.iter().for_each(|held| starts[held.cell as usize + 1] += 1);
        (0..grid.cells()).for_each(|c| starts[c + 1] += starts[c]);
        let centres: Vec<DVec3> = held.iter().map(|held| held.centre).collect();
        let mut wanted = CellField::new(grid, 0.0);
        density(grid, &centres, &starts, |n| held[n].share / self.parts.len() as f64, &mut wanted);
        Start { wanted, seeds: held.into_iter().filter_map(|held| held.seed).collect() }
    }

    /// Take out what is in a drain; how many particles left in this step, through drains or sides.
    pub fn drain(&self, step: &Step, moved: &mut [Moved]) -> u64 {
        let time = step.time + step.dt;
        let active: Vec<&(Drain, SignedDistance)> =
            self.drains.iter().filter(|(drain, _)| (drain.start..drain.end).contains(&time)).collect();
        let leaves = |m: &mut Moved| {
            if !active.is_empty() && m.position.is_finite() {
                let cell = step.grid.cell_around((m.position - step.grid.origin) / step.grid.dx);
                let is_in =
                    |(drain, distance): &&(Drain, SignedDistance)| distance.at(drain.pose.invert(m.position)) < 0.0;
                if self.drained[cell] && active.iter().any(is_in) {
                    m.position = DVec3::NAN;
                }
            }
            u64::from(!m.position.is_finite())
        };
        moved.par_iter_mut().map(leaves).sum()
    }

    /// New particles, into empty parts first: a jet makes up for what has left it, a spring lets in what its flow amounts
    /// to by the end of the step. `salt` must not repeat from step to step.
    pub fn emit(
        &self,
        step: &Step,
        keep_out: &KeepOut,
        velocity: &FaceField,
        moved: &[Moved],
        salt: u64,
    ) -> Vec<Moved> {
        let is_active = |s: &Flowing| (s.start..s.end).contains(&step.time);
        if self.reached.is_empty() || !self.sources.iter().any(is_active) {
            return Vec::new();
        }
        let grid = step.grid;
        let mut present = vec![[0u8; MOST_PARTS]; self.slot_count];
        for p in moved.iter().map(|m| (m.position - grid.origin) / grid.dx).filter(|p| p.is_finite()) {
            let slot = self.slots[grid.cell_around(p)];
            if slot != NONE {
                let count = &mut present[slot as usize][self.parts.part_around(p)];
                *count = count.saturating_add(1);
            }
        }
        let solids = step.boundary.distance.as_ref().map(Lattice::cells);
        let flow = VelocityLattice::new(velocity);
        let mut seeds = Vec::new();
        for (index, source) in self.sources.iter().enumerate().filter(|(_, source)| is_active(source)) {
            let places = self.places(grid, index, &present, salt);
            let mut due = if source.rate > 0.0 {
                let each = grid.dx.powi(3) / self.parts.len() as f64;
                let by = |time: f64| (source.rate * (time.min(source.end) - source.start) / each).floor();
                (by(step.time + step.dt) - by(step.time)) as i64
            } else {
                let lacking = places.iter().map(|place| 1 - i64::from(place.present)).sum::<i64>();
                lacking.min(self.swept(grid, source, &places, step.dt, salt))
            };
            for round in 1..=MOST_ROUNDS {
                for place in places.iter().take(due.max(0) as usize) {
                    let position = self.parts.place(grid, place.cell, place.part, salt + round);
                    if is_outside_solids(grid, &solids, keep_out, position) {
                        let velocity =
                            source.velocity.unwrap_or_else(|| flow.linear((position - grid.origin) / grid.dx));
                        seeds.push(Moved { position, velocity });
                        present[self.slots[place.cell] as usize][place.part] += 1;
                        due -= 1;
                    }
                }
            }
        }
        seeds
    }

    /// The parts of cells that a source fills, empty ones first, and upstream ones before others: there the liquid has left room.
    fn places(&self, grid: &Grid, source: usize, present: &[[u8; MOST_PARTS]], salt: u64) -> Vec<SeedPlace> {
        let along = self.sources[source].velocity.map_or(DVec3::ZERO, DVec3::normalize_or_zero) / grid.dx;
        let mut places: Vec<SeedPlace> = Vec::new();
        for r in self.reached.iter().filter(|r| r.source as usize == source) {
            let (cell, present) = (r.cell as usize, &present[self.slots[r.cell as usize] as usize]);
            places.extend((0..self.parts.len()).filter(|part| r.parts >> part & 1 == 1).map(|part| SeedPlace {
                present: present[part],
                downstream: (along.dot(self.parts.centre(grid, cell, part)) * 1e6).round() as i64,
                shuffled: mix((cell * self.parts.len() + part) as u64 ^ mix(salt)),
                cell,
                part,
            }));
        }
        places.sort_unstable();
        places
    }

    /// Parts of a jet that its own motion leaves empty in `dt`: those which the jet, moved along, no longer covers. A
    /// fraction of a part counts as one as often as it should.
    fn swept(&self, grid: &Grid, source: &Flowing, places: &[SeedPlace], dt: f64, salt: u64) -> i64 {
        let (Some((distance, pose)), Some(velocity)) = (&source.region, source.velocity) else { return i64::MAX };
        if velocity == DVec3::ZERO {
            return i64::MAX;
        }
        let part = grid.dx / self.parts.counts.into_iter().max().unwrap_or(1) as f64;
        let left = |place: &SeedPlace| {
            let from = self.parts.centre(grid, place.cell, place.part) - dt * velocity;
            (0.5 + distance.at(pose.invert(from)) / part).clamp(0.0, 1.0)
        };
        let swept: f64 = places.iter().map(left).sum();
        (swept + (mix(salt) >> 11) as f64 / (1u64 << 53) as f64) as i64
    }

    /// Particles from the bank for empty cells amid full ones.
    pub fn refill(&self, grid: &Grid, velocity: &FaceField, moved: &[Moved], bank: u64) -> Vec<Moved> {
        if bank == 0 {
            return Vec::new();
        }
        let full = self.parts.len() as u32;
        let mut counts = vec![0u32; grid.cells()];
        for p in moved.iter().map(|m| (m.position - grid.origin) / grid.dx).filter(|p| p.is_finite()) {
            counts[grid.cell_around(p)] += 1;
        }
        let flow = VelocityLattice::new(velocity);
        let is_hole = |&c: &usize| {
            let at = grid.cell_at(c);
            2 * counts[c] < full
                && Axis::ALL.into_iter().filter(|&axis| !grid.is_flat(axis)).all(|axis| {
                    let (a, stride) = (axis.index(), strides(grid.dims)[axis.index()]);
                    let below = at[a] == 0 || 2 * counts[c - stride] >= full;
                    below && (at[a] + 1 == grid.dims[a] || 2 * counts[c + stride] >= full)
                })
        };
        let seed = |c: usize| {
            (0..self.parts.len()).map(move |part| {
                let position = self.parts.place(grid, c, part, bank);
                Moved { position, velocity: flow.linear((position - grid.origin) / grid.dx) }
            })
        };
        (0..grid.cells()).filter(is_hole).flat_map(seed).take(bank as usize).collect()
    }

    /// Give the particles in jets the velocity that forces, which add `gain` (m/s), make that of the jet.
    pub fn set_velocity(&self, step: &Step, gain: DVec3, starts: &[u32], particles: &mut Particles) {
        let grid = step.grid;
        for (r, velocity) in self.jets(step).map(|(r, velocity)| (r, velocity - gain)) {
            for index in starts[r.cell as usize] as usize..starts[r.cell as usize + 1] as usize {
                let p = (particles.position[index] - grid.origin) / grid.dx;
                if r.parts >> self.parts.part_around(p) & 1 == 1 {
                    particles.velocity[index] = velocity;
                    if let Some(affine) = particles.affine.get_mut(index) {
                        *affine = [DVec3::ZERO; 3];
                    }
                }
            }
        }
    }

    /// The same for the faces of cells in jets.
    pub fn set_face_velocity(&self, step: &Step, gain: DVec3, velocity: &mut FaceField) {
        let jets = self.jets(step).map(|(r, jet)| (r, jet - gain));
        for (r, jet) in jets.filter(|(r, _)| r.parts.count_ones() as usize == self.parts.len()) {
            for axis in Axis::ALL.into_iter().filter(|&axis| !step.grid.is_flat(axis)) {
                let mut at = step.grid.cell_at(r.cell as usize);
                velocity[(axis, at)] = jet[axis.index()];
                at[axis.index()] += 1;
                velocity[(axis, at)] = jet[axis.index()];
            }
        }
    }

    /// The cells of active sources that set a velocity, and that velocity.
    fn jets<'a>(&'a self, step: &Step) -> impl Iterator<Item = (&'a ReachedParts, DVec3)> {
        let time = step.time;
        self.reached.iter().filter_map(move |r| {
            let source = &self.sources[r.source as usize];
            let active = (source.start..source.end).contains(&time);
            source.velocity.filter(|_| active).map(|velocity| (r, velocity))
        })
    }

    /// Volume that active springs push into cells, in units of dx², m/s, with the number of the source.
    pub fn pushed(&self, step: &Step) -> Vec<(usize, f64, usize)> {
        let pushed = |r: &ReachedParts| {
            let source = &self.sources[r.source as usize];
            let push = source.push * f64::from(r.parts.count_ones()) / self.parts.len() as f64;
            let active = (source.start..source.end).contains(&step.time) && push != 0.0;
            active.then_some((r.cell as usize, push, r.source as usize))
        };
        self.reached.iter().filter_map(pushed).collect()
    }

    /// Fastest velocity that a jet sets, m/s.
    pub fn speed(&self) -> f64 {
        self.sources.iter().filter_map(|s| s.velocity).map(|v| v.abs().max_element()).fold(0.0, f64::max)
    }
}

/// The cells with parts in a source, in order.
fn reach(
    grid: &Grid,
    parts: &CellParts,
    source: u32,
    inside: impl Fn(usize, usize) -> bool + Sync,
) -> Vec<ReachedParts> {
    let of_cell = |cell: usize| {
        let bits = (0..parts.len()).filter(|&part| inside(cell, part)).fold(0, |bits, part| bits | 1 << part);
        (bits != 0).then_some(ReachedParts { cell: cell as u32, source, parts: bits })
    };
    (0..grid.cells()).into_par_iter().filter_map(of_cell).collect()
}

/// Whether a particle may be put at `x`: not inside a solid.
fn is_outside_solids(grid: &Grid, solids: &Option<Lattice>, keep_out: &KeepOut, x: DVec3) -> bool {
    let near = |solids: &Lattice| solids.linear((x - grid.origin) / grid.dx) < 1.5;
    !solids.as_ref().is_some_and(near) || keep_out(Way::OverStep, x, x) == x
}

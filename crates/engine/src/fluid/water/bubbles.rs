//! Bubbles: pockets of air that keep their volume \[A18, §5; Goldade and Batty 2017\].
//!
//! Air has no mass and one pressure in each pocket of cells that are connected through open faces. A pocket at an open side of the
//! domain is the atmosphere, p = 0. Any other keeps its volume, ∫ u·n dA = 0 over its surface, which determines its
//! pressure: one more unknown of the projection each.
//!
//! A domain without open sides has no atmosphere. There the largest pocket is taken for it: as nothing else can
//! change its volume, it keeps its own all the same, and pressure is counted from its.
//!
//! The constraint keeps volume in a step, not for good: particles and the surface found among them drift. So every pocket knows how
//! much *air* is in it, hands it on when it splits or merges, and where the room that the liquid leaves differs, the
//! displacement that spreads crowded particles (`crowding`) pushes the surface out or lets it in. No velocity changes.
//!
//! Air does not come from nothing: a void that opens amid liquid holds none, and closes again as voids under p = 0 do.

use crate::fluid::boundary::{Boundary, Wall};
use crate::grid::{Axis, CellField, Grid, strides};
use serde::{Deserialize, Serialize};

/// Which pockets of air keep their volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bubbles {
    /// None: air is p = 0 everywhere.
    Off,
    /// All but the atmosphere, which in a domain without open sides is the largest pocket.
    On,
    /// All that do not reach an open side, the largest one of a closed domain included. The flow is the same as with `On`, as long
    /// as no liquid comes in or goes.
    Sealed,
}

/// A pocket of air that keeps its volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bubble {
    /// Its cells, ascending.
    pub cells: Vec<u32>,
    /// Air in it, m³: the volume that it should have.
    pub air: f64,
    /// Room that the liquid leaves it, m³.
    pub room: f64,
}

impl Bubble {
    /// How much it should grow in this step, in cells.
    pub fn lack(&self, grid: &Grid) -> f64 {
        let most = MOST_CHANGE * self.room;
        (PATIENCE * (self.air - self.room)).clamp(-most, most) / grid.dx.powi(3)
    }

    /// Mean of the centres of its cells, m.
    pub fn centre(&self, grid: &Grid) -> glam::DVec3 {
        let sum: glam::DVec3 = self.cells.iter().map(|&c| grid.cell_centre(grid.cell_at(c as usize))).sum();
        sum / self.cells.len() as f64
    }
}

/// Part of the missing room that is made up for in one step.
const PATIENCE: f64 = 0.25;

/// Most that a bubble changes in one step by that, as a part of its room.
const MOST_CHANGE: f64 = 0.05;

/// What a cell is: the number of its pocket, or one of these.
const LIQUID: u32 = u32::MAX;
const ATMOSPHERE: u32 = u32::MAX - 1;
/// Air that no pocket has been made of yet.
const AIR: u32 = u32::MAX - 2;

/// Finds bubbles; keeps its arrays from step to step.
#[derive(Default)]
pub(super) struct Finder {
    labels: Vec<u32>,
    queue: Vec<u32>,
}

impl Finder {
    /// The bubbles at the start: each holds the air that it has room for.
    pub fn first(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField, rule: Bubbles) -> Vec<Bubble> {
        let pockets = self.find(grid, boundary, distance, rule);
        let rooms = self.rooms(grid, boundary, distance, pockets.len());
        let bubble = |(cells, room): (Vec<u32>, f64)| Bubble { cells, air: room, room };
        pockets.into_iter().zip(rooms).map(bubble).collect()
    }

    /// The bubbles after a step: what was in the `old` ones goes on, air of the old atmosphere (`old_distance`) may
    /// have been trapped. Voids without air are none.
    pub fn next(
        &mut self,
        grid: &Grid,
        boundary: &Boundary,
        (old_distance, old): (&CellField, &[Bubble]),
        distance: &CellField,
        rule: Bubbles,
    ) -> Vec<Bubble> {
        let pockets = self.find(grid, boundary, distance, rule);
        let rooms = self.rooms(grid, boundary, distance, pockets.len());
        let mut air = self.hand_on(grid, old, pockets.len());
        let mut was_bubble: Vec<u32> = old.iter().flat_map(|bubble| bubble.cells.iter().copied()).collect();
        was_bubble.sort_unstable();
        for (cells, (air, room)) in pockets.iter().zip(air.iter_mut().zip(&rooms)) {
            let was_free = |c: &&u32| old_distance.data[**c as usize] >= 0.0 && was_bubble.binary_search(c).is_err();
            *air += room * cells.iter().filter(was_free).count() as f64 / cells.len() as f64;
        }
        let bubble = |(cells, (air, room)): (Vec<u32>, (f64, f64))| Bubble { cells, air, room };
        let all = pockets.into_iter().zip(air.into_iter().zip(rooms)).map(bubble);
        all.filter(|bubble| bubble.air > 0.0).collect()
    }

    /// Pockets that are not the atmosphere, in the order of their first cells; their cells ascending. Labels all cells.
    fn find(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField, rule: Bubbles) -> Vec<Vec<u32>> {
        self.labels.clear();
        let is_air = |(d, volume): (&f64, &f64)| *d >= 0.0 && *volume > 0.0;
        let cells = distance.data.iter().zip(&boundary.volume.data);
        self.labels.extend(cells.map(|cell| if is_air(cell) { AIR } else { LIQUID }));
        let mut pockets: Vec<Vec<u32>> = Vec::new();
        let mut largest: (f64, usize) = (0.0, usize::MAX);
        for first in 0..self.labels.len() {
            if self.labels[first] != AIR {
                continue;
            }
            let reaches_open = self.flood(grid, boundary, first, pockets.len() as u32);
            if reaches_open {
                self.queue.iter().for_each(|&c| self.labels[c as usize] = ATMOSPHERE);
                continue;
            }
            let volume: f64 = self.queue.iter().map(|&c| boundary.volume.data[c as usize]).sum();
            if volume > largest.0 {
                largest = (volume, pockets.len());
            }
            self.queue.sort_unstable();
            pockets.push(self.queue.clone());
        }
        let is_closed = boundary.walls.iter().flatten().all(|wall| *wall != Wall::Open);
        if rule == Bubbles::On && is_closed && largest.1 < pockets.len() {
            pockets.remove(largest.1).iter().for_each(|&c| self.labels[c as usize] = ATMOSPHERE);
            for (n, cells) in pockets.iter().enumerate().skip(largest.1) {
                cells.iter().for_each(|&c| self.labels[c as usize] = n as u32);
            }
        }
        pockets
    }

    /// Gather in `queue` the air that is connected with a cell, and label it; whether it reaches an open side.
    fn flood(&mut self, grid: &Grid, boundary: &Boundary, first: usize, label: u32) -> bool {
        let Self { labels, queue, .. } = self;
        queue.clear();
        queue.push(first as u32);
        labels[first] = label;
        let mut reaches_open = false;
        let mut done = 0;
        while done < queue.len() {
            let cell = queue[done] as usize;
            done += 1;
            for (face, beside) in neighbours(grid, boundary, cell) {
                match beside {
                    None => reaches_open |= face == Wall::Open,
                    Some(other) if labels[other] == AIR => {
                        labels[other] = label;
                        queue.push(other as u32);
                    }
                    Some(_) => {}
                }
            }
        }
        reaches_open
    }

    /// Room that the liquid leaves each pocket, m³: of a cell with a plane surface at this distance, the part beyond it. What of a
    /// liquid cell is air is shared by the air around it.
    fn rooms(&self, grid: &Grid, boundary: &Boundary, distance: &CellField, count: usize) -> Vec<f64> {
        let mut rooms = vec![0.0; count];
        let part = |c: usize| (0.5 + distance.data[c] / grid.dx).clamp(0.0, 1.0) * boundary.volume.data[c];
        for (c, &label) in self.labels.iter().enumerate() {
            if label < count as u32 {
                rooms[label as usize] += part(c);
            } else if label == LIQUID && distance.data[c] > -0.5 * grid.dx && boundary.volume.data[c] > 0.0 {
                let around: Vec<u32> = neighbours(grid, boundary, c)
                    .filter_map(|(_, other)| other.map(|other| self.labels[other]))
                    .filter(|&label| label != LIQUID)
                    .collect();
                for &label in around.iter().filter(|&&label| label < count as u32) {
                    rooms[label as usize] += part(c) / around.len() as f64;
                }
            }
        }
        rooms.iter().map(|room| room * grid.dx.powi(3)).collect()
    }

    /// Air that each of `count` pockets takes over from old bubbles, m³. Every cell of an old bubble hands its share to the pocket
    /// that is there now, or next to it; the atmosphere takes what reaches it and nothing else.
    fn hand_on(&self, grid: &Grid, old: &[Bubble], count: usize) -> Vec<f64> {
        let mut air = vec![0.0; count];
        for bubble in old {
            let homes: Vec<u32> = bubble.cells.iter().filter_map(|&cell| self.home(grid, cell as usize)).collect();
            let share = bubble.air / homes.len() as f64;
            for home in homes.into_iter().filter(|&home| home != ATMOSPHERE) {
                air[home as usize] += share;
            }
        }
        air
    }

    /// The pocket at a cell or, if there is liquid now, one that touches it; the atmosphere if there is no other.
    fn home(&self, grid: &Grid, cell: usize) -> Option<u32> {
        if self.labels[cell] != LIQUID {
            return Some(self.labels[cell]);
        }
        let at = grid.cell_at(cell);
        let [x, y, z] = [0, 1, 2].map(|a| at[a].saturating_sub(1)..(at[a] + 2).min(grid.dims[a]));
        let around = z.flat_map(|k| {
            let (x, y) = (x.clone(), y.clone());
            y.flat_map(move |j| x.clone().map(move |i| [i, j, k]))
        });
        around.map(|at| self.labels[grid.cell(at)]).filter(|&label| label != LIQUID).min()
    }
}

/// What lies beyond the faces of a cell that pressure drives: another cell, or nothing and the side of the domain.
fn neighbours<'a>(
    grid: &'a Grid,
    boundary: &'a Boundary,
    cell: usize,
) -> impl Iterator<Item = (Wall, Option<usize>)> + 'a {
    let at = grid.cell_at(cell);
    let stride = strides(grid.dims);
    Axis::ALL.into_iter().flat_map(move |axis| {
        let a = axis.index();
        [0, 1].into_iter().filter_map(move |side| {
            let mut face = at;
            face[a] += side;
            if !boundary.free[(axis, face)] {
                return None;
            }
            let is_inside = if side == 1 { face[a] < grid.dims[a] } else { face[a] > 0 };
            let beside = if side == 1 { cell + stride[a] } else { cell.wrapping_sub(stride[a]) };
            Some((boundary.walls[a][side], is_inside.then_some(beside)))
        })
    })
}

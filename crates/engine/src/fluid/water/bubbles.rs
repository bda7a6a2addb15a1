//! Bubbles: pockets of air that keep their volume \[A18, §5; Goldade and Batty 2017\].
//!
//! Air has no mass and one pressure in each pocket of cells that are connected through open faces. A pocket at an open side of the
//! domain is the atmosphere, p = 0. Any other keeps its volume, ∫ u·n dA = 0 over its surface, which determines its
//! pressure: one more unknown of the projection each.
//!
//! A domain without open sides has no atmosphere. There the largest pocket is taken for it: as nothing else can
//! change its volume, it keeps its own all the same, and pressure is counted from its.
//!
//! The constraint holds at the start of a step. Particles then follow the velocity as it was, some of them into what was air, where it
//! is continued and keeps no volume: an error of second order in the time step. So, unlike in \[A18, eq. 18\], every pocket knows how much *air* is in it,
//! and hands it on when it splits or merges. Where the room that the particles leave differs, the surface is shifted at once, by some
//! hundredths of a cell, and the displacement that spreads crowded particles (`crowding`) moves them after it in the next
//! step. No velocity changes.
//!
//! Air does not come from nothing: a void that opens amid liquid has none, and closes again as voids under p = 0 do.

use crate::fluid::boundary::{Boundary, Wall};
use crate::grid::{Axis, CellField, Grid, strides};
use rayon::prelude::*;
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
    /// Room that the particles leave it, m³.
    pub seen: f64,
    /// Room that it has after its surface was shifted, m³.
    pub room: f64,
}

impl Bubble {
    /// How much more room the particles should leave it in the next step, in cells.
    pub fn lack(&self, grid: &Grid) -> f64 {
        let most = MOST_CHANGE * self.seen;
        (self.air - self.seen).clamp(-most, most) / grid.dx.powi(3)
    }

    /// Mean of the centres of its cells, m.
    pub fn centre(&self, grid: &Grid) -> glam::DVec3 {
        let sum: glam::DVec3 = self.cells.iter().map(|&c| grid.cell_centre(grid.cell_at(c as usize))).sum();
        sum / self.cells.len() as f64
    }
}

/// Most that the room which particles leave a bubble is changed in one step, as a part of it.
/// Raised from 0.05 and 0.1, so that particles make up for all that a step wins or loses, 1 to 2 % (row D15).
const MOST_CHANGE: f64 = 0.3;

/// Farthest that the surface of a bubble is shifted, in cells.
/// Below what particles half a cell apart can tell: docs/methods/bubbles.md, *Volume*.
const MOST_SHIFT: f64 = 0.2;

/// Halvings of the interval in which the shift is sought.
/// They leave 4e-10 cells.
const HALVINGS: usize = 30;

/// Air, in cells, that is worth keeping when particles have closed a bubble.
/// A choice: docs/methods/bubbles.md, *Limits*.
const LEAST_KEPT: f64 = 0.5;

/// How far, in cells, air gets from a bubble that has become too small to be seen.
/// A choice: docs/methods/bubbles.md, *Limits*.
const FARTHEST: usize = 4;

/// Nearer to a cell centre than this, in cells, the surface counts as going through it.
///
/// A cell that is liquid by a hair is tied to the pocket beyond as firmly as 1/θ, and the multigrid cycle, in f32, needs the difference
/// between what ties it there and what ties it to other cells. Moving the surface is better than limiting θ: cells
/// next to each other see the same surface, so still water stays still.
/// Below about 1e-4 closed tanks with many pockets stop converging; docs/pressure-solver.md, *Pockets of air*, has the iterations with 0.01.
const NEAREST: f64 = 0.01;

/// Make air of the cells that are liquid by a hair.
pub(super) fn snap(grid: &Grid, distance: &mut CellField) {
    let nearest = -NEAREST * grid.dx;
    distance.data.par_iter_mut().filter(|d| **d < 0.0 && **d > nearest).for_each(|d| *d = 0.0);
}

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
    /// The bubbles at the start: each is full of air.
    pub fn first(&mut self, grid: &Grid, boundary: &Boundary, distance: &CellField, rule: Bubbles) -> Vec<Bubble> {
        let pockets = self.find(grid, boundary, distance, rule);
        let rooms = self.rooms(grid, boundary, distance, pockets.len());
        let bubble = |(cells, room): (Vec<u32>, f64)| Bubble { cells, air: room, seen: room, room };
        pockets.into_iter().zip(rooms).map(bubble).collect()
    }

    /// The bubbles after a step: what was in the `old` ones goes on, air of the old atmosphere (`old_distance`) may
    /// have been trapped. Voids without air are none. The surface of each bubble is shifted until it has room for its air.
    pub fn next(
        &mut self,
        grid: &Grid,
        boundary: &Boundary,
        old_distance: &CellField,
        old: &[Bubble],
        distance: &mut CellField,
        rule: Bubbles,
    ) -> Vec<Bubble> {
        let mut pockets = self.find(grid, boundary, distance, rule);
        if self.reopen(grid, boundary, old, distance) {
            pockets = self.find(grid, boundary, distance, rule);
        }
        let rooms = self.rooms(grid, boundary, distance, pockets.len());
        let mut air = self.hand_on(grid, old, &rooms);
        let mut was_bubble: Vec<u32> = old.iter().flat_map(|bubble| bubble.cells.iter().copied()).collect();
        was_bubble.sort_unstable();
        for (cells, (air, room)) in pockets.iter().zip(air.iter_mut().zip(&rooms)) {
            // Cells that were liquid do not tell where the air came from that is in them now.
            let were_air = cells.iter().filter(|c| old_distance.data[**c as usize] >= 0.0);
            let (enclosed, outer): (Vec<u32>, Vec<u32>) = were_air.partition(|c| was_bubble.binary_search(c).is_ok());
            // Most of what is cut off was atmosphere; a few such cells are gaps, or those that a moving solid uncovers.
            if outer.len() > enclosed.len() {
                *air += room * outer.len() as f64 / (outer.len() + enclosed.len()) as f64;
            }
        }
        let mut bubbles = Vec::new();
        for (label, (cells, (air, seen))) in pockets.into_iter().zip(air.into_iter().zip(rooms)).enumerate() {
            if air > 0.0 {
                let room = seen + self.shift(grid, boundary, label as u32, &cells, air - seen, distance);
                bubbles.push(Bubble { cells, air, seen, room });
            }
        }
        bubbles
    }

    /// Keep a cell of every bubble that particles have closed, far from any other air: the one where they are fewest. Whether there
    /// was one.
    fn reopen(&self, grid: &Grid, boundary: &Boundary, old: &[Bubble], distance: &mut CellField) -> bool {
        let is_lost = |bubble: &&Bubble| {
            bubble.air >= LEAST_KEPT * grid.dx.powi(3)
                && bubble.cells.iter().all(|&c| self.homes(grid, c as usize, FARTHEST).is_empty())
        };
        let lost: Vec<&Bubble> = old.iter().filter(is_lost).collect();
        for bubble in &lost {
            let cells = bubble.cells.iter().map(|&c| c as usize);
            let beside = cells.clone().flat_map(|c| neighbours(grid, boundary, c).filter_map(|(_, other)| other));
            let near = cells.chain(beside).filter(|&c| boundary.volume.data[c] > 0.0);
            if let Some(c) = near.max_by(|&a, &b| distance.data[a].total_cmp(&distance.data[b]).then(b.cmp(&a))) {
                distance.data[c] = 0.0;
            }
        }
        !lost.is_empty()
    }

    /// Shift the surface of a pocket until it has `lack` (m³) more room, as far as no cell becomes liquid or air by that; how
    /// much it got. Cells at the surface of other air as well stay as they are.
    fn shift(
        &self,
        grid: &Grid,
        boundary: &Boundary,
        label: u32,
        cells: &[u32],
        lack: f64,
        distance: &mut CellField,
    ) -> f64 {
        let (dx, volume, labels) = (grid.dx, &boundary.volume.data, &self.labels);
        let around = |c: usize| neighbours(grid, boundary, c).filter_map(|(_, other)| other);
        let mut skin: Vec<usize> = cells.iter().flat_map(|&c| around(c as usize)).collect();
        skin.retain(|&c| labels[c] == LIQUID && volume[c] > 0.0);
        skin.sort_unstable();
        skin.dedup();
        skin.retain(|&c| around(c).all(|other| labels[other] == label || labels[other] == LIQUID));
        skin.extend(cells.iter().map(|&c| c as usize));

        let shifted = |d: f64, by: f64| if d < 0.0 { (d + by).min(-NEAREST * dx) } else { (d + by).max(0.0) };
        let gain = |by: f64, distance: &CellField| {
            let part = |c: usize, by: f64| volume[c] * air_part(grid, shifted(distance.data[c], by));
            dx.powi(3) * skin.iter().map(|&c| part(c, by) - part(c, 0.0)).sum::<f64>()
        };
        let (mut low, mut high) = (-MOST_SHIFT * dx, MOST_SHIFT * dx);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if gain(middle, distance) < lack { low = middle } else { high = middle }
        }
        let gained = gain(low, distance);
        skin.iter().for_each(|&c| distance.data[c] = shifted(distance.data[c], low));
        gained
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

    /// Room that the liquid leaves each pocket, m³. What of a liquid cell is air is shared by the air around it.
    fn rooms(&self, grid: &Grid, boundary: &Boundary, distance: &CellField, count: usize) -> Vec<f64> {
        let mut rooms = vec![0.0; count];
        let part = |c: usize| air_part(grid, distance.data[c]) * boundary.volume.data[c];
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

    /// Air that each pocket takes over from old bubbles, m³. Every cell of an old bubble hands its share to the pocket that is there
    /// now, or to those next to it; the atmosphere takes what reaches it and nothing else. Pockets that were one share by their `rooms`.
    fn hand_on(&self, grid: &Grid, old: &[Bubble], rooms: &[f64]) -> Vec<f64> {
        let mut air = vec![0.0; rooms.len()];
        // The first of the pockets that each one shares with.
        let mut kin: Vec<usize> = (0..rooms.len()).collect();
        for bubble in old {
            let homes_within =
                |reach: usize| bubble.cells.iter().map(move |&cell| self.homes(grid, cell as usize, reach)).collect();
            let mut homes: Vec<Vec<u32>> = homes_within(1);
            // One that has become too small to be seen joins another one nearby.
            if homes.iter().all(Vec::is_empty) {
                homes = homes_within(FARTHEST);
            }
            let share = bubble.air / homes.iter().filter(|homes| !homes.is_empty()).count() as f64;
            let mut first = None;
            for homes in homes {
                for &home in homes.iter().filter(|&&home| home != ATMOSPHERE) {
                    air[home as usize] += share / homes.len() as f64;
                    let [a, b] = [kin[home as usize], kin[*first.get_or_insert(home as usize)]];
                    if a != b {
                        kin.iter_mut().filter(|k| **k == a.max(b)).for_each(|k| *k = a.min(b));
                    }
                }
            }
        }
        let (mut all_air, mut all_room) = (vec![0.0; rooms.len()], vec![0.0; rooms.len()]);
        for (pocket, &k) in kin.iter().enumerate() {
            all_air[k] += air[pocket];
            all_room[k] += rooms[pocket];
        }
        kin.iter().zip(rooms).map(|(&k, room)| all_air[k] * room / all_room[k]).collect()
    }

    /// The pocket at a cell or, if there is liquid now, those within `reach` cells; the atmosphere if there is no other.
    fn homes(&self, grid: &Grid, cell: usize, reach: usize) -> Vec<u32> {
        if self.labels[cell] != LIQUID {
            return vec![self.labels[cell]];
        }
        let at = grid.cell_at(cell);
        let [x, y, z] = [0, 1, 2].map(|a| at[a].saturating_sub(reach)..(at[a] + reach + 1).min(grid.dims[a]));
        let around = z.flat_map(|k| {
            let (x, y) = (x.clone(), y.clone());
            y.flat_map(move |j| x.clone().map(move |i| [i, j, k]))
        });
        let mut homes: Vec<u32> =
            around.map(|at| self.labels[grid.cell(at)]).filter(|&label| label != LIQUID).collect();
        homes.sort_unstable();
        homes.dedup();
        if homes.len() > 1 {
            homes.retain(|&home| home != ATMOSPHERE);
        }
        homes
    }
}

/// Part of a cell that is air: what lies beyond a plane surface at this distance from its centre, m.
fn air_part(grid: &Grid, distance: f64) -> f64 {
    (0.5 + distance / grid.dx).clamp(0.0, 1.0)
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
            if !boundary.driven[(axis, face)] {
                return None;
            }
            let is_inside = if side == 1 { face[a] < grid.dims[a] } else { face[a] > 0 };
            let beside = if side == 1 { cell + stride[a] } else { cell.wrapping_sub(stride[a]) };
            Some((boundary.walls[a][side], is_inside.then_some(beside)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    /// Bubbles in a row of cells, drawn as text: letters are air, dots liquid. Air is connected where letters touch.
    struct RowOfWater {
        grid: Grid,
        boundary: Boundary,
        finder: Finder,
    }

    impl RowOfWater {
        fn new(cells: usize, walls: [[Wall; 2]; 3]) -> Self {
            let grid = Grid::new([cells, 1, 1], 1.0, DVec3::ZERO);
            let boundary = Boundary::new(&grid, walls, None, |_| (DVec3::ZERO, None));
            Self { grid, boundary, finder: Finder::default() }
        }

        fn closed(cells: usize) -> Self {
            Self::new(cells, [[Wall::Closed; 2]; 3])
        }

        fn distance(&self, drawn: &str) -> CellField {
            let mut field = CellField::new(&self.grid, -1.0);
            drawn.chars().enumerate().filter(|(_, c)| *c != '.').for_each(|(i, _)| field.data[i] = 1.0);
            field
        }

        fn first(&mut self, drawn: &str, rule: Bubbles) -> Vec<Bubble> {
            let distance = self.distance(drawn);
            self.finder.first(&self.grid, &self.boundary, &distance, rule)
        }

        /// Air of the bubbles of `now`, which were `old` in `before`.
        fn next(&mut self, before: &str, old: &[Bubble], now: &str) -> Vec<f64> {
            let (before, mut now) = (self.distance(before), self.distance(now));
            let next = self.finder.next(&self.grid, &self.boundary, &before, old, &mut now, Bubbles::Sealed);
            next.iter().map(|bubble| bubble.air).collect()
        }
    }

    fn with_air(cells: std::ops::Range<u32>, air: f64) -> Bubble {
        Bubble { cells: cells.collect(), air, seen: air, room: air }
    }

    #[test]
    fn the_atmosphere_is_what_reaches_an_open_side_or_else_the_largest_pocket() {
        let cells = |bubbles: Vec<Bubble>| bubbles.into_iter().map(|bubble| bubble.cells).collect::<Vec<_>>();
        let mut row = RowOfWater::closed(10);
        assert_eq!(cells(row.first("aa..bbb..c", Bubbles::On)), [vec![0, 1], vec![9]]);
        assert_eq!(cells(row.first("aa..bbb..c", Bubbles::Sealed)), [vec![0, 1], vec![4, 5, 6], vec![9]]);
        let mut open = RowOfWater::new(10, [[Wall::Closed, Wall::Open], [Wall::Closed; 2], [Wall::Closed; 2]]);
        assert_eq!(cells(open.first("aa..bbb..c", Bubbles::On)), [vec![0, 1], vec![4, 5, 6]]);
        // One that reaches no open side is no atmosphere, however large.
        assert_eq!(cells(open.first("aa..bbb...", Bubbles::On)), [vec![0, 1], vec![4, 5, 6]]);
    }

    /// φ = 0 leaves half a cell, and liquid by less than half a cell adds what is missing to the middle.
    #[test]
    fn room_is_what_lies_beyond_the_surface() {
        let mut row = RowOfWater::closed(5);
        let mut distance = row.distance("..a..");
        distance.data = vec![-1.0, -0.3, 0.7, -0.3, -1.0];
        let bubbles = row.finder.first(&row.grid, &row.boundary, &distance, Bubbles::Sealed);
        assert!((bubbles[0].room - 1.4).abs() < 1e-12, "{bubbles:?}");
        assert_eq!(bubbles[0].air, bubbles[0].room);
    }

    #[test]
    fn air_is_shared_when_a_bubble_splits_and_added_when_bubbles_merge() {
        let mut row = RowOfWater::closed(12);
        // By the room that the pieces have, not by how many of the old cells they took over.
        assert_eq!(row.next(".aaaa.......", &[with_air(1..5, 6.0)], ".a.bb......."), [2.0, 4.0]);
        let two = [with_air(1..3, 2.0), with_air(4..6, 3.0)];
        assert_eq!(row.next(".aa.bb......", &two, ".aaaaa......").iter().sum::<f64>(), 5.0);
    }

    #[test]
    fn a_small_bubble_may_move_by_a_cell() {
        let mut row = RowOfWater::closed(8);
        assert_eq!(row.next("...a....", &[with_air(3..4, 0.8)], "....a..."), [0.8]);
        // What has shrunk below a cell joins another bubble that is near. Far from all it is kept, but for less than half a cell;
        // what is found there is a void.
        assert_eq!(row.next("...a....", &[with_air(3..4, 0.8)], "......a."), [0.8]);
        assert_eq!(row.next("a.......", &[with_air(0..1, 0.8)], "......a."), [0.8]);
        assert_eq!(row.next("a.......", &[with_air(0..1, 0.4)], "......a."), [0.0; 0]);
    }

    #[test]
    fn a_closed_bubble_keeps_the_cell_where_particles_are_fewest() {
        let mut row = RowOfWater::closed(6);
        let (before, mut now) = (row.distance("..aa.."), row.distance("......"));
        now.data[4] = -0.6;
        let old = [with_air(2..4, 1.2)];
        let next = row.finder.next(&row.grid, &row.boundary, &before, &old, &mut now, Bubbles::Sealed);
        assert_eq!((next.len(), &next[0].cells[..], next[0].air), (1, &[4][..], 1.2));
    }

    /// The surface moves until the room is right, but no cell becomes liquid or air by that, and it moves by a fifth of a cell at
    /// most.
    #[test]
    fn the_surface_is_shifted_until_there_is_room_for_the_air() {
        let mut row = RowOfWater::closed(6);
        let before = row.distance("..aa..");
        let mut room_for = |air: f64| {
            let mut now = row.distance("..aa..");
            now.data = vec![-1.0, -0.3, 0.4, 0.7, -0.3, -1.0];
            let old = [with_air(2..4, air)];
            let next = row.finder.next(&row.grid, &row.boundary, &before, &old, &mut now, Bubbles::Sealed);
            assert!((next[0].seen - 2.3).abs() < 1e-12, "{next:?}");
            assert!(now.data.iter().enumerate().all(|(c, d)| (*d >= 0.0) == (2..4).contains(&c)));
            (next[0].room, now.data[1])
        };
        for air in [2.1, 2.3, 2.5] {
            assert!((room_for(air).0 - air).abs() < 1e-8, "{air}");
        }
        // Two surfaces and the cell at 0.4 by 0.1, which is then full.
        assert!((room_for(3.0).0 - 2.8).abs() < 1e-8 && (room_for(3.0).1 + 0.1).abs() < 1e-8, "{:?}", room_for(3.0));
    }

    #[test]
    fn trapped_air_makes_a_bubble_and_a_void_does_not() {
        let mut row = RowOfWater::new(8, [[Wall::Closed, Wall::Open], [Wall::Closed; 2], [Wall::Closed; 2]]);
        let air = row.next("...aaaaa", &[], "...aa.bb");
        assert_eq!(air, [2.0]);
        assert_eq!(row.next("......bb", &[], ".a....bb"), [0.0; 0]);
        // A bubble wins nothing by a gap beside it.
        assert_eq!(row.next(".aaa....", &[with_air(2..4, 1.8)], ".aaa...."), [1.8]);
        // A pocket that moves while it is cut off is full of air.
        assert_eq!(row.next("....aaaa", &[], "...aa.bb"), [2.0]);
    }

    #[test]
    fn air_that_reaches_the_surface_is_gone() {
        let mut row = RowOfWater::new(8, [[Wall::Closed, Wall::Open], [Wall::Closed; 2], [Wall::Closed; 2]]);
        assert_eq!(row.next(".aaa..bb", &[with_air(1..4, 3.0)], ".aaabbbb"), [0.0; 0]);
        // The part that is cut off at this moment keeps its share, that of the cell beside it included.
        assert_eq!(row.next(".aaa..bb", &[with_air(1..4, 3.0)], ".a.bbbbb"), [2.0]);
    }

    #[test]
    fn hairs_become_air() {
        let row = RowOfWater::closed(4);
        let mut distance = CellField::new(&row.grid, 0.0);
        distance.data = vec![-0.5, -0.0099, -1e-12, 0.2];
        snap(&row.grid, &mut distance);
        assert_eq!(distance.data, [-0.5, 0.0, 0.0, 0.2]);
    }
}

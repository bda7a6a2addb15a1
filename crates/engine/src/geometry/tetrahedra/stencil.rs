//! What is left of a lattice tetrahedron when the surface has cut it [LS07].
//!
//! Every corner is inside, on the surface, or outside; edges from inside to outside have a cut point. What is inside
//! is a tetrahedron, a pyramid or a prism. Pyramids and prisms are divided along diagonals of their quadrilaterals
//! (p, q, cut of q–m, cut of p–m); neighbours agree on the diagonal because it depends on that side of the lattice
//! tetrahedron only:
//!
//! - if one of the cut edges is long, the diagonal ends at its cut point;
//! - if both are short, it starts at the end from which an even number of coordinates grow towards m: this is true of
//!   one of p and q, because they differ in one coordinate (the parity rule). The other side with the same p–q gets
//!   the other diagonal.
//!
//! A prism cannot be divided if its three diagonals share no corner; the two rules never make that happen.

/// Where a lattice point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatticeSpot {
    Inside,
    Surface,
    Outside,
}

/// A corner of a piece: a corner of the lattice tetrahedron, or the cut point between two (inside, outside).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    Lattice(usize),
    Cut(usize, usize),
}

/// The lattice tetrahedron as the rules see it. Its long edges join corners 0–1 and 2–3, its volume is positive.
pub struct StencilCell {
    pub places: [LatticeSpot; 4],
    /// Lattice coordinates of the corners, in halves of a long edge.
    pub coordinates: [[i32; 3]; 4],
}

impl StencilCell {
    /// The pieces inside, each with positive volume.
    pub fn pieces(&self, mut emit: impl FnMut([Corner; 4])) {
        use Corner::{Cut, Lattice};
        let at = |place: LatticeSpot| (0..4).filter(move |&i| self.places[i] == place);
        let (inside, outside) = (at(LatticeSpot::Inside).count(), at(LatticeSpot::Outside).count());
        // The corners with those inside first, then those on the surface, then those outside.
        let mut order = [LatticeSpot::Inside, LatticeSpot::Surface, LatticeSpot::Outside].into_iter().flat_map(at);
        let order = [(); 4].map(|()| order.next().unwrap_or(0));
        let [p, q, m, n] = order;
        match (inside, outside) {
            (0, _) => {}
            (_, 0) => emit([0, 1, 2, 3].map(Lattice)),
            (1, _) => {
                emit([0, 1, 2, 3].map(|i| if self.places[i] == LatticeSpot::Outside { Cut(p, i) } else { Lattice(i) }))
            }
            (2, 1) => {
                // A pyramid: m is its tip, on the surface, and the quadrilateral has the corners p, q and their cuts
                // to n.
                let [p, q] = if self.leads(p, q, n) { [p, q] } else { [q, p] };
                let odd = is_odd([p, q, m, n]);
                emit(turned([Lattice(p), Lattice(q), Lattice(m), Cut(q, n)], odd));
                emit(turned([Lattice(p), Cut(q, n), Lattice(m), Cut(p, n)], odd));
            }
            (2, _) => {
                // A prism between the triangles (p, cuts of p) and (q, cuts of q).
                let columns = [[Lattice(p), Lattice(q)], [Cut(p, m), Cut(q, m)], [Cut(p, n), Cut(q, n)]];
                // The diagonals at m and n start at different ends, so that the third must join their ends.
                let ranks = if self.leads(p, q, m) { [2, 0, 1] } else { [1, 0, 2] };
                prism(columns, ranks, is_odd(order), emit);
            }
            _ => {
                // A prism between the triangles (p, q, m) and their cuts to n.
                let columns = [p, q, m].map(|i| [Lattice(i), Cut(i, n)]);
                let lead = |i: usize, j: usize| self.leads(order[i], order[j], n) as usize;
                let mut ranks = [0, 1, 2];
                ranks.sort_unstable_by_key(|&i| lead((i + 1) % 3, i) + lead((i + 2) % 3, i));
                prism(columns, ranks, is_odd(order), emit);
            }
        }
    }

    /// Whether the diagonal of the quadrilateral (p, q, cut of q–m, cut of p–m) starts at p, not at q.
    fn leads(&self, p: usize, q: usize, m: usize) -> bool {
        let is_long = |a: usize, b: usize| a / 2 == b / 2;
        if is_long(p, m) || is_long(q, m) {
            return is_long(q, m);
        }
        let [p, m] = [p, m].map(|i| self.coordinates[i]);
        (0..3).filter(|&a| p[a] < m[a]).count() % 2 == 0
    }
}

/// Three tetrahedra of a prism whose columns join the first triangle to the second. The diagonal between two columns
/// starts, in the first triangle, at the column that comes earlier in `ranks`.
fn prism(columns: [[Corner; 2]; 3], ranks: [usize; 3], odd: bool, mut emit: impl FnMut([Corner; 4])) {
    let [[a, d], [b, e], [c, f]] = ranks.map(|i| columns[i]);
    let odd = odd ^ (ranks[1] != (ranks[0] + 1) % 3);
    [[a, b, c, f], [a, b, f, e], [a, e, f, d]].into_iter().for_each(|piece| emit(turned(piece, odd)));
}

fn turned([a, b, c, d]: [Corner; 4], odd: bool) -> [Corner; 4] {
    if odd { [a, b, d, c] } else { [a, b, c, d] }
}

/// Whether an odd number of swaps sorts these.
fn is_odd(order: [usize; 4]) -> bool {
    (0..4).flat_map(|i| (0..i).map(move |j| [j, i])).filter(|&[j, i]| order[j] > order[i]).count() % 2 == 1
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::geometry::TetMesh;
    use LatticeSpot::{Inside, Outside, Surface};
    use glam::DVec3;

    /// Dihedral angles of all pieces lie between these, degrees: the extremes of 16 million random cases, rounded.
    pub const ANGLES: [f64; 2] = [9.2, 161.8];

    /// Corners of two lattice tetrahedra of either parity, in halves of a long edge.
    const CELLS: [[[i32; 3]; 4]; 2] =
        [[[1, 1, -1], [1, 1, 1], [2, 0, 0], [2, 2, 0]], [[1, 1, -1], [1, 1, 1], [2, 2, 0], [0, 2, 0]]];

    fn places() -> impl Iterator<Item = [LatticeSpot; 4]> {
        let place = |n: usize| [Inside, Surface, Outside][n % 3];
        (0..81).map(move |n| [place(n), place(n / 3), place(n / 9), place(n / 27)])
    }

    fn mesh(cell: &StencilCell, at: impl Fn(Corner) -> DVec3) -> TetMesh {
        let mut mesh = TetMesh::default();
        cell.pieces(|piece| {
            let first = mesh.vertices.len() as u32;
            mesh.tetrahedra.push([0, 1, 2, 3].map(|i| first + i));
            mesh.vertices.extend(piece.map(&at));
        });
        mesh
    }

    fn point(coordinates: [i32; 3]) -> DVec3 {
        0.5 * DVec3::from(coordinates.map(f64::from))
    }

    #[test]
    fn pieces_have_positive_volumes_that_add_up() {
        for (coordinates, places) in CELLS.iter().flat_map(|c| places().map(move |p| (*c, p))) {
            let cell = StencilCell { places, coordinates };
            // Inside is where a linear function of these values at the corners is negative.
            let value = |i: usize| match places[i] {
                Inside => -1.0 - 0.3 * i as f64,
                Surface => 0.0,
                Outside => 1.7 - 0.4 * i as f64,
            };
            let at = |corner: Corner| match corner {
                Corner::Lattice(i) => point(coordinates[i]),
                Corner::Cut(i, o) => {
                    point(coordinates[i]).lerp(point(coordinates[o]), value(i) / (value(i) - value(o)))
                }
            };
            let pieces = mesh(&cell, at);
            assert!((0..pieces.tetrahedra.len()).all(|t| pieces.volume_of(t) > 1e-6), "{places:?}");
            // Volume of {f < 0} in a tetrahedron: Σ over inner corners of fᵢ³ / Π(fᵢ − fⱼ), for distinct values.
            let f = [0, 1, 2, 3].map(|i| value(i) + 1e-9 * i as f64);
            let share: f64 = if places.contains(&Inside) {
                let term = |i: usize| -> f64 { (0..4).filter(|&j| j != i).map(|j| f[i] / (f[i] - f[j])).product() };
                (0..4).filter(|&i| f[i] < -0.5).map(term).sum()
            } else {
                0.0
            };
            assert!((pieces.volume() - share / 12.0).abs() < 1e-6, "{places:?}: {} {share}", 12.0 * pieces.volume());
        }
    }

    #[test]
    fn all_pieces_that_can_occur_have_angles_within_the_bounds() {
        // Cuts anywhere that warping leaves them, warped corners anywhere it may bring them: along an edge to a
        // neighbour that was on the other side, but not two of them along the same edge.
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        let [long, short] = crate::geometry::tetrahedra::lattice::VIOLATES;
        let directions: Vec<DVec3> = (0..14)
            .map(|n| match n {
                0..6 => [DVec3::X, DVec3::Y, DVec3::Z][n % 3] * [1.0, -1.0][n / 3],
                _ => 0.5 * DVec3::from([0, 1, 2].map(|a| [1.0, -1.0][(n - 6) >> a & 1])),
            })
            .collect();
        let mut extremes = [180.0f64, 0.0];
        for (coordinates, places) in CELLS.iter().flat_map(|c| places().map(move |p| (*c, p))) {
            let cell = StencilCell { places, coordinates };
            let corners = coordinates.map(point);
            for _ in 0..1000 {
                // The extremes lie at the ends of the ranges more often than within.
                let mut part = |start: f64, end: f64| match (8.0 * random()) as usize {
                    0..3 => start,
                    3..6 => end,
                    _ => start + random() * (end - start),
                };
                let cut = [(); 16].map(|()| [part(long, 1.0 - long), part(short, 1.0 - short)]);
                let way = [(); 4].map(|()| part(0.0, 1.0));
                let direction = [(); 4].map(|()| (14.0 * random()) as usize);
                let was_inside = places.map(|place| place == Inside || place == Surface && random() < 0.5);
                let towards = |i: usize| {
                    let end = corners[i] + directions[direction[i]];
                    (0..4).find(|&j| places[i] == Surface && corners[j].distance(end) < 1e-9)
                };
                let possible =
                    |i: usize| towards(i).is_none_or(|j| was_inside[i] != was_inside[j] && towards(j) != Some(i));
                if !(0..4).all(possible) {
                    continue;
                }
                let at = |corner: Corner| match corner {
                    Corner::Lattice(i) if places[i] == Surface => {
                        let reach = if direction[i] < 6 { long } else { short };
                        corners[i] + way[i] * reach * directions[direction[i]]
                    }
                    Corner::Lattice(i) => corners[i],
                    Corner::Cut(i, o) => corners[i].lerp(corners[o], cut[4 * i + o][(i / 2 != o / 2) as usize]),
                };
                let pieces = mesh(&cell, at);
                if !pieces.tetrahedra.is_empty() {
                    let quality = pieces.quality();
                    extremes = [extremes[0].min(quality.smallest_angle), extremes[1].max(quality.largest_angle)];
                }
            }
        }
        assert!(extremes[0] > ANGLES[0] && extremes[1] < ANGLES[1], "{extremes:?}");
    }
}

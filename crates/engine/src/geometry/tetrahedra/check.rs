//! Is this a sound solid of tetrahedra? And what may be mended.
//!
//! Elasticity divides by volumes and coupling asks for a closed boundary: every tetrahedron must have a positive
//! volume, and every side one or two tetrahedra, on opposite sides of it. [`TetMesh::check`] refuses anything else;
//! [`TetMesh::repair`] turns what is inside out and drops what is flat. Both drop what has no effect (unused
//! vertices, repeated tetrahedra) and warn. Tetrahedra that overlap without sharing a side are not looked for.

use super::TetMesh;
use super::boundary::pinches;
use crate::geometry::check::{Flaw, flaw};
use glam::DVec3;

/// Tetrahedra smaller than this part of the cube around the mesh are flat.
/// A choice: that of a cube a ten-thousandth as wide.
const FLAT: f64 = 1e-12;

/// Why a solid cannot be used. Vertices and tetrahedra are counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TetError {
    /// The bytes are not what the format demands.
    #[error("{format} {place}: {problem}")]
    Syntax {
        /// `MSH`, `VTK`, `NODE` or `ELE`.
        format: &'static str,
        /// Line or byte, as in `line 7`.
        place: String,
        /// What is wrong, the value included.
        problem: String,
    },
    /// The header promises more or less than the file contains.
    #[error("{format}: the header promises {promised} {what}, the file has {found}; write the file again")]
    Count {
        /// `MSH`, `VTK`, `NODE` or `ELE`.
        format: &'static str,
        /// What is counted.
        what: &'static str,
        /// The header's number, as written there.
        promised: String,
        /// What is there.
        found: String,
    },
    /// No tetrahedra.
    #[error("the mesh has no tetrahedra; export the volume, not only its surface")]
    Empty,
    /// More than 2³² − 1 vertices or tetrahedra.
    #[error("the mesh has {count} {what}, the limit is 4294967295")]
    TooLarge {
        /// `vertices` or `tetrahedra`.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// NaN or infinity among the coordinates.
    #[error("vertex {vertex} has a non-finite coordinate ({position})")]
    NonFinite {
        /// Vertex number.
        vertex: usize,
        /// Its coordinates.
        position: DVec3,
    },
    /// A tetrahedron refers to a vertex that is not there.
    #[error("tetrahedron {tetrahedron}: there is no vertex {index} among the {vertices} vertices")]
    Index {
        /// Tetrahedron number.
        tetrahedron: usize,
        /// The vertex as written in the file.
        index: i64,
        /// Number of vertices.
        vertices: usize,
    },
    /// A tetrahedron refers to a vertex twice.
    #[error("tetrahedron {tetrahedron} uses vertex {vertex} more than once")]
    Repeated {
        /// Tetrahedron number.
        tetrahedron: usize,
        /// The vertex.
        vertex: usize,
    },
    /// Some tetrahedra, not all, have a negative volume.
    #[error("{count} tetrahedra are inside out: number {numbers}; reorder their vertices, or let the mesh be repaired")]
    Inverted {
        /// How many.
        count: usize,
        /// The first of them, as text.
        numbers: String,
    },
    /// Tetrahedra without volume.
    #[error(
        "{count} tetrahedra are flat (at most {limit:.3e} m³, 1e-12 of the mesh's box): number {numbers}; mesh again, or \
         let the mesh be repaired"
    )]
    Flat {
        /// How many.
        count: usize,
        /// The first of them, as text.
        numbers: String,
        /// The volume they would have to exceed, m³.
        limit: f64,
    },
    /// Sides of three or more tetrahedra, or of two on the same side.
    #[error(
        "tetrahedra overlap: {count} sides belong to more than two, or to two that lie on the same side of it; the first \
         has the vertices {vertices:?} and belongs to tetrahedra {tetrahedra}"
    )]
    Overlap {
        /// Number of such sides.
        count: usize,
        /// Vertices of the first.
        vertices: [u32; 3],
        /// Its tetrahedra, as text.
        tetrahedra: String,
    },
}

/// What was mended, or may surprise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TetWarning {
    /// Vertices of no tetrahedron.
    #[error("{count} vertices belong to no tetrahedron and were dropped")]
    Unused {
        /// How many.
        count: usize,
    },
    /// Tetrahedra with the same four vertices as an earlier one.
    #[error("{count} tetrahedra were repeated and were dropped: number {numbers}")]
    Duplicates {
        /// How many.
        count: usize,
        /// The first of them, as text.
        numbers: String,
    },
    /// All volumes were negative: the file counts corners the other way round.
    #[error("all tetrahedra were inside out and were turned")]
    Turned,
    /// Some volumes were negative.
    #[error("{count} tetrahedra were inside out and were turned: number {numbers}")]
    Reordered {
        /// How many.
        count: usize,
        /// The first of them, as text.
        numbers: String,
    },
    /// Some tetrahedra had no volume.
    #[error("{count} flat tetrahedra were dropped: number {numbers}")]
    Dropped {
        /// How many.
        count: usize,
        /// The first of them, as text.
        numbers: String,
    },
    /// The solid is not in one piece.
    #[error("the solid has {count} parts that no side joins; they move on their own, or hinge on shared vertices")]
    Parts {
        /// How many.
        count: usize,
    },
    /// The boundary touches itself.
    #[error("the boundary touches itself at {count} vertices, the first is {vertex}")]
    Pinched {
        /// How many.
        count: usize,
        /// The first, after unused ones were dropped.
        vertex: u32,
    },
    /// A mesh made from a surface has other holes, handles or hollows.
    #[error(
        "the mesh has Euler number {found}, its shape has {expected}: parts finer than {size:?} m were torn or closed; choose \
         a smaller size"
    )]
    Topology {
        /// Euler number of the mesh's boundary.
        found: i64,
        /// That of the shape.
        expected: i64,
        /// Edge length asked for, m, as text.
        size: String,
    },
    /// Specks that a mesh made from a surface would have had.
    #[error("{count} specks apart from the solid were left out; parts of the shape are finer than {size:?} m")]
    Specks {
        /// How many.
        count: usize,
        /// Edge length asked for, m, as text.
        size: String,
    },
}

/// What to do with tetrahedra whose volume is not positive.
#[derive(Clone, Copy, PartialEq)]
enum Faulty {
    Refuse,
    Mend,
}

impl TetMesh {
    /// Make sure that the mesh is a sound solid. Returns it without what has no effect, and what was dropped.
    pub fn check(&self) -> Result<(TetMesh, Vec<TetWarning>), TetError> {
        examine(self, Faulty::Refuse)
    }

    /// As [`Self::check`], but tetrahedra that are inside out are turned, and flat ones are dropped.
    pub fn repair(&self) -> Result<(TetMesh, Vec<TetWarning>), TetError> {
        examine(self, Faulty::Mend)
    }
}

fn examine(mesh: &TetMesh, faulty: Faulty) -> Result<(TetMesh, Vec<TetWarning>), TetError> {
    check_elements(mesh)?;
    let mut mesh = mesh.clone();
    let mut warnings = Vec::new();
    check_volumes(&mut mesh, faulty, &mut warnings)?;
    drop_duplicates(&mut mesh, &mut warnings);
    if mesh.tetrahedra.is_empty() {
        return Err(TetError::Empty);
    }
    let unused = mesh.drop_unused_vertices();
    if unused > 0 {
        warnings.push(TetWarning::Unused { count: unused });
    }
    check_sides(&mesh)?;
    let (_, parts) = mesh.parts();
    if parts > 1 {
        warnings.push(TetWarning::Parts { count: parts });
    }
    let pinched = pinches(&mesh.surface());
    if let Some(&vertex) = pinched.first() {
        warnings.push(TetWarning::Pinched { count: pinched.len(), vertex });
    }
    Ok((mesh, warnings))
}

/// Finite coordinates, indices in range, no vertex twice in a tetrahedron.
pub(super) fn check_elements(mesh: &TetMesh) -> Result<(), TetError> {
    Err(match flaw(&mesh.vertices, &mesh.tetrahedra, "tetrahedra") {
        None => return Ok(()),
        Some(Flaw::Empty) => TetError::Empty,
        Some(Flaw::TooLarge { what, count }) => TetError::TooLarge { what, count },
        Some(Flaw::NonFinite { vertex, position }) => TetError::NonFinite { vertex, position },
        Some(Flaw::Index { element: tetrahedron, index, vertices }) => TetError::Index { tetrahedron, index, vertices },
        Some(Flaw::Repeated { element: tetrahedron, vertex }) => TetError::Repeated { tetrahedron, vertex },
    })
}

/// Positive volumes, or what is needed to have them.
fn check_volumes(mesh: &mut TetMesh, faulty: Faulty, warnings: &mut Vec<TetWarning>) -> Result<(), TetError> {
    let limit = FLAT * mesh.bounds().size().max_element().powi(3);
    let volumes: Vec<f64> = (0..mesh.tetrahedra.len()).map(|t| mesh.volume_of(t)).collect();
    let which = |faulty: &dyn Fn(f64) -> bool| -> Vec<usize> {
        volumes.iter().enumerate().filter(|&(_, &v)| faulty(v)).map(|(t, _)| t).collect()
    };
    // A volume that overflows is NaN or infinite; neither can be mended nor used.
    let flat = which(&|v| !(v.abs() > limit && v.is_finite()));
    let inverted = which(&|v| v < -limit && v.is_finite());
    let all = inverted.len() + flat.len() == volumes.len();
    if faulty == Faulty::Refuse {
        if !flat.is_empty() {
            return Err(TetError::Flat { count: flat.len(), numbers: list(&flat), limit });
        }
        if !inverted.is_empty() && !all {
            return Err(TetError::Inverted { count: inverted.len(), numbers: list(&inverted) });
        }
    }
    if !inverted.is_empty() {
        inverted.iter().for_each(|&t| mesh.tetrahedra[t].swap(2, 3));
        let some = || TetWarning::Reordered { count: inverted.len(), numbers: list(&inverted) };
        warnings.push(if all { TetWarning::Turned } else { some() });
    }
    if !flat.is_empty() {
        let mut volume = volumes.iter();
        mesh.tetrahedra.retain(|_| volume.next().is_some_and(|v| v.abs() > limit && v.is_finite()));
        warnings.push(TetWarning::Dropped { count: flat.len(), numbers: list(&flat) });
    }
    Ok(())
}

/// Keep the first of those that have the same vertices.
fn drop_duplicates(mesh: &mut TetMesh, warnings: &mut Vec<TetWarning>) {
    let mut sorted: Vec<([u32; 4], usize)> = mesh
        .tetrahedra
        .iter()
        .enumerate()
        .map(|(t, &corners)| {
            let mut key = corners;
            key.sort_unstable();
            (key, t)
        })
        .collect();
    sorted.sort_unstable();
    let mut later: Vec<usize> = sorted.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| w[1].1).collect();
    if later.is_empty() {
        return;
    }
    later.sort_unstable();
    warnings.push(TetWarning::Duplicates { count: later.len(), numbers: list(&later) });
    let mut number = 0;
    mesh.tetrahedra.retain(|_| {
        number += 1;
        later.binary_search(&(number - 1)).is_err()
    });
}

/// Sides of one tetrahedron, or of two that see it from opposite directions.
fn check_sides(mesh: &TetMesh) -> Result<(), TetError> {
    let sides = mesh.sides();
    let sound = |shared: &[super::boundary::TetFace]| {
        shared.len() == 1 || shared.len() == 2 && shared[0].ascending != shared[1].ascending
    };
    let mut wrong = sides.chunk_by(|a, b| a.vertices == b.vertices).filter(|shared| !sound(shared));
    let Some(first) = wrong.next() else { return Ok(()) };
    let owners: Vec<usize> = first.iter().map(|side| side.tetrahedron as usize).collect();
    Err(TetError::Overlap { count: 1 + wrong.count(), vertices: first[0].vertices, tetrahedra: list(&owners) })
}

/// The first few numbers, for a message.
fn list(numbers: &[usize]) -> String {
    let mut text: Vec<String> = numbers.iter().take(6).map(usize::to_string).collect();
    if numbers.len() > text.len() {
        text.push("…".into());
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> TetMesh {
        TetMesh::block(DVec3::ONE, [1; 3])
    }

    #[test]
    fn a_sound_mesh_passes_unchanged() {
        assert_eq!(cube().check(), Ok((cube(), vec![])));
        assert_eq!(cube().repair(), Ok((cube(), vec![])));
        assert_eq!(TetMesh::default().check(), Err(TetError::Empty));
    }

    #[test]
    fn bad_elements_are_named_even_if_asked_to_repair() {
        let mut mesh = cube();
        mesh.tetrahedra[4][1] = 8;
        assert_eq!(mesh.repair(), Err(TetError::Index { tetrahedron: 4, index: 8, vertices: 8 }));
        let mut mesh = cube();
        mesh.tetrahedra[5][0] = 7;
        assert_eq!(mesh.repair(), Err(TetError::Repeated { tetrahedron: 5, vertex: 7 }));
        let mut mesh = cube();
        mesh.vertices[3].z = f64::INFINITY;
        assert!(matches!(mesh.repair(), Err(TetError::NonFinite { vertex: 3, .. })));
    }

    #[test]
    fn inside_out_tetrahedra_are_listed_or_turned() {
        let mut mesh = cube();
        mesh.tetrahedra[1].swap(2, 3);
        mesh.tetrahedra[4].swap(2, 3);
        assert_eq!(
            mesh.check().unwrap_err().to_string(),
            "2 tetrahedra are inside out: number 1, 4; reorder their vertices, or let the mesh be repaired"
        );
        let expected = vec![TetWarning::Reordered { count: 2, numbers: "1, 4".into() }];
        assert_eq!(mesh.repair(), Ok((cube(), expected)));
        let mut mesh = cube();
        mesh.tetrahedra.iter_mut().for_each(|t| t.swap(2, 3));
        assert_eq!(mesh.check(), Ok((cube(), vec![TetWarning::Turned])));
    }

    #[test]
    fn flat_tetrahedra_are_listed_or_dropped() {
        let mut mesh = cube();
        mesh.tetrahedra.insert(2, [0, 1, 2, 3]);
        let error = mesh.check().unwrap_err();
        assert!(matches!(&error, TetError::Flat { count: 1, numbers, .. } if numbers == "2"), "{error}");
        assert_eq!(mesh.repair(), Ok((cube(), vec![TetWarning::Dropped { count: 1, numbers: "2".into() }])));
        // A sliver just above and just below the limit.
        for (height, sound) in [(7e-12, true), (5e-12, false)] {
            let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(0.3, 0.3, height)];
            assert_eq!(TetMesh { vertices, tetrahedra: vec![[0, 1, 2, 3]] }.check().is_ok(), sound);
        }
        let only_flat = TetMesh { tetrahedra: vec![[0, 1, 2, 3]], ..cube() };
        assert_eq!(only_flat.repair(), Err(TetError::Empty));
        let huge = cube().mapped(|v| 1e150 * v);
        assert!(matches!(huge.check(), Err(TetError::Flat { count: 6, .. })));
    }

    #[test]
    fn what_has_no_effect_is_dropped_with_a_warning() {
        let mut mesh = cube();
        mesh.vertices.push(DVec3::splat(9.0));
        mesh.tetrahedra.push([3, 1, 0, 7]);
        mesh.tetrahedra[6].swap(0, 1);
        mesh.tetrahedra[6].swap(2, 3);
        let (mended, warnings) = mesh.repair().unwrap();
        assert_eq!(mended, cube());
        let numbers = "6".to_string();
        let again = TetWarning::Reordered { count: 1, numbers: numbers.clone() };
        let dropped = [TetWarning::Duplicates { count: 1, numbers }, TetWarning::Unused { count: 1 }];
        assert!(
            warnings.ends_with(&dropped) && warnings[..warnings.len() - 2].iter().all(|w| *w == again),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_side_of_three_and_a_fold_are_refused() {
        let third = [DVec3::Z, DVec3::NEG_Z, DVec3::new(0.5, 0.5, -2.0)];
        let vertices = [[DVec3::ZERO, DVec3::X, DVec3::Y].as_slice(), &third].concat();
        let mesh = TetMesh { vertices, tetrahedra: vec![[0, 1, 2, 3], [0, 2, 1, 4], [0, 2, 1, 5]] };
        let Err(TetError::Overlap { vertices: [0, 1, 2], tetrahedra, .. }) = mesh.check() else {
            panic!("{:?}", mesh.check())
        };
        assert_eq!(tetrahedra, "0, 1, 2");
        let fold = TetMesh { tetrahedra: mesh.tetrahedra[1..].to_vec(), ..mesh };
        assert!(matches!(fold.check(), Err(TetError::Overlap { count: 1, .. })), "{:?}", fold.check());
    }

    #[test]
    fn parts_and_pinches_are_told() {
        let mut two = cube();
        two.vertices.extend(cube().vertices.iter().map(|&v| v + DVec3::ONE));
        two.tetrahedra.extend(cube().tetrahedra.iter().map(|t| t.map(|v| v + 8)));
        assert_eq!(two.check().unwrap().1, [TetWarning::Parts { count: 2 }]);
        // Corner 7 of the first is corner 0 of the second.
        two.tetrahedra.iter_mut().flatten().for_each(|v| *v = if *v == 8 { 7 } else { *v });
        let pinched = TetWarning::Pinched { count: 1, vertex: 7 };
        assert_eq!(two.check().unwrap().1, [TetWarning::Unused { count: 1 }, TetWarning::Parts { count: 2 }, pinched]);
    }

    #[test]
    fn messages_are_one_short_line() {
        let numbers = list(&[usize::MAX; 9]);
        assert_eq!(numbers.matches(',').count(), 6);
        let errors = [
            TetError::Overlap { count: usize::MAX, vertices: [u32::MAX; 3], tetrahedra: list(&[9999999; 9]) },
            TetError::Flat { count: 4294967295, numbers: list(&[4294967295; 9]), limit: 1e-300 },
        ];
        for error in errors {
            assert!(error.to_string().len() <= 300, "{error}");
        }
    }
}

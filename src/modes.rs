//! `bathtub modes`: how the reduced bodies of a scene can move.

use crate::args::ModesArgs;
use crate::check::load;
use crate::exit::{Exit, Failure};
use crate::terminal::say;
use bathtub_engine::grid::Axis;
use bathtub_engine::solid::elastic::Elastic;
use bathtub_engine::solid::reduced::{Basis, Modes, Reduced};
use std::fmt::Write;
use std::path::Path;

/// List frequencies, and how much of each mode the fluid feels; write modes if asked to.
pub fn modes(args: &ModesArgs) -> Result<Exit, Failure> {
    let scene = load(&args.scene)?;
    let flat = Axis::ALL.map(|axis| scene.params.grid.is_flat(axis));
    if scene.params.reduced.is_empty() {
        return Err(Failure::new(Exit::Scene, "no body of the scene has modes; give an [[elastic]] body `modes = 20`"));
    }
    for reduced in &scene.params.reduced {
        let Elastic { name, material, rest, .. } = &reduced.elastic;
        let failed = |error: &dyn std::fmt::Display| Failure::new(Exit::Scene, format!("{name}: {error}"));
        let modes = reduced.lowest(flat).map_err(|error| failed(&error))?;
        let basis = reduced.basis(flat).map_err(|error| failed(&error))?;
        say(&format!("{name}: {} vertices, {} modes, {}", rest.vertices.len(), modes.count, copies(reduced)));
        say("  mode   dry frequency   along the normal");
        for k in 0..modes.count {
            say(&line(k, &basis, material.speed_of_sound()));
        }
        if let Some(directory) = &args.to {
            write(directory, name, reduced, &modes)?;
        }
    }
    Ok(Exit::Ok)
}

fn copies(reduced: &Reduced) -> String {
    match reduced.copies.len() {
        1 => "one body".into(),
        n => format!("{n} bodies"),
    }
}

/// Frequencies scale with √(E/ρ).
fn line(k: usize, basis: &Basis, speed: f64) -> String {
    let frequency = basis.squares[k].sqrt() * speed / std::f64::consts::TAU;
    let felt = if basis.is_felt(k) { "" } else { "   not felt by the fluid" };
    format!("  {k:4}   {frequency:10.4} Hz   {:8.1} %{felt}", 100.0 * basis.normal_share[k])
}

/// As a legacy VTK file, which ParaView reads.
fn write(directory: &Path, name: &str, reduced: &Reduced, modes: &Modes) -> Result<(), Failure> {
    let rest = &reduced.elastic.rest;
    let mut text = format!("# vtk DataFile Version 3.0\nmodes of {name}\nASCII\nDATASET UNSTRUCTURED_GRID\n");
    let mut add = |line: std::fmt::Arguments| text.write_fmt(line).expect("a string takes anything");
    add(format_args!("POINTS {} double\n", rest.vertices.len()));
    rest.vertices.iter().for_each(|v| add(format_args!("{} {} {}\n", v.x, v.y, v.z)));
    let count = rest.tetrahedra.len();
    add(format_args!("CELLS {count} {}\n", 5 * count));
    rest.tetrahedra.iter().for_each(|[a, b, c, d]| add(format_args!("4 {a} {b} {c} {d}\n")));
    add(format_args!("CELL_TYPES {count}\n"));
    rest.tetrahedra.iter().for_each(|_| add(format_args!("10\n")));
    add(format_args!("POINT_DATA {}\n", rest.vertices.len()));
    for k in 0..modes.count {
        add(format_args!("VECTORS mode_{k} double\n"));
        for n in 0..rest.vertices.len() {
            let s = modes.directions[modes.count * n + k];
            add(format_args!("{} {} {}\n", s.x, s.y, s.z));
        }
    }
    let path = directory.join(format!("{name}.vtk"));
    let unwritable = |error: std::io::Error| Failure::new(Exit::Io, format!("{}: {error}", path.display()));
    std::fs::create_dir_all(directory).map_err(unwritable)?;
    std::fs::write(&path, text).map_err(unwritable)
}

//! Our volumes as the reference OpenVDB library sees them, through its Python module (Debian: python3-openvdb).
//!
//! Nothing but Rust is needed to build and test Bathtub. Where the module is absent, does not load, or cannot do what is asked
//! of it (one built for another NumPy makes no meshes), the test says why and ends; only wrong values fail.

use bathtub_engine::grid::Grid;
use bathtub_output::vdb::{self, Header, Values, Volume};
use glam::DVec3;
use std::fs;
use std::process::Command;

/// What every script begins with.
const IMPORT: &str = "
import sys
try:
    import openvdb as vdb
except ModuleNotFoundError:
    import pyopenvdb as vdb
";

const SCRIPT: &str = r#"
grids, meta = vdb.readAll(sys.argv[1])
print(meta["bathtub_frame"], meta["bathtub_scene_hash"])
for g in grids:
    print(g.name, g.valueTypeName, g.gridClass, g.activeVoxelCount(), *g.evalActiveVoxelBoundingBox())
    print(*(round(c, 9) for c in g.transform.indexToWorld((0, 0, 0))), *g.transform.voxelSize())
    a = g.getConstAccessor()
    for at in [(0, 0, 0), (7, 8, 9), (4, 290, 3), (18, 299, 8), (9, 9, 0)]:
        print(a.getValue(at), a.isValueOn(at))
"#;

/// A Python that has the module and can do what `probe` does with it.
fn python(probe: &str) -> Option<&'static str> {
    let mut why = String::new();
    let works = |python: &&str| {
        let output = Command::new(python).args(["-c", &format!("{IMPORT}{probe}")]).output();
        why = match output {
            Ok(output) if output.status.success() => return true,
            Ok(output) => String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("it crashed").to_owned(),
            Err(error) => error.to_string(),
        };
        false
    };
    let found = ["/usr/bin/python3", "python3"].into_iter().find(works);
    if found.is_none() {
        eprintln!("nothing checked, Python's module openvdb cannot be used: {why}");
    }
    found
}

/// What a script says of a file of `volumes`, line by line.
fn told(python: &str, script: &str, name: &str, grid: Grid, volumes: &[Volume]) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("bathtub-{name}-{}.vdb", std::process::id()));
    let header = Header { grid, time: 0.5, frame: 12, scene_hash: "cafe".into() };
    vdb::write(&mut fs::File::create(&path).unwrap(), &header, volumes).unwrap();
    let output = Command::new(python).args(["-c", &format!("{IMPORT}{script}")]).arg(&path).output().unwrap();
    fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn the_reference_library_reads_every_voxel_at_its_place() {
    let Some(python) = python("vdb.FloatGrid().getConstAccessor()") else { return };
    // Values that say where they are; a plane of zeros is inactive. 300 cells reach over three nodes.
    let grid = Grid::new([19, 300, 9], 0.05, DVec3::new(-1.0, 0.25, 3.0));
    let value = |[i, j, k]: [usize; 3]| if i == 9 { 0.0 } else { (1 + i + 32 * j + 16384 * k) as f32 };
    let density: Vec<f32> = (0..grid.cells()).map(|n| value(grid.cell_at(n))).collect();
    let velocity: Vec<[f32; 3]> = density.iter().map(|&d| [d, -d, 0.5 * d]).collect();
    let volumes = [
        Volume { name: "density", values: Values::Float(&density), threshold: 0.0 },
        Volume { name: "velocity", values: Values::Vec3(&velocity), threshold: 0.0 },
    ];
    let mut expected = vec!["12 cafe".to_string()];
    let active = grid.cells() - 300 * 9;
    for (name, kind, class) in [("density", "float", "fog volume"), ("velocity", "vec3s", "unknown")] {
        expected.push(format!("{name} {kind} {class} {active} (0, 0, 0) (18, 299, 8)"));
        expected.push("-0.975 0.275 3.025 0.05 0.05 0.05".into());
        for at in [[0, 0, 0], [7, 8, 9], [4, 290, 3], [18, 299, 8], [9, 9, 0]] {
            let v = if at[2] < 9 { value(at) } else { 0.0 };
            let on = if v == 0.0 { "False" } else { "True" };
            expected.push(match name {
                "density" => format!("{v:.1} {on}"),
                _ => format!("({:.1}, {:.1}, {:.1}) {on}", v, if v == 0.0 { 0.0 } else { -v }, 0.5 * v),
            });
        }
    }
    assert_eq!(told(python, SCRIPT, "openvdb", grid, &volumes), expected);
}

/// Water left of x = 15 m in a long box.
fn half_full() -> (Grid, Vec<f32>) {
    let grid = Grid::new([300, 40, 40], 0.1, DVec3::ZERO);
    let distance = (0..grid.cells()).map(|n| grid.cell_centre(grid.cell_at(n)).x as f32 - 15.0).collect();
    (grid, distance)
}

const LEVEL_SET_SCRIPT: &str = r#"
g = vdb.readAll(sys.argv[1])[0][0]
print(g.name, g.gridClass, g.activeVoxelCount(), round(g.background, 6))
a = g.getConstAccessor()
for at in [(140, 20, 20), (2, 2, 2), (70, 20, 20), (150, 20, 20), (157, 20, 20), (1, 39, 39)]:
    print(round(a.getValue(at), 4), a.isValueOn(at))
"#;

/// The band is active, whole leaves and whole nodes inside are minus the band.
#[test]
fn the_reference_library_reads_a_level_set() {
    let Some(python) = python("vdb.FloatGrid().getConstAccessor()") else { return };
    let (grid, distance) = half_full();
    let values = Values::LevelSet { distance: &distance, band: 0.3 };
    let volumes = [Volume { name: "surface", values, threshold: 0.0 }];
    let expected = [
        &format!("surface level set {} 0.3", 6 * 40 * 40),
        "-0.3 False",
        "-0.3 False",
        "-0.3 False",
        "0.05 True",
        "0.3 False",
        "-0.3 False",
    ];
    assert_eq!(told(python, LEVEL_SET_SCRIPT, "level-set", grid, &volumes), expected);
}

const SURFACE_SCRIPT: &str = r#"
g = vdb.readAll(sys.argv[1])[0][0]
points, quads = g.convertToQuads(isovalue=0)
inner = [p for p in points if 1 < p[1] < 3 and 1 < p[2] < 3]
print(len(inner) > 300, all(abs(p[0] - 15.0) < 1e-3 for p in inner))
"#;

/// Meshes of the library are arrays of NumPy, which it must have been built for.
#[test]
fn the_reference_library_finds_the_surface_where_it_is() {
    let probe = "g = vdb.FloatGrid(1.0)\ng.fill((0, 0, 0), (3, 3, 3), -1.0)\ng.convertToQuads(isovalue=0)";
    let Some(python) = python(probe) else { return };
    let (grid, distance) = half_full();
    let values = Values::LevelSet { distance: &distance, band: 0.3 };
    let volumes = [Volume { name: "surface", values, threshold: 0.0 }];
    assert_eq!(told(python, SURFACE_SCRIPT, "surface", grid, &volumes), ["True True"]);
}

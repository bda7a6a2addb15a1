//! Defaults that depend on other keys, and keys that belong to one fluid only.

use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::{BubblesName, SceneFile, TransferName, WallEntry};
use crate::water::FLIP_RATIO;
use bathtub_engine::fluid::water::WaterParams;
use bathtub_engine::world::TimeParams;
use std::path::Path;

/// Write every default that depends on other keys into the file; `path` is where it was read.
pub fn fill(document: &Document, file: &mut SceneFile, path: &Path) -> Result<(), SceneError> {
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().chars().map(portable).collect::<String>();
    let name = file.scene.name.get_or_insert_with(stem);
    check_name(document, "scene.name", name)?;

    let grid = &mut file.grid;
    let [nx, ny, nz] = grid.cells.map(|n| n as f64);
    let dx = match (grid.dx, grid.size) {
        (Some(dx), None) => dx,
        (None, Some(size)) => size / nx.max(ny).max(nz),
        (Some(_), Some(_)) => {
            let message = "`dx` and `size` say the same thing; give one of them";
            return Err(document.error_at(ErrorKind::Scene, "grid.size", message));
        }
        (None, None) => {
            let message = "missing key `dx` (edge of a cell, m) or `size` (longest side of the domain, m)";
            return Err(document.error_at(ErrorKind::Scene, "grid", message));
        }
    };
    grid.origin.get_or_insert([-0.5 * nx * dx, 0.0, -0.5 * nz * dx]);

    let TimeParams { max_dt, min_dt, .. } = TimeParams::new(file.time.fps);
    file.time.max_dt.get_or_insert(max_dt);
    file.time.min_dt.get_or_insert(min_dt);

    match is_water(document, file)? {
        true => fill_water(document, file)?,
        false => fill_smoke(file),
    }
    for (i, source) in file.source.iter_mut().enumerate() {
        name_entry(document, "source", i, &mut source.name)?;
    }
    for (i, obstacle) in file.obstacle.iter_mut().enumerate() {
        name_entry(document, "obstacle", i, &mut obstacle.name)?;
        if obstacle.keyframes.is_empty() {
            obstacle.position.get_or_insert([0.0; 3]);
        }
    }
    for (i, body) in file.body.iter_mut().enumerate() {
        name_entry(document, "body", i, &mut body.name)?;
    }
    for (i, elastic) in file.elastic.iter_mut().enumerate() {
        name_entry(document, "elastic", i, &mut elastic.name)?;
        for hold in elastic.hold.iter_mut().filter(|hold| hold.keyframes.is_empty()) {
            hold.position.get_or_insert([0.0; 3]);
        }
    }
    Ok(())
}

/// Whether the scene is one of water; no key may be for the other fluid.
fn is_water(document: &Document, file: &SceneFile) -> Result<bool, SceneError> {
    let water = file.water.is_some() || !file.liquid.is_empty();
    let mut foreign = Vec::new();
    for (i, source) in file.source.iter().enumerate() {
        let of_smoke = [("density", source.density), ("temperature", source.temperature), ("flicker", source.flicker)];
        let keys = if water { of_smoke.to_vec() } else { vec![("rate", source.rate)] };
        foreign.extend(keys.iter().filter(|(_, given)| given.is_some()).map(|(key, _)| format!("source.{i}.{key}")));
    }
    if water {
        for (side, wall) in file.walls.sides().into_iter().flatten() {
            let WallEntry::Inflow { density, temperature, .. } = wall else { continue };
            let keys = [("density", density), ("temperature", temperature)];
            let given = keys.iter().filter(|(_, given)| given.is_some());
            foreign.extend(given.map(|(key, _)| format!("walls.{side}.inflow.{key}")));
        }
        if file.smoke.is_some() {
            let message = "a scene is one of smoke or one of water; remove [smoke], or [water] and every [[liquid]]";
            return Err(document.error_at(ErrorKind::Scene, "smoke", message));
        }
    } else {
        foreign.extend((!file.drain.is_empty()).then(|| "drain.0".into()));
        foreign.extend((!file.bubble.is_empty()).then(|| "bubble.0".into()));
    }
    let Some(path) = foreign.first() else { return Ok(water) };
    let key = path.rsplit('.').find(|part| part.parse::<usize>().is_err()).unwrap_or_default();
    let message = match water {
        true => format!("`{key}` is for smoke, and this is a scene of water; remove it"),
        false => format!("`{key}` is for water, and this is a scene of smoke; remove it, or add a [water] section"),
    };
    Err(document.error_at(ErrorKind::Scene, path, message))
}

fn fill_smoke(file: &mut SceneFile) {
    file.smoke.get_or_insert_default();
    for source in &mut file.source {
        source.density.get_or_insert(1.0);
        source.temperature.get_or_insert(0.0);
        source.flicker.get_or_insert(0.0);
    }
    let walls = &mut file.walls;
    for wall in
        [&mut walls.x_min, &mut walls.x_max, &mut walls.y_min, &mut walls.y_max, &mut walls.z_min, &mut walls.z_max]
    {
        if let WallEntry::Inflow { density, temperature, .. } = wall {
            density.get_or_insert(0.0);
            temperature.get_or_insert(0.0);
        }
    }
}

fn fill_water(document: &Document, file: &mut SceneFile) -> Result<(), SceneError> {
    let water = file.water.get_or_insert_default();
    let cells = file.grid.cells.map(|n| n as usize);
    water.particles.get_or_insert(WaterParams::new(cells).particles_per_axis as i64);
    water.bubbles.get_or_insert(if file.bubble.is_empty() { BubblesName::Off } else { BubblesName::On });
    match (water.transfer, water.flip_ratio) {
        (TransferName::Flip, None) => water.flip_ratio = Some(FLIP_RATIO),
        (TransferName::Flip, Some(_)) | (_, None) => {}
        (_, Some(_)) => {
            let message = "`flip_ratio` is for transfer = \"flip\"; remove it, or choose that transfer";
            return Err(document.error_at(ErrorKind::Scene, "water.flip_ratio", message));
        }
    }
    for (i, liquid) in file.liquid.iter_mut().enumerate() {
        name_entry(document, "liquid", i, &mut liquid.name)?;
        if liquid.shape.is_some() {
            liquid.position.get_or_insert([0.0; 3]);
        }
    }
    for (i, bubble) in file.bubble.iter_mut().enumerate() {
        name_entry(document, "bubble", i, &mut bubble.name)?;
    }
    for (i, drain) in file.drain.iter_mut().enumerate() {
        name_entry(document, "drain", i, &mut drain.name)?;
    }
    Ok(())
}

/// Entries without a name get their number.
fn name_entry(document: &Document, kind: &str, i: usize, name: &mut Option<String>) -> Result<(), SceneError> {
    let name = name.get_or_insert_with(|| format!("{kind}-{i}"));
    if ["obstacle", "body", "elastic"].contains(&kind) && FLUID_FILES.contains(&name.as_str()) {
        let message = format!("\"{name}\" is what files of the fluid are called; choose another name");
        return Err(document.error_at(ErrorKind::Scene, &format!("{kind}.{i}.name"), message));
    }
    check_name(document, &format!("{kind}.{i}.name"), name)
}

/// Names of the fluid's own files, which no body's may replace.
const FLUID_FILES: [&str; 3] = ["smoke", "water", "particles"];

/// Names become parts of file names.
fn check_name(document: &Document, path: &str, name: &str) -> Result<(), SceneError> {
    let length = name.chars().count();
    if (1..=64).contains(&length) && name.chars().all(|c| portable(c) == c) {
        return Ok(());
    }
    let message = format!("\"{name}\" is no usable name; write 1 to 64 letters, digits, `_` or `-`");
    Err(document.error_at(ErrorKind::Scene, path, message))
}

fn portable(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}

//! A scene of smoke in the engine's terms.

use crate::bodies::Meshes;
use crate::document::Document;
use crate::error::{ErrorKind, SceneError};
use crate::file::{AdvectionName, SceneFile, TraceName};
use crate::regions::{Place, Region, Samples, check_unique, end_of};
use bathtub_engine::fluid::advect::{Advection, Trace};
use bathtub_engine::fluid::smoke::{SmokeParams, Source};
use bathtub_engine::grid::Grid;
use bathtub_engine::solid::Obstacle;
use glam::DVec3;

/// The smoke of a filled scene.
pub fn params(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    grid: &Grid,
    obstacles: &[Obstacle],
) -> Result<SmokeParams, SceneError> {
    let smoke = file.smoke.clone().unwrap_or_default();
    Ok(SmokeParams {
        rho: smoke.air_density,
        gravity: DVec3::from(file.scene.gravity),
        weight: smoke.weight,
        expansion: smoke.expansion,
        acceleration: DVec3::from(smoke.acceleration),
        confinement: smoke.confinement,
        dissipation: smoke.dissipation,
        cooling: smoke.cooling,
        advection: advection(smoke.advection),
        trace: trace(smoke.trace),
        sources: sources(document, file, meshes, grid, obstacles)?,
    })
}

pub fn advection(name: AdvectionName) -> Advection {
    match name {
        AdvectionName::SemiLagrangian => Advection::SemiLagrangian,
        AdvectionName::Maccormack => Advection::MacCormack,
        AdvectionName::Cubic => Advection::Cubic,
    }
}

pub fn trace(name: TraceName) -> Trace {
    match name {
        TraceName::Rk2 => Trace::Rk2,
        TraceName::Rk3 => Trace::Rk3,
    }
}

fn sources(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    grid: &Grid,
    obstacles: &[Obstacle],
) -> Result<Vec<Source>, SceneError> {
    check_unique(document, "source", file.source.iter().map(|s| &s.name))?;
    let still = Region::of_static(obstacles);
    let mut sources = Vec::new();
    for (i, entry) in file.source.iter().enumerate() {
        let key = format!("source.{i}");
        let name = entry.name.clone().unwrap_or_default();
        let end = end_of(document, &key, entry.start, entry.end)?;
        let (position, rotation) = (entry.position, entry.rotation);
        let place = Place { key: &key, name: &name, shape: &entry.shape, position, rotation };
        let (shape, pose) = place.resolve(document, meshes, grid)?;
        let region = Region::new(&shape, &pose);
        let buried = region.is_buried(&Samples::new(grid, 1, region.bounds), &still);
        if buried.unwrap_or_else(|| still.iter().any(|solid| solid.contains(pose.position))) {
            let message = format!("\"{name}\" lies entirely inside a solid and can emit nothing; move it out");
            return Err(document.error_at(ErrorKind::Scene, &key, message));
        }
        sources.push(Source {
            name,
            shape,
            pose,
            start: entry.start,
            end,
            density: entry.density.unwrap_or_default(),
            temperature: entry.temperature.unwrap_or_default(),
            velocity: entry.velocity.map(DVec3::from),
            flicker: entry.flicker.unwrap_or_default(),
            // Far apart for neighbouring seeds, so that no two sources of two scenes share theirs.
            seed: (file.scene.seed as u64) << 16 | i as u64,
        });
    }
    Ok(sources)
}

//! A scene of water in the engine's terms, and how much water there is and may come to be.

use crate::bodies::Meshes;
use crate::document::Document;
use crate::error::{ErrorKind, SceneError, short};
use crate::file::{BubblesName, LiquidEntry, SceneFile, TransferName, WaterSection};
use crate::placement::velocity;
use crate::regions::{Place, Region, Samples, check_unique, end_of};
use crate::smoke::trace;
use bathtub_engine::fluid::Shake;
use bathtub_engine::fluid::advect::Advection;
use bathtub_engine::fluid::boundary::Wall;
use bathtub_engine::fluid::water::{self as engine, Bubbles, Drain, Liquid, Transfer, WaterParams, WaterSource};
use bathtub_engine::geometry::{Pose, Shape};
use bathtub_engine::grid::{Axis, Grid};
use bathtub_engine::solid::elastic::Elastic;
use bathtub_engine::solid::{Obstacle, RigidBody};
use glam::DVec3;

/// Part of the grid's velocity that FLIP mixes in unless told otherwise.
pub const FLIP_RATIO: f64 = 0.97;

/// How much of the domain water fills, m³; estimated to about a hundredth of the domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// At the start.
    pub start: f64,
    /// Most that it can come to in the run, if nothing drains away.
    pub most: f64,
}

/// What the water of a scene meets.
pub struct Setting<'a> {
    /// The domain.
    pub grid: &'a Grid,
    /// Its sides.
    pub walls: &'a [[Wall; 2]; 3],
    /// The solids in it.
    pub obstacles: &'a [Obstacle],
    /// Those that are free to move.
    pub bodies: &'a [RigidBody],
    /// Those that are elastic.
    pub elastic: &'a [Elastic],
}

/// The water of a filled scene.
pub fn params(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    setting: &Setting,
    warnings: &mut Vec<String>,
) -> Result<(WaterParams, Filling), SceneError> {
    let water = file.water.clone().unwrap_or_default();
    let params = WaterParams {
        rho: water.density,
        gravity: DVec3::from(file.scene.gravity),
        shake: water.shake.map(|s| Shake { amplitude: DVec3::from(s.amplitude), frequency: s.frequency }),
        transfer: transfer(&water),
        trace: trace(water.trace),
        particles_per_axis: water.particles.unwrap_or_default() as usize,
        hold_volume: water.hold_volume,
        bubbles: match water.bubbles.unwrap_or(BubblesName::Off) {
            BubblesName::Off => Bubbles::Off,
            BubblesName::On => Bubbles::On,
            BubblesName::Sealed => Bubbles::Sealed,
        },
        seed: file.scene.seed as u64,
        initial: liquids(document, file, meshes, setting, warnings)?,
        air: air(document, file, meshes, setting)?,
        sources: sources(document, file, meshes, setting)?,
        drains: drains(document, file, meshes, setting)?,
    };
    let filling = check_filling(document, file, &params, setting, warnings)?;
    Ok((params, filling))
}

fn transfer(water: &WaterSection) -> Transfer {
    match water.transfer {
        TransferName::Apic => Transfer::Apic,
        TransferName::Flip => Transfer::Flip { pic: 1.0 - water.flip_ratio.unwrap_or(FLIP_RATIO) },
        TransferName::SemiLagrangian => Transfer::Grid(Advection::SemiLagrangian),
        TransferName::Maccormack => Transfer::Grid(Advection::MacCormack),
        TransferName::Cubic => Transfer::Grid(Advection::Cubic),
    }
}

fn liquids(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    setting: &Setting,
    warnings: &mut Vec<String>,
) -> Result<Vec<Liquid>, SceneError> {
    check_unique(document, "liquid", file.liquid.iter().map(|l| &l.name))?;
    let solids = Region::of_solids(setting.obstacles, setting.bodies, setting.elastic);
    let mut liquids = Vec::new();
    for (i, entry) in file.liquid.iter().enumerate() {
        let (key, grid) = (format!("liquid.{i}"), setting.grid);
        let name = entry.name.clone().unwrap_or_default();
        let velocity = velocity(document, &format!("{key}.velocity"), entry.velocity, grid)?;
        let region = match extent(document, &key, entry)? {
            Extent::Level(level) => {
                let (floor, top) = (grid.origin.y, grid.upper().y);
                if level <= floor {
                    warnings.push(format!(
                        "{key} \"{name}\" holds no water: its level of {} m is not above the floor at {} m",
                        short(level),
                        short(floor)
                    ));
                } else if level > top {
                    warnings.push(format!(
                        "{key} \"{name}\" fills the whole domain: its level of {} m is above the top at {} m",
                        short(level),
                        short(top)
                    ));
                }
                engine::Region::Below(level)
            }
            Extent::Shape(shape) => {
                let position = entry.position.unwrap_or_default();
                let place = Place { key: &key, name: &name, shape, position, rotation: entry.rotation };
                let (shape, pose) = place.resolve(document, meshes, grid)?;
                check_matters(document, file, &place, &Region::new(&shape, &pose), &solids, grid)?;
                engine::Region::Shape(shape, pose)
            }
        };
        liquids.push(Liquid { region, velocity });
    }
    Ok(liquids)
}

/// Air amid the liquid.
fn air(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    setting: &Setting,
) -> Result<Vec<(Shape, Pose)>, SceneError> {
    check_unique(document, "bubble", file.bubble.iter().map(|b| &b.name))?;
    let still = Region::of_static(setting.obstacles);
    let mut air = Vec::new();
    for (i, entry) in file.bubble.iter().enumerate() {
        let key = format!("bubble.{i}");
        let name = entry.name.clone().unwrap_or_default();
        let (position, rotation) = (entry.position, entry.rotation);
        let place = Place { key: &key, name: &name, shape: &entry.shape, position, rotation };
        let (shape, pose) = place.resolve(document, meshes, setting.grid)?;
        check_matters(document, file, &place, &Region::new(&shape, &pose), &still, setting.grid)?;
        air.push((shape, pose));
    }
    Ok(air)
}

/// What a body of liquid fills, as typed.
enum Extent<'a> {
    Level(f64),
    Shape(&'a crate::file::ShapeEntry),
}

/// Either a shape or a level, and nothing that belongs to the other.
fn extent<'a>(document: &Document, key: &str, entry: &'a LiquidEntry) -> Result<Extent<'a>, SceneError> {
    let refuse = |key: &str, message: String| Err(document.error_at(ErrorKind::Scene, key, message));
    match (&entry.shape, entry.level) {
        (Some(shape), None) => Ok(Extent::Shape(shape)),
        (Some(_), Some(_)) => {
            refuse(&format!("{key}.level"), "`shape` and `level` exclude each other; remove one".into())
        }
        (None, None) => {
            refuse(key, "missing key `shape` (fills this shape) or `level` (fills the domain up to this y, m)".into())
        }
        (None, Some(level)) => {
            let given = [("position", entry.position.is_some()), ("rotation", entry.rotation.is_some())];
            match given.iter().find(|(_, given)| *given) {
                Some((name, _)) => {
                    let message = format!("`{name}` places a `shape`; a `level` has none, so remove it");
                    refuse(&format!("{key}.{name}"), message)
                }
                None => Ok(Extent::Level(level)),
            }
        }
    }
}

fn sources(
    document: &Document,
    file: &SceneFile,
    meshes: &Meshes,
    setting: &Setting,
) -> Result<Vec<WaterSource>, SceneError> {
    check_unique(document, "source", file.source.iter().map(|s| &s.name))?;
    let still = Region::of_static(setting.obstacles);
    let mut sources = Vec::new();
    for (i, entry) in file.source.iter().enumerate() {
        let (key, grid) = (format!("source.{i}"), setting.grid);
        let name = entry.name.clone().unwrap_or_default();
        let end = end_of(document, &key, entry.start, entry.end)?;
        if entry.velocity.is_none() && entry.rate.is_none() {
            let message = format!(
                "nothing flows out of \"{name}\"; give it a `velocity` (a jet, m/s) or a `rate` (a spring, m³/s)"
            );
            return Err(document.error_at(ErrorKind::Scene, &key, message));
        }
        let velocity = match entry.velocity {
            Some(v) => Some(velocity(document, &format!("{key}.velocity"), v, grid)?),
            None => None,
        };
        let (position, rotation) = (entry.position, entry.rotation);
        let place = Place { key: &key, name: &name, shape: &entry.shape, position, rotation };
        let (shape, pose) = place.resolve(document, meshes, grid)?;
        check_matters(document, file, &place, &Region::new(&shape, &pose), &still, grid)?;
        sources.push(WaterSource {
            shape,
            pose,
            start: entry.start,
            end,
            velocity,
            rate: entry.rate.unwrap_or_default(),
        });
    }
    Ok(sources)
}

fn drains(document: &Document, file: &SceneFile, meshes: &Meshes, setting: &Setting) -> Result<Vec<Drain>, SceneError> {
    check_unique(document, "drain", file.drain.iter().map(|d| &d.name))?;
    let still = Region::of_static(setting.obstacles);
    let mut drains = Vec::new();
    for (i, entry) in file.drain.iter().enumerate() {
        let key = format!("drain.{i}");
        let name = entry.name.clone().unwrap_or_default();
        let end = end_of(document, &key, entry.start, entry.end)?;
        let (position, rotation) = (entry.position, entry.rotation);
        let place = Place { key: &key, name: &name, shape: &entry.shape, position, rotation };
        let (shape, pose) = place.resolve(document, meshes, setting.grid)?;
        check_matters(document, file, &place, &Region::new(&shape, &pose), &still, setting.grid)?;
        drains.push(Drain { shape, pose, start: entry.start, end });
    }
    Ok(drains)
}

/// Refuse a region without room for a particle.
fn check_matters(
    document: &Document,
    file: &SceneFile,
    place: &Place,
    region: &Region,
    solids: &[Region],
    grid: &Grid,
) -> Result<(), SceneError> {
    let per_axis = file.water.as_ref().and_then(|w| w.particles).unwrap_or_default() as usize;
    let name = place.name;
    let message = match region.is_buried(&Samples::new(grid, per_axis, region.bounds), solids) {
        Some(false) => return Ok(()),
        Some(true) => format!("\"{name}\" lies entirely inside a solid, where there is no water; move it out"),
        None => {
            let spacing = grid.dx / per_axis as f64;
            format!(
                "\"{name}\" is too small for a single particle; particles are {spacing:.3e} m apart; make it larger"
            )
        }
    };
    Err(document.error_at(ErrorKind::Scene, place.key, message))
}

/// Estimate how much water there is and may come in; refuse to push any into a domain that can take none.
fn check_filling(
    document: &Document,
    file: &SceneFile,
    params: &WaterParams,
    setting: &Setting,
    warnings: &mut Vec<String>,
) -> Result<Filling, SceneError> {
    let Setting { grid, walls, obstacles, bodies, elastic } = *setting;
    let solids = Region::of_solids(obstacles, bodies, elastic);
    let liquids: Vec<Body> = params.initial.iter().map(Body::new).collect();
    let bubbles: Vec<Region> = params.air.iter().map(|(shape, pose)| Region::new(shape, pose)).collect();
    let samples = Samples::new(grid, 1, [grid.origin, grid.upper()]);
    let (mut wet, mut open) = (0.0, 0.0);
    for point in samples.points().filter(|x| !solids.iter().any(|solid| solid.contains(*x))) {
        open += samples.each;
        let is_wet = liquids.iter().any(|liquid| liquid.contains(point));
        let is_air = || bubbles.iter().any(|bubble| bubble.contains(point));
        wet += if is_wet && !is_air() { samples.each } else { 0.0 };
    }

    let flows = inflows(file, params, setting);
    let duration = file.time.frames as f64 / file.time.fps;
    let brought: f64 = flows.iter().map(|flow| flow.rate.max(0.0) * flow.time_until(duration)).sum();
    let filling = Filling { start: wet, most: (wet + brought).min(open) };

    let closed = walls.iter().flatten().all(|wall| *wall != Wall::Open) && params.drains.is_empty();
    let air = open - wet;
    if closed
        && air <= 0.0
        && let Some((key, rate)) = unbalanced(&flows)
    {
        let what = if rate > 0.0 { "enter" } else { "leave" };
        let message = format!(
            "incompatible sources: {:.3e} m³/s {what} a closed domain that is full; open a side, add a drain or leave air",
            rate.abs()
        );
        return Err(document.error_at(ErrorKind::Scene, key, message));
    }
    if closed && brought > air {
        warnings.push(format!(
            "about {brought:.3e} m³ of water come into a closed domain with {air:.3e} m³ of air: once full, it takes no more{}",
            if file.pressure.allow_incompatible { "" } else { " and the run ends" }
        ));
    }
    if wet <= 0.0 && brought <= 0.0 {
        warnings.push("there is no water in this scene, and none comes in".into());
    }
    Ok(filling)
}

/// A body of liquid at the start.
enum Body {
    Level(f64),
    Region(Region),
}

impl Body {
    fn new(liquid: &Liquid) -> Self {
        match &liquid.region {
            engine::Region::Below(level) => Self::Level(*level),
            engine::Region::Shape(shape, pose) => Self::Region(Region::new(shape, pose)),
        }
    }

    fn contains(&self, point: DVec3) -> bool {
        match self {
            Self::Level(level) => point.y < *level,
            Self::Region(region) => region.contains(point),
        }
    }
}

/// Water that comes in, or leaves.
struct Flow {
    key: String,
    /// m³/s, negative if it leaves.
    rate: f64,
    /// s.
    start: f64,
    /// s.
    end: f64,
}

impl Flow {
    fn time_until(&self, end: f64) -> f64 {
        (self.end.min(end) - self.start).max(0.0)
    }
}

/// Where a full domain gets more than it loses, or loses more, and how much, m³/s. Sides that only pass water on are no fault;
/// of a source the flow is an estimate, and nothing is known to balance it.
fn unbalanced(flows: &[Flow]) -> Option<(&str, f64)> {
    if let Some(source) = flows.iter().find(|flow| flow.key.starts_with("source")) {
        return Some((&source.key, source.rate));
    }
    let (net, total) = flows.iter().fold((0.0, 0.0), |(net, total), flow| (net + flow.rate, total + flow.rate.abs()));
    let of_net = flows.iter().find(|flow| flow.rate * net > 0.0)?;
    (net.abs() > 1e-9 * total).then_some((&of_net.key, net))
}

/// All sources and sides that bring water in or let it out at a given speed.
fn inflows(file: &SceneFile, params: &WaterParams, setting: &Setting) -> Vec<Flow> {
    let grid = setting.grid;
    let of_source = |(i, source): (usize, &WaterSource)| {
        let jet = source.velocity.map_or(0.0, |velocity| {
            let region = Region::new(&source.shape, &source.pose);
            let length = ((region.bounds[1] - region.bounds[0]) * velocity.normalize_or_zero().abs()).element_sum();
            if length > 0.0 { velocity.length() * region.volume(grid) / length } else { 0.0 }
        });
        Flow { key: format!("source.{i}"), rate: jet.max(source.rate), start: source.start, end: source.end }
    };
    let mut flows: Vec<Flow> = params.sources.iter().enumerate().map(of_source).collect();
    for (axis, sides) in Axis::ALL.into_iter().zip(file.walls.sides()) {
        let area: f64 = axis.others().iter().map(|a| grid.dx * grid.dims[a.index()] as f64).product();
        for (side, (key, _)) in sides.into_iter().enumerate() {
            let Wall::Inflow { velocity, .. } = setting.walls[axis.index()][side] else { continue };
            let inward = if side == 0 { velocity[axis.index()] } else { -velocity[axis.index()] };
            flows.push(Flow { key: format!("walls.{key}"), rate: area * inward, start: 0.0, end: f64::INFINITY });
        }
    }
    flows.retain(|flow| flow.rate != 0.0);
    flows
}

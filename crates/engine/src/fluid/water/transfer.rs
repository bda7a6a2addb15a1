//! Between particles and grid.
//!
//! To the grid: each sample takes the mean of the particles around it, with the weights of trilinear
//! interpolation N. For APIC (Jiang et al. 2015) a particle speaks for its neighbourhood:
//!
//! ```text
//! u_f = Σ_p N(x_f − x_p) (v_p + c_p·(x_f − x_p)) / Σ_p N(x_f − x_p)
//! ```
//!
//! Particles are visited in their order, by slabs of planes: the samples of a slab belong to one task, which visits the
//! particles of the slab and of the plane on either side. Every sum is therefore taken in the order of the particles,
//! for any number of threads and slabs.
//!
//! To the particles: v_p and c_p are the interpolated velocity and its gradient (APIC), or v_p changes as the
//! velocity there did (FLIP, Zhu and Bridson 2005).

use super::Transfer;
use super::particles::{CHUNK, Particles};
use crate::grid::sample::{Between, Spot};
use crate::grid::{Axis, CellField, FaceField, Grid, VelocityLattice};
use glam::DVec3;
use rayon::prelude::*;

/// Sums of weights and of weighted velocities; kept from step to step.
#[derive(Default)]
pub struct Gather {
    sums: [Vec<[f64; 2]>; 3],
}

/// Planes of cells whose samples one task owns.
const SLAB: usize = 8;

/// A task's samples: some planes of an array.
struct SlabOfFaces<'a, T> {
    /// The first plane.
    first: usize,
    planes: usize,
    /// Samples in a row and in a plane.
    row: usize,
    plane: usize,
    samples: &'a mut [T],
}

impl<'a, T> SlabOfFaces<'a, T> {
    fn new([nx, ny, _]: [usize; 3], first: usize, samples: &'a mut [T]) -> Self {
        Self { first, planes: samples.len() / (nx * ny), row: nx, plane: nx * ny, samples }
    }
}

impl Gather {
    /// Velocity on the faces; zero where no particle is near.
    pub fn velocity(&mut self, grid: &Grid, particles: &Particles, starts: &[u32], velocity: &mut FaceField) {
        let slabs = grid.dims[2].div_ceil(SLAB);
        // The uppermost plane of faces across z belongs to the last slab.
        let mut tasks: Vec<Vec<&mut [[f64; 2]]>> = (0..slabs).map(|_| Vec::with_capacity(3)).collect();
        for (axis, sums) in Axis::ALL.into_iter().zip(&mut self.sums) {
            let [nx, ny, nz] = grid.face_dims(axis);
            sums.resize(nx * ny * nz, [0.0; 2]);
            let mut rest = &mut sums[..];
            for (s, task) in tasks.iter_mut().enumerate() {
                let planes = if s + 1 < slabs { SLAB } else { nz - s * SLAB };
                let (own, others) = rest.split_at_mut(nx * ny * planes);
                task.push(own);
                rest = others;
            }
        }
        let spot = Spot::new(grid.dims);
        let still = [DVec3::ZERO; 3];
        let per_cell = 1.0 / grid.dx;
        tasks.into_par_iter().enumerate().for_each(|(s, sums)| {
            let mut slabs: Vec<(Axis, SlabOfFaces<[f64; 2]>)> = Vec::with_capacity(3);
            for (axis, sums) in Axis::ALL.into_iter().zip(sums) {
                sums.fill([0.0; 2]);
                if !grid.is_flat(axis) {
                    slabs.push((axis, SlabOfFaces::new(grid.face_dims(axis), s * SLAB, sums)));
                }
            }
            for index in particles_around(grid, starts, s) {
                let places = spot.place((particles.position[index] - grid.origin) * per_cell);
                let (v, c) = (particles.velocity[index], particles.affine.get(index).unwrap_or(&still));
                for (axis, slab) in &mut slabs {
                    let (v, c) = (v[axis.index()], c[axis.index()] * grid.dx);
                    let places = places.face(*axis);
                    let t = places[0].t;
                    // What the particle says of the lowest of the eight samples.
                    let v = v - c.dot(DVec3::from(places.map(|place| place.t)));
                    scatter(slab, places, |pair, weight, is_upper_y, is_upper_z| {
                        let v = v + if is_upper_y { c.y } else { 0.0 } + if is_upper_z { c.z } else { 0.0 };
                        // Four sums side by side, which the processor adds at once.
                        let says = [1.0, v, 1.0, v + c.x];
                        let parts = [1.0 - t, 1.0 - t, t, t];
                        for (n, sum) in pair.as_flattened_mut().iter_mut().enumerate() {
                            *sum = (weight * parts[n]).mul_add(says[n], *sum);
                        }
                    });
                }
            }
        });
        for (u, sums) in velocity.axes.iter_mut().zip(&self.sums) {
            u.par_iter_mut()
                .zip(sums)
                .for_each(|(u, &[weight, sum])| *u = if weight > 0.0 { sum / weight } else { 0.0 });
        }
    }
}

/// Density at the cell centres, 1 where cells are full: of what is at these positions, in the order of cells, each fills its `volume` of a cell.
pub fn density(
    grid: &Grid,
    positions: &[DVec3],
    starts: &[u32],
    volume: impl Fn(usize) -> f64 + Sync,
    density: &mut CellField,
) {
    let [nx, ny, _] = grid.dims;
    let spot = Spot::new(grid.dims);
    let per_cell = 1.0 / grid.dx;
    density.data.par_chunks_mut(nx * ny * SLAB).enumerate().for_each(|(s, samples)| {
        samples.fill(0.0);
        let mut slab = SlabOfFaces::new(grid.dims, s * SLAB, samples);
        for index in particles_around(grid, starts, s) {
            let places = spot.place((positions[index] - grid.origin) * per_cell).cell();
            let (t, volume) = (places[0].t, volume(index));
            scatter(&mut slab, places, |pair, weight, _, _| {
                let upper = weight * volume * t;
                pair[0] += weight * volume - upper;
                pair[1] += upper;
            });
        }
    });
}

/// The particles that reach samples of slab `s`: those of its planes and of the ones beside it.
fn particles_around(grid: &Grid, starts: &[u32], s: usize) -> std::ops::Range<usize> {
    let [nx, ny, nz] = grid.dims;
    let first = (s * SLAB).saturating_sub(1);
    let end = ((s + 1) * SLAB + 1).min(nz);
    starts[nx * ny * first] as usize..starts[nx * ny * end] as usize
}

/// Visit the pairs of samples along x around a place, in a slab: `add(pair, weight of the pair, whether it is the upper
/// one along y, along z)`.
#[inline(always)]
fn scatter<T: Copy>(
    slab: &mut SlabOfFaces<T>,
    [x, y, z]: [Between; 3],
    mut add: impl FnMut(&mut [T; 2], f64, bool, bool),
) {
    for (dz, wz) in [(0, 1.0 - z.t), (1, z.t)] {
        // Along an axis of one sample both are the same one, and the second weighs nothing.
        let plane = (z.index + dz * z.step).wrapping_sub(slab.first);
        if plane >= slab.planes {
            continue;
        }
        let first = slab.plane * plane + slab.row * y.index + x.index;
        for (dy, wy) in [(0, 1.0 - y.t), (1, y.t)] {
            let first = first + dy * y.step * slab.row;
            if x.step == 1 {
                let pair = <&mut [T; 2]>::try_from(&mut slab.samples[first..first + 2]).expect("two of two");
                add(pair, wy * wz, dy == 1, dz == 1);
            } else {
                let mut pair = [slab.samples[first]; 2];
                add(&mut pair, wy * wz, dy == 1, dz == 1);
                slab.samples[first] = pair[0];
            }
        }
    }
}

/// What becomes of particles away from the liquid: they fly.
pub struct Flight<'a> {
    /// Cells in or next to the liquid.
    pub near: &'a [bool],
    /// Velocity that they gain in the step, m/s.
    pub gain: DVec3,
}

/// Hand the new velocity to the particles; `change` is what forces and pressure made of it.
pub fn to_particles(
    grid: &Grid,
    transfer: Transfer,
    velocity: &FaceField,
    change: &FaceField,
    flight: &Flight,
    particles: &mut Particles,
) {
    let (new, change) = (VelocityLattice::new(velocity), VelocityLattice::new(change));
    let Particles { position, velocity, affine } = particles;
    let place = |x: DVec3| (x - grid.origin) / grid.dx;
    match transfer {
        Transfer::Apic => (position.par_iter(), velocity.par_iter_mut(), affine.par_iter_mut())
            .into_par_iter()
            .with_min_len(CHUNK)
            .for_each(|(&x, v, c)| {
                let p = place(x);
                if flight.near[grid.cell_around(p)] {
                    let (u, gradient) = new.linear_with_gradient(p);
                    (*v, *c) = (u, gradient.map(|g| g / grid.dx));
                } else {
                    (*v, *c) = (*v + flight.gain, [DVec3::ZERO; 3]);
                }
            }),
        Transfer::Flip { pic } => {
            position.par_iter().zip(velocity).with_min_len(CHUNK).for_each(|(&x, v)| {
                let p = place(x);
                *v = match flight.near[grid.cell_around(p)] {
                    true => pic * new.linear(p) + (1.0 - pic) * (*v + change.linear(p)),
                    false => *v + flight.gain,
                }
            });
        }
        Transfer::Grid(_) => position.par_iter().zip(velocity).with_min_len(CHUNK).for_each(|(&x, v)| {
            let p = place(x);
            *v = if flight.near[grid.cell_around(p)] { new.linear(p) } else { *v + flight.gain };
        }),
    }
}

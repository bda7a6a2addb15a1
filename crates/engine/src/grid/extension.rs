//! Continuing a field beyond the fluid: each missing value becomes the mean of its known neighbours,
//! layer by layer outwards. What lies further out than the last layer is set to zero.

use super::strides;
use rayon::prelude::*;

/// Which samples of one array are missing and in which order they are filled; made once per geometry.
#[derive(Clone, Debug)]
pub struct Extension {
    dims: [usize; 3],
    /// 0 = known, n = filled in layer n, [`BEYOND`] = out of reach.
    layer: Vec<u8>,
    /// Samples to fill, nearest layer first.
    order: Vec<u32>,
}

const BEYOND: u8 = u8::MAX;

/// Rows of samples handed to a thread at once.
const MIN_ROWS: usize = 64;

impl Extension {
    /// Plan the filling of `layers` layers around the samples for which `known` is true.
    pub fn new(dims: [usize; 3], known: &[bool], layers: u8) -> Self {
        assert!(layers < BEYOND);
        let layer: Vec<u8> = known.iter().map(|&k| if k { 0 } else { BEYOND }).collect();
        let mut plan = Self { dims, layer, order: Vec::new() };
        if layers == 0 {
            return plan;
        }
        plan.order = first_layer(dims, known);
        plan.order.iter().for_each(|&index| plan.layer[index as usize] = 1);
        let mut start = 0;
        for layer in 2..=layers {
            let end = plan.order.len();
            for n in start..end {
                for other in neighbours(dims, plan.order[n] as usize) {
                    if plan.layer[other] == BEYOND {
                        plan.layer[other] = layer;
                        plan.order.push(other as u32);
                    }
                }
            }
            start = end;
        }
        plan
    }

    /// Fill the missing samples of `data`.
    pub fn apply(&self, data: &mut [f64]) {
        data.par_iter_mut().zip(&self.layer).for_each(|(value, &layer)| {
            if layer == BEYOND {
                *value = 0.0;
            }
        });
        for &index in &self.order {
            let index = index as usize;
            let own = self.layer[index];
            let (mut sum, mut count) = (0.0, 0.0);
            for n in neighbours(self.dims, index).filter(|&n| self.layer[n] < own) {
                sum += data[n];
                count += 1.0;
            }
            data[index] = sum / count;
        }
    }
}

/// Missing samples with a known neighbour, in order.
fn first_layer([nx, ny, nz]: [usize; 3], known: &[bool]) -> Vec<u32> {
    let row_of = |j: usize, k: usize| &known[nx * (j + ny * k)..][..nx];
    let of_row = |row: usize| {
        let (j, k) = (row % ny, row / ny);
        let own = row_of(j, k);
        let beside = [
            if j > 0 { row_of(j - 1, k) } else { own },
            if j + 1 < ny { row_of(j + 1, k) } else { own },
            if k > 0 { row_of(j, k - 1) } else { own },
            if k + 1 < nz { row_of(j, k + 1) } else { own },
        ];
        let is_next = move |i: &usize| {
            let i = *i;
            let along = own[i.saturating_sub(1)] | own[(i + 1).min(nx - 1)];
            !own[i] & (along | beside[0][i] | beside[1][i] | beside[2][i] | beside[3][i])
        };
        (0..nx).filter(is_next).map(move |i| (i + nx * row) as u32)
    };
    (0..ny * nz).into_par_iter().with_min_len(MIN_ROWS).flat_map_iter(of_row).collect()
}

/// Storage indices of the up to six neighbours of a sample.
fn neighbours(dims: [usize; 3], index: usize) -> impl Iterator<Item = usize> {
    let stride = strides(dims);
    (0..3).flat_map(move |a| {
        let i = index / stride[a] % dims[a];
        let below = (i > 0).then(|| index - stride[a]);
        let above = (i + 1 < dims[a]).then(|| index + stride[a]);
        [below, above].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_outwards_and_is_zero_beyond_the_last_layer() {
        let known = [false, false, true, true, false, false, false, false];
        let mut data = [9.0, 9.0, 2.0, 4.0, 9.0, 9.0, 9.0, 9.0];
        Extension::new([8, 1, 1], &known, 2).apply(&mut data);
        assert_eq!(data, [2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 0.0, 0.0]);
    }

    #[test]
    fn a_corner_takes_the_mean_of_its_known_neighbours() {
        let mut data = [1.0, 0.0, 0.0, 3.0];
        Extension::new([2, 2, 1], &[true, false, false, true], 1).apply(&mut data);
        assert_eq!(data, [1.0, 2.0, 2.0, 3.0]);
    }

    #[test]
    fn nothing_known_is_all_zero() {
        let mut data = [5.0; 6];
        Extension::new([3, 2, 1], &[false; 6], 4).apply(&mut data);
        assert_eq!(data, [0.0; 6]);
    }
}

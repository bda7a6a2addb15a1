//! Continuing a field beyond the fluid: each missing value becomes the mean of its known neighbours,
//! layer by layer outwards. What lies further out than the last layer is set to zero.

/// Which samples of one array are missing and in which order they are filled; made once per geometry.
#[derive(Clone, Debug)]
pub struct Extension {
    dims: [usize; 3],
    /// 0 = known, n = filled in layer n, [`BEYOND`] = out of reach.
    layer: Vec<u8>,
    /// Samples to fill, nearest layer first.
    order: Vec<u32>,
    /// Samples out of reach.
    beyond: Vec<u32>,
}

const BEYOND: u8 = u8::MAX;

impl Extension {
    /// Plan the filling of `layers` layers around the samples for which `known` is true.
    pub fn new(dims: [usize; 3], known: &[bool], layers: u8) -> Self {
        assert!(layers < BEYOND);
        let layer = known.iter().map(|&k| if k { 0 } else { BEYOND }).collect();
        let mut plan = Self { dims, layer, order: Vec::new(), beyond: Vec::new() };
        let mut missing: Vec<u32> = (0..known.len() as u32).filter(|&i| !known[i as usize]).collect();
        for layer in 1..=layers {
            let is_next = |&index: &u32| neighbours(dims, index as usize).any(|n| plan.layer[n] < layer);
            let (next, rest): (Vec<u32>, Vec<u32>) = missing.into_iter().partition(is_next);
            next.iter().for_each(|&index| plan.layer[index as usize] = layer);
            plan.order.extend_from_slice(&next);
            missing = rest;
        }
        plan.beyond = missing;
        plan
    }

    /// Fill the missing samples of `data`.
    pub fn apply(&self, data: &mut [f64]) {
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
        for &index in &self.beyond {
            data[index as usize] = 0.0;
        }
    }
}

/// Storage indices of the up to six neighbours of a sample.
fn neighbours(dims: [usize; 3], index: usize) -> impl Iterator<Item = usize> {
    let stride = super::strides(dims);
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

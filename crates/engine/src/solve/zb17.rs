//! The coupled systems of \[ZB17\] as the paper writes them, over pressures and the velocities of elastic bodies.
//!
//! With Q = NᵀC = −dx² B, Z = A/Δt of the body and w = −Z v* (v* being the velocity that elasticity alone would give),
//!
//! ```text
//! [ Δt dx/ρ L   Q  ] [ p ]   [ GᵀA u* ]                                                      (eq. 19)
//! [ Qᵀ         −Z  ] [ v ] = [ w      ]
//!
//! [ Δt dx/ρ L + Q Z₁⁻¹Qᵀ   −α Q Z₁⁻¹ Z₂         ] [ p   ]   [ GᵀA u* + Q Z₁⁻¹ w ]            (eq. 33)
//! [ −α Z₂ Z₁⁻¹ Qᵀ           α² (Z₂ + Z₂ Z₁⁻¹ Z₂) ] [ v/α ] = [ −α Z₂ Z₁⁻¹ w      ]
//! ```
//!
//! with Z₁ = σ (1/Δt + τm) M diagonal and Z₂ = Z − Z₁. The first is indefinite; the second is positive definite for σ in (0, 1), and both
//! have the same solution (row A9).
//!
//! Lengths are in m, and masses in units in which the fluid has the density 1: condition numbers, and residuals of flows beside
//! residuals of forces, depend on it. The paper does not tell its units; with these its condition numbers come out.

use super::laplacian::Laplacian;
use super::written::SparseMatrix;
use super::yielding::Yielding;
use glam::DVec3;

/// The two numbers that \[ZB17, §6\] leaves to choose; those it took are the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zb17Params {
    /// Share of the mass in Z₁, in (0, 1).
    pub sigma: f64,
    /// Scale of velocities; none makes both parts of the right-hand side equally large.
    pub alpha: Option<f64>,
}

impl Default for Zb17Params {
    fn default() -> Self {
        Self { sigma: 0.9, alpha: Some(1e-3) }
    }
}

/// A system written out: matrix, right-hand side, and how pressures are found in a solution.
pub struct Zb17System {
    /// Over pressures of unknown cells, then velocities, three a vertex, body after body.
    pub matrix: SparseMatrix,
    /// Right-hand side.
    pub rhs: Vec<f64>,
    /// The cell of each pressure.
    pub cells: Vec<u32>,
    /// A pressure of the solution times this is one in the solver's unit, m/s.
    pub scale: f64,
}

/// Q, Z₁ and the rest of one body.
struct Parts<'a> {
    body: &'a Yielding,
    /// First unknown of the body.
    first: usize,
    /// −dx².
    area: f64,
    /// Z is A divided by this: ρ Δt.
    divisor: f64,
    /// 1 ÷ Z₁ of each vertex.
    inverse: Vec<f64>,
}

impl Zb17System {
    /// Eq. 19.
    pub fn indefinite(laplacian: &Laplacian, bodies: &[Yielding], rhs: &[f64]) -> Self {
        let parts = Parts::of(bodies, laplacian, 1.0);
        let (cells, numbers, mut b) = pressures(laplacian, bodies, rhs);
        let scale = fluid_scale(bodies);
        let mut rows: Vec<Vec<(u32, f64)>> = fluid_rows(laplacian, &cells, &numbers, scale);
        for part in &parts {
            for (cell, entries) in part.body.push.rows() {
                for (column, q) in part.columns(entries) {
                    rows[numbers[cell] as usize].push((column, q));
                }
            }
        }
        for part in &parts {
            let mut below = vec![Vec::new(); part.freedoms()];
            for (cell, entries) in part.body.push.rows() {
                for (column, q) in part.columns(entries) {
                    below[column as usize - part.first].push((numbers[cell], q));
                }
            }
            for (f, row) in below.iter_mut().enumerate() {
                row.extend(part.z(f).map(|(column, z)| ((part.first + column) as u32, -z)));
            }
            b.extend(part.times_z(&part.body.velocity).iter().map(|zv| -zv));
            rows.extend(below);
        }
        Self { matrix: SparseMatrix::new(rows.into_iter()), rhs: b, cells, scale: pressure_scale(bodies) }
    }

    /// Eq. 33.
    pub fn definite(laplacian: &Laplacian, bodies: &[Yielding], rhs: &[f64], params: Zb17Params) -> Self {
        let parts = Parts::of(bodies, laplacian, params.sigma);
        let (cells, numbers, mut b) = pressures(laplacian, bodies, rhs);
        let scale = fluid_scale(bodies);
        let mut rows: Vec<Vec<(u32, f64)>> = fluid_rows(laplacian, &cells, &numbers, scale);
        let mut lower_rhs = Vec::new();
        for part in &parts {
            // w = −Z v*, and Z₁⁻¹ w.
            let w: Vec<f64> = part.times_z(&part.body.velocity).iter().map(|zv| -zv).collect();
            let weighed: Vec<f64> = w.iter().enumerate().map(|(f, w)| w * part.inverse[f / 3]).collect();
            for (cell, entries) in part.body.push.rows() {
                let row = numbers[cell] as usize;
                b[row] +=
                    part.columns(entries).map(|(column, q)| q * weighed[column as usize - part.first]).sum::<f64>();
            }
            lower_rhs.push(part.times_z2(&weighed).iter().map(|v| -v).collect::<Vec<f64>>());
        }
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let below = lower_rhs.iter().map(|v| square(v)).sum::<f64>().sqrt();
        let auto = if below > 0.0 { square(&b).sqrt() / below } else { 1.0 };
        let alpha = params.alpha.unwrap_or(auto);
        for (part, lower) in parts.iter().zip(lower_rhs) {
            // Which cells a vertex pushes into.
            let mut around: Vec<Vec<(u32, DVec3)>> = vec![Vec::new(); part.freedoms() / 3];
            for (cell, entries) in part.body.push.rows() {
                entries.iter().for_each(|(v, w)| around[*v as usize].push((numbers[cell], part.area * *w)));
            }
            let mut below = vec![Vec::new(); part.freedoms()];
            for (v, cells) in around.iter().enumerate() {
                let inverse = part.inverse[v];
                for (cell, q) in cells {
                    rows[*cell as usize].extend(cells.iter().map(|(other, r)| (*other, inverse * q.dot(*r))));
                }
                for a in 0..3 {
                    let f = 3 * v + a;
                    for (column, z2) in part.z2(f) {
                        for (cell, q) in cells {
                            let value = -alpha * q[a] * inverse * z2;
                            rows[*cell as usize].push(((part.first + column) as u32, value));
                            below[column].push((*cell, value));
                        }
                    }
                }
            }
            for (f, row) in below.iter_mut().enumerate() {
                for (column, z2) in part.z2(f) {
                    row.push(((part.first + column) as u32, alpha * alpha * z2));
                    let part_of = z2 * part.inverse[column / 3];
                    row.extend(part.z2(column).map(|(c, z)| ((part.first + c) as u32, alpha * alpha * part_of * z)));
                }
            }
            b.extend(lower.iter().map(|v| alpha * v));
            rows.extend(below);
        }
        Self { matrix: SparseMatrix::new(rows.into_iter()), rhs: b, cells, scale: pressure_scale(bodies) }
    }

    /// The pressures of a solution, in the solver's unit, into `p`; cells that are no unknowns get zero.
    pub fn read(&self, solution: &[f64], p: &mut [f64]) {
        p.fill(0.0);
        self.cells.iter().zip(solution).for_each(|(&cell, value)| p[cell as usize] = self.scale * value);
    }
}

impl<'a> Parts<'a> {
    fn of(bodies: &'a [Yielding], laplacian: &Laplacian, sigma: f64) -> Vec<Self> {
        let mut first = (0..laplacian.len()).filter(|&cell| laplacian.is_unknown(cell)).count();
        let of_body = |body: &'a Yielding| {
            let divisor = body.rho * body.step.dt;
            let inverse = body.step.damped.iter().map(|mass| divisor / (sigma * mass)).collect();
            let parts = Self { body, first, area: -body.dx * body.dx, divisor, inverse };
            first += parts.freedoms();
            parts
        };
        bodies.iter().map(of_body).collect()
    }

    fn freedoms(&self) -> usize {
        self.body.freedoms()
    }

    /// Entries of a row of Q.
    fn columns<'b>(&'b self, entries: &'b [(u32, DVec3)]) -> impl Iterator<Item = (u32, f64)> + 'b {
        entries
            .iter()
            .flat_map(move |(v, w)| (0..3).map(move |a| ((self.first + 3 * *v as usize + a) as u32, self.area * w[a])))
    }

    /// A row of Z.
    fn z(&self, freedom: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.body.step.system.scalar_row(freedom).map(|(column, a)| (column, a / self.divisor))
    }

    /// A row of Z₂.
    fn z2(&self, freedom: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let own = self.inverse[freedom / 3].recip();
        self.z(freedom).map(move |(column, z)| (column, if column == freedom { z - own } else { z }))
    }

    fn times_z(&self, v: &[f64]) -> Vec<f64> {
        (0..self.freedoms()).map(|f| self.z(f).map(|(column, z)| z * v[column]).sum()).collect()
    }

    fn times_z2(&self, v: &[f64]) -> Vec<f64> {
        (0..self.freedoms()).map(|f| self.z2(f).map(|(column, z)| z * v[column]).sum()).collect()
    }
}

/// Unknown cells, the number of each cell among them, and GᵀA u*.
fn pressures(laplacian: &Laplacian, bodies: &[Yielding], rhs: &[f64]) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
    let cells: Vec<u32> = (0..laplacian.len()).filter(|&c| laplacian.is_unknown(c)).map(|c| c as u32).collect();
    let mut numbers = vec![u32::MAX; laplacian.len()];
    cells.iter().enumerate().for_each(|(n, &cell)| numbers[cell as usize] = n as u32);
    // What bodies push with v* is in the right-hand side of pressures alone, not here.
    let mut alone = rhs.to_vec();
    for body in bodies {
        body.push.scatter(&body.velocity, |cell, push| alone[cell] -= push);
    }
    let area = bodies.first().map_or(1.0, |body| body.dx * body.dx);
    let b = cells.iter().map(|&cell| area * alone[cell as usize]).collect();
    (cells, numbers, b)
}

/// Δt dx.
fn fluid_scale(bodies: &[Yielding]) -> f64 {
    bodies.first().map_or(1.0, |body| body.step.dt * body.dx)
}

/// Δt/dx: pressure ÷ density to the solver's unit.
fn pressure_scale(bodies: &[Yielding]) -> f64 {
    bodies.first().map_or(1.0, |body| body.step.dt / body.dx)
}

/// Rows of `scale` L between unknown cells.
fn fluid_rows(laplacian: &Laplacian, cells: &[u32], numbers: &[u32], scale: f64) -> Vec<Vec<(u32, f64)>> {
    let [nx, ny, nz] = laplacian.dims;
    let strides = [1, nx, nx * ny];
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::with_capacity(7); cells.len()];
    let mut row: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; nx]);
    for n in 0..ny * nz {
        laplacian.lower_row(n % ny, n / ny, &mut row);
        for i in 0..nx {
            let cell = nx * n + i;
            let own = numbers[cell];
            if own == u32::MAX {
                continue;
            }
            rows[own as usize].push((own, scale * row[3][i]));
            for (lower, stride) in row.iter().zip(strides) {
                if lower[i] > 0.0 && cell >= stride && numbers[cell - stride] != u32::MAX {
                    let other = numbers[cell - stride];
                    rows[own as usize].push((other, -scale * lower[i]));
                    rows[other as usize].push((own, -scale * lower[i]));
                }
            }
        }
    }
    rows
}

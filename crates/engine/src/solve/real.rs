//! The two scalars of the multigrid cycle: f32 for speed, f64 for proofs.

use std::ops::{Add, AddAssign, Mul, Sub};

/// A floating-point scalar.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + 'static
{
    /// Nearest value to `v`.
    fn of(v: f64) -> Self;
    /// The value itself.
    fn f64(self) -> f64;
}

impl Real for f32 {
    #[inline(always)]
    fn of(v: f64) -> Self {
        v as f32
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self as f64
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(v: f64) -> Self {
        v
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
}

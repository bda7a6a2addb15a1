//! Elastic bodies of tetrahedra on their own: rows F1–F7, F16, K1 and K4, fault rows 6, 12, 15, 16 and 33.

mod beams;
mod coupled;
mod motion;
mod recovery;
mod statics;
mod support;
mod turning;

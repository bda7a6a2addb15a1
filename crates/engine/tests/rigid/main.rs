//! Rigid bodies against closed forms; row names are those of docs/verification.md.

mod contact;
mod flight;
mod joints;
mod memory;
mod shapes;
mod support;

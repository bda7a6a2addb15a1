//! Properties of the pressure operator, its preconditioners and the solve. Row names are those of the validation table.

mod coupled;
mod cycle;
mod network;
mod operator;
mod pockets;
mod solve;

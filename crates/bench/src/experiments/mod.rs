//! Experiments whose results are known: `bathtub reproduce` shows them, tests check them.

pub mod box_lift;
pub mod budget;
pub mod condition;
pub mod cut_cell_order;
pub mod elastic_tank;
pub mod hanging_beam;
pub mod martin_moyce;
pub mod reduced_tank;
pub mod taylor_green;
pub mod volume;

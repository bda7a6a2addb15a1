//! The tables and experiments of \[ZB17\].

mod stability;
mod table_2;

pub use stability::EXPERIMENT as STABILITY;
pub use table_2::EXPERIMENT as TABLE_2;

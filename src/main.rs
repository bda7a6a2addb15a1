//! The `bathtub` command.

fn main() {}

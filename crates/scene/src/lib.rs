//! Scene files: TOML → a validated scene → what the engine runs.

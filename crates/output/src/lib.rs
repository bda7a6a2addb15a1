//! What a run leaves on disk: volumes, meshes, pictures, statistics, checkpoints.

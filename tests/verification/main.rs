//! Closed forms and exact discrete references; row names are those of docs/verification.md.

#[path = "../support/mod.rs"]
mod support;

mod advection;
mod archimedes;
mod bubbles;
mod cut_cells;
mod dam_break;
mod density_sweep;
mod elastic_areas;
mod elastic_bottom;
mod elastic_buoyancy;
mod elastic_contact;
mod elastic_energy;
mod elastic_faces;
mod elastic_hollow;
mod elastic_hydrostatics;
mod elastic_leaving;
mod elastic_ledger;
mod elastic_operator;
mod elastic_piston;
mod elastic_soft;
mod elastic_stiff;
mod elastic_threads;
mod energy;
mod floating;
mod flow_rates;
mod heave;
mod hydrostatics;
mod joints;
mod leaks;
mod redistance;
mod report_energy;
mod rigid_coupling;
mod slip;
mod sloshing;
mod still_water;
mod volume;

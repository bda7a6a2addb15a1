//! Whether the mesh of a liquid is one.

use bathtub_engine::geometry::TriMesh;
use bathtub_engine::world::World;
use bathtub_output::surface::liquid_surface;

/// A triangle is degenerate below this area, squares of a cell's edge.
const LEAST_AREA: f64 = 1e-7;
/// Of so many triangles one may be: smoothing leaves a needle now and then.
const TRIANGLES: usize = 5_000;

/// What is checked of the mesh of a world's liquid.
#[derive(Clone, Copy, Debug)]
pub struct MeshCheck {
    pub triangles: usize,
    /// Triangles without area.
    pub degenerate: usize,
    /// Edges that are not passed once in each direction.
    pub open: usize,
    /// Whether all coordinates are numbers inside the domain.
    pub inside: bool,
    /// m².
    pub area: f64,
    /// Of the mesh, m³.
    pub volume: f64,
    /// Of the particles, m³.
    pub liquid: f64,
    /// Area of the solids' surfaces, m².
    pub solids: f64,
}

impl MeshCheck {
    /// The mesh of a world of water as a frame has it.
    pub fn new(world: &World) -> Self {
        let grid = &world.params().grid;
        let solids = world.surfaces();
        let open = (!solids.is_empty()).then_some(&world.boundary().volume);
        let positions = &world.state().fluid.water().expect("a world of water").particles.position;
        let mesh = liquid_surface(positions, world.particle_volume(), grid, open);
        let (low, high) = (grid.origin, grid.upper());
        Self {
            triangles: mesh.triangles.len(),
            degenerate: degenerate(&mesh, grid.dx),
            open: open_edges(&mesh),
            inside: mesh.vertices.iter().all(|v| v.cmpge(low).all() && v.cmple(high).all()),
            area: mesh.area(),
            volume: mesh.volume(),
            liquid: positions.len() as f64 * world.particle_volume(),
            solids: solids.iter().map(|solid| solid.mesh.area()).sum(),
        }
    }

    /// What docs/output.md promises: closed, in the box, no triangles without area but a few; and the volume of its particles but for a part of a cell along its surface, without
    /// solids a twentieth (measured: −0.016 to 0.008), beside solids up to a cell and a half, as far as it reaches into them, and a third of a cell less where it is a
    /// thin jet or film (−0.29 to 1.45).
    pub fn hold(&self, dx: f64, what: &str) {
        assert!(self.open == 0 && self.inside, "{what}");
        assert!(self.degenerate <= self.triangles / TRIANGLES, "{what}");
        let off = (self.volume - self.liquid) / (dx * self.area.max(f64::MIN_POSITIVE));
        let [least, most] = if self.solids > 0.0 { [-0.33, 1.5] } else { [-0.05, 0.05] };
        assert!((least..most).contains(&off), "{what}: {off} cells");
    }
}

fn degenerate(mesh: &TriMesh, dx: f64) -> usize {
    let area = |t: usize| {
        let [a, b, c] = mesh.corners(t);
        0.5 * (b - a).cross(c - a).length()
    };
    let is_degenerate = |area: f64| area.is_nan() || area < LEAST_AREA * dx * dx;
    (0..mesh.triangles.len()).filter(|&t| is_degenerate(area(t))).count()
}

fn open_edges(mesh: &TriMesh) -> usize {
    let mut passes: Vec<([u32; 2], i32)> = Vec::with_capacity(3 * mesh.triangles.len());
    for &[a, b, c] in &mesh.triangles {
        passes.extend([[a, b], [b, c], [c, a]].map(|[p, q]| ([p.min(q), p.max(q)], if p < q { 1 } else { -1 })));
    }
    passes.sort_unstable();
    passes.chunk_by(|p, q| p.0 == q.0).filter(|edge| edge.len() != 2 || edge[0].1 + edge[1].1 != 0).count()
}

//! Bodies that touch only each other keep their momentum, to round-off.
//!
//! Rapier applies contact and joint impulses in equal and opposite pairs, but over sub-steps, at lever arms that lag
//! behind the motion, and moves bodies apart by displacements that carry no momentum. What such a group thereby gains
//! or loses (a second-order amount) is taken back here as one rigid motion of the whole group: the change of velocities
//! with the least kinetic energy that restores linear and angular momentum.

use super::body::MassProperties;
use glam::{DMat3, DVec3};

/// One body of a group, after contact.
pub struct GroupMember {
    /// Centre of mass, m.
    pub position: DVec3,
    /// Inertia in world axes, kg m².
    pub inertia: DMat3,
    /// m/s.
    pub velocity: DVec3,
    /// N m s.
    pub angular_momentum: DVec3,
}

/// Linear momentum, N s, and angular momentum about a point, N m s.
#[derive(Clone, Copy, Debug)]
pub struct Momentum {
    /// N s.
    pub linear: DVec3,
    /// N m s.
    pub angular: DVec3,
}

impl Momentum {
    /// None.
    pub const ZERO: Self = Self { linear: DVec3::ZERO, angular: DVec3::ZERO };

    /// Add a body's momentum about `about`, m.
    pub fn add(&mut self, about: DVec3, position: DVec3, linear: DVec3, angular: DVec3) {
        self.linear += linear;
        self.angular += (position - about).cross(linear) + angular;
    }
}

/// Change velocities so that the group's momentum about `about` (m) is `wanted`.
pub fn restore(members: &mut [(GroupMember, &MassProperties)], about: DVec3, wanted: Momentum) {
    let Some((_, first)) = members.first() else { return };
    let (sliding, turning) = (first.sliding, first.turning);
    let mass: f64 = members.iter().map(|(_, p)| p.mass).sum();
    let centre = members.iter().map(|(m, p)| p.mass * m.position).sum::<DVec3>() / mass;
    let mut found = Momentum::ZERO;
    for (m, p) in members.iter() {
        found.add(about, m.position, p.mass * m.velocity, m.angular_momentum);
    }
    let linear = sliding * (wanted.linear - found.linear);
    // About the common centre, where a common velocity has no angular momentum.
    let angular = turning * (wanted.angular - found.angular - (centre - about).cross(linear));
    let inertia = members.iter().fold(DMat3::ZERO, |sum, (m, p)| {
        let r = m.position - centre;
        let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
        sum + m.inertia + p.mass * (r.length_squared() * DMat3::IDENTITY - outer)
    });
    // In the plane only the moment across it counts.
    let open = DMat3::from_diagonal(turning);
    let shut = DMat3::from_diagonal(DVec3::ONE - turning);
    let spin = turning * ((open * inertia * open + shut).inverse() * angular);
    for (m, _) in members.iter_mut() {
        m.velocity += linear / mass + sliding * spin.cross(m.position - centre);
        m.angular_momentum += turning * (m.inertia * spin);
    }
}

/// Groups of bodies that touch: `pairs` of body numbers below `count`; each group in rising order, singles included.
pub fn groups(count: usize, pairs: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut root: Vec<usize> = (0..count).collect();
    let find = |root: &[usize], mut i: usize| {
        while root[i] != i {
            i = root[i];
        }
        i
    };
    for &(a, b) in pairs {
        let (a, b) = (find(&root, a), find(&root, b));
        root[a.max(b)] = a.min(b);
    }
    let mut groups = vec![Vec::new(); count];
    for i in 0..count {
        groups[find(&root, i)].push(i);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_what_touches() {
        assert_eq!(groups(6, &[(4, 1), (1, 5), (2, 0)]), [vec![0, 2], vec![1, 4, 5], vec![3]]);
    }
}

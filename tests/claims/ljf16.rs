//! Scenes of [LJF16] and what the paper shows with each.

use super::{of, play};

/// Fig. 4: the water presses the ring as it enters, it springs back, and floats.
#[test]
fn a_ring_is_pressed_springs_back_and_floats() {
    let reports = play("ljf16/ring", |_| ());
    let ring = of(&reports, "ring");
    let volumes = || ring.iter().map(|(_, b)| b.volume);
    let (least, end) = (volumes().fold(f64::MAX, f64::min), volumes().last().unwrap());
    assert!(least < 0.98 * ring[0].1.volume && (end / ring[0].1.volume - 1.0).abs() < 0.02, "{least} {end}");
    let level = 0.5 + 0.3 * ring[0].1.volume / (1.28 * 1.28);
    let heights = ring.iter().filter(|(t, _)| *t > 2.0).map(|(_, b)| b.position.y);
    let (sum, count) = heights.fold((0.0, 0.0), |(sum, count), y| (sum + y, count + 1.0));
    // A torus of 0.3 of the water's density has its middle 0.22 of the tube's diameter above the level.
    assert!((sum / count - level - 0.04).abs() < 0.03, "afloat at {} m, the level is {level} m", sum / count);
}

/// Fig. 5: five densities, five depths, in order; those that float as deep as Archimedes says (row C8, ± 1.5 cells).
#[test]
fn five_balls_float_at_five_depths() {
    const RADIUS: f64 = 0.14;
    const DX: f64 = 0.025;
    let reports = play("ljf16/balls", |_| ());
    let names = ["cork", "pine", "oak", "ice", "neutral"];
    let mean = |name: &str| {
        let heights = of(&reports, name).into_iter().filter(|(t, _)| *t > 3.0).map(|(_, b)| b.position.y);
        let (sum, count) = heights.fold((0.0, 0.0), |(sum, count), y| (sum + y, count + 1.0));
        sum / count
    };
    let heights = names.map(mean);
    assert!(heights.windows(2).all(|pair| pair[0] > pair[1]), "{heights:?}");
    let volumes = names.map(|name| of(&reports, name)[0].1.volume);
    let displaced: f64 = volumes.iter().zip([0.1, 0.4, 0.7, 0.9, 1.0]).map(|(volume, part)| volume * part).sum();
    let level = (reports[0].fluid.volume + displaced) / (2.0 * 0.4);
    // Drafts in radii of balls of these densities: 3 h² − h³ = 4 M.
    for (name, (height, draft)) in names.iter().zip(heights.into_iter().zip([0.391_60, 0.865_51, 1.273_49, 1.608_40])) {
        let expected = level + (1.0 - draft) * RADIUS;
        println!("{name}: {height:.4} for {expected:.4}");
        assert!((height - expected).abs() < 1.5 * DX, "{name}: {height} for {expected}");
    }
    let neutral = of(&reports, "neutral");
    let after = |time: f64| neutral.iter().find(|(t, _)| *t >= time).unwrap().1.position.y;
    assert!((after(2.0) - 0.35).abs() < DX, "the neutral ball drifts by {} m", after(2.0) - 0.35);
}

/// Figs 2 and 3: both starfish come to rest on their rocks, the soft one bent over it.
#[test]
fn a_soft_starfish_drapes_itself_over_a_rock() {
    let reports = play("ljf16/starfish", |_| ());
    let [soft, stiff] = ["soft", "stiff"].map(|name| of(&reports, name));
    let end = |body: &[(f64, &bathtub_engine::report::BodyReport)]| body.last().unwrap().1.clone();
    let (soft_end, stiff_end) = (end(&soft), end(&stiff));
    for body in [&soft_end, &stiff_end] {
        assert!(body.position.y > 0.1 && body.position.y < 0.35, "{} ends at {}", body.name, body.position);
        assert!(body.velocity.length() < 0.15, "{} still moves with {}", body.name, body.velocity);
    }
    assert_eq!(stiff_end.elastic, Some(0.0));
    let bent = soft.iter().filter(|(t, _)| *t > 2.0).map(|(_, b)| b.elastic.unwrap()).fold(f64::MAX, f64::min);
    assert!(bent > 1e-3, "{bent} J");
}

/// Fig. 6: all rings float.
#[test]
fn fifteen_rings_float() {
    let reports = play("ljf16/rings-15", |_| ());
    let last = reports.last().unwrap();
    assert_eq!(last.bodies.iter().filter(|body| body.kind == "reduced").count(), 15);
    for body in &last.bodies {
        assert!(body.position.y > 0.2 && body.position.y < 0.5, "{} ends at {}", body.name, body.position);
        assert!((body.volume / reports[0].bodies[0].volume - 1.0).abs() < 0.05, "{}: {} m³", body.name, body.volume);
    }
}

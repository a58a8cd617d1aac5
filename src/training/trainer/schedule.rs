//! The learning rate: a short warm-up, then half a cosine down.

use std::f64::consts::PI;

/// The warm-up takes one in this many steps …
const WARM_UP_SHARE: u64 = 20;
/// … and at most this many.
const LONGEST_WARM_UP: u64 = 300;

/// The learning rate of a step (from 0), in a training of `steps` steps.
pub(super) fn rate(step: u64, steps: u64, peak: f32, last: f32) -> f32 {
    let warm_up = (steps / WARM_UP_SHARE).min(LONGEST_WARM_UP);
    if step < warm_up {
        return peak * (step + 1) as f32 / warm_up as f32;
    }
    let way = (step - warm_up) as f64 / (steps - warm_up).max(1) as f64;
    let share = f64::midpoint(1.0, (PI * way.min(1.0)).cos());
    last + (peak - last) * share as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_to_its_peak_and_falls_to_its_last() {
        let rates: Vec<f32> = (0..1000).map(|step| rate(step, 1000, 1e-3, 2e-5)).collect();
        assert!(rates[0] < 3e-5);
        assert!((rates[49] - 1e-3).abs() < 1e-9);
        assert!(rates[..50].is_sorted());
        assert!(rates[50..].windows(2).all(|pair| pair[0] >= pair[1]));
        assert!((rates[999] - 2e-5).abs() < 1e-7);
    }

    #[test]
    fn the_shortest_training_has_a_rate_too() {
        assert!((rate(0, 1, 1e-3, 2e-5) - 1e-3).abs() < 1e-9);
    }
}

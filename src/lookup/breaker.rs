//! When a look-up service may be asked: the pace, and the circuit breaker that closes it after failures.
//!
//! Pure; time is an argument. It never admits a request before the pause that the service asked for has
//! passed.

use std::time::{Duration, Instant};

use crate::lichess::Error;

/// The waits between requests, and when to stop asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Between two requests.
    pub spacing: Duration,
    /// Consecutive failures that close the service.
    pub failures: u32,
    /// How long it is closed then; doubles while the request after that fails too.
    pub pause: Duration,
    pub longest_pause: Duration,
    /// The least pause after a 429.
    pub limited: Duration,
    /// The pause after a refusal of the token.
    pub refused: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            spacing: Duration::from_secs(2),
            failures: 3,
            pause: Duration::from_secs(60),
            longest_pause: Duration::from_secs(3600),
            limited: Duration::from_secs(60),
            refused: Duration::from_secs(3600),
        }
    }
}

/// Admits requests.
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    pace: BreakerSettings,
    /// Consecutive failures.
    failures: u32,
    not_before: Option<Instant>,
}

impl CircuitBreaker {
    pub fn new(pace: BreakerSettings) -> Self {
        Self {
            pace,
            failures: 0,
            not_before: None,
        }
    }

    /// How long a request would have to wait; zero if it may go out.
    pub fn wait(&self, now: Instant) -> Duration {
        self.not_before
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Admits a request, and counts it.
    pub fn admit(&mut self, now: Instant) -> bool {
        let admitted = self.wait(now).is_zero();
        if admitted {
            self.pause(self.pace.spacing, now);
        }
        admitted
    }

    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Counts a failed request; returns the pause if the service is closed now.
    pub fn failed(&mut self, error: &Error, now: Instant) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        let pause = match error {
            Error::RateLimited { wait, .. } => wait.unwrap_or_default().max(self.pace.limited),
            _ if error.is_unauthorized() || error.is_forbidden() => self.pace.refused,
            _ => {
                let beyond = self.failures.checked_sub(self.pace.failures)?;
                let doubled = 2_u32.saturating_pow(beyond);
                let pause = self.pace.pause.saturating_mul(doubled);
                pause.min(self.pace.longest_pause)
            }
        };
        self.pause(pause, now);
        Some(pause)
    }

    fn pause(&mut self, pause: Duration, now: Instant) {
        self.not_before = self.not_before.max(now.checked_add(pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;

    fn error(status: u16) -> Error {
        Error::classify(status, &HeaderMap::new(), b"")
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn requests_are_spaced() {
        let (mut breaker, now) = (
            CircuitBreaker::new(BreakerSettings::default()),
            Instant::now(),
        );
        assert!(breaker.admit(now));
        assert!(!breaker.admit(now + SECOND));
        assert_eq!(breaker.wait(now + SECOND), SECOND);
        assert!(breaker.admit(now + SECOND * 2));
    }

    #[test]
    fn failures_in_a_row_close_the_service_for_longer_and_longer() {
        let (mut breaker, now) = (
            CircuitBreaker::new(BreakerSettings::default()),
            Instant::now(),
        );
        let failed = |breaker: &mut CircuitBreaker| {
            breaker
                .failed(&error(502), now)
                .map(|pause| pause.as_secs())
        };
        assert_eq!(failed(&mut breaker), None);
        assert_eq!(failed(&mut breaker), None);
        assert_eq!(failed(&mut breaker), Some(60));
        assert!(!breaker.admit(now + SECOND * 59));
        assert!(breaker.admit(now + SECOND * 60));
        assert_eq!(failed(&mut breaker), Some(120));
        for _ in 0..50 {
            failed(&mut breaker);
        }
        assert_eq!(failed(&mut breaker), Some(3600));
        breaker.succeeded();
        assert_eq!(failed(&mut breaker), None);
    }

    #[test]
    fn a_rate_limit_closes_it_at_once_for_a_minute_or_longer_if_asked() {
        let (mut breaker, now) = (
            CircuitBreaker::new(BreakerSettings::default()),
            Instant::now(),
        );
        assert_eq!(breaker.failed(&error(429), now), Some(SECOND * 60));
        assert_eq!(breaker.wait(now), SECOND * 60);
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "600".parse().unwrap());
        let asked = Error::classify(429, &headers, b"");
        assert_eq!(breaker.failed(&asked, now), Some(SECOND * 600));
        assert_eq!(breaker.failed(&error(401), now), Some(SECOND * 3600));
        assert_eq!(breaker.wait(now), SECOND * 3600);
    }
}

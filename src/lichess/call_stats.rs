//! Counts calls by class and outcome. No decision depends on these counters.

use strum::{EnumCount, IntoStaticStr, VariantArray};

use super::endpoint_class::EndpointClass;
use super::error::Error;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumCount, IntoStaticStr, VariantArray)]
#[strum(const_into_str)]
pub enum CallResult {
    #[strum(serialize = "2xx")]
    Done,
    /// A status from 400 to 499 other than a rate limit.
    #[strum(serialize = "4xx")]
    Refused,
    #[strum(serialize = "429")]
    Limited,
    /// A status of 500 and up, or a response outside the protocol.
    #[strum(serialize = "5xx")]
    Failed,
    /// No response.
    #[strum(serialize = "none")]
    Lost,
}

impl CallResult {
    pub const ALL: [Self; Self::COUNT] = *Self::VARIANTS.first_chunk().expect("all variants");

    /// The label for counters: the class of the status.
    pub const fn as_str(self) -> &'static str {
        self.into_str()
    }
}

impl From<&Error> for CallResult {
    fn from(error: &Error) -> Self {
        match error {
            Error::RateLimited { .. } => Self::Limited,
            Error::Refused { .. } | Error::Gone { .. } => Self::Refused,
            Error::Transient { status: None, .. } => Self::Lost,
            Error::Transient { .. } | Error::Protocol { .. } => Self::Failed,
        }
    }
}

/// The counters of every class of call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    sent: [u64; EndpointClass::ALL.len()],
    held: [u64; EndpointClass::ALL.len()],
    ended: [[u64; CallResult::ALL.len()]; EndpointClass::ALL.len()],
}

impl CallStats {
    /// Calls that went out.
    pub fn sent(&self, class: EndpointClass) -> u64 {
        self.sent[class as usize]
    }

    /// Calls that the rate limiter refused.
    pub fn held(&self, class: EndpointClass) -> u64 {
        self.held[class as usize]
    }

    /// Calls with this outcome.
    pub fn ended(&self, class: EndpointClass, outcome: CallResult) -> u64 {
        self.ended[class as usize][outcome as usize]
    }

    pub(super) fn count_sent(&mut self, class: EndpointClass) {
        self.sent[class as usize] += 1;
    }

    pub(super) fn count_held(&mut self, class: EndpointClass) {
        self.held[class as usize] += 1;
    }

    pub(super) fn count_end(&mut self, class: EndpointClass, outcome: CallResult) {
        self.ended[class as usize][outcome as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_counted_under_the_class_of_its_status() {
        let reason = String::new();
        let rows = [
            (
                Error::RateLimited {
                    wait: None,
                    body: Box::default(),
                },
                "429",
            ),
            (
                Error::Refused {
                    status: 403,
                    body: Box::default(),
                },
                "4xx",
            ),
            (
                Error::Gone {
                    status: 404,
                    body: Box::default(),
                },
                "4xx",
            ),
            (
                Error::Transient {
                    reached: true,
                    status: Some(502),
                    reason: reason.clone(),
                },
                "5xx",
            ),
            (
                Error::Transient {
                    reached: true,
                    status: None,
                    reason: reason.clone(),
                },
                "none",
            ),
            (Error::Protocol { reason }, "5xx"),
        ];
        for (error, word) in rows {
            assert_eq!(CallResult::from(&error).as_str(), word, "{error:?}");
        }
    }
}

//! Converts an API result to the outcomes that a game or the account state distinguishes.

use super::game::CallOutcome;
use crate::lichess::Error;

impl From<Result<(), Error>> for CallOutcome {
    fn from(outcome: Result<(), Error>) -> Self {
        match outcome {
            Ok(()) => Self::Done,
            // A response outside this protocol says nothing about the request.
            Err(Error::Transient { .. } | Error::Protocol { .. }) => Self::Lost,
            Err(Error::RateLimited { wait, .. }) => Self::Limited { wait },
            Err(Error::Refused { status, body }) => Self::Refused {
                status,
                text: body.message,
            },
            Err(Error::Gone { .. }) => Self::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lichess::ErrorBody;

    #[test]
    fn every_class_of_error_has_its_outcome() {
        let body = Box::new(ErrorBody {
            message: "Not your turn".into(),
            ..ErrorBody::default()
        });
        let wait = Some(Duration::from_secs(3));
        let reason = String::new();
        let rows = [
            (Ok(()), CallOutcome::Done),
            (
                Err(Error::Transient {
                    reached: true,
                    status: Some(502),
                    reason: reason.clone(),
                }),
                CallOutcome::Lost,
            ),
            (Err(Error::Protocol { reason }), CallOutcome::Lost),
            (
                Err(Error::RateLimited {
                    wait,
                    body: body.clone(),
                }),
                CallOutcome::Limited { wait },
            ),
            (
                Err(Error::Refused {
                    status: 400,
                    body: body.clone(),
                }),
                CallOutcome::Refused {
                    status: 400,
                    text: "Not your turn".into(),
                },
            ),
            (Err(Error::Gone { body }), CallOutcome::Gone),
        ];
        for (outcome, answer) in rows {
            assert_eq!(CallOutcome::from(outcome), answer);
        }
    }
}

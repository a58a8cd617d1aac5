//! For tests: a service that panics once.

use std::cell::Cell;

tokio::task_local! {
    static PLANNED: Cell<bool>;
}

/// Runs a service whose first [`strike`] panics.
pub(super) async fn once<F: Future>(service: F) -> F::Output {
    PLANNED.scope(Cell::new(true), service).await
}

/// Panics where a test has planned it.
pub(super) fn strike() {
    let planned = PLANNED.try_with(|planned| planned.replace(false));
    assert!(!matches!(planned, Ok(true)), "an injected fault");
}

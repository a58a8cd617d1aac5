//! Distances of won and lost positions, computed when a game reaches them: no file holds them.
//!
//! A slice of a table (equal pawns) is solved on a thread of its own, in a second or two at most. A
//! caller waits for it until it gives up; a later one finds it. At most two slices are kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::file::OutcomeFile;
use super::generator::SliceDistances;
use super::layout::{Layout, NAMES, Placement};

/// Slices that are kept; the largest take 5 MB.
const KEPT: usize = 2;
/// How often a waiting caller is asked whether it gives up.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// The slices that are solved or in the making.
#[derive(Debug, Default)]
pub(super) struct DistanceStore {
    slices: Mutex<Vec<Slice>>,
    solved: Condvar,
}

#[derive(Debug)]
struct Slice {
    table: usize,
    /// Any number of the slice.
    index: usize,
    solution: Arc<Solution>,
}

/// Set once the slice is solved; `None` if that failed. Callers that wait share it, so that they get it even if
/// the slice makes room for another one first.
type Solution = OnceLock<Option<SliceDistances>>;

impl DistanceStore {
    /// The plies of a won or lost position; `None` if they are not known before the caller gives up.
    pub(super) fn plies(
        self: &Arc<Self>,
        file: &Arc<OutcomeFile>,
        placement: &Placement,
        gives_up: &dyn Fn() -> bool,
    ) -> Option<u8> {
        let layout = Layout::new(NAMES.get(placement.table)?);
        let index = layout.index(placement.squares);
        let key = (placement.table, layout.slice_start(index));
        let is_busy = |slices: &[Slice]| {
            let has_room = slices.len() < KEPT || slices.iter().any(Slice::is_done);
            !has_room && !slices.iter().any(|slice| slice.is(key))
        };
        let mut slices = self.slices.lock();
        self.wait_while(&mut slices, gives_up, is_busy);
        let known = slices.iter().find(|slice| slice.is(key));
        let solution = match known.map(|slice| Arc::clone(&slice.solution)) {
            Some(solution) => solution,
            None => self.start(&mut slices, file, key)?,
        };
        self.wait_while(&mut slices, gives_up, |_| solution.get().is_none());
        drop(slices);
        let distances = solution.get()?.as_ref()?;
        distances.plies(placement.turn, index)
    }

    /// The slices that are kept, and the bytes of the solved ones.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        let slices = self.slices.lock();
        let solved = slices.iter().filter_map(|slice| slice.solution.get());
        let bytes = solved.flatten().map(SliceDistances::bytes).sum();
        (slices.len(), bytes)
    }

    /// Waits while a condition holds and the caller does not give up.
    fn wait_while(
        &self,
        slices: &mut MutexGuard<'_, Vec<Slice>>,
        gives_up: &dyn Fn() -> bool,
        holds: impl Fn(&[Slice]) -> bool,
    ) {
        while holds(slices) && !gives_up() {
            self.solved.wait_for(slices, ASK_EVERY);
        }
    }

    /// Starts to solve a slice, in place of the oldest one; not while all are in the making.
    fn start(
        self: &Arc<Self>,
        slices: &mut Vec<Slice>,
        file: &Arc<OutcomeFile>,
        key: (usize, usize),
    ) -> Option<Arc<Solution>> {
        let (table, index) = key;
        if slices.len() >= KEPT {
            let oldest = slices.iter().position(Slice::is_done)?;
            slices.remove(oldest);
        }
        let (store, file) = (Arc::clone(self), Arc::clone(file));
        let solution = Arc::<Solution>::default();
        let solved = Arc::clone(&solution);
        let solve = move || {
            let layout = Layout::new(NAMES[table]);
            let solve = || SliceDistances::solve(layout, index, &file);
            solved.get_or_init(|| catch_unwind(AssertUnwindSafe(solve)).ok());
            store.solved.notify_all();
        };
        thread::Builder::new()
            .name("table-solver".to_owned())
            .spawn(solve)
            .ok()?;
        slices.push(Slice {
            table,
            index,
            solution: Arc::clone(&solution),
        });
        Some(solution)
    }
}

impl Slice {
    fn is_done(&self) -> bool {
        self.solution.get().is_some()
    }

    fn is(&self, key: (usize, usize)) -> bool {
        (self.table, self.index) == key
    }
}

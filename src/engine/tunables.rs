//! The parameters of the search that a `tune` build can set while it runs; constants otherwise.
//! The unit tests have them as variables too.
//!
//! One list makes the functions that the search reads, the spins of UCI, the options of `self` in
//! matches, and the vector of `megaton tune`. Values are in centipawns (cp) of an atomic pawn in the
//! middlegame, plies, history units, 1/1024 ply or thousandths, as their names and comments say. A
//! parameter without an origin is an untuned start value: within the range of chess programs,
//! adapted to atomic's short and sharp games. Names of time management begin with `time_`, which
//! `megaton tune` relies on: they matter to games with a clock only.
//!
//! In a `tune` build each thread has its own values, installed at the beginning of a search, so two
//! engines in one process play with different ones.

/// A parameter and how far it may be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub name: &'static str,
    pub default: i32,
    pub least: i32,
    pub most: i32,
    /// A change that is worth a few Elo: the perturbation of a tuning.
    pub step: i32,
    /// The test that set the default.
    pub origin: &'static str,
}

macro_rules! tunables {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal, $least:literal to $most:literal, step $step:literal, $origin:literal;)+) => {
        /// All of them, in the order of the values of a [`SearchParams`].
        #[cfg(any(test, feature = "tune"))]
        pub const TUNABLES: &[Tunable] = &[$(Tunable {
            name: stringify!($name),
            default: $default,
            least: $least,
            most: $most,
            step: $step,
            origin: $origin,
        }),+];
        /// Nothing can be set in this build.
        #[cfg(not(any(test, feature = "tune")))]
        pub const TUNABLES: &[Tunable] = &[];

        const _: () = {
            $(assert!($least <= $default && $default <= $most && $step > 0 && !$origin.is_empty());)+
        };

        #[cfg(any(test, feature = "tune"))]
        #[expect(non_camel_case_types, reason = "the names of the parameters")]
        enum Slot { $($name),+ }

        #[cfg(any(test, feature = "tune"))]
        thread_local! {
            static VALUES: [std::cell::Cell<i32>; TUNABLES.len()] =
                const { [$(std::cell::Cell::new($default)),+] };
        }

        $(
            $(#[doc = $doc])+
            #[cfg(any(test, feature = "tune"))]
            #[inline]
            pub(super) fn $name() -> i32 {
                VALUES.with(|values| values[Slot::$name as usize].get())
            }

            $(#[doc = $doc])+
            #[cfg(not(any(test, feature = "tune")))]
            #[inline]
            pub(super) const fn $name() -> i32 {
                $default
            }
        )+
    };
}

tunables! {
    /// Half of the window around the last score, in cp; atomic scores jump.
    aspiration_delta = 30, 10 to 80, step 12, "SPSA of 2026-11-30";
    /// Factor on the window after it failed, in percent.
    aspiration_growth = 150, 110 to 300, step 20, "untuned";
    /// Maximum depth for reverse futility pruning, in plies.
    rfp_depth = 15, 3 to 20, step 2, "with others, a match of 2026-11-28";
    /// Its margin per ply, in cp: twice the value used in chess, as others found for atomic.
    rfp_margin = 74, 40 to 250, step 28, "SPSA of 2026-11-30";
    /// Minimum reduction of a null move, in plies.
    null_base = 3, 1 to 6, step 1, "untuned";
    /// Plies of depth per further ply of reduction.
    null_depth_divisor = 3, 2 to 8, step 1, "untuned";
    /// Centipawns above beta per further ply of reduction.
    null_eval_divisor = 187, 60 to 500, step 60, "SPSA of 2026-11-30";
    /// Maximum reduction for the evaluation.
    null_eval_most = 3, 1 to 6, step 1, "untuned";
    /// From this depth on a null move cutoff is verified by a search.
    null_verify_depth = 18, 6 to 40, step 2, "with others, a match of 2026-11-28";
    /// Minimum depth for a singular extension, in plies.
    singular_depth = 7, 4 to 127, step 1, "untuned";
    /// How far the other moves must stay below the stored value, in 1/16 cp per ply.
    singular_margin = 31, 4 to 128, step 8, "SPSA of 2026-11-30";
    /// If they stay this much further below, in cp, the extension off the principal variation is two plies.
    singular_double = 44, 0 to 500, step 12, "SPSA of 2026-11-30";
    /// Plies by which a table move above beta that is not alone is searched less deeply.
    singular_negative = 2, 0 to 4, step 1, "untuned";
    /// Minimum depth for internal iterative reduction without a hash move.
    iir_depth = 5, 2 to 12, step 1, "untuned";
    /// Maximum depth for late move pruning of quiet moves.
    lmp_depth = 8, 3 to 20, step 2, "untuned";
    /// Quiet moves that are always tried.
    lmp_base = 1, 1 to 20, step 2, "SPSA of 2026-11-30";
    /// Maximum depth for pruning by blast exchange.
    see_prune_depth = 8, 3 to 20, step 2, "untuned";
    /// Allowed loss of a capture per ply, in cp.
    see_capture_margin = 92, 20 to 250, step 24, "SPSA of 2026-11-30";
    /// Allowed loss of a quiet move per ply, in cp.
    see_quiet_margin = 77, 10 to 150, step 16, "SPSA of 2026-11-30";
    /// Maximum depth for pruning quiet moves by history.
    history_prune_depth = 6, 1 to 12, step 1, "with others, a match of 2026-11-28";
    /// Moves below this history per ply are pruned.
    history_prune_margin = -2375, -9000 to -500, step 800, "SPSA of 2026-11-30";
    /// Reduction of quiet moves before depth and move count, in 1/1024 ply.
    lmr_quiet_base = 740, -512 to 2048, step 240, "SPSA of 2026-11-30";
    /// Divisor of ln(depth) * ln(move) for quiet moves, in 1/1024.
    lmr_quiet_divisor = 2134, 1024 to 6144, step 440, "SPSA of 2026-11-30";
    /// Reduction of captures before depth and move count, in 1/1024 ply.
    lmr_noisy_base = 211, -1024 to 2048, step 240, "SPSA of 2026-11-30";
    /// Divisor of ln(depth) * ln(move) for captures, in 1/1024.
    lmr_noisy_divisor = 4025, 1024 to 8192, step 680, "SPSA of 2026-11-30";
    /// Moves searched without reduction.
    lmr_moves = 1, 1 to 6, step 1, "SPSA of 2026-11-26";
    /// More at expected cut nodes, in 1/1024 ply, like all that follow.
    lmr_cut_node = 1109, 0 to 4096, step 400, "SPSA of 2026-11-30";
    /// Less at nodes of the principal variation.
    lmr_pv = 1244, 0 to 3072, step 320, "SPSA of 2026-11-30";
    /// More where the evaluation is not improving.
    lmr_not_improving = 148, 0 to 2048, step 280, "SPSA of 2026-11-30";
    /// Less for moves that give check.
    lmr_check = 1305, 0 to 3072, step 360, "SPSA of 2026-11-30";
    /// Less for answers to a check or to a threatened explosion.
    lmr_pressed = 714, 0 to 3072, step 360, "SPSA of 2026-11-30";
    /// Less for moves that create an explosion threat.
    lmr_creates_threat = 1263, 0 to 3072, step 360, "SPSA of 2026-11-30";
    /// Less for the killer.
    lmr_killer = 1395, 0 to 3072, step 360, "SPSA of 2026-11-30";
    /// History that changes a reduction by one ply.
    lmr_history_divisor = 8577, 3000 to 30000, step 2000, "SPSA of 2026-11-30";
    /// A capture in quiescence must raise the evaluation to within this margin of alpha, in cp.
    qs_margin = 161, 30 to 500, step 40, "SPSA of 2026-11-30";
    /// History bonus per ply of depth.
    bonus_slope = 296, 60 to 500, step 40, "SPSA of 2026-11-30";
    /// Taken off the history bonus.
    bonus_offset = -14, -200 to 400, step 60, "SPSA of 2026-11-30";
    /// The greatest history bonus.
    bonus_most = 1763, 600 to 4000, step 300, "SPSA of 2026-11-30";
    /// Units of the sum over all corrections per centipawn.
    correction_divisor = 19, 8 to 80, step 6, "SPSA of 2026-11-30";
    /// A capture is good if its blast balance, with its history but in quiescence, is at least this, in cp.
    good_capture = 13, -150 to 100, step 30, "SPSA of 2026-11-30";
    /// Weight of a blast balance against capture history, history units per cp.
    blast_weight = 22, 2 to 64, step 6, "SPSA of 2026-11-30";
    /// Ordering bonus of a quiet move that creates an explosion threat.
    creates_threat_bonus = 5551, 0 to 20000, step 1800, "SPSA of 2026-11-30";
    /// Ordering bonus of a quiet move that escapes a threatened blast.
    escape_bonus = 1989, 0 to 12000, step 1000, "SPSA of 2026-11-30";
    /// Ordering penalty of a move to a square where a pawn or piece can explode it.
    exposed_penalty = 2082, 0 to 12000, step 1000, "SPSA of 2026-11-30";
    /// Ordering bonus of a quiet check.
    check_bonus = 6464, 0 to 20000, step 1600, "SPSA of 2026-11-30";
    /// Moves the clock has to last for, in tenths.
    time_moves_ahead = 300, 80 to 600, step 20, "a match of 2026-11-27 at 10+0.1@40";
    /// Share of the increment spent at once, in thousandths, like all that follow but one.
    time_increment_share = 750, 0 to 1000, step 60, "untuned";
    /// Maximum share of the clock for one move.
    time_hard_share = 450, 100 to 800, step 50, "untuned";
    /// Factor of the soft limit when no node went into the best move.
    time_nodes_base = 2200, 1000 to 4000, step 150, "untuned";
    /// Reduction of that factor when all nodes went there.
    time_nodes_slope = 1600, 0 to 3500, step 150, "untuned";
    /// Factor of the soft limit while the best move changes.
    time_stable_base = 1200, 800 to 2500, step 80, "untuned";
    /// Reduction of it per iteration without a change.
    time_stable_slope = 50, 0 to 100, step 8, "untuned";
    /// The score drop in cp that would double the soft limit, were it not for `time_drop_most`.
    time_drop_scale = 120, 30 to 500, step 15, "untuned";
    /// A rising score shrinks the soft limit by this share at most.
    time_drop_least = 150, 0 to 600, step 30, "untuned";
    /// A falling score stretches the soft limit by this share at most.
    time_drop_most = 600, 0 to 2500, step 80, "untuned";
}

/// A value for each of the [`TUNABLES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchParams(Vec<i32>);

impl Default for SearchParams {
    fn default() -> Self {
        SearchParams(TUNABLES.iter().map(|tunable| tunable.default).collect())
    }
}

impl SearchParams {
    /// Sets a parameter by name; nothing if there is no such parameter.
    ///
    /// # Errors
    ///
    /// When the text is no number within its bounds.
    pub fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let index = TUNABLES
            .iter()
            .position(|it| it.name.eq_ignore_ascii_case(name))?;
        let Tunable { least, most, .. } = TUNABLES[index];
        Some(match value.parse() {
            Ok(number) if (least..=most).contains(&number) => {
                self.0[index] = number;
                Ok(())
            }
            _ => Err(format!(
                "{name} takes a number from {least} to {most}, not {value:?}"
            )),
        })
    }

    /// The values, in the order of [`TUNABLES`].
    pub fn values(&self) -> &[i32] {
        &self.0
    }

    /// Makes them the values of this thread's searches.
    #[inline]
    #[cfg_attr(not(any(test, feature = "tune")), expect(clippy::unused_self))]
    pub(super) fn install(&self) {
        #[cfg(any(test, feature = "tune"))]
        VALUES.with(|values| {
            for (cell, value) in values.iter().zip(&self.0) {
                cell.set(*value);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_set_by_name_and_installed_for_its_thread() {
        let mut params = SearchParams::default();
        params.install();
        assert_eq!(
            rfp_margin(),
            SearchParams::default().values()[Slot::rfp_margin as usize]
        );
        assert_eq!(params.set("RFP_margin", "99"), Some(Ok(())));
        let refused = params.set("rfp_margin", "x").expect("known").unwrap_err();
        assert!(
            refused.contains("from") && refused.contains("\"x\""),
            "{refused}"
        );
        params.install();
        assert_eq!(rfp_margin(), 99);
        let elsewhere = std::thread::spawn(rfp_margin).join().expect("no panic");
        assert_ne!(elsewhere, 99);
        SearchParams::default().install();
    }
}

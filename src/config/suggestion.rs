//! Finds the known word that a mistyped one probably means.

// Counts letters added, dropped, changed or swapped with their neighbour.
use strsim::osa_distance as distance;

/// The nearest candidate, if it is near enough to suggest.
pub(super) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let bound = (typed.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&typed, candidate), candidate))
        .filter(|(far, _)| *far <= bound)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_swap_counts_once() {
        assert_eq!(distance("hsah", "hash"), 1);
        assert_eq!(distance("", "hash"), 4);
        assert_eq!(distance("hash", "hash"), 0);
    }

    #[test]
    fn a_distant_word_is_not_suggested() {
        assert_eq!(
            nearest("tokenfile", ["token_file", "url"]),
            Some("token_file")
        );
        assert_eq!(
            nearest("Token-File", ["token_file", "url"]),
            Some("token_file")
        );
        assert_eq!(nearest("colour", ["token_file", "url"]), None);
    }
}

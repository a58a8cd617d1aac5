//! Finds the known word that a mistyped one probably means.

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

/// Letters added, dropped, changed or swapped with their neighbour between two words.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for i in 0..one.len() {
        let mut row = vec![i + 1];
        for j in 0..other.len() {
            let change = last[j] + usize::from(one[i] != other[j]);
            let mut best = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && one[i] == other[j - 1] && one[i - 1] == other[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
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
    fn a_far_word_is_not_suggested() {
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

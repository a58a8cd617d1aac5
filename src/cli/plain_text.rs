//! Text from outside, without the control characters that could steer a terminal: for results and for
//! errors alike.

pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Lines of text, each made plain.
pub(super) fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(plain).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_control_characters_go() {
        let text = "paused\r\n\u{1b}[2Jcleared \u{9b}31m\u{7}\n";
        assert_eq!(plain_lines(text), "paused\n[2Jcleared 31m");
    }
}

//! The user agent: name, version, contact and, once known, the account.
//!
//! The server answers every call with 401 if the account named here does not own the token, so the name can
//! be withdrawn.

use parking_lot::Mutex;
use reqwest::header::HeaderValue;

/// The shortest name that the server looks for.
const SHORTEST_NAME: usize = 3;

#[derive(Debug)]
pub(super) struct UserAgent {
    nameless: HeaderValue,
    named: Mutex<Option<HeaderValue>>,
}

impl UserAgent {
    /// A user agent without an account yet; none if the contact is no valid header text.
    pub(super) fn new(contact: Option<&str>) -> Option<Self> {
        let version = env!("CARGO_PKG_VERSION");
        let text = match contact.map(str::trim).filter(|text| !text.is_empty()) {
            Some(contact) if contact.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => {
                format!("Megaton/{version} (+{contact})")
            }
            Some(_) => return None,
            None => format!("Megaton/{version}"),
        };
        Some(Self {
            nameless: HeaderValue::from_str(&text).ok()?,
            named: Mutex::new(None),
        })
    }

    /// The header of the next request, and whether it names the account.
    pub(super) fn header(&self) -> (HeaderValue, bool) {
        let named = self.named.lock();
        match &*named {
            Some(header) => (header.clone(), true),
            None => (self.nameless.clone(), false),
        }
    }

    pub(super) fn nameless(&self) -> HeaderValue {
        self.nameless.clone()
    }

    /// Names the account from now on, if its name has the form that the server expects.
    pub(super) fn learn_name(&self, name: &str) {
        let fits = (2..=31).contains(&name.len()) && name.bytes().all(is_of_name);
        let nameless = self.nameless.to_str().unwrap_or_default();
        let header = HeaderValue::from_str(&format!("{nameless} user:{name}"));
        self.set(header.ok().filter(|_| fits));
    }

    pub(super) fn forget_name(&self) {
        self.set(None);
    }

    fn set(&self, header: Option<HeaderValue>) {
        *self.named.lock() = header;
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// The part of a contact that the server would read as the name of an account.
pub fn account_in_contact(contact: &str) -> Option<&str> {
    let lower = contact.to_ascii_lowercase();
    let mut keys = ["user:", "as:"]
        .into_iter()
        .flat_map(|key| lower.match_indices(key));
    keys.find_map(|(start, key)| {
        let rest = &contact[start + key.len()..];
        let name = rest.strip_prefix(' ').unwrap_or(rest);
        let length = name.bytes().take_while(|byte| is_of_name(*byte)).count();
        let end = contact.len() - name.len() + length;
        (length >= SHORTEST_NAME).then(|| &contact[start..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(agent: &UserAgent) -> String {
        agent.header().0.to_str().unwrap().to_owned()
    }

    #[test]
    fn the_account_is_named_once_it_is_known() {
        let agent = UserAgent::new(Some("a@example.org")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let nameless = format!("Megaton/{version} (+a@example.org)");
        assert_eq!(shown(&agent), nameless);
        agent.learn_name("MegatonBot");
        assert_eq!(shown(&agent), format!("{nameless} user:MegatonBot"));
        agent.forget_name();
        assert_eq!(shown(&agent), nameless);
    }

    #[test]
    fn an_invalid_name_is_left_out() {
        let agent = UserAgent::new(None).unwrap();
        agent.learn_name("no body\r\n");
        assert!(!agent.header().1);
    }

    #[test]
    fn an_account_in_a_contact_is_found_as_the_server_finds_it() {
        for (contact, found) in [
            ("@lukas:matrix.org", Some("as:matrix")),
            ("see user: Some-one", Some("user: Some-one")),
            ("mail:me@example.org, USER:abc", Some("USER:abc")),
            ("user:ab", None),
            ("as:  abc", None),
            ("https://example.org/user", None),
            ("user me@example.org", None),
        ] {
            assert_eq!(account_in_contact(contact), found, "{contact}");
        }
    }

    #[test]
    fn a_contact_that_would_break_the_header_is_refused() {
        assert!(UserAgent::new(Some("a\r\nX-Evil: 1")).is_none());
        assert!(UserAgent::new(Some("  ")).is_some());
    }
}

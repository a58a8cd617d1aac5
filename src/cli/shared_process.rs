//! One process for several accounts: where their configs have to agree, and what each needs for itself.

use megaton::config::Config;
use megaton::lichess::TOKEN_VARIABLE;

use super::failure::Failure;
use super::setup::{LoadedConfig, config_name};

/// Fails where these configs cannot share a process. A single one always can.
pub(super) fn check(configs: &[LoadedConfig]) -> Result<(), Failure> {
    let token = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
    if configs.len() > 1 && !token.trim().is_empty() {
        return Err(Failure::setup(format!(
            "{TOKEN_VARIABLE} is the token of one account, and there are {} configs: unset it, and \
             name a [lichess] token_file in each",
            configs.len()
        )));
    }
    for (number, (config, path)) in configs.iter().enumerate() {
        for (earlier, earlier_path) in &configs[..number] {
            if let Some(rule) = broken_rule(config, earlier) {
                return Err(Failure::setup(format!(
                    "{} and {} cannot share a process: {rule}",
                    config_name(earlier_path.as_deref()),
                    config_name(path.as_deref())
                )));
            }
        }
    }
    Ok(())
}

/// The rule for the configs of one process that two of them break, if any.
fn broken_rule(config: &Config, other: &Config) -> Option<&'static str> {
    let home = |config: &Config| config.data.home(&config.lichess);
    let socket = |config: &Config| config.data.socket_path(&config.lichess);
    let shares = |mine: Option<_>, theirs| mine.is_some() && mine == theirs;
    let token = &config.lichess.token_file;
    if config.engine != other.engine {
        Some("[engine] has to be the same in both")
    } else if config.log != other.log {
        Some("[log] has to be the same in both")
    } else if token.is_none() || *token == other.lichess.token_file {
        Some("each needs a [lichess] token_file of its own")
    } else if shares(home(config), home(other)) {
        Some("each needs a [data] folder of its own")
    } else if shares(socket(config), socket(other)) {
        Some("each needs a [data] socket of its own, or the usual name within its folder")
    } else if config.panel.listen.is_some() && config.panel.listen == other.panel.listen {
        Some("each needs a [panel] listen of its own, or \"\" for no page")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    type Change = fn(&mut Config);

    /// A config of its own in every respect.
    fn config(name: &str, port: u16) -> Config {
        let mut config = Config::default();
        config.lichess.token_file = Some(PathBuf::from(name).join("token"));
        config.data.folder = Some(PathBuf::from(name));
        config.panel.listen = Some(([127, 0, 0, 1], port).into());
        config
    }

    #[test]
    fn accounts_share_the_engine_and_the_log_and_nothing_else() {
        let one = config("one", 8650);
        let two = || config("two", 8651);
        assert_eq!(broken_rule(&two(), &one), None);
        let cases: [(&str, Change); 6] = [
            ("[engine]", |config| config.engine.hash += 1),
            ("[log]", |config| {
                config.log.format = megaton::config::Format::Json;
            }),
            ("token_file", |config| config.lichess.token_file = None),
            ("token_file", |config| {
                config.lichess.token_file = Some("one/token".into());
            }),
            ("[data] folder", |config| {
                config.data.folder = Some("one".into());
            }),
            ("[panel] listen", |config| {
                config.panel.listen = Some(([127, 0, 0, 1], 8650).into());
            }),
        ];
        for (key, change) in cases {
            let mut two = two();
            change(&mut two);
            let rule = broken_rule(&two, &one).unwrap_or_default();
            assert!(rule.contains(key), "{key}: {rule}");
        }
        let at = |name, port| {
            let mut config = config(name, port);
            config.data.socket = Some("/run/megaton.sock".into());
            config
        };
        let rule = broken_rule(&at("two", 8651), &at("one", 8650));
        assert!(rule.is_some_and(|rule| rule.contains("[data] socket")));
        // Without a page or data there is nothing to share.
        let bare = |name| {
            let mut bare = config(name, 8650);
            (bare.panel.listen, bare.data.folder) = (None, None);
            bare
        };
        assert_eq!(broken_rule(&bare("two"), &bare("one")), None);
    }
}

//! TLS: which certificates the program trusts, and its error for the others.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustls::ServerConfig;
use tempfile::TempDir;

use super::certificate_authority::Authority;
use super::program::{Ran, command, finish, ran};
use super::server::Server;

const TOKEN: &str = "lip_Sesame0pen";
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(30);

/// A folder with a config for a server, and with what the system trusts.
struct Ground {
    server: Server,
    folder: TempDir,
}

impl Ground {
    fn new(config: Arc<ServerConfig>) -> Self {
        let token =
            format!(r#"{{"{TOKEN}":{{"userId":"megaton","scopes":"bot:play","expires":null}}}}"#);
        let account = r#"{"id":"megaton","username":"Megaton","title":"BOT","perfs":{}}"#;
        let answers = HashMap::from([
            ("/api/token/test", (200, token)),
            ("/api/account", (200, account.to_owned())),
        ]);
        let server = Server::start_tls(answers, config);
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\n[panel]\nlisten = \"\"\n",
            server.url
        );
        fs::write(folder.path().join("config.toml"), text).expect("a config");
        Self { server, folder }
    }

    /// A file of trusted authorities.
    fn roots(&self, pem: &str) -> PathBuf {
        let path = self.folder.path().join("roots.pem");
        fs::write(&path, pem).expect("a file");
        path
    }

    /// A command of the program; no setting of this machine says whom it is to trust or to go through.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command
            .arg("--config")
            .arg(self.folder.path().join("config.toml"))
            .env("LICHESS_BOT_TOKEN", TOKEN);
        for name in [
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
        ] {
            command.env_remove(name);
        }
        command
    }

    fn refused(&self, ran: &Ran, why: &str) {
        assert_eq!(ran.status, Some(1), "{}", ran.stdout);
        let said = &ran.stderr;
        let whom = format!("cannot reach {}: ", self.server.url);
        assert!(said.contains(&whom) && said.contains(why), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!said.contains("Sesame"), "the token is shown: {said}");
        assert_eq!(self.server.asked(), Vec::<String>::new());
    }
}

#[test]
fn a_certificate_trusted_by_the_system_is_accepted() {
    let authority = Authority::new();
    let ground = Ground::new(authority.certify("localhost"));
    let roots = ground.roots(&authority.pem);
    let ran = ran(ground.command(&["check"]).env("SSL_CERT_FILE", roots));
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    let result = "result      `megaton run` plays as Megaton";
    assert!(ran.stdout.contains(result), "{}", ran.stdout);
    assert_eq!(ground.server.asked(), ["/api/token/test", "/api/account"]);
}

#[test]
fn an_untrusted_server_gets_no_request() {
    let authority = Authority::new();
    let ground = Ground::new(authority.certify("localhost"));
    let unknown = "invalid peer certificate: UnknownIssuer";
    ground.refused(&ran(&mut ground.command(&["check"])), unknown);
    // Where the system trusts no one at all the roots inside count, and they do not know it either.
    let roots = ground.roots("");
    let ran = ran(ground.command(&["check"]).env("SSL_CERT_FILE", roots));
    ground.refused(&ran, unknown);
}

#[test]
fn a_certificate_for_another_name_is_rejected() {
    let authority = Authority::new();
    let ground = Ground::new(authority.certify("lichess.example"));
    let roots = ground.roots(&authority.pem);
    let ran = ran(ground.command(&["check"]).env("SSL_CERT_FILE", roots));
    ground.refused(&ran, "invalid peer certificate: certificate not valid for");
}

#[test]
fn a_bot_on_a_system_without_roots_waits_for_a_server_that_it_can_trust() {
    let ground = Ground::new(Authority::new().certify("localhost"));
    let mut child = ground
        .command(&["run"])
        .env("SSL_CERT_FILE", ground.folder.path().join("nothere.pem"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("its log"));
    let begun = Instant::now();
    let mut seen = String::new();
    while !(seen.contains("cannot reach the server") && seen.contains("UnknownIssuer")) {
        let read = log.read_line(&mut seen).expect("the log is text");
        assert!(read > 0 && begun.elapsed() < GUARD, "no refusal in {seen}");
    }
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    // Its log is read to the end, or it would wait for room to write in.
    while log.read_line(&mut seen).expect("the log is text") > 0 {}
    assert_eq!(finish(&mut child, GUARD), Some(0), "{seen}");
    assert!(!seen.contains("Sesame"), "the token is in the log");
    let said = |line: &&str| line.contains("SSL_CERT_FILE") && line.contains("nothere.pem");
    assert_eq!(seen.lines().filter(said).count(), 1, "{seen}");
    assert_eq!(ground.server.asked(), Vec::<String>::new());
}

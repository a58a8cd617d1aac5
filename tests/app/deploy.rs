//! The files in `docs/deploy/` agree with the program: metrics of rules and dashboard, units,
//! compose file and image. So do the README's commands for a container.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use megaton::bot::AlertKind;
use megaton::config::Config;
use serde_json::Value;

use super::control::{server, until};
use super::monitoring::Watched;

/// Labels that Prometheus adds, or that every histogram has.
const GIVEN: [&str; 3] = ["instance", "job", "le"];
/// What an operator puts beside the compose file.
const BROUGHT: [&str; 4] = [
    "config.toml",
    "token.txt",
    "panel-token.txt",
    "grafana-password.txt",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn deployed(name: &str) -> String {
    fs::read_to_string(root().join("docs/deploy").join(name)).expect(name)
}

fn yaml(name: &str) -> Value {
    serde_norway::from_str(&deployed(name)).expect(name)
}

/// Every label of a figure with every value that it has.
type Labels = BTreeMap<String, BTreeSet<String>>;

/// The figures of a scrape by the names that they are asked by.
fn figures(text: &str) -> BTreeMap<String, Labels> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a name and a kind");
            let ends: &[&str] = match kind {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            for end in ends {
                found.insert(format!("{name}{end}"), Labels::new());
            }
        } else if !line.starts_with('#') {
            let (series, _) = line.rsplit_once(' ').expect("a series and a value");
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let figure = found.get_mut(name).expect("a described figure");
            for part in matchers(labels.trim_end_matches('}')) {
                figure.entry(part.label).or_default().insert(part.value);
            }
        }
    }
    found
}

/// What is wanted of a label.
struct Matcher {
    label: String,
    operator: String,
    value: String,
}

/// Something that Prometheus is asked: where it stands, the expression, the texts about it.
struct Question {
    place: String,
    expression: String,
    shown: String,
}

/// The parts of what stands between braces.
fn matchers(text: &str) -> Vec<Matcher> {
    let parts = text.split("\",").filter(|part| !part.trim().is_empty());
    let parts = parts.map(|part| {
        let (left, value) = part.split_once('"').expect("a quoted value");
        let label = left.trim_end_matches(['=', '~', '!']);
        let operator = &left[label.len()..];
        let value = value.trim_end_matches('"');
        Matcher {
            label: label.trim().to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
        }
    });
    parts.collect()
}

/// The figures of ours that an expression asks for, with what it wants of their labels.
fn selectors(expression: &str) -> Vec<(String, Vec<Matcher>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(at) = rest.find(is_name) {
        let word = &rest[at..];
        let end = word.find(|c| !is_name(c)).unwrap_or(word.len());
        let (name, after) = word.split_at(end);
        rest = after;
        if name.starts_with("megaton_") || name.starts_with("process_") {
            let inner = after.strip_prefix('{').and_then(|it| it.split_once('}'));
            found.push((
                name.to_owned(),
                inner.map_or(Vec::new(), |it| matchers(it.0)),
            ));
        }
        if let Some(quoted) = after.strip_prefix('"') {
            rest = quoted.split_once('"').map_or("", |it| it.1);
        } else if after.starts_with('{') {
            rest = after.split_once('}').map_or("", |it| it.1);
        }
    }
    found
}

/// Labels that a text shows or sums by: `{{kind}}`, `{{ $labels.kind }}`, `by (kind)`.
fn named(text: &str) -> Vec<String> {
    let shown = text
        .split("{{")
        .skip(1)
        .filter_map(|it| it.split_once("}}"));
    let shown = shown.map(|(inner, _)| inner.trim().trim_start_matches("$labels."));
    let shown = shown.filter(|inner| !inner.starts_with("$value"));
    let summed = text
        .split("by (")
        .skip(1)
        .filter_map(|it| it.split_once(')'));
    let summed = summed.flat_map(|(inner, _)| inner.split(',').map(str::trim));
    shown.chain(summed).map(str::to_owned).collect()
}

/// Everything that rules and dashboard ask.
fn asked() -> Vec<Question> {
    let mut found = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let question = |place: &Value, expression: &Value, shown: String| Question {
        place: text(place),
        expression: text(expression),
        shown,
    };
    for group in yaml("alerts.yml")["groups"].as_array().expect("groups") {
        for rule in group["rules"].as_array().expect("rules") {
            let annotations = rule["annotations"].as_object().expect("annotations");
            let shown = annotations.values().map(text).collect::<String>();
            found.push(question(&rule["alert"], &rule["expr"], shown));
        }
    }
    let board: Value = serde_json::from_str(&deployed("grafana.json")).expect("JSON");
    for panel in board["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let shown = text(&target["legendFormat"]);
            found.push(question(&panel["title"], &target["expr"], shown));
        }
    }
    for variable in board["templating"]["list"].as_array().expect("variables") {
        found.push(question(
            &variable["name"],
            &variable["query"],
            String::new(),
        ));
    }
    found
}

/// What is wrong with an expression, as far as these figures tell.
fn faults(known: &BTreeMap<String, Labels>, expression: &str, shown: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut labels: BTreeSet<&str> = GIVEN.into();
    for (name, wanted) in selectors(expression) {
        let Some((name, figure)) = known.get_key_value(&name) else {
            faults.push(format!("no figure is called {name}"));
            continue;
        };
        labels.extend(figure.keys().map(String::as_str));
        // Alerts have rows only while they are on.
        let mut figure = figure.clone();
        if name == "megaton_alert" {
            labels.insert("kind");
            let kinds = AlertKind::ALL.iter().map(|kind| kind.as_str().to_owned());
            figure.insert("kind".to_owned(), kinds.collect());
        }
        for Matcher {
            label,
            operator,
            value,
        } in wanted
        {
            if GIVEN.contains(&label.as_str()) {
                continue;
            }
            let Some(values) = figure.get(&label) else {
                faults.push(format!("{name} has no label {label}"));
                continue;
            };
            let unknown = value.split('|').filter(|it| !values.contains(*it));
            if operator.starts_with('=') {
                faults.extend(unknown.map(|it| format!("no {label} of {name} is {it}")));
            }
        }
    }
    let strange = named(&format!("{expression} {shown}"));
    let strange = strange.iter().filter(|it| !labels.contains(it.as_str()));
    faults.extend(strange.map(|it| format!("none of its figures has a label {it}")));
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_of_the_dashboard_and_the_alert_rules_exists() {
    let server = server().await;
    let bot = Watched::start(&server, "", &[]);
    let scrape = || bot.get("/metrics").map_or(String::new(), |it| it.1);
    until("it says how it is", async || {
        scrape().contains("megaton_event_stream_open 1.0")
    })
    .await;
    let known = figures(&scrape());
    let asked = asked();
    assert!(asked.len() > 40, "only {} questions", asked.len());
    for question in asked {
        let faults = faults(&known, &question.expression, &question.shown);
        let Question {
            place, expression, ..
        } = question;
        assert!(faults.is_empty(), "{place}: {expression}: {faults:?}");
    }
    // It would see what is wrong.
    for (expression, shown) in [
        ("sum(megaton_game_total) > 0", ""),
        ("megaton_games_total{outcome=\"loss\"}", ""),
        (
            "rate(megaton_games_total{result=\"loss\",status=\"flag\"}[1h])",
            "",
        ),
        ("sum by (reason) (megaton_games_total)", ""),
        ("megaton_rating", "{{ $labels.kind }}"),
        ("megaton_alert{kind=~\"token|tokens\"}", ""),
    ] {
        let faults = faults(&known, expression, shown);
        assert_eq!(faults.len(), 1, "{expression} {shown}: {faults:?}");
    }
}

#[test]
fn the_alert_rules_pass_their_tests() {
    for command in [
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts.test.yml"],
    ] {
        let folder = root().join("docs/deploy");
        let ran = Command::new("promtool")
            .args(command)
            .current_dir(folder)
            .output();
        let Ok(ran) = ran else {
            let _ = writeln!(
                io::stderr(),
                "SKIPPED the_alert_rules_pass_their_tests: no promtool"
            );
            return;
        };
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{command:?}: {said}");
    }
    // Every rule has a test.
    let rules = deployed("alerts.yml");
    let tests = deployed("alerts.test.yml");
    for name in rules.lines().filter_map(|it| it.split_once("- alert: ")) {
        let name = name.1.trim();
        let tested = tests.contains(&format!("alertname: {name}\n"));
        assert!(tested, "{name} has no test");
    }
}

#[test]
fn the_single_and_the_template_unit_differ_in_names_only() {
    let body = |name: &str| {
        let text = deployed(name);
        let start = text.find("[Unit]").expect("a unit");
        text[start..].replace("/%i", "").replace(" (%i)", "")
    };
    assert_eq!(body("megaton.service"), body("megaton@.service"));
}

#[test]
fn stopping_the_service_waits_for_its_games() {
    let drain = Config::default().shutdown.drain.as_secs();
    let unit = deployed("megaton.service");
    let seconds = unit
        .lines()
        .find_map(|it| it.strip_prefix("TimeoutStopSec="));
    let seconds: u64 = seconds.expect("a time").parse().expect("seconds");
    assert!(seconds > drain, "{seconds} s");
    let compose = yaml("compose.yaml");
    let grace = compose["services"]["megaton"]["stop_grace_period"].as_str();
    let minutes = grace.and_then(|it| it.strip_suffix('m')).expect("minutes");
    assert!(minutes.parse::<u64>().expect("a number") * 60 > drain);
}

#[test]
fn the_compose_file_matches_the_image_and_its_files() {
    let image = fs::read_to_string(root().join("Dockerfile")).expect("Dockerfile");
    let compose = yaml("compose.yaml");
    let bot = &compose["services"]["megaton"];
    let asks = image.split("\nHEALTHCHECK").nth(1).expect("a health check");
    let asks = asks.split_once("CMD ").expect("a command").1;
    let asks: Vec<String> =
        serde_json::from_str(asks.lines().next().expect("a line")).expect("a list");
    let test = bot["healthcheck"]["test"].as_array().expect("a list");
    assert!(test[1..].iter().eq(asks.iter()), "{test:?}");
    let user = bot["user"].as_str().expect("a user");
    assert!(image.contains(&format!("USER {user}\n")), "{user}");

    let services = compose["services"].as_object().expect("services");
    let mounts = services.values().filter_map(|it| it["volumes"].as_array());
    let mounts = mounts.flatten().filter_map(Value::as_str);
    let secrets = compose["secrets"].as_object().expect("secrets").values();
    let secrets = secrets.filter_map(|it| it["file"].as_str());
    for mount in mounts.chain(secrets) {
        let Some(file) = mount.strip_prefix("./") else {
            continue;
        };
        let file = file.split(':').next().unwrap_or_default();
        let there = root().join("docs/deploy").join(Path::new(file)).is_file();
        assert!(there || BROUGHT.contains(&file), "no {file}");
    }
    let board = yaml("grafana-boards.yml");
    let folder = board["providers"][0]["options"]["path"].as_str();
    let mounted = deployed("compose.yaml").contains(&format!(":{}/", folder.expect("a folder")));
    assert!(mounted, "the dashboard lies elsewhere");
}

#[test]
fn the_container_of_the_readme_gets_the_token() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md");
    let section = readme.split_once("\n## Run it as a service\n");
    let block = section.expect("a section").1.split("```").nth(1);
    let commands = block.expect("commands").replace("\\\n", " ");
    let mut lines = commands.lines();
    let start = lines.find(|line| line.contains("docker run "));
    let start = start.expect("what starts the container");
    // What `init` leaves beside the config, and a Docker that says what it is given.
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("token.txt"), "lip_written\n").expect("a token");
    let docker = r#"docker() { printf '%s\n' "$LICHESS_BOT_TOKEN" "$@"; }"#;
    for (variable, token) in [("", "lip_written"), ("lip_set", "lip_set")] {
        let ran = Command::new("sh")
            .args(["-c", &format!("{docker}\n{start}")])
            .current_dir(folder.path())
            .env("LICHESS_BOT_TOKEN", variable)
            .output();
        let given = ran.expect("a shell").stdout;
        let given = String::from_utf8(given).expect("text");
        let given: Vec<&str> = given.lines().collect();
        assert_eq!(given.first(), Some(&token), "{start}");
        let passed = given.windows(2).any(|it| it == ["-e", "LICHESS_BOT_TOKEN"]);
        let config = given.contains(&"./config.toml:/config/config.toml:ro");
        assert!(passed && config, "{given:?}");
    }
}

/// A tag can be moved to another image, a digest cannot.
#[test]
fn images_of_others_are_named_by_their_digest() {
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).expect("Dockerfile");
    let bases = dockerfile.lines().filter_map(|line| {
        let (argument, image) = line.strip_prefix("ARG ")?.split_once('=')?;
        argument.ends_with("_IMAGE").then_some(image)
    });
    let compose = yaml("compose.yaml");
    let services = compose["services"].as_object().expect("services");
    let pulled = services.values().filter(|it| it["build"].is_null());
    let pulled = pulled.map(|it| it["image"].as_str().expect("an image"));
    let images: Vec<&str> = bases.chain(pulled).collect();
    assert_eq!(images.len(), 4, "{images:?}");
    for image in images.into_iter().filter(|image| *image != "scratch") {
        let (tagged, digest) = image.split_once("@sha256:").unwrap_or((image, ""));
        assert!(tagged.contains(':'), "{image}: people read the tag");
        let hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(digest.len() == 64 && hex, "{image}: no digest");
    }
}

#[test]
fn every_service_is_bounded_and_dumps_no_core() {
    for name in ["megaton.service", "megaton@.service"] {
        let unit = deployed(name);
        for limit in [
            "LimitCORE=0",
            "MemoryMax=",
            "TasksMax=",
            "RestartMaxDelaySec=",
        ] {
            assert!(unit.contains(&format!("\n{limit}")), "{name}: {limit}");
        }
    }
    let compose = yaml("compose.yaml");
    let services = compose["services"].as_object().expect("services");
    for (name, service) in services {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"][0], "ALL", "{name}");
        for limit in ["mem_limit", "pids_limit", "security_opt"] {
            assert!(!service[limit].is_null(), "{name}: {limit}");
        }
    }
    assert_eq!(compose["services"]["megaton"]["ulimits"]["core"], 0);
}

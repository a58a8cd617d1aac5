//! Circles: two files of a module that import each other are one file in disguise, or share something
//! that belongs in a third.
//!
//! A file that only re-exports its children does not import them. Tests may import what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::layers::sources;
use super::rust_words::{paths, spelled_paths, words};

type Module = Vec<String>;

/// The source files: their module paths, what they import, and what they re-export by name.
#[derive(Default)]
struct Imports {
    files: BTreeMap<Module, String>,
    uses: BTreeMap<Module, BTreeSet<Module>>,
    exports: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Imports {
    fn read(sources: &[(String, String)]) -> Self {
        let mut imports = Self::default();
        for (name, _) in sources {
            imports.files.insert(module_of(name), name.clone());
        }
        for (name, text) in sources {
            let (module, words) = (module_of(name), words(text));
            let exports = imports.exports_of(&module, &words);
            let mut uses = BTreeSet::new();
            for path in spelled_paths(&words, module.len()) {
                if path.in_tests {
                    continue;
                }
                let whole = imports.whole(&module, &path.parts, path.rooted);
                uses.extend(whole.filter(|it| !exports.values().any(|export| export == it)));
            }
            imports.uses.insert(module.clone(), uses);
            imports.exports.insert(module, exports);
        }
        imports
    }

    /// A spelled path from the root of the crate; none if it leads out of it.
    fn whole(&self, module: &[String], parts: &[String], rooted: bool) -> Option<Module> {
        if rooted {
            return Some(parts.to_vec());
        }
        let supers = parts.iter().take_while(|part| *part == "super").count();
        let child = [module, &parts[..1]].concat();
        match parts[0].as_str() {
            "super" if supers <= module.len() => {
                Some([&module[..module.len() - supers], &parts[supers..]].concat())
            }
            "self" => Some([module, &parts[1..]].concat()),
            _ if self.files.contains_key(&child) => Some([module, parts].concat()),
            _ => None,
        }
    }

    /// What `pub use` passes on from a module's own children.
    fn exports_of(&self, module: &[String], words: &[String]) -> BTreeMap<String, Module> {
        let mut exports = BTreeMap::new();
        for at in 1..words.len() {
            let is_public = words[at - 1] == "pub" || words[at - 1] == ")";
            if words[at] != "use" || !is_public {
                continue;
            }
            for path in paths(words, at + 1) {
                let rooted = path[0] == "crate";
                let parts = &path[usize::from(rooted)..];
                if let Some(whole) = self.whole(module, parts, rooted)
                    && whole.starts_with(module)
                {
                    let name = whole.last().cloned().unwrap_or_default();
                    exports.insert(name, whole);
                }
            }
        }
        exports
    }

    /// The file that a path ends in, through re-exports.
    fn target(&self, path: &[String]) -> Option<Module> {
        let length = (1..=path.len())
            .rev()
            .find(|length| self.files.contains_key(&path[..*length]))?;
        let (file, rest) = path.split_at(length);
        let export = rest
            .first()
            .and_then(|name| self.exports.get(file)?.get(name));
        match export {
            Some(whole) if whole.len() > file.len() => {
                self.target(&[whole.as_slice(), &rest[1..]].concat())
            }
            _ => Some(file.to_vec()),
        }
    }

    /// The pairs of files that import each other.
    fn circles(&self) -> BTreeSet<(String, String)> {
        let mut edges: BTreeSet<(Module, Module)> = BTreeSet::new();
        for (module, uses) in &self.uses {
            let targets = uses.iter().filter_map(|path| self.target(path));
            edges.extend(targets.map(|target| (module.clone(), target)));
        }
        let back = |(from, to): &&(Module, Module)| {
            from < to && edges.contains(&(to.clone(), from.clone()))
        };
        let name = |module: &Module| self.files[module].clone();
        let circles = edges.iter().filter(back);
        circles.map(|(from, to)| (name(from), name(to))).collect()
    }
}

fn module_of(file: &str) -> Module {
    let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
    name.split('/').map(str::to_owned).collect()
}

#[test]
fn no_two_files_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(&root).expect("inside src");
        let text = fs::read_to_string(path).expect("source text");
        (name.display().to_string(), text)
    };
    let texts: Vec<_> = sources(&root).iter().map(read).collect();
    let circles = Imports::read(&texts).circles();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn circles_are_found_through_re_exports_and_relative_paths() {
    let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let circles = |a: &str, b: &str| {
        let facade = "mod a; mod b; pub use a::{A, Both}; pub(super) use self::b::B;";
        let sources = [
            text("m/mod.rs", facade),
            text("m/a.rs", a),
            text("m/b.rs", b),
        ];
        Imports::read(&sources).circles().len()
    };
    assert_eq!(circles("use super::B;", "use crate::m::Both;"), 1);
    assert_eq!(circles("use super::b::B;", "fn f(_: super::a::A) {}"), 1);
    assert_eq!(circles("use super::b::B;", "use std::fmt;"), 0);
    let in_tests = "#[cfg(test)]\nmod tests { use super::super::A; }";
    assert_eq!(circles("use super::B;", in_tests), 0);
}

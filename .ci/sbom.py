#!/usr/bin/env python3
"""What a release of Megaton contains: an SBOM (CycloneDX 1.5) and the licences of its crates.

    .ci/sbom.py TARGET FOLDER

Writes FOLDER/megaton.cdx.json and FOLDER/THIRD-PARTY-LICENSES.txt from Cargo.lock and the crates' own
files. Crates that only build or test the program are left out. The output depends on nothing else.
"""
import json
import pathlib
import subprocess
import sys
import tomllib

LICENCE_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


def metadata(target):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def linked(meta):
    """The ids of the packages that become part of the program, the program's own among them."""
    nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
    found, open_ids = set(), [meta["resolve"]["root"]]
    while open_ids:
        package = open_ids.pop()
        if package in found:
            continue
        found.add(package)
        for dep in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dep["dep_kinds"]):
                open_ids.append(dep["pkg"])
    return found


def checksums():
    with open("Cargo.lock", "rb") as lock:
        packages = tomllib.load(lock)["package"]
    return {(p["name"], p["version"]): p.get("checksum") for p in packages}


def component(package, checksum):
    name, version = package["name"], package["version"]
    entry = {
        "type": "library",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def licence_texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.iterdir() if f.is_file() and f.name.upper().startswith(LICENCE_NAMES))
    texts = [f.read_text(errors="replace").strip() for f in files]
    return texts or ["(the crate ships no text of it)"]


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    meta, sums = metadata(target), checksums()
    wanted = linked(meta)
    packages = sorted((p for p in meta["packages"] if p["id"] in wanted), key=lambda p: (p["name"], p["version"]))
    root = next(p for p in packages if p["id"] == meta["resolve"]["root"])
    others = [p for p in packages if p is not root]
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(root, None), "type": "application"}},
        "components": [component(p, sums.get((p["name"], p["version"]))) for p in others],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "megaton.cdx.json").write_text(json.dumps(bom, indent=1) + "\n")
    with open(folder / "THIRD-PARTY-LICENSES.txt", "w") as out:
        for p in others:
            out.write(f"{'=' * 80}\n{p['name']} {p['version']}: {p['license']}\n\n")
            out.write("\n\n".join(licence_texts(p)) + "\n\n")
    print(f"{len(others)} crates in the SBOM of {target}")


if __name__ == "__main__":
    main()

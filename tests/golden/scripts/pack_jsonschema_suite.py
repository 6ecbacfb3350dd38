#!/usr/bin/env python3
"""Packs the JSON Schema Test Suite into tests/golden/jsonschema.

usage: pack_jsonschema_suite.py OUT SUITE [SUITE ...]

A SUITE is a folder with tests/ and remotes/ of github.com/json-schema-org/JSON-Schema-Test-Suite.
For each draft the first SUITE that has it counts; remote documents are those of all, the first one
that has a document counts. One test group a line, with the file that it came from; the tests in
optional/ go to a file of their own.
"""
import json
import pathlib
import sys

DRAFTS = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"]


def write_groups(out, files, root):
    with open(out, "w") as sink:
        for file in files:
            name = file.relative_to(root).with_suffix("").as_posix()
            for group in json.loads(file.read_text()):
                row = {"file": name, **group}
                for key in ("specification", "comment"):
                    row.pop(key, None)
                for test in row["tests"]:
                    test.pop("comment", None)
                sink.write(json.dumps(row, separators=(",", ":")) + "\n")


def main():
    out = pathlib.Path(sys.argv[1])
    suites = [pathlib.Path(name) for name in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    for draft in DRAFTS:
        root = next(s / "tests" / draft for s in suites if (s / "tests" / draft).is_dir())
        files = sorted(root.rglob("*.json"))
        optional = [f for f in files if f.relative_to(root).parts[0] == "optional"]
        write_groups(out / f"{draft}.jsonl", [f for f in files if f not in optional], root)
        write_groups(out / f"{draft}-optional.jsonl", optional, root)
    remotes = {}
    for suite in suites:
        for file in sorted((suite / "remotes").rglob("*.json")):
            name = file.relative_to(suite / "remotes").as_posix()
            if not name.startswith(("draft-next", "draft3")):
                remotes.setdefault("http://localhost:1234/" + name, json.loads(file.read_text()))
    with open(out / "remotes.json", "w") as sink:
        rows = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in sorted(remotes.items())]
        sink.write("{\n" + ",\n".join(rows) + "\n}\n")


main()

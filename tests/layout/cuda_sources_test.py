#!/usr/bin/env python3
"""Every .cu is part of a library that a test with the tag "device" links, so that every kernel runs
in CI.

Reads the BUILD files as the Python that they nearly are: rules and macros are called, and note
their targets.
"""

import glob
import os
import re
import sys
import types

DEPENDENCIES = ("srcs", "hdrs", "textual_hdrs", "deps", "data")
FUNCTIONS = ("aspect", "attr", "config", "provider", "struct", "depset", "DefaultInfo", "CcInfo")
RULES = (
    "cc_library",
    "cc_binary",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "sh_test",
    "sh_binary",
    "sh_library",
    "genrule",
    "filegroup",
    "config_setting",
    "constraint_setting",
    "constraint_value",
    "package_group",
    "test_suite",
    "alias",
)


class Anything:
    """Stands for what matters only when Bazel builds."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __add__(self, other):
        return self

    __radd__ = __add__

    def __iter__(self):
        return iter(())


def select(branches):
    """All branches: a target links a .cu if it does so in some configuration."""
    return [item for branch in branches.values() for item in branch]


def file_of(label):
    return label[2:].replace(":", "/").lstrip("/")


class Reader:
    def __init__(self):
        self.targets = {}  # label -> (rule, labels it depends on, tags)
        self.package = ""

    def label(self, text):
        if text.startswith("//"):
            return text if ":" in text else text + ":" + text.rsplit("/", 1)[1]
        return "//%s:%s" % (self.package, text.lstrip(":"))

    def rule(self, kind):
        def note(name, **attributes):
            labels = [
                self.label(item) for key in DEPENDENCIES for item in attributes.get(key) or []
            ]
            self.targets[self.label(name)] = (kind, labels, attributes.get("tags") or [])

        return note

    def glob(self, patterns, **_):
        found = [path for p in patterns for path in glob.glob(os.path.join(self.package, p))]
        return [os.path.relpath(path, self.package) for path in sorted(found)]

    def names(self):
        native = {kind: self.rule(kind) for kind in RULES}
        names = {
            name: Anything()
            for name in FUNCTIONS + ("package", "exports_files", "licenses", "fail")
        }
        native.update(glob=self.glob, package_name=lambda: self.package)
        names.update(
            native,
            select=select,
            rule=lambda **k: self.rule("rule"),
            native=types.SimpleNamespace(**native),
        )
        names["load"] = lambda path, *symbols, **aliases: names.update(
            self.symbols(path, {**{symbol: symbol for symbol in symbols}, **aliases})
        )
        return names

    def symbols(self, path, symbols):
        if path.startswith("@"):
            return {name: Anything() for name in symbols}
        loaded = self.run(file_of(self.label(path)))
        return {name: loaded[symbol] for name, symbol in symbols.items()}

    def run(self, path):
        names = self.names()
        with open(path) as file:  # keys() is a list in Bazel's language
            exec(compile(re.sub(r"(\w+)\.keys\(\)", r"list(\1)", file.read()), path, "exec"), names)
        return names


def main(workspace):
    os.chdir(os.path.dirname(os.path.realpath(workspace)))
    reader = Reader()
    sources = set()
    for folder, folders, files in os.walk("."):
        folders[:] = [
            f
            for f in folders
            if not f.startswith((".", "bazel-")) and os.path.join(folder, f) != "./tools/offline"
        ]
        if "BUILD" in files:
            reader.package = folder[2:]
            reader.run(os.path.join(folder, "BUILD"))
        sources.update(os.path.join(folder, file)[2:] for file in files if file.endswith(".cu"))

    reached = set()
    waiting = [
        label
        for label, (kind, _, tags) in reader.targets.items()
        if kind.endswith("_test") and "device" in tags
    ]
    while waiting:
        label = waiting.pop()
        if label not in reached:
            reached.add(label)
            waiting.extend(reader.targets.get(label, ("", [], []))[1])
    missing = sorted(sources - {file_of(label) for label in reached})
    for source in missing:
        print("%s: no test with the tag \"device\" links it" % source)
    print("%d .cu files checked, %d problems" % (len(sources), len(missing)))
    return 1 if missing or not sources else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

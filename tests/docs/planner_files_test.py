#!/usr/bin/env python3
"""docs/guide/planner_files.md has the keys that the planner's readers know, each of them and no
other. Argument: a file of the checkout's root."""

import pathlib
import re
import sys

READERS = ("planner/model/model_json.cc", "planner/model/topology_json.cc",
           "planner/model/placement_rules_json.cc", "sharding/plan/plan_json.cc")
# A reader's helpers take the key as their first text; a key of a document's kind is a constant.
KEY = re.compile(r'''(?:Read\w*|Required\w*|Require|Find\w*|ForEach\w+|WithObject|fn|CommField)
                     (?:<\w+>)?\((?:(?:object|o),\s*)?"(\w+)"|
                     Key\[\]\s=\s"(tessera_\w+)"''', re.VERBOSE)


def keys_of_readers(root):
    found = set()
    for reader in READERS:
        for match in KEY.finditer((root / reader).read_text()):
            found.add(next(filter(None, match.groups())))
    return found


def words_of(page):
    """What stands in backticks."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"(?<!`)`([^`\n]+)`", page))))


def keys_of_tables(page):
    """The first column of each table."""
    keys = set()
    for line in page.splitlines():
        if line.startswith("| `"):
            keys.update(re.findall(r"`(\w+)`", line.split("|")[1]))
    return keys


def main():
    root = pathlib.Path(sys.argv[1]).resolve().parent
    page = (root / "docs/guide/planner_files.md").read_text()
    known = keys_of_readers(root)
    assert len(known) > 70, f"only {len(known)} keys were found in {READERS}"
    missing, unknown = known - words_of(page), keys_of_tables(page) - known
    assert not missing, f"keys that the page lacks: {sorted(missing)}"
    assert not unknown, f"keys of the page that no reader knows: {sorted(unknown)}"
    print(f"{len(known)} keys")


if __name__ == "__main__":
    main()

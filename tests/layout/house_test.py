#!/usr/bin/env python3
"""Counts what makes a house easy to find one's way in, prints the counts and each place, and fails
where one is above its bound: files in a folder, lines over 100 columns (sources, documents, scripts
and build files), lines of the pages that are read first, comments that begin with a fragment,
headers without a head comment, test suites that one program could not hold.
"""

import collections
import os
import pathlib
import re
import sys

MAX_FILES = 40
# Lines of pages that a stranger reads first.
MAX_LINES = {"README.md": 120, "docs/design/overview.md": 150}
COLUMNS = 100
SOURCES = (".h", ".cc", ".cu", ".cuh")
HEADERS = (".h", ".cuh")
SCRIPTS = (".sh", ".py", ".bzl", ".bazelrc", "BUILD", "WORKSPACE")
# Answers of other systems, one file a case; and what tools write.
CASES = "tests/conformance/cases/"
# A comment above a declaration is a sentence, or a noun phrase that stands alone; it does not lean
# on a declaration that the reader has not read yet.
FRAGMENT = re.compile(r"^(Of|As|What|The same|Null)\b")
TEST = re.compile(r"^TEST(_F|_P)?\(\s*(\w+),", re.MULTILINE)
TRAILING = re.compile(r"[;,{]\s*// (.*)$")


def files_of(root):
    """Paths of the checkout, without what builds and tools leave there."""
    for folder, folders, names in os.walk(root):
        folders[:] = [
            name
            for name in folders
            if not name.startswith((".", "bazel-", "__")) and name != "shared"
        ]
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not path.startswith(CASES):
                yield path


def full_folders(paths):
    counts = collections.Counter(path.rsplit("/", 1)[0] if "/" in path else "." for path in paths)
    return [f"{folder}: {count} files" for folder, count in counts.items() if count > MAX_FILES]


def is_script(path, text):
    return path.endswith(SCRIPTS) or text.startswith("#!")


def wide_lines(path, text):
    """Over 100 columns. Rows of a table and links of a document cannot be broken, nor can strings
    of JSON in a source."""
    if is_script(path, text):
        fixed = re.compile("(?!)")
    else:
        fixed = re.compile(r'^\||\]\(|": ' if path.endswith(".md") else r'R"\(|": |":"')
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS and not fixed.search(line):
            yield f"{path}:{number}: {len(line)} columns"


def fragments(path, text):
    """Comments of a source, above a line or behind it, that begin with a fragment."""
    in_comment = False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        begins = stripped.startswith("//") and not in_comment
        in_comment = stripped.startswith("//")
        comment = stripped[2:].strip() if begins else None
        trailing = TRAILING.search(line) if not in_comment else None
        if trailing:
            comment = trailing.group(1)
        if comment and FRAGMENT.match(comment):
            yield f"{path}:{number}: {comment}"


def shared_fixtures(suites):
    """Suites with a fixture that also have tests in another file: one program of both, as a GPU's
    bundle is, would refuse to start. suites: {path: {suite: has a fixture}}"""
    files = collections.defaultdict(list)
    for path, of_path in suites.items():
        for suite, has_fixture in of_path.items():
            files[suite].append((path, has_fixture))
    return [
        f"{suite}: {', '.join(path for path, _ in uses)}"
        for suite, uses in sorted(files.items())
        if len(uses) > 1 and any(has_fixture for _, has_fixture in uses)
    ]


def suites_of(text):
    suites = {}
    for macro, suite in TEST.findall(text):
        suites[suite] = suites.get(suite, False) or macro != ""
    return suites


def has_head(text):
    return any(line.startswith(("//", "/*")) for line in text.split("\n")[:6])


def private_headers(path, text, public):
    """Headers that a page sends users to and that no installation has."""
    for header in sorted(set(re.findall(r"`(?:tessera/)?([\w/]+/\w+\.h)`", text)) - public):
        yield f"{path}: {header}"


def check_itself():
    source = "// Of x.\nint a;\n// Good,\n// as it is.\nint b;  // As c.\n"
    found = list(fragments("a.cc", source))
    assert found == ["a.cc:1: Of x.", "a.cc:5: As c."], f"fragments() is wrong: {found}"
    for path, text, number in (
        ("a.md", "|" + "x" * 200 + "\n" + "y" * 101, 2),
        ("a.cc", 'R"({"key": "' + "x" * 100 + "\n" + "y" * 101, 2),
        ("a/BUILD", 'R"({"key": "' + "x" * 100, 1),
        ("tool", "#!/bin/bash\n# " + "x" * 99, 2),
    ):
        found = [place.split(": ")[0] for place in wide_lines(path, text)]
        assert found == [f"{path}:{number}"], f"wide_lines() is wrong: {found}"
    found = list(private_headers("a.md", "`a/b.h` or `tessera/c/d.h`", {"c/d.h"}))
    assert found == ["a.md: a/b.h"], f"private_headers() is wrong: {found}"
    suites = {"a": suites_of("TEST_F(A, b) {"), "b": suites_of("TEST(A, c) {\nTEST(D, e) {")}
    found = shared_fixtures(suites)
    assert found == ["A: a, b"], f"shared_fixtures() is wrong: {found}"


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1]).resolve().parent
    paths = list(files_of(root))
    found = {
        "folders with more than 40 files": full_folders(paths),
        "lines over 100 columns": [],
        "pages that are too long": [],
        "comments that begin with a fragment": [],
        "headers without a head comment": [],
        "headers that users are sent to and that are not installed": [],
    }
    public = set(re.findall(r'"([\w/]+\.h)"', (root / "public_headers.bzl").read_text()))
    lines, suites = collections.Counter(), {}
    for path in paths:
        kind = (
            "tests"
            if path.startswith("tests/")
            else "documents" if path.endswith(".md") else "sources"
        )
        try:
            text = (root / path).read_text()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        lines[kind] += text.count("\n")
        if text.count("\n") > MAX_LINES.get(path, sys.maxsize):
            found["pages that are too long"].append(f"{path}: {text.count(chr(10))} lines")
        if path.endswith((*SOURCES, ".md")) or is_script(path, text):
            found["lines over 100 columns"] += wide_lines(path, text)
        if path.endswith(SOURCES):
            found["comments that begin with a fragment"] += fragments(path, text)
        if path == "docs/torchrec_api.md" or path.startswith("docs/guide/"):
            found["headers that users are sent to and that are not installed"] += private_headers(
                path, text, public
            )
        if path.startswith("tests/") and path.endswith("_test.cc"):
            suites[path] = suites_of(text)
        if path.endswith(HEADERS) and not has_head(text):
            found["headers without a head comment"].append(path)
    found["suites of one name in several files"] = shared_fixtures(suites)
    for what, places in found.items():
        print(f"{what}: {len(places)}")
        print("\n".join(f"  {place}" for place in places))
    print("lines: " + ", ".join(f"{count} of {kind}" for kind, count in sorted(lines.items())))
    if lines["sources"] < 10_000:
        sys.exit("too few files were found: is this the right folder?")
    sys.exit(1 if any(found.values()) else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The folders' arrows: a file includes only from its own folder and from folders to the left of it.

  runtime <- sparse | quant | optim | comm <- embedding | metrics | data <- sharding
          <- planner | models <- train <- serve <- cli, examples, tests, bench

Inside a top-level folder, subfolders may stand above or below the files on top, but never both:
their includes form no circle. Also: no .cuh outside .cu and .cuh files, no kernel started by
<<<>>>, no TESSERA_WITH_CUDA outside the runtime's dispatch.
"""

import collections
import pathlib
import re
import sys

LEVELS = [
    ["runtime"],
    ["sparse", "quant", "optim", "comm"],
    ["embedding", "metrics", "data"],
    ["sharding"],
    ["planner", "models"],
    ["train"],
    ["serve"],
    ["cli", "examples", "tests", "bench"],
]
LEVEL_OF = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
KNOWS_CUDA = re.compile(r"runtime/(device/dispatch\.h|(\w+/)*\w+_cuda\.\w+)")


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield str(path.relative_to(root)), path.read_text()


def top(path):
    return path.split("/")[0]


def folder_of(path):
    return path.rsplit("/", 1)[0]


def circles(arrows):
    """The sets of nodes (two or more) that reach each other."""

    def reached(start):
        seen, waiting = set(), [start]
        while waiting:
            for node in arrows.get(waiting.pop(), {}):
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
        return seen

    beyond = {node: reached(node) for node in arrows}
    found = {
        frozenset(other for other in beyond[node] if node in beyond.get(other, ())) | {node}
        for node in arrows
        if node in beyond[node]
    }
    return sorted(sorted(circle) for circle in found)


def check_itself():
    chain = {"a": {"b": []}, "b": {"c": []}}
    loop = {"a": {"b": []}, "b": {"c": []}, "c": {"a": []}, "d": {"a": []}}
    assert circles(chain) == [] and circles(loop) == [["a", "b", "c"]], "circles() is wrong"


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1]).resolve().parent
    problems, checked = [], 0
    inside = collections.defaultdict(dict)  # folder -> folder -> the includes
    for path, text in sources(root, LEVEL_OF):
        for include in INCLUDE.findall(text):
            if path.endswith((".h", ".cc")) and include.endswith(".cuh"):
                problems.append(
                    f"{path} includes {include}: a .cuh may be included by .cu and .cuh files only"
                )
            if top(include) not in LEVEL_OF:
                continue
            checked += 1
            here, there = LEVEL_OF[top(path)], LEVEL_OF[top(include)]
            if top(path) == top(include):
                if folder_of(path) != folder_of(include) and top(path) not in LEVELS[-1][1:]:
                    inside[folder_of(path)].setdefault(folder_of(include), []).append(
                        f"{path} includes {include}"
                    )
            elif here <= there and here < len(LEVELS) - 1:
                problems.append(f"{path} includes {include}: that arrow points the wrong way")
        if "TESSERA_WITH_CUDA" in text and not KNOWS_CUDA.fullmatch(path):
            problems.append(
                f"{path}: only runtime/device/dispatch.h and runtime/**/*_cuda.* "
                "know TESSERA_WITH_CUDA"
            )
    for path, text in sources(root, [*LEVEL_OF, "tools"]):
        if "<<<" in text:
            problems.append(f"{path}: kernels start through Launch, not <<<>>>")
    for circle in circles(inside):
        problems.append(f"{', '.join(circle)} include from each other:")
        for folder in circle:
            for other in circle:
                problems += [f"  {line}" for line in inside[folder].get(other, [])]
    if checked < 1000:
        problems.append(f"only {checked} includes were found: is this the right folder?")
    print("\n".join(problems))
    print(f"{checked} includes checked, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

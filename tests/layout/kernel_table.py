#!/usr/bin/env python3
"""What nvcc made of each kernel: a table from ptxas's logs, and its comparison with the one that is
committed.

  kernel_table.py write VERSION LOGS…    prints the table
  kernel_table.py check TABLE NEW        fails where the new table is worse: registers spilled, or
                                         many more of them used

One line a kernel: its source, its name, variants (template instances), then the largest of each:
registers a thread, bytes of its stack, bytes spilled (stores and loads), static shared memory a
block. A functor of ForEach is one line, whatever its types; CUB's kernels are left out.
"""

import re
import subprocess
import sys

ARCHITECTURE = "sm_90"
MORE_REGISTERS = 8  # than recorded: allowed
COLUMNS = ("registers", "stack", "spilled", "shared")


def demangle(names):
    out = subprocess.run(
        ["c++filt"],
        input="\n".join(names),
        stdout=subprocess.PIPE,
        check=True,
        universal_newlines=True,
    )
    return out.stdout.split("\n")


def before_arguments(name):
    """ "f<(T)0>" of "f<(T)0>(int)"."""
    depth = 0
    for place, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            return name[:place]
    return name


def short(name):
    """The kernel's own name; for ForEachKernel<Functor<…>> "ForEach Functor"."""
    name = (
        name.replace("(anonymous namespace)::", "")
        .replace("tessera::", "")
        .replace("internal::", "")
        .replace("bench::", "")
    )
    name = before_arguments(re.sub(r"^void ", "", name))
    inner = re.match(r"ForEachKernel<(.*)>$", name)
    if inner:
        return "ForEach " + inner.group(1).split("<")[0]
    return re.sub(r"\(\w+\)(?=\w)", "", name).replace("> >", ">>")


def source_of(output):
    """embedding/lookup/lookup_cuda.cu for
    …/bin/embedding/lookup/_cuda/lookup_cuda_nvcc/lookup_cuda.cu.ptxas."""
    folder, file = re.search(r"/bin/(.*)/_cuda/[^/]*/(.*\.cu)\.", output).groups()
    return "%s/%s" % (folder, file)


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1)) if found else 0


def read(logs, wanted=ARCHITECTURE):
    """Source and kernel -> [variants, registers, stack, spilled, shared]."""
    kernels = {}
    for log in logs:
        with open(log) as file:
            parts = re.split(r"Compiling entry function '(\w+)' for '(\w+)'", file.read())
        for name, architecture, text in zip(demangle(parts[1::3]), parts[2::3], parts[3::3]):
            if (
                architecture != wanted
                or "tessera::" not in name
                or name.startswith("void cub::")
            ):
                continue
            spilled = number(r"(\d+) bytes spill stores", text) + number(
                r"(\d+) bytes spill loads", text
            )
            row = kernels.setdefault("%s %s" % (source_of(log), short(name)), [0, 0, 0, 0, 0])
            values = (
                number(r"Used (\d+) registers", text),
                number(r"(\d+) bytes stack frame", text),
                spilled,
                number(r"(\d+) bytes smem", text),
            )
            row[:] = [row[0] + 1] + [max(a, b) for a, b in zip(row[1:], values)]
    return kernels


def table(version, kernels):
    lines = [
        "# %s, nvcc %s; tools/kernel_table writes this file" % (ARCHITECTURE, version),
        "%-88s %8s %s" % ("# kernel", "variants", " ".join("%9s" % c for c in COLUMNS)),
    ]
    lines += [
        "%-88s %8d %s" % (name, row[0], " ".join("%9d" % n for n in row[1:]))
        for name, row in sorted(kernels.items())
    ]
    return "\n".join(lines) + "\n"


def parse(path):
    with open(path) as file:
        lines = file.read().split("\n")
    rows = [line.rsplit(None, 5) for line in lines if line and not line.startswith("#")]
    return lines[0], {row[0]: [int(n) for n in row[1:]] for row in rows}


def complaints(same_compiler, recorded, kernels):
    for name, row in sorted(kernels.items()):
        known = recorded.get(name)
        if known is None:
            yield "%s: it is not in the table" % name
            known = [0, 255, 0, 0, 0]
        for column in (2, 3):
            if row[column] > known[column]:
                yield "%s: %d bytes %s, %d in the table" % (
                    name,
                    row[column],
                    COLUMNS[column - 1],
                    known[column],
                )
        if same_compiler and row[1] > known[1] + MORE_REGISTERS:
            yield "%s: %d registers, %d in the table" % (name, row[1], known[1])
    for name in sorted(set(recorded) - set(kernels)):
        yield "%s: it is in the table, but no longer there" % name


def check(table_path, new_path):
    (head, recorded), (new_head, kernels) = parse(table_path), parse(new_path)
    if not kernels:
        print("SKIPPED: nothing was compiled for %s" % ARCHITECTURE)
        return 0
    found = list(complaints(head == new_head, recorded, kernels))
    print("\n".join(found + ["%d kernels checked, %d problems" % (len(kernels), len(found))]))
    if found:
        print("If this is meant: run tools/kernel_table, and commit %s" % table_path)
    return 1 if found else 0


def main(mode, *arguments):
    if mode == "check":
        return check(*arguments)
    sys.stdout.write(table(arguments[0], read(arguments[1:])))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
"""Loads in flight in the loops of the kernels that live by memory: a table, and its comparison.

  kernel_loads.py write VERSION CUBINS…  prints the table
  kernel_loads.py check TABLE NEW        fails where fewer loads are in flight than in the table
                                         that is committed, or than FLOORS ask for

One line a kernel, architecture and width of load: how many there are in loops; how many of them are
in flight alone; bytes in flight by loads of this width, the least; and by loads of any width, the
most (sass.py's Loads). Copies to shared memory (cp.async) are left out.
"""

import re
import sys

from kernel_table import demangle, short, source_of
from sass import Loads, kernels_of, loops_of, without_copies

COLUMNS = ("loads", "alone", "least", "most")

# Part of a kernel's name, bits of a load, bytes that each wait for such a load finds in flight.
FLOORS = [
    ("lookup/lookup_cuda.cu LookupKernel", 128, 64),
    ("update/update_cuda.cu SumChunksKernel<4", 128, 64),
]


def loops(cubins, copies=True):
    """(source and kernel, "sm_90") -> [Loop], of all variants that share a name. Loops know the
    places of their instructions in the source, if nvcc noted them. copies: whether copies to shared
    memory are among the loads."""
    table = {}
    for path in cubins:
        architecture, kernels = kernels_of(path)
        names = demangle(list(kernels))
        for name, (code, lines) in zip(names, kernels.values()):
            if "tessera::" not in name or name.startswith("void cub::"):
                continue
            key = ("%s %s" % (source_of(path), short(name)), "sm_%d" % architecture)
            for loop in loops_of(code if copies else without_copies(code)):
                loop.locate(lines)
                table.setdefault(key, []).append(loop)
    return table


def read(cubins):
    """(source and kernel, "sm_90", bits) -> Loads, of all loops, into registers alone."""
    table = {}
    for key, found in loops(cubins, copies=False).items():
        for loop in found:
            for bits, loads in loop.loads.items():
                table.setdefault((*key, bits), Loads()).add(loads)
    return table


def text_of(version, table):
    heads = ("sm", "bits") + COLUMNS
    lines = [
        "# nvcc %s; tools/kernel_table writes this file" % version,
        "%-88s %6s %s" % ("# kernel", heads[0], " ".join("%6s" % h for h in heads[1:])),
    ]
    lines += [
        "%-88s %6s %s" % (name, architecture, " ".join("%6d" % n for n in (bits, *loads.row())))
        for (name, architecture, bits), loads in sorted(table.items())
    ]
    return "\n".join(lines) + "\n"


def parse(path):
    with open(path) as file:
        lines = file.read().split("\n")
    rows = [line.rsplit(None, 6) for line in lines if line and not line.startswith("#")]
    return lines[0], {
        (name, architecture, int(bits)): tuple(int(n) for n in numbers)
        for name, architecture, bits, *numbers in rows
    }


def complaints(recorded, found):
    architectures = {key[1] for key in found} & {key[1] for key in recorded}
    found = {key: row for key, row in found.items() if key[1] in architectures}
    for key in sorted(set(found) - set(recorded)):
        yield "%s, %s: its loads of %d bits are not in the table" % key
    for key in sorted(key for key in set(recorded) - set(found) if key[1] in architectures):
        yield "%s, %s: its loads of %d bits are in the table, but no longer there" % key
    for key in sorted(set(recorded) & set(found)):
        known, row = recorded[key], found[key]
        if row[1] > known[1] or row[2] < known[2] or row[3] < known[3]:
            yield "%s, %s, loads of %d bits: alone, least, most are %s, %s in the table" % (
                *key,
                row[1:],
                known[1:],
            )


def below_floors(found):
    for part, bits, floor in FLOORS:
        rows = [key for key in found if part in key[0] and key[2] == bits]
        if not rows:
            yield "%s: no loads of %d bits in its loops" % (part, bits)
        for key in rows:
            if found[key][2] < floor:
                yield "%s, %s, loads of %d bits: %d bytes in flight at a wait, not %d" % (
                    *key,
                    found[key][2],
                    floor,
                )


def check(table_path, new_path):
    (head, recorded), (new_head, found) = parse(table_path), parse(new_path)
    if not found:
        print("SKIPPED: nothing was compiled")
        return 0
    problems = list(below_floors(found))
    if head == new_head:  # another compiler may do otherwise
        problems += complaints(recorded, found)
    print("\n".join(problems + ["%d rows checked, %d problems" % (len(found), len(problems))]))
    if problems:
        print("If this is meant: run tools/kernel_table, and commit %s" % table_path)
    return 1 if problems else 0


def main(mode, *arguments):
    if mode == "check":
        return check(*arguments)
    sys.stdout.write(text_of(arguments[0], read(arguments[1:])))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

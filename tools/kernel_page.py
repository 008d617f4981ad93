#!/usr/bin/env python3
"""Prints bench/results/kernels.md: what tests/layout/kernels.txt and loads.txt allow on real GPUs.

tools/kernel_table runs it.
"""

import os
from collections import namedtuple

from kernel_model import CARDS, DEFAULT_THREADS, LATENCY
from kernel_model import facts_of, occupancy, share_of_peak

ARCHITECTURE = "sm_90"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

HEAD = """# Kernels: what they use, and what that allows

Made by `tools/kernel_table` from what nvcc prints and makes ({compiler}); nothing here was
measured on a GPU ([an H200's figures](gpu_h200_2026-11-26.md) were). `tests/layout:kernels_test`
holds registers, stack and spills, and `loads_test` holds loads in flight, to the tables that this
page is made of.

**Occupancy.** A multiprocessor holds 2,048 threads, 32 blocks, 64 Ki registers in quarters (a warp
takes its registers in units of 256, from one quarter) and 228 KiB of shared memory (A100: 164), of
which a block takes 1 KiB more than it asks for:

    warps by registers = 4 * floor(16384 / (ceil(registers * 32 / 256) * 256))
    blocks             = min(32, 2048 / threads, warps by registers / (threads / 32),
                             shared of the multiprocessor / (shared of the block + 1 KiB))
    occupancy          = blocks * threads / 2048

**Bytes in flight** are read from the machine code (`tests/layout/sass.py`): what loads of global
memory had asked for when an instruction waited for one of them, in loops alone, walked twice, so
that what one round asks for the next counts. For each load the wait that found the most counts,
from its issue to its own wait. The least is that of the loads of the width that brings rows; the
most counts loads of any width. Both leave out what is not in a loop (the first ids of a bag),
copies to shared memory (`cp.async`; `tools/kernel_report` counts them), prefetches, and what the
caches hold.

**Bandwidth.** By Little's law memory delivers what is asked for at once in every latency,
{latency} ns under load:

    share of peak = multiprocessors * blocks * threads * least / latency / peak

A share above 100 % says that latency is no obstacle, not that the kernel reaches the peak: it
leaves out instructions, the first and last blocks, rows that are not in flight because a bag ends,
and loads that wait for others (a gradient for its place in the batch). Lanes without columns ask
for nothing. All figures are those of sm_90, for the A100 too. Peaks:
{machines}.
"""


Loads = namedtuple("Loads", "count alone least most")


class Kernel:
    def __init__(self, row, loads):
        name, _, registers, self.stack, self.spilled, static = row
        self.source, self.name = name.split(" ", 1)
        self.registers = int(registers)
        self.threads, dynamic, bits = facts_of(name)
        self.shared = int(static) + dynamic
        self.loads = loads.get((name, ARCHITECTURE, bits))  # or None

    def occupancy(self, card):
        return occupancy(card, self.threads, self.registers, self.shared)

    def share(self, card):
        return share_of_peak(card, self.occupancy(card), self.loads.least)

    def moving_cells(self):
        shares = ["%.0f %%" % (100 * self.share(card)) for card in CARDS.values()]
        return self.cells() + [self.loads.least, self.loads.most] + shares

    def cells(self):
        return [
            self.source,
            "`%s`" % self.name,
            self.registers,
            self.shared,
            self.threads,
            "%.0f %%" % (100 * self.occupancy(CARDS["h100"])),
            "%.0f %%" % (100 * self.occupancy(CARDS["a100"])),
        ]


def print_table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("|---|---|" + "---:|" * (len(heads) - 2))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def rows_of(file_name):
    with open(os.path.join(ROOT, "tests/layout", file_name)) as file:
        lines = file.read().split("\n")
    return lines[0], [line for line in lines if line and not line.startswith("#")]


def read_loads():
    """(source and kernel, "sm_90", bits) -> Loads."""
    loads = {}
    for line in rows_of("loads.txt")[1]:
        name, architecture, *numbers = line.rsplit(None, 6)
        bits, count, alone, least, most = [int(n) for n in numbers]
        loads[name, architecture, bits] = Loads(count, alone, least, most)
    return loads


def main():
    head, lines = rows_of("kernels.txt")
    loads = read_loads()
    kernels = [Kernel(line.rsplit(None, 5), loads) for line in lines]
    machines = ", ".join("%s %.2f TB/s" % (c.name, c.peak / 1e12) for c in CARDS.values())
    compiler = head.strip("# ").split(";")[0]
    print(HEAD.format(compiler=compiler, latency="%.0f" % (LATENCY * 1e9), machines=machines))
    heads = ["source", "kernel", "registers", "shared bytes", "threads"]
    heads += ["occupancy, H100 and H200", "A100"]
    moving = [k for k in kernels if k.loads]
    shares = ["of %s" % card.name for card in CARDS.values()]
    print("## Kernels that live by memory\n")
    print_table(
        heads + ["least bytes in flight", "most"] + shares,
        [k.moving_cells() for k in moving],
    )
    print(
        "\n## All others\n\n`ForEach F`: one thread an item, functor F, %d threads a block.\n"
        % DEFAULT_THREADS
    )
    print_table(heads, [k.cells() for k in kernels if k not in moving])


if __name__ == "__main__":
    main()

"""The report of tools/lab_cuda: what the interpreter of PTX counted of each kernel, beside what
nvcc made of it."""

import re
from collections import namedtuple

from kernel_build import kernel_table
from kernel_model import LATENCY, THREADS_OF_MULTIPROCESSOR, bytes_a_second, occupancy

LANES = 32
SECTOR = 32  # bytes
COLUMNS_OF_PAGE = 120
LEAST_SHOWN = 0.5  # percent of a kernel's sectors

# name: as kernel_table has it; numbers: by column; accesses: [Access], those of most bytes first.
Counted = namedtuple("Counted", "name numbers accesses")
# lanes and sectors: of a request; kind: load, copy, store or atomic; where: in the source.
Access = namedtuple("Access", "requests lanes sectors bits kind where")
COLUMNS = "launches requests lanes sectors used least x_least shared conflicts bits threads dynamic"


def counted(table):
    """[Counted] of what the interpreter printed (tools/ptx/statistics.h)."""
    columns, kernels = COLUMNS.split(), []
    for line in table.rstrip("\n").split("\n")[1:]:
        if line.startswith("  | "):
            requests, lanes, sectors, _, _, bits, kind, _, where = (line[4:] + " ").split(None, 8)
            kernels[-1].accesses.append(
                Access(int(requests), float(lanes), float(sectors), int(bits), kind, where.strip())
            )
        else:
            *cells, name = line.split(None, len(columns))
            numbers = dict(zip(columns, [float(cell.rstrip("%")) for cell in cells]))
            kernels.append(Counted(kernel_table.short(name), numbers, []))
    return kernels


def used(access):
    """The share of its sectors' bytes that its lanes want."""
    return access.lanes * access.bits / 8 / (access.sectors * SECTOR)


def main_access(kernel):
    """What brings its rows: of the loads that touch most sectors, those of this width together."""
    bits = int(kernel.numbers["bits"])
    loads = [a for a in kernel.accesses if a.bits == bits and a.kind in ("load", "copy")]
    requests = sum(a.requests for a in loads)
    if requests == 0:
        return None
    lanes = sum(a.lanes * a.requests for a in loads) / requests
    sectors = sum(a.sectors * a.requests for a in loads) / requests
    return Access(requests, lanes, sectors, bits, loads[0].kind, loads[0].where)


def lines_of(built, kernel, batch, card):
    """[(label, text)] of one kernel; None for the text of what does not apply."""
    counts, rows = kernel.numbers, main_access(kernel)
    shared = built.shared + int(counts["dynamic"])
    threads, bits = int(counts["threads"]), int(counts["bits"])
    occupied = occupancy(card, threads, built.registers, shared)
    loop = built.hot_loop(bits, rows.where if rows else "")
    hot = loop.loads[bits] if loop else None
    others = [o.loads[bits].least for o in built.loops if o is not loop and bits in o.loads]
    lives_by_memory = batch["operations"] == 0 and hot and rows
    reached = lives_by_memory and bytes_a_second(card, occupied, hot.row()[2] * rows.lanes / LANES)

    def text(form, thing, number):
        return form % number() if thing else None

    return [
        ("registers a thread", "%d" % built.registers),
        ("bytes of them spilled", "%d" % built.spilled),
        ("shared memory a block, bytes", "%d" % shared),
        ("threads a block", "%d" % threads),
        ("occupancy", "%.0f %%" % (100 * occupied)),
        ("bits of its loads", "%d" % bits),
        (
            "  lanes idle in a request",
            text("%.0f %%", rows, lambda: 100 - 100 * rows.lanes / LANES),
        ),
        ("  sectors a request", text("%.2f", rows, lambda: rows.sectors)),
        ("  bytes of sectors asked for", text("%.0f %%", rows, lambda: 100 * used(rows))),
        ("hot loop", text("%s", loop, lambda: loop.where)),
        ("  such loads in it", text("%d", hot, lambda: hot.count)),
        ("  of them copies (cp.async)", text("%d", hot and hot.copies, lambda: hot.copies)),
        ("  in flight alone", text("%d", hot, lambda: hot.alone)),
        ("  bytes in flight", text("%d", hot, lambda: hot.row()[2])),
        ("  by loads of any width", text("%d", hot, lambda: hot.most)),
        (
            "  in its other loops, least",
            text("%d", hot and others, lambda: min(n or 0 for n in others)),
        ),
        (
            "turns of shared memory / least",
            text("%.2f", counts["shared"], lambda: counts["conflicts"]),
        ),
        ("bytes from memory", "%d" % counts["least"]),
        ("  by what the batch needs", "%.2f" % (counts["least"] / batch["least_bytes"])),
        ("TB/s by Little's law", text("%.2f", lives_by_memory, lambda: reached / 1e12)),
        (
            "share of peak by Little's law",
            text("%.0f %%", lives_by_memory, lambda: 100 * reached / card.peak),
        ),
    ]


def columns_of(who, batch, kernels, built, card):
    """([(who, Counted, lines)] of the kernels that are among `built`, a text of each other one)."""
    columns = [
        (who, kernel, lines_of(built[kernel.name], kernel, batch, card))
        for kernel in kernels
        if kernel.name in built
    ]
    others = [
        "also launched by %s: %s (launches: %d, bytes from memory: %d)"
        % (who, bare_name(k.name), k.numbers["launches"], k.numbers["least"])
        for k in kernels
        if k.name not in built
    ]
    return columns, others


def bare_name(kernel):
    """DeviceRadixSortOnesweepKernel of what CUB calls it; else as it is."""
    found = re.search(r"::(\w+)<", kernel) if "cub::" in kernel else None
    return found.group(1) if found else kernel


def print_columns(columns):
    cells = [text for _, kernel, lines in columns for _, text in [(0, kernel.name)] + lines if text]
    width = max((len(cell) for cell in cells), default=0) + 2
    at_once = max(1, (COLUMNS_OF_PAGE - 34) // width)

    def row(label, cells):
        print("  %-32s" % label + "".join("%*s" % (width, cell) for cell in cells))

    for first in range(0, len(columns), at_once):
        some = columns[first : first + at_once]
        row("", [who for who, _, _ in some])
        row("", [kernel.name for _, kernel, _ in some])
        for line in zip(*(lines for _, _, lines in some)):
            if any(text is not None for _, text in line):
                row(line[0][0], [text or "-" for _, text in line])


def short_place(where):
    """"vector.cuh:54 < lookup.cu:43" of a place and those where its function was inlined."""
    places = [place.split("/")[-1] for place in where.split(", inlined at ")]
    return " < ".join(places if len(places) < 6 else places[:2] + ["…"] + places[-2:])


def print_accesses(who, kernel):
    """Where in the source it asks memory for bytes, and how."""
    all_sectors = sum(a.sectors * a.requests for a in kernel.accesses)
    print("  what %s of %s asks of memory, most first:" % (kernel.name, who))
    print("    of all  sectors a request  asked for  lanes  bits")
    for a in kernel.accesses:
        share = 100 * a.sectors * a.requests / all_sectors
        if share >= LEAST_SHOWN:
            row = (share, a.sectors, 100 * used(a), a.lanes, a.bits, a.kind, short_place(a.where))
            print("    %4.0f %%  %17.2f  %7.0f %%  %5.1f  %4d  %-6s at %s" % row)


def show(parts, card):
    """parts: [(who launches them, (batch, [Counted]), {name: Built})]."""
    columns, others = [], []
    for who, (batch, kernels), built in parts:
        own, more = columns_of(who, batch, kernels, built, card)
        columns += own
        others += more
    print("  sm_%s, %s" % (card.architecture, card.name))
    print_columns(columns)
    if any(text for _, _, lines in columns for label, text in lines if label.startswith("TB/s")):
        print(
            "  Little's law: %d multiprocessors x %d threads x occupancy x bytes in flight x lanes"
            " that ask / %.0f ns; the peak is %.2f TB/s"
            % (card.multiprocessors, THREADS_OF_MULTIPROCESSOR, LATENCY * 1e9, card.peak / 1e12)
        )
    for who, kernel, _ in columns:
        print_accesses(who, kernel)
    for line in others:
        print("  " + line)

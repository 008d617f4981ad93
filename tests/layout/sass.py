#!/usr/bin/env python3
"""Loads of global memory in the loops of compiled kernels: how many are on their way at once.

  sass.py FILES.cubin    prints a line for each kernel and width of load

An instruction of sm_70 to sm_12x has 16 bytes: its opcode in bits 0 to 11, its guard in 12 to 15,
and in bits 105 to 127 what ptxas decided about its place in time: the barrier that it will set when
its result is there (110 to 112, 7 for none), and the barriers that it waits for before it issues
(116 to 121). A load, and those issued before anything waits for it, are in flight together.

A copy from global to shared memory (cp.async, LDGSTS) sets no barrier. LDGDEPBAR makes a group of
those before it, which counts up a barrier until its copies have arrived; DEPBAR.LE waits until at
most so many groups are on their way (bits 38 to 43, of the barrier in 44 to 46). A copy whose
arrival an mbarrier counts (ARRIVES.LDGSTSBAR) is in flight until that instruction at least, and is
taken to be no longer. Copies in bulk (cp.async.bulk) are not counted.
"""

import struct
import sys
from collections import namedtuple

from sass_lines import lines_of, lines_together

LOADS = (0x381, 0x981, 0x980)  # LDG, by two ways of addressing; LD
COPY, GROUP, WAIT_FOR_GROUPS, ARRIVE = 0xFAE, 0x9AF, 0x91A, 0x9B0
BITS = (8, 8, 16, 16, 32, 64, 128)  # by bits 73 to 75 of a load, and of a copy before sm_100
BITS_OF_COPY = (32, 64, 128, 128)  # by bits 74 and 75 of a copy since sm_100
BRANCHES, EXITS = (0x947, 0x547), (0x94D, 0x950, 0x949)  # BRA, BRA.U; EXIT, RET, BRX
ALWAYS = NONE = 7  # the predicate that is true; no barrier


class Instruction:
    def __init__(self, low, high, architecture):
        word = high << 64 | low

        def field(first, count):
            return word >> first & ((1 << count) - 1)

        self.opcode = field(0, 12)
        self.always = field(12, 4) == ALWAYS
        self.sets, self.waits = field(110, 3), field(116, 6)
        self.bits = BITS[min(field(73, 3), 6)] if self.opcode in LOADS + (COPY,) else 0
        if self.opcode == COPY and architecture >= 100:
            self.bits = BITS_OF_COPY[field(74, 2)]
        self.flies = self.bits > 0 and (self.opcode == COPY or self.sets != NONE)
        if self.opcode == WAIT_FOR_GROUPS:
            self.waits_of_groups, self.groups_left = field(44, 3), field(38, 6)
        self.is_branch = self.opcode in BRANCHES
        if self.is_branch:
            self.always &= self.opcode == BRANCHES[0] and field(87, 5) == ALWAYS
            wide, bits = (field(34, 48) << 10 | field(16, 8) << 2, 58), (field(32, 50), 50)
            self.jump, sign = wide if architecture >= 90 else bits
            self.jump -= (self.jump >> sign - 1) << sign


Section = namedtuple("Section", "name kind offset size link info")


def sections_of(data):
    """[Section] of an ELF file of 64 bits."""
    table, size, count, names_at = struct.unpack_from("<Q", data, 40) + struct.unpack_from(
        "<HHH", data, 58
    )
    heads = [struct.unpack_from("<II16xQQII", data, table + i * size) for i in range(count)]
    strings = heads[names_at][2]

    def name(at):
        return data[strings + at : data.index(b"\0", strings + at)].decode()

    return [Section(name(at), *rest) for at, *rest in heads]


def kernels_of(path):
    """The architecture (90 for sm_90), and by mangled name the instructions and a function of the
    number of one, which gives its place in the source or None (sass_lines.py)."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("%s: it is not a cubin" % path)
    flags = struct.unpack_from("<I", data, 48)[0]
    architecture = flags >> 8 & 255 if data[8] >= 8 else flags & 255  # by the version of the ABI
    sections = sections_of(data)
    lines, kernels = lines_of(data, sections), {}
    for section in sections:
        if section.name.startswith(".text."):
            words = struct.unpack_from("<%dQ" % (section.size // 8), data, section.offset)
            kernel = section.name[len(".text.") :]
            code = [Instruction(*words[i : i + 2], architecture) for i in range(0, len(words), 2)]
            kernels[kernel] = code, lines.get(kernel)
    return architecture, kernels


class Flow:
    """Basic blocks of a kernel, and the innermost loop that each belongs to."""

    def __init__(self, code):
        self.starts = self._starts(code)
        place = {start: b for b, start in enumerate(self.starts)}
        self.ends = self.starts[1:] + [len(code)]
        self.after = [
            [place[i] for i in self._next(code, end - 1) if i in place] for end in self.ends
        ]
        self.loops = self._loops(self._order())

    @staticmethod
    def _target(code, i):
        return i + 1 + code[i].jump // 16

    def _next(self, code, i):
        if code[i].opcode in EXITS and code[i].always:
            return []
        if not code[i].is_branch:
            return [i + 1]
        return [self._target(code, i)] + ([] if code[i].always else [i + 1])

    def _starts(self, code):
        starts = {0}
        for i, instruction in enumerate(code):
            if instruction.is_branch:
                starts |= {self._target(code, i), i + 1}
            elif instruction.opcode in EXITS:
                starts.add(i + 1)
        return sorted(i for i in starts if 0 <= i < len(code))

    def _order(self):
        """Reverse postorder of the blocks that can be reached."""
        seen, order, stack = {0}, [], [(0, iter(self.after[0]))]
        while stack:
            block, rest = stack[-1]
            following = next((b for b in rest if b not in seen), None)
            if following is None:
                order.append(block)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(self.after[following])))
        return order[::-1]

    def _dominators(self, order, before):
        number = {b: n for n, b in enumerate(order)}
        above = {order[0]: order[0]}

        def common(a, b):
            while a != b:
                a, b = (above[a], b) if number[a] > number[b] else (a, above[b])
            return a

        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                known = [b for b in before[block] if b in above]
                best = known[0]
                for b in known[1:]:
                    best = common(best, b)
                changed |= above.get(block) != best
                above[block] = best
        return above

    def range(self, block):
        """The places of its instructions."""
        return range(self.starts[block], self.ends[block])

    def _loops(self, order):
        """Sets of blocks, smallest first; those that share a head are one."""
        before = {b: [] for b in order}
        for block in order:
            for b in self.after[block]:
                before[b].append(block)
        above = self._dominators(order, before)

        def dominates(a, b):
            while b != a and above[b] != b:
                b = above[b]
            return a == b

        loops = {}
        for block in order:
            for head in self.after[block]:
                if dominates(head, block):
                    body, work = loops.setdefault(head, {head}), [block]
                    while work:
                        b = work.pop()
                        if b not in body:
                            body.add(b)
                            work += before[b]
        return sorted(loops.values(), key=len)


class Loads:
    """Those of one width in one loop of a kernel, or in several: copies to shared memory, too.

    count  how many there are
    alone  how many of them found no other of their width in flight at any wait until their own
    least  bytes in flight, by loads of this width, at the wait that found the most of them, from a
           load's issue to its own wait; the least of all loads
    most   bytes in flight at a wait, by loads of any width; the most of all waits
    copies how many of them are copies
    """

    def __init__(self):
        self.count = self.alone = self.most = self.copies = 0
        self.least = None

    def row(self):
        return self.count, self.alone, self.least or 0, self.most

    def add(self, other):
        self.count += other.count
        self.alone += other.alone
        self.copies += other.copies
        if other.least:
            self.least = min(self.least or other.least, other.least)
        self.most = max(self.most, other.most)


class Loop:
    """The instructions of a loop that are in no loop within it, and their loads, by bits.

    where  its lines in the source, "lookup_cuda.cu:40-52"; "" where none are known
    """

    def __init__(self, code, places, loads):
        self.code, self.places, self.loads = code, places, loads
        self.lines = {}  # of each place, a sass_lines.Line
        self.where = ""

    def bytes_a_round(self, bits):
        return self.loads[bits].count * bits // 8 if bits in self.loads else 0

    def locate(self, lines):
        """lines: as kernels_of gives it."""
        self.lines = {place: lines(place) for place in self.places} if lines else {}
        chains = [line.chain() for line in self.lines.values() if line]
        self.where = lines_together(chains) if chains else ""

    def places_of(self, bits):
        """The texts of the places where it loads so many bits."""
        return {
            line.text()
            for place, line in self.lines.items()
            if line and self.code[place].flies and self.code[place].bits == bits
        }


class Flight:
    """A load that was issued and is not waited for yet."""

    def __init__(self, step, is_own):
        self.barrier, self.bytes, self.is_own = step.sets, step.bits // 8, is_own
        self.is_copy = step.opcode == COPY
        self.group = None  # of a copy: its number, once it is in one
        self.alike = self.all = 0  # bytes in flight, of its width and in all, at a wait: the most

    def see(self, flights):
        self.alike = max(self.alike, sum(f.bytes for f in flights if f.bytes == self.bytes))
        self.all = max(self.all, sum(f.bytes for f in flights))

    def loads(self):
        loads = Loads()
        loads.alone, loads.least, loads.most = int(self.alike == self.bytes), self.alike, self.all
        return loads


class Walk:
    """What is in flight while instructions are issued one after another."""

    def __init__(self):
        self.flights = []
        self.groups = 0
        self.barrier = NONE  # that groups count up

    def issue(self, step, is_own):
        """Returns the flights that end because the instruction waits for them."""
        ended = [f for f in self.flights if self._waits_for(step, f)]
        if ended:
            self.see()
            self.flights = [f for f in self.flights if f not in ended]
        if step.opcode == GROUP:
            self.groups += 1
            self.barrier = step.sets
            for f in self.flights:
                if f.is_copy and f.group is None:
                    f.group = self.groups
        if step.flies:
            self.flights.append(Flight(step, is_own))
        return ended

    def see(self):
        for f in self.flights:
            f.see(self.flights)

    def _waits_for(self, step, flight):
        if not flight.is_copy:
            return step.waits >> flight.barrier & 1
        if flight.group is None:
            return step.opcode == ARRIVE
        if step.opcode == WAIT_FOR_GROUPS and step.waits_of_groups == self.barrier:
            return flight.group <= self.groups - step.groups_left
        return step.waits >> self.barrier & 1


def waits_for_copies(step):
    return step.opcode in (WAIT_FOR_GROUPS, ARRIVE)


def loops_of(code):
    """[Loop] of those with loads, inner ones first. A copy belongs to the innermost loop that waits
    for copies, if there is one: a loop within that only asks has them all in flight."""
    flow, loops, done = Flow(code), [], set()
    all_places = [[i for b in sorted(loop) for i in flow.range(b)] for loop in flow.loops]
    waiting = [any(waits_for_copies(code[i]) for i in places) for places in all_places]
    for n, places in enumerate(all_places):
        outer = [k for k in range(len(waiting)) if flow.loops[n] < flow.loops[k]]
        with_copies = waiting[n] or not any(waiting[k] for k in outer)
        own = {i for i in places if with_copies or code[i].opcode != COPY} - done
        done |= own
        if any(code[i].flies for i in own):
            loops.append(Loop(code, sorted(own), loads_of_loop(code, places, own)))
    return loops


def without_copies(code):
    """The same instructions, of which copies load nothing."""
    for step in code:
        step.flies &= step.opcode != COPY
    return code


def loads_in_loops(code):
    """Bits of a load -> Loads, of all loops."""
    found = {}
    for loop in loops_of(code):
        for bits, loads in loop.loads.items():
            found.setdefault(bits, Loads()).add(loads)
    return found


def loads_of_loop(code, places, own):
    """Bits of a load -> Loads of a loop. Walks it until rounds are alike, as one round may ask for
    what a later one waits for; the last walk counts. Copies that nothing in the loop waits for are
    in flight at its end."""
    walk, found, waited = Walk(), {}, False
    left = [code[i].groups_left for i in places if code[i].opcode == WAIT_FOR_GROUPS]
    for _ in range(1 + max(left, default=0)):
        for i in places:
            waited |= any(f.is_copy for f in walk.issue(code[i], i in own))
    if not waited:
        walk.flights = [f for f in walk.flights if not f.is_copy]
    ended = [f for i in places for f in walk.issue(code[i], i in own)]
    if not waited:
        walk.see()
        ended += [f for f in walk.flights if f.is_copy]
    for f in ended:
        if f.is_own:
            found.setdefault(f.bytes * 8, Loads()).add(f.loads())
    for i in own:
        if code[i].flies:
            loads = found.setdefault(code[i].bits, Loads())
            loads.count += 1
            loads.copies += code[i].opcode == COPY
    return found


def main(paths):
    for path in paths:
        for name, (code, _) in sorted(kernels_of(path)[1].items()):
            for bits, loads in sorted(loads_in_loops(code).items()):
                print(name, bits, *loads.row())


if __name__ == "__main__":
    main(sys.argv[1:])

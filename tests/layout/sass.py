#!/usr/bin/env python3
"""Loads of global memory in the loops of compiled kernels: how many are on their way at once.

  sass.py FILES.cubin    prints a line for each kernel and width of load

An instruction of sm_70 to sm_12x has 16 bytes: its opcode in bits 0 to 11, its guard in 12 to 15,
and in bits 105 to 127 what ptxas decided about its place in time: the barrier that it will set when
its result is there (110 to 112, 7 for none), and the barriers that it waits for before it issues
(116 to 121). A load, and those issued before anything waits for it, are in flight together.
"""

import struct
import sys

LOADS = (0x381, 0x981, 0x980)  # LDG, by two ways of addressing; LD
BITS = (8, 8, 16, 16, 32, 64, 128)  # by bits 73 to 75 of a load
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
        self.bits = BITS[min(field(73, 3), 6)] if self.opcode in LOADS else 0
        self.is_branch = self.opcode in BRANCHES
        if self.is_branch:
            self.always &= self.opcode == BRANCHES[0] and field(87, 5) == ALWAYS
            wide, bits = (field(34, 48) << 10 | field(16, 8) << 2, 58), (field(32, 50), 50)
            self.jump, sign = wide if architecture >= 90 else bits
            self.jump -= (self.jump >> sign - 1) << sign


def kernels_of(path):
    """The architecture (90 for sm_90), and by mangled name the instructions."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("%s: it is not a cubin" % path)
    table, size, count, names_at = struct.unpack_from("<Q", data, 40) + struct.unpack_from(
        "<HHH", data, 58
    )
    flags = struct.unpack_from("<I", data, 48)[0]
    architecture = flags >> 8 & 255 if data[8] >= 8 else flags & 255  # by the version of the ABI
    sections = [struct.unpack_from("<I20xQQ", data, table + i * size) for i in range(count)]
    strings = sections[names_at][1]
    kernels = {}
    for name_at, offset, length in sections:
        name = data[strings + name_at : data.index(b"\0", strings + name_at)].decode()
        if name.startswith(".text."):
            words = struct.unpack_from("<%dQ" % (length // 8), data, offset)
            kernels[name[6:]] = [
                Instruction(*words[i : i + 2], architecture) for i in range(0, len(words), 2)
            ]
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
    """Those of one width in the loops of a kernel.

    count  how many there are
    alone  how many of them found no other of their width in flight at any wait until their own
    least  bytes in flight, by loads of this width, at the wait that found the most of them, from a
           load's issue to its own wait; the least of all loads
    most   bytes in flight at a wait, by loads of any width; the most of all waits
    """

    def __init__(self):
        self.count = self.alone = self.most = 0
        self.least = None

    def row(self):
        return self.count, self.alone, self.least or 0, self.most

    def add(self, other):
        self.count += other.count
        self.alone += other.alone
        if other.least:
            self.least = min(self.least or other.least, other.least)
        self.most = max(self.most, other.most)


class Flight:
    """A load that was issued and is not waited for yet."""

    def __init__(self, step, is_own):
        self.barrier, self.bytes, self.is_own = step.sets, step.bits // 8, is_own
        self.alike = self.all = 0  # bytes in flight, of its width and in all, at a wait: the most

    def see(self, flights):
        self.alike = max(self.alike, sum(f.bytes for f in flights if f.bytes == self.bytes))
        self.all = max(self.all, sum(f.bytes for f in flights))

    def loads(self):
        loads = Loads()
        loads.alone, loads.least, loads.most = int(self.alike == self.bytes), self.alike, self.all
        return loads


def loads_in_loops(code):
    """Bits of a load -> Loads."""
    flow, found, done = Flow(code), {}, set()
    for loop in flow.loops:
        own = {b for b in loop if b not in done}
        done |= loop
        if any(code[i].bits for b in own for i in range(flow.starts[b], flow.ends[b])):
            for bits, loads in loads_of_loop(code, flow, sorted(loop), own).items():
                found.setdefault(bits, Loads()).add(loads)
    return found


def loads_of_loop(code, flow, blocks, own):
    """Walks the loop twice, as one round may ask for what the next uses; the second walk counts."""
    flights, found = [], {}
    for counts in (False, True):
        for b in blocks:
            for step in code[flow.starts[b] : flow.ends[b]]:
                waited = [f for f in flights if step.waits >> f.barrier & 1]
                if waited:
                    for f in flights:
                        f.see(flights)
                    flights = [f for f in flights if f not in waited]
                for f in waited:
                    if counts and f.is_own:
                        found.setdefault(f.bytes * 8, Loads()).add(f.loads())
                if step.bits and step.sets != NONE:
                    flights.append(Flight(step, b in own))
                    if counts and b in own:
                        found.setdefault(step.bits, Loads()).count += 1
    return found


def main(paths):
    for path in paths:
        for name, code in sorted(kernels_of(path)[1].items()):
            for bits, loads in sorted(loads_in_loops(code).items()):
                print(name, bits, *loads.row())


if __name__ == "__main__":
    main(sys.argv[1:])

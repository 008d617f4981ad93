#!/usr/bin/env python3
"""Test of sass.py: loops put together by hand, and one by nvcc, and what it counts in them."""

import os
import unittest

from sass import ALWAYS, COPY, NONE, Instruction, loads_in_loops, loops_of, without_copies
from sass_lines import lines_together

LDG, FADD, BRA, BRA_U, EXIT = 0x981, 0x221, 0x947, 0x547, 0x94D
LDGSTS, LDGDEPBAR, DEPBAR, ARRIVES = 0xFAE, 0x9AF, 0x91A, 0x9B0
WIDTHS = {8: 0, 16: 2, 32: 4, 64: 5, 128: 6}


def word(opcode, sets=NONE, waits=(), bits=32, guard=ALWAYS, jump=0, architecture=80):
    value = opcode | guard << 12 | sets << 110 | sum(1 << barrier for barrier in waits) << 116
    if opcode in (LDG, LDGSTS):
        value |= WIDTHS[bits] << 73
    if opcode in (BRA, BRA_U):
        value |= ALWAYS << 87
        if architecture >= 90:
            value |= (jump // 4 & 255) << 16 | (jump // 1024 & (1 << 48) - 1) << 34
        else:
            value |= (jump & (1 << 50) - 1) << 32
    return Instruction(value & (1 << 64) - 1, value >> 64, architecture)


def load(barrier, bits=128):
    return word(LDG, sets=barrier, bits=bits)


def copy(bits=128):
    return word(LDGSTS, bits=bits)


def commit():
    return word(LDGDEPBAR, sets=0)


def wait(left):
    value = DEPBAR | ALWAYS << 12 | left << 38 | 1 << 47
    return Instruction(value, NONE << 46, 80)  # it sets no barrier


def use(*barriers):
    return word(FADD, waits=barriers)


def loop(*body, architecture=80, guard=0, opcode=BRA):
    """An instruction, the body, a branch back to the body's first, EXIT."""
    back = word(opcode, jump=-16 * (len(body) + 1), guard=guard, architecture=architecture)
    return [use(), *body, back, word(EXIT)]


def compiled(name):
    """The instructions of a file of lines "low high text"."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return [Instruction(int(low, 16), int(high, 16), 90) for low, high, *_ in lines]


class SassTest(unittest.TestCase):
    def check(self, code, bits, *row):
        self.assertEqual(loads_in_loops(code)[bits].row(), row)

    def test_loads_before_the_first_wait_are_in_flight_together(self):
        self.check(loop(load(0), load(1), load(2), use(0), use(1), use(2)), 128, 3, 0, 48, 48)
        self.check(loop(load(0), load(0), load(1), use(0, 1)), 128, 3, 0, 48, 48)

    def test_a_load_that_is_waited_for_at_once_is_alone(self):
        self.check(loop(load(0), use(0), load(0), use(0)), 128, 2, 2, 16, 16)

    def test_what_a_round_asks_for_the_next_is_in_flight(self):
        self.check(loop(load(1), use(0), use(1), load(0)), 128, 2, 0, 32, 32)

    def test_widths_are_counted_apart_and_together(self):
        code = loop(load(0, 64), load(1, 128), use(0), use(1))
        self.check(code, 64, 1, 1, 8, 24)
        self.check(code, 128, 1, 1, 16, 24)

    def test_outside_loops_nothing_counts(self):
        self.assertEqual(loads_in_loops([load(0), use(0), word(EXIT)]), {})

    def test_a_load_belongs_to_its_innermost_loop(self):
        inner = [load(1, 32), use(1), word(BRA, jump=-16 * 3, guard=0)]
        code = loop(load(0), *inner, use(0))
        self.check(code, 32, 1, 1, 4, 4)
        self.check(code, 128, 1, 1, 16, 20)

    def test_jumps_of_every_architecture(self):
        body = [load(0), load(1), use(0, 1)]
        for architecture in (80, 90, 100):
            self.check(loop(*body, architecture=architecture), 128, 2, 0, 32, 32)
        # Its predicate is in a uniform register, and its guard always true.
        self.check(loop(*body, architecture=100, guard=ALWAYS, opcode=BRA_U), 128, 2, 0, 32, 32)

    def test_a_side_that_leaves_the_loop_is_not_in_it(self):
        leave = word(BRA, jump=16 * 4, guard=0)
        code = [use(), load(0), leave, load(1), use(0, 1), word(BRA, jump=-16 * 5), load(2), use(2)]
        self.check(code + [word(EXIT)], 128, 2, 0, 32, 32)

    def test_copies_are_in_flight_until_their_group_is_waited_for(self):
        self.check(loop(copy(), copy(), commit(), wait(0), use()), 128, 2, 0, 32, 32)
        self.check(loop(copy(), commit(), wait(1), use()), 128, 1, 0, 32, 32)
        self.check(loop(copy(), commit(), copy(), commit(), wait(3), use()), 128, 2, 0, 80, 80)
        # A wait for what no group has: they fly on.
        self.check(loop(copy(), load(1), use(1), commit(), wait(0)), 128, 2, 0, 32, 32)
        # ptxas may wait for the barrier of groups as for any other.
        self.check(loop(copy(), copy(), commit(), use(0)), 128, 2, 0, 32, 32)

    def test_copies_that_an_mbarrier_counts(self):
        self.check(loop(copy(64), copy(64), word(ARRIVES), use()), 64, 2, 0, 16, 16)

    def test_copies_belong_to_the_loop_that_waits_for_them(self):
        ask = [copy(), copy(), word(BRA, jump=-16 * 3, guard=0)]
        self.check(loop(*ask, commit(), wait(0), use()), 128, 2, 0, 32, 32)
        self.assertEqual(len(loops_of(loop(*ask, commit(), wait(0), use()))), 1)
        # Nothing in a loop waits for them.
        self.check(loop(copy(), copy()) + [commit(), wait(0)], 128, 2, 0, 32, 32)

    def test_copies_that_nvcc_made(self):
        code = compiled("cp_async.sass")
        self.check(code, 128, 1, 0, 64, 64)
        self.check(code, 64, 1, 1, 8, 56)  # ids
        self.assertEqual(loads_in_loops(code)[128].copies, 1)
        self.assertEqual(list(loads_in_loops(without_copies(code))), [64])

    def test_a_loop_is_named_by_the_function_that_holds_most_of_it(self):
        call, inner = ("k.cu", 207), ("some.cuh", 138)
        chains = [[call, ("some.cuh", 137)], [call, ("some.cuh", 140)], [call, inner, ("v.cuh", 5)]]
        self.assertEqual(lines_together(chains + [[call]]), "some.cuh:137-140")
        self.assertEqual(lines_together([[call], [("k.cu", 209)]]), "k.cu:207-209")

    def test_widths_of_copies_as_nvcc_made_them(self):
        made = {
            (80, 32): (0x0000000004137FAE, 0x0003E8000B921844),
            (80, 64): (0x0000000006157FAE, 0x0009E80008921A44),
            (90, 128): (0x000000000A0D7FAE, 0x0001E2000B901C46),
            (100, 32): (0x0000000012037FAE, 0x0003E2000B9A100A),
            (100, 64): (0x0000000014047FAE, 0x000FE800081A140A),
            (100, 128): (0x000000000C037FAE, 0x0003E2000B98180A),
        }
        for (architecture, bits), words in made.items():
            instruction = Instruction(*words, architecture)
            self.assertEqual((instruction.opcode, instruction.bits), (COPY, bits))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Test of sass.py: loops put together by hand, and what it counts in them."""

import unittest

from sass import ALWAYS, NONE, Instruction, loads_in_loops

LDG, FADD, BRA, BRA_U, EXIT = 0x981, 0x221, 0x947, 0x547, 0x94D
WIDTHS = {8: 0, 16: 2, 32: 4, 64: 5, 128: 6}


def word(opcode, sets=NONE, waits=(), bits=32, guard=ALWAYS, jump=0, architecture=80):
    value = opcode | guard << 12 | sets << 110 | sum(1 << barrier for barrier in waits) << 116
    if opcode == LDG:
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


def use(*barriers):
    return word(FADD, waits=barriers)


def loop(*body, architecture=80, guard=0, opcode=BRA):
    """An instruction, the body, a branch back to the body's first, EXIT."""
    back = word(opcode, jump=-16 * (len(body) + 1), guard=guard, architecture=architecture)
    return [use(), *body, back, word(EXIT)]


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


if __name__ == "__main__":
    unittest.main()

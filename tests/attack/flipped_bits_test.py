#!/usr/bin/env python3
"""Single bits flipped in checkpoints, their metadata, row folders, model directories and deltas:
the command that reads the file refuses, or its result is that of the whole file. 812 flips with
TESSERA_TEST_ALL, else a tenth.
"""

import sys

import attack

FLIPS = 812
HEAD_SHARE = 0.5  # of the flips are in a file's first bytes, where its header is


def flip(path, dice):
    """Flips a bit; returns where, as text."""
    data = bytearray(path.read_bytes())
    head = min(len(data), 1500)
    at = dice.randrange(head if dice.random() < HEAD_SHARE else len(data))
    bit = dice.randrange(8)
    data[at] ^= 1 << bit
    path.write_bytes(data)
    return f"{path.name} ({len(data)} bytes), byte {at}, bit {bit}"


if __name__ == "__main__":
    sys.exit(attack.damage_files("flipped bits", attack.VICTIMS, FLIPS, flip))

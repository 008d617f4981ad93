#!/usr/bin/env python3
"""Files of every kind that the command reads, cut, lengthened, overwritten and with other numbers:
each is refused by a sentence, or read; what has checksums is refused or read as it was. 5,000 files
with TESSERA_TEST_ALL, else a tenth.
"""

import gzip
import re
import sys

import attack
from attack import Victim

FILES = 5000
NUMBERS = [
    "-1",
    "0",
    "1e999",
    "NaN",
    "1152921504606846977",
    "9223372036854775807",
    "18446744073709551616",
    "0.5",
    "null",
    "true",
    '"x"',
    "[]",
    "{}",
    "1e-300",
    "4294967296",
    "[[[[[[[[]]]]]]]]",
]
OTHERS = [
    Victim(
        "configuration",
        "small.json",
        ["train", "--config", "{victim}", "--checkpoint", "{out}"],
        verified=False,
    ),
    Victim(
        "text",
        "rows.tsv",
        ["train", "--config", "small.json", "--data", "{victim}"],
        verified=False,
        beside=["small.json"],
    ),
    Victim(
        "gzip",
        "rows.tsv.gz",
        ["train", "--config", "small.json", "--data", "{victim}"],
        verified=False,
        beside=["small.json"],
    ),
    Victim(
        "npy",
        "npy",
        ["train", "--config", "small.json", "--data", "{victim}/rows"],
        verified=False,
        beside=["small.json"],
    ),
    Victim(
        "plan",
        "plan.json",
        ["train", "--config", "small.json", "--ranks", "2", "--plan", "{victim}"],
        verified=False,
        beside=["small.json"],
    ),
    Victim(
        "planner's model",
        "tables.json",
        ["plan", "--tables", "{victim}", "--ranks", "2"],
        verified=False,
    ),
    Victim(
        "placement rules",
        "constraints.json",
        ["plan", "--tables", "small.json", "--ranks", "4", "--constraints", "{victim}"],
        verified=False,
        beside=["small.json"],
    ),
    Victim("checkpoint to quantize", "model.safetensors", ["quantize", "{victim}", "-o", "{out}"]),
    Victim(
        "checkpoint to inspect",
        "model.safetensors",
        ["inspect", "{victim}", "--json"],
        verified=False,
    ),
    Victim(
        "checkpoint of ranks to reshard",
        "ranks",
        ["reshard", "{victim}", "--world-size", "3", "--plan", "row_wise", "--out", "{out}"],
    ),
]


def cut(data, dice):
    return data[: dice.randrange(len(data))]


def lengthen(data, dice):
    return data + dice.randbytes(dice.choice([1, 8, 1000]))


def overwrite(data, dice):
    at, length = dice.randrange(len(data)), dice.choice([1, 2, 4, 8, 64])
    filling = dice.choice([dice.randbytes(length), b"\0" * length, b"\xff" * length])
    return data[:at] + filling + data[at + length :]


def remove(data, dice):
    at = dice.randrange(len(data))
    return data[:at] + data[at + dice.choice([1, 3, 100]) :]


def repeat(data, dice):
    at = dice.randrange(len(data))
    return data[:at] + data[at : at + dice.choice([1, 20, 500])] * dice.choice([2, 3]) + data[at:]


def renumber(data, dice):
    """Another value for a number of a text, or of the text that a binary file begins with."""
    places = [m.span() for m in re.finditer(rb"-?\d+(\.\d+)?", data[:20000])]
    if not places:
        return cut(data, dice)
    begin, end = dice.choice(places)
    return data[:begin] + dice.choice(NUMBERS).encode() + data[end:]


def rename(data, dice):
    """Another name in a JSON text: ways out of a folder among them."""
    places = [m.span(1) for m in re.finditer(rb'"([^"\n]{1,60})"', data[:20000])]
    if not places:
        return overwrite(data, dice)
    begin, end = dice.choice(places)
    return (
        data[:begin]
        + dice.choice(
            [b"", b"x", b"../../etc/passwd", b"/dev/zero", b"\\u0000", b"a" * 5000, b"\xff\xfe"]
        )
        + data[end:]
    )


def mutate(path, dice):
    data = path.read_bytes()
    compressed = path.suffix == ".gz" and dice.random() < 0.5
    if compressed:
        data = gzip.decompress(data)
    change = dice.choice(
        [cut, lengthen, overwrite, overwrite, remove, repeat, renumber, renumber, rename]
    )
    data = change(data, dice)
    path.write_bytes(gzip.compress(data) if compressed else data)
    return f"{path.name}: {change.__name__}"


if __name__ == "__main__":
    sys.exit(attack.damage_files("mutated files", attack.VICTIMS + OTHERS, FILES, mutate))

#!/usr/bin/env python3
"""Single bits flipped in checkpoints, their metadata, row folders, model directories and deltas: the command that reads
the file refuses, or its result is that of the whole file. 812 flips with TESSERA_TEST_ALL, else a tenth."""
import shutil
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


def main():
    world = attack.scratch() / "world"
    world.mkdir()
    attack.make_world(world)
    wanted = {}
    for victim in attack.VICTIMS:
        whole = world.parent / "whole"
        victim.prepare(world, whole)
        result, wanted[victim.name] = victim.run(whole)
        if result.code != 0 or not wanted[victim.name]:
            sys.exit(f"{victim.name}: {result.out}{result.err}")
        shutil.rmtree(whole)

    def attempt(number):
        victim = attack.VICTIMS[number % len(attack.VICTIMS)]
        dice = attack.dice("flips", number)
        cwd = world.parent / f"flip-{number}"
        victim.prepare(world, cwd)
        where = flip(dice.choice(victim.targets(cwd)), dice)
        result, written = victim.run(cwd)
        verdict = result.verdict()
        if verdict == "ok":
            verdict = "same result" if written == wanted[victim.name] else "wrong result"
        shutil.rmtree(cwd)
        return victim.name, verdict, f"{where}: {result.out[-300:]}{result.err[-300:]}"

    tally = attack.Tally("flipped bits")
    for outcome in attack.on_all_cores(attempt, range(attack.share(FLIPS))):
        tally.add(*outcome)
    shutil.rmtree(world.parent)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())

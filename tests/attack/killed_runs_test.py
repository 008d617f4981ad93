#!/usr/bin/env python3
"""Trainings and other commands killed (SIGKILL) at any moment: what was saved is whole, and the run
that goes on ends in the bits of the run that was left alone. 1,000 kills with TESSERA_TEST_ALL,
else a hundred."""

import shutil
import signal
import subprocess
import sys
import time

import attack

KILLS = 1000
KILLS_OF_ONE_RUN = 4


def seen_by(command, cwd):
    """What a command that reads the saved makes of it; None where it refuses."""
    (cwd / "end").unlink(missing_ok=True)
    return attack.content(cwd / "end") if attack.run(*command, cwd=cwd).code == 0 else None


class Training:
    """Killed, gone on from what was saved, killed again, …; then left alone."""

    def __init__(self, name, save, folder):
        self.name, self.save, self.folder = name, save, folder

    def args(self, cwd):
        saved = (cwd / "saved" / self.folder).exists() if self.folder else (cwd / "saved").exists()
        if self.folder == "*":
            saved = any((cwd / "saved").glob("*.base.safetensors"))
        begin = ["--resume", "saved"] if saved else ["--config", "small.json"]
        return ["train", *begin, "--threads", "1", "--epochs", "3", *self.save]

    def end(self, cwd):
        if not self.folder:
            return attack.content(cwd / "saved")
        command = ["compact", "saved"] if self.folder == "*" else ["export", "saved"]
        return seen_by([*command, "--out", "end"], cwd)


class Command:
    """A command that writes `out`: killed, it leaves nothing there or all of it; then it is run
    once more."""

    def __init__(self, name, args, reader=None):
        self.name, self.command, self.reader = name, args, reader

    def args(self, cwd):
        return self.command

    def end(self, cwd):
        return seen_by(self.reader, cwd) if self.reader else attack.content(cwd / "out")


SAVE = ["--checkpoint", "saved", "--checkpoint-every", "7"]
RUNS = [
    Training("checkpoint file", SAVE, ""),
    Training(
        "incremental checkpoint",
        [*SAVE, "--incremental", "--max-deltas", "5", "--max-delta-share", "9"],
        "*",
    ),
    Training("checkpoint of ranks", [*SAVE, "--ranks", "2", "--plan", "row_wise"], "index.json"),
    Command(
        "quantize",
        ["quantize", "model.safetensors", "-o", "out"],
        ["predict", "out", "--data", "rows.tsv", "--out", "end"],
    ),
    Command(
        "preprocess",
        ["preprocess", "rows.tsv", "-o", "out", "--shard-rows", "300"],
        [
            "train",
            "--config",
            "small.json",
            "--data",
            "out",
            "--threads",
            "1",
            "--checkpoint",
            "end",
        ],
    ),
    Command(
        "preprocess --config",
        ["preprocess", "--config", "own.json", "own.jsonl", "-o", "out", "--shard-rows", "200"],
        [
            "train",
            "--config",
            "own.json",
            "--data",
            "out",
            "--threads",
            "1",
            "--checkpoint",
            "end",
        ],
    ),
    Command("export", ["export", "ranks", "--out", "out"]),
    Command(
        "reshard",
        ["reshard", "ranks", "--world-size", "3", "--plan", "row_wise", "--out", "out"],
        ["export", "out", "--out", "end"],
    ),
    Command("compact", ["compact", "chain", "--out", "out"]),
]
NEEDS = [
    "small.json",
    "model.safetensors",
    "rows.tsv",
    "ranks",
    "chain",
    "own.json",
    "own.jsonl",
]


def kill_after(seconds, args, cwd):
    """The signal or exit code that the run ended with."""
    with open(cwd / "said", "w") as said:
        process = subprocess.Popen(
            [attack.program(), *args], cwd=cwd, stdout=said, stderr=said, preexec_fn=attack.limits
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait()


def prepare(world, cwd):
    cwd.mkdir()
    for name in NEEDS:
        attack.copy(world / name, cwd / name)


def main():
    world = attack.scratch() / "world"
    world.mkdir()
    attack.make_world(world)
    wanted, seconds = {}, {}
    for kind in RUNS:
        whole = world.parent / "whole"
        prepare(world, whole)
        begin = time.monotonic()
        attack.must(*kind.args(whole), cwd=whole)
        seconds[kind.name], wanted[kind.name] = time.monotonic() - begin, kind.end(whole)
        shutil.rmtree(whole)

    def attempt(number):
        kind = RUNS[number % len(RUNS)]
        dice = attack.dice("kills", number)
        cwd = world.parent / f"run-{number}"
        prepare(world, cwd)
        kills, ended, text = 0, [], ""
        for _ in range(KILLS_OF_ONE_RUN):
            code = kill_after(dice.random() * seconds[kind.name] * 1.2, kind.args(cwd), cwd)
            kills += code == -signal.SIGKILL
            if code not in (0, 1, -signal.SIGKILL):
                ended.append("crash")
            if code == 1:  # what lies there is refused, or it was the last run's whole output
                text = (cwd / "said").read_text()
                ended.append("same result" if kind.end(cwd) == wanted[kind.name] else "no resume")
                break
            if code == 0:
                break
        if (
            "out" in kind.args(cwd)
            and (cwd / "out").exists()
            and kind.end(cwd) == wanted[kind.name]
        ):
            verdict = "same result"
        else:
            result = attack.run(*kind.args(cwd), cwd=cwd)
            text = result.out[-300:] + result.err[-300:]
            verdict = {"ok": "same result", "refused": "wrong result"}.get(
                result.verdict(), result.verdict()
            )
            if verdict == "same result" and kind.end(cwd) != wanted[kind.name]:
                verdict = "wrong result"
        if "crash" in ended:
            verdict = "crash"
        shutil.rmtree(cwd)
        return kills, (kind.name, verdict, f"run {number}: {text}")

    tally, kills, number = attack.Tally("killed runs"), 0, 0
    while kills < attack.share(KILLS):
        for count, outcome in attack.on_all_cores(attempt, range(number, number + 2 * len(RUNS))):
            kills += count
            tally.add(*outcome)
        number += 2 * len(RUNS)
        if number > KILLS * 4:
            sys.exit(f"only {kills} of {number} runs lived long enough to be killed")
    shutil.rmtree(world.parent)
    print(f"{kills} kills")
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())

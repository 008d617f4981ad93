#!/usr/bin/env python3
"""A sweep of six learning rates and four seeds: killed in its middle, once alone and once with its
trials, and started again, it gives the table of one that was left alone."""

import json
import os
import pathlib
import signal
import subprocess
import time

import scenario

GRID = ["--grid", "optimizer.sparse.lr=0.005,0.01,0.02,0.04,0.08,0.16", "--seeds", "1,2,3,4"]
TRIALS = 24
SPEEDS = {"seconds", "samples_per_second"}


def finished(sweep):
    return len(list(pathlib.Path(sweep).glob("*/result.json")))


def without_speeds(value):
    if isinstance(value, dict):
        return {k: without_speeds(v) for k, v in value.items() if k not in SPEEDS}
    if isinstance(value, list):
        return [without_speeds(v) for v in value]
    return value


def table(path):
    """The values that a comparison shows, by trial and by group, without what measures time."""
    found = json.loads(pathlib.Path(path).read_text())
    runs = {
        os.path.basename(run["path"]): [run[key] for key in ("seed", "epochs", "last", "best")]
        for run in found["runs"]
    }
    groups = [[group[key] for key in ("settings", "last", "best")] for group in found["groups"]]
    scenario.expect(len(runs) == TRIALS, f"{path} has {len(runs)} trials")
    return without_speeds([runs, groups])


def kill_when(count, whole_group, *args):
    """Kills the sweep as soon as `count` trials are finished and the next one is being trained."""
    with open("killed.txt", "w") as said:
        process = subprocess.Popen(
            [scenario.TESSERA, *args], stdout=said, stderr=said, start_new_session=True
        )
    while finished("cut") < count:
        scenario.expect(process.poll() is None, pathlib.Path("killed.txt").read_text())
        time.sleep(0.01)
    time.sleep(0.5)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    if not whole_group:
        time.sleep(10)  # the trial that it left goes on to its end


def main():
    with scenario.work_folder():
        rows = scenario.Rows()
        train = ["--", *rows.train, "--epochs", "1", "--eval-every", "0.5"]
        train += ["--max-table-rows", "10000"]  # 48 folders of two checkpoints take 2 GB
        scenario.tessera("sweep", "whole", *GRID, "--json", "whole.json", *train)
        kill_when(5, False, "sweep", "cut", *GRID, *train)
        kill_when(13, True, "sweep", "cut", *GRID, *train)
        scenario.tessera("sweep", "cut", *GRID, "--json", "cut.json", *train)
        scenario.expect(table("whole.json") == table("cut.json"), "the tables differ")
        print(f"{TRIALS} trials, killed twice: the same table")


if __name__ == "__main__":
    main()

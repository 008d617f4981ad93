#!/usr/bin/env python3
"""Ten epochs are asked, training stops early and keeps the best model; killed ten times, it ends
with the same decisions and bits. On Criteo's rows (CRITEO) the best AUC is at least 0.766."""

import json
import pathlib
import random
import time

import scenario

KILLS = 10
CRITEO_AUC = 0.766


def end_of(run):
    """What a run decided: its evaluations, the best one, and why it stopped."""
    result = json.loads(pathlib.Path(run, "result.json").read_text())
    curve = [json.loads(line) for line in pathlib.Path(run, "curve.jsonl").open()]
    points = {point["step"]: point["auc"] for point in curve if "auc" in point}
    return points, result["best"], result["stopped_early"]


def main():
    with scenario.work_folder():
        rows = scenario.Rows()
        train = ["train", *rows.train, "--epochs", 10, "--eval-every", 0.25, "--patience", 4]
        train += ["--checkpoint-every", 20, "--run"]
        begin = time.monotonic()
        scenario.tessera(*train, "whole")
        seconds = time.monotonic() - begin
        points, best, stopped = end_of("whole")
        scenario.expect(stopped == "patience", f"stopped_early is {stopped}")
        scenario.expect(best["value"] == max(points.values()), f"{best} is not best of {points}")
        if scenario.CRITEO:
            scenario.expect(best["value"] >= CRITEO_AUC, f"the best AUC is {best['value']}")

        dice, kills = random.Random(1), 0
        while kills < KILLS:
            if not scenario.killed_after(0.2 + dice.random() * seconds / KILLS, *train, "cut"):
                break
            kills += 1
        scenario.expect(kills == KILLS, f"it was at its end after {kills} kills")
        scenario.tessera(*train, "cut")
        scenario.expect(end_of("cut") == (points, best, stopped), f"{end_of('cut')}")
        for name in ("best.safetensors", "last.safetensors"):
            scenario.expect_same_tensors(f"whole/{name}", f"cut/{name}")
        last = list(points.values())[-1]
        print(f"{rows.count} rows: best AUC {best['value']:.4f} of step {best['step']}, last")
        print(f"{last:.4f}; killed {kills} times: the same evaluations and bits")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Predicted step times beside measured ones: this machine is calibrated for 2 and for 4 ranks, and
plans of Criteo's tables that it never saw are run, in memory and with tables on disk, of narrow and
wide rows, of small and large batches; with DEVICE=cuda also with tables in host memory, on GPUs
that ranks may share. Prints a row a plan. Fails if the median error is above 10 %. Leave the
machine alone meanwhile."""

import json
import os
import statistics

import scenario

DIM = 64
DEVICE = os.environ.get("DEVICE", "cpu")


def wide(config):
    for table in config["tables"]:
        table["dim"] = DIM
        table["rows"] //= 4
    config["model"]["dense_arch"][-1] = DIM
    return config


def elsewhere(*locations):
    """Two tables at each of these places."""

    def change(config):
        for place, location in enumerate(locations):
            for table in config["tables"][2 * place : 2 * place + 2]:
                table["location"] = location
        return config

    return change


WORKLOADS = [
    ("D=16", lambda config: config, 512),
    ("D=16", lambda config: config, 2048),
    (f"D={DIM}", wide, 512),
    ("on disk", elsewhere("DISK"), 512),
]
if DEVICE == "cuda":
    WORKLOADS += [
        ("D=16", lambda config: config, 8192),
        ("in host memory", elsewhere("MANAGED"), 2048),
        ("behind caches", elsewhere("MANAGED_CACHING"), 2048),
        ("three tiers", elsewhere("MANAGED", "MANAGED_CACHING", "DISK"), 2048),
    ]


def validated(config, topology, batch):
    with open("config.json", "w") as file:
        json.dump(config, file)
    args = ["--tables", "config.json", "--topology", topology, "--batch", batch]
    scenario.tessera("plan", *args, "--validate", 6, "--quiet", "--json", "plan.json")
    with open("plan.json") as file:
        return json.load(file)["validation"]["plans"]


def main():
    errors = []
    print("| ranks | tables | batch | plan | predicted, ms | measured, ms | error, % |")
    print("|---|---|---|---|---|---|---|")
    with scenario.work_folder():
        for ranks in (2, 4):
            scenario.tessera(
                "calibrate", "--device", DEVICE, "--ranks", ranks, "-o", "topology.json"
            )
            for name, change, batch in WORKLOADS:
                with open(scenario.CONFIG) as file:
                    config = change(json.load(file))
                for plan in validated(config, "topology.json", batch):
                    error = plan["predicted_ms"] / plan["measured_ms"] - 1
                    errors.append(abs(error))
                    row = f"| {ranks} | {name} | {batch} | {plan['plan']} "
                    row += f"| {plan['predicted_ms']:.2f} | {plan['measured_ms']:.2f} "
                    print(row + f"| {100 * error:+.1f} |", flush=True)
    median = statistics.median(errors)
    worst = max(errors)
    print(f"{len(errors)} plans: median error {100 * median:.1f} %, worst {100 * worst:.1f} %")
    scenario.expect(median <= 0.1, "the median error is above 10 %")


if __name__ == "__main__":
    main()

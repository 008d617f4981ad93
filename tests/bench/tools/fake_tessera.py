#!/usr/bin/env python3
"""Stands for `tessera bench` in tests of the tools around it: a topic "lookup" of two cases whose
times come from the environment, in milliseconds, and "read", of which a suite has cases of one
thread.

FAKE_MS: of ours (2), FAKE_LIMIT_MS: of the limit (1; "" for none). Calls of `bench show` go to the
real command, REAL_TESSERA, which also compares this program with that of --against.
"""

import json
import os
import re
import subprocess
import sys

arguments = sys.argv[2:]


def real(*words):
    os.execv(os.environ["REAL_TESSERA"], [os.environ["REAL_TESSERA"], "bench", *words])


if arguments[0] == "show":
    real(*arguments)
if arguments[0] not in ("lookup", "read"):
    sys.exit(f"tessera: bench: no topic '{arguments[0]}': expected lookup")


def flag(name, default=""):
    return arguments[arguments.index(name) + 1] if name in arguments else default


known = {"multihot": ["read_B2048", "read_folder_B2048"], "text": ["text_ml1m_tsv"]}.get(
    flag("--suite"), ["D16", "call_T1_B1_L1", *os.environ.get("FAKE_MORE", "").split()]
)
cases = [case for case in known if re.search(flag("--only", "."), case)]
threads = [int(text) for text in flag("--threads", "1").split(",")]
if flag("--suite") == "multihot":
    threads = [1]
if "--list" in arguments:
    for case in cases:
        for count in threads:
            print(f"{arguments[0]}/{case}/{count}t")
    sys.exit(0)
rounds, passes = int(flag("--rounds", "15")), int(flag("--passes", "1"))
if "--against" in arguments:
    at = arguments.index("--against")
    allowed = ["--allow", flag("--allow")]
    words = ["bench", *arguments[:at], *arguments[at + 4 :]]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("FAKE_")}
    for program, file in ((arguments[at + 1], "old.json"), (os.environ["CHANGED"], "new.json")):
        subprocess.run([program, *words, "--json", file], env=plain, check=True)
    real("show", "new.json", "--compare", "old.json", *allowed)
ours, limit = 1e-3 * float(os.environ.get("FAKE_MS", 2)), os.environ.get("FAKE_LIMIT_MS", "1")
rows = []
for case in cases:
    for count in threads:
        row = {
            "name": f"{arguments[0]}/{case}/{count}t",
            "case": case,
            "threads": count,
            "contender": "tessera",
            "seconds": ours / count,
            "samples": [ours / count * (1 + 0.001 * i) for i in range(rounds)],
            "passes": [rounds // passes] * passes,
        }
        if limit and case == "D16":
            row["limit_seconds"] = 1e-3 * float(limit) / count
        rows.append(row)
        if case != "D16":
            rows.append(
                dict(
                    row,
                    contender="collection",
                    seconds=4 * row["seconds"],
                    samples=[4 * seconds for seconds in row["samples"]],
                )
            )
with open(flag("--json"), "w") as file:
    json.dump(
        {
            "machine": "a made-up machine",
            "date": "2026-11-21",
            "topic": "lookup",
            "rounds": rounds,
            "cold": True,
            "rows": rows,
        },
        file,
    )

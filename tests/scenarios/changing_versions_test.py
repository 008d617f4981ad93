#!/usr/bin/env python3
"""A server answers clients of `wrk` while its versions change each second (a rollback, its undoing,
a reload) and a tenth of the requests goes to a canary: no request fails. Prints the latencies.

SECONDS (default 300) says how long, EXAMPLES (default 256) how many rows a request has, CHANGES=0
leaves the versions alone. Needs Debian's package wrk."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import scenario

SECONDS = int(os.environ.get("SECONDS", 300))
EXAMPLES = int(os.environ.get("EXAMPLES", 256))
CHANGES = os.environ.get("CHANGES") != "0"
CONNECTIONS = 4
POST = """
wrk.method = "POST"
wrk.body = io.open("body.json"):read("*a")
"""


def tensor_body(examples):
    """A request of tensors: 13 numbers and one id of each of 26 features for an example."""
    inputs = [
        {
            "name": "dense",
            "datatype": "FP32",
            "shape": [examples, len(scenario.INT_KEYS)],
            "data": [(7 * i) % 5 for i in range(examples * len(scenario.INT_KEYS))],
        }
    ]
    for number, key in enumerate(scenario.CAT_KEYS):
        ids = [(31 * i + number) % 100 for i in range(examples)]
        inputs.append({"name": key, "datatype": "INT64", "shape": [examples], "data": ids})
    return json.dumps({"inputs": inputs}, separators=(",", ":"))


def two_versions(rows):
    train = ["train", *rows.train, "--checkpoint"]
    for seed in (1, 2):
        scenario.tessera(*train, f"{seed}.st", "--seed", seed, "--epochs", 1)
        scenario.tessera("quantize", f"{seed}.st", "-o", "models", "--keep", 3)


def change_versions(server, load):
    """Rounds of one second until the load ends: how many."""
    rounds = 0
    while load.poll() is None:
        begin = time.monotonic()
        scenario.tessera("rollback", "models")
        time.sleep(0.3)
        pathlib.Path("models/withdrawn-2").rename("models/2")
        time.sleep(0.3)
        server.process.send_signal(signal.SIGHUP)
        time.sleep(max(0, begin + 1 - time.monotonic()))
        rounds += 1
    return rounds


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def main():
    if not shutil.which("wrk"):
        return print("skipped: it needs the program wrk (Debian's package wrk)")
    with scenario.work_folder():
        two_versions(scenario.Rows())
        pathlib.Path("body.json").write_text(tensor_body(EXAMPLES))
        pathlib.Path("post.lua").write_text(POST)
        served = ["models", "--versions", "1,2", "--canary", "2:10", "--watch", "100"]
        server = scenario.Server(*served)
        server.ask("/v2/models/model/infer", pathlib.Path("body.json").read_bytes())
        load = subprocess.Popen(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency", "-s", "post.lua"]
            + [server.address + "/v2/models/model/infer"],
            stdout=open("wrk.txt", "w"),
        )
        rounds = change_versions(server, load) if CHANGES else 0
        load.wait()
        loads = re.findall(r'(tessera_model_reloads_total.*)', server.ask("/metrics").decode())
        server.end()
        said = pathlib.Path("wrk.txt").read_text()
        requests = int(re.search(r"(\d+) requests in", said).group(1))
        p50, p99 = (
            milliseconds(re.search(rf"{share}%\s+(\S+)", said).group(1)) for share in (50, 99)
        )
        scenario.expect(requests > 0, said)
        scenario.expect("Non-2xx" not in said and "Socket errors" not in said, said)
        print(said, *loads, sep="\n")
        print(f"{requests} requests of {EXAMPLES} rows beside {rounds} rounds, none failed:")
        print(f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, {p99 / p50:.1f} x")


if __name__ == "__main__":
    main()

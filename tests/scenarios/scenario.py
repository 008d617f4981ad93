"""What the scenarios share: the command, a configuration, rows in Criteo's format, processes that
are killed, and a server.

The rows are made by `tessera generate`, or those of the file that the environment variable CRITEO
names (Criteo's columns). The first four fifths are trained, the last fifth is evaluated. A scenario
runs alone as well: TESSERA=bazel-bin/cli/tessera tests/scenarios/best_model_test.py
"""

import atexit
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
TESSERA = str(pathlib.Path(os.environ.get("TESSERA", "cli/tessera")).absolute())
CONFIG = str((ROOT / "examples/criteo.json").absolute())
CRITEO = os.environ.get("CRITEO")
GENERATED_ROWS = 64_000
INT_KEYS = [f"int_{i}" for i in range(13)]
CAT_KEYS = [f"cat_{i}" for i in range(26)]


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


@contextlib.contextmanager
def work_folder():
    """A new folder that is the current one inside, and removed at its end."""
    folder = tempfile.mkdtemp(prefix="scenario-", dir=os.environ.get("TEST_TMPDIR"))
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield pathlib.Path(folder)
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


def tessera(*args):
    """What the command prints; ends the scenario if it fails."""
    done = subprocess.run([TESSERA, *map(str, args)], capture_output=True, text=True)
    expect(done.returncode == 0, f"tessera {args}: exit {done.returncode}: {done.stderr}")
    return done.stdout


class Rows:
    """A file of rows, and the flags that train and evaluate them."""

    def __init__(self):
        self.path = CRITEO
        if not self.path:
            self.path = "clicks.tsv"
            tessera("generate", "--rows", GENERATED_ROWS, "--vocabulary", 1000, self.path)
        with open(self.path, "rb") as file:
            self.count = sum(1 for _ in file)
        cut = self.count * 4 // 5
        self.train = ["--config", CONFIG, "--data", self.path, "--train-rows", f"0:{cut}"]
        self.train += ["--eval-rows", f"{cut}:{self.count}"]

    def as_json(self):
        """A line of JSON for each row, without its label."""
        names = ["label"] + INT_KEYS + CAT_KEYS
        with open(self.path) as file:
            for line in file:
                row = dict(zip(names, line.rstrip("\n").split("\t")))
                yield json.dumps({k: v for k, v in row.items() if v and k != "label"})


def killed_after(seconds, *args):
    """Whether the command still ran after so many seconds, and was killed with all it started."""
    with open("killed.txt", "w") as said:
        process = subprocess.Popen(
            [TESSERA, *map(str, args)], stdout=said, stderr=said, start_new_session=True
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    expect(code in (0, -9), f"exit {code}: {pathlib.Path('killed.txt').read_text()}")
    return code == -9


def tensors(path):
    """A checkpoint's tensors by name, without those that measure time."""
    file = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:end])
    header.pop("__metadata__")
    return {
        name: file[end + tensor["data_offsets"][0] : end + tensor["data_offsets"][1]]
        for name, tensor in header.items()
        if "throughput" not in name
    }


def expect_same_tensors(one, other):
    a, b = tensors(one), tensors(other)
    expect(a.keys() == b.keys(), f"{one} and {other} have other tensors: {a.keys() ^ b.keys()}")
    different = [name for name in a if a[name] != b[name]]
    expect(not different, f"{one} and {other} differ in {different}")


class Server:
    """`tessera serve` on a port of its own; killed where it was not ended."""

    def __init__(self, *args):
        with open("served.txt", "w") as said:
            self.process = subprocess.Popen(
                [TESSERA, "serve", *map(str, args), "--port", "0"], stdout=said, stderr=said
            )
        atexit.register(self.process.kill)
        self.address = self._wait_for_address()

    def _wait_for_address(self):
        for _ in range(600):
            said = pathlib.Path("served.txt").read_text()
            if found := re.search(r"http://[\d.]+:\d+", said):
                return found.group()
            expect(self.process.poll() is None, f"the server ended: {said}")
            time.sleep(0.1)
        sys.exit(f"FAILED: no server after a minute: {said}")

    def ask(self, path, body=None):
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, body, kind if body else {})
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def end(self):
        self.process.terminate()
        expect(self.process.wait(60) == 0, "the server did not end well after SIGTERM")

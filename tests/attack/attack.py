"""What the attacks on the `tessera` command share: the program, files of every kind that it reads,
and the count of what came of each attempt. A test's last line is that count; it fails if any
attempt ended in one of BAD.
"""

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

ALL = bool(os.environ.get("TESSERA_TEST_ALL"))
SANITIZER_WORDS = ("AddressSanitizer", "runtime error:", "LeakSanitizer", "ThreadSanitizer")
BAD = ("crash", "hang", "wrong result", "no sentence")
HANG_SECONDS = 120  # far above what any of these small commands takes, also beside a build
MEMORY_BYTES = 6 << 30  # of address space: who asks for more gets an error, not the machine

CONFIG = {
    "tables": [
        {"name": "a", "rows": 51, "dim": 4, "features": ["cat_0"]},
        {"name": "b", "rows": 51, "dim": 4, "features": ["cat_1", "cat_2"]},
    ],
    "model": {"type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [16, 1]},
    "optimizer": {
        "sparse": {"name": "rowwise_adagrad", "lr": 0.1},
        "dense": {"name": "adam", "lr": 0.01},
    },
    "data": {"format": "planted", "rows": 3000, "eval_rows": 500, "vocabulary": 50},
    "train": {"batch_size": 64},
}

# Bags with weights, a text, a label that may be missing: what a folder of a schema's rows can hold.
OWN = {
    **CONFIG,
    "data": {
        "format": "jsonl",
        "dense": ["x"],
        "features": [{"name": "seen", "weights": "how"}, {"name": "word", "ids": "text"}],
        "labels": [{"name": "y", "missing": "skip"}],
        "time": "t",
    },
    "tables": [
        {"name": "a", "rows": 51, "dim": 4, "features": ["seen"]},
        {"name": "b", "rows": 31, "dim": 4, "features": ["word", "n"]},
    ],
    "model": {**CONFIG["model"], "dense_in": 1, "weighted": True},
}


def own_rows(count):
    for n in range(count):
        seen = [n * 7 + i for i in range(n % 4)]
        row = {"x": n / 8, "seen": seen, "how": [0.5] * len(seen), "word": f"w{n % 9}", "n": n}
        yield json.dumps({**row, "t": n, **({"y": n % 2} if n % 5 else {})}) + "\n"


def program():
    """The path of the command: the test's, or what the environment variable TESSERA names."""
    if "TESSERA" in os.environ:
        return os.path.abspath(os.environ["TESSERA"])
    return os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "cli/tessera")


def scratch():
    folder = pathlib.Path(os.environ.get("TEST_TMPDIR", "/tmp")) / f"attack-{os.getpid()}"
    folder.mkdir(parents=True)
    return folder


def dice(name, *more):
    """Random numbers that are the same in every run."""
    return random.Random(repr((name, *more)))


def share(count):
    """How many of `count` attempts this run makes: all with TESSERA_TEST_ALL, else a tenth."""
    return count if ALL else max(count // 10, 1)


@dataclasses.dataclass
class Result:
    code: int  # None: it was still running after HANG_SECONDS
    out: str
    err: str

    def verdict(self):
        """ "ok" (exit 0), "refused" (exit 1 with a sentence), or one of BAD."""
        text = self.out + self.err
        if self.code is None:
            return "hang"
        if any(word in text for word in SANITIZER_WORDS) or self.code < 0 or self.code >= 128:
            return "crash"
        if self.code == 0:
            return "ok"
        return "refused" if "tessera: " in self.err else "no sentence"


def limits():
    # Sanitizers reserve terabytes of address space.
    if "TESSERA_ATTACK_SANITIZED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(*args, cwd, seconds=HANG_SECONDS):
    process = subprocess.Popen(
        [program(), *map(str, args)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        preexec_fn=limits,
    )
    try:
        out, err = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        code = None
    return Result(code, out.decode(errors="replace"), err.decode(errors="replace"))


def must(*args, cwd):
    result = run(*args, cwd=cwd)
    if result.code != 0:
        sys.exit(
            f"tessera {' '.join(map(str, args))}: exit {result.code}: {result.out}{result.err}"
        )
    return result


def content(path):
    """The bytes of a file, or of all files of a folder by name; None where there is nothing."""
    path = pathlib.Path(path)
    if path.is_dir():
        return {
            str(file.relative_to(path)): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
    return path.read_bytes() if path.exists() else None


def without_data_identity(saved):
    """A checkpoint's header and tensors without what it says of the data's files and the checksums
    of that: the same rows may lie in other files."""
    size = int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8 : 8 + size])
    for key in ("data", "crc32", "header_crc32"):
        header.get("__metadata__", {}).pop(key, None)
    return header, saved[8 + size :]


def copy(source, target):
    if pathlib.Path(source).is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


@dataclasses.dataclass
class Victim:
    """A kind of file, and a command that reads all of it: `args` with {victim} and {out}. `files`:
    patterns of the files of a folder. Where `verified`, what is read is checked: exit 0 means the
    result of the whole file.
    """

    name: str
    path: str
    args: list
    files: list = dataclasses.field(default_factory=lambda: ["*"])
    verified: bool = True
    beside: list = dataclasses.field(default_factory=list)  # other files that the command reads

    def run(self, cwd):
        """In a folder that has copies of what the command reads: the result, and what it wrote."""
        args = [arg.format(victim=self.path, out="out") for arg in self.args]
        result = run(*args, cwd=cwd)
        written = content(cwd / "out") if result.code == 0 else None
        if isinstance(written, bytes) and args[0] == "train":
            written = without_data_identity(written)
        return result, written

    def prepare(self, world, cwd):
        cwd.mkdir()
        for name in [self.path, *self.beside]:
            copy(world / name, cwd / name)

    def targets(self, cwd):
        path = cwd / self.path
        if path.is_file():
            return [path]
        return sorted(
            {
                file
                for pattern in self.files
                for file in path.glob(pattern)
                if file.stat().st_size > 0
            }
        )


def make_world(folder):
    """Files of every kind, made by the program itself."""
    (folder / "small.json").write_text(json.dumps(CONFIG, indent=1))
    must("generate", "--rows", 1000, "--vocabulary", 50, "rows.tsv", cwd=folder)
    must("generate", "--rows", 200, "--first", 1000, "--vocabulary", 50, "rows.tsv.gz", cwd=folder)
    must("preprocess", "rows.tsv", "-o", "rows", "--shard-rows", 400, cwd=folder)
    must("preprocess", "rows.tsv", "-o", "npy", "--to", "npy", cwd=folder)
    (folder / "own.json").write_text(json.dumps(OWN, indent=1))
    (folder / "own.jsonl").write_text("".join(own_rows(1000)))
    parse = ["preprocess", "--config", "own.json", "own.jsonl"]
    must(*parse, "-o", "parsed", "--shard-rows", 400, cwd=folder)
    must("train", "--config", "small.json", "--checkpoint", "model.safetensors", cwd=folder)
    must(
        "train",
        "--config",
        "small.json",
        "--ranks",
        2,
        "--plan",
        "row_wise",
        "--checkpoint",
        "ranks",
        cwd=folder,
    )
    chain = [
        "--checkpoint",
        "chain",
        "--incremental",
        "--checkpoint-every",
        12,
        "--max-deltas",
        9,
        "--max-delta-share",
        99,
    ]
    must("train", "--config", "small.json", *chain, cwd=folder)
    must("quantize", "model.safetensors", "-o", "served", "--bits", 8, cwd=folder)
    shutil.copytree(folder / "served", folder / "updated")
    for seed in (8, 9):
        must(
            "train",
            "--config",
            "small.json",
            "--seed",
            seed,
            "--checkpoint",
            f"newer{seed}.safetensors",
            cwd=folder,
        )
        must("export", f"newer{seed}.safetensors", "--delta", "updated", "--overwrite", cwd=folder)
    must("plan", "--tables", "small.json", "--ranks", 2, "-o", "plan.json", cwd=folder)
    (folder / "tables.json").write_text(
        json.dumps(
            {
                "tessera_planner_model": 1,
                "modules": [
                    {
                        "path": "ebc",
                        "kind": "ebc",
                        "tables": [{"name": "t", "rows": 100, "dim": 8, "features": ["f"]}],
                    }
                ],
            }
        )
    )
    (folder / "constraints.json").write_text(
        json.dumps(
            {
                "tessera_placement_rules": 1,
                "apart": [["a", "b"]],
                "rank_caps": [{"rank": 0, "ddr": 0}],
            }
        )
    )


RESUME = ["--epochs", "2", "--checkpoint", "{out}"]
VICTIMS = [
    Victim("checkpoint", "model.safetensors", ["train", "--resume", "{victim}", *RESUME]),
    Victim("checkpoint of ranks", "ranks", ["export", "{victim}", "--out", "{out}"]),
    Victim("incremental checkpoint", "chain", ["compact", "{victim}", "--out", "{out}"]),
    Victim(
        "row folder",
        "rows",
        ["train", "--config", "small.json", "--data", "{victim}", "--checkpoint", "{out}"],
        beside=["small.json"],
    ),
    Victim(
        "row folder of a schema",
        "parsed",
        ["train", "--config", "own.json", "--data", "{victim}", "--checkpoint", "{out}"],
        beside=["own.json"],
    ),
    Victim(
        "model directory",
        "served",
        ["predict", "{victim}", "--data", "rows.tsv", "--out", "{out}"],
        beside=["rows.tsv"],
    ),
    Victim(
        "model directory with deltas",
        "updated",
        ["predict", "{victim}", "--data", "rows.tsv", "--out", "{out}"],
        beside=["rows.tsv"],
    ),
]


class Tally:
    """Counts of attempts by kind and verdict; what went wrong is said with how to do it again."""

    def __init__(self, name):
        self.name, self.begin = name, time.monotonic()
        self.counts = collections.Counter()
        self.problems = []

    def add(self, kind, verdict, text=""):
        self.counts[kind, verdict] += 1
        if verdict in BAD:
            self.problems.append(f"{kind}: {verdict}: {text}")

    def finish(self):
        for problem in self.problems[:30]:
            print(problem)
        kinds = sorted({kind for kind, _ in self.counts})
        for kind in kinds:
            found = {verdict: n for (k, verdict), n in sorted(self.counts.items()) if k == kind}
            print(f"{kind}: " + ", ".join(f"{n} {verdict}" for verdict, n in found.items()))
        total = sum(self.counts.values())
        bad = ", ".join(
            f"{sum(n for (_, v), n in self.counts.items() if v == verdict)} {verdict}"
            for verdict in BAD
        )
        print(f"{self.name}: {total} attempts in {time.monotonic() - self.begin:.0f} s: {bad}")
        return 1 if self.problems or total == 0 else 0


def on_all_cores(attempt, inputs):
    """Calls attempt(input) for each, some at a time; results in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(attempt, inputs))


def results_of_whole(world, victims):
    """What each victim's command writes of files that nobody damaged, by the victim's name."""
    wanted = {}
    for victim in victims:
        whole = world.parent / "whole"
        victim.prepare(world, whole)
        result, wanted[victim.name] = victim.run(whole)
        if result.code != 0 or victim.verified and not wanted[victim.name]:
            sys.exit(f"{victim.name}: {result.out}{result.err}")
        shutil.rmtree(whole)
    return wanted


def damage_files(name, victims, count, damage):
    """Runs each victim's command on `count` files in turn that damage(path, dice) has changed,
    which says how. The exit code of the test."""
    world = scratch() / "world"
    world.mkdir()
    make_world(world)
    wanted = results_of_whole(world, victims)

    def attempt(number):
        victim = victims[number % len(victims)]
        numbers = dice(name, number)
        cwd = world.parent / f"file-{number}"
        victim.prepare(world, cwd)
        where = damage(numbers.choice(victim.targets(cwd)), numbers)
        result, written = victim.run(cwd)
        verdict = result.verdict()
        if verdict == "ok" and victim.verified:
            verdict = "same result" if written == wanted[victim.name] else "wrong result"
        shutil.rmtree(cwd)
        return (
            victim.name,
            verdict,
            f"file {number}, {where}: {result.out[-300:]}{result.err[-300:]}",
        )

    tally = Tally(name)
    for outcome in on_all_cores(attempt, range(share(count))):
        tally.add(*outcome)
    shutil.rmtree(world.parent)
    return tally.finish()

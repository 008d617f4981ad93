"""What tools that run `tessera bench` share: building it, its cases, its data files."""

import json
import math
import os
import re
import shlex
import subprocess
import tempfile


class Failure(Exception):
    """Something for the user to read: one message, no traceback."""


def run(command, environment=None, folder=None):
    """What a command prints. Failure with the end of its output where it fails."""
    try:
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Failure(
            f"{shlex.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:].strip()}"
        )
    return done.stdout


def build(target, root, bazel="bazel", options=()):
    """Builds a program of the checkout at `root` for speed; its path. bazel: a command, startup
    options and all; options: of its build."""
    bazel = shlex.split(bazel)
    run(
        [*bazel, "build", "-c", "opt", "--noshow_progress", "--symlink_prefix=/", *options, target],
        folder=root,
    )
    folder = run([*bazel, "info", "-c", "opt", "bazel-bin"], folder=root).strip()
    return os.path.join(folder, target[2:].replace(":", "/"))


def read_json(path):
    with open(path) as file:
        return json.load(file)


def write_json(path, value):
    """Whole or not at all."""
    with open(path + ".tmp", "w") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(path + ".tmp", path)


def data_of(command, environment=None):
    """Runs a program that takes --json FILE, and returns what it wrote there."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        run([*command, "--json", path], environment)
        if not os.path.exists(path):
            raise Failure(f"{shlex.join(command)} measured nothing")
        return read_json(path)


def exactly(case):
    """A regular expression, for C++ and for Python, that only this case matches."""
    return "^" + re.sub(r"([.*+?^${}()|\[\]\\])", r"\\\1", case) + "$"


def list_cases(tessera, topic, arguments):
    """The cases of a topic, in its order, from the lines "<topic>/<case>/<threads>t" of --list."""
    lines = run([tessera, "bench", topic, *arguments, "--list"]).split("\n")
    return list(dict.fromkeys(line.split("/", 1)[1].rsplit("/", 1)[0] for line in lines if line))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def seconds_text(seconds):
    if seconds is None:
        return "-"
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1e3:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds:.2f} s"

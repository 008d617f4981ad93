"""Kernels as nvcc has just compiled them: what ptxas said of each, what its machine code does."""

import fnmatch
import glob
import os
import subprocess
import sys
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/layout"))
import kernel_loads  # noqa: E402
import kernel_table  # noqa: E402

# name: "LookupKernel<16, true>"; shared: static, a block; loads: bits -> sass.Loads.
Built = namedtuple("Built", "source name registers stack spilled shared loads")


class Failure(Exception):
    """Told to the user as it is."""


def nvcc_version():
    """(13, 0) of the nvcc that Bazel takes (tools/cuda/cuda_configure.bzl); None without one."""
    if "CUDA_PATH" in os.environ:
        places = [os.environ["CUDA_PATH"] + "/bin/nvcc"]
    else:
        places = ["nvcc", "/usr/local/cuda/bin/nvcc"]
    for nvcc in places:
        try:
            text = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        return tuple(int(n) for n in text.decode().split(", release ")[1].split(",")[0].split("."))
    return None


def bazel(command, *arguments):
    """Returns what it prints on stdout; throws Failure after what it printed of an error."""
    if command == "build":
        print("building %s (minutes the first time)" % " ".join(arguments), file=sys.stderr)
    quiet = ["--noshow_progress", "--ui_event_filters=-info", "--show_result=0"]
    done = subprocess.run(
        ["bazel", command] + (quiet if command == "build" else []) + list(arguments),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    if done.returncode != 0:
        raise Failure("bazel %s: exit code %d\n%s" % (command, done.returncode, done.stderr))
    return done.stdout


def package_of(source):
    folder = os.path.dirname(source)
    while not os.path.exists(os.path.join(ROOT, folder, "BUILD")):
        folder = os.path.dirname(folder)
    return folder


def targets_of(pattern):
    """The nvcc targets of "//pkg:library", or of the .cu files that end like the pattern."""
    if pattern.startswith("//"):
        return [pattern if pattern.endswith("_nvcc") else pattern + "_nvcc"]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.cu"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        universal_newlines=True,
    ).stdout.split()
    sources = [s for s in listed if fnmatch.fnmatch("/" + s, "*/" + pattern)]
    if not sources:
        raise Failure("%s: no .cu file ends like that; git ls-files '*.cu' lists them" % pattern)
    found = []
    for source in sources:
        package = package_of(source)
        within = os.path.relpath(source, package)
        query = 'attr("srcs", ":%s[],]", kind("_cuda_objects rule", //%s:*))' % (within, package)
        found += bazel("query", "--noshow_progress", query).split()
    return found


def files_of(targets, architecture, end):
    found = []
    for target in targets:
        package, name = target.lstrip("/").split(":")
        folder = os.path.join(ROOT, "bazel-bin", package, "_cuda", name)
        found += glob.glob("%s/*.sm_%s.%s" % (folder, architecture, end))
    return [os.path.realpath(path) for path in sorted(found)]


def read(targets, architecture):
    """[Built] of the targets' kernels, for "90", once their output group cubins_90 is there."""
    logs = files_of(targets, architecture, "cubin.ptxas")
    if not logs:
        raise Failure(
            "nothing was compiled for sm_%s: CUDA_ARCHS is %s; unset it, or put %s into it"
            % (architecture, os.environ.get("CUDA_ARCHS", "80,90"), architecture)
        )
    loads, cubins = {}, files_of(targets, architecture, "cubin")
    for (kernel, _, bits), of in kernel_loads.read(cubins).items():
        loads.setdefault(kernel, {})[bits] = of
    return [
        Built(*kernel.split(" ", 1), *numbers[1:], loads.get(kernel, {}))
        for kernel, numbers in sorted(kernel_table.read(logs, "sm_" + architecture).items())
    ]

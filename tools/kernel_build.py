"""Kernels as nvcc has just compiled them: what ptxas said of each, what its machine code does."""

import fnmatch
import glob
import os
import re
import subprocess
import sys
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/layout"))
import kernel_loads  # noqa: E402
import kernel_table  # noqa: E402

# name: "LookupKernel<16, true>"; shared: static, a block; loops: [sass.Loop] that load.
class Built(namedtuple("Built", "source name registers stack spilled shared loops")):
    def hot_loop(self, bits, where=""):
        """The loop that asks for most bytes a round by loads of so many bits: of those that ask for
        them at a place of the source, as the interpreter of PTX names it, if there are any. None
        where no loop has such loads."""
        loops = [loop for loop in self.loops if bits in loop.loads]
        place = re.sub(r"[^ ]*/", "", where)
        there = [loop for loop in loops if where and place in loop.places_of(bits)]
        return max(there or loops, key=lambda loop: loop.bytes_a_round(bits), default=None)


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


class CompileFailure(Failure):
    """errors: {source: what the compiler said of it}; a source as the checkout has it."""

    def __init__(self, errors):
        self.errors = errors
        super().__init__("\n".join(errors.values()))


def query(*arguments):
    """Returns what `bazel query` prints."""
    done = subprocess.run(
        ["bazel", "query", "--noshow_progress", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    if done.returncode != 0:
        raise Failure("bazel query: exit code %d\n%s" % (done.returncode, done.stderr))
    return done.stdout


def build(*arguments, environment=None):
    """Says what it builds, and every ten seconds how far it is. Throws CompileFailure where sources
    do not compile, after it has built what it could; else Failure with what Bazel said."""
    print("building %s (minutes the first time)" % " ".join(arguments), file=sys.stderr)
    options = ["--keep_going", "--color=no", "--curses=no", "--show_progress_rate_limit=10"]
    options += ["--ui_event_filters=-info", "--show_result=0"]
    running = subprocess.Popen(
        ["bazel", "build", *options, *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    said = []
    for line in running.stderr:
        if re.match(r"\[[\d,]+ / [\d,]+\]", line):
            print("  " + line.rstrip(), file=sys.stderr)
        elif not line.startswith(("Analyzing: ", "Loading: ")):
            said.append(line.rstrip("\n"))
    if running.wait() != 0:
        errors = compile_errors(said)
        if errors:
            raise CompileFailure(errors)
        raise Failure("bazel build: exit code %d\n%s" % (running.returncode, "\n".join(said)))


def compile_errors(said):
    """{source: what the compiler said of it}, of what Bazel said."""
    errors, source, lines = {}, None, []
    for line in said + ["ERROR: "]:
        if re.match(r"(ERROR|INFO|FAILED): |Target |Use --", line):
            if source is not None:
                errors[source] = "\n".join(about(source, lines))
            failed = re.search(r": Compiling (\S+) failed: ", line)
            source, lines = failed and source_of(failed.group(1)), []
        else:
            lines.append(within_checkout(line))
    return errors


def source_of(compiled):
    """x.cu of the file that includes it where kernels run emulated (tools/cuda/cuda.bzl)."""
    emulated = re.fullmatch(r"(.*/)?_emulated/[^/]*/(.*\.cu)\.cc", compiled)
    return (emulated.group(1) or "") + emulated.group(2) if emulated else compiled


def within_checkout(line):
    """Without the path of the folder that Bazel compiles in."""
    return re.sub(r"(/\S*/execroot/[^/]+/|(?<!\S)\./)(?=\w)", "", line)


def about(source, lines):
    """Those of the compiler's messages that name the source; all of them if none does. What stands
    before the first is Bazel's command."""
    messages = [[]]
    for line in lines:
        if re.match(r"In file included from|\S+: (In|At) |\S+[:(]\d+[:)]", line):
            messages.append([])
        messages[-1].append(line)
    own = [m for m in messages if any(line.startswith(source) for line in m)]
    return [line for message in own or messages[1:] or messages for line in message]


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
        rules = 'attr("srcs", ":%s[],]", kind("_cuda_objects rule", //%s:*))' % (within, package)
        found += query(rules).split()
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
    loops = kernel_loads.loops(files_of(targets, architecture, "cubin"))
    return [
        Built(*kernel.split(" ", 1), *numbers[1:], loops.get((kernel, "sm_" + architecture), []))
        for kernel, numbers in sorted(kernel_table.read(logs, "sm_" + architecture).items())
    ]

#!/usr/bin/env python3
"""What a user reads of a build that failed, the compiler's words about his file alone, and of a
variant that is wrong in some orders of threads."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tools"))
from kernel_build import compile_errors  # noqa: E402

MINE, OTHER = "bench/lab/cuda/variants/mine.cu", "bench/lab/cuda/variants/other.cu"

# Of Bazel 6 and nvcc 13.0; of g++ 12, where kernels run emulated.
NVCC = """\
ERROR: /home/user/tessera/bench/lab/cuda/BUILD:36:13: Compiling %(mine)s failed: (Exit 1): bash \
failed: error executing command
  (cd /root/.cache/bazel/_bazel_root/0a/sandbox/processwrapper-sandbox/7/execroot/tessera && \\
  exec env - \\
    PATH=/usr/bin:/bin \\
  /bin/bash -c nvcc)
%(mine)s(30): error: identifier "nothing" is undefined
    sum = nothing;
          ^

runtime/vector.cuh(12): warning #177-D: variable "x" was declared but never referenced
    int x;
        ^

1 error detected in the compilation of "%(mine)s".
ERROR: /home/user/tessera/bench/lab/cuda/BUILD:36:13: Compiling %(other)s failed: (Exit 1): bash \
failed: error executing command
  (cd /root/.cache/bazel/_bazel_root/0a/sandbox/processwrapper-sandbox/8/execroot/tessera && \\
  /bin/bash -c nvcc)
runtime/vector.cuh(40): error: static assertion failed
Target //bench/lab/cuda:lab failed to build
Use --verbose_failures to see the command lines of failed build steps.
ERROR: Build did NOT complete successfully
""" % {"mine": MINE, "other": OTHER}
GCC = """\
ERROR: /home/user/tessera/bench/lab/cuda/BUILD:36:13: Compiling \
bench/lab/cuda/_emulated/variants/variants/mine.cu.cc failed: (Exit 1): gcc failed: error \
executing command
In file included from bazel-out/k8-opt/bin/bench/lab/cuda/_emulated/variants/variants/mine.cu.cc:1:
./%(mine)s: In \
function 'void f()':
/root/.cache/bazel/_bazel_root/0a/sandbox/processwrapper-sandbox/7/execroot/tessera/%(mine)s:30:9: \
error: 'nothing' was not declared in this scope
   30 |   sum = nothing;
      |         ^~~~~~~
Target //bench/lab/cuda:lab failed to build
""" % {"mine": MINE}


class CompileErrorsTest(unittest.TestCase):
    def test_nvcc(self):
        errors = compile_errors(NVCC.split("\n"))
        self.assertEqual(sorted(errors), [MINE, OTHER])
        first = errors[MINE].split("\n")[0]
        self.assertEqual(first, MINE + '(30): error: identifier "nothing" is undefined')
        self.assertNotIn("vector.cuh", errors[MINE])
        # Nothing names the file: all is shown.
        self.assertEqual(errors[OTHER], "runtime/vector.cuh(40): error: static assertion failed")

    def test_gcc(self):
        errors = compile_errors(GCC.split("\n"))
        self.assertEqual(list(errors), [MINE])
        self.assertEqual(
            errors[MINE].split("\n")[1],
            MINE + ":30:9: error: 'nothing' was not declared in this scope",
        )
        self.assertIn("|         ^~~", errors[MINE])
        self.assertNotIn("sandbox", errors[MINE])
        self.assertNotIn("bazel-out", errors[MINE])

    def test_what_is_no_error_of_a_compiler(self):
        said = ["ERROR: /x/BUILD:3:8: Linking bench/lab failed: (Exit 1): gcc failed", "ld: no"]
        self.assertEqual(compile_errors(said), {})


class OrdersTest(unittest.TestCase):
    def setUp(self):
        path = os.path.join(os.getcwd(), "tools/lab_cuda")
        loader = importlib.machinery.SourceFileLoader("lab_cuda", path)
        self.lab = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("lab_cuda", loader)
        )
        loader.exec_module(self.lab)

    def what_is_said(self, wrong_orders):
        def run_lab(words, TESSERA_PTX_SEED=None):
            if TESSERA_PTX_SEED in wrong_orders:
                raise self.lab.Failure("column 3: expected 1, got 2")
            return "every bit is right\n", ""

        self.lab.run_lab = run_lab
        try:
            return self.lab.check(["mine"], "TESSERA_PTX_SEED")
        except self.lab.Failure as failure:
            return str(failure)

    def test_a_race_is_called_one(self):
        self.assertIn("in 2 random orders", self.what_is_said([]))
        raced = self.what_is_said(["2"])
        self.assertIn("column 3: expected 1, got 2\nwith threads in order it is right: ", raced)
        self.assertEqual(self.what_is_said([None]), "column 3: expected 1, got 2")


if __name__ == "__main__":
    unittest.main()

"""device_op: the files of one op (docs/design/overview.md) as targets."""

load("//tools/cuda:cuda.bzl", "cuda_library")
load("//tools/pch:pch.bzl", "cc_library")

def device_op(
        name,
        srcs = None,
        hdrs = [],
        deps = [],
        cpu_deps = [],
        kernel_deps = [],
        visibility = None):
    """The library `name` of name.h, its sources (default name.cc) and name_cuda.cu.

    The devices' halves meet in name_impl.h (or name.h alone), which both sides include. `deps` are
    those of the headers, `cpu_deps` those of the sources besides, `kernel_deps` those of the
    kernels besides.
    """
    cc_library(
        name = name + "_headers",
        hdrs = native.glob([name + ".h", name + "_impl.h"]) + hdrs,
        visibility = ["//visibility:private"],
        deps = deps,
    )
    cuda_library(
        name = name + "_cuda",
        srcs = [name + "_cuda.cu"],
        visibility = ["//visibility:private"],
        deps = [
            ":" + name + "_headers",
            "//runtime:algorithms",
            "//runtime:launch",
        ] + kernel_deps,
    )
    cc_library(
        name = name,
        srcs = srcs or [name + ".cc"],
        hdrs = [name + ".h"],
        visibility = visibility,
        deps = [
            ":" + name + "_cuda",
            ":" + name + "_headers",
            "//runtime:for_each",
            "//runtime/device:dispatch",
        ] + cpu_deps,
    )

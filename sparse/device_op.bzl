"""device_op: one op on disk (docs/design/overview.md) as targets."""

load("//tools/cuda:cuda.bzl", "cuda_library")

def device_op(name, srcs = None, textual_hdrs = [], hdrs = [], deps = []):
    """The library `name` of name.h, its sources (default name.cc) and name_cuda.cu.

    The devices' halves meet in name_impl.h (or id_check's one header), which both sides include.
    """
    native.cc_library(
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
            "//sparse/ops:kernel_headers",
            "//runtime:algorithms",
            "//runtime:launch",
        ],
    )
    native.cc_library(
        name = name,
        srcs = srcs or [name + ".cc"],
        hdrs = [name + ".h"],
        deps = [
            ":" + name + "_cuda",
            ":" + name + "_headers",
            "//runtime/device:dispatch",
            "//runtime:for_each",
        ],
    )

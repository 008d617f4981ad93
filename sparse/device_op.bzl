"""device_op of tools, with what kernels of sparse ops share."""

load("//tools:device_op.bzl", _device_op = "device_op")

def device_op(**kwargs):
    _device_op(kernel_deps = ["//sparse/ops:kernel_headers"], **kwargs)

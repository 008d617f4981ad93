"""isa_library: one source compiled once for each instruction set, each in a namespace of its own.

On x86-64 there are three; on aarch64 only the first, which is NEON there.

A source named *_simd.cc puts all it defines into namespace TESSERA_ISA (a macro that names the
level), so that the linker never keeps one level's copy of a function for all of them;
//tests/layout checks this with nm.
"""

load("//tools/pch:pch.bzl", "cc_library")

ISA_LEVELS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"] +
              ["-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mprfchw", "-mprefer-vector-width=512"],
}

# Options of loops that are measured, beside NATIVE_ISA.
NATIVE_LOOPS = ["-O3", "-fno-math-errno", "-Wno-maybe-uninitialized"]

# For loops that are measured with all that this machine has; aarch64 is compiled elsewhere.
NATIVE_ISA = select({
    "//tools/aarch64:is_aarch64": [],
    "//conditions:default": ["-march=native"],
})

def isa_copts(level):
    # GCC 12 takes the undefined operand inside its own AVX-512 intrinsics for an uninitialised
    # variable.
    return ISA_LEVELS[level] + ["-O3", "-fno-math-errno", "-Wno-maybe-uninitialized"]

def only_where_there_is(level):
    """What a target that is compiled for a level asks of the machine."""
    return [] if level == "baseline" else select({
        "//tools/aarch64:is_aarch64": ["//tools/cuda:nowhere"],
        "//conditions:default": [],
    })

def isa_library(name, srcs, deps = [], copts = [], local_defines = [], **kwargs):
    """A cc_library holding `srcs` compiled for every level that the target's machines have."""
    for level in ISA_LEVELS:
        cc_library(
            name = name + "_" + level,
            srcs = srcs,
            copts = copts + isa_copts(level),
            header = "simd",
            local_defines = local_defines + ["TESSERA_ISA=" + level, "Eigen=Eigen_" + level],
            target_compatible_with = only_where_there_is(level),
            visibility = ["//tests/layout:__pkg__"],
            deps = deps,
        )
    cc_library(
        name = name,
        deps = select({
            "//tools/aarch64:is_aarch64": [":" + name + "_baseline"],
            "//conditions:default": [":" + name + "_" + level for level in ISA_LEVELS],
        }),
        **kwargs
    )

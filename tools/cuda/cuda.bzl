"""Libraries of CUDA code: compiled by nvcc under --config=cuda and --config=ptx, as C++ against
tools/emulation under --config=emulated, empty otherwise."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(
    "@local_cuda//:defs.bzl",
    "CUDA_ARCHS",
    "CUDA_FOUND",
    "CUDA_MISSING",
    "CUDA_ROOT",
    "CUDA_VERSION",
)
load("//tools/cuda:flag.bzl", "BoolInfo")
load("//tools/pch:pch.bzl", "cc_library")

# -fmad=false: lookups and updates promise the CPU's bits, and a fused multiply-add rounds once
# where the CPU rounds twice.
_FLAGS = [
    "-std=c++20",
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    "-fmad=false",
    "-Xcompiler=-fPIC,-Wall,-ffp-contract=off",
    "-Xptxas=-v",
    "-diag-suppress=1675",  # a pragma of GCC, for the host's loops
]

_FLAGS_BY_MODE = {
    "dbg": ["-O0", "-g", "-G"],
    "fastbuild": ["-O1"],
    "opt": ["-O3", "-lineinfo", "-DNDEBUG"],
}

def _code_for(arch):
    return "-gencode=arch=compute_%s,code=sm_%s" % (arch, arch)

# tools/ptx reads text.
_INTERPRETED = ["-gencode=arch=compute_90,code=compute_90", "--compress-mode=none"]

def _architectures(interpreted):
    if interpreted:
        return _INTERPRETED
    flags = [_code_for(arch) for arch in CUDA_ARCHS]
    return flags + [
        "-gencode=arch=compute_%s,code=compute_%s" % (CUDA_ARCHS[-1], CUDA_ARCHS[-1]),
        "-Xfatbin=-compress-all",  # a quarter of the size
    ]

# What ptxas says of each kernel (registers, spills) goes to a file, all else to the user.
_RUN = """
log=$1; shift
"$@" 2> "$log" || { grep -v '^ptxas info' "$log" >&2; exit 1; }
grep -vE '^ptxas info|bytes stack frame' "$log" >&2 || true
"""

PtxasInfo = provider(fields = {
    "objects": "depset of files: a target's own objects, which hold its kernels",
    "logs": "depset of files: what ptxas said of a target's own kernels",
    "cubins": "depset of files: these kernels, a file for each source and architecture; " +
              "made only if asked for",
    "cubin_logs": "depset of files: what ptxas said of each of these",
})

def _run_nvcc(ctx, source, flags, inputs, output, log):
    own = ctx.actions.args()
    own.add("-o", output)
    own.add(source)
    ctx.actions.run_shell(
        command = _RUN,
        arguments = [log.path, CUDA_ROOT + "/bin/nvcc"] + flags + [own],
        inputs = depset([source], transitive = [inputs]),
        outputs = [output, log],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s" % source.short_path,
    )

def _compile(ctx, source, flags, inputs):
    path = "_cuda/%s/%s" % (ctx.label.name, source.basename)
    output = ctx.actions.declare_file(path + ".o")
    log = ctx.actions.declare_file(path + ".ptxas")
    interpreted = ctx.attr._interpreted[BoolInfo].value
    for_all = ctx.actions.args().add_all(["-c"] + _architectures(interpreted))
    _run_nvcc(ctx, source, [flags, for_all], inputs, output, log)
    cubins, cubin_logs = [], []
    for arch in CUDA_ARCHS:
        cubin = ctx.actions.declare_file("%s.sm_%s.cubin" % (path, arch))
        cubin_log = ctx.actions.declare_file("%s.sm_%s.cubin.ptxas" % (path, arch))
        only = ctx.actions.args().add_all(["-cubin", _code_for(arch)])
        _run_nvcc(ctx, source, [flags, only], inputs, cubin, cubin_log)
        cubins.append(cubin)
        cubin_logs.append(cubin_log)
    return struct(object = output, log = log, cubins = cubins, cubin_logs = cubin_logs)

def _cuda_objects_impl(ctx):
    if not CUDA_FOUND:
        fail("--config=cuda and --config=ptx need a CUDA toolkit: " + CUDA_MISSING)
    if ctx.attr._interpreted[BoolInfo].value and int(CUDA_VERSION.split(".")[0]) < 13:
        fail("--config=ptx needs CUDA 13 or newer; the toolkit in %s is %s" %
             (CUDA_ROOT, CUDA_VERSION))
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    headers = deps.compilation_context

    flags = ctx.actions.args()
    flags.add_all(_FLAGS + _FLAGS_BY_MODE[ctx.var["COMPILATION_MODE"]])
    flags.add("-ccbin", cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = "c++-compile",
    ))
    flags.add_all(headers.defines, format_each = "-D%s")
    flags.add_all(ctx.attr.local_defines, format_each = "-D%s")
    flags.add_all(ctx.attr.nvcc_options)
    flags.add_all(headers.includes, format_each = "-I%s")
    flags.add_all(headers.quote_includes, format_each = "-I%s")  # nvcc has no -iquote
    flags.add_all(headers.system_includes, format_each = "-isystem=%s")

    inputs = depset(transitive = [headers.headers, toolchain.all_files])
    compiled = [_compile(ctx, source, flags, inputs) for source in ctx.files.srcs]
    objects = [c.object for c in compiled]

    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        linking_contexts = [deps.linking_context],
        disallow_dynamic_library = True,
        alwayslink = ctx.attr.alwayslink,
    )
    return [
        DefaultInfo(files = depset(objects)),
        # For tools/kernel_report: "cubins_90", machine code for sm_90 and what ptxas said of it.
        OutputGroupInfo(**{
            "cubins_" + arch: depset([c.cubins[n] for c in compiled] +
                                     [c.cubin_logs[n] for c in compiled])
            for n, arch in enumerate(CUDA_ARCHS)
        }),
        PtxasInfo(
            objects = depset(objects),
            logs = depset([c.log for c in compiled]),
            cubins = depset([cubin for c in compiled for cubin in c.cubins]),
            cubin_logs = depset([log for c in compiled for log in c.cubin_logs]),
        ),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(linking_context = linking)],
            cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
        ),
    ]

_cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "local_defines": attr.string_list(),
        "nvcc_options": attr.string_list(),
        "alwayslink": attr.bool(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_interpreted": attr.label(default = "//tools/cuda:interpreted"),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# For target_compatible_with: tests of what exists in one kind of build alone.
EMULATED_ONLY = select({
    "//tools/cuda:is_emulated": [],
    "//conditions:default": ["//tools/cuda:nowhere"],
})

# Kernels run on the CPU: the stand-in for CUDA's runtime counts what it does.
WITHOUT_GPU = select({
    "//tools/cuda:is_emulated": [],
    "//tools/cuda:is_interpreted": [],
    "//conditions:default": ["//tools/cuda:nowhere"],
})

PTX_ONLY = select({
    "//tools/cuda:is_interpreted": [],
    "//conditions:default": ["//tools/cuda:nowhere"],
})

NVCC_ONLY = select({
    "//tools/cuda:is_enabled": [],
    "//tools/cuda:is_interpreted": ["//tools/cuda:nowhere"],
    "//conditions:default": ["//tools/cuda:nowhere"],
})

_Collected = provider(fields = ["objects", "logs", "cubins", "cubin_logs"])

def _kernels_aspect_impl(target, ctx):
    own = [target[PtxasInfo]] if PtxasInfo in target else []
    below = [dep[_Collected] for dep in getattr(ctx.rule.attr, "deps", []) if _Collected in dep]
    return [_Collected(
        objects = depset(transitive = [one.objects for one in own + below]),
        logs = depset(transitive = [one.logs for one in own + below]),
        cubins = depset(transitive = [one.cubins for one in own + below]),
        cubin_logs = depset(transitive = [one.cubin_logs for one in own + below]),
    )]

_kernels_aspect = aspect(
    implementation = _kernels_aspect_impl,
    attr_aspects = ["deps"],
)

def _ptxas_logs_impl(ctx):
    logs = depset(transitive = [dep[_Collected].logs for dep in ctx.attr.deps])
    return [DefaultInfo(files = logs)]

# What ptxas said of every kernel that `deps` link.
ptxas_logs = rule(
    implementation = _ptxas_logs_impl,
    attrs = {"deps": attr.label_list(aspects = [_kernels_aspect])},
)

def _kernel_objects_impl(ctx):
    objects = depset(transitive = [dep[_Collected].objects for dep in ctx.attr.deps])
    return [DefaultInfo(files = objects, runfiles = ctx.runfiles(transitive_files = objects))]

# The objects with every kernel that `deps` link.
kernel_objects = rule(
    implementation = _kernel_objects_impl,
    attrs = {"deps": attr.label_list(aspects = [_kernels_aspect])},
)

def _cubins_impl(ctx):
    parts = ["/_cuda/%s_nvcc/" % library for library in ctx.attr.libraries]
    all = [dep[_Collected].cubins for dep in ctx.attr.deps]
    if ctx.attr.logs:
        all += [dep[_Collected].cubin_logs for dep in ctx.attr.deps]
    files = depset([
        file
        for file in depset(transitive = all).to_list()
        if [part for part in parts if part in file.path]
    ])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

# The kernels, for each architecture, of those cuda_libraries below `deps` that are named; with
# logs, what ptxas said of them, too.
cubins = rule(
    implementation = _cubins_impl,
    attrs = {
        "deps": attr.label_list(aspects = [_kernels_aspect]),
        "libraries": attr.string_list(),
        "logs": attr.bool(),
    },
)

def _linked_only_impl(ctx):
    merged = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    return [CcInfo(linking_context = merged.linking_context)]

# What `deps` link, without their headers and paths of headers: who depends on CUDA code is compiled
# by the same command in every kind of build, and so once.
linked_only = rule(
    implementation = _linked_only_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
    provides = [CcInfo],
)

def _chosen_library(name, enabled, emulated, testonly = False, **kwargs):
    """What `enabled` links under --config=cuda and --config=ptx, `emulated` under
    --config=emulated, nothing otherwise."""
    linked_only(
        name = name + "_linked",
        testonly = testonly,
        deps = select({
            "//tools/cuda:is_both": ["//tools/cuda:refuse_both"],
            "//tools/cuda:is_enabled": [enabled],
            "//tools/cuda:is_emulated": [emulated],
            "//conditions:default": [],
        }),
    )
    cc_library(
        name = name,
        testonly = testonly,
        deps = [":" + name + "_linked"],
        **kwargs
    )

def cuda_library(
        name,
        srcs,
        deps = [],
        local_defines = [],
        nvcc_options = [],
        testonly = False,
        alwayslink = False,
        **kwargs):
    """A library of `srcs` (.cu); alwayslink: of files that nobody calls, as cc_library's.
    nvcc_options: more of them, for nvcc alone.

    Under --config=cuda and --config=ptx nvcc compiles them; under --config=emulated g++ does, each
    through a file of one line that includes it (a cc_library takes no .cu); otherwise the library
    is empty. Headers belong into a cc_library among `deps`: a build without nvcc would take one in
    `srcs` for a source.
    """
    for source in srcs:
        if not source.endswith(".cu"):
            fail("cuda_library(%s): srcs takes .cu files, and %s is none" % (name, source))
    _cuda_objects(
        name = name + "_nvcc",
        srcs = srcs,
        local_defines = local_defines,
        nvcc_options = nvcc_options,
        tags = ["manual"],
        testonly = testonly,
        alwayslink = alwayslink,
        deps = deps + ["//tools/cuda:runtime"],
    )
    wrappers = []
    for source in srcs:
        wrapper = "_emulated/%s/%s.cc" % (name, source)
        native.genrule(
            name = name + "_wrap_" + source,
            outs = [wrapper],
            cmd = "echo '#include \"%s/%s\"' > $@" % (native.package_name(), source),
            tags = ["manual"],
        )
        wrappers.append(wrapper)
    cc_library(
        name = name + "_emulated",
        srcs = wrappers,
        copts = ["-Wno-unknown-pragmas"],  # nvcc's `#pragma unroll`
        local_defines = local_defines,
        tags = ["manual"],
        testonly = testonly,
        alwayslink = alwayslink,
        textual_hdrs = srcs,
        deps = deps + ["//tools/cuda:runtime"],
    )
    _chosen_library(name, ":" + name + "_nvcc", ":" + name + "_emulated", testonly, **kwargs)

def cuda_host_library(name, srcs, deps = [], **kwargs):
    """A library of C++ that calls CUDA's runtime; empty in a build for the CPU alone."""
    cc_library(
        name = name + "_host",
        srcs = srcs,
        # NVIDIA's libraries know nothing of memory that is not a GPU's. (The emulator's header says
        # the same.)
        local_defines = select({
            "//tools/cuda:is_interpreted": ["TESSERA_CUDA_EMULATION=1"],
            "//conditions:default": [],
        }),
        tags = ["manual"],
        deps = deps + ["//tools/cuda:runtime"],
    )
    _chosen_library(name, ":" + name + "_host", ":" + name + "_host", **kwargs)

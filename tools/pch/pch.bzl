"""cc_library, cc_binary and cc_test whose sources find the standard library's headers compiled.

Parsing <string>, <memory>, <algorithm> and their like takes a third of a typical source's compile
time. Every source is compiled with `-include tools/pch/standard.h` (tests: tests.h; an
isa_library: simd.h), a file that a build makes, and GCC takes the precompiled form beside it that
was compiled by the same options. If none was (another -O, a sanitizer's source, another compiler),
the source is compiled as ever, only slower. Sources still include what they name: installed
headers and nvcc know nothing of this.

tools/build_rules/prelude_bazel puts the three in place of Bazel's own in every BUILD file.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("//tools:joined_source.bzl", "joined_source")

def _command(ctx, toolchain, features, options, header, output):
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + options,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = variables,
    )
    return flags + ["-x", "c++-header", header.path, "-o", output.path]

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "".join(["#include <%s>\n" % name for name in ctx.attr.headers]))
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = "c++-compile",
    )
    compiled = []
    for form, options in ctx.attr.forms.items() if compiler.endswith("gcc") else []:
        # GCC tries each file of the folder HEADER.gch. Its extension is one of headers, so that it
        # may stand among a library's sources.
        output = ctx.actions.declare_file("%s.h.gch/%s.h" % (ctx.label.name, form))
        ctx.actions.run(
            executable = compiler,
            arguments = _command(ctx, toolchain, features, options, header, output),
            inputs = depset([header], transitive = [toolchain.all_files]),
            outputs = [output],
            env = {"PATH": "/usr/bin:/bin"},
            mnemonic = "PrecompileHeader",
            progress_message = "Precompiling %s (%s)" % (header.short_path, form),
        )
        compiled.append(output)
    return [DefaultInfo(files = depset([header] + compiled))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "headers": attr.string_list(doc = "What is included in <>, in this order."),
        "forms": attr.string_list_dict(doc = "Options of each precompiled form, by a name."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _with_header(rule, header = None, srcs = [], copts = [], **kwargs):
    if srcs and not (type(srcs) == "list" and [s for s in srcs if s.endswith(".c")]):
        if not header:
            header = "tests" if native.package_name().startswith("tests") else "standard"
        srcs = srcs + ["//tools/pch:" + header]
        copts = ["-include tools/pch/%s.h" % header] + copts
    rule(srcs = srcs, copts = copts, **kwargs)

def cc_library(name, srcs = [], textual_hdrs = [], joined = True, **kwargs):
    """Bazel's own, whose sources are compiled as one, in less than half of the time.

    joined: False for sources that are compiled one by one, as all are with
    --//tools/pch:joined=false.
    """
    # Neither labels nor the emulator's wrappers (_emulated/).
    sources = [source for source in srcs if source.endswith(".cc") and source[0] not in ":/_"]
    if joined and len(sources) > 1:
        made = joined_source(name, sources, testonly = kwargs.get("testonly", False))
        srcs = [source for source in srcs if source not in sources] + select({
            "//tools/pch:one_by_one": sources,
            "//conditions:default": [made],
        })
        textual_hdrs = textual_hdrs + sources
    _with_header(native.cc_library, name = name, srcs = srcs, textual_hdrs = textual_hdrs, **kwargs)

def cc_binary(**kwargs):
    _with_header(native.cc_binary, **kwargs)

def cc_test(**kwargs):
    _with_header(native.cc_test, **kwargs)

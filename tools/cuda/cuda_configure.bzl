"""Makes the repository @local_cuda from the CUDA toolkit of this machine.

Looks at $CUDA_PATH (and then nowhere else), nvcc on $PATH, /usr/local/cuda. Without a toolkit, or
with one older than 12.4 (no full C++20), the repository has the same targets, empty, and CUDA_FOUND
= False, so that //... builds anywhere. $CUDA_ARCHS names the architectures to compile for, "80,90"
unless set.
"""

_TARGETS = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"], allow_empty = True),
    includes = ["include"],
)

cc_library(
    name = "cudart",
    srcs = glob(["lib64/libcudart_static.a"], allow_empty = True),
    linkopts = %s,
    deps = [":headers"],
)
"""

_OLDEST = (12, 4)

def _root(ctx):
    if "CUDA_PATH" in ctx.os.environ:
        places = [ctx.os.environ["CUDA_PATH"]]
    else:
        nvcc = ctx.which("nvcc")
        places = ([str(nvcc.realpath.dirname.dirname)] if nvcc else []) + ["/usr/local/cuda"]
    for place in places:
        if ctx.path(place + "/bin/nvcc").exists:
            return place
    return None

def _version(ctx, root):
    text = ctx.execute([root + "/bin/nvcc", "--version"]).stdout
    for line in text.split("\n"):
        if ", release " in line:
            return line.split(", release ")[1].split(",")[0]
    return "0.0"

def _cuda_configure_impl(ctx):
    root = _root(ctx)
    version = ""
    why = "none at $CUDA_PATH, on $PATH or in /usr/local/cuda"
    if root:
        version = _version(ctx, root)
        major, minor = [int(part) for part in version.split(".")[:2]]
        if (major, minor) < _OLDEST:
            why = "the one in %s is %s, and 12.4 is the first that knows C++20" % (root, version)
            root = None
    if root:
        for folder in ["bin", "include", "lib64", "nvvm"]:
            ctx.symlink(root + "/" + folder, folder)
    ctx.file("BUILD", _TARGETS % repr(["-ldl", "-lpthread", "-lrt"] if root else []))
    names = ["CUDA_FOUND", "CUDA_MISSING", "CUDA_ROOT", "CUDA_VERSION", "CUDA_ARCHS"]
    ctx.file("defs.bzl", "".join([name + " = %s\n" for name in names]) % (
        root != None,
        repr(why),
        repr(root or ""),
        repr(version),
        repr(ctx.os.environ.get("CUDA_ARCHS", "80,90").split(",")),
    ))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = ["CUDA_ARCHS", "CUDA_PATH", "PATH"],
    local = True,
)

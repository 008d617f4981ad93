"""Tells the build where Debian's libraries for aarch64 lie, by @aarch64_sysroot//:path.bzl.

tools/aarch64/sysroot puts them into .aarch64 of the checkout; $AARCH64_SYSROOT names another one.
"""

def _aarch64_sysroot_impl(ctx):
    path = ctx.os.environ.get("AARCH64_SYSROOT", "")
    if not path:
        path = "%s/.aarch64" % ctx.path(Label("//:WORKSPACE")).dirname
    ctx.file("BUILD")
    ctx.file("path.bzl", 'SYSROOT = "%s"\n' % path)

aarch64_sysroot = repository_rule(
    implementation = _aarch64_sysroot_impl,
    environ = ["AARCH64_SYSROOT"],
)

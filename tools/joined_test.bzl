"""joined_test: a test program of several sources, compiled as one."""

load("//tools/pch:pch.bzl", "cc_library", "cc_test")

def joined_test(name, srcs, deps, **kwargs):
    """A cc_test of `srcs`, which a generated source includes one after the other.

    Headers and templates that the sources share are compiled once, in half of the time that they
    take one by one. A name in one's anonymous namespace is taken for those after it.
    `--test_filter='Suite.*'` runs the tests of one.
    """
    cc_library(
        name = name + "_sources",
        testonly = True,
        textual_hdrs = srcs,
    )
    native.genrule(
        name = name + "_joined",
        testonly = True,
        srcs = srcs,
        outs = [name + "_joined.cc"],
        cmd = "for source in $(SRCS); do echo \"#include \\\"$$source\\\"\"; done > $@",
    )
    cc_test(
        name = name,
        srcs = [name + "_joined.cc"],
        deps = [":" + name + "_sources"] + deps,
        **kwargs
    )

"""joined_source: several sources as one, so that what they include is compiled once."""

def joined_source(name, srcs, testonly = False):
    """Makes `name`_joined.cc, which includes `srcs`, files of this package, one after the other.

    A name in one's anonymous namespace is taken for those after it. Returns the made file's label.
    """
    native.genrule(
        name = name + "_joined",
        testonly = testonly,
        srcs = srcs,
        outs = [name + "_joined.cc"],
        cmd = "for source in $(SRCS); do echo \"#include \\\"$$source\\\"\"; done > $@",
        visibility = ["//visibility:private"],
    )
    return name + "_joined.cc"

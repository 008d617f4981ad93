"""mpi_test: a test whose ranks are processes under mpirun."""

load("//tools/pch:pch.bzl", "cc_binary")

def mpi_test(name, ranks, srcs, deps = [], args = [], size = "small", tags = [], **kwargs):
    """Runs the program of `srcs` on `ranks` ranks; it passes if every rank ends with 0.

    Ranks may be more than cores. `args` are given to the program.
    """
    cc_binary(
        name = name + "_program",
        testonly = True,
        srcs = srcs,
        deps = deps,
    )
    mpi_program_test(
        name = name,
        args = args,
        program = ":" + name + "_program",
        ranks = ranks,
        size = size,
        tags = tags,
        **kwargs
    )

def mpi_program_test(name, ranks, program, args = [], **kwargs):
    """The same for a program that is there."""
    native.sh_test(
        name = name,
        srcs = ["//tools:mpi_test.sh"],
        args = [str(ranks), "$(location %s)" % program] + args,
        data = [
            program,
            "//tools:mpi_environment.sh",
        ],
        **kwargs
    )

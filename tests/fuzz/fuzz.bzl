"""fuzz_test: a reader fed with bad inputs, as a test, or, with clang, by libFuzzer."""

load("//tools/pch:pch.bzl", "cc_test")

def fuzz_test(name, deps = [], size = "medium"):
    """The target of `name`.cc. It links every command too: a reader can break on code that it meets
    in the program alone.

    A test of made-up bad inputs (driver.cc); with --define fuzzer=libfuzzer a program of
    libFuzzer's:
      CC=clang bazel run --define fuzzer=libfuzzer --copt=-fsanitize=fuzzer-no-link,address \\
        //tests/fuzz:NAME -- FOLDER
    """
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer,address"],
            "//conditions:default": [],
        }),
        deps = deps + [
            "//cli:commands",
            "//tests/fuzz:fuzz",
        ] + select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:driver"],
        }),
    )

#!/usr/bin/env python3
"""Files include what they name, for the types that nearly every file names: whoever reads a file
finds where they come from, and a header may drop an include without breaking strangers.

A .cc, .cu or _impl.h file has what the header of its own name includes. A few headers stand for
those below them, as no program has one without the other. Of the standard library's names only
headers are checked: a build hides what is missing (tools/pch), and installed headers must do
without.
"""

import pathlib
import re
import sys

FOLDERS = (
    "runtime sparse quant optim comm embedding metrics data sharding planner models train serve "
    "cli bench"
).split()
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
HEADER_OF = {
    "Context": "runtime/context.h",
    "Tensor": "runtime/tensor.h",
    "TESSERA_CHECK": "runtime/base/check.h",
}
STANDARD_HEADER_OF = {
    "algorithm": "copy fill max min sort",
    "array": "array",
    "atomic": "atomic",
    "cstring": "memcpy memset",
    "deque": "deque",
    "functional": "function",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "mutex": "lock_guard mutex unique_lock",
    "numeric": "accumulate iota",
    "optional": "optional",
    "set": "set",
    "span": "span",
    "sstream": "istringstream ostringstream",
    "string": "string to_string",
    "string_view": "string_view",
    "thread": "thread",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant",
    "vector": "vector",
}
OF_TENSOR = {"runtime/context.h", "runtime/numbers/dtype.h", "runtime/base/check.h"}
STANDS_FOR = {
    "runtime/tensor.h": OF_TENSOR,
    "runtime/autograd.h": OF_TENSOR | {"runtime/tensor.h"},
    "sparse/keyed_jagged_tensor.h": OF_TENSOR | {"runtime/tensor.h"},
}
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
HALF = re.compile(r"(_impl|_cuda|_cpu|_simd)?\.\w+$")


def includes(text):
    found = set(INCLUDE.findall(text))
    for header in list(found):
        found |= STANDS_FOR.get(header, set())
    return found


def included_by(root, path, text):
    found = includes(text)
    own = {re.sub(r"\.\w+$", ".h", path), HALF.sub(".h", path)} & found - {path}
    for header in own:
        if (root / header).exists():
            found |= includes((root / header).read_text())
    return found


def missing(root, path, text):
    """Pairs of a name that the file has in its code, and its header that is not included."""
    found = included_by(root, path, text)
    code = NOISE.sub("", text)
    for name, header in HEADER_OF.items():
        if path == header or header in found:
            continue
        declared = re.search(rf"^(class|struct) {name};", code, re.M)
        if re.search(rf"\b{name}(?:_EQ)?\b", code) and not declared:
            yield name, header


def missing_standard(path, text):
    """The same for a header's names of the standard library, in its own includes."""
    if not path.endswith((".h", ".cuh")):
        return
    found = set(re.findall(r"^#include <([^>]+)>", text, re.M))
    code = NOISE.sub("", text)
    for header, names in STANDARD_HEADER_OF.items():
        used = re.search(r"\bstd::(%s)\b" % names.replace(" ", "|"), code)
        if used and header not in found:
            yield used.group(), header


def main():
    root = pathlib.Path(sys.argv[1]).resolve().parent
    files, found = 0, []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            files += 1
            name = str(path.relative_to(root))
            text = path.read_text()
            for check in missing(root, name, text), missing_standard(name, text):
                found += [(name, *what) for what in check]
    for path, name, header in found:
        print(f"{path} names {name} and does not include {header}")
    print(f"{files} files, {len(found)} that do not include what they name")
    if files < 500:
        sys.exit("too few files were found: is this the right folder?")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

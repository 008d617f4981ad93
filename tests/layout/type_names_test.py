#!/usr/bin/env python3
"""No two files define types of one qualified name: linked into one program, the linker would keep
the functions of one of them for both (the one definition rule). Headers of the whole checkout are
compared, and what a .cc or .cu file of the library and the command defines outside anonymous
namespaces."""

import collections
import pathlib
import re
import sys

FOLDERS = [
    "runtime",
    "sparse",
    "quant",
    "optim",
    "comm",
    "embedding",
    "metrics",
    "data",
    "sharding",
    "planner",
    "models",
    "train",
    "serve",
    "cli",
]
OTHER_HEADERS = ["tests", "bench", "examples"]
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\[\[|\]\]|[{}();<>=,:\[\]&*]")
TYPE_WORDS = {"struct", "class", "union", "enum"}


def head_name(head):
    """Of the tokens before a "{": ("namespace" | "type", name), or (None, None) for other
    blocks."""
    if "namespace" in head:
        return "namespace", "".join(head[head.index("namespace") + 1 :])
    while "template" in head:  # its parameters are in angle brackets
        begin = head.index("template")
        end, depth = begin + 1, 0
        while True:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
            if depth == 0:
                break
        head = head[:begin] + head[end:]
    while "[[" in head:
        head = head[: head.index("[[")] + head[head.index("]]") + 1 :]
    if head[1:3] == ["alignas", "("]:
        head = head[:1] + head[head.index(")") + 1 :]
    if (
        not head or head[0] not in TYPE_WORDS or "(" in head or "=" in head
    ):  # a function, or a variable's braces
        return None, None
    words = [word for word in head if word not in TYPE_WORDS]
    if ":" in words:
        words = words[: words.index(":")]
    words = [word for word in words if word != "final"]
    if not words or "<" in words:  # unnamed, or a specialization
        return None, None
    return "type", "".join(words)


def types_of(text):
    """The qualified names of the types that a file defines, outside anonymous namespaces and
    functions."""
    scopes, head, found = [], [], []
    for token in TOKEN.findall(NOISE.sub(" ", text)):
        if token == "{":
            kind, name = head_name(head)
            inside = all(scope is not None for scope in scopes)
            if kind == "namespace":
                scopes.append(name or None)  # an anonymous one hides what it holds
            elif kind == "type" and inside:
                found.append("::".join(scopes + [name]))
                scopes.append(name)
            else:
                scopes.append(None)
            head = []
        elif token == "}":
            if scopes:
                scopes.pop()
            head = []
        elif token == ";":
            head = []
        elif token == ":" and head in (["public"], ["private"], ["protected"]):
            head = []
        else:
            head.append(token)
    return found


def files(root):
    for folder in FOLDERS + OTHER_HEADERS:
        suffixes = {".h", ".cuh"} | ({".cc", ".cu"} if folder in FOLDERS else set())
        yield from (path for path in sorted((root / folder).rglob("*")) if path.suffix in suffixes)


def check_itself():
    text = """namespace a { namespace { struct Hidden {}; }
    template <typename T, int n = 3> struct [[nodiscard]] B final : C<T> {
    enum class D : int { kOne }; int f() { struct Local {}; return 0; } };
    template <> struct B<int, 1> {}; struct Declared; }
    namespace a::b { class C { public: struct D {}; }; } // struct Comment {}"""
    expected = ["a::B", "a::B::D", "a::b::C", "a::b::C::D"]
    found = types_of(text)
    if found != expected:
        sys.exit(f"types_of is wrong: expected {expected}, found {found}")


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1]).resolve().parent
    where = collections.defaultdict(set)
    for path in files(root):
        for name in types_of(path.read_text()):
            where[name].add(str(path.relative_to(root)))
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    for name, paths in sorted(twice.items()):
        print(
            f"{name} is defined in {' and in '.join(sorted(paths))}: give one of them another name"
        )
    print(f"{len(where)} types, {len(twice)} names used twice")
    if len(where) < 1000:
        sys.exit("too few types were found: is this the right folder?")
    sys.exit(1 if twice else 0)


if __name__ == "__main__":
    main()

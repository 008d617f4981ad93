#!/usr/bin/env python3
"""Turns Parquet files into a folder of rows that `tessera train` maps.

    python3 tools/parquet_to_rows.py --config own.json day_0.parquet day_1.parquet -o rows
    tessera train --config own.json --data rows

The data schema of the configuration says what becomes of each column, as for lines of JSON: its
"format" is "jsonl". A list column is a bag, a list of numbers of one "size" is a dense vector, null
and NaN are missing, a timestamp or date is its integer (of the unit in the file), bytes are UTF-8.
Rows are streamed, --batch-rows at a time, as lines of JSON to `tessera preprocess --config`, which
parses them and writes the folder; only columns that the configuration names are read. Options
behind -- go to that command (-- --shard-rows 100000).

Needs pyarrow, and the command `tessera` on the path or by --tessera. Tessera itself needs neither
this nor Python.
"""

import argparse
import decimal
import json
import math
import os
import re
import subprocess
import sys
import uuid

RANGE = re.compile(r"^(.*)\{(\d+)\.\.(\d+)\}([^{}]*)$")


def expand(name):
    """cat_{0..25} stands for 26 names."""
    found = RANGE.match(name)
    if not found:
        return [name]
    before, first, last, after = found.groups()
    return [f"{before}{i}{after}" for i in range(int(first), int(last) + 1)]


def columns_of(config):
    """Names of the columns that a configuration reads."""
    data = config.get("data", {})
    if data.get("format") != "jsonl":
        sys.exit('data.format: expected "jsonl", as rows of Parquet are read as lines of JSON are')
    names, listed = [], set()
    for key in ("dense", "features", "labels"):
        for entry in data.get(key, []):
            entry = {"name": entry} if isinstance(entry, str) else entry
            names += expand(entry.get("from", entry["name"]))
            names += [entry["weights"]] if "weights" in entry else []
            listed.update(expand(entry["name"]) if key == "features" else [])
    names += [data[key] for key in ("weight", "time") if key in data]
    tables = [name for table in config["tables"] for name in table["features"]]
    return set(names) | {name for key in tables for name in expand(key) if name not in listed}


def is_any(kind, names, pyarrow):
    """Whether a type is one of those; pyarrow before 17 does not have all of them."""
    tests = [getattr(pyarrow.types, f"is_{name}", None) for name in names]
    return any(test(kind) for test in tests if test)


LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
BYTES = ("binary", "large_binary", "fixed_size_binary", "binary_view")


def plain(field, pyarrow):
    """The type in which a column of a batch is handed to Python: dates and times as integers."""
    types = pyarrow.types
    if is_any(field, LISTS, pyarrow):
        return pyarrow.list_(plain(field.value_type, pyarrow))
    if types.is_date32(field) or types.is_time32(field):
        return pyarrow.int32()
    if types.is_temporal(field):
        return pyarrow.int64()
    if types.is_dictionary(field):
        return plain(field.value_type, pyarrow)
    if types.is_float16(field):
        return pyarrow.float32()
    if is_any(field, BYTES, pyarrow):
        return pyarrow.string()
    return field


def json_number(value):
    """A float, or a list of them, for JSON, which has no NaN and no infinity: null, which is
    missing, and a text, which the command refuses where it expects a number."""
    if isinstance(value, list):
        return [json_number(item) for item in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_text(value):
    """The text of a value that JSON has no form for. A decimal's is a number all the same."""
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    raise TypeError(f"values of Python's type {type(value).__name__}")


def values_of(column, pyarrow):
    """The values of a column of a batch, for JSON."""
    kind = plain(column.type, pyarrow)
    values = column.cast(kind).to_pylist()
    while pyarrow.types.is_list(kind):
        kind = kind.value_type
    return map(json_number, values) if pyarrow.types.is_floating(kind) else values


def open_files(paths, wanted):
    """Files and the names of their columns that are read; warns of columns that a file lacks, and
    ends with a sentence for one that lacks all."""
    import pyarrow
    import pyarrow.parquet

    for path in paths:
        try:
            file = pyarrow.parquet.ParquetFile(path)
        except (OSError, pyarrow.ArrowException) as error:
            sys.exit(f"{path}: cannot be read: {error}")
        columns = [name for name in file.schema_arrow.names if name in wanted]
        if not columns:
            sys.exit(f"{path}: it has none of the configuration's columns")
        twice = [name for name in columns if columns.count(name) > 1]
        if twice:
            sys.exit(f"{path}: it has {columns.count(twice[0])} columns of the name '{twice[0]}'")
        lacking = sorted(wanted - set(columns))
        if lacking:
            print(f"{path}: columns that are read as missing, as it has none of these names: "
                  f"{', '.join(lacking)}", file=sys.stderr)
        yield path, file, columns


def batches_of(path, file, columns, batch_rows):
    """Batches of one row group each: pyarrow joins no lists of categories of several."""
    import pyarrow

    try:
        for group in range(file.num_row_groups):
            yield from file.iter_batches(batch_rows, row_groups=[group], columns=columns)
    except (OSError, pyarrow.ArrowException) as error:
        sys.exit(f"{path}: cannot be read: {error}")


def write_rows(path, file, columns, batch_rows, out):
    import pyarrow

    for batch in batches_of(path, file, columns, batch_rows):
        lists = []
        for name, column in zip(batch.schema.names, batch.columns):
            try:
                lists.append(values_of(column, pyarrow))
            except pyarrow.ArrowException as error:
                sys.exit(f"{path}: column '{name}': cannot be read as numbers or text: {error}")
        for row in zip(*lists):
            cells = dict(zip(batch.schema.names, row))
            try:
                line = json.dumps(cells, ensure_ascii=False, allow_nan=False, default=json_text)
            except (TypeError, ValueError) as error:
                sys.exit(f"{path}: a row cannot be written as JSON: {error}")
            out.write(line + "\n")


def say_lines(files):
    """Says whose rows the lines are that the command has read, as its errors name them."""
    first = 1
    for path, file, _ in files:
        rows = file.metadata.num_rows
        if rows > 0:
            print(f"lines {first} to {first + rows - 1} are the rows of {path}", file=sys.stderr)
        first += rows


def parse(files, batch_rows, command):
    """Streams the rows into the command; ends with its exit code where it fails."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        for path, file, columns in files:
            write_rows(path, file, columns, batch_rows, process.stdin)
        process.stdin.close()
    except BrokenPipeError:  # it has said why it ended
        pass
    except BaseException:
        process.kill()  # before its input ends, which it would take for the last row
        process.wait()
        raise
    if process.wait() != 0:
        say_lines(files)
        sys.exit(process.returncode)


def main():
    own, given = sys.argv[1:], []
    if "--" in own:
        own, given = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE.parquet")
    parser.add_argument("--config", required=True, metavar="FILE", help="training configuration")
    parser.add_argument("-o", "--out", required=True, metavar="DIR", help="write to this folder")
    parser.add_argument("--batch-rows", type=int, default=8192, metavar="N", help="rows in memory")
    parser.add_argument("--tessera", default="tessera", metavar="PROGRAM", help="the command")
    args = parser.parse_args(own)
    if args.batch_rows < 1:
        sys.exit(f"--batch-rows: expected at least 1, got {args.batch_rows}")
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        sys.exit("Parquet is read by pyarrow, which is not installed: pip install pyarrow")
    if os.path.exists(args.out):
        sys.exit(f"{args.out}: it exists: name another folder")
    with open(args.config) as file:
        wanted = columns_of(json.load(file))
    files = list(open_files(args.files, wanted))
    unfinished = args.out.rstrip("/") + ".unfinished"
    command = [args.tessera, "preprocess", "--config", args.config, "-", "-o", unfinished]
    parse(files, args.batch_rows, [*command, "--overwrite", *given])
    os.rename(unfinished, args.out)  # the commit: who is killed before it leaves no such folder


if __name__ == "__main__":
    main()

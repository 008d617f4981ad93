#!/usr/bin/env python3
"""Turns a checkpoint folder of torch.distributed.checkpoint into one safetensors file of weights.

    python3 tools/dcp_to_safetensors.py FOLDER model.safetensors [--prefix model.] [--list]
    tessera inspect model.safetensors
    tessera train --resume model.safetensors --config config.json ...

FOLDER is what torch.distributed.checkpoint.save wrote (".metadata" and "*.distcp"), of any number
of ranks and any sharding: sharded tables come out whole. One tensor at a time is in memory.

Names stay TorchRec's, as `tessera` knows them
("sparse_arch.embedding_bag_collection.embedding_bags. t_cat_0.weight",
"dense_arch.model._mlp.0._linear.weight", ...). What stands before them in the folder, such as the
"model." of {"model": model.state_dict()} or the "module." of a wrapper, is told by --prefix and
dropped; without --prefix it is found, as what stands before "sparse_arch." everywhere. Other
entries (optimizers, counters, objects that are no tensors) are left out, and counted: optimizer
state starts afresh.

Needs torch 2.3 or later, on a CPU, and nothing else. Tessera itself needs neither this nor Python.
"""

import argparse
import json
import sys
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
KNOWN_PART = "sparse_arch."


def find_prefix(names):
    """What stands before "sparse_arch." in all names that have it, the shortest where they
    differ."""
    prefixes = {name[: name.index(KNOWN_PART)] for name in names if KNOWN_PART in name}
    prefixes = {p for p in prefixes if "optim" not in p}
    if not prefixes:
        sys.exit(
            f"no name has '{KNOWN_PART}': say with --prefix what stands before the model's names "
            "('' for nothing); --list shows them"
        )
    return min(prefixes, key=len)


def weights_of(entries, prefix):
    """{name in the file: name in the folder} of the model's tensors."""
    found = {}
    for name, entry in entries.items():
        if not isinstance(entry, TensorStorageMetadata) or not name.startswith(prefix):
            continue
        short = name[len(prefix) :]
        if short.split(".")[0] in ("optim", "optimizer", "optimizers"):
            continue
        found[short] = name
    return dict(sorted(found.items()))


def header_of(weights, entries):
    """The safetensors header, padded so that the elements begin at a multiple of 64."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, source in weights.items():
        entry = entries[source]
        dtype, shape = entry.properties.dtype, list(entry.size)
        if dtype not in DTYPES:
            sys.exit(f"{source}: elements of {dtype} have no name in safetensors")
        count = 1
        for extent in shape:
            count *= extent
        end = at + count * torch.empty(0, dtype=dtype).element_size()
        header[name] = {"dtype": DTYPES[dtype], "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    return len(text).to_bytes(8, "little") + text


def read_tensor(folder, source, entry):
    """One tensor of the folder, whole."""
    tensor = torch.empty(entry.size, dtype=entry.properties.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs in one process
        dcp.load({source: tensor}, storage_reader=dcp.FileSystemReader(folder), no_dist=True)
    return tensor


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="what torch.distributed.checkpoint.save wrote")
    parser.add_argument("output", nargs="?", help="the safetensors file to write")
    parser.add_argument("--prefix", help="what stands before the model's names in the folder")
    parser.add_argument("--list", action="store_true", help="print the folder's names and stop")
    args = parser.parse_args()

    entries = dcp.FileSystemReader(args.folder).read_metadata().state_dict_metadata
    if args.list:
        for name, entry in sorted(entries.items()):
            tensor = isinstance(entry, TensorStorageMetadata)
            print(name, f"{list(entry.size)} {entry.properties.dtype}" if tensor else "(no tensor)")
        return
    if args.output is None:
        parser.error("say where to write")
    prefix = find_prefix(entries) if args.prefix is None else args.prefix
    weights = weights_of(entries, prefix)
    if not weights:
        sys.exit(f"no tensor's name begins with '{prefix}'; --list shows the names")
    with open(args.output, "wb") as out:
        out.write(header_of(weights, entries))
        for source in weights.values():
            tensor = read_tensor(args.folder, source, entries[source])
            out.write(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    print(
        f"{len(weights)} tensors of '{prefix}*' in {args.output}; "
        f"left out {len(entries) - len(weights)} other entries"
    )


if __name__ == "__main__":
    main()

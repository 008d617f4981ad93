"""Writes the file that torch.save((indices, offsets, lengths), FILE) would: a zip archive, stored,
of a pickle of protocol 2, whose storages are persistent ids, and of the storages' numbers."""
import collections
import io
import pickle
import struct
import sys
import types
import zipfile


def module(name):
    made = types.ModuleType(name)
    sys.modules[name] = made
    return made


torch, utils = module("torch"), module("torch._utils")
torch.LongStorage = type("LongStorage", (), {"__module__": "torch", "__qualname__": "LongStorage"})


def _rebuild_tensor_v2(*arguments):
    return arguments


_rebuild_tensor_v2.__module__, utils._rebuild_tensor_v2 = "torch._utils", _rebuild_tensor_v2


class Storage:
    def __init__(self, key, numbers):
        self.key, self.numbers = key, numbers


class Tensor:
    def __init__(self, storage, shape):
        self.storage, self.shape = storage, shape

    def __reduce__(self):
        strides = (self.shape[1], 1) if len(self.shape) == 2 else (1,)
        return _rebuild_tensor_v2, (self.storage, 0, self.shape, strides, False,
                                    collections.OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return "storage", torch.LongStorage, value.key, "cpu", len(value.numbers)
        return None


storages = [Storage("0", [4, 5, 6, 7, 1 << 40]), Storage("1", [0, 2, 2, 3, 5]),
            Storage("2", [2, 0, 1, 2])]
stream = io.BytesIO()
Pickler(stream, protocol=2).dump((Tensor(storages[0], (5,)), Tensor(storages[1], (5,)),
                                  Tensor(storages[2], (2, 2))))
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_STORED) as archive:
    archive.writestr("requests/data.pkl", stream.getvalue())
    archive.writestr("requests/byteorder", "little")
    for storage in storages:
        archive.writestr(f"requests/data/{storage.key}",
                         struct.pack(f"<{len(storage.numbers)}q", *storage.numbers))
    archive.writestr("requests/version", "3\n")

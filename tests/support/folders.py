"""Readers of the folders that `weir materialize` writes, by the formats' own descriptions and nothing of Weir's: rows as
{column: value}, where a value is a number, or a NumPy array. Needs NumPy."""

import json
import struct
from pathlib import Path

import numpy as np


def read_npy(folder):
    arrays = {path.name.removesuffix(".npy"): np.load(path, allow_pickle=False) for path in Path(folder).glob("*.npy")}
    ragged = {name.removesuffix(".offsets") for name in arrays if name.endswith(".offsets")}
    rows = [{} for _ in arrays["id"]]
    for name, array in arrays.items():
        base = name.split(".")[0]
        if base not in ragged:
            for row, value in zip(rows, array, strict=True):
                row[name] = value
        elif name.endswith(".values"):
            offsets = arrays[f"{base}.offsets"]
            assert offsets[0] == 0 and offsets[-1] == len(array) and len(offsets) == len(rows) + 1
            for i, row in enumerate(rows):
                row[base] = array[offsets[i]:offsets[i + 1]]
    return rows


def decode_mds(encoding, data):
    """streaming/base/format/mds/encodings.py of MosaicML's streaming."""
    kind, *details = encoding.split(":")
    if kind != "ndarray":
        return np.frombuffer(data, kind)[0]
    if len(details) == 2:
        return np.frombuffer(data, details[0]).reshape([int(size) for size in details[1].split(",")])
    count, wide = data[0] >> 2, f"uint{8 << (data[0] & 3)}"
    end = 1 + count * np.dtype(wide).itemsize
    return np.frombuffer(data[end:], details[0]).reshape(np.frombuffer(data[1:end], wide))


def read_mds_shard(data, about):
    """streaming/base/format/mds/reader.py and writer.py."""
    (count,) = struct.unpack_from("<I", data)
    assert count == about["samples"] and len(data) == about["raw_data"]["bytes"]
    offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
    own = json.loads(data[4 + 4 * (count + 1):offsets[0]])
    assert all(own[key] == about[key] for key in ("column_names", "column_encodings", "column_sizes", "version")), own
    for begin, end in zip(offsets, offsets[1:]):
        sizes, at, row = list(about["column_sizes"]), begin, {}
        for i, size in enumerate(sizes):
            if size is None:
                (sizes[i],), at = struct.unpack_from("<I", data, at), at + 4
        for name, encoding, size in zip(about["column_names"], about["column_encodings"], sizes):
            row[name], at = decode_mds(encoding, data[at:at + size]), at + size
        assert at == end, (at, end)
        yield row


def read_mds(folder):
    index = json.loads((Path(folder) / "index.json").read_text())
    assert index["version"] == 2
    return [row for about in index["shards"]
            for row in read_mds_shard((Path(folder) / about["raw_data"]["basename"]).read_bytes(), about)]


READERS = {"npy": read_npy, "mds": read_mds}

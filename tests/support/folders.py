"""Readers of the folders that `weir materialize` writes, by the formats' own descriptions and nothing of Weir's: rows as
{column: value}, where a value is a number, or a NumPy array. Needs NumPy."""

import io
import json
import struct
import tarfile
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


def read_tar(folder):
    """https://github.com/webdataset/webdataset: members that share their name up to the first dot are a sample."""
    rows = {}
    for path in sorted(Path(folder).glob("*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                key, part = member.name.split(".", 1)
                data = archive.extractfile(member).read()
                row = rows.setdefault(key, {"id": int(key)})
                if part == "cls":
                    row["label"] = int(data)
                else:
                    row[part.removesuffix(".npy")] = np.load(io.BytesIO(data), allow_pickle=False)
    return list(rows.values())


def crc32c(data):
    """RFC 3720, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    """tensorflow/core/lib/hash/crc32c.h"""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Protobuf fields of texts and messages: (number, bytes)."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        size, at = varint(data, at)
        assert tag & 7 == 2 and at + size <= len(data), (tag, size)
        yield tag >> 3, data[at:at + size]
        at += size


def feature(data):
    """tensorflow/core/example/feature.proto: bytes_list 1, float_list 2, int64_list 3, the last two packed."""
    ((kind, values),) = fields(data)
    ((number, packed),) = fields(values)
    assert number == 1
    if kind == 3:
        numbers, at = [], 0
        while at < len(packed):
            value, at = varint(packed, at)
            numbers.append(value - (1 << 64) if value >> 63 else value)
        return np.array(numbers, np.int64)
    return np.frombuffer(packed, np.float32 if kind == 2 else np.uint8)


def read_tfrecord(folder):
    rows = []
    for path in sorted(Path(folder).glob("*.tfrecord")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            size, check = struct.unpack_from("<QI", data, at)
            assert check == masked(data[at:at + 8])
            record, at = data[at + 12:at + 12 + size], at + 16 + size
            assert struct.unpack_from("<I", data, at - 4)[0] == masked(record)
            ((_, features),) = fields(record)
            entries = [dict(fields(entry)) for _, entry in fields(features)]
            row = {entry[1].decode(): feature(entry[2]) for entry in entries}
            rows.append(row | {name: row[name][0] for name in ("id", "label", "weight")})
    return rows


READERS = {"npy": read_npy, "mds": read_mds, "tar": read_tar, "tfrecord": read_tfrecord}

"""Four kinds of good data with a pipeline for each, changes of both, and what `weir config check --data` says of them: in a folder,
compressed, in a bucket."""

import contextlib
import functools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from s3_server import BUCKET, KEY_ID, REGION, SECRET, Store  # noqa: E402
from weirlab import binaries  # noqa: E402

HEAD = "pipeline: {name: p, mode: replay}\n"
REST = """\
trigger: {policy: amount, samples: 100}
selection: {policy: new_data}
"""
TABLE = HEAD + """\
datasets:
  - name: d
    source: {path: FOLDER, format: csv, include: "*.csv", on_erase: scrub}
    time: {from: field, field: ts}
    label: {field: label, classes: [good, bad]}
    subject: {field: user}
""" + REST + """\
preprocess:
  operators:
    - {op: csv_fields, fields: [x, y], as: numbers}
    - {op: standardize, on: numbers}
    - {op: csv_words, fields: [kind], as: kind}
    - {op: vocab, on: kind, as: kinds}
  batch: {samples: 32}
training: {model: fm, loss: logistic}
evaluation:
  - {name: e, on: new, strategy: slicing, models: matrix, every: 1 month, metrics: [accuracy]}
"""
LINES = HEAD + """\
datasets:
  - name: d
    source: {path: FOLDER, format: jsonl, include: "*.jsonl"}
    time: {from: field, field: ts}
    label: {field: mark.name, classes: stream}
    key: {field: id}
""" + REST + """\
preprocess:
  operators:
    - {op: json_text, field: text}
    - {op: normalize_text}
    - {op: tokenize_words}
    - {op: vocab}
  batch: {samples: 32}
training: {model: text_bag, loss: softmax}
evaluation:
  - {name: e, on: new, strategy: slicing, models: matrix, every: 1 month, metrics: [accuracy]}
"""
PICTURES = HEAD + """\
datasets:
  - name: d
    source: {path: FOLDER, format: files, include: "*.png"}
    time: {from: mtime}
    label: {from: folder, classes: [cat, dog]}
""" + REST + """\
preprocess:
  operators:
    - {op: decode_png}
    - {op: resize, size: [8, 8]}
    - {op: normalize, mean: [0, 0, 0], std: [1, 1, 1]}
  batch: {samples: 8}
training: {model: linear, loss: logistic}
evaluation:
  - {name: e, on: new, strategy: slicing, models: matrix, every: 1 month, metrics: [roc_auc]}
"""
FILES = HEAD + """\
datasets:
  - name: d
    source: {path: FOLDER, format: files, include: "*.txt", manifest: labels.csv}
    time: {from: manifest}
    label: {from: manifest, type: float}
""" + REST + """\
preprocess:
  operators:
    - {op: tokenize_words}
    - {op: tokenize_hash, buckets: 1000}
  batch: {samples: 8}
training: {model: {name: text_bag, buckets: 1000}, loss: squared}
evaluation:
  - {name: e, on: new, strategy: slicing, models: matrix, every: 1 month, metrics: [mse]}
"""

# ---- data that is good ----


def table():
    rows = [f"2020-01-{i % 28 + 1:02d},u{i % 7},{i}.5,{100 - i},k{i % 5},{('good', 'bad')[i % 2]}" for i in range(200)]
    return {"a.csv": "ts,user,x,y,kind,label\n" + "\n".join(rows) + "\n"}


def lines():
    rows = [{"ts": 1600000000 + i, "id": i, "text": f"word{i % 9} and more", "mark": {"name": "abc"[i % 3]}} for i in range(200)]
    return {"a.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def png(height, width, channels=3):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = b"".join(b"\0" + bytes((x * y + x) % 256 for x in range(width * channels)) for y in range(height))
    about = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", about) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def pictures():
    return {f"{('cat', 'dog')[i % 2]}/{i:02d}.png": png(10 + i, 12) for i in range(20)}


def files():
    rows = "".join(f"{i:02d}.txt,2020-01-01T00:00:{i:02d}Z,{i}.25\n" for i in range(20))
    return {f"{i:02d}.txt": f"some words {i}" for i in range(20)} | {"labels.csv": "path,time,label\n" + rows}


KINDS = {"table": (TABLE, table), "lines": (LINES, lines), "pictures": (PICTURES, pictures), "files": (FILES, files)}


def put(folder, data):
    for path, content in data.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())


def zstd(content):
    """A frame of blocks that are not compressed (RFC 8878, 3.1.1); its size is not announced."""
    content = content if isinstance(content, bytes) else content.encode()
    pieces = [content[i:i + 2**16] for i in range(0, len(content), 2**16)] or [b""]
    blocks = ((len(piece) << 3 | (i == len(pieces) - 1)).to_bytes(3, "little") + piece for i, piece in enumerate(pieces))
    return b"\x28\xb5\x2f\xfd\0\x70" + b"".join(blocks)


@contextlib.contextmanager
def in_folder(folder, text, data):
    with tempfile.TemporaryDirectory(dir=folder) as name:
        put(Path(name), data)
        yield text.replace("FOLDER", name), name


@contextlib.contextmanager
def compressed(folder, text, data):
    """The same file names, and .zst."""
    text = re.sub(r'include: "([^"]*)"', r'include: "\1.zst", import: copy', text)
    with in_folder(folder, text, {name + ".zst": zstd(content) for name, content in data.items()}) as found:
        yield found


@functools.cache
def store():
    os.environ.update(AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET)
    return Store(page=1000)


@contextlib.contextmanager
def in_bucket(folder, text, data):
    store().history.clear()
    for name, content in data.items():
        store().put("day/" + name, content)
    bucket = f's3: {{endpoint: "{store().endpoint}", bucket: {BUCKET}, prefix: day/, region: {REGION}}}'
    yield text.replace("path: FOLDER", bucket), f"s3://{BUCKET}/day"


@contextlib.contextmanager
def compressed_in_bucket(folder, text, data):
    text = re.sub(r'include: "([^"]*)"', r'include: "\1.zst", import: copy', text)
    with in_bucket(folder, text, {name + ".zst": zstd(content) for name, content in data.items()}) as found:
        yield found


def check(folder, kind, file_changes, data_changes, *options, place=in_folder):
    """Returns the answer for a pipeline and its data, each changed."""
    text, make = KINDS[kind]
    data = make()
    for change in data_changes:
        change(data)
    for old, new in file_changes:
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    pipeline = folder / "p.yaml"
    with place(folder, text, data) as (text, name):
        pipeline.write_text(text)
        done = subprocess.run([binaries() / "weir", "config", "check", pipeline, "--data", "--json", *options], capture_output=True, text=True)
    assert done.returncode in (0, 2), done
    answer = json.loads(done.stdout)
    assert answer["valid"] == (done.returncode == 0)
    answer["lines"] = [line.replace(name, "DATA") for line in answer["complaints"]]
    return answer


# ---- changes of data ----


def swap(path, old, new, count=-1):
    def change(data):
        assert old in data[path], (old, data[path][:100])
        data[path] = data[path].replace(old, new, count)
    return change


def add(path, content):
    def change(data):
        data[path] = content
    return change


def each(path, function):
    """Changes all records of a file of JSON lines."""
    def change(data):
        data[path] = "".join(json.dumps(function(json.loads(line))) + "\n" for line in data[path].splitlines())
    return change


def without(*names):
    return lambda row: {name: value for name, value in row.items() if name not in names}


def keep(path):
    def change(data):
        for other in set(data) - {path}:
            del data[other]
    return change

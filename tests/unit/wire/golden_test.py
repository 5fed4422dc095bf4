#!/usr/bin/env python3
"""Decodes every golden message without Weir's code and compares it with what Weir says it holds.

golden_test.py WIRE_GOLDEN_TEST FOLDER; exit 77 (skipped) where python3-msgpack is not installed.
"""
import json
import pathlib
import struct
import subprocess
import sys

try:
    import msgpack
except ImportError:
    print("golden_test.py: skipped: no module msgpack (apt-get install python3-msgpack)")
    sys.exit(77)

ELEMENTS = {"u64s": "<%dQ", "i64s": "<%dq", "u32s": "<%dI"}


def value_of(kind, raw):
    """What a field of this kind says, in the words of the JSON."""
    if kind in ELEMENTS:
        letter = ELEMENTS[kind]
        return list(struct.unpack(letter % (len(raw) // struct.calcsize(letter % 1)), raw))
    return raw.hex() if kind == "bin" else raw


def objections(name, fields, encoded):
    decoded = msgpack.unpackb(encoded, raw=False)
    if not isinstance(decoded, list) or len(decoded) != len(fields):
        yield f"{name}: expected an array of {len(fields)}, found {decoded!r:.80}"
        return
    for field, raw in zip(fields, decoded):
        found = value_of(field["kind"], raw)
        if type(found) is not type(field["value"]) or found != field["value"]:
            yield f"{name}.{field['name']}: expected {field['value']!r:.80}, found {found!r:.80}"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    messages = json.loads(subprocess.run([program, "--json"], check=True, capture_output=True).stdout)
    found = []
    for name, fields in messages.items():
        found += objections(name, fields, (folder / f"{name}.msgpack").read_bytes())
    print("\n".join(found), end="\n" if found else "")
    print(f"golden_test.py: {len(messages)} messages, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

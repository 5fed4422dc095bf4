#!/usr/bin/env python3
"""Writes one Mosaic shard (MDS, version 2) by the layout that Mosaic documents, byte by byte:
mds_shard.py FILE FIRST COUNT. Sample n is Anna's if n % 3 == 1, else Bob's."""
import json
import struct
import sys

COLUMNS = {'at': ('int64', 8), 'text': ('str', None), 'who': ('str', None)}


def sample(n):
    who = 'anna@example.org' if n % 3 == 1 else 'bob@example.org'
    values = [struct.pack('<q', 100 + n), ('sample %d saw %d herons' % (n, 1000 + n)).encode(),
              who.encode()]
    sizes = [len(v) for v, (_, fixed) in zip(values, COLUMNS.values()) if fixed is None]
    return struct.pack('<%dI' % len(sizes), *sizes) + b''.join(values)


def shard(first, count):
    config = json.dumps({
        'version': 2, 'format': 'mds', 'compression': 'zstd', 'hashes': [], 'size_limit': 1 << 26,
        'column_names': list(COLUMNS), 'column_encodings': [e for e, _ in COLUMNS.values()],
        'column_sizes': [size for _, size in COLUMNS.values()]}, sort_keys=True).encode()
    samples = [sample(n) for n in range(first, first + count)]
    offsets = [4 + 4 * (count + 1) + len(config)]
    for each in samples:
        offsets.append(offsets[-1] + len(each))
    return struct.pack('<I', count) + struct.pack('<%dI' % (count + 1), *offsets) + config + \
        b''.join(samples)


if __name__ == '__main__':
    with open(sys.argv[1], 'wb') as out:
        out.write(shard(int(sys.argv[2]), int(sys.argv[3])))

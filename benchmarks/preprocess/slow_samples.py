#!/usr/bin/python3
"""A program for `op: exec` that only takes its time: `slow_samples.py uneven` for one sample in twenty 20 times as long as
for the others, `slow_samples.py even` for all alike, as long in all. Waiting takes no core, so that nothing but the order in
which batches are made and taken decides how long a job takes.
"""
import struct
import sys
import time

UNIT_S, SLOW, SLOW_EVERY = 0.0005, 20, 20
MEAN = (SLOW_EVERY - 1 + SLOW) / SLOW_EVERY
BATCH, MADE = 0x0319, 0x031A
MIXER = 0x9E3779B97F4A7C15  # spreads neighbouring ids


def units_of(sample):
    if sys.argv[1] == "even":
        return MEAN
    return SLOW if (sample * MIXER % 2**64 >> 32) % SLOW_EVERY == 0 else 1


def questions(pipe):
    """The ids of each batch; its sizes are the last three numbers of the header."""
    while head := pipe.read(16):
        number, header, payload = struct.unpack("<IIQ", head)
        assert number == BATCH
        rows = struct.unpack("<3Q", pipe.read(header)[-24:])[0] // 8
        yield struct.unpack_from(f"<{rows}Q", pipe.read(payload))


def answer(pipe, rows):
    """One f32 for each row; the header is a msgpack array: rows, no states, no reasons, the two sizes."""
    values = struct.pack(f"<{rows}f", *[1.0] * rows)
    header = b"\x94\xcf" + struct.pack(">Q", rows) + b"\xc4\x00" + b"\x90" + b"\xc4\x10" + struct.pack("<2Q", 0, len(values))
    pipe.write(struct.pack("<IIQ", MADE, len(header), len(values)) + header + values)
    pipe.flush()


for ids in questions(sys.stdin.buffer):
    time.sleep(UNIT_S * sum(map(units_of, ids)))
    answer(sys.stdout.buffer, len(ids))

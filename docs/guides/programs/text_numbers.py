#!/usr/bin/python3
"""A program for `op: exec`: of each text, how many characters, words and digits it has, as three f32.

Reads requests from standard input and answers on standard output until there are no more: see ../run-a-program.md.
"""
import struct
import sys
from array import array

import msgpack

BATCH, MADE = 0x0319, 0x031A
FIELDS = "rows seed epoch trains name kind type width sizes".split()
OK, FAILED = 0, 1


def requests(pipe):
    while head := pipe.read(16):
        number, header, payload = struct.unpack("<IIQ", head)
        assert number == BATCH
        request = dict(zip(FIELDS, msgpack.unpackb(pipe.read(header))))
        ids, offsets, values = (pipe.read(size) for size in array("Q", request["sizes"]))
        yield request, array("Q", ids), array("I", offsets), values


def answer(pipe, states, reasons, offsets, values):
    sizes = array("Q", [len(offsets), len(values)]).tobytes()
    header = msgpack.packb([len(states), states.tobytes(), reasons, sizes])
    pipe.write(struct.pack("<IIQ", MADE, len(header), len(offsets) + len(values)))
    pipe.write(header + offsets + values)
    pipe.flush()


def main():
    for request, ids, offsets, values in requests(sys.stdin.buffer):
        states, reasons, numbers = array("I"), [], array("f")
        for first, end in zip(offsets, offsets[1:]):
            text = values[first:end].decode("utf-8", "replace")
            states.append(OK if text else FAILED)
            reasons += [] if text else ["it is empty"]
            numbers.extend([len(text), len(text.split()), sum(map(str.isdigit, text))])
        answer(sys.stdout.buffer, states, reasons, b"", numbers.tobytes())


main()

"""toil.py KIND AMOUNT: a program for `op: exec` that passes texts on and takes something for it. Of each batch `sleep` takes seconds,
`burn` seconds of a processor; `inflate` repeats each text, `shrink` keeps half of it and drops that part of the rows."""
import struct
import sys
import time
from array import array

import msgpack

BATCH, MADE = 0x0319, 0x031A
OK, UNWANTED = 0, 2
KIND, AMOUNT = sys.argv[1], float(sys.argv[2])
PRIME = 2654435761  # Knuth's: spreads numbers that follow each other


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def made_of(number, text):
    """Returns the state of a row and what is made of it."""
    if KIND == "inflate":
        return OK, text * int(AMOUNT)
    if KIND == "shrink":
        return (UNWANTED, b"") if number * PRIME % 1000 < AMOUNT * 1000 else (OK, text[: len(text) // 2])
    return OK, text


def answer(pipe, states, texts):
    offsets = array("I", [0])
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    sizes = array("Q", [4 * len(offsets), offsets[-1]]).tobytes()
    header = msgpack.packb([len(states), array("I", states).tobytes(), [], sizes])
    pipe.write(struct.pack("<IIQ", MADE, len(header), 4 * len(offsets) + offsets[-1]))
    pipe.write(header + offsets.tobytes() + b"".join(texts))
    pipe.flush()


def main():
    pipe = sys.stdin.buffer
    while head := pipe.read(16):
        number, header, _ = struct.unpack("<IIQ", head)
        assert number == BATCH
        request = msgpack.unpackb(pipe.read(header))
        ids, offsets, values = (pipe.read(size) for size in array("Q", request[-1]))
        ids, offsets = array("Q", ids), array("I", offsets)
        {"sleep": time.sleep, "burn": burn}.get(KIND, id)(AMOUNT)
        made = [made_of(number, values[first:end]) for number, first, end in zip(ids, offsets, offsets[1:])]
        answer(sys.stdout.buffer, [state for state, _ in made], [text for _, text in made])


main()

#!/usr/bin/python3
"""The program of exec_test.c. It makes of each row its length and first byte; as `text`, upper case; as `ragged`, its bytes
backwards, one number each. A row that begins with "!" says how to misbehave.

Written without any library, which also shows that the frames can be.
"""
import os
import signal
import struct
import sys
import time


def header_of(rows, states, reasons, sizes):
    """A msgpack array of what exec_made has."""
    def bytes_(data):
        return b"\xc6" + struct.pack(">I", len(data)) + data
    texts = b"".join(b"\xd9" + bytes([len(r)]) + r for r in reasons)
    return (b"\x94\xcf" + struct.pack(">Q", rows) + bytes_(struct.pack(f"<{len(states)}I", *states))
            + b"\xdc" + struct.pack(">H", len(reasons)) + texts + bytes_(struct.pack("<2Q", *sizes)))


def daemon(path):
    """Leaves a process in a session of its own, whose number it writes to a file."""
    if os.fork() > 0:
        return os.wait()
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(1000)


def misbehave(row):
    if row == b"!die":
        os._exit(3)
    if row == b"!complain":
        sys.stderr.write("  File x, line 3\n    what(word)\nKeyError: 'wo\x1brd'\n \n")
        sys.stderr.flush()
        os._exit(1)
    if row == b"!kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if row == b"!nonsense":
        sys.stdout.buffer.write(b"hello, this is no frame\n")
        sys.stdout.buffer.flush()
    if row in (b"!hang", b"!nonsense"):
        time.sleep(1000)
    if row in (b"!half", b"!fork"):
        sys.stdout.buffer.write(struct.pack("<IIQ", 0x031A, 100, 100) + bytes(90))
        sys.stdout.buffer.flush()
        if row == b"!fork" and os.fork() == 0:  # a child that holds the pipes
            time.sleep(1000)
        os._exit(4)
    if row == b"flood":
        sys.stderr.write("so many words\n" * (1 << 18))
    if row.startswith(b"!daemon "):
        daemon(row.split(b" ", 1)[1])
    if row == b"!memory":
        bytearray(1 << 40)


def read_exactly(size):
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)
    return data


def main():
    while True:
        _, header_size, payload_size = struct.unpack("<IIQ", read_exactly(16))
        header, payload = read_exactly(header_size), read_exactly(payload_size)
        count = struct.unpack_from("<3Q", header, len(header) - 24)[0] // 8
        offsets = struct.unpack_from(f"<{count + 1}I", payload, 8 * count)
        values = payload[8 * count + 4 * (count + 1) :]
        rows = [values[a:b] for a, b in zip(offsets, offsets[1:])]
        for row in rows:
            misbehave(row)
        answer(rows)


def answer(rows):
    mode = sys.argv[1] if len(sys.argv) > 1 else "dense"
    states = [int(row == b"!fail") for row in rows]
    reasons = [b"as it was told\n" for row in rows if row == b"!fail"]
    offsets = values = b""
    if mode == "text":
        values = b"".join(rows).upper()
    elif mode == "ragged":
        values = b"".join(struct.pack(f"<{len(row)}i", *reversed(row)) for row in rows)
    else:
        values = b"".join(struct.pack("<2f", len(row), (row or b"\0")[0]) for row in rows)
    if mode != "dense":
        ends = [0]
        for row in rows:
            ends.append(ends[-1] + len(row))
        offsets = struct.pack(f"<{len(ends)}I", *ends)
    if b"!fewer" in rows:
        values = values[:-1]
    header = header_of(len(rows), states, reasons, [len(offsets), len(values)])
    sys.stdout.buffer.write(struct.pack("<IIQ", 0x031A, len(header), len(offsets) + len(values)))
    sys.stdout.buffer.write(header + offsets + values)
    sys.stdout.buffer.flush()


main()

"""Two thousand strangers at once: half of them at the TCP port of a worker's batches, half at storage's local socket. Some say
nothing, some rubbish, some half of what would be right, and some announce far more than they send. Memory stays bounded, no
descriptor is missed, storage goes on answering, and the training is that of an undisturbed run."""

import json
import os
import random
import resource
import select
import socket
import struct
import threading

from strangers_test import READY_NULL, SYSTEM, command, frame, greeting, poll, ports, trainer_stopped
from weirlab import Lab, Run, assert_clean_audits, outcome, peak_bytes

EACH = 1000
WORKERS = ("worker-1", "worker-2")
MORE_MEMORY_MAX = 96 << 20  # than undisturbed: what two thousand connections cost, with the buffers of each
FRAME_MAX = 64 << 20


def announced(size, sent):
    return b"\x02" + struct.pack(">Q", size) + bytes(sent)


def unfinished(size):
    """A first frame but for its last byte."""
    return greeting(b"CURVE") + b"\x06" + struct.pack(">Q", size) + bytes(size - 1)


AT_STORAGE = (
    b"", greeting(b"NULL")[:40], random.randbytes(3000), greeting(b"NULL") + READY_NULL,
    greeting(b"NULL") + READY_NULL + announced(FRAME_MAX, 1000), greeting(b"NULL") + READY_NULL + announced(1 << 40, 1000),
    greeting(b"NULL") + READY_NULL + frame(bytes(1 << 14), 1) * 2, greeting(b"CURVE") + command(b"HELLO", bytes(194)))
AT_WORKERS = (
    b"", b"", b"", greeting(b"CURVE")[:40], greeting(b"CURVE"), unfinished(16 << 10), unfinished(32 << 10), unfinished(1 << 20),
    unfinished(1 << 20), random.randbytes(3000), greeting(b"NULL") + READY_NULL + frame(b"WEIR", 1),
    greeting(b"CURVE") + b"\x06" + struct.pack(">Q", 1 << 30) + bytes(1000), greeting(b"CURVE") + command(b"HELLO", bytes(10)))


class Crowd:
    """Strangers who come back as often as they are turned away."""

    def __init__(self, connect, sayings):
        self.connect, self.sayings = connect, sayings
        self.held, self.came, self.most, self.over = {}, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self._come, daemon=True)
        self.thread.start()

    def _enter(self):
        saying = self.sayings[self.came % len(self.sayings)]
        self.came += 1
        try:
            stranger = self.connect()
            stranger.setblocking(False)
            self.held[stranger.fileno()] = [stranger, saying]
        except OSError:
            pass  # its queue is full, or it is not there yet

    def _serve(self, number):
        stranger, left = self.held[number]
        try:
            if left:
                self.held[number][1] = left[stranger.send(left):]
            elif not stranger.recv(1 << 16):
                raise OSError
        except BlockingIOError:
            pass
        except OSError:
            stranger.close()
            del self.held[number]

    def _come(self):
        while not self.over.wait(0.05):
            for _ in range(min(100, EACH - len(self.held))):
                self._enter()
            for number in random.sample(sorted(self.held), len(self.held) // 250):
                self.held.pop(number)[0].close()
            poll = select.poll()
            for number, (_, left) in self.held.items():
                poll.register(number, select.POLLIN | (select.POLLOUT if left else 0))
            for number, _ in poll.poll(10):
                self._serve(number)
            self.most = max(self.most, len(self.held))

    def end(self):
        self.over.set()
        self.thread.join()
        for stranger, _ in self.held.values():
            stranger.close()


def disturbed(run):
    """Those that strangers come to, by name; found before these come, among whom it takes long."""
    return {name: pid for name in ("storage", *WORKERS) for pid in run.victims(name)}


def peaks(pids):
    """The most memory that each has had so far."""
    return {name: peak_bytes(pid) for name, pid in pids.items()}


def descriptors(pids):
    return max(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids.values())


def undisturbed(lab, system):
    run = Run(lab.pipeline, lab.folder / "undisturbed", system)
    assert run.wait_until(lambda: len(run.of("training_finished")) >= 1), run.stderr
    peak = peaks(disturbed(run))
    return outcome(run.finish().events), peak


def local(run):
    place = (run.data_dir / "lock").read_text().split("\n")[1] + "/storage.sock"

    def connect():
        stranger = socket.socket(socket.AF_UNIX)
        stranger.setblocking(False)
        try:
            stranger.connect(place)
        except OSError:
            stranger.close()
            raise
        return stranger
    return connect


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    lab = Lab(samples=1000, every=250, epochs=5)
    system = lab.folder / "system.yaml"
    system.write_text(SYSTEM)
    expected, before = undisturbed(lab, system)
    run = Run(lab.pipeline, lab.data_dir, system)
    assert run.wait_until(lambda: run.of("trigger_fired"))
    port = ports(run)["worker-1"]
    with trainer_stopped(run):  # all is trained among them
        pids = disturbed(run)
        crowds = [Crowd(local(run), AT_STORAGE), Crowd(lambda: socket.create_connection(("127.0.0.1", port), 1), AT_WORKERS)]
        poll(run, lambda: all(crowd.most > EACH / 2 for crowd in crowds))
        held = descriptors(pids)
    assert run.wait_until(lambda: len(run.of("training_finished")) >= 1), run.stderr
    after = peaks(pids)
    assert all(after.values()), "they have gone meanwhile"
    assert json.loads(lab.weir("datasets", "--json"))
    run.finish()
    for crowd in crowds:
        crowd.end()
    assert outcome(run.events) == expected
    assert_clean_audits(run.events)
    print(f"came {[c.came for c in crowds]}, at once {[c.most for c in crowds]}, {held} descriptors; "
          f"MiB before {({n: b >> 20 for n, b in before.items()})}, with them {({n: b >> 20 for n, b in after.items()})}")
    assert all(crowd.most > EACH / 2 for crowd in crowds), [c.most for c in crowds]
    for name, peak in after.items():
        assert peak < before[name] + MORE_MEMORY_MAX, (name, before, after)
    lab.remove()


if __name__ == "__main__":
    main()

"""Whoever reaches the sockets of a platform sends messages that never end, of tiny frames and of large ones, and asks without
reading the answers. It is cut off, memory stays bounded, and the trainings are those of an undisturbed platform."""

import itertools
import json
import socket
import struct
import threading

from strangers_test import READY_NULL, frame, greeting
from weirlab import DEADLINE_S, Lab, Run, assert_clean_audits, outcome, peak_bytes, served, victims

TINY = b"\x01\x00" * (32 << 10)
LARGE = frame(bytes(1 << 20), 1)
HEALTH = 2
MORE_MEMORY_MAX = (256 + 128) << 20  # WEIR_INFLOW_MAX, and what serves the run
CUTS = 2
NUMBERS = itertools.count(1)


def asked_health():
    """Requests for a process's health, as `weir` sends them."""
    return b"".join(frame(b"WEIR" + struct.pack("<HHIIQQ", 1, HEALTH, 0, 60000, number, 1), 1) + frame(b"\x90", 0)
                    for number in range(1, 500))


class Hostile(threading.Thread):
    """Writes to a socket without end; comes again when it is cut off."""

    def __init__(self, path, saying, patience_s=DEADLINE_S):
        super().__init__(daemon=True)
        self.path, self.saying, self.patience_s = path, saying, patience_s
        self.identity = bytes([1, 1, next(NUMBERS)])  # each its own: one that returns takes over the connection that had it
        self.cuts, self.is_cut, self.over = 0, threading.Event(), threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.settimeout(self.patience_s)
                try:
                    self._enter(stranger)
                except OSError:
                    self.over.wait(0.05)
                    continue
                self._write(stranger)

    def _enter(self, stranger):
        """Messages may come once the other side is ready, too."""
        stranger.connect(self.path)
        stranger.sendall(greeting(b"NULL") + READY_NULL.replace(b"\x01me", self.identity))
        heard = b""
        while len(heard) < 66 or len(heard) < 66 + heard[65]:  # a greeting, and a short command
            data = stranger.recv(1 << 12)
            if not data:
                raise OSError
            heard += data

    def _write(self, stranger):
        while not self.over.is_set():
            try:
                stranger.sendall(self.saying)
            except TimeoutError:
                return  # nothing of it is read any more, as it reads nothing
            except OSError:
                self.cuts += 1
                if self.cuts >= CUTS:
                    self.is_cut.set()
                return


def peaks(lab):
    return {name: peak_bytes(pid) for name in ("storage", "dispatcher", "orchestrator") for pid in victims(lab.data_dir, name)}


def main():
    lab = Lab(samples=900, every=300, epochs=3)
    expected = outcome(Run(lab.pipeline, lab.folder / "undisturbed").finish().events)
    with served(lab):
        sockets = (lab.data_dir / "lock").read_text().split("\n")[1]
        before = peaks(lab)
        endless = [Hostile(f"{sockets}/storage.sock", TINY), Hostile(f"{sockets}/trainer/dispatcher.sock", LARGE),
                   Hostile(f"{sockets}/trainer/orchestrator.sock", TINY)]
        hostile = [*endless, Hostile(f"{sockets}/storage.sock", asked_health(), patience_s=1)]
        lab.weir("submit", str(lab.pipeline))
        events = [json.loads(line) for line in lab.weir("watch", "lab", "--json").splitlines()]
        assert all(one.is_cut.wait(DEADLINE_S) for one in endless), [one.cuts for one in endless]
        after = peaks(lab)
        for one in hostile:
            one.over.set()
            one.join(DEADLINE_S)
    assert outcome(events) == expected
    assert_clean_audits(events)
    print(f"cut off {[one.cuts for one in hostile]} times; MiB before {({n: b >> 20 for n, b in before.items()})}, with them "
          f"{({n: b >> 20 for n, b in after.items()})}")
    assert before.keys() == after.keys() and len(after) == 3, (before, after)
    for name, peak in after.items():
        assert peak < before[name] + MORE_MEMORY_MAX, (name, before, after)
    lab.remove()


if __name__ == "__main__":
    main()

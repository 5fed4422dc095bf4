"""Ten thousand strangers hold connections half open at the four ports of a platform that listens to those elsewhere, and say nothing,
rubbish, or half of what would be right; others come with a key that nobody knows, or with a good one and messages that are not for it.
Memory stays bounded, people with keys are answered, and a worker elsewhere makes the batches of an undisturbed run."""

import json
import os
import random
import resource
import socket
import struct
import threading

import stranger_crowd_test
from keys_test import PUBLIC, SECRET
from strangers_test import FORGED_HELLO, READY_NULL, frame, greeting
from weirlab import DEADLINE_S, Lab, await_that, binaries, child, outcome, peak_bytes, victims
from workers_elsewhere_test import expected, pass_of, platform, submit, told, working

SERVICES = ("orchestrator", "storage", "selector", "dispatcher")
EACH = 2500  # strangers of a service
MORE_MEMORY_MAX = 96 << 20  # of a service, than before: what these cost, with the buffers of each
SAYINGS = (b"", b"", b"", greeting(b"CURVE")[:40], greeting(b"CURVE"), greeting(b"CURVE") + FORGED_HELLO[:100],
           greeting(b"CURVE") + FORGED_HELLO, random.randbytes(300), greeting(b"NULL") + READY_NULL + frame(b"WEIR", 1),
           stranger_crowd_test.unfinished(4 << 10), greeting(b"CURVE") + b"\x06" + struct.pack(">Q", 1 << 30) + bytes(1000))


class Flood:
    """All messages of the list, under one pass, to one service after the other, until the end."""

    def __init__(self, key):
        self.key, self.rounds, self.over = key, 0, threading.Event()
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()

    def _send(self):
        while not self.over.is_set():
            service = SERVICES[self.rounds % len(SERVICES)]
            child.run([binaries().parent / "tests/bin/sender", service, self.key], capture_output=True)
            self.rounds += 1

    def end(self):
        self.over.set()
        self.thread.join(DEADLINE_S)


def unknown(lab, known):
    """A pass like another, but for its pair, which nobody has let in."""
    text = known.read_text()
    for pattern, other in zip((PUBLIC, SECRET), pair(lab)):
        text = text.replace(pattern.search(text)[1], other)
    path = lab.folder / "unknown.key"
    path.write_text(text)
    path.chmod(0o600)
    return path


def pair(lab):
    """Of a key that was let in once."""
    path = lab.folder / "gone.key"
    lab.weir("keys", "new", "viewer", "gone", "-o", str(path))
    lab.weir("keys", "revoke", "gone")
    return [pattern.search(path.read_text())[1] for pattern in (PUBLIC, SECRET)]


def person(lab, role):
    path = lab.folder / f"{role}.key"
    lab.weir("keys", "new", role, role, "-o", str(path))
    return path


def asked(key):
    """What a person with a key is told meanwhile."""
    done = child.run([binaries() / "weir", "--key", key, "status", "--json"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def memory(pids):
    return {name: peak_bytes(pid) for name, pid in pids.items()}


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    stranger_crowd_test.EACH = EACH
    lab = Lab(samples=600, every=300, epochs=3)
    wanted = expected(lab)
    with platform(lab):
        first = int(json.loads(lab.weir("status", "--json"))["listen"].rsplit(":", 1)[1])
        viewer, rosa = person(lab, "viewer"), pass_of(lab, "rosa")
        pids = {name: victims(lab.data_dir, name)[0] for name in SERVICES}
        before = memory(pids)
        crowds = [stranger_crowd_test.Crowd(lambda port=first + i: socket.create_connection(("127.0.0.1", port), 1), SAYINGS)
                  for i in range(len(SERVICES))]
        floods = [Flood(viewer), Flood(unknown(lab, viewer))]
        await_that(lambda: all(crowd.most > EACH / 2 for crowd in crowds), lambda: [crowd.most for crowd in crowds])
        held = {name: len(os.listdir(f"/proc/{pid}/fd")) for name, pid in pids.items()}
        with working(lab, "rosa", key=rosa):
            submit(lab)
            events = told(lab)
        asked(viewer)
        await_that(lambda: all(flood.rounds > len(SERVICES) for flood in floods), lambda: [flood.rounds for flood in floods])
        after = memory(pids)
        for guest in (*crowds, *floods):
            guest.end()
        assert {name: victims(lab.data_dir, name)[0] for name in SERVICES} == pids
        asked(viewer)
    print(f"came {[c.came for c in crowds]}, at once {[c.most for c in crowds]}, descriptors {held}, floods {[f.rounds for f in floods]}; "
          f"MiB before {({n: b >> 20 for n, b in before.items()})}, with them {({n: b >> 20 for n, b in after.items()})}")
    assert outcome(events) == wanted
    for name, peak in after.items():
        assert peak < before[name] + MORE_MEMORY_MAX, (name, before, after)
    lab.remove()


if __name__ == "__main__":
    main()

"""Batches over TCP while others of this host do their worst: forged messages, endless ones, rubbish and silent connections at
the ports of all workers; workers and trainers die by kill -9, and whoever is quickest takes the port that a worker leaves.
Nobody learns anything, nobody stops anything: sets, models and audits are those of an undisturbed run."""

import os
import random
import re
import socket
import struct
import threading
import time

from weirlab import DEADLINE_S, Lab, Run, assert_clean_audits, await_that, kill_all, outcome, peak_bytes, stopped

SYSTEM = 'batches: {listen: "tcp://127.0.0.1:*"}\n'
READY = re.compile(r'ready" worker-\d+ tcp://127\.0\.0\.1:(\d+)|tcp://127\.0\.0\.1:(\d+)')
MEMORY_MAX = 256 << 20
SILENT = 100
GREETING_BYTES, HELLO_BYTES = 64, 202


def greeting(mechanism, is_server=0):
    """https://rfc.zeromq.org/spec/23"""
    return b"\xff" + bytes(8) + b"\x7f\x03\x01" + mechanism.ljust(20, b"\0") + bytes([is_server]) + bytes(31)


def command(name, body):
    body = bytes([len(name)]) + name + body
    return b"\x06" + struct.pack(">Q", len(body)) + body


def frame(body, more):
    return bytes([2 | more]) + struct.pack(">Q", len(body)) + body


def credit(session):
    """An envelope and a header of msgpack, as a trainer sends them: a huge grant."""
    envelope = b"WEIR" + struct.pack("<HHIIQQ", 1, 0x0310, 0, 0, 0, 7)
    header = b"\x9a" + b"\xcf" + struct.pack(">Q", session) + 9 * (b"\xcf" + struct.pack(">Q", 1 << 40))
    return frame(envelope, 1) + frame(header, 0)


READY_NULL = command(b"READY", b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER" + b"\x08Identity" + struct.pack(">I", 3) + b"\x01me")
FORGED_HELLO = command(b"HELLO", b"\x01\x00" + bytes(72) + os.urandom(32) + bytes(8) + os.urandom(80))
ATTACKS = {
    "forged credits": lambda: greeting(b"NULL") + READY_NULL + b"".join(credit(random.getrandbits(64)) for _ in range(100)),
    "an endless message": lambda: greeting(b"NULL") + READY_NULL + frame(bytes(1 << 20), 1) * 40,
    "a key of somebody else": lambda: greeting(b"CURVE") + FORGED_HELLO + credit(1),
    "a huge first frame": lambda: greeting(b"CURVE") + b"\x06" + struct.pack(">Q", 1 << 30) + bytes(1 << 22),
    "rubbish": lambda: random.randbytes(10000),
}


def ports(run):
    found = {}
    for path in run.data_dir.glob("log/worker-*.log"):
        for match in READY.finditer(path.read_text(errors="replace")):
            found[path.stem] = int(match[1] or match[2])
    return found


class Strangers:
    """Threads that go for the ports that the workers' logs name, until the end."""

    def __init__(self, run):
        self.run, self.over = run, threading.Event()
        self.done = dict.fromkeys(ATTACKS, 0)
        self.silent, self.taken, self.heard, self.ours = [], [], [], set()
        self.threads = [threading.Thread(target=self._attack, args=(name,), daemon=True) for name in ATTACKS]
        self.threads.append(threading.Thread(target=self._stay_silent, daemon=True))
        for thread in self.threads:
            thread.start()

    def _attack(self, name):
        while not self.over.wait(0.02):
            for port in ports(self.run).values():
                try:
                    with socket.create_connection(("127.0.0.1", port), 1) as stranger:
                        self.ours.add(stranger.getsockname()[1])
                        stranger.sendall(ATTACKS[name]())
                        stranger.settimeout(0.2)
                        while stranger.recv(4096):
                            pass
                except OSError:
                    pass  # turned away
                self.done[name] += 1

    def _stay_silent(self):
        while not self.over.wait(0.05):
            for port in ports(self.run).values():
                try:
                    self.silent.append(socket.create_connection(("127.0.0.1", port), 1))
                    self.ours.add(self.silent[-1].getsockname()[1])
                except OSError:
                    pass  # it is gone
            while len(self.silent) > SILENT:
                self.silent.pop(0).close()

    def take_port(self, port):
        """Of a worker that has just died: whoever comes to it is heard out. Its successor, and its trainers, may know the port."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                listener.bind(("127.0.0.1", port))
                break
            except OSError:  # the dead one is not quite gone
                assert time.monotonic() < deadline, port
        listener.listen(64)
        self.taken.append(listener)
        self.threads.append(threading.Thread(target=self._listen, args=(listener,), daemon=True))
        self.threads[-1].start()

    def _listen(self, listener):
        listener.settimeout(0.2)
        while not self.over.is_set():
            try:
                visitor, (_, port) = listener.accept()
            except OSError:
                continue
            visitor.settimeout(1)
            heard = b""
            try:
                visitor.sendall(greeting(b"CURVE", 1))
                while data := visitor.recv(65536):
                    heard += data
            except OSError:
                pass
            if port not in self.ours:
                self.heard.append(heard)
            visitor.close()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(DEADLINE_S)
        for open_socket in self.silent + self.taken:
            open_socket.close()


def peak_memory(run):
    return max((peak_bytes(pid) for name in ("worker-1", "worker-2", "trainer") for pid in run.victims(name)), default=0)


def poll(run, what):
    """Until `what` holds, which no event tells of, or the run has ended. Whether it still runs."""
    await_that(lambda: run.process.poll() is not None or what(), lambda: run.stderr, pause_s=0.01)
    return run.process.poll() is None


def trainer_stopped(run):
    """The trainer of a run that goes on stands still meanwhile; between two trainings there is none for a moment."""
    found = []
    assert poll(run, lambda: found.extend(run.victims("trainer")) or found), run.stderr
    return stopped(found)


def disturb(run):
    """Every attack while a trainer has begun; deaths in the middle of training: of each worker, whose port goes to a stranger, and
    of the trainer. Returns the strangers, among whom it takes long to find a process."""
    with trainer_stopped(run):
        workers = {name: run.victims(name) for name in ("worker-1", "worker-2")}
        strangers = Strangers(run)
        poll(run, lambda: all(strangers.done.values()))
    for worker, pids in workers.items():
        finished = len(run.of("training_finished"))
        port = ports(run)[worker]
        if not poll(run, run.checkpoint) or not kill_all(pids):
            assert worker != "worker-1", run.stderr
            break  # on a busy machine the trainings may be over by now
        strangers.take_port(port)
        run.kill("trainer")
        poll(run, lambda: len(run.of("training_finished")) > finished)
    return strangers


def main():
    lab = Lab(samples=1000, every=250, epochs=30)
    system = lab.folder / "system.yaml"
    system.write_text(SYSTEM)
    expected = outcome(Run(lab.pipeline, lab.folder / "undisturbed", system).finish().events)
    run = Run(lab.pipeline, lab.data_dir, system)
    assert run.wait_until(lambda: run.of("trigger_fired"))
    strangers = disturb(run)
    peak = peak_memory(run)
    run.finish()
    strangers.end()
    assert outcome(run.events) == expected
    assert_clean_audits(run.events)
    assert all(strangers.done.values()), strangers.done
    assert all(len(heard) <= GREETING_BYTES + HELLO_BYTES for heard in strangers.heard), [len(h) for h in strangers.heard]
    words = "".join(path.read_text() for path in lab.data_dir.glob("log/worker-*.log"))
    assert "somebody without the key connects" in words
    assert "#" not in "".join(line for line in words.splitlines() if "ready" in line), words
    assert peak < MEMORY_MAX, peak
    print(f"{strangers.done}; {len(strangers.heard)} came to taken ports, said at most "
          f"{max(map(len, strangers.heard), default=0)} bytes; at most {peak >> 20} MB")
    lab.remove()


if __name__ == "__main__":
    main()

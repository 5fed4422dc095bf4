"""Hosts that are network namespaces, joined by a switch that is one, too: nothing of them is seen outside, so that several tests
may run side by side. The cable to a host can be pulled for one direction, or both, or for what comes from another host alone, and
slowed down; what goes over it can be captured. As a program it captures: namespaces.py DEVICE FILE, until it is ended.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
NOBODY = "02:00:00:00:00:01"  # an address that no host has
ALL_PROTOCOLS = 3  # ETH_P_ALL, packet(7)


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def lacking():
    """Returns why no namespaces can be made here; "": they can."""
    programs = [program for program in ("ip", "tc") if shutil.which(program) is None]
    if programs:
        return f"no {' and '.join(programs)}"
    if os.geteuid() != 0:
        return "network namespaces are made by root alone"
    tried = f"weir-host-{os.getpid()}-tried"
    made = ip("netns", "add", tried, check=False)
    if made.returncode == 0:
        remove(tried)
    return f"this system makes no network namespaces: {made.stderr.strip()}" if made.returncode != 0 else ""


def skip_without():
    """Ends a test that can make no namespaces."""
    if lacking():
        print(f"skipped: {lacking()}")
        sys.exit(SKIPPED)


def end_all(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def remove(space):
    end_all(ip("netns", "pids", space, check=False).stdout.split())
    ip("netns", "del", space, check=False)


def sweep_left():
    """Removes hosts of processes that are gone."""
    for line in ip("netns", "list", check=False).stdout.splitlines():
        found = re.match(r"weir-host-(\d+)-", line)
        if found and not Path(f"/proc/{found[1]}").exists():
            remove(line.split()[0])


class Hosts:
    """Hosts by their names; each has one address, and reaches the others."""

    def __init__(self, *names):
        sweep_left()
        mark = f"weir-host-{os.getpid()}-{secrets.token_hex(2)}"
        self.switch = f"{mark}-switch"
        self.spaces = {name: f"{mark}-{name}" for name in names}
        self.addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for name, space in self.spaces.items():
            ip("netns", "add", space)
            ip("-n", self.switch, "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("-n", self.switch, "link", "set", f"to-{name}", "master", "bridge", "up")
            ip("-n", space, "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")

    def inside(self, name, *command):
        """The command as it is run on a host."""
        return ["ip", "netns", "exec", self.spaces[name], *map(str, command)]

    @contextlib.contextmanager
    def cut(self, *names):
        """Nothing reaches these hosts meanwhile; what they send arrives: a half of each cable. Nobody is told."""
        for name in names:
            self._queue(name, "pfifo", "limit", "0")
        try:
            yield
        finally:
            for name in names:
                subprocess.run(["tc", "-n", self.switch, "qdisc", "del", "dev", f"to-{name}", "root"], check=True)

    @contextlib.contextmanager
    def lost(self, sender, receiver):
        """What one host sends to another is lost meanwhile; all else arrives. Nobody is told."""
        space, entry = self.spaces[sender], (self.addresses[receiver], "dev", "eth0")
        ip("-n", space, "neigh", "replace", *entry, "lladdr", NOBODY, "nud", "permanent")
        try:
            yield
        finally:
            ip("-n", space, "neigh", "del", *entry)

    def slow_down(self, name, delay_ms, loss_percent):
        """Delays what goes to a host, and loses some of it. False where the system cannot."""
        return self._queue(name, "netem", "delay", f"{delay_ms}ms", "loss", f"{loss_percent}%", check=False)

    def _queue(self, name, *words, check=True):
        done = subprocess.run(["tc", "-n", self.switch, "qdisc", "replace", "dev", f"to-{name}", "root", *words],
                              check=check, capture_output=True)
        return done.returncode == 0

    @contextlib.contextmanager
    def captured(self, name, file):
        """All that goes over the cable of a host, in a file, packet after packet."""
        command = [sys.executable, __file__, f"to-{name}", str(file)]
        with subprocess.Popen(["ip", "netns", "exec", self.switch, *command], stdout=subprocess.PIPE, text=True) as capture:
            assert capture.stdout.readline() == "capturing\n"
            try:
                yield
            finally:
                capture.terminate()

    def close(self):
        for space in (*self.spaces.values(), self.switch):
            remove(space)


@contextlib.contextmanager
def hosts(*names):
    made = Hosts(*names)
    try:
        yield made
    finally:
        made.close()


def assert_unreadable(file, texts):
    """Of what was captured: it is of connections with keys, and holds none of the texts."""
    wire = file.read_bytes()
    assert b"CURVE" in wire, f"{file.name}: nothing was captured"  # the greeting of each connection
    for text in texts:
        assert text.encode() not in wire, f"{file.name}: {text!r} can be read"


def secret_of(path):
    """The secret of a pass."""
    return next(line.split('"')[1] for line in path.read_text().splitlines() if line.startswith("secret"))


def capture(device, file):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as raw, open(file, "wb") as out:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        raw.bind((device, 0))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print("capturing", flush=True)
        while True:
            out.write(raw.recv(1 << 16))


if __name__ == "__main__":
    capture(*sys.argv[1:])

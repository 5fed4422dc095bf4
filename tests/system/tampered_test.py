"""Somebody between a person and the platform, who has no key: repeats frames, swaps, alters and withholds them, puts in those of an
earlier connection, or says an earlier connection again. Each order is carried out once and in the end answered; where nothing gets
through unharmed that is said in words; others notice nothing."""

import contextlib
import json
import socket
import subprocess
import threading

from keys_test import PUSHED, elsewhere
from weirlab import DEADLINE_S, await_that, free_ports, peak_bytes, run_tests, victims

GREETING_BYTES = 64
SERVICES = ("orchestrator", "storage", "selector", "dispatcher")
MORE_MEMORY_MAX = 32 << 20
STORAGE = SERVICES.index("storage")
ROWS = 50


def frames(source):
    """The bytes of the greeting, then frame after frame as they are on the wire (https://rfc.zeromq.org/spec/23)."""
    with source.makefile("rb") as stream:
        for _ in range(GREETING_BYTES):
            yield stream.read(1)  # each end waits for parts of the other's
        while flags := stream.read(1):
            size = stream.read(8 if flags[0] & 2 else 1)
            yield flags + size + stream.read(int.from_bytes(size, "big"))


def is_sealed(frame):
    """True of a frame of a message, in CURVE (https://rfc.zeromq.org/spec/26)."""
    return b"\x07MESSAGE" in frame[1:17]


def repeated(frame, following, earlier):
    return [frame, frame, following]


def swapped(frame, following, earlier):
    return [following, frame]


def altered(frame, following, earlier):
    return [frame[:-1] + bytes([frame[-1] ^ 1]), following]


def withheld(frame, following, earlier):
    return [following]


def of_an_earlier_connection(frame, following, earlier):
    return [earlier or frame[:-1] + b"?", frame, following]


TAMPERINGS = (repeated, swapped, altered, withheld, of_an_earlier_connection)


class Between:
    """Passes on what is said to the services of a platform and back, and keeps what is said to them. The first two frames of the
    messages of a connection to one side are tampered with, in so many connections to each service."""

    def __init__(self, address, tamper=None, is_answer=False, times=0):
        self.tamper, self.is_answer, self.times = tamper, is_answer, times
        self.first, own = int(address.rpartition(":")[2]), free_ports()
        self.address = f"tcp://127.0.0.1:{own}"
        self.heard, self.done, self.earlier = [], [0] * len(SERVICES), [None] * len(SERVICES)
        self.listeners = [socket.create_server(("127.0.0.1", own + i)) for i in range(len(SERVICES))]
        for service, listener in enumerate(self.listeners):
            self._begin(self._take_up, service, listener, self.first + service)

    @staticmethod
    def _begin(work, *arguments):
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _take_up(self, service, listener, port):
        with contextlib.suppress(OSError):
            while True:
                near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", port))
                heard = []
                self.heard.append((port, heard))
                self._begin(self._pass_on, service, near, far, False, heard)
                self._begin(self._pass_on, service, far, near, True, [])

    def _pass_on(self, service, source, sink, is_answer, heard):
        with contextlib.suppress(OSError):
            messages = (frame for frame in frames(source) if heard.append(frame) or True)
            for frame in messages:
                if is_sealed(frame) and is_answer == self.is_answer and self.done[service] < self.times:
                    self.done[service] += 1
                    sink.sendall(b"".join(self.tamper(frame, next(messages, b""), self.earlier[service])))
                    self.earlier[service] = frame
                    break
                sink.sendall(frame)
            for frame in messages:
                sink.sendall(frame)
        for end in (source, sink):  # one end has given it up: so does the other
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@contextlib.contextmanager
def between(*arguments, **options):
    made = Between(*arguments, **options)
    try:
        yield made
    finally:
        made.close()


def assert_is_cut(connection):
    """By the other end, which says no more than a handshake."""
    heard = b""
    with contextlib.suppress(ConnectionError):
        while said := connection.recv(4096):
            heard += said
    assert b"MESSAGE" not in heard, heard


def rows_of(lab):
    return sum(d["live"] for d in lab.told("rosa", "datasets")["datasets"] if d["dataset"] == "rows")


def push(lab, address, first):
    """So many rows, of times of their own."""
    rows = "ts,y,note\n" + "".join(f"{1009843200 + first + i},{i % 2},note\n" for i in range(ROWS))
    pushing = lab.begin("rosa", "--endpoint", address, "push", "rows", "--json", stdin=subprocess.PIPE)
    printed, complaint = pushing.communicate(rows, timeout=DEADLINE_S)
    assert pushing.returncode == 0, complaint
    return json.loads(printed)["samples"]


@contextlib.contextmanager
def pushed_to():
    with elsewhere() as lab:
        lab.new("operator", "rosa")
        lab.new("viewer", "ben")
        await_that(lab.all_have_noted)
        (lab.folder / "rows.yaml").write_text(PUSHED)
        lab.told("rosa", "submit", lab.folder / "rows.yaml")
        await_that(lambda: any(d["dataset"] == "rows" for d in lab.told("rosa", "datasets")["datasets"]))
        pids = {name: victims(lab.data_dir, name) for name in SERVICES}
        before = {name: peak_bytes(pid) for name, (pid,) in pids.items()}
        yield lab
        assert {name: victims(lab.data_dir, name) for name in SERVICES} == pids
        for name, (pid,) in pids.items():
            assert peak_bytes(pid) < before[name] + MORE_MEMORY_MAX, name


def test_what_is_ordered_through_somebody_who_tampers_is_done_once():
    with pushed_to() as lab:
        pushed = 0
        for tamper in TAMPERINGS:
            for is_answer in (False, True):
                with between(lab.address, tamper, is_answer, times=2) as other:
                    assert push(lab, other.address, pushed) == ROWS, (tamper, is_answer)
                    assert other.done[0] and other.done[STORAGE], (tamper, is_answer, other.done)
                pushed += ROWS
                assert rows_of(lab) == pushed, (tamper, is_answer)


def test_whoever_hears_nothing_that_is_whole_is_told_so_and_others_are_answered():
    with pushed_to() as lab:
        for is_answer in (False, True):
            with between(lab.address, altered, is_answer, times=1 << 30) as other:
                said = lab.refused("rosa", "--endpoint", other.address, "status")
                assert "nobody answers" in said, said
                assert other.done[0] > 2, other.done
                assert len(lab.told("ben", "status")["pipelines"]) == 1


def test_what_was_said_once_says_nothing_when_it_is_said_again():
    with pushed_to() as lab:
        with between(lab.address) as other:
            assert push(lab, other.address, 0) == ROWS
        assert {port for port, frames in other.heard if any(map(is_sealed, frames))} >= {other.first, other.first + STORAGE}
        for port, said in other.heard:
            with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as again:
                again.sendall(b"".join(said))
                assert_is_cut(again)
        assert rows_of(lab) == ROWS


if __name__ == "__main__":
    run_tests(globals())

"""rival.py DATA_DIR RUN PROGRAM: tries what it can against another run that is under way, by files, by /proc and, with PROGRAM, by
messages; says what it got, floods the workers until it may go on, and then trains like anybody."""

import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import weir

data, other, program = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PIDFD_OPEN, PIDFD_GETFD = 0x4206, 434, 438
FLOOD_FRAMES = 1 << 14
got = set()


def attempt(name, act):
    try:
        act()
        got.add(name)
    except OSError:
        pass


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read(path):
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError("nothing is in it")  # a thread of the kernel


def take_descriptor(pid):
    held = checked(libc.syscall(PIDFD_OPEN, pid, 0))
    try:
        checked(libc.syscall(PIDFD_GETFD, held, 3, 0))
    finally:
        os.close(held)


def try_files():
    run = data / "runs" / other
    attempt("list its directory", lambda: os.listdir(run))
    attempt("read its file", lambda: (run / "midst").read_bytes())
    attempt("let it go on", lambda: (run / "go").touch())
    attempt("link its file", lambda: os.link(run / "midst", "theirs"))
    attempt("list its logs", lambda: os.listdir(data / "log"))
    attempt("list shared memory", lambda: [(Path("/dev/shm") / name).open("rb") for name in os.listdir("/dev/shm")] or os.stat("/nowhere"))


def try_processes():
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if pid in (os.getpid(), 1):
            continue
        place = Path(f"/proc/{pid}")
        attempt("signal it", lambda: os.kill(pid, 0))
        attempt("attach to it", lambda: checked(libc.ptrace(PTRACE_SEIZE, pid, None, None)))
        attempt("take a descriptor of it", lambda: take_descriptor(pid))
        for name in ("environ", "maps", "mem"):
            attempt(f"read its {name}", lambda: read(place / name))
        attempt("open a descriptor of it", lambda: os.readlink(place / "fd" / "0"))
        for name in ("map_files", "cwd/.", "root/."):
            attempt(f"list its {name}", lambda: os.listdir(place / name))


if os.environ["WEIR_RUN"] != other and not os.path.exists("said.json"):
    try_files()
    try_processes()
    flood = subprocess.Popen([program, other, os.environ["WEIR_RUN"]], stdout=subprocess.PIPE, text=True)
    messages = []
    for line in flood.stdout:
        messages.append(line.rstrip("\n"))
        if line == f"flooded: {FLOOD_FRAMES} frames\n":
            break
    Path("said.new").write_text(json.dumps({"got": sorted(got), "messages": messages}))
    os.rename("said.new", "said.json")
    while not os.path.exists("go") and flood.poll() is None:
        time.sleep(0.01)
    assert flood.poll() is None, "it did not flood to the end"
    flood.kill()
    flood.wait()

with weir.Session() as session:
    for batch in session:
        pass
    Path("model").write_text("rival")
    session.finish("model")

"""A signal ends a platform that is only coming up: whatever it was at, none of its processes is left."""

import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

from weirlab import Lab, await_that, binaries, make_clusters, run_tests, victims

PR_SET_CHILD_SUBREAPER = 36
SUITE = Path(__file__).resolve().parents[2] / "benchmarks/suite/run"
make_clusters()


def stat_of(pid):
    """State and parent of a process; None: it is gone."""
    try:
        return (Path("/proc") / pid / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None


def left():
    """Processes that were begun here, or by those that were, and whose parents are gone."""
    found = {pid: stat_of(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    return [pid for pid, stat in found.items() if stat and stat[0] != "Z" and stat[1] == str(os.getpid())]


def end_at(what, process, number):
    """Sends the signal once `what` holds, and waits until none is left."""
    await_that(lambda: what() or process.poll() is not None, pause_s=0.002)
    assert process.poll() is None, f"it ended before: {process.stderr.read()}"
    process.send_signal(number)
    await_that(lambda: process.poll() is not None, lambda: f"signal {number} does not end it")
    await_that(lambda: not left(), lambda: [(Path("/proc") / pid / "cmdline").read_bytes() for pid in left()])


def started(*command):
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def test_a_run_that_is_coming_up_leaves_nobody(lab):
    for name in ("initdb", "postgres", "storage", "dispatcher", "worker-1"):
        for number in (signal.SIGTERM, signal.SIGINT):
            run = started(binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.data_dir)
            end_at(lambda name=name: victims(lab.data_dir, name), run, number)
    for served in (["serve"], ["run", lab.pipeline]):  # which comes up on what is there
        run = started(binaries() / "orchestrator", *served, "--data-dir", lab.data_dir)
        end_at(lambda: victims(lab.data_dir, "postgres"), run, signal.SIGTERM)


def test_a_command_that_starts_a_platform_for_itself_leaves_nobody(lab):
    for name in ("orchestrator", "postgres", "storage"):
        for number in (signal.SIGTERM, signal.SIGINT):
            asked = started(*lab.command("status"))
            end_at(lambda name=name: victims(lab.data_dir, name), asked, number)


def stands_still(pid):
    """Stops a process; False: it was over before."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(pid), signal.SIGSTOP)
    return await_that(lambda: (state := (stat_of(pid) or "X")[0]) in "TZX" and state, pause_s=0) == "T"


def run_that_waits_for_data(lab):
    """A run whose look at its data stands still, as one that waits for it. Some are over before."""
    for data_dir in (lab.folder / f"other-{number}" for number in itertools.count()):
        run = started(binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", data_dir)
        looking = await_that(lambda run=run: [pid for pid in children_of(run.pid) if is_storage(pid)], pause_s=0)
        if stands_still(looking[0]):
            return run
        end_at(lambda: True, run, signal.SIGTERM)


def test_a_check_that_looks_at_data_is_over_with_the_run(lab):
    end_at(lambda: True, run_that_waits_for_data(lab), signal.SIGTERM)


def children_of(parent):
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and (stat_of(pid) or [0, 0])[1] == str(parent)]


def is_storage(pid):
    try:
        return Path((Path("/proc") / pid / "cmdline").read_bytes().split(b"\0")[0].decode()).name == "storage"
    except OSError:
        return False


def test_the_suite_whose_platform_is_coming_up_leaves_nobody(lab):
    for number in (signal.SIGTERM, signal.SIGINT):
        out = lab.folder / f"suite-{number}"
        suite = started(sys.executable, SUITE, "--quick", "--out", out, "--bin", binaries(), "clicks")
        end_at(lambda out=out: victims(out / "platform", "postgres"), suite, number)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    lab = Lab()
    run_tests(globals(), lab)
    lab.remove()


main()

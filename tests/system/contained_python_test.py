"""Programs in Python that misbehave as trainers: each is ended or refused in words that say what it did; nothing else is harmed, and the
same pipeline goes on when the program is mended."""

import contextlib
import json
import re
import sys
from pathlib import Path

from python_test import OURS, PythonLab, said
from weirlab import DEADLINE_S, Run, await_force, await_that, logs, run_tests, serve

LOG_BYTES_MAX = (16 << 20) + (1 << 16)  # of a log, and of what was set aside of it
BEGIN = "import ctypes, os, sys, time, weir\nsession = weir.Session()\n"
TRAINS = "for batch in session:\n    {}\nopen('model', 'w').close()\nsession.finish('model')\n"
EVALUATES = ("for batch in session:\n    if not session.task.learns:\n        {}\n"
             "model = 'model' if session.task.learns else None\nopen('model', 'w').close()\nsession.finish(model)\n")
GOOD = EVALUATES.format("session.output(batch, 'predictions', [[0.5]] * len(batch))")


def run_with(text, begin=BEGIN, declared="", **training):
    """A lab, and the run of that program."""
    keys = ", ".join(f"{key}: {value}" for key, value in {"retries": 0, **training}.items())
    lab = PythonLab(samples=200, every=100, epochs=1, pipeline=OURS.replace("seed: 1}}", f"seed: 1, {keys}}}}}"))
    (lab.programs / "bad.py").write_text(begin + text)
    system = lab.script("bad.py", modes=f"modes: [train, evaluate]{declared}")
    return lab, system, Run(lab.pipeline, lab.data_dir, system)


def fails_with(words, text, begin=BEGIN, declared="", mended=None, **training):
    """Ends so; and where the program is `mended` then, the pipeline goes on."""
    lab, system, run = run_with(text, begin, declared, **training)
    run.finish(expect=1)
    assert re.search(words, "".join(run.stderr)), (words, run.stderr, said(run))
    if mended is not None:
        (lab.programs / "bad.py").write_text(BEGIN + mended)
        Run(lab.pipeline, lab.data_dir, system).finish()
        lab.weir("doctor")
    lab.remove()


def test_one_that_crashes_is_started_again_and_goes_on():
    crash = "if not os.path.exists('crashed'):\n        open('crashed', 'x').close()\n        ctypes.string_at(0)"
    lab, _, run = run_with("for batch in session:\n    " + crash + "\n    if not session.task.learns:\n"
                           "        session.output(batch, 'predictions', [[0.5]] * len(batch))\n"
                           "model = 'model' if session.task.learns else None\nopen('model', 'w').close()\nsession.finish(model)\n")
    run.finish()
    assert any("killed by signal 11" in line for line in run.stderr), run.stderr
    lab.remove()


UNANSWERED = """\
import os, weir
if not os.path.exists('asked'):
    open('asked', 'x').close()
    weir.task(socket_dir=os.path.abspath('nobody'), timeout=0.1)
session = weir.Session()
"""


def test_one_that_had_no_answer_of_the_platform_has_not_failed():
    lab, _, run = run_with(GOOD, UNANSWERED)  # retries: 0
    run.finish()
    again = [line for line in run.stderr if "trainer started again" in line]
    assert len(again) > 1 and all("weir.Unavailable: " in line for line in again), run.stderr
    lab.remove()


def test_one_that_never_begins_is_ended():
    fails_with(r"it said nothing for \d+ s \(training\.patience\)", "", begin="import time\ntime.sleep(3600)\n", patience="3s")


def test_one_that_hangs_in_its_loop_is_ended():
    said_nothing = r"it said nothing for \d+ s \(training\.patience\)"
    fails_with(said_nothing, TRAINS.format("time.sleep(3600)"), mended=GOOD, patience="20s")  # and the mended one may be slow to begin
    fails_with(said_nothing, TRAINS.format("while True: pass"), patience="3s")


def test_one_that_is_slow_is_left_alone():
    lab, _, run = run_with(GOOD.replace("    if not", "    time.sleep(3 if session.info.run == 1 and batch.number < 7 else 0)\n    if not", 1), patience="20s")
    run.finish()
    lab.remove()


def test_one_that_takes_more_memory_than_allowed_is_ended():
    fails_with(r"of memory, 150\.0 MiB are allowed \(programs\.loop\.memory",
               TRAINS.format("held = b'x' * (400 << 20); time.sleep(3600)"), declared=", memory: 150MiB")


def test_one_that_prints_megabytes_fills_no_disk():
    prints = "for _ in range(10 if os.path.exists('p') else 50_000):\n        print(10 * 'of no use to anybody, and there is much of it ')\n    "
    lab, _, run = run_with(GOOD.replace("    if not", f"    {prints}open('p', 'w').close()\n    if not", 1))
    run.finish()
    logs = [path.stat().st_size for path in (lab.data_dir / "log").glob("trainer-*.log*")]
    assert logs and max(logs) <= LOG_BYTES_MAX, logs
    lab.remove()


def test_one_that_leaves_early_is_quoted():
    fails_with("exit code 0, and its run was not done; it said: enough", TRAINS.format("print('enough'); sys.exit()"), mended=GOOD)


def test_one_that_passes_a_batch_over_is_not_done():
    passes = "for batch in session:\n    if session.task.learns and batch.number == 3:\n        break\nopen('model', 'w').close()\nsession.finish('model')\n"
    fails_with("weir.Invalid: final commit: 7 of 10 batches are not consumed", passes, mended=GOOD)


def running(program):
    """True while a process runs this file."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(program).encode() in path.read_bytes().split(b"\0"):
                return True
    return False


FORKS = """\
for batch in session:
    if batch.number == 0:
        child = os.fork()
        if child == 0:
            try:
                next(session)
            except weir.Unsupported as error:
                print("in the child:", error, flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        if os.fork() == 0:
            os.setsid()
            time.sleep(3600)  # stays behind
    if not session.task.learns:
        session.output(batch, 'predictions', [[0.5]] * len(batch))
model = 'model' if session.task.learns else None
open('model', 'w').close()
session.finish(model)
"""


def test_one_that_forks_goes_on_alone():
    lab, _, run = run_with(FORKS)
    run.finish()
    assert "in the child: " in said(run) and "a forked child cannot use it" in said(run), said(run)
    await_that(lambda: not running(lab.programs / "bad.py"), lambda: "children stay behind")
    lab.remove()


def test_one_that_says_it_is_done_before_it_is():
    fails_with("weir.Invalid: final commit: 10 of 10 batches are not consumed", TRAINS.format("open('model', 'w').close(); session.finish('model')"))


def test_numbers_that_are_none_are_refused():
    fails_with("weir.Invalid: .*nan", TRAINS.format("session.metric('loss', float('nan'))"))
    fails_with("finish: the loss is nan, expected a number", TRAINS.format("pass").replace("('model')\n", "('model', float('nan'))\n"))


def test_predictions_that_are_no_numbers_are_counted():
    lab, _, run = run_with(EVALUATES.format("session.output(batch, 'predictions', [[float('nan' if i < 2 else 'inf' if i < 3 else '0.5')] for i in range(len(batch))])"))
    run.finish()
    found = {event["value"] for event in run.of("evaluation") if event["metric"] == "roc_auc"}
    assert found == {"undefined"}, run.of("evaluation")
    said_so = re.search(r'outputs are nan or infinite" mode=evaluate samples=(\d+) of=(\d+)', lab.weir("logs", "lab", "--output"))
    assert said_so is not None and 3 <= int(said_so[1]) < int(said_so[2]), said(run)
    lab.remove()


def test_outputs_of_the_wrong_shape_are_refused():
    fails_with("found 2 dimensions with 3 rows, expected one or two with a row for each of the 8 samples", EVALUATES.format("session.output(batch, 'predictions', [[0.5]] * 3)"), mended=GOOD)
    fails_with("outputs: found those of 0 samples, expected", EVALUATES.format("pass"))


def test_commits_that_were_not_made_are_refused():
    fails_with("position: 9 bytes, expected at least 64", TRAINS.format("session.step(); session.commit(b'all of it')"))
    forged = "state = bytearray(session.state()); state[-9] ^= 255; session.commit(bytes(state))"
    fails_with("weir.Invalid: .*state", TRAINS.format("session.step(); " + forged))


def test_a_state_before_the_batch_is_in_the_weights_is_refused():
    fails_with("weir.Invalid: state: not consumed yet: batch 0: say step", TRAINS.format("session.state()"))


def in_the_midst(lab, *words):
    """A platform and a training that waits: its process, where it runs, and the ids of the batch that it has."""
    system = lab.system(sys.executable, lab.programs / "erased.py", *words, modes="modes: [train, evaluate]")
    server = serve(lab, "--system", system)
    lab.weir("submit", str(lab.pipeline))
    midst = await_that(lambda: next(lab.data_dir.glob("runs/*/midst"), None), lambda: logs(lab.data_dir))
    return server, midst.parent, midst.read_text().split()


def seen(lab):
    """Of each batch that a program has been handed: attempt and ids, in order."""
    path = lab.data_dir / "log/trainer-1.log"
    return [(int(words[1]), words[3:]) for words in map(str.split, path.read_text().splitlines()) if words[:1] == ["batch"]]


def end(server, lab):
    lab.weir("watch", "lab")
    server.terminate()
    server.communicate(timeout=DEADLINE_S)
    lab.weir("doctor")
    lab.remove()


def test_an_erasure_comes_into_force_while_a_program_trains():
    lab = PythonLab(samples=200, every=200, epochs=2)
    server, run, first = in_the_midst(lab)
    erased = json.loads(lab.weir("erase", "request", "--id", first[0], "--json"))
    await_force(lab, erased["erasure"])
    before = len(seen(lab))
    assert before == 1, seen(lab)
    (run / "go").touch()
    lab.weir("erase", "status", str(erased["erasure"]), "--wait")
    after = seen(lab)[before:]
    assert after and not any(first[0] in ids for _, ids in after), after
    end(server, lab)


def test_one_that_holds_a_batch_for_ever_is_ended_when_an_erasure_waits_for_it():
    lab = PythonLab(samples=200, every=200, epochs=2)
    server, run, first = in_the_midst(lab, "hold")
    erased = json.loads(lab.weir("erase", "request", "--id", first[0], "--json"))
    (run / "go").touch()
    await_force(lab, erased["erasure"])
    told = (lab.data_dir / "log/trainer-1.log").read_text()
    assert "it has held a batch with an erased sample for 5 s: release batches, keep none (the program will be ended)" in told, told
    assert "it has held a batch with an erased sample for 30 s" in told, told
    lab.weir("erase", "status", str(erased["erasure"]), "--wait")
    after = [ids for attempt, ids in seen(lab) if attempt > 1]
    assert after and not any(first[0] in ids for ids in after), after
    end(server, lab)


if __name__ == "__main__":
    run_tests(globals())

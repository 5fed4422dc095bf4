"""One trainer against another: while somebody's run is under way, the program of another run tries to read it, to end it, to take
its place and its batches, and floods the workers that serve both. It gets nothing, and the run makes the model that it makes alone."""

import ctypes
import json
import os
import re
import shutil
import sys
from pathlib import Path

from python_test import OURS, PythonLab
from weirlab import Run, assert_clean_audits, await_that, binaries, logs, outcome, peak_bytes, run_tests, served, victims

MORE_MEMORY_MAX = 64 << 20
ALONE = re.sub(r"evaluation: .*\n", "", OURS.replace("program: loop", "program: first"))
REFUSED = "does not have the token of this run|does not have its token"
# What comes of each message that a trainer may send, said of another run in an invented session, and in none.
HARMLESS = {
    "run_request": f"refused: .*({REFUSED})",
    "run_beat": "stop",
    "run_done": r"refused: .*is done by a later trainer",
    "run_next": "job 0",
    "client_open": f"refused: .*({REFUSED})",
    "client_beat": "superseded [01]",
    "client_commit": "refused: .*attempt 1 is not the current one",
    "credit": "0 batches",
}


def declared(lab, batches):
    """Both programs; the second is told of whom it is after."""
    rival = shutil.copy(binaries().parent / "tests/bin/rival", lab.programs)
    commands = {"first": [lab.programs / "erased.py"], "second": [lab.programs / "rival.py", lab.data_dir, "1", rival]}
    rows = [f"  {name}: {{command: [{', '.join(map(str, [sys.executable, *words]))}], modes: [train], env: {{PYTHONPATH: {lab.programs}}}}}\n"
            for name, words in commands.items()]
    system = lab.folder / "system.yaml"
    system.write_text(f"trainers: 2\n{batches}programs:\n{''.join(rows)}")
    return system


def await_file(lab, pattern):
    return await_that(lambda: next(lab.data_dir.glob(pattern), None), lambda: logs(lab.data_dir))


def submit(lab, name, *changes):
    file = lab.folder / f"{name}.yaml"
    text = lab.pipeline.read_text().replace("name: lab,", f"name: {name},")
    for before, after in changes:
        text = text.replace(before, after)
    file.write_text(text)
    lab.weir("submit", str(file))


def watched(lab, name):
    told = [json.loads(line) for line in lab.weir("watch", name, "--json").splitlines()]
    assert_clean_audits(told)
    return outcome(told)


def memory(lab):
    """The most that the workers have had, and the CPU time that they have taken."""
    pids, seconds = victims(lab.data_dir, "worker"), 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        seconds += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return max(map(peak_bytes, pids)), seconds


def landlock():
    return ctypes.CDLL(None).syscall(444, 0, 0, 1)


def assert_harmless(said):
    """Each message has had its answer, and it is the harmless one."""
    answers = [line.split(": ", 1) for line in said["messages"] if not line.startswith("flooded")]
    assert {name for name, _ in answers} == set(HARMLESS), said
    for name, answer in answers:
        assert re.match(HARMLESS[name], answer), (name, answer)
    if landlock() < 1:
        print("this kernel has no Landlock: a trainer gets", said["got"])
        return
    allowed = {"signal it"} if landlock() < 6 else set()
    assert set(said["got"]) <= allowed, said["got"]


def against(batches):
    lab = PythonLab(samples=400, every=400, epochs=40, pipeline=ALONE)
    system = declared(lab, batches)
    with served(lab, "--system", str(system)):
        lab.weir("submit", str(lab.pipeline))
        first = await_file(lab, "runs/1/midst").parent
        before, spent = memory(lab)
        submit(lab, "other", ("name: notes", "name: others"), ("program: first", "program: second"))
        said = await_file(lab, "runs/2/said.json")
        assert_harmless(json.loads(said.read_text()))
        (first / "go").touch()
        found = watched(lab, "lab")  # amid the flood
        after, spent_after = memory(lab)
        said.with_name("go").touch()
        assert watched(lab, "other")[1].keys() >= {"checksum"}
    assert found == expected(lab, system), found
    print(f"workers had {before >> 20} MiB, and amid the flood {after >> 20} MiB and {spent_after - spent:.1f} s of CPU", flush=True)
    assert after < before + MORE_MEMORY_MAX, (before, after)
    lab.remove()


def expected(lab, system):
    """The first run, alone."""
    run = Run(lab.pipeline, lab.folder / "alone", system)
    lab.data_dir = run.data_dir
    (await_file(lab, "runs/1/midst").parent / "go").touch()
    return outcome(run.finish().events)


def test_a_run_is_out_of_reach_of_another_one():
    against("")


def test_nor_do_keys_that_both_have_help_where_batches_go_over_tcp():
    against('batches: {listen: "tcp://127.0.0.1:*"}\n')


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

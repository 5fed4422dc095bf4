"""Programs of the user are locked out of what is Weir's: its keys, its database, other runs."""

import ctypes
import json
import os
import sys
from pathlib import Path

from weirlab import PIPELINE, Lab, Run, assert_clean_audits, everyone_may_enter, logs, run_tests, with_trainer

# Tries everything that a program of the user has no business with; writes what it got.
HOSTILE = r'''
import json, os, socket, sys
data, out, skip, parent = sys.argv[1:5]
got = []
def attempt(name, act):
    try:
        act()
        got.append(name)
    except OSError:
        pass
for name in ("secret", "receipt.key", "lock", "postgres/PG_VERSION", "log/storage.log"):
    attempt("read " + name, lambda: open(os.path.join(data, name), "rb").read(1))
    attempt("change " + name, lambda: open(os.path.join(data, name), "ab"))
for name in (".", "runs", "models", "storage", "run", "sets"):
    attempt("list " + name, lambda: os.listdir(os.path.join(data, name)))
attempt("read another run", lambda: os.listdir(os.path.join(data, "runs", "1")) if skip != "1" else os.stat("/nowhere"))
attempt("write a file", lambda: open(os.path.join(data, "runs", "mine"), "wb"))
attempt("link a key", lambda: os.link(os.path.join(data, "receipt.key"), os.path.join(data, "runs", skip, "model")))
def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
attempt("reach postgres", lambda: connect(os.path.join(data, "run/db/.s.PGSQL.5432")))
if skip == "0":
    attempt("reach storage", lambda: connect(os.path.join(data, "run/storage.sock")))
    attempt("make a socket", lambda: socket.socket(socket.AF_INET))
    attempt("see secrets", lambda: os.stat("/" if any("PASS" in k or "SECRET" in k for k in os.environ) else "/nowhere"))
attempt("signal a process of Weir", lambda: os.kill(int(parent), 0))
attempt("read its memory", lambda: open(f"/proc/{parent}/mem", "rb"))
with open(out, "a") as file:
    file.write(json.dumps(got) + "\n")
'''

EXAMPLE = Path(__file__).parents[2] / "docs/guides/programs/text_numbers.py"
OPERATORS = """\
    - {{op: json_text, field: text}}
    - {{op: exec, program: numbers, name: numbers, makes: dense, type: f32, width: 3}}
    - {{op: standardize}}
"""
FIRST, LAST = PIPELINE.index("    - {{op: json_text"), PIPELINE.index("  batch:")
WITH_PROGRAM = (PIPELINE[:FIRST] + OPERATORS + PIPELINE[LAST:]).replace("text_bag", "linear")
TRAINER = """#!/bin/sh
run=none
for word in "$@"; do [ "$last" = --run ] && run=$word; [ "$last" = --data-dir ] && data=$word; last=$word; done
[ $run = none ] || /usr/bin/python3 {folder}/hostile.py "$data" {folder}/got "$run" $PPID
exec {real} "$@"
"""


def landlock():
    return ctypes.CDLL(None).syscall(444, 0, 0, 1) > 0


def test_a_trainer_reaches_nothing_but_its_run():
    lab = Lab(samples=400, every=200, epochs=1)
    real = os.environ["WEIR_BIN_DIR"]
    folder = with_trainer(lab, TRAINER)
    (folder / "hostile.py").write_text(HOSTILE)
    (folder / "got").touch()
    os.chmod(folder / "got", 0o666)
    run = lab.run().finish()
    os.environ["WEIR_BIN_DIR"] = real
    assert_clean_audits(run.events)
    tries = [json.loads(line) for line in (folder / "got").read_text().splitlines()]
    assert len(tries) >= 2, logs(lab.data_dir)
    got = sorted({name for one in tries for name in one})
    if not landlock():
        print("skipped the rest: this kernel has no Landlock; a trainer gets", got)
        return
    allowed = {"reach postgres"} if "can reach the socket of Postgres" in "".join(run.stderr) else set()
    assert set(got) <= allowed, got
    lab.remove()


def test_a_program_of_an_operator_reaches_nothing():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=WITH_PROGRAM)
    everyone_may_enter(lab.folder)
    (lab.folder / "hostile.py").write_text(HOSTILE)
    (lab.folder / "got").touch()
    os.chmod(lab.folder / "got", 0o666)
    begin = (f"import os, runpy, subprocess, sys\n"
             f"subprocess.run([sys.executable, {str(lab.folder / 'hostile.py')!r}, {str(lab.data_dir)!r}, "
             f"{str(lab.folder / 'got')!r}, '0', str(os.getppid())])\nrunpy.run_path({str(EXAMPLE)!r})\n")
    (lab.folder / "begin.py").write_text(begin)
    system = lab.folder / "system.yaml"
    system.write_text(f"programs: {{numbers: {{command: [/usr/bin/python3, {lab.folder / 'begin.py'}]}}}}\n")
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    assert_clean_audits(run.events)
    tries = [json.loads(line) for line in (lab.folder / "got").read_text().splitlines()]
    assert tries, logs(lab.data_dir)
    got = sorted({name for one in tries for name in one})
    if landlock():
        assert not got, got
    else:  # what needs none
        print("this kernel has no Landlock: a program gets", got)
        assert not {"reach postgres", "reach storage", "make a socket", "see secrets"} & set(got), got
    lab.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

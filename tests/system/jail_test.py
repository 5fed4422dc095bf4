"""Programs of the user are locked out of what is Weir's: its keys, its database, other runs."""

import ctypes
import json
import os
import shutil
import sys
from pathlib import Path

from weirlab import PIPELINE, Lab, Run, assert_clean_audits, everyone_may_enter, faulty, logs, run_tests, with_trainer

# Tries everything that a program of the user has no business with; writes what it got.
HOSTILE = r'''
import ctypes, json, os, socket, subprocess, sys
data, out, skip, parent = sys.argv[1:5]
sender = os.path.join(os.path.dirname(out), "sender")
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
for name in (".", "runs", "models", "storage", "run", "sets", "keys", "slurm"):
    attempt("list " + name, lambda: os.listdir(os.path.join(data, name)))
attempt("read another run", lambda: os.listdir(os.path.join(data, "runs", "1")) if skip != "1" else os.stat("/nowhere"))
attempt("write a file", lambda: open(os.path.join(data, "runs", "mine"), "wb"))
attempt("link a key", lambda: os.link(os.path.join(data, "receipt.key"), os.path.join(data, "runs", skip, "model")))
def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
attempt("reach postgres", lambda: connect(os.path.join(data, "run/db/.s.PGSQL.5432")))
for name in ("storage", "selector", "dispatcher", "orchestrator", "worker-1", "worker-2"):
    for path in (f"run/{name}.sock", f"run/trainer/{name}.sock"):
        attempt("reach " + path, lambda: connect(os.path.join(data, path)))
        if "reach " + path in got:
            sent = subprocess.run([sender, "ipc://" + os.path.join(data, path)], stdout=subprocess.PIPE, check=True, text=True)
            got += [f"send {message} to {path}" for message in sent.stdout.split()]
for family in ("INET", "INET6", "NETLINK", "VSOCK"):
    attempt(f"make a socket of {family}", lambda: socket.socket(getattr(socket, "AF_" + family), socket.SOCK_DGRAM))
if skip == "0":
    attempt("make a socket", lambda: socket.socket(socket.AF_UNIX))
    attempt("see secrets", lambda: os.stat("/" if any("PASS" in k or "SECRET" in k for k in os.environ) else "/nowhere"))
attempt("signal a process of Weir", lambda: os.kill(int(parent), 0))
attempt("read its memory", lambda: open(f"/proc/{parent}/mem", "rb"))
for pid in set(filter(str.isdigit, os.listdir("/proc"))) - {str(os.getpid()), str(os.getppid())}:
    attempt("see the root of another process", lambda: os.stat(f"/proc/{pid}/root/."))
    attempt("read the token of another process", lambda: open(f"/proc/{pid}/environ", "rb").read(1))
    attempt("see the mounts of another process", lambda: open(f"/proc/{pid}/ns/mnt"))
def uncover():
    libc, run = ctypes.CDLL(None), os.path.join(data, "run").encode()
    libc.unshare(0x10000000 | 0x20000)  # a user namespace with mounts of its own
    if libc.umount2(run, 2) != 0 and libc.mount(b"/", run, None, 4096, None) != 0:
        raise PermissionError
attempt("uncover the sockets", uncover)
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
WITH_PROGRAM = (PIPELINE[:FIRST] + OPERATORS + PIPELINE[LAST:]).replace("{{name: text_bag, buckets: 4096}}", "linear")
TRAINER = """#!/bin/sh
run=none
for word in "$@"; do [ "$last" = --run ] && run=$word; [ "$last" = --data-dir ] && data=$word; last=$word; done
[ $run = none ] || /usr/bin/python3 {folder}/hostile.py "$data" {folder}/got "$run" $PPID
exec {real} "$@"
"""


# All that a trainer may send, by who serves it.
OWN = {"storage": {"hold", "hold_end"}, "dispatcher": {"client_open", "client_beat", "client_commit"},
       "orchestrator": {"run_request", "run_beat", "run_done", "run_next"}, "worker-1": {"credit"}, "worker-2": {"credit"}}
OWN = {name: messages | {"health"} for name, messages in OWN.items()}
ALLOWED = {f"reach run/trainer/{name}.sock" for name in OWN} | {
    f"send {message} to run/trainer/{name}.sock" for name, messages in OWN.items() for message in messages}
REACHES_ALL = "trainers can reach all sockets of the platform"
SIGNALS = "programs of the user can signal the processes of the platform"


def landlock():
    return ctypes.CDLL(None).syscall(444, 0, 0, 1) > 0


def hostile_run(system=None):
    """What the processes of a run whose trainers try everything say, and what these got. They train all the same."""
    lab = Lab(samples=400, every=200, epochs=1, pipeline=PIPELINE.replace("training: {{", "training: {{keep_warm: 0s, "))
    real = os.environ["WEIR_BIN_DIR"]
    folder = with_trainer(lab, TRAINER)
    (folder / "hostile.py").write_text(HOSTILE)
    shutil.copy(Path(os.environ["WEIR_TEST_BIN_DIR"]) / "sender", folder)
    (folder / "got").touch()
    os.chmod(folder / "got", 0o666)
    if system:
        (lab.folder / "system.yaml").write_text(system)
    run = Run(lab.pipeline, lab.data_dir, lab.folder / "system.yaml" if system else None).finish()
    os.environ["WEIR_BIN_DIR"] = real
    assert_clean_audits(run.events)
    tries = [json.loads(line) for line in (folder / "got").read_text().splitlines()]
    assert len(tries) >= 2, logs(lab.data_dir)
    said = {"orchestrator": "".join(run.stderr)} | {path.stem: path.read_text() for path in lab.data_dir.glob("log/*.log")}
    lab.remove()
    return said, {name for one in tries for name in one}


def test_a_trainer_reaches_nothing_but_its_run_and_what_serves_it():
    said, got = hostile_run()
    if not landlock():
        print("skipped the rest: this kernel has no Landlock; a trainer gets", sorted(got))
        return
    reaches_all = REACHES_ALL in said["orchestrator"]
    more = {name for name in got - ALLOWED if not (reaches_all and ("run/" in name or name == "reach postgres"))}
    assert not more, sorted(more)
    assert ALLOWED <= got, sorted(ALLOWED - got)
    assert all("message=wipe role=trainer" in said[name] for name in OWN), said


def test_what_a_kernel_lacks_is_said_and_the_rest_of_the_jail_holds():
    if not landlock():
        return
    with faulty("jail.hide=1,jail.signals=1"):
        said, got = hostile_run()
    assert REACHES_ALL in said["orchestrator"] and SIGNALS in said["orchestrator"], said
    more = {name for name in got - ALLOWED if "run/" not in name}
    assert more == {"reach postgres"}, sorted(more)
    assert {"reach run/storage.sock", "send erase_accept to run/storage.sock"} <= got, sorted(got)


def test_a_trainer_has_other_sockets_where_batches_go_over_tcp():
    _, got = hostile_run('batches: {listen: "tcp://127.0.0.1:*"}\n')
    assert "make a socket of INET" in got, sorted(got)


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

"""A program of the user in a pipeline: the example of the guide makes tensors that a model is trained on; the pipeline of
somebody who names a program that is not allowed is refused with its place; a text that the program dies of costs itself,
not the run; when workers are killed, no process of it is left; and one that always fails is named when nothing is left to
fit on."""

import os
import subprocess
from pathlib import Path

from weirlab import Lab, Run, assert_clean_audits, await_that, binaries, everyone_may_enter

EXAMPLE = Path(__file__).parents[2] / "docs/guides/programs/text_numbers.py"
OPERATORS = """\
    - {op: json_text, field: text}
    - {op: exec, program: numbers, name: numbers, makes: dense, type: f32, width: 3}
    - {op: standardize}
  batch:"""
# leaves a daemon with a session of its own; a file is named after each process that there was
DAEMON = """\
import os, runpy, time
def note(): open("%s/" + str(os.getpid()), "w").close()
note()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note()
        time.sleep(1000)
    os._exit(0)
os.wait()
runpy.run_path(%r)
"""
# dies of one text, as many times as it is given it
FRAGILE = """\
import os, runpy, sys
class Guarded:
    def __init__(self, pipe): self.pipe = pipe
    def read(self, size):
        data = self.pipe.read(size)
        if b"#217" in data: os._exit(7)
        return data
sys.stdin = type("Input", (), {"buffer": Guarded(sys.stdin.buffer)})()
runpy.run_path(%r)
"""


def write(path, text):
    path.write_text(text)
    path.chmod(0o644)
    return path


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def kill_workers(run, pids):
    """While their programs run, each with its daemon."""
    await_that(lambda: len(os.listdir(pids)) >= 2 or run.process.poll() is not None)
    hit = [run.kill(name) for name in ("worker-1", "worker-2")]
    assert any(hit), "the run was over before"


def main():
    lab = Lab(samples=600, every=300, epochs=1)
    programs = lab.folder / "programs"
    (programs / "pids").mkdir(parents=True)
    everyone_may_enter(programs)
    (programs / "pids").chmod(0o777)
    example = write(programs / "text_numbers.py", EXAMPLE.read_text())
    fragile = write(programs / "fragile.py", FRAGILE % str(example))
    daemon = write(programs / "daemon.py", DAEMON % (programs / "pids", str(example)))
    system = write(lab.folder / "system.yaml", f"programs:\n  numbers: {{command: [/usr/bin/python3, {daemon}]}}\n")
    text = lab.pipeline.read_text()
    first, last = text.index("    - {op: json_text"), text.index("  batch:")
    lab.pipeline.write_text((text[:first] + OPERATORS + text[last + len("  batch:"):]).replace("{name: text_bag, buckets: 4096}", "linear"))

    refused = subprocess.run(
        [binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.folder / "refused"], capture_output=True, text=True)
    assert refused.returncode == 2, refused
    assert "lab.yaml:" in refused.stderr and "program 'numbers' is not allowed" in refused.stderr, refused.stderr
    print("not allowed:", refused.stderr.strip())

    whole = Run(lab.pipeline, lab.folder / "whole", system)
    kill_workers(whole, programs / "pids")
    whole.finish()
    assert_clean_audits(whole.events)
    audits = [event["audit"] for event in whole.of("training_finished")]
    assert audits and all(audit["delivered"] == audit["set"] for audit in audits), audits
    pids = os.listdir(programs / "pids")
    await_that(lambda: not any(is_alive(pid) for pid in pids))
    print(f"allowed: {len(audits)} trainings, every sample delivered, workers killed; none of {len(pids)} processes is left")

    system = write(lab.folder / "fragile.yaml", f"programs:\n  numbers: {{command: [/usr/bin/python3, {fragile}]}}\n")
    fragile_run = Run(lab.pipeline, lab.folder / "fragile", system).finish()
    assert_clean_audits(fragile_run.events)
    failed = [event["audit"]["failed"] for event in fragile_run.of("training_finished")]
    assert max(failed) == 1 and min(failed) >= 0, failed
    print("one text that it dies of: failed", failed)

    broken = write(programs / "broken.py", "import sys\nsys.exit('no lexicon here')\n")
    system = write(lab.folder / "broken.yaml", f"programs:\n  numbers: {{command: [/usr/bin/python3, {broken}]}}\n")
    failed = subprocess.run(
        [binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.folder / "broken", "--system", system], capture_output=True, text=True)
    lines = [line for line in (failed.stdout + failed.stderr).splitlines() if "no number to fit on" in line]
    assert failed.returncode != 0 and lines, failed
    assert all("program numbers: it ended with exit code 1: no lexicon here" in line for line in lines), failed
    print("a program that always fails:", lines[-1].strip())
    lab.remove()


main()

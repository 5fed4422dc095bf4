"""A program of the user in a pipeline: the example of the guide makes tensors that a model is trained on; the pipeline of
somebody who names a program that is not allowed is refused with its place; a text that the program dies of costs itself,
not the run."""

import subprocess
from pathlib import Path

from weirlab import Lab, Run, assert_clean_audits, binaries, everyone_may_enter

EXAMPLE = Path(__file__).parents[2] / "docs/guides/programs/text_numbers.py"
OPERATORS = """\
    - {op: json_text, field: text}
    - {op: exec, program: numbers, name: numbers, makes: dense, type: f32, width: 3}
    - {op: standardize}
  batch:"""
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


def main():
    lab = Lab(samples=600, every=300, epochs=1)
    programs = lab.folder / "programs"
    programs.mkdir()
    everyone_may_enter(programs)
    example = write(programs / "text_numbers.py", EXAMPLE.read_text())
    fragile = write(programs / "fragile.py", FRAGILE % str(example))
    system = write(lab.folder / "system.yaml", f"programs:\n  numbers: {{command: [/usr/bin/python3, {example}]}}\n")
    text = lab.pipeline.read_text()
    first, last = text.index("    - {op: json_text"), text.index("  batch:")
    lab.pipeline.write_text((text[:first] + OPERATORS + text[last + len("  batch:"):]).replace("text_bag", "linear"))

    refused = subprocess.run(
        [binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.folder / "refused"], capture_output=True, text=True)
    assert refused.returncode == 2, refused
    assert "lab.yaml:" in refused.stderr and "program 'numbers' is not allowed" in refused.stderr, refused.stderr
    print("not allowed:", refused.stderr.strip())

    whole = Run(lab.pipeline, lab.folder / "whole", system).finish()
    assert_clean_audits(whole.events)
    audits = [event["audit"] for event in whole.of("training_finished")]
    assert audits and all(audit["delivered"] == audit["set"] for audit in audits), audits
    print(f"allowed: {len(audits)} trainings, every sample delivered")

    system = write(lab.folder / "fragile.yaml", f"programs:\n  numbers: {{command: [/usr/bin/python3, {fragile}]}}\n")
    fragile_run = Run(lab.pipeline, lab.folder / "fragile", system).finish()
    assert_clean_audits(fragile_run.events)
    failed = [event["audit"]["failed"] for event in fragile_run.of("training_finished")]
    assert max(failed) == 1 and min(failed) >= 0, failed
    print("one text that it dies of: failed", failed)
    lab.remove()


main()

"""Postgres stands still in the middle of a training: batches that are on their way come meanwhile, and then the rest; nobody is
taken for dead, and everything is committed once.

usage: stopped_postgres_test.py [BATCHES THAT ARE TO COME MEANWHILE]
"""

import shutil
import sys
from pathlib import Path

from weirlab import Lab, Run, assert_clean_audits, await_that, binaries, everyone_may_write, run_tests, starts, stopped, victims

STEP_MS = 10
MORE = int(sys.argv[1]) if len(sys.argv) > 1 else 300  # while Postgres stands still: for longer than any lease lasts
SAMPLES = 400
EPOCHS = 1 + MORE // 300
PIPELINE = """\
pipeline: {{name: still, mode: replay}}
datasets:
  - name: still
    source: {{path: {data}, format: jsonl, include: "*.jsonl", import: reference}}
    time:   {{from: field, field: ts}}
    label:  {{field: label, classes: [work, spam]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators: [{{op: json_text, field: text}}, {{op: tokenize_words, max_tokens: 50}}, {{op: tokenize_hash, buckets: 64}}]
  batch: {{samples: 1, group: 1}}
training: {{program: slow, epochs: {epochs}, seed: 1}}
"""


def begin(lab):
    """A training, and the file that grows by a byte with each batch."""
    taken, system = lab.folder / "taken" / "batches", lab.folder / "system.yaml"
    taken.parent.mkdir()
    taken.touch()
    everyone_may_write(taken.parent)
    shutil.copy(binaries().parent / "tests/bin/slow_loop", lab.folder)
    system.write_text(f"workers: 1\nprograms:\n  slow: {{command: [{lab.folder}/slow_loop, '{STEP_MS}', {taken}], modes: [train]}}\n")
    return Run(lab.pipeline, lab.data_dir, system), taken


def servers(lab):
    """The processes of Postgres: the one that starts the others comes first."""
    (first,) = victims(lab.data_dir, "postgres")
    return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


def test_batches_come_and_are_committed_once():
    lab = Lab(samples=SAMPLES, every=SAMPLES, epochs=EPOCHS, pipeline=PIPELINE)
    run, taken = begin(lab)

    def batches():
        return taken.stat().st_size
    await_that(lambda: batches() >= 100, pause_s=0.01)
    with stopped(servers(lab)):
        before = batches()
        await_that(lambda: batches() >= before + MORE, lambda: f"{batches() - before} batches came", pause_s=0.02)
    run.finish()
    assert_clean_audits(run.events)
    (training,) = run.of("training_finished")
    assert training["audit"]["replayed"] == 0 and batches() == EPOCHS * SAMPLES, (training, batches())
    assert starts(lab.data_dir, "dispatcher") == starts(lab.data_dir, "worker-1") == 1
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

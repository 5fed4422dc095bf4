"""The last operators run in workers or in trainers, and nothing else changes by it: the same batches, models, scores and predictions,
by whichever way batches come, whoever dies meanwhile. What was chosen, and why, is told."""

import os
import random
import re
from pathlib import Path

from weirlab import Lab, Run, TrainerHunt, assert_clean_audits, outcome, run_tests, served, write_pictures

PICTURES = """\
pipeline: {{name: pictures, mode: replay}}
datasets:
  - name: pictures
    source: {{path: {data}, format: files, include: "*.jpg", import: reference}}
    time:   {{from: mtime}}
    label:  {{from: folder, classes: stream}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: coreset, ratio: 0.5, score: [{{method: rs2}}, {{method: loss, from_trigger: 2}}], seed: 7}}
preprocess:
  operators:
    - {{op: decode_jpeg}}
    - {{op: resize, size: [24, 32]}}
    - {{op: flip}}
    - {{op: normalize, mean: [0.4, 0.5, 0.6], std: 0.3}}
    - {{op: to_chw}}
  batch: {{samples: 8}}
  on_error: {{skip: 50%}}
  plan: {{place: PLACE}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, digests: true, checkpoint: {{every: 100ms}}}}
evaluation: [{{name: later, on: new, strategy: slicing, every: 1d, metrics: [accuracy]}}]
"""

NUMBERS = """\
pipeline: {{name: numbers, mode: replay}}
datasets:
  - name: numbers
    source: {{path: {data}, format: csv, include: "*.csv", header: true, import: reference}}
    time:   {{from: field, field: time, pattern: "%Y-%m-%d"}}
    label:  {{field: label, classes: ["0", "1"]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: csv_fields, fields: [x], as: x}}
    - {{op: csv_fields, fields: [kind], as: kind}}
    - {{op: csv_text, field: text, as: words}}
    - {{op: tokenize_words, on: words, as: words}}
    - {{op: tokenize_hash, on: words, buckets: 1000, as: words}}
    - {{op: filter, on: x, max: 60}}
    - {{op: cast, on: kind, to: u8}}
    - {{op: pad, on: words, length: 9, value: "-1"}}
    - {{op: one_hot, on: kind, classes: 7}}
    - {{op: cast, on: words, to: f32}}
    - {{op: cast, on: x, to: f64}}
    - {{op: cast, on: x, to: f32}}
  batch: {{samples: 64}}
  plan: {{place: PLACE}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, digests: true}}
"""
EVERY, EPOCHS = 40, 60
GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/place-of-operators.md"
TCP = 'batches: {listen: "tcp://127.0.0.1:*"}\n'
LZ4 = 'batches: {listen: "tcp://127.0.0.1:*", compress: lz4}\n'


def pictures(place, epochs=EPOCHS):
    lab = Lab(samples=1, every=EVERY, epochs=epochs, pipeline=PICTURES.replace("PLACE", place))
    for path in write_pictures(lab, 2 * EVERY, every_s=6 * 3600)[5::13]:
        about = path.stat()
        os.truncate(path, about.st_size // 2)  # it fails, and is a hole
        os.utime(path, (about.st_mtime,) * 2)
    return lab


def numbers(place):
    lab = Lab(samples=1, every=2000, epochs=2, pipeline=NUMBERS.replace("PLACE", place))
    for path in lab.folder.glob("stream/*"):
        path.unlink()
    draw = random.Random(7)
    words = ["".join(draw.choice("aeioubcdfg") for _ in range(draw.randint(2, 9))) for _ in range(300)]
    with open(lab.folder / "stream/rows.csv", "w") as rows:
        rows.write("time,x,kind,text,label\n")
        for i in range(4000):
            text = " ".join(draw.choices(words, k=draw.randint(0, 14)))
            rows.write(f"2020-01-{1 + i // 200:02},{draw.uniform(0, 99):.3f},{draw.randint(0, 8)},{text},{i % 2}\n")
    return lab


def run_there(lab, system=None, kills=None):
    """Returns the run of a pipeline, by the way that `system` says."""
    if system is not None:
        (lab.folder / "system.yaml").write_text(system)
        system = lab.folder / "system.yaml"
    run = Run(lab.pipeline, lab.data_dir, system, "--explain")
    if kills is not None:
        hunt = TrainerHunt(run, kills, behind="checkpoint")
        run.wait_until(lambda: run.of("training_finished"))
        run.kill("worker-1")
    run.finish()
    assert_clean_audits(run.events)
    assert kills is None or hunt.killed, "no trainer was killed behind a checkpoint"
    return run


def digests(run):
    """Of all batches of each training, and of each evaluation."""
    audits = [(e["audit"]["digests"], e["audit"]["digest"]) for e in run.of("training_finished")]
    return audits, sorted(e["digest"] for e in run.of("evaluation") if "digest" in e)


def predictions(lab, pipeline):
    with served(lab, *(["--system", str(lab.folder / "system.yaml")] if (lab.folder / "system.yaml").exists() else [])):
        return lab.weir("predict", "--pipeline", pipeline, "--limit", "9", "--json")


def places(run):
    """Operators that trainers ran in the last training, and all of its plan."""
    plan = run.of("plan")[-1]
    return [one["operator"] for one in plan["operators"] if one["place"] == "trainer"], plan["place"]


def without_numbers(text):
    return {re.sub(r"[0-9]+", "N", line) for line in text.splitlines() if re.match("trainers run|a row is|pipeline pictures", line)}


def test_pictures_are_finished_in_workers_or_in_trainers():
    pool = pictures("pool")
    expected = run_there(pool)
    assert len(set(digests(expected)[0])) == 2 and digests(expected)[1], expected.events
    said = predictions(pool, "pictures")
    for system, dies in ((None, False), (TCP, True), (LZ4, False)):
        host = pictures("host")
        numbers = [e["run"] for e in expected.of("training_finished")] if dies else None
        run = run_there(host, system, numbers)
        assert digests(run) == digests(expected), (system, digests(run), digests(expected))
        assert outcome(run.events) == outcome(expected.events), system
        assert predictions(host, "pictures") == said, system
        told, place = places(run)
        assert told == ["normalize", "to_chw"] and place["state"] == "host", place
        assert place["trainer_cpu_seconds"] > 0 or dies, place
        host.remove()
    told, place = places(expected)
    assert not told and place["trainer_cpu_seconds"] == 0 and "plan.place says pool" in pool.weir("plan"), place
    pool.remove()


def test_trainers_run_the_last_operators_where_that_pays():
    expected, chosen = run_there(pool := pictures("pool", 240)), pictures("auto", 240)
    local = run_there(chosen)
    assert digests(local) == digests(expected) and not local.of("plan_changed"), local.of("plan_changed")
    assert places(local)[1]["state"] == "local", places(local)
    chosen.weir("rerun", "pictures")
    run = run_there(chosen, LZ4)
    events = [e["in_trainers"] for e in run.of("plan_changed") if e["in_trainers"]]
    assert events and events[0] == ["normalize", "to_chw"], run.of("plan")
    chosen.weir("rerun", "pictures")  # the choice is kept: from its first batch
    again = run_there(chosen, LZ4)
    told, place = places(again)
    assert told and place["state"] == "pays" and place["saved_ns"] > place["trainer_ns"], place
    page = chosen.weir("plan")
    assert place["trainer_cpu_seconds"] > 0 and "a row is 6912 bytes shorter" in page, place
    assert without_numbers(page) == without_numbers(GUIDE.read_text()), page
    for one in (run, again):
        assert digests(one)[0][-2:] == digests(expected)[0], (digests(one), digests(expected))
    chosen.remove()
    pool.remove()


def test_numbers_are_finished_in_workers_or_in_trainers():
    pool, host = numbers("pool"), numbers("host")
    expected, run = run_there(pool), run_there(host, LZ4)
    assert digests(run) == digests(expected), (digests(run), digests(expected))
    assert outcome(run.events) == outcome(expected.events)
    pool.remove()
    host.remove()


if __name__ == "__main__":
    run_tests(globals())

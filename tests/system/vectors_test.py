"""Labels that are vectors, end to end: y = A x + b lies in records, and the linear model that was trained says so; how well, by
dataset and by user, is what its predictions say."""

import json
import math
import random
import struct

from weirlab import Lab, assert_clean_audits, outcome

PIPELINE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: points
    source: {{path: {data}-points, format: binary, include: "*.bin", record_bytes: 32}}
    time:   {{from: field, offset: 0, type: i64, unit: s}}
    label:  {{offset: 20, values: [f32, 2]}}
  - name: others
    source: {{path: {data}-others, format: binary, include: "*.bin", record_bytes: 32}}
    time:   {{from: field, offset: 0, type: i64, unit: s}}
    label:  {{offset: 20, values: [f32, 2]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, seed: 7}}
preprocess:
  operators:
    - {{op: record_fields, dense: [8, 3, f32], sparse: [28, 1, i32]}}
  batch: {{samples: 16, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{model: linear, loss: squared, epochs: {epochs}, seed: 1, start_from: previous,
           optimizer: {{name: sgd, lr: 0.1}}, group: sparse, slices: [sparse]}}
evaluation:
  - {{name: both, strategy: static, intervals: [{{from: 2001-09-09, to: 2001-09-11}}], models: matrix,
      when: after_pipeline, metrics: [r2]}}
  - {{name: some, on: others, strategy: static, intervals: [{{from: 2001-09-09, to: 2001-09-11}}], models: matrix,
      when: after_pipeline, metrics: [mae, {{name: rmse, by: group}}, {{name: rmse, by: sparse}}]}}
"""
A = [[1.5, -2.0, 0.25], [0.0, 3.0, -1.0]]
B = [0.5, -4.0]
POINTS, OTHERS, EVERY, USERS = 600, 60, 330, 3


def write_points(folder, count, seed, noise=0.0):
    """The records, in the order of their ids."""
    draw = random.Random(seed)
    folder.mkdir()
    labels, records = [], []
    for i in range(count):
        x = [draw.uniform(-1, 1) for _ in range(3)]
        y = [sum(a * v for a, v in zip(row, x)) + b + noise * draw.gauss(0, 1) for row, b in zip(A, B)]
        labels.append(y)
        records.append(struct.pack("<q3f2fi", 1_000_000_000 + i * 60, *x, *y, i % USERS))
    (folder / "points.bin").write_bytes(b"".join(records))
    return labels


def assert_measured(run, said, labels):
    """What scikit-learn's rules say of these predictions: the mean over the two numbers of a label."""
    measured = {(e["model"], e["metric"]): e for e in run.of("evaluation") if e["name"] == "some"}
    assert {e["dataset"] for e in measured.values()} == {"others"}, measured
    off = [[v - e for v, e in zip(p["values"], labels[p["id"] & 0xFFFF])] for p in said]
    for by, user in ((by, user) for by in ("group", "sparse") for user in (None, *range(USERS))):
        mine = off if user is None else off[user::USERS]
        name = f"rmse(by={by})" + ("" if user is None else f"[{by}={user}]")
        expected = sum(math.sqrt(sum(o[d] ** 2 for o in mine) / len(mine)) for d in (0, 1)) / 2
        found = measured["lab-2", name]
        assert found["samples"] == len(mine) and math.isclose(found["value"], expected, rel_tol=1e-3), (found, expected)
    mae = sum(abs(v) for o in off for v in o) / len(off) / 2
    assert math.isclose(measured["lab-2", "mae"]["value"], mae, rel_tol=1e-3), (measured, mae)
    assert all(e["value"] > 0.99 for e in run.of("evaluation") if e["metric"] == "r2" and e["model"] == "lab-2")
    assert {e["samples"] for e in run.of("evaluation") if e["name"] == "both"} == {POINTS + OTHERS}


def refusal(lab, before, after):
    """What is said of the pipeline when this is changed."""
    wrong = lab.folder / "wrong.yaml"
    text = lab.pipeline.read_text()
    assert before in text
    wrong.write_text(text.replace(before, after))
    said = lab.weir("config", "check", str(wrong), "--json", expect=2)
    return "\n".join(json.loads(said)["complaints"])


def main():
    lab = Lab(samples=1, every=EVERY, epochs=60, pipeline=PIPELINE)
    labels = write_points(lab.folder / "stream-points", POINTS, 5)
    others = write_points(lab.folder / "stream-others", OTHERS, 6, noise=0.05)
    run = lab.run().finish()
    assert_clean_audits(run.events)
    assert outcome(run.events), run.events
    said = json.loads(lab.weir("predict", "--limit", str(POINTS + OTHERS), "--json"))
    assert len(said["predictions"]) == POINTS + OTHERS, said["samples"]
    assert_measured(run, said["predictions"][POINTS:], others)
    worst = 0.0
    for prediction in said["predictions"][:POINTS]:
        expected = labels[prediction["id"] & 0xFFFF]
        assert len(prediction["values"]) == 2, prediction
        worst = max(worst, *(abs(v - e) for v, e in zip(prediction["values"], expected)))
    assert worst < 1e-3, worst

    refusals = [
        ("loss: squared", "loss: logistic", "expected squared, because labels of dataset 'points' are vectors"),
        ("policy: new_data", "policy: label_balanced", "label_balanced needs labels that are equal or not"),
        ("metrics: [r2]", "metrics: [r2, accuracy]", "expected metrics of numbers (mse, rmse, mae, mape, r2), found accuracy"),
        ("on: others", "on: other", "evaluation.on: unknown dataset 'other' (did you mean others?)"),
        ("values: [f32, 2]", "values: [f32, 0]", "datasets[0].label.values: expected [f32, COUNT] or [f64, COUNT]"),
        ("values: [f32, 2]", "values: [f32, 4]", "label.offset: 20 leaves no room for 4 x f32"),
    ]
    for before, after, expected in refusals:
        said = refusal(lab, before, after)
        assert expected in said, (expected, said)
    print(POINTS, "points of 2 numbers each: no prediction is off by more than", worst)
    lab.remove()


main()

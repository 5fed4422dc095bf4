"""Labels that are vectors, end to end: y = A x + b lies in records, and the linear model that was trained says so."""

import json
import random
import struct

from weirlab import Lab, assert_clean_audits, outcome

PIPELINE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: points
    source: {{path: {data}-points, format: binary, include: "*.bin", record_bytes: 28}}
    time:   {{from: field, offset: 0, type: i64, unit: s}}
    label:  {{offset: 20, values: [f32, 2]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, seed: 7}}
preprocess:
  operators:
    - {{op: record_fields, dense: [8, 3, f32]}}
  batch: {{samples: 16, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{model: linear, loss: squared, epochs: {epochs}, seed: 1, start_from: previous,
           optimizer: {{name: sgd, lr: 0.1}}}}
"""
A = [[1.5, -2.0, 0.25], [0.0, 3.0, -1.0]]
B = [0.5, -4.0]
POINTS, EVERY = 600, 300


def write_points(folder):
    """The records, in the order of their ids."""
    draw = random.Random(5)
    folder.mkdir()
    labels, records = [], []
    for i in range(POINTS):
        x = [draw.uniform(-1, 1) for _ in range(3)]
        y = [sum(a * v for a, v in zip(row, x)) + b for row, b in zip(A, B)]
        labels.append(y)
        records.append(struct.pack("<q3f2f", 1_000_000_000 + i * 60, *x, *y))
    (folder / "points.bin").write_bytes(b"".join(records))
    return labels


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
    labels = write_points(lab.folder / "stream-points")
    run = lab.run().finish()
    assert_clean_audits(run.events)
    assert outcome(run.events), run.events
    said = json.loads(lab.weir("predict", "--limit", str(POINTS), "--json"))
    assert len(said["predictions"]) == POINTS, said["samples"]
    worst = 0.0
    for prediction in said["predictions"]:
        expected = labels[prediction["id"] & 0xFFFF]
        assert len(prediction["values"]) == 2, prediction
        worst = max(worst, *(abs(v - e) for v, e in zip(prediction["values"], expected)))
    assert worst < 1e-3, worst

    refusals = [
        ("loss: squared", "loss: logistic", "expected squared, because labels of dataset 'points' are vectors"),
        ("policy: new_data", "policy: label_balanced", "label_balanced needs labels that are equal or not"),
        ("values: [f32, 2]", "values: [f32, 0]", "datasets[0].label.values: expected [f32, COUNT] or [f64, COUNT]"),
        ("values: [f32, 2]", "values: [f32, 3]", "label.offset: 20 leaves no room for 3 x f32"),
    ]
    for before, after, expected in refusals:
        said = refusal(lab, before, after)
        assert expected in said, (expected, said)
    print(POINTS, "points of 2 numbers each: no prediction is off by more than", worst)
    lab.remove()


main()

"""A selection's weights reach the loss: one step of gradient descent on a weighted set, checked by hand."""

import json
import math
import random
import struct
import time
from pathlib import Path

from weirlab import Lab, assert_clean_audits

RATE, SAMPLES, CHOSEN = 0.5, 400, 60
PIPELINE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: visits
    source: {{path: {data}, format: csv, include: "*.csv", import: copy}}
    time:   {{from: field, field: ts}}
    label:  {{field: bought}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: recency_weighted, half_life: 20s, limit: 60, seed: 3}}
preprocess:
  operators:
    - {{op: csv_fields, columns: [ts, spent, bought], fields: [spent]}}
  batch: {{samples: 4096, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, start_from: scratch,
           optimizer: {{name: sgd, lr: 0.5}}}}
evaluation: []
deletion:  {{policy: keep}}
"""


def write_visits(folder):
    """Later visitors spend more and buy less, so that weights matter. Rows are in the order of their ids."""
    draw, rows = random.Random(5), []
    for i in range(SAMPLES):
        spent = round(draw.gauss(i / SAMPLES, 0.5), 3)
        rows.append((spent, int(draw.random() > i / SAMPLES)))
    lines = [
        f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(1_700_000_000 + i))},{spent},{bought}"
        for i, (spent, bought) in enumerate(rows)
    ]
    for old in folder.iterdir():
        old.unlink()
    (folder / "visits.csv").write_text("ts,spent,bought\n" + "\n".join(lines) + "\n")
    return rows


def read_set(path):
    data = Path(path).read_bytes()
    count, flags = struct.unpack_from("<QI", data, 8)
    assert flags & 1, "the set has no weights"
    ids = struct.unpack_from(f"<{count}Q", data, 64)
    return ids, struct.unpack_from(f"<{count}f", data, 64 + 8 * count)


def one_step(rows, ids, weights):
    """From zero: every output is 0, so the slope of the logistic loss at a sample is 1/2 - label."""
    total = sum(weights)
    slopes = [w / total * (0.5 - rows[i & 0xFFFF][1]) for i, w in zip(ids, weights)]
    return [
        -RATE * sum(slope * rows[i & 0xFFFF][0] for i, slope in zip(ids, slopes)),
        -RATE * sum(slopes),
    ]


def main():
    lab = Lab(samples=3, every=SAMPLES, epochs=1, pipeline=PIPELINE)
    rows = write_visits(lab.folder / "stream")
    run = lab.run().finish()
    assert_clean_audits(run.events)
    (sealed,) = run.of("selection_sealed")
    assert sealed["samples"] == CHOSEN, sealed
    ids, weights = read_set(lab.data_dir / "sets" / f"{sealed['digest']}.set")
    assert max(weights) > 2 * min(weights), weights
    slope, constant = one_step(rows, ids, weights)
    unweighted = one_step(rows, ids, [1.0] * len(ids))
    said = json.loads(lab.weir("predict", "--limit", str(SAMPLES), "--json"))["predictions"]
    assert len(said) == SAMPLES, len(said)
    apart = 0.0
    for one in said:
        spent = rows[one["id"] & 0xFFFF][0]
        expected = slope * spent + constant
        chance = one["values"][0]
        assert math.isclose(math.log(chance / (1 - chance)), expected, abs_tol=1e-5), (one, expected)
        apart = max(apart, abs(unweighted[0] * spent + unweighted[1] - expected))
    assert apart > 1e-3, "weights make no difference here: the test proves nothing"
    print(f"one weighted step: slope {slope:.6f}, constant {constant:.6f}; unweighted {unweighted}")
    lab.remove()


main()

"""Two cells that differ in how fast they learn read the same batches: those are made once, and a comparison tells what that saved."""

import json
import random
import subprocess

from weirlab import DEADLINE_S, HeldTrainers, Lab, served

ROWS, FIRST, CLASSES = 1200, 1000, 1100
PIPELINE = """\
pipeline: {{name: rows, mode: replay}}
datasets:
  - name: rows
    source: {{path: {data}, format: csv, include: "*.csv", header: true, import: reference}}
    time:   {{from: field, field: time, pattern: "%Y-%m-%d"}}
    label:  {{field: label, classes: ["0", "1"]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: csv_fields, fields: [x], as: x}}
    - {{op: cast, on: x, to: i32}}
    - {{op: one_hot, on: x, classes: 1100}}
  batch: {{samples: 64}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1}}
evaluation: [{{name: days, strategy: slicing, every: 1d, models: active, metrics: accuracy}}]
"""
GRID = """\
comparison: rates
base: lab.yaml
axes:
  training:
    slow: {optimizer: {name: adagrad, lr: 0.01}}
    fast: {optimizer: {name: adagrad, lr: 0.5}}
at_once: 2
judge: {evaluation: days, metric: accuracy}
"""


def write_rows(folder):
    draw = random.Random(3)
    with open(folder / "rows.csv", "w") as rows:
        rows.write("time,label,x\n")
        for row in range(ROWS):
            x = draw.randrange(CLASSES)
            rows.write(f"2024-01-{1 + row * 28 // ROWS:02d},{x % 2},{x}\n")


def compare(lab):
    held = HeldTrainers(lab)
    grid, system = lab.folder / "grid.yaml", lab.folder / "system.yaml"
    grid.write_text(GRID)
    system.write_text("trainers: 2\nworkers: 2\n")
    with served(lab, "--system", system):
        command = lab.begin("compare", str(grid), "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        held.let_go(2)
        out, complaints = command.communicate(timeout=DEADLINE_S)
    assert command.returncode == 0, complaints
    return json.loads(out)


def main():
    lab = Lab(samples=1, every=FIRST, epochs=10, pipeline=PIPELINE)
    write_rows(lab.folder / "stream")
    try:
        cells = compare(lab)["cells"]
        found = [cell["reused"]["shared_batches"] for cell in cells]
        assert len(found) == 2 and sum(found) > 0, cells
        alone, spent = (sum(cell["cpu_s"] for cell in cells), sum(cell["reused"]["cpu_s"] for cell in cells))
        assert alone > spent > 0, (alone, spent)
        print(f"{found} batches found made; {alone:.2f} s of processors alone, {spent:.2f} s with reuse")
    finally:
        lab.remove()


main()

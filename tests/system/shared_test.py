"""Two pipelines that differ in name alone, and a third that shares nothing, train side by side: the same batches, sets and models,
whoever has made them; what was shared is told."""

import json
import random
import subprocess

from weirlab import DEADLINE_S, HeldTrainers, Lab, assert_clean_audits, outcome, served

ROWS, EVERY, EPOCHS, CLASSES = 2000, 1000, 20, 1100
PIPELINE = """\
pipeline: {{name: NAME, mode: replay}}
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
  batch: {{samples: 256}}      # of 1.1 MB: those of several runs are mapped, not copied
  plan: PLAN
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, digests: true}}
"""
SHARING = {"one": "{share: auto}", "other": "{}", "alone": "{share: none}"}


def write_rows(folder):
    draw = random.Random(3)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "rows.csv", "w") as rows:
        rows.write("time,label,x\n")
        for row in range(ROWS):
            x = draw.randrange(CLASSES)
            rows.write(f"2024-01-{1 + row * 28 // ROWS:02d},{x % 2},{x}\n")


def submit_all(lab):
    for name, plan in SHARING.items():
        file = lab.folder / f"{name}.yaml"
        file.write_text(lab.pipeline.read_text().replace("NAME", name).replace("PLAN", plan))
        lab.weir("submit", str(file))


def finish(lab):
    watchers = {name: lab.begin("watch", name, "--json", stdout=subprocess.PIPE) for name in SHARING}
    told = {}
    for name, watcher in watchers.items():
        out, _ = watcher.communicate(timeout=DEADLINE_S)
        told[name] = [json.loads(line) for line in out.splitlines()]
        assert watcher.returncode == 0 and told[name][-1]["event"] == "pipeline_finished", (name, told[name][-3:])
    return told


def shared(events):
    return [event for event in events if event["event"] == "batches_shared"]


def main():
    lab = Lab(samples=1, every=EVERY, epochs=EPOCHS, pipeline=PIPELINE)
    write_rows(lab.folder / "stream")
    held = HeldTrainers(lab)
    system = lab.folder / "system.yaml"
    system.write_text(f"trainers: {len(SHARING)}\nworkers: 2\n")
    with served(lab, "--system", str(system)):
        submit_all(lab)
        held.let_go(len(SHARING))
        told = finish(lab)
        plans = {name: json.loads(lab.weir("plan", name, "--json"))["share"] for name in SHARING}
    results = {name: outcome(events) for name, events in told.items()}
    for name, events in told.items():
        assert_clean_audits(events)
        assert results[name] == results["alone"] and len(results[name]) == ROWS // EVERY, results
    found = {name: shared(events) for name, events in told.items()}
    print({name: [event["batches"] for event in events] for name, events in found.items()}, flush=True)
    assert found["alone"] == [] and plans["alone"]["state"] == "none", (found, plans)
    for name in ("one", "other"):
        assert found[name] and all(event["runs"] == 2 for event in found[name]), found
    lab.remove()


main()

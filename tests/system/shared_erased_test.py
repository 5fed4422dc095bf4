"""Eight equal pipelines train on batches that are made once for all, of rows that are kept, when somebody is erased. All learn on;
once the receipt is written nothing of the person is in the cache, in memory that is shared, in a folder that was exported since, or in
any process or export that it does not name."""

import json
import os
import struct
import sys

from memory_test import SERVICES, places_in_memory
from weirlab import SKIPPED, HeldTrainers, Lab, await_that, served, victims

JOBS, ROWS, EVERY, EPOCHS, COLUMNS, BATCH, ERASED = 8, 4000, 4000, 5000, 300, 1024, 40
CANARY = [3145727.5, -1376257.25, 2031617.75, -4849665.5]  # numbers that nobody else has
PERSON = "canary@example.org"
PIPELINE = """\
pipeline: {{name: NAME, mode: replay}}
datasets:
  - name: rows
    source:  {{path: {data}, format: csv, import: copy, on_erase: scrub, settle: 0ms}}
    time:    {{from: field, field: time, pattern: "%Y-%m-%d"}}
    label:   {{field: label, classes: ["0", "1"]}}
    subject: {{field: user}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: csv_fields, fields: [FIELDS]}}
    - {{op: clamp, min: -10000000, max: 10000000}}
  batch: {{samples: BATCH}}      # more than 1 MiB: those of several runs are mapped, not copied
  plan: {{share: auto, cache: {{after: clamp}}}}
training:  {{model: linear, loss: logistic, epochs: {epochs}, seed: 1}}
deletion:  {{policy: keep}}
"""


def write_rows(folder):
    """One in a hundred rows is the person's."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "rows.csv", "w") as rows:
        rows.write("time,user,label," + ",".join(f"x{i}" for i in range(COLUMNS)) + "\n")
        for row in range(ROWS):
            user, values = (PERSON, CANARY) if row % (ROWS // ERASED) == 0 else (f"u{row}", [row % 7, row % 11, 1, 0.5])
            rows.write(f"2024-01-{1 + row * 28 // ROWS:02d},{user},{row % 2}," + ",".join(map(str, values * (COLUMNS // 4))) + "\n")


def submit_all(lab):
    for number in range(JOBS):
        file = lab.folder / f"job{number}.yaml"
        file.write_text(lab.pipeline.read_text().replace("NAME", file.stem))
        lab.weir("submit", str(file))


def are_at_work(lab):
    pipelines = json.loads(lab.weir("status", "--json"))["pipelines"]
    return len(pipelines) == JOBS and all(pipeline["progress"] and pipeline["progress"]["samples"] > ROWS for pipeline in pipelines)


def segments_of(lab):
    return list((lab.data_dir / "cache").glob("*.rows"))


def export(lab, name):
    """Exports the set that all train on; returns the folder."""
    done = json.loads(lab.weir("materialize", "job0@1", "--to", lab.folder / "out" / name, "--format", "npy", "--json"))
    assert done["state"] == "done", done
    return lab.folder / "out" / name


def is_in(what, folder):
    return any(what in path.read_bytes() for path in folder.iterdir())


def trainers(lab):
    return victims(lab.data_dir, "trainer")


def in_memory(pid, what):
    """Names of the mappings of a process that hold it."""
    return {name for name, _, _ in places_in_memory(pid, [what])}


def main():
    fields = ", ".join(f"x{i}" for i in range(COLUMNS))
    lab = Lab(samples=1, every=EVERY, epochs=EPOCHS, pipeline=PIPELINE.replace("FIELDS", fields).replace("BATCH", str(BATCH)))
    write_rows(lab.folder / "stream")
    held = HeldTrainers(lab)
    system = lab.folder / "system.yaml"
    system.write_text(f"trainers: {JOBS + 1}\nworkers: 2\n")
    (lab.folder / "out").mkdir()
    (lab.folder / "out").chmod(0o777)
    numbers = struct.pack("<4f", *CANARY)
    with served(lab, "--system", str(system)):
        submit_all(lab)
        held.let_go(JOBS)
        await_that(lambda: are_at_work(lab))
        await_that(lambda: segments_of(lab))
        share = json.loads(lab.weir("plan", "job0", "--json"))["share"]
        assert share["state"] == "shared", share
        assert any(in_memory(pid, numbers) for pid in trainers(lab)), "this test cannot find what it looks for"
        learners = trainers(lab)
        before = export(lab, "before")
        assert is_in(numbers, before), "this test cannot find what it looks for"
        lab.weir("erase", "request", "--subject", PERSON)
        await_that(lambda: json.loads(lab.weir("erase", "status", "1", "--json"))["in_force"] is not None)
        assert are_at_work(lab) and len(learners) == JOBS and set(learners) <= set(trainers(lab)), "they learn on"
        since = export(lab, "since")
        for number in range(JOBS):
            lab.weir("stop", f"job{number}")
        assert json.loads(lab.weir("erase", "status", "1", "--wait", "--json"))["samples"] == ERASED
        receipt = json.loads(lab.weir("erase", "receipt", "1", "--json"))
        kept = segments_of(lab)
        assert kept and not any(numbers in segment.read_bytes() for segment in kept), kept
        assert not is_in(numbers, since), "exported after the erasure was in force"
        assert {one["directory"]: one["samples"] for one in receipt["exports"]} == {str(before): ERASED}, receipt["exports"]
        left = {name: found for name in SERVICES for pid in victims(lab.data_dir, name) if (found := in_memory(pid, numbers))}
        assert not left, (left, receipt["memory"])
        named = [entry["process"] for entry in receipt["memory"]["not_wiped"]]
        left = [found for pid in trainers(lab) if (found := in_memory(pid, numbers))]
        assert not left or any("trainer" in name for name in named), (left, receipt["memory"])
        print(f"{len(kept)} segments; {len(left)} trainers remember, named: {named}", flush=True)
    lab.remove()


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root may read the memory of processes that cannot be dumped")
        sys.exit(SKIPPED)
    main()

"""A holdout by subject: all samples of a person are on one side, no set of a trigger holds those of the other,
evaluations are made of nothing else, and it cannot be changed afterwards."""

import random
import struct
import time
from pathlib import Path

from weirlab import Lab, assert_clean_audits

SAMPLES, PEOPLE, DAYS, SHARE = 3000, 150, 3, 0.3
PIPELINE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: visits
    source: {{path: {data}, format: csv, include: "*.csv", import: copy, on_erase: scrub}}
    time:   {{from: field, field: ts}}
    label:  {{field: bought}}
    subject: {{field: person}}
    holdout: {{share: 0.3, by: subject}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, tail_triggers: all}}
preprocess:
  operators:
    - {{op: csv_fields, columns: [ts, person, spent, bought], fields: [spent]}}
  batch: {{samples: 256, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, start_from: scratch,
           optimizer: {{name: sgd, lr: 0.5}}}}
evaluation:
  - {{name: kept, on: holdout, every: 1d, metrics: [accuracy]}}
deletion:  {{policy: keep}}
"""


def write_visits(folder):
    """Writes the visits, and returns the person of each row; rows are in the order of their ids."""
    draw, people = random.Random(3), []
    lines = ["ts,person,spent,bought"]
    for i in range(SAMPLES):
        person = draw.randrange(PEOPLE)
        at = time.gmtime(1_700_006_400 + i * DAYS * 86400 // SAMPLES)
        people.append(person)
        lines.append(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', at)},person-{person},"
                     f"{draw.gauss(0, 1):.3f},{draw.randrange(2)}")
    for old in folder.iterdir():
        old.unlink()
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    return people


def rows_of(path):
    data = Path(path).read_bytes()
    (count,) = struct.unpack_from("<Q", data, 8)
    return {i & 0xFFFF for i in struct.unpack_from(f"<{count}Q", data, 64)}


def main():
    lab = Lab(samples=3, every=SAMPLES // DAYS, epochs=1, pipeline=PIPELINE)
    people = write_visits(lab.folder / "stream")
    run = lab.run().finish()
    assert_clean_audits(run.events)
    trained = set()
    digests = {sealed["digest"] for sealed in run.of("selection_sealed")}
    for digest in digests:
        trained |= rows_of(lab.data_dir / "sets" / f"{digest}.set")
    evaluated = set()
    for path in (lab.data_dir / "sets").glob("*.set"):
        if path.stem not in digests:
            evaluated |= rows_of(path)
    kept_out = {people[row] for row in range(SAMPLES) if row not in trained}
    seen = {people[row] for row in trained}
    assert not kept_out & seen, "some people are on both sides"
    assert abs(len(kept_out) / PEOPLE - SHARE) < 0.15, len(kept_out)
    assert evaluated and {people[row] for row in evaluated} <= kept_out, "an evaluation saw a training sample"
    assert run.of("evaluation"), "nothing was evaluated"
    Path(lab.pipeline).write_text(Path(lab.pipeline).read_text().replace("share: 0.3", "share: 0.4"))
    refused = lab.run()
    assert refused.process.wait(60) != 0, "another holdout of the same dataset was accepted"
    print(f"{len(seen)} people train, {len(kept_out)} are held out; {len(evaluated)} of their visits evaluated")
    lab.remove()


main()

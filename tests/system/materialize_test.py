"""What the operators make of each sample of a trigger's set, as folders that NumPy and others read: every sample once, though the
writer and the platform are killed at every step; and such folders are data sets again."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
from weirlab import Lab, await_that, faulty, kill, run_tests, serve, served

from folders import READERS  # isort: skip  (weirlab sets the path)

SAMPLES, EVERY = 1200, 600
PIPELINE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: notes
    source:  {{path: {data}, format: jsonl, include: "*.jsonl", import: copy, on_erase: scrub}}
    time:    {{from: field, field: ts}}
    label:   {{field: label, classes: [work, spam]}}
    subject: {{field: user}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: json_fields, fields: [amount, size], as: numbers}}
    - {{op: json_text, field: text}}
    - {{op: tokenize_words, max_tokens: 100}}
    - {{op: tokenize_hash, buckets: 4096}}
  batch: {{samples: 32, last: short, shuffle: full, order: relaxed}}
training: {{model: {{name: text_bag, buckets: 4096}}, loss: logistic, epochs: {epochs}, seed: 1, retries: 1}}
deletion:  {{policy: keep}}
"""


def finished_lab():
    lab = Lab(samples=SAMPLES, every=EVERY, epochs=1, pipeline=PIPELINE)
    lab.records = [record | {"amount": i * 0.5, "size": i % 7} for i, record in enumerate(lab.records)]
    for path in (lab.folder / "stream").glob("*.jsonl"):
        path.unlink()
    (lab.folder / "stream/a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lab.records))
    lab.run().finish()
    lab.out = lab.folder / "out"
    lab.out.mkdir()
    lab.out.chmod(0o777)
    return lab


def materialize(lab, which, name, form, *more):
    said = lab.weir("materialize", which, "--to", lab.out / name, "--format", form, "--json", *more)
    return json.loads(said)


def check_rows(lab, rows, first):
    """Rows of the records from `first` on, in their order, each once."""
    assert [int(row["id"]) & 0xFFFF for row in rows] == list(range(first, first + EVERY)), len(rows)
    for row in rows:
        record = lab.records[int(row["id"]) & 0xFFFF]
        assert row["label"] == ["work", "spam"].index(record["label"]) and row["weight"] == 1, row
        assert np.array_equal(row["numbers"], np.float32([record["amount"], record["size"]])), row
        assert len(row["tokens"]) == len(record["text"].split()), (row, record)


def assert_gone_on(lab):
    """A writer that was started again went on after the shards that were complete."""
    said = "".join(path.read_text() for path in lab.data_dir.glob("log/trainer*.log"))
    before = [int(number) for number in re.findall(r'run begins.*mode=export samples_before=(\d+)', said)]
    assert any(before) and before == sorted(before), (before, said)


def exports_of(lab):
    return json.loads(lab.weir("exports", "--json"))["exports"]


def await_done(lab, number):
    def found():
        return next(one for one in exports_of(lab) if one["export"] == number)
    await_that(lambda: found()["state"] != "open", found)
    return found()


def test_folders_hold_every_sample_once_whoever_is_killed():
    lab = finished_lab()
    with faulty("export.shard=!3"), served(lab):  # each writer dies at its third shard, before that is in its state
        done = materialize(lab, "lab@1", "a", "mds", "--shard-bytes", "16KiB")
        assert done["state"] == "done" and done["samples"] == done["set"] == EVERY, done
        check_rows(lab, READERS["mds"](lab.out / "a"), 0)
        assert_gone_on(lab)
        assert "of lab@1: done" in lab.weir("materialize", "lab@1", "--to", lab.out / "a", "--format", "mds"), "once is enough"
        dropped = lab.begin("materialize", "lab@1", "--to", str(lab.out / "e"), "--format", "mds", "--shard-bytes", "1KiB",
                            stderr=subprocess.DEVNULL)
        await_that(lambda: list((lab.out / "e").glob("*.mds")), pause_s=0.01)
        assert "is removed" in lab.weir("exports", "drop", "2") and not (lab.out / "e").exists(), "while it was written"
        assert dropped.wait() == 1
    with faulty("export.state=!2"), served(lab):  # … and here before that is committed
        materialize(lab, "lab", "b", "npy", "--shard-bytes", "20KiB")
        check_rows(lab, READERS["npy"](lab.out / "b"), EVERY)
    assert {path.suffix for path in (lab.out / "b").iterdir()} == {".npy"}, "nothing is left over"

    with faulty("export.shard=!2"):
        server = serve(lab)
    waiting = lab.begin("materialize", "lab", "--to", str(lab.out / "c"), "--format", "mds", "--shard-bytes", "1KiB")
    await_that(lambda: list((lab.out / "c").glob("*.mds")), pause_s=0.01)
    assert kill(lab.data_dir, "orchestrator")
    server.wait()
    waiting.wait()  # it may have gone on with a platform of its own
    with served(lab):
        one = await_done(lab, 4)
        check_rows(lab, READERS["mds"](lab.out / "c"), EVERY)
        assert (one["state"], one["samples"], one["trigger"]) == ("done", EVERY, 2), one
        for form in "tar", "tfrecord":
            materialize(lab, "lab@1", form, form, "--shard-bytes", "100KiB")
            check_rows(lab, READERS[form](lab.out / form), 0)
        check_refusals(lab)
    check_erasure(lab)
    check_round_trip(lab)
    lab.remove()


def check_erasure(lab):
    """Folders that are whole are named, with how many of the person's samples they hold; what is not whole is begun again."""
    user = lab.records[0]["user"]
    persons = [sum(record["user"] == user for record in lab.records[first:first + EVERY]) for first in (0, EVERY)]
    with faulty("export.shard=2"):  # one more shard in each of two lives
        failed = lab.ask("materialize", "lab@1", "--to", lab.out / "d", "--format", "mds", "--shard-bytes", "4KiB")
    assert failed.returncode == 1 and "fault export.shard" in failed.stdout and list((lab.out / "d").iterdir()), failed
    holders = {str(lab.out / name): persons[0] for name in ("a", "tar", "tfrecord")}
    holders |= {str(lab.out / name): persons[1] for name in "bc"}
    with served(lab):
        plan = json.loads(lab.weir("erase", "plan", "--subject", user, "--json"))
        assert {one["directory"]: one["samples"] for one in plan["exports"]} == holders, plan["exports"]
        (lab.out / "c").rename(lab.out / "moved")
        lab.weir("erase", "request", "--subject", user, "--wait")
        receipt = json.loads(lab.weir("erase", "receipt", "1", "--json"))
        assert {one["directory"]: one["samples"] for one in receipt["exports"]} == holders, receipt["exports"]
        assert [one["directory"] for one in receipt["exports"] if not one["there"]] == [str(lab.out / "c")], receipt["exports"]
        said = lab.weir("erase", "receipt", "1")
        assert f"holds a copy of {persons[0]} of them outside of Weir's reach: {lab.out / 'a'}\n" in said, said
        assert not list((lab.out / "d").iterdir()), "what had been written of it may hold the person"
        again = materialize(lab, "lab@1", "d", "mds", "--shard-bytes", "4KiB")
        rows = READERS["mds"](lab.out / "d")
        assert again["samples"] == len(rows) == EVERY - persons[0], again
        assert all(lab.records[int(row["id"]) & 0xFFFF]["user"] != user for row in rows)
        plan = json.loads(lab.weir("erase", "plan", "--erasure", "1", "--json"))
        assert {one["directory"] for one in plan["exports"]} == set(holders), "d does not hold the person"
        check_dropped(lab)


def check_dropped(lab):
    numbers = {Path(one["directory"]).name: str(one["export"]) for one in exports_of(lab)}
    assert "is removed" in lab.weir("exports", "drop", numbers["b"]) and not (lab.out / "b").exists()
    (lab.out / "d/mine.txt").write_text("not Weir's")
    lab.weir("exports", "drop", numbers["d"])
    assert [path.name for path in (lab.out / "d").iterdir()] == ["mine.txt"]
    assert "was not there any more" in lab.weir("exports", "drop", numbers["c"])
    logged = lab.weir("logs", "lab")
    assert f"export 1 of lab@1 is done: {EVERY} samples" in logged and "export 4 of lab is dropped" in logged, logged
    left = {Path(one["directory"]).name for one in exports_of(lab)}
    assert left == {"a", "tar", "tfrecord"}, left
    assert "there is none" in lab.ask("exports", "drop", numbers["c"]).stderr


AGAIN = """\
pipeline: {{name: again, mode: replay}}
datasets:
{datasets}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators: [{{op: record_fields, dense: [0, 16, u8]}}, {{op: cast, on: dense, to: f32}}]
training: {{model: linear, loss: squared, epochs: 1, seed: 1}}
deletion:  {{policy: keep}}
"""
DATASET = """\
  - name: {form}
    source: {{path: {folder}, format: {form}, include: "*.{form}", import: reference}}
    time:   {{from: mtime}}
    label:  {{field: {label}}}"""


def check_round_trip(lab):
    """The folders are data sets again: as many samples, with the same labels, and the bytes that the shards hold."""
    folders = {"mds": lab.out / "a", "tar": lab.out / "tar", "tfrecord": lab.out / "tfrecord"}
    datasets = [DATASET.format(form=form, folder=folder, label="cls" if form == "tar" else "label")
                for form, folder in folders.items()]
    lab.pipeline.write_text(AGAIN.format(datasets="\n".join(datasets), every=len(folders) * EVERY))
    lab.run().finish()
    assert materialize(lab, "again", "again", "npy")["samples"] == len(folders) * EVERY
    labels = [["work", "spam"].index(record["label"]) for record in lab.records[:EVERY]]
    rows = READERS["npy"](lab.out / "again")
    for number, folder in enumerate(folders.values()):
        own = rows[number * EVERY:(number + 1) * EVERY]
        shards = b"".join(path.read_bytes() for path in folder.iterdir())
        assert len({int(row["id"]) >> 44 for row in own}) == 1 and [row["label"] for row in own] == labels, folder
        assert all(row["dense"].astype(np.uint8).tobytes() in shards for row in own), folder


def check_refusals(lab):
    for words, said in (
            (("lab@9", "--to", "x", "--format", "mds"), "there is no set of that trigger"),
            (("lab@x", "--to", "x", "--format", "mds"), "expected PIPELINE, or PIPELINE@TRIGGER"),
            (("lab", "--to", "x"), "expected --to DIR and --format FORMAT"),
            (("lab", "--to", lab.out / "x", "--format", "zip"), "expected one of mds npy tar tfrecord, found 'zip'"),
            (("lab", "--to", lab.out / "y/z", "--format", "mds"), "its parent is expected to be there"),
            (("lab", "--to", "/weir-exports", "--format", "mds"), "expected a parent that the platform's user may write to"),
            (("lab", "--to", lab.out, "--format", "mds"), "is not empty: expected a new folder"),
            (("lab", "--to", lab.out / "a", "--format", "mds"), "is not empty: expected a new folder"),
            (("lab", "--to", lab.data_dir / "sets/x", "--format", "mds"), "lies in the data directory"),
    ):
        done = lab.ask("materialize", *words)
        assert done.returncode != 0 and said in done.stderr, (words, done)
    assert not (lab.data_dir / "sets/x").exists() and not (lab.out / "x").exists(), "nothing is made for what is refused"


if __name__ == "__main__":
    run_tests(globals())

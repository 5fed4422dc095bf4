"""Rows at a cut of the operators are kept, and used by later epochs and triggers: the same batches and models as without, though a
worker is killed, the disk is full, a segment is damaged and all of them are taken away meanwhile. Who is erased is in no row any more,
and the others stay."""

import contextlib
import json
import os
import random
import shutil
import struct

from weirlab import Lab, assert_clean_audits, faulty, outcome, run_tests, served, write_pictures

ROWS, EVERY, PEOPLE, EPOCHS = 3000, 1000, 100, 4
CANARY = (12345.5, 23456.5, 34567.5, 45678.5)
PIPELINE = """\
pipeline: {{name: kept, mode: replay}}
datasets:
  - name: kept
    source:  {{path: {data}, format: csv, include: "*.csv", header: true, import: copy, on_erase: scrub}}
    time:    {{from: field, field: time, pattern: "%Y-%m-%d"}}
    label:   {{field: label, classes: ["0", "1"]}}
    subject: {{field: user}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, tail_triggers: all}}
preprocess:
  operators:
    - {{op: csv_fields, fields: [a, b, c, d]}}
    - {{op: clamp, max: 90000}}
    - {{op: math, function: signed_log1p}}
  batch: {{samples: 64}}
  plan: {{cache: CACHE}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, digests: true}}
deletion: {{policy: keep}}
"""

PICTURES = """\
pipeline: {{name: pictures, mode: replay}}
datasets:
  - name: pictures
    source: {{path: {data}, format: files, include: "*.jpg", import: reference}}
    time:   {{from: mtime}}
    label:  {{from: folder, classes: stream}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, tail_triggers: all}}
preprocess:
  operators:
    - {{op: decode_jpeg, scale: never}}
    - {{op: center_crop, size: [64, 64]}}
    - {{op: random_resized_crop, size: 32}}
    - {{op: flip}}
    - {{op: normalize}}
  batch: {{samples: 16}}
  plan: {{cache: CACHE}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, digests: true}}
"""


def lab_of(cache):
    lab = Lab(every=EVERY, epochs=EPOCHS, pipeline=PIPELINE.replace("CACHE", cache))
    for path in lab.folder.glob("stream/*"):
        path.unlink()
    draw = random.Random(3)
    with open(lab.folder / "stream/rows.csv", "w") as rows:
        rows.write("time,user,a,b,c,d,label\n")
        for i in range(ROWS):
            numbers = CANARY if i % PEOPLE == 7 else [draw.randint(0, 100000) for _ in range(4)]
            numbers = "no,1,2,3" if i % 500 == 3 else ",".join(map(str, numbers))
            rows.write(f"2020-01-{1 + i * 28 // ROWS:02},u{i % PEOPLE},{numbers},{i % 2}\n")
    return lab


def segments(lab):
    return sorted((lab.data_dir / "cache").glob("*.rows"))


def kept(lab):
    """Bytes of all segments."""
    return b"".join(path.read_bytes() for path in segments(lab))


def damage(lab, how):
    """Damages a segment, if there is one that a worker has not found damaged meanwhile."""
    for path in segments(lab)[:1]:
        with contextlib.suppress(FileNotFoundError):
            how(path)


def overwrite_end(path):
    with open(path, "r+b") as segment:
        segment.seek(-20, os.SEEK_END)
        segment.write(b"\xff" * 20)


def findings(lab, *words):
    """What the doctor says of the cache."""
    answer = json.loads(lab.ask("doctor", "--json", *words).stdout)
    return [finding for finding in answer["findings"] if finding["check"] == "cache"]


@contextlib.contextmanager
def put_back(path):
    content = path.read_bytes()
    yield path
    path.write_bytes(content)


def is_trained(run, count=1):
    return sum(event["event"] == "training_finished" for event in run.events) >= count


def test_batches_are_the_same_whatever_becomes_of_the_cache():
    plain = lab_of("none")
    expected = outcome(plain.run().finish().events)
    assert len(expected) == ROWS // EVERY and not (plain.data_dir / "cache").exists()
    plain.remove()

    lab = lab_of("{{after: clamp}}")
    with faulty("cache.write=2"):  # the second segment of each worker finds the disk full
        run = lab.run()
    run.wait_until(lambda: is_trained(run))
    damage(lab, lambda path: os.truncate(path, path.stat().st_size // 2))  # where it is mapped
    run.kill("worker-1")
    run.wait_until(lambda: is_trained(run, 2))
    damage(lab, overwrite_end)
    shutil.rmtree((lab.data_dir / "cache").rename(lab.folder / "taken"))
    assert_clean_audits(run.finish().events)
    assert outcome(run.events) == expected

    # the next pipeline of the same operators finds the rows
    lab.pipeline.write_text(lab.pipeline.read_text().replace("name: kept, mode", "name: other, mode"))
    other = lab.run().finish()
    assert outcome(other.events) == expected and struct.pack("<4f", *CANARY) in kept(lab)
    with served(lab):
        assert_rows_are_told(lab)
    lab.remove()


def assert_rows_are_told(lab):
    """By the plan and by the page of what is kept, until it is dropped."""
    plan = json.loads(lab.weir("plan", "other", "--json"))
    (first,) = (one for one in plan["operators"] if one["operator"] == "csv_fields")
    assert plan["kept_after"] == "clamp" and "rows are kept after clamp" in lab.weir("plan", "other"), plan
    assert first["rows"] < EPOCHS * (3 * EVERY + 2 * EVERY + EVERY), plan
    stock = json.loads(lab.weir("cache", "--json"))
    assert stock["rows"] >= ROWS // 2 and stock["bytes"] == len(kept(lab)) and stock["damaged"] == 0, stock
    assert "last used" in lab.weir("cache") and "csv_fields clamp" in lab.weir("cache")
    (kind,) = stock["kept"]
    assert kind["rows"] == stock["rows"] and kind["hits"] + kind["misses"] >= 2 * EPOCHS * ROWS, stock
    assert kind["hits"] > 0 and kind["saved_seconds"] != 0 and kind["since"] <= kind["last_use"], stock
    assert plan["kept"]["hits"] + plan["kept"]["misses"] == EPOCHS * ROWS and plan["kept"]["damaged"] == 0, plan
    lab.weir("cache", "drop")
    assert not segments(lab) and "nothing is kept" in lab.weir("cache")


def test_what_pays_is_kept_without_being_asked():
    outcomes = []
    for cache in "none", "auto":
        lab = Lab(every=100, epochs=60, pipeline=PICTURES.replace("CACHE", cache))
        write_pictures(lab, 200)
        run = lab.run()
        run.wait_until(lambda run=run: is_trained(run))
        run.kill("worker-1")
        assert_clean_audits(run.finish().events)
        outcomes.append(outcome(run.events))
        with served(lab):
            plan = json.loads(lab.weir("plan", "pictures", "--json"))
            shown, stock = lab.weir("plan", "pictures"), json.loads(lab.weir("cache", "--json"))
            changed = {event["run"]: event["kept_after"] for event in run.of("plan_changed")}
            plans = {number: json.loads(lab.weir("plan", str(number), "--json"))["kept_after"] for number in changed}
        lab.remove()
    assert outcomes[0] == outcomes[1], "the same batches, though what is kept changes in the midst of a job"
    places = {"decode_jpeg", "center_crop"}
    assert plan["keeping"]["state"] == "auto" and plan["kept_after"] in places, plan
    assert plans == changed and places & set(changed.values()), (plans, changed)
    alternatives = plan["keeping"]["alternatives"]
    best = min(alternatives, key=lambda one: one["seconds"])
    assert {one["after"] for one in alternatives} == {None, *places} and best["chosen"], alternatives
    assert "rows kept after" in shown and plan["kept"]["hits"] > 0 and stock["rows"] > 0, shown


def test_who_is_erased_is_in_no_row_any_more():
    lab = lab_of("{{after: clamp}}")
    lab.run().finish()
    canary, count = struct.pack("<4f", *CANARY), ROWS // PEOPLE
    before, before_erasure = kept(lab), {path.name: path.read_bytes() for path in segments(lab)}
    assert before.count(canary) >= count, "the person's rows are kept"
    plan = json.loads(lab.weir("erase", "plan", "--subject", "u7", "--json"))
    assert plan["samples"] == count and plan["cached"] >= count, plan
    with faulty("cache.erase=!5"):  # whoever overwrites the rows dies at the fifth
        assert lab.ask("erase", "request", "--subject", "u7", "--wait").returncode != 0, "the platform died"
    assert canary in kept(lab), "it died in the midst of it"
    with served(lab):
        lab.weir("erase", "status", "1", "--wait")
        (fine,) = findings(lab)
        assert fine["verdict"] == "fine", fine
        scrubbed = next(path for path in segments(lab) if path.read_bytes() != before_erasure[path.name])
        with put_back(scrubbed) as path:
            path.write_bytes(before_erasure[path.name])
            (wrong,) = findings(lab)
            assert wrong["verdict"] == "wrong" and "whose erasure is finished" in wrong["found"], wrong
        for damage, deep in (lambda path: os.truncate(path, path.stat().st_size - 1), ()), (overwrite_end, ("--deep",)):
            with put_back(segments(lab)[0]) as path:
                damage(path)
                (wrong,) = findings(lab, *deep)
                assert wrong["verdict"] == "wrong" and path.name in wrong["found"], wrong
        receipt = json.loads(lab.weir("erase", "receipt", "1", "--json"))
    (place,) = (place for place in receipt["places"] if place["place"] == "rows kept of samples")
    assert 0 < place["held"]["rows"] < plan["cached"], "those that were left"
    assert place["gone"] and place["bytes"] > 0 and receipt["samples"] == count, receipt["places"]
    after = kept(lab)
    assert canary not in after, "a row of the person is still there"
    differing = sum(a != b for a, b in zip(before, after))
    assert len(after) == len(before) and 0 < differing <= plan["cached"] * 17, "the others' rows stay"
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

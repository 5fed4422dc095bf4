"""Objects that stay in their bucket (`import: reference`): indexed as they stream by, read by ranges, never other bytes."""

import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

from s3_test import (LETTERS, OF_BERT, OF_CLARA, OF_CLARA_TOO, PIPELINE, Bucket, Store,
                     assert_no_new_samples, erase_clara, holds_clara, letters, lines, shared)
from weirlab import DEADLINE_S, Lab, Stream, faulty, run_tests, served

REFERENCE, LETTERS = PIPELINE.replace("import: copy", "import: reference"), LETTERS.replace("import: copy", "import: reference")
TRAINED = REFERENCE.replace("mode: live", "mode: replay").replace("prefix: day/, ", "prefix: day/, transfers: 8, ")
KEPT = TRAINED.replace("  batch:", "  plan: {{cache: {{after: source}}}}\n  batch:")


def on_disk(lab):
    """Bytes that files below the mirror take, whatever their sizes say."""
    return sum(p.stat().st_blocks * 512 for p in (lab.data_dir / "storage").rglob("*") if p.is_file() and p.name != ".home")


def put_stream(store, samples, pipeline=TRAINED):
    """Several objects, and the same as files in a folder of the lab that is returned."""
    lab = Bucket(store, every=samples // 2, pipeline=pipeline)
    records = Stream(samples, 5).write_jsonl(lab.folder / "files", files=4)
    for path in sorted((lab.folder / "files").iterdir()):
        store.put("day/" + path.name, path.read_bytes())
    return lab, records


def kept(lab):
    """Bytes of the cache."""
    return b"".join(path.read_bytes() for path in sorted((lab.data_dir / "cache").iterdir()))


def assert_fine(lab):
    examined = json.loads(lab.weir("doctor", "--deep", "--json"))
    assert examined["wrong"] == 0, examined


def verified(lab, expect=0):
    return json.loads(lab.weir("erase", "verify", "1", "--json", expect=expect))["wrong"]


def trained(run):
    run.finish()
    audits = [e["audit"] for e in run.of("training_finished")]
    assert audits and all(a["delivered"] == a["set"] and a["lost"] == a["duplicated"] == a["gone"] == 0 for a in audits), audits
    return [e["checksum"] for e in run.of("model_stored")]


def test_a_run_over_a_bucket_stores_the_very_models_of_a_run_over_files_and_the_next_one_asks_for_none():
    store = Store()
    lab, records = put_stream(store, 800, KEPT)
    source = next(line for line in TRAINED.splitlines() if "s3:" in line)
    files = Lab(samples=1, every=400, pipeline=TRAINED.replace(source, f"    path: {lab.folder}/files") % ())
    expected = trained(files.run())
    store.faults = [None, None, "half", "short", "shifted", "other", "whole", "500", "long"]
    assert trained(lab.start().started) == expected and len(expected) == 2
    assert on_disk(lab) == 0, on_disk(lab)
    files.remove()

    store.ranges.clear()
    lab.pipeline.write_text(lab.pipeline.read_text().replace("name: bucket, mode", "name: other, mode"))
    assert trained(lab.run()) == expected
    assert "day/part3.jsonl" not in [key for key, *_ in store.ranges], store.ranges  # others it looks at before it begins
    person = records[0]["user"]
    theirs = [r["text"].encode() for r in records if r["user"] == person]
    assert all(text in kept(lab) for text in theirs), "no compression hides them"
    with served(lab):
        lab.weir("erase", "request", "--subject", person, "--wait")
        assert verified(lab) == 0
    assert not any(text in kept(lab) for text in theirs) and records[1]["text"].encode() in kept(lab)
    lab.remove()
    store.close()


def test_an_erasure_writes_objects_anew_that_are_nowhere_else_and_others_keep_their_ids():
    store = shared(versioned=True)
    for key in ("day/a.jsonl", "day/b c+ü.jsonl"):  # once more, and with what is to stay
        store.put(key, store.objects[key]["body"], Content_Type="application/x-ndjson", x_amz_meta_owner="ann  and bert")
    lab = Bucket(store, pipeline=REFERENCE).start()
    lab.await_that(lambda d: d["live"] == 25)
    store.on_put = lambda number: number == 1 and lab.started.kill("storage")
    store.after_put = lambda key: len([r for r in store.requests if r.startswith("PUT")]) == 2 and lab.started.kill("storage")
    store.on_delete = lambda number: number in (1, 3) and lab.started.kill("storage")
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and not holds_clara(store), told
    assert [len(v) for v in store.history.values()] == [1, 1, 1], store.history
    for name in ("a", "b c+ü"):
        left = store.objects[f"day/{name}.jsonl"]
        assert OF_BERT.encode() in left["body"] and len(left["body"]) == len(OF_BERT + OF_CLARA_TOO) + 2, left
        assert left["meta"]["content-type"] == "application/x-ndjson", left["meta"]
        assert left["meta"]["x-amz-meta-owner"] == "ann  and bert", left["meta"]
    assert_no_new_samples(lab, store)
    assert on_disk(lab) == 0 and verified(lab) == 0
    left["body"] = before = left["body"].replace(b" " * (len(OF_CLARA_TOO) - 1), OF_CLARA_TOO[:-1].encode())
    assert before.count(b"clara") == 1 and verified(lab, expect=3) == 1  # the bucket itself is looked at
    store.put("day/a.jsonl", before)  # somebody puts it back
    lab.await_that(lambda d: d["blocked"] >= 1 and d["live"] == 23)
    lab.end()
    store.close()


def test_a_listing_from_before_an_erasure_replaces_nothing():
    store = shared()
    for key in ("day/a.jsonl", "day/b c+ü.jsonl"):
        store.put(key, store.objects[key]["body"])
    lab = Bucket(store, pipeline=REFERENCE).start()
    lab.await_that(lambda d: d["live"] == 25)
    listed, is_erased = threading.Event(), threading.Event()

    def hold(_):
        if not listed.is_set():
            listed.set()
            is_erased.wait(DEADLINE_S)

    store.on_listed = hold  # after it was made, before it is sent
    assert listed.wait(DEADLINE_S)
    erase_clara(lab)
    is_erased.set()
    assert_no_new_samples(lab, store)
    lab.end()
    store.close()


def test_what_changes_in_the_bucket_is_never_other_bytes():
    store = Store()
    store.put("day/a.jsonl", lines(0, 40))
    store.put("day/b.jsonl", lines(100, 40))
    lab = Bucket(store, pipeline=REFERENCE).start()
    lab.await_that(lambda d: d["live"] == 80)
    store.put("day/a.jsonl", lines(200, 40))
    found = lab.await_that(lambda d: d["replaced"] == 40 and d["live"] == 80)
    assert found["removed"] == 0 and not found["complaints"], found
    store.delete("day/b.jsonl")
    lab.await_that(lambda d: d["removed"] == 40)
    assert_fine(lab)
    lab.end()
    store.close()


def test_what_changes_or_vanishes_between_listing_and_reading_is_a_hole():
    """A trainer asks for samples whose object is another one by then (412), or none (404)."""
    store = Store()
    store.put("day/a.jsonl", lines(0, 40))
    store.put("day/b.jsonl", lines(100, 40))
    lab = Bucket(store, every=120, pipeline=REFERENCE).start()
    lab.await_that(lambda d: d["live"] == 80)
    lab.started.kill("storage")  # what was fetched goes with it
    lab.await_that(lambda d: d["live"] == 80)
    changed = []

    def change(key):
        if key != "day/c.jsonl" and not changed:
            changed.append(key)
            store.put("day/a.jsonl", lines(500, 40))
            store.delete("day/b.jsonl")

    store.on_get = change
    store.put("day/c.jsonl", lines(200, 40))
    lab.started.wait_until(lambda: lab.started.of("training_finished"))
    audit = lab.started.of("training_finished")[0]["audit"]
    assert (audit["set"], audit["delivered"], audit["gone"]) == (120, 40, 80), audit
    assert audit["lost"] == audit["duplicated"] == audit["failed"] == 0 and changed, audit
    found = lab.await_that(lambda d: d["replaced"] == d["removed"] == 40)
    assert found["live"] == 80 and not found["complaints"], found
    assert_fine(lab)
    lab.end()
    store.close()


def test_letters_are_not_read_to_be_known_and_go_with_their_versions():
    store = letters(versioned=True)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    assert {key for key, *_ in store.ranges} == {"day/manifest.csv"}, store.ranges
    store.on_delete = lambda number: number in (2, 5) and lab.started.kill("storage")
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and told["objects_cleaned"] == 3, told
    assert not set(store.history) & set(OF_CLARA) and len(store.history) == 3, store.history.keys()
    lab.end()
    store.close()


def test_a_large_object_streams_by_whatever_dies():
    store = Store()
    store.put("day/a.jsonl", lines(0, 250_000))
    store.put("day/b.jsonl", lines(10**6, 10))
    lab = Bucket(store, pipeline=REFERENCE).start()
    draw = random.Random(1)
    for _ in range(4):
        while lab.started.process.poll() is None and not lab.started.kill("storage"):
            threading.Event().wait(0.05)  # it is not up again yet
        threading.Event().wait(draw.uniform(0, 0.5))  # where the next kill falls: random, and no condition to wait for
    found = lab.await_that(lambda d: d["scanned"] and d["live"] == 250_010)
    assert found["ingested"] == 250_010 and found["replaced"] == 0, found
    assert on_disk(lab) == 0
    lab.end()
    store.close()


HOSTILE = {"whole": "found HTTP status 200", "short": "found an answer of", "shifted": "found an answer of the bytes 'bytes 1-",
           "other": "another object", "long": "more than", "busy": "503 SlowDown"}


def test_hostile_answers_are_told_and_nothing_of_them_is_taken():
    store = Store()
    store.object_fault = next(iter(HOSTILE))
    store.put("day/a.jsonl", lines(0, 100))
    lab = Bucket(store, pipeline=REFERENCE).start()
    for fault, words in HOSTILE.items():
        store.object_fault = fault
        found = lab.await_that(lambda d: any(words in c for c in d["complaints"]))
        assert found["live"] == found["quarantined"] == 0, found
    store.object_fault = None
    found = lab.await_that(lambda d: d["live"] == 100 and not d["complaints"])
    assert found["ingested"] == 100 and found["quarantined"] == 0, found
    lab.end()
    store.close()


def test_a_replay_begins_once_every_object_was_read():
    store = Store()
    lab, _ = put_stream(store, 800)
    store.key_faults["day/part3.jsonl"] = "whole"
    lab.start()
    found = lab.await_that(lambda d: any("found HTTP status 200" in c for c in d["complaints"]))
    assert not found["scanned"] and not lab.started.of("dataset_scanned"), found
    store.key_faults.clear()
    assert len(trained(lab.started)) == 2
    assert sum(e["audit"]["set"] for e in lab.started.of("training_finished")) == 800
    lab.remove()
    store.close()


def test_an_object_that_stays_unreadable_is_complained_of_and_the_others_go_on():
    store = Store()
    lab, _ = put_stream(store, 800)
    store.key_faults["day/part1.jsonl"] = "whole"  # others are read after it
    with faulty("storage.scan.object=1"):
        assert trained(lab.start().started)
    scanned, = lab.started.of("dataset_scanned")
    complaint, = scanned["complaints"]
    assert scanned["samples"] == 600 and "part1.jsonl" in complaint and "found HTTP status 200" in complaint, complaint
    lab.remove()
    store.close()


OLD_STORE = Path(__file__).resolve().parent.parent / "data/storage/012_bucket.sql"
OLD_SECRET = bytes.fromhex("9c87db54cea4d447cf15538a0be4f13d4ca1d7836941e37e7df3df5b7c5c8308")
OLD_OBJECTS = {  # in the bucket, and whole in the data directory
    "a.jsonl": (1, lines(0, 10, "bert") + lines(10, 1, "clara")),
    "b c+ü.jsonl": (5, lines(20, 10, "bert") + lines(30, 1, "clara") + lines(60, 2, "bert")),
    "clara.jsonl": (4, lines(50, 3, "clara")),
}
OLD_FILES = [  # bytes, second, layout, first row, samples, keyed hash, state (0: live) of what storage knew
    ("a.jsonl", 795, 1, 1, 0, 11, 0x25aead94ec60d7da, 0),
    ("b c+ü.jsonl", 815, 2, 1, 11, 11, 0x394651384b17021d, 2),
    ("clara.jsonl", 225, 4, 1, 22, 3, 0x18048e52762fedc8, 0),
    ("gone.jsonl", 296, 3, 1, 25, 4, 0xc09ba79ec9d29b5, 1),
    ("b c+ü.jsonl", 963, 5, 2, 29, 13, 0xb3a2b0ee8a91a042, 0),
]


def psql(lab, text):
    return subprocess.run(["psql", "-h", lab.data_dir / "run/db", "-U", "weir", "-qAt", "-v", "ON_ERROR_STOP=1", "weir"], input=text,
                          capture_output=True, text=True, check=True).stdout.split()


def put_old_objects(lab, store):
    """The bucket of then, and its mirror, whose bytes a Weir of now does not keep."""
    owner, mirror = os.stat(lab.data_dir / "secret"), lab.data_dir / "storage/notes"
    mirror.mkdir(parents=True)
    for name, (second, body) in OLD_OBJECTS.items():
        store.put("day/" + name, body)
        store.history["day/" + name][0]["modified"] = f"2026-02-03T04:05:{second:02d}.000Z"
        (mirror / name).write_text(body)
        os.utime(mirror / name, (1770091500 + second,) * 2)
    (lab.data_dir / "secret").write_bytes(OLD_SECRET)
    (lab.data_dir / "storage" / ".home").unlink()  # that Weir made none
    for path in [mirror.parent, mirror, *mirror.iterdir()]:
        shutil.chown(path, owner.st_uid, owner.st_gid)


def packed_files(mirror):
    """As storage/catalog/file_group.c reads files in words: with the inodes that they have on this disk."""
    packed = b""
    for name, size, second, layout, row, samples, digest, state in OLD_FILES:
        found, first = os.stat(mirror / name) if state == 0 else os.stat(mirror), (1 << 44) + row
        words = [size, (1770091500 + second) * 10**9, found.st_dev, found.st_ino, found.st_ino, layout, first, samples, size,
                 samples + 1, digest]
        packed += struct.pack("<11QBBH", *words, state, 1 | 4, len(name.encode())) + name.encode()
        packed += struct.pack("<Q", first + samples - 1)
    return packed


def test_a_store_that_mirrored_a_bucket_whole_carries_on_by_ranges():
    store = Store(versioned=True)
    lab = Bucket(store, pipeline=REFERENCE)
    samples = "SELECT id || ':' || time_us || ':' || state FROM storage.sample ORDER BY id;"
    with served(lab):
        old = OLD_STORE.read_text().replace("@ENDPOINT@", store.endpoint).replace("@DATA@", str(lab.data_dir))
        put_old_objects(lab, store)
        files = packed_files(lab.data_dir / "storage/notes").hex()
        psql(lab, f"DROP SCHEMA storage CASCADE; {old} UPDATE storage.file_group SET entries = '\\x{files}', encoding = 0;")
        before = psql(lab, samples)
    (lab.data_dir / "lock").unlink()  # nobody asks before the next platform is there
    assert len(before) == 42
    lab.start()
    found = lab.await_that(lambda d: d["scanned"] and not any(map(any, lab.mirrored().values())))
    assert (found["ingested"], found["live"], found["removed"], found["replaced"]) == (42, 27, 4, 11), found
    assert psql(lab, samples) == before and not found["complaints"], found
    assert_fine(lab)
    store.put("day/new.jsonl", lines(100, 5, "bert"))
    assert lab.await_that(lambda d: d["live"] == 32)["replaced"] == 11
    told = erase_clara(lab)
    named, = told["outside_reach"]
    assert named.startswith("file 2 of dataset 'notes' has the name of a subject") and told["objects_cleaned"] == 3, told
    assert not [v for versions in store.history.values() for v in versions if b'"clara"' in (v["body"] or b"")]
    found = lab.dataset()
    assert (found["erased"], found["live"], found["replaced"]) == (6, 27, 10), found  # one of them had been replaced
    assert_fine(lab)
    lab.end()
    store.close()


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

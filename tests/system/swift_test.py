"""The same story as s3_test.py against a store that others wrote: OpenStack Swift with s3api checks every signature."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import swift_server  # noqa: E402
from s3_test import LETTERS, OF_BERT, OF_CLARA, OF_CLARA_TOO, Bucket, erase_clara, lines, write_letters  # noqa: E402
from weirlab import SKIPPED, run_tests  # noqa: E402


def test_a_bucket_of_swift_is_followed():
    store = swift_server.Swift(versioned=False)
    for i in range(5):
        store.put(f"day/{i:02d} ü+&=~(.jsonl", lines(10 * i, 10))
    store.put("night/other.jsonl", lines(500, 10))
    lab = Bucket(store).start()
    found = lab.await_that(lambda d: d["scanned"])
    assert found["live"] == 50 and not found["complaints"], found
    store.put("day/03 ü+&=~(.jsonl", lines(1000, 5))
    store.delete("day/04 ü+&=~(.jsonl")
    store.put("day/new.jsonl", lines(2000, 1))
    found = lab.await_that(lambda d: d["live"] == 36)
    assert (found["replaced"], found["removed"]) == (10, 10), found
    lab.end()
    store.close()


def test_wrong_credentials_are_refused_by_swift():
    store = swift_server.Swift(versioned=False)
    lab = Bucket(store)
    os.environ["AWS_SECRET_ACCESS_KEY"] = "not-the-secret-of-the-tests"
    lab.start()
    found = lab.await_that(lambda d: d["complaints"])
    assert "403 SignatureDoesNotMatch" in found["complaints"][0], found
    lab.end()
    store.close()


def erase_from(versioned, others):
    store = swift_server.Swift(versioned=versioned)
    write_letters(store)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    store.delete(OF_CLARA[2])
    lab.await_that(lambda d: d["removed"] == 1)
    before = [name for name in store.versions() if name not in OF_CLARA]
    assert len(before) == others, before
    lab.weir("erase", "request", "--subject", "clara", "--wait")
    told = json.loads(lab.weir("erase", "receipt", "1", "--json"))["storage"]
    assert told["outside_reach"] == [] and told["found"] == 0, told
    assert store.versions() == before, store.versions()
    lab.end()
    store.close()


def test_an_erasure_leaves_no_version_in_swift():
    erase_from(versioned=True, others=9)


def test_an_erasure_deletes_from_a_container_without_versions():
    erase_from(versioned=False, others=3)


def test_an_erasure_writes_shared_objects_of_swift_anew():
    store = swift_server.Swift(versioned=True)
    for draft in range(2):
        store.put("day/a ü.jsonl", OF_BERT + OF_CLARA_TOO + "\n" * draft)
    lab = Bucket(store).start()
    lab.await_that(lambda d: d["live"] == 11)
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and told["objects_cleaned"] == 1, told
    assert store.versions() == ["day/a ü.jsonl"], store.versions()
    left = store.call("GET", "/day/a%20%C3%BC.jsonl").decode()
    assert left.startswith(OF_BERT) and "sample 10" not in left and left == lab.mirrored()["a ü.jsonl"].decode()
    asked = lab.dataset()
    assert (asked["ingested"], asked["live"], asked["replaced"]) == (11, 10, 0), asked
    lab.end()
    store.close()


def main():
    if not swift_server.is_installed():
        print("skipped: Swift is not installed")
        sys.exit(SKIPPED)
    run_tests(globals(), wanted=sys.argv[1:])


main()

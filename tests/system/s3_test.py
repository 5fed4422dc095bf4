"""A bucket as a source: mirrored, replaced, removed; hostile answers are told of and survived."""

import hashlib
import json
import os
import random
import signal
import sys
import threading
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from s3_server import BUCKET, KEY_ID, REGION, SECRET, Store  # noqa: E402
from weirlab import DEADLINE_S, Lab, await_sums, query, run_tests, stopped, victims  # noqa: E402

PIPELINE = """\
pipeline: {{name: bucket, mode: live}}
dataset:
  name: notes
  source:
    s3: {{endpoint: "%s", bucket: %s, prefix: day/, region: %s, every: 100ms}}
    format: jsonl
    import: copy
    settle: 0ms
    on_erase: scrub
  time:   {{from: field, field: ts}}
  label:  {{field: label, classes: [work, spam]}}
  subject: {{field: user}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  on_error: skip
  operators: [{{op: json_text, field: text}}, {{op: tokenize_words}}, {{op: tokenize_hash, buckets: 64}}]
  batch: {{samples: 8}}
training: {{model: {{name: text_bag, buckets: 64}}, loss: logistic}}
"""

LETTERS = """\
pipeline: {{name: bucket, mode: live}}
dataset:
  name: letters
  source:
    s3: {{endpoint: "%s", bucket: %s, prefix: day/, region: %s, every: 100ms}}
    format: files
    import: copy
    include: "*.txt"
    manifest: manifest.csv
    settle: 0ms
    on_erase: unlink
  time:   {{from: manifest}}
  label:  {{from: manifest, classes: [work, spam]}}
  subject: {{from: manifest}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  on_error: skip
  operators: [{{op: tokenize_words}}, {{op: tokenize_hash, buckets: 64}}]
  batch: {{samples: 8}}
training: {{model: {{name: text_bag, buckets: 64}}, loss: logistic}}
"""


def lines(first, count, user="anne"):
    return "".join(json.dumps({"ts": i, "label": "work" if i % 2 else "spam", "user": user,
                               "text": f"words of sample {i}"}) + "\n" for i in range(first, first + count))


class Bucket(Lab):
    def __init__(self, store, every=10**9, pipeline=PIPELINE):
        super().__init__(samples=1, every=every, pipeline=pipeline % (store.endpoint, BUCKET, REGION))
        os.environ.update(AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET)
        store.is_watched = self.data_dir.exists  # a run looks at the first records before it creates anything
        self.started = None

    def start(self):
        self.started = self.run()
        return self

    def dataset(self):
        try:
            return next(iter(json.loads(self.weir("datasets", "--json"))["datasets"]), None)
        except AssertionError:
            return None  # it is still coming up

    def await_that(self, what):
        """Until the dataset is as `what` says."""
        tries = 0
        while True:
            found = self.dataset() if (self.data_dir / "lock").exists() else None
            if found is not None and what(found):
                return found
            tries += 1
            assert self.started.process.poll() is None, "".join(self.started.stderr[-20:])
            assert tries < 4 * DEADLINE_S, found
            threading.Event().wait(0.25)  # nothing tells when a listing has come round

    def end(self):
        self.started.process.send_signal(signal.SIGTERM)
        self.started.finish(expect=None)
        self.remove()

    def mirrored(self):
        root = self.data_dir / "storage/notes"
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def assert_a_flipped_bit_is_noticed(lab, name):
    await_sums(lab)
    path = lab.data_dir / "storage/notes" / name
    for flips in range(2):
        content, times = path.read_bytes(), path.stat()
        with stopped(victims(lab.data_dir, "storage")):  # it looks all the time, and a file of another time is another file
            with path.open("r+b") as file:
                file.seek(len(content) // 2)
                file.write(bytes([content[len(content) // 2] ^ 1]))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        findings = json.loads(lab.ask("doctor", "--deep", "--json").stdout)["findings"]
        wrong = [f["found"] for f in findings if f["verdict"] == "wrong"]
        assert flips or len(wrong) == 1 and wrong[0].startswith(f"{name}: bytes 0 to "), wrong
    assert not wrong, ("it was put back", wrong)


def test_a_bucket_is_mirrored_and_followed():
    store = Store()
    bodies = {f"{i:02d} ü+&=.jsonl": lines(10 * i, 10) for i in range(7)}
    bodies["deep/er/last.jsonl"] = lines(100, 10)
    for name, body in bodies.items():
        store.put("day/" + name, body)
    store.put("night/other.jsonl", lines(500, 10))
    store.put("day/empty/", "")
    lab = Bucket(store).start()
    found = lab.await_that(lambda d: d["scanned"])
    assert found["live"] == 80 and not found["complaints"], found
    assert {k: v.decode() for k, v in lab.mirrored().items()} == bodies
    store.put("day/03 ü+&=.jsonl", lines(1000, 5))
    store.delete("day/deep/er/last.jsonl")
    store.put("day/new.jsonl", lines(2000, 1))
    found = lab.await_that(lambda d: d["live"] == 66)
    assert (found["replaced"], found["removed"]) == (10, 10), found
    asked = len(store.requests)
    lab.await_that(lambda d: len(store.requests) > asked + 8)
    again = [path for path in store.requests[asked:] if "jsonl" in path and "continuation" not in path]
    assert not again, again
    assert_a_flipped_bit_is_noticed(lab, "05 ü+&=.jsonl")
    lab.end()
    store.close()


def test_a_bucket_in_the_host_name_is_asked_for_what_counts_several_at_a_time():
    store = letters(page=100)
    for i in range(3):
        store.put(f"day/letter{i}.txt", f"letter {i}, which no manifest names")
    for key in ("day/scan.png", "day/.hidden/a.txt", "day/deep/b.bin"):
        store.put(key, "nothing for us")
    at_once = threading.Barrier(4)
    store.on_get = lambda key: at_once.wait(DEADLINE_S) if key.endswith(".txt") else None
    store.endpoint = store.endpoint.replace("127.0.0.1", "localhost")
    lab = Bucket(store, pipeline=LETTERS.replace("every: 100ms", "every: 100ms, style: host, transfers: 4")).start()
    found = lab.await_that(lambda d: d["scanned"])
    assert found["live"] == 5 and found["quarantined"] == 3, found
    asked = [urllib.parse.unquote(path) for path in store.requests if "list-type" not in path]
    assert sorted(asked) == sorted("/" + key for key in store.objects if key.endswith((".txt", ".csv")) and "/." not in key), asked
    store.faults = ["500", None, "half", "nonsense"]
    told = erase_clara(lab)
    (refused,) = told["outside_reach"]  # those that no manifest names
    assert "refused" in refused and not set(store.history) & set(OF_CLARA), told
    lab.end()
    store.close()


def test_an_object_that_is_written_again_with_its_bytes_is_on_disk_once():
    store = Store()
    store.put("day/a.jsonl", lines(0, 10))
    lab = Bucket(store).start()
    lab.await_that(lambda d: d["live"] == 10)
    asked = len(store.requests)
    store.put("day/a.jsonl", lines(0, 10))
    lab.await_that(lambda _: [r for r in store.requests[asked:] if "a.jsonl" in r])
    asked = len(store.requests)
    found = lab.await_that(lambda _: len(store.requests) > asked + 8)
    assert (found["live"], found["replaced"]) == (10, 0), found
    assert not list((lab.data_dir / "storage").glob(".incoming*")), list((lab.data_dir / "storage").iterdir())
    lab.end()
    store.close()


def test_large_objects_come_in_pieces_and_deaths_change_nothing():
    store = Store()
    big = lines(0, 250_000)
    assert len(big) > 2 * (8 << 20)
    store.put("day/a.jsonl", big)
    store.put("day/b.jsonl", lines(10**6, 10))
    lab = Bucket(store).start()
    draw = random.Random(1)
    for _ in range(4):
        while lab.started.process.poll() is None and not lab.started.kill("storage"):
            threading.Event().wait(0.05)  # it is not up again yet
        threading.Event().wait(draw.uniform(0, 0.5))  # where the next kill falls: random, and no condition to wait for
    found = lab.await_that(lambda d: d["scanned"] and d["live"] == 250_010)
    assert found["ingested"] == 250_010 and found["replaced"] == 0, found
    lab.end()
    store.close()


def test_hostile_answers_are_survived():
    store = Store()
    for i in range(4):
        store.put(f"day/{i}.jsonl", lines(10 * i, 10))
    store.faults = ["500", "half", "nonsense", "500", None, "half", "long", "500", None, None, "half"]
    lab = Bucket(store).start()
    assert lab.await_that(lambda d: d["live"] == 40)["quarantined"] == 0
    for fault, word in (("endless", "more than"), ("redirect", "HTTP status 307"), ("500", "InternalError")):
        store.faults = [fault] * 1000  # until it is told of
        found = lab.await_that(lambda d: d["complaints"])
        assert word in found["complaints"][0], found["complaints"]
        store.faults = []
        lab.await_that(lambda d: not d["complaints"])
    store.put("day/../../escape.jsonl", lines(500, 1))
    found = lab.await_that(lambda d: d["complaints"])
    assert "cannot be the path of a file" in found["complaints"][0] and found["live"] == 40, found
    assert not list(lab.folder.rglob("escape.jsonl"))
    lab.end()
    store.close()


def test_wrong_credentials_are_told_and_never_written():
    store = Store()
    store.put("day/a.jsonl", lines(0, 10))
    lab = Bucket(store)
    os.environ["AWS_SECRET_ACCESS_KEY"] = "not-the-secret-of-the-tests"
    lab.start()
    found = lab.await_that(lambda d: d["complaints"])
    assert "403 SignatureDoesNotMatch" in found["complaints"][0] and not found["scanned"], found
    logs = "".join(p.read_text(errors="replace") for p in (lab.data_dir / "log").iterdir())
    assert "not-the-secret" not in logs and "not-the-secret" not in json.dumps(found)
    lab.end()
    store.close()


OF_BERT, OF_CLARA_TOO = lines(0, 10, user="bert"), lines(10, 1, user="clara")


def shared(**options):
    """Two objects that people share, written three times each, and one that is bert's alone."""
    store = Store(**options)
    for draft in range(3):
        for name in ("a", "b c+ü"):
            store.put(f"day/{name}.jsonl", OF_BERT + OF_CLARA_TOO + "\n" * draft)
    store.put("day/bert.jsonl", lines(100, 3, user="bert"))
    return store


def holds_clara(store):
    return [k for k, versions in store.history.items() for v in versions if b"sample 10\"" in (v["body"] or b"")]


def assert_no_new_samples(lab, store):
    """What was written anew comes round in a listing, and is known."""
    asked = len(store.requests)
    lab.await_that(lambda d: len(store.requests) > asked + 8)
    found = lab.dataset()
    assert (found["ingested"], found["live"], found["erased"], found["replaced"]) == (25, 23, 2, 0), found
    assert not found["complaints"], found
    examined = json.loads(lab.weir("doctor", "--deep", "--json"))
    assert examined["wrong"] == 0, examined


def test_an_erasure_writes_shared_objects_anew():
    store = shared(versioned=True)
    lab = Bucket(store).start()
    lab.await_that(lambda d: d["live"] == 25)
    assert len(holds_clara(store)) == 6
    before = store.history["day/bert.jsonl"]
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and told["objects_cleaned"] == 2, told
    assert not holds_clara(store) and store.history["day/bert.jsonl"] == before
    for name in ("a", "b c+ü"):
        left, = store.history[f"day/{name}.jsonl"]
        assert OF_BERT.encode() in left["body"] and len(left["body"]) == len(OF_BERT + OF_CLARA_TOO) + 2
        assert lab.mirrored()[f"{name}.jsonl"] == left["body"]
    assert_no_new_samples(lab, store)
    lab.end()
    store.close()


def test_an_object_that_many_erasures_concern_is_written_anew_once():
    store, people = Store(versioned=True), [f"person{i}" for i in range(60)]
    for draft in range(2):
        store.put("day/all.jsonl", "".join(lines(10 * i, 10, user=person) for i, person in enumerate(people)) + "\n" * draft)
    lab = Bucket(store).start()
    lab.await_that(lambda d: d["live"] == 600)
    names, asked = lab.folder / "names.csv", len(store.requests)
    names.write_text("subject\n" + "\n".join(people[:40]) + "\n")
    lab.weir("erase", "request", "--csv", str(names), "--each")
    lab.await_that(lambda _: all(e["state"] == "FINISHED" for e in json.loads(lab.weir("erase", "list", "--json"))["erasures"]))
    told = [json.loads(lab.weir("erase", "receipt", str(i + 1), "--json"))["storage"] for i in range(40)]
    assert all(one["outside_reach"] == [] and one["objects_cleaned"] == 1 for one in told), told
    (left,) = store.history["day/all.jsonl"]
    assert not any(person.encode() + b'"' in left["body"] for person in people[:40]) and lines(400, 10, user="person40").encode() in left["body"]
    written = [request.partition(" ")[0] for request in store.requests[asked:] if "all.jsonl" in request]
    assert written.count("PUT") < 5 and len(written) < 40, written  # those that come while others are under way are together again
    assert lab.dataset()["live"] == 200
    lab.end()
    store.close()


def test_an_object_that_others_write_meanwhile_is_read_in_first():
    store = shared(versioned=True)
    lab = Bucket(store).start()
    lab.await_that(lambda d: d["live"] == 25)
    more = OF_BERT + OF_CLARA_TOO + lines(50, 2, user="bert")
    store.on_put = lambda number: number == 1 and store.put("day/a.jsonl", more)
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and not holds_clara(store), told
    left, = store.history["day/a.jsonl"]
    assert lines(50, 2, user="bert").encode() in left["body"] and len(left["body"]) == len(more)
    found = lab.await_that(lambda d: d["live"] == 25)
    assert found["replaced"] == 10 and found["blocked"] >= 1, found
    lab.end()
    store.close()


def test_deaths_while_objects_are_written_anew_change_nothing():
    store = shared(versioned=True)
    lab = Bucket(store).start()
    lab.await_that(lambda d: d["live"] == 25)
    store.on_put = lambda number: number == 1 and lab.started.kill("storage")
    store.after_put = lambda key: len([r for r in store.requests if r.startswith("PUT")]) == 2 and lab.started.kill("storage")
    store.on_delete = lambda number: number in (1, 3) and lab.started.kill("storage")
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and not holds_clara(store), told
    assert [len(v) for v in store.history.values()] == [1, 1, 1], store.history
    assert_no_new_samples(lab, store)
    lab.end()
    store.close()


OF_CLARA = ["day/clara 1 ü+&=.txt", "day/deep/clara2.txt", "day/clara0.txt"]


def write_letters(store):
    """Letters of clara and of bert, all of them rewritten, one with a like name."""
    names = [key[4:] for key in OF_CLARA] + ["clara 1 ü+&=.txt.txt", "bert.txt"]
    people = ["clara"] * 3 + ["bert"] * 2
    rows = [f"{name},{1000 + i},work,{person}" for i, (name, person) in enumerate(zip(names, people))]
    store.put("day/manifest.csv", "path,time,label,subject\n" + "\n".join(rows) + "\n")
    for draft in range(4):  # more versions than a page of their listing holds
        for name in names:
            store.put("day/" + name, hashlib.sha256(f"{name} {draft}".encode()).hexdigest())


def letters(**options):
    store = Store(**options)
    write_letters(store)
    return store


def erase_clara(lab):
    lab.weir("erase", "request", "--subject", "clara", "--wait")
    told = json.loads(lab.weir("erase", "receipt", "1", "--json"))["storage"]
    assert told["found"] == 0, told
    return told


def test_an_erasure_deletes_objects_with_all_their_versions():
    store = letters(versioned=True)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    store.delete(OF_CLARA[2])
    lab.await_that(lambda d: d["removed"] == 1)
    before = {k: v for k, v in store.history.items() if k not in OF_CLARA}
    told = erase_clara(lab)
    assert told["outside_reach"] == [] and told["objects_cleaned"] == 3, told
    assert store.history == before, store.history.keys()
    assert lab.dataset()["live"] == 2
    lab.end()
    store.close()


def test_a_letter_of_the_erased_that_comes_again_is_not_kept():
    store = letters(versioned=True)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    erase_clara(lab)
    store.put(OF_CLARA[1], "as somebody uploads it once more")
    lab.await_that(lambda d: d["blocked"] > 0)
    assert not (lab.data_dir / "storage/letters/deep/clara2.txt").exists()
    lab.end()
    store.close()


def test_deaths_while_versions_are_deleted_leave_none():
    store = letters(versioned=True)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    store.on_delete = lambda number: number in (2, 5, 9) and lab.started.kill("storage")
    erase_clara(lab)
    assert not set(store.history) & set(OF_CLARA) and len(store.history) == 3, store.history.keys()
    assert len([r for r in store.requests if r.startswith("DELETE")]) > 9
    lab.end()
    store.close()


def trouble(lab):
    return json.loads(lab.weir("erase", "status", "1", "--json"))["trouble"]


def test_what_the_bucket_refuses_is_in_the_receipt_and_tried_until_it_is_done():
    store = letters(versioned=True)
    store.denied, store.locked = {"DELETE"}, {OF_CLARA[0]: "2031-05-06T07:08:09Z"}
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    told = erase_clara(lab)["outside_reach"]
    for key in OF_CLARA:
        remark = next(r for r in told if f"s3://data/day/: the object '{urllib.parse.quote(key)}'" in r)
        assert ("until 2031-05-06T07:08:09Z" if key in store.locked else "HTTP status 403 AccessDenied") in remark, told
    assert len(told) == 3 and "bert" not in json.dumps(told) and lab.dataset()["live"] == 2, told
    assert "objects: 3" in trouble(lab), trouble(lab)
    assert trouble(lab) in lab.weir("erase", "list")
    lab.started.kill("storage")
    files = "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname IN ('owed', 'object') AND relkind = 'r'"
    before = set(query(lab, files))
    store.denied, store.locked = set(), {}
    lab.await_that(lambda d: trouble(lab) == "" and not set(store.history) & set(OF_CLARA))
    lab.await_that(lambda d: not before & set(query(lab, files)))  # dead rows hold the keys: both tables are written anew
    lab.end()
    store.close()


def test_scans_go_on_while_versions_are_deleted():
    store = letters(versioned=True)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    may_go_on, seen = threading.Event(), []
    store.on_delete = lambda number: number == 1 and seen.append(may_go_on.wait(DEADLINE_S))
    lab.weir("erase", "request", "--subject", "clara")
    manifest = store.history["day/manifest.csv"][0]["body"].decode() + "late.txt,1009,work,bert\n"
    store.put("day/late.txt", "a letter that comes meanwhile")
    store.put("day/manifest.csv", manifest)
    found = lab.await_that(lambda d: d["live"] == 3)
    assert found["erased"] == 3 and found["removed"] == 0, found
    assert set(store.history) & set(OF_CLARA)
    may_go_on.set()
    lab.await_that(lambda d: json.loads(lab.weir("erase", "status", "1", "--json"))["finished"])
    assert seen == [True] and not set(store.history) & set(OF_CLARA), store.history.keys()
    lab.end()
    store.close()


def test_a_newer_object_is_left_to_whoever_wrote_it():
    store = letters(versioned=True)
    lab = Bucket(store, pipeline=LETTERS).start()
    lab.await_that(lambda d: d["live"] == 5)
    written = []

    def rewrite(_):
        if not written:
            written.append(OF_CLARA[1])
            store.put(OF_CLARA[1], "another letter")

    store.on_delete = rewrite
    told = json.dumps(erase_clara(lab)["outside_reach"])
    assert [v["body"] for v in store.history[OF_CLARA[1]]] == [b"another letter"], store.history[OF_CLARA[1]]
    assert f"the object '{OF_CLARA[1]}'" in told and "another object by now" in told, told
    lab.end()
    store.close()


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

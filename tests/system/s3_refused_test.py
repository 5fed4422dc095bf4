"""Refused records and duplicates in the mirror of a bucket: an erasure overwrites those of the person, an order to drop them all
others; the bucket keeps what nobody ordered to be written there, and is not asked for it again."""

import io
import json
import re
import subprocess
import sys
import tarfile

from s3_test import LETTERS, PIPELINE, Bucket, Store
from weirlab import faulty, query, run_tests

KEYED = PIPELINE.replace("subject: {{field: user}}",
                         "subject: {{field: user}}\n  key:     {{field: id}}\n  duplicates: {{keep: first}}")
WORD = "canaryword-8be4"


def record(number, user, **changes):
    text = f"{WORD} {number} of a person" if user == "clara" else f"what number {number} says"
    return json.dumps({"ts": number, "label": "work", "user": user, "id": f"n{number}", "text": text} | changes) + "\n"


KEPT = [record(1, "bert"), record(2, "anne")]
REFUSED = record(3, "bert", ts="never")
MALFORMED = '{"user": "dora", "text": "half a rec\n'
OF_CLARA = [record(11, "clara"), record(12, "clara", ts="never"), record(11, "clara")]  # a sample, refused, a duplicate
BESIDE = [record(13, "clara", label="neither"), record(11, "clara")]


def shared():
    """One object that a sample of clara is in, one with nothing but what was refused of her, and one without her."""
    store = Store(versioned=True)
    store.put("day/a.jsonl", KEPT[0] + "".join(OF_CLARA) + REFUSED + MALFORMED)
    store.put("day/b.jsonl", BESIDE[0] + KEPT[1] + BESIDE[1] + record(1, "bert"))
    store.put("day/c.jsonl", record(5, "bert") + MALFORMED)
    return store


def mirrored_lab(store, pipeline=KEYED, samples=4):
    lab = Bucket(store, pipeline=pipeline).start()
    lab.await_that(lambda d: d["scanned"] and d["live"] == samples)
    return lab


def holders(lab, word=WORD):
    """Files below the data directory, the cluster's too, that have the word."""
    outside = [at.read_text().strip() for at in lab.data_dir.glob("postgres.location")]
    found = subprocess.run(["grep", "-rlaF", word, lab.data_dir, *outside], capture_output=True, text=True, check=False)
    return found.stdout.splitlines()


def erase(lab, *what):
    """What the receipt says of storage."""
    answer = json.loads(lab.weir("erase", "request", *what, "--wait", "--json"))
    assert answer["state"] == "FINISHED", answer
    told = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))["storage"]
    assert told["found"] == 0, told
    return told


def remark(told, *words):
    return next(r for r in told["outside_reach"] if all(w in r for w in words))


def rest(lab, store):
    """Listings have come round, and no object was asked for."""
    asked = len(store.requests)
    lab.await_that(lambda d: len(store.requests) > asked + 8)
    assert not [r for r in store.requests[asked:] if "jsonl" in r and "list" not in r], store.requests[asked:]
    assert json.loads(lab.weir("doctor", "--deep", "--json"))["wrong"] == 0
    return lab.dataset()


def end(lab, store):
    lab.end()
    store.close()


def test_what_was_refused_of_a_person_leaves_the_mirror_with_an_erasure():
    store = shared()
    lab = mirrored_lab(store)
    before = lab.dataset()
    assert (before["quarantined"], before["duplicate"]) == (5, 3), before
    beside = store.history["day/b.jsonl"]
    told = erase(lab, "--subject", "clara")
    assert holders(lab) == [], holders(lab)
    left, = store.history["day/a.jsonl"]
    mirror = lab.mirrored()
    assert left["body"] == mirror["a.jsonl"] and WORD.encode() not in left["body"], left
    assert (KEPT[0] + REFUSED[:-1] + "\n" + MALFORMED).encode() == b"".join(
        line for line in left["body"].splitlines(keepends=True) if line.strip()), left
    assert mirror["c.jsonl"] == store.objects["day/c.jsonl"]["body"]
    assert store.history["day/b.jsonl"] == beside and len(mirror["b.jsonl"]) == len(beside[0]["body"])
    assert KEPT[1].encode() in mirror["b.jsonl"] and record(1, "bert").encode() in mirror["b.jsonl"], mirror
    assert "delete or replace it there" in remark(told, "the object 'day/b.jsonl'"), told
    assert not [r for r in told["outside_reach"] if "the object 'day/a.jsonl'" in r], told
    assert "a.jsonl (3), b.jsonl (1), c.jsonl (1)" in remark(told, "3 duplicates", "--drop-refused --dataset notes"), told
    after = rest(lab, store)
    assert (after["live"], after["quarantined"], after["duplicate"], after["replaced"]) == (3, 5, 3, 0), after
    end(lab, store)


def test_a_person_of_whom_everything_was_refused_is_found():
    store = shared()
    store.put("day/d.jsonl", record(21, "emil", ts="never") + record(22, "emil", label="neither"))
    lab = mirrored_lab(store)
    told = erase(lab, "--subject", "emil")
    assert not lab.mirrored()["d.jsonl"].strip(), lab.mirrored()
    assert "delete or replace it there" in remark(told, "the object 'day/d.jsonl'"), told
    assert lab.ask("erase", "request", "--subject", "nobody").returncode != 0
    end(lab, store)


def test_duplicates_of_an_erased_sample_leave_the_mirror_with_it():
    store = shared()
    lab = mirrored_lab(store)
    sample, = query(lab, "SELECT id FROM storage.sample WHERE time_us = 11000000")
    erase(lab, "--id", sample)
    assert all(b'"n11"' not in content for content in lab.mirrored().values()), lab.mirrored()
    assert WORD.encode() in lab.mirrored()["a.jsonl"]  # of another key, and nobody asked for the person
    erase(lab, "--subject", "clara", "--allow-none")
    assert holders(lab) == [], holders(lab)
    end(lab, store)


def test_a_death_while_refused_records_are_overwritten_only_repeats_it():
    for fault in ("storage.drop.overwrite=!2", "storage.drop.store=!2"):
        store = shared()
        with faulty(fault):
            lab = mirrored_lab(store)
        told = erase(lab, "--subject", "clara")
        assert holders(lab) == [], holders(lab)
        assert remark(told, "the object 'day/b.jsonl'"), told
        rest(lab, store)
        end(lab, store)


def test_an_order_drops_the_others_from_the_mirror_alone():
    store = shared()
    lab = mirrored_lab(store)
    before = dict(store.history)
    told = erase(lab, "--drop-refused", "--dataset", "notes")
    dropped, = told["dropped"]
    assert "5 refused records and 3 duplicates were overwritten in 3 files" in dropped, dropped
    assert "the objects of the bucket keep them" in dropped, dropped
    assert store.history == before
    kept = b"".join(sorted(line for content in lab.mirrored().values() for line in content.splitlines(keepends=True) if line.strip()))
    assert kept == "".join(sorted([*KEPT, OF_CLARA[0], record(5, "bert")])).encode(), kept
    assert "a.jsonl (3), b.jsonl (1), c.jsonl (1)" in remark(told, "delete or replace those objects"), told
    after = rest(lab, store)
    assert (after["live"], after["replaced"], after["quarantined"]) == (4, 0, 5), after
    lab.started.kill("storage")
    lab.await_that(lambda d: d["scanned"])
    assert rest(lab, store)["live"] == 4 and store.history == before
    end(lab, store)


def test_half_a_record_of_a_person_is_told_until_it_is_dropped():
    store = shared()
    store.put("day/d.jsonl", OF_CLARA[0][:-4] + "\n" + record(6, "anne"))
    lab = mirrored_lab(store, samples=5)
    done = lab.ask("erase", "request", "--subject", "clara", "--wait")
    assert done.returncode == 3 and "storage/notes/d.jsonl" in done.stdout + done.stderr, done
    erase(lab, "--drop-refused", "--dataset", "notes")
    lab.await_that(lambda d: json.loads(lab.ask("erase", "status", "1", "--json").stdout)["finished"])
    assert holders(lab) == [], holders(lab)
    end(lab, store)


def test_a_mirror_of_an_older_weir_names_nobody_and_is_gone_over():
    store = shared()
    lab = mirrored_lab(store)
    query(lab, "DELETE FROM storage.refused_name; UPDATE storage.dataset SET refused_unnamed = true")
    erase(lab, "--subject", "clara")
    assert holders(lab) == [], holders(lab)
    told = query(lab, "SELECT refused_unnamed FROM storage.dataset")
    assert told == ["f"], told
    erase(lab, "--subject", "bert")  # the others are named by now
    assert not [n for n, content in lab.mirrored().items() if b"bert" in content], lab.mirrored()
    end(lab, store)


def archive(*records):
    """Two members a record, as a tar has them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for number, line in enumerate(records):
            fields = json.loads(line)
            for name, text in ((f"{number}.json", json.dumps(fields)), (f"{number}.txt", fields["text"])):
                member = tarfile.TarInfo(name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def table(*records):
    rows = [json.loads(line) for line in records]
    return ("ts,label,user,id,text\n" + "".join(",".join(str(v) for v in row.values()) + "\n" for row in rows)).encode()


def test_what_was_refused_leaves_files_of_other_formats_too():
    for form, name, write, at, reader in (("csv", "a.csv", table, "", "{{op: csv_text, field: text}}, "), ("tar, sample: txt", "a.tar", archive, "json.", "")):
        store = Store(versioned=True)
        store.put("day/" + name, write(KEPT[0], *OF_CLARA, REFUSED, KEPT[1]))
        pipeline = KEYED.replace("format: jsonl", "format: " + form.replace(", ", "\n    "))
        pipeline = pipeline.replace("{{op: json_text, field: text}}, ", reader)
        for field in ("ts", "label", "user", "id"):
            pipeline = pipeline.replace(f"field: {field},", f"field: {at}{field},").replace(f"field: {field}}}", f"field: {at}{field}}}")
        lab = mirrored_lab(store, pipeline=pipeline, samples=3)
        erase(lab, "--subject", "clara")
        assert holders(lab) == [] and b"what number 3 says" in lab.mirrored()[name], (form, holders(lab))
        left, = store.history["day/" + name]
        assert left["body"] == lab.mirrored()[name], form
        erase(lab, "--drop-refused", "--dataset", "notes")
        assert holders(lab, "what number 3 says") == [], form
        assert {b"what number 1 says", b"what number 2 says"} <= set(re.findall(rb"what number . says", lab.mirrored()[name])), form
        assert (lab.dataset()["live"], json.loads(lab.weir("doctor", "--deep", "--json"))["wrong"]) == (2, 0), form
        end(lab, store)


LETTERS_OF = {"clara1.txt": ("1000", "clara"), "clara2.txt": ("never", "clara"), "bert1.txt": ("1001", "bert"),
              "bert2.txt": ("never", "bert"), "nobody.txt": None}


def put_letters(store, *more):
    rows = [f"{name},{row[0]},work,{row[1]}" for name, row in LETTERS_OF.items() if row is not None]
    store.put("day/manifest.csv", "path,time,label,subject\n" + "\n".join([*rows, *more]) + "\n")
    for name in LETTERS_OF:
        store.put("day/" + name, f"{WORD if 'clara' in name else 'a letter'} in {name}, at some length")


def letters_in(lab):
    return sorted(p.name for p in (lab.data_dir / "storage/letters").iterdir() if p.suffix == ".txt")


def test_refused_files_of_a_person_leave_the_mirror_and_do_not_come_back():
    store = Store(versioned=True)
    put_letters(store)
    lab = mirrored_lab(store, pipeline=LETTERS, samples=2)
    told = erase(lab, "--subject", "clara")
    assert holders(lab) == [] and letters_in(lab) == ["bert1.txt", "bert2.txt", "nobody.txt"], holders(lab)
    assert "day/clara1.txt" not in store.history and remark(told, "the object 'day/clara2.txt'"), told
    erase(lab, "--drop-refused", "--dataset", "letters")
    assert letters_in(lab) == ["bert1.txt"] and "day/nobody.txt" in store.history
    asked = len(store.requests)
    lab.await_that(lambda d: len(store.requests) > asked + 8)
    assert letters_in(lab) == ["bert1.txt"] and lab.dataset()["live"] == 1, lab.dataset()
    end(lab, store)


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

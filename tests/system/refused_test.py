"""Records of a person that became no sample: malformed ones, duplicates, everything that a dataset refused, and a file with the
person's name. Once the receipt is written their words are nowhere below the data directory, nor in the cluster."""

import json
import os
from pathlib import Path

from weirlab import PIPELINE, Lab, run_tests, served

PERSON = "canaryperson-21d7@example.org"
WORD = "canaryword-8be4"
COPIED = (PIPELINE.replace("preprocess:\n", "preprocess:\n  on_error: skip\n").replace("subject: {{field: user}}", "subject: {{field: user}}\n    key:     {{field: id}}\n    duplicates: {{keep: first}}")
          .replace("retrain_now", "keep"))


def holders(lab):
    """Files, the cluster's too, that have a word of the person, or have it for a name."""
    outside = [Path(at.read_text().strip()) for at in lab.data_dir.glob("postgres.location")]
    found = []
    for folder in [lab.data_dir, *outside]:
        for root, folders, names in os.walk(folder):
            found += [f"{root}/{name}" for name in folders + names if PERSON in name]
            for name in names:
                path = Path(root) / name
                if path.is_file() and not path.is_symlink():
                    content = path.read_bytes()
                    found += [str(path) for word in (PERSON, WORD) if word.encode() in content]
    return sorted(set(found))


def of_person(like, number, **changes):
    return json.dumps(like | {"user": PERSON, "id": f"canary-{number}", "text": f"{WORD} {number}"} | changes)


def tamper(lab):
    """Two samples of the person, one of them in a file of that name; a duplicate and four malformed records."""
    like = lab.records[5]
    part = next(iter(sorted((lab.folder / "stream").glob("*.jsonl"))))
    good = of_person(like, 1)
    records = [good, good.replace(f"{WORD} 1", f"{WORD} again"), good[:-9], of_person(like, 3, ts="never"),
               of_person(like, 4, label=WORD), json.dumps([PERSON, WORD])]
    part.write_text("\n".join(records) + "\n" + part.read_text())
    (part.parent / f"{PERSON}.jsonl").write_text(of_person(like, 6) + "\n")


def erased(lab):
    answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
    assert answer["state"] == "FINISHED", answer
    assert "everything holds" in lab.weir("erase", "verify", str(answer["erasure"]))
    receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    return answer["samples"], receipt["storage"]["outside_reach"]


def lab_with(pipeline):
    lab = Lab(samples=200, every=200, epochs=1, pipeline=pipeline)
    for number, record in enumerate(lab.records):
        record["id"] = f"n-{number}"
    part = lab.folder / "stream"
    for path in part.glob("*.jsonl"):
        path.unlink()
    (part / "part.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lab.records))
    tamper(lab)
    return lab


def test_of_what_was_refused_nothing_is_left_in_what_weir_owns():
    lab = lab_with(COPIED)
    lab.run().finish()
    (notes,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
    assert notes["quarantined"] == 4 and notes["duplicate"] == 1 and notes["live"] == 202, notes
    with served(lab):
        samples, outside = erased(lab)
        assert samples == 2, samples
        assert not any("refused" in remark for remark in outside), outside
        lab.weir("doctor", "--deep")  # fails when anything is wrong
    assert holders(lab) == [], holders(lab)
    with served(lab):  # and scanned again
        assert json.loads(lab.weir("datasets", "--json"))["datasets"][0]["live"] == 200
    assert holders(lab) == [], holders(lab)
    lab.remove()


REFERRED = COPIED.replace("import: copy", "import: reference")


def ask(lab, *options):
    answer = json.loads(lab.weir("erase", "request", *options, "--wait", "--json"))
    assert answer["state"] == "FINISHED", answer
    assert "everything holds" in lab.weir("erase", "verify", str(answer["erasure"]))
    return json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))["storage"]


def test_an_order_drops_what_was_refused_in_files_that_are_only_referred_to():
    lab = lab_with(REFERRED)
    source = lab.folder / "stream"
    (source / f"{PERSON}.jsonl").unlink()  # a name is not the matter here
    lab.run().finish()
    for path in [source, *source.iterdir()]:
        os.chown(path, lab.data_dir.stat().st_uid, -1)  # whom Weir runs as
    with served(lab):
        told = ask(lab, "--subject", PERSON)
        (named,) = [r for r in told["outside_reach"] if "refused records" in r]
        assert "--drop-refused --dataset notes" in named and told["dropped"] == [], told
        assert any(WORD in path.read_text() for path in source.glob("*.jsonl"))
        told = ask(lab, "--drop-refused", "--dataset", "notes")
        (dropped,) = told["dropped"]
        assert "4 refused records and 1 duplicates were overwritten in 1 files: part.jsonl (4)" in dropped, told
        assert not any("still stand" in r for r in told["outside_reach"]), told
        for path in source.glob("*.jsonl"):
            assert WORD not in path.read_text() and PERSON not in path.read_text(), path
        lab.weir("doctor", "--deep")
    assert [h for h in holders(lab) if not h.startswith(str(source))] == [], holders(lab)
    with served(lab):  # and scanned again
        (notes,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
        assert notes["live"] == 200 and notes["replaced"] == 0, notes
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

"""A person asks to be forgotten: no batch, no file, no model keeps them, and the receipt says so."""

import hashlib
import json

from weirlab import Lab, assert_clean_audits


def owned_bytes(data_dir):
    """Every byte of every file Weir owns (Postgres and its log of changes too: they hold no payload)."""
    for path in data_dir.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


def main():
    lab = Lab(samples=800, every=200, epochs=1)
    before = lab.run().finish()
    assert_clean_audits(before.events)
    person = lab.records[10]["user"]  # early in the stream: every model has seen this person
    texts = [r["text"] for r in lab.records if r["user"] == person]
    models = json.loads(lab.weir("models", "list", "--json"))["models"]

    plan = json.loads(lab.weir("erase", "plan", "--subject", person, "--json"))
    assert plan["samples"] == len(texts) and plan["bytes"] > sum(len(t) for t in texts), plan
    assert {m["model"] for m in plan["models"] if m["live"]} == {m["model"] for m in models}, plan
    assert json.loads(lab.weir("erase", "list", "--json"))["erasures"] == [], "a plan changes nothing"

    names = lab.folder / "names.csv"
    names.write_text(f'case,subject\n1,"{person}"\n')
    answer = json.loads(lab.weir("erase", "request", "--csv", str(names), "--wait", "--json"))
    names.unlink()
    assert answer["samples"] == len(texts), answer
    receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    print("erased", answer["samples"], "samples;", "receipt", receipt["erasure"])

    for path, content in owned_bytes(lab.data_dir):
        for text in texts:
            assert text.encode() not in content, f"{path} still holds an erased text"
        assert person.encode() not in content, f"{path} names the person"

    (notes,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
    assert notes["erased"] == len(texts) and notes["live"] == 800 - len(texts), notes
    after = json.loads(lab.weir("models", "list", "--json"))["models"]
    tainted = {m["checksum"] for m in models}
    kept = {m["checksum"] for m in after if m["state"] in ("active", "stored")}
    assert kept and not kept & tainted, "a model that has seen the person is still there"
    assert not any(hashlib.sha256(c).hexdigest() in tainted for _, c in owned_bytes(lab.data_dir))

    plan = json.loads(lab.weir("erase", "plan", "--subject", person, "--json"))
    assert plan["samples"] == 0 and plan["bytes"] == 0, plan
    again = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    assert again["samples"] == 0, again
    second = json.loads(lab.weir("erase", "receipt", str(again["erasure"]), "--json"))
    assert second["previous"] and second["previous"] == receipt["hash"], (receipt, second)
    print("chain holds; nobody is found a second time")
    lab.remove()


main()

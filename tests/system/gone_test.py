"""Every file of a data set is gone when somebody asks to be forgotten: nothing is left to train on again, and the erasure ends all the
same; its receipt says so."""

import json

from weirlab import PIPELINE, Lab, run_tests, served


def erased_without_files(how, folder_of):
    lab = Lab(samples=200, every=100, epochs=1, pipeline=PIPELINE.replace("import: copy", f"import: {how}"))
    lab.run().finish()
    models = {m["model"] for m in json.loads(lab.weir("models", "list", "--json"))["models"] if m["state"] != "dropped"}
    person = lab.records[10]["user"]
    count = sum(r["user"] == person for r in lab.records)
    with served(lab):
        for part in folder_of(lab).glob("*.jsonl"):
            part.unlink()
        answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
        receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
        assert json.loads(lab.weir("erase", "status", str(answer["erasure"]), "--json"))["state"] == "FINISHED"
        assert "everything holds" in lab.weir("erase", "verify", str(answer["erasure"]))
        left = json.loads(lab.weir("models", "list", "--json"))["models"]
    assert answer["samples"] == count, (answer, count)
    assert any("is gone: nothing of it could be overwritten" in r for r in receipt["storage"]["outside_reach"]), receipt
    tainted = receipt["models"]
    assert tainted and {m["model"] for m in tainted} <= models, (receipt, models)
    for model in tainted:
        assert model["action"] == "retrain" and model["replacement"] is None, model
        assert " erased" in model["outcome"] and " gone" in model["outcome"], model
    assert not any(m["state"] in ("active", "stored") for m in left), left
    print(how, tainted)
    lab.remove()


def test_an_erasure_ends_when_every_referenced_file_is_gone():
    erased_without_files("reference", lambda lab: lab.folder / "stream")


def test_an_erasure_ends_when_every_copied_file_is_gone():
    erased_without_files("copy", lambda lab: lab.data_dir / "storage" / "notes")


if __name__ == "__main__":
    run_tests(globals())

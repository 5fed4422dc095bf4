"""A label that is the subject: whoever checks or submits the file is told, and an erasure of a person takes the name of the
class away with the last sample of it, from every file, table and model."""

import json

from weirlab import Lab, run_tests, served
from words_test import WORDS, assert_registered, places_of, query, the_log_is_cycled, write

PERSON, OTHER = "canarysubject-41f0c8e2@example.org", "stays-9d27@example.org"
# Everybody is a class; models of all triggers know the classes that there are, also those of no sample of their sets.
PEOPLE = WORDS.replace("label:   {{field: label, classes: stream}}", "label:   {{field: user, classes: stream}}")


def with_people(records):
    """The person is in the last third alone: no model of an earlier trigger has seen a sample of the class."""
    for index in range(700, 720):
        records[index] |= {"user": PERSON}
    for index in range(720, 740):
        records[index] |= {"user": OTHER}
    return records


def classes(lab):
    (dataset,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
    return dataset["classes"]


def assert_remarked(lab):
    """At the field, by those who check it and those who submit it; the file is good all the same."""
    checked = json.loads(lab.weir("config", "check", str(lab.pipeline), "--json"))
    (remark,) = checked["complaints"]
    assert checked["valid"] and ":6:" in remark and "datasets[0].label" in remark and "subject" in remark, checked
    submitted = lab.ask("submit", str(lab.pipeline))
    assert submitted.returncode == 0 and "datasets[0].label" in submitted.stderr, submitted
    fine = lab.folder / "fine.yaml"
    fine.write_text(lab.pipeline.read_text().replace("label:   {field: user", "label:   {field: label"))
    assert json.loads(lab.weir("config", "check", str(fine), "--json"))["complaints"] == []


def exported_classes(lab, model):
    path = lab.folder / f"{model}.safetensors"
    lab.weir("models", "export", model, "--to", str(path))
    data = path.read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["classes"])


def test_a_class_that_is_a_person_goes_with_its_last_sample():
    lab = Lab(samples=900, every=300, epochs=1, pipeline=PEOPLE)
    write(lab.folder / "stream", with_people(lab.records))
    lab.run().finish()
    assert places_of(lab, [PERSON]), "the name was not taken in"
    with served(lab):
        assert_remarked(lab)
        before = classes(lab)
        number = before.index(PERSON)
        assert exported_classes(lab, "lab-1")[number] == PERSON, "an export names what storage names"
        (lab.folder / "lab-1.safetensors").unlink()
        answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
        assert answer["samples"] == 20, answer
        assert not (left := places_of(lab, [PERSON])), f"after the receipt: {left}"
        assert_registered(lab)
        the_log_is_cycled(lab)
        after = classes(lab)
        assert after[number] == f"erased-{number}" and OTHER in after, after
        assert [a for a, b in zip(after, before) if a != b] == [f"erased-{number}"], (before, after)
        assert exported_classes(lab, "lab-1")[number] == f"erased-{number}"
        receipt = lab.weir("erase", "receipt", str(answer["erasure"]), "--json")
        assert f"as 'erased-{number}'" in receipt, receipt
        assert query(lab, "SELECT count(*) FROM storage.class WHERE touched_by <> 0") == ["0"]
    assert not (left := places_of(lab, [PERSON])), f"after the receipt, stopped: {left}"
    assert places_of(lab, [OTHER]), "another's name went, too"
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

"""Datasets that are declared again and differently: a misspelt label is put right by the next file, what samples were read by stays."""

import json

from weirlab import Lab, assert_clean_audits, outcome, run_tests, served


def datasets(lab):
    return {d["dataset"]: d for d in json.loads(lab.weir("datasets", "--json"))["datasets"]}


def file_of(lab, name, *changes, of=None):
    text = (of or lab.pipeline).read_text()
    for was, now in changes:
        assert was in text, (was, text)
        text = text.replace(was, now)
    file = lab.folder / f"{name}.yaml"
    file.write_text(text)
    return file


LOOKED_AT = 16  # the first files, before a run
MISSPELT = ("label:   {field: label,", "label:   {field: lable,")


def in_new_directory(lab, name):
    """The misspelt file is handed in to a platform, which finds out what a look at the first files does not."""
    lab.data_dir = lab.folder / name
    with served(lab):
        lab.weir("submit", str(file_of(lab, "misspelt", MISSPELT)))
        assert lab.ask("watch", "lab").returncode == 1
        error = json.loads(lab.weir("list", "--json"))["pipelines"][0]["error"]
        assert "records were refused" in error, error
        assert datasets(lab)["notes"]["ingested"] == 0


def assert_whole(lab, run):
    assert_clean_audits(run.events)
    notes = datasets(lab)["notes"]
    assert notes["ingested"] == len(lab.records) and notes["quarantined"] == 0 and notes["number"] == 2, notes
    assert set(outcome(run.events)) == {1, 2, 3}
    assert [e["model"] for e in run.of("model_stored")] == ["lab-1", "lab-2", "lab-3"], run.events


def test_a_misspelt_label_is_put_right_by_the_next_file(lab):
    in_new_directory(lab, "misspelt")
    assert_whole(lab, lab.run().finish())
    assert "nothing is wrong" in lab.weir("doctor", "--deep")


def test_so_it_is_whoever_dies_meanwhile(lab):
    for number, fault in enumerate(("pipeline.edged.REMOVED", "pipeline.edged.CLEARED", "removal.forgotten")):
        in_new_directory(lab, f"dying-{number}")
        run, deaths = lab.run_through_deaths(f"{fault}=!1")
        assert_whole(lab, run)
        assert deaths == (fault.startswith("pipeline.")), (fault, deaths)


def test_a_platform_that_is_kept_up_takes_the_file_that_is_right(lab):
    in_new_directory(lab, "served")
    with served(lab):
        said = json.loads(lab.weir("submit", str(lab.pipeline), "--json"))
        assert said["state"] == "REMOVED" and said["removed"]["again"], said
        lab.weir("watch", "lab")
        assert datasets(lab)["notes"]["ingested"] == len(lab.records)


def test_what_says_nothing_of_the_samples_changes_with_the_next_file(lab):
    file = file_of(lab, "patient", ("name: lab,", "name: patient,"), ("on_erase: scrub}", "on_erase: scrub, settle: 300ms}"))
    with served(lab):
        lab.weir("submit", str(file))
        lab.weir("watch", "patient")
        notes = datasets(lab)["notes"]
        assert notes["number"] == 2 and notes["live"] == len(lab.records), notes
        lab.weir("remove", "patient")


def test_what_samples_were_read_by_stays_and_the_way_is_told(lab):
    file = file_of(lab, "otherwise", ("name: lab,", "name: otherwise,"), ("field: user", "field: text"))
    with served(lab):
        lab.weir("submit", str(file))
        said = lab.ask("watch", "otherwise")
        assert said.returncode == 1, said
        found = json.loads(lab.weir("list", "--json"))["pipelines"]
        error = next(p["error"] for p in found if p["pipeline"] == "otherwise")
        assert f"dataset 'notes' has {len(lab.records)} samples that were taken in with subject.field: user, found text" in error, error
        assert "weir datasets remove notes, then submit again, or use another name" in error, error
        lab.weir("remove", "otherwise")


def test_another_pipeline_without_samples_is_not_overruled(lab):
    in_new_directory(lab, "shared")
    with served(lab):
        lab.weir("submit", str(file_of(lab, "second", ("name: lab,", "name: second,"))))
        assert lab.ask("watch", "second").returncode == 1
        found = json.loads(lab.weir("list", "--json"))["pipelines"]
        error = next(p["error"] for p in found if p["pipeline"] == "second")
        assert "dataset 'notes' has label.field: lable in another pipeline, found label" in error, error
        lab.weir("remove", "lab")
        lab.weir("resume", "second")
        lab.weir("watch", "second")
        assert datasets(lab)["notes"]["ingested"] == len(lab.records)


def main():
    lab = Lab(samples=600, every=200, epochs=1)
    for number in range(LOOKED_AT):
        (lab.folder / f"stream/empty{number:02}.jsonl").touch()
    run_tests(globals(), lab)
    lab.remove()


main()

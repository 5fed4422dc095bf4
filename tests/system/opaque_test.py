"""Models of a program, through everything that is done with models: Weir keeps, compares, exports, drops and replaces files that it does
not look into, and says so where it would have to."""

import json
import tarfile

from loop_test import OURS, build
from models_test import erased_and_newest, files, in_chains, stored
from weirlab import PIPELINE, Lab, Run, assert_clean_audits, outcome, run_tests, served

MODELS = "models: {{storage: {storage}, full_every: 3, keep: {keep}}}\n"
NO_TENSORS = "this model is a file of a program (training.program) that Weir does not look into: expected --format file"


def lab_with(storage, keep, samples=800):
    section = MODELS.replace("{storage}", storage).replace("{keep}", keep)
    lab = Lab(samples=samples, every=200, epochs=1, pipeline=OURS + section)
    return lab, build(lab)


def exported(lab, model):
    """As it is, by default or by name; all or nothing."""
    whole = lab.folder / f"{model}.bytes"
    lab.weir("models", "export", model, "--to", str(whole))
    lab.weir("models", "export", model, "--format", "file", "--to", f"{whole}.again")
    assert whole.read_bytes() == (lab.folder / f"{model}.bytes.again").read_bytes()
    refused = lab.ask("models", "export", model, "--format", "safetensors", "--to", str(lab.folder / "none"))
    assert refused.returncode == 2 and NO_TENSORS in refused.stderr, refused
    refused = lab.ask("models", "export", model, "--format", "directory", "--to", str(lab.folder / "none"))
    assert refused.returncode == 2 and "it is one file, no directory: expected --format file" in refused.stderr, refused
    assert not (lab.folder / "none").exists() and not list((lab.data_dir / "runs" / "export").iterdir())
    return whole.read_bytes()


def compared(lab):
    other = json.loads(lab.weir("models", "diff", "lab-1", "lab-2", "--json"))
    assert not other["same"] and other["tensors"] == [], other
    assert other["not_compared"] == "lab-1 is a file of a program (training.program), of which bytes alone are compared: they differ"
    assert other["lineage"]["ancestor"] == "lab-1" and other["samples"]["both"] > 0, other
    same = json.loads(lab.weir("models", "diff", "lab-2", "lab-2", "--json"))
    assert same["same"] and same["not_compared"].endswith("they are equal"), same
    assert "lab-2 and lab-2 are the same, byte for byte" in lab.weir("models", "diff", "lab-2", "lab-2")


def promoted_and_rolled_back(lab):
    assert json.loads(lab.weir("models", "promote", "lab-2", "--json")) == {"model": "lab-2", "previous": "lab-4"}
    assert json.loads(lab.weir("predict", "--limit", "1", "--json"))["model"] == "lab-2"
    assert json.loads(lab.weir("models", "rollback", "--json"))["previous"] == "lab-2"
    line = json.loads(lab.weir("models", "lineage", "lab-3", "--json"))
    assert [m["model"] for m in line["ancestors"]] == ["lab-3", "lab-2", "lab-1"], line


def damage(lab, model):
    path = lab.data_dir / next(m["file"] for m in stored(lab) if m["model"] == model)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = lab.ask("doctor", "--deep")
    assert found.returncode == 1 and f"model {model}" in found.stdout, found
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    lab.weir("doctor", "--deep")


def test_opaque_models_go_through_every_command():
    plain, system = lab_with("full", "all")
    expected = Run(plain.pipeline, plain.data_dir, system).finish()
    lab, system = lab_with("delta", "all")
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    assert outcome(run.events) == outcome(expected.events), "models that are stored otherwise learn otherwise"
    assert_clean_audits(run.events)
    with served(plain, "--system", system):
        whole = {model: exported(plain, model) for model in ("lab-1", "lab-3")}
        damage(plain, "lab-2")
    with served(lab, "--system", system):
        in_chains(stored(lab), 3)
        assert whole == {model: exported(lab, model) for model in whole}, "a difference gives back the bytes"
        assert len(whole["lab-3"]) == next(m["bytes"] for m in stored(lab) if m["model"] == "lab-3")
        compared(lab)
        promoted_and_rolled_back(lab)
        damage(lab, "lab-2")
        answer, _ = erased_and_newest(lab, lab.records[10]["user"])
        assert answer["models_replaced"] and len(answer["models"]) == 4, answer
        live = [m for m in stored(lab) if m["state"] == "stored"]
        assert len(live) == 4 and files(lab) == {m["file"].split("/")[1] for m in live}, (live, files(lab))
        lab.weir("doctor", "--deep")
        lab.weir("erase", "verify", "--all")
    plain.remove()
    lab.remove()


def test_dropped_ones_are_trained_again_when_an_erasure_needs_them():
    lab, system = lab_with("full", "{{last: 1}}", samples=600)
    Run(lab.pipeline, lab.data_dir, system).finish()
    with served(lab, "--system", system):
        assert {m["state"] for m in stored(lab)} == {"stored", "dropped"}, stored(lab)
        gone = json.loads(lab.weir("models", "diff", "lab-1", "lab-3", "--json"))
        assert gone["not_compared"] == "model lab-1: it is dropped, its files are gone", gone
        answer, _ = erased_and_newest(lab, lab.records[10]["user"])
        assert [m["trigger"] for m in answer["models"]] == [1, 2, 3], answer
        lab.weir("doctor", "--deep")
    lab.remove()


def run_another(lab, system, name, text):
    path = lab.folder / f"{name}.yaml"
    path.write_text(text.replace("name: lab,", f"name: {name},"))
    return Run(path, lab.data_dir, system)


def test_another_pipeline_starts_from_one_by_name():
    lab, system = lab_with("full", "all", samples=400)
    Run(lab.pipeline, lab.data_dir, system).finish()
    text = lab.pipeline.read_text()
    run = run_another(lab, system, "heir", text.replace("seed: 1}", "seed: 1, start_from: lab-2}")).finish()
    assert [e["parent"] for e in run.of("model_stored")] == ["lab-2", "lab-2"], run.of("model_stored")
    built_in = PIPELINE.format(data=lab.folder / "stream", every=200, epochs=1).replace(
        "start_from: previous", "start_from: lab-2, retries: 0")
    run = run_another(lab, system, "other", built_in).finish(expect=1)
    assert "not a model of Weir's own trainer" in "".join(run.stderr), run.stderr
    run = run_another(lab, system, "lost", text.replace("seed: 1}", "seed: 1, start_from: nobody-1}")).finish(expect=1)
    assert "model nobody-1: there is none" in "".join(run.stderr), run.stderr
    lab.remove()


DIRECTORY = [  # of the program of the guide: its model is in a directory, beside what else a framework would write
    ('#include <weir/client.h>\n', '#include <sys/stat.h>\n#include <weir/client.h>\n'),
    ('!load(task->start_from)', '!load_directory(task->start_from)'),
    ('static void checkpoint(', """static int load_directory(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/weights/model.bin", name);
    return load(path);
}

static void checkpoint("""),
    ('        save("model");\n', """        mkdir("net", 0700);
        mkdir("net/weights", 0700);
        save("net/weights/model.bin");
        FILE *card = fopen("net/card.txt", "w");
        fputs("a net\\n", card);
        fclose(card);
"""),
    ('result.model = "model";', 'result.model = "net";'),
]


def test_a_model_may_be_a_directory():
    section = MODELS.replace("{storage}", "delta").replace("{keep}", "all")
    lab = Lab(samples=600, every=200, epochs=1, pipeline=OURS + section)
    system = build(lab, DIRECTORY)
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    assert_clean_audits(run.events)
    assert [e["parent"] for e in run.of("model_stored")] == [None, "lab-1", "lab-2"], run.of("model_stored")
    with served(lab, "--system", system):
        to = lab.folder / "here"
        lab.weir("models", "export", "lab-2", "--to", str(to))
        found = sorted(str(path.relative_to(to)) for path in to.rglob("*") if path.is_file())
        assert found == ["card.txt", "weights/model.bin"] and (to / "card.txt").read_text() == "a net\n", found
        again = lab.ask("models", "export", "lab-2", "--to", str(to))
        assert again.returncode == 2 and "is there already" in again.stderr, again
        archive = lab.folder / "lab-2.tar"
        lab.weir("models", "export", "lab-2", "--format", "file", "--to", str(archive))
        with tarfile.open(archive) as tar:
            assert tar.getnames() == found and all(m.mtime == m.uid == m.gid == 0 for m in tar.getmembers())
            assert tar.extractfile("weights/model.bin").read() == (to / "weights/model.bin").read_bytes()
        assert len(json.loads(lab.weir("predict", "--limit", "5", "--json"))["predictions"]) == 5
        answer, _ = erased_and_newest(lab, lab.records[10]["user"])
        assert answer["models_replaced"], answer
        lab.weir("doctor", "--deep")
    assert not list((lab.data_dir / "runs").glob("*/start-from*")), "nothing is left of an erased model's files"
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

"""Trainings that start from a model by its name or by its file, with or without the optimizer's state: the same model in both ways; a
replacement after an erasure starts from the file again; what cannot be started from is named."""

import json
import os

from models_test import stored
from weirlab import PIPELINE, Lab, Run, run_tests, served

ADAM = PIPELINE.replace("{{name: adagrad, lr: 0.1}}", "{{name: adam, lr: 0.05}}, carry: [weights, optimizer]")


def trained():
    """A lab with three models, and the file of the second one."""
    lab = Lab(samples=600, every=200, epochs=1, pipeline=ADAM)
    lab.run().finish()
    given = lab.folder / "given"
    given.mkdir()
    os.chmod(given, 0o755)
    path = given / "lab-2.weirmodel"
    lab.weir("models", "export", "lab-2", "--format", "file", "--to", str(path))
    os.chmod(path, 0o644)
    return lab, path


def heir(lab, name, start_from, *changes):
    """The same stream under another name, from what is named."""
    path = lab.folder / f"{name}.yaml"
    text = lab.pipeline.read_text().replace("name: lab,", f"name: {name},")
    for before, after in (("start_from: previous", f"start_from: {start_from}"), *changes):
        assert before in text, before
        text = text.replace(before, after)
    path.write_text(text)
    return Run(path, lab.data_dir)


def checksums(run):
    return [e["checksum"] for e in run.finish().of("model_stored")]


def of_heir(start_from, *changes):
    """What the second pipeline of a lab of its own stores, so that all of them draw from samples of the same numbers."""
    lab, path = trained()
    run = heir(lab, "heir", start_from or path, *changes).finish()
    lab.remove()
    return [(e["parent"], e["checksum"]) for e in run.of("model_stored")]


def test_a_file_and_a_name_give_the_same_models():
    named, filed = of_heir("lab-2"), of_heir(None)
    assert [checksum for _, checksum in filed] == [checksum for _, checksum in named] and len(named) == 3, (named, filed)
    assert {parent for parent, _ in named} == {"lab-2"}
    assert {parent for parent, _ in filed} == {None}, "a file has no lineage"
    without = of_heir(None, ("carry: [weights, optimizer]", "carry: [weights]"))
    assert not set(without) & set(filed), "the optimizer's state is carried where it is asked for"
    assert not set(of_heir("scratch")) & {*without, *filed}


def test_the_same_when_the_orchestrator_is_killed():
    lab, path = trained()
    run = heir(lab, "heir", path)
    run.wait_until(lambda: len(run.of("model_stored")) == 1)
    run.kill("orchestrator")
    again = Run(lab.folder / "heir.yaml", lab.data_dir).finish()
    lab.remove()
    assert [(e["parent"], e["checksum"]) for e in again.of("model_stored")] == of_heir(None)


def test_a_replacement_starts_from_the_file_too():
    lab, path = trained()
    lab2 = Lab(samples=600, every=200, epochs=1, pipeline=ADAM.replace("start_from: previous", f"start_from: {path}"))
    before = checksums(lab2.run())
    with served(lab2):
        answer = json.loads(lab2.weir("erase", "request", "--subject", lab2.records[10]["user"], "--wait", "--json"))
        replaced = {m["trigger"]: m["checksum"] for m in stored(lab2) if m["state"] == "stored"}
    assert answer["models"], answer
    assert len(replaced) == 3 and any(replaced[n + 1] != before[n] for n in range(3)), (before, replaced)
    lab2.remove()
    lab.remove()


def test_what_cannot_be_started_from_is_named():
    lab, path = trained()
    damaged = path.with_name("damaged.weirmodel")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    os.chmod(damaged, 0o644)
    for name, start_from, complaint in (
            ("relative", "given/lab-2.weirmodel", "training.start_from: expected previous, scratch, a model's name or the absolute path"),
            ("missing", path.with_name("none"), "none"),
            ("damaged", damaged, "its checksum differs"),
            ("own", lab.data_dir / "models" / "lab-2.weirmodel", "expected a file below one of the system file's roots")):
        run = heir(lab, name, start_from, ("seed: 1, start", "seed: 1, retries: 0, start")).finish(expect=None)
        assert run.process.returncode != 0 and complaint in "".join(run.stderr), (name, run.stderr)
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

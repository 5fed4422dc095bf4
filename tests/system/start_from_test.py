"""Trainings that start from a model by its name or by its file, with or without the optimizer's state: the same model in both ways; a
replacement after an erasure starts from the file again; what cannot be started from is named."""

import atexit
import functools
import itertools
import json
import os
import subprocess

from models_test import stored
from weirlab import PIPELINE, Lab, Run, run_tests, served

ADAM = PIPELINE.replace("{{name: adagrad, lr: 0.1}}", "{{name: adam, lr: 0.05}}, carry: [weights, optimizer]")


@functools.cache
def trained():
    """A lab with three models, and the file of the second one. Whoever goes on with it does so in a copy."""
    lab = Lab(samples=600, every=200, epochs=1, pipeline=ADAM)
    lab.run().finish()
    given = lab.folder / "given"
    given.mkdir()
    os.chmod(given, 0o755)
    path = given / "lab-2.weirmodel"
    lab.weir("models", "export", "lab-2", "--format", "file", "--to", str(path))
    os.chmod(path, 0o644)
    atexit.register(lab.remove)
    return lab, path


NUMBERS = itertools.count()


def copied():
    """The data directory of that lab once more, so that all who go on with it draw from samples of the same numbers."""
    lab, _ = trained()
    data_dir = lab.folder / f"data-{next(NUMBERS)}"
    subprocess.run(["cp", "-a", lab.data_dir, data_dir], check=True)
    return data_dir


def heir(name, start_from, *changes, data_dir=None):
    """The same stream under another name, from what is named."""
    lab, _ = trained()
    path = lab.folder / f"{name}.yaml"
    text = lab.pipeline.read_text().replace("name: lab,", f"name: {name},")
    for before, after in (("start_from: previous", f"start_from: {start_from}"), *changes):
        assert before in text, before
        text = text.replace(before, after)
    path.write_text(text)
    return Run(path, data_dir or copied())


def stored_by(run):
    return [(e["parent"], e["checksum"]) for e in run.finish().of("model_stored")]


@functools.cache
def of_heir(start_from, *changes):
    """What such a pipeline stores; None: from the file."""
    return stored_by(heir("heir", start_from or trained()[1], *changes))


def test_a_file_and_a_name_give_the_same_models():
    named, filed = of_heir("lab-2"), of_heir(None)
    assert [checksum for _, checksum in filed] == [checksum for _, checksum in named] and len(named) == 3, (named, filed)
    assert {parent for parent, _ in named} == {"lab-2"}
    assert {parent for parent, _ in filed} == {None}, "a file has no lineage"
    without = of_heir(None, ("carry: [weights, optimizer]", "carry: [weights]"))
    assert not set(without) & set(filed), "the optimizer's state is carried where it is asked for"
    assert not set(of_heir("scratch")) & {*without, *filed}


def test_the_same_when_the_orchestrator_is_killed():
    _, path = trained()
    run = heir("heir", path)
    run.wait_until(lambda: len(run.of("model_stored")) == 1)
    run.kill("orchestrator")
    assert stored_by(heir("heir", path, data_dir=run.data_dir)) == of_heir(None)


def test_a_replacement_starts_from_the_file_too():
    lab = Lab(samples=600, every=200, epochs=1, pipeline=ADAM.replace("start_from: previous", f"start_from: {trained()[1]}"))
    before = stored_by(lab.run())
    with served(lab):
        answer = json.loads(lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--wait", "--json"))
        replaced = {m["trigger"]: m["checksum"] for m in stored(lab) if m["state"] == "stored"}
    assert answer["models"], answer
    assert len(replaced) == 3 and any(replaced[n + 1] != before[n][1] for n in range(3)), (before, replaced)
    lab.remove()


def test_what_cannot_be_started_from_is_named():
    (_, path), data_dir = trained(), copied()
    damaged = path.with_name("damaged.weirmodel")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    os.chmod(damaged, 0o644)
    for name, start_from, complaint in (
            ("relative", "given/lab-2.weirmodel", "training.start_from: expected previous, scratch, a model's name (mine-3) or the absolute path"),
            ("missing", path.with_name("none"), "none"),
            ("damaged", damaged, "its checksum differs"),
            ("own", data_dir / "models" / "lab-2.weirmodel", "expected a file below one of the system file's roots")):
        run = heir(name, start_from, ("seed: 1, start", "seed: 1, retries: 0, start"), data_dir=data_dir).finish(expect=None)
        assert run.process.returncode != 0 and complaint in "".join(run.stderr), (name, run.stderr)


if __name__ == "__main__":
    run_tests(globals())

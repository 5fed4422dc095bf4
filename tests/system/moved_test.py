"""A platform that was stopped is copied, restored or moved: it finds its own files, and an erasure finds every byte.

moved_test.py [NAME…]: all, or these.
"""

import json
import os
import shutil
import subprocess
import sys

from weirlab import PIPELINE, Lab, Stream, await_dataset, push, run_tests, served, stop

SOURCE = 'path: {data}, format: jsonl, include: "*.jsonl", import: copy, on_erase: scrub'
FIELDS = """
    time:    {{from: field, field: ts}}
    label:   {{field: label, classes: [work, spam]}}
    subject: {{field: user}}"""

def kinds():
    """A live pipeline over one dataset that is copied, one that is referred to and one that is pushed."""
    text = "\n".join(line for line in PIPELINE.splitlines() if not line.startswith("evaluation")) + "\n"
    head, rest = text.replace("mode: replay", "mode: live").split("trigger:", 1)
    referred = SOURCE.replace("import: copy", "import: reference").replace("{data}", "{data}-referred")
    more = "".join(f"  - name: {name}\n    source:  {{{{{source}}}}}{FIELDS}\n"
                   for name, source in (("pushed", "push: true, format: jsonl, on_erase: scrub"), ("referred", referred)))
    return head + more + "trigger:" + rest


class Trained:
    """A platform with one model that has seen all three datasets, stopped."""

    def __init__(self):
        self.lab = Lab(samples=200, every=600, epochs=1, pipeline=kinds())
        self.lab.referred = self.lab.folder / "stream-referred"
        self.records = self.lab.records + Stream(200, 2).write_jsonl(self.lab.referred)
        pushed = [Stream(200, 3).record(i) for i in range(200)]
        self.records += pushed
        run = self.lab.run()
        await_dataset(run, self.lab, "pushed")
        push(self.lab, "".join(json.dumps(r) + "\n" for r in pushed), "pushed")
        assert run.wait_until(lambda: len(run.of("model_stored")) == 1), run.events
        stop(run)
        owner = (self.lab.data_dir / "postgres").stat().st_uid  # whom Weir runs as; only an owner may keep a file's time
        for part in self.lab.referred.iterdir():
            os.chown(part, owner, -1)
        self.person = self.records[10]["user"]
        self.texts = [r["text"] for r in self.records if r["user"] == self.person]

    def assert_works_at(self, place):
        """It predicts all samples, erases a person with a retraining, and holds what the receipt says."""
        self.lab.data_dir = place
        with served(self.lab):
            answer = json.loads(self.lab.weir("predict", "--limit", "1", "--json"))
            assert answer["samples"] == 600, answer
            done = self.lab.ask("erase", "request", "--subject", self.person, "--wait", "--json")
            assert done.returncode == 0, (done.stdout, done.stderr)
            receipt = json.loads(done.stdout)
            assert receipt["samples"] == len(self.texts), (receipt, len(self.texts))
            assert "everything holds" in self.lab.weir("erase", "verify", "--all")
            assert not (left := held_by(place, self.texts)), left
            models = json.loads(self.lab.weir("models", "list", "--json"))["models"]
            assert sorted(m["state"] for m in models) == ["replaced", "stored"], models
            self.lab.weir("doctor", "--deep")


def held_by(place, texts):
    """The files below `place` that hold one of the texts."""
    found = []
    for path in place.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            found += [path for text in texts if text.encode() in content][:1]
    return found


def copy(from_place, to_place):
    subprocess.run(["cp", "-a", from_place, to_place], check=True)


def everything_in(place):
    return {path: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file() and not path.is_symlink()}


def test_a_platform_that_was_moved_goes_on():
    trained = Trained()
    before, place = trained.lab.data_dir, trained.lab.folder / "elsewhere"
    before.rename(place)
    trained.assert_works_at(place)
    assert not before.exists()
    trained.lab.remove()


def test_a_platform_that_was_restored_goes_on():
    trained = Trained()
    kept = trained.lab.folder / "kept"
    copy(trained.lab.data_dir, kept)
    shutil.rmtree(trained.lab.data_dir)
    copy(kept, trained.lab.data_dir)
    shutil.rmtree(kept)
    trained.assert_works_at(trained.lab.data_dir)
    log = "".join(p.read_text() for p in trained.lab.data_dir.glob("log/storage*.log"))
    assert log.count("copied, restored or moved") == 1, log
    trained.lab.remove()


def test_a_copy_beside_the_original_leaves_the_original_alone():
    trained = Trained()
    original, place = trained.lab.data_dir, trained.lab.folder / "beside"
    copy(original, place)
    before = everything_in(original)
    trained.assert_works_at(place)
    assert everything_in(original) == before, "files of the original were touched"
    trained.lab.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=[f"test_{name}" for name in sys.argv[1:]])

"""A platform that was stopped is copied, restored or moved: it finds its own files, and an erasure finds every byte.

moved_test.py [NAME…]: all, or these.
"""

import hashlib
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


def read_each(place):
    """Every file below, and its content in a room that the next one takes: fresh memory for each costs more than reading."""
    room = bytearray(1 << 20)
    for path in sorted(place.rglob("*")):
        if path.is_file() and not path.is_symlink():
            size = path.stat().st_size
            room = room if size <= len(room) else bytearray(size)
            with open(path, "rb", buffering=0) as file:
                assert file.readinto(room) == size, path
            yield path, room, size


def held_by(place, texts):
    """The files below `place` that hold one of the texts."""
    wanted = [text.encode() for text in texts]
    return [path for path, room, size in read_each(place) if any(room.find(text, 0, size) >= 0 for text in wanted)]


def copy(from_place, to_place):
    subprocess.run(["cp", "-a", from_place, to_place], check=True)


def everything_in(place):
    return {path: hashlib.blake2b(memoryview(room)[:size]).digest() for path, room, size in read_each(place)}


def assert_said_once(place):
    log = "".join(p.read_text() for p in place.glob("log/storage*.log"))
    assert log.count("copied, restored or moved") == 1, log


def test_a_platform_that_was_moved_goes_on_and_uses_nothing_of_what_stands_in_its_old_place():
    trained = Trained()
    before, place = trained.lab.data_dir, trained.lab.folder / "elsewhere"
    before.rename(place)
    copy(place, before)
    old = everything_in(before)
    trained.assert_works_at(place)
    assert_said_once(place)
    assert everything_in(before) == old, "what stands in the old place was touched"
    trained.lab.remove()


def test_a_platform_that_was_restored_goes_on():
    trained = Trained()
    kept = trained.lab.folder / "kept"
    copy(trained.lab.data_dir, kept)
    shutil.rmtree(trained.lab.data_dir)
    copy(kept, trained.lab.data_dir)
    shutil.rmtree(kept)
    trained.assert_works_at(trained.lab.data_dir)
    assert_said_once(trained.lab.data_dir)
    trained.lab.remove()


def test_a_copy_without_times_and_what_an_archive_gave_back_go_on():
    trained = Trained()
    original, plain, unpacked = (trained.lab.folder / name for name in ("data", "plain", "unpacked"))
    subprocess.run(["cp", "-r", original, plain], check=True)
    subprocess.run(["tar", "-C", original.parent, "--format=ustar", "--exclude=*.sock", "-cf", trained.lab.folder / "all.tar", "data"], check=True)
    unpacked.mkdir()
    subprocess.run(["tar", "-C", unpacked, "-xf", trained.lab.folder / "all.tar"], check=True)
    shutil.rmtree(original)
    (trained.lab.folder / "all.tar").unlink()
    sources = trained.lab.folder / "sources"
    copy(trained.lab.referred, sources)
    trained.assert_works_at(plain)
    shutil.rmtree(trained.lab.referred)
    sources.rename(trained.lab.referred)  # the first of the two has scrubbed what both refer to
    shutil.rmtree(plain)
    trained.assert_works_at(unpacked / "data")
    trained.lab.remove()


def test_a_copy_beside_the_original_leaves_the_original_alone():
    trained = Trained()
    original, place = trained.lab.data_dir, trained.lab.folder / "beside"
    copy(original, place)
    before = everything_in(original)
    trained.assert_works_at(place)
    assert everything_in(original) == before, "files of the original were touched"
    trained.lab.remove()


def refused(lab, place):
    """Returns the error of a platform that does not come up."""
    done = lab.ask("datasets", data_dir=place)
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    return done.stderr


def test_a_copy_without_a_database_of_its_own_is_refused():
    lab = Lab(samples=200, every=200, epochs=1)
    outside, place = lab.folder / "outside", lab.folder / "beside"
    outside.mkdir()
    lab.data_dir.mkdir()
    (lab.data_dir / "postgres.location").write_text(str(outside / "database"))
    owner = os.environ.get("WEIR_USER", "postgres") if os.geteuid() == 0 else None
    if owner:
        shutil.chown(outside, owner)
    lab.run().finish()
    copy(lab.data_dir, place)
    said = refused(lab, place)
    assert f"{place} is a copy of {lab.data_dir}" in said, said
    lab.weir("datasets")  # the original goes on
    copy(outside / "database", outside / "another")
    (place / "postgres.location").write_text(str(outside / "another"))
    lab.weir("datasets", data_dir=place)
    lab.weir("datasets")
    shutil.rmtree(outside / "another")
    said = refused(lab, place)
    assert "is missing" in said and str(outside / "another") in said, said
    shutil.rmtree(lab.data_dir)
    lab.remove()


def test_a_database_outside_goes_on_with_a_data_directory_that_was_moved():
    lab = Lab(samples=200, every=200, epochs=1)
    outside, place = lab.folder / "outside", lab.folder / "elsewhere"
    outside.mkdir()
    lab.data_dir.mkdir()
    (lab.data_dir / "postgres.location").write_text(str(outside / "database"))
    if os.geteuid() == 0:
        shutil.chown(outside, "postgres")
    lab.run().finish()
    lab.data_dir.rename(place)
    told = json.loads(lab.weir("datasets", "--json", data_dir=place))["datasets"]
    assert [d["live"] for d in told] == [200], told
    assert_said_once(place)
    lab.remove()


def test_a_data_directory_without_its_database_is_refused():
    lab = Lab(samples=200, every=200, epochs=1)
    lab.run().finish()
    cluster, aside = lab.data_dir / "postgres", lab.folder / "aside"
    cluster.rename(aside)
    said = refused(lab, lab.data_dir)
    assert "is missing" in said and str(cluster) in said and not cluster.exists(), said
    other = Lab(samples=200, every=200, epochs=1)
    other.run().finish()
    copy(other.data_dir / "postgres", cluster)
    said = refused(lab, lab.data_dir)
    assert "was used with another database" in said, said
    shutil.rmtree(cluster)
    aside.rename(cluster)
    lab.weir("datasets")
    for each in (lab, other):
        each.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=[f"test_{name}" for name in sys.argv[1:]])

"""`weir doctor` compares what must be there with the disk: each file that Weir owns, when it is gone, cut or has one other bit,
is one line with its path and what to do; everything is fine again once it is put back."""

import contextlib
import json
import os
import shutil
from pathlib import Path

from weirlab import Lab, await_sums, run_tests, served, victims
from words_test import WORDS

LARGE_BYTES = 256 << 20


class Trained:
    """A platform that owns files of every kind, and has forgotten one person."""

    def __init__(self):
        self.lab = Lab(samples=600, every=300, epochs=1, pipeline=WORDS)
        run = self.lab.run().finish()
        assert run.of("scoring_finished"), "no scores were kept"

    def wrong(self, *words):
        """Returns the findings of an examination that are not as they must be."""
        answer = self.lab.ask("doctor", "--json", *words)
        found = json.loads(answer.stdout)
        wrong = [f for f in found["findings"] if f["verdict"] == "wrong"]
        assert len(wrong) == found["wrong"] and answer.returncode == (1 if wrong else 0), answer
        assert all(f["expected"] and f["advice"] for f in wrong), wrong
        return wrong

    def files(self, pattern):
        found = sorted(path for path in self.lab.data_dir.glob(pattern) if path.is_file())
        assert found, f"there is nothing like {pattern}"
        return found

    def assert_noticed(self, path, check):
        (wrong,) = self.wrong("--deep")
        assert wrong["check"] == check and path.name in wrong["found"], (path, wrong)


def put(path, content):
    """The same file with these bytes, which no time of it tells."""
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@contextlib.contextmanager
def changed(path, content):
    before = path.read_bytes()
    put(path, content(before))
    yield
    put(path, before)


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]


def cut(content):
    return content[:len(content) * 2 // 3]


@contextlib.contextmanager
def gone(path):
    aside = path.parent.parent / "aside"
    path.rename(aside)
    yield
    aside.rename(path)


KINDS = {"sets/*.set": "sets", "scores/*.scores": "scores", "models/*.weirmodel": "models", "fitted/*.fitted": "models",
         "receipts/*.json": "receipts"}


def each_file_that_is_damaged_or_gone_is_one_line(trained):
    for pattern, check in KINDS.items():
        path = trained.files(pattern)[0]
        for damage in (changed(path, flipped), changed(path, cut), gone(path)):
            with damage:
                trained.assert_noticed(path, check)
        assert not trained.wrong("--deep"), path


def a_copy_that_was_scrubbed_is_compared_as_well(trained):
    """With its source, but for what was overwritten."""
    path = trained.lab.data_dir / "storage" / "notes" / "part0.jsonl"
    assert path.read_bytes() != (trained.lab.folder / "stream" / "part0.jsonl").read_bytes(), "nothing of it was erased"
    for damage, check in ((changed(path, flipped), "bytes"), (changed(path, cut), "files"), (gone(path), "files")):
        with damage:
            trained.assert_noticed(path, check)
    assert not trained.wrong("--deep"), path


def a_copy_without_its_source_is_compared_with_its_checksums(trained):
    """Wherever the bit flips, beside what was erased or not."""
    lab = trained.lab
    await_sums(lab)
    source = lab.folder / "stream"
    aside = source.with_name("aside")
    source.rename(aside)
    for path in trained.files("storage/notes/*.jsonl"):
        for place in (7, path.stat().st_size // 2, path.stat().st_size - 9):
            with changed(path, lambda content: content[:place] + bytes([content[place] ^ 4]) + content[place + 1:]):
                trained.assert_noticed(path, "bytes")
    aside.rename(source)
    assert not trained.wrong("--deep")


def nothing_is_fine_when_a_whole_folder_is_gone(trained):
    for folder, check in {"sets": "sets", "scores": "scores", "models": "models", "fitted": "models", "receipts": "receipts"}.items():
        place = trained.lab.data_dir / folder
        count = len(list(place.iterdir()))
        aside = place.with_name("aside")
        place.rename(aside)
        place.mkdir()
        shutil.copystat(aside, place)
        wrong = trained.wrong()
        place.rmdir()
        aside.rename(place)
        assert wrong and len(wrong) <= count and {f["check"] for f in wrong} == {check}, (folder, count, wrong)
    assert not trained.wrong()


def cpu_ticks(pid):
    """Of the thread of the loop, and of all others."""
    def ticks(stat):
        return sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
    loop, process = ticks(Path(f"/proc/{pid}/task/{pid}/stat")), ticks(Path(f"/proc/{pid}/stat"))
    return loop, process - loop


def a_large_model_is_read_beside_the_loop(trained):
    path, (pid,) = trained.files("models/*.weirmodel")[0], victims(trained.lab.data_dir, "orchestrator")
    size, before = path.stat().st_size, cpu_ticks(pid)
    os.truncate(path, LARGE_BYTES)
    for _ in range(3):
        trained.assert_noticed(path, "models")
    os.truncate(path, size)
    in_loop, beside = (now - then for now, then in zip(cpu_ticks(pid), before))
    assert in_loop < beside, (in_loop, beside)


def test_what_weir_owns_is_compared_with_what_must_be_there():
    trained = Trained()
    with served(trained.lab):
        person = trained.lab.records[10]["user"]
        trained.lab.weir("erase", "request", "--subject", person, "--wait")
        assert not trained.wrong("--deep")
        each_file_that_is_damaged_or_gone_is_one_line(trained)
        a_copy_that_was_scrubbed_is_compared_as_well(trained)
        a_copy_without_its_source_is_compared_with_its_checksums(trained)
        a_large_model_is_read_beside_the_loop(trained)
        nothing_is_fine_when_a_whole_folder_is_gone(trained)
    trained.lab.remove()


if __name__ == "__main__":
    run_tests(globals())

"""Full disks, one after the other: where pushes go, sealed sets, scores, a folder that is written, receipts. What finds no
room is said with its path, nothing that was acknowledged is lost, no file is there by half, others go on, and with room it
goes on by itself.

Skips (exit code 77) where small file systems cannot be mounted."""

import contextlib
import json
import os
import subprocess
import sys

from weirlab import (PIPELINE, SKIPPED, Lab, Run, assert_clean_audits, await_dataset, await_that, everyone_may_write, push,
                     read_scores, read_set, run_tests, stop)

from folders import READERS  # isort: skip  (weirlab sets the path)

EVERY, PAGE, ROOM = 60, 4096, "64m"
WORDS = "No space left on device"
BY_LOSS = "{{policy: coreset, presample: {{policy: new_data}}, limit: 40, score: [{{method: loss}}], seed: 7}}"
PUSHED = (PIPELINE.replace("mode: replay", "mode: live")
          .replace('path: {data}, format: jsonl, include: "*.jsonl", import: copy', "push: true, format: jsonl")
          .replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", BY_LOSS))
PUSHED = "\n".join(line for line in PUSHED.splitlines() if not line.startswith("evaluation")) + "\n"
OTHER = """\
  - name: other
    source:  {{push: true, format: jsonl}}
    time:    {{from: field, field: ts}}
    label:   {{field: label, classes: [work, spam]}}
trigger:"""
PUSHED = PUSHED.replace("trigger:", OTHER, 1)


def mount(*words):
    return subprocess.run(["mount", *map(str, words)], capture_output=True, text=True)


class Disk:
    """A file system of its own below a folder. A file beside the folder has a page of it: one without a byte cannot be full."""

    def __init__(self, lab, folder):
        self.folder, self.root = folder, lab.folder / "disks" / folder.name
        self.root.mkdir(parents=True)
        folder.mkdir(parents=True, exist_ok=True)
        done = mount("-t", "tmpfs", "-o", f"size={ROOM},mode=777", "tmpfs", self.root)
        if done.returncode != 0:
            print(f"skipped: {done.stderr.strip()}")
            sys.exit(SKIPPED)
        (self.root / "filler").write_bytes(b"x" * PAGE)
        (self.root / "folder").mkdir()
        everyone_may_write(self.root)
        assert mount("--bind", self.root / "folder", folder).returncode == 0

    def files(self):
        """Those that count."""
        return sorted(path.name for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".tmp" and path.stat().st_size)

    def fill(self):
        about = os.statvfs(self.root)
        assert mount("-o", f"remount,size={(about.f_blocks - about.f_bfree) * about.f_bsize}", self.root).returncode == 0

    def make_room(self):
        assert mount("-o", f"remount,size={ROOM}", self.root).returncode == 0

    def remove(self):
        for place in (self.folder, self.root):
            subprocess.run(["umount", "-l", place], check=True)


class Full(Lab):
    def __init__(self):
        super().__init__(samples=4 * EVERY, every=EVERY, epochs=1, pipeline=PUSHED)
        self.data_dir.mkdir(mode=0o755)
        (self.data_dir / "lock").touch()  # as a first start leaves it that dies at once
        everyone_may_write(self.data_dir)
        folders = (self.data_dir / "storage/notes", self.data_dir / "sets", self.data_dir / "scores", self.data_dir / "receipts",
                   self.folder / "out")
        self.disks = {folder.name: Disk(self, folder) for folder in folders}
        for name in ("notes", "sets", "scores", "out"):
            self.disks[name].fill()
        everyone_may_write(self.data_dir / "storage")
        self.started, self.sent = None, 0

    def next_lines(self):
        self.sent += EVERY
        return "".join(json.dumps(record) + "\n" for record in self.records[self.sent - EVERY:self.sent])

    def await_word_of(self, disk):
        """What the platform says of it, and shows of the pipeline."""
        def said():
            return [line for line in self.started.stderr if str(disk.folder) in line and WORDS in line and "free space" in line]
        await_that(said, lambda: self.started.stderr)
        assert WORDS in self.weir("status"), self.weir("status")

    def live(self, dataset):
        return next(d["live"] for d in json.loads(self.weir("datasets", "--json"))["datasets"] if d["dataset"] == dataset)

    def erasure(self):
        return json.loads(self.weir("erase", "status", "1", "--json"))

    def remove(self):
        for disk in self.disks.values():
            disk.remove()
        super().remove()


def pushes_are_refused_and_none_is_lost(lab):
    disk, lines = lab.disks["notes"], lab.next_lines()
    for _ in range(3):
        said = push(lab, lines, "notes", "--client", "c", expect=1)
        assert WORDS in said and str(disk.folder) in said and "free space" in said, said
    assert push(lab, lines, "other")["samples"] == EVERY, "others go on"
    assert lab.live("notes") == 0 and not disk.files(), disk.files()
    disk.make_room()
    assert push(lab, lines, "notes", "--client", "c")["samples"] == EVERY
    assert push(lab, lines, "notes", "--client", "c")["samples"] == 0, "it was there already"
    assert lab.live("notes") == EVERY


def sets_are_sealed_when_there_is_room(lab):
    disk = lab.disks["sets"]
    lab.await_word_of(disk)
    assert lab.live("notes") == EVERY and not disk.files() and not lab.started.of("selection_sealed")
    disk.make_room()
    assert lab.started.wait_until(lambda: lab.started.of("model_stored")), "".join(lab.started.stderr)
    (name,) = disk.files()
    assert len(read_set(disk.folder / name)) == 40


def scores_are_taken_when_there_is_room(lab):
    disk = lab.disks["scores"]
    assert push(lab, lab.next_lines(), "notes", "--client", "c2")["samples"] == EVERY
    lab.await_word_of(disk)
    assert not disk.files() and len(lab.started.of("model_stored")) == 1
    disk.make_room()
    assert lab.started.wait_until(lambda: len(lab.started.of("model_stored")) == 2), "".join(lab.started.stderr)
    assert any(len(read_scores(path)[1]) == EVERY for path in disk.folder.glob("*.scores")), disk.files()


def folders_are_written_when_there_is_room(lab):
    disk = lab.disks["out"]
    words = ("materialize", "lab@1", "--to", str(disk.folder), "--format", "npy")
    said = lab.ask(*words)
    assert said.returncode == 1 and WORDS in said.stdout + said.stderr and str(disk.folder) in said.stdout + said.stderr, said
    assert not disk.files(), disk.files()
    disk.make_room()
    lab.weir(*words)
    assert len(READERS["npy"](disk.folder)) == 40


def receipts_are_written_when_there_is_room(lab):
    disk, person = lab.disks["receipts"], lab.records[0]["user"]
    disk.fill()
    lab.weir("erase", "request", "--subject", person)
    state = await_that(lambda: (state := lab.erasure()) and WORDS in state["error"] and state, lab.erasure, pause_s=0.5)
    assert str(disk.folder) in state["error"] and "free space" in state["error"] and not state["finished"], state
    assert push(lab, lab.next_lines(), "other")["samples"] == EVERY, "others go on"
    assert not list(disk.folder.glob("*.json")), disk.files()
    disk.make_room()
    lab.weir("erase", "status", "1", "--wait")
    assert "everything holds" in lab.weir("erase", "verify", "--all") and "1.json" in disk.files(), disk.files()


def test_what_finds_no_room_waits_for_it():
    lab = Full()
    with contextlib.ExitStack() as at_the_end:
        at_the_end.callback(lab.remove)
        lab.started = Run(lab.pipeline, lab.data_dir)
        for dataset in ("notes", "other"):
            await_dataset(lab.started, lab, dataset)
        for step in (pushes_are_refused_and_none_is_lost, sets_are_sealed_when_there_is_room, scores_are_taken_when_there_is_room,
                     folders_are_written_when_there_is_room, receipts_are_written_when_there_is_room):
            step(lab)
            print(f"  {step.__name__.replace('_', ' ')}", flush=True)
        assert json.loads(lab.weir("doctor", "--deep", "--json"))["wrong"] == 0, lab.weir("doctor", "--deep")
        stop(lab.started)
        assert_clean_audits(lab.started.events)


if __name__ == "__main__":
    run_tests(globals())

"""After the receipt no process of Weir has an erased record, or the name of whose it was, in its memory; what could not be
wiped is named in the receipt."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from weirlab import DEADLINE_S, PIPELINE, SKIPPED, Lab, await_that, everyone_may_write, run_tests, served, victims, write_pictures

SERVICES = ("storage", "selector", "dispatcher", "worker-1", "worker-2", "orchestrator")
PERSON = "zyxwanda.canary@example.org"
WORDS, CLASS = "zyxcanaryone zyxcanarytwo zyxcanarythree", "zyxcanaryclass-61c2"
GROWING = (PIPELINE.replace("classes: [work, spam]", "classes: stream").replace("loss: logistic", "loss: softmax")
           .replace("metrics: [roc_auc, accuracy]", "metrics: [accuracy]"))
PICTURES = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: lab
    source:  {{path: {data}, format: files, include: "**.jpg", import: %s, on_erase: unlink, sidecar: .json}}
    time:    {{from: mtime}}
    subject: {{from: sidecar, field: who}}
    label:   {{from: folder, classes: stream}}
trigger:   {{policy: amount, samples: 30}}
selection: {{policy: new_data, seed: 1}}
preprocess:
  operators: [{{op: decode_jpeg}}, {{op: random_resized_crop, size: 8}}, {{op: normalize}}]
  batch: {{samples: 10}}
  on_error: skip
training: {{model: linear, loss: softmax, epochs: 1, seed: 1, optimizer: {{name: sgd, lr: 0.01}}}}
"""
LISTED = (PICTURES.replace("sidecar: .json", "manifest: manifest.csv").replace("{{from: mtime}}", "{{from: manifest}}")
          .replace("{{from: sidecar, field: who}}", "{{from: manifest}}").replace("{{from: folder, classes: stream}}",
                                                                                "{{from: manifest, classes: [a, b]}}"))
PIPE_BYTES = 1 << 20  # more than a pipe holds
WIDE = 16 << 20  # of a mapping that is read at once


def readable(pid):
    """(first, end, name) of the mappings of a process."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        first, end = (int(number, 16) for number in fields[0].split("-"))
        name = fields[5] if len(fields) > 5 else ""
        if fields[1].startswith("r") and name not in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
            yield first, end, name


def places_in_memory(pid, wanted):
    """Finds these words in a process: name of the mapping, and the bytes around them."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for first, end, name in readable(pid):
            for at in range(first, end, WIDE):
                try:
                    memory.seek(at)
                    content = memory.read(min(WIDE, end - at) + 64 if at + WIDE < end else end - at)
                except (OSError, OverflowError, ValueError):
                    continue  # it is gone meanwhile, or a device
                for word in wanted:
                    place = content.find(word)
                    while place >= 0:
                        found.append((name or "anonymous", hex(at + place), content[max(place - 48, 0):place + 80]))
                        place = content.find(word, place + 1)
    return found


def remembering(lab, names, wanted):
    """Finds the words in each of these processes."""
    return {f"{name}/{pid}": places for name in names for pid in victims(lab.data_dir, name)
            if (places := places_in_memory(pid, wanted))}


def assert_not_dumped(pid, name):
    limits = Path(f"/proc/{pid}/limits").read_text()
    (core,) = [line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core file size")]
    assert core == ["0", "0"], (name, core)
    assert int(Path(f"/proc/{pid}/coredump_filter").read_text(), 16) == 0, name


def test_no_process_would_be_dumped():
    lab = Lab(samples=100, every=100, epochs=1)
    with served(lab):
        for name in (*SERVICES, "postgres"):
            (pid, *_) = victims(lab.data_dir, name)
            assert_not_dumped(pid, name)
    lab.remove()


def test_the_command_that_is_given_names_of_people_would_not_be_dumped():
    lab = Lab(samples=1, every=1, epochs=1)
    weir = lab.begin("erase", "request", "--subject-file", "-", stdin=subprocess.PIPE)
    weir.stdin.write(PERSON.ljust(PIPE_BYTES, "x") + "\n")
    weir.stdin.flush()  # more than a pipe holds: it reads by now
    assert_not_dumped(weir.pid, "weir")
    weir.kill()
    weir.communicate(timeout=DEADLINE_S)
    lab.remove()


def canary_lab():
    lab = Lab(samples=400, every=200, epochs=1, pipeline=GROWING)
    for part in sorted((lab.folder / "stream").iterdir()):
        with part.open("a") as file:
            for i in range(20):
                file.write(json.dumps({"ts": f"2002-01-0{i % 9 + 1}T00:00:00Z", "label": "spam" if i else CLASS, "user": PERSON,
                                       "text": f"hello {WORDS} #{part.name}-{i}"}) + "\n")
    return lab


def test_no_process_remembers_what_was_erased():
    lab = canary_lab()
    wanted = [text.encode() for text in (PERSON, WORDS, *WORDS.split(), CLASS)]
    with served(lab) as server:
        lab.weir("submit", str(lab.pipeline))
        lab.weir("watch", "lab")
        lab.weir("doctor", "--deep")  # reads all that the catalog names
        control = places_in_memory(os.getpid(), [PERSON.encode()])
        assert control, "this test cannot find what it looks for"
        answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
        assert answer["samples"] == 60, answer
        receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
        found = remembering(lab, SERVICES, wanted)
        for name, places in found.items():
            for place in places[:6]:
                print(name, *place)
        assert not found, {name: len(places) for name, places in found.items()}
        assert set(SERVICES) <= set(receipt["memory"]["wiped"]), receipt["memory"]
        print(receipt["memory"])
        left = remembering(lab, ("postgres",), wanted)
        assert not left or "postgres" in {entry["process"] for entry in receipt["memory"]["not_wiped"]}, left
    lab.remove()


def picture_lab(how):
    """Pictures in a folder of each person; those of one have words after their last byte, and one of them cannot be decoded."""
    lab = Lab(samples=1, every=1, epochs=1, pipeline=PICTURES % how)
    paths = write_pictures(lab, 60)
    for path in paths:
        path.with_suffix(".json").write_text(json.dumps({"who": "somebody"}))
    folder = lab.folder / "stream" / PERSON
    folder.mkdir()
    for i, path in enumerate(paths[::4]):
        content = path.read_bytes()
        (folder / f"{CLASS}-{i:02}.jpg").write_bytes(content[:len(content) // (1 if i else 2)] + WORDS.encode())
        (folder / f"{CLASS}-{i:02}.json").write_text(json.dumps({"who": PERSON}))
        os.utime(folder / f"{CLASS}-{i:02}.jpg", (1_000_000_000 + i,) * 2)
    everyone_may_write(folder)
    return lab, folder


def holding(folder, wanted):
    """Files below a folder that have the words, in them or as a part of their path."""
    return {str(path) for path in folder.rglob("*") for word in wanted
            if word in str(path.relative_to(folder)).encode() or (path.is_file() and word in path.read_bytes())}


def nobody_keeps_pictures_or_what_they_were_called(how):
    lab, folder = picture_lab(how)
    wanted = [text.encode() for text in (PERSON, WORDS, *WORDS.split(), CLASS)]
    with served(lab):
        lab.weir("submit", str(lab.pipeline))
        lab.weir("watch", "lab")
        why = f"{CLASS}-00.jpg) cannot be read".encode()
        assert remembering(lab, ("worker-1", "worker-2"), [why]), "nobody knows why it failed: this test shows less"
        answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
        receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
        assert set(SERVICES) <= set(receipt["memory"]["wiped"]), receipt["memory"]
        shutil.rmtree(folder)  # which is out of reach: storage sees it go
        await_that(lambda: not remembering(lab, SERVICES, wanted), lambda: str(remembering(lab, SERVICES, wanted)), pause_s=1)
        left = holding(lab.data_dir, wanted)
        assert not left, left
    lab.remove()


def test_no_process_remembers_pictures_that_were_copied():
    nobody_keeps_pictures_or_what_they_were_called("copy")


def test_no_process_remembers_pictures_that_were_unlinked():
    nobody_keeps_pictures_or_what_they_were_called("reference")


def test_no_process_remembers_the_rows_of_a_manifest():
    lab = Lab(samples=1, every=1, epochs=1, pipeline=LISTED % "copy")
    rows = [f"{path.relative_to(lab.folder / 'stream')},2002-01-01,{'ab'[i % 2]},{PERSON if i % 5 == 0 else 'somebody'}"
            for i, path in enumerate(write_pictures(lab, 60))]
    (lab.folder / "stream" / "manifest.csv").write_text("\n".join(["path,time,label,subject", *rows]) + "\n")
    with served(lab):
        lab.weir("submit", str(lab.pipeline))
        lab.weir("watch", "lab")
        assert remembering(lab, ("storage",), [PERSON.encode()]), "rows are no longer kept: this test shows nothing"
        answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
        assert answer["samples"] == 12, answer
        found = remembering(lab, SERVICES, [PERSON.encode()])
        assert not found, found
    lab.remove()


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root may read the memory of processes that cannot be dumped")
        sys.exit(SKIPPED)
    run_tests(globals(), wanted=sys.argv[1:])

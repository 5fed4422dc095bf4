"""What was pushed, got its label later, and went through a program of the operator and a trainer of the user while events were
posted to others, is nowhere after the receipt: not in files, the cluster or its log, files without a name, shared memory or the
memory of a process that lives, unless the receipt names it; and none of the others was ever told of it."""

import contextlib
import json
import os
import sys
from pathlib import Path

from loop_test import built
from memory_test import places_in_memory
from webhooks_test import Receiver, configured
from weirlab import PIPELINE, SKIPPED, Lab, Run, await_dataset, await_that, everyone_may_enter, push, run_tests, stop
from words_test import places_of

EXAMPLE = Path(__file__).parents[2] / "docs/guides/programs/text_numbers.py"
PERSON, WORD, KEY, BROKEN = "zqxpushed.canary@example.org", "zqxcanarytext7b", "zqxcanarykey-51", "zqxcanarybroken9"
CANARIES = [PERSON, WORD, KEY, BROKEN]
EACH = 60

PUSHED = """\
datasets:
  - name: fresh
    source:  {push: true, format: jsonl, on_erase: scrub}
    time:    {from: field, field: ts}
    label:   {field: label, classes: [work, spam]}
    subject: {field: user}
"""
LABELLED = """\
datasets:
  - name: notes
    source:  {path: %(folder)s/notes, format: jsonl, import: copy, on_erase: scrub, settle: 0ms}
    time:    {from: field, field: ts}
    label:   {from: updates, classes: [work, spam]}
    subject: {field: user}
    key:     {field: note}
  - name: verdicts
    source:  {path: %(folder)s/verdicts, format: csv, import: copy, settle: 0ms}
    time:    {from: field, field: ts}
    label:   {field: label, classes: [work, spam]}
    key:     {field: note}
    updates: notes
"""
EXEC = """\
  operators:
    - {op: json_text, field: text}
    - {op: exec, program: numbers, name: numbers, makes: dense, type: f32, width: 3}
    - {op: standardize}
"""


def live(name, datasets):
    """A live pipeline."""
    text = PIPELINE.format(data="", every=EACH // 2, epochs=1).replace("name: lab, mode: replay", f"name: {name}, mode: live")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("evaluation")) + "\n"
    text = text.replace("preprocess:\n", "preprocess:\n  on_error: {skip: 50%}\n")
    return text[:text.index("datasets:")] + datasets + text[text.index("trigger:"):]


def replaced(text, first, last, new):
    """The text with what stands from the one word to the other exchanged."""
    return text[:text.index(first)] + new + text[text.index(last):]


def with_trainer_of_the_user(lab):
    text = live("ours", PUSHED)
    lab.pipeline.write_text(replaced(text, "training:", "deletion:", "training: {program: loop, options: {rate: 0.2}, epochs: 1, seed: 1}\n"))


def with_program_of_the_operator(lab):
    text = live("other", LABELLED % {"folder": lab.folder})
    text = replaced(text, "training:", "deletion:", "training: {model: linear, loss: logistic, epochs: 1, seed: 1}\n")
    other = lab.folder / "other.yaml"
    other.write_text(replaced(text, "  operators:", "  batch:", EXEC))
    return other


def system_of(lab, receiver):
    """Both programs, and a hook that is told everything."""
    program = lab.folder / "text_numbers.py"
    program.write_text(EXAMPLE.read_text())
    program.chmod(0o644)
    text = configured(lab, receiver).read_text()
    first, last = text.index("events: ["), text.index("secret:")
    programs = (f"programs:\n  loop: {{command: [{built()}], modes: [train, evaluate, predict]}}\n"
                f"  numbers: {{command: [/usr/bin/python3, {program}]}}\n")
    (lab.folder / "system.yaml").write_text(text[:first] + text[last:] + programs)
    return lab.folder / "system.yaml"


def with_person(lab):
    """One record in six is the person's, and one of these has no text that can be read."""
    for i, record in enumerate(lab.records):
        if i % 6 == 0:
            record |= {"user": PERSON, "text": f"{record['text']} {WORD}"}
    lab.records[12]["text"] = {BROKEN: BROKEN}
    return lab.records


def write_notes(lab, records):
    """The labels come when the notes are there; keys of the person are known by their beginning."""
    rows, notes = ["ts,note,label"], []
    for i, record in enumerate(records):
        note = f"{KEY}-{i}" if record["user"] == PERSON else f"note-{i}"
        rows.append(f"{record['ts']},{note},{record['label']}")
        notes.append(json.dumps({"ts": record["ts"], "user": record["user"], "text": record["text"], "note": note}))
    for name in ("notes", "verdicts"):
        (lab.folder / name).mkdir()
        everyone_may_enter(lab.folder / name)
    (lab.folder / "notes" / "a.jsonl").write_text("\n".join(notes) + "\n")
    return rows


def keys_of(rows):
    return [row.split(",")[1] for row in rows if KEY in row]


def label(lab, rows):
    (lab.folder / "verdicts" / "a.csv").write_text("\n".join(rows) + "\n")


def of_platform(data_dir):
    """Number and name of the processes of a platform, those that its trainers and workers have begun among them."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)
                parents[int(entry.name)] = (int(fields[1].split()[1]), fields[0].split("(", 1)[1])
            except OSError:
                continue  # it has ended
    known = {int(path.read_text().split()[0]) for path in data_dir.glob("lock") if path.read_text().split()}
    while True:
        more = {pid for pid, (parent, _) in parents.items() if parent in known} - known
        if not more:
            return {pid: parents[pid][1] for pid in known if pid in parents}
        known |= more


def remembered(pids, wanted):
    """What is found in the memory of those that live, by their name."""
    found = {}
    for pid, name in pids.items():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if places := places_in_memory(pid, wanted):
                found[f"{name}/{pid}"] = places
    return found


def unnamed(pids, wanted):
    """Files without a name that these processes have open, and that hold one of these words."""
    found = set()
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):  # closed meanwhile, or no file
                    target = os.readlink(entry)
                    if "(deleted)" in target or target.startswith("/memfd:"):
                        content = entry.read_bytes()
                        found |= {(pid, target, word) for word in wanted if word in content}
    return sorted(found)


def shared(wanted):
    """Names in shared memory that hold one of these words."""
    found = set()
    for path in Path("/dev/shm").glob("weir*"):
        if path.is_file():
            content = path.read_bytes()
            found |= {(str(path), word) for word in wanted if word in content}
    return sorted(found)


def models_of(lab, pipeline):
    return [m for m in json.loads(lab.weir("models", "list", "--json"))["models"] if m["pipeline"] == pipeline]


def test_nothing_of_what_was_pushed_and_labelled_later_is_left():
    lab, receiver = Lab(samples=EACH, every=10**9), Receiver()
    rows = write_notes(lab, with_person(lab))
    with_trainer_of_the_user(lab)
    other = with_program_of_the_operator(lab)
    run = Run(lab.pipeline, lab.data_dir, system_of(lab, receiver))
    await_dataset(run, lab, "fresh")
    lab.weir("submit", str(other))
    push(lab, "".join(json.dumps(record) + "\n" for record in lab.records), "fresh")
    await_dataset(run, lab, "verdicts")
    label(lab, rows)
    await_that(lambda: models_of(lab, "ours") and models_of(lab, "other"), lambda: lab.weir("status"), pause_s=1)
    wanted = [word.encode() for word in CANARIES]
    before = {word for _, word in places_of(lab, CANARIES)}
    assert before == set(CANARIES), before
    answer = json.loads(lab.weir("erase", "request", "--subject", PERSON, "--wait", "--json"))
    receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    assert answer["samples"] == 3 * EACH // 6, answer  # pushed, waiting for their label, and labelled
    left = {word for _, word in places_of(lab, CANARIES)}
    assert left <= {KEY}, f"in files: {places_of(lab, CANARIES)}"
    outside = " ".join(receipt["storage"]["outside_reach"])
    assert KEY not in left or "'verdicts' has given samples of 'notes' their labels" in outside, outside
    named = {entry["process"] for entry in receipt["memory"]["not_wiped"]}
    pids = of_platform(lab.data_dir)
    assert {"storage", "worker", "orchestrator"} <= set(pids.values()), pids
    memory = remembered({pid: name for pid, name in pids.items() if name not in named}, wanted)
    assert not memory, {name: places[:3] for name, places in memory.items()}
    assert not unnamed(pids, wanted) and not shared(wanted), (unnamed(pids, wanted), shared(wanted))
    json.loads(lab.weir("erase", "request", *(word for key in keys_of(rows) for word in ("--key", key)), "--wait", "--json"))
    assert not places_of(lab, CANARIES), places_of(lab, CANARIES)
    stop(run)
    assert any(b"model_stored" in body for body in receiver.bodies), "nobody was told of anything: this shows less"
    posted = [body for body in receiver.bodies if any(word in body for word in wanted)]
    assert not posted, posted[:3]
    lab.remove()


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root may read the memory of processes that cannot be dumped")
        sys.exit(SKIPPED)
    run_tests(globals(), wanted=sys.argv[1:])

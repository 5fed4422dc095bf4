"""Bad input: one clear line with place, found, expected, what to do; the right exit code; good data is kept."""

import fcntl
import json
import os
import re
import socket
import struct
import subprocess

from weirlab import (DEADLINE_S, Lab, Run, assert_clean_audits, await_that, binaries, child, everyone_may_write, run_tests,
                     victims)


def orchestrator(lab, *arguments, env=None):
    return child.run([binaries() / "orchestrator", *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
                     env={**os.environ, **(env or {})}, cwd=lab.folder)


def broken(lab, old, new):
    """The lab's pipeline with one thing wrong."""
    text = lab.pipeline.read_text()
    assert old in text, old
    path = lab.folder / "broken.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


BAD_FILES = [  # what is changed, into what, and what the line must say
    ("epochs: 1", "epoch: 1", r"broken\.yaml:\d+:\d+: training\.epoch: unknown key.*epochs"),
    ("epochs: 1", "epochs: many", r"broken\.yaml:\d+:\d+: training\.epochs: .*many"),
    ("policy: amount", "policy: amuont", r"broken\.yaml:\d+:\d+: .*amuont.*amount"),
    ("policy: random", "policy: rndom", r"broken\.yaml:\d+:\d+: .*rndom.*random"),
    ("op: tokenize_words", "op: tokenise_words", r"broken\.yaml:\d+:\d+: .*tokenise_words.*tokenize_words"),
    ("format: jsonl", "format: jsnl", r"broken\.yaml:\d+:\d+: .*jsnl.*jsonl"),
    ("samples: 8,", "samples: 0,", r"broken\.yaml:\d+:\d+: .*samples.*0"),
    ("pipeline: {name", "pipelin: {name", r"broken\.yaml:\d+:\d+: .*pipelin.*pipeline"),
    ("seed: 7}", "seed: 7", r"broken\.yaml:\d+:\d+: "),
]


def test_bad_pipeline_files_name_the_place_and_exit_2(lab):
    for old, new, expected in BAD_FILES:
        done = orchestrator(lab, "run", str(broken(lab, old, new)), "--data-dir", str(lab.folder / "never"))
        assert done.returncode == 2, (new, done)
        assert re.search(expected, done.stderr), (new, done.stderr)
        assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 3, done.stderr
        assert not (lab.folder / "never" / "postgres").exists(), "nothing may be started for a bad file"


def test_missing_pipeline_file(lab):
    done = orchestrator(lab, "run", "absent.yaml", "--data-dir", str(lab.folder / "never"))
    assert done.returncode == 2 and "absent.yaml" in done.stderr, done


def test_missing_data_folder_is_named(lab):
    path = broken(lab, str(lab.folder / "stream"), str(lab.folder / "nowhere"))
    done = orchestrator(lab, "run", str(path), "--data-dir", str(lab.folder / "missing"))
    assert done.returncode in (1, 2) and str(lab.folder / "nowhere") in done.stderr, done


def test_unknown_option_suggests_the_nearest(lab):
    done = orchestrator(lab, "run", str(lab.pipeline), "--dta-dir", "x")
    assert done.returncode == 2 and "--data-dir" in done.stderr, done


def test_a_data_directory_in_use_is_refused(lab):
    folder = lab.folder / "taken"
    folder.mkdir(mode=0o755)
    with open(folder / "lock", "w") as held:
        held.write(f"{os.getpid()}\n")
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        done = orchestrator(lab, "run", str(lab.pipeline), "--data-dir", str(folder))
    assert done.returncode in (1, 2) and "in use" in done.stderr and str(folder) in done.stderr, done


def test_postgres_not_installed_names_the_package(lab):
    done = orchestrator(lab, "run", str(lab.pipeline), "--data-dir", str(lab.folder / "bare"),
                        env={"WEIR_POSTGRES_BIN": "/nonexistent"})
    assert done.returncode in (1, 2) and "postgresql" in done.stderr, done


def test_a_broken_line_is_quarantined_and_the_rest_is_trained_on(lab):
    with open(lab.folder / "stream" / "part1.jsonl", "a") as stream:
        stream.write('{"ts": "2002-02-30T00:00:00Z", "label": "work", "user": "x", "text": "no such day"}\n')
        stream.write('{"ts": "2002-02-01T00:00:00Z", "label": \n')
    run = lab.run(lab.folder / "broken-line").finish()
    assert_clean_audits(run.events)
    (notes,) = json.loads(lab.weir("datasets", "--json", data_dir=lab.folder / "broken-line"))["datasets"]
    assert notes["live"] == len(lab.records) and notes["quarantined"] == 2, notes
    assert any("part1.jsonl" in c for c in notes["complaints"]), notes
    assert notes["ingested"] == notes["live"] + notes["erased"] + notes["removed"] + notes["replaced"], notes


def test_records_that_no_operator_can_read_are_refused_before_anything_is_created(lab):
    pipeline = broken(lab, "field: text}", "field: body}")
    run = Run(pipeline, lab.folder / "misread").finish(expect=2)
    (error,) = [e["error"] for e in run.of("error")]
    assert "preprocess.operators: json_text: " in error and "part0.jsonl:1: field 'body': found nothing, expected a string" in error, error
    assert not (lab.folder / "misread").exists()


def test_a_set_that_no_operator_can_read_fails_with_what_is_wrong_with_a_sample(lab):
    rows = [json.dumps(record) + "\n" for record in lab.records]  # by time: the first trigger has the first 200
    unread = lab.folder / "unread"
    unread.mkdir()
    (unread / "early.jsonl").write_text("".join(rows[:200]).replace('"text"', '"texts"'))
    (unread / "late.jsonl").write_text("".join(rows[200:]))
    os.chmod(unread, 0o755)
    pipeline = lab.folder / "misread.yaml"
    text = lab.pipeline.read_text().replace(str(lab.folder / "stream"), str(unread))
    pipeline.write_text(text.replace("training: {", "training: {retries: 0, "))
    run = Run(pipeline, lab.folder / "misread").finish(expect=1)
    (error,) = [e["error"] for e in run.of("error")]
    assert "nothing to train on" in error and "of one sample: json_text: field 'text': found nothing, expected a string" in error, error
    assert "trainer-1" not in error, error  # the line of a log is no sentence


BINARY = """\
pipeline: {{name: clicks, mode: replay}}
datasets:
  - name: clicks
    source:  {{path: {data}, format: binary, record_bytes: 16, import: reference, on_erase: scrub}}
    time:    {{from: file_name, pattern: "day_%Y-%m-%d"}}
    label:   {{offset: 0, type: i32}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  on_error: skip
  operators: [{{op: record_fields, dense: [4, 3, f32]}}]
  batch: {{samples: 16}}
training: {{model: linear, loss: logistic, epochs: {epochs}, optimizer: {{name: sgd, lr: 0.1}}}}
"""


def test_half_a_binary_record_is_quarantined_and_the_whole_ones_are_kept(lab):
    folder = lab.folder / "clicks"
    folder.mkdir(mode=0o755)
    whole = b"".join(struct.pack("<i3f", i % 2, i % 2, 1.0, i / 64) for i in range(64))
    (folder / "day_2024-03-01").write_bytes(whole + b"half a r")
    pipeline = lab.folder / "clicks.yaml"
    pipeline.write_text(BINARY.format(data=folder, every=32, epochs=1))
    run = Run(pipeline, lab.folder / "half").finish()
    assert_clean_audits(run.events)
    (clicks,) = json.loads(lab.weir("datasets", "--json", data_dir=lab.folder / "half"))["datasets"]
    assert clicks["live"] == 64 and clicks["quarantined"] == 1, clicks
    assert any("day_2024-03-01" in c and "16" in c for c in clicks["complaints"]), clicks


def test_what_a_dry_run_that_is_killed_has_copied_goes_with_the_next_start(lab):
    scratch = lab.folder / "scratch"
    scratch.mkdir()
    everyone_may_write(scratch)
    place = {"TMPDIR": str(scratch)}
    run = child.start([binaries() / "orchestrator", "run", lab.pipeline, "--dry-run"], env={**os.environ, **place},
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await_that(lambda: list(scratch.glob("*/storage/notes/*.jsonl")) or run.poll() is not None)
    assert run.poll() is None, "it was over before"
    run.kill()
    run.wait()
    await_that(lambda: not victims(scratch, "postgres") and not victims(scratch, "storage"))
    assert list(scratch.glob("*/storage/notes/*.jsonl"))
    for folder in scratch.iterdir():
        os.utime(folder, (0, 0))  # one that is a minute old is nobody's who is just beginning
    orchestrator(lab, "run", str(lab.pipeline), "--data-dir", "/proc/nowhere", env=place)
    assert not list(scratch.iterdir()), list(scratch.iterdir())


def test_a_taken_socket_is_named(lab):
    folder = lab.folder / "socket"
    (folder / "run").mkdir(parents=True)
    (folder / "lock").touch()  # of a first start that died
    everyone_may_write(folder)
    os.chmod(folder / "lock", 0o666)
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(folder / "run" / "storage.sock"))
        taken.listen()
        os.chmod(folder / "run" / "storage.sock", 0o777)
        done = orchestrator(lab, "run", str(lab.pipeline), "--data-dir", str(folder))
    assert done.returncode == 1 and "storage.sock" in done.stderr and "in use" in done.stderr, done


def main():
    lab = Lab(samples=400, every=200, epochs=1)
    run_tests(globals(), lab)
    lab.remove()


main()

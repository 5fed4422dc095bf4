"""Programs in Python are trainers: the one of docs/guides/python.md trains, evaluates, is killed and is replaced after an erasure;
one sees every byte that a program in C sees; one does all that is refused."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import why_test
from weirlab import (DEADLINE_S, PIPELINE, SKIPPED, Lab, Run, assert_clean_audits, await_that, binaries, child,
                     everyone_may_enter, outcome, run_tests, served, victims)

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "python"
PACKAGE = binaries().parent / "python/weir"
OURS = re.sub(r"training: .*?\n.*?\n", "training: {{program: loop, epochs: {epochs}, seed: 1}}\n", PIPELINE)
VECTORS = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: points
    source: {{path: {data}, format: binary, include: "*.bin", record_bytes: 28}}
    time:   {{from: field, offset: 0, type: i64, unit: s}}
    label:  {{offset: 20, values: [f32, 2]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data, seed: 7}}
preprocess:
  operators:
    - {{op: record_fields, dense: [8, 3, f32]}}
  batch: {{samples: 16, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{program: loop, epochs: {epochs}, seed: 1}}
"""
NAMED = why_test.PIPELINE.replace("{", "{{").replace("}", "}}").replace("DATA", "{data}").replace(
    "OPERATORS", "{{op: csv_fields, fields: [damp, temp, wind], as: air}}").replace("TRIGGER", why_test.DRIFT.format(
        "embeddings", "ks", 0.2).replace("{", "{{").replace("}", "}}")).replace("model: MODEL, start_from: scratch", "program: loop, epochs: 1")
NAMED = NAMED[:NAMED.index("evaluation:")]
SIZED = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - {{name: words, source: {{path: {data}, format: csv, include: "*.csv"}}, time: {{from: field, field: t}}, label: none}}
trigger:   {{policy: amount, samples: 6}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: csv_text, field: text}}
    - {{op: csv_fields, fields: [a, b], as: air}}
    - {{op: tokenize_words, on: text}}
    - {{op: vocab, on: words, as: words}}
    - {{op: pad, on: words, length: 3}}
  batch: {{samples: 4}}
training: {{program: loop, epochs: {epochs}, start_from: previous}}
"""
MODES = "modes: [train, evaluate, predict]"

try:
    import numpy
except ImportError as missing:
    print(f"python_test.py: skipped: {missing} (apt-get install python3-numpy)")
    sys.exit(SKIPPED)
if not (PACKAGE / "_weir.abi3.so").exists():
    print(f"python_test.py: skipped: {PACKAGE} was not built: the headers of Python are missing (apt-get install python3-dev)")
    sys.exit(SKIPPED)


class PythonLab(Lab):
    """A lab whose programs have the package, and where the user that they run as may read all of it."""

    def __init__(self, **options):
        super().__init__(**{"pipeline": OURS, **options})
        self.programs = self.folder / "programs"
        shutil.copytree(PACKAGE, self.programs / "weir")
        for program in PROGRAMS.glob("*.py"):
            shutil.copy(program, self.programs)
        (text,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/guides/python.md").read_text(), re.S | re.M)
        (self.programs / "guide.py").write_text(text)
        for folder in (self.programs, self.programs / "weir"):
            everyone_may_enter(folder)

    def system(self, *command, modes=MODES):
        """A system file whose program `loop` this is."""
        words = ", ".join(str(word) for word in command)
        path = self.folder / f"{Path(command[-1]).stem}-{len(command)}.yaml"
        path.write_text(f"programs: {{loop: {{command: [{words}], {modes}, env: {{PYTHONPATH: {self.programs}}}}}}}\n")
        return path

    def script(self, *names, modes=MODES):
        return self.system(sys.executable, *(self.programs / name for name in names), modes=modes)


def write_points(lab, count):
    """The records of VECTORS."""
    records = [struct.pack("<q3f2f", 1_000_000_000 + i, i, -i, 1 / (i + 1), i * i, 2 * i) for i in range(count)]
    (lab.folder / "stream/points.bin").write_bytes(b"".join(records))


def said(run):
    """Everything that the programs of a run have printed."""
    return "".join(path.read_text() for path in sorted(run.data_dir.glob("log/trainer-*.log")))


def test_a_program_trains_evaluates_predicts_and_is_replaced():
    lab = PythonLab(samples=1200, every=400, epochs=2)
    system = lab.script("guide.py")
    expected = Run(lab.pipeline, lab.folder / "undisturbed", system).finish()
    run = Run(lab.pipeline, lab.data_dir, lab.script("dies.py", "guide.py")).finish()
    models = outcome(run.events)
    assert said(run).count("dies here") == len(models) > 1, said(run)
    assert_clean_audits(run.events)
    assert models == outcome(expected.events), (models, outcome(expected.events))
    measured = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc" and e["value"] is not None]
    assert measured and max(measured) > 0.9, run.of("evaluation")
    with served(lab, "--system", system):
        assert len(json.loads(lab.weir("predict", "--limit", "20", "--json"))["predictions"]) == 20
        erased = json.loads(lab.weir("erase", "request", "--subject", "person3@example.org", "--wait", "--json"))
    assert erased["state"] == "FINISHED" and erased["models_replaced"], erased
    lab.remove()


def dumped(lab):
    """The models of both programs: all bytes of all batches."""
    shutil.copy(binaries().parent / "tests/bin/batches_dump", lab.programs)
    for name, system in (("c", lab.system(lab.programs / "batches_dump", modes="modes: [train]")),
                         ("python", lab.script("dump.py", modes="modes: [train]"))):
        run = Run(lab.pipeline, lab.folder / name, system).finish()
        assert_clean_audits(run.events)
        yield outcome(run.events)


def test_batches_have_the_same_bytes_as_in_c():
    text = re.sub(r"evaluation: .*\n", "", OURS)
    lab = PythonLab(samples=400, every=200, epochs=2, pipeline=text)  # ragged words, labels of classes
    in_c, in_python = dumped(lab)
    assert in_c == in_python and len(in_c) == 2, (in_c, in_python)
    lab.remove()
    field = "dense: [8, 3, f32]}}\n"
    made = set()
    for place in ("pool", "host"):  # dense numbers, labels of vectors; the cast is the trainer's in the end
        text = VECTORS.replace(field, f"{field}    - {{{{op: cast, to: f64}}}}\n  plan: {{{{place: {place}}}}}\n")
        lab = PythonLab(samples=1, every=200, epochs=2, pipeline=text)
        write_points(lab, 200)
        made |= {str(one) for one in dumped(lab)}
        lab.remove()
    assert len(made) == 1 and made != {"[]"}, made


def assert_digests(lab):
    """Each batch has the digest that the page has a reader compute: see digests.py. Returns the samples that were filtered."""
    (text,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/reference/batch-digest.md").read_text(), re.S | re.M)
    (lab.programs / "digest_page.py").write_text(text)
    run = Run(lab.pipeline, lab.folder / "digests", lab.script("digests.py"), "--digests").finish()
    assert_clean_audits(run.events)
    (audit,), (stored,) = [e["audit"] for e in run.of("training_finished")], run.of("model_stored")
    holes, *found = (run.data_dir / stored["file"]).read_text().split()
    assert audit["digests"] == len(found) > 1, audit
    assert int(audit["digest"], 16) == sum(int(one, 16) for one in found) % 2**128, audit
    return int(holes)


def test_digests_are_what_their_page_says():
    text = re.sub(r"evaluation: .*\n", "", OURS.replace("    - {{op: normalize_text}}", "    - {{op: filter, min: 60}}\n    - {{op: normalize_text}}"))
    lab = PythonLab(samples=300, every=300, epochs=2, pipeline=text)  # ragged words, labels of classes, holes
    assert assert_digests(lab) > 0
    lab.remove()
    lab = PythonLab(samples=1, every=200, epochs=2, pipeline=VECTORS)  # dense numbers, labels of vectors
    write_points(lab, 200)
    assert assert_digests(lab) == 0
    lab.remove()
    lab = PythonLab(samples=1, every=200, epochs=1, pipeline=re.sub("    label: .*\n", "", VECTORS))  # no labels
    write_points(lab, 200)
    assert assert_digests(lab) == 0
    lab.remove()


def check_rows(lab, *words):
    """The bytes of every record of the file are what a program was shown under its id, once in each epoch."""
    run = Run(lab.pipeline, lab.folder / f"rows{len(words)}", lab.system(sys.executable, lab.programs / "rows.py", *words,
                                                                        modes="modes: [train]")).finish()
    record, rows = (lab.folder / "stream/points.bin").read_bytes(), {}
    for line in (run.data_dir / run.of("model_stored")[0]["file"]).read_text().splitlines():
        epoch, number, numbers, label, weight = line.split()
        key = (int(epoch), int(number) & 0xFFFF)
        assert key not in rows and weight == struct.pack("<f", 1).hex(), line
        rows[key] = (numbers, label)
    expected = {(epoch, i): (record[28 * i + 8:28 * i + 20].hex(), record[28 * i + 20:28 * i + 28].hex())
                for epoch in range(3) for i in range(len(record) // 28)}
    assert rows == expected, (len(rows), len(expected))


def test_every_byte_of_the_file_arrives_once_in_each_epoch():
    lab = PythonLab(samples=1, every=200, epochs=3, pipeline=VECTORS)
    write_points(lab, 200)
    check_rows(lab)
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
        check_rows(lab, "torch")
    lab.remove()


def test_outputs_may_have_any_layout():
    lab = PythonLab(samples=1, every=100, epochs=1, pipeline=VECTORS)
    write_points(lab, 100)
    system = lab.script("strided.py")
    Run(lab.pipeline, lab.data_dir, system).finish()
    with served(lab, "--system", system):
        predictions = json.loads(lab.weir("predict", "--limit", "100", "--json"))["predictions"]
    said_of = {p["id"] & 0xFFFF: [numpy.float32(value) for value in p["values"]] for p in predictions}
    assert said_of == {i: [numpy.float32(i), numpy.float32(1 / (i + 1))] for i in range(100)}, said_of
    lab.remove()


def test_numbers_have_names_in_both_directions():
    lab = PythonLab(samples=1, pipeline=NAMED)
    (lab.folder / "stream/part0.jsonl").unlink()
    why_test.write_weather(lab.folder / "stream/weather.csv")
    run = Run(lab.pipeline, lab.data_dir, lab.script("named.py", modes="modes: [train, embed]")).finish()
    reason = run.of("trigger_fired")[1]["reason"]
    assert re.search(r"drift of embeddings: ks [.\d]+ >= 0.2; farthest by ks: temp [.\d]+ \(mean 1\d[.\d]* -> 2\d", reason), reason
    lab.remove()


def test_a_program_knows_how_large_its_tables_must_be_before_the_first_batch():
    lab = PythonLab(samples=1, pipeline=SIZED)
    (lab.folder / "stream/part0.jsonl").unlink()
    rows = [f"2024-01-{day:02},{day},{day / 2},w{min(day, 7)} w{day % 3}" for day in range(1, 13)]
    (lab.folder / "stream/words.csv").write_text("\n".join(["t,a,b,text", *rows]) + "\n")
    run = Run(lab.pipeline, lab.data_dir, lab.script("sized.py", modes="modes: [train]")).finish()
    told = [json.loads((run.data_dir / stored["file"]).read_text()) for stored in run.of("model_stored")]
    assert told == [[1 + 7, 0], [1 + 8, 1 + 7]], told
    lab.remove()


def stop_the_workers(run, signals):
    """Stops them when the program says so, and lets them go on; the program is told when it is done."""
    for name, number in signals:
        await_that(lambda: run.process.poll() is not None or any(run.data_dir.glob(f"runs/*/{name}")))
        wish = next(run.data_dir.glob(f"runs/*/{name}"), None)
        for pid in victims(run.data_dir, "worker"):
            os.kill(pid, number)
        if wish is not None:
            wish.with_name(f"{name}.done").touch()


def test_a_program_learns_from_the_part_of_each_batch_that_is_wanted():
    """The program checks what it is told, and what weir.choice makes of it: see in_batch.py."""
    text = re.sub(r"evaluation: .*\n", "", OURS.replace("seed: 7}}", "seed: 7, batch_then_sample: {{score: loss, ratio: 0.25}}}}"))
    lab = PythonLab(samples=200, every=200, epochs=2, pipeline=text)
    run = Run(lab.pipeline, lab.data_dir, lab.script("in_batch.py", modes="modes: [train]")).finish()
    assert_clean_audits(run.events)
    lines = (run.data_dir / run.of("model_stored")[0]["file"]).read_bytes().count(b"\n")
    assert lines == 2 * 160 // 4, lines
    lab.remove()


def faults_of_a_step(lab, system):
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    (trained,) = run.of("training_finished")
    shutil.rmtree(lab.data_dir)
    return trained["metrics"]["faults"]


def test_a_step_has_the_memory_of_the_one_before():
    """The system file may say otherwise, as for a program that shares its host with others."""
    lab = PythonLab(samples=60, every=60, epochs=1, pipeline=re.sub(r"evaluation: .*\n", "", OURS))
    system = lab.script("steps.py", modes="modes: [train]")
    kept = faults_of_a_step(lab, system)
    system.write_text(system.read_text().replace("env: {", "env: {MALLOC_TRIM_THRESHOLD_: 131072, "))
    given_back = faults_of_a_step(lab, system)
    assert kept < 100 and given_back > 1000, (kept, given_back)
    lab.remove()


def test_misuse_is_refused():
    text = re.sub(r"evaluation: .*\n", "", OURS.replace("seed: 1}}", "seed: 1, report_losses: true, retries: 0}}"))
    lab = PythonLab(samples=1200, every=1200, epochs=4, pipeline=text)
    run = Run(lab.pipeline, lab.data_dir, lab.script("misuse.py", modes="modes: [train]"))
    stop_the_workers(run, (("stop-the-workers", signal.SIGSTOP), ("go-on", signal.SIGCONT)))
    run.finish(expect=None)
    assert "all is refused" in said(run), (said(run), run.stderr)
    assert run.process.returncode == 0, run.stderr
    assert_clean_audits(run.events)
    lab.remove()


NOTEBOOK = """\
import sys, time, weir
try:
    weir.attach(sys.argv[1], timeout=0)
except weir.Timeout as error:
    print(error, flush=True)
task = weir.attach(sys.argv[1])
with weir.Session(task=task) as session:
    for batch in session:
        if batch.number == 0:
            time.sleep(13)  # somebody looks at it for longer than the run has patience
    open("model", "w").write("by hand")
    session.finish("model")
"""


def test_a_notebook_or_a_debugger_takes_the_place_of_a_program():
    text = re.sub(r"evaluation: .*\n", "", OURS.replace("seed: 1}}", "seed: 1, patience: 12s, retries: 0, start_from: scratch}}"))
    lab = PythonLab(samples=400, every=200, pipeline=text)
    stand_in = lab.system(sys.executable, "-m", "weir", modes="modes: [train]")
    environment = {**os.environ, "PYTHONPATH": f"{lab.programs}:{os.environ.get('PYTHONPATH', '')}"}
    common = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    notebook = child.start([sys.executable, "-c", NOTEBOOK, lab.data_dir], **common)
    assert "no run below" in notebook.stdout.readline()  # before there is one
    run = Run(lab.pipeline, lab.data_dir, stand_in)
    printed, _ = notebook.communicate(timeout=DEADLINE_S)
    assert notebook.returncode == 0, printed
    debugger = child.start([sys.executable, "-m", "weir", lab.data_dir, sys.executable, "-m", "pdb", "-c", "continue",
                            "guide.py"], cwd=lab.programs, stdin=subprocess.DEVNULL, **common)
    printed, _ = debugger.communicate(timeout=DEADLINE_S)
    assert "The program finished and will be restarted" in printed, (printed, said(run))
    run.finish()
    first, second = run.of("model_stored")
    assert (run.data_dir / first["file"]).read_text() == "by hand" and second["bytes"] > 1000, (first, second)
    assert_clean_audits(run.events)
    lab.remove()


def test_an_exception_fails_the_run_in_its_own_words():
    lab = PythonLab(samples=100, every=100, pipeline=OURS.replace("seed: 1}}", "seed: 1, retries: 1}}"))
    (lab.programs / "raises.py").write_text("import weir\nsession = weir.Session()\nfor batch in session:\n"
                                            "    raise ValueError('the loss is infinite')\n")
    run = Run(lab.pipeline, lab.data_dir, lab.script("raises.py")).finish(expect=1)
    assert "trainer failed 2 times, the last time: exit code 1; it said: ValueError: the loss is infinite" in "".join(run.stderr), run.stderr
    lab.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

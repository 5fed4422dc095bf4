"""The programs of docs/examples/, each with its pipeline and by the command that stands in it: data comes, sets are selected, a network
is trained and evaluated, predicts, and is replaced after an erasure.

Usage: examples_test.py [real]

With `real` the DLRM learns from what people clicked (criteo-80k). That is not Weir's to ship: WEIR_TEST_DATA names a folder
with it; without it the test is skipped."""

import csv
import json
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import weirlab
from python_test import ROOT, PythonLab
from weirlab import Run, assert_clean_audits, binaries, run_tests, served

EXAMPLES = ROOT / "docs/examples"
DATA = Path(os.environ.get("WEIR_TEST_DATA", ""))
LINES_MAX = 60
PICTURE_CLASSES = {"dark": "cat", "light": "ship"}

if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
    print("examples_test.py: skipped: no PyTorch (apt-get install python3-torch)")
    sys.exit(weirlab.SKIPPED)


class ExampleLab(PythonLab):
    """A folder that a person stands in: docs/examples/ and data/ below it."""

    def __init__(self, name, edits):
        super().__init__(samples=1)
        self.name, self.data_dir = name, self.folder / "platform"  # data/ is the examples'
        shutil.copytree(EXAMPLES, self.folder / "docs/examples")
        self.pipeline = self.folder / f"docs/examples/{name}.yaml"
        text = self.pipeline.read_text()
        for before, after in edits.items():
            assert before in text, before
            text = text.replace(before, after)
        self.pipeline.write_text(text)

    def run_as_written(self):
        """The run of the command in the pipeline's file, where Python finds the package."""
        text = self.pipeline.read_text().replace("\n#", "\n")
        (line,) = re.findall(r"^ +orchestrator run .*$", text, re.M)
        orchestrator, run, pipeline, option, program = shlex.split(line)
        assert (run, pipeline, option) == ("run", f"docs/examples/{self.name}.yaml", "--program")
        name, command = program.split("=", 1)
        python, script = command.split()
        assert python == "python3" and script == f"docs/examples/{self.name}.py"
        os.chdir(self.folder)
        return Run(pipeline, self.data_dir, None, option, f"{name}=env PYTHONPATH={self.programs} {sys.executable} {script}")

    def named(self):
        """The system file for what comes after."""
        (name,) = re.findall(r"program: (\w+)", self.pipeline.read_text())
        path = self.folder / "system.yaml"
        script = self.folder / f"docs/examples/{self.name}.py"
        path.write_text(f"programs: {{{name}: {{command: [{sys.executable}, {script}], modes: [train, evaluate, predict, embed, score], "
                        f"env: {{PYTHONPATH: {self.programs}}}}}}}\n")
        return path


def measured(run, metric):
    return [e["value"] for e in run.of("evaluation") if e["metric"] == metric and isinstance(e["value"], float)]


def lives(lab, subject, metric, at_least):
    """Trigger, select, train, evaluate; predict; erase."""
    run = lab.run_as_written().finish()
    assert_clean_audits(run.events)
    models = [event["model"] for event in run.of("model_stored")]
    assert len(models) >= 2 and len(run.of("trigger_fired")) == len(run.of("selection_sealed")) == len(models), models
    found = measured(run, metric)
    print(f"{lab.name}: {len(models)} models, {metric} {', '.join(f'{value:.3f}' for value in found)}", flush=True)
    assert found and max(found) >= at_least, run.of("evaluation")
    with served(lab, "--system", lab.named()):
        predicted = json.loads(lab.weir("predict", "--limit", "20", "--json"))["predictions"]
        assert len(predicted) == 20 and all(0 <= value <= 1 for p in predicted for value in p["values"]), predicted
        erased = json.loads(lab.weir("erase", "request", "--subject", subject, "--wait", "--json"))
        assert erased["state"] == "FINISHED" and erased["models_replaced"], erased
        left = json.loads(lab.weir("predict", "--limit", "20", "--json"))
        assert left["model"] not in models, left["model"]
        lab.weir("doctor")
    lab.remove()


def test_examples_fit_on_a_page():
    found = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}
    assert len(found) == 3 and max(found.values()) <= LINES_MAX, found


# ---- clicks ----


def click(draw):
    """Number 0 and category 0 decide, the others are noise."""
    sparse = [draw.randrange(1000) for _ in range(26)]
    dense = [draw.expovariate(1) for _ in range(13)]
    sparse[0] = draw.randrange(20)
    label = dense[0] + sparse[0] % 2 > 1.2
    return struct.pack("<i13f26iQ", label ^ (draw.random() < 0.05), *dense, *sparse, draw.randrange(100)).ljust(168, b"\0")


def write_clicks(folder, days, a_day):
    draw = random.Random(5)
    folder.mkdir(parents=True)
    for day in range(days):
        (folder / f"day_2024-01-{day + 1:02}").write_bytes(b"".join(click(draw) for _ in range(a_day)))


def test_a_dlrm_learns_from_clicks():
    lab = ExampleLab("clicks_dlrm", {"samples: 1024": "samples: 32"})
    write_clicks(lab.folder / "data/clicks", 4, 2000)
    lives(lab, "17", "roc_auc", 0.75)


def write_criteo(folder, days):
    """A day is a share of the rows, in their order; a row is a person."""
    packed = DATA / "criteo-80k/criteo80k.tsv.zst"
    lines = subprocess.run(["zstd", "-dc", packed], capture_output=True, text=True, check=True).stdout.splitlines()
    folder.mkdir(parents=True)
    size = -(-len(lines) // days)
    for day in range(days):
        records = []
        for number, line in enumerate(lines[day * size:(day + 1) * size]):
            label, *fields = line.split("\t")
            numbers = [float(field or 0) for field in fields[:13]]
            categories = [int(field or "0", 16) for field in fields[13:]]
            records.append(struct.pack("<i13f26iQ", int(label), *numbers, *categories, day * size + number))
        (folder / f"day_2024-01-{day + 1:02}").write_bytes(b"".join(records))


def real_clicks_of_criteo():
    lab = ExampleLab("clicks_dlrm", {"samples: 1024": "samples: 128"})
    write_criteo(lab.folder / "data/clicks", 4)
    lives(lab, "17", "roc_auc", 0.70)


# ---- mails ----


def write_mails(folder, before):
    """Made up by the tool of the demo; those of the first months."""
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, ROOT / "tools/synthetic_mails", folder], check=True, stdout=subprocess.DEVNULL)
    with open(folder / "manifest.csv", newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    for row in rows:
        if row[1] >= before:
            (folder / row[0]).unlink()
    with open(folder / "manifest.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *(row for row in rows if row[1] < before)])


def test_a_transformer_reads_mails():
    lab = ExampleLab("mails_transformer", {"epochs: 3": "epochs: 2"})
    write_mails(lab.folder / ".weir/mails", "2002-10")
    lives(lab, "sender003@synthetic.example", "roc_auc", 0.9)


# ---- pictures ----


def write_manifest(folder, rows):
    """`rows`: path, label, number of the photographer; six hours from one picture to the next."""
    lines = ["path,time,label,subject,key"]
    for number, (path, label, person) in enumerate(rows):
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_000_000_000 + number * 6 * 3600))
        lines.append(f"{path},{when},{label},photographer{person},")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")


def test_a_resnet_learns_from_pictures():
    lab = ExampleLab("pictures_resnet", {"samples: 1000}": "samples: 100}", "samples: 64": "samples: 20", "epochs: 5": "epochs: 4"})
    folder = lab.folder / "data/pictures"
    folder.mkdir(parents=True)
    subprocess.run([binaries().parent / "tests/bin/make_pictures", folder, "240"], check=True)
    paths = sorted(folder.glob("*/*.jpg"), key=lambda path: path.name)
    write_manifest(folder, [(path.relative_to(folder), PICTURE_CLASSES[path.parent.name], i % 12) for i, path in enumerate(paths)])
    lives(lab, "photographer3", "accuracy", 0.8)


def main():
    if sys.argv[1:] != ["real"]:
        run_tests(globals())
    elif (DATA / "criteo-80k").exists():
        run_tests(globals(), prefix="real_")
    else:
        print("skipped: WEIR_TEST_DATA names no folder with criteo-80k")
        sys.exit(weirlab.SKIPPED)


if __name__ == "__main__":
    main()

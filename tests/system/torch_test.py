"""weir.torch: serve() answers every mode, and a life that begins again draws the same random numbers; a DataLoader takes the
dataset."""

import json
import os
import re
import subprocess
import sys

import weirlab
from python_test import VECTORS, PythonLab, said, write_points
from weirlab import PIPELINE, Run, assert_clean_audits, outcome, run_tests, served

ALL = "modes: [train, evaluate, predict, score, gradient, embed]"
SCORED = ("{{policy: coreset, presample: {{policy: random, ratio: 0.8}}, tail_triggers: all, seed: 7, limit: 100, score: "
          "[{{method: loss}}, {{method: k_center, from_trigger: 3}}, {{method: craig, from_trigger: 4}}]}}")
OURS = re.sub(r"training: .*?\n.*?\n", "training: {{program: loop, epochs: {epochs}, seed: 1}}\n", PIPELINE)

if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
    print("torch_test.py: skipped: no PyTorch (apt-get install python3-torch)")
    sys.exit(weirlab.SKIPPED)


def test_every_mode_is_answered_and_deaths_change_nothing():
    lab = PythonLab(samples=1200, every=300, epochs=3, pipeline=OURS.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", SCORED))
    expected = Run(lab.pipeline, lab.folder / "undisturbed", lab.script("serve.py", modes=ALL)).finish()
    run = Run(lab.pipeline, lab.data_dir, lab.script("dies.py", "serve.py", modes=ALL)).finish()
    models = outcome(run.events)
    assert said(run).count("dies here") == len(models) == 4, said(run)
    assert models == outcome(expected.events), (models, outcome(expected.events))
    assert_clean_audits(run.events)
    assert [e["mode"] for e in run.of("scoring_finished")] == ["score", "embed", "gradient"]
    measured = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc" and e["value"] is not None]
    assert measured and max(measured) > 0.9, run.of("evaluation")
    lab.remove()


def test_a_data_loader_goes_on_from_the_position_in_a_checkpoint():
    text = re.sub(r"evaluation: .*\n", "", OURS)
    lab = PythonLab(samples=400, every=200, epochs=2, pipeline=text)
    expected = Run(lab.pipeline, lab.folder / "undisturbed", lab.script("loader.py", modes="modes: [train]")).finish()
    run = Run(lab.pipeline, lab.data_dir, lab.script("dies.py", "loader.py", modes="modes: [train]")).finish()
    models = outcome(run.events)
    assert said(run).count("dies here") == len(models) == 2 and models == outcome(expected.events), said(run)
    lab.remove()


def test_dense_numbers_and_labels_of_vectors_need_no_more_words():
    lab = PythonLab(samples=1, every=100, epochs=1, pipeline=VECTORS)
    write_points(lab, 100)
    system = lab.script("serve_dense.py", modes=ALL)
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    assert_clean_audits(run.events)
    with served(lab, "--system", system):
        said_of = json.loads(lab.weir("predict", "--limit", "5", "--json"))["predictions"]
    assert [len(said["values"]) for said in said_of] == [2] * 5, said_of
    lab.remove()


def test_workers_of_a_data_loader_are_refused():
    lab = PythonLab(samples=1)
    program = ("import torch, weir.torch\n"
               "next(iter(torch.utils.data.DataLoader(weir.torch.Dataset(), batch_size=None, num_workers=1)))")
    paths = os.pathsep.join([str(lab.programs), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 1 and "weir.Unsupported" in done.stderr and "num_workers=0" in done.stderr, done.stderr
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

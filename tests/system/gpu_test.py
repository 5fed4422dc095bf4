"""weir.torch on a GPU: batches come as they lie in memory, and a model learns there what it learns on the CPU."""

import re
import subprocess
import sys

import weirlab
from python_test import OURS, VECTORS, PythonLab, said
from weirlab import Run, assert_clean_audits, run_tests

if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True).returncode != 0:
    print("gpu_test.py: skipped: no PyTorch that finds a GPU")
    sys.exit(weirlab.SKIPPED)

from torch_test import write_small_points  # noqa: E402

TRAINS = re.sub(r"evaluation: .*\n", "", OURS)
APART = 1e-3  # sums of a GPU are taken in another order


def test_batches_come_as_they_lie_in_memory():
    lab = PythonLab(samples=2000, every=2000, epochs=2, pipeline=TRAINS)
    run = Run(lab.pipeline, lab.data_dir, lab.script("copied.py", modes="modes: [train]")).finish()
    assert_clean_audits(run.events)
    assert re.search(r"\d+ samples as they lie in memory", said(run)), said(run)
    lab.remove()


def losses(lab, name, devices):
    system = lab.script("serve_dense.py", modes="modes: [train]")
    system.write_text(system.read_text().replace("env: {", f"env: {{CUDA_VISIBLE_DEVICES: '{devices}', "))
    run = Run(lab.pipeline, lab.folder / name, system).finish()
    assert_clean_audits(run.events)
    return [event["loss"] for event in run.of("training_finished")]


def test_a_model_learns_there_what_it_learns_on_the_cpu():
    lab = PythonLab(samples=1, every=300, epochs=3, pipeline=VECTORS)
    write_small_points(lab, 900)
    there, here = losses(lab, "there", "0"), losses(lab, "here", "")
    assert len(there) == len(here) == 3 and max(abs(a - b) for a, b in zip(there, here)) < APART, (there, here)
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

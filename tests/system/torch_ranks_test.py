"""weir.torch.serve() in several ranks (gloo): the loss of one process at the same global batch, and kills that change nothing."""

import random
import re
import subprocess
import sys

import weirlab
from python_test import OURS, PythonLab, said
from ranks_test import stormy_run
from weirlab import Run, assert_clean_audits, outcome, run_tests

if subprocess.run([sys.executable, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                  capture_output=True).returncode != 0:
    print("torch_ranks_test.py: skipped: no PyTorch with gloo (apt-get install python3-torch)")
    sys.exit(weirlab.SKIPPED)

SYSTEM = "modes: [train, evaluate], ranks: 4"
TOLERANCE = 1e-5


# Of the 481 or 482 samples that are selected the last batch holds one or two: the slices of other ranks are empty.
def lab_of(ranks, **options):
    text = OURS.replace("program: loop,", f"program: loop, ranks: {ranks},").replace("samples: 8,", "samples: 15,")
    return PythonLab(**{"samples": 602, "every": 602, "epochs": 5, "pipeline": text, **options})


def curve(run):
    """The mean loss of each epoch, as rank 0 has it."""
    found = re.findall(r"epoch (\d+): (\d+\.\d+) of (\d+)", said(run))
    return {int(epoch): (float(loss), int(samples)) for epoch, loss, samples in found}


def test_two_ranks_have_the_loss_of_one_at_the_same_global_batch():
    curves = {}
    for ranks in (1, 2, 4):
        lab = lab_of(ranks)
        run = Run(lab.pipeline, lab.data_dir, lab.script("serve_ranks.py", modes=SYSTEM)).finish()
        assert_clean_audits(run.events)
        curves[ranks] = curve(run)
        lab.remove()
    assert len(curves[1]) == 5 and curves[1][4][0] < curves[1][0][0], curves
    for ranks in (2, 4):
        worst = max(abs(curves[ranks][epoch][0] - loss) for epoch, (loss, _) in curves[1].items())
        assert curves[ranks].keys() == curves[1].keys() and worst <= TOLERANCE, (ranks, worst, curves)
        assert all(curves[ranks][epoch][1] == samples for epoch, (_, samples) in curves[1].items()), curves
        print(f"{ranks} ranks against 1: the losses of {len(curves[1])} epochs differ by at most {worst:.1e}", flush=True)


def test_kills_of_ranks_change_nothing(seed=1, kills=4):
    lab = lab_of(3, epochs=15)
    system = lab.script("serve_ranks.py", modes=SYSTEM)
    expected = outcome(Run(lab.pipeline, lab.folder / "undisturbed", system).finish().events)
    draw, hits, rounds = random.Random(seed), [], 0
    while len(hits) < kills:
        rounds += 1
        struck, events = stormy_run(lab, system, lab.folder / f"storm-{rounds}", ["0", "1", "2"], draw, kills - len(hits), 3)
        assert outcome(events) == expected, f"seed {seed}, kills {struck}: {outcome(events)}\nexpected {expected}"
        assert_clean_audits(events)
        hits += struck
    print(f"seed {seed}: {len(hits)} kills in {rounds} runs ({', '.join(hits)}): same model", flush=True)
    lab.remove()


if __name__ == "__main__":
    run_tests(globals(), wanted=("test_kills_of_ranks_change_nothing", "test_two_ranks_have_the_loss_of_one_at_the_same_global_batch"))

"""Seconds from `submit` to the first batch where a pool of no workers has to be started by Slurm, less what Slurm itself takes to
start a job: 1 s at most. A Slurm of three nodes on this machine (tests/system/slurmlab.py), the two in turns.

usage: WEIR_BIN_DIR=build/bin python3 benchmarks/cluster/slurm_start.py [TURNS]
"""

import datetime
import json
import statistics
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[:0] = [str(TESTS / "system"), str(TESTS / "support")]

import slurmlab  # noqa: E402
from weirlab import Lab, await_that, served  # noqa: E402

SAMPLES = 1200
BAR_S = 1
SYSTEM = "workers: {min: 0, max: 2}\nlauncher: {workers: slurm, trainers: local}\nslurm: {memory: 200MiB}\n"


def slurms_own_start(cluster, folder):
    """Seconds until the first line of a job runs that asks for nothing."""
    began = folder / "began"
    asked_s = time.time()
    cluster.run("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", f"--wrap=date +%s.%N > {began}")
    await_that(lambda: began.exists() and began.read_text().strip(), pause_s=0.02)
    return float(began.read_text()) - asked_s


def first_batch(lab):
    """Seconds from the order until a trainer has a batch."""
    asked_s = time.time()
    lab.weir("submit", str(lab.pipeline))
    lab.weir("watch", "lab", "--json")
    came = json.loads(lab.weir("report", "lab", "--json"))["triggers"][0]["timeline"]["first_batch"]
    return datetime.datetime.fromisoformat(came.replace("Z", "+00:00")).timestamp() - asked_s


def turn(cluster):
    lab = Lab(samples=SAMPLES, every=SAMPLES, epochs=1)
    system = lab.folder / "system.yaml"
    system.write_text(SYSTEM)
    with served(lab, "--system", str(system)):
        own_s, whole_s = slurms_own_start(cluster, lab.folder), first_batch(lab)
    lab.remove()
    print(f"first batch after {whole_s:.2f} s, of which Slurm's own start {own_s:.2f} s", flush=True)
    return whole_s - own_s


def main():
    slurmlab.skip_without()
    with slurmlab.slurm() as cluster:
        beyond_s = [turn(cluster) for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)]
    middle_s = statistics.median(beyond_s)
    print(f"cluster.slurm_start: {middle_s:.2f} s beyond Slurm's own start ({min(beyond_s):.2f} to {max(beyond_s):.2f}), "
          f"at most {BAR_S} s: {'met' if middle_s <= BAR_S else 'missed'}")


if __name__ == "__main__":
    main()

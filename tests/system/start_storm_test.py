"""kill -9 while Weir starts: of Postgres, its backends, services, the orchestrator, at random points of a first start, of
an upgrade and of the start of a store that is there. Every start ends in an answer; sets and models are those of a run that
nobody disturbed.

Usage: start_storm_test.py [SEED] [STORMS]
"""

import random
import shutil
import subprocess
import sys
import threading

from weirlab import Lab, assert_clean_audits, kill, make_clusters, outcome, served

VICTIMS = ["postgres", "postgres", "postgres", "initdb", "storage", "selector", "dispatcher", "orchestrator"]
KILLS = 3  # of one start
# What the newest Weir added to a store of the one before it.
UPGRADES = """
    DROP TABLE orchestrator.receipt_key; DELETE FROM orchestrator.migration WHERE number = 55;
    DROP TABLE storage.secret_check; DELETE FROM storage.migration WHERE number = 65;
"""


def pause(seconds):
    threading.Event().wait(seconds)  # where in the start the next kill falls: random, and no condition to wait for


def struck(run, data_dir, draw):
    """After a moment kills somebody who is there. Its name; None when the run ended before."""
    while run.process.poll() is None:
        pause(draw.uniform(0, 0.3))
        victim = draw.choice(VICTIMS)
        if run.process.poll() is None and kill(data_dir, victim):
            return victim
    return None


def storm(lab, data_dir, draw, starts):
    """Runs to the end; the first `starts` starts are disturbed, each by some kills. Returns what was killed, and all events."""
    killed, events = [], []
    while True:
        run = lab.run(data_dir)
        for _ in range(KILLS if starts > 0 else 0):
            killed.append(struck(run, data_dir, draw))
        starts -= 1
        run.finish(expect=None)
        events += run.events
        if run.process.returncode == 0:
            return [victim for victim in killed if victim], events
        assert run.process.returncode == -9, f"killed {killed}, exit {run.process.returncode}: {''.join(run.stderr)}"


def main():
    make_clusters()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    storms = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    draw = random.Random(seed)
    lab = Lab(samples=400, every=200, epochs=1)
    expected = outcome(lab.run(lab.folder / "undisturbed").finish().events)
    total = 0
    for number in range(storms):
        data_dir = lab.folder / f"first-{number}"
        killed, events = storm(lab, data_dir, draw, starts=2)
        assert outcome(events) == expected, f"seed {seed}, first start {number}, killed {killed}: {outcome(events)}"
        assert_clean_audits(events)
        killed_again, events = storm(lab, data_dir, draw, starts=1)
        assert outcome(events) == expected, f"seed {seed}, store {number}, killed {killed_again}: {outcome(events)}"
        upgraded = upgrade(lab, data_dir, draw, seed, number, expected)
        shutil.rmtree(data_dir)
        total += len(killed) + len(killed_again) + len(upgraded)
        print(f"storm {number}: first start {killed}; start {killed_again}; upgrade {upgraded}", flush=True)
    assert total > 0, "nobody was ever found alive"
    print(f"seed {seed}: {total} kills while starting: same sets and models")
    lab.remove()


def upgrade(lab, data_dir, draw, seed, number, expected):
    lab.data_dir = data_dir
    with served(lab, "--hold"):
        subprocess.run(["psql", "-h", data_dir / "run/db", "-U", "weir", "-q", "-v", "ON_ERROR_STOP=1", "weir"], input=UPGRADES,
                       text=True, check=True)
    killed, events = storm(lab, data_dir, draw, starts=2)
    assert outcome(events) == expected, f"seed {seed}, upgrade {number}, killed {killed}: {outcome(events)}"
    return killed


main()

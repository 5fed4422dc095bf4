"""kill -9 of the trainer under each promise of batch.delivery: the run completes, and the audit says what was kept."""

import random
import threading

from weirlab import Lab, outcome

KILLS = 5
HOLES = ("filtered", "failed", "erased", "gone")
MAY_BE = {"exactly_once": (), "at_least_once": ("duplicated",), "at_most_once": ("lost",)}


def pause(seconds):
    threading.Event().wait(seconds)  # where in the training the next kill falls: random, and no condition to wait for


def killed_run(lab, data_dir, draw):
    """Runs to the end; the trainer is killed up to KILLS times, each time some way behind a checkpoint."""
    run, kills, seen = lab.run(data_dir), 0, None
    while kills < KILLS and run.process.poll() is None:
        pause(draw.uniform(0.02, 0.2))
        if run.checkpoint() != seen and run.kill("trainer"):
            kills, seen = kills + 1, run.checkpoint()
    return kills, run.finish()


def check(mode, audit):
    assert audit["delivery"] == mode, audit
    for count in ("lost", "duplicated"):
        assert audit[count] == 0 or count in MAY_BE[mode], audit
    accounted = audit["delivered"] + sum(audit[hole] for hole in HOLES) + audit["lost"]
    assert accounted == audit["set"], audit
    assert audit["replayed"] == 0 or mode == "exactly_once", audit


def sets_alone(found):
    return {n: {k: v for k, v in of.items() if k != "checksum"} for n, of in found.items()}


def main():
    lab = Lab(samples=3000, every=1000, epochs=40)
    text = lab.pipeline.read_text()
    undisturbed = lab.run(lab.folder / "undisturbed").finish()
    for mode in MAY_BE:
        lab.pipeline.write_text(text.replace("delivery: exactly_once", f"delivery: {mode}"))
        kills = 0
        while kills == 0:  # all trainings may fit between two kills
            kills, run = killed_run(lab, lab.folder / f"{mode}-{random.random()}", random.Random(mode))
        audits = [event["audit"] for event in run.of("training_finished")]
        assert len(audits) == len(undisturbed.of("training_finished"))
        for audit in audits:
            check(mode, audit)
        assert sets_alone(outcome(run.events)) == sets_alone(outcome(undisturbed.events))
        if mode == "exactly_once":
            assert outcome(run.events) == outcome(undisturbed.events), "the same models, to the byte"
        totals = {count: sum(audit[count] for audit in audits) for count in ("lost", "duplicated", "replayed")}
        print(f"{mode}: {kills} kills, {totals}", flush=True)
    lab.remove()


main()

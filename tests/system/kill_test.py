"""kill -9 of any one process, ten times in one run each: the same sets, batches and models, nothing lost or doubled."""

import random
import sys
import threading

from weirlab import PIPELINE, Lab, assert_clean_audits, outcome

KILLS = 10
RETRIES = 20  # of a training, by default: one that dies more often fails, and with it the pipeline
DIGESTED = PIPELINE.replace("epochs: {epochs},", "epochs: {epochs}, digests: true,")
VICTIMS = ["worker-1", "dispatcher", "selector", "storage", "trainer", "postgres", "orchestrator"]


def pause(seconds):
    threading.Event().wait(seconds)  # where in the run the next kill falls: random, and no condition to wait for


def killed_trainers(lab, data_dir, draw, kills, pause_s):
    """Runs to the end; trainers die at work, each some way behind a checkpoint of its own."""
    done, run, behind = 0, lab.run(data_dir), None
    while run.process.poll() is None:
        pause(draw.uniform(0.1, 1) * pause_s)
        if done < kills and run.checkpoint() != behind and run.kill("trainer"):
            done, behind = done + 1, run.checkpoint()
    return done, run.finish().events


def killed_run(lab, data_dir, victim, draw, kills):
    """Runs to the end, killing `victim` at random moments; the orchestrator is started again by us."""
    done, events = 0, []
    while True:
        run, seen = lab.run(data_dir), 0
        while done < kills and run.wait_for(seen + draw.randint(1, 4)):
            seen = len(run.events)
            pause(draw.uniform(0, 0.2))
            if victim == "orchestrator":
                run.process.kill()
                done += 1
                break
            done += run.kill(victim)
        run.finish(expect=None if victim == "orchestrator" else 0)
        events += run.events
        if run.process.returncode == 0:
            return done, events


def main():
    victims = sys.argv[1].split(",") if len(sys.argv) > 1 else VICTIMS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else KILLS
    # where a trainer dies matters in the middle of a training: those are longer, and fewer
    lengths = {"every": 1000, "epochs": 40} if victims == ["trainer"] else {"every": 250, "epochs": 4}
    lab = Lab(samples=3000, pipeline=DIGESTED, **lengths)
    undisturbed = lab.run(lab.folder / "undisturbed").finish()
    expected = outcome(undisturbed.events)
    assert all("batches" in of for of in expected.values()), expected
    for victim in victims:
        draw = random.Random(f"{seed} {victim}")
        done = runs = 0
        while done < kills:
            runs += 1
            data_dir = lab.folder / f"{victim}-{runs}"
            if victim == "trainer":
                hit, events = killed_trainers(lab, data_dir, draw, min(kills - done, RETRIES), undisturbed.pause_s())
            else:
                hit, events = killed_run(lab, data_dir, victim, draw, kills - done)
            assert hit, f"{victim}: never found alive"
            done += hit
            assert outcome(events) == expected, f"{victim}, seed {seed}: {outcome(events)}\nexpected {expected}"
            assert_clean_audits(events)
        print(f"{victim}: {done} kills in {runs} runs, {len(expected)} triggers each: same sets, batches and models, audit 0/0",
              flush=True)
    lab.remove()


main()

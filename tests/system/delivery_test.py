"""kill -9 of the trainer under each promise of batch.delivery: the run completes, and the audit says what was kept."""

import json
import random
import threading

from weirlab import Lab, outcome

KILLS = 5
HOLES = ("filtered", "failed", "erased", "gone")
MAY_BE = {"exactly_once": (), "at_least_once": ("duplicated",), "at_most_once": ("lost",)}


def pause(seconds):
    threading.Event().wait(seconds)  # where in the training the next kill falls: random, and no condition to wait for


def killed_run(lab, data_dir, draw, pause_s):
    """Runs to the end; the trainer is killed up to KILLS times, each time some way behind a checkpoint."""
    run, kills, seen = lab.run(data_dir), 0, None
    while kills < KILLS and run.process.poll() is None:
        pause(draw.uniform(0.1, 1) * pause_s)
        if run.checkpoint() != seen and run.kill("trainer"):
            kills, seen = kills + 1, run.checkpoint()
    return kills, run.finish()


def look_inside(lab, run):
    """What `weir workers` and `weir status` show of a training: every stage with its time and bytes, and what it waits for."""
    def seen():
        pool = json.loads(lab.weir("workers", "--json", data_dir=run.data_dir))
        (pipeline,) = json.loads(lab.weir("status", "--json", data_dir=run.data_dir))["pipelines"]
        return pool, pipeline["progress"] or {}
    run.wait_until(lambda: run.of("selection_sealed"))
    pool, progress = seen()
    while not (pool["runs"] and pool["runs"][0]["stage"] and pool["runs"][0]["operators"] and progress.get("stage")):
        assert run.process.poll() is None, "it was over before anybody could look"
        pool, progress = seen()
    (training,), stages = pool["runs"], ("locate", "read", "operators", "transfer", "trainer")
    operators = training["operators"]
    assert [of["operator"] for of in operators] == ["json_text", "normalize_text", "tokenize_words", "tokenize_hash"], operators
    assert training["bytes_read"] > 0 and training["read_seconds"] > 0 and training["stage"] in stages, training
    assert all(of["cpu_seconds"] > 0 and of["bytes_in"] > 0 and of["inflation"] > 0 for of in operators), operators
    for i, of in enumerate(operators):
        own = [worker["operators"][i] for worker in pool["workers"] if worker["operators"]]
        assert sum(one["bytes_out"] for one in own) == of["bytes_out"], (of, own)
    assert all(before["bytes_out"] == of["bytes_in"] for before, of in zip(operators, operators[1:])), operators
    assert 0 <= progress["stall_fraction"] <= 1 and progress["stage"] in stages, progress
    shown = lab.weir("workers", data_dir=run.data_dir)
    print(shown[shown.index("run "):], flush=True)
    run.process.terminate()
    run.finish(expect=None)


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
    lab = Lab(samples=3000, every=1000, epochs=15)
    text = lab.pipeline.read_text()
    undisturbed = lab.run(lab.folder / "undisturbed").finish()
    lab.pipeline.write_text(text.replace("epochs: 15", "epochs: 40000"))
    look_inside(lab, lab.run(lab.folder / "watched"))
    for mode in MAY_BE:
        lab.pipeline.write_text(text.replace("delivery: exactly_once", f"delivery: {mode}"))
        kills = 0
        while kills == 0:  # all trainings may fit between two kills
            kills, run = killed_run(lab, lab.folder / f"{mode}-{random.random()}", random.Random(mode), undisturbed.pause_s())
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

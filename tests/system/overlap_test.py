"""One trigger ahead: while a trigger trains, the next one fires and is chosen for, where nothing of it depends on the model; what comes
of it is what comes without, whoever dies."""

import contextlib
import functools
import json
import os
import re
import subprocess
import sys

from weirlab import PIPELINE, Lab, assert_clean_audits, await_dataset, outcome, push, run_tests, served, stop, stopped, victims, with_trainer

ALONE = "budget: {{cpu_seconds: 1000000}}\n"  # a budget waits for what each training costs: nothing is ahead
LONG = re.sub(r"evaluation: .*\n", "", PIPELINE)
SIZES = {"samples": 1500, "every": 300, "epochs": 8}
SCORED = LONG.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}",
                      "{{policy: coreset, seed: 7, limit: 100, score: [{{method: loss}}]}}")
LIVE = LONG.replace("mode: replay", "mode: live").replace(
    'path: {data}, format: jsonl, include: "*.jsonl", import: copy', "push: true, format: jsonl")
HELD = """\
#!/bin/sh
case "$*" in *--run*)
    while [ ! -e {folder}/go ]; do sleep 0.02; done
    [ ! -e {folder}/fails ] || exit 1 ;;
esac
exec {real} "$@"
"""


def order(events):
    """The triggers that fired before the training of the one before was over."""
    trained, ahead = set(), []
    for event in events:
        if event["event"] == "training_finished":
            trained.add(event["trigger"])
        if event["event"] == "trigger_fired" and event["trigger"] > 1 and event["trigger"] - 1 not in trained:
            ahead.append(event["trigger"])
    return ahead


@functools.cache
def replayed(pipeline, faults=""):
    lab = Lab(pipeline=pipeline, **SIZES)
    run, deaths = lab.run_through_deaths(faults)
    lab.remove()
    return outcome(run.events), order(run.events), deaths, run.events


def test_triggers_sets_and_models_are_those_without():
    alone, none_ahead, _, _ = replayed(LONG + ALONE)
    ahead, some_ahead, _, events = replayed(LONG)
    assert ahead == alone and len(alone) == 5, (ahead, alone)
    assert not none_ahead and some_ahead, (none_ahead, some_ahead)
    timelines = [e["timeline"] for e in events if "timeline" in e]
    assert any(t["hidden_seconds"] > 0 for t in timelines) and timelines[0]["hidden_seconds"] == 0, timelines


def test_a_platform_that_dies_ahead_goes_on():
    expected = replayed(LONG)[0]
    for faults in ("pipeline.aheaded=!1", "pipeline.aheaded=!2", "pipeline.ahead=!2"):
        found, _, deaths, _ = replayed(LONG, faults)
        assert found == expected and deaths > 0, (faults, deaths, found, expected)
    found, ahead, _, _ = replayed(LONG, "pipeline.ahead=1,pipeline.ahead=2,pipeline.ahead=3,pipeline.ahead=4")
    assert found == expected, (found, expected)


def test_a_choice_that_a_model_has_a_say_in_waits_for_it():
    alone, _, _, _ = replayed(SCORED + ALONE)
    ahead, some_ahead, _, events = replayed(SCORED)
    assert ahead == alone and some_ahead, (ahead, alone, some_ahead)
    assert [e["scored_by"] for e in events if e["event"] == "selection_sealed" and "scored_by" in e] == [f"lab-{i}" for i in range(1, 5)]


def pushed(pipeline):
    lab = Lab(pipeline=pipeline, **SIZES)
    run = lab.run()
    await_dataset(run, lab, "notes")
    for part in range(5):
        lines = [json.dumps(record) + "\n" for record in lab.records[part * 300:(part + 1) * 300]]
        push(lab, "".join(lines), "notes", "--client", f"part{part}")
    assert run.wait_until(lambda: len(run.of("model_stored")) == 5), run.events
    assert_clean_audits(run.events)
    stop(run)
    lab.remove()
    return outcome(run.events), order(run.events)


def test_a_live_pipeline_is_ahead_as_well():
    alone, none_ahead = pushed(LIVE + ALONE)
    ahead, some_ahead = pushed(LIVE)
    assert ahead == alone and not none_ahead and some_ahead, (ahead, alone, none_ahead, some_ahead)


@contextlib.contextmanager
def held(pipeline=LONG):
    """A lab whose trainers begin when there is a file `go` in this folder, and fail while there is one called `fails`."""
    lab, real = Lab(pipeline=pipeline, **SIZES), os.environ["WEIR_BIN_DIR"]
    yield lab, with_trainer(lab, HELD)
    os.environ["WEIR_BIN_DIR"] = real
    lab.remove()


def disturbed(order_it, see):
    """A replay that is disturbed once the second trigger has fired while the first one trains; its training is not over before
    the order has come."""
    with held() as (lab, folder), served(lab):
        lab.weir("submit", str(lab.pipeline))
        watcher = lab.begin("watch", "lab", "--json", stdout=subprocess.PIPE)
        next(line for line in watcher.stdout if (json.loads(line)["event"], json.loads(line).get("trigger")) == ("trigger_fired", 2))
        with stopped(victims(lab.data_dir, "worker")):
            (folder / "go").touch()
            order_it(lab)
        see(lab)
        watcher.kill()
        watcher.wait()
        lab.weir("watch", "lab")
        told = [json.loads(line) for line in lab.weir("logs", "lab", "--json").splitlines()]
        lab.weir("doctor")
        assert order(told)[0] == 2, told
        assert_clean_audits(told)
        return outcome(told)


def see_it_paused(lab):
    lab.weir("pause", "lab", "--wait")
    (stands,) = json.loads(lab.weir("list", "--json"))["pipelines"]
    assert stands["state"] == "PAUSED", stands
    lab.weir("resume", "lab")


def test_a_pause_and_a_stop_change_nothing():
    expected = replayed(LONG)[0]
    assert disturbed(lambda lab: lab.weir("pause", "lab"), see_it_paused) == expected
    assert disturbed(lambda lab: lab.weir("stop", "lab"), lambda lab: lab.weir("resume", "lab")) == expected


def test_a_training_that_fails_with_one_ahead_is_tried_again():
    expected = replayed(LONG)[0]
    with held(LONG.replace("training: {{", "training: {{retries: 0, ")) as (lab, folder):
        (folder / "fails").touch()
        run = lab.run()
        assert run.wait_until(lambda: len(run.of("trigger_fired")) == 2), run.events
        (folder / "go").touch()
        run.finish(expect=1)
        assert order(run.events) == [2] and not run.of("training_finished"), run.events
        (folder / "fails").unlink()
        run = lab.run().finish()
        assert_clean_audits(run.events)
        assert outcome(run.events) == expected, (outcome(run.events), expected)


def see_it_erased(lab):
    done = json.loads(lab.weir("erase", "status", "1", "--wait", "--json"))
    assert done["state"] == "FINISHED" and done["models_replaced"], done


def test_an_erasure_goes_on_with_the_trigger_that_is_ahead():
    made = disturbed(lambda lab: lab.weir("erase", "request", "--subject", "person3@example.org"), see_it_erased)  # what is left of the last 300 makes no trigger
    assert len(made) == 4 and all("checksum" in model for model in made.values()), made


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])

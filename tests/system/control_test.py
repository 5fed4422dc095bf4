"""Pipelines on a platform that is kept up: taken in, watched, told what to do, through the death of the platform."""

import json
import os
import subprocess

from weirlab import (DEADLINE_S, Lab, assert_clean_audits, binaries, child, everyone_may_write, outcome, serve,
                     served, stopped, victims)


def answer(lab, *words, expect=0):
    return json.loads(lab.weir(*words, "--json", expect=expect))


def watching(lab, *words):
    return lab.begin(*words, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def watched(watcher, expect=0):
    """The events that it shows until it ends."""
    out, complaints = watcher.stdout.read(), watcher.stderr.read()
    assert watcher.wait(DEADLINE_S) == expect, (watcher.returncode, out, complaints)
    return [json.loads(line) for line in out.splitlines()]


def test_a_watcher_is_told_everything_once_though_the_platform_dies(lab, expected):
    server = serve(lab)
    with stopped(victims(lab.data_dir, "worker")):  # nothing is trained before the platform dies
        taken = answer(lab, "submit", str(lab.pipeline))
        assert taken["pipeline"] == "lab" and not taken["known"], taken
        watcher = watching(lab, "watch", "lab")
        first = watcher.stdout.readline()
        assert json.loads(first)["event"] == "dataset_scanned", first
        server.kill()
        server.communicate(timeout=DEADLINE_S)
    assert "nobody serves" in watcher.stderr.readline()
    with served(lab):
        told = [json.loads(first), *watched(watcher)]
        served_test_the_same_file_again_changes_nothing_and_another_is_refused(lab)
    assert told[-1]["event"] == "pipeline_finished" and outcome(told) == expected, told
    assert_clean_audits(told)
    assert len({json.dumps(event, sort_keys=True) for event in told}) == len(told), "something was told twice"
    assert [json.loads(line) for line in lab.weir("logs", "lab", "--json").splitlines()] == told


def socket_of(lab):
    """As the lock of the data directory has it."""
    folder = next(line for line in (lab.data_dir / "lock").read_text().splitlines() if line.startswith("/"))
    return f"ipc://{folder}/orchestrator.sock"


def by_endpoint(endpoint, *words):
    """The exit code, and the answer or the complaint, in a place that knows no platform."""
    done = child.run([binaries() / "weir", "--endpoint", endpoint, *words, "--json"], capture_output=True, text=True,
                     cwd="/", timeout=DEADLINE_S)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


def served_test_the_same_file_again_changes_nothing_and_another_is_refused(lab):
    again = answer(lab, "submit", str(lab.pipeline))
    assert again["known"] and not again["held"] and again["state"] == "FINISHED", again
    assert [p["pipeline"] for p in answer(lab, "list")["pipelines"]] == ["lab"]
    assert by_endpoint(socket_of(lab), "list")[1] == answer(lab, "list")
    code, complaint = by_endpoint("tcp://192.0.2.1:9", "list")
    assert code != 0 and "--endpoint tcp://192.0.2.1:9" in complaint, complaint
    other = lab.folder / "other.yaml"
    other.write_text(lab.pipeline.read_text().replace("epochs: 1", "epochs: 2"))
    done = lab.ask("submit", str(other))
    assert done.returncode == 2 and "other.yaml:17:" in done.stderr and "lab" in done.stderr, done
    other.write_text("pipeline: {name: x}\ntriger: {}\n")
    done = lab.ask("submit", str(other))
    assert done.returncode == 2 and "other.yaml:2:1" in done.stderr and "trigger" in done.stderr, done
    for words in (["list"], ["submit", str(lab.pipeline)], ["logs", "lab"], ["watch", "lab"]):
        page = lab.weir(*words)
        assert "lab" in page and "(null)" not in page, (words, page)


def test_a_dry_run_tells_the_triggers_that_come(lab, events):
    """In a place of its own, before anything has run."""
    aside = lab.folder / "aside"
    aside.mkdir()
    everyone_may_write(aside)
    done = child.run([binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.folder / "untouched",
                      "--dry-run", "--json"], capture_output=True, text=True, timeout=DEADLINE_S,
                     env={**os.environ, "TMPDIR": str(aside)})
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    keys = ("trigger", "reason", "samples_new", "until")
    fired = [{k: e[k] for k in keys} for e in events if e["event"] == "trigger_fired"]
    sealed = [e["samples"] for e in events if e["event"] == "selection_sealed"]
    assert [{k: t[k] for k in keys} for t in said["triggers"]] == fired and fired, said
    assert [t["selected_at_most"] for t in said["triggers"]] == sealed, (said, sealed)
    assert said["exact"] and said["cost"] is None and said["samples"] == len(lab.records), said
    assert not (lab.folder / "untouched").exists() and not list(aside.iterdir())


def served_test_a_dry_run_knows_what_trainings_cost(lab):
    unknown = lab.folder / "unknown.yaml"
    unknown.write_text(lab.pipeline.read_text().replace("name: notes", "name: letters"))
    done = lab.ask("submit", str(unknown), "--dry-run")
    assert done.returncode == 1 and "letters" in done.stderr and "orchestrator run --dry-run" in done.stderr, done
    other = lab.folder / "otherwise.yaml"
    other.write_text(lab.pipeline.read_text().replace("name: lab,", "name: otherwise,").replace(
        "{policy: amount, samples: 200}",
        "{policy: ensemble, any: [{policy: time, every: 30d}, {policy: performance, metric: accuracy, samples: 100, "
        "criteria: [{policy: threshold, value: 0.5}]}]}"))
    said = answer(lab, "submit", str(other), "--dry-run")
    assert len(said["triggers"]) == said["fired"] == 3 and not said["exact"] and said["checks"] > 0, said
    assert said["cost"]["cpu_seconds"] > 0 and said["cost"]["basis"] == "earlier trainings of other pipelines", said
    assert said["left_over"] + sum(t["samples_new"] for t in said["triggers"]) == said["samples"], said
    assert "at least 3 triggers" in lab.weir("submit", str(other), "--dry-run")
    assert [p["pipeline"] for p in answer(lab, "list")["pipelines"]] == ["lab"]


def started(events):
    """Reads what a watcher shows up to the first set."""
    for line in events.stdout:
        if json.loads(line)["event"] == "selection_sealed":
            return
    raise AssertionError("no set was sealed")


def ordered(lab, *words):
    """The state that follows; FINISHED as well when the pipeline was quicker than the order."""
    done = lab.ask(*words, "--json")
    if done.returncode == 1 and "is FINISHED" in done.stderr:
        return {"state": "FINISHED", "wish": ""}
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def served_test_a_pause_and_a_stop_change_no_model(lab, expected):
    lab.weir("submit", str(lab.pipeline))
    watcher = watching(lab, "watch", "lab")
    started(watcher)
    paused = ordered(lab, "pause", "lab", "--wait")
    assert paused["state"] in ("PAUSED", "FINISHED") and paused["wish"] == "", paused
    assert "PAUSED" not in paused["state"] or answer(lab, "list")["pipelines"][0]["state"] == "PAUSED"
    if paused["state"] == "PAUSED":
        assert answer(lab, "resume", "lab")["state"] == "DECLARING"
        stopped = ordered(lab, "stop", "lab")
        assert stopped["state"] in ("STOPPED", "FINISHED") and ordered(lab, "stop", "lab")["state"] == stopped["state"], stopped
        ordered(lab, "resume", "lab")
    watched(watcher)  # ends with the stop
    told = watched(watching(lab, "watch", "lab"))
    assert told[-1]["event"] == "pipeline_finished" and outcome(told) == expected, told
    assert_clean_audits(told)
    for words in (["pause", "lab"], ["stop", "lab"], ["resume", "lab"]):
        done = lab.ask(*words)
        assert done.returncode == 1 and "FINISHED" in done.stderr, done


def served_test_a_rerun_makes_the_same_models_under_names_of_its_own(lab, expected):
    again = answer(lab, "rerun", "lab")
    assert again["removed"]["again"] and again["removed"]["sets"] > 0, again
    assert not again["removed"]["models_dropped"] and len(again["removed"]["models_kept"]) == len(expected), again
    told = watched(watching(lab, "watch", "lab"))
    assert {e["model"] for e in told if e["event"] == "model_stored"} == {f"lab.2-{n}" for n in expected}, told
    assert outcome(told) == expected, told


def served_test_a_removal_leaves_lineage_and_frees_the_name(lab, expected):
    sample = str(answer(lab, "predict", "--limit", "1")["predictions"][0]["id"])
    removed = answer(lab, "remove", "lab")
    assert removed["state"] == "REMOVED" and len(removed["removed"]["models_dropped"]) == 2 * len(expected), removed
    assert not list((lab.data_dir / "models").glob("*.weirmodel")) and not answer(lab, "sets")["sets"]
    assert not answer(lab, "list")["pipelines"]
    feed = answer(lab, "feed", "list", "notes")
    assert not any("lab" in c["consumer"] for c in feed["consumers"]), feed
    seen = answer(lab, "models", "lineage", "--id", sample)["models"]
    assert seen and not any(m["live"] for m in seen), seen
    assert "nothing is wrong" in lab.weir("doctor")
    for words in (["watch", "lab"], ["remove", "lab"], ["pause", "lab"]):
        assert lab.ask(*words).returncode == 1, words
    lab.pipeline.write_text(lab.pipeline.read_text() + "# another file\n")
    assert not answer(lab, "submit", str(lab.pipeline))["known"]
    assert "lab.3-1" in {e.get("model") for e in watched(watching(lab, "watch", "lab"))}
    for words in (["stop", "lab"], ["rerun", "lab"], ["pause", "lab"], ["remove", "lab"]):
        page = lab.ask(*words).stdout
        assert "(null)" not in page, (words, page)


def test_pipelines_share_trainers_and_none_starves(lab, expected):
    """Six at once through two trainers, one of them with one at most."""
    system = lab.folder / "system.yaml"
    system.write_text("trainers: 2\nquotas: {many-0: {share: 2}, many-1: {trainers: 1}}\n")
    assert answer(lab, "config", "check", str(system), "--system")["valid"]
    lab.data_dir = lab.folder / "shared"
    with served(lab, "--system", str(system)):
        for number in range(6):
            file = lab.folder / f"many-{number}.yaml"
            file.write_text(lab.pipeline.read_text().replace("name: lab,", f"name: many-{number},"))
            lab.weir("submit", str(file))
        for number in range(6):
            told = watched(watching(lab, "watch", f"many-{number}"))
            assert told[-1]["event"] == "pipeline_finished", told
            assert outcome(told).keys() == expected.keys(), told
            assert_clean_audits(told)
        trainers = answer(lab, "status")["trainers"]
        assert trainers["slots"] == 2 and trainers["waiting"] == 0, trainers
    system.write_text("trainers: 2\nquotas: {many: {shares: 2}}\n")
    done = lab.ask("config", "check", str(system), "--system")
    assert done.returncode == 2 and "system.yaml:2:17: quotas.many.shares" in done.stderr, done


def main():
    lab = Lab(samples=600, every=200, epochs=1)
    events = lab.run(lab.folder / "undisturbed").finish().events
    expected = outcome(events)
    test_a_dry_run_tells_the_triggers_that_come(lab, events)
    test_a_watcher_is_told_everything_once_though_the_platform_dies(lab, expected)
    lab.data_dir = lab.folder / "ordered"
    with served(lab):
        served_test_a_pause_and_a_stop_change_no_model(lab, expected)
        served_test_a_dry_run_knows_what_trainings_cost(lab)
        served_test_a_rerun_makes_the_same_models_under_names_of_its_own(lab, expected)
        served_test_a_removal_leaves_lineage_and_frees_the_name(lab, expected)
    lab.pipeline.write_text(lab.pipeline.read_text().replace("# another file\n", ""))
    test_pipelines_share_trainers_and_none_starves(lab, expected)
    lab.remove()


main()

"""Triggers that measure: a stream changes half-way, and drift of labels, features and embeddings and the performance of
the newest model notice it; each decision says why; and a run that dies at its edges decides, selects and trains the same."""

import json
import os
import subprocess
import sys

from weirlab import DEADLINE_S, Lab, Stream, assert_clean_audits, binaries, outcome, query, served

SAMPLES = 700
CHANGE = SAMPLES // 2
CHECK = 100
WINDOWS = f"samples: {CHECK}, reference: 2w, current: {CHECK}"
TRIGGERS = {
    "inputs": f"{{policy: ensemble, all: [{{policy: drift, on: labels, {WINDOWS},"
              " statistics: [{name: psi, criterion: {policy: threshold, value: 0.4}}]},"
              f" {{policy: drift, on: features, {WINDOWS},"
              " statistics: [{name: mmd, criterion: {policy: threshold, value: 0.01}}]}]}",
    "model": f"{{policy: ensemble, any: [{{policy: performance, samples: {CHECK},"
             " criteria: [{policy: threshold, value: 0.6}]},"
             f" {{policy: drift, on: embeddings, {WINDOWS},"
             " statistics: [{name: mmd, criterion: {policy: threshold, value: 0.008}}]}]}",
}


class ChangingStream(Stream):
    """Half-way the classes use other words, and one of them becomes rare."""

    def record(self, index):
        if index == CHANGE:
            self.WORDS = {"work": "server release patch review deploy cluster".split(),
                          "spam": "draft budget agenda minutes office report".split()}
        record = super().record(index)
        if index >= CHANGE and record["label"] == "work" and self.random.random() < 0.8:
            return self.record(index)
        return record


def drifting_lab(trigger):
    lab = Lab(samples=10, every=300, epochs=4)
    ChangingStream(SAMPLES).write_jsonl(lab.folder / "stream")
    lab.pipeline.write_text(lab.pipeline.read_text().replace("{policy: amount, samples: 300}", trigger))
    return lab


def decisions(events):
    """Every check by its number: what was found, and which trigger it fired. Runs have other numbers and costs."""
    found = {}
    for event in events:
        decision = event if event["event"] == "trigger_considered" else event.get("decision")
        if decision is not None:
            kept = {k: v for k, v in decision.items() if k not in ("event", "pipeline", "run", "cost")}
            found[decision["check"]] = (kept, event.get("trigger"))
    return found


def assert_noticed(name, events):
    """The first check trains the first model; then nothing until the change, which the next checks find."""
    fired = [e for e in events if e["event"] == "trigger_fired"]
    taken, at = 0, []
    for event in fired:
        taken += event["samples_new"]
        at.append(taken)
    assert at[0] == CHECK, (name, at)
    assert len(at) >= 2 and CHANGE < at[1] <= CHANGE + 2 * CHECK, (name, at)
    if name == "inputs":  # both say of what: the class that has become rare, and the buckets of words
        assert "psi" in fired[1]["reason"] and "; farthest by share: work " in fired[1]["reason"], fired[1]
        assert "mmd" in fired[1]["reason"] and "; farthest by ks: tokens in bucket " in fired[1]["reason"], fired[1]
    for decision, trigger in decisions(events).values():
        assert decision["verdict"] or trigger is None, decision
        assert decision["because"] and decision["current"]["samples"] <= CHECK, decision
    print(f"{name}: checks {len(decisions(events))}, triggers behind samples {at}: {fired[1]['reason']}", flush=True)


def assert_shown(lab):
    """Status and report say why, to people and to programs."""
    status = json.loads(lab.weir("status", "--json"))["pipelines"][0]
    report = json.loads(lab.weir("report", "--json"))
    assert status["check"] == report["checks"][-1], status
    assert [f["trigger"] for f in status["fired"]] == [row["trigger"] for row in report["triggers"]], status
    for fired, row in zip(status["fired"], report["triggers"]):
        assert all(fired[k] == row[k] for k in ("reason", "samples_new", "until", "decision")), (fired, row)
        assert row["decision"]["because"] in row["reason"] and row["decision"]["verdict"], row
    assert status["check"]["because"] in lab.weir("status")
    assert report["triggers"][1]["decision"]["because"] in lab.weir("report")


def die_at(lab, data_dir, point, passes):
    """Runs with a fault that kills the orchestrator at the given pass of `point`; True when it came to that."""
    command = [binaries() / "orchestrator", "run", str(lab.pipeline), "--data-dir", str(data_dir), "--json"]
    environment = os.environ | {"WEIR_FAULTS": f"{point}=!{passes}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=DEADLINE_S)
    assert done.returncode in (0, -9), (done.returncode, done.stderr)
    return done.returncode == -9


def assert_survives(lab, expected, every, first):
    """Killed before and behind every so many edges, the orchestrator goes on: same checks, same triggers, same models. With
    2, that is every edge: one is committed, or nothing would ever move."""
    for point, passes in (("pipeline.edge", every), ("pipeline.edged", every - 1)):
        data_dir, deaths = lab.folder / point, 0
        while die_at(lab, data_dir, point, first if deaths == 0 else passes):
            deaths += 1
            assert deaths < 200, f"{point}: does not come to an end"
        events = lab.run(data_dir).finish().events
        assert outcome(events) == outcome(expected), f"{point}: {outcome(events)}\nexpected {outcome(expected)}"
        assert decisions(events) == decisions(expected), point
        assert_clean_audits(events)
        trainings = [e["trigger"] for e in events if e["event"] == "training_finished"]
        assert len(trainings) == len(set(trainings)), trainings
        print(f"{point}: {deaths} deaths, every {passes} edges: the same", flush=True)


def checking_lab(samples):
    """Each sample is a check, and only the first two of them fire."""
    seen = ("{policy: drift, on: labels, samples: 1, reference: 5, current: 5,"
            " statistics: [{name: psi, criterion: {policy: threshold, value: 99}}]}")
    lab = Lab(samples=samples, epochs=1)
    text = lab.pipeline.read_text()
    lab.pipeline.write_text(text.replace("{policy: amount, samples: 300}", seen))
    assert seen in lab.pipeline.read_text()
    return lab


def is_paused_between_two_checks(samples):
    """All of them lie on one page of the replay."""
    lab = checking_lab(samples)
    with served(lab):
        lab.weir("submit", str(lab.pipeline))
        watcher = lab.begin("watch", "lab", "--json", stdout=subprocess.PIPE)
        assert any('"trigger_considered"' in line for line in watcher.stdout)
        paused = lab.ask("pause", "lab", "--wait", "--json")
        watcher.terminate()
        watcher.communicate()
        [checks] = query(lab, "SELECT checks FROM orchestrator.pipeline")
    lab.remove()
    assert int(checks) > 2, checks
    return int(checks) < samples and paused.returncode == 0 and json.loads(paused.stdout)["state"] == "PAUSED"


def an_order_comes_between_two_checks():
    """On a busy machine the command may need as long to send it as a few thousand checks take."""
    assert any(map(is_paused_between_two_checks, (4000, 16000, 64000)))


def a_thousand_checks_are_kept():
    """Told anew to whoever comes later: the newest 1000, and before them only what fired."""
    lab = checking_lab(1050)
    run = lab.run().finish()
    checks = [e["check"] for e in run.of("trigger_considered")] + [e["decision"]["check"] for e in run.of("trigger_fired")]
    assert sorted(checks) == list(range(1, 1051)) and run.of("trigger_fired")[0]["decision"]["check"] == 1
    again = lab.run().finish()
    assert {e["check"] for e in again.of("trigger_considered")} == {n for n in checks if n > 50}, "others than the newest 1000"
    assert [e["decision"]["check"] for e in again.of("trigger_fired")] == [1, 2]  # one sample is no reference
    rows = json.loads(lab.weir("report", "--json"))["triggers"]
    assert rows[0]["decision"]["check"] == 1, rows
    lab.remove()


def main():
    an_order_comes_between_two_checks()
    a_thousand_checks_are_kept()
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    for name, trigger in TRIGGERS.items():
        lab = drifting_lab(trigger)
        events = lab.run().finish().events
        assert_clean_audits(events)
        assert_noticed(name, events)
        if name == "model":
            assert_shown(lab)
            assert_survives(lab, events, every, min(every, 4))
        lab.remove()


main()

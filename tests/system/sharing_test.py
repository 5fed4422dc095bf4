"""Ten pipelines at once share two trainers and two workers on a platform that dies among them: each makes all its models, and
none starves; one has a quota of workers. Judged by the order in which trainings end, not by the time they take."""

import datetime
import json
import subprocess

from weirlab import DEADLINE_S, Lab, assert_clean_audits, serve, served

PIPELINES, EVERY, TRIGGERS, TRAINERS = 10, 50, 6, 2
LONG = "many-9"  # its trainings take many times as long


def submit_all(lab):
    text = lab.pipeline.read_text()
    for number in range(PIPELINES):
        name = f"many-{number}"
        file = lab.folder / f"{name}.yaml"
        epochs = "epochs: 400" if name == LONG else "epochs: 1"
        file.write_text(text.replace("name: lab,", f"name: {name},").replace("epochs: 1", epochs))
        lab.weir("submit", str(file))


def await_first_model(lab):
    watcher = lab.begin("watch", "many-0", "--json", stdout=subprocess.PIPE)
    assert any(json.loads(line)["event"] == "model_stored" for line in watcher.stdout)
    watcher.kill()
    watcher.communicate(timeout=DEADLINE_S)


def finish(lab):
    """The events of all, by name, once all have come to their ends."""
    watchers = {f"many-{n}": lab.begin("watch", f"many-{n}", "--json", stdout=subprocess.PIPE) for n in range(PIPELINES)}
    told = {}
    for name, watcher in watchers.items():
        out, _ = watcher.communicate(timeout=3 * DEADLINE_S)
        told[name] = [json.loads(line) for line in out.splitlines()]
        assert watcher.returncode == 0 and told[name][-1]["event"] == "pipeline_finished", (name, told[name][-3:])
    return told


def assert_none_starves(told, died_at):
    """Those that came first are ahead when the platform dies. Behind that nobody gets further ahead of another one, until the
    first is through, than trainings that happen to take a little longer make of it. Trainers are shared by time, so those
    that held one when the platform died have had more of it than their trainings show: they may be further behind."""
    ended = sorted((event["timeline"]["trained"], name) for name, events in told.items() if name != LONG
                   for event in events if event["event"] == "model_stored")
    had = dict.fromkeys((name for name in told if name != LONG), 0)
    spreads = {"before": 0, "behind": 0}
    for when, name in ended:
        had[name] += 1
        if had[name] == TRIGGERS:
            break
        spread = max(had.values()) - sorted(had.values())[TRAINERS]
        if when < died_at:
            spreads["before"] = spread
        spreads["behind"] = max(spreads["behind"], spread)
    print(f"when {name} is through, they have had {had}; ahead of another one by at most {spreads}", flush=True)
    assert min(had.values()) >= 1, ended
    assert spreads["behind"] <= spreads["before"] + 2, ended


def at_work(lab, name):
    """Returns the row of the pipeline in `weir workers`; None: none of its jobs is in use."""
    rows = json.loads(lab.weir("workers", "--json"))["pipelines"]
    return next((row for row in rows if row["pipeline"] == name), None)


def assert_bound_holds(lab):
    """The long one is given one worker at a time, while it trains, and the system file says why."""
    seen = []
    while not any(row["workers"] == 1 for row in seen):
        assert len(seen) < 1000, seen[-1]
        row = at_work(lab, LONG)
        seen += [row] if row else []
    assert all(row["workers"] <= 1 and row["workers_max"] == 1 and row["share"] == 0.5 for row in seen), seen


def main():
    lab = Lab(samples=EVERY * TRIGGERS, every=EVERY, epochs=1)
    system = lab.folder / "system.yaml"
    system.write_text(f"trainers: {TRAINERS}\nworkers: 2\nquotas: {{{LONG}: {{share: 0.5, workers: 1}}}}\n")
    with served(lab, "--hold", "--system", str(system)):  # so that all begin at once
        submit_all(lab)
    server = serve(lab, "--system", str(system))
    await_first_model(lab)
    server.kill()
    server.communicate(timeout=DEADLINE_S)
    died_at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with served(lab, "--system", str(system)):
        assert_bound_holds(lab)
        told = finish(lab)
        trainers = json.loads(lab.weir("status", "--json"))["trainers"]
        assert trainers["slots"] == 2 and trainers["busy"] == trainers["waiting"] == 0, trainers
    for name, events in told.items():
        assert_clean_audits(events)
        assert len([e for e in events if e["event"] == "model_stored"]) == TRIGGERS, name
    assert_none_starves(told, died_at)
    lab.remove()


main()

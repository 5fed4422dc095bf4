"""Every strategy of evaluation: the pairs of model and interval that its definition says, each measured once though the
orchestrator is killed in the middle, and on demand; values and counts are made again from predictions."""

import bisect
import calendar
import json
import time

from weirlab import PIPELINE, Lab, served

EVERY, SAMPLES, DAY = 150, 600, 86400
METRICS = "[accuracy, roc_auc, {{name: f1, average: macro, by: label}}]"
EVALUATIONS = f"""\
evaluation:
  - {{{{name: heat, strategy: slicing, every: 2w, models: matrix, when: after_pipeline, metrics: [accuracy]}}}}
  - {{{{name: live, strategy: slicing, every: 2w, models: [active, trained], metrics: {METRICS}}}}}
  - {{{{name: each, strategy: between_triggers, models: active, metrics: [accuracy]}}}}
  - {{{{name: week, strategy: offset, offsets: [1w, -1w], metrics: [accuracy]}}}}
  - {{{{name: around, strategy: periodic, every: 1 month, before: 3d, after: 3d, models: next, metrics: [accuracy]}}}}
  - {{{{name: asked, strategy: static, models: matrix, when: on_demand, metrics: [accuracy, roc_auc],
     intervals: [{{{{from: 2002-03-01, to: 2002-03-08}}}}, {{{{from: 2002-02-01T00:00:00Z, to: 2002-02-01T03:40:00Z}}}}]}}}}
"""


def seconds(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + (
        1e-6 if text.endswith("00.000001Z") or ".000001" in text else 0)


def key(one):
    return (one["name"], one["model"], one["interval"]["from"], one["interval"]["to"], one["metric"])


def pairs_of(evaluations, name):
    return {(one["model"], seconds(one["interval"]["from"]), seconds(one["interval"]["to"]))
            for one in evaluations if one["name"] == name}


def killed_run(lab):
    """Killed whenever another handful of values has been told."""
    events, kills = [], 0
    while True:
        run = lab.run()
        if kills < 4 and run.wait_for(12):
            run.process.kill()
            kills += 1
            run.finish(expect=None)
        else:
            run.finish()
        events += run.events
        if run.process.returncode == 0:
            assert kills >= 3, f"killed {kills} times only"
            return events


def month(index):
    return calendar.timegm((2002, 1 + index, 1, 0, 0, 0))


def check_plans(evaluations, stamps):
    """The definitions, over again: a model ends with its trigger's newest sample."""
    ends = [stamps[i] for i in range(EVERY - 1, SAMPLES, EVERY)]
    models = [f"lab-{i + 1}" for i in range(len(ends))]

    def active(at):
        return bisect.bisect_left(ends, at) - 1

    monday = 4 * DAY  # of 1970
    first = (ends[0] - monday) // (14 * DAY) * 14 * DAY + monday
    slices = [(at, at + 14 * DAY) for at in range(first, stamps[-1] + 1, 14 * DAY)]
    assert pairs_of(evaluations, "heat") == {(m, *s) for m in models for s in slices}
    live = set()
    for one in slices:
        now = active(one[0])
        live |= {(models[i], *one) for i in (now, now + 1) if 0 <= i < len(models)}
    assert pairs_of(evaluations, "live") == live
    between = {(models[i], ends[i], ends[i + 1]) for i in range(len(ends) - 1)}
    found = {(m, round(a), round(b)) for m, a, b in pairs_of(evaluations, "each")}
    assert found == between, (found, between)
    week = {(m, end, end + 7 * DAY) for m, end in zip(models, ends) if end < stamps[-1]}
    week |= {(m, end - 7 * DAY, end) for m, end in zip(models[1:], ends)}
    assert {(m, round(a), round(b)) for m, a, b in pairs_of(evaluations, "week")} == week
    around = set()
    for m, end in zip(models, ends):
        later = [month(i) - 3 * DAY for i in range(5) if month(i) - 3 * DAY > end and month(i) <= stamps[-1]]
        around |= {(m, later[0], later[0] + 6 * DAY)} if later else set()
    assert pairs_of(evaluations, "around") == around, (pairs_of(evaluations, "around"), around)


def check_values(lab, evaluations, stamps):
    for one in evaluations:
        if "label=" not in one["metric"]:
            begin, end = seconds(one["interval"]["from"]), seconds(one["interval"]["to"])
            assert one["samples"] == sum(begin <= s < end for s in stamps), one
    for one in [e for e in evaluations if e["name"] == "live" and e["metric"] == "accuracy"][:3]:
        said = json.loads(lab.weir("predict", "--model", one["model"], "--from", one["interval"]["from"], "--to",
                                   one["interval"]["to"], "--limit", "1000", "--json"))["predictions"]
        right = sum((p["values"][0] >= 0.5) == bool(p["label"]) for p in said)
        assert abs(right / len(said) - one["value"]) < 1e-9, (right, len(said), one)


def check_on_demand(lab):
    asked = json.loads(lab.weir("evaluate", "lab", "--evaluation", "asked", "--json"))
    assert asked["tasks"] == 2 * SAMPLES // EVERY, asked
    assert len({key(one) for one in asked["evaluations"]}) == len(asked["evaluations"]) == 4 * SAMPLES // EVERY
    alone = [one for one in asked["evaluations"] if one["samples"] == 1]
    assert alone and all(one["value"] == "undefined" for one in alone if one["metric"] == "roc_auc"), asked
    again = json.loads(lab.weir("evaluate", "lab", "--evaluation", "asked", "--json"))
    assert again == asked, "asked twice, measured anew"
    one = json.loads(lab.weir("evaluate", "lab", "--evaluation", "asked", "--model", "lab-2", "--from", "2002-03-01",
                              "--to", "2002-03-20", "--json"))
    assert {e["model"] for e in one["evaluations"]} == {"lab-2"} and one["tasks"] == 1, one
    assert "undefined" in lab.weir("evaluate", "lab", "--evaluation", "asked")
    assert "no evaluation 'nothing'" in lab.ask("evaluate", "lab", "--evaluation", "nothing").stderr


def main():
    head, _, tail = PIPELINE.partition("evaluation:")
    lab = Lab(samples=SAMPLES, every=EVERY, epochs=1,
              pipeline=head + EVALUATIONS + tail.partition("\n")[2])
    stamps = [seconds(record["ts"]) for record in lab.records]
    evaluations = [event for event in killed_run(lab) if event["event"] == "evaluation"]
    told = {key(one) for one in evaluations}
    values = {(key(one), str(one["value"])) for one in evaluations}
    assert len(values) == len(told), "one pair was measured twice, to different values"
    unique = {key(one): one for one in evaluations}.values()
    check_plans(unique, stamps)
    with served(lab):
        check_values(lab, unique, stamps)
        check_on_demand(lab)
    print(len(told), "values of", len({k[:4] for k in told}), "pairs of a model and an interval, each once")
    lab.remove()


main()

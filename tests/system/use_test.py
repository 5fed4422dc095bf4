"""Datasets that a pipeline uses in part: one that is only measured on, one that is selected from and triggers nothing. No set of
a training holds what is only measured on, in a replay and live, and no trigger comes earlier or later for it."""

import json

from weirlab import PIPELINE, Lab, Stream, await_dataset, await_that, outcome, push, read_set, run_tests, stop

SAMPLES, EVERY, TESTS, MORE = 900, 300, 120, 200
SOURCE = ("  - name: {name}\n    source:  {{{{path: {{data}}-{name}, format: jsonl, include: \"*.jsonl\"}}}}\n"
          "    time:    {{{{from: field, field: ts}}}}\n    label:   {{{{field: label, classes: [work, spam]}}}}\n{use}")
EVALUATION = """\
evaluation:
  - {{name: next_month, strategy: slicing, every: 1 month, metrics: [accuracy]}}
  - {{name: tests, on: tests, strategy: static, models: matrix, when: after_pipeline, metrics: [accuracy],
     intervals: [{{from: 2001-01-01, to: 2003-01-01}}]}}
"""


def pipeline_with(**uses):
    """More datasets behind the first, each with its `use` (None: not written)."""
    more = "".join(SOURCE.format(name=name, use=f"    use:     {use}\n" if use else "") for name, use in uses.items())
    head, rest = PIPELINE.split("trigger:", 1)
    before, after = rest.split("evaluation:", 1)
    evaluation = EVALUATION if "tests" in uses else EVALUATION.split("  - {{name: tests")[0]
    return f"{head}{more}trigger:{before}{evaluation}deletion:{after.split('deletion:', 1)[1]}"


def lab_with(pipeline, **others):
    lab = Lab(samples=SAMPLES, every=EVERY, epochs=1, pipeline=pipeline)
    for seed, (name, samples) in enumerate(others.items(), 2):
        Stream(samples, seed).write_jsonl(lab.folder / f"stream-{name}", files=1)
    return lab


def datasets_of(lab, event):
    """How many samples of each dataset a sealed set holds, by the number in their ids."""
    numbers = [sample >> 44 for sample in read_set(lab.data_dir / "sets" / f"{event['digest']}.set")]
    return {number: numbers.count(number) for number in set(numbers)}


def fired(run):
    return [(event["samples_new"], event["until"]) for event in run.of("trigger_fired")]


def test_what_is_only_measured_on_changes_no_trigger_and_no_model():
    alone = lab_with(pipeline_with())
    expected = alone.run().finish()
    lab = lab_with(pipeline_with(tests="evaluation"), tests=TESTS)
    run = lab.run().finish()
    assert fired(run) == fired(expected) and outcome(run.events) == outcome(expected.events), run.events
    measured = {(one["name"], one["dataset"], one["interval"]["from"]): one["samples"] for one in run.of("evaluation")}
    assert {key: samples for key, samples in measured.items() if key[0] == "tests"} == {
        ("tests", "tests", "2001-01-01T00:00:00Z"): TESTS}, measured
    same = {(one["name"], one["model"], one["interval"]["from"]): (one["samples"], one["value"]) for one in expected.of("evaluation")}
    assert same and same == {(one["name"], one["model"], one["interval"]["from"]): (one["samples"], one["value"])
                             for one in run.of("evaluation") if one["name"] != "tests"}, "they measure on the stream alone"
    assert {one["model"] for one in run.of("evaluation") if one["name"] == "tests"} == {
        event["model"] for event in run.of("model_stored")}, run.of("evaluation")
    for each in (alone, lab):
        each.remove()


def test_what_is_selected_from_need_not_trigger():
    plain, lab = lab_with(pipeline_with()), lab_with(pipeline_with(more="[selection, evaluation]"), more=MORE)
    expected, run = plain.run().finish(), lab.run().finish()
    assert fired(run) == fired(expected), (fired(run), fired(expected))
    total = 0
    for trigger, event in enumerate(run.of("selection_sealed"), 1):
        candidates = trigger * EVERY + sum(json.loads(line)["ts"] <= run.of("trigger_fired")[trigger - 1]["until"]
                                           for line in (lab.folder / "stream-more/part0.jsonl").read_text().splitlines())
        assert event["candidates"] == candidates and event["samples"] == candidates * 8 // 10, event
        total += datasets_of(lab, event).get(max(datasets_of(lab, event)), 0)
    assert len(datasets_of(lab, run.of("selection_sealed")[-1])) == 2 and total > MORE, total
    said = json.loads(lab.weir("submit", str(lab.pipeline), "--dry-run", "--json"))
    assert said["fired"] == len(fired(run)) and not said["exact"] and "more is selected from" in said["why"], said
    for each in (plain, lab):
        each.remove()


def await_passed(lab, dataset):
    """Until the pipeline has passed every change of the dataset."""
    def consumers():
        return json.loads(lab.weir("feed", "list", dataset, "--json"))["consumers"]
    await_that(lambda: any(one["consumer"] == "orchestrator:lab" and one["behind"] == 0 for one in consumers()), consumers, pause_s=0.2)


def test_a_live_pipeline_passes_what_its_trigger_does_not_see():
    live = pipeline_with(tests="evaluation", more="selection").replace("mode: replay", "mode: live")
    for name in ("", "-tests", "-more"):
        live = live.replace(f'path: {{data}}{name}, format: jsonl, include: "*.jsonl"', "push: true, format: jsonl")
    lab = lab_with(live.replace(", import: copy", ""), tests=1)
    run = lab.run()
    await_dataset(run, lab, "more")
    for name, samples in (("tests", EVERY), ("more", EVERY + 1)):
        push(lab, "".join(json.dumps(Stream().record(i)) + "\n" for i in range(samples)), name)
        await_passed(lab, name)
    assert not run.of("trigger_fired"), run.events
    push(lab, "".join(json.dumps(record) + "\n" for record in lab.records[:EVERY]), "notes")
    assert run.wait_until(lambda: run.of("model_stored")), run.events
    (event,), (sealed,) = run.of("trigger_fired"), run.of("selection_sealed")
    assert event["samples_new"] == EVERY and sealed["candidates"] == 2 * EVERY + 1, (event, sealed)
    assert len(datasets_of(lab, sealed)) == 2, datasets_of(lab, sealed)
    stop(run)
    lab.remove()


def complaints(pipeline):
    lab = lab_with(pipeline, tests=1)
    said = json.loads(lab.weir("config", "check", str(lab.pipeline), "--json", expect=2))["complaints"]
    lab.remove()
    return [line.split("lab.yaml:", 1)[1] for line in said]


def test_mistakes_are_told_by_line():
    (line,) = complaints(pipeline_with(tests="evalution"))
    assert line == "12:14: datasets[1].use: unknown use 'evalution' (did you mean evaluation?)", line
    (line,) = complaints(pipeline_with(tests="[selection]"))
    assert "evaluation.on: dataset 'tests' has a `use` without evaluation" in line, line
    nothing = pipeline_with(tests="evaluation").replace("    subject: {{field: user}}\n", "    use: evaluation\n", 1)
    (line,) = complaints(nothing)
    assert "no `use` has trigger in it" in line, line
    mixture = pipeline_with(tests="evaluation").replace("policy: random, ratio: 0.8,", "policy: mixture, shares: {{notes: 1, tests: 1}},")
    (line,) = complaints(mixture)
    assert "selection.shares: expected a dataset of this file" in line and "'tests'" in line, line


run_tests(globals())

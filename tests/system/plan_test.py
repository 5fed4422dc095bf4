"""The operators of a pipeline run in a cheaper order than they are written in, and nothing else changes by it: the same models,
whoever dies meanwhile. What was measured and chosen is told."""

import json
import random

from weirlab import Lab, Run, assert_clean_audits, outcome, run_tests, write_pictures

ROWS, EVERY = 24000, 6000
PIPELINE = """\
pipeline: {{name: planned, mode: replay}}
datasets:
  - name: planned
    source: {{path: {data}, format: csv, include: "*.csv", header: true, import: reference}}
    time:   {{from: field, field: time, pattern: "%Y-%m-%d"}}
    label:  {{field: label, classes: ["0", "1"]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: csv_text, field: text, as: words}}
    - {{op: csv_fields, fields: [x], as: x}}
    - {{op: normalize_text, on: words, lower: false, as: words}}
    - {{op: lower_case, on: words}}
    - {{op: truncate, on: words, length: 40}}
    - {{op: tokenize_words, on: words, as: words}}
    - {{op: tokenize_hash, on: words, buckets: 1000, as: words}}
    - {{op: filter, on: x, max: 30}}
  batch: {{samples: 256}}
  plan: {{order: ORDER}}
training: {{model: {{name: text_bag, buckets: 1000}}, epochs: {epochs}, seed: 1, digests: true}}
"""

PICTURES = """\
pipeline: {{name: pictures, mode: replay}}
datasets:
  - name: pictures
    source: {{path: {data}, format: files, include: "*.jpg", import: reference}}
    time:   {{from: mtime}}
    label:  {{from: folder, classes: stream}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: decode_jpeg}}
    - {{op: color_jitter, brightness: 0.2, contrast: 0.2}}
    - {{op: flip}}
    - {{op: resize, size: [32, 32]}}
    - {{op: normalize}}
  batch: {{samples: 8}}
  plan: PLAN
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1}}
"""


def write_rows(folder):
    draw = random.Random(7)
    words = ["".join(draw.choice("aeioubcdfgABC") for _ in range(draw.randint(2, 9))) for _ in range(500)]
    texts = [" ".join(draw.choice(words) for _ in range(250)) for _ in range(200)]
    with open(folder / "rows.csv", "w") as rows:
        rows.write("time,x,text,label\n")
        for i in range(ROWS):
            rows.write(f"2020-01-{1 + i * 28 // ROWS:02},{draw.randint(0, 99)},{draw.choice(texts)},{i % 2}\n")


def lab_of(order):
    lab = Lab(every=EVERY, epochs=6, pipeline=PIPELINE.replace("ORDER", order))
    write_rows(lab.folder / "stream")
    return lab


def run_through(lab, *options, deaths=False):
    run = Run(lab.pipeline, lab.data_dir, None, *options)
    if deaths:
        run.wait_until(lambda: any(e["event"] == "training_finished" for e in run.events))
        run.kill("worker-1")
        run.wait_until(lambda: sum(e["event"] == "training_finished" for e in run.events) > 1)
        run.kill("dispatcher")
    run.finish()
    assert_clean_audits(run.events)
    return run


def digests(run):
    """Of all batches of each training."""
    return [(e["audit"]["digests"], e["audit"]["digest"]) for e in run.of("training_finished")]


def plan_of(lab):
    return json.loads(lab.weir("plan", "planned", "--json"))


def test_a_cheaper_order_makes_the_same_models():
    written, chosen = lab_of("as_written"), lab_of("auto")
    as_written = run_through(written, "--explain")
    changed = run_through(chosen, deaths=True)
    assert outcome(as_written.events) == outcome(changed.events)
    assert digests(as_written) == digests(changed) and len(digests(changed)) == ROWS // EVERY, digests(changed)
    assert not as_written.of("plan_changed")
    event = changed.of("plan_changed")[0]
    assert event["order"].index("filter") < event["order"].index("normalize_text"), event
    plan = plan_of(chosen)
    assert plan["state"] in ("trying", "changed"), plan
    names = [one["operator"] for one in plan["operators"]]
    assert names.index("truncate") < names.index("lower_case"), plan
    assert plan["promised"] > 0.05 and plan["all_orders"], plan
    fixed = plan_of(written)
    assert fixed["state"] == "fixed" and not any(one["moved"] for one in fixed["operators"]), fixed
    fused = {one["operator"]: one["fused"] for one in fixed["operators"]}
    assert fused["lower_case"] == fused["truncate"] == "loop" and fused["tokenize_words"] is None, fixed
    page = written.weir("plan")
    assert "plan.order says as_written" in page and "in its loop" in page, page
    told = as_written.of("plan")
    assert [one["run"] for one in told] == [one["run"] for one in as_written.of("training_finished")], told
    again = json.loads(written.weir("plan", str(told[0]["run"]), "--json"))
    assert again["run"] == told[0]["run"] and again["why"] == told[0]["why"] == fixed["why"], again
    assert [one["operator"] for one in told[0]["operators"]] == [one["operator"] for one in fixed["operators"]], told
    assert "plan of run" in written.weir("logs", "planned") and written.ask("plan", "9999").returncode == 1
    # what was measured is known to the next platform: it begins in the order that was chosen
    chosen.weir("rerun", "planned")
    again = run_through(chosen)
    assert outcome(again.events)[1] == outcome(changed.events)[1]
    written.remove()
    chosen.remove()


def pictures_by(plan):
    lab = Lab(every=40, epochs=3, pipeline=PICTURES.replace("PLAN", plan))
    write_pictures(lab, 80)
    return lab


def checksums(run):
    return [event["checksum"] for event in run.of("model_stored")]


def test_an_approximate_order_is_the_same_everywhere_and_bound_by_a_tolerance():
    written, nearly = pictures_by("{{order: as_written}}"), pictures_by("{{order: approximate, tolerance: 1}}")
    as_written, approximate = run_through(written), run_through(nearly)
    assert checksums(as_written) != checksums(approximate)
    order = [one["operator"] for one in json.loads(nearly.weir("plan", "pictures", "--json"))["operators"]]
    assert order[:2] == ["decode_jpeg", "resize"], order
    again = pictures_by("{{order: approximate, tolerance: 1}}")
    run = Run(again.pipeline, again.data_dir)
    run.wait_until(lambda: any(e["event"] == "training_finished" for e in run.events))
    run.kill("worker-1")
    assert checksums(run.finish()) == checksums(approximate)
    strict = pictures_by("{{order: approximate, tolerance: 0.0001}}")
    refused = Run(strict.pipeline, strict.data_dir).finish(expect=2)
    said = "".join(refused.stderr)
    assert "approximate changes tensor 'picture' by" in said and "expected at most 0.01 %" in said, said
    for lab in (written, nearly, again, strict):
        lab.remove()


if __name__ == "__main__":
    run_tests(globals())

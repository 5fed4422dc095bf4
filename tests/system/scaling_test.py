"""The need of each run is told by what was measured: above one worker where a program takes its time and the trainer none, next
to nothing where the trainer is the slow one; and why, on the page of the workers, and what limits the run, on that of its plan. A
file says the policy and the bounds."""

import json
import os
import shutil

from weirlab import Lab, await_that, binaries, served

SAMPLES, STEP_MS = 2000, 300
SLEEPER = """\
import runpy, sys, time
class Slow:
    def read(self, size):
        data = sys.__stdin__.buffer.read(size)
        time.sleep(0.05)
        return data
sys.stdin = type("Input", (), {"buffer": Slow()})()
runpy.run_path(%r)
"""
EXAMPLE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../docs/guides/programs/text_numbers.py"))
WORDS = "{op: tokenize_words, max_tokens: 100}, {op: tokenize_hash, buckets: 4096}"
PROGRAM = "{op: exec, program: sleeper, name: numbers, makes: dense, type: f32, width: 3}"

PIPELINE = """\
pipeline: {{name: {name}, mode: replay}}
datasets:
  - name: {name}
    source: {{path: {data}, format: jsonl, include: "*.jsonl", import: reference, on_erase: scrub}}
    time:   {{from: field, field: ts}}
    label:  {{field: label, classes: [work, spam]}}
trigger:   {{policy: amount, samples: %d}}
selection: {{policy: new_data}}
preprocess:
  operators: [{{op: json_text, field: text}}, {operators}]
  batch: {{samples: 16, order: relaxed}}
  plan: {plan}
training: {{{training}, epochs: 10000, seed: 1}}
""" % SAMPLES


def begin(lab, name, operators, plan, training):
    file = lab.folder / f"{name}.yaml"
    file.write_text(PIPELINE.format(name=name, data=lab.folder / "stream", operators=operators, plan=plan,
                                    training=training))
    lab.weir("submit", str(file))
    return file


def wait_for(lab, number, holds):
    """Returns the scaling of a run once it holds."""
    newest = [None]

    def look():
        runs = json.loads(lab.weir("workers", "--json"))["runs"]
        newest[0] = next((run["scaling"] for run in runs if run["run"] == number), None)
        return newest[0] if newest[0] and newest[0]["reports"] > 0 and holds(newest[0]) else None
    return await_that(look, lambda: f"run {number}: {newest[0]}", pause_s=0.2)


def wait_for_limit(lab, name, limit):
    """Returns what limits the newest run of a pipeline, once it is that."""
    newest = [None]

    def look():
        newest[0] = json.loads(lab.weir("plan", name, "--json"))["limits"]
        return newest[0] if newest[0] and newest[0]["limit"] == limit else None
    return await_that(look, lambda: f"{name}: {newest[0]}", pause_s=0.2)


def check_slow_operator(lab):
    begin(lab, "sleeps", PROGRAM, "{}", "model: linear, loss: logistic")
    scaling = wait_for(lab, 1, lambda scaling: scaling["need"] > 2)
    assert scaling["policy"] == "rates" and scaling["made_batches_a_second"] > 0, scaling
    assert scaling["wanted_batches_a_second"] > 2 * scaling["made_batches_a_second"], scaling
    page = lab.weir("workers")
    assert "a worker makes / s" in page and "rates" in page, page
    limits = wait_for_limit(lab, "sleeps", "cores")
    assert limits["stage"] == "exec" and limits["delivered"] < limits["wanted"], limits
    assert limits["with_one_more_core"] > limits["optimum"] > 0, limits
    assert "with one more core" in lab.weir("plan", "sleeps")
    print("a slow program:", scaling, limits)
    lab.weir("stop", "sleeps")


def check_slow_trainer(lab):
    begin(lab, "steps", WORDS, "{workers: {min: 1, max: 3}, policy: {policy: cachew}}", "program: slow")
    scaling = wait_for(lab, 2, lambda scaling: scaling["stall_fraction"] < 0.1)
    assert scaling["policy"] == "cachew" and scaling["workers"] <= 3, scaling
    assert 0 < scaling["wanted_batches_a_second"] < 2 * 1000 / STEP_MS, scaling
    lab.weir("stop", "steps")
    begin(lab, "again", WORDS, "{}", "program: slow")
    scaling = wait_for(lab, 3, lambda scaling: scaling["need"] < 0.5)
    assert scaling["made_batches_a_second"] > 2 * scaling["wanted_batches_a_second"], scaling
    limits = wait_for_limit(lab, "again", "consumers")
    assert 0 < limits["optimum"] < 2 * 1000 / STEP_MS and limits["with_one_more_core"] == limits["optimum"], limits
    print("a slow trainer:", scaling, limits)
    lab.weir("stop", "again")


def check_mistakes(lab):
    for plan, complaint in (("{policy: fastest}", "preprocess.plan.policy"),
                            ("{workers: {min: 3, max: 2}}", "preprocess.plan.workers: found min 3 above max 2")):
        file = lab.folder / "mistake.yaml"
        file.write_text(PIPELINE.format(name="mistake", data=lab.folder / "stream", operators=WORDS, plan=plan,
                                        training="model: {name: text_bag, buckets: 4096}, loss: logistic"))
        done = lab.ask("config", "check", str(file))
        assert done.returncode == 2 and complaint in done.stdout + done.stderr, (complaint, done)


def main():
    lab = Lab(samples=SAMPLES)
    sleeper, system = lab.folder / "sleeper.py", lab.folder / "system.yaml"
    sleeper.write_text(SLEEPER % EXAMPLE)
    shutil.copy(binaries().parent / "tests/bin/slow_loop", lab.folder)
    system.write_text(f"workers: 1\nprograms:\n  sleeper: {{command: [/usr/bin/python3, {sleeper}]}}\n"
                      f"  slow: {{command: [{lab.folder}/slow_loop, '{STEP_MS}'], modes: [train]}}\n")
    with served(lab, "--system", str(system)):
        check_slow_operator(lab)
        check_slow_trainer(lab)
        check_mistakes(lab)
    lab.remove()


main()

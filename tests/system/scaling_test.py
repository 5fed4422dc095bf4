"""The need of each run is told by what was measured: above one worker where a program takes its time and the trainer none, next
to nothing where the trainer is the slow one; and why, on the page of the workers, and what limits the run, on that of its plan. A
file says the policy and the bounds."""

import contextlib
import json
import os
import shutil

from weirlab import DEADLINE_S, Lab, await_that, binaries, query, serve, served

SAMPLES, STEP_MS, MAX = 2000, 300, 3
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


@contextlib.contextmanager
def served_until_killed(lab, system):
    server = serve(lab, "--system", str(system))
    yield
    server.kill()
    server.communicate(timeout=DEADLINE_S)


def number_in(lab, sql):
    return int(query(lab, sql)[0])


def target(lab):
    return number_in(lab, "SELECT target FROM orchestrator.pool")


def smaller_than(lab, size):
    return number_in(lab, "SELECT count(*) FROM orchestrator.event WHERE json::json->>'event' = 'pool_resized' "
                          f"AND (json::json->>'to')::int < {size}")


def check_kill(lab, system):
    """A pool that has grown for a run is as large after a crash, and what its policy has learnt is known."""
    with served_until_killed(lab, system):
        begin(lab, "grows", PROGRAM, "{}", "model: linear, loss: logistic")
        await_that(lambda: target(lab) == MAX, pause_s=0.2)
        reports = wait_for(lab, 1, lambda scaling: scaling["reports"] >= 3)["reports"]
        await_that(lambda: query(lab, "SELECT job FROM preprocess.job WHERE length(scaling) > 0"), pause_s=0.2)
        assert smaller_than(lab, MAX) == 0
    with served(lab, "--system", str(system)):
        scaling = wait_for(lab, 1, lambda scaling: scaling["why"] != "resumed")
        assert scaling["reports"] >= reports, (scaling, reports)
        await_that(lambda: target(lab) == MAX, lambda: f"target {target(lab)}, {scaling}", pause_s=0.2)
        assert smaller_than(lab, MAX) == 0, scaling
        lab.weir("stop", "grows")


def new_lab(workers):
    lab = Lab(samples=SAMPLES)
    sleeper, system = lab.folder / "sleeper.py", lab.folder / "system.yaml"
    sleeper.write_text(SLEEPER % EXAMPLE)
    shutil.copy(binaries().parent / "tests/bin/slow_loop", lab.folder)
    system.write_text(f"workers: {workers}\nprograms:\n  sleeper: {{command: [/usr/bin/python3, {sleeper}]}}\n"
                      f"  slow: {{command: [{lab.folder}/slow_loop, '{STEP_MS}'], modes: [train]}}\n")
    return lab, system


def main():
    lab, system = new_lab(f"{{min: 1, max: {MAX}}}")
    check_kill(lab, system)
    lab.remove()
    lab, system = new_lab(1)
    with served(lab, "--system", str(system)):
        check_slow_operator(lab)
        check_slow_trainer(lab)
        check_mistakes(lab)
    lab.remove()


main()

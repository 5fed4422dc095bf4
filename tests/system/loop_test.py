"""The program of docs/guides/write-a-training-loop.md as it stands there: built as a user would with the installed library, named in
a system file, and the trainer of a pipeline: it trains, evaluates, predicts, is killed, and its models are replaced after an erasure."""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from client_package import build_with_cmake, install, write_program
from weirlab import PIPELINE, Lab, Run, TrainerHunt, assert_clean_audits, everyone_may_enter, outcome, run_tests, served

OURS = re.sub(r"training: .*?\n.*?\n", "training: {{program: loop, options: {{rate: 0.2}}, epochs: {epochs}, seed: 1}}\n", PIPELINE)
GRID = """\
comparison: loops
base: lab.yaml
axes:
  training:
    slow:  {options: {rate: 0.02}}
    fast:  {options: {rate: 0.2}}
    ours:  {model: {name: text_bag, buckets: 4096}, loss: logistic, epochs: 1}
judge: {evaluation: next_month, metric: roc_auc}
"""
MODES = "modes: [train, evaluate, predict]"


@functools.cache
def built(changes=()):
    """The program of the guide, built against the installed library; with `changes`, pairs of what is replaced and what by."""
    folder = Path(tempfile.mkdtemp(prefix="weir-program-"))
    atexit.register(shutil.rmtree, folder)
    everyone_may_enter(folder)
    source = write_program(folder / "program") / "loop.c"
    source.write_text(changed(source.read_text(), changes))
    return build_with_cmake(source.parent, install(folder / "prefix"))


def changed(text, changes):
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return text


def build(lab, changes=()):
    """A system file with that program."""
    return declare(lab, built(tuple(changes)), MODES)


def declare(lab, command, more):
    system = lab.folder / "system.yaml"
    system.write_text(f"programs: {{loop: {{command: [{command}], {more}}}}}\n")
    return system


def assert_cells_are_of_programs_and_of_built_in_models(lab):
    grid = lab.folder / "grid.yaml"
    grid.write_text(GRID)
    answer = json.loads(lab.weir("compare", str(grid), "--json"))
    assert answer["state"] == "done" and {cell["cell"] for cell in answer["cells"]} == {"slow", "fast", "ours"}, answer
    assert all(0.5 < cell["quality"]["value"] <= 1 for cell in answer["cells"]), answer["cells"]
    assert len({cell["model_digest"] for cell in answer["cells"]}) == 3, "options and models make a difference"
    assert all(cell["cpu_s"] > 0 and cell["triggers"] == 2 for cell in answer["cells"]), answer["cells"]


def test_a_program_trains_evaluates_predicts_and_is_replaced():
    lab = Lab(samples=1200, every=400, epochs=2, pipeline=OURS)
    system = build(lab)
    expected = Run(lab.pipeline, lab.folder / "undisturbed", system).finish()
    assert_clean_audits(expected.events)
    run = Run(lab.pipeline, lab.data_dir, system)
    hunt = TrainerHunt(run, [e["run"] for e in expected.of("training_finished")], behind="checkpoint")
    run.finish()
    killed = len(hunt.end())
    assert killed > 0, "no program was met"
    assert_clean_audits(run.events)
    assert outcome(run.events) == outcome(expected.events), (outcome(run.events), outcome(expected.events))
    said = [e["metrics"]["loss"] for e in expected.of("training_finished")]
    assert all(0 < loss < 10 for loss in said), said
    measured = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc" and e["value"] is not None]
    assert measured and max(measured) > 0.9, run.of("evaluation")
    print(f"{killed} programs killed, models of {len(outcome(run.events))} triggers as without; ROC-AUC at most {max(measured):.3f}")
    with served(lab, "--system", system):
        assert len(json.loads(lab.weir("predict", "--limit", "20", "--json"))["predictions"]) == 20
        rows = "".join(json.dumps({"text": record["text"]}) + "\n" for record in lab.records[:20])
        said = [json.loads(line) for line in lab.ask("predict", input=rows).stdout.splitlines()]
        stored = json.loads(lab.weir("predict", "--limit", "20", "--json"))["predictions"]
        assert [one["values"] for one in said] == [[float(f"{v:.9g}") for v in one["values"]] for one in stored], said
        erased = json.loads(lab.weir("erase", "request", "--subject", "person3@example.org", "--wait", "--json"))
        assert_cells_are_of_programs_and_of_built_in_models(lab)
    assert erased["state"] == "FINISHED" and erased["models_replaced"], erased
    lab.remove()


def test_a_pipeline_is_refused_by_line_when_its_program_cannot():
    lab = Lab(samples=100, every=100, pipeline=OURS)
    for declared, words in ((f"x: {{command: [/bin/true], {MODES}}}", "training.program: program 'loop' is not allowed"),
                            ("loop: {command: [/bin/true], modes: [train]}", "evaluation: needs mode evaluate of program 'loop'"),
                            ("loop: {command: [/bin/true]}", "training: needs mode train of program 'loop'")):
        (lab.folder / "system.yaml").write_text(f"programs: {{{declared}}}\n")
        run = Run(lab.pipeline, lab.data_dir, lab.folder / "system.yaml").finish(expect=2)
        assert re.search(rf"lab.yaml:\d+:\d+: {re.escape(words)}", "".join(run.stderr)), run.stderr
    lab.pipeline.write_text(lab.pipeline.read_text().replace("training: {", "training: {loss: squared, "))
    run = Run(lab.pipeline, lab.data_dir, lab.folder / "system.yaml").finish(expect=2)
    assert re.search(r"lab.yaml:\d+:\d+: training.loss: expected none beside training.program", "".join(run.stderr)), run.stderr
    lab.remove()


def test_a_program_that_ends_without_finishing_has_failed():
    lab = Lab(samples=100, every=100, pipeline=OURS.replace("seed: 1}}", "seed: 1, retries: 1}}"))
    everyone_may_enter(lab.folder)
    script = lab.folder / "leaves.sh"
    script.write_text("#!/bin/sh\necho 'I have better things to do'\n")
    os.chmod(script, 0o755)
    system = declare(lab, script, MODES)
    run = Run(lab.pipeline, lab.data_dir, system).finish(expect=1)
    assert "exit code 0, and its run was not done; it said: I have better things to do" in "".join(run.stderr), run.stderr
    shutil.rmtree(lab.data_dir)
    script.write_text("#!/bin/sh\necho 'no lexicon here' >&2\nexit 3\n")
    run = Run(lab.pipeline, lab.data_dir, system).finish(expect=1)
    assert "exit code 3; it said: no lexicon here" in "".join(run.stderr), run.stderr
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

"""Modes that a program declares: a pipeline that needs another one is refused by line, whichever section needs it, before anything runs;
and a run that finds it missing later ends as a failure that says so."""

import json
import re

from loop_test import MODES, OURS, build, declare
from weirlab import Lab, Run, faulty, run_tests, served

TRAINS = "modes: [train]"
AMOUNT = "trigger:   {{policy: amount, samples: {every}}}"
RANDOM = "selection: {{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}"
CRITERION = "{policy: threshold, value: 0.5}"
PERFORMANCE = f"{{policy: performance, samples: 50, criteria: [{CRITERION}]}}"
DRIFT = f"{{policy: drift, on: WHAT, samples: 50, statistics: [{{name: psi, criterion: {CRITERION}}}]}}"
ENSEMBLE = "{policy: ensemble, any: [{policy: amount, samples: 50}, {policy: ensemble, all: [INNER]}]}"
WORDS = "program 'loop' does not do mode evaluate: expected it in programs.loop.modes of the system file"
EMBEDDINGS = DRIFT.replace("WHAT", "embeddings")


def triggers(text):
    return AMOUNT, "trigger: " + text.replace("{", "{{").replace("}", "}}")


def scores(*methods):
    stages = ", ".join(f"{{{{method: {method}, from_trigger: {i + 1}}}}}" for i, method in enumerate(methods))
    return RANDOM, f"selection: {{{{policy: coreset, ratio: 0.5, score: [{stages}]}}}}"


CASES = [  # what is changed, the section and the place that complains, the mode that it needs; none: it is good
    (triggers(PERFORMANCE), "trigger: policy performance", "predict"),
    (triggers(EMBEDDINGS), "trigger: policy drift", "embed"),
    (triggers(ENSEMBLE.replace("INNER", PERFORMANCE)), "trigger: policy performance", "predict"),
    (triggers(ENSEMBLE.replace("INNER", EMBEDDINGS)), "trigger: policy drift", "embed"),
    (triggers(DRIFT.replace("WHAT", "features")), None, None),
    (triggers(DRIFT.replace("WHAT", "labels")), None, None),
    (scores("loss"), "selection.score: method loss", "score"),
    (scores("grad_norm"), "selection.score: method grad_norm", "score"),
    (scores("uncertainty"), "selection.score: method uncertainty", "predict"),
    (scores("craig"), "selection.score: method craig", "gradient"),
    (scores("k_center"), "selection.score: method k_center", "embed"),
    (scores("rs2", "rho_loss"), "selection.score: method rho_loss", "score"),
    (scores("rs2"), None, None),
]


def checked(lab, text, system):
    lab.pipeline.write_text(text)
    done = lab.ask("config", "check", str(lab.pipeline), "--with", str(system))
    return done.returncode, done.stdout + done.stderr


def test_sections_that_need_a_mode_are_refused_by_line():
    lab = Lab(samples=10, every=10)
    trains, does_all = declare(lab, "/bin/true", TRAINS), lab.folder / "all.yaml"
    does_all.write_text("programs: {loop: {command: [/bin/true], modes: [train, evaluate, predict, score, gradient, embed]}}\n")
    plain = re.sub(r"evaluation: .*\n", "", OURS)
    for (before, after), path, mode in CASES:
        assert before in plain
        text = plain.replace(before, after).format(data=lab.folder / "stream", every=10, epochs=1)
        code, said = checked(lab, text, trains)
        if path is None:
            assert code == 0, said
            continue
        words = re.escape(f"{path}: needs mode {mode} of program 'loop'")
        line = 1 + text[:text.index(after.split(":")[0] + ":")].count("\n")
        assert code == 2 and re.search(rf"lab.yaml:{line}:\d+: {words}", said), (after, said)
        code, said = checked(lab, text, does_all)
        assert code == 0, said
        assert lab.ask("config", "check", str(lab.pipeline)).returncode == 0, "a file by itself may name any program"
    print(f"{len(CASES)} pipelines checked")
    lab.remove()


def test_a_platform_refuses_it_when_it_is_handed_in():
    lab = Lab(samples=10, every=10, pipeline=OURS)
    with served(lab, "--system", str(declare(lab, "/bin/true", TRAINS))):
        refused = lab.ask("submit", str(lab.pipeline))
        assert refused.returncode == 2 and re.search(r"lab.yaml:\d+:\d+: evaluation: needs mode evaluate", refused.stderr), refused
        assert json.loads(lab.weir("status", "--json"))["pipelines"] == []
    lab.remove()


def dies_with_its_first_model(begin):
    """A run that ends while a model is to be measured, and another one to be trained."""
    with faulty("pipeline.edged.STORED=!1"):
        run = begin().finish(expect=None)
    assert run.process.returncode < 0 and not run.of("pipeline_finished"), run.events


def test_a_run_that_misses_a_mode_has_failed():
    lab = Lab(samples=400, every=200, epochs=1, pipeline=OURS)
    system = build(lab)
    dies_with_its_first_model(lambda: Run(lab.pipeline, lab.data_dir, system))
    program = re.search(r"command: \[(.*?)\]", system.read_text()).group(1)
    with served(lab, "--system", str(declare(lab, program, TRAINS))):
        assert lab.ask("watch", "lab").returncode == 1
        (status,) = json.loads(lab.weir("status", "--json"))["pipelines"]
        assert status["state"] == "FAILED" and WORDS in status["error"], status
        refused = lab.ask("predict", "--limit", "1")
        assert refused.returncode == 2 and "does not do mode predict" in refused.stderr, refused
    Run(lab.pipeline, lab.data_dir, declare(lab, program, MODES)).finish()
    lab.remove()


def test_a_program_of_the_command_line_is_there_for_one_run():
    lab = Lab(samples=400, every=200, epochs=1, pipeline=OURS)
    given = f"--program=loop={re.search(r'command: .(.*?).,', build(lab).read_text()).group(1)}"
    refused = Run(lab.pipeline, lab.data_dir, None, "--program", "loop=nothing at all").finish(expect=2)
    assert "--program loop: nothing is no program that can be run" in "".join(refused.stderr), refused.stderr
    dies_with_its_first_model(lambda: Run(lab.pipeline, lab.data_dir, None, given))
    with served(lab):
        assert lab.ask("watch", "lab").returncode == 1
        (status,) = json.loads(lab.weir("status", "--json"))["pipelines"]
        assert re.search("program 'loop' is not allowed: .* `orchestrator run --program` gives to one run: none", status["error"]), status
    refused = Run(lab.pipeline, lab.data_dir).finish(expect=2)
    assert re.search(r"lab.yaml:\d+:\d+: training.program: program 'loop' is not allowed", "".join(refused.stderr)), refused.stderr
    lab.pipeline.write_text(lab.pipeline.read_text().replace("epochs: 1", "epochs: 2"))
    assert json.loads(lab.weir("apply", str(lab.pipeline), "--json"))["done"] == "applied"
    finished = Run(lab.pipeline, lab.data_dir, None, given).finish()
    assert finished.of("model_stored"), finished.events
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

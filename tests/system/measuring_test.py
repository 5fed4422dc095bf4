"""While a model is measured, for minutes, the platform answers; a signal, or the removal of the pipeline, ends it at once."""

import json
import subprocess
from pathlib import Path

from weirlab import DEADLINE_S, PIPELINE, Lab, await_that, query, served, stop

SAMPLES = 20000
METRICS = ", ".join(f"{{{{name: roc_auc, bootstrap: 10000, seed: {seed}}}}}" for seed in range(16))
EVALUATION = f"""\
evaluation:
  - {{{{name: long, strategy: static, models: matrix, when: WHEN, metrics: [{METRICS}],
     intervals: [{{{{from: 2002-01-01, to: 2002-06-01}}}}]}}}}
"""


def is_measured(platform):
    """It has mapped what the trainer said of each sample."""
    return "/runs/" in Path(f"/proc/{platform.pid}/maps").read_text()


def test_a_platform_that_measures_answers_and_ends(lab):
    run = lab.run()
    await_that(lambda: is_measured(run.process))
    assert [one["pipeline"] for one in json.loads(lab.weir("status", "--json"))["pipelines"]] == ["lab"]
    assert is_measured(run.process), "too little to measure for this test"
    stop(run)
    assert run.of("model_stored") and not run.of("evaluation"), run.events


def test_a_pipeline_that_is_measured_is_removed(lab):
    with served(lab) as platform:
        await_that(lambda: is_measured(platform))
        lab.weir("remove", "lab")
        await_that(lambda: not is_measured(platform))
        assert query(lab, "SELECT count(*) FROM orchestrator.evaluation") == ["0"]


def test_an_erasure_waits_until_what_a_model_said_is_measured(lab):
    def state():
        return json.loads(lab.weir("erase", "status", str(erasure), "--json"))["state"]

    lab.run().finish()
    with served(lab) as platform:
        evaluate = lab.begin("evaluate", "lab", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_that(lambda: is_measured(platform))
        erasure = json.loads(lab.weir("erase", "request", "--subject", lab.records[0]["user"], "--json"))["erasure"]
        await_that(lambda: state() == "PURGING", state)
        for _ in range(10):
            assert state() == "PURGING" and is_measured(platform)
        evaluate.kill()
        evaluate.wait(DEADLINE_S)
    with served(lab) as platform:
        await_that(lambda: state() == "FINISHED", state)
        await_that(lambda: not is_measured(platform))


def lab_of(when):
    head, _, tail = PIPELINE.partition("evaluation:")
    return Lab(samples=SAMPLES, every=SAMPLES, epochs=1,
               pipeline=head + EVALUATION.replace("WHEN", when) + tail.partition("\n")[2])


def main():
    lab = lab_of("after_training")
    test_a_platform_that_measures_answers_and_ends(lab)
    test_a_pipeline_that_is_measured_is_removed(lab)
    lab.remove()
    lab = lab_of("on_demand")
    test_an_erasure_waits_until_what_a_model_said_is_measured(lab)
    lab.remove()


main()

"""While a model is measured, for minutes, the platform answers; a signal, or the removal of the pipeline, ends it at once."""

import json
from pathlib import Path

from weirlab import PIPELINE, Lab, await_that, query, run_tests, served, stop

SAMPLES = 20000
METRICS = ", ".join(f"{{{{name: roc_auc, bootstrap: 10000, seed: {seed}}}}}" for seed in range(16))
EVALUATION = f"""\
evaluation:
  - {{{{name: long, strategy: static, models: matrix, intervals: [{{{{from: 2002-01-01, to: 2002-06-01}}}}], metrics: [{METRICS}]}}}}
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
        assert not is_measured(platform)
        assert query(lab, "SELECT count(*) FROM orchestrator.evaluation") == ["0"]


def main():
    head, _, tail = PIPELINE.partition("evaluation:")
    lab = Lab(samples=SAMPLES, every=SAMPLES, epochs=1, pipeline=head + EVALUATION + tail.partition("\n")[2])
    run_tests(globals(), lab)
    lab.remove()


main()

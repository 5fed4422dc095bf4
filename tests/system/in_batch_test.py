"""Batch-then-sample: a step learns from a part of its batch, the same part whoever is killed; what is left out is consumed all
the same; a pipeline that cannot is refused by line."""

import re

from weirlab import PIPELINE, Lab, assert_clean_audits, kill, run_tests, served


def in_batch(choice):
    return PIPELINE.replace("seed: 7}}", "seed: 7, batch_then_sample: {{" + choice + "}}}}")


def checksums(run):
    return [e["checksum"] for e in run.of("model_stored")]


def trained(choice=None):
    """The models of a lab that learns from such a part."""
    lab = Lab(samples=600, every=200, epochs=2, pipeline=in_batch(choice) if choice else PIPELINE)
    run = lab.run().finish()
    assert_clean_audits(run.events)
    sets = [(e["samples"], e["audit"]["delivered"]) for e in run.of("training_finished")]
    lab.remove()
    return checksums(run), sets


def test_each_score_makes_a_model_of_its_own_and_twice_the_same():
    all_of_it, delivered = trained()
    made = {tuple(all_of_it)}
    for choice in ("score: loss, ratio: 0.25", "score: grad_norm, ratio: 0.25",
                   "score: uncertainty, ratio: 0.25, metric: entropy"):
        models, audits = trained(choice)
        assert audits == delivered, "what a step leaves out is consumed"
        assert len(models) == len(all_of_it) and tuple(models) not in made, (choice, models)
        made.add(tuple(models))
    again, _ = trained("score: loss, ratio: 0.25")
    assert tuple(again) in made


def test_a_trainer_that_is_killed_makes_the_same_choice_again():
    expected, _ = trained("score: loss, ratio: 0.5")
    lab = Lab(samples=600, every=200, epochs=2, pipeline=in_batch("score: loss, ratio: 0.5"))
    run = lab.run()
    kills = 0
    while run.wait_for(len(run.events) + 1):
        kills += kills < 3 and kill(run.data_dir, "trainer")  # training.retries is 3
    run.finish()
    assert kills > 0, "no trainer was hit"
    assert_clean_audits(run.events)
    assert checksums(run) == expected
    lab.remove()


def test_what_cannot_be_chosen_by_is_refused_by_line():
    lab = Lab(samples=60, every=60, epochs=1, pipeline=in_batch("score: uncertainty, ratio: 0.5"))
    path = lab.folder / "refused.yaml"
    path.write_text(lab.pipeline.read_text().replace("loss: logistic", "loss: squared"))
    with served(lab):
        done = lab.ask("config", "check", str(path))
    assert done.returncode == 2, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert re.search(r"refused.yaml:\d+:\d+: selection.batch_then_sample.score: uncertainty is about classes", said), said
    lab.remove()


run_tests(globals())

"""A pipeline that takes another file: what the difference means, what stays, and that no death comes between."""

import json

from weirlab import DEADLINE_S, Lab, faulty, query, run_tests, serve, served

LIVE = """\
pipeline: {{name: lab, mode: live}}
datasets:
  - name: notes
    source:  {{push: true, format: jsonl, on_erase: scrub}}
    time:    {{from: field, field: ts}}
    label:   {{field: label, classes: [work, spam]}}
    subject: {{field: user}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}
preprocess:
  operators:
    - {{op: json_text, field: text}}
    - {{op: normalize_text}}
    - {{op: tokenize_words, max_tokens: 100}}
    - {{op: tokenize_hash, ngrams: 2, buckets: 4096}}
  batch: {{samples: 8}}
training: {{model: {{name: text_bag, buckets: 8192}}, loss: logistic, epochs: {epochs}, seed: 1, start_from: previous, optimizer: {{name: adagrad, lr: 0.1}}}}
evaluation: [{{name: next_month, on: new, strategy: slicing, every: 1 month, metrics: [accuracy]}}]
"""


def answer(lab, *words, expect=0):
    return json.loads(lab.weir(*words, "--json", expect=expect))


def changed(lab, name, *changes):
    text = lab.pipeline.read_text()
    for was, now in changes:
        assert was in text, (was, text)
        text = text.replace(was, now)
    file = lab.folder / f"{name}.yaml"
    file.write_text(text)
    return file


def push(lab, first, count):
    lines = "".join(json.dumps(record) + "\n" for record in lab.records[first:first + count])
    done = lab.ask("push", "notes", "--json", input=lines)
    assert done.returncode == 0, done


def models(lab):
    return [m["model"] for m in answer(lab, "models", "list")["models"]]


def await_event(lab, event, **wanted):
    """Reads what a watcher is told, until the event comes."""
    watcher = lab.begin("watch", "lab", "--json", stdout=-1)
    try:
        for line in watcher.stdout:
            told = json.loads(line)
            if told["event"] == event and all(told[k] == v for k, v in wanted.items()):
                return told
    finally:
        watcher.kill()
        watcher.communicate(timeout=DEADLINE_S)
    raise AssertionError(f"no {event} {wanted}")


def file_in_force(lab):
    return " ".join(query(lab, "SELECT encode(config, 'escape') FROM orchestrator.pipeline WHERE state <> 'REMOVED'"))


def begin(lab):
    lab.weir("submit", str(lab.pipeline))
    await_dataset(lab)
    push(lab, 0, 200)
    await_event(lab, "model_stored", trigger=1)


def await_dataset(lab):
    await_event(lab, "dataset_scanned")


def test_a_dry_run_says_line_by_line_what_a_difference_means(lab):
    begin(lab)
    file = changed(lab, "dry", ("lr: 0.1", "lr: 0.01"), ("samples: 200", "samples: 100"), ("buckets: 4096", "buckets: 8192"),
                   ("mode: live", "mode: replay"), ("metrics: [accuracy]", "metrics: [accuracy, roc_auc]"),
                   ("field: user", "field: text"))
    file.write_text(file.read_text() + "budget: {cpu_seconds: 1000}\n")
    before = file_in_force(lab)
    said = answer(lab, "apply", str(file), "--dry-run")
    effects = {d["path"]: d["effect"] for d in said["differences"]}
    assert effects == {"datasets[notes].subject.field": "rerun", "pipeline.mode": "rerun", "trigger.samples": "next_trigger",
                       "preprocess.operators": "rerun", "training.optimizer.lr": "next_trigger",
                       "evaluation[next_month].metrics": "now", "budget": "now"}, effects
    page = lab.weir("apply", str(file), "--dry-run")
    assert "training.optimizer.lr: 0.1 -> 0.01: from the next training on" in page and "nothing was changed" in page, page
    done = lab.ask("apply", str(file))
    assert done.returncode == 1 and "weir apply --rerun begins it again" in done.stderr, done
    assert file_in_force(lab) == before
    other = changed(lab, "other", ("name: lab,", "name: nobody,"))
    assert "weir submit begins it" in lab.ask("apply", str(other)).stderr


def test_a_live_pipeline_goes_on_with_the_file_and_its_models_stay(lab):
    file = changed(lab, "applied", ("lr: 0.1", "lr: 0.01"), ("samples: 200", "samples: 100"), ("epochs: 1", "epochs: 2"))
    said = lab.weir("apply", str(file))
    assert "pipeline lab: 3 differences" in said and "the file is taken" in said, said
    push(lab, 200, 100)
    await_event(lab, "model_stored", trigger=2, parent="lab-1")
    assert models(lab) == ["lab-1", "lab-2"]
    epochs = query(lab, "SELECT epochs FROM orchestrator.run WHERE purpose LIKE 'train/%' ORDER BY number")
    assert epochs == ["1", "2"], epochs
    assert lab.ask("submit", str(lab.pipeline)).returncode == 2 and answer(lab, "submit", str(file))["known"]
    lab.pipeline = file
    assert "0 differences" in lab.weir("apply", str(file), "--dry-run")


def test_models_are_used_with_the_file_that_they_were_made_with(lab):
    """Operators that the older models were not made for: each predicts, and is measured, with its own."""
    interval = ("--from", "2002-01-01", "--to", "2002-04-01", "--limit", "5")
    before = {m: answer(lab, "predict", "--model", m, *interval)["predictions"] for m in models(lab)}
    file = changed(lab, "wider", ("buckets: 4096", "buckets: 8192"), ("start_from: previous", "start_from: scratch"))
    assert {d["effect"] for d in answer(lab, "apply", str(file))["differences"]} == {"next_trigger"}
    push(lab, 300, 100)
    await_event(lab, "model_stored", trigger=3, parent=None)
    for model, predictions in before.items():
        assert answer(lab, "predict", "--model", model, *interval)["predictions"] == predictions, model
    assert answer(lab, "predict", "--model", "lab-3", *interval)["predictions"]
    measured = answer(lab, "evaluate", "lab", "--model", "lab-1", "--from", "2002-01-01", "--to", "2002-02-01")
    assert "lab-1" in json.dumps(measured), measured
    lab.pipeline = file


def trained_epochs(lab, last):
    return query(lab, f"SELECT epochs FROM orchestrator.run WHERE purpose LIKE 'train/%' ORDER BY number DESC LIMIT {last}")


def test_a_trigger_under_way_ends_with_the_file_it_began_with(lab):
    long = changed(lab, "long", ("epochs: 2", "epochs: 150"))
    short = changed(lab, "short", ("epochs: 2", "epochs: 3"))
    lab.weir("apply", str(long))
    push(lab, 400, 100)
    await_event(lab, "selection_sealed", trigger=4)
    lab.weir("apply", str(short))
    push(lab, 500, 100)
    await_event(lab, "model_stored", trigger=5)
    assert trained_epochs(lab, 2) == ["3", "150"], trained_epochs(lab, 2)
    lab.pipeline = short


def test_a_failed_training_is_put_right_by_another_file(lab):
    """The set of its trigger stays; the training begins anew."""
    start = lab.folder / "gone.weirmodel"
    start.write_bytes(b"there when the file is looked at, and gone when the training begins")
    start.chmod(0o644)
    broken = changed(lab, "broken", ("start_from: scratch", f"start_from: {start}"))
    lab.weir("apply", str(broken))
    start.unlink()
    push(lab, 0, 100)
    assert lab.ask("watch", "lab").returncode == 1
    said = lab.weir("resume", "lab")
    assert "may stop again" in said and "gone.weirmodel" in said and "its file is the same since then" in said, said
    assert lab.ask("watch", "lab").returncode == 1
    lab.weir("apply", str(lab.pipeline))
    page = lab.weir("list")
    assert "FAILED" in page and "gone.weirmodel" in page, page
    assert answer(lab, "resume", "lab")["again"] == []
    await_event(lab, "model_stored", trigger=6)


def test_an_erasure_trains_each_model_again_with_its_own_file(lab):
    person = lab.records[0]["user"]
    receipt = answer(lab, "erase", "request", "--subject", person, "--wait")
    assert receipt["state"] == "FINISHED", receipt
    runs = query(lab, "SELECT epochs FROM orchestrator.run WHERE purpose LIKE 'replace/%' ORDER BY number")
    assert runs == ["1", "2", "2", "150", "3", "3"], runs
    assert "nothing is wrong" in lab.weir("doctor")


def test_a_death_before_and_after_the_edge_leaves_one_file_or_the_other(lab):
    """The order is in the row of the pipeline: it comes about with the next start."""
    with served(lab):
        before = models(lab)
    for point, was, lr in (("pipeline.edge.APPLIED", "0.01", "0.02"), ("pipeline.edged.APPLIED", "0.02", "0.03")):
        file = changed(lab, f"lr-{lr}", (f"lr: {was}", f"lr: {lr}"))
        with faulty(f"{point}=!1"):
            server = serve(lab)
            waiting = lab.begin("apply", str(file))
            server.communicate(timeout=DEADLINE_S)
            waiting.kill()
            waiting.wait(DEADLINE_S)
        assert server.returncode < 0, server.returncode
        with served(lab):
            await_event(lab, "file_applied", file=str(file))
            assert f"lr: {lr}" in file_in_force(lab), file_in_force(lab)
            assert set(before) == set(models(lab)), models(lab)
        lab.pipeline = file


def test_a_rerun_begins_again_with_the_file(lab):
    file = changed(lab, "rerun", ("start_from: scratch", "start_from: previous"), ("buckets: 8192", "buckets: 4096"))
    with served(lab):
        before = models(lab)
        said = lab.weir("apply", str(file), "--rerun")
        assert "it begins again with the file" in said, said
        await_event(lab, "model_stored", trigger=1)
        assert "lab.2-1" in models(lab) and set(before) <= set(models(lab)), models(lab)
        assert answer(lab, "submit", str(file))["known"]


def main():
    lab = Lab(samples=600, every=200, epochs=1, pipeline=LIVE)
    up = [test_a_dry_run_says_line_by_line_what_a_difference_means,
          test_a_live_pipeline_goes_on_with_the_file_and_its_models_stay,
          test_models_are_used_with_the_file_that_they_were_made_with,
          test_a_trigger_under_way_ends_with_the_file_it_began_with,
          test_a_failed_training_is_put_right_by_another_file,
          test_an_erasure_trains_each_model_again_with_its_own_file]
    with served(lab):
        for test in up:
            test(lab)
    run_tests({name: test for name, test in globals().items() if test not in up}, lab)
    lab.remove()


main()

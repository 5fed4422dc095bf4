"""No sample is lost in silence: what cannot be read stands in every line and event, and too much of it stops the run with
column, line, value and remedy."""

import json

from weirlab import Lab

DAYS, PER_DAY = 4, 200

PIPELINE = """\
pipeline: {{name: unread, mode: replay}}
datasets:
  - name: rows
    source: {{path: {data}, format: csv, settle: 0ms}}
    time:   {{from: field, field: ts}}
    label:  {{field: label}}
trigger:   {{policy: time, every: 1d}}
selection: {{policy: new_data, seed: 1}}
preprocess:
  operators:
    - {{op: csv_fields, columns: [ts, x, y, label], fields: [x, y]FILL}}
  batch: {{samples: 32, shuffle: full}}
  LIMIT
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1, optimizer: {{name: sgd, lr: 0.1}}}}
evaluation: [{{name: next, on: new, strategy: slicing, every: 1d, metrics: [accuracy]}}MORE]
"""


def rows(unread_share, time="{}"):
    """The first rows of each fifty have no number in x."""
    lines = ["ts,x,y,label"]
    for i in range(DAYS * PER_DAY):
        x = "NA" if i % 50 < 50 * unread_share else f"0.{i % 97:02}"
        lines.append(f"{time.format(1700006400 + i * (86400 // PER_DAY))},{x},0.5,{i % 2}")
    return "\n".join(lines) + "\n"


def run(text, limit="", fill="", epochs=1, more=""):
    pipeline = PIPELINE.replace("LIMIT", limit).replace("FILL", fill).replace("MORE", more)
    lab = Lab(samples=1, every=1, epochs=epochs, pipeline=pipeline)
    (lab.folder / "stream" / "part0.jsonl").unlink()
    (lab.folder / "stream" / "rows.csv").write_text(text)
    return lab, lab.run()


def error_of(text, limit="", expect=1):
    lab, ended = run(text, limit)
    ended.finish(expect=expect)
    (error,) = [event["error"] for event in ended.of("error")]
    lab.remove()
    return error


def too_many_unread_samples_stop_the_run_with_their_place():
    error = error_of(rows(0.02))
    assert error.startswith("job 1: "), error
    assert "more than preprocess.on_error: {skip: 1%} bears: sample " in error, error
    assert "(line " in error and "rows.csv) cannot be read: csv_fields: column 'x': found 'NA'" in error, error
    assert error.endswith("expected a number: missing: ['NA'] and fill take it"), error


NOON = """,
  {{name: noon, on: new, strategy: static, models: matrix, metrics: [accuracy],
    intervals: [{{from: 2023-11-15T12:00:00Z, to: 2023-11-15T13:00:00Z}}, {{from: 2022-01-01, to: 2022-02-01}}]}}"""


def without_noon(text):
    """No number in x from 12:00 to 13:00 of the first day."""
    lines = text.splitlines()
    for i in range(100, 109):
        stamp, _, *others = lines[1 + i].split(",")
        lines[1 + i] = ",".join([stamp, "NA", *others])
    return "\n".join(lines) + "\n"


def what_has_measured_nothing_says_so(lab, ended):
    told = [event for event in ended.of("evaluation") if event["name"] == "noon"]
    assert told and all(event["samples"] == 0 and event["failed"] == 9 for event in told), told
    (empty,) = ended.of("evaluation_empty")
    assert (empty["name"], empty["dataset"], empty["interval"]["from"]) == ("noon", "rows", "2022-01-01T00:00:00Z"), empty
    assert ended.of("pipeline_finished")[0]["unmeasured"] == ["noon"], ended.of("pipeline_finished")
    report = lab.weir("report")
    assert "noon has measured nothing: none of its intervals had both a model and samples" in report, report
    assert "noon: dataset rows has no samples from 2022-01-01 to 2022-02-01, nothing was measured there" in report, report


def a_limit_that_bears_them_counts_them_everywhere():
    lab, ended = run(without_noon(rows(0.02)), "on_error: {{skip: 100%}}", epochs=2, more=NOON)
    ended.finish()
    what_has_measured_nothing_says_so(lab, ended)
    trained = ended.of("training_finished")
    assert sum(event["audit"]["failed"] for event in trained) > 0, trained
    assert all(event["samples"] + event["audit"]["failed"] == event["audit"]["set"] for event in trained), trained
    assert sum(event["failed"] for event in ended.of("evaluation")) > 0, ended.of("evaluation")
    status = json.loads(lab.weir("status", "--json"))["pipelines"][0]
    assert status["unread"] == {"failed": sum(event["audit"]["failed"] for event in trained), "filtered": 0}, status
    assert "could not be read in its trainings" in lab.weir("status"), lab.weir("status")
    lab.remove()


def what_is_declared_missing_is_filled_and_no_error():
    lab, ended = run(rows(0.5), fill=", fill: 0, missing: [NA]")
    ended.finish()
    assert all(event["audit"]["failed"] == 0 for event in ended.of("training_finished"))
    lab.remove()


def too_many_refused_records_stop_the_run_before_anything_is_trained():
    good, bad = rows(0).splitlines(), rows(0, time="at {}").splitlines()
    half = len(good) // 2
    error = error_of("\n".join(good[:half] + bad[half:]) + "\n")
    assert error.startswith(f"dataset rows: {len(good) - half} of {DAYS * PER_DAY} records were refused, more than"), error
    assert "rows.csv:" in error and "time 'ts': found \"aa 9999999999\"" in error, error


def records_that_are_all_refused_are_told_before_anything_is_created():
    error = error_of(rows(0, time="at {}"), expect=2)
    assert f"datasets[0].time: {DAYS * PER_DAY} of {DAYS * PER_DAY}: " in error and "rows.csv:2: time 'ts': found \"aa 9999999999\"" in error, error
    error = error_of("ts;x;y;label\n1700006400;1;2;1\n", expect=2)
    assert "found a single column, 'ts;x;y;label'" in error and "source.delimiter" in error, error


def a_replay_of_nothing_says_so():
    assert error_of("ts,x,y,label\n") == ("dataset rows: found no sample: see its source.path, source.include and "
                                          "source.format")


too_many_unread_samples_stop_the_run_with_their_place()
a_limit_that_bears_them_counts_them_everywhere()
what_is_declared_missing_is_filled_and_no_error()
too_many_refused_records_stop_the_run_before_anything_is_trained()
records_that_are_all_refused_are_told_before_anything_is_created()
a_replay_of_nothing_says_so()

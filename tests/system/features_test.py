"""Features of a table, as docs/guides/make-features.md makes them, end to end on hourly loads that nobody has measured: a mill that
works by the clocks of Berlin, not at weekends and not on holidays."""

import csv
import json
import math
import random
import re
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

from weirlab import Lab, assert_clean_audits, outcome, run_tests

GUIDE = Path(__file__).parents[2] / "docs/guides/make-features.md"
MODEL = "model: {name: fm, buckets: 1024}"  # it takes whatever columns there are
BERLIN = ZoneInfo("Europe/Berlin")
BEGIN, HOURS = datetime(2024, 3, 4, tzinfo=timezone.utc), 8 * 7 * 24  # a Monday; clocks are set forward on 31 March
HOLIDAY = "2024-04-01"
PARTS = f"zone: Europe/Berlin, fields: [holiday], cyclic: [hour], one_hot: [hour_of_week], holidays: [{HOLIDAY}]"
OF_RECORD = ('{op: csv_text, field: ts, as: when}, {op: calendar, on: when, pattern: "%d/%m/%Y %H:%M %z", ' + PARTS + "}")
OF_EVENT = "{op: event_time}, {op: calendar, " + PARTS + "}"
PIPELINE = """\
pipeline: {name: loads, mode: replay}
datasets:
  - name: loads
    source: {path: DATA, format: csv, include: "*.csv", settle: 0ms}
    time:   {from: field, field: ts, pattern: "%d/%m/%Y %H:%M %z"}
    label:  {field: load, type: f64}
trigger:   {policy: time, every: 4w}
selection: {policy: new_data}
preprocess:
  operators: [OPERATORS]
  batch: {samples: 16}
training: {model: linear, loss: squared, epochs: 40, start_from: scratch, optimizer: {name: adagrad, lr: 0.5}}
evaluation:
  - {name: ahead, strategy: slicing, every: 4w, metrics: [rmse, mape]}
"""


def loads():
    """What a record holds, hour by hour."""
    draw = random.Random(4)
    for hour in range(HOURS):
        at = BEGIN + timedelta(hours=hour)
        local = at.astimezone(BERLIN)
        works = local.weekday() < 5 and 6 <= local.hour < 22 and local.strftime("%Y-%m-%d") != HOLIDAY
        yield at.strftime("%d/%m/%Y %H:%M +0000"), 10 + 5 * works + draw.gauss(0, 0.1)


class LoadsLab(Lab):
    """Loads in megawatts, or in a smaller unit."""

    def __init__(self, operators, pipeline=PIPELINE, unit=1):
        super().__init__(samples=1)
        (self.folder / "stream/part0.jsonl").unlink()
        lines = [f"{at},{load * unit:.3f}" for at, load in loads()]
        (self.folder / "stream/loads.csv").write_text("\n".join(["ts,load", *lines]) + "\n")
        self.pipeline.write_text(pipeline.replace("OPERATORS", operators).replace("DATA", str(self.folder / "stream")))


def measured(run):
    """The worth of the first model in the time after."""
    return {one["metric"]: one["value"] for one in run.of("evaluation") if one["model"] == "loads-1" and one["value"] != "undefined"}


def test_the_hour_in_a_record_and_the_event_time_of_its_sample_make_the_same_model():
    outcomes = []
    for operators in (OF_RECORD, OF_EVENT):
        lab = LoadsLab(operators)
        run = lab.run().finish()
        assert_clean_audits(run.events)
        assert all(one["audit"]["failed"] == 0 for one in run.of("training_finished"))
        found = measured(run)
        assert found["rmse"] < 1 and found["mape"] < 0.1, found
        outcomes.append(outcome(run.events))
        lab.remove()
    assert outcomes[0] == outcomes[1], outcomes


def test_a_row_that_is_not_stored_has_the_time_in_its_record_and_no_other():
    for operators, is_told in ((OF_RECORD, True), (OF_EVENT, False)):
        lab = LoadsLab(operators)
        lab.run().finish()
        rows = lab.folder / "rows.csv"
        rows.write_text("ts,load\n06/05/2024 08:00 +0000,\n05/05/2024 08:00 +0000,\n")
        said = [json.loads(line)["values"] for line in lab.weir("predict", str(rows), expect=0 if is_told else 1).splitlines()]
        if is_told:
            (monday,), (sunday,) = said
            assert abs(monday - 15) < 1 and abs(sunday - 10) < 1, said
        else:
            assert said == [None, None], said
        lab.remove()


def test_a_label_is_learned_in_any_unit_and_predicted_in_its_own():
    found, losses = [], []
    for unit in (1, 1000):
        lab = LoadsLab("{op: scale_label}, " + OF_EVENT, unit=unit)
        run = lab.run().finish()
        found.append(measured(run))
        losses.append(run.of("training_finished")[0]["loss"])
        said = [one["values"][0] for one in json.loads(lab.weir("predict", "--limit", "100", "--json"))["predictions"]]
        assert 8 * unit < min(said) < max(said) < 17 * unit, said
        lab.remove()
    (rmse, mape), (large_rmse, large_mape) = (one.values() for one in found)
    assert math.isclose(rmse * 1000, large_rmse, rel_tol=1e-3) and math.isclose(mape, large_mape, rel_tol=1e-3), found
    assert math.isclose(losses[0] * 1000 ** 2, losses[1], rel_tol=1e-3), losses
    lab = LoadsLab(OF_EVENT, unit=1000)
    run = lab.run().finish()
    assert measured(run)["rmse"] > 2 * large_rmse, "without it a learning rate is good for one unit"
    lab.remove()


def test_a_model_that_starts_from_another_keeps_its_scale():
    lab = LoadsLab("{op: scale_label}, " + OF_EVENT, PIPELINE.replace("start_from: scratch", "start_from: previous"), unit=1000)
    run = lab.run().finish()
    fitted = [path.read_bytes() for path in lab.data_dir.glob("fitted/*.fitted")]
    assert len(fitted) == len(run.of("training_finished")) > 1 and len(set(fitted)) == 1, fitted
    lab.remove()


def test_a_label_that_is_no_number_is_not_scaled():
    lab = VisitsLab("[town]")
    lab.pipeline.write_text(lab.pipeline.read_text().replace("operators:\n", "operators:\n    - {op: scale_label}\n"))
    said = lab.weir("config", "check", str(lab.pipeline), "--json", expect=2)
    assert "training.loss: found logistic, whose labels are classes, expected squared" in said, said
    lab.remove()


VISITS = """\
pipeline: {name: loads, mode: replay}
datasets:
  - name: visits
    source: {path: DATA, format: csv, include: "*.csv", settle: 0ms}
    time:   {from: field, field: ts}
    label:  {field: bought, classes: ["no", "yes"]}
trigger:   {policy: time, every: 4w}
selection: {policy: new_data}
preprocess:
  operators:
    - {op: csv_words, fields: FIELDS, keep_empty: true}
    - {op: target_encode, smooth: 2}
  batch: {samples: 32}
training: {model: linear, loss: logistic, epochs: 20, start_from: scratch, optimizer: {name: adagrad, lr: 0.5}}
evaluation:
  - {name: ahead, strategy: slicing, every: 4w, metrics: [roc_auc]}
"""


def visits():
    """Towns differ in how much they buy; of 250 users nearly each has come only once or twice when the first model is made, and buys as his town does."""
    draw = random.Random(9)
    rates = [draw.betavariate(1, 1) for _ in range(40)]
    for hour in range(HOURS):
        town = draw.randrange(len(rates))
        at = (BEGIN + timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f"{at},u{draw.randrange(250)},t{town},{'yes' if draw.random() < rates[town] else 'no'}"


class VisitsLab(LoadsLab):
    def __init__(self, fields):
        super().__init__("", VISITS.replace("FIELDS", fields))
        (self.folder / "stream/loads.csv").write_text("\n".join(["ts,user,town,bought", *visits()]) + "\n")


def test_labels_do_not_leak_through_a_column_of_users_who_come_once():
    found = {}
    for fields in ("[town]", "[user]", "[user, town]"):
        lab = VisitsLab(fields)
        run = lab.run().finish()
        assert_clean_audits(run.events)
        found[fields] = measured(run)["roc_auc"]
        lab.remove()
    assert found["[town]"] > 0.75 and found["[user]"] < 0.6, found
    assert found["[user, town]"] > found["[town]"] - 0.02, "a model that trusted users would have lost what it knows of towns"


def test_what_the_guide_adds_to_a_series_is_known_a_horizon_before():
    draw = random.Random(2)
    hours = [BEGIN + timedelta(hours=hour) for hour in range(0, 400) if hour % 37 != 5]  # with gaps
    series = {at: round(draw.uniform(1, 9), 2) for at in hours}
    written = [f"{at:%Y-%m-%d %H:%M:%S},{load}" for at, load in series.items()]
    draw.shuffle(written)
    program = GUIDE.parent / "programs/add_lags.py"
    words = "--time ts --value load --horizon 24h --lags 24h,168h --windows 24h".split()
    said = subprocess.run([program, *words], input="\n".join(["ts,load", *written]), check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(said.splitlines()))
    assert len(rows) == len(series)
    for row in rows:
        at = datetime.fromisoformat(row["ts"] + "+00:00")
        for name, lag in (("load_24h_ago", 24), ("load_168h_ago", 168)):
            assert row[name] == str(series.get(at - timedelta(hours=lag), "")), row
        before = [load for when, load in series.items() if timedelta(hours=24) <= at - when < timedelta(hours=48)]
        assert math.isclose(float(row["load_mean_24h"]), sum(before) / len(before)) if before else not row["load_mean_24h"], row
    late = subprocess.run([program, *words, "--lags", "1h"], input="ts,load\n", capture_output=True, text=True)
    assert late.returncode == 2 and "lag 1h is younger than the horizon" in late.stderr, late.stderr


def test_the_first_records_are_tried_with_their_times_and_labels():
    for lab in (LoadsLab("{op: scale_label}, " + OF_EVENT), VisitsLab("[town]")):
        said = lab.weir("config", "check", str(lab.pipeline), "--data")
        assert "scale_label" in said or "target_encode        words -> encoded [" in said, said
        lab.remove()


def test_the_operators_of_the_guide_are_right():
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.S | re.M)
    assert len(blocks) >= 7, blocks
    lab = LoadsLab(OF_EVENT)
    skeleton = lab.pipeline.read_text()
    for block in blocks:
        lines = block.removeprefix("operators:\n").split("\n")
        operators = "\n".join("  " + line for line in lines if line.startswith("  "))
        text = skeleton.replace("  operators: [" + OF_EVENT + "]", "  operators:\n" + operators).replace("model: linear", MODEL)
        assert operators in text, block
        lab.pipeline.write_text(text)
        lab.weir("config", "check", str(lab.pipeline))
    lab.remove()


run_tests(globals())

"""Features of real tables: hourly traffic by the calendar, ratings by user and film, rain by the day of the year, as
docs/guides/make-features.md tells.

The data is not Weir's to ship: WEIR_TEST_DATA names a folder with metro-traffic/metro.csv.zst,
movielens-latest-small/ratings.csv.zst and noaa-weather/weather.csv.zst; without it the test is skipped."""

import os
import subprocess
import sys
from pathlib import Path

from weirlab import SKIPPED, Lab, assert_clean_audits, run_tests

DATA = Path(os.environ.get("WEIR_TEST_DATA", "."))
TRAFFIC = DATA / "metro-traffic/metro.csv.zst"
RATINGS = DATA / "movielens-latest-small/ratings.csv.zst"
WEATHER = DATA / "noaa-weather/weather.csv.zst"

HOURS = """\
pipeline: {name: real, mode: replay}
datasets:
  - name: hours
    source: {path: DATA, format: csv}
    time:   {from: field, field: date_time, zone: America/Chicago}
    label:  {field: traffic_volume, type: f64}
trigger:   {policy: time, every: 1 year}
selection: {policy: new_data, tail_triggers: all}
preprocess:
  operators:
    - {op: scale_label}
CALENDAR
    - {op: csv_fields, fields: [temp, rain_1h, snow_1h, clouds_all]}
    - {op: clamp, min: 0, max: 320}
    - {op: standardize}
  batch: {samples: 64}
training: {model: linear, loss: squared, epochs: 5, start_from: scratch, optimizer: {name: adagrad, lr: 0.1}}
evaluation:
  - {name: found, strategy: slicing, every: 1 year, models: active, metrics: [rmse, mae, mape, r2]}
"""
CALENDAR = """\
    - {op: event_time}
    - {op: calendar, zone: America/Chicago, one_hot: [hour_of_week, month], fields: [holiday],
       holidays: [01-01, 07-04, 12-24, 12-25, 2012-11-22, 2013-05-27, 2013-09-02, 2013-11-28, 2014-05-26, 2015-09-07, 2015-11-26,
                  2016-05-30, 2016-09-05, 2016-11-24, 2017-05-29, 2017-09-04, 2017-11-23, 2018-05-28, 2018-09-03]}"""

FILMS = """\
pipeline: {name: real, mode: replay}
datasets:
  - name: ratings
    source: {path: DATA, format: csv}
    time:   {from: field, field: timestamp}
    label:  {field: rating, at_least: 4}
    holdout: {share: 0.1}
trigger:   {policy: amount, samples: 100836}
selection: {policy: new_data, seed: 1}
preprocess:
  operators:
    - {op: csv_words, fields: [userId, movieId]}
    - {op: tokenize_hash, buckets: 1048576}
  batch: {samples: 64}
training: {model: {name: fm, buckets: 65536, factors: 8, normalise: true}, loss: logistic, epochs: 3, seed: 1, start_from: scratch,
           optimizer: {name: adagrad, lr: 0.2, epsilon: 0.01}}
evaluation:
  - {name: found, on: holdout, strategy: static, intervals: [{from: 1996-01-01, to: 2019-01-01}], models: matrix, when: after_pipeline,
     metrics: [roc_auc]}
"""

DAYS = """\
pipeline: {name: real, mode: replay}
datasets:
  - name: days
    source: {path: DATA, format: csv}
    time:   {from: record, start: 1948-12-31, every: 1d}
    label:  {field: target}
trigger:   {policy: time, every: 1 year, from: 1950-01-01}
selection: {policy: new_data, tail_triggers: all, seed: 1}
preprocess:
  operators:
    - {op: csv_fields, fields: [feat_1, feat_2, feat_3, feat_4, feat_5, feat_6, feat_7, feat_8]}
    - {op: standardize}
    - {op: event_time}
    - {op: calendar, cyclic: [day_of_year]}
  batch: {samples: 32}
training: {model: {name: fm, buckets: 1024, factors: 8}, loss: logistic, epochs: 20, seed: 1, start_from: scratch,
           optimizer: {name: adagrad, lr: 0.1}}
evaluation:
  - {name: found, strategy: slicing, every: 1 year, from: 1950-01-01, models: active, metrics: [accuracy, roc_auc]}
"""


def measured(pipeline, data):
    """Of each metric what it was in each interval, with the samples."""
    lab = Lab(samples=1)
    (lab.folder / "stream/part0.jsonl").unlink()
    with (lab.folder / "stream/data.csv").open("wb") as out:
        subprocess.run(["zstd", "-dcq", data], stdout=out, check=True)
    lab.pipeline.write_text(pipeline.replace("DATA", str(lab.folder / "stream")))
    run = lab.run().finish()
    assert_clean_audits(run.events)
    assert all(one["audit"]["failed"] == 0 for one in run.of("training_finished"))
    found = {}
    for one in run.of("evaluation"):
        found.setdefault(one["metric"], {})[one["interval"]["from"][:4]] = one["value"], one["samples"]
    lab.remove()
    return found


def mean(values):
    return sum(value * samples for value, samples in values.values()) / sum(samples for _, samples in values.values())


def test_hours_are_told_by_the_calendar():
    found = measured(HOURS.replace("CALENDAR", CALENDAR), TRAFFIC)
    for year in found["rmse"]:
        print(f"    {year}:", *(f"{metric} {found[metric][year][0]:.4g}" for metric in found), flush=True)
    blind = measured(HOURS.replace("CALENDAR\n", ""), TRAFFIC)["rmse"]["2018"][0]
    print(f"    2018 without the calendar: rmse {blind:.4g}")
    assert found["rmse"]["2018"][0] < 520 and found["mape"]["2018"][0] < 0.2 and blind > 1500


def test_ratings_are_told_by_user_and_film():
    auc = mean(measured(FILMS, RATINGS)["roc_auc"])
    print(f"    roc_auc {auc:.4f}")
    assert auc >= 0.765


def test_rain_is_told_by_measurements_and_the_day_of_the_year():
    found = measured(DAYS, WEATHER)
    print(f"    accuracy {mean(found['accuracy']):.4f}, roc_auc {mean(found['roc_auc']):.4f}")
    assert mean(found["accuracy"]) >= 0.79


missing = [str(path) for path in (TRAFFIC, RATINGS, WEATHER) if not path.exists()]
if missing:
    print(f"skipped: WEIR_TEST_DATA names no folder with {', '.join(missing)}")
    sys.exit(SKIPPED)
run_tests(globals())

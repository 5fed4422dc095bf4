"""Drift says which features have moved and by how much, by the names that the table gives them: half-way through a
stream of weather it becomes ten degrees warmer."""

import json
import random

from weirlab import Lab, run_tests

SAMPLES, CHANGE, WARMER = 400, 200, 10
PIPELINE = """\
pipeline: {name: weather, mode: replay}
datasets:
  - name: stations
    source: {path: DATA, format: csv, include: "*.csv", settle: 0ms}
    time:   {from: field, field: ts}
    label:  {field: rain, classes: ["no", "yes"]}
trigger:   {policy: drift, on: ON, samples: 100, reference: 100, current: 100, statistics: [STATISTIC]}
selection: {policy: new_data}
preprocess:
  operators: [OPERATORS]
  batch: {samples: 16}
training: {model: MODEL, epochs: 1, start_from: scratch}
"""
TABLE = "{op: csv_fields, fields: [damp, 1, wind], as: air}, {op: event_time}, {op: calendar, cyclic: [hour]}"


class WeatherLab(Lab):
    def __init__(self, statistic, on="features", operators=TABLE, model="{name: fm, buckets: 64}"):
        super().__init__(samples=1)
        (self.folder / "stream/part0.jsonl").unlink()
        draw, lines = random.Random(7), ["ts,temp,damp,wind,rain"]
        for hour in range(SAMPLES):
            warm = draw.gauss(12, 3) + (WARMER if hour >= CHANGE else 0)
            lines.append(f"{1700000000 + 3600 * hour},{warm:.1f},{draw.random():.3f},{draw.gauss(5, 1):.2f},{draw.choice(['no', 'yes'])}")
        (self.folder / "stream/weather.csv").write_text("\n".join(lines) + "\n")
        words = {"DATA": str(self.folder / "stream"), "STATISTIC": statistic, "ON": on, "OPERATORS": operators, "MODEL": model}
        text = PIPELINE
        for word, value in words.items():
            text = text.replace(word, value)
        self.pipeline.write_text(text)


def fired_by_the_change(lab):
    """The first trigger has nothing to compare with."""
    first, *later = lab.run().finish().of("trigger_fired")
    assert "moved" not in first["decision"] and later, (first, later)
    return later[0]


def assert_warmer(fired, by):
    decision = fired["decision"]
    moved = {row["feature"]: row for row in decision["moved"]}
    assert decision["moved_by"] == by and decision["features"] == len(moved), decision
    farthest = decision["moved"][0]
    assert farthest["feature"] == 'air[1] "temp"', decision
    assert abs(farthest["current_mean"] - farthest["reference_mean"] - WARMER) < 2, farthest
    assert farthest["reference_missing"] == farthest["current_missing"] == 0, farthest
    assert [row["distance"] for row in decision["moved"]] == sorted((row["distance"] for row in decision["moved"]), reverse=True)
    assert f'farthest by {by}: air[1] "temp" {farthest["distance"]:.3g} (mean ' in fired["reason"], fired
    return moved


def test_a_statistic_that_goes_feature_by_feature_names_those_that_moved():
    lab = WeatherLab("{name: ks, criterion: {policy: threshold, value: 0.2}}")
    fired = fired_by_the_change(lab)
    print(fired["reason"], flush=True)
    moved = assert_warmer(fired, "ks")
    assert set(moved) == {'air[0] "damp"', 'air[1] "temp"', 'air[2] "wind"',
                          'calendar[0] "hour sine"', 'calendar[1] "hour cosine"'}, moved
    shown = lab.weir("report")
    assert fired["reason"] in shown and fired["reason"] in lab.weir("status", "--json").replace('\\"', '"'), shown
    row = json.loads(lab.weir("report", "--json"))["triggers"][1]
    assert row["decision"]["moved"] == fired["decision"]["moved"][:5] and row["decision"]["features"] == 5, row
    lab.remove()


def test_a_statistic_of_all_features_at_once_is_explained_by_ks():
    lab = WeatherLab("{name: mmd, criterion: {policy: threshold, value: 0.05}}", operators=TABLE.split(", {op: event_time}")[0])
    fired = fired_by_the_change(lab)
    assert fired["decision"]["moved"][0]["feature"] == 'air[1] "temp"' and fired["decision"]["moved_by"] == "ks", fired
    lab.remove()


def test_numbers_of_an_embedding_are_counted():
    lab = WeatherLab("{name: ks, criterion: {policy: threshold, value: 0.2}}", on="embeddings",
                     operators="{op: csv_fields, fields: [temp, damp]}", model="linear")
    fired = fired_by_the_change(lab)
    assert fired["decision"]["moved"][0]["feature"].startswith("embeddings["), fired
    lab.remove()


run_tests(globals())

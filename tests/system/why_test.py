"""Triggers say why, with names and numbers: half-way through a stream of weather it becomes ten degrees warmer, and from
then on it rains when it is warm, not when it is cold."""

import json
import random

from weirlab import Lab, run_tests, served

SAMPLES, CHANGE, WARMER = 400, 200, 10
PIPELINE = """\
pipeline: {name: weather, mode: replay}
datasets:
  - name: stations
    source: {path: DATA, format: csv, include: "*.csv", settle: 0ms}
    time:   {from: field, field: ts}
    label:  {field: rain, classes: ["no", "yes"]}
trigger:   {TRIGGER}
selection: {policy: new_data}
preprocess:
  operators: [OPERATORS]
  batch: {samples: 16}
training: {model: MODEL, start_from: scratch}
evaluation: [{name: ahead, strategy: slicing, every: 1d, when: after_pipeline, metrics: [{name: accuracy, by: label}]}]
"""
DRIFT = "policy: drift, on: {}, samples: 100, reference: 100, current: 100, statistics: [{{name: {}, criterion: {{policy: threshold, value: {}}}}}]"
TABLE = "{op: csv_fields, fields: [damp, 1, wind], as: air}, {op: event_time}, {op: calendar, cyclic: [hour]}"


def write_weather(path):
    draw, lines = random.Random(7), ["ts,temp,damp,wind,rain"]
    for hour in range(SAMPLES):
        warm = draw.gauss(12, 3) + (WARMER if hour >= CHANGE else 0)
        rain = "yes" if (warm > 22) == (hour >= CHANGE) and (hour >= CHANGE or warm < 12) else "no"
        lines.append(f"{1700000000 + 3600 * hour},{warm:.1f},{draw.random():.3f},{draw.gauss(5, 1):.2f},{rain}")
    path.write_text("\n".join(lines) + "\n")


class WeatherLab(Lab):
    def __init__(self, trigger, operators=TABLE, model="{name: fm, buckets: 64}, epochs: 1"):
        super().__init__(samples=1)
        (self.folder / "stream/part0.jsonl").unlink()
        write_weather(self.folder / "stream/weather.csv")
        words = {"DATA": str(self.folder / "stream"), "TRIGGER": trigger, "OPERATORS": operators, "MODEL": model}
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
    lab = WeatherLab(DRIFT.format("features", "ks", 0.2))
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
    lab = WeatherLab(DRIFT.format("features", "mmd", 0.05), operators=TABLE.split(", {op: event_time}")[0])
    fired = fired_by_the_change(lab)
    assert fired["decision"]["moved"][0]["feature"] == 'air[1] "temp"' and fired["decision"]["moved_by"] == "ks", fired
    lab.remove()


def test_numbers_of_an_embedding_are_counted():
    lab = WeatherLab(DRIFT.format("embeddings", "ks", 0.2),
                     operators="{op: csv_fields, fields: [temp, damp]}", model="linear, epochs: 1")
    fired = fired_by_the_change(lab)
    assert fired["decision"]["moved"][0]["feature"].startswith("embeddings["), fired
    lab.remove()


def detecting_lab(detectors="{policy: ddm}"):
    return WeatherLab(f"policy: performance, samples: 50, detectors: [{detectors}]",
                      operators="{op: csv_fields, fields: [temp]}, {op: standardize}", model="linear, epochs: 20")


def test_detectors_say_what_they_compared():
    lab = detecting_lab("{policy: ddm}, kswin")
    fired = fired_by_the_change(lab)
    said = {row["detector"]: row for row in fired["decision"]["detectors"]}
    assert set(said) == {"ddm", "kswin"} and any(row["verdict"] == "change" for row in said.values()), fired
    ddm = said["ddm"]
    assert ddm["compares"] == "error rate plus deviation" and ddm["with"] == "lowest rate", ddm
    assert (ddm["found"] > ddm["limit"]) == (ddm["verdict"] == "change") and ddm["base"] <= ddm["warning"] <= ddm["limit"], ddm
    assert f"the model's mistakes have changed; ddm: error rate plus deviation {ddm['found']:.4g}" in fired["reason"], fired
    lab.remove()


def shown_metrics(lab, *words):
    """Each place where an answer names a metric."""
    def metrics(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        own = [value["metric"]] if isinstance(value, dict) and "metric" in value else []
        return own + [metric for one in inner for metric in metrics(one)]
    return set(metrics(json.loads(lab.weir(*words, "--json"))))


def test_metrics_of_a_class_have_its_name():
    for declared, names in (('["no", "yes"]', ("no", "yes")), ('["1", "0"]', ("1", "0")), ("stream", ("no", "yes"))):
        named = {"accuracy(by=label)"} | {f"accuracy(by=label)[label={name}]" for name in names}
        lab = WeatherLab("policy: amount, samples: 150", operators="{op: csv_fields, fields: [temp]}", model="linear, epochs: 1")
        lab.pipeline.write_text(lab.pipeline.read_text().replace('["no", "yes"]', declared))
        table = lab.folder / "stream/weather.csv"
        table.write_text(table.read_text().replace(",no\n", f",{names[0]}\n").replace(",yes\n", f",{names[1]}\n"))
        told = {event["metric"] for event in lab.run().finish().of("evaluation")}
        if declared == "stream":  # a name that came with a sample may be a person's, and is kept by storage alone
            assert told == {"accuracy(by=label)", "accuracy(by=label)[label=0]", "accuracy(by=label)[label=1]"}, told
        else:
            assert told == named, told
        with served(lab):
            for words in (("report",), ("models", "show", "weather-1"), ("models", "list", "--pipeline", "weather"), ("evaluate", "weather")):
                assert shown_metrics(lab, *words) == named, (declared, words)
            assert f"accuracy(by=label)[label={names[1]}]" in lab.weir("report")
        lab.remove()


if __name__ == "__main__":
    run_tests(globals())

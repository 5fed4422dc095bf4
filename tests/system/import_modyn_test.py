"""weir import modyn: files in both dialects, written here after the published keys, become pipelines that weir config check accepts; each
key gets a line; Python is recognised by its text and never run; what is broken is one line and no crash. With `real`: all pipeline files
of a copy of Modyn's repository, where WEIR_TEST_DATA has one as modyn/."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from weirlab import SKIPPED, binaries, run_tests

DATA = Path(os.environ.get("WEIR_TEST_DATA", "")) / "modyn"
RECORD = """\
import numpy as np
def bytes_parser_function(row):
  numbers = np.frombuffer(row[:20], dtype=np.float32)
  kinds = np.frombuffer(row[20:], dtype=np.int32)
  return {"numbers": numbers, "kinds": kinds}
"""
PICTURE = """\
from PIL import Image
def bytes_parser_function(b):
  return Image.open(io.BytesIO(b)).convert("RGB")  # as it is
"""
OLD = """\
pipeline: {name: Old one, description: "a click, as it was written before 2024", version: 0.0.1}
model: {id: DLRM, config: {embedding_dim: 16, categorical_features_info: {a: 10, b: 20}}}
model_storage: {full_model_strategy: {name: PyTorchFullModel}}
training:
  gpus: 1
  device: "cuda:0"
  dataloader_workers: 4
  num_prefetched_partitions: 1
  parallel_prefetch_requests: 1
  use_previous_model: False
  initial_model: random
  initial_pass: {activated: False}
  batch_size: 512
  amp: True
  optimizers: [{name: mlp, algorithm: FusedSGD, source: APEX, param_groups: [{module: model, config: {lr: 3}}]}]
  optimization_criterion: {name: BCEWithLogitsLoss}
  checkpointing: {activated: False}
  selection_strategy:
    name: CoresetStrategy
    maximum_keys_in_memory: 1000
    config:
      limit: -1
      reset_after_trigger: False
      presampling_config: {strategy: TriggerBalancedPresamplingStrategy, ratio: 50}
      downsampling_config: {strategy: GradNormDownsamplingStrategy, ratio: 25, sample_then_batch: False}
data:
  dataset_id: clicks
  bytes_parser_function: |
    RECORD
trigger: {id: TimeTrigger, trigger_config: {trigger_every: 2w}}
evaluation:
  device: cpu
  datasets:
    - dataset_id: clicks
      bytes_parser_function: |
        RECORD
      batch_size: 512
      dataloader_workers: 1
      metrics: [{name: ROC-AUC}, {name: F1-score, config: {num_classes: 2, average: macro}}]
"""
NEW = """\
pipeline: {name: new, version: 1.0.0}
model: {id: ResNet18, config: {num_classes: 3}}
model_storage:
  full_model_strategy: {name: PyTorchFullModel}
  incremental_model_strategy: {name: WeightsDifference, full_model_interval: 7, config: {operator: xor}}
training:
  gpus: 1
  device: cpu
  epochs_per_trigger: 4
  dataloader_workers: 2
  use_previous_model: True
  initial_model: random
  batch_size: 64
  drop_last_batch: False
  shuffle: True
  seed: 42
  optimizers: [{name: default, algorithm: SGD, source: PyTorch, param_groups: [{module: model, config: {lr: 0.1}}]}]
  optimization_criterion: {name: CrossEntropyLoss}
  checkpointing: {activated: False}
data:
  dataset_id: photos
  transformations: ["transforms.RandomResizedCrop(48)", "transforms.RandomHorizontalFlip()", "transforms.ToTensor()",
                    "transforms.Normalize((0.5,), (0.25,))"]
  bytes_parser_function: |
    PICTURE
trigger:
  id: DataDriftTrigger
  evaluation_interval_data_points: 500
  warmup_intervals: 2
  warmup_policy: {id: DataAmountTrigger, num_samples: 300}
  windowing_strategy: {id: TimeWindowingStrategy, limit_ref: 30d, limit_cur: 10d, allow_overlap: True}
  metrics:
    one: {id: AlibiDetectMmdDriftMetric, decision_criterion: {id: ThresholdDecisionCriterion, threshold: 0.4}}
    two: {id: EvidentlyModelDriftMetric, decision_criterion: {id: DynamicQuantileThresholdCriterion, window_size: 8, quantile: 0.1}}
  aggregation_strategy: {id: AtLeastN, n: 1}
selection_strategy:
  name: CoresetStrategy
  maximum_keys_in_memory: 1000
  limit: 5000
  tail_triggers: null
  warmup_triggers: 2
  downsampling_config: {strategy: Uncertainty, score_metric: LeastConfidence, ratio: 30, sample_then_batch: True, balance: True, period: 2}
evaluation:
  device: cpu
  handlers:
    - execution_time: manual
      models: active
      strategy: {type: SlicingEvalStrategy, eval_every: 1y, eval_start_from: 0, eval_end_at: 31536000}
      datasets: [photos]
    - {execution_time: after_pipeline, models: training, strategy: {type: BetweenTwoTriggersEvalStrategy}, datasets: [photos]}
  datasets:
    - {dataset_id: photos, batch_size: 8, dataloader_workers: 1, metrics: [{name: Accuracy, topn: 3}, {name: Accuracy}]}
"""
SYSTEM = """\
storage:
  datasets:
    - name: clicks
      base_path: CLICKS
      file_wrapper_type: BinaryFileWrapper
      file_wrapper_config: {file_extension: .bin, byteorder: little, record_size: 36, label_size: 8}
    - name: photos
      base_path: PHOTOS
      file_wrapper_type: SingleSampleFileWrapper
      file_wrapper_config: {file_extension: .png, label_file_extension: .label}
"""


def indented(text, indent):
    return text.rstrip("\n").replace("\n", "\n" + " " * indent)


def filled(text):
    lines = []
    for line in text.splitlines():
        for name, source in (("RECORD", RECORD), ("PICTURE", PICTURE)):
            if line.strip() == name:
                indent = len(line) - len(name)
                line = " " * indent + indented(source, indent)
        lines.append(line)
    return "\n".join(lines) + "\n"


class Desk:
    """A working directory with files of Modyn's."""

    def __init__(self, folder, **texts):
        self.folder = Path(folder)
        for name in ("clicks", "photos"):
            (self.folder / name).mkdir()
        for name, text in texts.items():
            self.write(name, text)

    def write(self, name, text):
        (self.folder / f"{name}.yml").write_text(text.replace("CLICKS", str(self.folder / "clicks")).replace("PHOTOS", str(self.folder / "photos")))

    def import_them(self, *words, expect=0):
        done = subprocess.run([binaries() / "weir", "import", "modyn", *words, "--json"], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == expect, (words, done.returncode, done.stdout[-2000:], done.stderr)
        return json.loads(done.stdout)

    def text(self, name):
        return (self.folder / "out" / f"{name}.yaml").read_text()


def line_of(answer, key):
    (line,) = [line for line in answer["lines"] if line["key"] == key]
    return line


def test_a_file_of_the_old_dialect_is_converted():
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, old=filled(OLD), system=SYSTEM)
        said = desk.import_them("old.yml", "system.yml", "-o", "out")
        assert said["counts"] == {"converted": 1, "system file": 1}, said
        old = said["files"][0]
        assert old["valid"] and old["written"] == "out/old.yaml", old
        assert len(old["complaints"]) == 1 and "training.gpus: needs as many gpus" in old["complaints"][0], old["complaints"]
        for part in ("pipeline: {name: Old-one, mode: replay}", f"path: {desk.folder}/clicks, format: binary, include: \"*.bin\", record_bytes: 36",
                     "label:  {offset: 0, type: i64}", "dense: [8, 5, f32], sparse: [28, 2, i32]", "trigger: {policy: time, every: 2w}",
                     "policy: trigger_balanced, ratio: 0.5, batch_then_sample: {score: grad_norm, ratio: 0.25}, tail_triggers: all",
                     "batch: {samples: 512, last: drop, shuffle: none}", "program: dlrm", "start_from: scratch", "gpus: 1", "embedding_dim: 16",
                     "strategy: static, intervals: [{from: 1970-01-01}], models: matrix", "metrics: [roc_auc, {name: f1, average: macro}]"):
            assert part in desk.text("old"), (part, desk.text("old"))
        assert line_of(old, "training.amp")["verdict"] == "differs"
        assert line_of(old, "training.selection_strategy.config.reset_after_trigger")["weir"] == "selection.tail_triggers"
        assert line_of(old, "data.bytes_parser_function")["place"].startswith("old.yml:")


def test_a_file_of_the_dialect_of_today_is_converted_with_the_gaps_it_has():
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, new=filled(NEW), system=SYSTEM)
        (new, _) = desk.import_them("new.yml", "system.yml", "-o", "out")["files"]
        gaps = [line["key"] for line in new["lines"] if line["verdict"] in ("choose", "lacks")]
        assert gaps == ["storage.datasets.file_wrapper_config.label_file_extension"], gaps
        assert new["valid"] and new["complaints"] == [], new
        for part in ("format: files, include: \"*.png\"", "label:  {from: manifest}", "decode_png", "{op: random_resized_crop, size: [48]}", "{op: flip}",
                     "{op: normalize, mean: [0.5], std: [0.25]}", "{policy: drift, on: embeddings, samples: 500, warmup: 2, warmup_policy: {policy: amount, samples: 300}, reference: 30d, current: 10d, "
                     "after_trigger: slide", "votes: 1", "{name: mmd, criterion: {policy: threshold, value: 0.4}}",
                     "{name: classifier, criterion: {policy: quantile, window: 8, quantile: 0.1}}",
                     "policy: coreset, presample: {policy: new_data}, ratio: 0.3, score: {method: uncertainty, metric: least_confidence, balance: true, period: 2}",
                     "tail_triggers: all, limit: 5000, warmup_triggers: 2", "last: short, shuffle: full", "epochs: 4", "seed: 42", "start_from: previous",
                     "strategy: slicing, every: 1 year, from: 1970-01-01T00:00:00Z, to: 1971-01-01T00:00:00Z, models: active, when: on_demand",
                     "strategy: between_triggers, models: trained, when: after_pipeline", "[{name: top_n, n: 3}, accuracy]",
                     "models: {storage: delta, full_every: 7}"):
            assert part in desk.text("new"), (part, desk.text("new"))


def test_other_triggers_are_converted():
    interval = "evaluation_interval_data_points: 200"
    criterion = "{one: {id: StaticPerformanceThresholdCriterion, metric: Accuracy, metric_threshold: 0.8}}"
    cases = {
        "{id: PerformanceTrigger, %s, decision_criteria: %s}" % (interval, criterion):
            "{policy: performance, samples: 200, criteria: [{policy: threshold, value: 0.8}]}",
        "{id: DataIncorporationLatencyCostTrigger, %s, incorporation_delay_per_training_second: 3.5}" % interval:
            "{policy: cost, of: delay, samples: 200, per_training_second: 3.5}",
        "{id: EnsembleTrigger, subtriggers: {a: {id: TimeTrigger, every: 3y}, b: {id: DataAmountTrigger, num_samples: 9}, c: {id: TimeTrigger, every: 1d}}, "
        "ensemble_strategy: {id: MajorityVote}}":
            "{policy: ensemble, at_least: 2, of: [{policy: time, every: 3 years}, {policy: amount, samples: 9}, {policy: time, every: 1d}]}"}
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, system=SYSTEM)
        for number, (trigger, expected) in enumerate(cases.items()):
            desk.write(f"t{number}", filled(OLD).replace("{id: TimeTrigger, trigger_config: {trigger_every: 2w}}", trigger))
            (said, _) = desk.import_them(f"t{number}.yml", "system.yml", "-o", "out")["files"]
            assert f"trigger: {expected}\n" in desk.text(f"t{number}"), desk.text(f"t{number}")
            assert said["valid"] and said["result"] == "converted", said


def test_without_a_system_file_the_dataset_is_guessed_and_said():
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, old=filled(OLD))
        (old,) = desk.import_them("old.yml", "-o", "out")["files"]
        assert old["result"] == "converted with gaps" and line_of(old, "data.dataset_id")["verdict"] == "choose", old
        assert "path: data/clicks, format: binary, include: \"*.bin\", record_bytes: 32" in desk.text("old"), desk.text("old")


def test_python_that_is_not_recognised_is_not_run():
    with tempfile.TemporaryDirectory() as folder:
        marker = Path(folder) / "ran"
        evil = RECORD.replace("  return", f"  open({str(marker)!r}, 'w').close()\n  return")
        desk = Desk(folder, evil=filled(OLD).replace(indented(RECORD, 4), indented(evil, 4)), system=SYSTEM)
        (said, _) = desk.import_them("evil.yml", "system.yml", "-o", "out")["files"]
        line = line_of(said, "data.bytes_parser_function")
        assert line["verdict"] == "choose" and "never run" in line["why"], line
        assert "{op: exec, program: bytes_parser}" in desk.text("evil") and said["valid"], desk.text("evil")
        assert not marker.exists()


def test_what_is_not_known_is_said():
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, odd=filled(OLD).replace("id: TimeTrigger", "id: FullMoonTrigger").replace("amp: True", "ampere: True"))
        (said,) = desk.import_them("odd.yml", "--check")["files"]
        assert line_of(said, "trigger.id")["verdict"] == "lacks" and line_of(said, "training.ampere")["verdict"] == "lacks", said
        assert not (desk.folder / "odd.yaml").exists()


def test_no_file_is_overwritten_and_a_broken_one_stops_no_other():
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, good=filled(OLD), taken=filled(OLD), broken="pipeline: {name: [\n", other="hello: world\n", system=SYSTEM)
        (desk.folder / "out").mkdir()
        (desk.folder / "out/taken.yaml").write_text("precious")
        said = desk.import_them("broken.yml", "other.yml", "taken.yml", "good.yml", "missing.yml", "system.yml", "-o", "out", expect=1)
        results = [file["result"] for file in said["files"]]
        assert results == ["refused", "refused", "refused", "converted", "refused", "system file"], said
        errors = [file.get("error", "") for file in said["files"]]
        assert errors[1] == "other.yml:1:1: found no pipeline.name, expected a pipeline file of Modyn's", errors
        assert "is not overwritten" in errors[2] and desk.text("taken") == "precious", errors


def test_whatever_stands_in_a_file_there_is_an_answer():
    """Files with a value changed for one of another kind, each: converted, or refused in words."""
    draw, others = random.Random(3), ["[]", "{}", "null", "-1", "[[1]]", "{a: {b: 1}}", "1e999", "x" * 600, "'%s%n'"]
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder, system=SYSTEM)
        names = []
        for number in range(120):
            text = filled(draw.choice([OLD, NEW]))
            lines = text.splitlines()
            candidates = [i for i, line in enumerate(lines) if ": " in line and "{" not in line and "|" not in line and "def " not in line]
            at = draw.choice(candidates)
            lines[at] = lines[at].split(": ", 1)[0] + ": " + draw.choice(others)
            names.append(f"case{number}")
            desk.write(names[-1], "\n".join(lines) + "\n")
        said = desk.import_them(*(f"{name}.yml" for name in names), "system.yml", "--check", expect=1)
        assert len(said["files"]) == 121 and sum(said["counts"].values()) == 121, said["counts"]
        assert said["counts"]["refused"] < 60, said["counts"]


def real_files_all_get_an_answer():
    files = [path for path in DATA.rglob("*.y*ml") if "\npipeline:" in "\n" + path.read_text()]
    systems = [path for path in DATA.rglob("*.y*ml") if "\n  datasets:" in path.read_text() and path not in files]
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(files):
            done = subprocess.run([binaries() / "weir", "import", "modyn", path, *systems, "-o", f"{folder}/{number}", "--json"], capture_output=True,
                                  text=True, check=True)
            answer = json.loads(done.stdout)["files"][0]
            counts[answer["result"], "valid" if answer["valid"] else "not valid"] += 1
            unknown = [line for line in answer["lines"] if line["why"].startswith("no key of Modyn's")]
            assert unknown == [], (path, unknown)
            assert answer["valid"] or "vocab.txt" in str(answer["complaints"]), (path, answer["complaints"])
    print(len(files), "files:", dict(counts))
    assert all(result != "refused" for result, _ in counts)


def main():
    if sys.argv[1:] == ["real"]:
        if not DATA.is_dir():
            print("skipped: WEIR_TEST_DATA names no folder with modyn")
            return SKIPPED
        real_files_all_get_an_answer()
        return 0
    run_tests(globals())
    return 0


if __name__ == "__main__":
    sys.exit(main())

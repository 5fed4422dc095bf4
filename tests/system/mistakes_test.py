"""Mistakes in a pipeline file that are found before anything runs: each by one line with its place, and all of them in one round."""

import re
import subprocess
import tempfile
from pathlib import Path

from weirlab import binaries, run_tests

FIELDS = "{op: csv_fields, columns: [ts, user, x, kind, label], fields: [x]}"
WORDS = "{op: csv_words, columns: [ts, user, x, kind, label], fields: [kind]}"
GOOD = f"""\
pipeline: {{name: p, mode: replay}}
datasets:
  - name: d
    source: {{path: FOLDER, format: csv, include: "*.csv"}}
    time: {{from: field, field: ts}}
    label: {{field: label, classes: [good, bad, ugly]}}
trigger: {{policy: amount, samples: 100}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {FIELDS}
  batch: {{samples: 32}}
training: {{model: linear, loss: softmax, epochs: 1}}
evaluation:
  - {{name: e, on: new, strategy: slicing, every: 1 month, metrics: [accuracy]}}
models: {{keep: {{best: 3, by: accuracy}}}}
"""
ROWS = "ts,user,x,kind,label\n2020-01-01T00:00:00Z,a,1,k,good\n2020-01-02T00:00:00Z,b,2,k,bad\n"

EACH = [  # (of the good file, what stands there instead), …, and what the one line says after its place
    ([("loss: softmax", "loss: logistic")], r"training\.loss: found logistic, .*expected softmax, .*'d' has 3"),
    ([("loss: softmax", "loss: squared")], r"training\.loss: found squared, expected softmax"),
    ([("[accuracy]", "[accuracy, rmse]")], r"evaluation\.metrics: found rmse, which compares numbers"),
    ([("[accuracy]", "[accuracy, acuracy]")], r"evaluation\.metrics: unknown metric 'acuracy' \(did you mean accuracy\?\)"),
    ([("on: new", "on: holdout")], r"evaluation\.on: found holdout, .*datasets\[\]\.holdout"),
    ([("on: new", "on: nope")], r"evaluation\.on: unknown dataset 'nope', expected one of new, holdout, d"),
    ([("by: accuracy", "by: roc_auc")], r"models\.keep\.by: expected a metric of an evaluation, found roc_auc"),
    ([("epochs: 1", "epochs: 1, group: user")], r"training\.group: expected a tensor 'user', found 'features' dense f32"),
    ([("epochs: 1", "epochs: 1, slices: [kind]")], r"training\.slices: expected a tensor 'kind', found 'features'"),
    ([(FIELDS, WORDS + "\n    - {op: tokenize_hash, buckets: 100}")], r"training\.model: .*dense f32 tensor, found 'tokens' ragged i32"),
    ([("model: linear", "model: text_bag")], r"training\.model: .*ragged i32 tensor of tokens, found 'features' dense f32"),
    ([(FIELDS, WORDS + "\n    - {op: tokenize_hash, buckets: 1001}"), ("model: linear", "model: {name: text_bag, buckets: 1000}")],
     r"training\.model: text_bag has buckets for 1000 tokens, .*up to 1000"),
    ([(FIELDS, WORDS + "\n    - {op: tokenize_hash, buckets: 1001}"), ("model: linear", "model: {name: text_embedding, buckets: 1000}")],
     r"training\.model: text_embedding has buckets for 1000 tokens"),
    ([(FIELDS, FIELDS + "\n    - {op: standardize, on: features}"), ("policy: new_data", "policy: coreset, score: {method: loss, period: 2}")],
     r"selection\.score\.period: expected none with an operator that is fitted"),
    ([("from: field", "from: mtime")], r"datasets\[0\]\.time\.field: found beside from: mtime, which does not read it: expected another from, or no field"),
    ([("field: ts}", "field: ts, every: 1h}")], r"datasets\[0\]\.time\.every: found beside from: field, which does not read it"),
    ([("from: field", "from: feild")], r"datasets\[0\]\.time\.from: .*did you mean 'field'"),
    ([("new_data", "newdata")], r"selection\.policy: unknown selection policy 'newdata' \(did you mean new_data\?\)"),
    ([("csv_fields", "csv_feelds")], r"preprocess\.operators\.op: unknown operator 'csv_feelds' \(did you mean csv_fields\?\)"),
    ([("fields: [x]", "fields: [z]")], r"preprocess\.operators: csv_fields: .*'z'"),
    ([("  - name: d\n", "  - name: d\n    holdout: {share: 0.1, by: key}\n")],
     r"datasets\[0\]\.holdout\.by: expected one of: sample, subject, found 'key'"),
    ([("epochs: 1", "epochs: 1, ranks: 0")], r"training\.ranks: expected an integer >= 1 and <= 64, found '0'"),
    ([("samples: 32", "samples: 0")], r"preprocess\.batch\.samples: .*found '0'"),
    ([("path: FOLDER", "path: FOLDER_")], r"datasets\[0\]\.source\.path: there is no folder '/.*/data_' here \(did you mean 'data'\?\)"),
    ([("path: FOLDER", "path: FOLDER/a.csv")],
     r"datasets\[0\]\.source\.path: found a file, /.*/data/a\.csv, expected its folder, and include: \"a\.csv\""),
    ([("amount, samples: 100", "time, every: 1 moth")], r"trigger\.every: expected a period such as 12h, .*, found '1 moth'"),
    ([("amount, samples: 100", "time, every: 1d, from: 01/02/2020")], r"trigger\.from: expected a time such as 2002-12-01, found '01/02/2020'"),
    ([("amount, samples: 100", "drift, every: daily, statistics: [psi]")], r"trigger\.every: expected a period such as 12h, .*, found 'daily'"),
    ([("every: 1 month", "every: 0d")], r"evaluation\.every: expected a period such as 12h, .*, found '0d'"),
    ([("every: 1 month", "every: 1d, to: soon")], r"evaluation\.to: expected a time such as 2002-12-01, found 'soon'"),
    ([("slicing, every: 1 month", "static, intervals: [{from: 2020-03-01, to: 2020-02-01}]")],
     r"evaluation\.intervals\.to: expected a time after from, 2020-03-01, found '2020-02-01'"),
    ([("metrics: [accuracy]", "metrics: [accuracy, {name: f1, class: 3}]")], r"evaluation\.metrics\.class: found 3, expected the number of a class, 0 to 2"),
    ([("  batch:", "  on_error: {skip: 1}\n  batch:")], r"preprocess\.on_error: found 1, which may be a number of samples .*, expected a share, such as 1% or 0\.01"),
    ([("  batch:", "  on_error: {retry: 20}\n  batch:")], r"preprocess\.on_error: found 20, which may be a number of samples .*; `retry` alone has no limit"),
    ([("batch: {samples: 32}", "batch: {samples: 101, last: drop}")], r"preprocess\.batch\.last: found drop, which leaves nothing of the 100 samples of a trigger"),
    ([("path: FOLDER", "path: FOLDER/*.csv")], r"datasets\[0\]\.source\.path: there is no folder '/.*/data/\*\.csv' here: a path is no pattern, source\.include is one"),
    ([("path: FOLDER", "path: ~/visits")], r"datasets\[0\]\.source\.path: there is no folder '~/visits' here: no shell reads this, write the path out in full"),
    ([("best: 3, by: accuracy", "best: 3")], r"models\.keep: best needs the metric that it is by, expected \{best: 3, by: roc_auc\} for example"),
    ([("format: csv", "format: cvs")], r"datasets\[0\]\.source\.format: unknown format 'cvs' \(did you mean csv\?\)"),
    ([("format: csv", "format: cvs"), (FIELDS, "{op: csv_fields, fields: [x]}")], r"datasets\[0\]\.source\.format: unknown format 'cvs' \(did you mean csv\?\)"),
    ([("format: csv, ", ""), (FIELDS, "{op: csv_fields, fields: [x]}")], r"datasets\[0\]\.source: the key 'format' is missing: how the files are written: csv, jsonl"),
    ([("format: csv", "format: parquet")], r"datasets\[0\]\.source\.format: unknown format 'parquet'"),
    ([("epochs: 1", "epochs: 1, schedule: step")], r"training\.schedule: the key 'every' is missing"),
    ([("epochs: 1", "epochs: 1, schedule: {name: step}")], r"training\.schedule: the key 'every' is missing"),
    ([(FIELDS, "{op: csv_text, field: kind}\n    - {op: wordpiece, vocabulary: /no/such/vocab.txt}"), ("model: linear", "model: {name: text_bag, buckets: 1000}")],
     r"preprocess\.operators: wordpiece: /no/such/vocab\.txt: cannot open: No such file or directory"),
    ([("samples: 100", "samples: many")], r"trigger\.samples: expected an integer >= 1, found 'many'"),
]
GOOD_ONES = [  # that a rule must not refuse
    [("on: new", "on: holdout"), ("datasets:\n  - name: d\n", "datasets:\n  - name: d\n    holdout: {share: 0.1}\n")],
    [(", classes: [good, bad, ugly]", ""), ("loss: softmax", "loss: squared"), ("[accuracy]", "[mse]"), ("by: accuracy", "by: mse")],
    [("classes: [good, bad, ugly]", "classes: [good, bad]"), ("loss: softmax", "loss: logistic")],
    [("classes: [good, bad, ugly]", "classes: stream")],
    [(FIELDS, WORDS + "\n    - {op: tokenize_hash, buckets: 1000}"), ("model: linear", "model: {name: text_bag, buckets: 1000}")],
    [(FIELDS, WORDS + "\n    - {op: tokenize_hash, buckets: 1000000}"), ("model: linear", "model: {name: fm, buckets: 1000}")],
    [("model: linear, loss: softmax", "program: net")],
    [("batch: {samples: 32}", "batch: {samples: 100, last: drop}")],
    [("[accuracy]", "[accuracy, {name: top_n, n: 2}, {name: f1, class: 2}]")],
    [("  batch:", "  on_error: {skip: 100%}\n  batch:")],
]


def changed(changes, folder):
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    path = folder / "p.yaml"
    path.write_text(text.replace("FOLDER", str(folder / "data")))
    return path


def check(path, *options):
    done = subprocess.run([binaries() / "weir", "config", "check", path, *options], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_each_is_found_by_one_line_with_its_place(folder):
    for changes, expected in EACH:
        code, lines = check(changed(changes, folder))
        assert code == 2 and len(lines) == 1, (changes, code, lines)
        assert re.fullmatch(re.escape(str(folder)) + r"/p\.yaml:\d+:\d+: " + expected + ".*", lines[0]), (expected, lines)


def test_files_that_are_good_are_not_refused(folder):
    for changes in [[]] + GOOD_ONES:
        code, lines = check(changed(changes, folder))
        assert code == 0 and len(lines) == 1 and lines[0].endswith("p.yaml: good"), (changes, lines)


def test_all_are_said_in_one_round_in_the_order_of_their_places(folder):
    together = ["samples: 100", "from: field", "new_data", "csv_fields", "samples: 32", "[accuracy]"]
    changes = [pair for each, _ in EACH for pair in each if pair[0] in together and len(each) == 1]
    changes = list({old: (old, new) for old, new in changes}.values()) + [("loss: softmax", "loss: softmaxx")]
    code, lines = check(changed(changes, folder))
    assert code == 2 and len(lines) == len(together) + 1, lines
    places = [tuple(int(n) for n in re.search(r"p\.yaml:(\d+):(\d+): ", line).groups()) for line in lines]
    assert places == sorted(places), lines


def test_a_system_file_and_the_pipeline_are_told_of_in_one_round(folder):
    system = folder / "s.yaml"
    system.write_text("log_level: loud\nlauncher: k8s\n")
    path = changed([("samples: 32", "samples: 0")], folder)
    done = subprocess.run([binaries() / "weir", "config", "check", path, "--with", system], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 3, done
    assert sum("s.yaml:1:12: log_level: expected debug" in line for line in lines) == 1, lines
    assert sum("s.yaml:2:11: launcher: unknown launcher 'k8s'" in line for line in lines) == 1, lines
    assert sum("p.yaml:12:20: preprocess.batch.samples" in line for line in lines) == 1, lines


def test_numbers_that_are_balanced_as_classes_are_remarked(folder):
    numbers = [("loss: softmax", "loss: squared"), ("[accuracy]", "[mse]"), ("by: accuracy", "by: mse"), ("new_data", "label_balanced")]
    for label, expected in ((", type: float", 2), ("", 1)):
        code, lines = check(changed([*numbers, (", classes: [good, bad, ugly]", label)], folder))
        assert code == 0 and len(lines) == expected, lines
        assert expected == 1 or "p.yaml:8:21: selection.policy: label_balanced takes each different label for a class" in lines[0], lines


def test_a_program_that_is_not_there_is_remarked(folder):
    system = folder / "s.yaml"
    path = changed([("model: linear, loss: softmax", "program: net")], folder)
    for command, expected in (("/no/such/net", 2), ("/bin/true", 1)):
        system.write_text(f"programs: {{net: {{command: [{command}], modes: [train, evaluate]}}}}\n")
        done = subprocess.run([binaries() / "weir", "config", "check", path, "--with", system], capture_output=True, text=True)
        lines = (done.stderr + done.stdout).splitlines()
        assert done.returncode == 0 and len(lines) == expected, done
        assert expected == 1 or "training.program: 'net' is /no/such/net in the system file, which cannot be run here: No such file" in lines[0], lines


def test_a_model_that_is_shown_the_label_is_remarked(folder):
    both = FIELDS.replace("fields: [x]", "fields: [x, label]")
    code, lines = check(changed([(FIELDS, both)], folder))
    assert code == 0 and len(lines) == 2, lines
    assert lines[0].endswith("p.yaml:11:7: preprocess.operators: csv_fields reads 'label', which is the label of dataset 'd': "
                             "the model would be told what it is to learn"), lines
    by_label = FIELDS + "\n    - {op: csv_words, columns: [ts, user, x, kind, label], fields: [label], as: label}\n" \
        "    - {op: tokenize_hash, on: label, buckets: 1000, as: label}"
    code, lines = check(changed([(FIELDS, by_label), ("epochs: 1", "epochs: 1, slices: [label]")], folder))
    assert code == 0 and len(lines) == 1, lines


def test_a_tensor_that_the_model_does_not_read_is_remarked(folder):
    both = FIELDS + "\n    - " + WORDS + "\n    - {op: tokenize_hash, buckets: 100, as: kind}"
    for model, unread in (("linear", "'kind' ragged i32"), ("{name: text_bag, buckets: 100}", "'features' dense f32")):
        code, lines = check(changed([(FIELDS, both), ("model: linear", f"model: {model}")], folder))
        assert code == 0 and len(lines) == 2 and f"learns nothing from {unread}, which preprocess makes" in lines[0], lines
    code, lines = check(changed([(FIELDS, both), ("epochs: 1", "epochs: 1, slices: [kind]")], folder))
    assert code == 0 and len(lines) == 1, lines
    code, lines = check(changed([(FIELDS, both), ("model: linear", "model: fm")], folder))
    assert code == 0 and len(lines) == 1, lines


def test_a_folder_that_is_missing_is_a_mistake_unless_it_may_come_later(folder):
    missing = ("path: FOLDER", "path: FOLDER_")
    for options in ([], ["--data"]):
        code, lines = check(changed([missing], folder), *options)
        assert code == 2 and sum("p.yaml:4:20: datasets[0].source.path: there is no folder" in line for line in lines) == 1, lines
        code, lines = check(changed([missing], folder), "--elsewhere", *options)
        assert code == 0 and sum("p.yaml:4:20: datasets[0].source.path: there is no folder" in line for line in lines) == 1, lines
        code, lines = check(changed([missing, ("mode: replay", "mode: live")], folder), *options)
        later = [line for line in lines if "datasets[0].source.path: there is no folder" in line]
        assert code == 0 and len(later) == 1 and f"(mkdir -p '{folder}/data_')" in later[0], lines
    away = subprocess.run([binaries() / "weir", "config", "check", changed([("FOLDER", "daten")], folder)], capture_output=True,
                          text=True, cwd=folder)
    assert f"there is no folder 'daten' here, looked for in {folder} (did you mean 'data'?)\n" in away.stderr, away


def test_a_run_that_has_no_folder_makes_no_data_directory(folder):
    for mode in ("replay", "live"):
        path = changed([("path: FOLDER", "path: FOLDER_"), ("mode: replay", f"mode: {mode}")], folder)
        done = subprocess.run([binaries() / "orchestrator", "run", path, "--data-dir", folder / "never"], capture_output=True, text=True)
        assert done.returncode == 2 and "there is no folder" in done.stderr + done.stdout, done
        assert not (folder / "never").exists(), mode


def test_metrics_that_say_nothing_and_slots_that_nobody_uses_are_remarked(folder):
    for old, new, expected in (
            ("[accuracy]", "[accuracy, top_n]", "evaluation.metrics: top_n takes a label for right that is among 5 classes, and there are 3"),
            ("[accuracy]", "[{name: accuracy, by: group}, accuracy]", "evaluation.metrics.by: found group, and training.group names no tensor"),
            ("epochs: 1", "epochs: 1, gpus: 2", "training.gpus: built-in models compute on the CPU")):
        code, lines = check(changed([(old, new)], folder))
        assert code == 0 and len(lines) == 2 and expected in lines[0], lines


def test_what_a_system_file_has_to_have_is_refused_or_remarked(folder):
    """Slots and prices that are missing, before any data is read; without a system file nobody knows of them."""
    path = changed([("model: linear, loss: softmax", "program: net"), ("epochs: 1", "epochs: 1, gpus: 2"), ("models:", "budget: {money: 5}\nmodels:")], folder)
    program = "programs: {net: {command: [/bin/true], modes: [train, evaluate]}}\n"
    code, lines = check(path)
    assert code == 0 and len(lines) == 3, lines
    assert "training.gpus: needs as many gpus in the system file, which was not looked at" in lines[0], lines
    assert "budget.money: needs prices in the system file, which was not looked at" in lines[1], lines
    for more, gpus, money in (("", "found 2, and the system file has no GPU slots: expected gpus: 2 there", True),
                              ("gpus: 1\n", r"found 2, expected at most 1 of the system file \(gpus, and quotas\.p\)", True),
                              ("gpus: 4\nquotas: {p: {gpus: 1}}\n", "found 2, expected at most 1 of the system file", True),
                              ("gpus: 4\nprices: {cpu_hour: 1}\n", None, False)):
        system = folder / "s.yaml"
        system.write_text(program + more)
        code, lines = check(path, "--with", system)
        assert code == (2 if gpus else 0) and len(lines) == (2 if gpus else 1), (more, lines)
        assert gpus is None or re.search(r"p\.yaml:\d+:\d+: training\.gpus: " + gpus, lines[0]), lines
        assert not money or re.search(r"p\.yaml:\d+:\d+: budget\.money: expected prices in the system file", lines[1]), lines
        done = subprocess.run([binaries() / "orchestrator", "run", path, "--system", system, "--data-dir", folder / "never", "--dry-run"],
                              capture_output=True, text=True)
        assert gpus is None or (done.returncode == 2 and re.search(gpus, done.stdout + done.stderr)), done


def test_what_may_be_meant_is_remarked(folder):
    code, lines = check(changed([(FIELDS, FIELDS + "\n    - {op: exec, program: mine}")], folder))
    assert code == 0 and any("'mine'" in line and "system file" in line for line in lines), lines


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        (folder / "data" / "a.csv").write_text(ROWS)
        run_tests(globals(), folder)


main()

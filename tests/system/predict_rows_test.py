"""Rows that are not stored: `weir predict` says of them what it says of the same samples once stored, in the order of the input; and
nothing of them is left, also when somebody is killed over them."""

import contextlib
import json
import os
import subprocess
from pathlib import Path

from weirlab import PIPELINE, Lab, await_that, kill, run_tests, serve, served, stopped, victims

WITH_KEYS = (PIPELINE.replace("preprocess:\n", "preprocess:\n  on_error: skip\n")
             .replace("    subject: {{field: user}}\n", "    subject: {{field: user}}\n    key:     {{field: note}}\n"))
TABLE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: visits
    source: {{path: {data}, format: csv, include: "*.csv", import: copy}}
    time:   {{from: field, field: ts}}
    label:  {{field: bought}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators:
    - {{op: csv_fields, columns: [ts, spent, bought], fields: [spent]}}
    - {{op: standardize}}
  batch: {{samples: 16, last: short}}
training: {{model: linear, loss: logistic, epochs: {epochs}, seed: 1}}
deletion:  {{policy: keep}}
"""
FILES = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: notes
    source: {{path: {data}, format: files, include: "**.txt", import: copy}}
    time:   {{from: mtime}}
    label:  {{from: folder, classes: [work, spam]}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: new_data}}
preprocess:
  operators: [{{op: normalize_text}}, {{op: tokenize_words}}, {{op: tokenize_hash, buckets: 4096}}]
training: {{model: {{name: text_bag, buckets: 4096}}, loss: logistic, epochs: {epochs}, seed: 1}}
deletion:  {{policy: keep}}
"""
CANARY = "canaryrow5b2e90c7"


def stored_predictions(lab):
    return [one["values"] for one in json.loads(lab.weir("predict", "--limit", "10000", "--json"))["predictions"]]


def lines_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_near(found, expected):
    assert len(found) == len(expected), (len(found), len(expected))
    assert all(abs(a - b) < 1e-6 for x, y in zip(found, expected) for a, b in zip(x, y, strict=True)), (found, expected)


def places_of(lab, word):
    """Files of the platform, its cluster included, that hold the word."""
    outside = [location.read_text().strip() for location in lab.data_dir.glob("postgres.location")]
    found = []
    for folder in [str(lab.data_dir), *outside]:
        for root, _, names in os.walk(folder):
            paths = [Path(root) / name for name in names]
            found += [path for path in paths if path.is_file() and word.encode() in path.read_bytes()]
    return found


def with_notes():
    lab = Lab(samples=300, every=150, epochs=1, pipeline=WITH_KEYS)
    records = [record | {"note": f"n{i}"} for i, record in enumerate(lab.records)]
    for path in (lab.folder / "stream").glob("*.jsonl"):
        path.unlink()
    (lab.folder / "stream/a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    lab.run().finish()
    return lab, records


def test_lines_in_a_pipe_get_the_predictions_of_stored_samples():
    lab, records = with_notes()
    with served(lab):
        expected = stored_predictions(lab)
        sets = len(list((lab.data_dir / "sets").iterdir()))
        rows = [json.dumps({"text": record["text"], "note": record["note"]}) for record in records]
        said = lines_of(lab.ask("predict", input="\n".join(rows) + "\n"))
        assert [one["id"] for one in said] == [record["note"] for record in records], said
        assert_near([one["values"] for one in said], expected)
        mixed = [rows[0], f"{CANARY} is no JSON", '{"text": 5}', json.dumps({"text": records[1]["text"]}), ""]
        done = lab.ask("predict", "-", input="\n".join(mixed))
        said = lines_of(done)
        assert done.returncode == 1 and [one["id"] for one in said] == ["n0", 2, 3, 4], done
        assert [one["values"] is None for one in said] == [False, True, True, False], said
        assert "expected one object a line" in said[1]["reason"], said
        assert_near([said[0]["values"], said[3]["values"]], expected[:2])
        assert lab.ask("predict", "-", input="").stdout == "" and "found no field" not in done.stderr, done
        for row, meant in (('{"txet": "a"}', " (is it 'txet'?)"), ('{"note": "n1"}', "")):
            told = lab.ask("predict", "-", input=row + '\n{"note": "n2"}\n')
            line = f"stdin: found no field 'text', which operators read: it counts as missing in each row{meant}\n"
            assert told.stderr.endswith(line) and told.stderr.count("found no") == 1 and len(lines_of(told)) == 2, told
        assert len(list((lab.data_dir / "sets").iterdir())) == sets
        datasets = json.loads(lab.weir("datasets", "--json"))["datasets"]
        assert [one["live"] for one in datasets] == [len(records)], datasets
    assert not places_of(lab, CANARY)
    lab.remove()


def test_a_csv_file_is_predicted_with_the_fit_of_the_model():
    lab = Lab(samples=1, every=200, epochs=2, pipeline=TABLE)
    rows = [f"2002-01-01T00:{i // 60:02}:{i % 60:02}Z,{i % 17},{int(i % 17 > 8)}" for i in range(200)]
    (lab.folder / "stream/a.csv").write_text("ts,spent,bought\n" + "\n".join(rows) + "\n")
    lab.run().finish()
    shuffled = lab.folder / "b.csv"
    shuffled.write_text("ts,spent,bought\n" + "\n".join(rows[::-1][:50]) + "\n")
    other = lab.folder / "c.csv"  # its columns in another order, and not all
    other.write_text("spent,note\n" + "\n".join(row.split(",")[1] + ",x" for row in rows[::-1][:50]) + "\n")
    with served(lab):
        expected = stored_predictions(lab)[::-1][:50]
        said = lines_of(lab.ask("predict", shuffled))
        assert_near([one["values"] for one in lines_of(lab.ask("predict", other))], expected)
        twice = lines_of(lab.ask("predict", shuffled, "-", input=shuffled.read_text()))
        misspelt, without = lab.folder / "visits.csv", lab.folder / "e.csv"
        misspelt.write_text("spnt,note\n1,x\n")
        refused = lab.ask("predict", misspelt)
        without.write_text("bought,note\n1,x\n")
        told = lab.ask("predict", without)
    assert refused.returncode != 0 and refused.stdout == "", refused
    assert "visits.csv: found no column 'spent', which operators read, but 'spnt': expected it by its name" in refused.stderr, refused
    assert f"{without}: found no column 'spent', which operators read: it counts as missing in each row" in told.stderr, told
    assert told.returncode == 1 and [one["values"] for one in lines_of(told)] == [None], told
    assert [one["file"] for one in twice] == 50 * [str(shuffled)] + 50 * ["-"], twice
    assert [one["values"] for one in twice] == 2 * [one["values"] for one in said], twice
    assert [one["id"] for one in said] == list(range(2, 52)), said  # lines, after the header
    assert_near([one["values"] for one in said], expected)
    lab.remove()


def test_files_are_rows_where_a_file_is_a_sample():
    lab = Lab(samples=1, every=150, epochs=2, pipeline=FILES)
    for i in range(150):
        folder = lab.folder / "stream" / ("spam" if i % 3 else "work")
        folder.mkdir(exist_ok=True)
        path = folder / f"{i:03}.txt"
        path.write_text(f"{'prize winner' if i % 3 else 'budget meeting'} number {i}")
        os.utime(path, (1_000_000_000 + i,) * 2)
    lab.run().finish()
    paths = sorted((lab.folder / "stream").glob("*/*.txt"))
    with served(lab):
        expected = stored_predictions(lab)
        said = lines_of(lab.ask("predict", *paths))  # more than fit into one piece
        table = lab.weir("predict", "--limit", "200")
    assert [one["id"] for one in said] == [str(path) for path in paths], said
    assert_near([one["values"] for one in said], expected)
    classes = ["spam" if one["values"][0] >= 0.5 else "work" for one in said]
    assert [one["class"] for one in said] == classes and len(set(classes)) == 2, said
    named = [path.parent.name for path in paths] + classes
    assert table.count("spam") == named.count("spam") and table.count("work") == named.count("work"), table
    lab.remove()


class Asker:
    """`weir predict -` whose input stays open: one piece is through, and another one on its way until the workers go on."""

    ROWS = 500

    def __init__(self, lab):
        self.lab = lab
        self.process = lab.begin("predict", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.write()
        self.read()
        self.held = contextlib.ExitStack()
        self.held.enter_context(stopped(victims(lab.data_dir, "worker")))
        self.write()
        await_that(lambda: runs_of(lab))

    def write(self):
        for i in range(self.ROWS):
            self.process.stdin.write(json.dumps({"text": f"{CANARY} hello", "note": f"{CANARY}-{i}"}) + "\n")
        self.process.stdin.flush()

    def go_on(self):
        self.held.close()

    def read(self):
        for i in range(self.ROWS):
            assert json.loads(self.process.stdout.readline())["id"] == f"{CANARY}-{i}"

    def kill(self):
        self.process.kill()
        self.process.communicate()


def runs_of(lab):
    return [path for path in (lab.data_dir / "runs").glob("*") if path.name.isdigit()]


def assert_nothing_is_left(lab):
    assert not runs_of(lab), runs_of(lab)
    assert not places_of(lab, CANARY), places_of(lab, CANARY)


def test_who_is_killed_leaves_nothing_of_the_rows():
    lab, _ = with_notes()
    with served(lab):
        asker = Asker(lab)
        asker.kill()
        asker.go_on()
        await_that(lambda: not runs_of(lab))  # the run ends by itself
        asker = Asker(lab)
        assert kill(lab.data_dir, "trainer")
        asker.go_on()
        asker.read()  # another one has made it
        asker.kill()
        asker = Asker(lab)
        assert kill(lab.data_dir, "storage")
        asker.go_on()
        lines = asker.process.communicate()[0].splitlines()
        assert all(json.loads(line)["values"] is not None for line in lines), lines  # lost rows are no answer
        assert len(lines) in (0, Asker.ROWS) and asker.process.returncode == (0 if lines else 1), asker.process.returncode
    with served(lab):
        assert_nothing_is_left(lab)
    server = serve(lab)
    asker = Asker(lab)
    server.kill()
    server.communicate()
    asker.go_on()
    asker.kill()
    with served(lab):
        assert_nothing_is_left(lab)
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

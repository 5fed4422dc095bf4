"""weir init: somebody who comes with a folder has a trained, evaluated pipeline in two commands. Folders of several kinds are made
here; each is looked at, and what is written is checked and run as it is. With `real`: the same of data sets that nobody made for
this test, where WEIR_TEST_DATA names a folder of them."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path

from weirlab import SKIPPED, Run, binaries, everyone_may_enter, run_tests
from weirlab import Lab as Platform

DATA = Path(os.environ.get("WEIR_TEST_DATA", ""))
REAL = ["bank-marketing", "metro-traffic", "bike-sharing", "movielens-latest-small", "huffpost-10k", "ett", "noaa-weather", "criteo-80k",
        "prsa-beijing"]
BEGIN, DAY = 1_704_067_200, 86400  # 2024-01-01


class Lab(Platform):
    """A working directory in which somebody types weir init."""

    def __init__(self):
        super().__init__(samples=1)
        shutil.rmtree(self.folder / "stream")
        self.draw = random.Random(11)

    def write(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        everyone_may_enter(path.parent)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def init(self, *words, expect=0):
        done = subprocess.run([binaries() / "weir", "init", *words, "--json"], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == expect, (words, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout) if expect == 0 else done.stderr

    def init_and_run(self, source):
        """What is said of the source, and the events of the run; both commands as a person types them."""
        said = self.init("--from", str(source), "-o", "mine.yaml")
        assert said["valid"] and said["complaints"] == [], said
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            _, _, file, *words = said["next"].split()
            run = Run(file, words[1] if words else self.data_dir).finish()
            if words:
                shutil.rmtree(words[1])
        finally:
            os.chdir(here)
        trained = run.of("training_finished")
        assert len(trained) >= 2, run.events
        assert all(one["audit"]["failed"] == 0 for one in trained), trained
        return said, run

    def text(self):
        return (self.folder / "mine.yaml").read_text()


def values_of(run, metric):
    return [one["value"] for one in run.of("evaluation") if one["metric"] == metric and one["value"] != "undefined"]


def stamp(seconds, form):
    return time.strftime(form, time.gmtime(BEGIN + seconds))


def write_visits(lab, folder):
    """Those of docs/guides/begin-with-a-folder.md."""
    for month in range(3):
        rows = ["id;when;temperature;kind;remark;verdict"]
        for day in range(200):
            number = month * 200 + day
            hot, kind = lab.draw.gauss(0, 10), lab.draw.choice(["tea", "coffee", "water"])
            verdict = "bad" if hot > 3 else "good" if kind == "tea" else "fair"
            remark = lab.draw.choice(["came; in a hurry", "stayed for long", "never came again"]) + f" on {number}"
            temperature = "n/a" if number % 40 == 7 else f"{hot:.1f}"
            rows.append(f'{number};{stamp(number * DAY / 6, "%d/%m/%Y %H:%M")};{temperature};{kind};"{remark}";{verdict}')
        lab.write(f"{folder}/month{month}.csv", "\n".join(rows) + "\n")


def test_a_table_of_times_numbers_categories_and_text():
    lab = Lab()
    write_visits(lab, "visits")
    lab.write("visits/notes.xlsx", b"\0" * 50)
    said, run = lab.init_and_run("visits")
    assert said["saw"] == ["visits: 3 CSV files, 600 records of 6 columns divided by semicolons, with a header"], said
    assert said["guessed"][:5] == [
        "time: when, written as %d/%m/%Y %H:%M, 2024-01-01 to 2024-04-09", "label: verdict, by its place, one of 3 classes",
        "numbers: temperature", "categories: kind", "text: remark"], said
    assert said["guessed"][5] == "left out: id (another value in each record)", said
    assert "files that are left out, of other kinds or with other columns: 1 (notes.xlsx)" in said["look"], said
    assert any(line.startswith("is 'verdict' to be learnt?") for line in said["look"]), said
    assert 'missing: [n/a]' in lab.text() and "fill: nan" in lab.text() and "{op: standardize}\n    - {op: fill_missing}" in lab.text() and "classes: [bad, fair, good]" in lab.text()
    assert values_of(run, "accuracy")[-1] > 0.8, values_of(run, "accuracy")
    lab.remove()


def test_files_that_lie_beside_a_table_are_left_out():
    lab = Lab()
    for month in range(2):
        rows = [f"{month * 200 + n},{n % 24},{n % 7},{n % 7 * 3 + n % 2}" for n in range(200)]
        lab.write(f"loads/load-{month}.csv", "\ufeff" + "\n".join(["number,hour,day,load", *rows]) + "\n")  # as spreadsheets begin
    lab.write("loads/places.csv", "place,town\n1,Bath\n2,Wells\n")
    lab.write("loads/manifest.csv", "path,label\nelsewhere.txt,1\n")
    lab.write("loads/README.txt", "source: a friend, who has more of it\n")
    said, _ = lab.init_and_run("loads")
    assert said["saw"] == ["loads: 2 CSV files, 400 records of 4 columns divided by commas, with a header"], said
    assert "files that are left out, of other kinds or with other columns: 2 (README.txt, …)" in said["look"], said
    assert "left out: number (another value in each record)" in said["guessed"], said  # an hour comes again
    assert 'include: "load-*"' in lab.text(), lab.text()
    lab.remove()


def test_days_that_may_be_written_either_way_are_said():
    lab = Lab()
    lab.write("d.csv", "day,x,y\n" + "".join(f"{1 + n % 12:02}/{1 + n // 12 % 12:02}/2024,{n % 7}.5,{n % 2}\n" for n in range(144)))
    said = lab.init("--from", "d.csv")
    assert said["guessed"][0].startswith("time: day, written as %d/%m/%Y"), said
    assert "times may be written as %m/%d/%Y just as well: time.pattern" in said["look"], said
    lab.remove()


def test_a_table_without_header_and_times():
    lab = Lab()
    rows = []
    for _ in range(400):
        x, y = lab.draw.gauss(0, 1), lab.draw.gauss(0, 1)
        rows.append(f"{int(x + y > 0)}\t{x:.3f}\t{y:.3f}\t{lab.draw.choice('abc')}\n")
    lab.write("clicks.tsv", "".join(rows))
    said, run = lab.init_and_run("clicks.tsv")
    assert "divided by tabs, without a header" in said["saw"][0], said
    assert said["guessed"][1] == "label: c1, by its place, 0 or 1", said
    assert f"--data-dir {lab.folder.resolve()}.weir" in said["next"], said  # a platform may not lie in its source
    assert 'delimiter: "\\t", header: false, columns: [c1, c2, c3, c4]' in lab.text()
    assert values_of(run, "roc_auc")[-1] > 0.9, values_of(run, "roc_auc")
    lab.remove()


def test_a_column_without_a_name_is_left_out_and_its_table_has_a_header():
    """As pandas and R write the numbers of rows, and where lines end with a delimiter."""
    lab = Lab()
    rows = [f"{n},{n % 7},{n % 9 - 4}.5,{int(n % 9 > 4)}," for n in range(400)]
    lab.write("index/frame.csv", "\n".join([",kind,x,y,", *rows]) + "\n")
    said, run = lab.init_and_run("index")
    assert said["saw"] == ["index: 1 CSV file, 400 records of 5 columns divided by commas, with a header"], said
    assert said["guessed"][1:4] == ["label: y, by its name, 0 or 1", "numbers: x", "categories: kind"], said
    assert said["guessed"][4] == "left out: column 1 (has no name), column 5 (has no name)", said
    assert values_of(run, "roc_auc")[-1] > 0.9, values_of(run, "roc_auc")
    lab.remove()


def test_numbers_with_decimal_commas_are_numbers_where_semicolons_divide():
    lab = Lab()
    draw = [lab.draw.gauss(10, 5) for _ in range(400)]
    rows = [f"{x:.1f}".replace(".", ",") + f";{n % 3};{'ja' if x > 10 else 'nein'}" for n, x in enumerate(draw)]
    lab.write("wetter/tage.csv", "\r\n".join(["Temperatur;Ort;Regen", *rows]) + "\r\n")
    lab.write("prices/a.csv", "x;price\n" + "".join(f"{n % 7};{n % 90},5\n" for n in range(300)))
    said, run = lab.init_and_run("wetter")
    assert said["guessed"][1:3] == ["label: Regen, by its place, one of 2 classes", "numbers: Temperatur"], said
    assert "numbers are written as 12,5: one that is to be learnt has to be written with a point" in said["look"], said
    assert "fields: [Temperatur], decimal: comma}" in lab.text(), lab.text()
    assert values_of(run, "accuracy")[-1] > 0.9, values_of(run, "accuracy")
    (lab.folder / "mine.yaml").unlink()
    assert lab.init("--from", "prices")["guessed"][1].startswith("label: x, "), "no amount that storage cannot read"
    lab.remove()


def test_json_lines_with_seconds_since_1970():
    lab = Lab()
    for day in range(10):
        lines = []
        for at in range(60):
            size, kind = lab.draw.random(), lab.draw.choice(["red", "green"])
            lines.append({"sold": {"paid_at": BEGIN + day * DAY + at * 60}, "thing": {"kind": kind, "size": size},
                          "tags": lab.draw.sample("abc", 2), "price": 100 * size + 30 * (kind == "red"), "user_id": f"u{at % 7}",
                          "shop": {"id": at % 3}, "weight": f"{size * 3:.3f}", "parts": [{"n": 1}]})
        lab.write(f"things/day{day}.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    said, run = lab.init_and_run("things")
    assert said["guessed"][:4] == ["time: sold.paid_at, a number since 1970 in s, 2024-01-01 to 2024-01-10",
                                   "label: price, by its name, an amount, " + said["guessed"][1].split("amount, ")[1],
                                   "numbers: thing.size", "categories: thing.kind, tags, user_id, shop.id"], said
    assert "json_words, fields: [thing.kind, tags, user_id, shop.id]}" in lab.text(), lab.text()
    assert said["guessed"][4] == "left out: weight (numbers in quotes: write them without)", said
    assert "lists of objects and of lists are not read" in said["look"], said
    assert "'user_id' seems to name people: with subject they can be erased" in said["look"], said
    assert values_of(run, "r2")[-1] > 0.9, values_of(run, "r2")
    lab.remove()


def test_pictures_in_folders_of_classes():
    lab = Lab()
    subprocess.run([binaries().parent / "tests/bin/make_pictures", lab.folder / "pictures/train", "120"], check=True)
    for folder in (lab.folder / "pictures", *(lab.folder / "pictures").rglob("*")):
        os.chmod(folder, 0o755)
    said, run = lab.init_and_run("pictures")
    assert said["saw"] == ["pictures: 120 JPEG pictures, 2 classes by folder"], said
    assert "depth: 2, classes: [dark, light]" in lab.text() and "decode_jpeg" in lab.text()
    assert values_of(run, "accuracy"), run.events
    lab.remove()


def test_texts_in_folders_of_classes_with_a_day_in_their_names():
    lab = Lab()
    for number in range(160):
        kind, words = lab.draw.choice([("ham", "report budget review"), ("spam", "prize money casino")])
        lab.write(f"mails/{kind}/mail_{stamp(number * DAY, '%Y-%m-%d')}_{number}.txt", f"hello {words} of {number}\n")
    said, run = lab.init_and_run("mails")
    assert said["guessed"][0] == "time: in the name of each file, mail_%Y-%m-%d, 2024-01-01 to 2024-06-08", said
    assert values_of(run, "accuracy")[-1] > 0.9, values_of(run, "accuracy")
    lab.remove()


def test_a_skeleton_is_a_pipeline():
    lab = Lab()
    said = lab.init("-o", "mine.yaml")
    assert said["valid"], said
    assert lab.text().startswith("# Written by weir init, of a table that is made up") and "field: bought" in lab.text()
    lab.remove()


def test_no_file_is_overwritten():
    lab = Lab()
    lab.write("mine.yaml", "precious")
    assert lab.init("-o", "mine.yaml", expect=2) == "weir: mine.yaml: there is such a file, which is not overwritten: name another one with -o\n"
    assert lab.text() == "precious"
    lab.remove()


def test_classes_are_written_with_their_blanks_and_a_delay_is_what_is_learnt():
    lab = Lab()
    lab.write("blanks/a.csv", "date, amount, class\n" + "".join(f"2024-01-{i % 28 + 1:02d}, {i % 9}, {('lo', 'hi')[i % 2]}\n" for i in range(200)))
    said = lab.init("--from", "blanks", "-o", "mine.yaml")
    assert said["valid"] and said["complaints"] == [] and "classes: [' hi', ' lo']" in lab.text().replace('"', "'"), (said, lab.text())
    (lab.folder / "mine.yaml").unlink()
    rows = (f"2024-01-{i % 28 + 1:02d},{('UA', 'DL')[i % 2]},{lab.draw.gauss(9, 4):.1f},{300 + i * 7 % 900},{i % 24}\n" for i in range(300))
    lab.write("flights/a.csv", "date,carrier,delay,distance,hour\n" + "".join(rows))
    lab.init("--from", "flights", "-o", "mine.yaml")
    assert "label:  {field: delay, type: float}" in lab.text(), lab.text()
    lab.remove()


def test_what_cannot_be_looked_into_is_said_with_a_remedy():
    lab = Lab()
    lab.write("parquet/a.parquet", b"PAR1" * 9)
    lab.write("array/a.json", "[\n {}\n]\n")
    lab.write("flat/a.png", zlib.compress(b"x"))
    lab.write("flat/b.png", b"x")
    lab.write("prose/a.txt", "One line.\nAnother line, which is longer.\n")
    lab.write("same/a.csv", "a,b\n" + "1,2\n" * 30)
    lab.write("twice/a.csv", "day,x,x,goal\n" + "".join(f"2024-01-{i % 28 + 1:02d},{i},{i % 7},{i % 2}\n" for i in range(60)))
    lab.write("zero/a.csv", "")
    (lab.folder / "empty").mkdir()
    for source, expected in [
            ("parquet", "tools/parquet_to_jsonl makes JSON lines of it (docs/guides/convert-parquet.md)"),
            ("array", "array/a.json: found one JSON array, expected one object a line: jq -c '.[]'"),
            ("flat", "flat: found 2 files and 0 classes, expected a folder for each class, or a manifest.csv"),
            ("prose", "prose/a.txt: expected lines of fields divided by"),
            ("same", "same: found no column that could be learnt"),
            ("empty", "empty: found 0 files, expected CSV, JSON lines, pictures (JPEG, PNG) or texts by their names"),
            ("twice", "twice/a.csv: line 1: found two columns called 'x', expected a name of its own for each: rename one"),
            ("zero", "zero: found one file, without a byte in it, expected records"),
            ("nowhere", "nowhere: No such file or directory")]:
        complaint = lab.init("--from", source, expect=1 if source == "nowhere" else 2)
        assert expected in complaint and complaint.count("\n") == 1, (source, complaint)
    assert not list(lab.folder.glob("*.yaml")) or list(lab.folder.glob("*.yaml")) == [lab.pipeline]
    lab.remove()


def real_data_is_learnt_in_two_commands():
    for name in REAL:
        if not (DATA / name).is_dir():
            print(f"skipped {name}: WEIR_TEST_DATA names no folder with it")
            continue
        lab = Lab()
        said, run = lab.init_and_run(DATA / name)
        newest = run.of("evaluation")[-1]
        print(f"{name}: {said['guessed'][1]}: {newest['metric']} {newest['value']} after {len(run.of('training_finished'))} trainings")
        lab.remove()


def main():
    if sys.argv[1:] == ["real"]:
        if not DATA.is_absolute() or not any((DATA / name).is_dir() for name in REAL):
            print("skipped: WEIR_TEST_DATA names no folder with data sets")
            return SKIPPED
        real_data_is_learnt_in_two_commands()
        return 0
    run_tests(globals())
    return 0


if __name__ == "__main__":
    sys.exit(main())

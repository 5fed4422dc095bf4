"""A record is read as a table, as docs/guides/read-a-table.md and evaluate-models.md say: operators know the names of the header,
several of them read one record, what the source declares missing is missing to them, and columns that are declared wrongly stop the run
with one line."""

import json
import random
import re
import time
from pathlib import Path

from weirlab import Lab, served

GUIDES = Path(__file__).parents[2] / "docs/guides"
WEEKS, A_WEEK, BEGIN = 5, 200, 1_704_067_200  # a Monday
HEADER = "ts,user,country,device,age,price,note,bought"
JSON_LINES = """\
pipeline: {name: lab, mode: replay}
datasets:
  - name: lines
    source: {path: DATA, format: jsonl, settle: 0ms}
    time:   {from: field, field: ts}
    label:  {field: bought}
trigger:   {policy: time, every: 1w}
selection: {policy: new_data}
"""


def blocks(guide, language="yaml"):
    return re.findall(rf"^```{language}\n(.*?)^```", (GUIDES / guide).read_text(), re.S | re.M)


def visits(draw, week):
    """Old people buy, and those who liked it; Danes do not."""
    for number in range(A_WEEK):
        visit = {
            "ts": BEGIN + int((week + number / A_WEEK) * 7 * 86400), "user": draw.randrange(20),
            "country": draw.choice(["DE", "DK", "FR"]), "device": draw.choice(["phone", "desk"]),
            "age": draw.randint(18, 80), "price": round(draw.expovariate(1 / 20), 2),
            "note": draw.choice(["liked it, a lot", "did not like it", "no word"]),
        }
        odds = visit["age"] / 50 + visit["note"].startswith("liked") - 2 * (visit["country"] == "DK")
        yield visit | {"bought": int(odds + draw.gauss(0, 0.1) > 1)}


def line_of(visit, draw, missing="NA"):
    cells = {name: "" if value is None else f'"{value}"' if name == "note" else str(value) for name, value in visit.items()}
    cells["ts"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(visit["ts"]))
    if draw.random() < 0.1:
        cells["price"] = missing
    return ",".join(cells[name] for name in HEADER.split(","))


class TableLab(Lab):
    """A folder of CSV files with a header, and a pipeline that reads them."""

    def __init__(self, pipeline):
        super().__init__(samples=1)
        (self.folder / "stream/part0.jsonl").unlink()
        self.draw = random.Random(5)
        self.pipeline.write_text(pipeline.replace("data/visits", str(self.folder / "stream"))
                                 .replace("DATA", str(self.folder / "stream")))

    def write(self, name, text):
        (self.folder / "stream" / name).write_text(text)

    def write_weeks(self, missing="NA"):
        for week in range(WEEKS):
            lines = [line_of(visit, self.draw, missing) for visit in visits(self.draw, week)]
            self.write(f"week{week}.csv", "\n".join([HEADER, *lines]) + "\n")


def guide_pipeline():
    return blocks("read-a-table.md")[0]


def values_of(run, metric):
    """Of the intervals in which it has one."""
    values = [one["value"] for one in run.of("evaluation") if one["metric"].startswith(metric)]
    return [value for value in values if value != "undefined"]


def the_pipeline_of_the_guide_learns_from_all_of_a_record():
    assert blocks("read-a-table.md", "csv")[0].startswith(HEADER + "\n")
    lab = TableLab(guide_pipeline())
    lab.write_weeks()
    lab.write("week5.csv", f"{HEADER},later\n" + line_of(next(visits(lab.draw, 5)), lab.draw) + ",x\n")
    run = lab.run().finish()
    trained = run.of("training_finished")
    assert len(trained) == WEEKS, trained
    assert all(one["audit"]["failed"] == 0 for one in trained), trained
    assert all(one["failed"] == 0 for one in run.of("evaluation"))
    assert max(values_of(run, "roc_auc")) > 0.85, values_of(run, "roc_auc")
    assert values_of(run, "group_auc"), run.of("evaluation")
    slices = {one["metric"] for one in run.of("evaluation") if one["metric"].startswith("accuracy(by=country)")}
    assert len(slices) >= 3, slices
    lab.remove()


def a_missing_value_without_fill_says_what_takes_it():
    lab = TableLab(guide_pipeline().replace(", fill: 0", ""))
    lab.write_weeks()
    (error,) = [one["error"] for one in lab.run().finish(expect=1).of("error")]
    assert error.endswith("column 'price': found nothing (what is declared missing), expected a number: fill takes it"), error
    lab.remove()


def an_operator_may_call_other_values_missing():
    own = guide_pipeline().replace("fill: 0}", "fill: 0, missing: ['-']}")
    lab = TableLab(own)
    lab.write_weeks("-")
    run = lab.run().finish()
    assert all(one["audit"]["failed"] == 0 for one in run.of("training_finished"))
    lab.remove()


def columns_that_are_declared_are_those_of_the_header_or_an_error():
    right = guide_pipeline().replace("{op: csv_text,", "{op: csv_text, columns: [" + HEADER + "],")
    lab = TableLab(right)
    lab.write_weeks()
    lab.run().finish()
    lab.remove()
    wrong = right.replace("note,bought]", "note,bought,x]")
    number = next(at for at, line in enumerate(wrong.split("\n"), 1) if "columns: [" in line)
    lab = TableLab(wrong)
    lab.write_weeks()
    run = lab.run().finish(expect=2)
    (error,) = [one["error"] for one in run.of("error")]
    names = HEADER.replace(",", ", ")
    assert error == (f"{lab.pipeline}:{number}:7: preprocess.operators: csv_text: columns: declared are 9 ({names}, x), "
                     f"but records of dataset 'visits' have 8 ({names}): leave `columns` out, or name those"), error
    assert not run.has_data_dir()
    lab.remove()


def a_name_that_no_column_has_is_told_with_those_there_are():
    lab = TableLab(guide_pipeline().replace("[age, price]", "[age, prize]"))
    lab.write_weeks()
    (error,) = [one["error"] for one in lab.run().finish(expect=2).of("error")]
    assert f"found field 'prize', expected one of {HEADER.replace(',', ', ')}, or a number from 0" in error, error
    lab.remove()
    lab = TableLab(guide_pipeline().replace("field: bought", "field: brought"))
    lab.write_weeks()
    (error,) = [one["error"] for one in lab.run().finish(expect=2).of("error")]
    assert f"found no column 'brought' among 8 ({HEADER.replace(',', ', ')}), expected it" in error, error
    lab.remove()


def a_file_with_its_columns_in_another_order_stays_out_and_is_counted():
    lab = TableLab(guide_pipeline())
    lab.write_weeks()
    names = HEADER.split(",")
    other = [names[0], names[2], names[1], *names[3:]]
    lab.write("week9.csv", ",".join(other) + "\n2024-02-20T00:00:00Z,DE,1,phone,3,4,x,0\n")
    run = lab.run().finish()
    (scanned,) = run.of("dataset_scanned")
    assert (scanned["samples"], scanned["quarantined"]) == (WEEKS * A_WEEK, 1), scanned
    assert scanned["complaints"] == [f"week9.csv: line 1: found the columns {','.join(other)}, expected those of the dataset, in "
                                     f"their order: {HEADER}; more may follow"], scanned
    with served(lab):
        (dataset,) = json.loads(lab.weir("datasets", "--json"))["datasets"]
        assert dataset["columns"] == names, dataset
        assert f"visits: columns: {', '.join(names)}\n" in lab.weir("datasets")
    lab.remove()


def what_the_guide_to_evaluation_shows_runs():
    shown = [block for block in blocks("evaluate-models.md") if "json_fields" in block]
    assert len(shown) == 2, shown
    for block in shown:
        lab = TableLab(JSON_LINES + block)
        numbers = {"DE": 1, "DK": 2, "FR": 3}
        for week in range(WEEKS):
            lines = [json.dumps(visit | {"country": numbers[visit["country"]]}) for visit in visits(lab.draw, week)]
            lab.write(f"week{week}.jsonl", "\n".join(lines) + "\n")
        run = lab.run().finish()
        assert values_of(run, "roc_auc" if "country" in block else "group_auc")
        if "country" in block:
            assert {"1", "2", "3"} == {found[1] for one in run.of("evaluation")
                                       for found in [re.search(r"\[country=(\d)\]", one["metric"])] if found}
        lab.remove()


the_pipeline_of_the_guide_learns_from_all_of_a_record()
a_missing_value_without_fill_says_what_takes_it()
an_operator_may_call_other_values_missing()
columns_that_are_declared_are_those_of_the_header_or_an_error()
a_name_that_no_column_has_is_told_with_those_there_are()
a_file_with_its_columns_in_another_order_stays_out_and_is_counted()
what_the_guide_to_evaluation_shows_runs()

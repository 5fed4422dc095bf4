"""Drift triggers on a real stream: calls of a bank, 2008 to 2010 (UCI Bank Marketing). The share of calls that end in a
contract is 3 to 6 % in 2008, rises with the crisis in February 2009, and is 35 to 59 % from June 2009 on. A trigger has to
retrain near these changes, and rarely elsewhere.

The data is not Weir's to ship: WEIR_TEST_DATA names a folder with bank-marketing/bank-full.csv.zst; without it the test is
skipped."""

import csv
import datetime
import io
import json
import os
import subprocess
import sys
from pathlib import Path

from weirlab import SKIPPED, Lab, assert_clean_audits

DATA = Path(os.environ.get("WEIR_TEST_DATA", "")) / "bank-marketing" / "bank-full.csv.zst"
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
NUMBERS = ["age", "balance", "campaign", "pdays", "previous"]
WORDS = ["job", "marital", "education", "default", "housing", "loan", "contact", "poutcome", "month"]
COLUMNS = ["ts", "y"] + NUMBERS + WORDS

PIPELINE = """\
pipeline: {{name: bank, mode: replay}}
datasets:
  - name: calls
    source: {{path: {data}, format: csv, include: "*.csv", import: copy}}
    time:   {{from: field, field: ts}}
    label:  {{field: y, classes: ["no", "yes"]}}
trigger:   {trigger}
selection: {{policy: new_data, tail_triggers: 1, limit: 10000, seed: 7}}
preprocess:
  operators:
    - {{op: csv_fields, columns: [{columns}], fields: [{numbers}]}}
    - {{op: standardize}}
  batch: {{samples: 64, last: short, shuffle: full}}
training: {{model: linear, loss: logistic, epochs: 2, seed: 1, start_from: scratch, optimizer: {{name: adagrad, lr: 0.05}}}}
"""

LABELS = ("{policy: drift, on: labels, samples: 500, reference: 2000, current: 500,"
          " statistics: [{name: psi, criterion: {policy: threshold, value: 0.25}}]}")
PERFORMANCE = ("{policy: performance, samples: 500,"
               " criteria: [{policy: rolling_average, window: 10, deviation: 0.15}]}")
MISTAKES = "{policy: performance, samples: 500, detectors: [{policy: page_hinkley, limit: 50, tolerance: 0.05}]}"


def read_calls():
    """The calls in their order, with a time that grows: year and month are the data's, a second apart from there."""
    text = subprocess.run(["zstd", "-dc", str(DATA)], capture_output=True, text=True, check=True).stdout
    year, last, when, calls = 2008, 0, None, []
    for row in csv.DictReader(io.StringIO(text), delimiter=";"):
        month = MONTHS.index(row["month"]) + 1
        year += month < last
        last = month
        begin = datetime.datetime(year, month, 1)
        when = begin if when is None or when < begin else when + datetime.timedelta(seconds=1)
        calls.append(row | {"ts": when.strftime("%Y-%m-%dT%H:%M:%SZ")})
    return calls


def write_stream(lab, calls):
    with (lab.folder / "stream" / "calls.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(calls)


def run(calls, trigger):
    lab = Lab(samples=1)
    for path in (lab.folder / "stream").iterdir():
        path.unlink()
    write_stream(lab, calls)
    lab.pipeline.write_text(PIPELINE.format(data=lab.folder / "stream", trigger=trigger, numbers=", ".join(NUMBERS),
                                            columns=", ".join(COLUMNS)))
    events = lab.run().finish().events
    assert_clean_audits(events)
    report = json.loads(lab.weir("report", "--json"))
    assert all(row["decision"]["because"] in row["reason"] for row in report["triggers"]), report
    lab.remove()
    checks = [e for e in events if e["event"] == "trigger_considered"]
    return [e for e in events if e["event"] == "trigger_fired"], len(checks)


def months_of(fired):
    return [event["until"][:7] for event in fired]


def main():
    if not DATA.exists():
        print("skipped: WEIR_TEST_DATA names no folder with bank-marketing/bank-full.csv.zst")
        sys.exit(SKIPPED)
    calls = read_calls()
    for name, trigger, most in (("labels", LABELS, 6), ("performance", PERFORMANCE, 20),
                                ("mistakes", MISTAKES, 10)):
        fired, considered = run(calls, trigger)
        months = months_of(fired)
        print(f"{name}: {len(fired)} triggers, {considered} checks without one; at", *months, flush=True)
        for event in fired:
            print("   ", event["until"], event["samples_new"], event["reason"], flush=True)
        assert months[0] == "2008-05" and len([m for m in months if m < "2008-10"]) <= 2, months
        assert any("2009-02" <= m <= "2009-04" for m in months), months
        assert any("2009-06" <= m <= "2009-10" for m in months), months
        assert len(fired) <= most, months


main()

"""A drift trigger on a second real stream: titles of arXiv in 20 classes. Two of the classes begin on a day: stat.ME in April 2007,
cond-mat.quant-gas in March 2009 (before, a paper a quarter). The trigger looks at labels once a quarter, and has to retrain at the
check behind each beginning, and rarely elsewhere.

The data is not Weir's to ship: WEIR_TEST_DATA names a folder with arxiv/arxiv_titles.tsv.zst; without it the test is skipped."""

import json
import os
import re
import sys
from pathlib import Path

from weirlab import SKIPPED, Lab, assert_clean_audits

DATA = Path(os.environ.get("WEIR_TEST_DATA", "")) / "arxiv"
SHIPPED = Path(__file__).resolve().parents[2] / "benchmarks" / "suite" / "arxiv.yaml"
LABELS = ("{policy: drift, on: labels, every: 3 months, reference: 2000, current: 2000,"
          " statistics: [{name: psi, criterion: {policy: threshold, value: 0.1}}]}")
DEADLINE_S = 500


def pipeline():
    text = SHIPPED.read_text().replace("path: arxiv\n", f"path: {DATA}\n")
    text, replaced = re.subn(r"(?m)^trigger:.*$", f"trigger: {LABELS}", text)
    assert replaced == 1, text
    return text


def fired_between(fired, first, last):
    return [event for event in fired if first <= event["until"][:10] <= last]


def main():
    if not (DATA / "arxiv_titles.tsv.zst").exists():
        print("skipped: WEIR_TEST_DATA names no folder with arxiv/arxiv_titles.tsv.zst")
        sys.exit(SKIPPED)
    lab = Lab(samples=1)
    lab.pipeline.write_text(pipeline())
    run = lab.run()
    events = run.finish(deadline_s=DEADLINE_S).events
    assert_clean_audits(events)
    fired = [event for event in events if event["event"] == "trigger_fired"]
    for event in fired:
        print(event["until"][:10], event["samples_new"], event["reason"], flush=True)

    begun = {"stat.ME": fired_between(fired, "2007-04-01", "2007-09-30"),
             "quant-gas": fired_between(fired, "2009-03-01", "2009-06-30")}
    assert all(begun.values()), begun
    assert not fired_between(fired, "2005-07-01", "2007-03-31"), "no class begins"
    assert not fired_between(fired, "2007-10-01", "2009-02-28"), "no class begins"
    assert len(fired_between(fired, "2010-01-01", "2019-12-31")) <= 4, "nor in these ten years"

    status = json.loads(lab.weir("status", "--json"))["pipelines"][0]
    for row in status["fired"]:
        decision = row["decision"]
        assert decision["because"] in row["reason"] and decision["verdict"], row
        assert row["trigger"] <= 2 or decision["statistics"][0]["distance"] >= decision["statistics"][0]["limit"], row
    assert len(status["fired"]) == len(fired)
    lab.remove()


main()

#!/usr/bin/env python3
"""Adds to a series what was known of it before: docs/guides/make-features.md.

    add_lags.py --time ts --value load --horizon 24h --lags 24h,168h --windows 24h < loads.csv > with_lags.csv

Each row of the CSV (times as 2024-03-01 13:00:00, in any order) gets a column for each lag, the value so long before, and for each
window the mean of the values in it, which ends a horizon before the row. Where there is none, the cell is empty. Nothing
is used that is younger than the horizon: that is how long before its time a row has to be predicted.
"""
import argparse
import bisect
import csv
import re
import sys
from datetime import datetime, timedelta

UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def duration(text):
    found = re.fullmatch(r"(\d+)([mhd])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a duration such as 24h")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def durations(text):
    return {one: duration(one) for one in text.split(",")}


def mean(values):
    return sum(values) / len(values) if values else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--time", required=True)
    parser.add_argument("--value", required=True)
    parser.add_argument("--horizon", required=True, type=duration)
    parser.add_argument("--lags", default={}, type=durations)
    parser.add_argument("--windows", default={}, type=durations)
    given = parser.parse_args()
    for name, lag in given.lags.items():
        if lag < given.horizon:
            parser.error(f"lag {name} is younger than the horizon: it is not known yet when a row is predicted")

    rows = list(csv.DictReader(sys.stdin))
    series = sorted((datetime.fromisoformat(row[given.time]), float(row[given.value])) for row in rows if row[given.value])
    at, values = [time for time, _ in series], dict(series)
    lags = {f"{given.value}_{name}_ago": lag for name, lag in given.lags.items()}
    windows = {f"{given.value}_mean_{name}": window for name, window in given.windows.items()}
    out = csv.DictWriter(sys.stdout, [*rows[0], *lags, *windows], lineterminator="\n")
    out.writeheader()
    for row in rows:
        now = datetime.fromisoformat(row[given.time])
        known = now - given.horizon
        for name, lag in lags.items():
            row[name] = values.get(now - lag, "")
        for name, window in windows.items():
            first, end = (bisect.bisect_right(at, time) for time in (known - window, known))
            row[name] = mean([value for _, value in series[first:end]])
        out.writerow(row)


if __name__ == "__main__":
    main()

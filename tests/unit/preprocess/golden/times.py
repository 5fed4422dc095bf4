#!/usr/bin/python3
"""Writes times.txt: what Python's datetime, zoneinfo and math make of the times that golden_operators_test.c runs through
`calendar`. Run by hand when a case is added:

    tests/unit/preprocess/golden/times.py > tests/unit/preprocess/golden/times.txt
"""
import math
import random
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from tabular import payloads

PARTS = {
    "minute": (0, 60, lambda t: t.minute),
    "hour": (0, 24, lambda t: t.hour),
    "weekday": (0, 7, lambda t: t.weekday()),
    "hour_of_week": (0, 168, lambda t: t.weekday() * 24 + t.hour),
    "weekend": (0, 2, lambda t: int(t.weekday() >= 5)),
    "holiday": (0, 2, lambda t: int(t.strftime("%Y-%m-%d") in HOLIDAYS or t.strftime("%m-%d") in HOLIDAYS)),
    "day": (1, 31, lambda t: t.day),
    "day_of_year": (1, 366, lambda t: t.timetuple().tm_yday),
    "month": (1, 12, lambda t: t.month),
    "quarter": (1, 4, lambda t: (t.month + 2) // 3),
    "year": (0, 0, lambda t: t.year),
}
HOLIDAYS = ["2024-03-29", "12-25", "01-01", "02-29"]
ROUND = [name for name, (_, count, _) in PARTS.items() if count]
DRAW = random.Random(3)
UTC = timezone.utc


def circle(name, time):
    first, count, of = PARTS[name]
    angle = 2 * math.pi * (of(time) - first) / count
    return [0.0 if abs(x) < 1e-12 else x for x in (math.sin(angle), math.cos(angle))]


def one_hot(name, time):
    first, count, of = PARTS[name]
    return [1 if of(time) - first == i else 0 for i in range(count)]


def told(time, fields=(), cyclic=(), hot=()):
    return [*(PARTS[name][2](time) for name in fields), *(x for name in cyclic for x in circle(name, time)),
            *(x for name in hot for x in one_hot(name, time))]


def drawn_instants():
    """Spread over the calendar, and beside the hours at which clocks of Europe and America change."""
    turns = [datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2024, 10, 27, 1, tzinfo=UTC), datetime(2024, 3, 10, 7, tzinfo=UTC),
             datetime(2024, 11, 3, 6, tzinfo=UTC), datetime(2024, 12, 31, 23, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC),
             datetime(2024, 3, 29, 12, tzinfo=UTC), datetime(2023, 12, 25, tzinfo=UTC), datetime(1900, 2, 28, 23, 59, tzinfo=UTC),
             datetime(1969, 12, 31, 23, 59, tzinfo=UTC), datetime(2000, 3, 1, tzinfo=UTC)]
    drawn = [datetime(1950, 1, 1, tzinfo=UTC) + timedelta(seconds=DRAW.randrange(150 * 31556952)) for _ in range(20)]
    return [turn + step for turn in turns for step in (-timedelta(seconds=1), timedelta())] + drawn


INSTANTS = drawn_instants()


def written(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def zones():
    every = f"holidays: [{', '.join(HOLIDAYS)}], fields: [{', '.join(PARTS)}], cyclic: [{', '.join(ROUND)}]"
    for name in (None, "Europe/Berlin", "America/New_York", "Asia/Kathmandu"):
        zone = ZoneInfo(name) if name else UTC
        payloads(f"[{{op: calendar, {f'zone: {name}, ' if name else ''}{every}}}]", [written(time) for time in INSTANTS],
                 [told(time.astimezone(zone), PARTS, ROUND) for time in INSTANTS])


def forms():
    """Times of local clocks, skipped and doubled ones too, numbers, and what is no time."""
    berlin = ZoneInfo("Europe/Berlin")
    rows = ["31/03/2024 01:59", "31/03/2024 02:30", "31/03/2024 03:00", "27/10/2024 02:30", "31/12/2023 23:59", "30/02/2024 10:00",
            "2024-03-31 10:00", "", "31/03/2024 01:59 ", "99/99/9999 99:99"]
    expected = []
    for row in rows:
        try:
            time = datetime.strptime(row, "%d/%m/%Y %H:%M").replace(tzinfo=berlin)
            expected.append(told(time.astimezone(UTC).astimezone(berlin), ["hour", "day"], [], ["weekday", "weekend"]))
        except ValueError:
            expected.append(1)
    payloads('[{op: calendar, pattern: "%d/%m/%Y %H:%M", zone: Europe/Berlin, fields: [hour, day], one_hot: [weekday, weekend]}]',
             rows, expected)
    numbers = ["0", "-1", "1709210096", "1709210096.75", "1e9", "1e300", "nan", "x", "-", "99999999999999999"]
    for unit, seconds in (("s", 1), ("ms", 1000)):
        expected = []
        for row in numbers:
            try:
                expected.append(told(datetime.fromtimestamp(float(row) / seconds, UTC), ["hour", "minute", "year"]))
            except (ValueError, OverflowError, OSError):
                expected.append(1)
        payloads(f"[{{op: calendar, unit: {unit}, fields: [hour, minute, year]}}]", numbers, expected)
    days = ["45383.5", "61", "60.9", "45383.999988"]
    payloads("[{op: calendar, unit: excel, zone: Europe/Berlin, fields: [hour, minute, day_of_year]}]", days,
             [[12, 0, 92], [0, 0, 60], 1, [23, 59, 92]])


def columns():
    """A field of a record, in place of which the parts come, and whole numbers."""
    rows = [f"{i},2024-02-0{i + 1} 0{i}:30:00" for i in range(5)]
    payloads("[{op: csv_text, field: 1, as: when}, {op: calendar, on: when, fields: [hour, day]}]", rows,
             [[i, i + 1] for i in range(5)])
    rows = ["".join(chr(48 + (i + j) % 10) for j in range(8)) for i in range(4)]
    payloads("[{op: record_fields, dense: [0, 1, u32]}, {op: calendar, fields: [year, month, day, hour, minute]}]", rows,
             [told(datetime.fromtimestamp(int.from_bytes(row[:4].encode(), "little"), UTC),
                   ["year", "month", "day", "hour", "minute"]) for row in rows])


if __name__ == "__main__":
    zones()
    forms()
    columns()

#!/usr/bin/python3
"""Writes tabular.txt: what NumPy, or Python's own integers, make of the rows that
golden_operators_test.c runs through the operators. Run by hand when a case is added:

    tests/unit/preprocess/golden/tabular.py > tests/unit/preprocess/golden/tabular.txt
"""
import csv
import json
import struct
from collections import Counter

import numpy as np

WORD = (1 << 64) - 1
RNG = np.random.default_rng(11)


def mix(key):
    """Thomas Wang's 64-bit mix."""
    key = (~key + (key << 21)) & WORD
    key ^= key >> 24
    key = key * 265 & WORD
    key ^= key >> 14
    key = key * 21 & WORD
    key ^= key >> 28
    return key + (key << 31) & WORD


def join(upper, lower):
    """CityHash's 128 to 64 bits."""
    prime = 0x9DDFEA08EB382D69
    a = (lower ^ upper) * prime & WORD
    a ^= a >> 47
    b = (upper ^ a) * prime & WORD
    b ^= b >> 47
    return b * prime & WORD


def signed(word):
    return word - (1 << 64) if word >> 63 else word


def sigrid(number, salt, buckets):
    return signed(join(salt, mix(number & WORD))) % buckets


def run_hash(run, salt, buckets):
    state = salt
    for number in run:
        state = join(state, mix(number & WORD))
    return signed(state) % buckets


def bucket(x, borders):
    """As torcharrow states it: lower bound, one more on a border that stands twice."""
    i = int(np.searchsorted(borders, x, side="left"))
    if i >= len(borders) - 1 or x < borders[i + 1]:
        return i
    return i + 1


def case(operators, rows, expected, type_="f32"):
    """Prints one case; every row is a line of comma-separated fields."""
    print("operators:", operators)
    for row in rows:
        print("row:", ",".join(repr(field) for field in row))
    numbers = np.asarray(expected).reshape(-1)
    print(type_ + ":", " ".join(repr(number.item()) for number in numbers))
    print()


def payloads(operators, rows, expected, type_="f32"):
    """The same for rows that are texts; `expected` has a list for each, or why there is none: 1 failed, 2 filtered."""
    print("operators:", operators)
    for row in rows:
        print("row:", row)
    flags = [found if isinstance(found, int) else 0 for found in expected]
    if any(flags):
        print("flags:", *flags)
    print(f"{type_}:", *(repr(number) for found in expected if not isinstance(found, int) for number in found))
    print()


def fields(count, fill=""):
    return "{op: csv_fields, fields: [%s]%s}" % (", ".join(map(str, range(count))), fill)


def main():
    wide = (10.0 ** RNG.uniform(-9, 9, (6, 4))).astype(np.float32)
    some = np.round(RNG.normal(0, 50, (5, 4)), 2)
    f32 = some.astype(np.float32)
    ids = [[int(x) for x in row] for row in RNG.integers(0, 1 << 20, (4, 5))]
    lists = [[float(x) for x in row] for row in some]

    case(f"[{fields(4)}, {{op: clamp, min: -20.5, max: 33}}]", lists,
         np.clip(f32, np.float32(-20.5), np.float32(33)))
    case(f"[{fields(4)}, {{op: cast, to: i32}}, {{op: clamp, min: -20.5, max: 33.9}}]", lists,
         np.clip(np.trunc(f32).astype(np.int32), -20, 33), "i32")
    case(f"[{fields(4)}, {{op: clamp, min: 0}}]", lists, np.maximum(f32, 0))
    gaps = [[3.5, "", 1.0], ["", "", -2.0]]
    filled = np.array([[3.5, -1, 1], [-1, -1, -2]], np.float32)
    case(f"[{fields(3, ', fill: nan')}, {{op: fill_missing, value: -1}}]",
         [[Bare(x) for x in row] for row in gaps], filled)
    case(f"[{fields(3)}, {{op: cast, to: i64}}, {{op: fill_missing, value: 7, missing: -1}}]",
         [[-1, 0, 5], [3, -1, -1]], [[7, 0, 5], [3, 7, 7]], "i64")
    case(f"[{fields(4)}, {{op: log1p}}]", [[float(x) for x in row] for row in wide],
         np.log1p(wide.astype(np.float64)))
    case(f"[{fields(4)}, {{op: log1p}}]", lists, np.log1p(np.maximum(f32.astype(float), 0)))
    for power in (0, 0.5, 1, -0.3, 2, 1e-9):
        x = np.maximum(f32.astype(np.float64), 1e-3)
        y = np.log(x) if power == 0 else np.expm1(power * np.log(x)) / power
        case(f"[{fields(4)}, {{op: boxcox, lambda: {power}, floor: 1e-3}}]", lists, y)
    functions(wide, lists, f32)
    deviation = f32.astype(float).std(axis=0)
    case(f"[{fields(4)}, {{op: standardize}}]", lists,
         (f32.astype(float) - f32.astype(float).mean(axis=0)) / deviation)
    low, high = f32.astype(float).min(axis=0), f32.astype(float).max(axis=0)
    case(f"[{fields(4)}, {{op: standardize, by: range}}]", lists, (f32.astype(float) - low) / (high - low))
    for borders in ([2, 5, 10], [0.5], [-20, -20, 0, 0, 33.25], sorted(some.reshape(-1)[:9])):
        borders = [float(x) for x in borders]
        probes = [[x, float(np.nextafter(np.float32(x), np.float32(np.inf))),
                   float(np.nextafter(np.float32(x), np.float32(-np.inf)))] for x in borders]
        expected = [[bucket(float(np.float32(x)), borders) for x in row] for row in probes]
        case(f"[{fields(3)}, {{op: bucketize, borders: {borders}}}]", probes, expected, "i32")
    case(f"[{fields(7)}, {{op: bucketize, borders: [2, 5, 10]}}]", [[1, 2, 3, 5, 8, 10, 11]],
         [0, 0, 1, 1, 2, 2, 3], "i32")
    for buckets, salt in ((100, 0), (1, 5), (7, 2**63), (1 << 30, 99), (4096, 1)):
        case(f"[{fields(5)}, {{op: cast, to: i32}}, {{op: hash_mod, buckets: {buckets}, "
             f"salt: {salt}}}]", ids, [[sigrid(x, salt, buckets) for x in row] for row in ids],
             "i32")
    case(f"[{fields(17)}, {{op: cast, to: i64}}, {{op: sigrid_hash, max_value: 100}}]",
         [list(range(17))], [6, 60, 54, 54, 9, 4, 91, 11, 67, 79, 2, 25, 92, 98, 83, 66, 2], "i64")
    for most in (2**63 - 1, 3, 10**12):
        signs = [[-x for x in row] for row in ids]
        case(f"[{fields(5)}, {{op: cast, to: i64}}, {{op: sigrid_hash, max_value: {most}, "
             "salt: 3}]", signs, [[sigrid(x, 3, most) for x in row] for row in signs], "i64")
    case(f"[{fields(5)}, {{op: cast, to: i64}}, {{op: ngram, n: 3, buckets: 1000, salt: 8}}]", ids,
         [[run_hash(row[i:i + 3], 8, 1000) for i in range(3)] for row in ids], "i32")
    case(f"[{fields(2)}, {{op: cast, to: u8}}, {{op: one_hot, classes: 4}}]",
         [[0, 3], [2, 9]], [np.eye(4)[[0, 3]], [np.eye(4)[2], np.zeros(4)]])
    case(f"[{fields(5)}, {{op: first_x, count: 2}}]", ids, np.array(ids, np.float32)[:, :2])
    readers()
    casts()
    record_fields()
    filters()
    joined()
    vocabularies()


def functions(wide, lists, f32):
    """Of all sizes, of both signs, and of probabilities."""
    x, spread, exact = f32.astype(np.float64), wide.astype(np.float64), [[float(x) for x in row] for row in wide]
    chances = np.random.default_rng(12).uniform(-0.1, 1.1, (4, 4)).astype(np.float32)
    inside = np.clip(chances.astype(np.float64), 0.01, 0.99)
    for function, rows, expected in [
            ("log, floor: 1e-3", exact, np.log(np.maximum(spread, 1e-3))), ("signed_log1p", lists, np.sign(x) * np.log1p(np.abs(x))),
            ("exp", lists, np.exp(x)), ("sqrt", lists, np.sqrt(np.maximum(x, 0))),
            ("square", lists, x * x), ("abs", lists, np.abs(x)), ("power, by: -0.7, floor: 1e-3", lists, np.maximum(x, 1e-3) ** -0.7),
            ("sigmoid", lists, 1 / (1 + np.exp(-x))), ("round", lists, np.rint(x)), ("floor", lists, np.floor(x)),
            ("ceil", lists, np.ceil(x)),
            ("logit, floor: 0.01", [[float(p) for p in row] for row in chances], np.log(inside / (1 - inside)))]:
        case(f"[{fields(4)}, {{op: math, function: {function}}}]", rows, np.asarray(expected).astype(np.float32))
    rows = [[3, 4, 0, -1], [1, 0, 5, 8], [0, 0, 0, 0]]
    numbers = np.array(rows, np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = [np.where(numbers[:, b] == 0, 7, numbers[:, a] / numbers[:, b]) for a, b in ((0, 1), (3, 2), (2, 2))]
    case(f"[{fields(4)}, {{op: ratio, pairs: [[0, 1], [3, 2], [2, 2]], fill: 7}}]", rows,
         np.column_stack([numbers, *quotients]))
    payloads(f"[{fields(2)}, {{op: ratio, pairs: [[0, 1]]}}]", ["3,2", "1,0", "0,4"], [[3.0, 2.0, 1.5], 1, [0.0, 4.0, 0.0]])


# ---- readers ----

NUMBERS = ["0", "-0", "1", "-17", "3.25", ".5", "5.", "1e3", "1E-3", "2.5e+10", "-1.25e-7", "9007199254740993", "0.1",
           "123456789.123456789", "1e-45", "3.4028235e38", "1.17549435e-38", "00012", "+4"]


WORDS_THAT_COUNT = {"true": 1.0, "false": 0.0}


def single(text):
    with np.errstate(over="ignore"):
        number = float(np.float32(text))
    if not np.isfinite(number):
        raise ValueError(text)
    return number


def readers():
    """Records as Python's own csv and json read them."""
    records = [f"{a},\"{b}\",x{i},{c}" for i, (a, b, c) in enumerate(zip(NUMBERS, NUMBERS[3:], reversed(NUMBERS)))]
    records += ['1,"say ""hi"", twice",3,4', ' 1 ,2,"a,b",\t7', "1,2,3", "", "1,,3,4", '1,2,3,"4', '"1"0,2,3,4', "1,2,3,4x", "1,2,3,0x10",
                "1,2,3,nan", "1,2,3,inf", "1,2,3,1e39", "1,2,3,3.4028236e38", "1,2,3,4,5,6", "1;2;3;4", '"1""2",2,3,4', "1,2,3,1_000"]
    payloads("[{op: csv_fields, fields: [3, 0]}]", records, [csv_row(record) for record in records])
    numbers = [n for n in NUMBERS if is_json(n)]
    objects = ['{"a": %s, "b": {"c": %s}}' % pair for pair in zip(numbers, reversed(numbers))]
    objects += ['{"b": {"c": true, "d": [1, {"c": 9}]}, "x": "a", "a": false}', '{"\\u0061": 5, "b": {"\\u0063": 6}}',
                '{"a": 1, "a": 2, "b": {"c": 3}}', '{"a": "1", "b": {"c": 2}}', '{"a": null, "b": {"c": 2}}', '{"a": 1}',
                '{"a": 1, "b": 2}', '{"a": 1, "b": [3]}', '[1, 2]', "1", "", '{"a": 01, "b": {"c": 2}}',
                '{"a": +1, "b": {"c": 2}}', '{"a": .5, "b": {"c": 2}}', '{"a": 5., "b": {"c": 2}}',
                '{"a": 1, "b": {"c": 2}} x', '{"a": 1, "b": {"c": 2}}{}', '{"a": 1, "b": {"c": 2},}', "{'a': 1}",
                '{"a": 1e999, "b": {"c": 2}}', '{"a": -1e39, "b": {"c": 2}}', '{"a": NaN, "b": {"c": 2}}', '{"a": {}, "b": {"c": 2}}',
                '{"a.b": 3, "a": 1, "b": {"c": 2}}', ' {"a" : 1 , "b" : { "c" : 2 } } ', '{"a": 1, "b": {"c": 2}, "k": "\\ud800"}']
    payloads("[{op: json_fields, fields: [b.c, a]}]", objects, [json_row(text) for text in objects])


def csv_row(record):
    try:
        found = next(csv.reader([record], strict=True))
        return [single(plain(found[3])), single(plain(found[0]))]
    except (csv.Error, StopIteration, IndexError, ValueError):
        return 1


def plain(text):
    """A number in digits: float() takes more than that."""
    if text.strip() in WORDS_THAT_COUNT:
        return WORDS_THAT_COUNT[text.strip()]
    if not set(text.strip()) <= set("0123456789+-.eE") or len(text.strip()) > 63:
        raise ValueError(text)
    return float(text)


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


class Members(list):
    """Of an object, as they stand: some may be there twice."""


def leaves(found, path):
    """What lies there, all of it; a name may hold dots itself."""
    for name, value in found if isinstance(found, Members) else []:
        if name == path:
            yield value
        elif path.startswith(name + "."):
            yield from leaves(value, path[len(name) + 1:])


def json_row(text):
    def refuse(name):
        raise ValueError(name)

    try:
        found = json.loads(text, parse_constant=refuse, parse_float=plain, parse_int=plain, object_pairs_hook=Members)
        json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        (first,), (second,) = leaves(found, "b.c"), leaves(found, "a")
        return [single(float(n)) if isinstance(n, (bool, float)) else refuse(n) for n in (first, second)]
    except ValueError:
        return 1


# ---- numbers ----

TYPES = {"u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "f32": np.float32, "f64": np.float64}


def casts():
    values = [0, -0.5, 1.5, -1.5, 254.9, 255.1, 300, -3, 2147483520, 2147483648, -2147483648, -2147483904, 4294967040,
              4294967296, 9.2e18, 9.3e18, -9.3e18, 3e38]
    for name, type_ in TYPES.items():
        held = np.array(values, np.float32).astype(np.float64)
        if np.issubdtype(type_, np.integer):
            bounds = np.iinfo(type_)
            most = int(np.nextafter(2.0**63, 0)) if name == "i64" else bounds.max
            held = [min(max(int(x), bounds.min), most) for x in held]
        else:
            held = held.astype(type_)
        case(f"[{fields(len(values))}, {{op: cast, to: {name}}}]", [values], held if name != "i64" else np.array(held), name)


def record_fields():
    rows = ["".join(chr(33 + (7 * i + 3 * j) % 90) for j in range(30 + i)) for i in range(6)]
    for name, size in [("i32", 4), ("f32", 4), ("f64", 8), ("i64", 8), ("u8", 1), ("u32", 4)]:
        letter = {"i32": "i", "f32": "f", "f64": "d", "i64": "q", "u8": "B", "u32": "I"}[name]
        count, offset = 24 // size, 3
        expected = [list(struct.unpack_from(f"<{count}{letter}", row.encode(), offset)) for row in rows]
        payloads(f"[{{op: record_fields, dense: [{offset}, {count}, {name}]}}]", rows, expected, name)
        payloads(f"[{{op: record_fields, dense: [{offset + 8}, {count}, {name}]}}]", rows,
                 [list(struct.unpack_from(f"<{count}{letter}", row.encode(), offset + 8)) if len(row) >= offset + 32 else 1
                  for row in rows], name)


def filters():
    rows = [[1, 5], [2, 6], [3, -7], [-4, 8], [2.5, 2.5]]
    texts = [",".join(map(str, row)) for row in rows]
    for options, is_kept in [("min: 2, max: 6", lambda row: all(2 <= x <= 6 for x in row)),
                             ("element: 0, min: 2", lambda row: row[0] >= 2),
                             ("element: 1, max: 5, invert: true", lambda row: row[1] > 5)]:
        payloads(f"[{fields(2)}, {{op: filter, {options}}}]", texts,
                 [[float(x) for x in row] if is_kept(row) else 2 for row in rows])


def joined():
    """Two tensors of a record, end to end."""
    rows = ["".join(chr(33 + (5 * i + 11 * j) % 90) for j in range(20)) for i in range(5)]
    numbers = [struct.unpack("<5i", row.encode()) for row in rows]
    payloads("[{op: record_fields, dense: [0, 3, i32], sparse: [12, 2, i32]}, {op: concat, on: [sparse, dense]}]", rows,
             [[*row[3:], *row[:3]] for row in numbers], "i32")


def vocabularies():
    """The commonest first, and of equally common ones the one that came first."""
    rows = [[int(x) for x in row] for row in RNG.zipf(1.5, (24, 4)) % 40]
    texts = [",".join(map(str, row)) for row in rows]
    columns = list(zip(*rows))
    for options, size, least, reserved in [("", 65536, 1, 1), (", size: 3", 3, 1, 1), (", min_count: 2", 65536, 2, 1),
                                           (", size: 4, reserved: 10", 4, 1, 10)]:
        numbers = []
        for column in columns:
            kept = [x for x, times in Counter(column).most_common() if times >= least][:size]
            numbers.append({x: reserved + i for i, x in enumerate(kept)})
        payloads(f"[{fields(4)}, {{op: cast, to: i64}}, {{op: vocab{options}}}]", texts,
                 [[numbers[i].get(x, 0) for i, x in enumerate(row)] for row in rows], "i32")


class Bare:
    """A field that is written as it is, without quotes."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return str(self.value)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Operators on records, numbers and texts against Python, on rows drawn from a seed, many of them hostile: what they read, refuse
and make is what Python's own csv, json, integers and unicodedata, NumPy, and the published algorithms written down once more
(tests/unit/preprocess/golden), make of the same rows.

    rows_test.py [SEED [all]]

With `all`, each character of Unicode is looked at, not only some. Skips (exit code 77) where NumPy is not installed.
"""
import csv
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "unit/preprocess/golden"))

try:
    import numpy
    import tabular
    import text
except ImportError as error:
    print(f"skipped: {error}: install python3-numpy")
    sys.exit(77)

RUN = pathlib.Path(os.environ["WEIR_TEST_BIN_DIR"]) / "run_operators"
ROWS, CHARACTERS = 2000, 8000
PASSED, FAILED, FILTERED = range(3)


class Rows:
    """Rows in a file, for operators to be run over."""

    def __init__(self, folder, rows):
        self.rows, self.path = rows, folder / "rows"
        self.path.write_bytes(b"".join(struct.pack("<I", len(row)) + row for row in rows))

    def run(self, operators, dtype):
        """Returns the outcome of each, and the numbers of those that passed, end to end."""
        out = subprocess.run([RUN, "--rows", operators, self.path], check=True, stdout=subprocess.PIPE).stdout
        return list(out[:len(self.rows)]), numpy.frombuffer(out[len(self.rows):], dtype)

    def expect(self, operators, dtype, expected, near=0.0):
        """`expected` has a list for each row, or why there is none."""
        flags, found = self.run(operators, dtype)
        at = 0
        for row, flag, wanted in zip(self.rows, flags, expected):
            assert flag == (wanted if isinstance(wanted, int) else PASSED), f"{operators}: {row!r} is {flag}, expected {wanted}"
            if not isinstance(wanted, int):
                made = found[at:at + len(wanted)]
                assert is_same(made, numpy.array(wanted, dtype), near), f"{operators}: {row!r} is {made}, expected {wanted}"
                at += len(wanted)
        assert at == len(found), f"{operators}: {len(found)} numbers, expected {at}"


def is_same(found, expected, near):
    if not numpy.issubdtype(found.dtype, numpy.floating):
        return len(found) == len(expected) and (found == expected).all()
    return len(found) == len(expected) and numpy.allclose(found, expected, rtol=near, atol=0, equal_nan=True)


# ---- records ----

PIECES = ["0", "-0", "1", "-17", "3.25", ".5", "5.", "1e3", "1E-3", "2.5e+10", "9007199254740993", "0.1", "1e-45", "3.4028235e38",
          "1e39", "1e999", "00012", "+4", "123456789012345678901234567890", "0." + "3" * 40, "1" + "0" * 62, "1" + "0" * 63, "nan",
          "inf", "0x1p3", "1_0", "\u0661", "", "", " ", "\t", '"', '""', "x", "\u00e9", "true", "--1", "1-", "e5", ".", "1e", "1.2.3"]


def draw_record(draw):
    fields = []
    for _ in range(draw.randrange(1, 6)):
        field = "".join(draw.choice(PIECES) for _ in range(draw.choice([1, 1, 1, 2])))
        fields.append(f'"{field}"' if draw.random() < 0.2 else field)
    return ",".join(fields)


def draw_json(draw, depth=0):
    kind = draw.random()
    if kind < 0.5 or depth > 3:
        return draw.choice(PIECES[:20] + ["true", "false", "null", '"a"', '"\\u0061"', '"\\ud83d\\ude00"', '"\\udc00"', "[]", "{}", "NaN"])
    if kind < 0.6:
        return "[" + ", ".join(draw_json(draw, depth + 1) for _ in range(draw.randrange(3))) + "]"
    names = ["a", "b", "c", "\\u0062", "d", "a.c", "", "\u00e9"]
    return "{" + ",".join(f'{draw.choice(["", " "])}"{draw.choice(names)}": {draw_json(draw, depth + 1)}'
                          for _ in range(draw.randrange(1, 4))) + "}"


def spoil(draw, record):
    """A byte lost, doubled or put in."""
    if draw.random() < 0.7 or not record:
        return record
    at = draw.randrange(len(record))
    return record[:at] + draw.choice(["", record[at] * 2, draw.choice('",:{}[]\\ \t0')]) + record[at + 1:]


def csv_row(record):
    """Weir reads no further than the last field that is wanted, the fourth."""
    for at in (at for at, byte in enumerate(record) if byte == ","):
        try:
            if len(next(csv.reader([record[:at + 1]], strict=True))) > 4:
                return tabular.csv_row(record[:at + 1])
        except csv.Error:
            pass  # the comma is quoted
    return tabular.csv_row(record)


def check_records(draw, folder):
    records = [spoil(draw, draw_record(draw)) for _ in range(ROWS)]
    rows = Rows(folder, [record.encode() for record in records])
    rows.expect("[{op: csv_fields, fields: [3, 0]}]", numpy.float32, [csv_row(record) for record in records])
    likely = ['{"a": %s, "b": {"c": %s}}' % (draw_json(draw, 3), draw_json(draw, 3)) for _ in range(ROWS // 2)]
    objects = [spoil(draw, record) for record in likely + [draw_json(draw) for _ in range(ROWS // 2)]]
    rows = Rows(folder, [record.encode() for record in objects])
    rows.expect("[{op: json_fields, fields: [b.c, a]}]", numpy.float32, [tabular.json_row(record) for record in objects])


# ---- numbers ----

EDGES = {
    numpy.float32: [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 1e-45, -1e-45, 1.17549435e-38, 3.4028235e38, -3.4028235e38, numpy.nan, numpy.inf,
                    -numpy.inf, 16777217.0, 2147483647.0, -2147483648.0, 4294967296.0, 9.3e18, 255.5, 1e-7],
    numpy.float64: [0.0, -0.0, 1e-300, 5e-324, 1e300, -1e300, numpy.nan, numpy.inf, -numpy.inf, 0.1, 2.0**53 + 2, -2.5, 2.0**63],
    numpy.int32: [0, 1, -1, 2**31 - 1, -2**31, 255, 256, 65536, 7],
    numpy.int64: [0, 1, -1, 2**63 - 1, -2**63, 2**31, -2**31 - 1, 2**32, 2**53 + 1, 7],
}
NAMES = {numpy.float32: "f32", numpy.float64: "f64", numpy.int32: "i32", numpy.int64: "i64", numpy.uint8: "u8", numpy.uint32: "u32"}
WIDTH = 4


def draw_numbers(draw, type_):
    edges = EDGES[type_]
    if numpy.issubdtype(type_, numpy.floating):
        return [[draw.choice(edges) if draw.random() < 0.5 else draw.gauss(0, 10.0 ** draw.randrange(-3, 9)) for _ in range(WIDTH)]
                for _ in range(ROWS // 20)]
    bounds = numpy.iinfo(type_)
    return [[draw.choice(edges) if draw.random() < 0.5 else draw.randint(bounds.min, bounds.max) for _ in range(WIDTH)]
            for _ in range(ROWS // 20)]


def converted(numbers, to):
    """The nearest that the type can hold, through double; NaN is 0 in integers."""
    held = numpy.asarray(numbers).astype(numpy.float64)
    if numpy.issubdtype(to, numpy.floating):
        return held.astype(to)
    bounds = numpy.iinfo(to)
    most = numpy.nextafter(2.0**63, 0) if to == numpy.int64 else bounds.max
    return numpy.clip(numpy.nan_to_num(held, nan=0.0, posinf=1e300, neginf=-1e300), bounds.min, most).astype(to)


def standardized(held):
    """Values that are no number, or infinite, have no part in it."""
    masked = numpy.ma.masked_invalid(held.astype(numpy.float64))
    mean, deviation = masked.mean(axis=0).filled(0), masked.std(axis=0).filled(0)
    return (held - mean) / numpy.where(deviation > 0, deviation, 1)


def buckets_of(held, borders):
    return [[0 if x != x else tabular.bucket(float(x), borders) for x in row] for row in held]


def check_floats(rows, read, type_, held):
    wide = held.astype(numpy.float64)
    for power, floor in [(0, 1e-6), (0.5, 1e-3), (-2, 1), (1, 1e-30)]:
        x = numpy.where(wide < floor, floor, wide)
        expected = numpy.log(x) if power == 0 else numpy.expm1(power * numpy.log(x)) / power
        rows.expect(f"[{read}, {{op: boxcox, lambda: {power}, floor: {floor}}}]", type_, expected.astype(type_).tolist(), 1e-6)
    filled = numpy.where(numpy.isnan(held), type_(-3), held)
    rows.expect(f"[{read}, {{op: fill_missing, value: -3}}]", type_, filled.tolist())
    moderate = numpy.where(numpy.abs(held) < 1e9, held, type_(numpy.inf))
    bounded = Rows(rows.path.parent, [row.tobytes() for row in moderate])
    bounded.expect(f"[{read}, {{op: standardize}}]", numpy.float32, standardized(moderate).astype(numpy.float32).tolist(), 1e-5)
    if type_ == numpy.float32:
        bounded.expect(f"[{read}, {{op: log1p}}]", type_, numpy.log1p(numpy.where(moderate < 0, 0, moderate)).tolist(), 1e-6)


def check_integers(draw, rows, read, held):
    ids = [[int(x) for x in row] for row in held]
    for most in (1, 2, 97, 1 << 30, draw.randrange(1, 1 << 30)):
        salt = draw.choice([0, 1, (1 << 64) - 1, draw.getrandbits(64)])
        expected = [[tabular.sigrid(x, salt, most) for x in row] for row in ids]
        rows.expect(f"[{read}, {{op: hash_mod, buckets: {most}, salt: {salt}}}]", numpy.int32, expected)
        rows.expect(f"[{read}, {{op: sigrid_hash, max_value: {most}, salt: {salt}}}]", numpy.int64, expected)
    for most in ((1 << 63) - 1, (1 << 62) + 1, draw.getrandbits(63) | 1):
        rows.expect(f"[{read}, {{op: sigrid_hash, max_value: {most}}}]", numpy.int64,
                    [[tabular.sigrid(x, 0, most) for x in row] for row in ids])
    rows.expect(f"[{read}, {{op: one_hot, classes: 8}}]", numpy.float32,
                [[float(x == place) for x in row for place in range(8)] for row in ids])
    rows.expect(f"[{read}, {{op: ngram, n: 2, buckets: 1000}}]", numpy.int32,
                [[tabular.run_hash(row[i:i + 2], 0, 1000) for i in range(WIDTH - 1)] for row in ids])


def check_numbers(draw, folder):
    for type_ in EDGES:
        with numpy.errstate(all="ignore"):
            held = numpy.array(draw_numbers(draw, type_), type_)
            rows, read = Rows(folder, [row.tobytes() for row in held]), f"{{op: record_fields, dense: [0, {WIDTH}, {NAMES[type_]}]}}"
            for to in NAMES:
                rows.expect(f"[{read}, {{op: cast, to: {NAMES[to]}}}]", to, (held if to == type_ else converted(held, to)).tolist())
            least, most = sorted(draw.choice([-1e9, -3, 0, 0.5, 100, 1e30]) for _ in range(2))
            borders = sorted(float(draw.choice([-5, -1, 0, 0.5, 1e-45, 3, 255, 2147483647, 1e300, 1e-300])) for _ in range(4))
            if least < most and max(map(borders.count, borders)) < 3:
                rows.expect(f"[{read}, {{op: bucketize, borders: {borders}}}]", numpy.int32, buckets_of(held, borders))
                kept = [bool(all(least <= x <= most for x in row)) for row in held]
                rows.expect(f"[{read}, {{op: filter, min: {least}, max: {most}}}]", type_,
                            [row if keep else FILTERED for keep, row in zip(kept, held.tolist())])
            if numpy.issubdtype(type_, numpy.floating):
                check_floats(rows, read, type_, held)
            else:
                check_integers(draw, rows, read, held)


# ---- texts ----

SCRIPTS = [range(0x20, 0x7F), range(0x20, 0x7F), range(0xA0, 0x250), range(0x300, 0x530), range(0x900, 0xA00), range(0xAC00, 0xB000),
           range(0x1E00, 0x2070), range(0x3000, 0x3100), range(0x4E00, 0x4E40), range(0x1F600, 0x1F640), range(0x1D100, 0x1D200)]
MARKED = [*range(1, 0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE0200), *range(0x10FFF0, 0x110000)]


def draw_text(draw):
    words = (draw.choice(text.CORPUS.split()) if draw.random() < 0.5 else
             "".join(chr(draw.choice(draw.choice(SCRIPTS))) for _ in range(draw.randrange(1, 8))) for _ in range(draw.randrange(12)))
    return draw.choice([" ", "  ", ""]).join(words)


def check_wordpiece(folder, pieces, texts):
    path, numbers = folder / "vocabulary", {piece: number for number, piece in enumerate(pieces)}
    path.write_text("\n".join(pieces) + "\n")
    rows = Rows(folder, [one.encode() for one in texts])
    for lower in (True, False):
        rows.expect(f"[{{op: wordpiece, vocabulary: {path}, lower: {str(lower).lower()}}}]", numpy.int32,
                    [text.wordpiece(one, numbers, lower) for one in texts])


def check_unicode(folder, codes):
    """Each character between two letters: where words are cut, what is folded to what."""
    texts = ["".join(f"a{chr(code)}b " for code in codes[first:first + 1024]) for first in range(0, len(codes), 1024)]
    chars = sorted({char for one in texts for lower in (True, False) for token in text.basic_tokens(one, lower) for char in token})
    check_wordpiece(folder, ["[UNK]", *chars, *("##" + char for char in chars)], texts)


def check_byte_pairs(draw, folder, texts):
    tokens, merges = sorted(text.LETTER_OF.values()), []
    for _ in range(500):
        pair = tuple(draw.choice(tokens[:256] if draw.random() < 0.3 else tokens) for _ in range(2))
        if pair[0] + pair[1] not in tokens and len(pair[0] + pair[1]) < 12:
            merges.append(pair)
            tokens.append(pair[0] + pair[1])
    learnt = [pair for pair in text.learn_merges(100) if pair[0] + pair[1] not in tokens]
    merges, tokens = learnt + merges, tokens + [a + b for a, b in learnt]
    draw.shuffle(merges)
    ids = {token: number for number, token in enumerate(tokens)}
    (folder / "tokens").write_text(json.dumps(ids))
    (folder / "merges").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    Rows(folder, [one.encode() for one in texts]).expect(
        f"[{{op: bpe, vocabulary: {folder}/tokens, merges: {folder}/merges}}]", numpy.int32,
        [text.byte_pairs(one, ids, ranks) for one in texts])


def check_texts(draw, folder, wants_all):
    texts = [draw_text(draw) for _ in range(ROWS // 10)]
    check_byte_pairs(draw, folder, texts)
    words = [token for one in texts for token in text.basic_tokens(one, draw.random() < 0.8)]
    pieces = {word[first:first + draw.randrange(1, 9)] for word in words for first in range(0, len(word), 2)}
    pieces = sorted(pieces | {"##" + piece for piece in pieces if draw.random() < 0.7})
    check_wordpiece(folder, ["[UNK]", *pieces], texts)
    check_unicode(folder, MARKED if wants_all else draw.sample(MARKED, CHARACTERS))


def main():
    draw = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    with tempfile.TemporaryDirectory() as name:
        check_records(draw, pathlib.Path(name))
        check_numbers(draw, pathlib.Path(name))
        check_texts(draw, pathlib.Path(name), sys.argv[2:] == ["all"])
    print("as Python makes them")


if __name__ == "__main__":
    main()

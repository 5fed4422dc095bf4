"""Mistakes in data that `weir config check --data` finds before anything runs: each by one line that says where in the pipeline file,
and in which record of which file; all of them in one round; and none in data that is good. In a folder, compressed, in a bucket. No
platform, no Postgres. Usage: data_mistakes_test.py [everywhere]: each of them in each kind of place, not some of them"""

import gzip
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from datalab import (
    SECRET, TABLE, add, check, compressed, compressed_in_bucket, each, files, in_bucket, in_folder, keep, lines, pictures, png, put,
    store, swap, table, without, zstd)
from weirlab import binaries, run_tests

TIME = r"datasets\[0\]\.time: "
LABEL = r"datasets\[0\]\.label: "
SOURCE = r"datasets\[0\]\.source: "
OPERATORS = r"preprocess\.operators: "
EACH = [  # kind, changes of the pipeline file, changes of the data, what the one line says after its place
    # columns
    ("table", [("field: label", "field: lable")], [], LABEL + r"DATA/a\.csv: line 1: found no column 'lable' among 6 \(ts, user, x, y, kind, label\)"),
    ("table", [("field: label", "field: lable")], [add(f"{i}.csv", table()["a.csv"]) for i in range(9)],
     LABEL + r"DATA/0\.csv: line 1: found no column 'lable' among 6 \(ts, user, x, y, kind, label\).*"),
    ("table", [("field: ts", "field: when")], [], TIME + r"DATA/a\.csv: line 1: found no column 'when' among 6 \(ts, "),
    ("table", [("field: user", "field: usr")], [], r"datasets\[0\]\.subject: DATA/a\.csv: line 1: found no column 'usr' among 6"),
    ("table", [("[x, y]", "[x, z]")], [], OPERATORS + r"csv_fields: found field 'z', expected one of ts, user, x, y, kind, label"),
    ("table", [("[x, y]", "[z, y, xx]")], [], OPERATORS + r"csv_fields: found fields 'z', 'xx', expected one of ts, user, x, y, kind, label.*"),
    ("table", [("[kind]", "[knid]")], [], OPERATORS + r"csv_words: found field 'knid', expected one of ts, user, x"),
    ("table", [], [swap("a.csv", "ts,user,x,y", "ts,user,x,x")], OPERATORS + r"csv_fields: found .*'[xy]'.*"),
    ("table", [('"*.csv",', '"*.csv", delimiter: ";",')], [], SOURCE + r"DATA/a\.csv: line 1: found a single column, .*: source\.delimiter .*"),
    ("table", [], [add("b.csv", "user,ts,x,y,kind,label\nu1,2020-01-01,1,2,k1,good\n")], SOURCE + r"DATA/b\.csv: line 1: found the columns .*"),
    ("table", [], [swap("a.csv", ",", "\t")], SOURCE + r"DATA/a\.csv: line 1: found a single column, 'ts\?user\?.*: source\.delimiter .*"),
    ("table", [], [lambda data: add("a.csv", gzip.compress(data["a.csv"].encode()))(data)],
     SOURCE + r"DATA/a\.csv: found a table compressed with gzip, expected it decompressed \(gzip -d\), or written with zstd"),
    ("table", [], [swap("a.csv", "ts,user,x,y,kind,label\n", "")], SOURCE + r"DATA/a\.csv: line 1: found a record, expected names of columns: source\.header: .*"),
    ("table", [('"*.csv"', '"*.CSV"')], [], r"datasets\[0\]\.source\.include: found no file in DATA that matches \"\*\.CSV\", but a\.csv: expected a pattern .*"),
    ("files", [('"*.txt"', '"*.text"')], [], r"datasets\[0\]\.source\.include: found no file in DATA .*, but 00\.txt, 01\.txt, 02\.txt …: expected .*"),
    ("table", [], [swap("a.csv", table()["a.csv"], "<html><body>not found</body></html>\n")],
     SOURCE + r"DATA/a\.csv: line 1: found a single column, '<html><body>not found</body></html>', which is none of those that are declared: is it a table\?"),
    ("table", [('"*.csv",', '"*.csv", delimiter: tab,')], [], SOURCE.rstrip(": ") + r"\.delimiter: found 'tab', expected one character, no quote; a tab is \"\\t\""),
    ("table", [(", classes: [good, bad]", "")], [swap("a.csv", ",good\n", ",-1.5,-0.5\n"), swap("a.csv", ",bad\n", ",2.5,1\n"), swap("a.csv", "ts,user,x,y,kind,label\n", "")],
     SOURCE + r"DATA/a\.csv: line 1: found a record, expected names of columns: .*"),
    # records
    ("table", [], [swap("a.csv", ",k1,", ",k1,k2,")], SOURCE + r"40 of 200: DATA/a\.csv:3: found 7 fields, expected 6 as in the header"),
    ("table", [], [swap("a.csv", "2020-01-05", "05/01/2020")], TIME + r"7 of 200: DATA/a\.csv:6: time 'ts': found \"99/99/9999\" .*expected RFC 3339.*"),
    ("table", [("{from: field, field: ts}", '{from: field, field: ts, pattern: "%d.%m.%Y"}')], [],
     TIME + r"200 of 200: DATA/a\.csv:2: time 'ts': found \"9999-99-99\" .*expected \"%d\.%m\.%Y\".*"),
    ("table", [("    subject: {field: user}\n", "")], [swap("a.csv", ",good\n", ",god\n", 9)],
     LABEL + r"9 of 200: DATA/a\.csv:2: label: found 'god', expected one of the declared classes"),
    ("table", [], [swap("a.csv", ",bad\n", ",\n", 9)], LABEL + r"9 of 200: DATA/a\.csv:3: label: found none, expected one of the declared classes"),
    ("table", [(", classes: [good, bad]", "")], [], LABEL + r"200 of 200: DATA/a\.csv:2: label: found a value, expected an integer; .*"),
    ("table", [], [swap("a.csv", "\n", "\r")], SOURCE + r"DATA/a\.csv: line 1: found lines that end with CR alone, .*"),
    ("table", [], [add("a.csv", table()["a.csv"].encode("utf-16"))], SOURCE + r"DATA/a\.csv: found a table in UTF-16, expected UTF-8: iconv .*"),
    ("table", [], [add("a.csv", table()["a.csv"].encode("utf-16-be"))], SOURCE + r"DATA/a\.csv: found a table in UTF-16, expected UTF-8: iconv .*"),
    ("table", [], [add("a.csv", table()["a.csv"].replace(",good", ",g\xfct").encode("latin-1"))],
     LABEL + r"100 of 200: DATA/a\.csv:2: label: found text that is no UTF-8 \(iconv converts it\), expected one of the declared classes"),
    ("table", [], [add("a.csv", b"PAR1" + bytes(99) + b"PAR1")], SOURCE + r"DATA/a\.csv: found a table in Parquet, expected text: tools/parquet_to_jsonl .*"),
    ("lines", [], [lambda data: add("a.jsonl", data["a.jsonl"].encode("utf-16"))(data)], SOURCE + r"DATA/a\.jsonl: found lines in UTF-16, expected UTF-8: iconv .*"),
    ("table", [], [add("a.csv", table()["a.csv"] + 60000 * "2020-01-01,u,1,2,k0,good\n"), add("c.csv", table()["a.csv"].replace("label\n", "lable\n"))],
     LABEL + r"DATA/c\.csv: line 1: found no column 'label' among 6 \(ts, user, x, y, kind, lable\).*"),
    ("table", [(", classes: [good, bad]", ""), ("    subject: {field: user}\n", "")], [swap("a.csv", ",good\n", ',"1,5"\n', 9), swap("a.csv", ",good\n", ",0\n"), swap("a.csv", ",bad\n", ",1\n")],
     LABEL + r"9 of 200: DATA/a\.csv:2: label: found '1,5', expected an integer; a label is written with a point"),
    ("table", [(", classes: [good, bad]", ""), ("    subject: {field: user}\n", "")], [swap("a.csv", ",good\n", ",NA\n", 9), swap("a.csv", ",good\n", ",0\n"), swap("a.csv", ",bad\n", ",1.0\n")],
     LABEL + r"9 of 200: DATA/a\.csv:2: label: found 'NA', expected an integer; source\.missing may list it, .*"),
    ("table", [(", classes: [good, bad]", ""), ("    subject: {field: user}\n", "")], [swap("a.csv", ",good\n", ",1 EUR\n", 9), swap("a.csv", ",good\n", ",0\n"), swap("a.csv", ",bad\n", ",1.0\n")],
     LABEL + r"9 of 200: DATA/a\.csv:2: label: found '1 EUR', expected an integer; names need classes: stream, and numbers stand without their unit"),
    ("table", [("field: ts}", 'field: ts, pattern: "%Y-%m-%d %H:%M %p"}')], [], r"datasets\[0\]\.time\.pattern: found '%Y-%m-%d %H:%M %p', expected %I beside %p: .*"),
    ("table", [("loss: logistic", "loss: logistic, start_from: last")], [], r"training\.start_from: expected previous, scratch, a model's name \(mine-3\) .*, found 'last'"),
    # operators on tables
    ("table", [], [swap("a.csv", ".5,", ".5 kg,")], OPERATORS + r"csv_fields: 200 of 200: DATA/a\.csv:2: column 'x': found \"9\.9 aa\" .*expected a number"),
    ("table", [], [swap("a.csv", ",7.5,", ",NA,"), swap("a.csv", ",8.5,", ",NA,"), swap("a.csv", ",9.5,", ",NA,")],
     OPERATORS + r"csv_fields: 3 of 200: DATA/a\.csv:9: column 'x': found 'NA', expected a number: missing.*"),
    ("table", [("on: kind, as: kinds", "on: kindd, as: kinds")], [], OPERATORS + r"vocab: .*named kindd, found .*.*"),
    ("table", [("    - {op: csv_words", "    - {op: filter, on: numbers, element: 0, min: 1000}\n    - {op: csv_words"), ("    - {op: standardize, on: numbers}\n", "")], [],
     OPERATORS + r"all of 200 records of dataset 'd' are filtered out"),
    ("table", [("{from: field, field: ts}", '{from: file_name, pattern: "%Y-%m-%d"}')], [],
     TIME + r"200 of 200: DATA/a\.csv:2: found a name without a time, expected %Y-%m-%d"),
    ("table", [("field: ts}", "field: kind}")], [], TIME + r"200 of 200: DATA/a\.csv:2: time 'kind': found \"a9\" .*expected RFC 3339.*"),
    ("table", [("samples: 32", "samples: 32, sample_bytes_max: 30")], [],
     r"preprocess\.batch\.sample_bytes_max: \d+ of 200: DATA/a\.csv:\d+: a record of 31 bytes, expected at most 30"),
    # loss, model, metrics
    ("table", [("[good, bad]", "[good, bad, ugly]")], [], r"training\.loss: found logistic, which is of two classes, expected softmax, because dataset 'd' has 3.*"),
    ("table", [("{field: label, classes: [good, bad]}", "{field: x}")], [],
     LABEL + r"200 of 200: DATA/a\.csv:2: label: found a value, expected an integer; type: float takes numbers with a fraction"),
    ("table", [("{field: label, classes: [good, bad]}", "{field: kind, at_least: 3}")], [], LABEL + r"200 of 200: DATA/a\.csv:2: label: found a value, expected a number.*"),
    ("table", [("loss: logistic", "loss: logistic, start_from: /no/such/model")], [], r"training\.start_from: found /no/such/model, .*No such file.*"),
    ("table", [(", classes: [good, bad]", ", classes: stream"), ("logistic", "squared")], [], r"training\.loss: .*squared.*"),
    ("table", [("{field: label, classes: [good, bad]}", "{field: x, type: float}"), ("metrics: [accuracy]", "metrics: [mse]")], [],
     r"training\.loss: DATA/a\.csv:2: found label 0\.5 of dataset 'd', expected 0 or 1, as logistic takes it.*"),
    ("table", [("{field: label, classes: [good, bad]}", "{field: y}"), ("metrics: [accuracy]", "metrics: [mse]")], [],
     r"training\.loss: DATA/a\.csv:2: found label 100 of dataset 'd', expected 0 or 1.*"),
    ("table", [("{field: label, classes: [good, bad]}", "{field: x, type: float}"), ("logistic", "squared")], [],
     r"evaluation\.metrics: found accuracy, which compares classes, and labels of dataset 'd' are numbers, 0\.5 for example \(DATA/a\.csv:2\).*"),
    ("table", [("{field: label, classes: [good, bad]}", "{field: y}"), ("logistic", "softmax")], [], r"training\.loss: .*declare them with label\.classes.*"),
    ("table", [("    label: {field: label, classes: [good, bad]}\n", "")], [], r"training\.loss: found no label in dataset 'd', .*"),
    ("table", [("loss: logistic", "loss: logistic, group: usr")], [], r"training\.group: expected a tensor 'usr', found .*"),
    ("table", [("loss: logistic", "loss: logistic, slices: [country]")], [], r"training\.slices: expected a tensor 'country', found .*"),
    # lines
    ("lines", [("field: ts", "field: time")], [], TIME + r"200 of 200: DATA/a\.jsonl:1: time 'time': found none, .*; its fields: ts, id, text, mark"),
    ("lines", [("mark.name", "mark.nam")], [], LABEL + r"200 of 200: DATA/a\.jsonl:1: label: found none, .*; its fields: ts, id, text, mark"),
    ("lines", [("field: id", "field: key")], [], r"datasets\[0\]\.key: DATA/a\.jsonl: found none in 200 of 200 records, .*; its fields: ts, id, text, mark"),
    ("lines", [("field: text", "field: txt")], [], OPERATORS + r"json_text: 200 of 200: DATA/a\.jsonl:1: .*'txt'.*"),
    ("lines", [], [swap("a.jsonl", '"text": "word1 and more"', '"text": 7')], OPERATORS + r"json_text: 23 of 200: DATA/a\.jsonl:2: field 'text': found a number, expected a string.*"),
    ("lines", [], [swap("a.jsonl", '{"ts": 1600000007', '{"ts" 1600000007'), swap("a.jsonl", '{"ts": 1600000008', '{"ts" 1600000008'), swap("a.jsonl", '{"ts": 1600000009', '{"ts" 1600000009')],
     SOURCE + r"3 of 200: DATA/a\.jsonl:8: .*at column \d+, expected one object a line"),
    ("lines", [], [add("a.jsonl", "[" + ",".join(lines()["a.jsonl"].splitlines()) + "]\n")], SOURCE + r"DATA/a\.jsonl:1: .*expected one object a line"),
    ("lines", [], [add("a.jsonl", lines()["a.jsonl"] + 4 * "{\n")],
     SOURCE + r"4 of 204: DATA/a\.jsonl:201: found broken JSON at column 2, expected one object a line: jq -c writes those of several lines so"),
    ("lines", [("loss: softmax", "loss: logistic")], [], r"training\.loss: loss logistic: 3 classes, expected 2: use softmax \(labels of dataset 'd'\)"),
    ("lines", [("stream", "[a, b]"), ("softmax", "logistic")], [], LABEL + r"66 of 200: DATA/a\.jsonl:3: label: found 'c', expected one of the declared classes"),
    ("lines", [], [each("a.jsonl", lambda row: row | {"mark": {"name": "a"}})], r"training\.loss: loss softmax: 1 classes, expected 2 or more.*"),
    ("lines", [("model: text_bag", "model: {name: text_bag, buckets: 5}")], [], r"training\.model: text_bag has buckets for 5 tokens, and preprocess makes tokens up to 1[0-9].*"),
    ("lines", [("{field: mark.name, classes: stream}", "{field: vec, values: [f32, 3]}"), ("softmax", "squared"), ("[accuracy]", "[mse]")],
     [each("a.jsonl", lambda row: row | {"vec": [1, 2]})], LABEL + r"200 of 200: DATA/a\.jsonl:1: label: found 2 numbers, expected 3"),
    ("lines", [("{field: mark.name, classes: stream}", "{field: vec, values: [f32, 2]}"), ("[accuracy]", "[mse]")],
     [each("a.jsonl", lambda row: row | {"vec": [1, 2]})], r"training\.loss: found 'softmax', expected squared, because labels of dataset 'd' are vectors.*"),
    ("lines", [("{op: json_text, field: text}\n    - {op: normalize_text}\n    - {op: tokenize_words}\n    - {op: vocab}", "{op: json_fields, fields: [id, text]}"), ("text_bag", "linear")], [],
     OPERATORS + r"json_fields: 200 of 200: DATA/a\.jsonl:1: field 'text': found a text, expected a number: json_text takes it; a number stands in no quotes"),
    ("lines", [("{op: json_text, field: text}\n    - {op: normalize_text}\n    - {op: tokenize_words}\n    - {op: vocab}", "{op: json_fields, fields: [mark]}"), ("text_bag", "linear")], [],
     OPERATORS + r"json_fields: 200 of 200: DATA/a\.jsonl:1: field 'mark': found an object, expected a number: a\.b is b inside a"),
    ("lines", [("field: text}", "field: id}")], [], OPERATORS + r"json_text: 200 of 200: DATA/a\.jsonl:1: field 'id': found a number, expected a string: json_fields takes it"),
    ("lines", [], [swap("a.jsonl", '"', "'")], SOURCE + r"200 of 200: DATA/a\.jsonl:1: found a single quote instead of JSON's double one at column 2, expected one object a line"),
    ("lines", [], [swap("a.jsonl", '"id": 1', '"id": NaN, "x": 1')], SOURCE + r"111 of 200: DATA/a\.jsonl:2: found NaN or Infinity instead of JSON's null at column 26, .*"),
    ("lines", [], [swap("a.jsonl", '"mark": {', '"is": True, "mark": {')], SOURCE + r"200 of 200: DATA/a\.jsonl:1: found True, False or None instead of JSON's true.*"),
    ("lines", [("stream", "[aa, bb, cc]")], [each("a.jsonl", lambda row: row | {"mark": {"name": "abc"[row["id"] % 3] * 2 + "x" * (row["id"] % 3 == 1)}})],
     LABEL + r"67 of 200: DATA/a\.jsonl:2: label: found 'bbx', expected one of the declared classes \(did you mean 'bb'\?\)"),
    ("lines", [("{field: mark.name, classes: stream}", "{field: sold, classes: [no, yes]}"), ("softmax", "logistic")], [each("a.jsonl", lambda row: row | {"sold": row["id"] % 2 == 0})],
     LABEL + r"200 of 200: DATA/a\.jsonl:1: label: found '1', expected one of the declared classes: 0 and 1, or false and true, need none declared"),
    ("lines", [], [swap("a.jsonl", '"text": "word1', '"text": "x", "text": "word1')],
     OPERATORS + r"json_text: 23 of 200: DATA/a\.jsonl:2: byte 66: found a declared field twice, expected it once, expected one JSON object"),
    ("lines", [("{op: json_text, field: text}", "{op: csv_text, field: text}")], [],
     OPERATORS + r"csv_text: found field 'text', expected one of `columns` or a number from 0 to 4095: .*fields of JSON are read by json_fields and json_text"),
    ("table", [('"*.csv",', '"*.csv", delimiter: ";;",')], [], SOURCE.rstrip(": ") + r"\.delimiter: found ';;', expected one character, no quote"),
    ("table", [('"*.csv",', '"*.csv", quotes: single,')], [], SOURCE.rstrip(": ") + r"\.quotes: expected one of: double, none, found 'single'"),
    ("table", [], [swap("a.csv", "2020-01-28", "2020-02-30")],
     TIME + r"7 of 200: DATA/a\.csv:29: time 'ts': found \"9999-99-99\" .*; the form is right, but there is no such day or hour"),
    ("lines", [("format: jsonl", "format: csv")], [], SOURCE + r"DATA/a\.jsonl: line 1: .*"),
    ("lines", [], [swap("a.jsonl", '"ts": 16', '"ts": "some day", "tt": 16')], TIME + r"200 of 200: DATA/a\.jsonl:1: time 'ts': found \"aaaa aaa\" .*"),
    ("lines", [("{field: mark.name, classes: stream}", "{field: id}"), ("softmax", "squared")], [],
     r"evaluation\.metrics: found accuracy, which compares classes, and labels of dataset 'd' are numbers, 2 for example \(DATA/a\.jsonl:3\).*"),
    ("lines", [("mark.name, classes: stream", "mark.name, classes: [A, B, C]")], [],
     LABEL + r"200 of 200: DATA/a\.jsonl:1: label: found 'a', expected one of the declared classes: but for spaces or capital letters it is one"),
    ("lines", [], [each("a.jsonl", lambda row: row | {"ts": (1600000000 + row["id"]) * 10**9})],
     TIME + r"200 of 200: DATA/a\.jsonl:1: time 'ts': found \"9+\" .*; `unit` says what a number counts: s, ms, us, ns, excel"),
    ("lines", [], [each("a.jsonl", lambda row: row | {"text": None})], OPERATORS + r"json_text: 200 of 200: DATA/a\.jsonl:1: field 'text': found null, .*"),
    ("lines", [("loss: softmax", "loss: softmax, start_from: previuos")], [], r"training\.start_from: found 'previuos' \(did you mean previous\?\)"),
    ("lines", [("classes: stream", "classes: [a, b, a]")], [], r"datasets\[0\]\.label\.classes: 'a' stands there twice"),
    ("lines", [("every: 1 month", "every: 1 month, from: 2020-09-14, to: 2020-09-14")], [], r"evaluation\.to: expected a time after from, 2020-09-14, found '2020-09-14'"),
    ("lines", [], [lambda data: add("a.jsonl", gzip.compress(data["a.jsonl"].encode()))(data)],
     SOURCE + r"DATA/a\.jsonl: found lines compressed with gzip, expected it decompressed.*"),
    # pictures
    ("pictures", [("    - {op: resize, size: [8, 8]}\n", "")], [], OPERATORS + r"normalize: column picture holds pictures of any size, .*"),
    ("pictures", [("mean: [0, 0, 0], std: [1, 1, 1]", "mean: [123.7, 116.8, 103.9], std: [58.4, 57.1, 57.4]")], [],
     OPERATORS + r"normalize: mean: found 123\.7, expected that of pixels divided by 255, which is 0\.485 then; std likewise"),
    ("pictures", [("from: folder,", "from: folder, depth: 2,")], [], LABEL + r"20 of 20: DATA/cat/00\.png: label: found none, .*"),
    ("pictures", [], [swap("cat/04.png", b"IDAT", b"IDOT")], OPERATORS + r"decode_png: DATA/cat/04\.png: .*"),
    ("pictures", [], [add("dog/05.png", b"GIF89a not a png")], OPERATORS + r"decode_png: DATA/dog/05\.png: .*"),
    ("pictures", [("[cat, dog]", "[cats, dogs]")], [], LABEL + r"20 of 20: DATA/cat/00\.png: label: found 'cat', expected one of the declared classes"),
    ("pictures", [], [add("bird/01.png", png(10, 10))], LABEL + r"DATA/bird/01\.png: label: found 'bird', expected one of the declared classes"),
    ("pictures", [], [add("99.png", png(10, 10))], LABEL + r"DATA/99\.png: label: found none, expected one of the declared classes"),
    ("pictures", [], [add("cat/99.png", b"")], SOURCE + r"DATA/cat/99\.png: found an empty file, expected a sample"),
    ("pictures", [("decode_png", "decode_jpeg")], [], OPERATORS + r"decode_jpeg: 20 of 20: DATA/cat/00\.png: .*"),
    ("pictures", [("model: linear", "model: text_bag")], [], r"training\.model: .*ragged i32 tensor of tokens, found .*"),
    # files with a manifest
    ("files", [("manifest: labels.csv", "manifest: label.csv")], [], SOURCE + r"DATA/label\.csv: is not there, expected the manifest"),
    ("files", [("tokenize_words", "decode_jpeg")], [], OPERATORS + r"tokenize_hash: expected a tokens column, found picture \(pictures\)"),
    ("files", [], [swap("labels.csv", "03.txt,2020", "33.txt,2020")], SOURCE + r"DATA/03\.txt: found no row in the manifest, expected one"),
    ("files", [], [swap("labels.csv", ",3.25", ",three")], LABEL + r"DATA/03\.txt: label: found 'three', expected a number.*"),
    ("files", [], [swap("labels.csv", "path,time,label", "path,time,lable")], r"datasets\[0\]\.source: .*label.*"),
    ("files", [], [swap("labels.csv", "T00:00:03Z", " noon")], TIME + r"DATA/03\.txt: time: found .*expected RFC 3339.*"),
    ("files", [("buckets: 1000}\n  batch", "buckets: 1001}\n  batch")], [], r"training\.model: text_bag has buckets for 1000 tokens, .*up to 1000.*"),
    ("files", [("loss: squared", "loss: logistic"), ("[mse]", "[mse]")], [], r"training\.loss: DATA/00\.txt: found label 0\.25 of dataset 'd', expected 0 or 1.*"),
]


GOOD = [  # what a rule must not refuse, and what is shown of it
    ("table", [], [], "standardize", "numbers -> numbers [-1."),
    ("table", [("{field: label, classes: [good, bad]}", "{field: x, type: float}"), ("logistic", "squared"), ("[accuracy]", "[mse]")], [], "vocab", "kind -> kinds ["),
    ("table", [("{field: label, classes: [good, bad]}", "{field: x, at_least: 50}")], [], "csv_fields", "payload -> numbers ["),
    ("table", [], [swap("a.csv", ",7.5,", ",NA,")], "csv_words", "kind ["),
    ("table", [('"*.csv",', '"*.csv", missing: [NA],'), ("[x, y], as", "[x, y], fill: 0, as")], [swap("a.csv", ",5.5,", ",NA,"), swap("a.csv", ",6.5,", ",NA,"), swap("a.csv", ",7.5,", ",NA,")], "csv_fields", "numbers"),
    ("table", [], [add("b.csv", table()["a.csv"].replace("2020", "2021"))], "csv_fields", "numbers"),
    ("table", [(", classes: [good, bad]", "")], [swap("a.csv", ",good\n", ",1.0\n"), swap("a.csv", ",bad\n", ",0.0\n")], "csv_fields", "numbers"),
    ("lines", [], [], "tokenize_words", 'text -> words ["word0", "and", "more"] 3 words'),
    ("lines", [("classes: stream", "classes: [a, b, c]")], [], "vocab", "words -> tokens [3, 1, 2]"),
    ("pictures", [], [], "decode_png", "payload -> picture a picture of 1"),
    ("files", [], [], "tokenize_hash", "words -> tokens ["),
]


def assert_each_is_found(folder, place, mistakes):
    wrong = []
    for kind, file_changes, data_changes, expected in mistakes:
        answer = check(folder, kind, file_changes, data_changes, place=place)
        line = re.escape(str(folder)) + r"/p\.yaml:\d+:\d+: " + expected + ".*"
        found = [line.replace(".zst", "") for line in answer["lines"] if "the model would be told" not in line]
        if answer["valid"] or len(found) != 1 or not re.fullmatch(line, found[0]):
            wrong.append(f"{kind} {file_changes}: expected {expected}, found {answer['lines']}")
    assert not wrong, "\n".join(wrong)


def test_each_is_found_by_one_line_with_its_places(folder):
    assert len(EACH) >= 60
    assert_each_is_found(folder, in_folder, EACH)


COMPRESSIBLE = [mistake for mistake in EACH if mistake[0] in ("table", "lines")]


def test_they_are_found_in_compressed_files(folder):
    assert_each_is_found(folder, compressed, COMPRESSIBLE[::4])


def test_they_are_found_in_a_bucket(folder):
    assert_each_is_found(folder, in_bucket, EACH[2::6])


def everywhere_each_is_found_in_compressed_files_and_in_a_bucket(folder):
    assert_each_is_found(folder, compressed, COMPRESSIBLE)
    assert_each_is_found(folder, in_bucket, EACH)


def test_no_more_is_read_of_large_objects_than_their_first_mebibyte(folder):
    much = [each("a.jsonl", lambda row: row | {"text": 20000 * "word "} if row["id"] < 30 else row)]
    for place in (in_bucket, compressed_in_bucket):
        store().ranges.clear()
        answer = check(folder, "lines", [], much, place=place)
        assert answer["valid"] and 1 < answer["shown"][0]["records"] < 20, answer
        assert store().ranges == [("day/a.jsonl" + (".zst" if place is compressed_in_bucket else ""), 0, 2**20 - 1)], store().ranges
        answer = check(folder, "lines", [("field: text", "field: txt")], much, place=place)
        assert len(answer["lines"]) == 1 and "json_text: 10 of 10: " in answer["lines"][0], answer
    answer = check(folder, "lines", [], [each("a.jsonl", lambda row: row | {"text": 300000 * "word "})], place=in_bucket)
    assert answer["valid"] and len(answer["lines"]) == 1 and "its first 1 MiB hold no whole record" in answer["lines"][0], answer


def test_a_bucket_that_answers_badly_is_told_of_by_what_it_answered(folder):
    store().faults = [None, "half"]
    assert check(folder, "table", [], [], place=in_bucket)["lines"] == [], "it was asked again"
    store().faults = 9 * ["500"]
    answer = check(folder, "table", [], [], place=in_bucket)
    store().faults = []
    assert answer["valid"] and "the bucket was not looked at: " in answer["lines"][0] and "500" in answer["lines"][0], answer
    os.environ["AWS_SECRET_ACCESS_KEY"] = "another"
    answer = check(folder, "table", [], [], place=in_bucket)
    assert not answer["valid"] and "DATA: found HTTP status 403 SignatureDoesNotMatch" in answer["lines"][0], answer
    del os.environ["AWS_SECRET_ACCESS_KEY"]
    answer = check(folder, "table", [], [], place=in_bucket)
    assert answer["valid"] and "AWS_SECRET_ACCESS_KEY is not set" in answer["lines"][0], answer
    os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET


def test_what_is_compressed_and_damaged_is_refused_with_its_place(folder):
    for change, said in (((b"\x28\xb5", b"\x28\xb6"), "expected whole frames of zstd"), ((b"", b""), "found the end within a frame")):
        data = {"a.csv.zst": zstd(table()["a.csv"]).replace(*change)[:-3]}
        with in_folder(folder, TABLE.replace('"*.csv"', '"*.zst", import: copy'), data) as (text, name):
            (folder / "p.yaml").write_text(text)
            done = subprocess.run([binaries() / "weir", "config", "check", folder / "p.yaml", "--data"], capture_output=True, text=True)
        assert done.returncode == 2 and f"{name}/a.csv.zst: compressed byte " in done.stderr and said in done.stderr, done


def test_data_that_is_good_is_not_refused_and_is_shown_as_every_operator_makes_it(folder):
    for kind, file_changes, data_changes, operator, made in GOOD:
        answer = check(folder, kind, file_changes, data_changes)
        assert answer["valid"], answer
        shown = answer["shown"]
        assert [len(dataset["samples"]) for dataset in shown] == [5], shown
        for sample in shown[0]["samples"]:
            assert sample["place"].startswith("/") and re.match(r"20\d\d-\d\d-\d\dT", sample["about"]), sample
        steps = [step for sample in shown[0]["samples"] for step in sample["steps"]]
        assert any(name == operator and made in text for name, text in steps), (operator, made, steps)


def test_all_are_found_in_one_round_those_of_the_file_and_those_of_the_data(folder):
    answer = check(folder, "table", [
        ("samples: 100", "samples: many"), ("new_data", "newdata"), ("mode: replay", "mode: replayed"),
        ("field: label", "field: lable"), ("field: ts", "field: when"), ("field: user", "field: usr"), ("[x, y]", "[x, z]"), ("[kind]", "[knid]"),
        ("samples: 32", "samples: 0"), ("[accuracy]", "[acuracy]")], [])
    wanted = ["pipeline.mode", "datasets[0].time", "datasets[0].label", "datasets[0].subject", "trigger.samples", "selection.policy",
              "csv_fields: found field 'z'", "csv_words: found field 'knid'", "preprocess.batch.samples", "evaluation.metrics"]
    assert not answer["valid"] and len(answer["lines"]) == len(wanted), answer["lines"]
    assert [sum(one in line for line in answer["lines"]) for one in wanted] == [1] * len(wanted), answer["lines"]


def test_records_are_tried_whatever_is_wrong_with_their_labels_and_times(folder):
    answer = check(folder, "table", [("field: label", "field: lable"), ("field: ts}", 'field: ts, pattern: "%d.%m.%Y"}')], [swap("a.csv", ",7.5,", ",many,", 1), swap("a.csv", ".5,", ".5 kg,", 20)])
    assert len(answer["lines"]) == 2 and "'lable'" in answer["lines"][0] and "csv_fields: 2" in answer["lines"][1], answer["lines"]
    assert {sample["about"] for sample in answer["shown"][0]["samples"]} == {"time and label: not as declared"}, answer["shown"]


def test_what_is_not_there_yet_is_remarked_and_not_refused(folder):
    def empty(data):
        data.clear()

    remarks = [
        ("table", [('"*.csv"', '"*.CSV"'), ("mode: replay", "mode: live")], [], r"datasets\[0\]\.source\.include: found no file in DATA that matches"),
        ("table", [], [empty], r"datasets\[0\]\.source: no file in DATA matches include: \"\*\.csv\" \(yet\)"),
        ("table", [("path: FOLDER", "path: FOLDER/not/there"), ("mode: replay", "mode: live")], [], r"datasets\[0\]\.source\.path: .*"),
        ("table", [("    - {op: csv_words", "    - {op: exec, program: mine, on: numbers}\n    - {op: csv_words"), ("    - {op: standardize, on: numbers}\n", "")], [],
         r"preprocess\.operators: exec was not run, nor was what stands behind it: no system file says what 'mine' is"),
        ("table", [("field: ts}", "field: y, unit: s}")], [], r"datasets\[0\]\.time: samples from 1969-12-31T.*`unit` says what a number counts.*"),
        ("lines", [("{field: mark.name, classes: stream}", "{field: id}"), ("softmax", "squared"), ("[accuracy]", "[mape]")], [],
         r"evaluation\.metrics: mape divides by the label, and that of DATA/a\.jsonl:1 of dataset 'd' is 0"),
        ("lines", [], [each("a.jsonl", lambda row: row if row["id"] % 100 else without("id")(row))], r"datasets\[0\]\.key: .*found none in 2 of 200 records.*"),
        ("table", [("{field: label, classes: [good, bad]}", "{field: y, at_least: 1000000}")], [],
         r"p\.yaml:\d+:\d+: datasets\[0\]\.label: all 200 labels that were looked at are that of DATA/a\.csv:2: a model learns nothing from one .*"),
        ("lines", [], [each("a.jsonl", lambda row: row | {"id": row["id"] % 10})],
         r"datasets\[0\]\.key: 190 of 200 records have the key of one before them, expected a key of its own for each: all are kept"),
        ("table", [("field: ts}", 'field: ts, pattern: "%Y-%m-%d", unit: s}')], [],
         r"datasets\[0\]\.time\.unit: found beside pattern, by which nothing is read as a number: expected one of both"),
        ("table", [], [swap("a.csv", ",7.5,", ",NA,")], r"preprocess\.operators: csv_fields: DATA/a\.csv:9: .*\(preprocess\.on_error bears as many\)"),
    ]
    for kind, file_changes, data_changes, expected in remarks:
        answer = check(folder, kind, file_changes, data_changes)
        assert answer["valid"] and any(re.search(expected, line) for line in answer["lines"]), (expected, answer)


def test_a_program_of_the_system_file_is_run_and_what_it_cannot_bear_is_told(folder):
    program = Path(__file__).parent.parent / "unit/preprocess/exec_program.py"  # makes of a row its length and its first byte
    system = folder / "system.yaml"
    system.write_text(f"programs: {{lengths: {{command: [/usr/bin/python3, {program}]}}}}\n")
    lines = "    - {op: json_text, field: text}\n    - {op: normalize_text}\n    - {op: tokenize_words}\n    - {op: vocab}\n"
    changes = [(lines, "    - {op: json_text, field: text}\n    - {op: exec, program: lengths, width: 2}\n"), ("text_bag", "linear")]
    answer = check(folder, "lines", changes, [], "--with", system)
    assert answer["valid"] and ["exec", "text -> text [14, 119] f32 x 2"] in answer["shown"][0]["samples"][0]["steps"], answer
    answer = check(folder, "lines", changes, [swap("a.jsonl", "word5 and more", "!die", 3)], "--with", system)
    assert not answer["valid"] and re.search(r"exec: 3 of 200: DATA/a\.jsonl:6: program lengths: ", answer["lines"][0]), answer


def test_started_as_root_it_reads_as_the_user_that_a_platform_becomes(folder):
    with tempfile.TemporaryDirectory() as name:
        open_to_all = Path(name)
        open_to_all.chmod(0o755)
        put(open_to_all / "files", table())
        (open_to_all / "files" / "a.csv").chmod(0o600)
        pipeline = open_to_all / "p.yaml"
        pipeline.write_text(TABLE.replace("FOLDER", str(open_to_all / "files")))
        done = subprocess.run([binaries() / "weir", "config", "check", pipeline, "--data"], capture_output=True, text=True)
        is_reached = all(path.stat().st_mode & 1 for place in (binaries().resolve(), open_to_all) for path in (place, *place.parents))
        if os.geteuid() != 0 or not is_reached:
            assert done.returncode == 0, done
            return
        assert done.returncode == 2 and "a.csv: cannot be read: Permission denied" in done.stderr, done
        other = pwd.getpwnam("nobody")
        os.chown(open_to_all / "files" / "a.csv", other.pw_uid, other.pw_gid)
        system = open_to_all / "system.yaml"
        system.write_text("user: nobody\n")
        pipeline.write_text(pipeline.read_text().replace("field: label", "field: lable"))
        for command in (["weir", "config", "check", pipeline, "--data", "--with", system],
                        ["orchestrator", "run", pipeline, "--system", system, "--data-dir", open_to_all / "store"]):
            done = subprocess.run([binaries() / command[0], *command[1:]], capture_output=True, text=True)
            said = done.stdout + done.stderr
            assert done.returncode == 2 and "'lable' among 6" in said and "Permission denied" not in said, done
        assert not (open_to_all / "store").exists()


def test_a_run_says_the_same_before_it_creates_anything_and_shows_no_sample(folder):
    put(folder / "run", table())
    pipeline = folder / "p.yaml"
    pipeline.write_text(TABLE.replace("FOLDER", str(folder / "run")).replace("field: label", "field: lable").replace("[x, y]", "[x, z]"))
    done = subprocess.run([binaries() / "orchestrator", "run", pipeline, "--data-dir", folder / "store"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "'lable' among 6" in said and "field 'z'" in said, done
    assert "2020-01-01" not in said and not (folder / "store").exists(), done


def test_what_is_submitted_is_looked_at_as_before_a_run(folder):
    put(folder / "submitted", table())
    pipeline = folder / "submitted.yaml"
    pipeline.write_text(TABLE.replace("FOLDER", str(folder / "submitted")).replace("field: label", "field: lable"))
    done = subprocess.run([binaries() / "weir", "--data-dir", folder / "nobody", "submit", pipeline], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "'lable' among 6" in said and "not submitted" in said, done
    assert "2020-01-01" not in said and not (folder / "nobody").exists(), done


def test_prices_and_slots_are_left_to_the_platform_that_is_given_the_file(folder):
    put(folder / "priced", table())
    pipeline = folder / "priced.yaml"
    pipeline.write_text(TABLE.replace("FOLDER", str(folder / "priced")) + "budget: {money: 5}\n")
    for command, is_said in ((["config", "check", pipeline], True), (["--data-dir", folder / "nobody", "submit", pipeline], False)):
        done = subprocess.run([binaries() / "weir", *command], capture_output=True, text=True)
        assert ("budget.money: needs prices" in done.stdout + done.stderr) == is_said, done
    assert "nobody does not exist: " in done.stderr and "weir context use" in done.stderr, done


def test_columns_of_csv_that_are_empty_throughout_are_remarked(folder):
    """Where an operator bears that: by `fill`, or because words and texts may be missing."""
    emptied = [swap("a.csv", f",k{i},", ",,") for i in range(5)]
    for changes, data, expected in (
            ([("[x, y], as", "[x, y, kind], fill: -1, as")], emptied, "csv_fields: none of 200 records has a value in 'kind', which is -1 in each then: "),
            ([("[x, y], as", "[x, y], fill: 0, as")], [], None),
            ([('"*.csv",', '"*.csv", missing: [k],'), ("[x, y], as", "[x, 4], fill: 7, as")], [swap("a.csv", f",k{i},", ",k,") for i in range(5)],
             "csv_fields: none of 200 records has a value in '4', which is 7 in each then: ")):
        without_words = ("    - {op: csv_words, fields: [kind], as: kind}\n    - {op: vocab, on: kind, as: kinds}\n", "")
        answer = check(folder, "table", [*changes, without_words, ("model: fm", "model: linear")], data)
        assert answer["valid"] and len(answer["lines"]) == (expected is not None), (changes, answer)
        assert expected is None or expected in answer["lines"][0], (expected, answer)
    answer = check(folder, "table", [(", as: kind}", ", keep_empty: true, as: kind}")], emptied)
    assert answer["valid"] and "csv_words: none of 200 records has a value in 'kind'" in answer["lines"][0], answer


def test_integers_that_become_one_number_are_remarked(folder):
    def numbered(first):
        return [swap("a.csv", f",{100 - i},k", f",{first + i},k") for i in range(200)]

    answer = check(folder, "table", [], numbered(9007199254740993))
    assert answer["valid"] and "csv_fields: 199 of 200 integers of 'y' become the number of another one before them" in answer["lines"][0], answer
    assert check(folder, "table", [], numbered(1700000))["lines"] == []


def test_fields_of_json_that_no_record_has_are_remarked(folder):
    text, last = "{op: json_text, field: text}", "    - {op: vocab}\n"
    for old, new, expected in (
            (text, text, None), (text, "{op: json_text, field: text, optional: true}", None),
            (text, "{op: json_text, field: txet, optional: true}", "json_text: none of 200 records has 'txet', which is an empty text in each then"),
            (text, "{op: json_text, field: [text, title], optional: true}", "json_text: none of 200 records has 'title', which is "),
            (last, last + "    - {op: json_fields, fields: [id, marks.name, x], fill: -1}\n",
             "json_fields: none of 200 records has 'marks.name', 'x', which is -1 in each then: expected a field of theirs; "
             "those of DATA/a.jsonl:1 are ts, id, text, mark")):
        answer = check(folder, "lines", [(old, new)], [])
        found = [line for line in answer["lines"] if "learns nothing from 'features'" not in line]
        assert answer["valid"] and len(found) == (expected is not None), (new, answer)
        assert expected is None or f": preprocess.operators: {expected}" in found[0], (expected, found)


def test_of_files_of_one_sample_some_everywhere_are_looked_at(folder):
    def sort(data):
        data.clear()
        data.update({f"{('cat', 'dog')[i > 2200]}/{i:04d}.png": png(8, 8) for i in range(2400)})

    answer = check(folder, "pictures", [], [sort])
    assert answer["valid"] and answer["lines"] == [], answer


def test_what_never_comes_about_is_remarked(folder):
    """All of the data is there, and no trigger or evaluation comes of it: a file that may be meant so."""
    answer = check(folder, "lines", [("samples: 100", "samples: 201")], [])
    assert answer["valid"] and [line.split(": ", 1)[1] for line in answer["lines"]] == [
        "trigger.samples: found 201, and the datasets hold 200 samples: nothing will be trained"], answer
    times = "samples are from 2020-09-13T12:26:40Z to 2020-09-13T12:29:59Z: nothing will be evaluated"
    for key, time in (("from", "2021-01-01"), ("to", "2020-09-01")):
        answer = check(folder, "lines", [("every: 1 month", f"every: 1 month, {key}: {time}")], [])
        assert answer["valid"] and [line.split(": ", 1)[1] for line in answer["lines"]] == [f"evaluation.{key}: found {time}, and {times}"], answer
    assert check(folder, "lines", [("samples: 100", "samples: 200")], [])["lines"] == []
    seconds = "samples are from 2020-09-13T12:26:40Z to 2020-09-13T12:29:59Z: "
    amount, entry = "{policy: amount, samples: 100}", "strategy: slicing, models: matrix, every: 1 month"
    for old, new, expected in (
            (amount, "{policy: time, every: 1w}", f"trigger.every: found 1w, and {seconds}no such period begins among them, nothing will be trained"),
            (amount, "{policy: time, every: 1h, from: 2021-01-01}", f"trigger.from: found 2021-01-01, and {seconds}nothing will be trained"),
            (amount, "{policy: time, every: 1m}", None),
            (entry, "strategy: slicing, every: 1 month", f"evaluation.every: found 1 month, and {seconds}no slice begins after a model, nothing will be evaluated"),
            (entry, "strategy: slicing, every: 1m", None),
            (entry, "strategy: static, intervals: [{from: 2020-01-01, to: 2020-09-01}]", f"evaluation.intervals.to: found 2020-09-01, and {seconds}nothing will be evaluated")):
        answer = check(folder, "lines", [(old, new)], [])
        assert answer["valid"] and [line.split(": ", 1)[1] for line in answer["lines"]] == [expected] * (expected is not None), answer


def again(text, number):
    """The same records, with keys of their own."""
    return re.sub(r'"id": (\d+)', lambda met: f'"id": {number * 1000 + int(met[1])}', text)


def make_large(data):
    data["a.jsonl"] = "".join(again(data["a.jsonl"], i) for i in range(400))  # 80,000 records of some 90 bytes


def test_a_trigger_beyond_data_of_which_a_part_was_looked_at_is_remarked(folder):
    """Of a large file the beginning is looked at, of many files the first: the others are counted by their sizes."""
    def split(data):
        text = data.pop("a.jsonl")
        data.update({f"{i:02d}.jsonl": again(text, i) for i in range(40)})

    for change, samples in ((make_large, 80_000), (split, 8_000)):
        (line,) = check(folder, "lines", [("samples: 100", "samples: 500000")], [change])["lines"]
        about = int(re.search(r"trigger\.samples: found 500000, and the datasets hold about (\d+) samples \(by the size of their files\)", line)[1])
        assert 0.9 * samples < about < 1.1 * samples, line
        assert check(folder, "lines", [("samples: 100", f"samples: {samples}")], [change])["lines"] == []


def test_slices_and_periods_beyond_a_large_file_are_remarked(folder):
    def grow(data):  # 80,000 records, of which the first 10,000 or so are looked at: of some 5,000 minutes
        data["a.jsonl"] = "".join(json.dumps({"ts": 1600000000 + i * 30, "id": i, "text": f"word{i % 9} and more", "mark": {"name": "abc"[i % 3]}}) + "\n"
                                  for i in range(80_000))

    every, trigger = "strategy: slicing, models: matrix, every: 1 month", "{policy: amount, samples: 100}"
    for changes, expected in (
            ([(every, "strategy: slicing, every: 1 year")], "evaluation.every: found 1 year, and samples are from 2020-09-13T12:26:40Z to about 2020-10-"),
            ([(every, "strategy: slicing, every: 1w")], None),
            ([(trigger, "{policy: time, every: 1 year}")], "trigger.every: found 1 year, and samples are from 2020-09-13T12:26:40Z to about 2020-10-"),
            ([(trigger, "{policy: time, every: 1w}")], None)):
        answer = check(folder, "lines", changes, [grow])
        lines = [line for line in answer["lines"] if expected is None or expected in line]
        assert answer["valid"] and len(answer["lines"]) == len(lines) == (expected is not None), (changes, answer)


def test_large_numbers_before_a_built_in_model_are_remarked(folder):
    plain = ("    - {op: standardize, on: numbers}\n", "")
    (line,) = check(folder, "table", [plain], [])["lines"]
    assert line.endswith("training.model: tensor 'numbers' holds numbers as large as 199.5, from which fm hardly learns: standardize brings them near 1 "
                         "(normalize those of pictures)"), line
    for changes in ([plain, ("[x, y]", "[y]")], [plain, ("{model: fm, loss: logistic}", "{program: mine}")]):
        assert check(folder, "table", changes, [])["lines"] == [], changes


def test_evaluations_without_end_are_refused_with_their_number(folder):
    def spread(data):
        rows = [json.loads(line) for line in data["a.jsonl"].splitlines()]
        data["a.jsonl"] = "".join(json.dumps(row | {"ts": 1600000000 + i * 86400}) + "\n" for i, row in enumerate(rows))

    every, strategy, trigger = "every: 1 month", "strategy: slicing, models: matrix, every: 1 month", "{policy: amount, samples: 100}"
    daily = (trigger, "{policy: time, every: 1d}")
    for changes, valid, expected in (
            ([(every, "every: 1s")], False, "every: found 1s, which makes about 85968"),  # from the first model on, of two
            ([(every, "every: 1s, to: 2030-01-01")], False, "every: found 1s, which makes about 85968"),
            ([(every, "every: 1s"), daily], False, "every: found 1s, which makes 17152001"),
            ([(every, "every: 1s, from: 2020-09-14")], False, "every: found 1s, which makes 17152001"),
            ([(every, "every: 20m"), (trigger, "{policy: amount, samples: 20}")], True, "every: found 20m, which makes about 128"),
            ([(every, "every: 20m"), (trigger, "{policy: amount, samples: 199}")], True, None),
            ([(every, "every: 1s, from: 2020-09-14, to: 2020-09-14T02:00:00Z")], True, None),
            ([(strategy, "strategy: between_triggers"), (trigger, "{policy: time, every: 10m}")], False, "strategy: found between_triggers, which makes 286"),
            ([(strategy, "strategy: between_triggers"), daily], True, None)):
        answer = check(folder, "lines", changes, [spread])
        assert answer["valid"] == valid and len(answer["lines"]) == (expected is not None), (changes, answer)
        assert expected is None or "evaluation." + expected in answer["lines"][0], (expected, answer)
        assert expected is None or " intervals to measure models on, expected at most 10000: " in answer["lines"][0], answer


def test_triggers_without_end_are_foreseen_by_the_size_of_files(folder):
    strategy = ("strategy: slicing, models: matrix, every: 1 month", "strategy: between_triggers")
    for samples, valid, lines in ((2, False, 1), (6, True, 1), (20, True, 0)):
        answer = check(folder, "lines", [strategy, ("samples: 100", f"samples: {samples}")], [make_large])
        assert answer["valid"] == valid and len(answer["lines"]) == lines, answer
        assert lines == 0 or "evaluation.strategy: found between_triggers, which makes about " in answer["lines"][0], answer


def test_texts_that_are_no_utf_8_are_remarked_with_what_to_do(folder):
    def write(data):
        rows = [f"2020-01-{i % 28 + 1:02d},Gr\u00fc\u00dfe {i},{('good', 'bad')[i % 2]}\n" for i in range(200)]
        data["a.csv"] = b"ts,note,label\n" + b"".join(row.encode("latin-1" if i > 2 else "utf-8") for i, row in enumerate(rows))

    changes = [("{op: csv_fields, fields: [x, y], as: numbers}\n    - {op: standardize, on: numbers}\n    - {op: csv_words, fields: [kind], as: kind}\n"
                "    - {op: vocab, on: kind, as: kinds}", "{op: csv_text, field: note}\n    - {op: normalize_text}\n    - {op: tokenize_words}\n    - {op: vocab}"),
               ("    subject: {field: user}\n", ""), ("model: fm", "model: text_bag")]
    answer = check(folder, "table", changes, [write])
    (line,) = answer["lines"]
    assert answer["valid"] and line.endswith(
        "p.yaml:12:7: preprocess.operators: normalize_text: 197 of 200: DATA/a.csv:5: column 'text' is no UTF-8 (found byte 0xfc at 2): each such byte is "
        "lost (U+FFFD); to keep the letters, convert the files first, those in Latin-1 by iconv -f LATIN1 -t UTF-8"), line


def test_columns_without_names_are_not_told_by_them(folder):
    answer = check(folder, "table", [('"*.csv",', '"*.csv", header: false,')], [])
    told = [line for line in answer["lines"] if "csv_fields" in line and "from 0 to 5: with header: false" in line]
    assert len(told) == 1 and not any(", , " in line for line in answer["lines"]), answer["lines"]


def test_each_program_is_asked_once(folder):
    programs, asked = folder / "programs", folder / "asked"
    programs.mkdir()
    for name in ("weir", "orchestrator"):  # they look for the others beside themselves
        shutil.copy(binaries() / name, programs)
    others = ("dispatcher", "selector", "storage", "trainer")
    for name in others:
        (programs / name).write_text(f'#!/bin/sh\necho {name} >>{asked}\nexec {binaries() / name} "$@"\n')
        (programs / name).chmod(0o755)
    put(folder / "asked_about", table())
    (folder / "p.yaml").write_text(TABLE.replace("FOLDER", str(folder / "asked_about")))
    for options in ([], ["--data"]):
        asked.write_text("")
        subprocess.run([programs / "weir", "config", "check", folder / "p.yaml", *options], check=True, capture_output=True)
        assert sorted(asked.read_text().split()) == list(others), (options, asked.read_text())


def test_nothing_is_written(folder):
    before = {*folder.rglob("*"), folder / "p.yaml"}
    check(folder, "pictures", [], [])
    assert {*folder.rglob("*")} == before


def main():
    with tempfile.TemporaryDirectory() as name:
        run_tests(globals(), Path(name), prefix="everywhere_" if sys.argv[1:] == ["everywhere"] else "test_")


main()

#!/usr/bin/env python3
"""tools/parquet_to_jsonl without pyarrow: what values become, and that a file appears when it is whole."""
import datetime
import decimal
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/parquet_to_jsonl"


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("parquet_to_jsonl", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def main():
    tool = load()
    utc = datetime.timezone.utc
    east = datetime.timezone(datetime.timedelta(hours=2))
    cases = [
        (datetime.datetime(2002, 8, 22, 11, 36, 23, tzinfo=utc), "2002-08-22T11:36:23Z"),
        (datetime.datetime(2002, 8, 22, 13, 36, 23, 500, tzinfo=east), "2002-08-22T11:36:23.000500Z"),
        (datetime.datetime(2002, 8, 22), "2002-08-22T00:00:00Z"),
        (datetime.date(2002, 8, 22), "2002-08-22T00:00:00Z"),
        (b"\x00\xff", "AP8="), (decimal.Decimal("1.10"), "1.10"), (float("nan"), None),
        (2 ** 63, 2 ** 63), (True, True), ([1.5, None], [1.5, None]), ({"a": {"b": b"x"}}, {"a": {"b": "eA=="}}),
    ]
    for value, expected in cases:
        found = tool.plain(value)
        assert found == expected and type(found) is type(expected), (value, found, expected)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "a.jsonl"

        def batches():
            yield [{"text": "two\nlines \u00e9", "at": datetime.date(2002, 8, 22)}]
            assert not out.exists()
            yield [{"text": None, "at": None}]

        assert tool.convert(batches(), out) == 2
        lines = out.read_text(encoding="utf-8").split("\n")
        assert json.loads(lines[0]) == {"text": "two\nlines \u00e9", "at": "2002-08-22T00:00:00Z"}
        assert len(lines) == 3 and lines[2] == ""
        assert [entry.name for entry in pathlib.Path(folder).iterdir()] == ["a.jsonl"]
        if importlib.util.find_spec("pyarrow") is None:
            refused = subprocess.run([sys.executable, TOOL, folder, "x.parquet"], capture_output=True, text=True)
            assert refused.returncode == 1 and "found no pyarrow" in refused.stderr
    print("parquet_to_jsonl: fine")


if __name__ == "__main__":
    main()

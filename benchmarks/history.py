"""Runs that are kept: a file each, in a folder outside the tree.

The first line is the run, each further one a figure as its benchmark printed it, with the verdict on it:

    {"weir_bench_run": 1, "started": "2026-11-27T09:11:42Z", "commit": "1c74…", "dirty": false, "machine": {…}, "load": [0.1, 0.2, 0.2],
     "others": 0.02, "busy": false, "forced": false, "scale": 1, "figures": 1}
    {"bench": "slice.ingestion", …, "tolerance": 0.1, "ours": […], "theirs": […], "verdict": "same"}

Files are written whole or not at all; one that is not whole was damaged later, and is left out with a word.
"""
import dataclasses
import json
import math
import os
import pathlib
import re
import stat
import tempfile

VERSION = 1
FILES_MAX, FILE_BYTES_MAX, PAIRS_MAX = 1000, 16 << 20, 1000
VERDICTS = ("better", "same", "worse", "new")
FILE_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-z.-]+\.jsonl")


class Damaged(Exception):
    pass


@dataclasses.dataclass
class Run:
    name: str
    header: dict
    figures: dict  # by name

    def is_baseline(self):
        return not self.header["busy"] or self.header["forced"]


def folder_of(environment, given=None):
    state = environment.get("XDG_STATE_HOME") or os.path.join(environment.get("HOME") or "/", ".local", "state")
    return pathlib.Path(given or environment.get("WEIR_BENCH_DIR") or os.path.join(state, "weir", "bench"))


# --- reading ---


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_text(value):
    return isinstance(value, str) and len(value) <= 1000 and value.isprintable()


def is_rates(value):
    return isinstance(value, list) and 0 < len(value) <= PAIRS_MAX and all(is_number(rate) and rate > 0 for rate in value)


MACHINE = {"cpu": is_text, "cores": is_number, "memory_mb": is_number, "kernel": is_text, "compiler": is_text}
HEADER = {
    "weir_bench_run": lambda value: value == VERSION,
    "started": is_text, "commit": is_text, "dirty": lambda value: isinstance(value, bool),
    "machine": lambda value: isinstance(value, dict) and all(MACHINE[key](value.get(key)) for key in MACHINE),
    "load": lambda value: isinstance(value, list) and all(map(is_number, value)),
    "others": is_number, "busy": lambda value: isinstance(value, bool), "forced": lambda value: isinstance(value, bool),
    "scale": is_number, "figures": lambda value: isinstance(value, int),
}
FIGURE = {"bench": is_text, "against": is_text, "unit": is_text, "tolerance": lambda value: is_number(value) and 0 < value < 1,
          "ours": is_rates, "theirs": is_rates, "verdict": lambda value: value in VERDICTS}


def checked(text, keys, where):
    try:
        value = json.loads(text)
        wrong = [key for key, is_right in keys.items() if not is_right(value[key])]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise Damaged(f"{where}: not the line of a {'run' if keys is HEADER else 'figure'}: {str(error)[:100]!r}") from None
    if wrong:
        raise Damaged(f"{where}: unexpected {wrong[0]}: {str(value[wrong[0]])[:60]!r}")
    return value


def figure_of(text, where):
    figure = checked(text, FIGURE, where)
    if len(figure["ours"]) != len(figure["theirs"]):
        raise Damaged(f"{where}: {len(figure['ours'])} and {len(figure['theirs'])} rates, expected pairs")
    return figure


def text_of(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, encoding="utf-8") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES_MAX:
            raise Damaged(f"{path.name}: expected a file of at most {FILE_BYTES_MAX >> 20} MiB")
        return file.read(FILE_BYTES_MAX)


def read(path):
    try:
        lines = text_of(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(f"{path.name}: {error}") from None
    header = checked(lines[0] if lines else "", HEADER, f"{path.name}:1")
    figures = [figure_of(line, f"{path.name}:{number}") for number, line in enumerate(lines[1:], 2)]
    if len(figures) != header["figures"]:
        raise Damaged(f"{path.name}: {len(figures)} figures, expected {header['figures']}: cut off")
    return Run(path.name.removesuffix(".jsonl"), header, {figure["bench"]: figure for figure in figures})


def order_of(name):
    """Runs of one second follow each other by the numbers that linked() gave them."""
    begun, _, number = name.removesuffix(".jsonl").partition(".")
    return begun, int(number) if number.isdecimal() else 1


def read_all(folder):
    """The newest runs, newest first, and a sentence about each file that was left out."""
    runs, complaints = [], []
    try:
        names = sorted((name for name in os.listdir(folder) if FILE_NAME.fullmatch(name)), key=order_of, reverse=True)
    except FileNotFoundError:
        names = []
    except OSError as error:
        names, complaints = [], [f"left out: {error}"]
    for name in names[:FILES_MAX]:
        try:
            runs.append(read(folder / name))
        except Damaged as damaged:
            complaints.append(f"left out: {damaged}")
    return runs, complaints


# --- writing ---


def name_of(header):
    compact = re.sub(r"[-:]", "", header["started"])
    return f"{compact}-{header['commit'][:12] or 'none'}{'-dirty' if header['dirty'] else ''}"


def write(folder, header, figures):
    """Keeps a run, durably and under a name of its own, which is returned."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = [json.dumps({"weir_bench_run": VERSION, **header, "figures": len(figures)})] + [json.dumps(figure) for figure in figures]
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".part-") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
        name = linked(file.name, folder, name_of(header))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)
    return name


def linked(part, folder, name):
    """Runs that began in the same second are numbered."""
    for number in range(1, FILES_MAX):
        numbered = name if number == 1 else f"{name}.{number}"
        try:
            os.link(part, folder / f"{numbered}.jsonl")
        except FileExistsError:
            continue
        return numbered
    raise OSError(f"{folder}/{name}.jsonl exists")


# --- choosing ---


def kept_of(runs, name):
    """A figure's measurements that later ones are compared with, newest first: none of a busy machine, none that was worse."""
    return [run.figures[name] for run in runs if run.is_baseline() and name in run.figures and run.figures[name]["verdict"] != "worse"]


def measured_in(runs, name):
    """A figure's measurements of these runs, whatever they were found to be."""
    return [run.figures[name] for run in runs if name in run.figures]


def find(runs, word):
    """The newest run whose name or commit begins with the word, or None."""
    return next((run for run in runs if run.name.startswith(word) or (len(word) >= 4 and run.header["commit"].startswith(word))), None)

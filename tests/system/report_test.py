"""weir report -o: a page that holds what the topics answer; and, in a browser, pictures that show the page's numbers."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import termios
from html.parser import HTMLParser

from compare_test import write_grid
from weirlab import DEADLINE_S, SKIPPED, Lab, child, query, served

WIDTHS = (360, 900, 1600)


def numbers_of(page):
    return json.loads(re.search(r'<script type="application/json" id="numbers">(.*?)</script>', page, re.S).group(1))


def make_page(lab, name, *words):
    file = lab.folder / f"{name}.html"
    assert str(file) in lab.weir("report", *words, "-o", str(file))
    return file


def answer(lab, *words):
    return json.loads(lab.weir(*words, "--json"))


def served_test_a_page_holds_what_the_topics_answer(lab):
    name = answer(lab, "list")["pipelines"][0]["pipeline"]
    numbers = numbers_of(make_page(lab, "one", name).read_text())
    report = answer(lab, "report", name)
    assert numbers["comparison"] is None and len(numbers["pipelines"]) == 1, numbers
    pipeline = numbers["pipelines"][0]
    assert pipeline["report"] == report and pipeline["name"] == name, pipeline
    evaluated = [(t["trigger"], e["from"], e["value"]) for t in report["triggers"] for e in t["evaluations"]]
    assert evaluated and [(r["trigger"], r["from"], r["value"]) for r in pipeline["matrix"]] == evaluated
    assert {m["model"] for m in pipeline["models"]} == {t["model"] for t in report["triggers"]}


def served_test_a_file_that_is_there_stays(lab):
    file = lab.folder / "kept.html"
    file.write_text("mine")
    done = lab.ask("report", "-o", str(file))
    assert done.returncode == 2 and "not overwritten" in done.stderr and file.read_text() == "mine", done


def served_test_a_name_of_nothing_is_said(lab):
    file = lab.folder / "none.html"
    done = lab.ask("report", "nobody", "-o", str(file))
    assert done.returncode != 0 and "nobody: no pipeline and no comparison" in done.stderr and not file.exists(), done
    done = lab.ask("report", "one", "two")
    assert done.returncode == 2 and "-o FILE.html" in done.stderr, done


def add_triggers(lab, name, count, bytes_of_reason):
    """Skipped ones, each with a long reason."""
    query(lab, f"""INSERT INTO orchestrator.trigger (pipeline, number, state, reason, samples_new, until_time, until_id,
        positions, fired_us) SELECT p.id, t.number + n, 'skipped', repeat('x', {bytes_of_reason}), 1, t.until_time + n, 0, t.positions,
        t.fired_us FROM orchestrator.pipeline p CROSS JOIN generate_series(1, {count}) n JOIN LATERAL (SELECT * FROM
        orchestrator.trigger WHERE pipeline = p.id ORDER BY number DESC LIMIT 1) t ON true WHERE p.name = '{name}'""")


def add_measures(lab, name, count):
    """So many of each model."""
    query(lab, f"""INSERT INTO orchestrator.evaluation (pipeline, model, name, from_time, to_time, metric, value, samples, set_digest)
        SELECT m.pipeline, m.id, 'many', n, n + 1, 'accuracy', 0.5, 1, '' FROM orchestrator.model m CROSS JOIN
        generate_series(1, {count}) n JOIN orchestrator.pipeline p ON p.id = m.pipeline WHERE p.name = '{name}'""")


def last_test_a_report_longer_than_a_message_is_asked_for_in_pages(lab):
    name = answer(lab, "list")["pipelines"][0]["pipeline"]
    before = answer(lab, "report", name)["triggers"]
    add_triggers(lab, name, 3000, 6000)
    add_measures(lab, name, 15000)
    report = answer(lab, "report", name)
    triggers = report["triggers"]
    assert "before" not in report and [t["trigger"] for t in triggers] == list(range(1, len(before) + 3001)), len(triggers)
    assert all(t["reason"] == "x" * 6000 for t in triggers[len(before):])
    for old, new in zip(before, triggers):
        if "model" in old:
            assert [e for e in new["evaluations"] if e["name"] != "many"] == old["evaluations"], new["trigger"]
            assert len(new["evaluations"]) == len(old["evaluations"]) + 15000, new["trigger"]
        assert old["costs"] == new["costs"], (old, new)
    pipeline = numbers_of(make_page(lab, "long", name).read_text())["pipelines"][0]
    assert pipeline["report"]["triggers"] == triggers


# ---- in a terminal ----

BLOCKS = set("▁▂▃▄▅▆▇█")


def in_a_terminal(lab, columns, *words, **environment):
    """What a command writes to a terminal that is so wide."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "LANG", "LC_CTYPE")}
    leader, follower = os.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    started = child.start(lab.command(*words), stdout=follower, env=kept | {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | environment)
    os.close(follower)
    said = b""
    with contextlib.suppress(OSError):  # EIO: nobody holds its other end any more
        while True:
            said += os.read(leader, 65536)
    os.close(leader)
    assert started.wait(DEADLINE_S) == 0, said
    return said.decode().replace("\r\n", "\n")


def served_test_a_terminal_gets_pictures_as_wide_as_it_is(lab):
    for columns in (30, 100):
        drawn = [line for line in in_a_terminal(lab, columns, "report").splitlines() if BLOCKS & set(line)]
        assert drawn and max(map(len, drawn)) <= columns, (columns, drawn)
    assert "\x1b[1m" in in_a_terminal(lab, 100, "report")
    assert "\x1b" not in in_a_terminal(lab, 100, "report", NO_COLOR="1")


def served_test_what_can_draw_no_blocks_gets_the_same_facts_in_digits(lab):
    plain = lab.weir("report")
    assert "newest" in plain and not BLOCKS & set(plain) and "\x1b" not in plain, plain
    assert in_a_terminal(lab, 80, "report", TERM="dumb") == plain
    assert in_a_terminal(lab, 80, "report", LC_ALL="C", NO_COLOR="1") == plain
    assert in_a_terminal(lab, 80, "report", "--json") == lab.weir("report", "--json")


# ---- in a browser ----

class Figures(HTMLParser):
    """data-view of each figure → the data-value of its marks."""

    def __init__(self, text):
        super().__init__()
        self.views = []
        self.links = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "figure":
            self.views.append((attributes["data-view"], []))
        elif attributes.get("data-value"):
            self.views[-1][1].append(float(attributes["data-value"]))
        self.links += "download" in attributes

    def of(self, view):
        return sorted(value for name, values in self.views if name == view for value in values)


def look(lab, browser, file, width):
    own = ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [browser, "--headless", "--disable-gpu", *own, f"--user-data-dir={lab.folder}/browser", f"--window-size={width},900",
         "--enable-logging=stderr", "--dump-dom", f"file://{file}"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0 and "CONSOLE" not in done.stderr, done.stderr
    found = Figures(done.stdout)
    assert found.views and found.links == 2 * len(found.views) + 1, found.views
    return found


def in_use(pipeline, evaluation, metric):
    """By window, the newest model whose data end before it."""
    until = {t["trigger"]: t["until"] for t in pipeline["report"]["triggers"]}
    used = {}
    for row in pipeline["matrix"]:
        window, held = (row["from"], row["until"]), used.get((row["from"], row["until"]))
        if (row["evaluation"], row["metric"], row["slice"]) == (evaluation, metric, None) and until[row["trigger"]] <= row["from"]:
            if held is None or until[held["trigger"]] <= until[row["trigger"]]:
                used[window] = row
    return sorted(row["value"] for row in used.values() if row["value"] is not None)


def check_pipeline(lab, browser, file):
    pipeline = numbers_of(file.read_text())["pipelines"][0]
    kinds = [(r["evaluation"], r["metric"]) for r in pipeline["matrix"] if r["slice"] is None]
    kind = next((k for k in kinds if k[1].startswith(("accuracy", "roc_auc", "rmse"))), kinds[0])
    shown = sorted(r["value"] for r in pipeline["matrix"]
                   if (r["evaluation"], r["metric"]) == kind and r["slice"] is None and r["value"] is not None)
    for width in WIDTHS:
        found = look(lab, browser, file, width)
        assert found.of("matrix") == shown, (width, found.of("matrix"), shown)
        assert found.of("composite") == in_use(pipeline, *kind), (width, found.of("composite"))
        assert found.of("costs") and found.of("stages"), found.views


def check_comparison(lab, browser, file):
    comparison = numbers_of(file.read_text())["comparison"]
    qualities = sorted(p["quality"]["mean"] for p in comparison["policies"])
    for width in WIDTHS:
        found = look(lab, browser, file, width)
        assert found.of("pareto") == qualities == found.of("policies"), (width, found.views)
        assert found.of("against") == sorted(p["against"]["mean"] for p in comparison["policies"] if p["against"]), found.views
        assert found.of("windows") == found.of("lines") and found.of("costs"), found.views


def browse(lab):
    browser = shutil.which("chromium")
    if browser is None:
        print("skipped: no chromium is installed; ./dev test --all installs it")
        sys.exit(SKIPPED)
    check_pipeline(lab, browser, make_page(lab, "pipeline"))
    lab.weir("compare", write_grid(lab, "[1, 2]"))
    check_comparison(lab, browser, make_page(lab, "grid", "grid"))


def main():
    lab = Lab(samples=900, epochs=1)
    try:
        lab.run().finish()
        with served(lab):
            if sys.argv[1:] == ["browser"]:
                browse(lab)
                return
            for prefix in ("served_test_", "last_test_"):
                for name, test in list(globals().items()):
                    if name.startswith(prefix):
                        test(lab)
    finally:
        lab.remove()


if __name__ == "__main__":
    main()

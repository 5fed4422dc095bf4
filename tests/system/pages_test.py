"""Both pages as an auditor would judge them, in a browser (audit.js): contrast in both modes, the keyboard, what a screen reader is
told, three widths, paper; a report of a platform, the live page, and forty reports of whatever numbers and names there may be.
That the audit sees anything is shown with faults that are put into a page."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

from browser import Browser
from live_test import Served
from weirlab import DEADLINE_S, Lab, await_that, child, run_tests

WIDTHS = (360, 900, 1600)
PAPER = 680  # pixels of a sheet
REPORTS = 40
AUDIT = (Path(__file__).resolve().parent / "audit.js").read_text()
# All that a person reaches with Tab.
REACHED = "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')].filter(n => n.tabIndex >= 0 && n.checkVisibility())"
# The outline of what has the focus: its width, and its contrast with the ground is the audit's of a mark.
FOCUSED = """(() => { const n = document.activeElement, s = getComputedStyle(n);
  window.been = window.been || new Set(); const isNew = !window.been.has(n); window.been.add(n);
  return {isNew, body: n === document.body, outline: s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth),
          what: n.tagName + ' ' + (n.getAttribute('aria-label') || n.textContent).slice(0, 60)}; })()"""


# ---- the audit ----

def show(browser, width=900, dark=False, paper=False):
    """All of the page is in the window, so that what lies where can be asked."""
    browser.order("Emulation.setEmulatedMedia", media="print" if paper else "",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    browser.resize(width, 900)
    height = browser.ask("document.documentElement.scrollHeight")
    browser.resize(width, min(max(height, 900), 30000))
    browser.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def look(browser, **how):
    show(browser, **how)
    if how.get("paper"):
        browser.ask("window.dispatchEvent(new Event('beforeprint'))")
    found = [f"{how}: {what}" for what in browser.ask(AUDIT)]
    if how.get("paper"):
        browser.ask("window.dispatchEvent(new Event('afterprint'))")
    return found


def hear(browser):
    """Elements that take the focus, and that a screen reader has no words for."""
    nodes = browser.order("Accessibility.getFullAXTree")["nodes"]
    found = []
    for node in nodes:
        properties = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
        role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
        if node.get("ignored") or not (properties.get("focusable") or role in ("image", "img", "table", "figure", "region")):
            continue
        if role in ("RootWebArea", "main"):
            continue
        if not name.strip():
            found.append(f"no words for a screen reader: {role}")
        elif role in ("generic", "none", ""):
            found.append(f"no role for a screen reader: {name[:60]}")
    return found


def press_tab(browser):
    for kind in ("rawKeyDown", "keyUp"):
        browser.order("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)


def walk(browser):
    """Tab from the first to the last: all that a mouse reaches is reached, and seen to be."""
    found = []
    controls = browser.ask("[...document.querySelectorAll('a[href], button, input, select, summary')].filter(n => n.checkVisibility() && n.tabIndex < 0).map(n => n.textContent.slice(0, 60))")
    found += [f"is not reached by the keyboard: {what}" for what in controls]
    wanted = browser.ask(f"window.been = new Set(); document.activeElement.blur(); {REACHED}.length")
    for _ in range(wanted + 2):
        press_tab(browser)
        focus = browser.ask(FOCUSED)
        if focus["body"] or not focus["isNew"]:
            break
        if focus["outline"] < 2:
            found.append(f"the focus is not seen: {focus['what']}")
    missed = browser.ask(f"{REACHED}.filter(n => !window.been.has(n)).map(n => n.tagName + ' ' + n.textContent.slice(0, 60))")
    return found + [f"is not reached by the keyboard: {what}" for what in missed]


def audit(browser):
    found = []
    for width in WIDTHS:
        for dark in (False, True):
            found += look(browser, width=width, dark=dark)
    found += look(browser, width=PAPER, paper=True)
    show(browser)
    found += hear(browser) + walk(browser)
    return sorted(set(found))


# ---- faults that it finds ----

def styled(rule):
    return f"(() => {{ const s = new CSSStyleSheet(); s.replaceSync('{rule}'); document.adoptedStyleSheets = [s]; }})()"


def drawn(fault):
    """In each picture `f`, again whenever it is drawn."""
    return f"document.querySelectorAll('figure').forEach(f => {{ const draw = f.redraw; f.redraw = (w) => {{ draw(w); {fault}; }}; }})"


FAULTS = {
    "contrast .* of a text": "document.querySelector('h2').style.color = '#999'",
    "dark': True.*contrast .* of a text": "document.querySelector('h1').style.color = '#222'",
    "contrast .* of a mark": styled(".bar { fill: #ddd !important; }"),
    "not reached by the keyboard": "document.querySelector('summary').tabIndex = -1",
    "focus is not seen": "document.querySelector('.beside a').style.outline = 'none'",
    "no words for a screen reader": drawn("f.querySelectorAll('[role=img]').forEach(n => { n.removeAttribute('aria-label'); "
                                          "n.querySelector('title').remove(); })"),
    "scrolls sideways": "document.querySelector('h2').style.width = '2000px'",
    "cut on paper": "document.querySelector('main section').style.maxHeight = '100px'; document.querySelector('main section').style.overflow = 'hidden'",
    "skips a level": "document.querySelector('h2').outerHTML = '<h4>Pipelines</h4>'",
    "id that another has": "document.querySelectorAll('h3[id]')[1].id = document.querySelector('h3[id]').id",
    "beside its picture": drawn("f.querySelector('text').setAttribute('x', 5000)"),
    "lies over": drawn("f.querySelector('text').after(f.querySelector('text').cloneNode(true))"),
    'shows "undefined': "document.querySelector('figcaption').textContent = 'undefined'",
}


def test_the_audit_finds_each_fault(browser, report, live):
    for words, fault in FAULTS.items():
        browser.open(report)
        await_drawn(browser)
        browser.ask(f"{fault}; 0")
        found = audit(browser)
        assert any(re.search(words, one) for one in found), (words, found)


# ---- the pages of a platform ----

def await_drawn(browser):
    await_that(lambda: browser.ask("document.readyState === 'complete' && document.querySelectorAll('h2').length > 0"))


def test_a_report_is_right(browser, report, live):
    browser.open(report)
    await_drawn(browser)
    browser.ask("document.querySelectorAll('details').forEach(d => { d.open = true; }); 0")
    found = audit(browser)
    assert not found, found


def test_the_live_page_is_right(browser, report, live):
    browser.open(live)
    await_that(lambda: browser.ask("document.querySelectorAll('figure, .log li').length > 10"))
    found = audit(browser)
    assert not found, found


def test_a_report_is_printed(browser, report, live):
    """Its pictures and words are on paper, and what only a screen can do is not."""
    browser.open(report)
    await_drawn(browser)
    pdf = browser.order("Page.printToPDF", printBackground=False)["data"]
    assert len(pdf) > 10_000
    show(browser, width=PAPER, paper=True)
    assert browser.ask("document.querySelectorAll('figure svg').length") > 3
    assert not browser.ask("[...document.querySelectorAll('.beside, .skip, label')].some(n => n.checkVisibility())")


# ---- whatever numbers there may be ----

NAMES = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "accuracy", "roc_auc(by=label)", "top_n(n=5)", "", " ", "a" * 300,
         "word " * 60, "新聞の見出しを分類する", "新聞" * 40, "🚀👩‍👩‍👧", "مرحبا", "‮drawkcab", "é́́", "<script>alert(1)</script>",
         "</script><b>", "=cmd|' /C calc'!A0", "x\ny", '"quoted"', "null", "-1", "%s", "café_crème"]


class Numbers:
    """Seeded numbers of a report, as page/README.md describes them."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.seed = seed

    def name(self):
        return self.draw.choice(NAMES) if self.draw.random() < 0.7 else f"name-{self.draw.randrange(1000)}"

    def value(self):
        draw = self.draw
        return draw.choice([draw.random(), draw.random(), draw.random(), draw.gauss(0, 1e3), 0, 1, -1, 1e-300, -1e-9, 1e12, 1e300, None])

    def amount(self):
        return self.draw.choice([0, 1, self.draw.random(), self.draw.randrange(10**6), 1e15, 1e-9])

    def time(self, step):
        year, day = 1990 + step // 336, step % 336
        return f"{year}-{day // 28 + 1:02}-{day % 28 + 1:02}T{self.draw.choice(['00:00:00', '11:36:23', '23:59:59.123456'])}Z"

    def maybe(self, value):
        return value if self.draw.random() < 0.8 else None

    def trigger(self, number, metrics):
        draw, begun = self.draw, number * 3
        timeline = {"fired": self.time(begun), "sealed": self.time(begun), "first_batch": self.maybe(self.time(begun)),
                    "trained": self.maybe(self.time(begun + 1)), "stored": self.maybe(self.time(begun + 1))}
        costs = {kind: {"cpu_seconds": self.amount(), "gpu_seconds": self.amount(), "bytes_read": self.amount(), "bytes_sent": 0,
                        "money": self.amount(), "currency": draw.choice(["EUR", "新台幣", ""])} for kind in draw.sample(["train", "score", "measure"], 2)}
        trigger = {"trigger": number, "state": draw.choice(["done", "skipped", "training"]), "reason": self.name(), "samples_new": self.amount(),
                   "until": self.time(begun), "selected": self.maybe(self.amount()), "skipped": draw.choice([None, "", "no sample"]), "costs": costs,
                   "timeline": self.maybe(timeline), "samples": self.maybe(self.amount()), "model": f"m-{number}", "parent": None}
        return {key: value for key, value in trigger.items() if key in ("trigger", "until") or draw.random() < 0.95}

    def check(self, number):
        draw = self.draw
        whole = {"check": number, "at": self.time(number), "verdict": draw.choice([True, False]), "because": self.name(), "metric": self.name(),
                 "trigger": draw.choice([0, number]), "value": self.value()}
        kinds = {"statistics": [{"statistic": self.name(), "limit_of": draw.choice(["p_value", "distance"]), "p_value": self.value(),
                                 "distance": self.value(), "limit": self.value(), "verdict": True}],
                 "detectors": [{"detector": self.name(), "found": self.value(), "limit": self.value(), "verdict": None}],
                 "criteria": [{"criterion": self.name(), "limit": self.value(), "verdict": False}],
                 "area": self.value(), "limit": self.value()}
        return whole | {key: kinds[key] for key in draw.sample(list(kinds), 2)}

    def pipeline(self):
        draw = self.draw
        count = draw.choice([0, 1, 2, 5, 40, 3000 if self.seed % 8 == 0 else 90])
        metrics = [self.name() for _ in range(draw.choice([1, 1, 2, 4]))]
        evaluations = [self.name() for _ in range(draw.choice([1, 2]))]
        triggers = [self.trigger(n + 1, metrics) for n in range(count)]
        windows = draw.choice([1, 2, 12, 200])
        matrix = [{"model": f"m-{t['trigger']}", "trigger": t["trigger"], "evaluation": evaluation, "metric": metric, "slice": piece,
                   "from": self.time(w * 5), "until": self.time(w * 5 + draw.choice([0, 5])), "samples": draw.randrange(1000), "value": self.value()}
                  for t in triggers[-draw.choice([1, 3, 70]):] for evaluation in evaluations for metric in metrics
                  for w in draw.sample(range(windows), min(windows, 9)) for piece in [None] + ([f"{self.name()}=x"] if draw.random() < 0.1 else [])]
        models = [{"model": f"m-{t['trigger']}", "trigger": t["trigger"], "parent": None, "state": "stored", "active": False, "until": t["until"]}
                  for t in triggers]
        config = {"datasets": [self.name()], "trigger": self.name(), "selection": self.name(), "training": self.name()}
        report = {"config": self.maybe(config), "triggers": triggers, "checks": [self.check(n + 1) for n in range(draw.choice([0, 1, 30, 100]))]}
        return {"name": self.name(), "state": draw.choice(["FINISHED", "FAILED", None]), "report": report, "matrix": matrix, "models": models,
                "active": None}

    def comparison(self):
        draw = self.draw
        policies = list(dict.fromkeys(self.name() for _ in range(draw.choice([0, 1, 4, 9, 30]))))
        cells = [{"policy": policy, "seed": seed, "money": self.amount(), "cpu_s": self.amount(), "currency": "EUR", "machine": self.name(),
                  "quality": {"value": self.value()}, "windows": [{"from": self.time(w * 30), "until": self.time(w * 30 + 30), "value": self.value()}
                                                                  for w in range(draw.choice([0, 1, 12]))]}
                 for policy in policies for seed in range(draw.choice([1, 5]))]
        rows = [{"policy": policy, "quality": {"mean": self.value(), "low": self.value(), "high": self.value(), "n": 5}, "pareto": draw.random() < 0.4,
                 "chosen": draw.random() < 0.1, "costs": {key: self.value() for key in ("triggers", "samples", "cpu_s", "gpu_s", "bytes", "money")},
                 "against": self.maybe({"baseline": self.name(), "mean": self.value(), "low": self.value(), "high": self.value(), "n": 5})}
                for policy in policies]
        return {"comparison": self.name(), "state": "done", "chosen": self.name(), "judge": {"metric": self.name(), "better": draw.choice(["lower", "higher"]),
                "from": self.time(0), "until": None}, "policies": rows, "cells": cells}

    def all(self):
        comparison = self.comparison() if self.draw.random() < 0.4 else None
        pipelines = [self.pipeline() for _ in range(self.draw.choice([1, 1, 1, 3] if comparison is None else [0, 0, 1]))]
        return {"version": 1, "made": self.time(1), "platform": {"version": "0", "machine": self.name()}, "pipelines": pipelines,
                "comparison": comparison}


def write_random(page, file, seed):
    """The page of a report with other numbers: its policy holds for them, too."""
    numbers = json.dumps(Numbers(seed).all()).replace("<", "\\u003c")
    head, rest = page.split('<script type="application/json" id="numbers">')
    file.write_text(head + '<script type="application/json" id="numbers">' + numbers + rest[rest.index("</script>"):])


def assert_random_is_right(browser, page, file, seed):
    """`seed` makes the same report again."""
    write_random(page, file, seed)
    browser.open(f"file://{file}")
    await_that(lambda: browser.ask("document.readyState === 'complete'"))
    assert browser.ask("document.querySelectorAll('main h1').length") == 1, seed
    draw = random.Random(seed)
    widths = (360, draw.choice(WIDTHS[1:]))
    found = [what for width in widths for what in look(browser, width=width, dark=draw.random() < 0.5)]
    found += look(browser, width=PAPER, paper=True)
    show(browser)
    found += hear(browser)
    assert not found, (seed, len(found), found[:12])


def test_reports_of_whatever_there_may_be_are_right(browser, report, live):
    page = Path(report.removeprefix("file://"))
    text = page.read_text()
    for seed in range(REPORTS):
        assert_random_is_right(browser, text, page.with_name("random.html"), seed)


# ---- all of it ----

def make_report(lab):
    file = lab.folder / "report.html"
    done = child.run([*lab.command("report", "lab", "-o", str(file))], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done
    return f"file://{file}"


def main():
    lab = Lab(samples=600, every=60, epochs=1)
    browser, served = Browser(), Served(lab)
    try:
        lab.weir("submit", str(lab.pipeline))
        lab.weir("watch", "lab")
        lab.weir("erase", "request", "--subject", lab.records[0]["user"], "--wait")
        report, live = make_report(lab), f"http://{served.address}/"
        run_tests(globals(), browser, report, live, wanted=sys.argv[1:])
    finally:
        browser.close()
        served.end()
        lab.remove()


if __name__ == "__main__":
    main()

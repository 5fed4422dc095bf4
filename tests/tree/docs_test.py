"""The pages held to the programs: the YAML that they show is accepted, the commands and options that they name exist, their
links lead somewhere, and the error that README shows is the one that is given.

Usage: docs_test.py BIN_DIR
"""
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")),
         *sorted(ROOT.glob("*/README.md"))]
SYSTEM = {"workers", "prices", "batches", "programs", "credentials", "trainers", "gpus", "quotas", "budgets", "cache", "metrics",
          "listen", "advertise", "launcher", "slurm", "postgres", "webhooks", "page"}  # sections of a system file
NOT_THERE = {"every_nth", "scoring_hardest", "format_lines"}  # what a page has its reader write
STANDS_FOR = {"PYTHON, NET": "/usr/bin/python3, net.py"}
BYTES = [chr(b) if 33 <= b < 127 or 161 <= b < 173 or b >= 174 else None for b in range(256)]  # as GPT-2 writes them
FILES = {"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "merges.txt": "#version: 0.2\n",
         "vocab.json": json.dumps({text or chr(256 + BYTES[:b].count(None)): b for b, text in enumerate(BYTES)} | {"<|endoftext|>": 256})}
# The rest of a file, where a page shows some of its sections.
PIPELINE = """pipeline: {name: clicks, mode: replay}
datasets:
  - name: clicks
    source:  {path: data, format: jsonl, include: "*.jsonl", import: copy, on_erase: scrub}
    time:    {from: field, field: ts}
    label:   {field: label, classes: [ham, spam]}
    subject: {field: user}
  - name: views
    source:  {path: views, format: jsonl, include: "*.jsonl", import: copy, on_erase: scrub}
    time:    {from: field, field: ts}
    label:   {field: label, classes: [ham, spam]}
    holdout: {share: 0.1}
trigger: {policy: time, every: 1w}
selection: {policy: new_data, tail_triggers: 3, seed: 1}
preprocess:
  operators: [{op: json_text, field: text}, {op: tokenize_words}, {op: tokenize_hash, buckets: 262144}]
training: {model: text_bag, loss: logistic, report_losses: true}
evaluation: [{name: next_week, strategy: slicing, every: 1w, metrics: [roc_auc]}]
"""
FILES["clicks.yaml"] = PIPELINE


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


def sections(text):
    """Section name → its text, of a file that begins each at the first column."""
    return {found[1]: part for part in re.split(r"(?m)^(?=\w+:)", text) if (found := re.match(r"(\w+):", part))}


def whole(block):
    """The option that checks a block, and the file that it is shown of."""
    for shown, real in STANDS_FOR.items():
        block = block.replace(shown, real)
    if block.startswith(("    - ", "  - {op")):
        block = "preprocess:\n  operators:\n" + block
    elif block.startswith("  "):
        block = "training:\n  model: text_bag\n" + block
    found = sections(block)
    if "comparison" in found:
        return "--check-config", block
    if operators := found.pop("operators", None):
        found["preprocess"] = "preprocess:\n" + textwrap.indent(operators, "  ")
    if set(found) <= SYSTEM:
        return "--check-system", block
    if found.get("training", "").startswith("training:\n") and not re.search(r"\b(model|program):", found["training"]):
        found["training"] += "  model: text_bag\n"
    pipeline = PIPELINE.replace("jsonl", "csv") if "op: csv_" in block else PIPELINE
    rest = sections(pipeline.replace(", classes: [ham, spam]", ", type: float") if "op: scale_label" in block else pipeline)
    if "preprocess" in found and "operators:" not in block:
        found["preprocess"] = rest["preprocess"] + found["preprocess"].removeprefix("preprocess:\n")
    elif "preprocess" in found and "training" not in found:  # of whatever tensors the operators make
        found["training"] = "training: {program: net}\n"
    return "--check-config", "".join({**rest, **found}.values())


def anchors(page):
    """The places of a page that a link may name, as GitHub calls its headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text())
    seen = collections.Counter()
    for heading in re.findall(r"(?m)^#+ (.+)$", text):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()).replace(" ", "-")
        yield name if seen[name] == 0 else f"{name}-{seen[name]}"
        seen[name] += 1


def check(folder, option, text):
    """What the orchestrator says of a file whose sources are there, but for those outside of `folder`."""
    for path in re.findall(r"\bpath: ([\w.][\w./-]*)", text):
        (pathlib.Path(folder) / path).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(folder) / "my.yaml").write_text(text)
    return program("orchestrator", option, "my.yaml", "--elsewhere", cwd=folder)


def program(name, *arguments, **more):
    return subprocess.run([BIN / name, *arguments], capture_output=True, text=True, check=False, **more)


@functools.cache
def help_of(name, words):
    """The options that --help tells of, those of them that take a value, and the most operands; None where there is no such command."""
    done = program(name, *words, "--help")
    if done.returncode != 0:
        return None
    operands = re.search(rf"usage: {' '.join((name, *words))} (.*)", done.stdout)
    words = re.findall(r"[A-Z]+…?", operands[1].replace("[OPTIONS]", "")) if operands and name == "weir" else ["…"]
    return (set(re.findall(r"(?m)(?<=[ (])-{1,2}[a-z][a-z-]*", done.stdout)), set(re.findall(r"(?m)^  (--[a-z-]+) [A-Z]", done.stdout)),
            99 if any(word.endswith("…") for word in words) else len(words))


def commands(page):
    """Every command line of ours that a page shows: program and words."""
    text = page.read_text()
    shown = [line.split(" #")[0] for block in blocks(page, "sh") for line in block.splitlines()]
    shown += [line.split(" #")[0] for line in re.findall(r"(?m)^    (\S.*)", re.sub(r"(?ms)^```.*?^```", "", text))]
    for line in shown + re.findall(r"`([^`\n]+)`", text):
        if found := re.match(r"(?:\$ )?(?:build/bin/)?(weir|orchestrator) (.+)", line):
            yield found[1], re.split(r" [<>|&]( |$)", found[2])[0].split(), line


class Pages(unittest.TestCase):
    def test_the_yaml_that_pages_show_is_accepted(self):
        with tempfile.TemporaryDirectory(prefix="weir-docs-") as folder:
            for name, text in FILES.items():
                (pathlib.Path(folder) / name).write_text(text)
            count = 0
            for page in PAGES:
                for block in blocks(page, "yaml"):
                    if any(word in block for word in NOT_THERE):
                        continue
                    count += 1
                    done = check(folder, *whole(block))
                    with self.subTest(page=page.name, block=block[:60]):
                        self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(count, 25)

    def test_the_error_of_readme_is_the_one_that_is_given(self):
        (shown,) = re.findall(r"(?m)^```\n(my\.yaml:.*)\n```$", (ROOT / "README.md").read_text())
        (pipeline,) = blocks(ROOT / "README.md", "yaml")
        with tempfile.TemporaryDirectory(prefix="weir-docs-") as folder:
            done = check(folder, "--check-config", pipeline.replace("epochs: 3", "epoch: 3"))
        self.assertEqual((done.returncode, done.stderr.strip()), (2, shown))

    def test_the_commands_and_options_that_pages_name_exist(self):
        known = re.findall(r"(?m)^  ([a-z]+(?: [a-z]+)?)  ", program("weir", "--help").stdout)
        groups = {words.split()[0] for words in known}
        count = 0
        for page in PAGES:
            for name, words, line in commands(page):
                plain = [word for word in words if re.fullmatch(r"[a-z]+", word)]
                command = next((tuple(plain[:n]) for n in (2, 1) if " ".join(plain[:n]) in known), ())
                options = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
                with self.subTest(page=page.name, line=line):
                    self.assertTrue(name != "weir" or command or not plain or plain[1:] == [] and plain[0] in groups)
                    there, valued, operands = help_of(name, command if name == "weir" else ())
                    self.assertLessEqual(options, there)
                    valued |= {option[1:3] for option in valued}  # -o is --output
                    given = [word for before, word in zip(["", *words], words) if not word.startswith("-") and before not in valued]
                    if command and "|" not in line and "…" not in line:
                        self.assertLessEqual(len(given) - len(command), operands)
                count += 1
        self.assertGreater(count, 80)

    def test_the_operator_that_a_page_walks_through_is_the_one_of_the_tree(self):
        source = " ".join((ROOT / "preprocess/operators/operator_log1p.c").read_text().split())
        shown = blocks(ROOT / "docs/guides/add-an-operator.md", "c")
        for part in [part for block in shown for part in block.split("…")]:
            self.assertIn(" ".join(part.split()), source)
        self.assertGreater(len(shown), 3)

    def test_what_a_service_answers_stands_on_its_page(self):
        for handlers in ("storage/handlers.c", "selector/handlers.c", "preprocess/dispatcher/handlers.c", "orchestrator/handlers.c"):
            answered = re.findall(r"\bWEIR_ON\((\w+)", (ROOT / handlers).read_text())
            page = (ROOT / handlers.split("/")[0] / "README.md").read_text()
            named = {word for code in re.findall(r"`([^`]+)`", page) for word in code.split()}
            self.assertGreater(len(answered), 4)
            self.assertEqual(set(answered) - named, set())

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
                if not re.match(r"\w+:", link):
                    with self.subTest(page=page.name):
                        there = page.parent / link if link else page
                        self.assertTrue(there.exists(), link)
                        if anchor and there.suffix == ".md":
                            self.assertIn(anchor, anchors(there))

    def test_the_list_of_guides_is_complete(self):
        listed = re.findall(r"\]\(guides/([\w-]+\.md)\)", (ROOT / "docs/README.md").read_text())
        self.assertEqual(sorted(listed), [page.name for page in sorted(ROOT.glob("docs/guides/*.md"))])

    def test_the_files_that_pages_name_are_there(self):
        listed = subprocess.run([ROOT / "tools/list_sources", "c", "h", "def", "py", "yaml"], capture_output=True, text=True, check=True)
        there = listed.stdout.split()
        for page in PAGES:
            for name in re.findall(r"`((?:[a-z_0-9-]+/)+[a-z_0-9]+\.(?:c|h|def|py|yaml))`", page.read_text()):
                if not any(word in name for word in NOT_THERE):
                    with self.subTest(page=page.name):
                        self.assertTrue(any(path == name or path.endswith("/" + name) for path in there), name)

    def test_what_dev_installs_is_a_dependency_that_a_page_explains(self):
        page = (ROOT / "docs/dependencies.md").read_text()
        for names in re.findall(r"(?m)^TO_\w+=\(([^)]*)\)", (ROOT / "dev").read_text()):
            for name in re.findall(r"(?m)(?<![$\w{])[a-z][a-z0-9.+-]+", re.sub(r'"[^"]*"|#.*', "", names)):
                with self.subTest(package=name):
                    self.assertTrue(f"`{name}`" in page)

    def test_the_words_of_dev_exist(self):
        known = set(re.findall(r"(?m)^verb_([a-z]+)\(\)", (ROOT / "dev").read_text()))
        for page in PAGES:
            for word in re.findall(r"\./dev ([a-z]+)", page.read_text()):
                with self.subTest(page=page.name):
                    self.assertIn(word, known)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()

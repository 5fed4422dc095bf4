"""What README and the guides show as printed is printed: each situation is made, and the block of the page is looked for in what the
programs say, numbers and the blocks of pictures apart (… stands for anything). No block is left out, whether between fences or indented: one that is neither
shown here, nor of commands, nor a drawing fails. So does a message in running text that no program has."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import import_modyn_test
import init_test
import plan_test
import refused_test
import report_test
import why_test
from weirlab import DEADLINE_S, PIPELINE, Lab, await_sums, binaries, child, everyone_may_enter, free_ports, run_tests, served

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/guides/*.md"))]
ELSEWHERE = ("my.yaml:",                         # tests/tree/docs_test.py
             "$ weir apply clicks.yaml",         # apply_test.py
             "pipeline pictures, run",           # place_test.py
             "…\nin flight  batches",            # in_flight_test.py
             "$ weir compare config/grids",      # compare_test.py
             "$ weir datasets remove notes", "pipeline lab2 failed:")  # dataset_alter_test.py
NOT_PRINTED = ("│", "chosen, factors = ", "do {")  # drawings, code
COMMAND = re.compile(r"(build/bin/)?(weir|tail|orchestrator|curl|prometheus) ")
MESSAGE = re.compile(r"\b(expected|found|cannot|is missing|is not|are not) \S")  # of running text, between backquotes
MESSAGES = {"loss: expected one of each of 64 samples, found (): use reduction='none'": "trainer_client/python/weir/torch.py",
            "loss: found (64, 64), every output with every label": "trainer_client/python/weir/torch.py",
            "a worker of a DataLoader cannot use the session: num_workers=0": "trainer_client/python/weir/torch.py",
            "visits.csv: found no column 'spent', which operators read, but 'spnt': expected it by its name": "tests/system/predict_rows_test.py"}
OF_OTHERS = ("Found dtype Long but expected Float", "expected scalar type Long but found Float", "mat1 and mat2 shapes cannot be multiplied")  # PyTorch's
TABLE = """\
pipeline: {name: NAME, mode: replay}
datasets:
  - name: NAME
    source: {path: data, format: csv, settle: 0ms}
    time:   {from: field, field: ts}
    label:  {field: label}
trigger:   {policy: amount, samples: 300}
selection: {policy: new_data}
preprocess:
  operators:
    - {op: csv_fields, fields: [x]}
training:  {model: linear, loss: logistic}
"""


def indented_blocks(page):
    """The indented blocks that are not of commands alone."""
    found, block, before = [], [], ""
    for line in [*re.sub(r"^```.*?^```$", "```", page.read_text(), flags=re.S | re.M).splitlines(), ""]:
        if line.startswith("    ") and (block or not before):
            block.append(line[4:])
        elif block:
            found.append("\n".join(block))
            block = []
        before = line
    return [text for text in found if not all(COMMAND.match(line) for line in text.splitlines())]


def printed_blocks(page):
    """The blocks without a language that a page shows as printed."""
    shown, block = indented_blocks(page), None
    for line in page.read_text().splitlines():
        if block is None and line.startswith("```"):
            language, block = line[3:], []
        elif block is not None and line.startswith("```"):
            text = "\n".join(block)
            if not language and not text.startswith(ELSEWHERE) and not any(mark in text for mark in NOT_PRINTED):
                shown.append(text)
            block = None
        elif block is not None:
            block.append(line)
    return shown


def one_line(text):
    return " ".join(text.split())


def expected(block):
    """What a block says, as an expression: blanks, numbers and the blocks of pictures apart."""
    parts = re.split(r"(…|\.\.\.|\d[\d.,]*|[▁-█]+)", one_line(block))
    return "".join(".*" if part in ("…", "...") else r"\d[\d.,]*" if part[:1].isdigit() else "[▁-█ ]+" if "▁" <= part[:1] <= "█"
                   else re.escape(part) for part in parts)


def check(page, beginning, said):
    (block,) = [block for block in printed_blocks(ROOT / "docs/guides" / page) if block.startswith(beginning)]
    SHOWN.add(block)
    wanted = re.sub(r"^\$ .*\n", "", block)
    assert re.search(expected(wanted), one_line(said)), f"{page} shows\n{wanted}\nbut this was printed:\n{said}"


SHOWN = set()


class Table:
    """A working directory with a table below data/, and a run of a pipeline on it."""

    def __init__(self, name, pipeline, **files):
        self.lab = Lab(samples=1)
        shutil.rmtree(self.lab.folder / "stream")
        self.lab.data_dir = self.lab.folder / "platform"
        (self.lab.folder / "data").mkdir()
        everyone_may_enter(self.lab.folder / "data")
        self.file = f"{name}.yaml"
        (self.lab.folder / self.file).write_text(pipeline.replace("NAME", name))
        for file, text in files.items():
            (self.lab.folder / "data" / f"{file}.csv").write_text(text)

    def run(self):
        """All that is printed, and what weir datasets says afterwards."""
        done = child.run([binaries() / "orchestrator", "run", self.file, "--data-dir", self.lab.data_dir], cwd=self.lab.folder,
                         capture_output=True, text=True, timeout=DEADLINE_S)
        said = done.stdout + done.stderr + self.lab.ask("datasets").stdout
        self.lab.remove()
        return said.replace(str(self.lab.folder), "/home/me")


def test_what_weir_init_says():
    lab = init_test.Lab()
    init_test.write_visits(lab, "data/visits")
    done = child.run([binaries() / "weir", "init", "--from", "data/visits"], cwd=lab.folder, capture_output=True, text=True)
    check("begin-with-a-folder.md", "saw ", done.stdout)
    lab.remove()


def test_what_weir_import_says():
    lab = init_test.Lab()
    lab.write("mine.yml", import_modyn_test.filled(import_modyn_test.OLD).replace("batch_size: 512\n  amp", "batch_size: 65536\n  amp"))
    done = child.run([binaries() / "weir", "import", "modyn", "--check", "mine.yml"], cwd=lab.folder, capture_output=True, text=True)
    (block,) = printed_blocks(ROOT / "docs/guides/coming-from-modyn.md")
    said = [one_line(line) for line in done.stdout.splitlines()]
    for line in block.splitlines():
        assert one_line(line) in said, (line, done.stdout)
    SHOWN.add(block)
    lab.remove()


def test_columns_that_are_declared_wrongly():
    rows = "ts,user,text,label\n" + "".join(f"{1_700_000_000 + n},u{n % 5},{n % 7},{n % 2}\n" for n in range(400))
    declared = TABLE.replace("fields: [x]", "columns: [ts, user, text, label, x], fields: [text]")
    check("read-a-table.md", "visits.yaml:11:7:", Table("visits", declared, a=rows).run())


def test_a_file_with_its_columns_in_another_order():
    rows = "ts,user,text,label\n" + "".join(f"{1_700_000_000 + n},u{n % 5},{n % 7},{n % 2}\n" for n in range(400))
    other = "ts,text,user,label\n1700000500,3,u1,0\n"
    check("read-a-table.md", "b.csv:", Table("visits", TABLE.replace("[x]", "[text]"), a=rows, b=other).run())


def test_what_a_check_of_data_shows():
    rows = "ts,user,x,amount,kind,label\n" + "".join(
        f"2020-{1 + n // 28 % 12:02}-{1 + n % 28:02},u{n},{n % 9}.5,{100 - n % 11},k0,{['good', 'bad'][n % 2]}\n" for n in range(200))
    pipeline = TABLE.replace("field: label}", "field: label, classes: [good, bad]}").replace("[x]}", "[x, amount], as: numbers}\n    - {op: standardize}")
    table = Table("d", pipeline, a=rows)
    done = child.run([binaries() / "weir", "config", "check", "d.yaml", "--data"], cwd=table.lab.folder, capture_output=True, text=True)
    check("check-the-data.md", "d: 200 records", done.stdout + done.stderr)
    table.lab.remove()


def test_a_time_that_no_pattern_reads():
    rows = "ts,x,label\n" + "".join(f"{1 + n % 28:02}.05.2024 10:20,{n},{n % 2}\n" for n in range(4)) + "03/05/2024 10:20,1,0\n"
    pattern = TABLE.replace("field: ts}", 'field: ts, pattern: "%d.%m.%Y %H:%M"}')
    check("read-times.md", "loads.csv:6:", Table("loads", pattern, loads=rows).run())


def test_samples_that_cannot_be_read():
    rows = "ts,x,label\n" + "".join(f"{1_700_000_000 + n},{'NA' if n % 5 > 1 else n},{n % 2}\n" for n in range(400))
    check("unread-samples.md", "pipeline na failed:", Table("na", TABLE, a=rows).run())


def test_shares_that_follow_the_losses():
    lab = Lab(every=500, samples=1500)
    for part in (lab.folder / "stream").iterdir():
        part.write_text(part.read_text().replace('"label": "work"', '"label": "ham"'))
    text = lab.pipeline.read_text().replace("[work, spam]", "[ham, spam]").replace("name: lab,", "name: mixture,").replace(
        "{policy: random, ratio: 0.8,", "{policy: mixture, over: labels, shares: {ham: 1, spam: 1}, change: loss, ratio: 0.8,")
    lab.pipeline.write_text(text.replace("training: {", "training: {report_losses: true, "))
    lab.run().finish()
    check("choose-by-loss.md", "shares of mixture", lab.weir("sets"))
    lab.remove()


def test_a_rehearsal():
    lab = Lab(every=500, samples=1500)
    lab.pipeline.write_text(lab.pipeline.read_text().replace("name: lab,", "name: clicks,"))
    lab.run().finish()
    with served(lab):
        check("control-pipelines.md", "$ weir submit", lab.weir("submit", str(lab.pipeline), "--dry-run"))
    lab.remove()


def test_an_order_of_operators():
    chosen, strict = plan_test.lab_of("auto"), plan_test.pictures_by("{{order: approximate, tolerance: 0.0001}}")
    plan_test.run_through(chosen)
    with served(chosen):
        check("order-of-operators.md", "pipeline planned, run", chosen.weir("plan"))
        said = chosen.weir("plan", "verify", chosen.pipeline).replace(str(chosen.pipeline), "pipeline.yaml")
    check("order-of-operators.md", "pipeline.yaml: the operators may run", said)
    refused = strict.run().finish(expect=2)
    check("order-of-operators.md", "…: preprocess.plan.order", "".join(refused.stderr))
    chosen.remove()
    strict.remove()


def test_why_triggers_fire_and_do_not():
    lab = why_test.WeatherLab(why_test.DRIFT.format("features", "ks", 0.2))
    fired = why_test.fired_by_the_change(lab)["reason"]
    check("when-to-train.md", "drift of features:", fired)
    with served(lab):
        check("when-to-train.md", "$ weir status", lab.weir("status"))
        check("read-a-report.md", "$ weir report weather", report_test.in_a_terminal(lab, 80, "report"))
    lab.remove()
    lab = why_test.detecting_lab()
    check("when-to-train.md", "the model's mistakes", why_test.fired_by_the_change(lab)["reason"])
    lab.remove()


def test_what_was_refused_and_is_dropped():
    lab = refused_test.lab_with(refused_test.REFERRED)
    (lab.folder / f"stream/{refused_test.PERSON}.jsonl").unlink()
    lab.run().finish()
    for path in [lab.folder / "stream", *(lab.folder / "stream").iterdir()]:
        os.chown(path, lab.data_dir.stat().st_uid, -1)  # whom Weir runs as
    with served(lab):
        told = refused_test.ask(lab, "--subject", refused_test.PERSON)
        check("drop-refused-records.md", "dataset 'notes': 4 refused records still", "\n".join(told["outside_reach"]))
        told = refused_test.ask(lab, "--drop-refused", "--dataset", "notes")
        check("drop-refused-records.md", "dataset 'notes': 4 refused records and", "\n".join(told["dropped"]))
    lab.remove()


def test_a_bit_that_flips():
    lab = Lab(samples=300, every=300, epochs=1)
    lab.run().finish()
    with served(lab):
        await_sums(lab)
        path = lab.data_dir / "storage/notes/part0.jsonl"
        found, data = path.stat(), bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        check("examine-the-store.md", "wrong  notes", lab.ask("doctor", "--deep").stdout)
    lab.remove()


def test_a_key_that_is_missing():
    lab = Lab(samples=300, every=300, epochs=1)
    lab.run().finish()
    said = []
    for name, command in (("secret", lab.command("status")), ("receipt.key", [binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir])):
        key = (lab.data_dir / name).rename(lab.folder / name)
        done = child.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        said.append(done.stdout + done.stderr)
        key.rename(lab.data_dir / name)
    check("keep-the-keys.md", "weir: storage stops", "\n".join(said).replace(str(lab.data_dir), "DATA"))
    lab.remove()


def test_rows_that_are_predicted():
    lab = Lab(samples=300, every=300, epochs=1, pipeline=PIPELINE.replace("    subject: {{field: user}}\n", "    key: {{field: id}}\n"))
    for part in (lab.folder / "stream").iterdir():
        records = [json.loads(line) for line in part.read_text().splitlines()]
        part.write_text("".join(json.dumps(record | {"id": record["text"].split("#")[1]}) + "\n" for record in records))
    lab.run().finish()
    done = lab.ask("predict", input='{"id": "n17", "text": "winner prize money"}\nnonsense\n')
    check("predict-rows.md", '{"id":"n17"', done.stdout)
    lab.remove()


def test_the_receipt_of_a_person():
    lab = Lab(samples=400, every=200, epochs=1, pipeline=PIPELINE.replace("{{name: text_bag, buckets: 4096}}", "text_bag"))
    lab.run().finish()
    with served(lab):
        check("erase-a-person.md", "weir: no sample", lab.ask("erase", "request", "--subject", "nobody@example.org").stderr)
        lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--wait")
        told = lab.weir("erase", "receipt", "1")
    check("erase-a-person.md", "receipt of ", told)
    check("erase-a-person.md", "place ", told)
    lab.remove()


def test_a_key_that_lacks_a_role():
    lab = Lab(samples=20)
    ben = lab.folder / "ben.key"
    with served(lab, "--listen", f"tcp://127.0.0.1:{free_ports()}"):
        lab.weir("keys", "new", "viewer", "ben", "-o", str(ben))
        told = child.run([binaries() / "weir", "--key", ben, "cache", "drop"], capture_output=True, text=True, timeout=DEADLINE_S)
    check("keys-and-roles.md", "weir: key 'ben'", told.stderr)
    lab.remove()


def test_messages_in_running_text_are_those_of_a_program():
    text = "\n".join(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M) for page in PAGES)
    spans = {one_line(span) for span in re.findall(r"`([^`]+)`", text)}
    found = {span for span in spans if MESSAGE.search(span) and span not in OF_OTHERS}
    assert found == set(MESSAGES), found ^ set(MESSAGES)
    for message, program in MESSAGES.items():  # shapes and numbers apart
        for part in re.split(r"\(.*?\)|\d+", message):
            assert part in (ROOT / program).read_text(), (message, part, program)


def zz_every_block_is_shown_here():
    left = {block for page in PAGES for block in printed_blocks(page)} - SHOWN
    assert not left, json.dumps(sorted(left), indent=1, ensure_ascii=False)


def main():
    os.environ.pop("WEIR_FAULTS", None)
    run_tests(globals())
    zz_every_block_is_shown_here()
    return 0


if __name__ == "__main__":
    sys.exit(main())

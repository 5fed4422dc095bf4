"""weir push: a live pipeline learns from what is pushed; refusals name their line; one input, whatever is killed.

push_test.py [VICTIM,… [SEED [KILLS]]]: without victims what it does when nothing dies.
"""

import json
import random
import subprocess
import sys
import threading

from weirlab import DEADLINE_S, PIPELINE, Lab, Run, Stream, await_dataset, push, run_tests, stop

KILLS = 10
LIVE = PIPELINE.replace("mode: replay", "mode: live").replace(
    'path: {data}, format: jsonl, include: "*.jsonl", import: copy', "push: true, format: jsonl")
LIVE = "\n".join(line for line in LIVE.splitlines() if not line.startswith("evaluation")) + "\n"
TABLE = """\
pipeline: {name: rows, mode: live}
dataset:
  name: rows
  source: {push: true, format: csv, segment_bytes: 3MiB}
  time:   {from: field, field: ts}
  label:  {field: y, type: int}
trigger:   {policy: amount, samples: 1000000000}
selection: {policy: new_data}
preprocess:
  operators: [{op: csv_fields, columns: [ts, y, note], fields: [ts]}]
  batch: {samples: 8}
training: {model: linear, loss: logistic}
"""


def lines_of(count, seed=1):
    stream = Stream(count, seed)
    return [json.dumps(stream.record(i)) + "\n" for i in range(count)]


def accounts(lab, name):
    found = json.loads(lab.weir("datasets", "--json"))["datasets"]
    return next(d for d in found if d["dataset"] == name)


def segments(lab, name):
    """Returns the bytes of the segments of a dataset, one after the other."""
    parts = sorted((lab.data_dir / "storage" / name).iterdir())
    return [part.read_bytes().rstrip(b"\0") for part in parts]


# ---- nothing dies ----

def test_a_live_pipeline_learns_from_what_is_pushed():
    lab = Lab(samples=1, every=300, pipeline=LIVE)
    run = lab.run()
    await_dataset(run, lab, "notes")
    lines = lines_of(800)
    for first in (0, 400):
        answer = push(lab, "".join(lines[first:first + 400]), "notes")
        assert answer["samples"] == 400 and answer["refused"] == 0, answer
        assert run.wait_until(lambda: len(run.of("model_stored")) == 1 + first // 400), run.events
    assert [e["samples_new"] for e in run.of("trigger_fired")] == [400, 400], run.of("trigger_fired")
    assert all(e["audit"]["gone"] == 0 for e in run.of("training_finished")), run.events
    assert b"".join(segments(lab, "notes")).decode() == "".join(lines)
    stop(run)
    lab.remove()


def test_refusals_name_the_line_of_the_input():
    lab = Lab(samples=1, every=10**9, pipeline=LIVE)
    run = lab.run()
    await_dataset(run, lab, "notes")
    lines = lines_of(30000)
    for bad in (5, 29000):
        lines[bad - 1] = "nonsense\n"
    answer = push(lab, "".join(lines), "notes", "-", expect=1)
    assert answer["samples"] == 29998 and [r["record"] for r in answer["refusals"]] == [5, 29000], answer
    assert accounts(lab, "notes")["quarantined"] == 2
    assert "refused" in lab.ask("push", "notes", input="[]\n").stdout
    assert "there is none" in push(lab, "{}\n", "nothing", expect=1)
    stop(run)
    lab.remove()


def test_the_same_client_goes_on_where_it_stood():
    lab = Lab(samples=1, every=10**9, pipeline=LIVE)
    run = lab.run()
    await_dataset(run, lab, "notes")
    lines = lines_of(3000)
    push(lab, "".join(lines[:1000]), "notes", "--client", "day1")
    for expected in (2000, 0):
        answer = push(lab, "".join(lines), "notes", "--client", "day1")
        assert answer["samples"] == expected and answer["resumed_bytes"] > 0, answer
    assert "does not begin with" in push(lab, "".join(lines[1:]), "notes", "--client", "day1", expect=2)
    assert accounts(lab, "notes")["live"] == 3000
    stop(run)
    lab.remove()


def test_rows_with_line_breaks_are_cut_whole():
    lab = Lab(samples=1, pipeline=TABLE.replace("{", "{{").replace("}", "}}"))
    run = lab.run()
    await_dataset(run, lab, "rows")
    draw = random.Random(3)
    rows = []
    for i in range(120000):
        note = "x" * draw.randrange(60) + draw.choice(["", "\n", '""', ",", "\n\n"]) + "end"
        rows.append(f'{i},{i % 7},"{note}"\n')
    rows[77] = "a,b\n"
    source = lab.folder / "rows.csv"
    source.write_text("ts,y,note\n" + "".join(rows))
    answer = push(lab, None, "rows", source, expect=1)
    line = 2 + sum(row.count("\n") for row in rows[:77])
    assert answer["samples"] == 119999 and answer["refusals"][0]["record"] == line, answer
    assert answer["batches"] > 1, answer
    parts = segments(lab, "rows")
    assert len(parts) > 1 and all(part.startswith(b"ts,y,note\n") for part in parts)
    stored = b"".join(part[len(b"ts,y,note\n"):] for part in parts)
    assert stored.decode() == "".join(rows[:77] + rows[78:])
    stop(run)
    lab.remove()


def test_a_table_without_quotes_and_without_a_header_is_cut_after_its_lines():
    table = TABLE.replace("format: csv,", "format: csv, header: false, quotes: none, columns: [ts, y, note],")
    lab = Lab(samples=1, pipeline=table.replace("{", "{{").replace("}", "}}"))
    run = lab.run()
    await_dataset(run, lab, "rows")
    rows = [f'{i},{i % 7},say "{i}{"x" * 60}\n' for i in range(80000)]
    rows[40000] = '40000,1,""" and nothing closes it\n'
    source = lab.folder / "rows.csv"
    source.write_text("".join(rows))
    answer = push(lab, None, "rows", source)
    assert (answer["samples"], answer["refused"]) == (80000, 0) and answer["batches"] > 1, answer
    assert b"".join(segments(lab, "rows")).decode() == "".join(rows)
    stop(run)
    lab.remove()


# ---- something dies ----

class Feeder:
    """A weir push with an input that never ends until it is told to; begun anew when weir itself is killed."""

    def __init__(self, lab, lines, draw):
        self.lab, self.lines, self.draw = lab, lines, draw
        self.enough, self.fed = threading.Event(), 0
        self.start()

    def start(self):
        self.process = self.lab.begin("push", "notes", "--client", "feeder", "--json", stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.thread = threading.Thread(target=self.feed, args=(self.process,), daemon=True)
        self.thread.start()

    def feed(self, process):
        at = 0
        try:
            while at < len(self.lines) and not (self.enough.is_set() and at >= self.fed):
                size = 1000 if at < self.fed else self.draw.randrange(1, 40)
                process.stdin.write("".join(self.lines[at:at + size]))
                process.stdin.flush()
                at = min(at + size, len(self.lines))
                if at >= self.fed:
                    self.fed = at
                    threading.Event().wait(0.005)  # an input that arrives little by little
            process.stdin.close()
        except BrokenPipeError:
            pass

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self.thread.join(DEADLINE_S)
        self.start()

    def finish(self):
        self.enough.set()
        self.thread.join(DEADLINE_S)
        out, err = self.process.stdout.read(), self.process.stderr.read()
        assert self.process.wait(DEADLINE_S) == 0, (self.process.returncode, out, err)
        return json.loads(out)


def run_beside(feeder, lab):
    """A run. A push that began while nobody ran serves the data directory itself until it is killed."""
    while True:
        run = Run(lab.pipeline, lab.data_dir)
        while run.process.poll() is None and not run.has_data_dir():
            threading.Event().wait(0.01)
        if run.has_data_dir():
            return run
        feeder.kill()


def kill_test(victims, seed, kills):
    draw = random.Random(f"{seed} {victims}")
    lab = Lab(samples=1, every=10**9, pipeline=LIVE)
    lines = lines_of(100000)
    run = lab.run()
    await_dataset(run, lab, "notes")
    feeder = Feeder(lab, lines, draw)
    done = 0
    while done < kills:
        threading.Event().wait(draw.uniform(0, 0.6))  # where the next kill falls: random, and no condition to wait for
        victim = draw.choice(victims)
        if victim == "weir":
            feeder.kill()
            done += 1
        elif victim == "orchestrator":
            run.process.kill()
            run.finish(expect=None)
            run = run_beside(feeder, lab)
            done += 1
        else:
            done += run.kill(victim)
    answer = feeder.finish()
    expected = "".join(lines[:feeder.fed])
    await_dataset(run, lab, "notes")
    found = accounts(lab, "notes")
    assert found["live"] == found["ingested"] == feeder.fed, (found, feeder.fed, answer)
    assert b"".join(segments(lab, "notes")).decode() == expected, "other samples than those that were pushed"
    print(f"{', '.join(victims)}: {done} kills, {feeder.fed} samples pushed: each is there once, in order", flush=True)
    stop(run)
    lab.remove()


def main():
    if len(sys.argv) > 1:
        kill_test(sys.argv[1].split(","), int(sys.argv[2]) if len(sys.argv) > 2 else 1,
                  int(sys.argv[3]) if len(sys.argv) > 3 else KILLS)
        return
    run_tests(globals())


main()

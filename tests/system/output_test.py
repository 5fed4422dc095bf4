"""weir logs --output: what trainers print, run by run, while they run and afterwards, and the metrics that they say."""

import json
import re
import subprocess
import threading

from python_test import OURS, PythonLab
from weirlab import DEADLINE_S, run_tests, serve

TALKS = """\
import os, time, weir
with weir.Session() as session:
    print(f"run {session.task.run} begins: \\N{SNOWMAN}", flush=True)
    for batch in session:
        session.metric("accuracy", batch.number / 10)
        session.metric("loss", 0.5)
        if batch.number == 3 and session.task.run == 1:
            os.write(1, b"half a line, and bytes that are no text: \\xff\\x00")
            while not os.path.exists("go"):
                time.sleep(0.01)
            print(" and the rest", flush=True)
    open("model", "w").close()
    session.finish("model")
    print("it is done", flush=True)
"""


def begin():
    text = re.sub(r"evaluation: .*\n", "", OURS.replace("seed: 1}}", "seed: 1, retries: 0}}"))
    lab = PythonLab(samples=400, every=200, pipeline=text)
    (lab.programs / "talks.py").write_text(TALKS)
    server = serve(lab, "--system", lab.script("talks.py", modes="modes: [train]"))
    lab.weir("submit", str(lab.pipeline))
    return lab, server


def read_until(stream, words):
    """The lines until one holds these words."""
    lines = []
    for line in stream:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError((words, lines))


def test_what_trainers_print_is_followed_and_kept():
    lab, server = begin()
    following = lab.begin("logs", "lab", "--output", "--follow", stdout=subprocess.PIPE)
    timer = threading.Timer(DEADLINE_S, following.kill)
    timer.start()
    lines = read_until(following.stdout, "accuracy 0.3")  # it waits in the midst of a line
    assert "== run 1, train ==\n" in lines and "run 1 begins: \N{SNOWMAN}\n" in lines, lines
    assert re.fullmatch(r"run 1: \d+ of \d+ samples, accuracy 0\.3, loss 0\.5\n", lines[-1]), lines
    assert not any("half a line" in line for line in lines), lines
    next(lab.data_dir.glob("runs/1")).joinpath("go").touch()
    rest = "".join(following.stdout)
    timer.cancel()
    assert following.wait(DEADLINE_S) == 0, rest
    assert "half a line, and bytes that are no text: ?? and the rest\nit is done\n" in rest, rest
    kept = lab.weir("logs", "lab", "--output")
    runs = re.findall(r"^== run (\d+), train ==\nrun \1 begins: \N{SNOWMAN}\n(?:half a line.*\n)?it is done\n", kept, re.M)
    assert len(runs) == 2 and runs[0] == "1", kept
    told = [json.loads(line) for line in lab.weir("logs", "lab", "--output", "--json").splitlines()]
    assert [entry["run"] for entry in told] == [int(run) for run in runs] and told[0]["mode"] == "train", told
    server.terminate()
    server.communicate(timeout=DEADLINE_S)
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

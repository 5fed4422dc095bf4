"""docs/guides/bring-your-pytorch-loop.md: its plain script runs, its ten lines make a trainer of it, its commands do what it says; the
loops that it keeps make the same model when they are killed."""

import difflib
import os
import random
import re
import subprocess
import sys
import time

import weirlab
from python_test import ROOT, PythonLab, said
from weirlab import DEADLINE_S, Run, assert_clean_audits, binaries, outcome, run_tests, served

GUIDE = ROOT / "docs/guides/bring-your-pytorch-loop.md"
LINES_ADDED_MAX = 10
MODES = "modes: [train, evaluate, predict]"

if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
    print("pytorch_guide_test.py: skipped: no PyTorch (apt-get install python3-torch)")
    sys.exit(weirlab.SKIPPED)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text(), re.S | re.M)


def write_visits(folder, weeks, a_week):
    """Who is old and spends much buys."""
    draw = random.Random(3)
    folder.mkdir(parents=True)
    for week in range(weeks):
        lines = ["ts,user,age,visits,spent,bought"]
        for number in range(a_week):
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_704_067_200 + (week + number / a_week) * 7 * 86400))
            age, visits, spent = draw.randint(18, 80), draw.randint(1, 30), draw.expovariate(1 / 50)
            bought = age / 80 + spent / 100 + draw.gauss(0, 0.1) > 1.1
            lines.append(f"{when},u{draw.randrange(40)},{age},{visits},{spent:.2f},{int(bought)}")
        (folder / f"week{week}.csv").write_text("\n".join(lines) + "\n")


class GuideLab(PythonLab):
    """The folder that a reader of the guide stands in."""

    def __init__(self):
        super().__init__(samples=1)
        self.data_dir = self.folder / ".weir/default"
        for language in ("python", "yaml"):
            for text in blocks(language):
                (self.folder / re.match(r"# (\S+)\n", text).group(1)).write_text(text)
        self.pipeline = self.folder / "visits.yaml"
        write_visits(self.folder / "data/visits", 5, 250)
        (self.folder / "new.csv").write_text("ts,user,age,visits,spent,bought\n,,80,3,200,\n,,18,3,0,\n")
        path = self.folder / "bin/python3"  # as a virtual environment has it
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\nPYTHONPATH={self.programs} exec {sys.executable} "$@"\n')
        path.chmod(0o755)
        os.environ["PATH"] = f"{path.parent}:{binaries()}:{os.environ['PATH']}"
        os.chdir(self.folder)

    def type_in(self, commands):
        """Returns what a shell makes of them."""
        done = weirlab.child.run(["bash", "-ec", commands], capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, (commands, done.stdout, done.stderr, weirlab.logs(self.data_dir))
        return done.stdout

    def with_program(self, name):
        """The pipeline, trained by another program of the guide; evaluated, so that it answers that as well."""
        return self.script(f"../{name}.py", modes=MODES), self.script("dies.py", f"../{name}.py", modes=MODES)

    def system(self, *command, modes=MODES):
        path = super().system(*command, modes=modes)
        path.write_text(path.read_text().replace("{loop: ", "{net: "))
        return path


def test_ten_lines_are_all():
    plain, ours = (text.splitlines() for text in blocks("python")[:2])
    added = [line for line in difflib.ndiff(plain, ours) if line.startswith("+ ") and not line[2:].startswith("#")]
    assert 0 < len(added) <= LINES_ADDED_MAX, added


def test_what_the_guide_says_is_what_happens():
    lab = GuideLab()
    plain, first, serve, then = blocks("sh")
    assert re.search(r"epoch 4: loss 0\.[0-3]", lab.type_in(plain))
    assert lab.type_in(first).count("visits-") >= 4
    path = lab.folder / "system.yaml"
    path.write_text(path.read_text().replace("PYTHON", str(lab.folder / "bin/python3")).replace("NET", str(lab.folder / "net.py")))
    assert serve == "orchestrator serve --system system.yaml\n"
    with served(lab, "--system", "system.yaml"):
        answers = lab.type_in(then)
    rows = re.findall(r'{"id":\d,"values":\[(.*?)\]}', answers)
    assert len(rows) == 2 and float(rows[0]) > 0.5 > float(rows[1]), answers
    assert "replaced" in answers, answers
    lab.remove()


def test_loops_that_are_kept_may_be_killed():
    lab = GuideLab()
    for name in ("loop", "lit"):
        whole, dying = lab.with_program(name)
        expected = Run(lab.pipeline, lab.folder / f"{name}-undisturbed", whole).finish()
        run = Run(lab.pipeline, lab.folder / f"{name}-killed", dying).finish()
        models = outcome(run.events)
        assert said(run).count("dies here") == len(models) >= 4, said(run)
        assert models == outcome(expected.events), (models, outcome(expected.events))
        assert_clean_audits(run.events)
        found = [e["value"] for e in run.of("evaluation") if e["metric"] == "roc_auc"]
        assert max(found) > 0.8, found
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())

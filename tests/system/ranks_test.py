"""A training of several processes: equal batches for all, one model; whoever of them, the dispatcher or the orchestrator is
killed, at whatever moment, the model is the same."""

import random
import re
import signal
import sys
import threading
from pathlib import Path

from python_test import OURS, PythonLab, said
from weirlab import Run, assert_clean_audits, kill, kill_all, outcome, run_tests, served

KILLS = 16
RANKS = 3
SYSTEM = "modes: [train, evaluate], ranks: 4"
WITH_RANKS = OURS.replace("program: loop,", f"program: loop, ranks: {RANKS},").replace("samples: 8,", "samples: 17,")


IN_CLASSES = WITH_RANKS.replace("    - {{op: tokenize_hash", "    - {{op: bucket_by_length}}\n    - {{op: tokenize_hash")


def lab_of_ranks(**options):
    return PythonLab(**{"samples": 600, "every": 300, "epochs": 6, "pipeline": WITH_RANKS, **options})


def pids_of(run, rank):
    """The processes of that rank among the orchestrator's children, by what their environment says."""
    found = []
    pid = run.process.pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return found
    for child in children:
        try:
            variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"WEIR_RANK={rank}".encode() in variables and f"WEIR_RANKS={RANKS}".encode() in variables:
            found.append(int(child))
    return found


def strike(run, victim):
    if victim == "orchestrator":
        run.process.kill()
        return True
    return kill_all(pids_of(run, int(victim))) if victim.isdigit() else kill(run.data_dir, victim)


def stormy_run(lab, system, data_dir, victims, draw, kills, longest_s=0.6):
    """Runs to the end through the kills; returns those that hit, and all events."""
    hits, events = [], []
    while True:
        run = Run(lab.pipeline, data_dir, system)
        while run.process.poll() is None and len(hits) < kills:
            threading.Event().wait(draw.uniform(0.05, longest_s))  # where the next kill falls: no condition to wait for
            victim = draw.choice(victims)
            if strike(run, victim):
                hits.append(victim)
        run.finish(expect=None)
        events += run.events
        if run.process.returncode == 0:
            return hits, events
        assert "orchestrator" in hits and run.process.returncode == -signal.SIGKILL, (run.process.returncode, run.stderr[-20:])


def test_ranks_share_every_batch_and_one_model_comes_out():
    lab = lab_of_ranks(pipeline=WITH_RANKS.replace("seed: 1}}", "seed: 1, report_losses: true}}"))
    run = Run(lab.pipeline, lab.data_dir, lab.script("ranks.py", modes=SYSTEM)).finish()
    assert_clean_audits(run.events)
    trained = run.of("training_finished")
    assert len(trained) == 2 and all(e["samples"] == 240 * 6 * (i + 1) for i, e in enumerate(trained)), trained
    assert all(e["metrics"]["rank"] == 0 for e in trained), trained
    assert run.of("evaluation"), "one process has used the model"
    lab.remove()


def test_a_batch_with_holes_tells_each_rank_what_all_were_handed():
    """The program adds up what the ranks were handed, and compares: see ranks.py."""
    lab = lab_of_ranks(pipeline=WITH_RANKS.replace("    - {{op: normalize_text}}", "    - {{op: filter, min: 60}}\n    - {{op: normalize_text}}"))
    run = Run(lab.pipeline, lab.data_dir, lab.script("ranks.py", modes=SYSTEM)).finish()
    audits = [e["audit"] for e in run.of("training_finished")]
    assert all(audit["filtered"] > 100 and audit["delivered"] > 1000 for audit in audits), audits
    lab.remove()


def refusal(lab, training, system=None):
    path = lab.folder / "refused.yaml"
    path.write_text(re.sub(r"training: .*", f"training: {training}", lab.pipeline.read_text()))
    done = lab.ask("config", "check", str(path), *(["--with", str(system)] if system else []))
    assert done.returncode == 2, (training, done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_what_cannot_be_done_is_refused_by_line():
    lab = lab_of_ranks()
    system = lab.script("ranks.py", modes=SYSTEM)
    with served(lab):
        said = refusal(lab, "{program: loop, ranks: 5}", system)
        assert re.search(r"refused.yaml:\d+:\d+: training.ranks: found 5, program 'loop' trains in at most 4: ", said), said
        assert "programs.loop.ranks" in said, said
        said = refusal(lab, "{model: text_bag, ranks: 2}")
        assert re.search(r"refused.yaml:\d+:\d+: training.ranks: expected 1 with a built-in model, found 2: ", said), said
        said = refusal(lab, "{program: loop, ranks: 2, gpus: 3}", system)
        assert re.search(r"refused.yaml:\d+:\d+: training.gpus: expected a multiple of training.ranks, 2, found 3", said), said
        said = refusal(lab, "{program: loop, ranks: 65}", system)
        assert re.search(r"refused.yaml:\d+:\d+: training.ranks: expected an integer >= 1 and <= 64, found '65'", said), said
        assert "processes" in lab.weir("config", "explain", "training.ranks")
    lab.remove()


def test_each_rank_sees_gpus_of_its_own():
    text = re.sub(r"evaluation: .*\n", "", WITH_RANKS.replace(f"ranks: {RANKS},", "ranks: 2, gpus: 4,"))
    lab = lab_of_ranks(pipeline=text, samples=300)
    system = lab.script("ranks_gpus.py", modes=SYSTEM)
    system.write_text(system.read_text() + "gpus: 5\n")
    run = Run(lab.pipeline, lab.data_dir, system).finish()
    assert_clean_audits(run.events)
    found = set(re.findall(r"rank (\d) sees (\S+) as (\d)", said(run)))
    assert found == {("0", "0,1", "0"), ("1", "2,3", "0")}, found
    lab.remove()


def test_a_rank_that_fails_is_named_and_the_others_are_ended():
    lab = lab_of_ranks(pipeline=WITH_RANKS.replace("seed: 1}}", "seed: 1, retries: 1}}"))
    run = Run(lab.pipeline, lab.data_dir, lab.script("ranks_fail.py", modes=SYSTEM)).finish(expect=1)
    text = "".join(str(e) for e in run.of("error")) + "".join(run.stderr)
    assert "trainer failed 2 times, the last time: rank 1 of 3: " in text and "no numbers today" in text, text
    lab.remove()


def test_kills_of_ranks_dispatcher_and_orchestrator_change_nothing(seed=1, kills=KILLS):
    lab = lab_of_ranks(pipeline=IN_CLASSES.replace("seed: 1}}", "seed: 1, digests: true}}"))
    system = lab.script("ranks.py", modes=SYSTEM)
    expected = outcome(Run(lab.pipeline, lab.folder / "undisturbed", system).finish().events)
    assert all("batches" in of for of in expected.values()), expected
    draw = random.Random(seed)
    everybody = [str(rank) for rank in range(RANKS)] * 2 + ["dispatcher", "orchestrator"]
    hits, rounds = [], 0
    while len(hits) < kills:
        rounds += 1
        struck, events = stormy_run(lab, system, lab.folder / f"storm-{rounds}", everybody, draw, kills - len(hits))
        assert outcome(events) == expected, f"seed {seed}, round {rounds}, kills {struck}: {outcome(events)}\nexpected {expected}"
        assert_clean_audits(events)
        lists = {path.name: path.read_text() for path in (lab.folder / f"storm-{rounds}/digests").iterdir()}
        assert all(len(set(lists[f"{e['run']}-{rank}"] for rank in range(RANKS))) == RANKS
                   for e in events if e["event"] == "training_finished"), lists.keys()
        hits += struck
    print(f"seed {seed}: {len(hits)} kills in {rounds} runs ({', '.join(hits)}): same batches and models, audit 0/0", flush=True)
    lab.remove()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        test_kills_of_ranks_dispatcher_and_orchestrator_change_nothing(int(sys.argv[1]), int(sys.argv[2]))
    else:
        run_tests(globals())

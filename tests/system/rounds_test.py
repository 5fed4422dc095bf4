"""A set that is chosen anew every so many epochs of one training, by the model as it is by then: the same sets and the same model
whoever dies after whichever round, and whatever a round has seen is found, and goes, when it is erased."""

import json
import math
import os
import struct
import subprocess

from weirlab import PIPELINE, Lab, assert_clean_audits, outcome, read_scores, read_set, served, with_trainer

BY_LOSS = ("{{policy: coreset, presample: {{policy: random, ratio: 0.8}}, tail_triggers: all, seed: 7, limit: 60,"
           " score: {{method: loss, period: 2}}}}")
ROUNDS = PIPELINE.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", BY_LOSS)
ROUNDS = ROUNDS.replace(PIPELINE[PIPELINE.index("evaluation:"):PIPELINE.index("deletion:")], "evaluation: []\nmodels: {{storage: delta}}\n")
assert "period: 2" in ROUNDS and "evaluation: []" in ROUNDS
SIZES = {"samples": 300, "every": 150, "epochs": 6, "pipeline": ROUNDS}
SCORERS = [None, "lab-1-r1", "lab-1-r2", "lab-1", "lab-2-r1", "lab-2-r2"]
ONE_BY_ONE = """\
#!/bin/sh
case "$*" in *--run*)
    until [ -e {folder}/free ] || rm {folder}/go 2>/dev/null; do sleep 0.02; done ;;
esac
exec {real} "$@"
"""


def weights(path):
    """core/wire/sample_set.h: of each id."""
    ids, data = read_set(path), path.read_bytes()
    return dict(zip(ids, struct.unpack_from(f"<{len(ids)}f", data, 64 + 8 * len(ids))))


def sets(lab, events):
    return [lab.data_dir / "sets" / f"{e['digest']}.set" for e in events if e["event"] == "selection_sealed"]


def model(lab, name):
    return json.loads(lab.weir("models", "show", name, "--json"))


def by_round(events):
    """What must not depend on crashes, of each round."""
    return {(e["trigger"], e["round"]): (e["digest"], e.get("scored_by")) for e in events if e["event"] == "selection_sealed"}


def assert_weighed_by(losses, drawn):
    """By the chance to arrive before the race was closed (core/base/race.h), which one weight gives away for all."""
    share, most = len(drawn) / len(losses), math.sqrt(len(losses))
    first = max((i for i in drawn if drawn[i] < 0.99 * most), key=drawn.get)
    closing = -math.log1p(-share / drawn[first]) / losses[first]
    expected = {i: min(share / -math.expm1(-losses[i] * closing), most) for i in drawn}
    assert all(math.isclose(drawn[i], expected[i], rel_tol=1e-4) for i in drawn), "not by these losses"


def assert_chosen_by_the_round_before(lab, run):
    """A sample is drawn in proportion to its loss, and weighs as much less: of the scorer's losses, and no other model's."""
    sealed = run.of("selection_sealed")
    assert [e.get("scored_by") for e in sealed] == SCORERS, sealed
    assert [(e["round"], e["epochs"]) for e in sealed] == 2 * [(1, 2), (2, 2), (3, 2)], sealed
    assert [(e["trigger"], e["round"], e["audit"]["set"]) for e in run.of("training_finished")] == [
        (trigger, number, 120) for trigger in (1, 2) for number in (1, 2, 3)]
    files = sorted((lab.data_dir / "scores").glob("*.scores"), key=lambda path: path.stat().st_mtime_ns)
    said = [{i: loss for i, (_, loss) in read_scores(path)[1].items()} for path in files]
    assert [len(losses) for losses in said] == [120, 120, 240, 240, 240]
    for losses, drawn in zip(said, map(weights, sets(lab, run.events)[1:])):
        assert_weighed_by(losses, drawn)
    assert len({e["digest"] for e in sealed}) == len(sealed), "a round was chosen as another"


def assert_kept(lab):
    """Lineage and cost are all rounds', files are the last one's; what they are a difference from stays, too."""
    assert [model(lab, name)["parent"] for name in ("lab-2", "lab-2-r2", "lab-2-r1")] == ["lab-2-r2", "lab-2-r1", "lab-1"]
    assert {model(lab, f"lab-{n}-r{r}")["state"] for n in (1, 2) for r in (1, 2)} == {"dropped"}
    assert sorted(path.name for path in (lab.data_dir / "models").iterdir()) == ["lab-1.weirmodel", "lab-2.weirdelta"]
    spent = [model(lab, name)["cost"]["bytes_read"] for name in ("lab-2", "lab-2-r2", "lab-2-r1")]
    assert spent[0] > spent[1] + spent[2] > 0, spent


def rounds_of_all_samples_make_the_model_of_one_training():
    """Of sets that hold everything, in the order of their ids: weights, optimizer and schedule go on, to the last bit."""
    text = ROUNDS[:ROUNDS.index("selection:")] + "selection: {{policy: coreset, score: {{method: loss, period: 2}}}}\n" + ROUNDS[ROUNDS.index("preprocess:"):]
    text = text.replace("shuffle: full", "shuffle: none").replace("name: adagrad, lr: 0.1}}", "name: adam, lr: 0.1}}, schedule: {{name: cosine, warmup: 10}}")
    lab = Lab(**{**SIZES, "samples": 150, "pipeline": text})
    in_rounds = lab.run().finish()
    lab.pipeline.write_text(lab.pipeline.read_text().replace("name: lab,", "name: whole,").replace(", period: 2", ""))
    whole = lab.run().finish()
    assert [len(run.of("training_finished")) for run in (in_rounds, whole)] == [3, 1]
    assert outcome(in_rounds.events) == outcome(whole.events), (in_rounds.events, whole.events)
    lab.remove()


def erased(lab, run):
    """Whom the first round alone has seen: all rounds are trained again on the same sets."""
    first, *later = [set(read_set(path)) for path in sets(lab, run.events)]
    (gone, *_) = sorted(first - set().union(*later))
    before = {name: model(lab, name) for name in ("lab-1-r1", "lab-1-r2", "lab-1", "lab-2")}
    answer = json.loads(lab.weir("erase", "request", "--id", str(gone), "--wait", "--json"))
    receipt = json.loads((lab.data_dir / "receipts" / f"{answer['erasure']}.json").read_text())
    assert {m["model"]: m["replacement"] for m in receipt["models"]} == {
        name: f"{name}-e1" for name in ("lab-1-r1", "lab-1-r2", "lab-1", "lab-2-r1", "lab-2-r2", "lab-2")}, receipt["models"]
    for name, was in before.items():
        now = model(lab, f"{name}-e1")
        assert now["set_digest"] == was["set_digest"] and now["checksum"] != was["checksum"], (was, now)
        assert now["state"] == ("dropped" if "-r" in name else "stored"), now
    assert model(lab, "lab-2-e1")["parent"] == "lab-2-r2-e1" and model(lab, "lab-2-r1-e1")["parent"] == "lab-1-e1"
    assert sorted(path.name for path in (lab.data_dir / "models").iterdir()) == ["lab-1-e1.weirmodel", "lab-2-e1.weirdelta"]
    lab.weir("erase", "verify", str(answer["erasure"]))
    lab.weir("doctor")


def stopped_between_rounds(expected):
    """The model of a round that is over goes when somebody it has seen is erased; the trigger goes on with its first round again, on
    the set that it had."""
    lab, real = Lab(**{**SIZES, "samples": 150, "pipeline": ROUNDS.replace("training: {{", "training: {{keep_warm: 0s, ")}), os.environ["WEIR_BIN_DIR"]
    folder = with_trainer(lab, ONE_BY_ONE)
    with served(lab):
        lab.weir("submit", str(lab.pipeline))
        watcher = lab.begin("watch", "lab", "--json", stdout=subprocess.PIPE)
        for event in ("training_finished", "scoring_finished"):
            (folder / "go").touch()
            next(line for line in watcher.stdout if json.loads(line)["event"] == event)
        lab.weir("stop", "lab")  # the next trainer waits
        watcher.communicate()
        assert model(lab, "lab-1-r1")["state"] == "round"
        first = lab.data_dir / "sets" / f"{expected[1, 1][0]}.set"
        answer = json.loads(lab.weir("erase", "request", "--id", str(read_set(first)[0]), "--wait", "--json"))
        assert model(lab, "lab-1-r1")["state"] == "retired"
        assert not list((lab.data_dir / "models").iterdir()), "its file is still there"
        (folder / "free").touch()
        lab.weir("resume", "lab")
        lab.weir("watch", "lab")
        assert model(lab, "lab-1-r1.2")["set_digest"] == first.stem
        assert [model(lab, name)["parent"] for name in ("lab-1", "lab-1-r2", "lab-1-r1.2")] == ["lab-1-r2", "lab-1-r1.2", None]
        told = [json.loads(line) for line in lab.weir("logs", "lab", "--json").splitlines()]
        assert_clean_audits(told)
        assert [e["audit"]["erased"] for e in told if e["event"] == "training_finished"][:2] == [0, 2], told
        lab.weir("erase", "verify", str(answer["erasure"]))
    os.environ["WEIR_BIN_DIR"] = real
    lab.remove()


def main():
    lab = Lab(**SIZES)
    run = lab.run().finish()
    assert_clean_audits(run.events)
    assert_chosen_by_the_round_before(lab, run)
    for faults in ("pipeline.edged.ROUND_TRAINED=!2,pipeline.edge.RENEWED=!2", "pipeline.edged.RENEWED=!2,pipeline.edged.SEALED=!3"):
        other = Lab(**SIZES)
        again, deaths = other.run_through_deaths(faults)
        assert deaths > 1 and outcome(again.events) == outcome(run.events), (faults, deaths)
        assert by_round(again.events) == by_round(run.events), by_round(again.events)
        print(f"{faults}: {deaths} deaths")
        other.remove()
    with served(lab):
        assert_kept(lab)
        erased(lab, run)
    lab.remove()
    stopped_between_rounds(by_round(run.events))
    rounds_of_all_samples_make_the_model_of_one_training()


main()

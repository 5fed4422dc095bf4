"""Shares that follow what training reports: the same sets whoever is killed meanwhile, recomputed here from the scores that
were kept, told by the command line, and forgotten with a person who is erased."""

import json
import math

from weirlab import PIPELINE, Lab, TrainerHunt, assert_clean_audits, outcome, read_scores, read_set, served

BY_LOSS = ("{{policy: mixture, over: labels, shares: {{work: 1, spam: 1}}, change: loss, rate: 3, smoothing: 0.1,"
           " tail_triggers: all, limit: 60, seed: 7}}")
MIXED = PIPELINE.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", BY_LOSS)
MIXED = MIXED.replace(PIPELINE[PIPELINE.index("evaluation:"):PIPELINE.index("deletion:")], "evaluation: []\n")
MIXED = MIXED.replace("seed: 1, start", "seed: 1, report_losses: true, start")
MIXED = MIXED.replace("every: 10ms", "every: 1ms")
assert "every: 1ms" in MIXED and "change: loss" in MIXED and "report_losses" in MIXED and "evaluation: []" in MIXED


def set_ids(lab, event):
    return read_set(lab.data_dir / "sets" / f"{event['digest']}.set")


def reported(lab):
    """The label and loss of each sample, by the samples that were reported together."""
    found = {}
    for path in (lab.data_dir / "scores").glob("*.scores"):
        width, said = read_scores(path)
        assert width == 2
        found[tuple(said)] = list(said.values())
    return found


def steered(shares, losses):
    """The rule of selector/policies/steering.h, in other words."""
    means = [sum(x for label, x in losses if label == c) / sum(label == c for label, _ in losses) for c in (0, 1)]
    grown = [share * math.exp(3 * mean) for share, mean in zip(shares, means)]
    return [0.9 * share / sum(grown) + 0.1 / 2 for share in grown]


def assert_follows(lab, run):
    """Every set has the shares that follow from what the training before it reported, of all its samples."""
    sealed, known, shares = run.of("selection_sealed"), reported(lab), [0.5, 0.5]
    assert "scored_by" not in sealed[0], sealed[0]
    assert [e["scored_by"] for e in sealed[1:]] == [f"lab-{e['trigger'] - 1}" for e in sealed[1:]], sealed
    labels = [record["label"] for record in lab.records]
    for before, event in zip(sealed, sealed[1:]):
        shares = steered(shares, known[set_ids(lab, before)])
        spam = sum(labels[i & 0xFFFF] == "spam" for i in set_ids(lab, event))
        assert abs(spam - 60 * shares[1]) < 1, (event, spam, shares)
    assert abs(shares[0] - 0.5) > 0.01, "the losses moved nothing"
    return shares


def disturbed(lab, expected):
    """Trainers die when they have reported something, unless they are quicker, and the selector at every event: while it is told, while it chooses."""
    run = lab.run()
    hunt = TrainerHunt(run, [e["run"] for e in expected.of("training_finished")], behind="reported")
    seen = selectors = 0
    while run.wait_for(seen + 1):
        seen += 1
        selectors += run.kill("selector")
    trainers = hunt.end()
    run.finish()
    assert trainers and selectors > 0, (trainers, selectors)
    print(f"killed: {len(trainers)} trainers, {selectors} selectors")
    return run


def assert_told(lab, shares):
    sets = {s["trigger"]: s["shares"] for s in json.loads(lab.weir("sets", "--json"))["sets"]}
    assert sets[1] == "work 0.5000 (as declared: no losses of it yet), spam 0.5000 (as declared: no losses of it yet)", sets
    assert f"spam {shares[1]:.4f} (mean loss " in sets[3] and "in training lab-2)" in sets[3], sets
    assert f"shares of lab, trigger 3: {sets[3]}" in lab.weir("sets")
    preview = json.loads(lab.weir("select", "lab", "--dry-run", "--json"))
    told = {g["group"]: g for g in preview["groups"] if g["by"] == "component"}
    assert preview["scored_by"] == "lab-3" and "in training lab-3" in told["spam"]["why"], preview
    assert sum(g["samples"] for g in told.values()) == preview["samples"] == 60, preview
    assert "lab-2" in lab.weir("models", "show", "lab-3")


def assert_forgotten(lab, run):
    person = lab.records[set_ids(lab, run.of("selection_sealed")[0])[0] & 0xFFFF]["user"]
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    receipt = json.loads((lab.data_dir / "receipts" / f"{answer['erasure']}.json").read_text())
    assert receipt["scores_removed"] > 0, receipt
    assert not set(receipt["ids"]) & {i for ids in reported(lab) for i in ids}, "what was reported of them is still there"


def main():
    lab = Lab(samples=360, every=120, epochs=2, pipeline=MIXED)
    expected = lab.run(lab.folder / "undisturbed").finish()
    assert_clean_audits(expected.events)
    run = disturbed(lab, expected)
    assert_clean_audits(run.events)
    assert outcome(run.events) == outcome(expected.events), (outcome(run.events), outcome(expected.events))
    shares = assert_follows(lab, run)
    with served(lab):
        assert_told(lab, shares)
        assert_forgotten(lab, run)
    print(f"spam has {shares[1]:.3f} of the last set")
    lab.remove()


main()

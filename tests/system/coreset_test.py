"""A set that a model's scores decide: the same set whoever is killed meanwhile, scores that another pipeline uses again, and
an erasure that takes the scores along."""

import json
import struct

from weirlab import PIPELINE, Lab, Run, TrainerHunt, assert_clean_audits, faulty, outcome, read_scores, served, starts

BY_LOSS_THEN_CENTERS = (
    "{{policy: coreset, presample: {{policy: random, ratio: 0.8}}, tail_triggers: all, seed: 7, limit: 60,"
    " score: [{{method: loss}}, {{method: k_center, balance: true, from_trigger: 3}}]}}")
SCORED = PIPELINE.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", BY_LOSS_THEN_CENTERS)
SCORED = SCORED.replace(PIPELINE[PIPELINE.index("evaluation:"):PIPELINE.index("deletion:")], "evaluation: []\n")
assert "evaluation: []" in SCORED and "coreset" in SCORED


def scored_ids(lab):
    return {i for path in (lab.data_dir / "scores").glob("*.scores") for i in read_scores(path)[1]}


def disturbed(lab, expected):
    """The selector dies whenever it has been told of scores before, and when it happens to be met once a scoring run is done; their
    trainers die once, unless they are quicker."""
    with faulty("selector.scores=!2"):
        run = lab.run()
    hunt = TrainerHunt(run, [e["run"] for e in expected.of("scoring_finished")])
    seen = 0
    while run.wait_for(seen + 1):
        seen += 1
        if run.events[seen - 1]["event"] == "scoring_finished":
            run.kill("selector")
    killed = hunt.end()
    run.finish()
    selectors = starts(lab.data_dir, "selector")
    assert killed and selectors >= len(expected.of("scoring_finished")) > 1, (killed, selectors)
    print(f"killed: {len(killed)} scoring trainers, {selectors - 1} selectors")
    return run


def assert_scored(run):
    first, *later = run.of("selection_sealed")
    assert "scored_by" not in first, "there was no model to score with"
    assert [e["scored_by"] for e in later] == [f"lab-{e['trigger'] - 1}" for e in later], later
    assert all(e["samples"] == 60 for e in (first, *later)), run.of("selection_sealed")
    assert [e["mode"] for e in run.of("scoring_finished")] == ["score"] + ["embed"] * (len(later) - 1)


def used_again(lab):
    """Another pipeline on the same stream, with other seeds of training: nothing is scored a second time."""
    other = lab.folder / "other.yaml"
    text = lab.pipeline.read_text().replace("name: lab,", "name: other,").replace("seed: 1,", "seed: 5,")
    other.write_text(text.replace("limit: 60,", "limit: 60, scores: {from: lab},"))
    run = Run(other, lab.data_dir).finish()
    assert_clean_audits(run.events)
    by = [e.get("scored_by") for e in run.of("selection_sealed")]
    asked = sum(e["audit"]["set"] for e in run.of("scoring_finished"))
    paid = sum(e["audit"]["set"] for e in lab.events_before)
    assert all(model.startswith("lab-") for model in by[1:]), by
    assert asked < paid / 2, (asked, paid)
    print(f"another pipeline had {asked} samples scored instead of {paid}")


def erased(lab, digest):
    """Somebody whom the first model has seen."""
    data = (lab.data_dir / "sets" / f"{digest}.set").read_bytes()
    (first,) = struct.unpack_from("<Q", data, 64)
    person = lab.records[first & 0xFFFF]["user"]
    before = scored_ids(lab)
    files = {path: path.read_bytes() for path in (lab.data_dir / "scores").iterdir()}
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    receipt = json.loads((lab.data_dir / "receipts" / f"{answer['erasure']}.json").read_text())
    gone = set(receipt["ids"])
    assert gone & before and receipt["scores_removed"] >= len(gone & before), receipt
    assert not gone & scored_ids(lab), "scores of an erased sample are still there"
    through = {m["model"]: m["through"] for m in receipt["influenced"]}
    assert through.get("lab-2-e1") == "lab-1", "made again on a set that a tainted model had scored"
    verified(lab, answer["erasure"], files)
    print(f"erased {len(gone)} samples: {receipt['scores_removed']} scores gone, influenced: {sorted(through)}")


def verified(lab, erasure, before):
    """That nothing is left is asked again whenever somebody verifies: scores that come back from a backup are told."""
    assert "0 scores of its samples are kept" in lab.weir("erase", "verify", str(erasure))
    after = {path: path.read_bytes() for path in before}
    for path, content in before.items():
        path.write_bytes(content)
    told = json.loads(lab.weir("erase", "verify", str(erasure), "--json", expect=3))
    assert [f["check"] for f in told["findings"] if f["verdict"] == "wrong"] == ["scores"], told
    for path, content in after.items():
        path.write_bytes(content)
    lab.weir("erase", "verify", str(erasure))


BY_PARTS = ("{{policy: coreset, presample: {{policy: random, ratio: 0.9}}, tail_triggers: all, seed: 7, limit: 40,"
            " score: [{{method: rs2}}, {{method: rs2, with_replacement: true, from_trigger: 2}}]}}")
PARTED = SCORED.replace(BY_LOSS_THEN_CENTERS, BY_PARTS)


def read_parts(path):
    """core/wire/sample_set.h: the ids that each epoch trains on."""
    data = path.read_bytes()
    (count, _, parts), (samples,) = struct.unpack_from("<QII", data, 8), struct.unpack_from("<Q", data, 48)
    ids = struct.unpack_from(f"<{count}Q", data, 64)
    indices = struct.unpack(f"<{parts * samples}I", data[len(data) - 4 * parts * samples:])
    return set(ids), [[ids[i] for i in indices[n * samples:(n + 1) * samples]] for n in range(parts)]


def drawn_anew():
    """A method that draws for every epoch: each has its part, the audit is over the parts, whoever dies."""
    assert "rs2" in PARTED
    lab = Lab(samples=300, every=150, epochs=3, pipeline=PARTED)
    run, seen, killed = lab.run(), 0, 0
    hunt = TrainerHunt(run, [1, 3])  # trainings die once and return
    while run.wait_for(seen + 1):
        seen += 1
        if run.events[seen - 1]["event"] == "selection_sealed":
            killed += run.kill("worker-1") + run.kill("selector")
    run.finish()
    assert hunt.end(), "no trainer was met"
    assert_clean_audits(run.events)
    sealed = run.of("selection_sealed")
    assert [e["audit"]["set"] for e in run.of("training_finished")] == [120, 120], run.of("training_finished")
    divided = [read_parts(lab.data_dir / "sets" / f"{e['digest']}.set") for e in sealed]
    for event, (ids, parts) in zip(sealed, divided):
        assert [len(set(part)) for part in parts] == [40, 40, 40] and set().union(*parts) == ids
        assert len(ids) == event["samples"]
    assert len(divided[0][0]) == 120, "parts meet before all were there"
    assert len(divided[1][0]) < 120, "drawn with replacement, and none came again"
    with served(lab):
        assert_shown_by_epoch(lab)
        erased_from_parts(lab, divided, sealed)
    print(f"parts of 40 for each of 3 epochs, of {[len(ids) for ids, _ in divided]} samples, {killed} killed")
    lab.remove()


def assert_shown_by_epoch(lab):
    preview = json.loads(lab.weir("select", "lab", "--dry-run", "--json"))
    told = [(g["group"], g["samples"]) for g in preview["groups"] if g["by"] == "epoch"]
    assert told == [("1", 40), ("2", 40), ("3", 40)] and preview["samples"] <= 120, preview


def erased_from_parts(lab, divided, sealed):
    """The models are made again on the same sets: in the parts that held an erased sample it is a hole."""
    files = {e["digest"]: lab.data_dir / "sets" / f"{e['digest']}.set" for e in sealed}
    before = {digest: path.read_bytes() for digest, path in files.items()}
    person = lab.records[divided[0][1][0][0] & 0xFFFF]["user"]
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    receipt = json.loads((lab.data_dir / "receipts" / f"{answer['erasure']}.json").read_text())
    gone = set(receipt["ids"])
    assert gone & divided[0][0], receipt
    assert {digest: path.read_bytes() for digest, path in files.items()} == before, "a sealed set has changed"
    models = {m["model"]: m["state"] for m in json.loads(lab.weir("models", "list", "--json"))["models"]}
    assert models == {"lab-1": "replaced", "lab-1-e1": "stored", "lab-2": "replaced", "lab-2-e1": "stored"}, models
    lab.weir("erase", "verify", str(answer["erasure"]))
    print(f"erased {len(gone)} samples that parts held: {models}")


def main():
    drawn_anew()
    lab = Lab(samples=450, every=150, epochs=1, pipeline=SCORED)
    expected = lab.run(lab.folder / "undisturbed").finish()
    assert_clean_audits(expected.events)
    assert_scored(expected)
    run = disturbed(lab, expected)
    assert outcome(run.events) == outcome(expected.events), (outcome(run.events), outcome(expected.events))
    assert_scored(run)
    lab.events_before = run.of("scoring_finished")
    preview = json.loads(lab.weir("select", "lab", "--dry-run", "--json"))
    assert preview["scored_by"] == "lab-3" and preview["unscored"] == preview["samples"] > 0, preview
    used_again(lab)
    with served(lab):
        erased(lab, run.of("selection_sealed")[0]["digest"])
    lab.remove()


main()

"""Chosen by reducible loss: models learn from what is held out, by runs of their own, and have a say in the set. The same
sets whoever is killed at whichever hand-over; nothing held out is ever trained on; who had a say is known, and goes when
somebody it has seen is erased."""

import json

from weirlab import PIPELINE, Lab, TrainerHunt, assert_clean_audits, outcome, read_scores, read_set, served

LIMIT = 40
RHO_LOSS = ("{{policy: coreset, presample: {{policy: random, ratio: 0.8}}, tail_triggers: all, seed: 7, limit: 40,"
            " score: [{{method: rho_loss, share: 0.2}}, {{method: rho_loss, holdout: twin, from_trigger: 3}}]}}")
REDUCIBLE = PIPELINE.replace("{{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}", RHO_LOSS)
REDUCIBLE = REDUCIBLE.replace(PIPELINE[PIPELINE.index("evaluation:"):PIPELINE.index("deletion:")], "evaluation: []\nmodels: {{keep: {{last: 9}}}}\n")
assert "rho_loss" in REDUCIBLE and "evaluation: []" in REDUCIBLE
HOLDOUTS = {2: ["lab-2-h0.1"], 3: ["lab-3-h0.1", "lab-3-h1.1"]}


def set_ids(lab, digest):
    return read_set(lab.data_dir / "sets" / f"{digest}.set")


def losses_by_age(lab):
    """What was said of which samples, in the order it was said."""
    files = sorted((lab.data_dir / "scores").glob("*.scores"), key=lambda path: path.stat().st_mtime_ns)
    return [{i: loss for i, (_, loss) in read_scores(path)[1].items()} for path in files]


def model(lab, name):
    return json.loads(lab.weir("models", "show", name, "--json"))


def once(events, kind):
    """An orchestrator that starts again may tell again what it told."""
    return list({json.dumps(e, sort_keys=True): e for e in events if e["event"] == kind}.values())


def disturbed(lab, expected):
    """Every trainer dies when it is met, once. When a model of the holdout is there, orchestrator and selector die in turn; when
    something is scored, the selector."""
    kinds = ("holdout_finished", "scoring_finished", "training_finished")
    runs = {e["run"] for kind in kinds for e in expected.of(kind)}
    left = set(runs)
    events, met, orchestrators, selectors = [], [], 0, 0
    while True:
        run, seen, over = lab.run(), 0, False
        hunt = TrainerHunt(run, left)
        while not over and run.wait_for(seen + 1):
            event, seen = run.events[seen], seen + 1
            if event["event"] not in kinds[:2] or event["run"] in met:
                continue  # told again after a start
            met.append(event["run"])
            over = event["event"] == "holdout_finished" and orchestrators <= selectors
            if over:
                run.process.kill()
                orchestrators += 1
            else:
                selectors += run.kill("selector")
        left -= set(hunt.end())
        run.finish(expect=None)
        events += run.events
        if run.process.returncode == 0:
            break
    assert left < runs and orchestrators >= 2 and selectors >= 2, (left, orchestrators, selectors)
    print(f"killed: {len(runs - left)} trainers, {orchestrators} orchestrators, {selectors} selectors")
    return events


def assert_chosen(lab, events):
    sealed = {e["trigger"]: e for e in once(events, "selection_sealed")}
    assert "held_out_by" not in sealed[1] and "scored_by" not in sealed[1], sealed[1]
    for trigger, names in HOLDOUTS.items():
        assert sealed[trigger]["held_out_by"].split() == names and sealed[trigger]["scored_by"] == f"lab-{trigger - 1}"
    said = iter(losses_by_age(lab))
    newest, simple = next(said), next(said)
    assert newest.keys() == simple.keys()
    highest = sorted(newest, key=lambda i: (simple[i] - newest[i], i))[:LIMIT]
    assert set(set_ids(lab, sealed[2]["digest"])) == set(highest), "not the highest reducible losses"
    newest, twins = next(said), {}
    for losses in said:
        assert not twins.keys() & losses.keys(), "both twins speak of one sample"
        twins.update(losses)
    assert newest.keys() == twins.keys()
    highest = sorted(newest, key=lambda i: (twins[i] - newest[i], i))[:LIMIT]
    assert set(set_ids(lab, sealed[3]["digest"])) == set(highest), "not the highest reducible losses"
    return sealed


def assert_held_out(lab, sealed):
    trained = {i for e in sealed.values() for i in set_ids(lab, e["digest"])}
    simple, first, second = (set(set_ids(lab, model(lab, name)["set_digest"])) for name in sum(HOLDOUTS.values(), []))
    assert len(simple) > 20 and not simple & trained, "a sample that is held out was trained on"
    assert not first & second and not simple & (first | second) and first and second
    assert model(lab, "lab-3-h0.1")["state"] == "holdout" and not model(lab, "lab-3-h0.1")["active"]
    assert model(lab, "lab-2-h0.1")["state"] == "dropped", "a newer one of its half is there"
    assert not list((lab.data_dir / "models").glob("lab-2-h0.1*")), "its file is still there"
    assert model(lab, "lab-3")["held_out_by"].split() == HOLDOUTS[3] and model(lab, "lab-3")["parent"] == "lab-2"
    assert model(lab, "lab-3-h0.1")["parent"] == "lab-2-h0.1"
    preview = json.loads(lab.weir("select", "lab", "--dry-run", "--json"))
    assert preview["held_out"] == preview["unscored"] == preview["samples"] > LIMIT, preview
    return simple


def erased(lab, held):
    """Somebody of whom models of the holdout have seen most: they go and are not made again, and who listened to them is told."""
    people = {}
    for index, record in enumerate(lab.records):
        people.setdefault(record["user"], set()).add(index)
    rows = {i & 0xFFFF for i in held}
    person = max(people, key=lambda who: len(people[who] & rows))
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    receipt = json.loads((lab.data_dir / "receipts" / f"{answer['erasure']}.json").read_text())
    actions = {m["model"]: m["action"] for m in receipt["models"]}
    assert actions["lab-3-h0.1"] == "retire" and "lab-2-h0.1" not in actions, actions
    assert model(lab, "lab-3-h0.1")["state"] == "retired"
    assert not list((lab.data_dir / "models").glob("lab-3-h0.1*")), "its file is still there"
    assert all(name in actions or name in {m["model"] for m in receipt["influenced"]}
               for name in ("lab-2", "lab-3")), receipt
    lab.weir("erase", "verify", str(answer["erasure"]))
    print(f"erased {len(receipt['ids'])} samples: {actions}, influenced: {receipt['influenced']}")


def main():
    lab = Lab(samples=450, every=150, epochs=1, pipeline=REDUCIBLE)
    expected = lab.run(lab.folder / "undisturbed").finish()
    assert_clean_audits(expected.events)
    events = disturbed(lab, expected)
    assert_clean_audits(once(events, "training_finished") + once(events, "holdout_finished"))
    assert outcome(events) == outcome(expected.events), (outcome(events), outcome(expected.events))
    sealed = assert_chosen(lab, events)
    with served(lab):
        erased(lab, assert_held_out(lab, sealed))
    lab.remove()


main()

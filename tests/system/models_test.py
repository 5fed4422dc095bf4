"""Models as differences: the same models in less room, whoever is killed; dropped ones are trained again when an erasure
needs them; and no file of an erased past is left."""

import json

from weirlab import PIPELINE, Lab, assert_clean_audits, outcome

ALL = "models: {{storage: delta, full_every: 3, keep: all}}\n"
LAST = "models: {{storage: delta, full_every: 2, keep: {{last: 1}}}}\n"


def stored(lab):
    return json.loads(lab.weir("models", "list", "--json"))["models"]


def files(lab):
    return {path.name for path in (lab.data_dir / "models").iterdir()}


def in_chains(models, full_every):
    """Every model's file is whole, or the difference from the model it started from; never too many in a row."""
    by_id, length = {m["model"]: m for m in models}, {}
    for model in models:
        base = by_id.get(model["base"])
        length[model["model"]] = length[base["model"]] + 1 if base else 0
        assert not base or model["base"] == model["parent"], model
        assert model["file"].endswith(".weirdelta" if base else ".weirmodel"), model
        assert model["stored_bytes"] < model["bytes"] if base else model["stored_bytes"] == model["bytes"], model
    assert max(length.values()) == full_every - 1, length


def the_same_models_in_less_room():
    whole = Lab(samples=800, every=200, epochs=1)
    expected = whole.run().finish()
    lab = Lab(samples=800, every=200, epochs=1, pipeline=PIPELINE + ALL)
    run = lab.run()
    run.wait_for(9)  # the second or third model is there
    run.kill("orchestrator")
    again = lab.run()
    again.finish()
    assert outcome(again.events) == outcome(expected.events), "models that are stored otherwise learn otherwise"
    assert_clean_audits(again.events)
    in_chains(stored(lab), 3)
    lab.weir("doctor", "--deep")
    predictions = [json.loads(one.weir("predict", "--limit", "20", "--json"))["predictions"] for one in (whole, lab)]
    assert predictions[0] == predictions[1]
    whole.remove()
    return lab


def an_erasure_leaves_no_file_of_what_saw_a_sample(lab):
    newest = [str(p["id"]) for p in json.loads(lab.weir("predict", "--limit", "1000", "--json"))["predictions"]][-150:]
    before = files(lab)
    lab.weir("erase", "request", *(word for i in newest[:10] for word in ("--id", i)), "--wait")
    models = stored(lab)
    live = [m for m in models if m["state"] == "stored"]
    gone = [m for m in models if m["state"] == "replaced"]
    assert 0 < len(gone) < 4 and [m["trigger"] for m in live] == [1, 2, 3, 4], models
    assert files(lab) == {m["file"].split("/")[1] for m in live}, (before, files(lab))
    lab.weir("doctor", "--deep")
    lab.weir("erase", "verify", "--all")
    lab.remove()


def dropped_models_are_trained_again_when_an_erasure_needs_them():
    lab = Lab(samples=600, every=200, epochs=1, pipeline=PIPELINE + LAST)
    run = lab.run().finish()
    kept = [m for m in stored(lab) if m["state"] == "stored"]
    assert {m["state"] for m in stored(lab)} == {"stored", "dropped"}, stored(lab)
    assert kept[-1]["active"] and len(run.of("model_dropped")) == 3 - len(kept), kept
    assert files(lab) == {m["file"].split("/")[1] for m in kept}, files(lab)
    lab.weir("doctor", "--deep")

    person = lab.records[10]["user"]  # seen by the first model, long dropped
    answer = json.loads(lab.weir("erase", "request", "--subject", person, "--wait", "--json"))
    assert [m["trigger"] for m in answer["models"]] == [1, 2, 3], answer
    fresh = Lab(samples=600, every=200, epochs=1)
    fresh.run().finish()
    chain = json.loads(fresh.weir("erase", "request", "--subject", person, "--wait", "--json"))
    newest = [next(m["checksum"] for m in stored(one) if m["state"] == "stored" and m["trigger"] == 3)
              for one in (lab, fresh)]
    assert newest[0] == newest[1] and chain["samples"] == answer["samples"], "the same chain, dropped or not"
    lab.remove()
    fresh.remove()


def promoted_only_when_better():
    """A bar that every second model misses: which ones become active is decided by the measures alone."""
    promote = "promote: {{when: {{metric: roc_auc, not_worse_by: 0.0}}, else: keep_previous}}\n"
    weekly = PIPELINE.replace("every: 1 month, metrics", "every: 1w, metrics") + promote
    lab = Lab(samples=800, every=200, epochs=1, pipeline=weekly)
    run = lab.run()
    run.wait_for(12)
    run.kill("orchestrator")
    run = lab.run().finish()
    values = {}
    for e in run.of("evaluation"):
        if e["metric"] == "roc_auc":
            values.setdefault(e["model"], {})[e["interval"]["from"]] = e["value"]
    decisions = [e for e in run.events if e["event"] in ("model_promoted", "model_kept_back")]
    assert [e["model"] for e in decisions] == [f"lab-{n}" for n in (1, 2, 3, 4)], decisions
    active = "lab-1"
    for e in decisions[1:]:
        assert e["previous" if e["event"] == "model_promoted" else "active"] == active, e
        if e["reason"] == "never measured":  # the stream ends with it
            assert e["model"] == "lab-4" and e["model"] not in values, e
            continue
        where = min(values[e["model"]])  # the week behind its newest sample
        mine, other = values[e["model"]][where], values[active][where]
        better = "undefined" not in (mine, other) and mine >= other
        assert (e["event"] == "model_promoted") == better, (e, mine, other)
        active = e["model"] if better else active
    assert [m["model"] for m in stored(lab) if m["active"]] == [active] == [run.of("pipeline_finished")[0]["active_model"]]

    back = "lab-1" if active != "lab-1" else "lab-4"
    assert json.loads(lab.weir("models", "promote", back, "--json")) == {"model": back, "previous": active}
    assert json.loads(lab.weir("predict", "--limit", "1", "--json"))["model"] == back
    lab.weir("models", "promote", "lab-4")
    earlier = json.loads(lab.weir("models", "rollback", "--json"))
    assert earlier["previous"] == "lab-4" and earlier["model"] < "lab-4", earlier
    lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--wait")
    (now,) = [m["model"] for m in stored(lab) if m["active"]]
    assert now == f"{earlier['model']}-e1", "what replaces the active model is the active one"
    lab.weir("models", "promote", "nobody", expect=1)
    lab.remove()


def main():
    promoted_only_when_better()
    an_erasure_leaves_no_file_of_what_saw_a_sample(the_same_models_in_less_room())
    dropped_models_are_trained_again_when_an_erasure_needs_them()


main()

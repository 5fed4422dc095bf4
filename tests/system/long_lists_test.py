"""What is listed may be longer than a message: it is asked for in pages, or the newest of it is shown; nothing is refused."""

import json

from weirlab import Lab, query, run_tests, served

MODELS = 40000
ROWS = 60000
PIPELINES = 300
TRIGGERS = 100  # of each
REASON_BYTES = 2000


def answer(lab, *words):
    return json.loads(lab.weir(*words, "--json"))


def add_models(lab, count):
    """Copies of the newest one, whose files are gone."""
    query(lab, f"""INSERT INTO orchestrator.model SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'copy-' || n, 'state', 'dropped',
        'trigger', n, 'created_us', m.created_us + n))).* FROM generate_series(1, {count}) n CROSS JOIN orchestrator.model m WHERE m.id =
        (SELECT id FROM orchestrator.model WHERE state = 'stored' ORDER BY trigger DESC LIMIT 1)""")


def add_pipelines(lab, count):
    """Copies of the only one, each with triggers of its own; whoever serves next has read them."""
    columns = query(lab, """SELECT column_name FROM information_schema.columns WHERE table_schema = 'orchestrator'
        AND table_name = 'pipeline' AND column_name NOT IN ('id', 'name', 'config', 'active_model')""")
    copied = ", ".join(columns)
    query(lab, f"""INSERT INTO orchestrator.pipeline (name, config, {copied}) SELECT 'lab' || n,
        convert_to(replace(convert_from(config, 'UTF8'), 'name: lab', 'name: lab' || n), 'UTF8'), {copied}
        FROM orchestrator.pipeline CROSS JOIN generate_series(1, {count}) n WHERE name = 'lab'""")
    query(lab, f"""INSERT INTO orchestrator.trigger (pipeline, number, state, reason, samples_new, until_time, until_id,
        positions, fired_us) SELECT p.id, n, 'skipped', repeat('x', {REASON_BYTES}), 1, n, 0, '', n
        FROM orchestrator.pipeline p CROSS JOIN generate_series(1, {TRIGGERS}) n WHERE p.name <> 'lab'""")


def add_measures(lab, names):
    """So many of each interval that a stored model was measured on."""
    query(lab, f"""INSERT INTO orchestrator.evaluation (pipeline, model, name, from_time, to_time, metric, value, samples, set_digest)
        SELECT e.pipeline, e.model, e.name, e.from_time, e.to_time, e.metric || repeat('m', 200) || n, 0.5, 1, '' FROM
        orchestrator.evaluation e CROSS JOIN generate_series(1, {names}) n""")


def test_measures_beyond_a_message_are_left_out(lab):
    before = answer(lab, "evaluate", "lab")
    rows = int(query(lab, "SELECT count(*) FROM orchestrator.evaluation")[0])
    assert "left_out" not in before, before
    add_measures(lab, ROWS // rows + 1)
    measured = answer(lab, "evaluate", "lab")
    all_rows = int(query(lab, "SELECT count(*) FROM orchestrator.evaluation")[0])
    assert measured["left_out"] > 0 and len(measured["evaluations"]) + measured["left_out"] == all_rows, all_rows
    assert f"{measured['left_out']} more are not shown" in lab.weir("evaluate", "lab")


def test_models_are_listed_in_pages(lab):
    before = answer(lab, "models", "list")["models"]
    add_models(lab, MODELS)
    for words in ((), ("--pipeline", "lab")):
        listed = answer(lab, "models", "list", *words)
        models = listed["models"]
        assert "before" not in listed and len(models) == len(before) + MODELS, len(models)
        assert [m for m in models if not m["model"].startswith("copy-")] == before
        order = [(m["trigger"], m["created"]) for m in models]
        assert order == sorted(order) and len({m["model"] for m in models}) == len(models)


def test_many_pipelines_stand_in_one_status(lab):
    with served(lab):
        add_pipelines(lab, PIPELINES)
    with served(lab):
        pipelines = answer(lab, "status")["pipelines"]
        assert {p["pipeline"] for p in pipelines} == {"lab"} | {f"lab{n}" for n in range(1, PIPELINES + 1)}
        fired = [[f["trigger"] for f in p["fired"]] for p in pipelines if p["pipeline"] != "lab"]
        assert all(f and f == list(range(TRIGGERS - len(f) + 1, TRIGGERS + 1)) for f in fired), fired


def main():
    lab = Lab(samples=900, epochs=1)
    lab.run().finish()
    with served(lab):
        run_tests(globals(), lab, wanted=["test_models_are_listed_in_pages"])
        run_tests(globals(), lab, wanted=["test_measures_beyond_a_message_are_left_out"])
    run_tests(globals(), lab, wanted=["test_many_pipelines_stand_in_one_status"])
    lab.remove()


main()

"""What is listed may be longer than a message: it is asked for in pages, or the newest of it is shown; nothing is refused."""

import json
from datetime import datetime

from weirlab import Lab, query, read_set, run_tests, served

MODELS = 40000
ROWS = 60000
PIPELINES = 300
TRIGGERS = 100  # of each
REASON_BYTES = 2000
EXPORTS, FOLDER_BYTES = 6000, 4000
KEYS = 80000
COMPARISONS, FILE_BYTES = 4000, 5000
ANCESTORS = 2000
SEEING, NAME_BYTES = 15000, 1200  # models of one sample, and of their names
COPIES = 1200  # more than two pages of models that doctor looks at

GRID = """comparison: NAME
base: base.yaml
axes: {training: {more: {epochs: 5}, less: {epochs: 2}}}
judge: {evaluation: next, metric: accuracy}
"""
BASE = """pipeline: {name: base, mode: replay}
datasets: [{name: d, source: {path: x, format: csv}, time: {from: mtime}}]
trigger: {policy: amount, samples: 10}
selection: {policy: new_data}
preprocess: {operators: [{op: csv_fields, fields: [a]}], batch: {samples: 16}}
training: {model: linear, loss: logistic, epochs: 2}
evaluation: [{name: next, strategy: slicing, every: 1d, metrics: [accuracy]}]
"""


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
        order = [(m["trigger"], datetime.fromisoformat(m["created"])) for m in models]  # texts leave out zeros at their end
        assert order == sorted(order) and len({m["model"] for m in models}) == len(models)


def test_many_pipelines_stand_in_one_status(lab):
    with served(lab):
        add_pipelines(lab, PIPELINES)
    with served(lab):
        pipelines = answer(lab, "status")["pipelines"]
        assert {p["pipeline"] for p in pipelines} == {"lab"} | {f"lab{n}" for n in range(1, PIPELINES + 1)}
        fired = [[f["trigger"] for f in p["fired"]] for p in pipelines if p["pipeline"] != "lab"]
        assert all(f and f == list(range(TRIGGERS - len(f) + 1, TRIGGERS + 1)) for f in fired), fired


def commits(lab):
    query(lab, "SELECT pg_stat_force_next_flush()")
    return int(query(lab, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")[0])


def test_lineage_is_one_statement(lab):
    newest = answer(lab, "models", "list")["models"][-1]["model"]
    query(lab, f"""INSERT INTO orchestrator.model SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'line-' || n, 'state',
        'dropped', 'parent', CASE n WHEN 1 THEN NULL ELSE 'line-' || (n - 1) END))).* FROM generate_series(1, {ANCESTORS}) n
        CROSS JOIN orchestrator.model m WHERE m.id = '{newest}'""")
    before = commits(lab)
    line = [one["model"] for one in answer(lab, "models", "lineage", f"line-{ANCESTORS}")["ancestors"]]
    assert line == [f"line-{n}" for n in range(ANCESTORS, 0, -1)], line[:3]
    assert commits(lab) - before < ANCESTORS / 4, (before, commits(lab))
    query(lab, "DELETE FROM orchestrator.model WHERE id LIKE 'line-%'")


def test_models_that_have_seen_a_sample_are_listed_in_pages(lab):
    newest = answer(lab, "models", "list")["models"][-1]
    sample = str(read_set(next(lab.data_dir.glob(f"sets/**/*{newest['set_digest']}*")))[0])
    before = answer(lab, "models", "lineage", "--id", sample)["models"]
    query(lab, f"""INSERT INTO orchestrator.model SELECT (jsonb_populate_record(m, jsonb_build_object('id',
        lpad(n::text, {NAME_BYTES}, 's'), 'created_us', m.created_us + n))).* FROM generate_series(1, {SEEING}) n
        CROSS JOIN orchestrator.model m WHERE m.id = '{newest["model"]}'""")
    for words in (("models", "lineage"), ("erase", "plan")):
        listed = answer(lab, *words, "--id", sample)
        assert "before" not in listed and listed["models"][: len(before)] == before, words
        assert [int(one["model"].lstrip("s")) for one in listed["models"][len(before) :]] == list(range(1, SEEING + 1)), words
    query(lab, f"DELETE FROM orchestrator.model WHERE length(id) = {NAME_BYTES}")


def assert_whole(model, measures):
    told = {json.dumps(one, sort_keys=True) for one in model["evaluations"]}
    assert "evaluations_left_out" not in model and len(told) == len(model["evaluations"]) == measures, (len(told), measures)


def test_measures_of_one_model_are_asked_for_in_pages(lab):
    model = query(lab, "SELECT model FROM orchestrator.evaluation LIMIT 1")[0]
    query(lab, f"""INSERT INTO orchestrator.evaluation (pipeline, model, name, from_time, to_time, metric, value, samples, set_digest)
        SELECT e.pipeline, e.model, e.name, e.from_time, e.to_time, repeat('z', 300) || n, 0.5, 1, '' FROM
        (SELECT * FROM orchestrator.evaluation WHERE model = '{model}' LIMIT 1) e CROSS JOIN generate_series(1, {ROWS}) n""")
    rows = int(query(lab, f"SELECT count(*) FROM orchestrator.evaluation WHERE model = '{model}'")[0])
    listed = {one["model"]: one for one in answer(lab, "models", "list")["models"]}
    for one in (answer(lab, "models", "show", model), listed[model]):
        assert_whole(one, rows)
    row = next(one for one in answer(lab, "report", "lab")["triggers"] if one.get("model") == model)
    assert_whole(row, rows)
    assert all(one.keys() == {"name", "from", "to", "metric", "value", "samples"} for one in row["evaluations"])
    query(lab, "DELETE FROM orchestrator.evaluation WHERE metric LIKE 'zzz%'")


def test_doctor_looks_at_all_models(lab):
    fine = {f["check"]: f["found"] for f in answer(lab, "doctor")["findings"]}["models"]
    query(lab, f"""INSERT INTO orchestrator.model SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'same-' || n))).*
        FROM generate_series(1, {COPIES}) n CROSS JOIN orchestrator.model m WHERE m.id =
        (SELECT id FROM orchestrator.model WHERE state = 'stored' ORDER BY trigger DESC LIMIT 1)""")
    found = {f["check"]: f["found"] for f in answer(lab, "doctor")["findings"]}["models"]
    assert int(found.split()[0]) == int(fine.split()[0]) + COPIES and found.split()[1:] == fine.split()[1:], (fine, found)
    query(lab, "UPDATE orchestrator.model SET checksum = repeat('0', 32) WHERE id IN ('same-1', 'same-999')")
    wrong = json.loads(lab.ask("doctor", "--json").stdout)
    assert wrong["wrong"] == 2, [f for f in wrong["findings"] if f["check"] == "models"]
    query(lab, "DELETE FROM orchestrator.model WHERE id LIKE 'same-%'")


def test_exports_are_listed_in_pages(lab):
    query(lab, f"""INSERT INTO orchestrator.export (pipeline, trigger, set_digest, directory, format, shard_bytes, created_us)
        SELECT t.pipeline, t.number, t.set_digest, '/' || repeat('d', {FOLDER_BYTES}) || n, 'files', 1, n
        FROM generate_series(1, {EXPORTS}) n CROSS JOIN (SELECT * FROM orchestrator.trigger ORDER BY number LIMIT 1) t""")
    listed = answer(lab, "exports")
    numbers = [one["export"] for one in listed["exports"]]
    assert len(numbers) == EXPORTS and numbers == sorted(numbers) and "before" not in listed, len(numbers)
    query(lab, "DELETE FROM orchestrator.export")


def test_keys_are_listed_in_pages(lab):
    query(lab, f"""INSERT INTO orchestrator.key (public_key, name, role, tenant, made_us)
        SELECT lpad(n::text, 40, '0'), 'key' || n, 'viewer', '', n FROM generate_series(1, {KEYS}) n""")
    query(lab, """INSERT INTO orchestrator.key (public_key, name, role, tenant, made_us, revoked_us)
        VALUES (repeat('r', 40), 'gone', 'viewer', '', 1, 2)""")
    for words in ((), ("--all",)):
        listed = answer(lab, "keys", "list", *words)
        names = [one["name"] for one in listed["keys"]]
        assert len(names) == KEYS + len(words) and len(set(names)) == len(names) and "before" not in listed, len(names)
        assert names[-1] == "gone" if words else "gone" not in names
    query(lab, "DELETE FROM orchestrator.key")


def test_comparisons_are_listed_in_pages(lab):
    with served(lab):
        grid, base = GRID.replace("'", "''"), BASE.replace("'", "''")
        query(lab, f"""INSERT INTO orchestrator.comparison (name, owner, file, grid, base_file, base, is_open, created_us)
            SELECT 'c' || n, '', repeat('f', {FILE_BYTES}), convert_to(replace('{grid}', 'NAME', 'c' || n), 'UTF8'), 'base.yaml',
            convert_to('{base}', 'UTF8'), false, n FROM generate_series(1, {COMPARISONS}) n""")
    with served(lab):
        names = [one["comparison"] for one in answer(lab, "comparisons")["comparisons"]]
        assert names == [f"c{n}" for n in range(COMPARISONS, 0, -1)], names[:3]
        query(lab, "DELETE FROM orchestrator.comparison")


def main():
    lab = Lab(samples=900, epochs=1)
    lab.run().finish()
    with served(lab):
        for name in ("doctor_looks_at_all_models", "lineage_is_one_statement",
                     "models_that_have_seen_a_sample_are_listed_in_pages", "exports_are_listed_in_pages",
                     "keys_are_listed_in_pages", "measures_of_one_model_are_asked_for_in_pages",
                     "models_are_listed_in_pages", "measures_beyond_a_message_are_left_out"):
            run_tests(globals(), lab, wanted=[f"test_{name}"])
    for name in ("comparisons_are_listed_in_pages", "many_pipelines_stand_in_one_status"):
        run_tests(globals(), lab, wanted=[f"test_{name}"])
    lab.remove()


main()

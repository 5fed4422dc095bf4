"""What is listed may be longer than a message: it is asked for in pages."""

import json

from weirlab import Lab, query, run_tests, served

MODELS = 40000


def answer(lab, *words):
    return json.loads(lab.weir(*words, "--json"))


def add_models(lab, count):
    """Copies of the newest one, whose files are gone."""
    query(lab, f"""INSERT INTO orchestrator.model SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'copy-' || n, 'state', 'dropped',
        'trigger', n, 'created_us', m.created_us + n))).* FROM generate_series(1, {count}) n CROSS JOIN orchestrator.model m WHERE m.id =
        (SELECT id FROM orchestrator.model WHERE state = 'stored' ORDER BY trigger DESC LIMIT 1)""")


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


def main():
    lab = Lab(samples=900, epochs=1)
    lab.run().finish()
    with served(lab):
        run_tests(globals(), lab)
    lab.remove()


main()

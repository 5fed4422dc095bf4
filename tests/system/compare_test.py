"""Grids of pipelines: run, judged, gone on with after kill -9, and extended by a cell."""

import json
import subprocess
from pathlib import Path

from weirlab import DEADLINE_S, Lab, await_that, faulty, serve, served, victims

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "config/grids/quickstart.yaml"
GUIDE = ROOT / "docs/guides/compare-policies.md"

GRID = """\
comparison: grid
base: lab.yaml
axes:
  trigger:
    once:  {{policy: time, every: 1 month, from: 2002-02-01, to: 2002-02-02}}
    often: {{policy: time, every: 1 month, from: 2002-02-01}}
  training:
    scratch: {{start_from: scratch}}
seeds: {seeds}
at_once: 2
judge: {{evaluation: next_month, metric: accuracy, from: 2002-03-01, choose_until: 2002-03-01}}
baseline: {{trigger: once, training: scratch}}
prices: {{cpu_hour: 1}}
"""


def write_grid(lab, seeds="[1]", name="grid"):
    path = lab.folder / f"{name}.yaml"
    path.write_text(GRID.format(seeds=seeds).replace("comparison: grid", f"comparison: {name}"))
    return str(path)


def compared(lab, *words, expect=0):
    return json.loads(lab.weir(*words, "--json", expect=expect))


def cells_of(answer):
    return {cell["cell"]: cell for cell in answer["cells"]}


def policies_of(answer):
    return {policy["policy"]: policy for policy in answer["policies"]}


def runs_of(lab):
    """Every trigger of every pipeline, which none of them has twice."""
    names = [p["pipeline"] for p in compared(lab, "list")["pipelines"]]
    return {name: compared(lab, "report", "--pipeline", name)["triggers"] for name in names}


def served_test_each_cell_is_a_pipeline_and_judged(lab):
    answer = compared(lab, "compare", write_grid(lab))
    cells, policies = cells_of(answer), policies_of(answer)
    assert answer["state"] == "done" and answer["progress"]["done"] == 2, answer["progress"]
    assert set(cells) == {"once-scratch-s1", "often-scratch-s1"} and cells["once-scratch-s1"]["triggers"] == 1, cells
    assert cells["often-scratch-s1"]["triggers"] > 1
    assert {p["pipeline"] for p in compared(lab, "list")["pipelines"]} == {cell["pipeline"] for cell in cells.values()}
    for cell in cells.values():
        judged = [w["value"] for w in cell["windows"] if w["from"] >= "2002-03-01"]
        assert abs(cell["quality"]["value"] - sum(judged) / len(judged)) < 1e-12, cell
        assert all(cell[key] for key in ("config_digest", "weir", "machine", "model_digest", "bytes", "samples")), cell
        assert abs(cell["money"] - cell["cpu_s"] / 3600) < 1e-9 and cell["cpu_s"] >= cell["reused"]["cpu_s"] > 0, cell
    assert {w["trigger"] for w in cells["once-scratch-s1"]["windows"]} == {1}
    assert policies["often-scratch"]["against"]["n"] == 1 and policies["once-scratch"]["against"] is None, policies
    assert answer["chosen"] in policies and any(p["pareto"] for p in policies.values()), answer


def served_test_a_cell_that_is_added_runs_alone(lab):
    before, ran = cells_of(compared(lab, "comparison", "grid")), runs_of(lab)
    answer = compared(lab, "compare", write_grid(lab, "[1, 2]"))
    assert answer["progress"]["done"] == 4 and len(answer["cells"]) == 4, answer["progress"]
    assert {name: cells_of(answer)[name] for name in before}.keys() == before.keys()
    for name, cell in before.items():
        assert {k: v for k, v in cell.items() if k not in ("cpu_s", "money")} == {
            k: v for k, v in cells_of(answer)[name].items() if k not in ("cpu_s", "money")}, name
    assert {name: triggers for name, triggers in runs_of(lab).items() if name in ran} == ran
    assert policies_of(answer)["often-scratch"]["against"]["n"] == 2


def served_test_cells_that_a_grid_leaves_out_are_counted_and_come_back(lab):
    before, ran = compared(lab, "comparison", "grid"), runs_of(lab)
    shorter = compared(lab, "compare", write_grid(lab, "[2]"))
    assert (shorter["progress"]["of"], shorter["left_out"], before["left_out"]) == (2, 2, 0), shorter
    assert "2 cells more are done" in lab.weir("comparison", "grid")
    assert compared(lab, "compare", write_grid(lab, "[1, 2]")) == before
    assert runs_of(lab) == ran


def served_test_another_base_is_refused(lab):
    text = lab.pipeline.read_text()
    lab.pipeline.write_text(text.replace("epochs: 1", "epochs: 2"))
    done = lab.ask("compare", write_grid(lab, "[1, 2]"))
    lab.pipeline.write_text(text)
    assert done.returncode == 2 and "another pipeline" in done.stderr and "another name" in done.stderr, done


def served_test_pages_show_the_policies(lab):
    page = lab.weir("comparison", "grid", "--cells")
    assert "once-scratch-s2" in page and "±" in page and "baseline" in page and "chosen by" in page, page
    assert "grid" in lab.weir("comparisons")
    shown = GUIDE.read_text().splitlines()
    for beginning, words in (("policy ", None), ("quality: ", 6), ("chosen by ", 5)):
        (guide,), (printed,) = ([line.split()[:words] for line in lines if line.startswith(beginning)] for lines in (shown, page.splitlines()))
        assert guide == printed, (guide, printed)


def served_test_results_outlive_the_pipelines(lab):
    before = cells_of(compared(lab, "comparison", "grid"))
    assert compared(lab, "comparison", "remove", "grid")["pipelines_removed"] == 4
    await_that(lambda: compared(lab, "list")["pipelines"] == [])
    assert cells_of(compared(lab, "comparison", "grid")) == before
    assert compared(lab, "compare", write_grid(lab, "[1, 2]"))["progress"]["done"] == 4
    assert compared(lab, "list")["pipelines"] == [], "a cell that is done ran again"


def test_what_is_wrong_is_said_with_its_place(lab):
    grid = write_grid(lab, name="wrong")
    good = (lab.folder / "wrong.yaml").read_text()
    for was, put, said in (
            ("every: 1 month, from: 2002-02-01}", "every: sometimes}", "wrong.yaml:6:"),
            ("metric: accuracy", "metric: acuracy", "wrong.yaml:11:"),
            ("start_from: scratch}", "start_from: scratch, epochs: none}", "wrong.yaml:8:14"),
            ("axes:", "axis:", "did you mean 'axes'"),
            ("choose_until: 2002-03-01", "choose_until: 2002-04-01", "earlier intervals"),
            ("{trigger: once, training", "{trigger: never, training", "wrong.yaml:12:")):
        (lab.folder / "wrong.yaml").write_text(good.replace(was, put))
        done = lab.ask("compare", "--check", grid)
        assert done.returncode == 2 and said in done.stdout + done.stderr, (put, done)
    (lab.folder / "wrong.yaml").write_text(good)
    assert lab.ask("compare", "--check", grid).returncode == 0
    for words in (["--check"], []):
        done = lab.ask("compare", *words, lab.pipeline)
        (line,) = (done.stdout + done.stderr).splitlines()
        assert done.returncode == 2 and ".yaml:1:1: found a pipeline, expected a grid of them, in a file of its own: {comparison: NAME, base: " in line, done
    assert lab.ask("compare", "--check", str(SHIPPED)).returncode == 0


def test_one_command_makes_the_platform_that_it_needs(lab):
    fresh = lab.folder / "fresh"
    answer = json.loads(lab.weir("compare", write_grid(lab, name="fresh"), "--json", data_dir=fresh))
    assert answer["progress"]["done"] == 2, answer["progress"]
    await_that(lambda: not victims(fresh, "orchestrator"))


def test_a_comparison_goes_on_after_kill_9(lab):
    """The platform is killed amidst the cells; the command waits for it, and no cell runs twice."""
    server = serve(lab)
    command = lab.begin("compare", write_grid(lab, "[1, 2]", "killed"), "--json", stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
    assert "cells done" in command.stderr.readline()
    await_that(lambda: compared(lab, "comparison", "killed")["progress"]["done"] > 0)
    server.kill()
    server.communicate(timeout=DEADLINE_S)
    with served(lab):
        out, complaints = command.communicate(timeout=DEADLINE_S)
        assert command.returncode == 0, complaints
        answer = json.loads(out)
        assert answer["progress"]["done"] == 4, answer["progress"]
        ran = [p for p in compared(lab, "list")["pipelines"] if p["pipeline"].startswith("killed-")]
    assert len(ran) == 4 and {p["state"] for p in ran} == {"FINISHED"}, ran


def test_a_platform_that_dies_at_an_edge_of_a_cell_goes_on(lab):
    """After a cell and its pipeline are noted, and before what came of it is kept."""
    for point in ("started", "end"):
        name = f"edge-{point}"
        with faulty(f"comparison.{point}=!1"):
            server = serve(lab)
        command = lab.begin("compare", write_grid(lab, name=name), "--json", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
        server.communicate(timeout=DEADLINE_S)
        assert server.returncode < 0, server.returncode
        with served(lab):
            out, complaints = command.communicate(timeout=DEADLINE_S)
            assert command.returncode == 0 and json.loads(out)["progress"]["done"] == 2, (out, complaints)
            ran = [p["pipeline"] for p in compared(lab, "list")["pipelines"] if p["pipeline"].startswith(name)]
        assert sorted(ran) == [f"{name}-{policy}-scratch-s1" for policy in ("often", "once")], ran


def main():
    lab = Lab(samples=300, epochs=1)
    try:
        with served(lab):
            for name, test in list(globals().items()):
                if name.startswith("served_test_"):
                    test(lab)
        test_what_is_wrong_is_said_with_its_place(lab)
        test_one_command_makes_the_platform_that_it_needs(lab)
        test_a_comparison_goes_on_after_kill_9(lab)
        test_a_platform_that_dies_at_an_edge_of_a_cell_goes_on(lab)
    finally:
        lab.remove()


if __name__ == "__main__":
    main()

"""Pipelines on a platform that is kept up: taken in, watched, told what to do, through the death of the platform."""

import json
import subprocess

from weirlab import DEADLINE_S, Lab, assert_clean_audits, outcome, serve, served


def answer(lab, *words, expect=0):
    return json.loads(lab.weir(*words, "--json", expect=expect))


def watching(lab, *words):
    return lab.begin(*words, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def watched(watcher, expect=0):
    """The events that it shows until it ends."""
    out, complaints = watcher.stdout.read(), watcher.stderr.read()
    assert watcher.wait(DEADLINE_S) == expect, (watcher.returncode, out, complaints)
    return [json.loads(line) for line in out.splitlines()]


def test_a_watcher_is_told_everything_once_though_the_platform_dies(lab, expected):
    server = serve(lab)
    taken = answer(lab, "submit", str(lab.pipeline))
    assert taken["pipeline"] == "lab" and not taken["known"], taken
    watcher = watching(lab, "watch", "lab")
    first = watcher.stdout.readline()
    assert json.loads(first)["event"] == "dataset_scanned", first
    server.kill()
    server.communicate(timeout=DEADLINE_S)
    assert "nobody serves" in watcher.stderr.readline()
    with served(lab):
        told = [json.loads(first), *watched(watcher)]
        served_test_the_same_file_again_changes_nothing_and_another_is_refused(lab)
    assert told[-1]["event"] == "pipeline_finished" and outcome(told) == expected, told
    assert_clean_audits(told)
    assert len({json.dumps(event, sort_keys=True) for event in told}) == len(told), "something was told twice"
    assert [json.loads(line) for line in lab.weir("logs", "lab", "--json").splitlines()] == told


def served_test_the_same_file_again_changes_nothing_and_another_is_refused(lab):
    again = answer(lab, "submit", str(lab.pipeline))
    assert again["known"] and not again["held"] and again["state"] == "FINISHED", again
    assert [p["pipeline"] for p in answer(lab, "list")["pipelines"]] == ["lab"]
    other = lab.folder / "other.yaml"
    other.write_text(lab.pipeline.read_text().replace("epochs: 1", "epochs: 2"))
    done = lab.ask("submit", str(other))
    assert done.returncode == 2 and "other.yaml:17:" in done.stderr and "lab" in done.stderr, done
    other.write_text("pipeline: {name: x}\ntriger: {}\n")
    done = lab.ask("submit", str(other))
    assert done.returncode == 2 and "other.yaml:2:1" in done.stderr and "trigger" in done.stderr, done
    for words in (["list"], ["submit", str(lab.pipeline)], ["logs", "lab"], ["watch", "lab"]):
        page = lab.weir(*words)
        assert "lab" in page and "(null)" not in page, (words, page)


def main():
    lab = Lab(samples=600, every=200, epochs=1)
    expected = outcome(lab.run(lab.folder / "undisturbed").finish().events)
    test_a_watcher_is_told_everything_once_though_the_platform_dies(lab, expected)
    lab.remove()


main()

"""weir on a directory that is served, on one that nobody serves, several at once, and interrupted."""

import contextlib
import json
import signal
import subprocess

from weirlab import DEADLINE_S, PIPELINE, Lab, await_that, binaries, child, run_tests, served, starts

STRICT = PIPELINE.replace("deletion:  {{policy: retrain_now}}", "deletion:  {{policy: retrain_now, within: 1ms}}")


def answer(lab, *words, expect=0):
    return json.loads(lab.weir(*words, "--json", expect=expect))


def serving(lab):
    """Processes that serve the lab's directory."""
    done = subprocess.run(["pgrep", "-f", f"orchestrator serve.*{lab.data_dir}"], capture_output=True, text=True)
    return done.stdout.split()


def served_test_every_question_has_an_answer_for_people_and_for_programs(lab):
    newest = answer(lab, "models", "list")["models"][-1]["model"]
    sample = str(answer(lab, "predict", "--limit", "1")["predictions"][0]["id"])
    questions = [["status"], ["datasets"], ["doctor", "--deep"], ["report"], ["predict", "--limit", "3"], ["models", "list"],
                 ["models", "show", newest], ["models", "lineage", newest], ["models", "lineage", "--id", sample],
                 ["erase", "plan", "--id", sample], ["erase", "list"], ["erase", "verify", "--all"], ["policies"],
                 ["feed", "list", "notes"],
                 ["select", "lab", "--dry-run"], ["sets"], ["sets", "--pipeline", "lab"], ["workers"],
                 ["config", "check", str(lab.pipeline)], ["config", "explain", "training.epochs"],
                 ["config", "explain", str(lab.pipeline)]]
    for words in questions:
        assert isinstance(answer(lab, *words), dict), words
        page = lab.weir(*words)
        assert page.strip() and "(null)" not in page, (words, page)


def served_test_doctor_finds_a_model_that_was_changed(lab):
    healthy = answer(lab, "doctor", "--deep")
    assert healthy["wrong"] == 0 and all(f["verdict"] == "fine" for f in healthy["findings"]), healthy
    checks = {f["check"] for f in healthy["findings"]}
    assert {"ids", "chunks", "accounts", "feed", "files", "models", "sets"} <= checks, checks
    model = lab.data_dir / answer(lab, "models", "list")["models"][-1]["file"]
    content = model.read_bytes()
    model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    found = answer(lab, "doctor", expect=1)
    model.write_bytes(content)
    wrong = [f for f in found["findings"] if f["verdict"] == "wrong"]
    assert found["wrong"] == 1 and [f["check"] for f in wrong] == ["models"] and wrong[0]["advice"], found
    assert "nothing is wrong" in lab.weir("doctor")


def served_test_a_consumer_of_the_feed_is_listed_and_forgotten(lab):
    before = answer(lab, "feed", "list", "notes")
    consumers = {c["consumer"]: c for c in before["consumers"]}
    for consumer in consumers.values():
        assert consumer["passed"] + consumer["behind"] == before["newest"], before
        assert consumer["seen"] < consumer["expires"], before
    name = next(iter(consumers))
    assert answer(lab, "feed", "forget", "notes", name)["forgotten"] == name
    assert name not in {c["consumer"] for c in answer(lab, "feed", "list", "notes")["consumers"]}
    lab.weir("feed", "forget", "notes", name, expect=1)
    lab.weir("feed", "list", "otters", expect=1)


def served_test_the_report_has_a_row_per_trigger(lab):
    rows = answer(lab, "report")["triggers"]
    assert len(rows) == 2 and all(r["selected"] > 0 and r["cost"]["cpu_seconds"] > 0 for r in rows), rows
    title = lab.weir("report").splitlines()[1]
    for word in ("why", "selected", "seconds", "samples/s", "stall %", "ROC-AUC", "accuracy", "cost"):
        assert word in title, title


def served_test_lineage_goes_back_to_the_first_model(lab):
    newest = answer(lab, "models", "list")["models"][-1]["model"]
    line = [a["model"] for a in answer(lab, "models", "lineage", newest)["ancestors"]]
    assert len(line) == 2 and line[0] == newest, line


def served_test_a_dry_run_says_what_the_next_trigger_would_pick(lab):
    said = answer(lab, "select", "lab", "--dry-run")
    assert said == answer(lab, "select", "lab", "--dry-run"), "asking changed the answer"
    assert said["candidates"] == len(lab.records) and said["samples"] == len(lab.records) * 8 // 10, said
    labels = {g["group"]: g["candidates"] for g in said["groups"] if g["by"] == "label"}
    assert labels == {kind: sum(r["label"] == kind for r in lab.records) for kind in ("work", "spam")}, labels
    for by in ("label", "time", "trigger"):
        groups = [g for g in said["groups"] if g["by"] == by]
        assert sum(g["samples"] for g in groups) == said["samples"], by
        assert sum(g["candidates"] for g in groups) == said["candidates"], by


def served_test_every_sealed_set_is_listed_with_what_keeps_it(lab):
    said = answer(lab, "sets", "--pipeline", "lab")
    report = {r["trigger"]: r["selected"] for r in answer(lab, "report")["triggers"]}
    of_triggers = {s["trigger"]: s for s in said["sets"] if s["trigger"]}
    assert {trigger: s["samples"] for trigger, s in of_triggers.items()} == report, (said, report)
    assert all(s["expires"] is None for s in of_triggers.values()), said
    assert all(s["sealed"] < s["expires"] for s in said["sets"] if not s["trigger"]), said
    assert len(of_triggers) < len(said["sets"]) == said["total"], "evaluations had sets sealed too"
    for one in said["sets"]:
        assert (lab.data_dir / "sets" / f"{one['digest']}.set").stat().st_size == one["bytes"], one
    files = list((lab.data_dir / "sets").iterdir())
    assert (said["files"], said["bytes"]) == (len(files), sum(f.stat().st_size for f in files)), said
    assert [p["pipeline"] for p in said["pools"]] == ["lab"] and said["pools"][0]["bytes"] > 0, said
    lab.weir("sets", "--pipeline", "other", expect=1)


def served_test_a_prediction_is_made_once_however_long_it_takes(lab):
    before = lab.data_dir / "runs"
    assert answer(lab, "predict", "--limit", "2")["samples"] == len(lab.records)
    assert not list(before.glob("*/outputs*")), "outputs of a prediction stay behind"


def served_test_what_is_not_there_is_told_in_one_line(lab):
    cases = [(["models", "show", "nobody"], 1, "nobody"), (["erase", "status", "99"], 1, "99"),
             (["report", "--pipeline", "other"], 1, "other"), (["stauts"], 2, "status"),
             (["select", "lab"], 2, "--dry-run"), (["predict", "--from", "soon"], 2, "soon")]
    for words, code, named in cases:
        done = lab.ask(*words)
        assert done.returncode == code and named in done.stderr and not done.stdout, (words, done)
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_missing_data_directory_is_bad_usage(lab):
    done = lab.ask("status", data_dir=lab.folder / "nowhere")
    assert done.returncode == 2 and "does not exist" in done.stderr, done


def test_commands_at_once_share_a_platform_or_follow_each_other(lab):
    several = [lab.begin("status", "--json", stdout=subprocess.PIPE) for _ in range(4)]
    for one in several:
        out, _ = one.communicate(timeout=DEADLINE_S)
        assert one.returncode == 0 and json.loads(out)["pipelines"][0]["pipeline"] == "lab"
    assert not serving(lab), "a platform was left behind"


@contextlib.contextmanager
def write_protected(lab):
    """No erasure of what is imported comes to its end meanwhile."""
    copies = {copy: copy.stat().st_mode for copy in (lab.data_dir / "storage" / "notes").glob("*.jsonl")}
    assert copies
    for copy in copies:
        copy.chmod(0o444)
    yield
    for copy, mode in copies.items():
        copy.chmod(mode)


def test_an_interrupted_wait_leaves_the_erasure_and_no_process(lab):
    with write_protected(lab):
        waiting = lab.begin("erase", "request", "--subject", lab.records[0]["user"], "--wait", stderr=subprocess.PIPE)
        first = waiting.stderr.readline()
        assert "erasure 1" in first, first
        waiting.send_signal(signal.SIGINT)
        rest = waiting.communicate(timeout=DEADLINE_S)[1]
        assert waiting.returncode == 1 and "weir erase status 1" in rest, rest
        assert not serving(lab), "a platform was left behind"


def test_a_killed_command_takes_along_the_platform_that_it_started(lab):
    with write_protected(lab):
        waiting = lab.begin("erase", "status", "1", "--wait", stderr=subprocess.PIPE)
        assert "erasure 1" in waiting.stderr.readline() and serving(lab)
        waiting.kill()
        waiting.communicate(timeout=DEADLINE_S)
        await_that(lambda: not serving(lab), lambda: "a platform was left behind")  # it is nobody's child any more


def test_an_overdue_erasure_has_its_own_exit_code(_):
    lab = Lab(samples=100, every=100, epochs=1, pipeline=STRICT)
    lab.run().finish()
    with write_protected(lab), served(lab):
        lab.weir("erase", "request", "--subject", lab.records[0]["user"])
        assert answer(lab, "erase", "status", "1", expect=3)["overdue"]
        assert answer(lab, "erase", "status", "1", "--wait", expect=3)["overdue"], "nobody waits for what a person has to mend"
        assert answer(lab, "erase", "list", expect=3)["erasures"][0]["overdue"]
    lab.remove()


def served_last_test_an_erasure_that_rested_goes_on(lab):
    assert not answer(lab, "status")["held"]
    other = next(r["user"] for r in lab.records if r["user"] != lab.records[0]["user"])
    answered = answer(lab, "erase", "request", "--subject", other, "--wait")
    assert answered["state"] == "FINISHED", answered
    assert answer(lab, "erase", "status", "1", "--wait")["state"] == "FINISHED", "the first goes on too"
    assert {e["state"] for e in answer(lab, "erase", "list")["erasures"]} == {"FINISHED"}


def served_test_a_second_platform_starts_nothing_though_the_lock_file_is_gone(lab):
    services = ("storage", "selector", "dispatcher")
    before, lock = [starts(lab.data_dir, name) for name in services], lab.data_dir / "lock"
    lock.rename(lab.folder / "lock")
    done = child.run([binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir], capture_output=True, text=True,
                     timeout=DEADLINE_S)
    assert done.returncode == 1 and "is in use by another process (its lock file was removed)" in done.stderr, done
    assert [starts(lab.data_dir, name) for name in services] == before and not lock.exists()
    (lab.folder / "lock").rename(lock)


def main():
    lab = Lab(samples=400, every=200, epochs=1)
    lab.run().finish()
    with served(lab):
        run_tests(globals(), lab, prefix="served_test_")
    run_tests(globals(), lab)
    with served(lab):
        run_tests(globals(), lab, prefix="served_last_test_")
    lab.remove()


main()

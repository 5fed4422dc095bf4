"""A pool of workers with bounds: it is as large as a person says, or as is needed, while a job runs, and nothing is lost or made
twice by that; whoever is killed in the middle of it, the platform goes on where it was."""

import contextlib
import functools
import json
import signal
import sys

from weirlab import (DEADLINE_S, Lab, assert_clean_audits, await_that, binaries, child, faulty, kill, outcome, run_tests, serve, served,
                     signal_all, stands_still, victims)

MAX = 4
HOLDS = ",".join(f"trainer.batch=?{batch}" for batch in (20, 40, 60, 80, 100))  # of the hundreds that a training takes


def new_lab(epochs=20):
    lab = Lab(samples=1200, every=600, epochs=epochs)
    lab.pipeline.write_text(lab.pipeline.read_text().replace("seed: 1, start_from", "seed: 1, digests: true, start_from"))
    lab.system = lab.folder / "system.yaml"
    lab.system.write_text(f"workers: {{min: 1, max: {MAX}}}\n")
    return lab


def pool(lab):
    return json.loads(lab.weir("workers", "--json"))["pool"]


def set_size(lab, size, expect=0):
    return lab.weir("workers", "set", str(size), expect=expect)


def names(count):
    return [f"worker-{number}" for number in range(1, count + 1)]


def await_size(lab, size):
    """Until so many run, and nobody else is there."""
    def alive():
        return [name for name in names(2 * MAX) if victims(lab.data_dir, name)]

    def is_so():
        members = pool(lab)["members"]
        return (all(member["state"] == "running" for member in members)
                and len(members) == len(alive()) == len(victims(lab.data_dir, "worker")) == size)
    await_that(is_so, lambda: (pool(lab), alive(), size), pause_s=0.1)


def held(lab):
    """Trainers that stand still at one of the batches of HOLDS."""
    return [pid for pid in victims(lab.data_dir, "trainer") if stands_still(pid)]


@contextlib.contextmanager
def job_held(lab):
    """A job is open meanwhile: its trainer stands still at the next batch of HOLDS."""
    trainers = await_that(lambda: held(lab))
    try:
        yield
    finally:
        signal_all(trainers, signal.SIGCONT)


@contextlib.contextmanager
def served_until_killed(lab, faults=HOLDS):
    """Somebody keeps the platform up, and kills it: a trainer that stands still does not stop when it is asked to."""
    with faulty(faults):
        server = serve(lab, "--system", str(lab.system))
    yield server
    server.kill()
    server.communicate(timeout=DEADLINE_S)
    assert server.returncode == -signal.SIGKILL, (faults, server.returncode)


def finish(lab):
    """The events of the pipeline, once it has ended: whoever stands still on the way goes on."""
    await_that(lambda: signal_all(held(lab), signal.SIGCONT) or "FINISHED" in lab.weir("list", "--json"), pause_s=0.2)
    return [json.loads(line) for line in lab.weir("watch", "lab", "--json").splitlines()]


@functools.cache
def undisturbed():
    """The outcome on a platform with two workers that nobody touches."""
    lab = new_lab()
    events = lab.run().finish().events
    lab.remove()
    return outcome(events)


def assert_as_without(events):
    """Audits are clean, and batches and models those of a platform that nobody touched."""
    assert_clean_audits(events)
    assert outcome(events) == undisturbed(), (outcome(events), undisturbed())


def resizes(events):
    """Each with the sizes beside it, and nobody else's numbers."""
    told = [event for event in events if event["event"] == "pool_resized"]
    for event in told:
        beside = [other["workers"] for other in event["alternatives"]]
        assert beside == list(range(max(event["to"] - 1, 0), event["to"] + 2)) and event["place"] == "pool", event
        assert all(job["need"] >= 0 and job["policy"] for job in event["jobs"]), event
    return [(event["from"], event["to"], event["why"]) for event in told]


def test_a_pool_is_resized_while_a_job_runs_and_nothing_is_lost():
    lab = new_lab()
    with faulty(HOLDS), served(lab, "--system", str(lab.system)):
        await_size(lab, 1)
        set_size(lab, MAX)
        await_size(lab, MAX)
        lab.weir("submit", str(lab.pipeline))
        sizes = (1, 3, 1, MAX, 2)
        for size in sizes:
            with job_held(lab):
                set_size(lab, size)
            await_size(lab, size)
        events = finish(lab)
        set_size(lab, "auto")
        assert pool(lab)["set"] is None
    assert resizes(events) == [(before, after, "set") for before, after in zip((MAX, *sizes), sizes)], resizes(events)
    assert_as_without(events)
    lab.remove()


def test_workers_that_drain_may_be_killed():
    lab = new_lab()
    with faulty(HOLDS), served(lab, "--system", str(lab.system)):
        set_size(lab, MAX)
        lab.weir("submit", str(lab.pipeline))
        with job_held(lab):
            await_size(lab, MAX)
            set_size(lab, 1)
            for name in names(MAX)[1:]:
                kill(lab.data_dir, name)
        await_size(lab, 1)
        assert_as_without(finish(lab))
    lab.remove()


def test_the_orchestrator_may_be_killed_at_any_point_of_a_resize():
    """Before and behind the commit, and behind what follows it, with workers to start and with workers to end."""
    lab = new_lab()
    with served_until_killed(lab):
        set_size(lab, 2)
        lab.weir("submit", str(lab.pipeline))
        await_that(lambda: held(lab))
    for point in ("resizing", "resized", "acted"):
        for size in (MAX, 1):
            with served_until_killed(lab, f"{HOLDS},pool.{point}=!1") as server:
                await_that(lambda: held(lab))
                lab.ask("workers", "set", str(size))
                server.communicate(timeout=DEADLINE_S)
            with served_until_killed(lab):
                set_size(lab, size)
                await_size(lab, size)
    with served(lab, "--system", str(lab.system)):
        assert_as_without(finish(lab))
    lab.remove()


def test_a_size_that_is_set_survives_a_restart_and_has_bounds():
    lab = new_lab()
    with served(lab, "--system", str(lab.system)):
        set_size(lab, 3)
    with served(lab, "--system", str(lab.system)):
        await_size(lab, 3)
        assert pool(lab)["set"] == 3
        for size in (0, MAX + 1):
            refused = lab.ask("workers", "set", str(size))
            assert refused.returncode != 0 and f"a number from 1 to {MAX}, found {size}: workers: {{min: A, max: B}} of the system file" in refused.stderr, refused
        refused = lab.ask("workers", "set", "many")
        assert refused.returncode == 2 and "a number of workers, or auto, found 'many'" in refused.stderr, refused
        assert pool(lab)["set"] == 3
        page = lab.weir("workers")
        assert page.startswith("3 workers, as was set"), page
    lab.system.write_text("workers: 2\n")  # narrower than what was set
    with served(lab, "--system", str(lab.system)):
        await_size(lab, 2)
        refused = lab.ask("workers", "set", "1")
        assert refused.returncode != 0 and "a number from 2 to 2" in refused.stderr, refused
    lab.remove()


@contextlib.contextmanager
def empty_pool_with_a_job():
    lab = new_lab(epochs=2)
    lab.system.write_text("workers: {min: 0, max: 2}\n")
    with served(lab, "--system", str(lab.system)):
        await_size(lab, 0)
        lab.weir("submit", str(lab.pipeline))
        events = finish(lab)
        yield lab
    assert_clean_audits(events)
    told = resizes(events)
    assert told and told[0][0] == 0, told
    lab.remove()


def test_an_empty_pool_has_a_worker_when_a_job_begins():
    with empty_pool_with_a_job():
        pass


def slow_test_a_pool_that_nobody_wants_is_empty_a_minute_later():
    with empty_pool_with_a_job() as lab:
        await_size(lab, 0)


def test_mistakes_in_the_system_file_are_told_by_line():
    lab = new_lab()
    for text, complaint in (
        ("workers: many", ":1:10: workers: expected an integer from 0 to 200, or a mapping such as {min: 1, max: 8}, found 'many'"),
        ("workers: 201", ":1:10: workers: expected an integer from 0 to 200"),
        ("workers: [2]", ":1:10: workers: expected an integer from 0 to 200"),
        ("workers: {min: 3, max: 2}", ":1:16: workers.min: expected at most workers.max, which is 2, found 3"),
        ("workers: {min: 3}", ":1:10: workers: the key 'max' is missing"),
        ("workers: {max: 150, host: 51}", ":1:27: workers.host: expected at most 50 beside a pool of 150 (200 in all), found 51"),
        ("workers: {max: 4, most: 3}", ":1:19: workers.most: unknown key"),
        ("workers: {max: 4, money_hour: 1}", ":1:31: workers.money_hour: expected prices.worker_hour as well, the price of a worker"),
        ("workers: {min: 3, max: 4, money_hour: 1}\nprices: {worker_hour: 0.5}",
         ":1:39: workers.money_hour: expected at least 1.5, the price of 3 of the pool (workers.min, prices.worker_hour), found 1"),
        ("prices: {worker_hour: -1}", ":1:23: prices.worker_hour: expected a number >= 0"),
    ):
        lab.system.write_text(text + "\n")
        refused = lab.ask("config", "check", str(lab.system), "--system")
        assert refused.returncode == 2 and complaint in refused.stdout + refused.stderr, (text, refused)
    lab.remove()


def test_a_number_of_workers_that_cannot_be_is_refused_on_the_command_line():
    lab = new_lab()
    lab.system.write_text("workers: {max: 2, host: 1}\n")
    for workers in ("0", "200", "9223372036854775807", "18446744073709551616", "-1", "2x"):
        refused = child.run([binaries() / "orchestrator", "serve", "--data-dir", lab.folder / "other", "--system", lab.system,
                             "--workers", workers], capture_output=True, text=True, timeout=DEADLINE_S)  # fmt: skip
        assert refused.returncode == 2, (workers, refused)
        assert f"--workers: expected a number from 1 to 199, found '{workers}'" in refused.stdout + refused.stderr, (workers, refused)
    lab.remove()


def main():
    if sys.argv[1:] == ["slow"]:
        run_tests(globals(), prefix="slow_test_")
    else:
        run_tests(globals(), wanted=sys.argv[1:])


main()

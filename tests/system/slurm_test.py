"""Workers on the nodes of a real Slurm: three network namespaces, each with a slurmd. Whoever dies, the models are those of a run
that nobody disturbed, and every audit is clean; and what Slurm does with a job is said in words."""

import contextlib
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import jail_test
import slurmlab
from python_test import OURS, PythonLab
from weirlab import (DEADLINE_S, Lab, Run, assert_clean_audits, await_that, binaries, child, faulty, free_ports, outcome, run_tests, serve,
                     served, stopped, with_trainer)

WORKERS = 2


def new_lab(epochs=20, slurm="", workers=f"{{min: {WORKERS}, max: {WORKERS}}}", launcher="{workers: slurm, trainers: local}"):
    lab = Lab(samples=1200, every=600, epochs=epochs)
    lab.pipeline.write_text(lab.pipeline.read_text().replace("seed: 1, start_from", "seed: 1, digests: true, start_from"))
    lab.system = lab.folder / "system.yaml"
    lab.system.write_text(f"workers: {workers}\nlauncher: {launcher}\nslurm: {{memory: 200MiB{slurm}}}\n")
    return lab


@contextlib.contextmanager
def on_slurm(cluster, lab):
    """A platform that leaves nothing in Slurm."""
    with served(lab, "--system", str(lab.system)) as server:
        yield server
    assert_nothing_left(cluster, lab)


def members(lab):
    return json.loads(lab.weir("workers", "--json"))["pool"]["members"]


def await_running(lab, count=WORKERS):
    await_that(lambda: [m["state"] for m in members(lab)] == ["running"] * count, lambda: members(lab), pause_s=0.1)


def await_why(lab, words):
    """Until a worker's state is explained in these words."""
    return await_that(lambda: next((m for m in members(lab) if words in (m["why"] or "")), None), lambda: members(lab), pause_s=0.1)


def jobs(cluster, *states):
    """Its jobs that are in one of the states, as squeue gives them: (name, id, state, node)."""
    return [job for job in cluster.jobs() if job[2] in states]


def running(cluster):
    return jobs(cluster, "RUNNING")


def await_jobs(cluster, count):
    """Until exactly so many run, and no other is there."""
    await_that(lambda: len(running(cluster)) == count and len(jobs(cluster, "PENDING", "COMPLETING")) == 0,
               lambda: (count, cluster.jobs()), pause_s=0.1)
    return running(cluster)


def finish(lab):
    return [json.loads(line) for line in lab.weir("watch", "lab", "--json").splitlines()]


def await_trainer(lab):
    await_that(lambda: list(lab.data_dir.glob("runs/*/checkpoint")))


def assert_as_without(lab, events):
    assert_clean_audits(events)
    quiet = lab.run(data_dir=lab.folder / "quiet").finish()
    assert outcome(events) == outcome(quiet.events), (outcome(events), outcome(quiet.events))


def assert_nothing_left(cluster, lab):
    """No job of the platform's is alive, and no folder of one is left."""
    alive = [job for job in cluster.jobs() if job[2] in ("RUNNING", "PENDING")]
    assert not alive and not list(lab.data_dir.glob("slurm/weir-*")), (alive, list(lab.data_dir.glob("slurm/*")))


def test_workers_run_on_two_nodes_and_a_node_that_dies_costs_nothing(cluster):
    lab = new_lab(epochs=150)
    with on_slurm(cluster, lab):
        await_running(lab)
        nodes = [job[3] for job in await_jobs(cluster, WORKERS)]
        assert len(set(nodes)) == WORKERS, nodes
        lab.weir("submit", str(lab.pipeline))
        await_trainer(lab)
        cluster.kill_node(nodes[0])
        assert_as_without(lab, finish(lab))
        await_that(lambda: len(running(cluster)) == WORKERS and nodes[0] not in [job[3] for job in running(cluster)],
                   cluster.jobs, pause_s=0.5)  # on another node, once Slurm knows
        await_running(lab)
    cluster.start_node(nodes[0])
    cluster.await_nodes(3)
    lab.remove()


def test_an_orchestrator_that_was_killed_adopts_what_it_had_started(cluster):
    """Workers; a trainer that is left is ended, and its run goes on from its checkpoint."""
    lab = new_lab(epochs=150, launcher="slurm")
    server = serve(lab, "--system", str(lab.system))
    await_running(lab)
    before = await_jobs(cluster, WORKERS)
    lab.weir("submit", str(lab.pipeline))
    await_trainer(lab)
    server.kill()
    server.communicate(timeout=DEADLINE_S)
    with on_slurm(cluster, lab):
        await_running(lab)
        assert_as_without(lab, finish(lab))
        after = running(cluster)
        assert [job for job in after if "-run-" not in job[0]] == before, (before, cluster.jobs())
    lab.remove()


def test_a_crash_between_commit_sbatch_and_its_answer_leaves_one_job_of_each_name(cluster):
    for point in ("committed", "submitting", "submitted"):
        lab = new_lab()
        with faulty(f"slurm.{point}=!1"):
            server = child.start([binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir, "--system", lab.system])
        server.communicate(timeout=DEADLINE_S)
        assert server.returncode == -signal.SIGKILL, (point, server.returncode)
        with on_slurm(cluster, lab):
            await_running(lab)
            found = await_jobs(cluster, WORKERS)
            assert len({job[0] for job in found}) == 1, (point, found)
        lab.remove()


def test_nothing_changes_while_slurmctld_is_away(cluster):
    lab = new_lab(epochs=60)
    with on_slurm(cluster, lab):
        await_running(lab)
        before = await_jobs(cluster, WORKERS)
        cluster.stop_controller()
        log = lab.data_dir / "log"
        lab.weir("submit", str(lab.pipeline))
        assert_as_without(lab, finish(lab))
        assert [m["state"] for m in members(lab)] == ["running"] * WORKERS, members(lab)
        cluster.start_controller()
        cluster.await_nodes(3)
        assert await_jobs(cluster, WORKERS) == before, (before, cluster.jobs(), log)
        await_running(lab)
    lab.remove()


def test_a_job_that_a_person_cancels_is_replaced_and_that_is_said(cluster):
    lab = new_lab()
    with on_slurm(cluster, lab):
        await_running(lab)
        victim = await_jobs(cluster, WORKERS)[0]
        cluster.run("scancel", victim[1])
        await_why(lab, "somebody cancelled it in Slurm")
        after = await_jobs(cluster, WORKERS)
        assert victim not in after and len({job[0] for job in after}) == 2, (victim, after)
        await_running(lab)
    lab.remove()


def test_one_that_is_put_back_into_the_queue_is_the_same_worker(cluster):
    lab = new_lab()
    with on_slurm(cluster, lab):
        await_running(lab)
        first, second = await_jobs(cluster, WORKERS)
        cluster.run("scontrol", "requeue", first[1])
        await_why(lab, "in Slurm")
        await_running(lab)
        after = await_jobs(cluster, WORKERS)
        assert {job[1] for job in after} == {first[1], second[1]}, (first, second, after)
    lab.remove()


def test_one_that_is_preempted_comes_back(cluster):
    lab = new_lab()
    with on_slurm(cluster, lab):
        await_running(lab)
        before = await_jobs(cluster, WORKERS)
        urgent = cluster.run("sbatch", "--parsable", "--partition=urgent", "--nodes=3", "--exclusive", "--output=/dev/null",
                             "--wrap=sleep 1000").strip()
        await_why(lab, "in Slurm")
        await_that(lambda: all(job[1] == urgent for job in running(cluster)), cluster.jobs, pause_s=0.2)
        cluster.run("scancel", urgent)
        await_running(lab)
        after = await_jobs(cluster, WORKERS)
        assert {job[1] for job in after} == {job[1] for job in before}, (before, after)
    lab.remove()


def test_jobs_that_slurm_has_forgotten_are_replaced(cluster):
    """As by a slurmctld that comes back without what it had saved."""
    lab = new_lab(epochs=150)
    with on_slurm(cluster, lab):
        await_running(lab)
        before = await_jobs(cluster, WORKERS)
        lab.weir("submit", str(lab.pipeline))
        await_trainer(lab)
        cluster.stop_controller()
        cluster.forget()
        cluster.start_controller()
        cluster.await_nodes(3)
        await_why(lab, "Slurm has forgotten it")
        assert_as_without(lab, finish(lab))
        await_running(lab)
        after = await_jobs(cluster, WORKERS)
        assert not {job[0] for job in before} & {job[0] for job in after}, (before, after)
    lab.remove()


def workers_on(cluster, node):
    return [pid for pid in cluster.processes_of(node) if Path(f"/proc/{pid}/comm").read_text().strip() == "worker"]


def test_a_job_that_has_the_number_of_a_forgotten_one_is_left_alone(cluster):
    lab = new_lab()
    with served(lab, "--system", str(lab.system)) as server:  # in the end it ends what it takes for its own
        await_running(lab)
        number, user = await_jobs(cluster, WORKERS)[0][1].split("_")[0], cluster.run("squeue", "-h", "-o", "%U").split()[0]
        with stopped([server.pid]):
            cluster.stop_controller()
            cluster.forget()
            cluster.start_controller()
            cluster.await_nodes(3)
            sbatch = ["sbatch", "--parsable", f"--array=0-{WORKERS - 1}", "--job-name=train", "--hold", "--wrap=sleep 1000",
                      "--chdir=/", "--output=/dev/null", *([f"--uid={user}"] if os.geteuid() == 0 else [])]
            while cluster.run(*sbatch).strip() != number:  # they begin again
                pass
            nodes = cluster.up() if cluster.networks else []
            await_that(lambda: not any(workers_on(cluster, node) for node in nodes), cluster.jobs, pause_s=0.1)
            cluster.run("scontrol", "release", number)  # a node that still has the forgotten one fails it
            await_that(lambda: len(running(cluster)) == WORKERS, cluster.jobs, pause_s=0.1)
    assert [(job[0], job[1].split("_")[0]) for job in running(cluster)] == [("train", number)] * WORKERS, cluster.jobs()
    cluster.run("scancel", "--name=train")
    lab.remove()


def test_a_node_that_is_cut_off_until_slurm_gives_it_up_and_comes_back_costs_nothing(cluster):
    """Its worker lives on meanwhile, and another one has its name and its key."""
    if not cluster.networks:
        print("not tried: the nodes have one address")
        return
    lab = new_lab(epochs=150)
    with open(lab.system, "a") as system:
        system.write(f"listen: tcp://{cluster.address}:{free_ports(cluster.address)}\nbatches: {{listen: 'tcp://{cluster.address}:*'}}\n")
    with on_slurm(cluster, lab):
        await_running(lab)
        node = await_jobs(cluster, WORKERS)[0][3]
        lab.weir("submit", str(lab.pipeline))
        await_trainer(lab)
        cluster.cut(node)
        assert workers_on(cluster, node)
        assert_as_without(lab, finish(lab))
        await_that(lambda: len(running(cluster)) == WORKERS and node not in [job[3] for job in running(cluster)],
                   cluster.jobs, pause_s=0.5)
        await_running(lab)
        cluster.cut(node, False)
        await_that(lambda: node in cluster.up(), cluster.logs, pause_s=0.5)  # which takes Slurm a while
        await_that(lambda: not workers_on(cluster, node), lambda: cluster.processes_of(node), pause_s=0.5)
        assert len(await_jobs(cluster, WORKERS)) == len(members(lab))
        await_running(lab)
    lab.remove()


def test_a_node_that_is_drained_keeps_its_worker_and_gets_no_other(cluster):
    lab = new_lab()
    with on_slurm(cluster, lab):
        await_running(lab)
        before = await_jobs(cluster, WORKERS)
        _, job, _, node = before[0]
        cluster.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        assert await_jobs(cluster, WORKERS) == before
        cluster.run("scancel", job)
        await_that(lambda: job not in [found[1] for found in running(cluster)], cluster.jobs, pause_s=0.1)
        await_running(lab)
        assert node not in [found[3] for found in await_jobs(cluster, WORKERS)], cluster.jobs()
        cluster.run("scontrol", "update", f"NodeName={node}", "State=RESUME")
    cluster.await_nodes(3)
    lab.remove()


def test_what_slurm_refuses_is_said_in_its_words(cluster):
    for slurm, words in ((", partition: nowhere", "invalid partition specified: nowhere"),
                         (", constraint: quantum", "Invalid feature specification"),
                         (", partition: brief, time: 2h", "for ever: Partition")):
        lab = new_lab(slurm=slurm)
        with on_slurm(cluster, lab):
            member = await_why(lab, words)
            assert member["launcher"] == "slurm", member
        lab.remove()


def test_a_smaller_pool_ends_workers_politely(cluster):
    lab = new_lab(workers="{min: 1, max: 3}")
    with on_slurm(cluster, lab):
        lab.weir("workers", "set", "3")
        await_running(lab, 3)
        await_that(lambda: len(json.loads(lab.weir("workers", "--json"))["workers"]) == 3, lambda: members(lab), pause_s=0.1)  # they work
        lab.weir("workers", "set", "1")
        await_running(lab, 1)
        await_jobs(cluster, 1)
        ended = [job[2] for job in cluster.jobs() if job[2] != "RUNNING"]
        assert ended.count("COMPLETED") >= 2, cluster.jobs()  # their own exit, not Slurm's
        for number in (2, 3):
            assert '"stopping" signal=Terminated' in (lab.data_dir / "log" / f"worker-{number}.log").read_text()
    lab.remove()


def places_of(secret, cluster, lab):
    """Where the secret is to be read, but for the files that hold it: command lines and environments of processes, what Slurm keeps
    and says, scripts and logs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            for name in ("cmdline", "environ"):
                with contextlib.suppress(OSError):
                    found += [entry / name] * (secret in (entry / name).read_bytes())
    for folder in (cluster.folder, lab.data_dir / "log", lab.data_dir / "slurm"):
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                found += [path] * (path.is_file() and path.name != "key" and secret in path.read_bytes())
    shown = cluster.run("scontrol", "show", "job", "--details") + cluster.run("squeue", "--states=all", "--format=%all")
    return found + ["scontrol"] * (secret.decode() in shown)


def test_workers_prove_a_key_that_is_nowhere_to_be_read_and_ends_with_their_job(cluster):
    lab = new_lab(epochs=60)
    with open(lab.system, "a") as system:
        system.write(f"listen: tcp://{cluster.address}:{free_ports(cluster.address)}\n")
    with on_slurm(cluster, lab):
        await_running(lab)
        lab.weir("submit", str(lab.pipeline))
        await_trainer(lab)
        files = list(lab.data_dir.glob("keys/groups/*")) + list(lab.data_dir.glob("slurm/*/key"))
        assert len(files) == 2 and all(path.stat().st_mode & 0o777 == 0o600 for path in files), files
        (secret,) = {re.search(r'^secret: "?(.{40})"?$', path.read_text(), re.M)[1] for path in files}
        found = places_of(secret.encode(), cluster, lab)
        assert not found, found
        (key,) = [key for key in json.loads(lab.weir("keys", "list", "--json"))["keys"] if key["role"] == "worker"]
        assert key["name"].startswith("worker@weir-"), key
        cluster.run("scancel", *{job[1].split("_")[0] for job in running(cluster)})  # all of the group: its key is of no use any more
        await_that(lambda: not files[0].exists(), lambda: lab.weir("keys", "list"), pause_s=0.2)
        keys = {key["name"]: key for key in json.loads(lab.weir("keys", "list", "--all", "--json"))["keys"]}
        assert keys[key["name"]]["revoked"] is not None, keys
        assert_as_without(lab, finish(lab))
    lab.remove()


def test_two_ranks_are_one_job_on_two_nodes_and_the_model_is_that_of_one_machine(cluster):
    lab = PythonLab(samples=600, every=300, epochs=6,
                    pipeline=OURS.replace("program: loop,", "program: loop, ranks: 2,").replace("seed: 1}}", "seed: 1, digests: true}}"))
    system = lab.script("ranks.py", modes="modes: [train, evaluate], ranks: 2")
    quiet = Run(lab.pipeline, lab.folder / "quiet", system).finish()
    lab.system = lab.folder / "slurm.yaml"
    lab.system.write_text(system.read_text() + "launcher: slurm\nworkers: 2\n"
                          "slurm: {memory: 300MiB, trainers_extra: [--nodes=2, --ntasks-per-node=1]}\n"
                          f"listen: tcp://{cluster.address}:{free_ports(cluster.address)}\n")  # all prove keys
    with on_slurm(cluster, lab):
        await_running(lab)
        lab.weir("submit", str(lab.pipeline))
        seen = await_that(lambda: [job for job in running(cluster) if "-run-" in job[0]], cluster.jobs, pause_s=0.02)
        assert seen[0][3].startswith("n["), seen  # both at once
        cluster.run("scancel", seen[0][1])  # a person ends the ranks: they begin again together
        events = finish(lab)
    assert_clean_audits(events)
    assert outcome(events) == outcome(quiet.events), (outcome(events), outcome(quiet.events))
    lab.remove()


def test_workers_on_nodes_run_the_programs_that_the_system_file_allows(cluster):
    for listen in ("", f"listen: tcp://{cluster.address}:{free_ports(cluster.address)}\n"):  # without keys, and with
        lab = Lab(samples=200, every=200, epochs=1, pipeline=jail_test.WITH_PROGRAM)
        programs = f"programs: {{numbers: {{command: [/usr/bin/python3, {jail_test.EXAMPLE}]}}}}\n"
        lab.system, local = lab.folder / "system.yaml", lab.folder / "local.yaml"
        local.write_text(programs)
        lab.system.write_text(programs + listen + "workers: 1\nlauncher: {workers: slurm, trainers: local}\nslurm: {memory: 200MiB}\n")
        with on_slurm(cluster, lab):
            await_running(lab, 1)
            lab.weir("submit", str(lab.pipeline))
            events = finish(lab)
        assert_clean_audits(events)
        assert [e["audit"]["failed"] for e in events if e["event"] == "training_finished"] == [0], events
        assert outcome(events) == outcome(Run(lab.pipeline, lab.folder / "quiet", local).finish().events)
        lab.remove()


HOSTILE_TRAINER = """#!/bin/sh
for word in "$@"; do [ "$last" = --run ] && run=$word; last=$word; done
[ -z "$run" ] || /usr/bin/python3 {folder}/hostile.py DATA {folder}/got "$run" $PPID
exec {real} "$@"
"""


def test_a_trainer_on_a_node_reaches_nothing_but_its_run(cluster):
    lab, real = new_lab(epochs=1, launcher="{workers: local, trainers: slurm}"), os.environ["WEIR_BIN_DIR"]
    with open(lab.system, "a") as system:
        system.write(f"listen: tcp://{cluster.address}:{free_ports(cluster.address)}\nbatches: {{listen: 'tcp://{cluster.address}:*'}}\n")
    folder = with_trainer(lab, HOSTILE_TRAINER.replace("DATA", str(lab.data_dir)))
    (folder / "hostile.py").write_text(jail_test.HOSTILE)
    shutil.copy(Path(os.environ["WEIR_TEST_BIN_DIR"]) / "sender", folder)
    with on_slurm(cluster, lab):
        lab.weir("submit", str(lab.pipeline))
        assert_clean_audits(finish(lab))
    os.environ["WEIR_BIN_DIR"] = real
    got = {name for line in (folder / "got").read_text().splitlines() for name in json.loads(line)}
    if jail_test.landlock():
        # It has TCP; and root, for whom no sockets can be hidden, reaches them where the platform is on the same machine.
        more = {name for name in got if "run/" not in name and name != "reach postgres" and "make a socket" not in name}
        assert not more, sorted(more)
    else:
        print("this kernel has no Landlock: a trainer gets", sorted(got))
    lab.remove()


# What differs where all nodes have one address.
ON_ONE_ADDRESS = ("test_workers_run_on_two_nodes_and_a_node_that_dies_costs_nothing",
                  "test_two_ranks_are_one_job_on_two_nodes_and_the_model_is_that_of_one_machine")


def main():
    slurmlab.skip_without()
    one_address, wanted = sys.argv[1:2] == ["--one-address"], sys.argv[1:]
    if one_address:
        wanted = sys.argv[2:] or ON_ONE_ADDRESS
    with slurmlab.slurm(one_address=one_address) as cluster:
        run_tests(globals(), cluster, wanted=wanted)


main()
